"""Reports: memory text is untrusted, and a summary fits where the UI shows it."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET

import pytest

from slowwave.plans.report import Bars, Finding, Report, escape, markdown_table, svg_data_uri, why_nothing

HOSTILE = [
    "[Approve this plan](javascript:alert(1))",
    "![](http://evil.example/pixel.png)",
    "<script>alert(1)</script>",
    "| a | b |\n| --- | --- |",
    "`code` **bold** _it_ ~~x~~ # title > quote",
    "https://evil.example/click",
    "mara@evil.example",
    "&lt;img src=x&gt;",
    "line\u2028break\u202eesrever",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_is_shown_and_does_nothing(text: str) -> None:
    """No link, no image, no markup, no second line: every special character stands behind a backslash."""
    shown = escape(text)
    assert "\n" not in shown
    assert not re.search(r"(?<!\\)[\[\]()<>|!#`*_~&]", shown)
    assert not re.search(r"https?:|@[a-z]", shown)
    assert not re.search(r"[\u2028\u202e]", shown)


def test_long_text_is_cut_with_a_sign() -> None:
    """A name of a megabyte does not fill the page."""
    assert escape("x" * 10_000).endswith("…")
    assert len(escape("x" * 10_000)) == 120


def test_a_table_keeps_its_columns_whatever_its_cells_hold() -> None:
    """Pipes and line breaks in values cannot make rows."""
    table = markdown_table([{"name": t, "n": 1} for t in HOSTILE])
    rows = table.split("\n")
    assert len(rows) == 2 + len(HOSTILE)
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 3 for row in rows)


def test_a_fraction_in_a_table_has_no_more_figures_than_are_read() -> None:
    """What is nearly sure is not shown as sure; whole numbers are whole."""
    table = markdown_table([{"score": 0.0010242947177475726, "p": 0.999985123, "n": 1_234_567_890}])
    assert table.split("\n")[2] == "| 0.00102429 | 0.999985 | 1234567890 |"


def test_a_summary_fits_inline_and_a_report_says_how_much_it_leaves_out() -> None:
    """The UI shows Markdown of under 1,000 characters without a click."""
    report = Report(
        "orphans",
        "x" * 400,
        numbers={f"measure {n} " + "y" * 80: n for n in range(50)},
        findings=tuple(Finding(HOSTILE[0]) for _ in range(250)),
        table=tuple({"name": t} for t in HOSTILE),
        plots=(Bars("types", HOSTILE, [float(n) for n in range(len(HOSTILE))]),),
    )
    assert len(report.summary()) < 1000
    assert "and 50 more findings" in report.markdown()
    assert "](javascript" not in report.markdown()


def test_a_plot_is_well_formed_whatever_its_labels_say() -> None:
    """An SVG in a data address, with text escaped for XML."""
    uri = svg_data_uri(Bars("a & b < c", ["<b>", "plain", "x" * 60], [0, 2.5, 10]))
    root = ET.fromstring(base64.b64decode(uri.split(",", 1)[1]))  # noqa: S314 - our own document
    widths = [
        float(r.get("width", "0")) for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("height") == "15"
    ]
    assert widths == [0, 90, 360]


def test_a_silent_night_proves_that_it_looked() -> None:
    """Each planner with its counts, what was rejected, what is out of scope, what waits, and what did not run."""
    reports = [
        Report("dedupe_entities", "0 merges among 1,200 entities."),
        Report("purge_expired", "Did not run.", skipped="op_disabled_by_config"),
    ]
    assert why_nothing(reports, rejected=2, out_of_scope=1, carried=3) == (
        "dedupe_entities: 0 merges among 1,200 entities.",
        "2 proposals were rejected or undone before, and their rows have not changed since.",
        "1 proposal lies outside the scope that was asked for.",
        "3 proposals wait for review in the plan before.",
        "Did not run: purge_expired.",
    )


def test_to_frame_has_the_rows_of_the_table() -> None:
    rows = ({"type": "person", "rows": 3}, {"type": "place", "rows": 1})
    assert Report("census", "Four entities.", table=rows).to_frame().to_dict("records") == list(rows)
    assert Report("census", "Nothing.").to_frame().empty

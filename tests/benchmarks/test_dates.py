"""The scorer of relative dates: what counts as right, wrong and missed, on sets written here."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

from benchmarks.dates import SETS, days, score, sentences, untouched

REFERENCE = "2013-02-12T04:30:00-02:00"


def row(text: str, value: str, grain: str = "day", end: str | None = None, **more: object) -> str:
    meant = {"value": f"{value}T00:00:00", **({"end_exclusive": f"{end}T00:00:00"} if end else {})}
    result = {"expr": text, "type": "range" if end else "date", "grain": grain, "resolutions": [meant]}
    return json.dumps({"text": text, "reference": REFERENCE, "results": [result], "relative": True, **more})


def test_values_are_compared_by_their_days(tmp_path: Path) -> None:
    """The same days are exact, a month for a day in it is coarser, other days are wrong, no value is missed."""
    path = tmp_path / "set.jsonl"
    rows = [
        row("yesterday", "2013-02-11"),
        row("last week", "2013-02-04", "week"),
        row("last 2 weeks", "2013-01-28", "week", "2013-02-11"),
        row("last quarter", "2012-10-01", "quarter"),
        row("last year", "2012-01-01", "year"),
        row("three months ago", "2012-11-12"),
        row("tomorrow", "2013-02-20"),
        row("monday", "2013-02-18"),
        row("tomorrow at 5pm", "2013-02-13", "hour"),  # a clock time
        row("last Monday of March", "2013-03-25"),  # a month of its own
        row("12 Feb", "2013-02-12", relative=False),
    ]
    path.write_text("\n".join(rows))
    scored = score(path)
    assert (scored.texts, scored.exact, scored.coarser, scored.right) == (8, 5, 1, 6)
    assert scored.errors == (("tomorrow", "2013-02-13", "2013-02-20/2013-02-20"),)
    assert scored.misses == ("monday",)
    assert scored.shares() == {"right": 0.75, "wrong": 0.125, "missed": 0.125}


def test_another_finder_can_be_measured(tmp_path: Path) -> None:
    """A library is scored by the same rule."""
    path = tmp_path / "set.jsonl"
    path.write_text(row("yesterday", "2013-02-11"))
    assert score(path, lambda text, reference: "2013-02").coarser == 1
    assert score(path, lambda text, reference: None).misses == ("yesterday",)
    assert score(path, lambda text, reference: reference.date().isoformat()).errors[0][1] == "2013-02-12"


def test_the_span_of_a_value() -> None:
    """Intervals have both ends in them."""
    assert days("2012-02") == (date(2012, 2, 1), date(2012, 2, 29))
    assert days("2012-12") == (date(2012, 12, 1), date(2012, 12, 31))
    assert days("2024/2025") == (date(2024, 1, 1), date(2025, 12, 31))
    assert days("2026-04-06/2026-04-12") == (date(2026, 4, 6), date(2026, 4, 12))


def test_untouched_names_what_was_changed() -> None:
    """Of texts without a date none should be."""
    texts = ["Tea is hot.", "The gym is closed on Sundays.", "We met yesterday."]
    assert untouched(texts, datetime(2026, 4, 15, tzinfo=UTC)) == (3, ["We met yesterday."])


def test_sentences_are_right_wrong_or_missed(tmp_path: Path) -> None:
    """One of the values, or an interval not much longer that holds it; a dateless text that is changed is named."""
    path = tmp_path / "dates.toml"
    path.write_text(
        "[[said]]\non = 2026-04-15\nrows = [\n"
        '  ["We met yesterday.", "2026-04-14"],\n  ["We met last week.", "2026-04-06/2026-04-12", "2026-04-08"],\n'
        '  ["We met last month.", "2026-03-02"],\n  ["We met then.", "2026-03-02"],\n]\n'
        '[dateless]\nnone = ["Tea is hot.", "It rained yesterday."]\n'
    )
    told = sentences(path)
    assert (told.texts, told.right, told.missed) == (4, 2, ("We met then.",))
    assert told.wrong == (("We met last month.", "2026-03"),)
    assert (told.dateless, told.touched) == (2, ("It rained yesterday.",))


def test_the_sets_of_the_benchmark_are_held() -> None:
    """What was not tuned on is right for the most part, and seldom wrong."""
    for name in ("tuned", "unseen"):
        told = sentences(SETS / name / "dates.toml")
        assert told.right >= 0.85 * told.texts
        assert len(told.wrong) <= 0.02 * told.texts
        assert len(told.touched) <= 0.05 * told.dateless

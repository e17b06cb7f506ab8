"""Markup in prose is found whole, and nothing else is."""

from __future__ import annotations

import pytest

from slowwave.text.markdown import markup_spans, plain_line, without_marks


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('see <img alt="Docker Pulls" src="x"> here', ['<img alt="Docker Pulls" src="x">']),
        ("a <!-- Badge - of - it --> b", ["<!-- Badge - of - it -->"]),
        ("![Static Badge](https://x.org)", ["![Static Badge]"]),
        (".. image:: x\n   :alt: Build Status\n\nprose", [".. image:: x\n   :alt: Build Status"]),
        (">>> Frame(x)\nprose", [">>> Frame(x)"]),
        ("a < b and c > d, <nick@x.org>, [link](x), 3 >> 2", []),
    ],
)
def test_spans(text: str, found: list[str]) -> None:
    """Tags, comments, pictures, directives, a prompt; no comparison, no address, no link."""
    assert [text[a:b] for a, b in markup_spans(text)] == found


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**Mara** runs [[Lantern|the lamp]] and [the quay](quay.md).", "Mara runs the lamp and the quay."),
        ("It is *very* _old_ <b>now</b>, ![map](a.png)see.", "It is very old now, mapsee."),
        ("A said [9c28caec](claim:9c28caec-1) thing <!-- x -->here", "A said thing here"),
        ("snake_case_name, 2 * 3 * 4, a[0] and x < y stay", "snake_case_name, 2 * 3 * 4, a[0] and x < y stay"),
    ],
)
def test_plain_line_has_words_and_no_marks(text: str, plain: str) -> None:
    """Links by their words; figures and code names stay."""
    assert plain_line(text) == plain


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("<!-- TIMELINE: append-only -->\n\n## Timeline\n\n## Evidence\n\n- a", "## Evidence\n\n- a"),
        ("# Title\n\n## Summary\n\nA fact. [9c28caec](claim:9c28caec)", "# Title\n\n## Summary\n\nA fact."),
        ("A fact.\n\n## Timeline\n", "A fact."),
        ("# Title", "# Title"),
        ("```\n# one\n# two\n```", "```\n# one\n# two\n```"),
        ("Plain  text\n\n\n\nstays.", "Plain  text\n\n\n\nstays."),
    ],
)
def test_without_marks_leaves_out_what_programs_read(text: str, bare: str) -> None:
    """Comments, references to claims and headings of empty sections; code and a lone title stay."""
    assert without_marks(text) == bare

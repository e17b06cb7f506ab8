"""What memory says is shown as text, whatever it was written to do."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError

from slowwave.plans.show import lost_lines, reworded_line
from slowwave.surfaces.review_page.desk import LONGEST, marked, page, rendered, shown
from slowwave.text.specifics import losses


@pytest.mark.parametrize(
    "planted", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "</bdi><b>", "&lt;"]
)
def test_markup_is_text(planted: str) -> None:
    """In a text, and wherever a template puts a value."""
    for html in (str(shown(planted)), rendered("refusal.html", {"message": planted})):
        assert not any(tag in html for tag in ("<script>alert", "<img", "<b>", "49"))
    assert "&lt;script&gt;" in shown("<script>")
    assert shown("&lt;") == "<bdi>&amp;lt;</bdi>"


def test_characters_that_reorder_or_hide_text_are_shown_by_their_number() -> None:
    """A name that reads as another one, also among right-to-left letters; what a script needs stays."""
    assert "U+202E" in shown("invoice\u202efdp.exe")
    assert "\u202e" not in shown("invoice\u202efdp.exe")
    for mark in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068":
        assert mark not in shown(f"שלום {mark} abc"), f"U+{ord(mark):04X}"
    assert "U+200B" in shown("pass\u200bword")
    assert shown("שלום") == "<bdi>שלום</bdi>"
    assert shown("👩\u200d🚀") == "<bdi>👩\u200d🚀</bdi>"


def test_a_long_text_is_cut_and_says_so() -> None:
    """A megabyte costs a browser no more than a page."""
    html = shown("a" * 1_000_000)
    assert len(html) < LONGEST + 200
    assert "… 996,000 more characters" in html
    assert shown("a" * LONGEST) == f"<bdi>{'a' * LONGEST}</bdi>"


def test_a_value_that_is_missing_is_an_error_and_no_blank() -> None:
    """A page without what it should say would mislead."""
    with pytest.raises(UndefinedError):
        page("refusal.html", {})


def test_marks_of_a_changed_text_become_elements_and_memory_cannot_forge_them() -> None:
    """Removed, added and quoted parts are elements in escaped text; a mark that is part of a memory stays text."""
    assert (
        marked("left [-at noon-] {+at <b>ten</b>+}")
        == "<bdi>left <del>at noon</del> <ins>at &lt;b&gt;ten&lt;/b&gt;</ins></bdi>"
    )
    assert marked("run `slowwave apply <NS>` now") == "<bdi>run <code>slowwave apply &lt;NS&gt;</code> now</bdi>"
    for text in ("`one\ntwo`", "[-", "[--]", "a `b", "x[-1]", "[-\u202e-]"):
        assert "</del>" not in marked(text), text
        assert "</code>" not in marked(text), text
    line = reworded_line("Pay {+nothing+} on [-Monday-].", "Pay {+nothing+} on [-Friday-].")
    assert re.findall(r"<(ins|del)>(.*?)</", marked(line)) == [("del", "Monday"), ("ins", "Friday")]
    cut = reworded_line(
        "He is tired on Friday. Then he rested, and slept…", "He is tired on Friday (2023-05-05). Then he res…"
    )
    assert cut == "He is tired on Friday{+ (2023-05-05)+}. Then he …"
    (lost,) = lost_lines(losses("Rui [-sings-] now and here.", "Rui [-sings-] now and there."))
    assert "sings" not in "".join(re.findall(r"<del>.*?</del>", marked(lost)))

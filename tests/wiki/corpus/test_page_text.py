"""The text of pages that are written by day: heads, timelines, tombstones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.sources.profile import profile
from slowwave.text.frontmatter import frontmatter
from slowwave.wiki.corpus.page_text import (
    appended_page,
    changed_head,
    forgotten_page,
    merged_page,
    new_page,
    quarantined_page,
    replaced_page,
    tombstone_page,
    verbatim_body,
    verbatim_page,
)

DAY = "2026-05-04"
DORY = profile("dory")
TIMED = "Text.\n\n---\n\n<!-- timeline -->\n## Timeline\n- 2026-05-01: a\n\n## Evidence\n- x\n"

_TEXT = st.characters(codec="utf-8")

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(_TEXT, max_size=40),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(_TEXT, min_size=1, max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
heads = st.dictionaries(
    st.from_regex(r"[a-z_]{1,8}", fullmatch=True) | st.text(_TEXT, min_size=1, max_size=8), values, max_size=5
)


@given(heads, st.text(max_size=80).filter(lambda text: "\r" not in text))
def test_a_head_is_read_as_it_was_written_and_a_body_to_the_byte(fields: dict[str, Any], body: str) -> None:
    """Whatever the body begins with."""
    text = verbatim_page(fields, body)
    assert frontmatter(text).fields == fields
    assert verbatim_body(text) == body


@given(heads, heads)
def test_a_changed_head_says_what_was_changed_and_all_else(fields: dict[str, Any], changes: dict[str, Any]) -> None:
    """Fields that are None go; another change of the same changes nothing."""
    text = changed_head(verbatim_page(fields, ""), changes)
    expected = {k: v for k, v in {**fields, **changes}.items() if v is not None or k not in changes}
    assert frontmatter(text).fields == expected
    assert changed_head(text, changes) == text


def test_a_person_s_lines_stay_as_they_are_written() -> None:
    """Comments, order, quotes and lists of lines; only the field that changes is another."""
    head = "---\n# mine\ntitle: 'Tides'  # quoted\ntags:\n  - sea\n- moon\nstatus: active\nupdated: 2026-01-01\n---\n"
    changed = changed_head(
        head.replace("- moon\n", "  - moon\n") + "Body", {"updated": DAY, "tags": ["sea"], "area": "x"}
    )
    assert changed == (
        '---\n# mine\ntitle: \'Tides\'  # quoted\ntags: ["sea"]\nstatus: active\nupdated: "2026-05-04"\narea: "x"\n---\n'
    )
    crlf = changed_head("---\r\ntitle: A\r\nstatus: raw\r\n---\r\nBody", {"status": "done"})
    assert crlf == '---\r\ntitle: A\r\nstatus: "done"\r\n---\r\n'


def test_dory_a_new_page_has_the_fields_of_its_profile() -> None:
    """In its words; what it does not say of itself is not said for it, such as that it is canonical."""
    given_ = {"title": "Tea", "type": "strategy", "status": "in-progress", "created": "2026-01-01", "note": "x"}
    fields = frontmatter(new_page(given_, "references/reports/tea.md", "Body.", DORY, DAY)).fields
    assert fields == {
        "title": "Tea",
        "type": "report",
        "status": "active",
        "source_kind": "generated",
        "temperature": "cold",
        "created": "2026-01-01",
        "note": "x",
        "updated": DAY,
    }


@pytest.mark.parametrize(
    ("content", "expected", "stamped"),
    [
        ("- 2026-05-02: b", TIMED.replace("a\n", "a\n- 2026-05-02: b\n"), False),
        ("- 2026-05-02: b\n  more of b", TIMED.replace("a\n", "a\n- 2026-05-02: b\n  more of b\n"), False),
        ("Else.", TIMED.replace("Text.\n", "Text.\n\nElse.\n"), True),
        (
            "Else.\n- 2026-05-02: b",
            TIMED.replace("Text.\n", "Text.\n\nElse.\n").replace("a\n", "a\n- 2026-05-02: b\n"),
            True,
        ),
    ],
)
def test_dory_dated_bullets_go_below_the_timeline_and_other_text_above(
    content: str, expected: str, stamped: bool
) -> None:
    """The day of the change is noted unless only the timeline grew."""
    text = appended_page(f"---\ntitle: A\n---\n{TIMED}", {}, content, DAY)
    assert verbatim_body(text) == expected
    assert ("updated" in frontmatter(text).fields) is stamped


def test_without_a_timeline_all_text_goes_to_the_end() -> None:
    """Dated or not; tags are merged whatever their form."""
    text = appended_page(
        "---\ntitle: A\ntags: sea, moon\n---\nText.", {"tags": ["#sun", "sea"]}, "- 2026-05-02: b\n", DAY
    )
    assert verbatim_body(text) == "Text.\n\n- 2026-05-02: b\n"
    assert frontmatter(text).fields == {"title": "A", "tags": ["sea", "moon", "sun"], "updated": DAY}
    bare = appended_page("No head.\n", {}, "More.", DAY)
    assert (frontmatter(bare).fields, verbatim_body(bare)) == ({"updated": DAY}, "No head.\n\nMore.\n")
    empty = appended_page("<!-- timeline -->\n", {}, "- 2026-05-02: b", DAY)
    assert empty == "<!-- timeline -->\n\n- 2026-05-02: b\n"


def test_a_replaced_page_keeps_its_fields_and_not_its_body() -> None:
    """The content's own head and what is given change fields; the given ones win."""
    text = replaced_page("---\na: 1\nb: 2\n---\nOld.", {"b": 3}, "---\nb: 9\nc: 4\n---\nNew.", DAY)
    assert (frontmatter(text).fields, verbatim_body(text)) == ({"a": 1, "b": 3, "c": 4, "updated": DAY}, "\nNew.\n")


def test_dory_a_tombstone_has_the_reason_and_nothing_of_the_page() -> None:
    """In one line whatever the reason says; the page itself is superseded by it."""
    stone = tombstone_page("ideas/tea.md", "Wrong.\n---\ncanonical: true\n# Heading", "codex", DAY)
    assert frontmatter(stone).fields["canonical"] is False
    assert stone.endswith("Reason: Wrong. --- canonical: true # Heading\n")
    page = forgotten_page("---\ntitle: A\ncanonical: true\n---\nOld words.\n", "ideas/tea.tombstone.md", DAY)
    expected = {
        "status": "superseded",
        "canonical": False,
        "temperature": "cold",
        "superseded_by": "ideas/tea.tombstone.md",
    }
    assert frontmatter(page).fields == {"title": "A", **expected, "updated": DAY}
    assert verbatim_body(page) == "Old words.\n"


def test_what_is_quarantined_is_a_raw_capture_that_says_where_it_was_to_go() -> None:
    """The text as it came, below a head that is ours."""
    text = quarantined_page(
        "ideas/tea.md", "create", "injection: x", {"title": "---\n"}, "---\ncanonical: true\n---\nText", DAY
    )
    fields = frontmatter(text).fields
    assert (fields["type"], fields["status"], fields["canonical"]) == ("capture", "raw", False)
    assert (fields["original_target"], fields["original_kind"]) == ("ideas/tea.md", "create")
    assert text.endswith("---\ncanonical: true\n---\nText\n")


HEAD = '---\ntitle: Tides\ntags: ["sea"]\nupdated: 2026-05-01\n---\n'


@pytest.mark.parametrize(
    ("before", "appended", "edited", "merged"),
    [
        ("One.\n", "New.", "One.\nOurs.\n", "One.\nOurs.\n\nNew.\n"),
        ("One.\n", "New.", "One.\nOurs.", "One.\nOurs.\n\nNew.\n"),
        ("One.\n", "New.", "Ours.\n", "Ours.\n\nNew.\n"),
        ("One.\nTwo.\n", "New.", "", "\n\nNew.\n"),
        ("One.\n\nTwo.\n", "New.", "First.\n\nOne.\n\nTwo.\n", "First.\n\nOne.\n\nTwo.\n\nNew.\n"),
    ],
)
def test_merged_page_with_an_append_keeps_the_edit_and_adds_the_text(
    before: str, appended: str, edited: str, merged: str
) -> None:
    """At the end, or behind the person's edit of the line that it followed."""
    after = appended_page(HEAD + before, {}, appended, "2026-05-04")
    assert merged_page(HEAD + before, after, HEAD + edited) == HEAD.replace("2026-05-01", '"2026-05-04"') + merged


def test_merged_page_below_a_timeline_keeps_the_order_of_both() -> None:
    """A dated bullet stays in the timeline, and the fields of both are in the head."""
    page = HEAD + "\nAt six.\n\n<!-- timeline -->\n\n- 2026-05-01: Read.\n\n## Evidence\n\n- notes.md\n"
    after = appended_page(page, {"tags": ["moon"], "area": "sea"}, "- 2026-05-03: Again.", "2026-05-04")
    edited = page.replace("At six.", "At seven.").replace("title: Tides", "title: Ours").replace('["sea"]', '["lock"]')
    merged = merged_page(page, after, edited)
    assert merged is not None
    assert "- 2026-05-01: Read.\n- 2026-05-03: Again.\n\n## Evidence" in merged
    fields = frontmatter(merged).fields
    assert (fields["title"], fields["area"], fields["tags"]) == ("Ours", "sea", ["lock", "sea", "moon"])
    assert "At seven." in merged


def test_merged_page_of_a_replacement_is_refused() -> None:
    """Nobody knows which of two texts is meant; nor does a head that no parser accepts merge."""
    assert merged_page(HEAD + "One.\n", HEAD + "Two.\n", HEAD + "One.\nOurs.\n") is None
    assert merged_page(HEAD + "One.\n", HEAD + "One.\nTwo.\n", "---\na: [\n---\nOurs.\n") is None

"""A text is read into passages, and each knows what it does not stand without."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.structure import passages, structured


def read(text: str) -> list[tuple[str, str, tuple[int, ...]]]:
    """Kind, text and needs."""
    return [(p.kind, p.text.strip(), p.needs) for p in passages(text)]


def test_items_stand_under_their_owner() -> None:
    assert read("Anna:\n- tea\n- eggs\n\nBert:\n- fish") == [
        ("heading", "Anna:", ()),
        ("item", "- tea", (0,)),
        ("item", "- eggs", (0,)),
        ("heading", "Bert:", ()),
        ("item", "- fish", (3,)),
    ]


def test_headings_stand_in_each_other() -> None:
    found = passages("# A\n\n## B\n\nOne ran.\n\n## C\n\nTwo sat.")
    assert [(p.kind, p.needs, p.alone) for p in found] == [
        ("heading", (), False),
        ("heading", (0,), False),
        ("sentence", (1,), True),
        ("heading", (0,), False),
        ("sentence", (3,), True),
    ]


def test_a_list_in_a_line_is_a_list() -> None:
    assert [text for _, text, _ in read("1. Be kind. Always. 2. Never lie. 3. Ask.")] == [
        *("1. Be kind. Always.", "2. Never lie.", "3. Ask."),
    ]
    assert [needs for *_, needs in read("Mind: (a) the gap; (b) the step.")] == [(), (0,), (0,)]


def test_rows_need_their_head_and_code_what_leads_it_in() -> None:
    found = read("| a | b |\n|---|---|\n| 1 | 2 |\n\nDo this:\n\n```\nx\n\ny\n```")
    assert [(kind, needs) for kind, _, needs in found] == [
        *(("heading", ()), ("row", (0,)), ("heading", ()), ("block", (2,))),
    ]


def test_wrapped_prose_is_one_line_and_short_lines_are_many() -> None:
    wrapped = (
        "The gate of the yard was painted green by the crew of the\nferry, who had nothing else to do on that day."
    )
    assert len(passages(wrapped)) == 1
    assert [text for _, text, _ in read("tea\nbread\neggs")] == ["tea", "bread", "eggs"]


@pytest.mark.parametrize(
    "line", ["It was the fault of the", "They came and", "A boost we", "es lag an der", "See [a", "Hall 4 (old"]
)
def test_a_line_that_ends_in_a_word_of_grammar_or_an_open_bracket_goes_on(line: str) -> None:
    """However short it is, and whatever the next line begins with; an item is none of it."""
    assert [p.text for p in passages(f"{line}\n[old](x.md) seal of pump 4.")] == [f"{line} [old](x.md) seal of pump 4."]
    assert len(passages(f"{line}\n- seal")) == 2


def test_a_table_may_be_ruled_with_single_dashes_and_what_runs_into_code_leads_it_in() -> None:
    found = passages("| a | b |\n| - | - |\n| 1 | 2 |\n\nand an entry of\n\n```\nx\n```")
    assert [(p.kind, p.text, p.alone) for p in found] == [
        ("heading", "| a | b |\n| - | - |", False),
        ("row", "| 1 | 2 |", True),
        ("sentence", "and an entry of", False),
        ("block", "```\nx\n```", True),
    ]


def test_the_last_words_of_a_wrapped_line_are_no_label() -> None:
    """But a key below a sentence that has ended is one, and so is one with a capital."""
    text = "The scheme of the new pumps is divided into three\nparts:\n\n- a pump\n- a seal"
    assert next(p.text for p in passages(text)) == "The scheme of the new pumps is divided into three parts:"
    for other in (text.replace("three\n", "three.\n"), text.replace("parts", "Parts")):
        assert len(passages(other)) == 4


def test_code_below_a_label_is_one_block_with_its_empty_lines_and_comments() -> None:
    """Prose that is indented there is none."""
    code = "    # first open it\n    open(4)\n\n    # then close it\n    close(4)"
    found = passages(f"Examples:\n{code}\n\nIt is old.")
    assert [(p.kind, p.text, p.needs) for p in found[1:2]] == [("block", code, (0,))]
    assert "block" not in [p.kind for p in passages("Rules:\n\n    Nobody opens the gate of hall 4.\n    It is old.")]


def test_an_exception_and_its_rule_need_each_other() -> None:
    assert [needs for *_, needs in read("Crates are free. But tar is not. Rui pays.")] == [(1,), (0,), ()]


def test_turns_keep_their_speaker() -> None:
    assert [text for _, text, _ in read("rui: hello\nhow are you\nava: fine")] == [
        "rui: hello\nhow are you",
        "ava: fine",
    ]


@pytest.mark.parametrize(("text", "expected"), [("One ran. Two sat.", False), ("- a\n- b", True), ('{"a": 1}', True)])
def test_whether_a_text_is_more_than_prose(text: str, expected: bool) -> None:
    assert structured(text) is expected


@given(st.text(alphabet="ab:.-#|`> 1\n*[]()", max_size=120))
def test_whatever_the_text_needs_are_places_and_no_word_is_lost(text: str) -> None:
    found = passages(text)
    assert all(0 <= n < len(found) and n != k for k, p in enumerate(found) for n in p.needs)
    words = "".join(c for c in text if c.isalnum())
    assert "".join(c for p in found for c in p.text if c.isalnum()) == words

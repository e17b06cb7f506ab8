"""What a text is shortened by, and what each part of it does not stand without."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.shortening import Unit, mark_of, units


def needed(text: str, start: str) -> list[str]:
    """The texts that the unit which begins so needs, in order."""
    found = units(text)
    (unit,) = (u for u in found if u.text.startswith(start))
    return [found[n].text for n in sorted(unit.needs)]


def test_an_item_keeps_its_continuation_and_its_owner() -> None:
    text = "Keys:\n- Two of the door:\n  - one with me,\n    in the drawer\n  - one next door\n- One of the cellar."
    found = units(text)
    assert [u.text for u in found][2] == "  - one with me,\n    in the drawer"
    assert needed(text, "  - one with me") == ["- Two of the door:"]
    assert not next(u for u in found if u.text.startswith("- Two")).alone
    assert [u.list for u in found if u.kind == "item"] == [0, 1, 1, 0]


def test_a_turn_of_a_conversation_is_told_sentence_by_sentence_by_its_speaker() -> None:
    text = "User: Hi there. I keep 12 hens.\nAssistant: Why?\nUser: For their eggs. The yard is large."
    assert [(u.kind, u.text) for u in units(text)] == [
        ("speaker", "User:"),
        ("turn", "Hi there."),
        ("turn", "I keep 12 hens."),
        ("speaker", "Assistant:"),
        ("turn", "Why?"),
        ("speaker", "User:"),
        ("turn", "For their eggs."),
        ("turn", "The yard is large."),
    ]
    assert needed(text, "For their eggs") == ["Why?", "User:"]
    assert needed(text, "The yard") == ["User:"]
    assert not next(u for u in units(text) if u.text == "Why?").alone


def test_lines_with_keys_are_no_conversation() -> None:
    """Nobody takes turns where every key stands once."""
    assert [u.kind for u in units("Port: 5432. Do not change it.\nHost: hall4. It is old.")] == ["item", "item"]


def test_an_assumption_and_what_took_it_back_need_each_other() -> None:
    text = "I first thought that the queue was to blame. It was not. The disk was full."
    assert needed(text, "I first") == ["It was not."]
    assert needed(text, "It was") == ["I first thought that the queue was to blame."]
    assert needed(text, "The disk") == []


def test_whoever_and_whatever_pronouns_mean_comes_along() -> None:
    text = "My uncle bought a boat. It is of larch. It has two masts. The sea was calm. He sailed it alone. Then his back got worse."
    assert needed(text, "It is of larch") == ["My uncle bought a boat."]
    assert needed(text, "It has two") == ["It is of larch."]
    assert needed(text, "He sailed") == ["My uncle bought a boat.", "The sea was calm."]


def test_whoever_is_meant_within_a_sentence_is_the_last_who_was_named() -> None:
    """And not whatever the sentence before speaks of."""
    text = "Mara owns the mill. The sea was calm. The wall fell because she had dug there."
    assert needed(text, "The wall") == ["Mara owns the mill."]


def test_what_held_for_a_while_needs_what_came_then() -> None:
    assert needed("At first the pump ran. Hall 4 stood still by noon.", "At first") == ["Hall 4 stood still by noon."]


def test_a_section_is_not_answered_by_the_one_before_its_heading() -> None:
    for between in ("\n\n", "\n"):
        text = between.join(("# One", "The pump is red.", "# Two", "This pump is blue."))
        assert needed(text, "This pump") == ["# Two"]


def test_code_needs_the_sentence_that_says_what_it_shows() -> None:
    text = "The gate opens by hand. Close it with the key.\n\n```\nopen(4)\n```\n\n# Two\n\n```\nclose(4)\n```"
    assert needed(text, "```\nopen") == ["Close it with the key."]
    assert needed(text, "```\nclose") == ["# Two"]


def test_steps_need_each_other_and_their_code() -> None:
    """A procedure without its third step is another procedure; numbered questions are none."""
    text = "Restoring:\n1. Stop the pump.\n2. Copy it to hall 4:\n\n   ```\n   cp a b\n   ```\n\n3. Open the gate."
    assert [u.step for u in units(text)] == [False, True, True, False, True]
    for start in ("1. Stop", "2. Copy", "3. Open"):
        assert set(needed(text, start)) >= {u.text for u in units(text)[:3] if not u.text.startswith(start)}
    assert "   ```\n   cp a b\n   ```" in needed(text, "2. Copy")
    assert not any(
        u.step for u in units("To ask:\n1. Who pays for the pane?\n2. Whether a cat is allowed.\n3. The date.")
    )


def test_items_in_one_line_need_each_other() -> None:
    """Half of them would read as all."""
    text = "Three things: (a) the pump, (b) the seal, (c) the lamp."
    assert len(needed(text, "(b)")) == 3


@pytest.mark.parametrize(
    ("item", "kind", "mark"),
    [
        ("- the pump", "item", "- …"),
        ("  3. the pump", "item", "  3. …"),
        ("| a | b | c |", "row", "| … | … | … |"),
        ("a,b,c", "row", ""),
        ("Anna: the pump", "item", ""),
    ],
)
def test_a_line_says_that_items_are_left_out(item: str, kind: str, mark: str) -> None:
    """In the form of the first of them; it reads as such itself."""
    assert mark_of(Unit(item, kind, 0, 0)) == mark
    if kind == "item" and mark:
        assert next(u.omission for u in units(f"{mark}\n- seal"))


lines = st.sampled_from(
    ["# Head", "- item one", "  - under it", "3. third", "Anna: yes, it is.", "Bob: no.", "| a | b |", "| --- | --- |", "| 1 | 2 |", "",
     "It was not. Prose of Port Vale.", "He says so:", "```", "    code(1)", "- …"]
)  # fmt: skip


@given(st.lists(lines, max_size=14).map("\n".join))
def test_whatever_the_text_needs_are_other_units_and_no_word_is_lost(text: str) -> None:
    found = units(text)
    assert all(0 <= n < len(found) and n != k for k, u in enumerate(found) for n in u.needs)
    told = [w for u in found for w in u.text.split() if any(c.isalnum() for c in w)]
    assert told == [w for w in text.split() if any(c.isalnum() for c in w)]

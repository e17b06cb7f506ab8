"""Turns: who said what on which line, whatever way an agent writes its transcripts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.turns import ASSISTANT, USER, SessionTurn, session_turns, spoken

AT = datetime(2026, 5, 4, 9, 12, tzinfo=UTC)


def test_a_page_of_an_imported_session_has_its_turns_with_their_times_and_lines() -> None:
    """The head counts: a line is one of the page, as an editor shows it."""
    head = "---\ntitle: x\ntype: session\n---\n\n"
    page = f"{head}**user** 2026-05-04 09:12\n\nWe ship on Friday.\n\n**assistant** 2026-05-04 09:13\n\nNoted.\n"
    user, assistant = session_turns(page)
    assert (user.speaker, user.at, user.text) == (USER, AT, "We ship on Friday.")
    assert [(s.text, s.line) for s in spoken(user)] == [("We ship on Friday.", 8)]
    assert (assistant.speaker, assistant.text) == (ASSISTANT, "Noted.")


@pytest.mark.parametrize(
    ("line", "speaker"),
    [
        ("**Mara** 2026-05-04 09:12", "Mara"),
        ("Mara: Hello there.", "Mara"),
        ("**Mara:** Hello there.", "Mara"),
        ("[2026-05-04 09:12] Mara: Hello there.", "Mara"),
        ("## User", USER),
        ("Human: Hello there.", USER),
        ("**Assistant:** Hello there.", ASSISTANT),
    ],
)
def test_roles_and_given_names_begin_a_turn(line: str, speaker: str) -> None:
    """In bold, as a heading, or before a colon."""
    turns = session_turns(f"{line}\n\nMore of it.\n")
    assert [turn.speaker for turn in turns] == [speaker]


@pytest.mark.parametrize(
    "line", ["Decision: we stay.", "## Notes", "Total: 12", "User stories are fun.", "Kestrel: a bird"]
)
def test_other_words_before_a_colon_begin_none(line: str) -> None:
    """A label is part of what was said."""
    assert [turn.speaker for turn in session_turns(f"{line}\n")] == [""]


def test_code_quotations_tables_and_headings_are_not_what_somebody_said() -> None:
    """Paragraphs and items are, each sentence with the line on which it begins."""
    code = "```\nuser: not me\nWe decided nothing.\n```"
    said = (
        f"Mara: One thing.\n\n{code}\n> We decided it.\n| a | b |\n- First item.\n- Second item\n  goes on. And ends."
    )
    (turn,) = session_turns(said)
    assert [(s.text, s.line) for s in spoken(turn)] == [
        ("One thing.", 1),
        ("First item.", 9),
        ("Second item goes on.", 10),
        ("And ends.", 11),
    ]


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "Mara"]), st.text("ab. \n`>#*:", max_size=40)), max_size=6)
)
def test_no_page_is_too_odd_and_lines_are_its_own(said: list[tuple[str, str]]) -> None:
    """Every sentence stands on the line that it names, whatever was said."""
    page = "".join(f"**{who}** 2026-05-04 09:12\n\n{text}\n\n" for who, text in said)
    lines = page.split("\n")
    for turn in session_turns(page):
        assert isinstance(turn, SessionTurn)
        for sentence in spoken(turn):
            assert sentence.text.split()[0].strip("`>#*:")[:1] in lines[sentence.line - 1]

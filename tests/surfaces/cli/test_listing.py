"""Tables, and the blocks that they become where a terminal is narrow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from slowwave.surfaces.cli.session import CUT, listing, one_line, prefix_length, wrapped

HASH = "5d8be3b8af05"
NAME = "customer-success-and-renewals-emea-production"
COLUMNS = ("plan", "namespace", "state", "recorded", "items")
ROW = (HASH, NAME, "awaiting_approval", "2026-11-22 05:58", 1_234)


def lines(width: int | None, columns: tuple[str, ...] = COLUMNS, *rows: tuple[object, ...]) -> list[str]:
    return [line.plain for line in listing("Plans", columns, rows or (ROW,), width)]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120, 200, None])
def test_no_name_hash_or_state_is_ever_broken(width: int | None) -> None:
    """Each value of the record stands whole on one line, and lines are as narrow as their words allow."""
    shown = lines(width)
    for value in ROW[:4]:
        assert any(str(value) in line for line in shown), (width, value, shown)
    longest = max(cell_len(f"  {name} {value}") for name, value in zip(COLUMNS, ROW, strict=True))
    assert width is None or all(cell_len(line) <= max(width, longest) for line in shown), shown


def test_a_table_where_there_is_room_and_blocks_where_there_is_none() -> None:
    """At 120 columns a record is a line under a header; at 80 it is a block under its first cell."""
    assert lines(120)[1].split() == list(COLUMNS)
    assert lines(120)[2].split()[:3] == [HASH, NAME, "awaiting_approval"]
    assert lines(80)[1] == HASH
    assert lines(80)[2] == f"  namespace {NAME}"
    assert lines(80)[3].startswith("  state awaiting_approval · recorded 2026-11-22 05:58")


def test_prose_wraps_beside_ids_that_do_not() -> None:
    """A long text gives way between words, and the id keeps its column."""
    text = "12 of 168 live entities could be archived: 8 tied to nothing and 4 weakly tied, none recalled in 90 days"
    shown = lines(80, ("memory", "text"), (HASH, text))
    assert shown[2].startswith(HASH)
    assert " ".join(" ".join(shown[2:]).split()) == f"{HASH} {text}"
    assert all(cell_len(line) <= 80 for line in shown)


def test_a_pipe_gets_whole_cells_and_a_terminal_the_beginning() -> None:
    """Nothing is cut and nothing wrapped where a program reads."""
    text = "word " * 200
    assert text.strip() in lines(None, ("memory", "text"), (HASH, text))[2]
    assert len(" ".join(lines(80, ("memory", "text"), (HASH, text)))) < CUT + 200


def test_nothing_is_said_to_be_nothing() -> None:
    """An empty table is one line."""
    assert [line.plain for line in listing("Plans", COLUMNS, [], 80)] == ["Plans: none"]


def test_memory_text_cannot_speak_to_the_terminal() -> None:
    """Escape sequences, line ends and direction marks become spaces; markup is text."""
    shown = lines(80, ("id", "text"), ("1", "a\x1b[31m\n\u202eb [bold]c[/]"))
    assert shown[2].split() == ["1", "a", "[31m", "b", "[bold]c[/]"]
    assert one_line("\x9b2J") == " 2J"


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" ")), st.integers(1, 60))
def test_wrapping_loses_no_word_and_is_narrow_where_it_can_be(text: str, width: int) -> None:
    """The words come back in their order, and no line is too wide that has two of them."""
    shown = wrapped(text, width)
    assert " ".join(shown).split() == text.split()
    assert all(cell_len(line) <= width for line in shown if len(line.split()) > 1 and "`" not in line)


def test_a_command_in_a_sentence_is_not_broken() -> None:
    """What stands in backticks goes to a line of its own rather than over two."""
    command = "`slowwave plans approve acme 5d8be3b8af05 --by YOUR-NAME --force --note WHY`"
    shown = wrapped(f"Plan 5d8be3b8af05 waits for approval: {command}. Look at it first.", 60)
    assert f"{command}." in [line.strip() for line in shown]


def test_an_id_is_as_long_as_it_takes_to_tell_it_from_the_others() -> None:
    """Eight characters, which are enough for `why`; more where two ids begin alike."""
    ids = ["89a9f23e-20e6-506d-9cf7-5749075e88c3", "89a9f23e-20e7-506d-9cf7-5749075e88c3"]
    assert prefix_length(ids[:1]) == prefix_length([]) == 8
    assert prefix_length(ids) == 13
    assert prefix_length(["89a9f23e-20e6-506d-9cf7-5749075e88c3", "89a9f23e-20e6-506d-9cf7-5749075e88c4"]) == 36

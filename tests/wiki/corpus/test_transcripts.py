"""Transcripts: turns of three harnesses from their lines, and nothing of their machinery."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import ImportRefused
from slowwave.sources.rows import RowCheck
from slowwave.store.connect import Store
from slowwave.wiki.corpus.transcripts import Transcript, cleaned, read_transcripts


@pytest.fixture
def read(tmp_path: Path, store: Store) -> Any:
    def of(*rows: object) -> list[Transcript]:
        file = tmp_path / "talk.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        with store.connect("reader") as connection:
            return read_transcripts(file, RowCheck.from_connection(connection, file, "stop"))

    return of


def test_instants_are_utc_however_they_are_written(read: Any) -> None:
    """Seconds, milliseconds, with a zone, without one; what is no instant is none."""
    stamps = [1_777_885_200, 1_777_885_260_000, "2026-05-04T11:02:00+02:00", "2026-05-04T09:03:00", "soon", None, True]
    (found,) = read(*({"role": "user", "content": f"turn {n}", "created_at": at} for n, at in enumerate(stamps)))
    assert [turn.at for turn in found.turns] == [
        *(datetime(2026, 5, 4, 9, minute, tzinfo=UTC) for minute in range(4)), None, None, None,
    ]  # fmt: skip
    assert (found.begun, found.ended) == (found.turns[0].at, found.turns[3].at)
    assert (found.agent, found.session_id) == ("openai", "talk")


def test_an_older_codex_begins_with_its_instructions(read: Any) -> None:
    """It names the session in the first line and has no payloads."""
    (found,) = read(
        {"id": "c-0", "instructions": "be good", "timestamp": "2026-05-04T09:00:00Z"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "shell", "arguments": "x"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    )
    assert (found.agent, found.session_id, [turn.text for turn in found.turns]) == (
        "codex",
        "c-0",
        ["Fix it.", "Done."],
    )


def test_what_is_said_twice_in_a_row_is_said_once_and_what_says_nothing_is_no_session(read: Any) -> None:
    said = {"role": "user", "content": "Again."}
    (found,) = read(said, said, {"role": "assistant", "content": "Yes."}, said)
    assert [turn.text for turn in found.turns] == ["Again.", "Yes.", "Again."]
    assert read({"role": "system", "content": "x"}, {"role": "user", "content": "Tool call: Read"}) == []


def test_sessions_of_one_file_stay_apart(read: Any) -> None:
    """By the id that each line names."""
    found = read(*({"role": "user", "content": f"of {s}", "session_id": s} for s in ("a", "b", "a")))
    assert [(one.session_id, len(one.turns)) for one in found] == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("row", [[1], {}, {"messages": ["x"]}])
def test_what_is_no_line_of_a_session_is_refused_by_its_number(read: Any, row: object) -> None:
    with pytest.raises(ImportRefused, match="line 2"):
        read({"role": "user", "content": "fine"}, row)


def test_lines_of_tools_go_and_words_about_tools_stay() -> None:
    text = 'Before\n[tool_result] noise\n</function_results>\n{"tool": "x"}\nRunning the tool: grep\nThe tool shed is open.\n'
    assert cleaned(text) == "Before\nThe tool shed is open."

"""Line 17: a number where an agent file has a list ended an import with a traceback. Whatever is in a file, each format's reader takes a
row or says in a sentence what is wrong with it and where: an agent file by the path in its JSON, the others by line.
"""

from __future__ import annotations

import copy
import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.errors import ImportRefused
from slowwave.sources.letta import read_agents
from slowwave.sources.pipeline import import_messages, read_messages
from slowwave.sources.rows import RowCheck
from slowwave.sources.tables import import_entities, read_records
from slowwave.store.connect import Store
from tests.sources.conftest import HashEmbedder

AGENT_FILE: dict[str, Any] = {
    "agents": [
        {
            "id": "agent-0",
            "name": "Helper",
            "block_ids": ["block-0"],
            "memory_blocks": [{"label": "carried", "value": "Kept."}],
            "messages": [
                {"role": "user", "created_at": "2026-01-01T00:00:01Z", "content": [{"type": "text", "text": "Hello."}]},
                {
                    "role": "assistant",
                    "created_at": "2026-01-01T00:00:02Z",
                    "content": [],
                    "tool_calls": [{"function": {"name": "send_message", "arguments": '{"message": "Hello Chad."}'}}],
                },
            ],
        }
    ],
    "groups": [{"agent_ids": ["agent-0"], "shared_block_ids": ["block-1"]}],
    "blocks": [{"id": f"block-{n}", "label": f"label {n}", "value": f"Text {n}."} for n in range(3)],
    "created_at": "2026-01-02T00:00:00Z",
}
WRONG: list[Any] = [0, 7, -1.5, True, "word", [], [1], ["a"], {}, {"a": 1}, 10**40]
PLAIN = ("type", "id")
"""Keys whose loss loses no text."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every node."""
    yield path
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))


PLACES = list(places(AGENT_FILE))


def replaced(path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(AGENT_FILE)
    node = changed
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return changed


def node(path: tuple[Any, ...]) -> Any:
    found: Any = AGENT_FILE
    for key in path:
        found = found[key]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.mark.parametrize("path", PLACES, ids=[".".join(map(str, p)) or "root" for p in PLACES])
def test_any_node_of_an_agent_file_may_be_of_any_type(folder: Path, path: tuple[Any, ...]) -> None:
    """What cannot be read is listed with its path, and whoever stops at it gets a refusal: nothing is lost without a word."""
    file = folder / "agent.af"
    for value in (w for w in WRONG if type(w) is not type(node(path))):
        file.write_text(json.dumps(replaced(path, value)))
        check = RowCheck(str(file), "skip")
        try:
            turns = list(read_agents(file, check))
        except ImportRefused:
            assert len(path) == 0
            continue
        if path[-1] not in PLAIN:
            assert len(turns) == 6 or check.skipped
        assert all(getattr(row, "path", "") and row.reason for row in check.skipped)
        if check.skipped:
            with pytest.raises(ImportRefused) as caught:
                list(read_agents(file, RowCheck(str(file), "stop")))
            assert f"{file}, {check.skipped[0].path}: " in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
TURN = {"namespace": "demo", "created_at": "2026-03-01T09:00:00Z", "role": "user", "content": "Hello.", "id": "1"}
ROW = {"id": "1", "source": "crm", "entity_type": "person", "name": "Ann", "attrs": '{"a": 1}'}


@given(st.dictionaries(st.sampled_from(list(TURN)), JSON), JSON)
def test_any_value_may_stand_in_a_message(folder: Path, changes: dict[str, Any], bare: Any) -> None:
    """Rows with other values, and lines that are no row at all."""
    file = folder / "messages.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ({**TURN, **changes}, bare, TURN | {"id": "last"})))
    check = RowCheck(str(file), "skip")
    assert list(read_messages(file, check))[-1].external_id == "last"
    assert all(row.line in (1, 2) and row.reason for row in check.skipped)


@given(st.dictionaries(st.sampled_from(list(ROW)), st.text(max_size=20) | JSON.map(json.dumps)))
def test_any_text_may_stand_in_a_table(folder: Path, changes: dict[str, str]) -> None:
    """Cells with any characters, quotes and line breaks, written as CSV wants them."""
    file = folder / "people.csv"
    with file.open("w", encoding="utf-8", errors="surrogatepass", newline="") as opened:
        writer = csv.DictWriter(opened, list(ROW))
        writer.writeheader()
        writer.writerows([{**ROW, **changes}, {**ROW, "id": "the last one"}])
    check = RowCheck(str(file), "skip")
    assert list(read_records(file, check))[-1].external_id == "the last one"
    assert all(row.line == 2 and row.reason for row in check.skipped)


DEEP = "[" * 900 + "]" * 900


@pytest.mark.parametrize(
    "text", ["\ud800", "\0", "\x1b[31m", "\u202e" * 50, "\U0010ffff" * 400, "'; DROP TABLE x; --", "a" * 401]
)
def test_what_a_reader_takes_the_database_takes(store: Store, tmp_path: Path, text: str) -> None:
    """Names, ids and sources of strange characters and the greatest length, and attributes of great depth."""
    table, messages = tmp_path / "people.csv", tmp_path / "messages.jsonl"
    rows = [ROW | {key: text} for key in ("id", "source", "name", "entity_type")]
    rows += [ROW | {"id": f"{n}", "attrs": json.dumps({"a": text})} for n in range(2, 4)]
    rows += [ROW | {"id": "deep", "attrs": f'{{"a": {DEEP}}}'}]
    with table.open("w", encoding="utf-8", errors="surrogatepass", newline="") as opened:
        writer = csv.DictWriter(opened, list(ROW))
        writer.writeheader()
        writer.writerows(rows)
    turns = [TURN | {key: text} for key in ("id", "role", "content")] + [TURN | {"id": "last"}]
    messages.write_text("".join(json.dumps(t) + "\n" for t in turns))
    with store.connect("owner") as connection:
        summary = import_entities(connection, table, embedder=HashEmbedder(), on_error="skip")
        assert summary.added.get("entities", 0) + len(summary.skipped) == summary.seen == len(rows)
        summary = import_messages(connection, messages, embedder=HashEmbedder(), on_error="skip")
        assert summary.added["memories"] + len(summary.skipped) == summary.seen == len(turns)

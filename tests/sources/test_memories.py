"""Memories from a table: one a row, known by id or by what they say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.errors import ImportRefused
from slowwave.sources.rows import content_id
from slowwave.sources.tables import import_memories
from slowwave.store.connect import Store
from tests.memories import ask
from tests.sources.conftest import HashEmbedder

NOW = datetime(2026, 5, 1, 9, tzinfo=UTC)
ROWS = "SELECT m.external_id, m.kind, m.subject, m.author, v.content, m.valid_from::date::text FROM memory.memories m "
ROWS += "JOIN memory.memory_versions v ON v.id = m.current_version_id ORDER BY v.content"


def test_a_table_of_memories_becomes_memories(
    store: Store, embedder: HashEmbedder, tmp_path: Path, contents: Callable[[], object]
) -> None:
    """By a map of its columns; a second import adds nothing, whenever it is made."""
    table = tmp_path / "notes.csv"
    table.write_text(
        "key,memory,type,about,who,at\n"
        "n1,The harbour opens at six.,semantic,harbour,ann,2026-03-01T09:00:00Z\n"
        ",Ann met Omar.,event,,,\n"
        ",Ann met Omar.,event,,,\n"
    )
    mapped = ["id=key", "text=memory", "kind=type", "subject=about", "author=who", "created_at=at"]
    with store.connect("owner") as connection:
        summary = import_memories(connection, table, embedder=embedder, columns=mapped, now=NOW)
        assert (summary.namespaces, summary.added["memories"], summary.seen) == (("notes",), 2, 3)
        first, second = ask(store, ROWS)
        assert first[1:] == ("event", "", "", "Ann met Omar.", "2026-05-01")
        assert second == ("n1", "semantic", "harbour", "ann", "The harbour opens at six.", "2026-03-01")
        before = contents()
        later = datetime(2026, 6, 1, tzinfo=UTC)
        assert import_memories(connection, table, embedder=embedder, columns=mapped, now=later).added == {}
    assert contents() == before


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('{"kind": "semantic"}', "text is missing"),
        ('{"text": "a", "kind": "diary"}', "kind is none of episodic"),
        ('{"text": "a", "created_at": "yesterday"}', "not an ISO 8601"),
        ('{"text": "other", "id": "1"}', "used in line 1 for another memory"),
    ],
)
def test_what_is_no_memory_is_refused_by_line(
    store: Store, embedder: HashEmbedder, tmp_path: Path, row: str, reason: str
) -> None:
    """And nothing is imported."""
    file = tmp_path / "a.jsonl"
    file.write_text(f'{{"text": "a", "id": "1"}}\n{row}\n')
    with store.connect("owner") as connection, pytest.raises(ImportRefused, match=f"line 2.*{reason}"):
        import_memories(connection, file, embedder=embedder)
    assert ask(store, "SELECT count(*) FROM memory.memories") == [(0,)]


def test_text_that_repeats_on_another_day_is_another_memory(
    store: Store, embedder: HashEmbedder, tmp_path: Path, contents: Callable[[], object]
) -> None:
    """In one file and in two. Rows that an earlier version stored by their words alone are known by their time."""
    file, next_file = tmp_path / "valve.jsonl", tmp_path / "more.jsonl"
    rows = [
        f'{{"text": "The valve is {state}.", "created_at": "2026-05-{day:02}T10:00:00Z"}}\n'
        for state, day in (("open", 1), ("closed", 5), ("open", 9), ("open", 9))
    ]
    file.write_text("".join(rows))
    next_file.write_text('{"text": "The valve is open.", "created_at": "2026-05-20T10:00:00Z"}\n')
    with store.connect("owner") as connection:
        assert import_memories(connection, file, embedder=embedder).added["memories"] == 3
        assert import_memories(connection, next_file, embedder=embedder, namespace="valve").added["memories"] == 1
        undated = content_id("valve", "semantic", "", "", "The valve is open.")
        connection.execute(
            "UPDATE memory.memories SET external_id = %s WHERE valid_from = '2026-05-01T10:00:00Z'", (undated,)
        )
        before = contents()
        for again in (file, next_file):
            assert import_memories(connection, again, embedder=embedder, namespace="valve").added == {}
    assert contents() == before

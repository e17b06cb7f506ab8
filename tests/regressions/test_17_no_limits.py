"""Line 17: nothing bounded what an import takes. A line of .2 MB cost five CPU seconds, one of 1 MB held one transaction, with its
namespace locked, over eight minutes, and one of 50 MB never ended. A text has a length from which it is refused by its line, a line is
never read into memory beyond that, a text brings a bounded number of names, and transactions are short and wait for no model.
"""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from slowwave.errors import ImportRefused
from slowwave.sources.letta import import_letta
from slowwave.sources.pipeline import import_messages
from slowwave.sources.tables import import_entities
from slowwave.store.connect import Store
from tests.memories import ask
from tests.sources.conftest import HashEmbedder

HUGE = 20_000_000
BATCH_ROWS, BATCH_CHARACTERS = 512, 200_000


def turn(content: str, second: int = 0) -> dict[str, str]:
    when = f"2026-03-01T09:{second // 60 % 60:02}:{second % 60:02}+00:00"
    return {"namespace": "demo", "created_at": when, "role": "user", "content": content, "id": f"t{second}"}


def messages(folder: Path, *turns: dict[str, str]) -> Path:
    path = folder / "messages.jsonl"
    path.write_text("".join(json.dumps(t) + "\n" for t in turns))
    return path


def test_a_text_that_is_too_long_is_refused_by_its_line(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default takes 100,000 characters; the environment and a namespace may say something else."""
    path = messages(tmp_path, turn("x" * 100_000, 1), turn("y" * 100_001, 2), turn("z", 3))
    with store.connect("owner") as connection:
        with pytest.raises(ImportRefused, match="line 2: content has 100,001 characters"):
            import_messages(connection, path, embedder=HashEmbedder())
        assert ask(store, "SELECT count(*) FROM memory.memories") == [(0,)]
        summary = import_messages(connection, path, embedder=HashEmbedder(), on_error="skip")
        assert ([s.line for s in summary.skipped], summary.added["memories"]) == ([2], 2)
        monkeypatch.setenv("SLOWWAVE_IMPORT_LONGEST_TEXT", "200000")
        assert import_messages(connection, path, embedder=HashEmbedder()).added["memories"] == 1
        connection.execute("""UPDATE memory.namespaces SET settings = '{"import_longest_text": 2000}'""")
        with pytest.raises(ImportRefused, match="line 1: content has 100,000 characters"):
            import_messages(connection, path, embedder=HashEmbedder())


def test_agent_files_and_tables_have_the_same_limit(store: Store, tmp_path: Path) -> None:
    """A block, a message, a name, a source and attributes of any length, each by its place."""
    long = "x" * 100_001
    agent = {
        "agents": [{"name": "a", "block_ids": ["b"], "messages": []}],
        "blocks": [{"id": "b", "label": "l", "value": long}],
    }
    path = tmp_path / "a.af"
    path.write_text(json.dumps({**agent, "created_at": "2026-01-01T00:00:00+00:00"}))
    rows = [
        f"1,crm,person,{long[:3_000]},",
        f"2,{long[:3_000]},person,Ann,",
        f'3,crm,person,Ann,"{{""a"": ""{long}""}}"',
    ]
    table = tmp_path / "a.csv"
    table.write_text("id,source,entity_type,name,attrs\n" + "\n".join([*rows, "4,crm,person,Ann,"]))
    with store.connect("owner") as connection:
        assert len(import_letta(connection, path, embedder=HashEmbedder(), on_error="skip").skipped) == 1
        summary = import_entities(connection, table, embedder=HashEmbedder(), on_error="skip")
    assert ([s.line for s in summary.skipped], summary.added["entities"]) == ([2, 3, 4], 1)


def test_a_huge_line_is_passed_over_without_being_held(store: Store, tmp_path: Path) -> None:
    """Twenty megabytes without an end of line, plain and out of an archive of 20 kB, and the rows behind them."""
    path, table = tmp_path / "messages.jsonl", tmp_path / "people.csv.gz"
    path.write_text(json.dumps(turn("x" * HUGE)) + "\n" + json.dumps(turn("small", 1)) + "\n")
    with gzip.open(table, "wt") as file:
        file.write(f"id,source,entity_type,name,attrs\n1,crm,person,{'x' * HUGE},\n2,crm,person,Ann,\n")
    with store.connect("owner") as connection:
        for name, read, where in (("memories", import_messages, path), ("entities", import_entities, table)):
            tracemalloc.start()
            try:
                summary = read(connection, where, embedder=HashEmbedder(), on_error="skip")
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert (len(summary.skipped), summary.added[name]) == (1, 1)
            assert peak < HUGE / 2


def test_transactions_are_short(store: Store, tmp_path: Path) -> None:
    """Many rows, and few long ones: neither comes in one piece."""
    many, long = (
        [turn("Hello.", n) for n in range(BATCH_ROWS + 1)],
        [turn("word " * 12_000, 2_000 + n) for n in range(7)],
    )
    with store.connect("owner") as connection:
        import_messages(connection, messages(tmp_path, *many), embedder=HashEmbedder())
        import_messages(connection, messages(tmp_path, *long), embedder=HashEmbedder())
    batches = ask(
        store,
        "SELECT count(*), sum(length(v.content)) FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id "
        "GROUP BY m.xmin",
    )
    assert len(batches) == 5
    assert all(rows <= BATCH_ROWS and size <= BATCH_CHARACTERS for rows, size in batches)


class Watching(HashEmbedder):
    """Looks, whenever it is asked for vectors, whether the namespace is locked; and breaks down on request."""

    def __init__(self, store: Store, fail_at: int = 0) -> None:
        super().__init__()
        self._store, self._fail_at, self.asked = store, fail_at, 0

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += 1
        if self.asked == self._fail_at:
            raise RuntimeError("down")
        with self._store.connect("owner") as other, other.transaction():
            other.execute("SELECT id FROM memory.namespaces FOR UPDATE NOWAIT")
        return super().embed(texts)


def test_no_transaction_waits_for_a_model(store: Store, tmp_path: Path) -> None:
    """While an endpoint takes its time for vectors, other writers of the namespace go on."""
    with store.connect("owner") as connection:
        import_messages(connection, messages(tmp_path, turn("Hello.")), embedder=HashEmbedder())
        watching = Watching(store)
        import_messages(connection, messages(tmp_path, turn("Jane Smith met Bob Jones.", 1)), embedder=watching)
    assert watching.asked


def test_an_import_that_broke_down_goes_on_where_it_was(store: Store, tmp_path: Path) -> None:
    """The first batch stands whole; the same command adds the rest and nothing twice."""
    path = messages(tmp_path, *(turn(f"Jane Smith wrote note {n}. " + "word " * 12_000, n) for n in range(6)))
    with store.connect("owner") as connection:
        with pytest.raises(RuntimeError):
            import_messages(connection, path, embedder=Watching(store, fail_at=2))
        stood = ask(store, "SELECT count(*) FROM memory.memories")[0][0]
        assert 0 < stood < 6
        assert ask(store, "SELECT count(*) FROM memory.memory_vectors") == [(stood,)]
        summary = import_messages(connection, path, embedder=HashEmbedder())
        assert (summary.known, summary.added["memories"]) == (stood, 6 - stood)
    assert ask(store, "SELECT mention_count FROM memory.entities WHERE name = 'Jane Smith'") == [(6,)]


def test_a_text_brings_a_bounded_number_of_names(store: Store, tmp_path: Path) -> None:
    """Three thousand names in one message are noise; each one would be rows, a vector and two dozen edges."""
    letters = "abcdefghijklmno"
    names = [f"Anna Q{a}{b}{c}" for a in letters for b in letters for c in letters][:3_000]
    with store.connect("owner") as connection:
        import_messages(connection, messages(tmp_path, turn(", ".join(names))), embedder=HashEmbedder())
    assert ask(store, "SELECT count(*) <= 1000 FROM memory.entities") == [(True,)]

"""The benchmark of folders times what it says: a first sync, one that finds nothing, a changed hundredth, and answers with their SQL."""

from __future__ import annotations

from pathlib import Path

from benchmarks.folders import measured
from slowwave.store.connect import Store


def test_each_sync_is_what_its_row_says_and_sql_is_a_part_of_an_answer(store: Store, tmp_path: Path) -> None:
    """Every file, none, one of a hundred; no answer takes less time than its SQL."""
    syncs, answers = measured(store, tmp_path / "folder", 200)
    assert [row[0] for row in syncs.rows] == ["200 new", "200 unchanged", "2 changed, 198 unchanged"]
    assert [row[0] for row in answers.rows] == ["wake", "get"]
    assert all(0 < float(sql) <= float(whole) for _, whole, sql, _ in answers.rows)

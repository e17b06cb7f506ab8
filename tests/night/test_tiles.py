"""The night of one huge namespace: divided over processes it has the same plan, and it is refused before it takes too much memory."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowwave.errors import DreamLockUnavailable, NightFailed, Refused
from slowwave.night import tiles
from slowwave.night.night import Tiles, divide_search, run_night
from slowwave.night.runs import begin, crash
from slowwave.night.tiles import count_rows, needed_bytes
from slowwave.snapshots.files import database_base
from slowwave.snapshots.tiles import search_tile
from slowwave.store import server
from slowwave.store.connect import Store
from tests.buckets import another_machine, serve_s3, use_bucket
from tests.clusters import cloned
from tests.huge import NAME, NOW, load_huge

SIZE = 1_500
SEARCHING = "dedupe_entities,dedupe_memories"


@pytest.fixture(scope="module")
def huge(postgres: server.Server) -> Iterator[Store]:
    """The namespace is filled once, as that takes seconds; plans of these tests do not depend on each other."""
    with cloned(postgres, "template_slowwave") as name:
        store = Store.embedded_in(postgres.url(name), postgres.home)
        load_huge(store, SIZE)
        yield store


def hash_of(store: Store, **options: object) -> str:
    found = run_night(store, NAME, ops=SEARCHING, now=NOW, **options)  # type: ignore[arg-type]
    assert found.plan
    return found.plan.plan_hash


def test_in_processes_the_plan_is_the_same_and_no_tile_stays(huge: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = hash_of(huge)
    searched: list[int] = []
    found_in = tiles.found_in
    monkeypatch.setattr(tiles, "found_in", lambda saved: searched.append(len(saved)) or found_in(saved))
    assert hash_of(huge, jobs=2) == alone
    assert searched[0] >= 2
    assert not list(Path(database_base(huge)).rglob("tiles"))


def test_night_over_the_memory_of_a_worker_is_refused_before_it_begins(
    huge: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = count_rows(huge, NAME)
    assert (rows["entities"], rows["memories"]) == (SIZE, SIZE)
    needed = needed_bytes(rows) / (1 << 30)
    monkeypatch.setenv("SLOWWAVE_WORKER_MEMORY_GIB", str(needed * 1.01))
    hash_of(huge)
    monkeypatch.setenv("SLOWWAVE_WORKER_MEMORY_GIB", str(needed * 0.99))
    with huge.connect("reader") as connection:
        before = connection.execute("SELECT count(*) FROM night.runs").fetchone()
    with pytest.raises(Refused, match=r"1,500 entities, 1,500 memories.* GiB .*SLOWWAVE_WORKER_MEMORY_GIB.*Run it on"):
        hash_of(huge)
    with huge.connect("reader") as connection:
        assert connection.execute("SELECT count(*) FROM night.runs").fetchone() == before


def test_tiles_in_a_bucket_are_searched_and_joined_by_other_machines(
    huge: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker has an empty cache; the plan is that of one process, and no object of a tile stays."""
    alone = hash_of(huge)
    monkeypatch.setattr("slowwave.snapshots.tiles._LEAST", 0)
    with serve_s3() as address, use_bucket(address, tmp_path, monkeypatch) as bucket:
        divided = divide_search(huge, NAME, 2, ops=SEARCHING)
        assert len(divided.tiles) >= 2
        for number, tile in enumerate(divided.tiles):
            cache = another_machine(tmp_path, monkeypatch, f"worker {number % 2}")
            search_tile(tile)
            assert list(cache.iterdir())
        results = [name for name in bucket.names() if name.endswith(".npz")]
        assert len(results) == len(divided.tiles)
        another_machine(tmp_path, monkeypatch, "planner")
        monkeypatch.setattr("slowwave.snapshots.tiles.in_threads", refuse_to_search)
        assert hash_of(huge, tiles=divided) == alone
        assert bucket.names()
        assert not [name for name in bucket.names() if "/tiles/" in name]


def refuse_to_search(*_: object, **__: object) -> None:
    raise AssertionError("The planner searched again.")


def searched(store: Store) -> Tiles:
    """The tiles of a new snapshot, all of them searched."""
    divided = divide_search(store, NAME, 2)
    for tile in divided.tiles:
        search_tile(tile)
    return divided


def test_two_divisions_of_one_night_make_one_plan(huge: Store) -> None:
    """The later one is refused while the namespace is held, and skipped once it had its night; a new division has one again."""
    first, second = searched(huge), searched(huge)
    held = begin(huge, NAME)
    with pytest.raises(DreamLockUnavailable, match=NAME):
        run_night(huge, NAME, force=True, tiles=second)
    crash(huge, held, RuntimeError("The test ended it."))
    assert run_night(huge, NAME, force=True, tiles=first).plan
    late = run_night(huge, NAME, force=True, tiles=second)
    assert late.plan is None
    assert "after the snapshot of these tiles" in late.skipped
    assert run_night(huge, NAME, force=True, tiles=searched(huge)).plan


def end_at_once(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_process_that_is_ended_fails_the_night_and_no_plan_is_written(
    huge: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles, "search_tile", end_at_once)
    with pytest.raises(NightFailed, match=r"was ended from outside.*Nothing was planned\. Run the night again"):
        hash_of(huge, jobs=2)
    with huge.connect("reader") as connection:
        last = connection.execute("SELECT state, error FROM night.runs ORDER BY started_at DESC LIMIT 1").fetchone()
    assert last
    assert last[0] == "crashed"
    assert not list(Path(database_base(huge)).rglob("tiles"))

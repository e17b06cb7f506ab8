"""Saved searches: other processes search their tiles, and the plan is the one of a single process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slowwave.errors import SnapshotError
from slowwave.matching.tiles import Run, in_threads
from slowwave.operations import PLANNERS, Inputs, permits
from slowwave.plans.seal import Header, seal
from slowwave.snapshots import tiles
from slowwave.snapshots.files import load_snapshot, save_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.snapshots.tiles import Saved, Tile, found_in, remove_tiles, search_tile
from slowwave.store.settings import Settings
from tests.snapshots import make_snapshot, uid

SEARCHING = ("dedupe_entities", "dedupe_memories")
FIRST = ("Ada", "Brok", "Cleo", "Dunja", "Edsger", "Frida", "Gunvor", "Hal", "Ines", "Jon")
LAST = ("Mortensen", "Okafor", "Petrov", "Quist", "Ravnkilde", "Sato", "Thorvald", "Umbral")


@pytest.fixture(autouse=True)
def _even_small_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "_LEAST", 0)


def small_world(seed: int) -> Snapshot:
    """Entities of two types and notes, a third of them variants of others, with vectors that are near where they are."""
    rng = np.random.default_rng(seed)
    names = [f"{first} {last} {rng.integers(3)}" for first in FIRST for last in LAST]
    names += [name.upper() if rng.random() < 0.5 else name.replace("r", "rr", 1) for name in names[::3]]
    texts = [f"{first} keeps the keys of house {k} at {last}'s." for k, first in enumerate(FIRST) for last in LAST]
    texts += [text.replace("keeps the keys", "keeps the key") for text in texts[::3]]
    one, other = (rng.normal(size=(80, 16)) for _ in range(2))
    entity, memory = (np.concatenate([m, m[::3] + rng.normal(scale=0.02, size=(27, 16))]) for m in (one, other))
    kinds = ["PERSON" if rng.random() < 0.7 else "PLACE" for _ in range(80)]
    return make_snapshot(
        entities=[
            {"id": uid(f"e{k}"), "name": name, "entity_type": (kinds + kinds[::3])[k], "description": f"Row {k}."}
            for k, name in enumerate(names)
        ],
        memories=[{"id": uid(f"m{k}"), "kind": "note", "current_version_id": uid(f"v{k}")} for k in range(len(texts))],
        memory_versions=[
            {"id": uid(f"v{k}"), "memory_id": uid(f"m{k}"), "content": text} for k, text in enumerate(texts)
        ],
        vectors={
            "entity_vectors": {uid(f"e{k}"): row for k, row in enumerate(entity.tolist())},
            "memory_vectors": {uid(f"m{k}"): row for k, row in enumerate(memory.tolist())},
        },
    )


def planned(snapshot: Snapshot, search: Run = in_threads) -> tuple[str, int]:
    """The hash and the number of items of the plan of both planners."""
    inputs = Inputs(snapshot, {}, Settings.for_namespace(snapshot.settings), ops=frozenset(SEARCHING), search=search)
    items = [item for name in SEARCHING for item in PLANNERS[name](inputs).items]
    plan = seal(Header(snapshot.namespace_id, snapshot.namespace, snapshot.snapshot_id, "f"), items, permits())
    return plan.plan_hash, len(plan.items)


def divided(snapshot: Snapshot, folder: Path, count: int) -> list[Tile]:
    """Save the snapshot and the searches of both planners."""
    location = save_snapshot(snapshot, str(folder)).location
    saved = Saved(location, count)
    inputs = Inputs(load_snapshot(location), {}, Settings.for_namespace({}), ops=frozenset(SEARCHING), search=saved)
    for name in SEARCHING:
        PLANNERS[name].find_searches(inputs)
    return saved.tiles


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_plan_is_the_same_with_any_number_of_tiles(
    seed: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slowwave.matching.vectors._HEIGHT", 16)
    monkeypatch.setattr("slowwave.matching.blocks._CHUNK", 16)
    snapshot = small_world(seed)
    saved = divided(snapshot, tmp_path, count)
    assert len({tile.search for tile in saved}) >= 4, "names, records, vectors of a type, vectors of memories"
    assert max(tile.total for tile in saved) == count
    for tile in reversed(saved):
        search_tile(tile)
    whole, items = planned(snapshot)
    assert items > 10

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("The planner searched again.")

    monkeypatch.setattr(tiles, "in_threads", refuse)
    assert planned(snapshot, found_in(saved)) == (whole, items)


def test_a_search_of_other_rows_is_done_anew(tmp_path: Path) -> None:
    saved = divided(small_world(1), tmp_path, 2)
    for tile in saved:
        search_tile(tile)
    other = small_world(2)
    assert planned(other, found_in(saved)) == planned(other)


def test_missing_and_damaged_results_are_searched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = small_world(1)
    saved = divided(snapshot, tmp_path, 2)
    for tile in saved[1:]:
        search_tile(tile)
    last = saved[-1]
    result = Path(last.snapshot, "tiles", last.search, "found", f"{last.number}.npz")
    result.write_bytes(result.read_bytes()[:-20])
    again: list[Tile] = []
    search = tiles._search
    monkeypatch.setattr(tiles, "_search", lambda tile: again.append(tile) or search(tile))
    assert planned(snapshot, found_in(saved)) == planned(snapshot)
    assert set(again) == {saved[0], last}
    Path(last.snapshot, "tiles", last.search, "cost.npy").unlink()
    with pytest.raises(SnapshotError, match=r"The tables of tile .* cannot be read"):
        planned(snapshot, found_in(saved))


def test_lost_tables_and_another_version_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = divided(small_world(1), tmp_path, 2)
    monkeypatch.setattr(tiles, "version", lambda _: "9.9")
    with pytest.raises(SnapshotError, match=r"prepared by version .* this process has 9\.9.*one version"):
        search_tile(saved[0])
    monkeypatch.undo()
    Path(saved[0].snapshot, "tiles", saved[0].search, "cost.npy").unlink()
    with pytest.raises(SnapshotError, match=r"The tables of tile 1 of 1 .* cannot be read"):
        search_tile(saved[0])


def test_tiles_are_private_and_removed(tmp_path: Path) -> None:
    saved = divided(small_world(1), tmp_path, 2)
    search_tile(saved[0])
    folder = Path(saved[0].snapshot, "tiles")
    modes = {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_dir()} == {0o700}
    assert load_snapshot(saved[0].snapshot).namespace == "tests"
    remove_tiles(saved[0].snapshot)
    assert not folder.exists()

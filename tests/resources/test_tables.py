"""The IO manager: values lie beside their snapshot, and the snapshot's own tables are stored once."""

from __future__ import annotations

import stat
from pathlib import Path

from slowwave.snapshots.snapshot import base_path, database_base, folder_of
from slowwave.store.connect import Store
from tests.memory_assets.project import project
from tests.nights import new_world


def files(folder: Path) -> dict[str, int]:
    return {p.name: p.stat().st_mode for p in folder.rglob("*") if p.is_file()}


def test_a_night_stores_each_value_once_and_for_its_owner_only(store: Store) -> None:
    """One folder a snapshot: its tables as the export wrote them, models as Arrow, reports and items as JSON."""
    world = new_world(store)
    with project(store, world.slug) as night:
        assert night.run("night_job", world.slug).success
    (snapshot,) = [p for p in Path(folder_of(database_base(store), world.slug)).iterdir() if not p.name.startswith(".")]
    found = files(snapshot)
    assert {"entities.arrow", "model.live_entities.arrow", "audit.census.json", "plan.gc_references.json"} <= set(found)
    assert not [name for name in found if name.startswith("snapshot.")]
    assert {stat.S_IMODE(mode) for mode in found.values()} == {0o600}
    pointers = Path(folder_of(database_base(store), world.slug), ".latest")
    assert {p.read_text() for p in pointers.iterdir()} == {snapshot.name}
    assert stat.S_IMODE(pointers.stat().st_mode) == 0o700


def test_results_go_with_their_snapshot(store: Store) -> None:
    """Retention removes memory text: no file of an old night outlives its snapshot."""
    world = new_world(store)
    with store.connect("owner") as owner:
        owner.execute("""UPDATE memory.namespaces SET settings = '{"snapshot_keep_nights": 1}'""")
    with project(store, world.slug) as night:
        assert night.run("reaudit_job", world.slug).success
        assert night.run("reaudit_job", world.slug).success
    folders = [p for p in Path(folder_of(database_base(store), world.slug)).iterdir() if not p.name.startswith(".")]
    assert len(folders) == 1
    everywhere = [p for p in Path(base_path()).rglob("*.json") if p.parent.name != ".latest"]
    assert {p.parent for p in everywhere} == set(folders)

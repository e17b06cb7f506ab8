"""What is exported is what is stored, byte for byte, and files give it back."""

from __future__ import annotations

import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from slowwave.errors import Refused, SnapshotError
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import (
    SNAPSHOT_TABLES,
    Vectors,
    arrow_schema,
    let_go,
    load_snapshot,
    remove_snapshot,
    save_snapshot,
)
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.tables import VECTORS
from tests.nights import new_world
from tests.worlds import World, load_world, worlds

SMAPS = Path("/proc/self/smaps")


@given(world=worlds())
def test_every_cell_comes_back_as_it_was_written(store: Store, world: World) -> None:
    """Names with quotes and line breaks, arrays with and without ids, microseconds, float32: nothing is bent."""
    load_world(store, world)
    snapshot = export_snapshot(store, world.slug)
    for name, table in SNAPSHOT_TABLES.items():
        assert snapshot.table(name).schema.equals(arrow_schema(table)), name
    for name in ("entities", "relationships", "memories", "memory_facts", "entity_aliases"):
        stored = {r["id"]: r for r in snapshot.table(name).to_pylist()}
        assert sorted(stored) == [r["id"] for r in snapshot.table(name).to_pylist()] == sorted(world.ids(name))
        for row in world.rows[name]:
            for column, value in row.items():
                if isinstance(value, (dict, list)) and column in ("attributes", "properties", "tags"):
                    continue
                if column != "namespace_id":
                    assert stored[row["id"]][column] == value, (name, column)
    vectors = snapshot.vectors["entity_vectors"]
    written = {r["id"]: r["vector"] for r in world.rows["entity_vectors"]}
    if written:
        assert vectors.ids.to_pylist() == sorted(written)
        assert vectors.matrix.tobytes() == np.stack([written[i] for i in sorted(written)]).tobytes()
    assert snapshot.vectors["chunk_vectors"].ids.to_pylist() == []


def test_a_snapshot_knows_only_its_namespace(store: Store) -> None:
    """Two namespaces of the same shape; one is read."""
    world, other = new_world(store, 7), new_world(store, 8)
    snapshot = export_snapshot(store, world.slug)
    for name in world.rows:
        if name not in VECTORS:
            assert not set(snapshot.table(name)["id"].to_pylist()) & set(other.ids(name))


def test_an_unknown_namespace_is_refused(store: Store) -> None:
    """Also by the digest."""
    with pytest.raises(Refused, match="no namespace 'nobody'"):
        export_snapshot(store, "nobody")
    with pytest.raises(Refused, match="no namespace 'nobody'"):
        digest(store, "nobody")


def test_the_digest_sees_every_column_and_only_content(store: Store) -> None:
    """A vector's last bit and a counter count; content_version and updated_at do not."""
    world, other = new_world(store, 7), new_world(store, 8)
    before, elsewhere = digest(store, world.slug), digest(store, other.slug)
    seen = {before}
    with store.connect("owner") as connection:
        for change in (
            "UPDATE memory.entities SET mention_count = mention_count + 1 WHERE namespace_id = %s",
            "UPDATE memory.entity_vectors SET vector = vector + '[0,0,0,0.000001]' WHERE namespace_id = %s",
            "UPDATE memory.namespaces SET settings = '{\"batch_items\": 3}' WHERE id = %s",
            "UPDATE memory.relationships SET properties = '{\"a\": 1}' WHERE namespace_id = %s",
        ):
            connection.execute(change.encode(), (world.namespace_id,))
            seen.add(digest(store, world.slug))
        last = digest(store, world.slug)
        connection.execute(
            "UPDATE memory.entities SET content_version = 9, updated_at = now() WHERE namespace_id = %s",
            (world.namespace_id,),
        )
    assert len(seen) == 5
    assert digest(store, world.slug) == last
    assert digest(store, other.slug) == elsewhere


@pytest.mark.parametrize("scheme", ["", "memory://slowwave-test"])
def test_files_give_the_snapshot_back(store: Store, tmp_path: Path, scheme: str) -> None:
    """A folder or an fsspec URL; vectors are mapped, not copied, and an id is written once. What has no row has its columns all the same,
    and vectors that are none their length."""
    world = new_world(store)
    snapshot = export_snapshot(store, world.slug)
    none = replace(Vectors.empty("a model"), matrix=np.empty((0, 7), np.float32))
    snapshot = replace(snapshot, vectors={**snapshot.vectors, "chunk_vectors": none})
    assert not snapshot.table("rejections").num_rows
    base = scheme or str(tmp_path / "snapshots")
    location = save_snapshot(snapshot, base)
    again = load_snapshot(location)
    assert (again.namespace_id, again.taken_at, again.change_counter) == (
        snapshot.namespace_id,
        snapshot.taken_at,
        snapshot.change_counter,
    )
    for name, table in snapshot.tables.items():
        assert again.table(name).equals(table), name
    assert {name: v.matrix.shape for name, v in again.vectors.items()} == {
        name: v.matrix.shape for name, v in snapshot.vectors.items()
    }
    assert isinstance(again.vectors["entity_vectors"].matrix, np.memmap)
    assert again.vectors["entity_vectors"].matrix.tobytes() == snapshot.vectors["entity_vectors"].matrix.tobytes()
    with pytest.raises(SnapshotError, match="never overwritten"):
        save_snapshot(snapshot, base)


@pytest.mark.skipif(not SMAPS.exists(), reason="only Linux tells which pages of a file are in memory")
def test_pages_of_mapped_files_are_given_back(store: Store, tmp_path: Path) -> None:
    """What was read is no longer held, and says the same when it is read again."""
    world = new_world(store)
    snapshot = export_snapshot(store, world.slug)
    again = load_snapshot(save_snapshot(snapshot, str(tmp_path)))
    assert again.table("entities").equals(snapshot.table("entities"))
    assert again.vectors["entity_vectors"].matrix.any()
    assert _held(tmp_path) > 0
    let_go()
    assert _held(tmp_path) == 0
    assert again.table("entities").equals(snapshot.table("entities"))
    assert np.array_equal(again.vectors["entity_vectors"].matrix, snapshot.vectors["entity_vectors"].matrix)


def _held(folder: Path) -> int:
    """Kilobytes of the files in ``folder`` that this process has in memory."""
    held, inside = 0, False
    for line in SMAPS.read_text().splitlines():
        if not line.split(" ")[0].endswith(":"):
            inside = str(folder) in line
        elif inside and line.startswith("Rss:"):
            held += int(line.split()[1])
    return held


def test_snapshot_folders_are_for_their_owner_and_old_ones_go(store: Store, tmp_path: Path) -> None:
    """They hold memory text: 0700, 0600, and only the newest nights stay."""
    world = new_world(store)
    base = str(tmp_path / "snapshots")
    taken = [export_snapshot(store, world.slug) for _ in range(4)]
    kept = [save_snapshot(snapshot, base) for snapshot in taken]
    folder = Path(kept[0])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(f.stat().st_mode) for f in folder.iterdir()} == {0o600}
    for location, snapshot in zip(kept[:2], taken[:2], strict=True):
        assert remove_snapshot(location, world.slug, snapshot.snapshot_id, base)
        assert remove_snapshot(location, world.slug, snapshot.snapshot_id, base), "what is gone is gone"
        with pytest.raises(SnapshotError, match="There is no snapshot"):
            load_snapshot(location)
    for location in kept[2:]:
        assert load_snapshot(location).taken_at <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("location", "namespace", "snapshot_id"),
    [
        ("{base}/{slug}/other", "{slug}", "one"),
        ("{base}/../treasure", "{slug}", "one"),
        ("{base}/{slug}/..", "{slug}", ".."),
        ("{base}/../treasure", "..", "treasure"),
        ("{base}/../treasure", "{slug}/..", "treasure"),
    ],
)
def test_a_location_is_not_believed(tmp_path: Path, location: str, namespace: str, snapshot_id: str) -> None:
    """A row of the ledger that names another folder removes nothing."""
    base = tmp_path / "snapshots" / "db.0"
    for folder in (base / "acme" / "one", base / "acme" / "other", tmp_path / "snapshots" / "treasure"):
        folder.mkdir(parents=True)
        (folder / "meta.json").write_text("{}")
    before = sorted(tmp_path.rglob("*"))
    names = {"base": str(base), "slug": "acme"}
    assert not remove_snapshot(location.format(**names), namespace.format(**names), snapshot_id, str(base))
    assert sorted(tmp_path.rglob("*")) == before

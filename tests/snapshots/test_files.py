"""Snapshots as files in folders and in an object store: complete, private, checked, and removed."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from slowwave.errors import SnapshotError
from slowwave.night.several import run_night
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.files import base_path, let_go, load_snapshot, remove_snapshot, save_snapshot
from slowwave.snapshots.snapshot import Snapshot, Vectors
from slowwave.store.connect import Store
from tests.buckets import Bucket, another_machine, serve_s3, use_bucket
from tests.dreamers import forgetful
from tests.memories import ask
from tests.nights import new_world
from tests.permitting import approve

SMAPS = Path("/proc/self/smaps")


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
    location = save_snapshot(snapshot, base).location
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
    again = load_snapshot(save_snapshot(snapshot, str(tmp_path)).location)
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
    kept = [save_snapshot(snapshot, base).location for snapshot in taken]
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


@pytest.fixture(scope="module")
def s3_server() -> Iterator[str]:
    with serve_s3() as address:
        yield address


@pytest.fixture
def bucket(s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with use_bucket(s3_server, tmp_path, monkeypatch) as made:
        yield made


def saved(store: Store, base: str = Bucket.base) -> tuple[Snapshot, str, str]:
    """Save a snapshot of a new namespace; return it with its location and digest."""
    snapshot = export_snapshot(store, new_world(store).slug)
    written = save_snapshot(snapshot, base)
    return snapshot, written.location, written.digest


def test_a_night_over_an_object_store_is_approved_by_another_worker(
    store: Store, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of a plan is judged on its snapshot, which the other worker fetches; retention removes the objects."""
    forgetful(store, "acme", rows=12)
    night = run_night(store, "acme", force=True)
    assert night.plan is not None
    assert bucket.names()
    ((location, digest),) = ask(store, "SELECT location, digest FROM night.snapshots")
    assert (location.startswith(Bucket.base), len(digest)) == (True, 64)
    cache = another_machine(tmp_path, monkeypatch, "second")
    items = [item.id for item in night.plan.items[:2]]
    approve(store, "acme", night.plan.plan_hash, approver="mara", items=items)
    assert len(list(cache.iterdir())) == 1
    assert remove_snapshot(location, "acme", night.snapshot_id, location.rpartition("/acme/")[0])
    assert bucket.names() == []
    assert list(cache.iterdir()) == []


def test_a_saved_snapshot_is_not_fetched_again_by_its_own_night(
    store: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, location, digest = saved(store)
    type(bucket.files).clear_instance_cache()  # an instance keeps the methods that it was made with
    monkeypatch.setattr("s3fs.S3FileSystem._get_file", None)
    assert load_snapshot(location, digest).table("entities").num_rows


@pytest.mark.parametrize("damage", ["lost", "truncated", "changed", "another meta"])
def test_damaged_objects_are_refused_in_a_sentence(
    store: Store, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """Whoever may write to the bucket cannot make a plan be judged on other rows: the ledger holds the hash."""
    snapshot, location, digest = saved(store)
    path = f"{location.removeprefix('s3://')}/entities.arrow"
    content = bucket.files.cat_file(path)
    if damage == "lost":
        bucket.files.rm_file(path)
    elif damage == "truncated":
        bucket.files.pipe_file(path, content[:-9])
    elif damage == "changed":
        bucket.files.pipe_file(path, content[:-9] + bytes(9))
    else:
        other = save_snapshot(replace(snapshot, snapshot_id="other", taken_at=datetime.now(UTC)), Bucket.base).location
        for file in bucket.files.ls(other.removeprefix("s3://"), detail=False):
            bucket.files.copy(file, f"{location.removeprefix('s3://')}/{file.rpartition('/')[2]}")
    cache = another_machine(tmp_path, monkeypatch, "second")
    with pytest.raises(SnapshotError, match=r"is damaged: .*Run the night again\.$"):
        load_snapshot(location, digest)
    assert damage == "another meta" or list(cache.iterdir()) == []


@pytest.mark.parametrize("name", ["../../escaped.arrow", "/etc/passwd", "entities.arrow/..", ""])
def test_file_names_of_a_changed_meta_leave_no_folder(
    store: Store, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Without a hash in the ledger, as in a snapshot of an earlier version, the names are checked alone."""
    _, location, _ = saved(store)
    meta = f"{location.removeprefix('s3://')}/meta.json"
    bucket.files.pipe_file(meta, ('{"files": {"' + name + '": [1, ""]}}').encode())
    another_machine(tmp_path, monkeypatch, "second")
    with pytest.raises(SnapshotError, match="does not name its files"):
        load_snapshot(location)
    assert not list(tmp_path.rglob("escaped*"))


def test_several_workers_fetch_one_snapshot_at_once(
    store: Store, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, location, digest = saved(store)
    cache = another_machine(tmp_path, monkeypatch, "second")
    with ThreadPoolExecutor(8) as workers:
        read = list(workers.map(lambda _: load_snapshot(location, digest), range(16)))
    assert all(one.table("entities").equals(snapshot.table("entities")) for one in read)
    assert len(list(cache.iterdir())) == 1, "one complete folder, and nothing half-fetched"


def test_the_cache_holds_its_limit_and_forgets_what_is_unused(
    store: Store, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longest unused one goes first; after a day each goes, as its snapshot may be erased; one that cannot fit is refused."""
    kept = [saved(store)[1:] for _ in range(3)]
    cache = another_machine(tmp_path, monkeypatch, "second")
    load_snapshot(*kept[0])
    (first,) = cache.iterdir()
    size = sum(file.stat().st_size for file in first.iterdir())
    monkeypatch.setenv("SLOWWAVE_SNAPSHOT_CACHE_GIB", str(2.5 * size / (1 << 30)))
    os.utime(first, (time.time() - 60,) * 2)
    load_snapshot(*kept[1])
    load_snapshot(*kept[2])
    assert not first.exists()
    assert len(list(cache.iterdir())) == 2
    for folder in cache.iterdir():
        os.utime(folder, (time.time() - 25 * 3600,) * 2)
    load_snapshot(*kept[0])
    assert list(cache.iterdir()) == [first]
    monkeypatch.setenv("SLOWWAVE_SNAPSHOT_CACHE_GIB", str(size / 2 / (1 << 30)))
    with pytest.raises(SnapshotError, match="SLOWWAVE_SNAPSHOT_CACHE_GIB to a larger number"):
        load_snapshot(*kept[1])
    monkeypatch.setenv("SLOWWAVE_SNAPSHOT_CACHE_GIB", "1e-8")
    before = bucket.names()
    with pytest.raises(SnapshotError, match="SLOWWAVE_SNAPSHOT_CACHE_GIB to a larger number"):
        saved(store)
    assert bucket.names() == before
    monkeypatch.setenv("SLOWWAVE_SNAPSHOT_CACHE_GIB", "large")
    with pytest.raises(SnapshotError, match="give a number of GiB"):
        load_snapshot(*kept[1])


def test_a_refused_login_is_a_sentence_without_the_login(
    store: Store, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expired credentials, a bucket that is not there, no server: nothing is noted, and the secret is in no message."""
    world = new_world(store)
    snapshot = export_snapshot(store, world.slug)

    def refused(base: str = Bucket.base) -> str:
        with pytest.raises(SnapshotError, match="cannot be written to") as problem:
            save_snapshot(snapshot, base)
        return str(problem.value)

    async def expired(*_: object, **__: object) -> None:
        from botocore.exceptions import ClientError

        raise ClientError(
            {"Error": {"Code": "ExpiredToken", "Message": "The provided token has expired."}}, "PutObject"
        )

    with monkeypatch.context() as patched:
        patched.setattr("s3fs.S3FileSystem._put_file", expired)
        type(bucket.files).clear_instance_cache()  # an instance keeps the methods that it was made with
        assert "ExpiredToken" in refused()
    type(bucket.files).clear_instance_cache()
    said = refused("s3://no-such-bucket-here/nights")
    assert "a secret that nothing prints" not in said
    assert bucket.names() == []


def test_an_address_with_a_login_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses are stored in the ledger; `abfs` has the account's name in that place, and no secret."""
    monkeypatch.setenv("SLOWWAVE_SNAPSHOTS", "s3://AKIA123:hidden@bucket/nights")
    with pytest.raises(SnapshotError, match="AWS_ACCESS_KEY_ID") as problem:
        base_path()
    assert "hidden" not in str(problem.value)
    monkeypatch.setenv("SLOWWAVE_SNAPSHOTS", "abfs://nights@account.dfs.core.windows.net/slowwave")
    assert base_path().endswith("/slowwave")


def test_a_scheme_without_its_library_is_a_sentence(store: Store) -> None:
    snapshot = export_snapshot(store, new_world(store).slug)
    with pytest.raises(SnapshotError, match=r"cannot be written to .*set SLOWWAVE_SNAPSHOTS"):
        save_snapshot(snapshot, "nosuch://bucket/nights")


def test_a_truncated_file_of_a_folder_is_refused(store: Store, tmp_path: Path) -> None:
    _, location, digest = saved(store, str(tmp_path))
    file = Path(location, "entities.arrow")
    os.truncate(file, file.stat().st_size - 5)
    with pytest.raises(SnapshotError, match=r"entities\.arrow is truncated"):
        load_snapshot(location, digest)
    file.unlink()
    with pytest.raises(SnapshotError, match=r"entities\.arrow is missing"):
        load_snapshot(location, digest)

"""Line 18: a full snapshot disk gave a traceback and left a half-copied snapshot behind.

The staging folder, with memory text in it, stayed under its hidden name and was never removed, so that the disk stayed full.
"""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

from slowwave.errors import SnapshotError
from slowwave.store.connect import Store
from tests.dreamers import forgetful
from tests.memories import ask
from tests.nights import take_snapshot


def test_a_refused_write_leaves_nothing_and_is_a_sentence(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel refuses what is longer than a limit, as a disk does that is full; this needs no privilege."""
    forgetful(store, "acme", rows=50)
    monkeypatch.setenv("SLOWWAVE_SNAPSHOTS", str(tmp_path / "snapshots"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, hard))
    try:
        with pytest.raises(SnapshotError, match="SLOWWAVE_SNAPSHOTS"):
            take_snapshot(store, "acme")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [p for p in (tmp_path / "snapshots").rglob("*") if p.is_file()] == []
    assert ask(store, "SELECT count(*) FROM night.snapshots") == [(0,)]
    assert Path(take_snapshot(store, "acme")).is_dir(), "with room again the next night is as ever"


@pytest.mark.skipif(os.geteuid() != 0, reason="a disk of a few kilobytes takes a mount, and that takes root")
def test_a_full_disk_leaves_nothing_and_is_a_sentence(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that has room for some of the files."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this root may not mount")
    try:
        forgetful(store, "acme", rows=50)
        monkeypatch.setenv("SLOWWAVE_SNAPSHOTS", str(disk))
        with pytest.raises(SnapshotError, match="No space left"):
            take_snapshot(store, "acme")
        assert [p for p in disk.rglob("*") if p.is_file()] == []
        assert ask(store, "SELECT count(*) FROM night.snapshots") == [(0,)]
    finally:
        subprocess.run(["umount", disk], check=True)

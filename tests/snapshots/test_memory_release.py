"""What a night does about the memory of its process."""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from slowwave.snapshots.export import release, tight_memory
from slowwave.snapshots.files import on_disk


def test_the_last_to_leave_gives_the_pool_back() -> None:
    """A night inside another, and one that fails; what was allocated inside stays."""
    own = pa.default_memory_pool().backend_name
    inside = "system" if platform.libc_ver()[0] == "glibc" else own
    with tight_memory():
        kept = pa.array(range(1_000))
        with pytest.raises(ValueError, match="inside"), tight_memory():
            raise ValueError("inside")
        assert pa.default_memory_pool().backend_name == inside
        release()
    assert pa.default_memory_pool().backend_name == own
    assert kept.sum().as_py() == 499_500
    with tight_memory():
        assert pa.default_memory_pool().backend_name == inside


def test_a_large_table_stands_on_disk_and_stays_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file that nobody else can open and that needs no cleaning up; its pages are read again after they were given back."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    large = pa.table({"id": range(200_000), "text": [None if n % 3 else f"row {n}" for n in range(200_000)]})
    allocated = pa.total_allocated_bytes()
    kept = on_disk(large)
    assert pa.total_allocated_bytes() == allocated
    assert not list(tmp_path.iterdir())
    release()
    assert kept is not large
    assert kept.equals(large)
    assert kept.schema == large.schema


def test_a_table_stays_in_memory_where_it_is_small_or_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A night does not fail for want of room that it only would have liked."""
    small, large = pa.table({"id": [1]}), pa.table({"id": range(200_000)})
    assert on_disk(small) is small
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    assert on_disk(large) is large

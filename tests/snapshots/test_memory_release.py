"""What a night does about the memory of its process."""

from __future__ import annotations

import platform

import pyarrow as pa
import pytest

from slowwave.snapshots.memory_release import release, tight_memory


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

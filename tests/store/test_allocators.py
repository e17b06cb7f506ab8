"""The allocators of the program."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_THREADS = """
import ctypes, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

from slowwave.surfaces.cli.main import main

sys.argv = ["slowwave", "--version"]
try:
    main()
except SystemExit:
    pass

import pyarrow as pa
import pyarrow.compute as pc

libc = ctypes.CDLL("libc.so.6")
libc.fopen.restype = ctypes.c_void_p

def arenas():
    with tempfile.NamedTemporaryFile() as file:
        out = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
        libc.malloc_info(0, out)
        libc.fclose(out)
        return file.read().count(b"<heap ")

table = pa.table({"id": range(200_000)})
with ThreadPoolExecutor(4) as threads:
    kept = list(threads.map(lambda n: table.filter(pc.field("id") > n), range(4)))
print(arenas(), pa.mimalloc_memory_pool().max_memory())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no arenas")
def test_all_threads_of_the_program_allocate_where_it_can_be_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of Arrow in threads of their own: one arena of the C library, and nothing in Arrow's pool."""
    for name in ("ARROW_DEFAULT_MEMORY_POOL", "MALLOC_ARENA_MAX"):
        monkeypatch.delenv(name, raising=False)
    run = subprocess.run([sys.executable, "-c", _THREADS], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "1 0"

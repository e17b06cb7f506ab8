"""A candidate search in pieces that do not depend on each other: tiles of pieces, the search of one tile, and the join of all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# The dear searches of a night (near vectors, near names, near records) read a few tables and go through pieces: a stripe of vectors, a
# range of rows. A piece reads all tables and nothing of other pieces, so a *tile* of consecutive pieces can be searched by any process that
# has the tables. The pieces are the same whoever searches them, and the join keeps their order: so the result is the same, bit by bit, for
# any number of tiles.

Array = NDArray[Any]
Arrays = tuple[Array, ...]
Find = Callable[["Mapping[str, Any]", range, int], Arrays]
"""Tables, consecutive pieces, threads → columns of the results, piece after piece."""

KINDS: Final = {
    "vectors": "slowwave.matching.vectors:find_stripes",
    "near": "slowwave.matching.blocks:find_near",
    "nearest": "slowwave.matching.blocks:find_nearest",
}
"""Kind of search → its function. A search on disk has only its kind, so that files cannot name other code."""

_COST: Final = "cost"  # name of the file with the costs; no table has it
_CHUNK: Final = 16_384  # rows of a selection that are copied at a time


@dataclass(frozen=True, slots=True, eq=False)
class SelectedRows:
    """Rows ``numbers`` (m,) of a ``matrix`` (n, d), or all rows; they are copied only to write them."""

    matrix: Array
    numbers: NDArray[np.int64] | None = None

    @property
    def nbytes(self) -> int:
        """Return the bytes of the selected rows."""
        return int(np.prod(self.shape)) * self.matrix.itemsize

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the selected rows."""
        return (len(self.matrix if self.numbers is None else self.numbers), *self.matrix.shape[1:])

    def parts(self) -> Iterator[Array]:
        """Yield the rows, some at a time."""
        for start in range(0, self.shape[0], _CHUNK):
            at = slice(start, start + _CHUNK)
            yield self.matrix[at] if self.numbers is None else self.matrix[self.numbers[at]]

    def write(self, path: Path) -> None:
        """Write the rows as one array."""
        out = np.lib.format.open_memmap(path, "w+", self.matrix.dtype, self.shape)
        start = 0
        for part in self.parts():
            out[start : start + len(part)] = part
            start += len(part)


Tables = Mapping[str, Array | SelectedRows]


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSearch:
    """A search: its kind (of ``KINDS``), the tables that it reads, and the relative cost of each piece (pieces,)."""

    kind: str
    tables: Tables
    cost: NDArray[np.float64]

    @property
    def nbytes(self) -> int:
        """Return the bytes of the tables."""
        return sum(table.nbytes for table in self.tables.values())

    def find(self, pieces: range, threads: int) -> Arrays:
        """Search some consecutive pieces."""
        run: Find = resolve_name(KINDS[self.kind])
        return run(self.tables, pieces, threads)

    def write(self, folder: Path) -> None:
        """Write each table, and the costs of the pieces, as a file of the folder, from which ``read_search`` reads them."""
        for name, table in self.tables.items():
            if isinstance(table, SelectedRows):
                table.write(folder / f"{name}.npy")
            else:
                np.save(folder / f"{name}.npy", table, allow_pickle=False)
        np.save(folder / f"{_COST}.npy", self.cost, allow_pickle=False)


Run = Callable[[Sequence[Array | SelectedRows], Callable[[], CandidateSearch]], Arrays]
"""What a search depends on, and a function that prepares it → its result. A result that is known already needs no preparation."""


def in_threads(
    of: Sequence[Array | SelectedRows], prepare: Callable[[], CandidateSearch], *, threads: int | None = None
) -> Arrays:
    """Search all pieces in this process, with a thread for each core unless their number is given."""
    search = prepare()
    return search.find(range(len(search.cost)), threads or os.cpu_count() or 1)


def tiles(cost: NDArray[np.float64], count: int) -> list[range]:
    """Divide the pieces into at most ``count`` tiles of consecutive pieces that cost about the same; no tile is empty."""
    total = np.cumsum(cost)
    whole = total[-1] if len(cost) else 0.0
    ends = np.searchsorted(total, whole * np.arange(1, count) / count, side="left") + 1
    cuts = np.unique(np.concatenate([[0], ends, [len(cost)]]).clip(0, len(cost)))
    return [range(low, high) for low, high in zip(cuts.tolist(), cuts[1:].tolist(), strict=False)]


def join(parts: list[Arrays]) -> Arrays:
    """Join the results of one or more tiles in their order; ``parts`` is emptied, and each is released once it is copied."""
    columns = range(len(parts[0]))
    lengths = [sum(len(part[c]) for part in parts) for c in columns]
    found = tuple(np.empty(lengths[c], parts[0][c].dtype) for c in columns)
    while parts:
        part = parts.pop()
        for c in columns:
            found[c][lengths[c] - len(part[c]) : lengths[c]] = part[c]
            lengths[c] -= len(part[c])
    return found


def digest_of(of: Sequence[Array | SelectedRows]) -> str:
    """Return a name of 32 characters for what a search depends on."""
    made = hashlib.sha256()
    for array in of:
        first = array.matrix if isinstance(array, SelectedRows) else array
        made.update(f"{first.dtype}{array.shape}".encode())
        for part in array.parts() if isinstance(array, SelectedRows) else [array]:
            made.update(np.ascontiguousarray(part).data)
    return made.hexdigest()[:32]


def read_search(kind: str, folder: Path) -> CandidateSearch:
    """Read a search that ``CandidateSearch.write`` wrote; its tables are mapped into memory and not loaded."""
    tables = {path.stem: np.asarray(np.load(path, mmap_mode="r", allow_pickle=False)) for path in folder.glob("*.npy")}
    cost = tables.pop(_COST)
    return CandidateSearch(kind, tables, cost)

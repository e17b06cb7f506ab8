"""Tiles of candidate searches as files of a snapshot, so that other processes and machines can search them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from slowwave.errors import SnapshotError
from slowwave.matching.tiles import (
    Array,
    Arrays,
    CandidateSearch,
    Run,
    SelectedRows,
    digest_of,
    in_threads,
    join,
    read_search,
    tiles,
)
from slowwave.snapshots.files import get_file, open_files, put_file, remove_files, save_files

# ``SNAPSHOT/tiles/SEARCH/``: the tables of one search, named by the digest of what it depends on, and ``found/NUMBER.npz`` for each tile
# that was searched. They have the storage, the access rights and the retention of their snapshot. The name of a search is computed again by
# the planner that needs its result, so a result is only ever used for the very rows, vectors and thresholds that were searched.

_LEAST: Final = 1 << 20
"""Bytes of tables below which a search is not worth a file: the planner does it itself."""


class Tile(NamedTuple):
    """One tile: its snapshot's location, the name of its search, its number from 0, and how many tiles the search has."""

    snapshot: str
    search: str
    number: int
    total: int

    @property
    def words(self) -> str:
        """Return what messages call it."""
        return f"tile {self.number + 1} of {self.total} of search {self.search[:8]}"


@dataclass(slots=True)
class Saved:
    """A ``Run`` that saves searches instead of doing them, in at most ``count`` tiles each, and finds nothing."""

    snapshot: str
    count: int
    tiles: list[Tile] = field(default_factory=list[Tile])

    def __call__(self, of: Sequence[Array | SelectedRows], prepare: Callable[[], CandidateSearch]) -> Arrays:
        """Save a search unless it is small."""
        search = prepare()
        if search.nbytes >= _LEAST:
            parts = tiles(search.cost, self.count)
            about = {"version": version("slowwave"), "kind": search.kind, "tiles": [[t.start, t.stop] for t in parts]}

            def write(folder: Path) -> dict[str, Any]:
                search.write(folder)
                return about

            name = digest_of(of)
            save_files(_folder(self.snapshot, name), write, search.nbytes)
            self.tiles += [Tile(self.snapshot, name, number, len(parts)) for number in range(len(parts))]
        return search.find(range(0), 1)


def search_tile(tile: Tile) -> int:
    """Search one tile, on one thread, and save what it finds; return the number of pairs."""
    columns = _search(tile)
    content = io.BytesIO()
    np.savez(content, *columns)
    put_file(_result(tile), content.getvalue())
    return len(columns[0])


def _search(tile: Tile) -> Arrays:
    location = _folder(tile.snapshot, tile.search)
    try:
        folder, about = open_files(location)
    except SnapshotError as problem:
        raise SnapshotError(f"The tables of {tile.words} cannot be read: {problem}") from None
    if about["version"] != version("slowwave"):
        raise SnapshotError(
            f"{tile.words.capitalize()} was prepared by version {about['version'][:32]} of Slowwave, and this process has "
            f"{version('slowwave')}. Nothing was planned. Let all workers run one version, and run the night again."
        )
    start, stop = about["tiles"][tile.number]
    return read_search(about["kind"], folder).find(range(start, stop), 1)


def found_in(saved: Collection[Tile]) -> Run:
    """Return a ``Run`` that joins the results of the tiles.

    A search that was not saved is done in this process, and so is a tile whose result is missing or damaged: Dagster's retry from failure
    leaves out the tiles that had not begun.
    """
    known = {tile.search: tile for tile in saved}

    def run(of: Sequence[Array | SelectedRows], prepare: Callable[[], CandidateSearch]) -> Arrays:
        tile = known.get(digest_of(of))
        if tile is None:
            return in_threads(of, prepare)
        every = [tile._replace(number=number) for number in range(tile.total)]
        return join([found if (found := _read(one)) is not None else _search(one) for one in every])

    return run


def remove_tiles(snapshot: str) -> None:
    """Remove all tiles of a snapshot."""
    remove_files(f"{snapshot}/tiles")


def _read(tile: Tile) -> Arrays | None:
    content = get_file(_result(tile))
    try:
        if content is not None:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                return tuple(arrays[name] for name in arrays.files)
    except (ValueError, OSError, zipfile.BadZipFile):
        pass
    return None


def _folder(snapshot: str, search: str) -> str:
    return f"{snapshot}/tiles/{search}"


def _result(tile: Tile) -> str:
    return f"{_folder(tile.snapshot, tile.search)}/found/{tile.number}.npz"

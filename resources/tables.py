"""The IO manager of a night: every value lies beside the snapshot that it was computed from.

Snapshot tables are stored by the snapshot itself; here only a pointer is kept, so nothing is stored twice. Formats belong to
``slowwave.night.snapshot``.
"""

from collections.abc import Generator
from functools import lru_cache
from typing import Final

import dagster as dg

from slowwave.night.snapshot import Result, latest, load_proposal, load_report, load_table_result, point, save_result
from slowwave.snapshots.export import tight_memory
from slowwave.snapshots.snapshot import Snapshot, database_base, load_snapshot
from slowwave.store.connect import Store
from slowwave.store.tables import few_collections
from slowwave.text.screened import each_text_once

_LOADERS: Final = {"model": load_table_result, "audit": load_report, "plan": load_proposal}


@lru_cache(maxsize=2)
def mapped_snapshot(location: str) -> Snapshot:
    """Map a snapshot once for each process. It never changes, and every step of a run reads it."""
    return load_snapshot(location)


class NightFiles(dg.IOManager):
    """Loads every input as a ``Result``: the value, and where the snapshot lies that it comes from.

    What the steps of this run made is kept till the run ends, as a night of the library keeps it, and is not read again.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._base = ""
        self._made: dict[tuple[str, str], Result] = {}

    def handle_output(self, context: dg.OutputContext, obj: Result) -> None:
        """Write the value, unless it is the snapshot's own, and note that it is the newest of its asset."""
        name = ".".join(context.asset_key.path)
        if context.asset_key.path[0] != "snapshot":
            save_result(obj, name)
            self._made[obj.location, name] = obj
        point(obj.location, name)

    def load_input(self, context: dg.InputContext) -> Result:
        """Return the newest value of the asset in this namespace."""
        group, name = context.asset_key.path
        self._base = self._base or database_base(self._store)
        location = latest(self._base, context.asset_partition_key, f"{group}.{name}")
        if group != "snapshot":
            made = self._made.get((location, f"{group}.{name}"))
            return made or Result(location, _LOADERS[group](location, f"{group}.{name}"))
        snapshot = mapped_snapshot(location)
        return Result(location, snapshot.vectors[name] if name in snapshot.vectors else snapshot.table(name))


@dg.io_manager(  # pyright: ignore[reportArgumentType]  Dagster takes a generator; its types leave it out for IO managers
    required_resource_keys={"store"}, description="Files beside the snapshot that they were computed from."
)
def night_files(context: dg.InitResourceContext) -> Generator[NightFiles]:
    """Return the files of a night in the folder of this database, which is looked up when a step first loads a value.

    The resource lives as long as the run, and so does the set-up of a night of the library around its steps.
    """
    with each_text_once(), few_collections(), tight_memory():
        yield NightFiles(context.resources.store)

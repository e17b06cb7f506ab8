"""Names of assets, groups and the code location, and what every part of the project shares: partitions, the store, errors."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import dagster as dg
import psycopg

from slowwave.errors import SettingsError, SlowwaveError
from slowwave.night.run_events import Level, in_words, levels_in, refusal, says_itself, strictest
from slowwave.night.snapshot import snapshot_rows
from slowwave.store.connect import Store
from slowwave.store.settings import Settings

if TYPE_CHECKING:
    from dagster._core.remote_origin import CodeLocationOrigin, RemoteJobOrigin

GROUPS: Final = ("corpora", "stores", "snapshot", "models", "audits", "planners", "gate")
"""The groups of assets, in the order of a night."""


@dataclass(frozen=True)
class Layout:
    """Names that a deployment may choose.

    ``key_prefix`` comes before the key of every asset, and ``groups`` gives groups of ``GROUPS`` other names. ``location`` is the name of
    the code location in its workspace, which links to the Launchpad contain if a run does not know it. ``owners`` own every asset.
    """

    key_prefix: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict[str, str])
    location: str = "slowwave"
    owners: tuple[str, ...] = ("team:memory",)

    def __post_init__(self) -> None:
        if unknown := sorted(self.groups.keys() - set(GROUPS)):
            raise SettingsError(
                f"There is no group {unknown[0]!r} of assets to rename. The groups are {', '.join(GROUPS)}."
            )

    def seen_by(self, origin: RemoteJobOrigin | CodeLocationOrigin | None) -> Layout:
        """Return the layout with the location's name in the workspace of a run or sensor; one without a workspace has no ``origin``."""
        return replace(self, location=origin.location_name) if origin else self

    def key(self, *path: str) -> dg.AssetKey:
        """Return the key of an asset of this project."""
        return dg.AssetKey([*self.key_prefix, *path])

    def group(self, name: str) -> str:
        """Return the name of a group of ``GROUPS`` in this deployment."""
        return self.groups.get(name, name)


DEFAULT: Final = Layout()
"""The names of this repository's project."""


@dataclass(frozen=True)
class Timetable:
    """When the schedules run: at ``hour`` on ``days`` (1 is Monday) in ``time_zone``, with so many namespaces in a run.

    On the last of the days nights have the weekly operations as well. ``run_tags`` are tags of a run of nights by the number of rows from
    which they hold.
    """

    hour: int = 3
    days: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    time_zone: str = "UTC"
    nights_per_run: int = 50
    run_tags: Mapping[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])

    @classmethod
    def from_settings(cls) -> Timetable:
        """Return the timetable of the environment's settings (``SLOWWAVE_NIGHTLY_HOUR`` and others)."""
        found = Settings.for_namespace({})
        return cls(found.nightly_hour, found.nightly_days, found.time_zone, found.nights_per_run, found.night_run_tags)

    def sizes(self, store: Store, names: Sequence[str]) -> dict[str, int]:
        """Return the key of ``run_tags`` that holds for each namespace; 0 for one with fewer rows than the smallest key.

        Rows are those of the namespace's latest snapshot. One that has none counts as the largest, as its first night may read an import.
        """
        if not self.run_tags:
            return dict.fromkeys(names, 0)
        rows, sizes = snapshot_rows(store), sorted(self.run_tags)
        return {name: max((size for size in sizes if size <= rows.get(name, sizes[-1])), default=0) for name in names}

    def cron(self, after: int = 0, minute: int = 0, *, days: Sequence[int] | None = None) -> str:
        """Return the cron expression of so many hours after the nights, on ``days`` (default: on every day)."""
        hours = self.hour + after
        on = "*" if days is None else ",".join(str((day + hours // 24) % 7) for day in days)
        return f"{minute} {hours % 24} * * {on}"

    def at(self, after: int = 0, minute: int = 0) -> str:
        """Return the time of day for descriptions."""
        return f"{(self.hour + after) % 24:02}:{minute:02} {self.time_zone}"


namespaces = dg.DynamicPartitionsDefinition(name="namespaces")
"""The one partitioning: a partition is a namespace. A sensor keeps the partitions equal to the namespaces of the store."""


class EnvironmentStore(dg.ConfigurableResource[Store]):
    """The database that the environment names (``SLOWWAVE_DATABASE_URL``), otherwise that of the embedded server.

    It has no fields on purpose: fields could be set in the Launchpad, so that a run with the rights of this process would approve and
    apply in another database.
    """

    def create_resource(self, context: dg.InitResourceContext) -> Store:
        """Read the environment when a run or a tick needs the store, never when definitions are loaded."""
        return Store.from_environment()


STORE_PROBLEMS: Final = (SlowwaveError, psycopg.Error)
"""The errors of a store that is missing, unreachable or not migrated, and of requests that it refuses."""


def error_text(problem: SlowwaveError | psycopg.Error) -> str:
    """Return the problem as a sentence, without the rows that a database error quotes, because Dagster keeps it with the run."""
    if isinstance(problem, SlowwaveError):
        return str(problem)
    return (
        f"The database refused it ({refusal(problem)}). `slowwave doctor` says whether it is as this version needs it."
    )


@contextmanager
def reported_failures() -> Generator[None]:
    """Turn problems of the store into a failure of the op with their sentence; another attempt would end the same way."""
    try:
        yield
    except STORE_PROBLEMS as problem:
        raise dg.Failure(error_text(problem), allow_retries=False) from None


def level_now(store: Store, *names: str) -> Level:
    """Return the strictest ``redact_text`` that some namespaces have now."""
    with store.connect("reader") as connection:
        return strictest(levels_in(connection, names))


@contextmanager
def redacted_errors(level: Level) -> Generator[None]:
    """Record an unexpected error with its place in the code, and with as much of its message as the level allows.

    Dagster keeps events for ever, so the level is applied when they are made.
    """
    try:
        yield
    except dg.Failure:
        raise
    except Exception as problem:
        if level == "none" or says_itself(problem):
            raise
        raise dg.Failure(in_words(problem, level)).with_traceback(problem.__traceback__) from None

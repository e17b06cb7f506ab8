"""A run as the ledger knows it, found by name, with its state, progress and heartbeat. Nothing here changes a run."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import datetime
from typing import Final, LiteralString

from psycopg.rows import class_row

from slowwave.errors import Refused
from slowwave.runs.heartbeat import expiry_of, has_expired
from slowwave.runs.states import HOLDING, Mode, State
from slowwave.store.connect import Connection

_MODES: Final[tuple[Mode, ...]] = ("plan", "apply", "undo", "deep")
_NAMED: Final = 20  # namespaces that a refusal names
_LEAST: Final = 4  # characters of an id that may name it

_SELECT: Final = """
SELECT r.id::text AS run_id, r.namespace_id::text AS namespace_id, n.slug AS namespace, r.mode, r.state, r.trigger,
  coalesce(r.plan_hash, '') AS plan_hash, coalesce(r.approval_id::text, '') AS approval_id, coalesce(r.undo_of::text, '') AS undo_of,
  r.started_at, r.finished_at, r.heartbeat_at,
  trunc(extract(epoch FROM clock_timestamp() - r.heartbeat_at))::bigint AS heartbeat_age_seconds,
  r.cancel_requested_at IS NOT NULL AS cancel_requested, r.pause_requested_at IS NOT NULL AS pause_requested,
  r.counts, coalesce(r.error, '') AS error, r.parameters, r.progress, n.settings AS overlay
FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id
"""
_NEWEST: Final = """
WHERE r.mode = ANY(%(modes)s) AND (%(namespace)s::text IS NULL OR n.slug = %(namespace)s)
ORDER BY r.started_at DESC, r.id LIMIT 1
"""
_BY_ID: Final = """
WHERE r.id BETWEEN %(first)s::uuid AND %(last)s::uuid AND r.mode = ANY(%(modes)s) ORDER BY r.started_at DESC LIMIT 2
"""
_OF_NAMESPACE: Final = "WHERE r.namespace_id = %(namespace_id)s ORDER BY r.started_at DESC LIMIT %(limit)s"
_NAMESPACES: Final = "SELECT slug FROM memory.namespaces ORDER BY slug"


@dataclass(frozen=True, slots=True)
class Run:
    """One row of ``night.runs``; ids that a run does not have are empty. Ages are seconds at the time of reading by the database's clock.

    ``overlay`` is its namespace's own settings, of which the expiry of its heartbeat follows.
    """

    run_id: str
    namespace_id: str
    namespace: str
    mode: Mode
    state: State
    trigger: str
    plan_hash: str
    approval_id: str
    undo_of: str
    started_at: datetime
    finished_at: datetime | None
    heartbeat_at: datetime
    heartbeat_age_seconds: int
    cancel_requested: bool
    pause_requested: bool
    counts: Mapping[str, int]
    error: str
    parameters: Mapping[str, object]
    progress: Mapping[str, object]
    overlay: InitVar[object]
    heartbeat_expiry_seconds: int = field(init=False)

    def __post_init__(self, overlay: object) -> None:
        object.__setattr__(self, "heartbeat_expiry_seconds", expiry_of(overlay))
        object.__setattr__(self, "counts", _numbers(self.counts))

    @property
    def holding(self) -> bool:
        """Whether it says that it holds its namespace."""
        return self.state in HOLDING

    @property
    def stuck(self) -> bool:
        """Whether it says so and its heartbeat has expired."""
        return self.holding and has_expired(self.heartbeat_age_seconds, self.heartbeat_expiry_seconds)

    @property
    def alive(self) -> bool:
        """Whether it is under way."""
        return self.holding and not self.stuck

    @property
    def reason(self) -> str:
        """Why somebody asked for it; empty where they did not say."""
        return str(self.parameters.get("reason", ""))

    @property
    def duration_seconds(self) -> float:
        """From its beginning to the end of its work (a plan's is that it was written), or to its last heartbeat."""
        return ((self.finished_at or self.heartbeat_at) - self.started_at).total_seconds()


def find_run(
    connection: Connection,
    name: str,
    modes: Sequence[Mode] = _MODES,
    namespace: str | None = None,
) -> Run:
    """A run by its id or its first characters; ``last`` is the newest of ``modes``, of ``namespace`` where one is named.

    None or several are refused, and so is a run of another namespace than the one named.
    """
    what = "run" if len(modes) > 1 else f"{modes[0]} run"
    listed = f"`slowwave runs tail {shlex.quote(namespace) if namespace else 'NAMESPACE'}` lists"
    if name == "last":
        found = _read(connection, _NEWEST, modes=list(modes), namespace=namespace)
    else:
        bounds = id_range(name)
        found = _read(connection, _BY_ID, first=bounds[0], last=bounds[1], modes=list(modes)) if bounds else []
    if name == "last" and not found:
        raise Refused(
            f"{namespace or 'The store'} has no {what} yet, so there is no last one. Nothing was done. {listed} what there was."
        )
    if len(found) != 1:
        message = f"names more than one {what}" if found else f"is no {what}{f' of {namespace}' if namespace else ''}"
        short = f" The first {_LEAST} characters are the least that name one." if 0 < len(name) < _LEAST else ""
        raise Refused(f"{name[:64]!r} {message}. {listed} them.{short}")
    if namespace is not None and found[0].namespace != namespace:
        raise Refused(f"Run {found[0].run_id} is one of {found[0].namespace}, not of {namespace}. Nothing was done.")
    return found[0]


def last_run(connection: Connection, namespace: str | None, modes: Sequence[Mode] = _MODES) -> Run:
    """The newest run of a namespace, for whoever is about to change something by it; without one named, the store must have no other."""
    known = [str(s) for (s,) in connection.execute(_NAMESPACES)]
    if namespace is None and len(known) > 1:
        shown = ", ".join(known[:_NAMED]) + (f" and {len(known) - _NAMED} more" if len(known) > _NAMED else "")
        raise Refused(f"'last' of which namespace? There are {shown}. Name one with --namespace. Nothing was done.")
    if namespace is not None and namespace not in known:
        raise Refused(f"There is no namespace {namespace!r}. `slowwave namespaces` lists those there are.")
    return find_run(connection, "last", modes, namespace)


def runs_of(connection: Connection, namespace_id: str, limit: int) -> list[Run]:
    """The newest runs of a namespace."""
    return _read(connection, _OF_NAMESPACE, namespace_id=namespace_id, limit=limit)


def id_range(prefix: str) -> tuple[str, str] | None:
    """The first and the last id that begin with ``prefix``, so that an index finds them; None for what is no beginning of an id."""
    digits = prefix.strip().lower().replace("-", "")
    if not _LEAST <= len(digits) <= 32 or set(digits) - set("0123456789abcdef"):
        return None
    return str(uuid.UUID(digits.ljust(32, "0"))), str(uuid.UUID(digits.ljust(32, "f")))


def _numbers(stored: Mapping[str, object]) -> dict[str, int]:
    return {name: number for name, number in stored.items() if isinstance(number, int)}


def _read(connection: Connection, condition: LiteralString, **parameters: object) -> list[Run]:
    with connection.cursor(row_factory=class_row(Run)) as cursor:
        return cursor.execute(_SELECT + condition, parameters).fetchall()

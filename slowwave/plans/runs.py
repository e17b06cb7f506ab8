"""Runs as the ledger knows them: found by name, with their state, progress and heartbeat. Nothing here changes a run."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from slowwave.errors import Refused
from slowwave.plans.claims import HOLDING, expiry_of
from slowwave.store.connect import Connection

_COLUMNS: Final = (
    "SELECT r.id::text, n.slug, r.mode, r.state, r.trigger, coalesce(r.plan_hash, ''), coalesce(r.approval_id::text, ''), "
    "coalesce(r.undo_of::text, ''), r.started_at, r.finished_at, r.heartbeat_at, "
    "extract(epoch FROM clock_timestamp() - r.heartbeat_at)::float, r.cancel_requested_at IS NOT NULL, "
    "r.pause_requested_at IS NOT NULL, r.counts, coalesce(r.error, ''), r.parameters, r.progress, n.settings "
    "FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id "
)

_NAMED: Final = 20  # namespaces that a refusal names


@dataclass(frozen=True, slots=True)
class Run:
    """One row of ``night.runs``; ids that a run does not have are empty. Ages are seconds at the time of reading."""

    run_id: str
    namespace: str
    mode: str
    state: str
    trigger: str
    plan_hash: str
    approval_id: str
    undo_of: str
    started_at: datetime
    finished_at: datetime | None
    heartbeat_at: datetime
    heartbeat_age_seconds: int
    heartbeat_expiry_seconds: int
    cancel_requested: bool
    pause_requested: bool
    counts: Mapping[str, int]
    error: str
    parameters: Mapping[str, object]
    progress: Mapping[str, object]

    @property
    def holding(self) -> bool:
        """Whether it says that it holds its namespace."""
        return self.state in HOLDING

    @property
    def stuck(self) -> bool:
        """Whether it says so and its heart no longer beats."""
        return self.holding and self.heartbeat_age_seconds > self.heartbeat_expiry_seconds

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
    modes: Sequence[str] = ("plan", "apply", "undo"),
    namespace: str | None = None,
) -> Run:
    """A run by its id or its first characters; ``last`` is the newest of ``modes``, of ``namespace`` where one is named.

    None or several are refused, and so is a run of another namespace than the one named.
    """
    what = "run" if len(modes) > 1 else f"{modes[0]} run"
    if name == "last":
        condition = (
            "WHERE r.mode = ANY(%s) AND (%s::text IS NULL OR n.slug = %s) ORDER BY r.started_at DESC, r.id LIMIT 1"
        )
        found = _read(connection, condition, list(modes), namespace, namespace)
    else:
        bounds = id_range(name)
        condition = "WHERE r.id BETWEEN %s::uuid AND %s::uuid AND r.mode = ANY(%s) ORDER BY r.started_at DESC LIMIT 2"
        found = _read(connection, condition, *bounds, list(modes)) if bounds else []
    if len(found) != 1:
        told = f"names more than one {what}" if found else f"is no {what}{f' of {namespace}' if namespace else ''}"
        raise Refused(f"{name[:64]!r} {told}. `slowwave runs tail NAMESPACE` lists them.")
    if namespace is not None and found[0].namespace != namespace:
        raise Refused(f"Run {found[0].run_id} is one of {found[0].namespace}, not of {namespace}. Nothing was done.")
    return found[0]


def last_run(connection: Connection, namespace: str | None, modes: Sequence[str] = ("plan", "apply", "undo")) -> Run:
    """The newest run of a namespace, for whoever is about to change something by it; without one named, the store must have no other."""
    known = [str(s) for (s,) in connection.execute("SELECT slug FROM memory.namespaces ORDER BY slug")]
    if namespace is None and len(known) > 1:
        shown = ", ".join(known[:_NAMED]) + (f" and {len(known) - _NAMED} more" if len(known) > _NAMED else "")
        raise Refused(f"'last' of which namespace? There are {shown}. Name one with --namespace. Nothing was done.")
    if namespace is not None and namespace not in known:
        raise Refused(f"There is no namespace {namespace!r}. `slowwave namespaces` lists those there are.")
    return find_run(connection, "last", modes, namespace)


def runs_of(connection: Connection, namespace_id: str, limit: int) -> list[Run]:
    """The newest runs of a namespace."""
    return _read(connection, "WHERE r.namespace_id = %s ORDER BY r.started_at DESC LIMIT %s", namespace_id, limit)


def id_range(prefix: str) -> tuple[str, str] | None:
    """The first and the last id that begin with ``prefix``, so that an index finds them; None for what is no beginning of an id."""
    digits = prefix.strip().lower().replace("-", "")
    if not 4 <= len(digits) <= 32 or set(digits) - set("0123456789abcdef"):
        return None
    return str(uuid.UUID(digits.ljust(32, "0"))), str(uuid.UUID(digits.ljust(32, "f")))


def _read(connection: Connection, condition: str, *parameters: object) -> list[Run]:
    return [_run(row) for row in connection.execute((_COLUMNS + condition).encode(), parameters)]


def _run(row: Sequence[object]) -> Run:
    started, finished, beat = row[8:11]
    if not isinstance(started, datetime) or not isinstance(beat, datetime):
        raise TypeError("night.runs holds a run without its instants.")
    text = [str(v) for v in row[:8]]
    return Run(
        run_id=text[0],
        namespace=text[1],
        mode=text[2],
        state=text[3],
        trigger=text[4],
        plan_hash=text[5],
        approval_id=text[6],
        undo_of=text[7],
        started_at=started,
        finished_at=finished if isinstance(finished, datetime) else None,
        heartbeat_at=beat,
        heartbeat_age_seconds=max(0, int(float(str(row[11])))),
        heartbeat_expiry_seconds=expiry_of(row[18]),
        cancel_requested=bool(row[12]),
        pause_requested=bool(row[13]),
        counts={str(k): v for k, v in _mapping(row[14]).items() if isinstance(v, int)},
        error=str(row[15]),
        parameters=_mapping(row[16]),
        progress=_mapping(row[17]),
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}

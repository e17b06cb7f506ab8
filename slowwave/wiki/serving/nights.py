"""Nights for agents: a request for a night, and the list of the runs of nights.

The queries run with the ``server`` login. It can store a request, and reads runs without their errors and progress. The program that plans
nights takes the request (``slowwave.night.runs``).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

import psycopg
from psycopg.rows import dict_row
from pydantic import BaseModel, ConfigDict, Field

from slowwave.errors import Forbidden, Refused
from slowwave.plans.states import consolidations_of
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.store.settings import Settings
from slowwave.text.quotation import plain_reason

_REQUEST: Final = "SELECT memory.request_night(%s::text, %s::text, %s::text, %s::text, %s::double precision)"
_LATEST: Final = """
SELECT id::text, CASE WHEN taken_at IS NULL THEN 'open' WHEN run_id IS NULL THEN 'skipped' ELSE 'taken' END AS status, reason, agent,
  recorded_at AS requested_at, taken_at, run_id::text, outcome AS message
FROM memory.night_requests WHERE namespace_id = %(namespace)s AND (%(id)s::uuid IS NULL OR id = %(id)s)
ORDER BY taken_at DESC NULLS FIRST LIMIT 1
"""
_COUNT: Final = "SELECT count(*) FROM night.runs WHERE namespace_id = %s"
_RUNS: Final = """
SELECT id::text AS run_id, mode, state, trigger, coalesce(parameters ->> 'reason', '') AS reason, coalesce(plan_hash, '') AS plan_hash,
  started_at, finished_at, extract(epoch FROM coalesce(finished_at, heartbeat_at) - started_at) * 1000 AS duration_ms, counts
FROM night.runs WHERE namespace_id = %(namespace)s ORDER BY started_at DESC, id LIMIT %(limit)s OFFSET %(offset)s
"""


class DreamNowRequest(BaseModel):
    """A request for a night."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field(default="", max_length=500, description="Why now; stored with the run.")
    agent: str = Field(default="", max_length=200, description="Who asks.")


class DreamNowResponse(BaseModel):
    """A request for a night.

    ``status``: ``open`` (no night has begun since), ``taken`` (by ``run_id``) or ``skipped`` (there was nothing to do, as ``message``
    states). ``known``: it is an earlier request, and another one is not accepted before ``next_at``, or while it is open.
    """

    id: str
    status: Literal["open", "taken", "skipped"]
    reason: str = ""
    agent: str = ""
    requested_at: datetime
    taken_at: datetime | None = None
    run_id: str | None = None
    message: str = ""
    known: bool | None = None
    next_at: datetime | None = None


class NightsRequest(BaseModel):
    """The part of the list of runs."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=20, ge=1, le=100)
    offset: int = Field(default=0, ge=0, le=1_000_000, description="Runs to leave out, from the newest on.")


class NightRun(BaseModel):
    """A run of a night (``plan`` or ``deep``), of its changes (``apply``) or of their undo (``undo``).

    ``consolidations`` has ``summaries``, ``sources``, ``similarity`` and ``token_savings`` of an apply run that wrote summaries.
    """

    run_id: str
    mode: str
    state: str
    trigger: str
    reason: str
    plan_hash: str
    started_at: datetime
    finished_at: datetime | None
    duration_ms: float
    counts: dict[str, Any]
    consolidations: dict[str, float] = {}


class NightsResponse(BaseModel):
    """Runs, newest first; ``next`` is the offset of the rest, if there are more, and ``requested`` the latest request of an agent."""

    runs: tuple[NightRun, ...]
    total: int
    next: int | None = None
    requested: DreamNowResponse | None = None


def request_night(
    connection: Connection, namespace: str, request: DreamNowRequest, settings: Settings, *, token: str = ""
) -> DreamNowResponse:
    """Store a request for a night, or return the one that is open or whose night began less than ``gate_min_hours`` ago.

    The database refuses a request without a token that has the scope ``night``, and accepts at most one an hour. Raises ``Forbidden`` for
    the former, and ``Refused`` if nights are off or the namespace is read-only.
    """
    if not settings.enabled:
        raise Refused(f"Nights are off in {namespace}. Nothing was requested: a person has to turn them on.")
    hours = 0.0 if settings.reflection_mode == "always" else settings.gate_min_hours
    values = (namespace, token, plain_reason(request.reason), plain_reason(request.agent)[:200], hours)
    try:
        row: Any = connection.execute(_REQUEST, values).fetchone()
    except psycopg.errors.InsufficientPrivilege as problem:
        raise Forbidden(problem.diag.message_primary or "The token may not request a night.") from None
    except psycopg.errors.RaiseException as problem:
        raise Refused(problem.diag.message_primary or "The request was refused.") from None
    stored = row[0]
    found = _latest(connection, namespace, stored["id"])
    if found is None:
        raise Refused("The request was removed at this moment. Request the night again.")
    next_at = stored["next_at"] and datetime.fromisoformat(stored["next_at"])
    return found.model_copy(update={"known": stored["known"], "next_at": next_at})


def list_nights(connection: Connection, namespace: str, request: NightsRequest) -> NightsResponse:
    """Return a part of the namespace's runs, newest first, with the sums of each and the latest request for a night."""
    scope = namespace_id(connection, namespace)
    total = int(str((connection.execute(_COUNT, (scope,)).fetchone() or (0,))[0]))
    with connection.cursor(row_factory=dict_row) as cursor:
        values = {"namespace": scope, "limit": request.limit, "offset": request.offset}
        rows = cursor.execute(_RUNS, values).fetchall()
    sums = consolidations_of(connection, [str(row["run_id"]) for row in rows])
    after = request.offset + len(rows)
    return NightsResponse(
        runs=tuple(NightRun(**row, consolidations=sums.get(str(row["run_id"]), {})) for row in rows),
        total=total,
        next=after if after < total and rows else None,
        requested=_latest(connection, namespace),
    )


def _latest(connection: Connection, namespace: str, id_: str | None = None) -> DreamNowResponse | None:
    with connection.cursor(row_factory=dict_row) as cursor:
        values = {"namespace": namespace_id(connection, namespace), "id": id_}
        row = cursor.execute(_LATEST, values).fetchone()
    return None if row is None else DreamNowResponse.model_validate(row)

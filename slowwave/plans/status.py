"""The status of all namespaces at one instant: pending items, old plans and stuck runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from psycopg import sql
from psycopg.rows import class_row

from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.runs import HOLDING, expiry_of, has_expired

# The status of all namespaces at one instant: pending, old and stuck items of work. Read only.
#
# It is meant for monitoring, so it contains no name of a namespace and no text.

ENABLED: Final = "coalesce(lower(n.settings ->> 'enabled'), 'true') NOT IN ('false', '0', 'no', 'off', 'f', 'n')"
"""SQL: whether the settings of the namespace ``n`` itself leave nights on."""

_WAITING: Final = """
SELECT count(*) FILTER (WHERE state = 'awaiting_approval' AND expires_at > now()) AS plans,
  extract(epoch FROM now() - min(recorded_at) FILTER (WHERE state = 'awaiting_approval' AND expires_at > now()))::float AS oldest_plan,
  (SELECT count(*) FROM night.open_approvals) AS approvals,
  (SELECT extract(epoch FROM now() - min(recorded_at))::float FROM night.open_approvals) AS oldest_approval,
  (SELECT count(*) FROM night.conflicts WHERE resolved_at IS NULL) AS conflicts,
  EXISTS (SELECT 1 FROM night.switches WHERE name = 'apply_disabled' AND is_on) AS apply_disabled
FROM night.plans
"""
_HELD: Final = """
SELECT r.mode, extract(epoch FROM now() - r.heartbeat_at)::float, n.settings FROM night.runs r
  JOIN memory.namespaces n ON n.id = r.namespace_id WHERE r.state = ANY(%s)
"""
_TOKENS: Final = """
SELECT model, sum(input_tokens), sum(output_tokens) FROM night.llm_usage WHERE recorded_at > now() - interval '24 hours'
  GROUP BY model ORDER BY sum(input_tokens + output_tokens) DESC, model
"""

MOST_MODELS: Final = 16
"""The number of models that are listed by name; the others are combined as ``other``."""

OUTCOMES: Final = ("applied", "skipped_stale", "failed", "noop", "undone", "reapplied")
"""The outcomes of items, as apply and undo runs count them."""

_NAMESPACES: Final = f"""
WITH nights AS (
  SELECT namespace_id, max(started_at) AS at FROM night.runs
  WHERE mode = 'plan' AND NOT parameters ? 'proposal' AND state NOT IN ('planning', 'crashed', 'cancelled', 'paused')
  GROUP BY namespace_id
), applies AS (
  SELECT namespace_id, max(recorded_at) AS at FROM night.applied GROUP BY namespace_id
), news AS (
  SELECT c.namespace_id, min(c.recorded_at) AS at FROM memory.changes c LEFT JOIN nights k USING (namespace_id)
  WHERE k.at IS NULL OR c.recorded_at > k.at GROUP BY c.namespace_id
)
SELECT n.read_only, {ENABLED},
  extract(epoch FROM now() - k.at)::float, extract(epoch FROM now() - a.at)::float, extract(epoch FROM now() - w.at)::float
FROM memory.namespaces n LEFT JOIN nights k ON k.namespace_id = n.id LEFT JOIN applies a ON a.namespace_id = n.id
LEFT JOIN news w ON w.namespace_id = n.id
"""

_ITEMS: Final = sql.SQL(
    "sum(CASE WHEN jsonb_typeof(counts -> {0}) = 'number' THEN (counts ->> {0})::numeric ELSE 0 END)"
)
_RUNS: Final = sql.SQL("SELECT mode, state, count(*), {} FROM night.runs GROUP BY mode, state").format(
    sql.SQL(", ").join(_ITEMS.format(sql.Literal(outcome)) for outcome in OUTCOMES)
)


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The status of a store over all namespaces.

    Ages are in seconds. ``nights`` and ``applies`` have one age per namespace with a night or an apply. ``unplanned`` has the age of the
    oldest change that no night has seen, one per namespace with such a change. The ages leave out namespaces whose own settings switch
    nights off; ``applies`` also leaves out read-only ones. ``runs`` counts by mode and state, ``items`` by outcome over all apply and
    undo runs, ``tokens`` by model and direction in the last 24 hours.
    """

    namespaces: int
    read_only: int
    nights: tuple[float, ...]
    applies: tuple[float, ...]
    unplanned: tuple[float, ...]
    plans_waiting: int
    oldest_plan: float
    approvals_waiting: int
    oldest_approval: float
    runs: Mapping[tuple[str, str], int]
    stuck: Mapping[str, int]
    items: Mapping[str, int]
    tokens: Mapping[tuple[str, str], int]
    conflicts_open: int
    apply_disabled: bool


@dataclass(frozen=True, slots=True)
class _Waiting:
    """The pending plans, approvals and conflicts of all namespaces; ages in seconds, None if nothing is pending."""

    plans: int
    oldest_plan: float | None
    approvals: int
    oldest_approval: float | None
    conflicts: int
    apply_disabled: bool


def read_status(store: Store) -> StoreStatus:
    """Read the status with five queries in one read-only transaction of ``reader``; each may take ten seconds.

    The number of queries does not depend on the content. The time grows linearly with the rows of ``night.runs`` and ``memory.changes``;
    one row per namespace and one per running run are fetched. Raises ``StoreError`` or a ``psycopg.Error`` if the database does not
    answer.
    """
    with store.connect("reader") as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection.execute("SET LOCAL statement_timeout = '10s'")
        spaces = [
            (bool(read_only), bool(on), *(_age(age) for age in ages))
            for read_only, on, *ages in connection.execute(_NAMESPACES)
        ]
        runs, items = _runs(connection)
        with connection.cursor(row_factory=class_row(_Waiting)) as cursor:
            waiting = cursor.execute(_WAITING).fetchone() or _Waiting(0, None, 0, None, 0, False)
        return StoreStatus(
            namespaces=len(spaces),
            read_only=sum(space[0] for space in spaces),
            nights=_ages((space[2], space[1]) for space in spaces),
            applies=_ages((space[3], space[1] and not space[0]) for space in spaces),
            unplanned=_ages((space[4], space[1]) for space in spaces),
            plans_waiting=waiting.plans,
            oldest_plan=_age(waiting.oldest_plan) or 0.0,
            approvals_waiting=waiting.approvals,
            oldest_approval=_age(waiting.oldest_approval) or 0.0,
            runs=runs,
            stuck=_stuck(connection),
            items=items,
            tokens=_tokens(connection),
            conflicts_open=waiting.conflicts,
            apply_disabled=waiting.apply_disabled,
        )


def _runs(connection: Connection) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    runs: dict[tuple[str, str], int] = {}
    items: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    for mode, state, count, *sums in connection.execute(_RUNS):
        runs[str(mode), str(state)] = int(str(count))
        for outcome, number in zip(OUTCOMES, sums, strict=True):
            items[outcome] += int(str(number))
    return runs, items


def _stuck(connection: Connection) -> dict[str, int]:
    """Return, by mode, how many runs hold a namespace with a heartbeat expired by the namespace's settings."""
    found: dict[str, int] = dict.fromkeys(("plan", "apply", "undo", "deep"), 0)
    rows = connection.execute(
        _HELD,
        (list(HOLDING),),
    )
    for mode, age, overlay in rows:
        found[str(mode)] = found.get(str(mode), 0) + has_expired(float(str(age)), expiry_of(overlay))
    return found


def _tokens(connection: Connection) -> dict[tuple[str, str], int]:
    rows = connection.execute(_TOKENS)
    found: dict[tuple[str, str], int] = {}
    for number, (model, read, written) in enumerate(rows):
        name = str(model)[:100] if number < MOST_MODELS else "other"
        for direction, tokens in (("input", read), ("output", written)):
            found[name, direction] = found.get((name, direction), 0) + int(str(tokens))
    return found


def _age(value: object) -> float | None:
    return None if value is None else max(0.0, float(str(value)))


def _ages(found: Iterable[tuple[float | None, bool]]) -> tuple[float, ...]:
    return tuple(age for age, wanted in found if wanted and age is not None)

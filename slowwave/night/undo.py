"""Undo of a run, some of its items, one of its operations or a single item, completely in one transaction or not at all."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final

from slowwave.changes.undo import undo_entries
from slowwave.errors import DreamCancelled, JournalDamaged, Refused, UndoBlocked
from slowwave.night.delivery import deliver, note_written_rows, notifier_of
from slowwave.night.executor import catalogue_of, claim_namespace, lock_batch
from slowwave.night.followers import followers
from slowwave.night.run_events import Event, OperationEvent, Stream, in_words
from slowwave.night.sinks import Callback, sinks_for
from slowwave.operations import khora_kinds
from slowwave.plans.commands import argument
from slowwave.plans.event_chain import append_events
from slowwave.plans.journal import journal_faults
from slowwave.store.claims import NamespaceClaim, cancel_rest, end_claim, note_progress
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_settings
from slowwave.store.runs import Mode, Run, beating, find_run, id_range, last_run, naming_waits
from slowwave.store.settings import Settings
from slowwave.store.tables import few_collections
from slowwave.text.tokens import counted

_WROTE: Final = "SELECT DISTINCT table_name FROM night.journal WHERE run_id = %s AND table_name = ANY(%s)"
_STANDING: Final = """
SELECT DISTINCT item_id::text FROM night.journal j WHERE run_id = %s AND (%s::uuid[] IS NULL OR item_id = ANY(%s::uuid[]))
  AND NOT EXISTS (SELECT 1 FROM night.journal u WHERE u.undoes = j.id)
"""
_WAITING: Final = """
SELECT count(*) FROM night.approvals a JOIN night.plan_items i ON i.plan_hash = a.plan_hash AND i.item_id = ANY(a.item_ids)
  WHERE a.id::text = %s AND i.status = 'approved'
"""
_BY_OPERATION: Final = """
SELECT operation, count(DISTINCT item_id) FROM night.plan_items WHERE item_id = ANY(%s::uuid[])
  AND namespace_id = (SELECT namespace_id FROM night.runs WHERE id = %s) GROUP BY operation ORDER BY operation
"""
_APPLIED_RUNS: Final = """
SELECT id::text FROM night.runs WHERE mode = 'apply' AND plan_hash = %s ORDER BY started_at
"""
_LAST_CHANGING: Final = """
SELECT r.id::text FROM night.runs r WHERE r.mode = 'apply' AND r.namespace_id = %s AND (r.state NOT IN ('completed', 'cancelled')
  OR EXISTS (SELECT 1 FROM night.journal j WHERE j.run_id = r.id)
  OR EXISTS (SELECT 1 FROM night.memory_events e WHERE e.run_id = r.id AND e.event = 'applied')) ORDER BY r.started_at DESC, r.id LIMIT 1
"""
"""The newest apply run that wrote something, events of a damaged journal included, or that an undo would cancel."""

_COUNT_APPLY_RUNS: Final = "SELECT count(*) FROM night.runs WHERE mode = 'apply' AND namespace_id = %s"
_STILL_APPLIED: Final = """
SELECT r.id::text FROM night.runs r WHERE r.namespace_id = (SELECT namespace_id FROM night.runs WHERE id = %(run)s) AND r.mode = 'apply'
  AND r.id <> %(run)s AND EXISTS (SELECT 1 FROM night.journal j
    JOIN night.plan_items i ON i.plan_hash = r.plan_hash AND i.item_id = j.item_id AND i.mutation ->> 'table' <> 'erasures'
    WHERE j.run_id = r.id AND NOT EXISTS (SELECT 1 FROM night.journal u WHERE u.undoes = j.id))
ORDER BY r.started_at DESC, r.id LIMIT 1
"""
_IS_NAMESPACE: Final = "SELECT 1 FROM memory.namespaces WHERE slug = %s"
_IS_RUN: Final = "SELECT 1 FROM night.runs WHERE id BETWEEN %s::uuid AND %s::uuid LIMIT 1"
_ITEM_ANYWHERE: Final = """
SELECT DISTINCT item_id::text FROM night.plan_items WHERE item_id BETWEEN %s::uuid AND %s::uuid
  AND status IN ('applied', 'undone') LIMIT 2
"""
_RUNS_OF_ITEM: Final = """
SELECT j.run_id::text, bool_or(NOT EXISTS (SELECT 1 FROM night.journal u WHERE u.undoes = j.id)) FROM night.journal j
  WHERE j.item_id = %s GROUP BY j.run_id ORDER BY max(j.id) DESC
"""
_EVENT_OF_ITEM: Final = """
SELECT run_id FROM night.memory_events WHERE item_id = %s AND event = 'applied' LIMIT 1
"""
_DEPTH: Final = """
WITH RECURSIVE chain AS (SELECT id, mode, undo_of, 0 AS depth FROM night.runs WHERE id = %s UNION ALL
  SELECT r.id, r.mode, r.undo_of, c.depth + 1 FROM night.runs r JOIN chain c ON r.id = c.undo_of) SELECT max(depth) FROM chain
"""
_MARK: Final = """
UPDATE night.plan_items SET status = %s WHERE namespace_id = %s AND item_id = ANY(%s::uuid[]) AND status IN ('applied', 'undone')
  RETURNING plan_hash, item_id, operation, subject, mutation
"""
_NOTE_REJECTIONS: Final = """
COPY night.rejections (id, namespace_id, operation, subject, row_ids, reason, rejected_by, plan_hash, item_id) FROM STDIN
"""
_ITEMS: Final = """
SELECT DISTINCT ON (item_id) item_id::text, operation, decision, mutation FROM night.plan_items WHERE item_id = ANY(%s::uuid[])
  ORDER BY item_id
"""

_ERASING: Final = """
SELECT DISTINCT j.item_id::text FROM night.journal j WHERE j.run_id = %s AND (%s::uuid[] IS NULL OR j.item_id = ANY(%s::uuid[]))
  AND j.table_name = 'erasures' ORDER BY 1
"""
_WRITING: Final[tuple[Mode, ...]] = ("apply", "undo")
_OF_RUN: Final = (
    "SELECT item_id FROM night.journal WHERE run_id = %(run)s "
    "UNION SELECT item_id FROM night.memory_events WHERE run_id = %(run)s"
)
"""The items of a run, including those that have lost every entry of the journal."""

_RUN_BY_OPERATION: Final = f"""
SELECT i.operation, array_agg(DISTINCT j.item_id::text) FROM ({_OF_RUN}) j JOIN (SELECT DISTINCT item_id, operation
  FROM night.plan_items WHERE namespace_id = (SELECT namespace_id FROM night.runs WHERE id = %(run)s)) i USING (item_id)
GROUP BY i.operation ORDER BY i.operation
"""
_ITEM_OF_RUN: Final = f"""
SELECT item_id::text FROM ({_OF_RUN}) j WHERE item_id BETWEEN %(first)s::uuid AND %(last)s::uuid LIMIT 2
"""


@dataclass(frozen=True, slots=True)
class Undoing:
    """The scope of an undo before it starts: the run, whether it was finished, and its applied items, counted by operation.

    ``waiting`` counts approved items of an unfinished run that it has not applied.
    """

    run_id: str
    namespace: str
    mode: str
    state: str
    started_at: datetime
    operations: Mapping[str, int]
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The result of an undo run: the items undone (or, for the undo of an undo, applied again), and their number by operation.

    ``items`` is empty if nothing was left to undo. ``cancelled`` says that the run was unfinished and is not resumed by itself. ``left``
    are the items that were left as they are, because later changes depend on them. ``still_applied`` is the newest other apply run of the
    namespace with applied items that can be undone, empty if there is none: one ``apply`` makes a run for each approval.
    """

    run_id: str
    undo_of: str
    namespace: str
    items: tuple[str, ...]
    operations: Mapping[str, int] = field(default_factory=dict)
    cancelled: bool = False
    left: tuple[str, ...] = ()
    still_applied: str = ""


@few_collections()
def undo_run(
    store: Store,
    target: str,
    *,
    items: Sequence[str] | None = None,
    operation: str | None = None,
    namespace: str | None = None,
    leave_changed: bool = False,
    settings: Settings | None = None,
    dagster_run_id: str = "",
    callbacks: Sequence[Callback] = (),
    announce: Callable[[Undoing], None] | None = None,
    wait: float = 0.0,
) -> UndoResult:
    """Undo a run named by its id, its first characters or ``last``, or a single item named by its id.

    ``last`` is the newest apply run of ``namespace`` that changed something or is not finished. Without a namespace it is accepted only
    in a store that has a single one. A run or item of a namespace other than the one named is refused. ``items`` (ids or their first
    characters) and ``operation`` name a part of the run. By default, one item on which later changes depend blocks the undo of all;
    ``leave_changed`` leaves such items as they are and undoes the others. ``announce`` is called with what will be undone before anything
    is.

    An undone item counts as rejected: it is not proposed again until its rows change. An unfinished run that is undone as a whole is
    cancelled, so that it is not resumed by itself. Undoing twice changes nothing, and the result is empty.

    Raises ``JournalDamaged`` naming the entries that are not what was written when the run applied them, ``UndoBlocked`` naming the rows
    on which later changes depend (with ``leave_changed`` only if this is true of all items), and ``DreamLockUnavailable`` as
    ``claim_namespace`` does.
    """
    with store.connect("applier") as connection:
        source, chosen = _source(connection, target, items, operation, namespace)
        _refuse_erased(connection, source, chosen)
        about = _undoing(connection, source, chosen)
        if announce:
            announce(about)
        settings = settings or namespace_settings(connection, source.namespace)
        for follower in followers():  # text that people wrote into files comes first
            follower.before_write(store, connection, source.namespace)
        claim = claim_namespace(
            connection,
            source.namespace,
            "undo",
            expiry_seconds=settings.heartbeat_expiry_seconds,
            undo_of=source.run_id,
            dagster_run_id=dagster_run_id,
            wait=wait,
        )
        sinks = sinks_for(settings, callbacks, store, dagster_run_id=dagster_run_id, kinds=khora_kinds)
        stream, began = Stream(claim.run_id, claim.namespace, sinks, settings.redact_text), time.monotonic()
        try:
            stream.started("undo", "sensor" if dagster_run_id else "manual")
            with (
                beating(store, "applier", claim.run_id, settings.heartbeat_expiry_seconds),
                stream.phase("undo") as phase,
            ):
                status = "undone" if _is_applied(connection, source.run_id) else "applied"
                with naming_waits(connection):
                    undone, left, cancelled, events = _undo(
                        connection, claim, source, chosen, status, stream, leave_changed=leave_changed
                    )
                wrote = [str(name) for (name,) in connection.execute(_WROTE, (source.run_id, ["pages", "documents"]))]
                for follower in followers():
                    follower.after_write(store, claim, settings, wrote, undo=True)
                if undone:
                    deliver(store)
                phase.operations = len(undone)
                stream.emit(*events, recorded=True)
            stream.ended("undo", "completed", {status: len(undone)}, began, len(undone))
        except DreamCancelled as problem:
            end_claim(connection, claim, "cancelled", error=str(problem))
            stream.ended("undo", "cancelled", {}, began)
            raise
        except (UndoBlocked, JournalDamaged) as problem:
            end_claim(connection, claim, "refused", error=in_words(problem, settings.redact_text))
            stream.ended("undo", "refused", {}, began)
            if isinstance(problem, UndoBlocked):
                for follower in followers():
                    problem = follower.explain(store, problem)
                raise problem from None
            raise
        except BaseException as problem:
            end_claim(connection, claim, "crashed", error=in_words(problem, settings.redact_text))
            stream.failed("undo", problem, began)
            raise
        finally:
            stream.close()
        per_operation = _by_operation(connection, source, undone)
        other = connection.execute(_STILL_APPLIED, {"run": source.run_id}).fetchone()
    still = str(other[0]) if other else ""
    return UndoResult(claim.run_id, source.run_id, source.namespace, undone, per_operation, cancelled, left, still)


def find_erasing_items(connection: Connection, run_id: str, items: Sequence[str] | None = None) -> list[str]:
    """Return the items of a run, all or among ``items``, that deleted rows for good."""
    return [str(id_) for (id_,) in connection.execute(_ERASING, (run_id, items, items))]


def _refuse_erased(connection: Connection, source: Run, items: Sequence[str] | None) -> None:
    """Refuse to undo items that deleted rows for good: nothing is stored from which they could be restored."""
    if erasing := find_erasing_items(connection, source.run_id, items):
        raise Refused(
            f"Item {erasing[0]} forgot rows for good, as its plan stated, so it cannot be undone. Nothing was undone. Name the run's other "
            "items, if it has any, to undo those. To store the rows again, import them into another namespace."
        )


def _undo(
    connection: Connection,
    claim: NamespaceClaim,
    source: Run,
    items: Sequence[str] | None,
    status: str,
    stream: Stream,
    *,
    leave_changed: bool,
) -> tuple[tuple[str, ...], tuple[str, ...], bool, list[Event]]:
    """Undo the items; return those undone, those left, whether the run was unfinished and is cancelled now, and the events."""
    tells = notifier_of(connection, claim.namespace_id)
    event = "undone" if status == "undone" else "reapplied"
    began = time.monotonic()
    note_progress(connection, claim, "undo", 0, 1)
    with connection.transaction():
        if not lock_batch(connection, claim):
            raise DreamCancelled(f"Run {claim.run_id} was cancelled, and nothing was undone.")
        undone, left = _taken_back(connection, claim, source, items, leave_changed=leave_changed)
        append_events(connection, claim.namespace_id, claim.run_id, event, undone)
        if tells is not None:
            note_written_rows(connection, tells, claim.namespace_id, claim.run_id, undone, undo=True)
        _mark(connection, claim.namespace_id, undone, status)
        events = _events_of(connection, stream, source, undone, status, time.monotonic() - began)
        stream.record(connection, events)
        note_progress(connection, claim, "undo", 1, 1)
        cancelled = items is None and cancel_rest(connection, source.run_id)
        end_claim(connection, claim, "completed", counts={event: len(undone)})
    return undone, left, cancelled, events


def _taken_back(
    connection: Connection, claim: NamespaceClaim, source: Run, items: Sequence[str] | None, *, leave_changed: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Undo the items and return those undone and those left.

    Items of a run commute, so any part of them can be undone. Items that turn out to be blocked once others are left are left as well.
    """
    catalogue = catalogue_of(connection, claim.namespace_id, undoing=True)
    left: set[str] = set()
    while True:
        verify = partial(journal_faults, connection, claim.namespace_id, source, items, catalogue)
        try:
            with connection.transaction():
                undone = undo_entries(
                    connection,
                    claim.namespace_id,
                    claim.run_id,
                    source.run_id,
                    items,
                    verify=verify,
                    catalogue=catalogue,
                )
            return undone, tuple(sorted(left))
        except UndoBlocked as problem:
            if not (leave_changed and problem.items):
                raise
            standing = connection.execute(_STANDING, (source.run_id, items, items)).fetchall()
            items = sorted({str(item) for (item,) in standing}.difference(problem.items))
            if not items:
                raise
            left.update(problem.items)


def _undoing(connection: Connection, source: Run, items: Sequence[str] | None) -> Undoing:
    applied_items = connection.execute(
        _STANDING,
        (source.run_id, items, items),
    )
    per_operation = _by_operation(connection, source, [str(i) for (i,) in applied_items])
    waiting = connection.execute(
        _WAITING,
        (source.approval_id if source.state != "completed" else "",),
    ).fetchone()
    return Undoing(
        *(source.run_id, source.namespace, source.mode, source.state, source.started_at, per_operation),
        waiting=int(str(waiting[0])) if waiting else 0,
    )


def _by_operation(connection: Connection, source: Run, items: Sequence[str]) -> dict[str, int]:
    """Return operation → number of the items."""
    rows = connection.execute(
        _BY_OPERATION,
        (list(items), source.run_id),
    )
    return {str(operation): int(str(n)) for operation, n in rows}


def _source(
    connection: Connection, target: str, items: Sequence[str] | None, operation: str | None, namespace: str | None
) -> tuple[Run, list[str] | None]:
    """Return the run to undo and its items; None means all items."""
    bounds = id_range(target)
    if bounds and not _is_run(connection, bounds) and (item := _item_anywhere(connection, bounds, target)):
        if items is not None or operation is not None:
            raise Refused(f"{target[:64]!r} is an item, and has no parts. Name its run to undo several.")
        return find_run(connection, _applying_run(connection, item), _WRITING, namespace), [item]
    run = _find(connection, target, namespace)
    if items is not None and operation is not None:
        raise Refused("Name items or an operation, not both. Nothing was undone.")
    if operation is not None:
        return run, _of_operation(connection, run, operation)
    return run, None if items is None else [_find_item(connection, run.run_id, i) for i in items]


def _find(connection: Connection, target: str, namespace: str | None) -> Run:
    """Return the apply or undo run; ``last`` is the newest apply run of the namespace that changed something or is unfinished."""
    if target == "last":
        return _find_last(connection, last_run(connection, namespace, ("apply",)))
    try:
        return find_run(connection, target, _WRITING, namespace)
    except Refused:
        _refuse_plan(connection, target)
        if id_range(target) and _is_run(connection, id_range(target)):
            raise
    if connection.execute(_IS_NAMESPACE, (target,)).fetchone():
        raise Refused(
            f"{target[:64]!r} is a namespace, and a run of it is undone. `slowwave undo {argument(target)} last` takes back its newest "
            f"apply run; `slowwave runs list {argument(target)}` lists them. Nothing was undone."
        )
    raise Refused(
        f"{target[:64]!r} is no apply run and no applied item. `slowwave runs list {argument(namespace) if namespace else 'NAMESPACE'}` "
        "lists the runs."
    )


def _find_last(connection: Connection, newest: Run) -> Run:
    """Return the newest apply run that can be undone: completed or cancelled runs without changes are left out."""
    row = connection.execute(_LAST_CHANGING, (newest.namespace_id,)).fetchone()
    if row is not None:
        return find_run(connection, str(row[0]), _WRITING)
    counted_runs = connection.execute(_COUNT_APPLY_RUNS, (newest.namespace_id,)).fetchone()
    many = int(str(counted_runs[0])) if counted_runs else 0
    raise Refused(
        f"{counted(many, 'apply run')} of {newest.namespace} changed nothing, so there is nothing to undo. "
        f"`slowwave runs list {argument(newest.namespace)}` lists {'it' if many == 1 else 'them'}. Nothing was done."
    )


def _refuse_plan(connection: Connection, name: str) -> None:
    """Refuse a plan run, and name the runs that applied its plan."""
    try:
        run = find_run(connection, name, ("plan",))
    except Refused:
        return
    rows = connection.execute(_APPLIED_RUNS, (run.plan_hash,))
    applied = [str(i) for (i,) in rows]
    message = f"it was applied by {', '.join(applied)}: undo that" if applied else "nothing of it was applied"
    raise Refused(f"Run {run.run_id} made a plan and wrote no memory; {message}.")


def _is_run(connection: Connection, bounds: tuple[str, str] | None) -> bool:
    row = connection.execute(_IS_RUN, bounds)
    return row.fetchone() is not None


def _item_anywhere(connection: Connection, bounds: tuple[str, str], name: str) -> str:
    """Return the id of an item that any run ever applied, or an empty string if there is none."""
    rows = connection.execute(
        _ITEM_ANYWHERE,
        bounds,
    ).fetchall()
    if len(rows) > 1:
        raise Refused(f"{name[:64]!r} names several items. Give more of its characters.")
    return str(rows[0][0]) if rows else ""


def _applying_run(connection: Connection, item: str) -> str:
    """Return the run by which an item is applied now, else the newest one that applied it.

    Undoing the latter again changes nothing.
    """
    rows = connection.execute(
        _RUNS_OF_ITEM,
        (item,),
    ).fetchall()
    applied = [(str(run), bool(stands)) for run, stands in rows if _is_applied(connection, str(run))]
    if not applied:
        event = connection.execute(_EVENT_OF_ITEM, (item,)).fetchone()
        if event:
            raise JournalDamaged(
                f"Run {event[0]} applied item {item}, and the journal has no entry of it any more, so it cannot be undone. Find out who "
                "wrote to night.journal."
            )
        raise Refused(f"Item {item} changed nothing that is on record, so there is nothing to undo.")
    return next((run for run, stands in applied if stands), applied[0][0])


def _is_applied(connection: Connection, run_id: str) -> bool:
    """Return whether a run wrote the planned values: an apply run, or the undo of an undo."""
    row = connection.execute(
        _DEPTH,
        (run_id,),
    ).fetchone()
    return row is not None and int(str(row[0])) % 2 == 0


def _of_operation(connection: Connection, run: Run, operation: str) -> list[str]:
    rows = connection.execute(_RUN_BY_OPERATION, {"run": run.run_id}).fetchall()
    found = {str(name): ids for name, ids in rows}
    ids = found.get(operation)
    if not isinstance(ids, list):
        message = f"It applied items of: {', '.join(found)}." if found else "It applied nothing."
        raise Refused(f"Run {run.run_id} applied nothing of {operation[:64]!r}. {message}")
    return [str(i) for i in ids]


def _find_item(connection: Connection, run_id: str, prefix: str) -> str:
    bounds = id_range(prefix)
    rows = (
        connection.execute(_ITEM_OF_RUN, {"run": run_id, "first": bounds[0], "last": bounds[1]}).fetchall()
        if bounds
        else []
    )
    if len(rows) != 1:
        raise Refused(f"{prefix[:64]!r} names {'several items' if rows else 'no item'} that run {run_id} applied.")
    return str(rows[0][0])


def _mark(connection: Connection, namespace_id: str, items: Sequence[str], status: str) -> None:
    rows = connection.execute(
        _MARK,
        (status, namespace_id, list(items)),
    ).fetchall()
    if status != "undone":
        return
    with connection.cursor() as cursor, cursor.copy(_NOTE_REJECTIONS) as copy:
        for plan, item, operation, subject, mutation in rows:
            row_ids = [uuid.UUID(row) for row in _row_ids(mutation)]
            copy.write_row((uuid.uuid4(), namespace_id, operation, subject, row_ids, "undone", "undo", plan, item))


def _row_ids(mutation: object) -> list[str]:
    shown = mutation if isinstance(mutation, dict) else {}
    rows = [*shown.get("rows", []), *([shown["keep"]] if "keep" in shown else []), *shown.get("absorb", [])]
    return sorted(str(r["id"]) for r in rows)


def _events_of(
    connection: Connection, stream: Stream, source: Run, items: Sequence[str], status: str, seconds: float
) -> list[Event]:
    """Return an event for every item, with its id, its operation, and its share of the time."""
    if not stream.sinks or not items:
        return []
    rows = connection.execute(
        _ITEMS,
        (list(items),),
    )
    return [
        OperationEvent(
            run_id=stream.run_id,
            namespace=stream.namespace,
            at=datetime.now(UTC),
            op_id=str(item),
            phase="undo",
            op_type=str(operation),
            decision=str(decision),
            status=status,
            inputs={
                "rows": _row_ids(mutation),
                "table": mutation.get("table") if isinstance(mutation, dict) else None,
                "run_id": source.run_id,
            },
            duration_ms=seconds * 1000 / len(items),
        )
        for item, operation, decision, mutation in rows
    ]

"""Undoing a run, some of its items, one of its operations or a single item: all of what is asked in one transaction, or nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from slowwave.applying.claim import Claim, claim_namespace, end_claim, lock_batch, note_progress
from slowwave.applying.events import append_events
from slowwave.applying.pages import follow_pages, wrote_pages
from slowwave.errors import DreamCancelled, Refused
from slowwave.mutations.undo import undo_entries
from slowwave.plans.claims import beating
from slowwave.plans.ledger import namespace_settings
from slowwave.plans.runs import Run, find_run, id_range
from slowwave.reports.events import OperationEvent
from slowwave.reports.redaction import in_words
from slowwave.reports.sinks import Callback, sinks_for
from slowwave.reports.stream import Stream
from slowwave.settings import Settings
from slowwave.store.connect import Connection, Store

_WRITING: Final = ("apply", "undo")
_NEWEST: Final = (
    "SELECT id::text FROM night.runs WHERE mode = 'apply' AND state = 'completed' ORDER BY started_at DESC LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What an undo run did: the items it took back (or, undoing an undo, applied again). Empty when nothing was left to take back."""

    run_id: str
    undo_of: str
    namespace: str
    items: tuple[str, ...]


def undo_run(
    store: Store,
    target: str,
    *,
    items: Sequence[str] | None = None,
    operation: str | None = None,
    settings: Settings | None = None,
    dagster_run_id: str = "",
    callbacks: Sequence[Callback] = (),
    wait: float = 0.0,
) -> UndoResult:
    """Undo a run named by its id, its first characters or ``last``, or a single item named by its id.

    ``items`` (ids or their first characters) and ``operation`` name a part of the run. An undone item counts as rejected: it is not
    proposed again until its rows change. Undoing twice changes nothing, and the result is empty. Raises ``UndoBlocked`` naming
    the rows on which later changes stand, ``DreamLockUnavailable`` as ``claim_namespace`` does.
    """
    with store.connect("applier") as connection:
        source, chosen = _source(connection, target, items, operation)
        settings = settings or namespace_settings(connection, source.namespace)
        claim = claim_namespace(
            connection,
            source.namespace,
            "undo",
            expiry_seconds=settings.heartbeat_expiry_seconds,
            undo_of=source.run_id,
            dagster_run_id=dagster_run_id,
            wait=wait,
        )
        sinks = sinks_for(settings, callbacks, store, dagster_run_id=dagster_run_id)
        stream, began = Stream(claim.run_id, claim.namespace, sinks, settings.redact_text), time.monotonic()
        try:
            stream.started("undo", "sensor" if dagster_run_id else "manual")
            with (
                beating(store, "applier", claim.run_id, settings.heartbeat_expiry_seconds),
                stream.phase("undo") as phase,
            ):
                status = "undone" if _is_applied(connection, source.run_id) else "applied"
                undone = _undo(connection, claim, source.run_id, chosen, status)
                if wrote_pages(connection, source.run_id):
                    follow_pages(store, claim, settings, undo=True)
                phase.operations = len(undone)
                _tell(connection, stream, source, undone, status, time.monotonic() - began)
            stream.ended("undo", "completed", {status: len(undone)}, began, len(undone))
        except DreamCancelled as problem:
            end_claim(connection, claim, "cancelled", error=str(problem))
            stream.ended("undo", "cancelled", {}, began)
            raise
        except BaseException as problem:
            end_claim(connection, claim, "crashed", error=in_words(problem, settings.redact_text))
            stream.failed("undo", problem, began)
            raise
        finally:
            stream.close()
    return UndoResult(claim.run_id, source.run_id, source.namespace, undone)


def _undo(
    connection: Connection, claim: Claim, source: str, items: Sequence[str] | None, status: str
) -> tuple[str, ...]:
    event = "undone" if status == "undone" else "reapplied"
    note_progress(connection, claim, "undo", 0, 1)
    with connection.transaction():
        if not lock_batch(connection, claim):
            raise DreamCancelled(f"Run {claim.run_id} was cancelled, and nothing was undone.")
        undone = undo_entries(connection, claim.namespace_id, claim.run_id, source, items)
        append_events(connection, claim.namespace_id, claim.run_id, event, undone)
        _mark(connection, claim.namespace_id, undone, status)
        note_progress(connection, claim, "undo", 1, 1)
        end_claim(connection, claim, "completed", counts={event: len(undone)})
    return undone


def _source(
    connection: Connection, target: str, items: Sequence[str] | None, operation: str | None
) -> tuple[Run, list[str] | None]:
    """The run to take back, and the items of it; None for all."""
    bounds = id_range(target)
    if bounds and not _is_run(connection, bounds) and (item := _item_anywhere(connection, bounds, target)):
        if items is not None or operation is not None:
            raise Refused(f"{target[:64]!r} is an item, and has no parts. Name its run to undo several.")
        return find_run(connection, _standing_run(connection, item), _WRITING), [item]
    run = _find(connection, target)
    if items is not None and operation is not None:
        raise Refused("Name items or an operation, not both. Nothing was undone.")
    if operation is not None:
        return run, _of_operation(connection, run, operation)
    return run, None if items is None else [_find_item(connection, run.run_id, i) for i in items]


def _find(connection: Connection, target: str) -> Run:
    """The apply or undo run; ``last`` is the newest apply run that was finished."""
    name = target
    if target == "last":
        newest = connection.execute(_NEWEST).fetchone()
        name = str(newest[0]) if newest else target
    try:
        if name != "last":
            return find_run(connection, name, _WRITING)
    except Refused:
        _refuse_plan(connection, name)
        if id_range(name) and _is_run(connection, id_range(name)):
            raise
    raise Refused(
        f"{target[:64]!r} is no apply run and no applied item. `slowwave runs tail NAMESPACE` lists the runs."
    )


def _refuse_plan(connection: Connection, name: str) -> None:
    """Say which runs applied a plan, when its own run is named."""
    try:
        run = find_run(connection, name, ("plan",))
    except Refused:
        return
    rows = connection.execute(
        "SELECT id::text FROM night.runs WHERE mode = 'apply' AND plan_hash = %s ORDER BY started_at", (run.plan_hash,)
    )
    applied = [str(i) for (i,) in rows]
    told = f"it was applied by {', '.join(applied)}: undo that" if applied else "nothing of it was applied"
    raise Refused(f"Run {run.run_id} made a plan and wrote no memory; {told}.")


def _is_run(connection: Connection, bounds: tuple[str, str] | None) -> bool:
    row = connection.execute("SELECT 1 FROM night.runs WHERE id BETWEEN %s::uuid AND %s::uuid LIMIT 1", bounds)
    return row.fetchone() is not None


def _item_anywhere(connection: Connection, bounds: tuple[str, str], name: str) -> str:
    """The id of an item that was applied once, in whatever run; empty when there is none."""
    rows = connection.execute(
        "SELECT DISTINCT item_id::text FROM night.plan_items WHERE item_id BETWEEN %s::uuid AND %s::uuid "
        "AND status IN ('applied', 'undone') LIMIT 2",
        bounds,
    ).fetchall()
    if len(rows) > 1:
        raise Refused(f"{name[:64]!r} names several items. Give more of its characters.")
    return str(rows[0][0]) if rows else ""


def _standing_run(connection: Connection, item: str) -> str:
    """The run by which an item stands applied, else the newest one that applied it: undoing that again changes nothing."""
    rows = connection.execute(
        "SELECT j.run_id::text, bool_or(NOT EXISTS (SELECT 1 FROM night.journal u WHERE u.undoes = j.id)) FROM night.journal j "
        "WHERE j.item_id = %s GROUP BY j.run_id ORDER BY max(j.id) DESC",
        (item,),
    ).fetchall()
    applied = [(str(run), bool(stands)) for run, stands in rows if _is_applied(connection, str(run))]
    if not applied:
        raise Refused(f"Item {item} changed nothing that is on record, so there is nothing to undo.")
    return next((run for run, stands in applied if stands), applied[0][0])


def _is_applied(connection: Connection, run_id: str) -> bool:
    """Whether a run wrote what was planned: an apply run, or the undoing of what took it back."""
    row = connection.execute(
        "WITH RECURSIVE chain AS (SELECT id, mode, undo_of, 0 AS depth FROM night.runs WHERE id = %s UNION ALL "
        "SELECT r.id, r.mode, r.undo_of, c.depth + 1 FROM night.runs r JOIN chain c ON r.id = c.undo_of) "
        "SELECT max(depth) FROM chain",
        (run_id,),
    ).fetchone()
    return row is not None and int(str(row[0])) % 2 == 0


def _of_operation(connection: Connection, run: Run, operation: str) -> list[str]:
    rows = connection.execute(
        "SELECT i.operation, array_agg(DISTINCT j.item_id::text) FROM night.journal j JOIN (SELECT DISTINCT item_id, operation "
        "FROM night.plan_items WHERE namespace_id = (SELECT namespace_id FROM night.runs WHERE id = %s)) i USING (item_id) "
        "WHERE j.run_id = %s GROUP BY i.operation ORDER BY i.operation",
        (run.run_id, run.run_id),
    ).fetchall()
    found = {str(name): ids for name, ids in rows}
    ids = found.get(operation)
    if not isinstance(ids, list):
        told = f"It applied items of: {', '.join(found)}." if found else "It applied nothing."
        raise Refused(f"Run {run.run_id} applied nothing of {operation[:64]!r}. {told}")
    return [str(i) for i in ids]


def _find_item(connection: Connection, run_id: str, prefix: str) -> str:
    bounds = id_range(prefix)
    rows = (
        connection.execute(
            "SELECT DISTINCT item_id::text FROM night.journal WHERE run_id = %s AND item_id BETWEEN %s::uuid AND %s::uuid LIMIT 2",
            (run_id, *bounds),
        ).fetchall()
        if bounds
        else []
    )
    if len(rows) != 1:
        raise Refused(f"{prefix[:64]!r} names {'several items' if rows else 'no item'} that run {run_id} applied.")
    return str(rows[0][0])


def _mark(connection: Connection, namespace_id: str, items: Sequence[str], status: str) -> None:
    rows = connection.execute(
        "UPDATE night.plan_items SET status = %s WHERE namespace_id = %s AND item_id = ANY(%s::uuid[]) AND status IN ('applied', 'undone') "
        "RETURNING plan_hash, item_id, operation, subject, mutation",
        (status, namespace_id, list(items)),
    ).fetchall()
    if status != "undone":
        return
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO night.rejections (id, namespace_id, operation, subject, row_ids, reason, rejected_by, plan_hash, item_id) "
            "VALUES (gen_random_uuid(), %s, %s, %s, %s::uuid[], 'undone', 'undo', %s, %s)",
            [(namespace_id, op, subject, _row_ids(mutation), plan, item) for plan, item, op, subject, mutation in rows],
        )


def _row_ids(mutation: object) -> list[str]:
    shown = mutation if isinstance(mutation, dict) else {}
    rows = [*shown.get("rows", []), *([shown["keep"]] if "keep" in shown else []), *shown.get("absorb", [])]
    return sorted(str(r["id"]) for r in rows)


def _tell(
    connection: Connection, stream: Stream, source: Run, items: Sequence[str], status: str, seconds: float
) -> None:
    """Tell the stream of every item: which, of what operation, and its share of the time."""
    if not stream.sinks or not items:
        return
    rows = connection.execute(
        "SELECT DISTINCT ON (item_id) item_id::text, operation, decision, mutation FROM night.plan_items "
        "WHERE item_id = ANY(%s::uuid[]) ORDER BY item_id",
        (list(items),),
    )
    for item, operation, decision, mutation in rows:
        stream.emit(
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
        )

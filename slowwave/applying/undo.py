"""Undoing a run, or some of its items: all of what is asked in one transaction, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowwave.applying.claim import claim_namespace, lock_batch
from slowwave.applying.events import append_events
from slowwave.errors import Refused
from slowwave.mutations.undo import undo_entries
from slowwave.plans.ledger import finish_run, namespace_settings
from slowwave.settings import Settings
from slowwave.store.connect import Connection, Store


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What an undo run did: the items it took back (or, undoing an undo, applied again)."""

    run_id: str
    undo_of: str
    namespace: str
    items: tuple[str, ...]


def undo_run(
    store: Store,
    run: str,
    *,
    items: Sequence[str] | None = None,
    settings: Settings | None = None,
    dagster_run_id: str = "",
) -> UndoResult:
    """Undo a run named by its id, its first characters, or ``last``; ``items`` are item ids or their first characters.

    An undone item counts as rejected: it is not proposed again until its rows change. Raises ``UndoBlocked`` naming the rows on which
    later changes stand. Undoing twice changes nothing.
    """
    with store.connect("applier") as connection:
        source, namespace, mode = find_run(connection, run)
        settings = settings or namespace_settings(connection, namespace)
        chosen = None if items is None else [_find_item(connection, source, i) for i in items]
        claim = claim_namespace(
            connection,
            namespace,
            "undo",
            expiry_seconds=settings.heartbeat_expiry_seconds,
            undo_of=source,
            dagster_run_id=dagster_run_id,
        )
        try:
            with connection.transaction():
                lock_batch(connection, claim)
                undone = undo_entries(connection, claim.namespace_id, claim.run_id, source, chosen)
                event = "reapplied" if mode == "undo" else "undone"
                append_events(connection, claim.namespace_id, claim.run_id, event, undone)
                _mark(connection, claim.namespace_id, undone, "applied" if mode == "undo" else "undone")
                finish_run(connection, claim.run_id, ("applying",), "completed", counts={event: len(undone)})
        except BaseException as problem:
            finish_run(connection, claim.run_id, ("applying",), "crashed", error=str(problem).split("\n", 1)[0][:500])
            raise
    return UndoResult(claim.run_id, source, namespace, undone)


def find_run(connection: Connection, run: str) -> tuple[str, str, str]:
    """(id, namespace, mode) of an apply or undo run; ``last`` is the latest that is finished."""
    rows = connection.execute(
        "SELECT r.id::text, n.slug, r.mode FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id "
        "WHERE r.mode IN ('apply', 'undo') AND CASE WHEN %s = 'last' THEN r.mode = 'apply' AND r.state = 'completed' "
        "ELSE starts_with(r.id::text, %s) END ORDER BY r.started_at DESC LIMIT 2",
        (run, run),
    ).fetchall()
    if not rows or (len(rows) > 1 and run != "last"):
        what = "names more than one run" if rows else "is no apply run"
        raise Refused(f"{run[:64]!r} {what}. `slowwave runs tail NAMESPACE` lists them.")
    return str(rows[0][0]), str(rows[0][1]), str(rows[0][2])


def _find_item(connection: Connection, run_id: str, prefix: str) -> str:
    rows = connection.execute(
        "SELECT DISTINCT item_id::text FROM night.journal WHERE run_id = %s AND starts_with(item_id::text, %s) LIMIT 2",
        (run_id, prefix.lower()),
    ).fetchall()
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


def request_cancel(store: Store, run: str) -> str:
    """Ask a run that is applying to stop after its batch; returns its id. Works from any process."""
    with store.connect("applier") as connection, connection.transaction():
        source, _, _ = find_run(connection, run)
        changed = connection.execute(
            "UPDATE night.runs SET cancel_requested_at = now() WHERE id = %s AND state = 'applying'",
            (source,),
        )
        if changed.rowcount == 0:
            raise Refused(f"Run {source} is not applying, so there is nothing to cancel.")
        return source

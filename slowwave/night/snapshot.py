"""The snapshot of a night as files, and the results that its steps compute from it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from psycopg.types.json import Jsonb

from slowwave.errors import SnapshotError
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.files import (
    database_base,
    load_listed_snapshot,
    load_snapshot,
    remove_snapshot,
    save_snapshot,
)
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.settings import Settings

# The snapshot of a night: a namespace is exported to files and noted in the ledger, and old snapshots are removed.

_NOTE_SNAPSHOT: Final = """
INSERT INTO night.snapshots (id, namespace_id, location, digest, change_counter, vector_model, row_counts, taken_at)
  VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""
_OLD_SNAPSHOTS: Final = """
SELECT s.id, s.location FROM night.snapshots s WHERE s.namespace_id = %s AND s.deleted_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM night.plans p WHERE p.namespace_id = s.namespace_id AND p.state IN ('awaiting_approval', 'approved')
    AND p.expires_at > now() AND s.id IN (p.snapshot_id, p.summary ->> 'snapshot_id')
    AND EXISTS (SELECT 1 FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status = 'pending'))
ORDER BY s.taken_at DESC, s.id OFFSET %s
"""
"""The snapshots after the newest, except those of pending plans: when a part of such a plan is approved, it is checked separately."""
_LISTED: Final = """
SELECT s.location, s.digest FROM night.snapshots s JOIN memory.namespaces n ON n.id = s.namespace_id
  WHERE n.slug = %s AND s.id = %s AND s.deleted_at IS NULL
"""
_NOTE_DELETED: Final = "UPDATE night.snapshots SET deleted_at = now() WHERE id = ANY(%s)"


_UNTOUCHED: Final = """
SELECT n.settings = %(settings)s AND (SELECT count(*) FROM memory.changes c WHERE c.namespace_id = n.id) = %(counter)s
  AND NOT EXISTS (SELECT 1 FROM night.runs r WHERE r.namespace_id = n.id AND r.id::text <> %(run)s
    AND coalesce(r.finished_at, r.heartbeat_at) >= %(taken)s)
  AND NOT EXISTS (SELECT 1 FROM night.rejections r WHERE r.namespace_id = n.id AND r.recorded_at >= %(taken)s)
FROM memory.namespaces n WHERE n.id = %(namespace)s
"""
"""Returns whether nothing that Slowwave itself did since a snapshot was read has changed it."""


def snapshot_of_night(
    store: Store,
    namespace: str,
    base: str = "",
    *,
    now: datetime | None = None,
    exported: Snapshot | None = None,
    run_id: str = "",
) -> Snapshot:
    """Take the snapshot that a night reads: export it to files, note it in the ledger, and remove old ones.

    The newest ``snapshot_keep_nights`` are kept, and in addition the snapshot of every plan with items that are pending approval.

    ``exported`` is the namespace as it was read together with others a moment ago, before the run ``run_id`` claimed it. It is used
    unless another run or a person has touched the namespace since. Because it is small, it is returned from memory and not loaded from
    its files.

    With ``now`` the snapshot carries that instant; the ledger keeps the real one.
    """
    base = base or database_base(store)
    settings = Settings.for_namespace({})
    together = exported is not None and _untouched(store, exported, run_id)
    snapshot = exported if exported and together else export_snapshot(store, namespace, model=settings.embedding_model)
    dated = snapshot if now is None else replace(snapshot, taken_at=now.astimezone(UTC))
    saved = save_snapshot(dated, base)
    with store.connect("planner") as connection:
        connection.execute(
            _NOTE_SNAPSHOT,
            (
                *(snapshot.snapshot_id, snapshot.namespace_id, saved.location, saved.digest, snapshot.change_counter),
                *(snapshot.vectors["entity_vectors"].model, Jsonb({k: len(t) for k, t in snapshot.tables.items()})),
                snapshot.taken_at,
            ),
        )
        old = connection.execute(
            _OLD_SNAPSHOTS,
            (snapshot.namespace_id, Settings.for_namespace(snapshot.settings).snapshot_keep_nights),
        ).fetchall()
        gone = [str(id_) for id_, place in old if remove_snapshot(str(place), namespace, str(id_), base)]
        if gone:
            connection.execute(_NOTE_DELETED, (gone,))
    return dated if together else load_snapshot(saved.location, saved.digest)


_ROWS: Final = """
SELECT n.slug, (SELECT sum(c.value::bigint) FROM jsonb_each_text(s.row_counts) c) FROM memory.namespaces n
CROSS JOIN LATERAL (SELECT row_counts FROM night.snapshots WHERE namespace_id = n.id ORDER BY taken_at DESC LIMIT 1) s
"""


def snapshot_rows(store: Store) -> dict[str, int]:
    """Return the number of rows in the latest snapshot of each namespace that has had one."""
    with store.connect("reader") as connection:
        return {str(name): int(str(rows or 0)) for name, rows in connection.execute(_ROWS).fetchall()}


def listed_snapshot(store: Store, namespace: str, snapshot_id: str) -> Snapshot:
    """Load a snapshot of the namespace that the ledger lists.

    Raises ``SnapshotError`` if there is none, or if its files are not those that were saved.
    """
    with store.connect("reader") as connection:
        row = connection.execute(_LISTED, (namespace, snapshot_id)).fetchone()
    if row is None:
        raise SnapshotError(
            f"The ledger lists no snapshot {snapshot_id[:64]} of {namespace}: retention removed it. Run the night again."
        )
    location, digest = str(row[0]), str(row[1] or "")
    return load_listed_snapshot(location, namespace, snapshot_id, database_base(store), digest)


def _untouched(store: Store, snapshot: Snapshot, run_id: str) -> bool:
    since = {
        "settings": Jsonb(dict(snapshot.settings)),
        "counter": snapshot.change_counter,
        "run": run_id,
        "taken": snapshot.taken_at,
        "namespace": snapshot.namespace_id,
    }
    with store.connect("reader") as connection:
        row = connection.execute(_UNTOUCHED, since).fetchone()
    return bool(row and row[0])

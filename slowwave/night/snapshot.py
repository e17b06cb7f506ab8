"""The snapshot of a night: a namespace exported to files, noted in the ledger, and old ones let go of."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from psycopg.types.json import Jsonb

from slowwave.config.settings import Settings
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.files import database_base, load_snapshot, remove_snapshot, save_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store

_NOTE_SNAPSHOT: Final = """
INSERT INTO night.snapshots (id, namespace_id, location, change_counter, vector_model, row_counts, taken_at)
  VALUES (%s, %s, %s, %s, %s, %s, %s)
"""
_OLD_SNAPSHOTS: Final = """
SELECT s.id, s.location FROM night.snapshots s WHERE s.namespace_id = %s AND s.deleted_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM night.plans p WHERE p.namespace_id = s.namespace_id AND p.state IN ('awaiting_approval', 'approved')
    AND p.expires_at > now() AND s.id IN (p.snapshot_id, p.summary ->> 'snapshot_id')
    AND EXISTS (SELECT 1 FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status = 'pending'))
ORDER BY s.taken_at DESC, s.id OFFSET %s
"""
"""Those beyond the newest, but for the snapshots of plans that wait: a part of such a plan is judged on its own when it is approved."""
_NOTE_DELETED: Final = "UPDATE night.snapshots SET deleted_at = now() WHERE id = ANY(%s)"


_UNTOUCHED: Final = """
SELECT n.settings = %(settings)s AND (SELECT count(*) FROM memory.changes c WHERE c.namespace_id = n.id) = %(counter)s
  AND NOT EXISTS (SELECT 1 FROM night.runs r WHERE r.namespace_id = n.id AND r.id::text <> %(run)s
    AND coalesce(r.finished_at, r.heartbeat_at) >= %(taken)s)
  AND NOT EXISTS (SELECT 1 FROM night.rejections r WHERE r.namespace_id = n.id AND r.recorded_at >= %(taken)s)
FROM memory.namespaces n WHERE n.id = %(namespace)s
"""
"""Whether nothing that Slowwave itself did since a snapshot was read makes it another."""


def take_snapshot(store: Store, namespace: str, base: str = "") -> str:
    """Where the snapshot of a namespace as it is now lies, as ``snapshot_of_night`` takes it."""
    return _taken(store, namespace, base)[0]


def snapshot_of_night(
    store: Store,
    namespace: str,
    base: str = "",
    *,
    now: datetime | None = None,
    exported: Snapshot | None = None,
    run_id: str = "",
) -> Snapshot:
    """The snapshot that a night reads, which is exported to files and noted in the ledger; of old ones is let go.

    The newest ``snapshot_keep_nights`` stay, and beside them that of every plan of which items wait for an approval.

    ``exported`` is the namespace as it was read a moment ago with others, before the run ``run_id`` held it: it is taken unless another run
    or a person was there since, and as it is small, from memory and not from its files.

    With ``now`` the snapshot says that it was taken at that instant; the ledger keeps the real one.
    """
    location, taken = _taken(store, namespace, base, now, exported, run_id)
    return load_snapshot(location) if taken is None else taken


def _taken(
    store: Store,
    namespace: str,
    base: str,
    now: datetime | None = None,
    exported: Snapshot | None = None,
    run_id: str = "",
) -> tuple[str, Snapshot | None]:
    """Where the snapshot lies, and itself where it was read with others."""
    base = base or database_base(store)
    settings = Settings.for_namespace({})
    together = exported is not None and _untouched(store, exported, run_id)
    snapshot = exported if exported and together else export_snapshot(store, namespace, model=settings.embedding_model)
    dated = snapshot if now is None else replace(snapshot, taken_at=now.astimezone(UTC))
    location = save_snapshot(dated, base)
    with store.connect("planner") as connection:
        connection.execute(
            _NOTE_SNAPSHOT,
            (
                *(snapshot.snapshot_id, snapshot.namespace_id, location, snapshot.change_counter),
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
    return location, dated if together else None


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

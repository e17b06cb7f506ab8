"""The snapshot of a night: a namespace exported to files, noted in the ledger, and old ones let go of."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from psycopg.types.json import Jsonb

from slowwave.config.settings import Settings
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.files import database_base, remove_snapshot, save_snapshot
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


def take_snapshot(store: Store, namespace: str, base: str = "", *, now: datetime | None = None) -> str:
    """Export a namespace to files, note it in the ledger, and let go of old ones; returns the location.

    The newest ``snapshot_keep_nights`` stay, and beside them that of every plan of which items wait for an approval.

    With ``now`` the snapshot says that it was taken at that instant; the ledger keeps the real one.
    """
    base = base or database_base(store)
    settings = Settings.for_namespace({})
    snapshot = export_snapshot(store, namespace, model=settings.embedding_model)
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
        connection.execute(_NOTE_DELETED, (gone,))
    return location

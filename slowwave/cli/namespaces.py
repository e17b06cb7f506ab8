"""``slowwave namespaces``: what there is, at a glance. It is asked for often, so it imports little."""

from __future__ import annotations

from typing import Final

from slowwave.cli.session import Json, open_store, show_json, show_table
from slowwave.plans.states import shown_state

_NAMESPACES: Final = """
SELECT n.slug, n.read_only,
  CASE WHEN s.store IS NULL THEN (SELECT count(*) FROM memory.memories m WHERE m.namespace_id = n.id AND m.invalidated_at IS NULL)
    ELSE coalesce((SELECT (t.row_counts ->> 'memories')::bigint FROM night.snapshots t
      WHERE t.namespace_id = n.id ORDER BY t.taken_at DESC LIMIT 1), 0) END,
  (SELECT count(*) FROM memory.entities e WHERE e.namespace_id = n.id AND e.invalidated_at IS NULL),
  (SELECT count(*) FROM memory.relationships r WHERE r.namespace_id = n.id AND r.invalidated_at IS NULL),
  p.state, night.item_counts(p.plan_hash), p.expires_at
FROM memory.namespaces n LEFT JOIN night.store_namespaces s ON s.namespace_id = n.id
LEFT JOIN LATERAL (SELECT * FROM night.plans p WHERE p.namespace_id = n.id ORDER BY (p.state = 'empty'), p.recorded_at DESC LIMIT 1) p
  ON true
ORDER BY n.slug
"""
"""Of a connected store's, the memories that its last snapshot held: its tables are not counted for a list."""


def namespaces(json: Json = False) -> None:
    """List namespaces with their live rows and the state of their latest plan."""
    with open_store().connect("reader") as connection:
        rows = connection.execute(_NAMESPACES).fetchall()
    rows = [(*row[:5], None if row[5] is None else shown_state(*row[5:])) for row in rows]
    columns = ("namespace", "read_only", "memories", "entities", "relationships", "plan")
    if json:
        show_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        shown = [
            [
                *(row[0], "yes" if row[1] else "no", *row[2:5]),
                "nothing to decide" if row[5] == "empty" else row[5] or "none yet",
            ]
            for row in rows
        ]
        show_table("Namespaces", ("namespace", "read-only", *columns[2:]), shown, first="demo")

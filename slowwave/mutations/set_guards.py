"""SQL for guards on what is no cell of a row: the rows that name an entity, what a memory tells (``slowwave.mutations.cells.VIRTUAL``)."""

from __future__ import annotations

from typing import Final

from slowwave.texts.beside import WRITTEN

RELATIONSHIPS_CHANGED: Final = """
SELECT c.item_id::text, c.row_id::text FROM batch_cells c
LEFT JOIN LATERAL (
  SELECT array_agg(u.id ORDER BY u.id) AS ids FROM (
    SELECT r.id FROM memory.relationships r WHERE r.source_entity_id = c.row_id
    UNION SELECT r.id FROM memory.relationships r WHERE r.target_entity_id = c.row_id) u
) incident ON true
WHERE c.col = '#relationships' AND coalesce(incident.ids, '{}') <> c.seen::uuid[]
"""

CLAIMS_CHANGED: Final = """
WITH guarded AS MATERIALIZED (SELECT c.item_id, c.row_id, c.seen::uuid[] AS seen FROM batch_cells c WHERE c.col = '#claims'),
standing AS MATERIALIZED (
  SELECT g.row_id, m.id FROM (SELECT DISTINCT row_id FROM guarded) g JOIN memory.memories m ON m.namespace_id = %(namespace)s
    AND m.kind = 'claim' AND m.attributes ->> 'entity_id' = g.row_id::text AND m.state = 'active' AND m.invalidated_at IS NULL),
differing AS (
  SELECT g.item_id, g.row_id, s.id FROM guarded g JOIN standing s ON s.row_id = g.row_id WHERE s.id <> ALL (g.seen)
  UNION ALL
  SELECT g.item_id, g.row_id, u.id FROM guarded g, unnest(g.seen) AS u (id)
    WHERE NOT EXISTS (SELECT 1 FROM standing s WHERE s.row_id = g.row_id AND s.id = u.id))
SELECT DISTINCT d.item_id::text, d.row_id::text FROM differing d
WHERE NOT EXISTS (
  SELECT 1 FROM night.runs r JOIN night.plan_items i ON i.plan_hash = r.plan_hash JOIN night.journal j ON j.item_id = i.item_id
  WHERE r.id = %(run)s AND j.table_name = 'memories' AND j.row_id = d.id)
"""
"""Items that say something of an entity of which something else has been said or forgotten since, by whoever is no item of their plan."""

TOLD_CHANGED: Final = f"""
SELECT c.item_id::text, c.row_id::text FROM batch_cells c LEFT JOIN memory.memories m ON m.id = c.row_id AND m.namespace_id = %(namespace)s
WHERE c.col = '#told' AND m.current_version_id IS DISTINCT FROM c.seen::uuid AND NOT EXISTS (
  SELECT 1 FROM memory.memory_versions seen JOIN memory.memory_versions now ON now.memory_id = seen.memory_id
    AND regexp_replace(now.content, '{WRITTEN}', '', 'g') = regexp_replace(seen.content, '{WRITTEN}', '', 'g')
  WHERE seen.id = c.seen::uuid AND now.id = m.current_version_id)
"""
"""Items that rest on what a memory tells, where it tells something else now, whatever nights wrote beside it."""

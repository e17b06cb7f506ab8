"""SQL for pages among the rows of a batch: names that nobody else takes meanwhile, files that have to follow, and what an undo lets go."""

from __future__ import annotations

from typing import Final

from slowwave.mutations.pointers import EVENT_POINTERS, lists_of
from slowwave.store.connect import Connection

_LOCK_NAMESPACE: Final = "SELECT memory.lock_name_shared(%s, 4)"
_NAMES: Final = """
SELECT memory.lock_name(k.name, k.seed) FROM (
  SELECT DISTINCT %(namespace)s::text || (b.body ->> 'path') AS name, 3 AS seed, 1 AS rank FROM batch_rows b WHERE b.tbl = 'documents'
  UNION SELECT DISTINCT %(namespace)s::text || (b.body ->> 'external_id'), 4, 2 FROM batch_rows b
    WHERE b.tbl = 'entities' AND b.body ->> 'external_id' IS NOT NULL
  UNION SELECT DISTINCT %(namespace)s::text || c.row_id::text, 4, 3 FROM batch_cells c WHERE c.col = '#claims'
  ORDER BY 3, 1) k
"""

AWAIT_FILES: Final = """
INSERT INTO memory.pending_files (corpus_id, path, namespace_id, was_hash)
SELECT w.corpus_id, w.path, %(namespace)s::uuid, w.was_hash FROM (
  SELECT d.corpus_id, d.path, c.seen AS was_hash FROM batch_cells c JOIN memory.documents d ON d.id = c.row_id
    WHERE c.tbl = 'documents' AND c.col = 'content_hash' AND c.action = 'set'
  UNION ALL
  SELECT (b.body ->> 'corpus_id')::uuid, b.body ->> 'path', CASE b.action WHEN 'delete' THEN b.body ->> 'content_hash' END
    FROM batch_rows b WHERE b.tbl = 'documents' AND b.body ->> 'version_of' IS NULL
) w JOIN memory.corpora k ON k.id = w.corpus_id AND k.root NOT IN ('pages:', 'evidence:', 'sessions:') ON CONFLICT DO NOTHING
"""
"""Files of followed folders that have to follow the batch's documents, done or undone, with what each said before the first write that it
has not followed."""

LINKS_LATER: Final = "SET CONSTRAINTS memory.links_target_document_id_fkey DEFERRED"
LINKS_NOW: Final = "SET CONSTRAINTS memory.links_target_document_id_fkey IMMEDIATE"
"""Between them a link may mean a page that a later statement of the batch brings, or that an earlier one took back."""

MEAN_AWAITED: Final = """
UPDATE memory.links l SET target_document_id = l.awaited_id FROM memory.documents d
WHERE l.namespace_id = %(namespace)s AND l.target_document_id IS NULL AND l.invalidated_at IS NULL AND d.id = l.awaited_id
  AND d.namespace_id = l.namespace_id AND d.invalidated_at IS NULL AND d.version_of IS NULL
  AND (l.awaited_id IN (SELECT row_id FROM batch_rows WHERE tbl = 'documents' AND action = 'insert')
    OR l.id IN (SELECT row_id FROM batch_rows WHERE tbl = 'links' AND action = 'insert'))
"""
"""Links mean the pages that they await, done or undone: those that the batch brings, and those that are there for links that it brings.
It is found out like what syncs find out, and not journalled: ``LET_GO`` takes it back with the page."""

AWAIT_AGAIN: Final = """
UPDATE batch_rows SET body = body || '{"target_document_id": null}'
WHERE tbl = 'links' AND action = 'insert' AND body ->> 'target_document_id' = body ->> 'awaited_id'
"""
"""Undo: links that come back await their pages again, as those may have gone since; ``MEAN_AWAITED`` looks whether they are there."""

LET_GO: Final = """
UPDATE memory.links l SET target_document_id = CASE WHEN b.tbl = 'documents' THEN NULL ELSE l.target_document_id END,
  entity_id = CASE WHEN b.tbl = 'entities' THEN NULL ELSE l.entity_id END,
  invalidated_at = CASE WHEN l.kind = 'mention' THEN coalesce(l.invalidated_at, now()) ELSE l.invalidated_at END
FROM batch_rows b WHERE b.action = 'delete' AND l.namespace_id = %(namespace)s
  AND (b.tbl = 'documents' AND l.target_document_id = b.row_id OR b.tbl = 'entities' AND l.entity_id = b.row_id)
  AND NOT EXISTS (SELECT 1 FROM batch_rows o WHERE o.item_id = b.item_id AND o.tbl = 'links' AND o.row_id = l.id)
  AND NOT EXISTS (SELECT 1 FROM batch_cells c WHERE c.item_id = b.item_id AND c.tbl = 'links' AND c.row_id = l.id
    AND c.col = 'target_document_id')
"""
"""Undo: links that came to mean a page or an entity since it was made mean nothing again, and mentions of it end. They say what pages say,
and the next sync finds out anew."""

TARGETS_GONE: Final = """
WITH gone AS (
  SELECT t.id FROM (
    SELECT value::uuid AS id FROM batch_cells WHERE tbl = 'links' AND col = 'target_document_id' AND action = 'set'
    UNION SELECT (body ->> 'target_document_id')::uuid FROM batch_rows WHERE tbl = 'links' AND action = 'insert') t
  WHERE t.id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memory.documents d WHERE d.id = t.id)
    AND NOT EXISTS (SELECT 1 FROM batch_rows o WHERE o.tbl = 'documents' AND o.action = 'insert' AND o.row_id = t.id)
), cells AS (
  UPDATE batch_cells c SET value = NULL FROM gone
  WHERE c.tbl = 'links' AND c.col = 'target_document_id' AND c.action = 'set' AND c.value::uuid = gone.id
)
UPDATE batch_rows b SET body = b.body || jsonb_build_object('target_document_id', NULL, 'invalidated_at', CASE
  WHEN b.body ->> 'kind' = 'mention' AND b.body ->> 'invalidated_at' IS NULL THEN to_jsonb(now()) ELSE b.body -> 'invalidated_at' END)
FROM gone WHERE b.tbl = 'links' AND b.action = 'insert' AND (b.body ->> 'target_document_id')::uuid = gone.id
"""
"""Undo: a link that comes back and meant a page which was purged since means nothing, and a mention of it has ended, as a purge leaves
those that stand."""

_ABOUT: Final = """
SELECT b.item_id::text, 'memories', m.id::text, 'attributes' FROM batch_rows b JOIN memory.memories m
  ON m.namespace_id = %(namespace)s AND m.kind = 'claim' AND m.attributes ->> 'entity_id' = b.row_id::text
WHERE b.tbl = 'entities' AND b.action = 'delete'
  AND NOT EXISTS (SELECT 1 FROM batch_rows o WHERE o.tbl = 'memories' AND o.action = 'delete' AND o.row_id = m.id)
"""


def built_on(table: str) -> str:
    """Undo: what came since and rests on rows of ``table`` that would go, without a foreign key: (item, table, row, column).

    Claims about a subject, events that name a claim or their evidence, and whatever has it among its sources or members, retired rows
    included. What the batch takes back itself does not count. Empty where nothing can; else one pass over each table that may.
    """
    found = [_ABOUT] if table == "entities" else []
    for column in (c for c, target in EVENT_POINTERS.items() if target == table):
        found.append(
            f"SELECT b.item_id::text, 'claim_events', e.id::text, '{column}' FROM batch_rows b JOIN memory.claim_events e "
            f"ON e.{column} = b.row_id AND e.namespace_id = %(namespace)s WHERE b.tbl = '{table}' AND b.action = 'delete' "
            "AND NOT EXISTS (SELECT 1 FROM batch_rows o WHERE o.tbl = 'claim_events' AND o.action = 'delete' AND o.row_id = e.id)"
        )
    for other, column in lists_of(table):
        found.append(
            f"SELECT b.item_id::text, '{other}', x.id::text, '{column}' FROM memory.{other} x CROSS JOIN LATERAL unnest(x.{column}) n "
            f"JOIN batch_rows b ON b.row_id = n AND b.tbl = '{table}' AND b.action = 'delete' WHERE x.namespace_id = %(namespace)s "
            f"AND NOT EXISTS (SELECT 1 FROM batch_rows o WHERE o.tbl = '{other}' AND o.action = 'delete' AND o.row_id = x.id) "
            f"AND NOT EXISTS (SELECT 1 FROM batch_cells c WHERE c.tbl = '{other}' AND c.row_id = x.id AND c.col = '{column}' "
            "AND c.action = 'set' AND NOT c.value::uuid[] @> ARRAY[n])"
        )
    return " UNION ALL ".join(found)


def lock_names(connection: Connection, namespace_id: str) -> None:
    """Wait for syncs and for agents that write the same pages or subjects, and keep them away until the transaction ends."""
    connection.execute(_LOCK_NAMESPACE, (namespace_id,))
    connection.execute(_NAMES.encode(), {"namespace": namespace_id})

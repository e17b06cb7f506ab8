-- Rows whose provenance names a chunk or document that is no longer there: one row per live entity, relationship, memory
-- or fact and kind of reference. Dead is an id that is missing or invalidated; a document that has merely ended in the
-- world is still a source. ``dead_ids`` are distinct; the lengths count an id as often as it stands in the array.
-- check: unique kind, table_name, row_id
-- check: not_null kind, table_name, column_name, row_id, dead_ids, length_before, length_after
-- no row without: live_entities.source_chunk_ids, live_entities.source_document_ids
-- no row without: relationships.source_chunk_ids, relationships.source_document_ids
-- no row without: memories.source_chunk_ids, memories.source_document_ids, memory_facts.source_chunk_ids
with live as (
  select 'entities' as table_name, id, source_chunk_ids, source_document_ids
  from live_entities
  union all
  select 'relationships' as table_name, id, source_chunk_ids, source_document_ids
  from snapshot.relationships
  where invalidated_at is null and (valid_to is null or valid_to > $taken_at)
  union all
  select 'memories' as table_name, id, source_chunk_ids, source_document_ids
  from snapshot.memories
  where invalidated_at is null and (valid_to is null or valid_to > $taken_at)
  union all
  select 'memory_facts' as table_name, id, source_chunk_ids, [] as source_document_ids
  from snapshot.memory_facts
  where invalidated_at is null and (valid_to is null or valid_to > $taken_at)
),
named as (
  select 'chunk' as kind, 'source_chunk_ids' as column_name, table_name, id as row_id,
    len(source_chunk_ids) as length, unnest(source_chunk_ids) as named_id
  from live
  union all
  select 'document' as kind, 'source_document_ids' as column_name, table_name, id as row_id,
    len(source_document_ids) as length, unnest(source_document_ids) as named_id
  from live
),
present as (
  select 'chunk' as kind, id from snapshot.chunks where invalidated_at is null
  union all
  select 'document' as kind, id from snapshot.documents where invalidated_at is null
)
select
  n.kind,
  n.table_name,
  n.column_name,
  n.row_id,
  list_sort(list(distinct n.named_id)) as dead_ids,
  any_value(n.length) as length_before,
  any_value(n.length) - count(*) as length_after
from named as n
where not exists (select 1 from present as p where p.kind = n.kind and p.id = n.named_id)
group by n.kind, n.table_name, n.column_name, n.row_id
order by n.kind, n.table_name, n.row_id

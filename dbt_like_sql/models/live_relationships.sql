-- Live relationships between live entities. Parallel edges (same source, target and type) are folded into one, which
-- bears the smallest id, the greatest weight and confidence and the union of the provenance. Self-loops are kept.
-- check: unique id
-- check: unique source_entity_id, target_entity_id, relationship_type
-- check: not_null id, source_entity_id, target_entity_id, relationship_type, weight
with live as (
  select r.*
  from snapshot.relationships as r
  where r.invalidated_at is null
    and (r.valid_to is null or r.valid_to > $taken_at)
    and r.source_entity_id in (select e.id from live_entities as e)
    and r.target_entity_id in (select e.id from live_entities as e)
)
select
  min(id) as id,
  source_entity_id,
  target_entity_id,
  relationship_type,
  max(weight) as weight,
  max(confidence) as confidence,
  list_sort(list_distinct(flatten(list(source_document_ids)))) as source_document_ids,
  list_sort(list_distinct(flatten(list(source_chunk_ids)))) as source_chunk_ids,
  count(*) as parallel_edges
from live
group by source_entity_id, target_entity_id, relationship_type
order by id

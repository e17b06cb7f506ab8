-- Entities that are neither invalidated nor ended in the world at the instant of the snapshot.
-- check: unique id
-- check: not_null id, entity_type, name
select
  id,
  external_id,
  source,
  entity_type,
  name,
  description,
  attributes,
  source_document_ids,
  source_chunk_ids,
  mention_count,
  confidence,
  pinned,
  state,
  valid_from,
  recorded_at
from snapshot.entities
where invalidated_at is null and (valid_to is null or valid_to > $taken_at)
order by id

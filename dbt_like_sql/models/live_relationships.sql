-- Live relationships between live entities. Parallel edges (same source, target and type) are folded into one, which
-- bears the smallest id, the greatest weight and confidence and the union of the provenance. Self-loops are kept.
-- ``association`` says of an edge of type ASSOCIATED_WITH how much more often its ends stand together than chance would have
-- them: normalised pointwise mutual information (Bouma 2009) over the chunks that name anything, 0 where it is not positive or
-- where forty stronger edges of each of its documents come before it. It is 1 for other types and where no chunk is known.
-- check: unique id
-- check: unique source_entity_id, target_entity_id, relationship_type
-- check: not_null id, source_entity_id, target_entity_id, relationship_type, weight, association
with live as (
  select r.*
  from snapshot.relationships as r
  where r.invalidated_at is null
    and (r.valid_to is null or r.valid_to > $taken_at)
    and r.source_entity_id in (select e.id from live_entities as e)
    and r.target_entity_id in (select e.id from live_entities as e)
),
folded as (
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
),
counted as materialized (  -- before the number of chunks is joined: else DuckDB joins that to all pairs of entities
  select
    f.id,
    f.source_document_ids,
    f.weight,
    cast(len(f.source_chunk_ids) as double) as together,
    cast(greatest(len(s.source_chunk_ids), len(f.source_chunk_ids)) as double) as one,
    cast(greatest(len(t.source_chunk_ids), len(f.source_chunk_ids)) as double) as other
  from folded as f
  join live_entities as s on s.id = f.source_entity_id
  join live_entities as t on t.id = f.target_entity_id
  where upper(f.relationship_type) = 'ASSOCIATED_WITH' and len(f.source_chunk_ids) > 0
),
named as (
  select cast(count(distinct chunk) + 1 as double) as chunks
  from (select unnest(source_chunk_ids) as chunk from live_entities)
),
informed as (
  select
    id,
    source_document_ids,
    weight,
    greatest(0, case when together >= chunks then 1 else ln(together * chunks / (one * other)) / -ln(together / chunks) end) as information
  from counted cross join named
),
placed as (
  select id, row_number() over (partition by document order by weight * information desc, id) as place
  from (select id, weight, information, unnest(source_document_ids) as document from informed)
),
beyond as (
  select id from placed group by id having min(place) > 40
)
select
  f.id,
  f.source_entity_id,
  f.target_entity_id,
  f.relationship_type,
  f.weight,
  f.confidence,
  f.source_document_ids,
  f.source_chunk_ids,
  f.parallel_edges,
  case when b.id is not null then 0 else coalesce(i.information, 1) end as association
from folded as f
left join informed as i on i.id = f.id
left join beyond as b on b.id = f.id
order by f.id

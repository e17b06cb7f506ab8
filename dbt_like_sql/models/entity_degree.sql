-- Degree of every live entity in the folded graph, either direction; self-loops do not count. ``cooccurrences`` are the
-- edges of type ASSOCIATED_WITH, however it is written.
-- check: unique id
-- check: not_null id, degree
with ends as (
  select source_entity_id as id, target_entity_id as other, relationship_type, 1 as outgoing
  from live_relationships
  where source_entity_id <> target_entity_id
  union all
  select target_entity_id as id, source_entity_id as other, relationship_type, 0 as outgoing
  from live_relationships
  where source_entity_id <> target_entity_id
)
select
  e.id,
  count(n.other) as degree,
  count(n.other) filter (n.outgoing = 1) as outgoing,
  count(n.other) filter (n.outgoing = 0) as incoming,
  count(n.other) filter (upper(n.relationship_type) = 'ASSOCIATED_WITH') as cooccurrences,
  count(distinct n.other) as neighbours
from live_entities as e
left join ends as n on n.id = e.id
group by e.id
order by e.id

-- Rows and live rows of every entity type and relationship type, exactly as written (case and spaces count).
-- check: unique table_name, type
-- check: not_null table_name, type, all_rows, live_rows
with typed as (
  select 'entities' as table_name, entity_type as type, invalidated_at, valid_to
  from snapshot.entities
  union all
  select 'relationships' as table_name, relationship_type as type, invalidated_at, valid_to
  from snapshot.relationships
)
select
  table_name,
  type,
  count(*) as all_rows,
  count(*) filter (invalidated_at is null and (valid_to is null or valid_to > $taken_at)) as live_rows
from typed
group by table_name, type
order by table_name, live_rows desc, type

-- How each recalled row was used in all of its history, counted as nexo counts it: a row once a hit, questions verbatim,
-- days in UTC, ``relevance`` the mean of 1 / rank whatever score was logged. ``slowwave.operations.scoring`` reads it when the setting
-- ``signals_compat`` is on. What was selected without being a hit does not count; ``selections`` are for the reader.
-- check: unique row_id
-- check: not_null row_id, recalls, relevance
with events as (
  select occurred_at, query, hit_ids, selected_ids, unnest(list_distinct(hit_ids)) as row_id
  from snapshot.recall_events
  where occurred_at <= $taken_at
)
select
  row_id,
  count(*) as recalls,
  count(distinct query) as queries,
  count(distinct (occurred_at at time zone 'UTC')::date) as days,
  count(*) filter (list_contains(selected_ids, row_id)) as selections,
  max(occurred_at) as last_recalled_at,
  avg(1 / list_position(hit_ids, row_id)) as relevance
from events
group by row_id
order by row_id

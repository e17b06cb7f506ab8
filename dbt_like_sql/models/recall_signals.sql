-- How each recalled row (entity, chunk or memory) was used in the recall window. All signals lie between 0 and 1:
-- ``frequency`` ln(1 + recalls) / ln(1 + cap); ``relevance`` mean score of the hit, 1 / rank where none was logged;
-- ``diversity`` distinct queries / 5, folded in case, space and closing marks, where one was asked: a wake or a page that is
-- read asks nothing; ``consolidation`` distinct days (UTC) / 5; ``recency`` halves over one window; ``selected_rate`` share
-- of recalls that the agent used. ``score`` weighs them 0.24, 0.30, 0.15, 0.10, 0.15, 0.06. A row counts once an event; a row
-- that was selected counts as recalled. Memories have a half-life a kind: what promotes them is the same score with their own
-- recency (``slowwave.operations.scoring``).
-- check: unique row_id
-- check: not_null row_id, recalls, score
with events as (
  select
    id,
    occurred_at,
    lower(trim(regexp_replace(regexp_replace(nfc_normalize(query), '[\s?!.…？！。]+$', ''), '\s+', ' ', 'g'))) as question,
    hit_ids,
    selected_ids,
    scores,
    unnest(list_distinct(list_concat(hit_ids, selected_ids))) as row_id
  from snapshot.recall_events
  where occurred_at > $taken_at - to_days($window_days) and occurred_at <= $taken_at
),
hits as (
  select
    row_id,
    occurred_at,
    question,
    list_contains(selected_ids, row_id) as selected,
    coalesce(scores[nullif(list_position(hit_ids, row_id), 0)], 1 / nullif(list_position(hit_ids, row_id), 0)) as hit_score
  from events
),
used as (
  select
    row_id,
    count(*) as recalls,
    count(distinct nullif(question, '')) as queries,
    count(distinct (occurred_at at time zone 'UTC')::date) as days,
    count(*) filter (selected) as selections,
    max(occurred_at) as last_recalled_at,
    greatest(0, least(1, coalesce(avg(hit_score), 0))) as relevance
  from hits
  group by row_id
),
signals as (
  select
    row_id,
    recalls,
    queries,
    days,
    selections,
    last_recalled_at,
    least(1, ln(1 + recalls) / ln(1 + $frequency_cap)) as frequency,
    relevance,
    least(1, queries / 5) as diversity,
    least(1, days / 5) as consolidation,
    power(0.5, (epoch($taken_at) - epoch(last_recalled_at)) / 86400 / $window_days) as recency,
    selections / recalls as selected_rate
  from used
)
select
  row_id,
  recalls,
  queries,
  days,
  selections,
  last_recalled_at,
  frequency,
  relevance,
  diversity,
  consolidation,
  recency,
  selected_rate,
  0.24 * frequency + 0.30 * relevance + 0.15 * diversity + 0.10 * consolidation + 0.15 * recency
    + 0.06 * selected_rate as score
from signals
order by row_id

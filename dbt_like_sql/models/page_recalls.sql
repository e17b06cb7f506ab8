-- How each page (document) was used in the recall window, by its passages: a page counts once an event, however many of its passages were
-- found. Signals, their weights and what makes two questions one are those of ``recall_signals``; the relevance of an event is that of its
-- best passage. ``questions`` are the last five that were asked, ``passages`` the three that were found most.
-- check: unique document_id
-- check: not_null document_id, recalls, score
with passages as (
  select id, document_id from snapshot.chunks where invalidated_at is null
),
events as (
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
    events.id,
    events.occurred_at,
    events.question,
    passages.document_id,
    passages.id as passage,
    list_contains(events.selected_ids, events.row_id) as selected,
    coalesce(
      events.scores[nullif(list_position(events.hit_ids, events.row_id), 0)], 1 / nullif(list_position(events.hit_ids, events.row_id), 0)
    ) as hit_score
  from events
  join passages on passages.id = events.row_id
),
once as (
  select
    id,
    document_id,
    any_value(occurred_at) as occurred_at,
    any_value(question) as question,
    bool_or(selected) as selected,
    max(hit_score) as hit_score
  from hits
  group by id, document_id
),
used as (
  select
    document_id,
    count(*) as recalls,
    count(distinct nullif(question, '')) as queries,
    count(distinct (occurred_at at time zone 'UTC')::date) as days,
    count(*) filter (selected) as selections,
    max(occurred_at) as last_recalled_at,
    greatest(0, least(1, coalesce(avg(hit_score), 0))) as relevance
  from once
  group by document_id
),
asked as (
  select document_id, list(question order by last_at desc, question)[1:5] as questions
  from (select document_id, question, max(occurred_at) as last_at from once where question <> '' group by document_id, question)
  group by document_id
),
found as (
  select document_id, list(passage order by times desc, passage)[1:3] as passages
  from (select document_id, passage, count(*) as times from hits group by document_id, passage)
  group by document_id
)
select
  used.document_id,
  used.recalls,
  used.queries,
  used.days,
  used.selections,
  used.last_recalled_at,
  asked.questions,
  found.passages,
  0.24 * least(1, ln(1 + used.recalls) / ln(1 + $frequency_cap)) + 0.30 * used.relevance + 0.15 * least(1, used.queries / 5)
    + 0.10 * least(1, used.days / 5)
    + 0.15 * power(0.5, (epoch($taken_at) - epoch(used.last_recalled_at)) / 86400 / $window_days)
    + 0.06 * (used.selections / used.recalls) as score
from used
left join asked on asked.document_id = used.document_id
left join found on found.document_id = used.document_id
order by used.document_id

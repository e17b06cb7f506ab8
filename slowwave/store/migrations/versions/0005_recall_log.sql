-- What tells this store from another one: files beside the database are kept apart by it.
CREATE TABLE night.store (
  only_one boolean DEFAULT true NOT NULL CHECK (only_one),
  id uuid NOT NULL,
  PRIMARY KEY (only_one)
);
INSERT INTO night.store (id) VALUES (gen_random_uuid());
GRANT SELECT ON night.store TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;

-- An undo asks for the events of one run.
CREATE INDEX memory_events_run ON night.memory_events (run_id, item_id);

-- A month's partition, with the rows of the month that came before it was there. It takes the owner of the table to make one.
CREATE OR REPLACE FUNCTION memory.ensure_recall_partitions(first timestamptz, last timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  month timestamptz := date_trunc('month', first, 'UTC');
  following timestamptz;
  name text;
BEGIN
  WHILE month <= last LOOP
    following := (month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC';
    name := 'recall_events_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');
    IF to_regclass('memory.' || name) IS NULL THEN
      PERFORM pg_advisory_xact_lock(hashtext('slowwave recall partitions'));
      IF to_regclass('memory.' || name) IS NULL THEN
        EXECUTE format('CREATE TABLE memory.%I (LIKE memory.recall_events INCLUDING DEFAULTS)', name);
        EXECUTE format('WITH early AS (DELETE FROM memory.recall_events_default WHERE occurred_at >= %L AND occurred_at < %L RETURNING *) '
          'INSERT INTO memory.%I SELECT * FROM early', month, following, name);
        EXECUTE format('ALTER TABLE memory.recall_events ATTACH PARTITION memory.%I FOR VALUES FROM (%L) TO (%L)', name, month, following);
      END IF;
    END IF;
    month := following;
  END LOOP;
END $$;

-- What a recall found and what of it was used, from plain SQL. It runs with the rights of whoever calls it: INSERT on
-- memory.recall_events and SELECT on memory.namespaces. Where the month has no partition yet, the table's owner gets one made, and
-- anybody else's event lies in the default partition until the owner makes it.
CREATE FUNCTION memory.log_recall(
  namespace text, query text, hits uuid[], scores double precision[] DEFAULT '{}', selected uuid[] DEFAULT '{}',
  occurred_at timestamptz DEFAULT now(), external_id text DEFAULT NULL
) RETURNS uuid LANGUAGE plpgsql SECURITY INVOKER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  scope uuid;
  event uuid := gen_random_uuid();
  stray uuid;
BEGIN
  SELECT n.id INTO scope FROM memory.namespaces n WHERE n.slug = log_recall.namespace OR n.id::text = lower(log_recall.namespace)
    ORDER BY n.slug = log_recall.namespace DESC LIMIT 1;
  IF scope IS NULL THEN
    RAISE EXCEPTION 'There is no namespace %. Nothing was logged.', coalesce(quote_literal(left(log_recall.namespace, 80)), 'NULL')
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF query IS NULL OR occurred_at IS NULL OR NOT isfinite(occurred_at) THEN
    RAISE EXCEPTION 'A recall has a query and an instant. Nothing was logged.' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  hits := coalesce(hits, '{}');
  scores := coalesce(scores, '{}');
  selected := coalesce(selected, '{}');
  IF greatest(array_ndims(hits), array_ndims(scores), array_ndims(selected)) > 1
     OR array_position(hits, NULL) IS NOT NULL OR array_position(scores, NULL) IS NOT NULL OR array_position(selected, NULL) IS NOT NULL
  THEN
    RAISE EXCEPTION 'Hits, scores and selected are lists without gaps. Nothing was logged.' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF cardinality(scores) NOT IN (0, cardinality(hits)) THEN
    RAISE EXCEPTION 'There are % hits and % scores: give one score for each hit, in the same order, or none. Nothing was logged.',
      cardinality(hits), cardinality(scores) USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF EXISTS (SELECT 1 FROM unnest(scores) s WHERE s IN ('NaN', 'Infinity', '-Infinity')) THEN
    RAISE EXCEPTION 'A score is a finite number. Nothing was logged.' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT s INTO stray FROM unnest(selected) s WHERE s <> ALL (hits) LIMIT 1;
  IF stray IS NOT NULL THEN
    RAISE EXCEPTION 'Selected % is none of the hits: what was used was found first. Nothing was logged.', stray
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF to_regclass('memory.recall_events_' || to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY_MM')) IS NULL
     AND occurred_at BETWEEN now() - interval '2 years' AND now() + interval '1 month'
     AND pg_has_role((SELECT c.relowner FROM pg_class c WHERE c.oid = 'memory.recall_events'::regclass), 'USAGE')
  THEN
    PERFORM memory.ensure_recall_partitions(occurred_at, occurred_at);
  END IF;
  INSERT INTO memory.recall_events (id, namespace_id, external_id, occurred_at, query, hit_ids, selected_ids, scores)
  VALUES (event, scope, log_recall.external_id, log_recall.occurred_at, log_recall.query, hits, selected, log_recall.scores)
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    SELECT r.id INTO event FROM memory.recall_events r WHERE r.namespace_id = scope AND r.external_id = log_recall.external_id
      AND r.occurred_at = log_recall.occurred_at;
  END IF;
  RETURN event;
END $$;

-- Functions are nobody's to execute unless it is said; this one does nothing that its caller may not.
GRANT EXECUTE ON FUNCTION memory.log_recall(text, text, uuid[], double precision[], uuid[], timestamptz, text) TO PUBLIC;

-- Partitions of this month and the next three; the owner's program makes those that follow.
SELECT memory.ensure_recall_partitions(now(), now() + interval '3 months');

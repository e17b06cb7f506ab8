-- A verdict names the plan that was read. What is signed is that plan, whatever a planner writes on the proposal later.
ALTER TABLE memory.proposals ADD COLUMN verdict_plan text;
UPDATE memory.proposals SET verdict_plan = plan_hash WHERE verdict IS NOT NULL;
ALTER TABLE memory.proposals ADD CONSTRAINT proposals_verdict_plan CHECK (verdict IS DISTINCT FROM 'approve' OR verdict_plan IS NOT NULL);
GRANT UPDATE (verdict_plan) ON memory.proposals TO slowwave_recorder;

CREATE FUNCTION memory.keep_plan_of_proposal() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'Proposal % has a plan already, which does not change.', OLD.id;
END $$;
CREATE TRIGGER one_plan BEFORE UPDATE OF plan_hash ON memory.proposals FOR EACH ROW
  WHEN (OLD.plan_hash IS NOT NULL AND NEW.plan_hash IS DISTINCT FROM OLD.plan_hash) EXECUTE FUNCTION memory.keep_plan_of_proposal();

CREATE OR REPLACE FUNCTION memory.decide_proposal(to_namespace text, bearer text, proposal uuid, what text, seen text, why text)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  scope uuid;
  stored memory.proposals;
BEGIN
  SELECT n.id INTO scope FROM memory.namespaces n WHERE n.slug = to_namespace;
  IF scope IS NULL OR NOT 'approve' = ANY (memory.bearer_scopes(scope, bearer)) THEN
    RAISE EXCEPTION 'A proposal is decided by a token with the scope approve. Nothing was decided.' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF what IS NULL OR what NOT IN ('approve', 'reject') OR coalesce(length(why), 0) > 1000 OR what = 'reject' AND coalesce(btrim(why), '') = '' THEN
    RAISE EXCEPTION 'A proposal is approved, or rejected for a reason. Nothing was decided.';
  END IF;
  SELECT * INTO stored FROM memory.proposals p WHERE p.id = proposal AND p.namespace_id = scope FOR UPDATE;
  IF stored.id IS NULL THEN
    RAISE EXCEPTION 'There is no such proposal. Nothing was decided.' USING ERRCODE = 'no_data_found';
  ELSIF stored.verdict IS NOT NULL OR stored.state IN ('refused', 'rejected') THEN
    RAISE EXCEPTION 'The proposal is decided already. Nothing was decided.';
  ELSIF what = 'approve' AND (stored.state <> 'planned' OR stored.plan_hash IS DISTINCT FROM seen) THEN
    RAISE EXCEPTION 'What is approved is a plan: read the proposal again, and name the plan that it has. Nothing was decided.'
      USING ERRCODE = 'serialization_failure';
  END IF;
  UPDATE memory.proposals p SET verdict = CASE WHEN stored.state = 'kept' THEN 'done' ELSE what END, verdict_at = now(),
      verdict_plan = stored.plan_hash,
      verdict_by = coalesce('token-' || substring(bearer FROM '^slw_([0-9a-f]{12})_'), 'local'), verdict_reason = coalesce(why, ''),
      state = CASE WHEN stored.state = 'kept' THEN 'rejected' ELSE stored.state END
    WHERE p.id = proposal;
END $$;

SELECT night.as_definer('memory.decide_proposal(text, text, uuid, text, text, text)');
GRANT EXECUTE ON FUNCTION memory.decide_proposal(text, text, uuid, text, text, text) TO slowwave_server;

-- Whether a token that decided may still approve: an approval is not signed for one that was withdrawn since.
CREATE FUNCTION memory.may_approve_still(scope uuid, by_whom text) RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT by_whom NOT LIKE 'token-%' OR EXISTS (SELECT 1 FROM memory.tokens t WHERE t.namespace_id = scope AND t.id = substr(by_whom, 7)
    AND t.revoked_at IS NULL AND t.expires_at > now() AND 'approve' = ANY (t.scopes))
$$;
SELECT night.as_definer('memory.may_approve_still(uuid, text)');
GRANT EXECUTE ON FUNCTION memory.may_approve_still(uuid, text) TO slowwave_approver;

-- The plans of which an item inserted one of the rows: sealed, they hold its words.
CREATE FUNCTION memory.plans_that_made(made uuid[]) RETURNS text[] LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(array_agg(DISTINCT i.plan_hash), '{}') FROM night.journal j JOIN night.plan_items i ON i.item_id = j.item_id
  WHERE j.row_id = ANY (made) AND j.action = 'insert'
$$;
GRANT EXECUTE ON FUNCTION memory.plans_that_made(uuid[]) TO slowwave_recorder, slowwave_reader;
GRANT SELECT (item_id, action) ON night.journal TO slowwave_recorder;
GRANT SELECT (item_id, plan_hash) ON night.plan_items TO slowwave_recorder;
GRANT UPDATE (about, actions) ON memory.proposals TO slowwave_recorder;

-- What was forgotten is in no search, as 0025 has it, and no proposal that asked for it tells it any longer.
CREATE OR REPLACE FUNCTION memory.forget_claim_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    DELETE FROM memory.search_texts t WHERE t.id = NEW.claim_id AND t.namespace_id = NEW.namespace_id;
    UPDATE memory.proposals p SET about = 'what was forgotten', actions = '[]'
      WHERE p.namespace_id = NEW.namespace_id AND p.plan_hash = ANY (memory.plans_that_made(ARRAY[NEW.claim_id]));
  ELSE
    PERFORM memory.index_texts('memories', ARRAY(SELECT m.id FROM memory.memories m WHERE m.id = OLD.claim_id AND m.namespace_id = OLD.namespace_id));
  END IF;
  RETURN NULL;
END $$;
SELECT night.as_definer('memory.forget_claim_text()');

CREATE OR REPLACE FUNCTION memory.forget(
  to_namespace text, bearer text, about uuid, claims uuid[], agent text, session text, why text, at_path text, head text, page text,
  fields jsonb
) RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  space uuid := memory.writable(to_namespace, bearer);
  subjects uuid[] := memory.merged_with(about);
  kept record;
  documents uuid[];
  held uuid[];
  touched integer;
  passages integer;
BEGIN
  IF coalesce(cardinality(claims), 0) NOT BETWEEN 1 AND 10000 OR length(coalesce(agent, '')) > 200 OR length(coalesce(session, '')) > 200
     OR coalesce(length(why), 0) NOT BETWEEN 1 AND 1000 OR at_path !~ '^sources/semantic/' THEN
    RAISE EXCEPTION 'What is forgotten are claims, for a reason, within bounds. Nothing was forgotten.';
  END IF;
  SELECT e.id INTO about FROM memory.entities e WHERE e.id = ANY (subjects) AND e.namespace_id = space AND e.merged_into IS NULL;
  IF about IS NULL THEN
    RAISE EXCEPTION 'There is no such subject in the namespace. Nothing was forgotten.';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(space::text || about::text, 4));
  SELECT * INTO kept FROM memory.keep_evidence(space, at_path, head, page, fields || '{"type": "source", "source_kind": "semantic"}', false, NULL,
    NULL, NULL, NULL, NULL);
  documents := ARRAY(SELECT DISTINCT d FROM memory.memories m, unnest(m.source_document_ids) AS d WHERE m.id = ANY (claims));
  UPDATE memory.memories m SET valid_to = greatest(m.valid_from, least(m.valid_to, now())), invalidated_at = now(), invalidated_by = kept.document
    WHERE m.id = ANY (claims) AND m.namespace_id = space AND m.kind = 'claim' AND m.invalidated_at IS NULL
      AND m.attributes->>'entity_id' = ANY (subjects::text[]);
  GET DIAGNOSTICS touched = ROW_COUNT;
  IF touched <> cardinality(claims) THEN
    RAISE EXCEPTION 'A claim has changed since it was read. Nothing was forgotten.' USING ERRCODE = 'serialization_failure';
  END IF;
  -- What only these claims rest on, whomever others are about; a page of a folder or of a session is not theirs.
  held := ARRAY(SELECT DISTINCT d FROM memory.memories m, unnest(m.source_document_ids) AS d
    WHERE m.namespace_id = space AND m.kind = 'claim' AND m.invalidated_at IS NULL AND m.source_document_ids && documents);
  documents := ARRAY(SELECT d.id FROM memory.documents d JOIN memory.corpora c ON c.id = d.corpus_id AND c.root = 'evidence:'
    WHERE d.id = ANY (documents) AND d.namespace_id = space AND d.invalidated_at IS NULL AND d.id <> ALL (held));
  UPDATE memory.documents d SET invalidated_at = now(), invalidated_by = kept.document WHERE d.id = ANY (documents);
  UPDATE memory.chunks c SET invalidated_at = now(), invalidated_by = kept.document
    WHERE c.document_id = ANY (documents) AND c.invalidated_at IS NULL;
  GET DIAGNOSTICS passages = ROW_COUNT;
  -- Not even a search for what is retired, or as of an earlier day, finds what was forgotten.
  DELETE FROM memory.search_texts t
    WHERE t.id = ANY (claims) OR t.id IN (SELECT c.id FROM memory.chunks c WHERE c.document_id = ANY (documents));
  INSERT INTO memory.claim_events (namespace_id, claim_id, event, evidence_id, agent, session_id, reason)
    SELECT space, c, 'retired', kept.document, coalesce(agent, ''), session, why FROM unnest(claims) AS c;
  RETURN jsonb_build_object('claims', touched, 'passages', passages, 'evidence', cardinality(documents), 'tombstone', kept.document,
    'versions', (SELECT count(*) FROM memory.memory_versions v WHERE v.memory_id = ANY (claims)),
    'snapshots', (SELECT count(*) FROM night.snapshots s WHERE s.namespace_id = space AND s.deleted_at IS NULL),
    'plans', cardinality(memory.plans_that_made(claims)));
END $$;

SELECT night.as_definer('memory.forget(text, text, uuid, uuid[], text, text, text, text, text, text, jsonb)');
GRANT EXECUTE ON FUNCTION memory.forget(text, text, uuid, uuid[], text, text, text, text, text, text, jsonb) TO slowwave_server;

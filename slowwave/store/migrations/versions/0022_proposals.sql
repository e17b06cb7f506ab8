-- What somebody proposes to change: the request as it was made, of which a plan is made (`plan_hash`), or the sentence why none can be
-- (`said`). `fingerprint` is the hash of what is asked for and of what it rests on: the same is proposed once. `verdict` is what a token that
-- may approve says of that plan; who signs plans acts on it.
CREATE TABLE memory.proposals (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  namespace_id uuid NOT NULL,
  fingerprint text NOT NULL,
  about text NOT NULL,
  actions jsonb NOT NULL,
  reason text DEFAULT '' NOT NULL,
  sources text[] DEFAULT '{}' NOT NULL,
  agent text DEFAULT '' NOT NULL,
  session_id text DEFAULT '' NOT NULL,
  token_id text,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  state text DEFAULT 'kept' NOT NULL,
  plan_hash text,
  said text DEFAULT '' NOT NULL,
  verdict text,
  verdict_by text,
  verdict_reason text DEFAULT '' NOT NULL,
  verdict_at timestamptz,
  PRIMARY KEY (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  CONSTRAINT proposals_state CHECK (state IN ('kept', 'planned', 'refused', 'rejected')),
  CONSTRAINT proposals_planned CHECK ((state = 'planned') = (plan_hash IS NOT NULL)),
  CONSTRAINT proposals_verdict CHECK (verdict IN ('approve', 'reject', 'done') AND verdict_by IS NOT NULL OR verdict IS NULL)
);
CREATE UNIQUE INDEX proposals_fingerprint ON memory.proposals (namespace_id, fingerprint);
CREATE INDEX proposals_recorded ON memory.proposals (namespace_id, recorded_at DESC);
GRANT SELECT ON memory.proposals TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier, slowwave_server;
GRANT UPDATE (state, plan_hash, said) ON memory.proposals TO slowwave_planner;
GRANT UPDATE (verdict, said) ON memory.proposals TO slowwave_approver;

-- Keeps what a token that may propose asks for; what was asked for before, on what it rests on still, is that proposal. It changes no memory.
CREATE FUNCTION memory.propose(
  to_namespace text, bearer text, fingerprint text, about text, actions jsonb, reason text, sources text[], agent text, session text
) RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  scope uuid;
  closed boolean;
  found uuid;
  mark text := fingerprint;
BEGIN
  SELECT n.id, n.read_only INTO scope, closed FROM memory.namespaces n WHERE n.slug = to_namespace;
  IF scope IS NULL OR NOT 'propose' = ANY (memory.bearer_scopes(scope, bearer)) THEN
    RAISE EXCEPTION 'A change is proposed by a token with the scope propose. Nothing was kept.' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF closed THEN
    RAISE EXCEPTION 'The namespace is read-only. Nothing was kept.';
  END IF;
  IF mark IS NULL OR mark !~ '^[0-9a-f]{64}$' OR coalesce(length(about), 0) NOT BETWEEN 1 AND 300 OR jsonb_typeof(actions) IS DISTINCT FROM 'array'
     OR jsonb_array_length(actions) NOT BETWEEN 1 AND 20 OR octet_length(actions::text) > 2000000 OR coalesce(length(reason), 0) > 1000
     OR coalesce(cardinality(sources), 0) > 50 OR EXISTS (SELECT 1 FROM unnest(sources) s WHERE s IS NULL OR length(s) > 300)
     OR coalesce(length(agent), 0) > 200 OR coalesce(length(session), 0) > 200 THEN
    RAISE EXCEPTION 'A proposal names what it is about and asks for 1 to 20 changes, within bounds. Nothing was kept.';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(scope::text || 'proposals', 4));
  SELECT p.id INTO found FROM memory.proposals p WHERE p.namespace_id = scope AND p.fingerprint = mark;
  IF found IS NOT NULL THEN
    RETURN jsonb_build_object('id', found, 'known', true);
  END IF;
  IF (SELECT count(*) FROM memory.proposals p WHERE p.namespace_id = scope AND p.state = 'kept') >= 1000 THEN
    RAISE EXCEPTION 'A thousand proposals wait to be planned. Nothing was kept: have them planned (slowwave proposals plan) first.';
  END IF;
  INSERT INTO memory.proposals (namespace_id, fingerprint, about, actions, reason, sources, agent, session_id, token_id)
    VALUES (scope, mark, about, actions, coalesce(reason, ''), coalesce(sources, '{}'), coalesce(agent, ''), coalesce(session, ''),
      substring(bearer FROM '^slw_([0-9a-f]{12})_')) RETURNING id INTO found;
  RETURN jsonb_build_object('id', found, 'known', false);
END $$;

-- What a token that may approve says of a proposal: of the very plan that it has read (`seen`). What was never planned can only be rejected,
-- and is over at once. It signs no plan: whoever signs acts on it.
CREATE FUNCTION memory.decide_proposal(to_namespace text, bearer text, proposal uuid, what text, seen text, why text)
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
      verdict_by = coalesce('token-' || substring(bearer FROM '^slw_([0-9a-f]{12})_'), 'local'), verdict_reason = coalesce(why, ''),
      state = CASE WHEN stored.state = 'kept' THEN 'rejected' ELSE stored.state END
    WHERE p.id = proposal;
END $$;

GRANT SELECT, INSERT, UPDATE (state, verdict, verdict_by, verdict_reason, verdict_at) ON memory.proposals TO slowwave_recorder;
SELECT night.as_definer('memory.propose(text, text, text, text, jsonb, text, text[], text, text)');
SELECT night.as_definer('memory.decide_proposal(text, text, uuid, text, text, text)');
GRANT EXECUTE ON FUNCTION memory.propose(text, text, text, text, jsonb, text, text[], text, text),
  memory.decide_proposal(text, text, uuid, text, text, text) TO slowwave_server;

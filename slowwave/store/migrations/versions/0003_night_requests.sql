-- ==========================================================================
-- Requests of agents for a night
-- ==========================================================================

-- A request for a night of a namespace. The server stores it and can do nothing else with it; the night that begins next takes it. A night
-- that found nothing to do has no run: then `outcome` states the reason.
CREATE TABLE memory.night_requests (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  namespace_id uuid NOT NULL,
  reason text DEFAULT '' NOT NULL,
  agent text DEFAULT '' NOT NULL,
  token_id text,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  taken_at timestamptz,
  run_id uuid,
  outcome text DEFAULT '' NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY (namespace_id) REFERENCES memory.namespaces (id),
  CONSTRAINT night_requests_bounds CHECK (length(reason) <= 500 AND length(agent) <= 200 AND length(outcome) <= 500),
  CONSTRAINT night_requests_taken CHECK (taken_at IS NOT NULL OR run_id IS NULL AND outcome = '')
);
CREATE UNIQUE INDEX night_requests_open ON memory.night_requests (namespace_id) WHERE taken_at IS NULL;
CREATE INDEX night_requests_recorded ON memory.night_requests (namespace_id, recorded_at DESC);

-- A request that was taken is not taken again, and none is taken with an instant of the caller's choice.
CREATE FUNCTION memory.take_night_request() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.taken_at IS NOT NULL THEN
    RAISE EXCEPTION 'Night request % was taken already.', OLD.id;
  END IF;
  NEW.taken_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER taken_once BEFORE UPDATE OF taken_at, run_id, outcome ON memory.night_requests
  FOR EACH ROW EXECUTE FUNCTION memory.take_night_request();

-- The scope `night` lets a token request a night. Programs without a token lack it, as they lack `approve`.
ALTER TABLE memory.tokens DROP CONSTRAINT tokens_scopes,
  ADD CONSTRAINT tokens_scopes CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'propose', 'approve', 'night']);

CREATE OR REPLACE FUNCTION memory.bearer_scopes(scope uuid, bearer text) RETURNS text[] LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE
    WHEN pg_has_role(session_user, (SELECT c.relowner FROM pg_class c WHERE c.oid = 'memory.documents'::regclass), 'USAGE')
      THEN ARRAY['read', 'write', 'propose', 'approve', 'night']
    WHEN NOT EXISTS (SELECT 1 FROM memory.tokens) THEN ARRAY['read', 'write', 'propose']
    ELSE coalesce((SELECT t.scopes FROM memory.tokens t WHERE t.namespace_id = scope AND t.revoked_at IS NULL AND t.expires_at > now()
      AND t.id = substring(bearer FROM '^slw_([0-9a-f]{12})_[0-9a-f]{64}$') AND t.hash = sha256(convert_to(right(bearer, 64), 'UTF8'))), '{}')
    END
$$;

-- Stores the request of a token that may request nights, or returns the latest request: one that is open, or one whose night began within
-- `least_hours`. A request whose night had no run holds the next one back for an hour, which is also the least that `least_hours` can be.
CREATE FUNCTION memory.request_night(to_namespace text, bearer text, why text, by_agent text, least_hours double precision)
RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  scope uuid;
  closed boolean;
  found uuid;
  begins timestamptz;
BEGIN
  SELECT n.id, n.read_only INTO scope, closed FROM memory.namespaces n WHERE n.slug = to_namespace;
  IF scope IS NULL OR NOT 'night' = ANY (memory.bearer_scopes(scope, bearer)) THEN
    RAISE EXCEPTION 'A night is requested by a token with the scope night. Nothing was requested.' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF closed THEN
    RAISE EXCEPTION 'The namespace is read-only, so nothing that a night plans could be applied. Nothing was requested.';
  END IF;
  IF coalesce(length(why), 0) > 500 OR coalesce(length(by_agent), 0) > 200 THEN
    RAISE EXCEPTION 'A reason has at most 500 characters, and the name of an agent 200. Nothing was requested.';
  END IF;
  PERFORM memory.lock_name(scope::text || 'night_requests', 4);
  SELECT r.id, r.taken_at + CASE WHEN r.run_id IS NULL THEN 1 ELSE least(greatest(least_hours, 1), 87600) END * interval '1 hour'
    INTO found, begins FROM memory.night_requests r WHERE r.namespace_id = scope ORDER BY r.taken_at DESC NULLS FIRST LIMIT 1;
  IF found IS NOT NULL AND (begins IS NULL OR begins > now()) THEN
    RETURN jsonb_build_object('id', found, 'known', true, 'next_at', begins);
  END IF;
  INSERT INTO memory.night_requests (namespace_id, reason, agent, token_id)
    VALUES (scope, coalesce(why, ''), coalesce(by_agent, ''), substring(bearer FROM '^slw_([0-9a-f]{12})_')) RETURNING id INTO found;
  RETURN jsonb_build_object('id', found, 'known', false, 'next_at', NULL);
END $$;

-- Erasure reaches the words of requests, which may name a person.
CREATE FUNCTION memory.forget_night_requests() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE memory.night_requests q SET reason = '', agent = '' WHERE q.namespace_id IN (SELECT c.namespace_id FROM changed c);
  RETURN NULL;
END $$;
CREATE TRIGGER forget_night_requests AFTER INSERT ON memory.erasures REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION memory.forget_night_requests();

-- Rights --------------------------------------------------------------------

GRANT SELECT ON memory.night_requests
  TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier, slowwave_server, slowwave_recorder;
GRANT INSERT (namespace_id, reason, agent, token_id) ON memory.night_requests TO slowwave_recorder;
GRANT UPDATE (taken_at, run_id, outcome) ON memory.night_requests TO slowwave_planner;
GRANT UPDATE (reason, agent), DELETE ON memory.night_requests TO slowwave_applier;
SELECT night.as_definer('memory.request_night'::regproc::oid::regprocedure);
GRANT EXECUTE ON FUNCTION memory.request_night TO slowwave_server;

-- The list of runs that agents read: no errors, which may quote memory, and no progress, which holds claims.
GRANT SELECT (id, namespace_id, mode, state, trigger, plan_hash, counts, parameters, started_at, finished_at, heartbeat_at) ON night.runs
  TO slowwave_server;
GRANT SELECT (run_id, item_id) ON night.journal TO slowwave_server;

-- ==========================================================================
-- Policies for low-risk changes
-- ==========================================================================

-- A policy is of one of two forms. Its kind describes a question ({"operation", "names", "equal", "doubt"}), and the policy answers it; or
-- it is {"operations": [...], "risk": "low"}, and the policy approves the items of these operations that are of low risk and ask nothing.
-- The second form needs no plan and no answers that it was learnt from.

ALTER TABLE night.policies
  ALTER COLUMN plan_hash DROP NOT NULL,
  DROP CONSTRAINT policies_counts,
  DROP CONSTRAINT policies_per_night,
  ADD CONSTRAINT policies_counts CHECK (CASE WHEN kind ? 'risk' THEN answered = 0 AND agreed = 0 ELSE agreed BETWEEN 1 AND answered END),
  ADD CONSTRAINT policies_per_night CHECK (per_night BETWEEN 1 AND CASE WHEN kind ? 'risk' THEN 1000000 ELSE 1000 END),
  ADD CONSTRAINT policies_plan CHECK (plan_hash IS NOT NULL OR kind ? 'risk'),
  ADD CONSTRAINT policies_low_risk CHECK (NOT kind ? 'risk' OR coalesce(kind ->> 'risk' = 'low' AND verdict = 'yes' AND least = 0 AND most = 1
    AND jsonb_typeof(kind -> 'operations') = 'array' AND kind -> 'operations' <> '[]', false));

-- The setting `auto_approve` of each namespace becomes one policy of this form, by "setting". A value that the namespace took over from its
-- connected store makes none, as nobody chose it for this namespace. It stays among the settings, where `slowwave doctor` names it.

CREATE TEMPORARY TABLE chosen AS
  SELECT n.id, ARRAY(SELECT DISTINCT o FROM jsonb_array_elements_text(n.settings -> 'auto_approve') o ORDER BY o) AS operations
  FROM memory.namespaces n
  WHERE CASE WHEN jsonb_typeof(n.settings -> 'auto_approve') = 'array'
    THEN NOT jsonb_path_exists(n.settings, '$.auto_approve[*] ? (@.type() <> "string" || @ == "")') ELSE false END
  AND NOT EXISTS (SELECT FROM night.store_namespaces k JOIN night.stores s ON s.name = k.store
    WHERE k.namespace_id = n.id AND s.namespace_settings -> 'auto_approve' = n.settings -> 'auto_approve');

ALTER TABLE night.policies DISABLE TRIGGER checked; -- it refuses the name "setting", which no person may use
INSERT INTO night.policies (namespace_id, operation, kind, says, answered, agreed, least, per_night, accepted_by)
  SELECT id, array_to_string(operations, ', '), jsonb_build_object('operations', to_jsonb(operations), 'risk', 'low'),
    left('Low-risk changes by ' || array_to_string(operations, ', '), 2000), 0, 0, 0, 1000000, 'setting'
  FROM chosen WHERE cardinality(operations) > 0;
ALTER TABLE night.policies ENABLE TRIGGER checked;
UPDATE memory.namespaces n SET settings = n.settings - 'auto_approve' FROM chosen c WHERE c.id = n.id;
DROP TABLE chosen;

CREATE OR REPLACE FUNCTION night.check_policy() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_TABLE_NAME = 'policies' THEN
    IF lower(NEW.accepted_by) = 'setting' THEN
      RAISE EXCEPTION 'No person is named %: policies of this name were made from a former setting.', NEW.accepted_by;
    END IF;
    IF NEW.plan_hash IS NOT NULL
       AND NOT EXISTS (SELECT FROM night.plans p WHERE p.plan_hash = NEW.plan_hash AND p.namespace_id = NEW.namespace_id) THEN
      RAISE EXCEPTION 'There is no plan % in this namespace to learn from.', left(NEW.plan_hash, 12);
    END IF;
    NEW.login := session_user;
  ELSIF NOT EXISTS (SELECT FROM night.policies p WHERE p.id = NEW.policy_id AND p.namespace_id = NEW.namespace_id) THEN
    RAISE EXCEPTION 'There is no policy % in this namespace.', NEW.policy_id;
  END IF;
  NEW.recorded_at := now();
  RETURN NEW;
END $$;

-- Returns whether a policy may decide an item. With a kind of question: a question whether two rows are the same, of its operation, a merge
-- that deletes nothing, with a probability that was accepted. With low risk: an item of its operations that says low risk, asks nothing
-- and deletes nothing; the permit of the operation, which only the program knows, is checked there.
CREATE OR REPLACE FUNCTION night.policy_takes(policy night.policies, item night.plan_items) RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT item.namespace_id = policy.namespace_id AND coalesce(jsonb_array_length(item.mutation -> 'deletes'), 0) = 0
    AND item.mutation ->> 'kind' NOT IN ('purge_rows', 'forget_rows')
    AND CASE WHEN policy.kind ? 'risk'
      THEN policy.kind -> 'operations' ? item.operation AND item.risk = 'low' AND item.decision <> 'review' AND item.question = ''
      ELSE item.question = 'same' AND item.decision = 'review' AND item.operation = policy.operation
        AND item.mutation ->> 'kind' = 'merge_rows'
        AND coalesce((item.evidence ->> 'probability')::double precision BETWEEN policy.least AND policy.most, false) END
$$;

-- An approval by a policy names the policy. Approvals by the former setting, which name none, stay on record; apply refuses them.
CREATE FUNCTION night.refuse_unnamed_policy() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'An approval by a policy names the policy.';
END $$;
CREATE TRIGGER names_policy BEFORE INSERT ON night.approvals FOR EACH ROW WHEN (NEW.approver = 'policy' AND NEW.policy_id IS NULL)
  EXECUTE FUNCTION night.refuse_unnamed_policy();

-- A policy that was made from the setting has no login of its own, so its approvals count as those of the login that wrote them.
CREATE OR REPLACE FUNCTION night.signatures_missing(approval uuid) RETURNS integer LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN r.id IS NULL THEN 0 ELSE greatest(0, r.signatures - (
    SELECT count(DISTINCT CASE WHEN r.own_login THEN s.login ELSE s.name END) FROM (
      SELECT lower(coalesce(p.accepted_by, a.approver)) AS name, coalesce(nullif(p.login, ''), a.login) AS login
      UNION ALL SELECT lower(c.signed_by), c.login FROM night.countersignatures c WHERE c.approval_id = a.id) s
    WHERE NOT r.not_author OR s.name <> 'policy' AND s.name <> ALL (night.plan_authors(a.plan_hash))
      AND s.name IS DISTINCT FROM lower(p.accepted_by))::integer) END
  FROM night.approvals a LEFT JOIN night.policies p ON p.id = a.policy_id
  LEFT JOIN LATERAL night.approval_rule(a.namespace_id) r ON true WHERE a.id = approval
$$;

-- ==========================================================================
-- Notices: every message to an endpoint
-- ==========================================================================

-- A notice is a message that an endpoint gets, inserted in the transaction of what it reports where that has one. `body` is what is posted,
-- redacted to `level`; it is emptied once the notice is delivered or given up, unless it holds keys of rows alone (store.rows.written).
-- `type` begins with the endpoint that gets it: dream, store or status. A message about all namespaces belongs to none.
ALTER TABLE night.notices ADD COLUMN type text, ADD COLUMN body text;
UPDATE night.notices o SET type = 'store.rows.written', body = json_build_object('type', 'store.rows.written',
    'timestamp', o.recorded_at::text, 'data', json_build_object('store', o.store, 'namespace', n.slug, 'run_id', o.run_id, 'undo', o.undo,
    'tables', o.tables))::text
  FROM memory.namespaces n WHERE n.id = o.namespace_id;
ALTER TABLE night.notices
  ALTER COLUMN type SET NOT NULL,
  ALTER COLUMN body SET NOT NULL,
  ALTER COLUMN namespace_id DROP NOT NULL,
  DROP COLUMN store, DROP COLUMN run_id, DROP COLUMN undo, DROP COLUMN tables, -- the index notices_waiting goes with them
  ADD COLUMN level text DEFAULT 'none' NOT NULL,
  ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY, -- the order of notices, as many begin at one instant
  ADD CONSTRAINT notices_type CHECK (split_part(type, '.', 1) IN ('dream', 'store', 'status'));
CREATE INDEX notices_pending ON night.notices (split_part(type, '.', 1), number) WHERE delivered_at IS NULL AND given_up_at IS NULL;

GRANT INSERT (id, namespace_id, type, body, level), UPDATE (body), DELETE ON night.notices TO slowwave_applier;

-- Erasure reaches messages that were not sent yet: those about items may quote what is forgotten.
CREATE FUNCTION night.forget_notices() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE night.notices o SET given_up_at = now(), body = '', error = 'Rows that it may quote were forgotten.'
  WHERE o.type = 'dream.op.decided' AND o.delivered_at IS NULL AND o.given_up_at IS NULL
    AND o.namespace_id IN (SELECT c.namespace_id FROM changed c);
  RETURN NULL;
END $$;
CREATE TRIGGER forget_notices AFTER INSERT ON memory.erasures REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION night.forget_notices();

-- What a person accepted in a review: questions of one kind were answered yes, and from then on nights approve what is of that kind and at
-- least as likely, so many a night at most. It is revoked by a row of its own.
CREATE TABLE night.policies (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  namespace_id uuid NOT NULL,
  plan_hash text NOT NULL,
  operation text NOT NULL,
  kind jsonb NOT NULL,
  says text NOT NULL,
  answered integer NOT NULL,
  agreed integer NOT NULL,
  least double precision NOT NULL,
  per_night integer NOT NULL,
  accepted_by text NOT NULL,
  login text DEFAULT '' NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  FOREIGN KEY(plan_hash) REFERENCES night.plans (plan_hash),
  CONSTRAINT policies_counts CHECK (agreed BETWEEN 1 AND answered),
  CONSTRAINT policies_per_night CHECK (per_night BETWEEN 1 AND 1000),
  CONSTRAINT policies_least CHECK (least BETWEEN 0 AND 1),
  CONSTRAINT policies_says CHECK (length(says) BETWEEN 1 AND 2000),
  CONSTRAINT policies_by CHECK (accepted_by ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{1,63}$' AND lower(accepted_by) <> 'policy')
);
CREATE INDEX policies_namespace ON night.policies (namespace_id, recorded_at);
CREATE TABLE night.policy_revocations (
  policy_id uuid NOT NULL,
  namespace_id uuid NOT NULL,
  revoked_by text NOT NULL,
  reason text NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (policy_id),
  FOREIGN KEY(policy_id) REFERENCES night.policies (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  CONSTRAINT policy_revocations_by CHECK (revoked_by ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{1,63}$' AND lower(revoked_by) <> 'policy'),
  CONSTRAINT policy_revocations_reason CHECK (btrim(reason) <> '')
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON night.policies FOR EACH ROW EXECUTE FUNCTION night.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON night.policies FOR EACH STATEMENT EXECUTE FUNCTION night.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON night.policy_revocations FOR EACH ROW EXECUTE FUNCTION night.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON night.policy_revocations FOR EACH STATEMENT EXECUTE FUNCTION night.refuse_change();

-- By which policy an approval was given; without one it is that of the namespace's settings, or a person's.
ALTER TABLE night.approvals ADD COLUMN policy_id uuid;
ALTER TABLE night.approvals ADD FOREIGN KEY (policy_id) REFERENCES night.policies (id);
ALTER TABLE night.approvals ADD CONSTRAINT approvals_of_policy CHECK (policy_id IS NULL OR approver = 'policy');
CREATE INDEX approvals_policy_id ON night.approvals (policy_id) WHERE policy_id IS NOT NULL;

-- A policy comes of a plan of its namespace, and its instant and login are the database's.
CREATE FUNCTION night.check_policy() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_TABLE_NAME = 'policies' THEN
    IF NOT EXISTS (SELECT FROM night.plans p WHERE p.plan_hash = NEW.plan_hash AND p.namespace_id = NEW.namespace_id) THEN
      RAISE EXCEPTION 'There is no plan % in this namespace to learn from.', left(NEW.plan_hash, 12);
    END IF;
    NEW.login := session_user;
  ELSIF NOT EXISTS (SELECT FROM night.policies p WHERE p.id = NEW.policy_id AND p.namespace_id = NEW.namespace_id) THEN
    RAISE EXCEPTION 'There is no policy % in this namespace.', NEW.policy_id;
  END IF;
  NEW.recorded_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER checked BEFORE INSERT ON night.policies FOR EACH ROW EXECUTE FUNCTION night.check_policy();
CREATE TRIGGER checked BEFORE INSERT ON night.policy_revocations FOR EACH ROW EXECUTE FUNCTION night.check_policy();

-- How many items of a policy's were taken back: from the first on it approves nothing more, until somebody accepts it anew.
CREATE FUNCTION night.policy_undone(policy uuid) RETURNS bigint LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT count(*) FROM night.approvals a JOIN night.plan_items i ON i.plan_hash = a.plan_hash AND i.item_id = ANY (a.item_ids)
  WHERE a.policy_id = policy AND i.status = 'undone'
$$;
-- How many it approved in this night: within 20 hours, which is less than from one night to the next.
CREATE FUNCTION night.policy_used(policy uuid) RETURNS bigint LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(sum(cardinality(a.item_ids)), 0) FROM night.approvals a
  WHERE a.policy_id = policy AND a.recorded_at > now() - interval '20 hours'
$$;

-- A policy approves no more than was accepted: questions whether rows are one thing, of its operation, merges that delete nothing.
CREATE FUNCTION night.check_policy_approval() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  policy night.policies%ROWTYPE;
  fitting bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(NEW.policy_id::text, 5));
  SELECT * INTO policy FROM night.policies p WHERE p.id = NEW.policy_id AND p.namespace_id = NEW.namespace_id;
  IF NOT FOUND OR EXISTS (SELECT FROM night.policy_revocations r WHERE r.policy_id = NEW.policy_id) THEN
    RAISE EXCEPTION 'Policy % does not stand, so it approves nothing.', NEW.policy_id;
  END IF;
  IF night.policy_undone(NEW.policy_id) > 0 THEN
    RAISE EXCEPTION 'Something that policy % approved was taken back, so it approves nothing more.', NEW.policy_id;
  END IF;
  IF night.policy_used(NEW.policy_id) + cardinality(NEW.item_ids) > policy.per_night THEN
    RAISE EXCEPTION 'Policy % approves % items a night at most.', NEW.policy_id, policy.per_night;
  END IF;
  SELECT count(*) INTO fitting FROM night.plan_items i WHERE i.plan_hash = NEW.plan_hash AND i.item_id = ANY (NEW.item_ids)
    AND i.question = 'same' AND i.decision = 'review' AND i.operation = policy.operation AND i.mutation ->> 'kind' = 'merge_rows'
    AND coalesce(jsonb_array_length(i.mutation -> 'deletes'), 0) = 0 AND (i.evidence ->> 'probability')::double precision >= policy.least;
  IF fitting <> cardinality(NEW.item_ids) THEN
    RAISE EXCEPTION 'Policy % may not approve % of these items.', NEW.policy_id, cardinality(NEW.item_ids) - fitting;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER of_policy BEFORE INSERT ON night.approvals FOR EACH ROW WHEN (NEW.policy_id IS NOT NULL)
  EXECUTE FUNCTION night.check_policy_approval();

-- A policy signs as whoever accepted it, and where authors may not sign, that is its author.
CREATE OR REPLACE FUNCTION night.signatures_missing(approval uuid) RETURNS integer LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN r.id IS NULL THEN 0 ELSE greatest(0, r.signatures - (
    SELECT count(DISTINCT CASE WHEN r.own_login THEN s.login ELSE s.name END) FROM (
      SELECT lower(coalesce(p.accepted_by, a.approver)) AS name, coalesce(p.login, a.login) AS login
      UNION ALL SELECT lower(c.signed_by), c.login FROM night.countersignatures c WHERE c.approval_id = a.id) s
    WHERE NOT r.not_author OR s.name <> 'policy' AND s.name <> ALL (night.plan_authors(a.plan_hash))
      AND s.name IS DISTINCT FROM lower(p.accepted_by))::integer) END
  FROM night.approvals a LEFT JOIN night.policies p ON p.id = a.policy_id
  LEFT JOIN LATERAL night.approval_rule(a.namespace_id) r ON true WHERE a.id = approval
$$;
CREATE FUNCTION night.signed_as(approver text, policy uuid) RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((SELECT 'policy of ' || p.accepted_by || ' of ' || to_char(p.recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
    FROM night.policies p WHERE p.id = policy), approver)
$$;
CREATE OR REPLACE VIEW night.half_signed_approvals WITH (security_invoker = true) AS
  SELECT a.id, a.namespace_id, a.plan_hash, a.approver, a.item_ids, a.recorded_at, a.expires_at, m.missing,
    night.signed_as(a.approver, a.policy_id) || ARRAY(
      SELECT c.signed_by FROM night.countersignatures c WHERE c.approval_id = a.id ORDER BY c.recorded_at, c.signed_by) AS signers
  FROM night.approvals a JOIN night.plans p ON p.plan_hash = a.plan_hash, LATERAL night.signatures_missing(a.id) AS m(missing)
  WHERE p.state IN ('awaiting_approval', 'approved') AND a.expires_at > now()
  AND NOT EXISTS (SELECT 1 FROM night.revocations r WHERE r.approval_id = a.id)
  AND NOT EXISTS (SELECT 1 FROM night.applied d WHERE d.approval_id = a.id)
  AND m.missing > 0;

GRANT SELECT ON night.policies, night.policy_revocations TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;
GRANT INSERT (namespace_id, plan_hash, operation, kind, says, answered, agreed, least, per_night, accepted_by) ON night.policies
  TO slowwave_approver;
GRANT INSERT (policy_id, namespace_id, revoked_by, reason) ON night.policy_revocations TO slowwave_approver;
REVOKE EXECUTE ON FUNCTION night.check_policy(), night.check_policy_approval(), night.policy_undone(uuid), night.policy_used(uuid),
  night.signed_as(text, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION night.policy_undone(uuid), night.policy_used(uuid), night.signed_as(text, uuid)
  TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;

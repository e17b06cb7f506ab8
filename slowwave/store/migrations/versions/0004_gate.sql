-- What people read before they sign is sealed: the content (by its hash), what was proven of it, what was said of it, and until when.
-- The hash of the content stays the identity of a plan: the same items planned again as of the same instant are the same plan, though
-- proven at another time and expiring later. The seal is computed here, over the stored rows; an approval keeps the one that it signed.
CREATE FUNCTION night.plan_seal(plan_hash text, namespace_id uuid, expires_at timestamptz, probes jsonb, summary jsonb)
RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT encode(sha256(convert_to(jsonb_build_array(plan_hash, namespace_id, extract(epoch FROM expires_at), probes, summary)::text, 'UTF8')), 'hex')
$$;

ALTER TABLE night.plans ADD COLUMN seal text;
UPDATE night.plans SET seal = night.plan_seal(plan_hash, namespace_id, expires_at, probes, summary);
ALTER TABLE night.plans ALTER COLUMN seal SET NOT NULL;

ALTER TABLE night.approvals ADD COLUMN seal text;
ALTER TABLE night.approvals DISABLE TRIGGER append_only;
UPDATE night.approvals a SET seal = p.seal FROM night.plans p WHERE p.plan_hash = a.plan_hash;
ALTER TABLE night.approvals ENABLE TRIGGER append_only;
ALTER TABLE night.approvals ALTER COLUMN seal SET NOT NULL;

-- An approval that was withdrawn. Approvals stay on record as they were given, and so does this.
CREATE TABLE night.revocations (
  approval_id uuid NOT NULL,
  namespace_id uuid NOT NULL,
  plan_hash text NOT NULL,
  revoked_by text NOT NULL,
  reason text NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (approval_id),
  FOREIGN KEY(approval_id) REFERENCES night.approvals (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  CONSTRAINT revocations_by CHECK (revoked_by ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{1,63}$' AND lower(revoked_by) <> 'policy'),
  CONSTRAINT revocations_reason CHECK (btrim(reason) <> '')
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON night.revocations FOR EACH ROW EXECUTE FUNCTION night.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON night.revocations FOR EACH STATEMENT EXECUTE FUNCTION night.refuse_change();

-- States are those that the code knows.
ALTER TABLE night.plans
  ADD CONSTRAINT plans_state CHECK (state IN ('awaiting_approval', 'approved', 'rejected', 'expired', 'superseded', 'empty'));
ALTER TABLE night.plan_items
  ADD CONSTRAINT plan_items_status
    CHECK (status IN ('pending', 'deferred', 'approved', 'rejected', 'applied', 'skipped_stale', 'failed', 'noop', 'undone')),
  ADD CONSTRAINT plan_items_risk CHECK (risk IN ('low', 'medium', 'high'));
ALTER TABLE night.runs
  ADD CONSTRAINT runs_mode CHECK (mode IN ('plan', 'apply', 'undo')),
  ADD CONSTRAINT runs_state CHECK (state IN ('planning', 'applying', 'paused', 'crashed', 'cancelled', 'awaiting_approval', 'approved',
    'completed', 'empty', 'rejected', 'expired', 'superseded'));

-- Who signed is somebody, and `policy` means the namespace's policy. Not validated: what was signed before stays on record, and apply
-- refuses it.
ALTER TABLE night.approvals
  ADD CONSTRAINT approvals_approver CHECK (approver ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{1,63}$') NOT VALID,
  ADD CONSTRAINT approvals_policy CHECK (CASE WHEN 'policy' IN (lower(approver), lower(channel))
    THEN approver = 'policy' AND channel = 'policy' ELSE btrim(channel) <> '' END) NOT VALID,
  ADD CONSTRAINT approvals_forced CHECK (NOT forced OR btrim(note) <> '') NOT VALID;

-- Refusals of what a statement may not do. The conditions stand in the triggers, so that what is allowed costs no call.
CREATE FUNCTION night.refuse_resealing() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION '%.% is sealed: only its state may be changed. Plan again instead.', TG_TABLE_SCHEMA, TG_TABLE_NAME;
END $$;

CREATE FUNCTION night.refuse_state() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  named text := CASE TG_TABLE_NAME WHEN 'plan_items' THEN 'status' ELSE 'state' END;
BEGIN
  IF TG_OP = 'INSERT' THEN
    RAISE EXCEPTION '%.%: a new row cannot be % already.', TG_TABLE_SCHEMA, TG_TABLE_NAME, to_jsonb(NEW) ->> named;
  END IF;
  RAISE EXCEPTION '%.%: what is % cannot become %.', TG_TABLE_SCHEMA, TG_TABLE_NAME, to_jsonb(OLD) ->> named, to_jsonb(NEW) ->> named;
END $$;

CREATE FUNCTION night.seal_plan() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.seal := night.plan_seal(NEW.plan_hash, NEW.namespace_id, NEW.expires_at, NEW.probes, NEW.summary);
  RETURN NEW;
END $$;

CREATE FUNCTION night.refuse_unsigned() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM night.approvals a WHERE a.plan_hash = NEW.plan_hash) THEN
    RAISE EXCEPTION 'Plan % has no approval, so it is not approved.', left(NEW.plan_hash, 12);
  END IF;
  RETURN NEW;
END $$;

-- A plan is born waiting or empty. It may be decided, replaced or run out of time; what is over stays over.
CREATE TRIGGER born BEFORE INSERT ON night.plans FOR EACH ROW WHEN (NEW.state NOT IN ('awaiting_approval', 'empty'))
  EXECUTE FUNCTION night.refuse_state();
CREATE TRIGGER seal BEFORE INSERT ON night.plans FOR EACH ROW EXECUTE FUNCTION night.seal_plan();
CREATE TRIGGER sealed BEFORE UPDATE OF plan_hash, namespace_id, snapshot_id, settings_fingerprint, expires_at, header, probes, summary, seal
  ON night.plans FOR EACH ROW EXECUTE FUNCTION night.refuse_resealing();
CREATE TRIGGER states BEFORE UPDATE OF state ON night.plans FOR EACH ROW WHEN (OLD.state <> NEW.state AND (OLD.state, NEW.state) NOT IN (
    ('awaiting_approval', 'approved'), ('awaiting_approval', 'rejected'), ('awaiting_approval', 'superseded'), ('awaiting_approval', 'expired'),
    ('approved', 'awaiting_approval'), ('approved', 'rejected'), ('approved', 'superseded')))
  EXECUTE FUNCTION night.refuse_state();
CREATE TRIGGER signed BEFORE UPDATE OF state ON night.plans FOR EACH ROW WHEN (NEW.state = 'approved' AND OLD.state <> 'approved')
  EXECUTE FUNCTION night.refuse_unsigned();

-- An item is decided once, applied once, and undone and applied again as often as anyone likes. A revoked one waits again.
CREATE TRIGGER born BEFORE INSERT ON night.plan_items FOR EACH ROW WHEN (NEW.status NOT IN ('pending', 'deferred'))
  EXECUTE FUNCTION night.refuse_state();
CREATE TRIGGER sealed BEFORE UPDATE OF plan_hash, item_id, namespace_id, ordinal, operation, decision, risk, mutation, evidence, sources,
  subject, tokens ON night.plan_items FOR EACH ROW EXECUTE FUNCTION night.refuse_resealing();
CREATE TRIGGER states BEFORE UPDATE OF status ON night.plan_items FOR EACH ROW
  WHEN (OLD.status <> NEW.status AND (OLD.status, NEW.status) NOT IN (
    ('pending', 'approved'), ('pending', 'rejected'), ('approved', 'pending'), ('approved', 'rejected'),
    ('approved', 'applied'), ('approved', 'skipped_stale'), ('approved', 'failed'), ('approved', 'noop'),
    ('applied', 'undone'), ('undone', 'applied')))
  EXECUTE FUNCTION night.refuse_state();

-- A run that came to its end does not begin again.
CREATE TRIGGER states BEFORE UPDATE OF state ON night.runs FOR EACH ROW
  WHEN (OLD.state <> NEW.state AND OLD.state IN ('completed', 'rejected', 'expired', 'superseded')) EXECUTE FUNCTION night.refuse_state();

-- An approval is of a plan that stands, as it was sealed, of items that wait, and ends with the plan.
CREATE FUNCTION night.check_approval() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  plan night.plans%ROWTYPE;
  waiting bigint;
BEGIN
  SELECT * INTO plan FROM night.plans p WHERE p.plan_hash = NEW.plan_hash AND p.namespace_id = NEW.namespace_id FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'There is no plan % in this namespace to approve.', left(NEW.plan_hash, 12);
  END IF;
  IF plan.state NOT IN ('awaiting_approval', 'approved') THEN
    RAISE EXCEPTION 'Plan % is %, so it cannot be approved.', left(NEW.plan_hash, 12), plan.state;
  END IF;
  IF plan.expires_at <= now() OR NEW.expires_at > plan.expires_at THEN
    RAISE EXCEPTION 'Plan % expires at %: no approval of it holds longer.', left(NEW.plan_hash, 12), plan.expires_at;
  END IF;
  NEW.seal := coalesce(NEW.seal, plan.seal);
  IF NEW.seal <> plan.seal OR plan.seal <> night.plan_seal(plan.plan_hash, plan.namespace_id, plan.expires_at, plan.probes, plan.summary) THEN
    RAISE EXCEPTION 'Plan % is not as it was sealed, so it cannot be approved.', left(NEW.plan_hash, 12);
  END IF;
  SELECT count(*) INTO waiting FROM night.plan_items i
    WHERE i.plan_hash = NEW.plan_hash AND i.item_id = ANY(NEW.item_ids) AND i.status = 'pending';
  IF waiting = 0 OR waiting <> cardinality(NEW.item_ids) THEN
    RAISE EXCEPTION 'An approval names items of plan % that wait, each once: % of % do.', left(NEW.plan_hash, 12), waiting,
      cardinality(NEW.item_ids);
  END IF;
  NEW.recorded_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER checked BEFORE INSERT ON night.approvals FOR EACH ROW EXECUTE FUNCTION night.check_approval();

-- A revocation is of an approval of this very plan and namespace.
CREATE FUNCTION night.check_revocation() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM night.approvals a
                 WHERE a.id = NEW.approval_id AND a.plan_hash = NEW.plan_hash AND a.namespace_id = NEW.namespace_id) THEN
    RAISE EXCEPTION 'There is no approval % of plan %.', NEW.approval_id, left(NEW.plan_hash, 12);
  END IF;
  NEW.recorded_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER checked BEFORE INSERT ON night.revocations FOR EACH ROW EXECUTE FUNCTION night.check_revocation();

-- The approvals that apply may still act on: one rule for the sensor, the executor, the metrics and retention.
CREATE VIEW night.open_approvals WITH (security_invoker = true) AS
  SELECT a.id, a.namespace_id, a.plan_hash, a.approver, a.channel, a.item_ids, a.recorded_at, a.expires_at
  FROM night.approvals a JOIN night.plans p ON p.plan_hash = a.plan_hash
  WHERE p.state IN ('awaiting_approval', 'approved') AND a.expires_at > now()
  AND NOT EXISTS (SELECT 1 FROM night.revocations r WHERE r.approval_id = a.id)
  AND NOT EXISTS (SELECT 1 FROM night.applied d WHERE d.approval_id = a.id);

-- Items of a plan by status: what became of it is counted, not kept (see slowwave.plans.states).
CREATE FUNCTION night.item_counts(plan text) RETURNS jsonb LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(jsonb_object_agg(c.status, c.n), '{}')
  FROM (SELECT i.status, count(*) AS n FROM night.plan_items i WHERE i.plan_hash = plan GROUP BY i.status) c
$$;

-- Each role changes what its work changes and nothing else.
REVOKE UPDATE ON night.plans, night.plan_items FROM slowwave_planner;
GRANT UPDATE (state) ON night.plans TO slowwave_planner;
REVOKE UPDATE (state) ON night.plans FROM slowwave_applier;
GRANT SELECT ON night.revocations, night.open_approvals TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;
GRANT INSERT ON night.revocations TO slowwave_approver;
REVOKE EXECUTE ON FUNCTION night.plan_seal(text, uuid, timestamptz, jsonb, jsonb), night.item_counts(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION night.plan_seal(text, uuid, timestamptz, jsonb, jsonb), night.item_counts(text)
  TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;

-- How many people have to sign before an approval counts. The newest rule of a namespace holds, else the newest that names none; without any
-- it is one. Only the owner of the database adds rules, so that whoever signs or applies cannot do with fewer.
CREATE TABLE night.approval_rules (
  id bigint GENERATED ALWAYS AS IDENTITY,
  namespace_id uuid,
  signatures integer NOT NULL,
  not_author boolean DEFAULT false NOT NULL,
  own_login boolean DEFAULT false NOT NULL,
  set_by text NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  CONSTRAINT approval_rules_signatures CHECK (signatures BETWEEN 1 AND 9),
  CONSTRAINT approval_rules_by CHECK (set_by ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{1,63}$' AND lower(set_by) <> 'policy')
);
CREATE INDEX approval_rules_namespace ON night.approval_rules (namespace_id, id DESC);

-- With which login somebody signed; what was signed before is not known.
ALTER TABLE night.approvals ADD COLUMN login text DEFAULT '' NOT NULL;

-- Further signatures under an approval, each by another name. They cover what the approval covers.
CREATE TABLE night.countersignatures (
  approval_id uuid NOT NULL,
  namespace_id uuid NOT NULL,
  plan_hash text NOT NULL,
  signed_by text NOT NULL,
  channel text NOT NULL,
  note text DEFAULT '' NOT NULL,
  login text DEFAULT '' NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (approval_id, signed_by),
  FOREIGN KEY(approval_id) REFERENCES night.approvals (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  CONSTRAINT countersignatures_by CHECK (signed_by ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{1,63}$' AND lower(signed_by) <> 'policy'),
  CONSTRAINT countersignatures_channel CHECK (btrim(channel) <> '' AND lower(channel) <> 'policy'),
  CONSTRAINT countersignatures_note CHECK (length(note) <= 2000)
);
CREATE UNIQUE INDEX countersignatures_name ON night.countersignatures (approval_id, lower(signed_by));

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON night.approval_rules FOR EACH ROW EXECUTE FUNCTION night.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON night.approval_rules FOR EACH STATEMENT EXECUTE FUNCTION night.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON night.countersignatures FOR EACH ROW EXECUTE FUNCTION night.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON night.countersignatures FOR EACH STATEMENT EXECUTE FUNCTION night.refuse_change();

-- The rule that holds in a namespace, no row where there is none.
CREATE FUNCTION night.approval_rule(scope uuid) RETURNS SETOF night.approval_rules LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT * FROM night.approval_rules r WHERE r.namespace_id = scope OR r.namespace_id IS NULL
  ORDER BY r.namespace_id IS NULL, r.id DESC LIMIT 1
$$;

-- Who asked for what a plan does, in lower case: whom its sealed summary names, and the agent and the token of a proposal.
CREATE FUNCTION night.plan_authors(plan text) RETURNS text[] LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(array_agg(DISTINCT lower(a.name)), '{}') FROM (
    SELECT jsonb_array_elements_text(CASE jsonb_typeof(p.summary -> 'proposed_by') WHEN 'array' THEN p.summary -> 'proposed_by' ELSE '[]' END)
      AS name FROM night.plans p WHERE p.plan_hash = plan
    UNION ALL SELECT unnest(ARRAY[q.agent, 'token-' || q.token_id]) FROM memory.proposals q WHERE q.plan_hash = plan) a
  WHERE a.name <> ''
$$;

-- How many signatures an approval still needs by the rule that holds now; no approval, no number. A policy signs once, as whoever wrote it,
-- and not at all where authors may not: who that was is not known.
CREATE FUNCTION night.signatures_missing(approval uuid) RETURNS integer LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN r.id IS NULL THEN 0 ELSE greatest(0, r.signatures - (
    SELECT count(DISTINCT CASE WHEN r.own_login THEN s.login ELSE s.name END) FROM (
      SELECT lower(a.approver) AS name, a.login
      UNION ALL SELECT lower(c.signed_by), c.login FROM night.countersignatures c WHERE c.approval_id = a.id) s
    WHERE NOT r.not_author OR s.name <> 'policy' AND s.name <> ALL (night.plan_authors(a.plan_hash)))::integer) END
  FROM night.approvals a LEFT JOIN LATERAL night.approval_rule(a.namespace_id) r ON true WHERE a.id = approval
$$;

-- The login is the database's to say, and an author does not sign where the rule keeps authors out.
CREATE FUNCTION night.check_signer() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  signer text := CASE TG_TABLE_NAME WHEN 'approvals' THEN to_jsonb(NEW) ->> 'approver' ELSE to_jsonb(NEW) ->> 'signed_by' END;
BEGIN
  NEW.login := session_user;
  IF EXISTS (SELECT FROM night.approval_rule(NEW.namespace_id) r WHERE r.not_author) AND lower(signer) = ANY (night.plan_authors(NEW.plan_hash)) THEN
    RAISE EXCEPTION '% asked for what plan % does, so somebody else has to sign it.', signer, left(NEW.plan_hash, 12);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER signer BEFORE INSERT ON night.approvals FOR EACH ROW EXECUTE FUNCTION night.check_signer();
CREATE TRIGGER signer BEFORE INSERT ON night.countersignatures FOR EACH ROW EXECUTE FUNCTION night.check_signer();

-- A further signature is of an approval that stands, of a plan that is as it was signed, by another name.
CREATE FUNCTION night.check_countersignature() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  approval night.approvals%ROWTYPE;
BEGIN
  SELECT * INTO approval FROM night.approvals a
    WHERE a.id = NEW.approval_id AND a.plan_hash = NEW.plan_hash AND a.namespace_id = NEW.namespace_id;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'There is no approval % of plan %.', NEW.approval_id, left(NEW.plan_hash, 12);
  END IF;
  PERFORM FROM night.plans p WHERE p.plan_hash = approval.plan_hash AND p.state IN ('awaiting_approval', 'approved') AND p.seal = approval.seal
    AND p.seal = night.plan_seal(p.plan_hash, p.namespace_id, p.expires_at, p.probes, p.summary) FOR SHARE;
  IF NOT FOUND OR approval.expires_at <= now() OR EXISTS (SELECT FROM night.revocations r WHERE r.approval_id = approval.id)
     OR EXISTS (SELECT FROM night.applied d WHERE d.approval_id = approval.id) THEN
    RAISE EXCEPTION 'Approval % does not stand any more, so there is nothing to sign.', NEW.approval_id;
  END IF;
  IF lower(NEW.signed_by) = lower(approval.approver) THEN
    RAISE EXCEPTION 'Approval % is signed by % already.', NEW.approval_id, approval.approver;
  END IF;
  NEW.recorded_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER checked BEFORE INSERT ON night.countersignatures FOR EACH ROW EXECUTE FUNCTION night.check_countersignature();

-- No run begins for an approval that lacks a signature, nor writes what undo needs, nor ends as applied.
CREATE FUNCTION night.refuse_half_signed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF night.signatures_missing(NEW.approval_id) > 0 THEN
    RAISE EXCEPTION 'Approval % needs % more signature(s), so nothing is applied.', NEW.approval_id, night.signatures_missing(NEW.approval_id);
  END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION night.refuse_half_signed_entries() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM (SELECT DISTINCT run_id FROM added) j JOIN night.runs r ON r.id = j.run_id
             WHERE r.mode = 'apply' AND night.signatures_missing(r.approval_id) IS DISTINCT FROM 0) THEN
    RAISE EXCEPTION 'This run has no approval, or one that needs a further signature, so nothing is applied.';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER signed BEFORE INSERT OR UPDATE OF approval_id, mode ON night.runs FOR EACH ROW
  WHEN (NEW.mode = 'apply' AND NEW.approval_id IS NOT NULL) EXECUTE FUNCTION night.refuse_half_signed();
CREATE TRIGGER signed BEFORE INSERT ON night.applied FOR EACH ROW EXECUTE FUNCTION night.refuse_half_signed();
CREATE TRIGGER signed AFTER INSERT ON night.journal REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION night.refuse_half_signed_entries();

-- The approvals that apply may still act on, and those that wait for somebody else to sign.
CREATE OR REPLACE VIEW night.open_approvals WITH (security_invoker = true) AS
  SELECT a.id, a.namespace_id, a.plan_hash, a.approver, a.channel, a.item_ids, a.recorded_at, a.expires_at
  FROM night.approvals a JOIN night.plans p ON p.plan_hash = a.plan_hash
  WHERE p.state IN ('awaiting_approval', 'approved') AND a.expires_at > now()
  AND NOT EXISTS (SELECT 1 FROM night.revocations r WHERE r.approval_id = a.id)
  AND NOT EXISTS (SELECT 1 FROM night.applied d WHERE d.approval_id = a.id)
  AND night.signatures_missing(a.id) = 0;
CREATE VIEW night.half_signed_approvals WITH (security_invoker = true) AS
  SELECT a.id, a.namespace_id, a.plan_hash, a.approver, a.item_ids, a.recorded_at, a.expires_at, m.missing,
    a.approver || ARRAY(SELECT c.signed_by FROM night.countersignatures c WHERE c.approval_id = a.id ORDER BY c.recorded_at, c.signed_by) AS signers
  FROM night.approvals a JOIN night.plans p ON p.plan_hash = a.plan_hash, LATERAL night.signatures_missing(a.id) AS m(missing)
  WHERE p.state IN ('awaiting_approval', 'approved') AND a.expires_at > now()
  AND NOT EXISTS (SELECT 1 FROM night.revocations r WHERE r.approval_id = a.id)
  AND NOT EXISTS (SELECT 1 FROM night.applied d WHERE d.approval_id = a.id)
  AND m.missing > 0;

GRANT SELECT ON night.approval_rules, night.countersignatures, night.half_signed_approvals
  TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;
GRANT INSERT (approval_id, namespace_id, plan_hash, signed_by, channel, note) ON night.countersignatures TO slowwave_approver;
REVOKE EXECUTE ON FUNCTION night.approval_rule(uuid), night.plan_authors(text), night.signatures_missing(uuid), night.check_signer(),
  night.check_countersignature(), night.refuse_half_signed(), night.refuse_half_signed_entries() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION night.approval_rule(uuid), night.plan_authors(text), night.signatures_missing(uuid)
  TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;

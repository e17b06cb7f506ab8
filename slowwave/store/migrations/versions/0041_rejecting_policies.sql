-- A policy says yes or no of a kind, to questions whose probability is from `least` to `most`: a yes as likely as what was answered yes, a no
-- as unlikely as what was answered no.
ALTER TABLE night.policies ADD COLUMN verdict text DEFAULT 'yes' NOT NULL, ADD COLUMN most double precision DEFAULT 1 NOT NULL;
ALTER TABLE night.policies ADD CONSTRAINT policies_verdict CHECK (verdict IN ('yes', 'no'));
ALTER TABLE night.policies ADD CONSTRAINT policies_most CHECK (most BETWEEN least AND 1);
GRANT INSERT (verdict, most) ON night.policies TO slowwave_approver;

-- By which policy a rejection was given. Who rejects is a person, a policy (always an accepted one), or an undo. Validated where all
-- that was rejected before says so; it stays on record.
ALTER TABLE night.rejections ADD COLUMN policy_id uuid;
ALTER TABLE night.rejections ADD FOREIGN KEY (policy_id) REFERENCES night.policies (id);
ALTER TABLE night.rejections
  ADD CONSTRAINT rejections_by CHECK (rejected_by ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{1,63}$') NOT VALID,
  ADD CONSTRAINT rejections_reason CHECK (btrim(reason) <> '' AND length(reason) <= 2000) NOT VALID,
  ADD CONSTRAINT rejections_policy CHECK (CASE WHEN policy_id IS NULL THEN lower(rejected_by) <> 'policy' ELSE rejected_by = 'policy' END) NOT VALID,
  ADD CONSTRAINT rejections_undo CHECK (lower(rejected_by) <> 'undo' OR rejected_by = 'undo') NOT VALID;
DO $$
DECLARE
  named text;
BEGIN
  FOR named IN SELECT c.conname FROM pg_constraint c WHERE c.conrelid = 'night.rejections'::regclass AND c.contype = 'c' AND NOT c.convalidated
  LOOP
    BEGIN
      EXECUTE format('ALTER TABLE night.rejections VALIDATE CONSTRAINT %I', named);
    EXCEPTION WHEN check_violation THEN
      RAISE NOTICE 'night.rejections has rows from before that break %', named;
    END;
  END LOOP;
END $$;
CREATE INDEX rejections_policy_id ON night.rejections (policy_id) WHERE policy_id IS NOT NULL;

-- Rejections stay on record as they were given, and their instant is the database's: nobody names it.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON night.rejections FOR EACH ROW EXECUTE FUNCTION night.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON night.rejections FOR EACH STATEMENT EXECUTE FUNCTION night.refuse_change();
REVOKE INSERT ON night.rejections FROM slowwave_approver, slowwave_applier;
GRANT INSERT (id, namespace_id, operation, subject, row_ids, reason, rejected_by, plan_hash, item_id) ON night.rejections
  TO slowwave_approver, slowwave_applier;
GRANT INSERT (policy_id) ON night.rejections TO slowwave_approver;

-- How many items of a policy's were taken back, undone or reconsidered: from the first on it decides nothing more, until somebody accepts it
-- anew.
CREATE OR REPLACE FUNCTION night.policy_undone(policy uuid) RETURNS bigint LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT (SELECT count(*) FROM night.approvals a JOIN night.plan_items i ON i.plan_hash = a.plan_hash AND i.item_id = ANY (a.item_ids)
      WHERE a.policy_id = policy AND i.status = 'undone')
    + (SELECT count(*) FROM night.rejections r JOIN night.withdrawals w ON w.rejection_id = r.id WHERE r.policy_id = policy)
$$;
-- How many it approved or rejected in this night: within 20 hours, which is less than from one night to the next.
CREATE OR REPLACE FUNCTION night.policy_used(policy uuid) RETURNS bigint LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((SELECT sum(cardinality(a.item_ids)) FROM night.approvals a
      WHERE a.policy_id = policy AND a.recorded_at > now() - interval '20 hours'), 0)::bigint
    + (SELECT count(*) FROM night.rejections r WHERE r.policy_id = policy AND r.recorded_at > now() - interval '20 hours')
$$;

-- Which items of a plan a policy may decide with its verdict: questions whether two rows are one thing, of its operation, merges that delete
-- nothing, as likely as what was accepted.
CREATE FUNCTION night.policy_takes(policy night.policies, item night.plan_items) RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT item.question = 'same' AND item.decision = 'review' AND item.operation = policy.operation AND item.namespace_id = policy.namespace_id
    AND item.mutation ->> 'kind' = 'merge_rows' AND coalesce(jsonb_array_length(item.mutation -> 'deletes'), 0) = 0
    AND coalesce((item.evidence ->> 'probability')::double precision BETWEEN policy.least AND policy.most, false)
$$;

-- The policy that is to decide so many items with this verdict, or why it may not, as an exception; whoever asks holds it until the transaction
-- ends.
CREATE FUNCTION night.standing_policy(policy uuid, scope uuid, said text) RETURNS night.policies LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found_policy night.policies%ROWTYPE;
  does text := CASE said WHEN 'no' THEN 'rejects' ELSE 'approves' END;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(policy::text, 5));
  SELECT * INTO found_policy FROM night.policies p WHERE p.id = policy AND p.namespace_id = scope AND p.verdict = said;
  IF NOT FOUND OR EXISTS (SELECT FROM night.policy_revocations r WHERE r.policy_id = policy) THEN
    RAISE EXCEPTION 'Policy % does not stand, so it % nothing.', policy, does;
  END IF;
  IF night.policy_undone(policy) > 0 THEN
    RAISE EXCEPTION 'Something that policy % decided was taken back, so it % nothing more.', policy, does;
  END IF;
  RETURN found_policy;
END $$;

CREATE OR REPLACE FUNCTION night.check_policy_approval() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  policy night.policies%ROWTYPE := night.standing_policy(NEW.policy_id, NEW.namespace_id, 'yes');
  fitting bigint;
BEGIN
  IF night.policy_used(NEW.policy_id) + cardinality(NEW.item_ids) > policy.per_night THEN
    RAISE EXCEPTION 'Policy % approves % items a night at most.', NEW.policy_id, policy.per_night;
  END IF;
  SELECT count(*) INTO fitting FROM night.plan_items i WHERE i.plan_hash = NEW.plan_hash AND i.item_id = ANY (NEW.item_ids)
    AND night.policy_takes(policy, i);
  IF fitting <> cardinality(NEW.item_ids) THEN
    RAISE EXCEPTION 'Policy % may not approve % of these items.', NEW.policy_id, cardinality(NEW.item_ids) - fitting;
  END IF;
  RETURN NEW;
END $$;

-- The rows that an item is about.
CREATE FUNCTION night.item_rows(mutation jsonb) RETURNS uuid[] LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT ARRAY(SELECT (r #>> '{}')::uuid FROM (SELECT jsonb_path_query(mutation, '$.rows[*].id') AS r UNION ALL
    SELECT mutation #> '{keep,id}' WHERE mutation #> '{keep,id}' IS NOT NULL UNION ALL SELECT jsonb_path_query(mutation, '$.absorb[*].id')) named)
$$;

-- A rejection is of an item of a plan of its namespace, says what the item says, and comes from whoever may give it: a person, of an item that
-- was not applied, of a plan that stands; an undo, of what was undone; a policy, of no more than a person accepted. Of an item that a reviewer
-- split it may name a part of the rows. A policy rejects nothing where a rule asks for more than its author's eyes: nobody signs beside it.
CREATE FUNCTION night.check_rejections() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  wrong record;
  mine record;
  policy night.policies%ROWTYPE;
  unfit bigint;
  odd boolean;
BEGIN
  IF EXISTS (SELECT FROM added a WHERE a.rejected_by = 'undo') AND NOT pg_has_role(current_user, 'slowwave_applier', 'USAGE')
     OR EXISTS (SELECT FROM added a WHERE a.rejected_by <> 'undo') AND NOT pg_has_role(current_user, 'slowwave_approver', 'USAGE') THEN
    RAISE EXCEPTION 'What is undone is rejected by an undo, and everything else by who decides: % may not.', current_user
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  SELECT a.item_id, a.plan_hash INTO wrong FROM added a
    LEFT JOIN night.plan_items i ON i.plan_hash = a.plan_hash AND i.item_id = a.item_id AND i.namespace_id = a.namespace_id
    LEFT JOIN LATERAL (SELECT night.item_rows(i.mutation) AS ids) r ON true
    WHERE i.item_id IS NULL OR a.operation <> i.operation OR NOT a.row_ids <@ r.ids
    OR CASE a.rejected_by WHEN 'undo' THEN i.status <> 'undone' ELSE i.status NOT IN ('pending', 'approved') END
    OR a.subject = i.subject AND NOT r.ids <@ a.row_ids
    OR a.subject <> i.subject AND (r.ids <@ a.row_ids OR a.policy_id IS NOT NULL OR a.rejected_by = 'undo') LIMIT 1;
  odd := FOUND;
  IF NOT odd AND EXISTS (SELECT FROM added a JOIN night.plan_items i ON i.plan_hash = a.plan_hash AND i.item_id = a.item_id
                           WHERE a.subject <> i.subject) THEN -- parts, of items that a reviewer split
    SELECT a.item_id, a.plan_hash INTO wrong FROM added a
      JOIN night.plan_items i ON i.plan_hash = a.plan_hash AND i.item_id = a.item_id AND a.subject <> i.subject
      WHERE NOT EXISTS (SELECT FROM night.review_drafts d
                        WHERE d.item_id = a.item_id AND d.namespace_id = a.namespace_id AND d.amended IS NOT NULL) LIMIT 1;
    odd := FOUND;
  END IF;
  IF odd THEN
    RAISE EXCEPTION 'There is nothing to reject that says so: item % of plan %.', wrong.item_id, left(wrong.plan_hash, 12);
  END IF;
  SELECT p.plan_hash, p.state INTO wrong FROM night.plans p WHERE p.plan_hash IN (SELECT a.plan_hash FROM added a WHERE a.rejected_by <> 'undo')
    AND (p.state NOT IN ('awaiting_approval', 'approved') OR p.expires_at <= now()) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'Plan % is over, so nothing of it can be rejected.', left(wrong.plan_hash, 12);
  END IF;
  FOR mine IN SELECT DISTINCT a.policy_id, a.namespace_id FROM added a WHERE a.policy_id IS NOT NULL ORDER BY 1, 2 LOOP
    policy := night.standing_policy(mine.policy_id, mine.namespace_id, 'no');
    IF EXISTS (SELECT FROM night.approval_rule(mine.namespace_id) r WHERE r.signatures > 1 OR r.not_author) THEN
      RAISE EXCEPTION 'More eyes than those of its author are asked for here, so policy % rejects nothing.', mine.policy_id;
    END IF;
    IF night.policy_used(mine.policy_id) > policy.per_night THEN
      RAISE EXCEPTION 'Policy % rejects % items a night at most.', mine.policy_id, policy.per_night;
    END IF;
    SELECT count(*) INTO unfit FROM added a JOIN night.plan_items i ON i.plan_hash = a.plan_hash AND i.item_id = a.item_id
      WHERE a.policy_id = mine.policy_id AND NOT (i.status = 'pending' AND night.policy_takes(policy, i));
    IF unfit > 0 THEN
      RAISE EXCEPTION 'Policy % may not reject % of these items.', mine.policy_id, unfit;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER checked AFTER INSERT ON night.rejections REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION night.check_rejections();

-- With a policy goes what it rejected: later nights may ask about it again.
CREATE FUNCTION night.withdraw_policy_rejections() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO night.withdrawals (rejection_id, namespace_id, withdrawn_by, reason)
    SELECT r.id, r.namespace_id, NEW.revoked_by, NEW.reason FROM night.rejections r WHERE r.policy_id = NEW.policy_id
    ON CONFLICT (rejection_id) DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER withdraws AFTER INSERT ON night.policy_revocations FOR EACH ROW EXECUTE FUNCTION night.withdraw_policy_rejections();

REVOKE EXECUTE ON FUNCTION night.policy_takes(night.policies, night.plan_items), night.standing_policy(uuid, uuid, text), night.item_rows(jsonb),
  night.check_rejections(), night.withdraw_policy_rejections() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION night.policy_takes(night.policies, night.plan_items), night.standing_policy(uuid, uuid, text) TO slowwave_approver;
GRANT EXECUTE ON FUNCTION night.item_rows(jsonb) TO slowwave_approver, slowwave_applier;

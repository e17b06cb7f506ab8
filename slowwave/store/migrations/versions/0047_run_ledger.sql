-- Times of a run come from this server's clock: a heartbeat or start in the future, or at infinity, would keep its namespace locked.
-- Only the applier's role writes memory, so only it begins, resumes and keeps alive runs that write; an approver may ask one to stop or
-- pause. The owner is exempt from that rule.
CREATE FUNCTION night.keep_run_times() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  moment timestamptz := clock_timestamp();
  earliest CONSTANT timestamptz := '2000-01-01 00:00+00';
  owns boolean := pg_has_role(current_user, (SELECT c.relowner FROM pg_class c WHERE c.oid = TG_RELID), 'USAGE');
BEGIN
  NEW.heartbeat_at := greatest(least(NEW.heartbeat_at, moment), earliest);
  IF NEW.finished_at IS NOT NULL THEN
    NEW.finished_at := greatest(least(NEW.finished_at, moment), earliest);
  END IF;
  IF TG_OP = 'INSERT' THEN
    NEW.started_at := CASE WHEN owns THEN greatest(least(NEW.started_at, moment), earliest) ELSE moment END;
  END IF;
  IF NEW.mode IN ('apply', 'undo') AND NOT owns AND NOT pg_has_role(current_user, 'slowwave_applier', 'USAGE') THEN
    IF TG_OP = 'INSERT' THEN
      RAISE EXCEPTION 'Only slowwave_applier begins runs that write to memory. No run was added.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.heartbeat_at IS DISTINCT FROM OLD.heartbeat_at OR (NEW.state = 'applying' AND OLD.state <> 'applying') THEN
      RAISE EXCEPTION 'Only slowwave_applier keeps runs alive that write to memory, or resumes them. Run % was not changed.', OLD.id
        USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT pg_has_role(current_user, 'slowwave_approver', 'USAGE') AND (NEW.state NOT IN (OLD.state, 'crashed')
       OR to_jsonb(NEW) - ARRAY['state', 'finished_at', 'error'] <> to_jsonb(OLD) - ARRAY['state', 'finished_at', 'error']) THEN
      RAISE EXCEPTION 'Of a run that writes to memory a planner records that it crashed, and nothing else. Run % was not changed.', OLD.id
        USING ERRCODE = 'insufficient_privilege';
    END IF;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER times BEFORE INSERT OR UPDATE ON night.runs FOR EACH ROW EXECUTE FUNCTION night.keep_run_times();

-- Undo and approvals rest on which run this is. The plan and the approval are set once: a plan run gets its plan when it ends.
CREATE FUNCTION night.refuse_other_run() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'Run % keeps its namespace, mode, plan, approval and start: a row of night.runs cannot become another run.', OLD.id;
END $$;
CREATE TRIGGER identity BEFORE UPDATE OF id, namespace_id, mode, started_at, undo_of, plan_hash, approval_id ON night.runs FOR EACH ROW
  WHEN ((OLD.id, OLD.namespace_id, OLD.mode, OLD.started_at, OLD.undo_of)
      IS DISTINCT FROM (NEW.id, NEW.namespace_id, NEW.mode, NEW.started_at, NEW.undo_of)
    OR (OLD.plan_hash IS NOT NULL AND NEW.plan_hash IS DISTINCT FROM OLD.plan_hash)
    OR (OLD.approval_id IS NOT NULL AND NEW.approval_id IS DISTINCT FROM OLD.approval_id))
  EXECUTE FUNCTION night.refuse_other_run();

-- Runs from before whose heartbeat is in the future hold their namespaces no longer. The trigger `times` corrects the values.
UPDATE night.runs SET heartbeat_at = heartbeat_at,
  state = CASE WHEN state IN ('planning', 'applying') AND heartbeat_at > clock_timestamp() THEN 'crashed' ELSE state END,
  error = CASE WHEN state IN ('planning', 'applying') AND heartbeat_at > clock_timestamp()
    THEN 'The heartbeat was in the future: the process is gone.' ELSE error END
  WHERE heartbeat_at NOT BETWEEN '2000-01-01 00:00+00' AND clock_timestamp()
    OR finished_at NOT BETWEEN '2000-01-01 00:00+00' AND clock_timestamp();

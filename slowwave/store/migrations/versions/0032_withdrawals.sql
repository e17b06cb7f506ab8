-- A rejection that was withdrawn: the next night may propose again what it was about. Rejections stay on record as they were given, and so
-- does this.
CREATE TABLE night.withdrawals (
  rejection_id uuid NOT NULL,
  namespace_id uuid NOT NULL,
  withdrawn_by text NOT NULL,
  reason text NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (rejection_id),
  FOREIGN KEY(rejection_id) REFERENCES night.rejections (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  CONSTRAINT withdrawals_by CHECK (withdrawn_by ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{1,63}$' AND lower(withdrawn_by) <> 'policy'),
  CONSTRAINT withdrawals_reason CHECK (btrim(reason) <> '')
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON night.withdrawals FOR EACH ROW EXECUTE FUNCTION night.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON night.withdrawals FOR EACH STATEMENT EXECUTE FUNCTION night.refuse_change();

-- It is of a rejection of this very namespace, and its instant is the database's.
CREATE FUNCTION night.check_withdrawal() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM night.rejections r WHERE r.id = NEW.rejection_id AND r.namespace_id = NEW.namespace_id) THEN
    RAISE EXCEPTION 'There is no rejection % in this namespace.', NEW.rejection_id;
  END IF;
  NEW.recorded_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER checked BEFORE INSERT ON night.withdrawals FOR EACH ROW EXECUTE FUNCTION night.check_withdrawal();

-- Whoever decides withdraws, and nights read what stands.
GRANT SELECT ON night.withdrawals TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;
GRANT INSERT (rejection_id, namespace_id, withdrawn_by, reason) ON night.withdrawals TO slowwave_approver;
REVOKE EXECUTE ON FUNCTION night.check_withdrawal() FROM PUBLIC;

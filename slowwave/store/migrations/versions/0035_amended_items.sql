-- A no may come with what should be done instead: `amended` is the plan in which it waits. A split merge is rejected only between the rows that
-- were taken out and those that stay, so the signature has to know.
ALTER TABLE night.review_drafts ADD COLUMN amended text;
ALTER TABLE night.review_drafts ADD FOREIGN KEY (amended) REFERENCES night.plans (plan_hash);
ALTER TABLE night.review_drafts ADD CONSTRAINT review_drafts_amended CHECK (amended IS NULL OR verdict = 'no');

-- It is a plan of the same namespace that was sealed in place of this very item.
CREATE FUNCTION night.check_amended() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM night.plans p JOIN night.runs r ON r.id = p.run_id
                 WHERE p.plan_hash = NEW.amended AND p.namespace_id = NEW.namespace_id
                 AND r.parameters #>> '{proposal,of}' = NEW.item_id::text) THEN
    RAISE EXCEPTION 'Plan % was not made of item %.', left(NEW.amended, 12), NEW.item_id;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER checked_amended BEFORE INSERT ON night.review_drafts FOR EACH ROW WHEN (NEW.amended IS NOT NULL)
  EXECUTE FUNCTION night.check_amended();
GRANT INSERT (amended) ON night.review_drafts TO slowwave_approver;
REVOKE EXECUTE ON FUNCTION night.check_amended() FROM PUBLIC;

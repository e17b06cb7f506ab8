-- What must hold of a row by itself is held by the table. Rows from before that break it stay as they are: the constraint is then not
-- validated, `slowwave doctor` names it, and such a row can be changed again once it is put right. Counters are left out: they are written
-- as differences, which meet in any order.
ALTER TABLE memory.entities
  ADD CONSTRAINT entities_confidence_is_a_share CHECK (confidence BETWEEN 0 AND 1) NOT VALID,
  ADD CONSTRAINT entities_merged_are_retired CHECK (merged_into IS NULL OR invalidated_at IS NOT NULL) NOT VALID,
  ADD CONSTRAINT entities_validity_is_in_order CHECK (valid_to >= valid_from) NOT VALID;
ALTER TABLE memory.relationships
  ADD CONSTRAINT relationships_weight_is_not_negative CHECK (weight >= 0) NOT VALID;
ALTER TABLE memory.memories
  ADD CONSTRAINT memories_validity_is_in_order CHECK (valid_to >= valid_from) NOT VALID;

-- Where every row holds, so is said; those of 0004 among them.
DO $$
DECLARE
  one record;
BEGIN
  FOR one IN SELECT c.conrelid::regclass AS held, c.conname FROM pg_constraint c
    WHERE c.contype = 'c' AND NOT c.convalidated AND c.connamespace IN ('memory'::regnamespace, 'night'::regnamespace)
    ORDER BY c.conrelid::regclass::text, c.conname
  LOOP
    BEGIN
      EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', one.held, one.conname);
    EXCEPTION WHEN check_violation THEN
      RAISE NOTICE '% has rows from before that break %', one.held, one.conname;
    END;
  END LOOP;
END $$;

-- An undo that cannot be done exactly is refused and changes nothing. It had no state of its own and was written down as crashed.
ALTER TABLE night.runs DROP CONSTRAINT runs_state;
ALTER TABLE night.runs ADD CONSTRAINT runs_state CHECK (state IN ('planning', 'applying', 'paused', 'crashed', 'cancelled', 'refused',
  'awaiting_approval', 'approved', 'completed', 'empty', 'rejected', 'expired', 'superseded'));

-- Which state of a run may follow which; slowwave/runs/states.py has the same table.
DROP TRIGGER states ON night.runs;
CREATE TRIGGER states BEFORE UPDATE OF state ON night.runs FOR EACH ROW WHEN (OLD.state <> NEW.state AND (OLD.state, NEW.state) NOT IN (
    ('planning', 'awaiting_approval'), ('planning', 'completed'), ('planning', 'crashed'), ('planning', 'cancelled'),
    ('applying', 'completed'), ('applying', 'crashed'), ('applying', 'cancelled'), ('applying', 'paused'), ('applying', 'refused'),
    ('paused', 'applying'), ('paused', 'cancelled'),
    ('crashed', 'planning'), ('crashed', 'applying'), ('crashed', 'cancelled'),
    ('cancelled', 'planning'), ('cancelled', 'applying'),
    ('awaiting_approval', 'approved'), ('awaiting_approval', 'rejected'), ('awaiting_approval', 'expired'),
    ('awaiting_approval', 'superseded'),
    ('approved', 'awaiting_approval'), ('approved', 'rejected'), ('approved', 'superseded')))
  EXECUTE FUNCTION night.refuse_state();

-- Who sends a notice claims it for a while, so that it is posted outside of a transaction and by one sender at a time.
ALTER TABLE night.notices ADD COLUMN claim uuid, ADD COLUMN claimed_until timestamptz;
CREATE INDEX notices_claim ON night.notices (claim) WHERE claim IS NOT NULL;
GRANT UPDATE (claim, claimed_until) ON night.notices TO slowwave_applier;

-- An apply that was refused says so in its state as well. It is gone on with, or cancelled, as one that crashed.
-- Which state of a run may follow which; slowwave/runs/states.py has the same table.
DROP TRIGGER states ON night.runs;
CREATE TRIGGER states BEFORE UPDATE OF state ON night.runs FOR EACH ROW WHEN (OLD.state <> NEW.state AND (OLD.state, NEW.state) NOT IN (
    ('planning', 'awaiting_approval'), ('planning', 'completed'), ('planning', 'crashed'), ('planning', 'cancelled'),
    ('applying', 'completed'), ('applying', 'crashed'), ('applying', 'cancelled'), ('applying', 'paused'), ('applying', 'refused'),
    ('paused', 'applying'), ('paused', 'cancelled'),
    ('crashed', 'planning'), ('crashed', 'applying'), ('crashed', 'cancelled'),
    ('cancelled', 'planning'), ('cancelled', 'applying'),
    ('refused', 'applying'), ('refused', 'cancelled'),
    ('awaiting_approval', 'approved'), ('awaiting_approval', 'rejected'), ('awaiting_approval', 'expired'),
    ('awaiting_approval', 'superseded'),
    ('approved', 'awaiting_approval'), ('approved', 'rejected'), ('approved', 'superseded')))
  EXECUTE FUNCTION night.refuse_state();

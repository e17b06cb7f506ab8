-- An item that failed is pending again once a person approves it anew: the approval checks that its items are pending.
DROP TRIGGER states ON night.plan_items;
CREATE TRIGGER states BEFORE UPDATE OF status ON night.plan_items FOR EACH ROW
  WHEN (OLD.status <> NEW.status AND (OLD.status, NEW.status) NOT IN (
    ('pending', 'approved'), ('pending', 'rejected'), ('approved', 'pending'), ('approved', 'rejected'),
    ('approved', 'applied'), ('approved', 'skipped_stale'), ('approved', 'failed'), ('approved', 'noop'),
    ('applied', 'undone'), ('undone', 'applied'), ('failed', 'pending')))
  EXECUTE FUNCTION night.refuse_state();

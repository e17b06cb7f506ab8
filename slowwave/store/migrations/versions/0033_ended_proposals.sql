-- Takes the words out of proposals that are older than an instant and of which nothing can come: they were refused or rejected, or their
-- plan holds no item that waits, is approved, stands, or was undone and can be redone. The row stays, as the same is proposed once.
CREATE FUNCTION memory.forget_proposals(scope uuid, before timestamptz) RETURNS bigint
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  WITH gone AS (
    UPDATE memory.proposals p SET about = 'past its retention', actions = '[]', reason = '', said = ''
     WHERE p.namespace_id = scope AND p.recorded_at < before AND p.about <> 'past its retention'
       AND (p.state IN ('refused', 'rejected') OR p.state = 'planned' AND NOT EXISTS (SELECT 1 FROM night.plan_items i
         WHERE i.plan_hash = p.plan_hash AND i.status IN ('pending', 'approved', 'applied', 'undone')))
    RETURNING 1)
  SELECT count(*) FROM gone
$$;
GRANT UPDATE (reason, said) ON memory.proposals TO slowwave_recorder;
GRANT SELECT (status) ON night.plan_items TO slowwave_recorder;
SELECT night.as_definer('memory.forget_proposals(uuid, timestamptz)');
GRANT EXECUTE ON FUNCTION memory.forget_proposals(uuid, timestamptz) TO slowwave_applier;

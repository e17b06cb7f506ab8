-- The server could lock any name: a whole namespace, so that batches wait, or a page. It needs the subject of a claim that it stores, by the id
-- or the reference of the entity, in a namespace that exists.
CREATE FUNCTION memory.lock_subject(scope uuid, subject text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF subject IS NULL OR NOT EXISTS (SELECT FROM memory.namespaces n WHERE n.id = scope)
     OR subject !~ '^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(person|project|concept|decision|core):[a-z0-9][a-z0-9-]{0,119})$' THEN
    RAISE EXCEPTION 'The subject of a claim is locked by the id or the reference of an entity, in a namespace that exists. Nothing was stored.'
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  PERFORM memory.lock_name(scope::text || subject, 4);
END $$;
SELECT night.as_definer('memory.lock_subject(uuid, text)');
GRANT EXECUTE ON FUNCTION memory.lock_subject(uuid, text) TO slowwave_server;
REVOKE EXECUTE ON FUNCTION memory.lock_name(text, integer) FROM slowwave_server;

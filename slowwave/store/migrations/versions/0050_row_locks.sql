-- Locks of names: of a namespace's claims and batches, of a page's path, of a claim's subject. Advisory locks had keys that any login could
-- compute and hold, without a right on these schemas. A row here can be locked only by the functions below, and those only by our roles.
CREATE TABLE memory.lock_rows (
  key bigint NOT NULL,
  PRIMARY KEY (key)
);
GRANT SELECT, INSERT, UPDATE ON memory.lock_rows TO slowwave_recorder;

-- Holds a name until the transaction ends. The row is made when a name is locked first: two that make it meet at the primary key.
CREATE FUNCTION memory.lock_name(name text, seed integer) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  of_name bigint := hashtextextended(name, seed);
BEGIN
  PERFORM FROM memory.lock_rows r WHERE r.key = of_name FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO memory.lock_rows (key) VALUES (of_name) ON CONFLICT DO NOTHING;
    PERFORM FROM memory.lock_rows r WHERE r.key = of_name FOR UPDATE;
  END IF;
END $$;

-- The same, where no other transaction holds it: whether it is held now. Never waits.
CREATE FUNCTION memory.try_lock_name(name text, seed integer) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM memory.lock_rows r WHERE r.key = hashtextextended(name, seed) FOR UPDATE SKIP LOCKED;
  RETURN FOUND;
END $$;

-- The same, beside others that hold it in this way.
CREATE FUNCTION memory.lock_name_shared(name text, seed integer) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  of_name bigint := hashtextextended(name, seed);
BEGIN
  PERFORM FROM memory.lock_rows r WHERE r.key = of_name FOR SHARE;
  IF NOT FOUND THEN
    INSERT INTO memory.lock_rows (key) VALUES (of_name) ON CONFLICT DO NOTHING;
    PERFORM FROM memory.lock_rows r WHERE r.key = of_name FOR SHARE;
  END IF;
END $$;

-- The sessions that hold a name alone; where a savepoint took it, whose number nothing shows once it is released, those that hold any name.
-- PostgreSQL shows their statements to members of their role and of pg_read_all_stats.
CREATE FUNCTION memory.name_holders(name text, seed integer) RETURNS SETOF integer
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH known AS (
    SELECT l.pid FROM memory.lock_rows r JOIN pg_locks l ON l.locktype = 'transactionid' AND l.granted AND l.transactionid = r.xmax
    WHERE r.key = hashtextextended(name, seed) AND l.pid <> pg_backend_pid()
  )
  SELECT k.pid FROM known k UNION SELECT l.pid FROM pg_locks l WHERE NOT EXISTS (SELECT FROM known) AND l.granted
    AND l.locktype = 'relation' AND l.relation = 'memory.lock_rows'::regclass AND l.pid <> pg_backend_pid()
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
$$;

SELECT night.as_definer('memory.lock_name(text, integer)');
SELECT night.as_definer('memory.try_lock_name(text, integer)');
SELECT night.as_definer('memory.lock_name_shared(text, integer)');
SELECT night.as_definer('memory.name_holders(text, integer)');
-- The server locks the subject of a claim and needs no other function. Only batches of the applier share a name.
GRANT EXECUTE ON FUNCTION memory.lock_name(text, integer) TO slowwave_planner, slowwave_approver, slowwave_applier, slowwave_server;
GRANT EXECUTE ON FUNCTION memory.try_lock_name(text, integer), memory.name_holders(text, integer)
  TO slowwave_planner, slowwave_approver, slowwave_applier;
GRANT EXECUTE ON FUNCTION memory.lock_name_shared(text, integer) TO slowwave_applier;

-- The names that every run locks are there as soon as their namespace is.
CREATE FUNCTION memory.make_lock_rows() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO memory.lock_rows (key) SELECT hashtextextended(NEW.id::text, seed) FROM unnest(ARRAY[0, 1, 4]) AS seed ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
SELECT night.as_definer('memory.make_lock_rows()');
CREATE TRIGGER lock_rows AFTER INSERT ON memory.namespaces FOR EACH ROW EXECUTE FUNCTION memory.make_lock_rows();
INSERT INTO memory.lock_rows (key) SELECT hashtextextended(n.id::text, seed) FROM memory.namespaces n, unnest(ARRAY[0, 1, 4]) AS seed
  ON CONFLICT DO NOTHING;

-- Functions of earlier migrations lock the same names in the same order by rows. Of them nothing else changes.
DO $$
DECLARE
  stored record;
BEGIN
  FOR stored IN SELECT p.oid::regprocedure AS routine, pg_get_functiondef(p.oid) AS was FROM pg_proc p
    WHERE p.pronamespace IN ('memory'::regnamespace, 'night'::regnamespace) AND p.prokind = 'f'
      AND p.prosrc ~ 'pg_advisory_xact_lock(_shared)?\(hashtextextended\('
    ORDER BY p.oid
  LOOP
    EXECUTE regexp_replace(stored.was,
      'pg_advisory_xact_lock(_shared)?\(hashtextextended\(([^\n]+), (\d+)\)\);', 'memory.lock_name\1(\2, \3);', 'g');
  END LOOP;
END $$;

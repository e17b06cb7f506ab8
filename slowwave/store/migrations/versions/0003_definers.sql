-- Whoever makes a table may hang any function on it that he may execute: functions that triggers run are nobody's to execute.
REVOKE ALL ON ALL ROUTINES IN SCHEMA memory, night FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON ROUTINES FROM PUBLIC;

-- Makes a function run with the rights of a role that nobody logs in as; how to use it stands in 0003_definers.py.
CREATE FUNCTION night.as_definer(routine regprocedure, definer name DEFAULT 'slowwave_recorder') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  home name := (SELECT n.nspname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.oid = routine);
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = definer
                 AND NOT (rolcanlogin OR rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)) THEN
    RAISE EXCEPTION '% must not own a function that runs with its owner''s rights: name a role without login and attributes.', definer;
  END IF;
  EXECUTE format('ALTER ROUTINE %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp', routine);
  EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', routine);
  EXECUTE format('GRANT CREATE ON SCHEMA %I TO %I', home, definer); -- its owner-to-be must have it at that moment
  EXECUTE format('ALTER ROUTINE %s OWNER TO %I', routine, definer);
  EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM %I', home, definer);
END $$;

-- The owner of what notes changes can do that and nothing else.
GRANT USAGE ON SCHEMA memory TO slowwave_recorder;
GRANT INSERT ON memory.changes TO slowwave_recorder;

-- A column of a caller's own type would bring casts and operators that run with these functions' rights, so types are looked at first.
CREATE OR REPLACE FUNCTION memory.note_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_SCHEMA <> 'memory'
     OR (SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = TG_RELID AND a.attname = 'namespace_id')
        IS DISTINCT FROM 'uuid'::regtype THEN
    RAISE EXCEPTION '%.% is no table of memory: its changes are not noted.', TG_TABLE_SCHEMA, TG_TABLE_NAME;
  END IF;
  INSERT INTO memory.changes (namespace_id, table_name) SELECT DISTINCT r.namespace_id, TG_TABLE_NAME FROM changed r;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION memory.note_updates() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_SCHEMA <> 'memory'
     OR (SELECT array_agg(a.atttypid ORDER BY a.attname) FROM pg_attribute a
         WHERE a.attrelid = TG_RELID AND a.attname IN ('content_version', 'id', 'namespace_id'))
        IS DISTINCT FROM ARRAY['bigint'::regtype::oid, 'uuid'::regtype::oid, 'uuid'::regtype::oid] THEN
    RAISE EXCEPTION '%.% is no table of memory: its changes are not noted.', TG_TABLE_SCHEMA, TG_TABLE_NAME;
  END IF;
  INSERT INTO memory.changes (namespace_id, table_name)
  SELECT DISTINCT n.namespace_id, TG_TABLE_NAME
  FROM after_rows n JOIN before_rows o USING (id) WHERE n.content_version <> o.content_version;
  RETURN NULL;
END $$;

SELECT night.as_definer('memory.note_rows()');
SELECT night.as_definer('memory.note_updates()');

-- Runs for every row that changes, where setting a search_path would cost more than the function: it names what it uses in full.
CREATE OR REPLACE FUNCTION memory.bump_content_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.content_version := OLD.content_version OPERATOR(pg_catalog.+) 1;
  NEW.updated_at := pg_catalog.clock_timestamp();
  RETURN NEW;
END $$;

-- The other functions run with their caller's rights, and look names up in one place as well.
ALTER FUNCTION memory.ensure_recall_partitions(timestamptz, timestamptz) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION memory.refuse_unless_undo() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION night.refuse_change() SET search_path = pg_catalog, pg_temp;

-- pgvector's types and operator classes are named by the schema that it lies in.
CREATE OR REPLACE FUNCTION memory.register_vector_model(new_model text, new_dimensions integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  known integer;
  described text;
  kind text;
  home name := (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector');
BEGIN
  SELECT dimensions INTO known FROM memory.vector_models WHERE model = new_model;
  IF known IS NOT NULL AND known <> new_dimensions THEN
    RAISE EXCEPTION 'Model % is registered with % dimensions and cannot have % as well. Give the other model a name of its own.',
      new_model, known, new_dimensions;
  END IF;
  IF known IS NOT NULL THEN
    RETURN;
  END IF;
  INSERT INTO memory.vector_models (model, dimensions) VALUES (new_model, new_dimensions) ON CONFLICT DO NOTHING;
  kind := CASE WHEN new_dimensions <= 2000 THEN 'vector' WHEN new_dimensions <= 4000 THEN 'halfvec' END;
  IF kind IS NULL THEN
    RETURN; -- beyond what HNSW takes; searches of such a model are exact
  END IF;
  FOREACH described IN ARRAY ARRAY['entity_vectors', 'chunk_vectors', 'memory_vectors'] LOOP
    EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON memory.%I USING hnsw ((vector::%I.%I(%s)) %I.%I) WHERE model = %L',
      described || '_hnsw_' || left(md5(new_model), 12), described, home, kind, new_dimensions,
      home, kind || '_cosine_ops', new_model);
  END LOOP;
END $$;

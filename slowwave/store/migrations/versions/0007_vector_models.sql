-- Apply enters a model with its first vectors. Only a table's owner may build an index, so that is a step of its own.
GRANT INSERT ON memory.vector_models TO slowwave_applier;

-- What a model's vectors are indexed as; NULL beyond what HNSW takes, where searches are exact.
CREATE FUNCTION memory.indexed_as(dimensions integer) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
  RETURN CASE WHEN dimensions <= 2000 THEN 'vector' WHEN dimensions <= 4000 THEN 'halfvec' END;

CREATE FUNCTION memory.vector_index(described text, of_model text) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
  RETURN described || '_hnsw_' || left(md5(of_model), 12);

-- Build what a registered model lacks; returns how many indexes that were. pgvector's names are those of the schema that it lies in.
CREATE FUNCTION memory.index_vector_model(of_model text, dimensions integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  home name := (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector');
  kind text := memory.indexed_as(dimensions);
  described text;
  made integer := 0;
BEGIN
  FOREACH described IN ARRAY ARRAY['entity_vectors', 'chunk_vectors', 'memory_vectors'] LOOP
    IF kind IS NOT NULL AND to_regclass(format('memory.%I', memory.vector_index(described, of_model))) IS NULL THEN
      EXECUTE format('CREATE INDEX %I ON memory.%I USING hnsw ((vector::%I.%I(%s)) %I.%I) WHERE model = %L',
        memory.vector_index(described, of_model), described, home, kind, dimensions, home, kind || '_cosine_ops', of_model);
      made := made + 1;
    END IF;
  END LOOP;
  RETURN made;
END $$;

CREATE OR REPLACE FUNCTION memory.register_vector_model(new_model text, new_dimensions integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  known integer;
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
  PERFORM memory.index_vector_model(new_model, new_dimensions);
END $$;

-- Stores of others in this database: which binding describes them (`kind`, or a person's own in `binding`), and never how anybody logs in.
-- `fingerprint` is what their tables looked like when they were connected. One that is disconnected keeps its row, and its namespaces their
-- history.
CREATE TABLE night.stores (
  name text NOT NULL,
  kind text NOT NULL,
  binding text DEFAULT '' NOT NULL,
  parameters jsonb DEFAULT '{}' NOT NULL,
  fingerprint jsonb DEFAULT '{}' NOT NULL,
  embedding_model text DEFAULT '' NOT NULL,
  writing boolean DEFAULT false NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  disconnected_at timestamptz,
  PRIMARY KEY (name)
);

-- The namespaces of a store by what they are called there: a user, a prefix, a bank; null where the whole store is one. `sign` is of the
-- rows as the last night saw them.
CREATE TABLE night.store_namespaces (
  namespace_id uuid NOT NULL,
  store text NOT NULL,
  native text,
  sign text DEFAULT '' NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (namespace_id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  FOREIGN KEY(store) REFERENCES night.stores (name)
);
CREATE UNIQUE INDEX store_namespaces_native ON night.store_namespaces (store, coalesce('=' || native, ''));

-- What a store has no column for, of rows that lie there: column of the catalogue and its value.
CREATE TABLE night.overlay (
  namespace_id uuid NOT NULL,
  table_name text NOT NULL,
  row_id uuid NOT NULL,
  cells jsonb DEFAULT '{}' NOT NULL,
  PRIMARY KEY (namespace_id, table_name, row_id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  CONSTRAINT overlay_cells CHECK (jsonb_typeof(cells) = 'object')
);

GRANT SELECT ON night.stores, night.store_namespaces, night.overlay
  TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;

-- An instant that stands somewhere as text, or null for what is none or lies outside the years 1 to 9999.
CREATE FUNCTION night.instant_of(written text) RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found timestamptz;
BEGIN
  IF written IS NULL OR written !~ '^\s*\d{4}-\d\d-\d\d' THEN
    RETURN NULL;
  END IF;
  found := written::timestamptz;
  RETURN CASE WHEN found >= '0001-01-01 00:00+00' AND found < '10000-01-01 00:00+00' THEN found END;
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END $$;
GRANT EXECUTE ON FUNCTION night.instant_of(text) TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;

-- Enters namespaces that were seen in a store: their names there and here, in pairs. Those known already stay as they are; one whose name
-- here is taken is left out. Returns how many are new.
CREATE FUNCTION night.add_store_namespaces(of_store text, natives text[], slugs text[], with_settings jsonb) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  added integer;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM night.stores s WHERE s.name = of_store AND s.disconnected_at IS NULL) THEN
    RAISE EXCEPTION 'No such store is connected. Nothing was entered.' USING ERRCODE = 'no_data_found';
  END IF;
  IF jsonb_typeof(with_settings) IS DISTINCT FROM 'object' OR coalesce(cardinality(natives), 0) <> coalesce(cardinality(slugs), 0)
     OR EXISTS (SELECT 1 FROM unnest(slugs) s WHERE s IS NULL OR s !~ '^[a-z0-9][a-z0-9._-]{0,99}$') THEN
    RAISE EXCEPTION 'A namespace of a store has a plain name of its own. Nothing was entered.';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(of_store, 28));
  WITH wanted AS (
    SELECT w.native, w.slug FROM unnest(natives, slugs) AS w (native, slug)
    WHERE NOT EXISTS (SELECT 1 FROM night.store_namespaces k WHERE k.store = of_store AND k.native IS NOT DISTINCT FROM w.native)
  ), made AS (
    INSERT INTO memory.namespaces (id, slug, settings) SELECT gen_random_uuid(), w.slug, with_settings FROM wanted w
    ON CONFLICT DO NOTHING RETURNING id, slug
  )
  INSERT INTO night.store_namespaces (namespace_id, store, native) SELECT m.id, of_store, w.native FROM made m JOIN wanted w USING (slug);
  GET DIAGNOSTICS added = ROW_COUNT;
  RETURN added;
END $$;

-- Notes the namespaces of a store whose rows have another sign than the last time, each as a change as of any table of memory. Returns how
-- many they are.
CREATE FUNCTION night.note_signs(of_store text, namespaces uuid[], signs text[]) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  noted integer;
BEGIN
  WITH seen AS (
    UPDATE night.store_namespaces k SET sign = w.sign FROM unnest(namespaces, signs) AS w (id, sign)
    WHERE k.namespace_id = w.id AND k.store = of_store AND k.sign IS DISTINCT FROM w.sign RETURNING k.namespace_id
  )
  INSERT INTO memory.changes (namespace_id, table_name) SELECT s.namespace_id, of_store FROM seen s;
  GET DIAGNOSTICS noted = ROW_COUNT;
  RETURN noted;
END $$;

GRANT USAGE ON SCHEMA night TO slowwave_recorder;
GRANT SELECT ON night.stores TO slowwave_recorder;
GRANT SELECT, INSERT, UPDATE (sign) ON night.store_namespaces TO slowwave_recorder;
GRANT INSERT (id, slug, settings) ON memory.namespaces TO slowwave_recorder;
SELECT night.as_definer('night.add_store_namespaces(text, text[], text[], jsonb)');
SELECT night.as_definer('night.note_signs(text, uuid[], text[])');
GRANT EXECUTE ON FUNCTION night.add_store_namespaces(text, text[], text[], jsonb), night.note_signs(text, uuid[], text[])
  TO slowwave_planner;

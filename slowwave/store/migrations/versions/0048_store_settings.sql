-- The settings that namespaces of a store get when a night enters them. Only the owner writes this table; a night's login could pass any
-- settings before, among them which policies approve.
ALTER TABLE night.stores ADD COLUMN namespace_settings jsonb DEFAULT '{}' NOT NULL,
  ADD CONSTRAINT stores_namespace_settings CHECK (jsonb_typeof(namespace_settings) = 'object');

-- For stores that are connected already: the operations that are off in every namespace of the store, as its binding turned them off.
UPDATE night.stores s SET namespace_settings = jsonb_build_object('operations', off.operations)
FROM (
  SELECT o.store, jsonb_object_agg(o.operation, '{"enabled": false}'::jsonb) AS operations
  FROM (
    SELECT k.store, e.key AS operation, count(*) AS n FROM night.store_namespaces k JOIN memory.namespaces n ON n.id = k.namespace_id,
      LATERAL jsonb_each(CASE WHEN jsonb_typeof(n.settings -> 'operations') = 'object' THEN n.settings -> 'operations' ELSE '{}' END) e
    WHERE e.value -> 'enabled' = 'false' GROUP BY k.store, e.key
  ) o WHERE o.n = (SELECT count(*) FROM night.store_namespaces k WHERE k.store = o.store) GROUP BY o.store
) off WHERE off.store = s.name;

-- Enters namespaces that were seen in a store: their names there and here, in pairs. Known ones stay unchanged; one whose name is taken here is
-- left out. Two nights that enter the same namespace meet at its slug, which is unique. Returns the number of new namespaces.
DROP FUNCTION night.add_store_namespaces(text, text[], text[], jsonb);
CREATE FUNCTION night.add_store_namespaces(of_store text, natives text[], slugs text[]) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  its_settings jsonb;
  added integer;
BEGIN
  SELECT s.namespace_settings INTO its_settings FROM night.stores s WHERE s.name = of_store AND s.disconnected_at IS NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'No such store is connected. Nothing was entered.' USING ERRCODE = 'no_data_found';
  END IF;
  IF coalesce(cardinality(natives), 0) <> coalesce(cardinality(slugs), 0)
     OR EXISTS (SELECT 1 FROM unnest(slugs) s WHERE s IS NULL OR s !~ '^[a-z0-9][a-z0-9._-]{0,99}$') THEN
    RAISE EXCEPTION 'A namespace of a store has a plain name of its own. Nothing was entered.';
  END IF;
  WITH wanted AS (
    SELECT w.native, w.slug FROM unnest(natives, slugs) AS w (native, slug)
    WHERE NOT EXISTS (SELECT 1 FROM night.store_namespaces k WHERE k.store = of_store AND k.native IS NOT DISTINCT FROM w.native)
  ), made AS (
    INSERT INTO memory.namespaces (id, slug, settings) SELECT gen_random_uuid(), w.slug, its_settings FROM wanted w
    ON CONFLICT DO NOTHING RETURNING id, slug
  )
  INSERT INTO night.store_namespaces (namespace_id, store, native) SELECT m.id, of_store, w.native FROM made m JOIN wanted w USING (slug);
  GET DIAGNOSTICS added = ROW_COUNT;
  RETURN added;
END $$;
SELECT night.as_definer('night.add_store_namespaces(text, text[], text[])');
GRANT EXECUTE ON FUNCTION night.add_store_namespaces(text, text[], text[]) TO slowwave_planner;

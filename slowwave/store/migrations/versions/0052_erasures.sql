-- A row that a plan forgot for good. The record holds ids and no text. It stays, so that an import of the same row leaves it out.
CREATE TABLE memory.erasures (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  namespace_id uuid NOT NULL,
  table_name text NOT NULL,
  row_id uuid NOT NULL, -- of session_items, which have numbers: memory.session_item_id
  reason text DEFAULT '' NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  recorded_by uuid, -- the item of the plan
  PRIMARY KEY (id),
  FOREIGN KEY (namespace_id) REFERENCES memory.namespaces (id),
  CONSTRAINT erasures_table CHECK (table_name IN ('memories', 'memory_versions', 'promotions', 'claim_events', 'memory_facts', 'entities',
    'entity_aliases', 'relationships', 'documents', 'chunks', 'links', 'communities', 'pages', 'recall_events', 'session_items'))
);
CREATE INDEX erasures_row ON memory.erasures (namespace_id, row_id);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON memory.erasures FOR EACH ROW EXECUTE FUNCTION night.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON memory.erasures FOR EACH STATEMENT EXECUTE FUNCTION night.refuse_change();

CREATE FUNCTION memory.session_item_id(scope uuid, item bigint) RETURNS uuid LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT md5(scope::text || '/' || item::text)::uuid
$$;

-- Deletes what the records name, with the parts that belong to it alone. Only an approved item of a plan may ask for that, and only for the
-- rows that it lists: the applier has no other way to delete a row that is not retired.
CREATE FUNCTION memory.erase_rows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  within uuid := (SELECT DISTINCT namespace_id FROM changed);
  going_memories uuid[] := ARRAY(SELECT row_id FROM changed WHERE table_name = 'memories');
  going_entities uuid[] := ARRAY(SELECT row_id FROM changed WHERE table_name = 'entities');
  going_documents uuid[] := ARRAY(SELECT row_id FROM changed WHERE table_name = 'documents');
  going_chunks uuid[] := ARRAY(SELECT row_id FROM changed WHERE table_name = 'chunks');
  going_others uuid[] := ARRAY(SELECT row_id FROM changed WHERE table_name NOT IN ('memories', 'entities', 'documents', 'chunks', 'session_items'));
  going_items uuid[] := ARRAY(SELECT row_id FROM changed WHERE table_name = 'session_items');
BEGIN
  IF EXISTS (
    SELECT c.table_name, c.row_id, c.recorded_by, c.namespace_id FROM changed c EXCEPT
    SELECT e -> 3 ->> 'table_name', (e -> 3 ->> 'row_id')::uuid, i.item_id, i.namespace_id
      FROM night.plan_items i, jsonb_array_elements(i.mutation -> 'inserts') e
     WHERE i.item_id IN (SELECT recorded_by FROM changed) AND i.status = 'approved' AND i.mutation ->> 'kind' = 'forget_rows' AND e ->> 0 = 'erasures')
  THEN
    RAISE EXCEPTION 'Only an approved plan forgets rows for good, and only those that it lists. Nothing was deleted.' USING ERRCODE = 'insufficient_privilege';
  END IF;
  PERFORM set_config('slowwave.purge', 'on', true);
  going_chunks := going_chunks || ARRAY(SELECT t.id FROM memory.chunks t WHERE t.document_id = ANY (going_documents) AND t.namespace_id = within);
  DELETE FROM memory.memory_vectors t WHERE t.id = ANY (going_memories) AND t.namespace_id = within;
  DELETE FROM memory.promotions t WHERE (t.id = ANY (going_others) OR t.memory_id = ANY (going_memories)) AND t.namespace_id = within;
  DELETE FROM memory.claim_events t WHERE (t.id = ANY (going_others) OR t.claim_id = ANY (going_memories)) AND t.namespace_id = within;
  DELETE FROM memory.memory_versions t WHERE (t.id = ANY (going_others) OR t.memory_id = ANY (going_memories)) AND t.namespace_id = within;
  DELETE FROM memory.memories t WHERE t.id = ANY (going_memories) AND t.namespace_id = within;
  DELETE FROM memory.memory_facts t WHERE t.id = ANY (going_others) AND t.namespace_id = within;
  DELETE FROM memory.entity_vectors t WHERE t.id = ANY (going_entities) AND t.namespace_id = within;
  DELETE FROM memory.entity_aliases t WHERE (t.id = ANY (going_others) OR t.entity_id = ANY (going_entities)) AND t.namespace_id = within;
  DELETE FROM memory.relationships t WHERE (t.id = ANY (going_others) OR t.source_entity_id = ANY (going_entities) OR t.target_entity_id = ANY (going_entities))
    AND t.namespace_id = within;
  UPDATE memory.links t SET target_document_id = NULL WHERE t.target_document_id = ANY (going_documents) AND t.namespace_id = within;
  DELETE FROM memory.links t WHERE (t.id = ANY (going_others) OR t.entity_id = ANY (going_entities) OR t.document_id = ANY (going_documents))
    AND t.namespace_id = within;
  DELETE FROM memory.entities t WHERE t.id = ANY (going_entities) AND t.namespace_id = within;
  DELETE FROM memory.chunk_vectors t WHERE t.id = ANY (going_chunks) AND t.namespace_id = within;
  DELETE FROM memory.chunks t WHERE t.id = ANY (going_chunks) AND t.namespace_id = within;
  DELETE FROM memory.documents t WHERE t.version_of = ANY (going_documents) AND t.namespace_id = within;
  DELETE FROM memory.documents t WHERE t.id = ANY (going_documents) AND t.namespace_id = within;
  DELETE FROM memory.communities t WHERE t.id = ANY (going_others) AND t.namespace_id = within;
  DELETE FROM memory.pages t WHERE t.id = ANY (going_others) AND t.namespace_id = within;
  DELETE FROM memory.recall_events t WHERE t.id = ANY (going_others) AND t.namespace_id = within;
  DELETE FROM memory.session_items t WHERE memory.session_item_id(t.namespace_id, t.id) = ANY (going_items) AND t.namespace_id = within;
  DELETE FROM memory.search_texts t WHERE t.id = ANY (going_memories || going_entities || going_chunks) AND t.namespace_id = within;
  PERFORM set_config('slowwave.purge', 'off', true);
  RETURN NULL;
END $$;

GRANT SELECT ON memory.erasures TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier, slowwave_server;
GRANT INSERT, UPDATE ON memory.erasures TO slowwave_applier; -- UPDATE to lock them: the trigger refuses every update
GRANT SELECT (item_id, namespace_id, status, mutation) ON night.plan_items TO slowwave_recorder;
GRANT SELECT, DELETE ON memory.memories, memory.memory_versions, memory.memory_vectors, memory.promotions, memory.claim_events,
  memory.memory_facts, memory.entities, memory.entity_vectors, memory.entity_aliases, memory.relationships, memory.links, memory.documents,
  memory.chunks, memory.chunk_vectors, memory.communities, memory.pages, memory.recall_events, memory.session_items, memory.search_texts
  TO slowwave_recorder;
GRANT EXECUTE ON FUNCTION memory.session_item_id(uuid, bigint) TO slowwave_reader, slowwave_planner, slowwave_recorder;
SELECT night.as_definer('memory.erase_rows()');
CREATE TRIGGER erase AFTER INSERT ON memory.erasures REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.erase_rows();

-- A page that a plan forgot for good leaves hashes here and no text: one of its path, unless another page is there now, and one of each text
-- that it had. A file or session with such a path or text is not imported again. Pages that `slowwave purge` deleted have none.
ALTER TABLE memory.purges ADD COLUMN tombstones text[] DEFAULT '{}' NOT NULL;

CREATE FUNCTION memory.path_tombstone(scope uuid, path text) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT encode(sha256(convert_to(scope::text || '/' || path, 'UTF8')), 'hex')
$$;

CREATE FUNCTION night.model_answer_id(scope uuid, key text) RETURNS uuid LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT md5(scope::text || '/' || key)::uuid
$$;

-- Deletes documents with their versions, passages, vectors and links. The file of a live page of a followed folder is to be removed as well.
-- Links of other pages point to nothing then, and mentions end.
CREATE FUNCTION memory.delete_documents(scope uuid, ids uuid[]) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  passages uuid[] := ARRAY(SELECT c.id FROM memory.chunks c WHERE c.document_id = ANY (ids) AND c.namespace_id = scope);
BEGIN
  PERFORM memory.await_file(scope, d.corpus_id, d.path, d.content_hash) FROM memory.documents d JOIN memory.corpora k ON k.id = d.corpus_id
    WHERE d.id = ANY (ids) AND d.namespace_id = scope AND d.invalidated_at IS NULL AND d.version_of IS NULL
      AND k.invalidated_at IS NULL AND k.root NOT IN ('pages:', 'evidence:', 'sessions:');
  UPDATE memory.links l SET invalidated_at = now() WHERE l.target_document_id = ANY (ids) AND l.namespace_id = scope
    AND l.kind = 'mention' AND l.invalidated_at IS NULL;
  UPDATE memory.links l SET target_document_id = NULL WHERE l.target_document_id = ANY (ids) AND l.namespace_id = scope;
  DELETE FROM memory.links l WHERE l.document_id = ANY (ids) AND l.namespace_id = scope;
  DELETE FROM memory.chunk_vectors v WHERE v.id = ANY (passages);
  DELETE FROM memory.search_texts t WHERE t.id = ANY (passages);
  DELETE FROM memory.chunks c WHERE c.id = ANY (passages);
  DELETE FROM memory.documents d WHERE d.version_of = ANY (ids) AND d.namespace_id = scope;
  DELETE FROM memory.documents d WHERE d.id = ANY (ids) AND d.namespace_id = scope;
END $$;

-- As it was, with the function above in place of its own statements.
DO $$
DECLARE
  was text := pg_get_functiondef('memory.purge_page(text, text, uuid, text, text, text, text, boolean, boolean, boolean)'::regprocedure);
  first integer := strpos(was, '    IF gate.followed THEN');
  last integer := strpos(was, '    INSERT INTO memory.purges');
BEGIN
  IF first = 0 OR last < first THEN
    RAISE EXCEPTION 'memory.purge_page is not the function that this migration changes.';
  END IF;
  EXECUTE left(was, first - 1) || E'    PERFORM memory.delete_documents(gate.scope, documents);\n' || substr(was, last);
END $$;

ALTER TABLE memory.erasures DROP CONSTRAINT erasures_table;
ALTER TABLE memory.erasures ADD CONSTRAINT erasures_table CHECK (table_name IN ('memories', 'memory_versions', 'promotions', 'claim_events',
  'memory_facts', 'entities', 'entity_aliases', 'relationships', 'documents', 'chunks', 'links', 'communities', 'pages', 'recall_events',
  'session_items', 'proposals', 'purges', 'conflicts', 'findings', 'model_answers'));
COMMENT ON COLUMN memory.erasures.row_id IS 'of session_items: memory.session_item_id; of model_answers: night.model_answer_id';

-- As it was, and also pages with their tombstones, and what reports and models said of the rows. What syncs remember of names is dropped.
CREATE OR REPLACE FUNCTION memory.erase_rows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  within uuid := (SELECT DISTINCT namespace_id FROM changed);
  going_memories uuid[] := ARRAY(SELECT row_id FROM changed WHERE table_name = 'memories');
  going_entities uuid[] := ARRAY(SELECT row_id FROM changed WHERE table_name = 'entities');
  going_documents uuid[] := ARRAY(SELECT row_id FROM changed WHERE table_name = 'documents');
  going_chunks uuid[] := ARRAY(SELECT row_id FROM changed WHERE table_name = 'chunks');
  going_others uuid[] := ARRAY(SELECT row_id FROM changed WHERE table_name NOT IN ('memories', 'entities', 'documents', 'chunks', 'session_items', 'model_answers'));
  going_answers uuid[] := ARRAY(SELECT row_id FROM changed WHERE table_name = 'model_answers');
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
  going_documents := going_documents
    || ARRAY(SELECT t.id FROM memory.documents t WHERE t.version_of = ANY (going_documents) AND t.namespace_id = within);
  INSERT INTO memory.purges (namespace_id, path, reason, agent, bytes, tombstones)
    SELECT within, '', 'A plan forgot it.', '', sum(octet_length(t.content)), array_remove(array_agg(DISTINCT t.content_hash)
      || array_agg(DISTINCT memory.path_tombstone(within, t.path)) FILTER (WHERE t.version_of IS NULL AND NOT EXISTS (
        SELECT FROM memory.documents o WHERE o.corpus_id = t.corpus_id AND o.path = t.path AND o.invalidated_at IS NULL
          AND o.id <> ALL (going_documents))), NULL)
    FROM memory.documents t JOIN memory.corpora k ON k.id = t.corpus_id AND k.root <> 'evidence:'
    WHERE t.id = ANY (going_documents) AND t.namespace_id = within GROUP BY coalesce(t.version_of, t.id);
  UPDATE memory.corpora k SET sync_state = jsonb_build_object('turn', coalesce((k.sync_state ->> 'turn')::bigint, 0) + 1)
    WHERE k.namespace_id = within AND k.sync_state <> '{}' AND cardinality(going_documents || going_entities) > 0;
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
  DELETE FROM memory.links t WHERE (t.id = ANY (going_others) OR t.entity_id = ANY (going_entities)) AND t.namespace_id = within;
  PERFORM memory.delete_documents(within, going_documents);
  DELETE FROM memory.entities t WHERE t.id = ANY (going_entities) AND t.namespace_id = within;
  DELETE FROM memory.chunk_vectors t WHERE t.id = ANY (going_chunks) AND t.namespace_id = within;
  DELETE FROM memory.chunks t WHERE t.id = ANY (going_chunks) AND t.namespace_id = within;
  DELETE FROM memory.communities t WHERE t.id = ANY (going_others) AND t.namespace_id = within;
  DELETE FROM memory.pages t WHERE t.id = ANY (going_others) AND t.namespace_id = within;
  DELETE FROM memory.recall_events t WHERE t.id = ANY (going_others) AND t.namespace_id = within;
  DELETE FROM memory.session_items t WHERE memory.session_item_id(t.namespace_id, t.id) = ANY (going_items) AND t.namespace_id = within;
  DELETE FROM memory.search_texts t WHERE t.id = ANY (going_memories || going_entities || going_chunks) AND t.namespace_id = within;
  DELETE FROM memory.proposals t WHERE t.id = ANY (going_others) AND t.namespace_id = within;
  DELETE FROM memory.purges t WHERE t.id = ANY (going_others) AND t.namespace_id = within;
  DELETE FROM night.conflicts t WHERE (t.id = ANY (going_others) OR t.row_a_id = ANY (going_memories || going_others)
    OR t.row_b_id = ANY (going_memories || going_others)) AND t.namespace_id = within;
  DELETE FROM night.findings t WHERE t.id = ANY (going_others) AND t.namespace_id = within;
  DELETE FROM night.model_answers t WHERE night.model_answer_id(t.namespace_id, t.key) = ANY (going_answers) AND t.namespace_id = within;
  PERFORM set_config('slowwave.purge', 'off', true);
  RETURN NULL;
END $$;

GRANT SELECT (id, namespace_id) ON memory.purges, night.findings TO slowwave_recorder;
GRANT SELECT (id, namespace_id, row_a_id, row_b_id) ON night.conflicts TO slowwave_recorder;
GRANT SELECT (namespace_id, key) ON night.model_answers TO slowwave_recorder;
GRANT DELETE ON memory.proposals, memory.purges, night.conflicts, night.findings, night.model_answers TO slowwave_recorder;
GRANT INSERT (tombstones) ON memory.purges TO slowwave_recorder;
GRANT UPDATE (sync_state) ON memory.corpora TO slowwave_recorder;
GRANT EXECUTE ON FUNCTION memory.delete_documents(uuid, uuid[]), memory.path_tombstone(uuid, text) TO slowwave_recorder;
GRANT EXECUTE ON FUNCTION night.model_answer_id(uuid, text) TO slowwave_reader, slowwave_planner, slowwave_recorder;
SELECT night.as_definer('memory.erase_rows()');
SELECT night.as_definer('memory.purge_page(text, text, uuid, text, text, text, text, boolean, boolean, boolean)');

-- A memory that loses its current version has no text, so it has no row in the search index. Until now such a row kept its old words: the
-- function only added and changed rows, for those that it found by a join with the version, and nothing happened when a version was deleted.
CREATE OR REPLACE FUNCTION memory.index_texts(of_kind text, ids uuid[]) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM memory.search_texts t WHERE of_kind = 'memories' AND t.kind = 'memories' AND t.id = ANY (ids) AND NOT EXISTS (
    SELECT FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id WHERE m.id = t.id);
  INSERT INTO memory.search_texts AS t (id, namespace_id, kind, plane, live, length, words)
  SELECT r.id, r.namespace_id, of_kind, r.plane, r.live, s.length, s.words
  FROM (
    SELECT c.id, c.namespace_id, d.plane, c.invalidated_at IS NULL AS live, concat_ws(E'\n', d.title, c.content) AS text
    FROM memory.chunks c JOIN memory.documents d ON d.id = c.document_id WHERE of_kind = 'chunks' AND c.id = ANY (ids)
    UNION ALL
    SELECT e.id, e.namespace_id, 'durable', e.invalidated_at IS NULL AND e.state = 'active', concat_ws(' ', e.name, e.description,
      (SELECT string_agg(a.alias, ' ' ORDER BY a.id) FROM memory.entity_aliases a WHERE a.entity_id = e.id))
    FROM memory.entities e WHERE of_kind = 'entities' AND e.id = ANY (ids)
    UNION ALL
    SELECT m.id, m.namespace_id, 'durable', m.invalidated_at IS NULL AND m.state = 'active', concat_ws(E'\n', m.subject, v.content)
    FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
    WHERE of_kind = 'memories' AND m.id = ANY (ids)
  ) AS r, memory.search_terms(r.namespace_id, r.text) AS s
  ORDER BY r.id
  ON CONFLICT (id) DO UPDATE SET plane = excluded.plane, live = excluded.live, length = excluded.length, words = excluded.words
$$;

-- The row goes with the version that it was made of, in whatever order an undo or a purge removes both.
CREATE TRIGGER index_deletes AFTER DELETE ON memory.memory_versions REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
  EXECUTE FUNCTION memory.index_new_texts();

DELETE FROM memory.search_texts t WHERE t.kind = 'memories' AND NOT EXISTS (
  SELECT FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id WHERE m.id = t.id);

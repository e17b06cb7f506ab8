-- A passage that is a message has the name of its speaker, which searches compare with the query as they do its text. A vector names the
-- speaker it was made with. If the two differ, `slowwave reembed` makes the vector anew; vectors from before were made of the text alone.
ALTER TABLE memory.chunks ADD COLUMN speaker text;
ALTER TABLE memory.chunk_vectors ADD COLUMN speaker text;

-- An import gave a message's memory and passage one external id; passages of later wordings have "#2", "#3", … after it. If two memories
-- fit, the passage belongs to the one with exactly its id. Roles of a chat ("user", "assistant", …) name no one.
WITH spoken AS (
  SELECT DISTINCT ON (c.id) c.id, btrim(m.author) AS speaker, m.kind FROM memory.chunks c
  JOIN memory.documents d ON d.id = c.document_id AND d.corpus_id IS NULL
  JOIN memory.memories m ON m.namespace_id = c.namespace_id
    AND m.external_id = ANY (ARRAY[c.external_id, regexp_replace(c.external_id, '#[0-9]+$', '')])
  WHERE c.external_id IS NOT NULL
  ORDER BY c.id, m.external_id = c.external_id DESC)
UPDATE memory.chunks c SET speaker = s.speaker FROM spoken s
WHERE c.id = s.id AND s.speaker <> '' AND s.kind IN ('episodic', 'working', 'event') AND lower(s.speaker) <> ALL (ARRAY['agent', 'ai',
  'assistant', 'bot', 'developer', 'function', 'human', 'memory_block', 'model', 'system', 'tool', 'user']);

DROP TRIGGER content_version ON memory.chunks;
CREATE TRIGGER content_version BEFORE UPDATE ON memory.chunks FOR EACH ROW
  WHEN ((OLD.external_id, OLD.document_id, OLD.ordinal, OLD.content, OLD.recorded_at, OLD.invalidated_at, OLD.invalidated_by) IS DISTINCT FROM (NEW.external_id, NEW.document_id, NEW.ordinal, NEW.content, NEW.recorded_at, NEW.invalidated_at, NEW.invalidated_by)
    OR (OLD.start_line, OLD.end_line, OLD.content_hash, OLD.speaker) IS DISTINCT FROM (NEW.start_line, NEW.end_line, NEW.content_hash, NEW.speaker))
  EXECUTE FUNCTION memory.bump_content_version();
DROP TRIGGER index_updates ON memory.chunks;
CREATE TRIGGER index_updates AFTER UPDATE OF content, speaker ON memory.chunks FOR EACH ROW
  WHEN ((OLD.content, OLD.speaker) IS DISTINCT FROM (NEW.content, NEW.speaker)) EXECUTE FUNCTION memory.index_changed_text();

CREATE OR REPLACE FUNCTION memory.index_texts(of_kind text, ids uuid[]) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM memory.search_texts t WHERE of_kind = 'memories' AND t.kind = 'memories' AND t.id = ANY (ids) AND NOT EXISTS (
    SELECT FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id WHERE m.id = t.id);
  INSERT INTO memory.search_texts AS t (id, namespace_id, kind, plane, live, length, words)
  SELECT r.id, r.namespace_id, of_kind, r.plane, r.live, s.length, s.words
  FROM (
    SELECT c.id, c.namespace_id, d.plane, c.invalidated_at IS NULL AS live, concat_ws(E'\n', d.title, c.speaker, c.content) AS text
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
SELECT memory.index_texts('chunks', ARRAY(SELECT id FROM memory.chunks WHERE speaker IS NOT NULL));

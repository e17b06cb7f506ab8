-- A passage is searched by the title of its document as well, and a memory by its subject: who asks for a page names it, and only its first
-- passage does. They are words like the others; slowwave.search.rows says the same for snapshots.
CREATE OR REPLACE FUNCTION memory.index_texts(of_kind text, ids uuid[]) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
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


-- A document's plane and title are its chunks'.
CREATE OR REPLACE FUNCTION memory.mark_searched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'documents' THEN
    PERFORM memory.index_texts('chunks', ARRAY(SELECT id FROM memory.chunks WHERE document_id = NEW.id));
  ELSIF TG_TABLE_NAME = 'chunks' THEN
    UPDATE memory.search_texts SET live = NEW.invalidated_at IS NULL WHERE id = NEW.id;
  ELSE
    UPDATE memory.search_texts SET live = NEW.invalidated_at IS NULL AND NEW.state = 'active' WHERE id = NEW.id;
  END IF;
  RETURN NULL;
END $$;

SELECT night.as_definer('memory.mark_searched()');
DROP TRIGGER mark_searched ON memory.documents;
CREATE TRIGGER mark_searched AFTER UPDATE OF plane, title ON memory.documents FOR EACH ROW
  WHEN ((OLD.plane, OLD.title) IS DISTINCT FROM (NEW.plane, NEW.title)) EXECUTE FUNCTION memory.mark_searched();
DROP TRIGGER index_updates ON memory.memories;
CREATE TRIGGER index_updates AFTER UPDATE OF current_version_id, subject ON memory.memories FOR EACH ROW
  WHEN ((OLD.current_version_id, OLD.subject) IS DISTINCT FROM (NEW.current_version_id, NEW.subject))
  EXECUTE FUNCTION memory.index_changed_text();

-- The passage that follows one in its document.
CREATE INDEX chunks_place ON memory.chunks (document_id, ordinal) WHERE invalidated_at IS NULL;

SELECT memory.index_texts('chunks', ARRAY(SELECT c.id FROM memory.chunks c JOIN memory.documents d ON d.id = c.document_id WHERE d.title <> ''));
SELECT memory.index_texts('memories', ARRAY(SELECT id FROM memory.memories WHERE subject <> ''));

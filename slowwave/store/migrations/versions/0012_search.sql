-- What is searched by words: one row for each chunk, entity and memory, with its words and nothing else, so that changing a counter, an
-- array or a timestamp of these never touches a text index. Triggers keep it with the text, in the same transaction. It is derived: no
-- export, digest or comparison rests on it.
CREATE TABLE memory.search_texts (
  id uuid NOT NULL,
  namespace_id uuid NOT NULL,
  kind text NOT NULL, -- chunks, entities or memories
  plane text NOT NULL, -- that of a chunk's document: durable or sessions
  live boolean NOT NULL,
  length integer NOT NULL, -- words, each as often as it stands
  words tsvector NOT NULL, -- see memory.search_terms
  PRIMARY KEY (id),
  FOREIGN KEY (namespace_id) REFERENCES memory.namespaces (id)
) WITH (toast_tuple_target = 128, fillfactor = 90); -- words lie apart: scores need the rest alone
CREATE INDEX search_texts_words ON memory.search_texts USING gin (words);
CREATE INDEX search_texts_namespace ON memory.search_texts (namespace_id);

-- How many live rows a namespace has and how many words they hold: differences, summed up when it is asked and folded now and then, so that
-- two writers never wait for each other.
CREATE TABLE memory.search_statistics (
  namespace_id uuid NOT NULL,
  texts bigint NOT NULL,
  words bigint NOT NULL,
  FOREIGN KEY (namespace_id) REFERENCES memory.namespaces (id)
);
CREATE INDEX search_statistics_namespace ON memory.search_statistics (namespace_id);
GRANT SELECT ON memory.search_texts, memory.search_statistics TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;

-- The words of a text: slowwave.search.words says how, and a test holds them together. Lower case needs a locale that knows letters.
DO $$
DECLARE
  locale text := (SELECT format('%I.%I', 'pg_catalog', c.collname) FROM pg_collation c JOIN unnest(ARRAY['pg_c_utf8', 'und-x-icu', 'C.utf8', 'default'])
    WITH ORDINALITY AS w (name, place) ON w.name = c.collname WHERE c.collnamespace = 'pg_catalog'::regnamespace
    AND c.collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database())) ORDER BY w.place LIMIT 1);
BEGIN
  EXECUTE format($make$
CREATE FUNCTION memory.search_words(content text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $body$
  SELECT CASE WHEN right(w, 1) <> 's' THEN w
    WHEN w ~ '[^ea]ies$' THEN left(w, -3) || 'y'
    WHEN w ~ '.[^aeo]es$' THEN left(w, -1)
    WHEN w ~ '[^us]s$' THEN left(w, -1)
    ELSE w END
  FROM (SELECT left(word, 32) AS w FROM string_to_table(
    regexp_replace(
      regexp_replace(
        regexp_replace(replace(lower(normalize(content, NFKC) COLLATE %s), '’', ''''), '''s(?![0-9a-z_])', '', 'g'),
        '([\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])', ' \1 ', 'g'),
      '[\u0001-\u002f\u003a-\u0040\u005b-\u005e\u0060\u007b-\u00bf\u00d7\u00f7\u2000-\u2bff\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\ufe10-\ufe1f\ufe30-\ufe6f\uff01-\uff0f\U0001f000-\U0001faff]+', ' ', 'g'),
    ' ') AS word WHERE word <> '') AS short
$body$ $make$, locale);
END $$;

-- The terms of a text in a namespace: `tag:word` where the word stands at all, and `tag:word/n` where it stands n times or more, so that
-- the index alone tells how often; the tag keeps other namespaces' texts out of the lists. 8,000 terms at most, the most frequent.
CREATE FUNCTION memory.search_terms(namespace uuid, content text, OUT length integer, OUT words tsvector)
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  WITH counted AS (SELECT w, count(*) AS n FROM memory.search_words(content) AS w GROUP BY w),
  terms AS (
    SELECT left(namespace::text, 8) || ':' || w || CASE level WHEN 1 THEN '' ELSE '/' || level END AS term
    FROM counted JOIN unnest(ARRAY[1, 2, 3, 5, 8]) AS level ON level <= n ORDER BY n DESC, w, level LIMIT 8000)
  SELECT coalesce((SELECT sum(n) FROM counted), 0)::integer, coalesce((SELECT array_to_tsvector(array_agg(term)) FROM terms), '')
$$;

-- Rows by their table and ids, as they stand now, into memory.search_texts.
CREATE FUNCTION memory.index_texts(of_kind text, ids uuid[]) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO memory.search_texts AS t (id, namespace_id, kind, plane, live, length, words)
  SELECT r.id, r.namespace_id, of_kind, r.plane, r.live, s.length, s.words
  FROM (
    SELECT c.id, c.namespace_id, d.plane, c.invalidated_at IS NULL AS live, c.content AS text
    FROM memory.chunks c JOIN memory.documents d ON d.id = c.document_id WHERE of_kind = 'chunks' AND c.id = ANY (ids)
    UNION ALL
    SELECT e.id, e.namespace_id, 'durable', e.invalidated_at IS NULL AND e.state = 'active', concat_ws(' ', e.name, e.description,
      (SELECT string_agg(a.alias, ' ' ORDER BY a.id) FROM memory.entity_aliases a WHERE a.entity_id = e.id))
    FROM memory.entities e WHERE of_kind = 'entities' AND e.id = ANY (ids)
    UNION ALL
    SELECT m.id, m.namespace_id, 'durable', m.invalidated_at IS NULL AND m.state = 'active', v.content
    FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
    WHERE of_kind = 'memories' AND m.id = ANY (ids)
  ) AS r, memory.search_terms(r.namespace_id, r.text) AS s
  ORDER BY r.id
  ON CONFLICT (id) DO UPDATE SET plane = excluded.plane, live = excluded.live, length = excluded.length, words = excluded.words
$$;

-- Triggers: rows that came, a text or name that changed, a row that went or came back, rows that are deleted.
CREATE FUNCTION memory.index_new_texts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  CASE TG_TABLE_NAME
    WHEN 'entity_aliases' THEN PERFORM memory.index_texts('entities', (SELECT array_agg(DISTINCT entity_id) FROM changed));
    WHEN 'memory_versions' THEN PERFORM memory.index_texts('memories', (SELECT array_agg(DISTINCT memory_id) FROM changed));
    ELSE PERFORM memory.index_texts(TG_TABLE_NAME, (SELECT array_agg(id) FROM changed));
  END CASE;
  RETURN NULL;
END $$;

CREATE FUNCTION memory.index_changed_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM memory.index_texts(TG_TABLE_NAME, ARRAY[NEW.id]);
  RETURN NULL;
END $$;

CREATE FUNCTION memory.mark_searched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'documents' THEN
    UPDATE memory.search_texts t SET plane = NEW.plane FROM memory.chunks c WHERE c.document_id = NEW.id AND t.id = c.id;
  ELSIF TG_TABLE_NAME = 'chunks' THEN
    UPDATE memory.search_texts SET live = NEW.invalidated_at IS NULL WHERE id = NEW.id;
  ELSE
    UPDATE memory.search_texts SET live = NEW.invalidated_at IS NULL AND NEW.state = 'active' WHERE id = NEW.id;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION memory.forget_texts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM memory.search_texts WHERE id IN (SELECT id FROM changed);
  RETURN NULL;
END $$;

CREATE FUNCTION memory.count_texts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO memory.search_statistics SELECT namespace_id, count(*), sum(length) FROM after_rows WHERE live GROUP BY namespace_id;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO memory.search_statistics SELECT namespace_id, -count(*), -sum(length) FROM before_rows WHERE live GROUP BY namespace_id;
  ELSE
    INSERT INTO memory.search_statistics SELECT namespace_id, sum(n), sum(w) FROM (
        SELECT namespace_id, 1 AS n, length AS w FROM after_rows WHERE live
        UNION ALL SELECT namespace_id, -1, -length FROM before_rows WHERE live) d
      GROUP BY namespace_id HAVING sum(n) <> 0 OR sum(w) <> 0;
  END IF;
  IF random() < 0.02 THEN -- fold what nobody else is folding
    WITH gone AS (
      DELETE FROM memory.search_statistics WHERE ctid = ANY (ARRAY(SELECT ctid FROM memory.search_statistics
        WHERE namespace_id IN (SELECT namespace_id FROM memory.search_statistics GROUP BY 1 HAVING count(*) > 50) FOR UPDATE SKIP LOCKED))
      RETURNING namespace_id, texts, words)
    INSERT INTO memory.search_statistics SELECT namespace_id, sum(texts), sum(words) FROM gone GROUP BY namespace_id;
  END IF;
  RETURN NULL;
END $$;

GRANT SELECT ON memory.chunks, memory.documents, memory.entities, memory.entity_aliases, memory.memories, memory.memory_versions
  TO slowwave_recorder;
GRANT SELECT, INSERT, UPDATE, DELETE ON memory.search_texts, memory.search_statistics TO slowwave_recorder;
GRANT EXECUTE ON FUNCTION memory.search_words(text), memory.search_terms(uuid, text), memory.index_texts(text, uuid[]) TO slowwave_recorder;
GRANT EXECUTE ON FUNCTION memory.search_words(text), memory.search_terms(uuid, text) TO slowwave_reader;
SELECT night.as_definer('memory.index_new_texts()');
SELECT night.as_definer('memory.index_changed_text()');
SELECT night.as_definer('memory.mark_searched()');
SELECT night.as_definer('memory.forget_texts()');
SELECT night.as_definer('memory.count_texts()');

CREATE TRIGGER count_inserts AFTER INSERT ON memory.search_texts REFERENCING NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION memory.count_texts();
CREATE TRIGGER count_deletes AFTER DELETE ON memory.search_texts REFERENCING OLD TABLE AS before_rows FOR EACH STATEMENT EXECUTE FUNCTION memory.count_texts();
CREATE TRIGGER count_updates AFTER UPDATE ON memory.search_texts REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION memory.count_texts();

CREATE TRIGGER index_inserts AFTER INSERT ON memory.chunks REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.index_new_texts();
CREATE TRIGGER index_inserts AFTER INSERT ON memory.entities REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.index_new_texts();
CREATE TRIGGER index_inserts AFTER INSERT ON memory.entity_aliases REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.index_new_texts();
CREATE TRIGGER index_deletes AFTER DELETE ON memory.entity_aliases REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.index_new_texts();
CREATE TRIGGER index_inserts AFTER INSERT ON memory.memory_versions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.index_new_texts();
CREATE TRIGGER index_updates AFTER UPDATE OF content ON memory.chunks FOR EACH ROW
  WHEN (OLD.content IS DISTINCT FROM NEW.content) EXECUTE FUNCTION memory.index_changed_text();
CREATE TRIGGER index_updates AFTER UPDATE OF name, description ON memory.entities FOR EACH ROW
  WHEN ((OLD.name, OLD.description) IS DISTINCT FROM (NEW.name, NEW.description)) EXECUTE FUNCTION memory.index_changed_text();
CREATE TRIGGER index_updates AFTER UPDATE OF current_version_id ON memory.memories FOR EACH ROW
  WHEN (OLD.current_version_id IS DISTINCT FROM NEW.current_version_id) EXECUTE FUNCTION memory.index_changed_text();
CREATE TRIGGER mark_searched AFTER UPDATE OF invalidated_at ON memory.chunks FOR EACH ROW
  WHEN ((OLD.invalidated_at IS NULL) <> (NEW.invalidated_at IS NULL)) EXECUTE FUNCTION memory.mark_searched();
CREATE TRIGGER mark_searched AFTER UPDATE OF invalidated_at, state ON memory.entities FOR EACH ROW
  WHEN ((OLD.invalidated_at IS NULL AND OLD.state = 'active') <> (NEW.invalidated_at IS NULL AND NEW.state = 'active'))
  EXECUTE FUNCTION memory.mark_searched();
CREATE TRIGGER mark_searched AFTER UPDATE OF invalidated_at, state ON memory.memories FOR EACH ROW
  WHEN ((OLD.invalidated_at IS NULL AND OLD.state = 'active') <> (NEW.invalidated_at IS NULL AND NEW.state = 'active'))
  EXECUTE FUNCTION memory.mark_searched();
CREATE TRIGGER mark_searched AFTER UPDATE OF plane ON memory.documents FOR EACH ROW
  WHEN (OLD.plane <> NEW.plane) EXECUTE FUNCTION memory.mark_searched();
CREATE TRIGGER forget_texts AFTER DELETE ON memory.chunks REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.forget_texts();
CREATE TRIGGER forget_texts AFTER DELETE ON memory.entities REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.forget_texts();
CREATE TRIGGER forget_texts AFTER DELETE ON memory.memories REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.forget_texts();

-- What is shown of a row that was found, and what a scope asks about, under one set of names. Days are ISO texts: frontmatter may hold others.
CREATE VIEW memory.search_rows AS
SELECT c.id, c.namespace_id, 'chunks'::text AS kind, d.plane, c.document_id, d.corpus_id IS NOT NULL AS is_file,
  coalesce(d.path, nullif(d.external_id, ''), 'documents/' || d.id) AS path, d.title, c.content AS text, d.metadata,
  d.metadata->>'type' AS type, coalesce(d.metadata->>'status', 'active') AS status,
  CASE jsonb_typeof(d.metadata->'tags') WHEN 'array' THEN d.metadata->'tags' ELSE '[]' END AS tags,
  d.metadata->>'agent' AS agent, d.metadata->>'device' AS device, d.metadata->>'session_id' AS session_id,
  coalesce(substring(coalesce(d.metadata->>'date', d.metadata->>'updated', d.metadata->>'created') FROM '^\d{4}-\d\d-\d\d'),
    to_char(coalesce(d.valid_from, d.recorded_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD')) AS day,
  c.start_line, c.end_line, c.recorded_at, c.invalidated_at, c.invalidated_at IS NULL AS live
FROM memory.chunks c JOIN memory.documents d ON d.id = c.document_id
UNION ALL
SELECT m.id, m.namespace_id, 'memories', 'durable', NULL, false, 'memories/' || m.id, m.subject, v.content,
  m.attributes || jsonb_build_object('visibility', m.visibility, 'sensitivity', m.sensitivity, 'source', m.source),
  m.kind, CASE WHEN m.invalidated_at IS NULL THEN m.state ELSE 'retired' END,
  CASE jsonb_typeof(m.tags) WHEN 'array' THEN m.tags ELSE '[]' END, m.author, m.attributes->>'device', m.session_id,
  to_char(coalesce(m.valid_from, m.recorded_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD'), NULL, NULL, m.recorded_at, m.invalidated_at,
  m.invalidated_at IS NULL AND m.state = 'active'
FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
UNION ALL
SELECT e.id, e.namespace_id, 'entities', 'durable', NULL, false, 'entities/' || e.id, e.name,
  e.name || ' (' || e.entity_type || ')' || CASE e.description WHEN '' THEN '' ELSE ': ' || e.description END,
  e.attributes || jsonb_build_object('source', e.source), e.entity_type,
  CASE WHEN e.invalidated_at IS NULL THEN e.state ELSE 'retired' END, '[]', NULL, NULL, NULL,
  to_char(coalesce(e.valid_from, e.recorded_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD'), NULL, NULL, e.recorded_at, e.invalidated_at,
  e.invalidated_at IS NULL AND e.state = 'active'
FROM memory.entities e;
GRANT SELECT ON memory.search_rows TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;

SELECT memory.index_texts('chunks', ARRAY(SELECT id FROM memory.chunks));
SELECT memory.index_texts('entities', ARRAY(SELECT id FROM memory.entities));
SELECT memory.index_texts('memories', ARRAY(SELECT id FROM memory.memories));

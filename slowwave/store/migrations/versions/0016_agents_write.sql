-- Whose session may be stored in a namespace by whoever calls: a login that owns memory needs no proof. Any other brings a token that may
-- write there, whole, as the hash that it can read proves nothing. Until the first token is made the store is this machine's alone; that the
-- last one was revoked or has expired opens nothing.
CREATE FUNCTION memory.may_ingest(scope uuid, bearer text) RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_has_role(session_user, (SELECT c.relowner FROM pg_class c WHERE c.oid = 'memory.documents'::regclass), 'USAGE')
    OR NOT EXISTS (SELECT 1 FROM memory.tokens)
    OR EXISTS (SELECT 1 FROM memory.tokens t WHERE t.namespace_id = scope AND t.revoked_at IS NULL AND t.expires_at > now()
      AND 'write' = ANY (t.scopes) AND t.id = substring(bearer FROM '^slw_([0-9a-f]{12})_[0-9a-f]{64}$')
      AND t.hash = sha256(convert_to(right(bearer, 64), 'UTF8')))
$$;

-- Stores a session as a page of the plane of sessions, or its next version where the page is there: `new`, `changed` or `unchanged`. It is
-- all that a server's login can do to documents, chunks and vectors, so it takes nothing on trust: whatever it is given, the page lies under
-- logs/sessions/, is a session and no canonical or public page, its passages stand in it, and vectors are of a model that the store knows.
-- `vectors` has a row for each of `hashes` (SHA-256 of a passage); passages without one get that of an equal passage, where there is one.
CREATE FUNCTION memory.ingest_session(
  to_namespace text, bearer text, at_path text, head text, page text, fields jsonb, told_at timestamptz, hidden boolean,
  passages text[], first_lines integer[], last_lines integer[], of_model text, hashes text[], vectors real[]
) RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  scope uuid;
  closed boolean;
  corpus uuid;
  stored memory.documents;
  document uuid;
  told jsonb;
  page_hash text := encode(sha256(convert_to(page, 'UTF8')), 'hex');
BEGIN
  SELECT n.id, n.read_only INTO scope, closed FROM memory.namespaces n WHERE n.slug = to_namespace;
  IF scope IS NULL OR NOT memory.may_ingest(scope, bearer) THEN
    RAISE EXCEPTION 'A session is stored by a token that may write to its namespace. Nothing was stored.' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF closed THEN
    RAISE EXCEPTION 'The namespace is read-only. Nothing was stored.';
  END IF;
  IF at_path IS NULL OR length(at_path) > 300
     OR at_path !~ '^logs/sessions/([A-Za-z0-9][A-Za-z0-9._-]*/)*[A-Za-z0-9][A-Za-z0-9._-]*\.md$' THEN
    RAISE EXCEPTION 'A session''s page lies under logs/sessions/ and ends in .md. Nothing was stored.';
  END IF;
  IF head IS NULL OR page IS NULL OR fields IS NULL OR hidden IS NULL OR jsonb_typeof(fields) <> 'object' OR length(head) > 400
     OR octet_length(page) NOT BETWEEN 1 AND 2000000 OR octet_length(fields::text) > 200000
     OR coalesce(fields->>'agent', '') = '' OR coalesce(fields->>'session_id', '') = '' THEN
    RAISE EXCEPTION 'A session has a page, a title and fields that name its agent and itself, within bounds. Nothing was stored.';
  END IF;
  passages := coalesce(passages, '{}');
  hashes := coalesce(hashes, '{}');
  IF coalesce(array_ndims(passages), 1) <> 1 OR cardinality(passages) > 2000 OR array_position(passages, NULL) IS NOT NULL
     OR cardinality(first_lines) IS DISTINCT FROM cardinality(passages) OR cardinality(last_lines) IS DISTINCT FROM cardinality(passages)
     OR hidden AND passages <> '{}'
     OR EXISTS (SELECT 1 FROM unnest(passages) p WHERE p = '' OR octet_length(p) > 100000 OR strpos(page, p) = 0) THEN
    RAISE EXCEPTION 'The passages are not those of the page. Nothing was stored.';
  END IF;
  IF hashes <> '{}' AND (coalesce(array_ndims(vectors), 0) <> 2 OR array_length(vectors, 1) <> cardinality(hashes) OR NOT EXISTS (
       SELECT 1 FROM memory.vector_models v WHERE v.model = of_model AND v.dimensions = array_length(vectors, 2))) THEN
    RAISE EXCEPTION 'The vectors are of no model that the store knows, or not one for each passage. Nothing was stored.';
  END IF;

  PERFORM pg_advisory_xact_lock(hashtextextended(scope::text || at_path, 3));
  IF EXISTS (SELECT 1 FROM memory.documents d JOIN memory.corpora c ON c.id = d.corpus_id
             WHERE d.namespace_id = scope AND d.path = at_path AND d.invalidated_at IS NULL AND c.root <> 'sessions:') THEN
    RAISE EXCEPTION 'A folder that is followed has a page of this path, and its file says what it holds. Nothing was stored.'
      USING ERRCODE = 'unique_violation';
  END IF;
  INSERT INTO memory.corpora (id, namespace_id, root, profile, standing) VALUES (gen_random_uuid(), scope, 'sessions:', 'dory', 0.5)
    ON CONFLICT DO NOTHING;
  SELECT c.id INTO corpus FROM memory.corpora c WHERE c.namespace_id = scope AND c.root = 'sessions:' AND c.invalidated_at IS NULL;
  SELECT d.* INTO stored FROM memory.documents d WHERE d.corpus_id = corpus AND d.path = at_path AND d.invalidated_at IS NULL FOR UPDATE;
  IF (stored.metadata->>'agent', stored.metadata->>'session_id') IS DISTINCT FROM (fields->>'agent', fields->>'session_id')
     AND stored.metadata->>'session_id' IS NOT NULL THEN
    RAISE EXCEPTION 'Another session has this path. Nothing was stored.' USING ERRCODE = 'unique_violation';
  END IF;
  IF stored.content_hash = page_hash THEN
    RETURN 'unchanged';
  END IF;

  IF hidden THEN
    fields := jsonb_build_object('quarantined', true, 'agent', fields->'agent', 'session_id', fields->'session_id');
  END IF;
  told := (fields - ARRAY['visibility', 'pinned', 'superseded_by'])
    || '{"type": "session", "source_kind": "extracted", "temperature": "warm", "canonical": false}';
  IF stored.id IS NULL THEN
    document := gen_random_uuid();
    INSERT INTO memory.documents (id, namespace_id, source, title, content, metadata, valid_from, corpus_id, path, content_hash, plane)
      VALUES (document, scope, 'corpus', head, page, told, told_at, corpus, at_path, page_hash, 'sessions');
  ELSE
    document := stored.id;
    INSERT INTO memory.documents (id, namespace_id, source, title, content, metadata, valid_from, recorded_at, invalidated_at, corpus_id,
        path, content_hash, plane, version_of)
      VALUES (gen_random_uuid(), scope, stored.source, stored.title, stored.content, stored.metadata, stored.valid_from,
        coalesce((SELECT max(v.invalidated_at) FROM memory.documents v WHERE v.version_of = document), stored.recorded_at), now(), corpus,
        at_path, stored.content_hash, stored.plane, document);
    UPDATE memory.documents d SET title = head, content = page, metadata = told, valid_from = told_at, content_hash = page_hash
      WHERE d.id = document;
  END IF;

  -- Passages that say what they said before keep their rows; of those that say the same, the first to the first.
  WITH wanted AS (
    SELECT w.place - 1 AS place, w.first_line, w.last_line, h.hash, row_number() OVER (PARTITION BY h.hash ORDER BY w.place) AS nth
    FROM unnest(passages, first_lines, last_lines) WITH ORDINALITY AS w (text, first_line, last_line, place),
      LATERAL (SELECT encode(sha256(convert_to(w.text, 'UTF8')), 'hex') AS hash) h),
  held AS (
    SELECT c.id, c.content_hash AS hash, row_number() OVER (PARTITION BY c.content_hash ORDER BY c.ordinal, c.id) AS nth
    FROM memory.chunks c WHERE c.document_id = document AND c.invalidated_at IS NULL)
  UPDATE memory.chunks c SET ordinal = coalesce(w.place, c.ordinal), start_line = coalesce(w.first_line, c.start_line),
      end_line = coalesce(w.last_line, c.end_line), invalidated_at = CASE WHEN w.place IS NULL THEN now() END
    FROM held h LEFT JOIN wanted w USING (hash, nth)
    WHERE c.id = h.id AND (w.place IS NULL OR (c.ordinal, c.start_line, c.end_line) IS DISTINCT FROM (w.place, w.first_line, w.last_line));
  WITH wanted AS (
    SELECT w.text, w.place - 1 AS place, w.first_line, w.last_line, h.hash, row_number() OVER (PARTITION BY h.hash ORDER BY w.place) AS nth
    FROM unnest(passages, first_lines, last_lines) WITH ORDINALITY AS w (text, first_line, last_line, place),
      LATERAL (SELECT encode(sha256(convert_to(w.text, 'UTF8')), 'hex') AS hash) h),
  held AS (SELECT c.content_hash AS hash, count(*) AS n FROM memory.chunks c
    WHERE c.document_id = document AND c.invalidated_at IS NULL GROUP BY c.content_hash)
  INSERT INTO memory.chunks (id, namespace_id, document_id, ordinal, content, start_line, end_line, content_hash)
    SELECT gen_random_uuid(), scope, document, w.place, w.text, w.first_line, w.last_line, w.hash
    FROM wanted w LEFT JOIN held h USING (hash) WHERE w.nth > coalesce(h.n, 0);

  INSERT INTO memory.chunk_vectors (id, model, namespace_id, vector)
    SELECT c.id, of_model, scope, ARRAY(SELECT unnest(vectors[t.place:t.place]))
    FROM unnest(hashes) WITH ORDINALITY AS t (hash, place) JOIN memory.chunks c ON c.content_hash = t.hash
    WHERE c.document_id = document AND c.invalidated_at IS NULL
    ON CONFLICT DO NOTHING;
  INSERT INTO memory.chunk_vectors (id, model, namespace_id, vector)
    SELECT c.id, of_model, scope, v.vector FROM memory.chunks c CROSS JOIN LATERAL (
      SELECT k.vector FROM memory.chunks o JOIN memory.chunk_vectors k ON k.id = o.id AND k.model = of_model
      WHERE o.namespace_id = scope AND o.content_hash = c.content_hash ORDER BY o.id LIMIT 1) v
    WHERE c.document_id = document AND c.invalidated_at IS NULL
    ON CONFLICT DO NOTHING;
  RETURN CASE WHEN stored.id IS NULL THEN 'new' ELSE 'changed' END;
END $$;

GRANT SELECT ON memory.namespaces, memory.tokens, memory.corpora, memory.vector_models, memory.chunk_vectors TO slowwave_recorder;
GRANT INSERT (id, namespace_id, root, profile, standing) ON memory.corpora TO slowwave_recorder;
GRANT INSERT (id, namespace_id, source, title, content, metadata, valid_from, recorded_at, invalidated_at, corpus_id, path, content_hash, plane,
  version_of), UPDATE (title, content, metadata, valid_from, content_hash) ON memory.documents TO slowwave_recorder;
GRANT INSERT (id, namespace_id, document_id, ordinal, content, start_line, end_line, content_hash),
  UPDATE (ordinal, start_line, end_line, invalidated_at) ON memory.chunks TO slowwave_recorder;
GRANT INSERT (id, model, namespace_id, vector) ON memory.chunk_vectors TO slowwave_recorder;
GRANT EXECUTE ON FUNCTION memory.may_ingest(uuid, text) TO slowwave_recorder;
SELECT night.as_definer('memory.ingest_session(text, text, text, text, text, jsonb, timestamptz, boolean, text[], integer[], integer[], text,
  text[], real[])');
GRANT EXECUTE ON FUNCTION memory.ingest_session(text, text, text, text, text, jsonb, timestamptz, boolean, text[], integer[], integer[], text,
  text[], real[]) TO slowwave_server;

-- What language models that help by day have read and written, call by call, so that a namespace's day has a budget. It is no content.
CREATE TABLE memory.model_calls (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  namespace_id uuid NOT NULL,
  step text NOT NULL,
  model text NOT NULL,
  input_tokens integer NOT NULL,
  output_tokens integer NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id)
);
CREATE INDEX model_calls_day ON memory.model_calls (namespace_id, recorded_at);
GRANT SELECT ON memory.model_calls TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier, slowwave_server;
GRANT INSERT ON memory.model_calls TO slowwave_server;
GRANT DELETE ON memory.model_calls TO slowwave_applier;

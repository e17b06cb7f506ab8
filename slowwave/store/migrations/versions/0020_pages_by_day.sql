-- Files of followed folders that have yet to follow their rows. `was_hash` is the SHA-256 of what the file said before the first write that it
-- has not followed, NULL where there was no file: whatever else it says by then, a person wrote.
CREATE TABLE memory.pending_files (
  corpus_id uuid NOT NULL,
  path text NOT NULL,
  namespace_id uuid NOT NULL,
  was_hash text,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (corpus_id, path),
  FOREIGN KEY(corpus_id) REFERENCES memory.corpora (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id)
);

-- Pages that were deleted for good: where each was, why it went, and nothing of what it said.
CREATE TABLE memory.purges (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  namespace_id uuid NOT NULL,
  path text NOT NULL,
  reason text NOT NULL,
  agent text NOT NULL,
  bytes bigint NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id)
);
CREATE INDEX purges_namespace ON memory.purges (namespace_id, recorded_at);
GRANT SELECT ON memory.pending_files, memory.purges TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier, slowwave_server;

-- What whoever calls may do in a namespace: all, where the login owns memory or no token was ever made; else what the whole token says.
CREATE FUNCTION memory.bearer_scopes(scope uuid, bearer text) RETURNS text[] LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE
    WHEN pg_has_role(session_user, (SELECT c.relowner FROM pg_class c WHERE c.oid = 'memory.documents'::regclass), 'USAGE')
      OR NOT EXISTS (SELECT 1 FROM memory.tokens) THEN ARRAY['read', 'write', 'propose', 'approve']
    ELSE coalesce((SELECT t.scopes FROM memory.tokens t WHERE t.namespace_id = scope AND t.revoked_at IS NULL AND t.expires_at > now()
      AND t.id = substring(bearer FROM '^slw_([0-9a-f]{12})_[0-9a-f]{64}$') AND t.hash = sha256(convert_to(right(bearer, 64), 'UTF8'))), '{}')
    END
$$;

-- Whether a page is one that others rest on: it says so itself, it is of a type of which pages are canonical, in the layout of Dory it lies
-- where such pages lie, it is pinned, so that every wake may tell it, or public, so that it is published. Whoever changes one needs the scope
-- `approve`.
CREATE FUNCTION memory.is_canonical_page(layout text, at_path text, fields jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce('true' IN (fields #>> '{frontmatter,canonical}', fields #>> '{frontmatter,pinned}', fields->>'pinned'), false)
    OR coalesce(fields->>'visibility' = 'public', false)
    OR coalesce(fields->>'canonical' = 'true' AND fields->>'type' IN ('core', 'person', 'project', 'concept', 'decision'), false)
    OR layout = 'dory' AND at_path ~ '^(core|people|concepts)/|^projects/[^/]+/state\.md$|^knowledge/writing-voice\.md$'
$$;

-- Lets a write of a page through: the token, the namespace, the paths and the corpus, which is not there yet where an agent's first page is
-- written. Until the transaction ends nobody else writes at these paths, and no sync of the namespace writes at all.
CREATE FUNCTION memory.admit_page(to_namespace text, bearer text, in_corpus uuid, paths text[],
  OUT scope uuid, OUT corpus uuid, OUT layout text, OUT followed boolean, OUT may_approve boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  closed boolean;
  scopes text[];
  root text;
  at_path text;
BEGIN
  SELECT n.id, n.read_only INTO scope, closed FROM memory.namespaces n WHERE n.slug = to_namespace;
  scopes := CASE WHEN scope IS NULL THEN '{}' ELSE memory.bearer_scopes(scope, bearer) END;
  IF NOT 'write' = ANY (scopes) THEN
    RAISE EXCEPTION 'A page is written by a token that may write to its namespace. Nothing was stored.' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF closed THEN
    RAISE EXCEPTION 'The namespace is read-only. Nothing was stored.';
  END IF;
  may_approve := 'approve' = ANY (scopes);
  IF cardinality(paths) = 0 OR EXISTS (SELECT 1 FROM unnest(paths) p WHERE p IS NULL OR length(p) > 300
      OR p !~ '^[a-z0-9][a-z0-9_./-]*\.md$' OR p ~ '(^|/)(\.|$)|//' OR p ~ '^(logs/sessions|archive)/') THEN
    RAISE EXCEPTION 'A page''s path has lower-case letters, digits, dots, hyphens and _, ends in .md, has no part that begins with a dot, and lies neither under logs/sessions/ nor under archive/. Nothing was stored.';
  END IF;
  PERFORM pg_advisory_xact_lock_shared(hashtextextended(scope::text, 4));
  FOR at_path IN SELECT DISTINCT p FROM unnest(paths) p ORDER BY p LOOP
    PERFORM pg_advisory_xact_lock(hashtextextended(scope::text || at_path, 3));
  END LOOP;
  IF in_corpus IS NULL THEN
    SELECT c.id, c.profile, c.root INTO corpus, layout, root FROM memory.corpora c
      WHERE c.namespace_id = scope AND c.root = 'pages:' AND c.invalidated_at IS NULL;
    layout := coalesce(layout, 'dory');
    followed := false;
    RETURN;
  END IF;
  SELECT c.id, c.profile, c.root INTO corpus, layout, root FROM memory.corpora c
    WHERE c.namespace_id = scope AND c.id = in_corpus AND c.root NOT IN ('sessions:', 'evidence:') AND c.invalidated_at IS NULL;
  IF corpus IS NULL THEN
    RAISE EXCEPTION 'The namespace has no such corpus of pages. Nothing was stored.';
  END IF;
  followed := root <> 'pages:';
END $$;

-- A document as it is, set down as a version that ends now.
CREATE FUNCTION memory.keep_page_version(stored memory.documents) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO memory.documents (id, namespace_id, source, title, content, metadata, valid_from, recorded_at, invalidated_at, corpus_id, path,
      content_hash, plane, version_of)
    VALUES (gen_random_uuid(), stored.namespace_id, stored.source, stored.title, stored.content, stored.metadata, stored.valid_from,
      coalesce((SELECT max(v.invalidated_at) FROM memory.documents v WHERE v.version_of = stored.id), stored.recorded_at), now(),
      stored.corpus_id, stored.path, stored.content_hash, stored.plane, stored.id)
$$;

-- The passages of a document and their vectors: those that say what they said before keep their rows. Nothing of it is taken on trust: a
-- passage stands in the page, and vectors are of a model that the store knows.
CREATE FUNCTION memory.store_passages(scope uuid, document uuid, page text, passages text[], first_lines integer[], last_lines integer[],
  of_model text, hashes text[], vectors real[]) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF coalesce(array_ndims(passages), 1) <> 1 OR cardinality(passages) > 2000 OR array_position(passages, NULL) IS NOT NULL
     OR cardinality(first_lines) IS DISTINCT FROM cardinality(passages) OR cardinality(last_lines) IS DISTINCT FROM cardinality(passages)
     OR EXISTS (SELECT 1 FROM unnest(passages) p WHERE p = '' OR octet_length(p) > 100000 OR strpos(page, p) = 0) THEN
    RAISE EXCEPTION 'The passages are not those of the page. Nothing was stored.';
  END IF;
  IF hashes <> '{}' AND (coalesce(array_ndims(vectors), 0) <> 2 OR array_length(vectors, 1) <> cardinality(hashes) OR NOT EXISTS (
       SELECT 1 FROM memory.vector_models v WHERE v.model = of_model AND v.dimensions = array_length(vectors, 2))) THEN
    RAISE EXCEPTION 'The vectors are of no model that the store knows, or not one for each passage. Nothing was stored.';
  END IF;
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
END $$;

-- The links and mentions of a document, of which those that are as they were keep their rows; returns how many came. `links` lists kind,
-- target, anchor, line, and page or entity where it is known what they mean; `pointing` names links of other pages of the corpus that mean
-- this one now.
CREATE FUNCTION memory.store_links(scope uuid, of_corpus uuid, document uuid, links jsonb, pointing uuid[]) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  came integer;
BEGIN
  IF jsonb_typeof(links) <> 'array' OR jsonb_array_length(links) > 5000 OR octet_length(links::text) > 5000000 THEN
    RAISE EXCEPTION 'The links of the page are out of bounds. Nothing was stored.';
  END IF;
  UPDATE memory.links l SET invalidated_at = now() WHERE l.document_id = document AND l.invalidated_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM jsonb_to_recordset(links) AS w (kind text, target text, anchor text, line integer, page uuid, entity uuid)
    WHERE (w.kind, w.target, w.anchor, w.line) = (l.kind, l.target, l.anchor, l.line)
      AND (w.kind <> 'mention' OR (w.page, w.entity) IS NOT DISTINCT FROM (l.target_document_id, l.entity_id)));
  WITH wanted AS (
    SELECT DISTINCT ON (w.kind, w.target, w.anchor, w.line, CASE WHEN w.kind = 'mention' THEN coalesce(w.page, w.entity) END)
      w.kind, w.target, w.anchor, w.line, d.id AS page, e.id AS entity
    FROM jsonb_to_recordset(links) AS w (kind text, target text, anchor text, line integer, page uuid, entity uuid)
    LEFT JOIN memory.documents d ON d.id = w.page AND d.corpus_id = of_corpus AND d.invalidated_at IS NULL
    LEFT JOIN memory.entities e ON e.id = w.entity AND e.namespace_id = scope
    WHERE w.kind <> 'mention' OR d.id IS NOT NULL OR e.id IS NOT NULL),
  kept AS (
    UPDATE memory.links l SET target_document_id = w.page FROM wanted w
    WHERE l.document_id = document AND l.invalidated_at IS NULL AND w.kind <> 'mention'
      AND (w.kind, w.target, w.anchor, w.line) = (l.kind, l.target, l.anchor, l.line) AND l.target_document_id IS DISTINCT FROM w.page)
  INSERT INTO memory.links (id, namespace_id, document_id, kind, target, target_document_id, entity_id, anchor, line)
    SELECT gen_random_uuid(), scope, document, w.kind, w.target, w.page, w.entity, w.anchor, w.line FROM wanted w
    WHERE NOT EXISTS (SELECT 1 FROM memory.links l WHERE l.document_id = document AND l.invalidated_at IS NULL
      AND (l.kind, l.target, l.anchor, l.line) = (w.kind, w.target, w.anchor, w.line)
      AND (w.kind <> 'mention' OR (w.page, w.entity) IS NOT DISTINCT FROM (l.target_document_id, l.entity_id)));
  GET DIAGNOSTICS came = ROW_COUNT;
  UPDATE memory.links l SET target_document_id = document FROM memory.documents d
    WHERE l.id = ANY (pointing) AND l.kind <> 'mention' AND l.invalidated_at IS NULL AND d.id = l.document_id AND d.corpus_id = of_corpus;
  RETURN came;
END $$;

-- A file of a followed folder has to follow its row: what it said before the first write that it has not followed is what is kept.
CREATE FUNCTION memory.await_file(scope uuid, of_corpus uuid, at_path text, was_hash text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO memory.pending_files (corpus_id, path, namespace_id, was_hash) VALUES (of_corpus, at_path, scope, was_hash)
    ON CONFLICT DO NOTHING
$$;

-- Creates a page, gives one its next text, or moves it with its next text: rows, version, passages, vectors and links in one transaction.
-- `expected` is the hash of what stands at `from_path` ('' for nothing): where it is another by now, nothing is written. A page that was
-- forgotten counts as absent when one is created in its place. It is all that a server's login can do to pages, with `forget_page` and
-- `purge_page`, so it takes nothing on trust. `hidden`: it is quarantined, and nothing of it is found. `dry`: all is checked, nothing written.
CREATE FUNCTION memory.write_page(
  to_namespace text, bearer text, kind text, in_corpus uuid, document uuid, from_path text, at_path text, expected text, head text, page text,
  fields jsonb, told_at timestamptz, hidden boolean, passages text[], first_lines integer[], last_lines integer[], of_model text, hashes text[],
  vectors real[], links jsonb, pointing uuid[], dry boolean
) RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gate record;
  stored memory.documents;
  stone memory.documents;
  gone boolean;
  told jsonb;
  edges integer := 0;
  page_hash text := encode(sha256(convert_to(page, 'UTF8')), 'hex');
BEGIN
  IF kind IS NULL OR kind NOT IN ('create', 'change', 'move') OR document IS NULL OR hidden IS NULL OR dry IS NULL OR expected IS NULL
     OR (kind = 'move') <> (from_path <> at_path) OR head IS NULL OR page IS NULL OR fields IS NULL OR jsonb_typeof(fields) <> 'object'
     OR length(head) > 400 OR octet_length(page) NOT BETWEEN 1 AND 2000000 OR octet_length(fields::text) > 200000 THEN
    RAISE EXCEPTION 'A page has a path, a text, a title and fields, within bounds. Nothing was stored.';
  END IF;
  gate := memory.admit_page(to_namespace, bearer, in_corpus, ARRAY[from_path, at_path]);
  IF at_path ~ '\.tombstone\.md$' OR (at_path ~ '^inbox/quarantine/') <> hidden THEN
    RAISE EXCEPTION 'Tombstones and what is quarantined have paths of their own. Nothing was stored.';
  END IF;
  SELECT d.* INTO stored FROM memory.documents d WHERE d.corpus_id = gate.corpus AND d.path = from_path AND d.invalidated_at IS NULL FOR UPDATE;
  IF coalesce(stored.content_hash, '') <> expected THEN
    RAISE EXCEPTION 'The page has been changed since it was read. Read it again. Nothing was stored.' USING ERRCODE = 'serialization_failure';
  END IF;
  gone := coalesce(jsonb_exists(stored.metadata, 'forgotten'), false);
  IF kind = 'create' AND stored.id IS NOT NULL AND NOT gone THEN
    RAISE EXCEPTION 'There is a page of this path already. Nothing was stored.' USING ERRCODE = 'unique_violation';
  ELSIF kind <> 'create' AND (stored.id IS NULL OR gone) THEN
    RAISE EXCEPTION 'There is no page of this path. Nothing was stored.' USING ERRCODE = 'no_data_found';
  ELSIF kind <> 'create' AND jsonb_exists(stored.metadata, 'quarantined') THEN
    RAISE EXCEPTION 'The page is quarantined, and stays as it is. Nothing was stored.';
  ELSIF EXISTS (SELECT 1 FROM memory.documents d WHERE d.corpus_id = gate.corpus AND d.invalidated_at IS NULL AND d.id <> stored.id
        AND lower(d.path) = at_path AND NOT jsonb_exists(d.metadata, 'forgotten'))
     OR stored.id IS NULL AND EXISTS (SELECT 1 FROM memory.documents d WHERE d.corpus_id = gate.corpus AND d.invalidated_at IS NULL
        AND lower(d.path) = at_path) THEN
    RAISE EXCEPTION 'Another page has this path, or one that differs from it in case alone. Nothing was stored.' USING ERRCODE = 'unique_violation';
  END IF;
  fields := fields - ARRAY['quarantined', 'forgotten'];
  IF NOT gate.may_approve AND NOT hidden AND (memory.is_canonical_page(gate.layout, at_path, fields)
     OR NOT gone AND memory.is_canonical_page(gate.layout, from_path, stored.metadata)) THEN
    RAISE EXCEPTION 'The page is canonical, pinned or public: others rest on what it says, so writing it takes a token with the scopes write and approve. Ask the operator for one (slowwave tokens new --scopes read,write,approve), or write under inbox/ for a person to take over. Nothing was stored.'
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  told := CASE WHEN hidden THEN jsonb_build_object('quarantined', true, 'type', 'capture', 'status', 'raw') ELSE fields END;
  IF dry THEN
    RETURN jsonb_build_object('document', stored.id, 'hash', page_hash, 'edges', 0, 'followed', gate.followed);
  END IF;

  IF gate.corpus IS NULL THEN
    INSERT INTO memory.corpora (id, namespace_id, root, profile) VALUES (gen_random_uuid(), gate.scope, 'pages:', 'dory') ON CONFLICT DO NOTHING;
    SELECT c.id INTO gate.corpus FROM memory.corpora c WHERE c.namespace_id = gate.scope AND c.root = 'pages:' AND c.invalidated_at IS NULL;
  END IF;
  SELECT d.* INTO stone FROM memory.documents d WHERE d.corpus_id = gate.corpus AND d.invalidated_at IS NULL
    AND d.id <> coalesce(stored.id, document) AND d.path = at_path AND jsonb_exists(d.metadata, 'forgotten');
  IF gone OR stone.id IS NOT NULL THEN -- what was forgotten here ends now, with its tombstone, and what is written begins anew
    UPDATE memory.documents d SET invalidated_at = now() WHERE d.corpus_id = gate.corpus AND d.invalidated_at IS NULL
      AND (d.path = at_path AND jsonb_exists(d.metadata, 'forgotten')
        OR d.path = regexp_replace(at_path, '\.md$', '.tombstone.md') AND d.metadata->>'type' = 'tombstone');
    IF gate.followed THEN
      PERFORM memory.await_file(gate.scope, gate.corpus, d.path, d.content_hash) FROM memory.documents d WHERE d.corpus_id = gate.corpus
        AND d.path = regexp_replace(at_path, '\.md$', '.tombstone.md') AND d.invalidated_at = now() AND d.version_of IS NULL;
      PERFORM memory.await_file(gate.scope, gate.corpus, at_path, coalesce(stone.content_hash, stored.content_hash));
    END IF;
  END IF;
  IF kind = 'create' THEN
    INSERT INTO memory.documents (id, namespace_id, source, title, content, metadata, valid_from, corpus_id, path, content_hash, plane)
      VALUES (document, gate.scope, 'corpus', head, page, told, told_at, gate.corpus, at_path, page_hash, 'durable');
  ELSE
    document := stored.id;
    PERFORM memory.keep_page_version(stored);
    UPDATE memory.documents d SET title = head, content = page, metadata = told, valid_from = told_at, content_hash = page_hash, path = at_path
      WHERE d.id = document;
  END IF;
  IF NOT hidden THEN
    PERFORM memory.store_passages(gate.scope, document, page, coalesce(passages, '{}'), first_lines, last_lines, of_model, coalesce(hashes, '{}'), vectors);
    edges := memory.store_links(gate.scope, gate.corpus, document, coalesce(links, '[]'), coalesce(pointing, '{}'));
  END IF;
  IF gate.followed THEN
    IF kind = 'move' THEN
      PERFORM memory.await_file(gate.scope, gate.corpus, from_path, stored.content_hash);
    END IF;
    PERFORM memory.await_file(gate.scope, gate.corpus, at_path, CASE WHEN kind = 'change' THEN stored.content_hash END);
  END IF;
  RETURN jsonb_build_object('document', document, 'hash', page_hash, 'edges', edges, 'followed', gate.followed);
END $$;

-- What else of a namespace holds the words of a document: versions of it, live pages that say a passage of it, live memories that cite it,
-- snapshots and runs with reports that were made since it came.
CREATE FUNCTION memory.held_elsewhere(stored memory.documents) RETURNS jsonb LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_build_object(
    'versions', (SELECT count(*) FROM memory.documents v WHERE v.version_of = stored.id),
    'other_pages', (SELECT count(DISTINCT o.document_id) FROM memory.chunks c JOIN memory.chunks o ON o.namespace_id = c.namespace_id
      AND o.content_hash = c.content_hash AND o.document_id <> c.document_id AND o.invalidated_at IS NULL WHERE c.document_id = stored.id),
    'memories', (SELECT count(*) FROM memory.memories m WHERE m.namespace_id = stored.namespace_id AND m.invalidated_at IS NULL
      AND (m.source_document_ids @> ARRAY[stored.id]
        OR m.source_chunk_ids && ARRAY(SELECT c.id FROM memory.chunks c WHERE c.document_id = stored.id))),
    'snapshots', (SELECT count(*) FROM night.snapshots s WHERE s.namespace_id = stored.namespace_id AND s.deleted_at IS NULL
      AND s.taken_at >= stored.recorded_at),
    'reports', (SELECT count(*) FROM night.runs r WHERE r.namespace_id = stored.namespace_id AND r.started_at >= stored.recorded_at))
$$;

-- Forgets a page: in one transaction it is superseded, no longer canonical and cold, its passages and links end and leave the search index,
-- so that no search finds them, now or as of an earlier day, and a tombstone beside it says why. Rows and versions stay. Answers with what
-- else holds its words.
CREATE FUNCTION memory.forget_page(
  to_namespace text, bearer text, in_corpus uuid, at_path text, expected text, page text, fields jsonb, stone_page text, stone_fields jsonb,
  dry boolean
) RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gate record;
  stored memory.documents;
  stone memory.documents;
  stone_path text := regexp_replace(at_path, '\.md$', '.tombstone.md');
  stone_hash text := encode(sha256(convert_to(stone_page, 'UTF8')), 'hex');
  page_hash text := encode(sha256(convert_to(page, 'UTF8')), 'hex');
  held jsonb;
BEGIN
  IF expected IS NULL OR dry IS NULL OR page IS NULL OR stone_page IS NULL OR jsonb_typeof(fields) IS DISTINCT FROM 'object'
     OR jsonb_typeof(stone_fields) IS DISTINCT FROM 'object' OR octet_length(page) NOT BETWEEN 1 AND 2000000
     OR octet_length(stone_page) NOT BETWEEN 1 AND 20000 OR octet_length(fields::text) + octet_length(stone_fields::text) > 200000 THEN
    RAISE EXCEPTION 'A page that is forgotten has a text and a tombstone, within bounds. Nothing was stored.';
  END IF;
  gate := memory.admit_page(to_namespace, bearer, in_corpus, ARRAY[at_path, stone_path]);
  SELECT d.* INTO stored FROM memory.documents d WHERE d.corpus_id = gate.corpus AND d.path = at_path AND d.invalidated_at IS NULL FOR UPDATE;
  IF stored.id IS NULL OR jsonb_exists(stored.metadata, 'forgotten') OR at_path ~ '\.tombstone\.md$' THEN
    RAISE EXCEPTION 'There is no page of this path. Nothing was stored.' USING ERRCODE = 'no_data_found';
  ELSIF stored.content_hash <> expected THEN
    RAISE EXCEPTION 'The page has been changed since it was read. Read it again. Nothing was stored.' USING ERRCODE = 'serialization_failure';
  ELSIF NOT gate.may_approve AND memory.is_canonical_page(gate.layout, at_path, stored.metadata) THEN
    RAISE EXCEPTION 'The page is canonical, pinned or public: others rest on what it says, so forgetting it takes a token with the scopes write and approve. Ask the operator for one (slowwave tokens new --scopes read,write,approve). Nothing was stored.'
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  held := memory.held_elsewhere(stored);
  IF NOT dry THEN
    PERFORM memory.keep_page_version(stored);
    held := jsonb_set(held, '{versions}', to_jsonb((held->>'versions')::integer + 1));
    UPDATE memory.documents d SET content = page, content_hash = page_hash, metadata = fields || jsonb_build_object('status', 'superseded',
      'canonical', false, 'temperature', 'cold', 'superseded_by', stone_path, 'forgotten', true) WHERE d.id = stored.id;
    UPDATE memory.chunks c SET invalidated_at = now() WHERE c.document_id = stored.id AND c.invalidated_at IS NULL;
    DELETE FROM memory.search_texts t USING memory.chunks c WHERE c.document_id = stored.id AND t.id = c.id;
    UPDATE memory.links l SET invalidated_at = now() WHERE l.document_id = stored.id AND l.invalidated_at IS NULL;
    SELECT d.* INTO stone FROM memory.documents d WHERE d.corpus_id = gate.corpus AND d.path = stone_path AND d.invalidated_at IS NULL FOR UPDATE;
    stone_fields := stone_fields || '{"type": "tombstone", "status": "superseded", "canonical": false, "temperature": "cold"}';
    IF stone.id IS NULL THEN
      INSERT INTO memory.documents (id, namespace_id, source, title, content, metadata, corpus_id, path, content_hash, plane)
        VALUES (gen_random_uuid(), gate.scope, 'corpus', stone_path, stone_page, stone_fields, gate.corpus, stone_path, stone_hash, 'durable');
    ELSE
      PERFORM memory.keep_page_version(stone);
      UPDATE memory.documents d SET content = stone_page, content_hash = stone_hash, metadata = stone_fields WHERE d.id = stone.id;
    END IF;
    IF gate.followed THEN
      PERFORM memory.await_file(gate.scope, gate.corpus, at_path, stored.content_hash);
      PERFORM memory.await_file(gate.scope, gate.corpus, stone_path, stone.content_hash);
    END IF;
  END IF;
  RETURN jsonb_build_object('document', stored.id, 'hash', page_hash, 'followed', gate.followed, 'tombstone', stone_path, 'held', held);
END $$;

-- Deletes a page for good, with its versions, passages, vectors and links, and the tombstone beside it where that is asked for. Without the
-- scope `approve` (and saying so) only where nothing is kept for long, and no canonical page. What a journal can still restore is not
-- deleted: undo has to find it.
CREATE FUNCTION memory.purge_page(
  to_namespace text, bearer text, in_corpus uuid, at_path text, expected text, reason text, agent text, allow_canonical boolean,
  tombstone_too boolean, dry boolean
) RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gate record;
  stored memory.documents;
  paths text[];
  documents uuid[];
  ids uuid[];
  size bigint;
BEGIN
  IF dry IS NULL OR expected IS NULL OR length(reason) > 1000 OR NOT dry AND coalesce(btrim(reason), '') = '' THEN
    RAISE EXCEPTION 'A purge names a reason. Nothing was deleted.';
  END IF;
  paths := ARRAY[at_path] || CASE WHEN tombstone_too THEN ARRAY[regexp_replace(at_path, '(\.tombstone)?\.md$', '.tombstone.md')] ELSE '{}' END;
  gate := memory.admit_page(to_namespace, bearer, in_corpus, paths);
  SELECT d.* INTO stored FROM memory.documents d WHERE d.corpus_id = gate.corpus AND d.path = at_path AND d.invalidated_at IS NULL FOR UPDATE;
  IF stored.id IS NULL THEN
    RAISE EXCEPTION 'There is no page of this path. Nothing was deleted.' USING ERRCODE = 'no_data_found';
  ELSIF stored.content_hash <> expected AND NOT (dry AND expected = '') THEN
    RAISE EXCEPTION 'The page has been changed since it was read. Read it again. Nothing was deleted.' USING ERRCODE = 'serialization_failure';
  ELSIF (at_path !~ '^(inbox|sources/semantic|logs/evals|eval|tmp)/' OR memory.is_canonical_page(gate.layout, at_path, stored.metadata))
     AND NOT (gate.may_approve AND coalesce(allow_canonical, false)) THEN
    RAISE EXCEPTION 'The page is protected: only pages under inbox/, sources/semantic/, logs/evals/, eval/ and tmp/ that are not canonical are purged without allow_canonical and a token with the scope approve. Forget it instead. Nothing was deleted.'
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  documents := ARRAY(SELECT d.id FROM memory.documents d WHERE d.corpus_id = gate.corpus AND d.path = ANY (paths) AND d.version_of IS NULL);
  documents := documents || ARRAY(SELECT v.id FROM memory.documents v WHERE v.version_of = ANY (documents));
  paths := ARRAY(SELECT DISTINCT d.path FROM memory.documents d WHERE d.id = ANY (documents) AND d.invalidated_at IS NULL ORDER BY 1);
  ids := documents || ARRAY(SELECT c.id FROM memory.chunks c WHERE c.document_id = ANY (documents))
    || ARRAY(SELECT l.id FROM memory.links l WHERE l.document_id = ANY (documents));
  IF EXISTS (SELECT 1 FROM night.journal j JOIN night.before_images b ON b.journal_id = j.id
             WHERE j.namespace_id = gate.scope AND j.row_id = ANY (ids)) THEN
    RAISE EXCEPTION 'A plan that was applied changed this page, and its undo would need what a purge deletes. Forget the page instead, or purge it when the retention of undo (SLOWWAVE_UNDO_RETENTION_DAYS) has passed. Nothing was deleted.';
  END IF;
  SELECT coalesce(sum(octet_length(d.content)), 0) INTO size FROM memory.documents d WHERE d.id = ANY (documents);
  IF NOT dry THEN
    IF gate.followed THEN
      PERFORM memory.await_file(gate.scope, gate.corpus, d.path, d.content_hash) FROM memory.documents d
        WHERE d.id = ANY (documents) AND d.invalidated_at IS NULL;
    END IF;
    DELETE FROM memory.chunk_vectors v USING memory.chunks c WHERE c.document_id = ANY (documents) AND v.id = c.id;
    UPDATE memory.links l SET invalidated_at = now() WHERE l.target_document_id = ANY (documents) AND l.kind = 'mention' AND l.invalidated_at IS NULL;
    UPDATE memory.links l SET target_document_id = NULL WHERE l.target_document_id = ANY (documents);
    DELETE FROM memory.links l WHERE l.document_id = ANY (documents);
    DELETE FROM memory.chunks c WHERE c.document_id = ANY (documents);
    DELETE FROM memory.documents d WHERE d.version_of = ANY (documents);
    DELETE FROM memory.documents d WHERE d.id = ANY (documents);
    INSERT INTO memory.purges (namespace_id, path, reason, agent, bytes) VALUES (gate.scope, at_path, reason, coalesce(agent, ''), size);
  END IF;
  RETURN jsonb_build_object('paths', to_jsonb(paths), 'bytes', size, 'hash', stored.content_hash, 'followed', gate.followed,
    'held', memory.held_elsewhere(stored));
END $$;

GRANT SELECT ON memory.links, memory.pending_files TO slowwave_recorder;
GRANT SELECT (id, namespace_id, row_id) ON night.journal TO slowwave_recorder;
GRANT SELECT (journal_id) ON night.before_images TO slowwave_recorder;
GRANT SELECT (namespace_id, taken_at, deleted_at) ON night.snapshots TO slowwave_recorder;
GRANT SELECT (namespace_id, started_at) ON night.runs TO slowwave_recorder;
GRANT USAGE ON SCHEMA night TO slowwave_recorder;
GRANT INSERT (corpus_id, path, namespace_id, was_hash) ON memory.pending_files TO slowwave_recorder;
GRANT INSERT (namespace_id, path, reason, agent, bytes) ON memory.purges TO slowwave_recorder;
GRANT UPDATE (path, invalidated_at), DELETE ON memory.documents TO slowwave_recorder;
GRANT INSERT (id, namespace_id, document_id, kind, target, target_document_id, entity_id, anchor, line), UPDATE (target_document_id, invalidated_at),
  DELETE ON memory.links TO slowwave_recorder;
GRANT DELETE ON memory.chunks, memory.chunk_vectors TO slowwave_recorder;
GRANT EXECUTE ON FUNCTION memory.bearer_scopes(uuid, text), memory.is_canonical_page(text, text, jsonb), memory.admit_page(text, text, uuid, text[]),
  memory.keep_page_version(memory.documents), memory.store_passages(uuid, uuid, text, text[], integer[], integer[], text, text[], real[]),
  memory.store_links(uuid, uuid, uuid, jsonb, uuid[]), memory.await_file(uuid, uuid, text, text), memory.held_elsewhere(memory.documents)
  TO slowwave_recorder;
SELECT night.as_definer(routine) FROM unnest(ARRAY[
  'memory.write_page(text, text, text, uuid, uuid, text, text, text, text, text, jsonb, timestamptz, boolean, text[], integer[], integer[], text,
    text[], real[], jsonb, uuid[], boolean)',
  'memory.forget_page(text, text, uuid, text, text, text, jsonb, text, jsonb, boolean)',
  'memory.purge_page(text, text, uuid, text, text, text, text, boolean, boolean, boolean)']::regprocedure[]) AS routine;
GRANT EXECUTE ON FUNCTION memory.write_page(text, text, text, uuid, uuid, text, text, text, text, text, jsonb, timestamptz, boolean, text[],
  integer[], integer[], text, text[], real[], jsonb, uuid[], boolean), memory.forget_page(text, text, uuid, text, text, text, jsonb, text, jsonb,
  boolean), memory.purge_page(text, text, uuid, text, text, text, text, boolean, boolean, boolean) TO slowwave_server;

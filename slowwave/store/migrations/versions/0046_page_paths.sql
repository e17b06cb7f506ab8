-- A folder of notes that people keep has capitals, spaces and every script in its names. The path of a page may be any safe one; that of a new
-- page is also one that every file system accepts. `slowwave.texts.page_paths` has the same two rules. Paths that the rules name are compared
-- without regard to case, so that no capital opens what they close.
CREATE OR REPLACE FUNCTION memory.is_canonical_page(layout text, at_path text, fields jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce('true' IN (fields #>> '{frontmatter,canonical}', fields #>> '{frontmatter,pinned}', fields->>'pinned'), false)
    OR coalesce(fields->>'visibility' = 'public', false)
    OR coalesce(fields->>'canonical' = 'true' AND fields->>'type' IN ('core', 'person', 'project', 'concept', 'decision'), false)
    OR layout = 'dory' AND at_path ~* '^(core|people|concepts)/|^projects/[^/]+/state\.md$|^knowledge/writing-voice\.md$'
$$;

CREATE OR REPLACE FUNCTION memory.admit_page(to_namespace text, bearer text, in_corpus uuid, paths text[],
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
  IF cardinality(paths) = 0 OR EXISTS (SELECT 1 FROM unnest(paths) p WHERE p IS NULL OR length(p) > 300 OR p !~ '\.md$'
      OR p ~ '^/|(^|/)(\.|$)|//|\\|%[0-9A-Fa-f]{2}' OR p ~* '^(logs/sessions|archive)/'
      OR p ~ '[\u0001-\u001f\u007f-\u00a0\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202f\u2060-\u206f\u3000\ufeff\ufff9-\ufffb]') THEN
    RAISE EXCEPTION 'A page''s path ends in .md, has no empty part, no part that begins with a dot, no backslash, percent escape, control or invisible character, and lies neither under logs/sessions/ nor under archive/. Nothing was stored.';
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

CREATE OR REPLACE FUNCTION memory.write_page(
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
  IF at_path ~* '\.tombstone\.md$' OR (at_path ~* '^inbox/quarantine/') <> hidden THEN
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
  ELSIF (stored.id IS NULL OR kind = 'move') AND (at_path ~ '[<>:"|?*\u200c\u200d]|(^|/) | (/|$)|\.(/|$)'
      OR EXISTS (SELECT 1 FROM string_to_table(at_path, '/') AS part WHERE octet_length(part) > 200)) THEN
    RAISE EXCEPTION 'The path of a new page has none of < > : " | ? *, no part that begins or ends with a space or ends with a dot, and at most 200 bytes in each part. Nothing was stored.';
  ELSIF kind <> 'create' AND jsonb_exists(stored.metadata, 'quarantined') THEN
    RAISE EXCEPTION 'The page is quarantined, and stays as it is. Nothing was stored.';
  ELSIF EXISTS (SELECT 1 FROM memory.documents d WHERE d.corpus_id = gate.corpus AND d.invalidated_at IS NULL AND d.id <> stored.id
        AND lower(d.path) = lower(at_path) AND NOT jsonb_exists(d.metadata, 'forgotten'))
     OR stored.id IS NULL AND EXISTS (SELECT 1 FROM memory.documents d WHERE d.corpus_id = gate.corpus AND d.invalidated_at IS NULL
        AND lower(d.path) = lower(at_path)) THEN
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

SELECT night.as_definer('memory.write_page(text, text, text, uuid, uuid, text, text, text, text, text, jsonb, timestamptz, boolean, text[],
  integer[], integer[], text, text[], real[], jsonb, uuid[], boolean)'::regprocedure);
GRANT EXECUTE ON FUNCTION memory.write_page(text, text, text, uuid, uuid, text, text, text, text, text, jsonb, timestamptz, boolean, text[],
  integer[], integer[], text, text[], real[], jsonb, uuid[], boolean) TO slowwave_server;

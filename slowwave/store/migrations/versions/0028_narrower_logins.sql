-- What whoever calls may do in a namespace. Until the first token is made a local program may do all but approve: deciding on proposals, and
-- changing pages that others rest on, is a person's, or that of a token which says so. A login that owns memory needs no token.
CREATE OR REPLACE FUNCTION memory.bearer_scopes(scope uuid, bearer text) RETURNS text[] LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE
    WHEN pg_has_role(session_user, (SELECT c.relowner FROM pg_class c WHERE c.oid = 'memory.documents'::regclass), 'USAGE')
      THEN ARRAY['read', 'write', 'propose', 'approve']
    WHEN NOT EXISTS (SELECT 1 FROM memory.tokens) THEN ARRAY['read', 'write', 'propose']
    ELSE coalesce((SELECT t.scopes FROM memory.tokens t WHERE t.namespace_id = scope AND t.revoked_at IS NULL AND t.expires_at > now()
      AND t.id = substring(bearer FROM '^slw_([0-9a-f]{12})_[0-9a-f]{64}$') AND t.hash = sha256(convert_to(right(bearer, 64), 'UTF8'))), '{}')
    END
$$;

-- What a model that helped by day has cost, as it ends: the instant is the database's own, and no call counts for more than two million
-- tokens, so that no single one, however it was counted, is more than that of a day. Whoever searches with the server's login brings no
-- token, so this asks for none.
CREATE FUNCTION memory.book_model_call(scope uuid, of_step text, of_model text, input bigint, output bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF scope IS NULL OR of_step IS NULL OR of_step !~ '^[a-z_]{1,40}$' OR of_model IS NULL OR length(of_model) > 300 OR input IS NULL
     OR output IS NULL OR input < 0 OR output < 0 THEN
    RAISE EXCEPTION 'A call of a model has a step, a model and counts of tokens, within bounds. Nothing was booked.';
  END IF;
  INSERT INTO memory.model_calls (namespace_id, step, model, input_tokens, output_tokens)
    VALUES (scope, of_step, of_model, least(input, 1000000), least(output, 1000000));
END $$;
REVOKE INSERT ON memory.model_calls FROM slowwave_server;
GRANT INSERT (namespace_id, step, model, input_tokens, output_tokens) ON memory.model_calls TO slowwave_recorder;
SELECT night.as_definer('memory.book_model_call(uuid, text, text, bigint, bigint)');
GRANT EXECUTE ON FUNCTION memory.book_model_call(uuid, text, text, bigint, bigint) TO slowwave_server;

-- Fields of a page that nobody vouches for: whatever they say, it is neither canonical nor pinned nor public, also where they quote the
-- head of a file.
CREATE FUNCTION memory.unendorsed(fields jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT (fields - ARRAY['canonical', 'pinned', 'visibility', 'superseded_by']) || CASE WHEN jsonb_typeof(fields->'frontmatter') = 'object'
    THEN jsonb_build_object('frontmatter', (fields->'frontmatter') - ARRAY['canonical', 'pinned', 'visibility', 'superseded_by']) ELSE '{}' END
$$;
GRANT EXECUTE ON FUNCTION memory.unendorsed(jsonb) TO slowwave_recorder;

-- Captures and sessions are stored with such fields. Of the two functions nothing else changes.
DO $$
DECLARE
  stored regprocedure;
  was text;
  named text := $q$fields - ARRAY['visibility', 'pinned', 'superseded_by']$q$;
BEGIN
  FOR stored IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'memory'::regnamespace AND p.proname IN ('keep_evidence', 'ingest_session')
  LOOP
    was := pg_get_functiondef(stored);
    IF strpos(was, named) = 0 THEN
      RAISE EXCEPTION '% does not store the fields of a page as this migration knows it.', stored;
    END IF;
    EXECUTE replace(was, named, 'memory.unendorsed(fields)');
  END LOOP;
END $$;

-- Values that no night can read: infinite instants and numbers, instants outside the years 1 to 9999, JSON that is nested deeply or holds a
-- number of hundreds of digits, lists of more than 100,000 members. slowwave/store/readable_rows.py has the same conditions, and a test
-- compares them. Rows from before that break one stay as they are, are named by `slowwave doctor`, and are left out of nights.

ALTER TABLE memory.documents ADD CONSTRAINT documents_rows_are_readable CHECK (
    (NOT jsonb_path_exists(metadata, '$.**{100}')
      AND NOT jsonb_path_exists(metadata, '$.** ? (@.type() == "number") ? (@ > 1e300 || @ < -1e300)'))
      AND (valid_from >= '0001-01-01 00:00:00+00' AND valid_from < '10000-01-01 00:00:00+00')
      AND (valid_to >= '0001-01-01 00:00:00+00' AND valid_to < '10000-01-01 00:00:00+00')
      AND (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
      AND (invalidated_at >= '0001-01-01 00:00:00+00' AND invalidated_at < '10000-01-01 00:00:00+00')
) NOT VALID;
ALTER TABLE memory.chunks ADD CONSTRAINT chunks_rows_are_readable CHECK (
    (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
      AND (invalidated_at >= '0001-01-01 00:00:00+00' AND invalidated_at < '10000-01-01 00:00:00+00')
) NOT VALID;
ALTER TABLE memory.entities ADD CONSTRAINT entities_rows_are_readable CHECK (
    (NOT jsonb_path_exists(attributes, '$.**{100}')
      AND NOT jsonb_path_exists(attributes, '$.** ? (@.type() == "number") ? (@ > 1e300 || @ < -1e300)'))
      AND (cardinality(source_document_ids) <= 100000) AND (cardinality(source_chunk_ids) <= 100000) AND (mention_count >= -1000000)
      AND (confidence > '-Infinity'::double precision AND confidence < 'Infinity'::double precision)
      AND (valid_from >= '0001-01-01 00:00:00+00' AND valid_from < '10000-01-01 00:00:00+00')
      AND (valid_to >= '0001-01-01 00:00:00+00' AND valid_to < '10000-01-01 00:00:00+00')
      AND (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
      AND (invalidated_at >= '0001-01-01 00:00:00+00' AND invalidated_at < '10000-01-01 00:00:00+00')
) NOT VALID;
ALTER TABLE memory.entity_aliases ADD CONSTRAINT entity_aliases_rows_are_readable CHECK (
    (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
) NOT VALID;
ALTER TABLE memory.links ADD CONSTRAINT links_rows_are_readable CHECK (
    (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
      AND (invalidated_at >= '0001-01-01 00:00:00+00' AND invalidated_at < '10000-01-01 00:00:00+00')
) NOT VALID;
ALTER TABLE memory.relationships ADD CONSTRAINT relationships_rows_are_readable CHECK (
    (NOT jsonb_path_exists(properties, '$.**{100}')
      AND NOT jsonb_path_exists(properties, '$.** ? (@.type() == "number") ? (@ > 1e300 || @ < -1e300)'))
      AND (cardinality(source_document_ids) <= 100000) AND (cardinality(source_chunk_ids) <= 100000)
      AND (confidence > '-Infinity'::double precision AND confidence < 'Infinity'::double precision)
      AND (weight > '-Infinity'::double precision AND weight < 'Infinity'::double precision)
      AND (valid_from >= '0001-01-01 00:00:00+00' AND valid_from < '10000-01-01 00:00:00+00')
      AND (valid_to >= '0001-01-01 00:00:00+00' AND valid_to < '10000-01-01 00:00:00+00')
      AND (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
      AND (invalidated_at >= '0001-01-01 00:00:00+00' AND invalidated_at < '10000-01-01 00:00:00+00')
) NOT VALID;
ALTER TABLE memory.memory_facts ADD CONSTRAINT memory_facts_rows_are_readable CHECK (
    (confidence > '-Infinity'::double precision AND confidence < 'Infinity'::double precision)
      AND (cardinality(source_chunk_ids) <= 100000)
      AND (valid_from >= '0001-01-01 00:00:00+00' AND valid_from < '10000-01-01 00:00:00+00')
      AND (valid_to >= '0001-01-01 00:00:00+00' AND valid_to < '10000-01-01 00:00:00+00')
      AND (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
      AND (invalidated_at >= '0001-01-01 00:00:00+00' AND invalidated_at < '10000-01-01 00:00:00+00')
) NOT VALID;
ALTER TABLE memory.memories ADD CONSTRAINT memories_rows_are_readable CHECK (
    (importance > '-Infinity'::double precision AND importance < 'Infinity'::double precision)
      AND (confidence > '-Infinity'::double precision AND confidence < 'Infinity'::double precision) AND (access_count >= -1000000)
      AND (reinforcement_count >= -1000000)
      AND (last_accessed_at >= '0001-01-01 00:00:00+00' AND last_accessed_at < '10000-01-01 00:00:00+00')
      AND (NOT jsonb_path_exists(tags, '$.**{100}')
      AND NOT jsonb_path_exists(tags, '$.** ? (@.type() == "number") ? (@ > 1e300 || @ < -1e300)'))
      AND (NOT jsonb_path_exists(attributes, '$.**{100}')
      AND NOT jsonb_path_exists(attributes, '$.** ? (@.type() == "number") ? (@ > 1e300 || @ < -1e300)'))
      AND (cardinality(source_document_ids) <= 100000) AND (cardinality(source_chunk_ids) <= 100000)
      AND (valid_from >= '0001-01-01 00:00:00+00' AND valid_from < '10000-01-01 00:00:00+00')
      AND (valid_to >= '0001-01-01 00:00:00+00' AND valid_to < '10000-01-01 00:00:00+00')
      AND (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
      AND (invalidated_at >= '0001-01-01 00:00:00+00' AND invalidated_at < '10000-01-01 00:00:00+00')
) NOT VALID;
ALTER TABLE memory.memory_versions ADD CONSTRAINT memory_versions_rows_are_readable CHECK (
    (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
) NOT VALID;
ALTER TABLE memory.claim_events ADD CONSTRAINT claim_events_rows_are_readable CHECK (
    (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
) NOT VALID;
ALTER TABLE memory.promotions ADD CONSTRAINT promotions_rows_are_readable CHECK (
    (NOT jsonb_path_exists(scores, '$.**{100}')
      AND NOT jsonb_path_exists(scores, '$.** ? (@.type() == "number") ? (@ > 1e300 || @ < -1e300)'))
      AND (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
      AND (invalidated_at >= '0001-01-01 00:00:00+00' AND invalidated_at < '10000-01-01 00:00:00+00')
) NOT VALID;
ALTER TABLE memory.pages ADD CONSTRAINT pages_rows_are_readable CHECK (
    (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
      AND (invalidated_at >= '0001-01-01 00:00:00+00' AND invalidated_at < '10000-01-01 00:00:00+00')
) NOT VALID;
ALTER TABLE memory.communities ADD CONSTRAINT communities_rows_are_readable CHECK (
    (cardinality(member_ids) <= 100000) AND (NOT jsonb_path_exists(payload, '$.**{100}')
      AND NOT jsonb_path_exists(payload, '$.** ? (@.type() == "number") ? (@ > 1e300 || @ < -1e300)'))
      AND (valid_from >= '0001-01-01 00:00:00+00' AND valid_from < '10000-01-01 00:00:00+00')
      AND (valid_to >= '0001-01-01 00:00:00+00' AND valid_to < '10000-01-01 00:00:00+00')
      AND (recorded_at >= '0001-01-01 00:00:00+00' AND recorded_at < '10000-01-01 00:00:00+00')
      AND (invalidated_at >= '0001-01-01 00:00:00+00' AND invalidated_at < '10000-01-01 00:00:00+00')
) NOT VALID;

-- Where every row holds, the constraint says so.
DO $$
DECLARE
  one record;
BEGIN
  FOR one IN SELECT c.conrelid::regclass AS held, c.conname FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
    WHERE c.contype = 'c' AND NOT c.convalidated AND c.conparentid = 0 AND c.coninhcount = 0 AND r.relnamespace = 'memory'::regnamespace
      AND c.conname = r.relname || '_rows_are_readable'
    ORDER BY r.relname
  LOOP
    BEGIN
      EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', one.held, one.conname);
    EXCEPTION WHEN check_violation THEN
      RAISE NOTICE '% has rows from before that break %', one.held, one.conname;
    END;
  END LOOP;
END $$;

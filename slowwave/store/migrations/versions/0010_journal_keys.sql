-- What journal entries and their images name is looked up once a statement instead of three times an entry, which was half of what
-- journalling cost. Nothing is locked by it, as nothing named can go: no entry is ever deleted, and no namespace that runs have.
-- An image is of its entry's namespace as well; the keys did not see to that.
ALTER TABLE night.journal DROP CONSTRAINT journal_namespace_id_fkey;
ALTER TABLE night.before_images DROP CONSTRAINT before_images_journal_id_fkey, DROP CONSTRAINT before_images_namespace_id_fkey;

CREATE FUNCTION night.refuse_unknown_namespace() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM (SELECT DISTINCT namespace_id FROM added) a
             WHERE NOT EXISTS (SELECT FROM memory.namespaces n WHERE n.id = a.namespace_id)) THEN
    RAISE foreign_key_violation USING MESSAGE = format('%I.%I names a namespace that is not there.', TG_TABLE_SCHEMA, TG_TABLE_NAME);
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION night.refuse_image_without_entry() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM added a LEFT JOIN night.journal j ON j.id = a.journal_id
             WHERE j.namespace_id IS DISTINCT FROM a.namespace_id) THEN
    RAISE foreign_key_violation USING MESSAGE = 'night.before_images names an entry that its namespace does not have.';
  END IF;
  RETURN NULL;
END $$;

REVOKE ALL ON ROUTINE night.refuse_unknown_namespace(), night.refuse_image_without_entry() FROM PUBLIC;

CREATE TRIGGER known_namespace AFTER INSERT ON night.journal REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION night.refuse_unknown_namespace();
CREATE TRIGGER known_entry AFTER INSERT ON night.before_images REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION night.refuse_image_without_entry();
CREATE TRIGGER known_entry_still AFTER UPDATE ON night.before_images REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION night.refuse_image_without_entry();

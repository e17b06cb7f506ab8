-- Events of claims are rows like others: named by an id that the row of a plan has as well, in order of their instants, seen by snapshots,
-- written and taken back with the items that claim something. Of one instant and claim, what came first is told by what it is.
ALTER TABLE memory.claim_events ALTER COLUMN id DROP IDENTITY;
ALTER TABLE memory.claim_events ALTER COLUMN id TYPE uuid USING gen_random_uuid();
ALTER TABLE memory.claim_events ALTER COLUMN id SET DEFAULT gen_random_uuid();
CREATE INDEX claim_events_other ON memory.claim_events (other_id) WHERE other_id IS NOT NULL;
CREATE TRIGGER note_inserts AFTER INSERT ON memory.claim_events REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.note_rows();
CREATE TRIGGER note_deletes AFTER DELETE ON memory.claim_events REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.note_rows();
GRANT INSERT, UPDATE, DELETE ON memory.claim_events TO slowwave_applier; -- to lock them: a trigger refuses updates, and deletions but an undo's

-- Links of other pages mean a page from the statement in which it comes: batches of apply and undo look at the end whether it is there.
ALTER TABLE memory.links ALTER CONSTRAINT links_target_document_id_fkey DEFERRABLE INITIALLY IMMEDIATE;

-- What a plan wrote into a followed folder: apply and undo say which files have to follow, and take note when they have. Whoever applies
-- changes no entry that is there, so that what a person wrote into a file since is told apart whoever wrote the page first.
GRANT INSERT (corpus_id, path, namespace_id, was_hash), DELETE ON memory.pending_files TO slowwave_applier;

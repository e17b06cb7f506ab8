-- A folder that a namespace follows. `standing` is how much its answers count beside others (1: as much as any); `sync_state` is what the last
-- sync saw of the files, so that the next one need not read those that stand as they stood: it is no content.
CREATE TABLE memory.corpora (
  id uuid NOT NULL,
  namespace_id uuid NOT NULL,
  root text NOT NULL,
  profile text NOT NULL,
  standing double precision DEFAULT 1.0 NOT NULL,
  settings jsonb DEFAULT '{}' NOT NULL,
  sync_state jsonb DEFAULT '{}' NOT NULL,
  synced_at timestamptz,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  invalidated_at timestamptz,
  invalidated_by uuid,
  content_version bigint DEFAULT 1 NOT NULL,
  updated_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  CONSTRAINT corpora_standing_is_a_share CHECK (standing BETWEEN 0 AND 1)
);
CREATE UNIQUE INDEX corpora_root ON memory.corpora (namespace_id, root) WHERE invalidated_at IS NULL;

-- `path` is relative to the root, with slashes; `content_hash` is the SHA-256 of the file's bytes; `version_of` names the document that
-- a row was, from its recorded_at until its invalidated_at.
ALTER TABLE memory.documents
  ADD COLUMN corpus_id uuid REFERENCES memory.corpora (id),
  ADD COLUMN path text,
  ADD COLUMN content_hash text,
  ADD COLUMN plane text DEFAULT 'durable' NOT NULL,
  ADD COLUMN version_of uuid REFERENCES memory.documents (id),
  ADD CONSTRAINT documents_plane CHECK (plane IN ('durable', 'sessions')),
  ADD CONSTRAINT documents_of_a_corpus_have_a_path CHECK (corpus_id IS NULL OR path IS NOT NULL),
  ADD CONSTRAINT documents_versions_are_retired CHECK (version_of IS NULL OR invalidated_at IS NOT NULL);
CREATE UNIQUE INDEX documents_path ON memory.documents (corpus_id, path) WHERE corpus_id IS NOT NULL AND invalidated_at IS NULL;
CREATE INDEX documents_version_of ON memory.documents (version_of) WHERE version_of IS NOT NULL;

-- The lines of the file that a chunk is, both included, from 1; `content_hash` is the SHA-256 of the chunk's text.
ALTER TABLE memory.chunks
  ADD COLUMN start_line integer,
  ADD COLUMN end_line integer,
  ADD COLUMN content_hash text,
  ADD CONSTRAINT chunks_lines CHECK (start_line >= 1 AND end_line >= start_line);
CREATE INDEX chunks_content_hash ON memory.chunks (namespace_id, content_hash) WHERE content_hash IS NOT NULL;

-- What a document points at: by a link that somebody wrote, or by a name that is known. `target` is as it was written; `anchor` is the
-- heading (#…) or block (#^…) that it names.
CREATE TABLE memory.links (
  id uuid NOT NULL,
  namespace_id uuid NOT NULL,
  document_id uuid NOT NULL,
  kind text NOT NULL,
  target text NOT NULL,
  target_document_id uuid,
  entity_id uuid,
  anchor text DEFAULT '' NOT NULL,
  line integer NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  invalidated_at timestamptz,
  invalidated_by uuid,
  content_version bigint DEFAULT 1 NOT NULL,
  updated_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  FOREIGN KEY(document_id) REFERENCES memory.documents (id),
  FOREIGN KEY(target_document_id) REFERENCES memory.documents (id),
  FOREIGN KEY(entity_id) REFERENCES memory.entities (id),
  CONSTRAINT links_kind CHECK (kind IN ('wikilink', 'markdown', 'embed', 'mention')),
  CONSTRAINT links_line CHECK (line >= 1)
);
CREATE INDEX links_document ON memory.links (document_id) WHERE invalidated_at IS NULL;
CREATE INDEX links_target ON memory.links (target_document_id) WHERE invalidated_at IS NULL;
CREATE INDEX links_entity ON memory.links (entity_id) WHERE entity_id IS NOT NULL;
CREATE INDEX links_live ON memory.links (namespace_id) WHERE invalidated_at IS NULL;

CREATE TRIGGER content_version BEFORE UPDATE ON memory.corpora FOR EACH ROW
  WHEN ((OLD.root, OLD.profile, OLD.standing, OLD.settings, OLD.recorded_at, OLD.invalidated_at, OLD.invalidated_by) IS DISTINCT FROM (NEW.root, NEW.profile, NEW.standing, NEW.settings, NEW.recorded_at, NEW.invalidated_at, NEW.invalidated_by))
  EXECUTE FUNCTION memory.bump_content_version();
CREATE TRIGGER content_version BEFORE UPDATE ON memory.links FOR EACH ROW
  WHEN ((OLD.document_id, OLD.kind, OLD.target, OLD.target_document_id, OLD.entity_id, OLD.anchor, OLD.line) IS DISTINCT FROM (NEW.document_id, NEW.kind, NEW.target, NEW.target_document_id, NEW.entity_id, NEW.anchor, NEW.line)
    OR (OLD.recorded_at, OLD.invalidated_at, OLD.invalidated_by) IS DISTINCT FROM (NEW.recorded_at, NEW.invalidated_at, NEW.invalidated_by))
  EXECUTE FUNCTION memory.bump_content_version();
DROP TRIGGER content_version ON memory.documents;
CREATE TRIGGER content_version BEFORE UPDATE ON memory.documents FOR EACH ROW
  WHEN ((OLD.external_id, OLD.source, OLD.title, OLD.content, OLD.metadata, OLD.valid_from, OLD.valid_to, OLD.recorded_at) IS DISTINCT FROM (NEW.external_id, NEW.source, NEW.title, NEW.content, NEW.metadata, NEW.valid_from, NEW.valid_to, NEW.recorded_at)
    OR (OLD.invalidated_at, OLD.invalidated_by, OLD.corpus_id, OLD.path, OLD.content_hash, OLD.plane, OLD.version_of) IS DISTINCT FROM (NEW.invalidated_at, NEW.invalidated_by, NEW.corpus_id, NEW.path, NEW.content_hash, NEW.plane, NEW.version_of))
  EXECUTE FUNCTION memory.bump_content_version();
DROP TRIGGER content_version ON memory.chunks;
CREATE TRIGGER content_version BEFORE UPDATE ON memory.chunks FOR EACH ROW
  WHEN ((OLD.external_id, OLD.document_id, OLD.ordinal, OLD.content, OLD.recorded_at, OLD.invalidated_at, OLD.invalidated_by) IS DISTINCT FROM (NEW.external_id, NEW.document_id, NEW.ordinal, NEW.content, NEW.recorded_at, NEW.invalidated_at, NEW.invalidated_by)
    OR (OLD.start_line, OLD.end_line, OLD.content_hash) IS DISTINCT FROM (NEW.start_line, NEW.end_line, NEW.content_hash))
  EXECUTE FUNCTION memory.bump_content_version();

CREATE TRIGGER note_inserts AFTER INSERT ON memory.corpora REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.note_rows();
CREATE TRIGGER note_deletes AFTER DELETE ON memory.corpora REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.note_rows();
CREATE TRIGGER note_updates AFTER UPDATE ON memory.corpora REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION memory.note_updates();
CREATE TRIGGER note_inserts AFTER INSERT ON memory.links REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.note_rows();
CREATE TRIGGER note_deletes AFTER DELETE ON memory.links REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION memory.note_rows();
CREATE TRIGGER note_updates AFTER UPDATE ON memory.links REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION memory.note_updates();

GRANT SELECT ON memory.corpora, memory.links TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;
GRANT INSERT, UPDATE, DELETE ON memory.corpora, memory.links TO slowwave_applier;

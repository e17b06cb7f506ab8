-- Folders of Markdown that are worked on in place: each file is a run of blocks whose texts, put together in their order, are the file to the
-- byte. `folder` is the name of the connected store. What a file says of a block is in `said`; what it is to say is lead, body and tail, and
-- nothing where the block is `gone`. Where the two differ, the file has yet to follow.
CREATE TABLE memory.folder_blocks (
  id uuid NOT NULL,
  folder text NOT NULL,
  path text NOT NULL,
  position integer NOT NULL,
  kind text NOT NULL,
  section text DEFAULT '' NOT NULL,
  lead text DEFAULT '' NOT NULL,
  body text DEFAULT '' NOT NULL,
  tail text DEFAULT '' NOT NULL,
  said text DEFAULT '' NOT NULL,
  gone boolean DEFAULT false NOT NULL,
  place text DEFAULT '' NOT NULL,
  day timestamptz,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  vector vector,
  PRIMARY KEY (id),
  FOREIGN KEY(folder) REFERENCES night.stores (name),
  CONSTRAINT folder_blocks_kind CHECK (kind IN ('block', 'other', 'left'))
);
CREATE INDEX folder_blocks_path ON memory.folder_blocks (folder, path, position);

-- The files as they were read or written last: size, time and hash tell whether somebody else wrote one since.
CREATE TABLE memory.folder_files (
  folder text NOT NULL,
  path text NOT NULL,
  size bigint NOT NULL,
  mtime bigint NOT NULL,
  hash text NOT NULL,
  PRIMARY KEY (folder, path),
  FOREIGN KEY(folder) REFERENCES night.stores (name)
);

GRANT SELECT ON memory.folder_blocks, memory.folder_files
  TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;
GRANT UPDATE ON memory.folder_blocks TO slowwave_applier;

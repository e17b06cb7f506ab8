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

-- What was written to a store whose binding asks for word of it, one row a batch, made in the transaction of the batch itself: so there is one
-- for whatever was committed, and for nothing else. `tables` are the native keys of the rows by physical table.
CREATE TABLE night.notices (
  id uuid NOT NULL,
  namespace_id uuid NOT NULL,
  store text NOT NULL,
  run_id uuid NOT NULL,
  undo boolean NOT NULL,
  tables jsonb NOT NULL,
  attempts integer DEFAULT 0 NOT NULL,
  error text DEFAULT '' NOT NULL,
  recorded_at timestamptz DEFAULT clock_timestamp() NOT NULL,
  delivered_at timestamptz,
  given_up_at timestamptz,
  PRIMARY KEY (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  FOREIGN KEY(store) REFERENCES night.stores (name),
  FOREIGN KEY(run_id) REFERENCES night.runs (id)
);
CREATE INDEX notices_waiting ON night.notices (store, recorded_at) WHERE delivered_at IS NULL AND given_up_at IS NULL;
GRANT SELECT ON night.notices TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;
GRANT INSERT (id, namespace_id, store, run_id, undo, tables), UPDATE (attempts, error, delivered_at, given_up_at) ON night.notices
  TO slowwave_applier;

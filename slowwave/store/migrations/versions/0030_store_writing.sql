-- What a store has no column for is written with the change that it belongs to, and taken back with it.
GRANT INSERT, UPDATE, DELETE ON night.overlay TO slowwave_applier;

COMMENT ON COLUMN night.journal.row_key IS
  'Rest of the row''s key: the model of a vector; of a row in a store that is not ours its native key, as JSON of the texts of its columns.';

-- What lets an agent in: a token's `id` is said in the open and finds the row, its secret is kept as SHA-256 alone. It is of one
-- namespace, for ever; only its end can be brought forward.
CREATE TABLE memory.tokens (
  id text NOT NULL,
  namespace_id uuid NOT NULL,
  name text NOT NULL,
  hash bytea NOT NULL,
  scopes text[] NOT NULL,
  expires_at timestamptz NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  revoked_at timestamptz,
  PRIMARY KEY (id),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id),
  CONSTRAINT tokens_hash CHECK (octet_length(hash) = 32),
  CONSTRAINT tokens_scopes CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'propose', 'approve']),
  CONSTRAINT tokens_expire CHECK (isfinite(expires_at))
);
CREATE INDEX tokens_namespace ON memory.tokens (namespace_id);

-- Whoever answers agents reads memory, tokens and plans, and writes what an agent recalled. No other row of `night` is his to read.
GRANT USAGE ON SCHEMA memory, night TO slowwave_server;
GRANT SELECT ON ALL TABLES IN SCHEMA memory TO slowwave_server;
GRANT SELECT ON night.plans, night.plan_items TO slowwave_server;
GRANT INSERT ON memory.recall_events TO slowwave_server;

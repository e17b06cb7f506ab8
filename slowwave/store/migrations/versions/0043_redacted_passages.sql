-- The few redactions of a namespace: a search asks of each of its candidates whether it tells what was redacted.
CREATE INDEX memory_versions_redactions ON memory.memory_versions (namespace_id) WHERE reason = 'redact';

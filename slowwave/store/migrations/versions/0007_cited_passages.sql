-- ==========================================================================
-- Memories by the passages that they cite
-- ==========================================================================

-- Searches look for the memories of each passage that they find: the text of one that has ended, is quarantined or archived, or has a newer
-- text decides how the passage is shown. Writers wait while the index is built: seconds for a million rows.

CREATE INDEX memories_chunks ON memory.memories USING gin (source_chunk_ids);
DROP INDEX memory.memories_ended_chunks;  -- the same column, of some rows alone
DROP INDEX memory.memories_quarantined_chunks;
DROP INDEX memory.memory_versions_redactions;  -- a redaction is found from its memory

-- The few memories that are quarantined, by the passages that they cite: a search asks it for each of its candidates.
CREATE INDEX memories_quarantined_chunks ON memory.memories USING gin (source_chunk_ids) WHERE state = 'quarantined';

-- The few memories that have ended, by the passages that they cite: a search asks it for each of its candidates.
CREATE INDEX memories_ended_chunks ON memory.memories USING gin (source_chunk_ids) WHERE valid_to IS NOT NULL;

-- ==========================================================================
-- Rows of a namespace
-- ==========================================================================

-- A snapshot reads all rows of a namespace, ended ones too, the schedule counts those recorded since the last night, and status and nights
-- read the namespace's ledger. Writers wait while the indexes are built: seconds for a million rows.

CREATE INDEX memories_namespace ON memory.memories (namespace_id, recorded_at);
CREATE INDEX memory_facts_namespace ON memory.memory_facts (namespace_id, recorded_at);
CREATE INDEX documents_namespace ON memory.documents (namespace_id);
DROP INDEX memory.documents_live;  -- the same column, of live rows alone
CREATE INDEX chunks_namespace ON memory.chunks (namespace_id);
CREATE INDEX links_namespace ON memory.links (namespace_id);
DROP INDEX memory.links_live;
CREATE INDEX corpora_namespace ON memory.corpora (namespace_id);
CREATE INDEX pages_namespace ON memory.pages (namespace_id);
CREATE INDEX promotions_namespace ON memory.promotions (namespace_id);
CREATE INDEX communities_namespace ON memory.communities (namespace_id);
CREATE INDEX claim_events_namespace ON memory.claim_events (namespace_id);

CREATE INDEX plan_items_namespace ON night.plan_items (namespace_id);
CREATE INDEX approvals_namespace ON night.approvals (namespace_id);
CREATE INDEX applied_namespace ON night.applied (namespace_id, recorded_at);
CREATE INDEX withdrawals_namespace ON night.withdrawals (namespace_id, recorded_at);
CREATE INDEX notices_namespace ON night.notices (namespace_id);

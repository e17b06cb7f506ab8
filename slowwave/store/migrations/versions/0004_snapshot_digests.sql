-- ==========================================================================
-- Hashes of snapshots
-- ==========================================================================

-- The SHA-256 of a snapshot's meta.json, which names and hashes its other files: files in an object store are read only if they are the
-- ones that the night wrote. Empty for snapshots of before this migration.

ALTER TABLE night.snapshots ADD COLUMN digest text NOT NULL DEFAULT '';

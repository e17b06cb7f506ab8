-- ==========================================================================
-- Processes of runs
-- ==========================================================================

-- The machine (or pod) and the process id of the process that works on a run: where an operator looks when a run is stuck. Empty for runs of
-- before this migration.

ALTER TABLE night.runs ADD COLUMN process text NOT NULL DEFAULT '';

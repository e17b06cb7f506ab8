-- What a run was asked for, how far it is, and whether a person asked it to pause.
ALTER TABLE night.runs
  ADD COLUMN parameters jsonb DEFAULT '{}' NOT NULL,
  ADD COLUMN progress jsonb DEFAULT '{}' NOT NULL,
  ADD COLUMN pause_requested_at timestamptz;

-- A conflict knows what both rows said, which run saw it, and who resolved it how.
ALTER TABLE night.conflicts
  ADD COLUMN seen text DEFAULT '' NOT NULL,
  ADD COLUMN run_id uuid,
  ADD COLUMN winner_id uuid,
  ADD COLUMN loser_id uuid,
  ADD COLUMN resolved_by text,
  ADD COLUMN note text DEFAULT '' NOT NULL;

-- Switches that every process reads before each batch.
CREATE TABLE night.switches (
  name text NOT NULL,
  is_on boolean NOT NULL,
  set_by text NOT NULL,
  note text DEFAULT '' NOT NULL,
  set_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (name)
);

-- Who names a row that is about to be purged.
CREATE INDEX promotions_memory ON memory.promotions (memory_id);
CREATE INDEX memories_merged ON memory.memories (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX memory_facts_superseded ON memory.memory_facts (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE INDEX llm_usage_namespace ON night.llm_usage (namespace_id, recorded_at);

-- Versions are append-only; undo and the purge of a memory after retention delete them.
CREATE OR REPLACE FUNCTION memory.refuse_unless_undo() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND 'on' IN (current_setting('slowwave.undo', true), current_setting('slowwave.purge', true)) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '%.% is append-only: % is refused. Text and names are added, never overwritten.', TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_OP;
END $$;

GRANT SELECT ON night.switches TO slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier;
GRANT INSERT, UPDATE ON night.switches TO slowwave_approver;
GRANT UPDATE (resolution, winner_id, loser_id, resolved_by, note, resolved_at) ON night.conflicts TO slowwave_approver;
GRANT UPDATE (pause_requested_at) ON night.runs TO slowwave_approver;

-- Retention empties what only explains the past; approvals, applied plans, journal and events stay.
GRANT DELETE ON night.findings, night.llm_usage, night.snapshots, night.plan_items, night.before_images TO slowwave_applier;

-- A run may be a deep pass: a model works on a scratch copy, and what comes of it is a plan.
ALTER TABLE night.runs DROP CONSTRAINT runs_mode,
  ADD CONSTRAINT runs_mode CHECK (mode IN ('plan', 'apply', 'undo', 'deep'));

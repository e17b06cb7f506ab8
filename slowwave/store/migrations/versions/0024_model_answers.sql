-- What a model answered, by a hash of what it was asked: of use to a run that is taken up again, and removed with what explains the past.
CREATE TABLE night.model_answers (
  namespace_id uuid NOT NULL,
  key text NOT NULL,
  model text NOT NULL,
  answer text NOT NULL,
  recorded_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (namespace_id, key),
  FOREIGN KEY(namespace_id) REFERENCES memory.namespaces (id)
);
GRANT SELECT, INSERT ON night.model_answers TO slowwave_planner;
GRANT SELECT, DELETE ON night.model_answers TO slowwave_applier;
GRANT SELECT ON night.model_answers TO slowwave_reader, slowwave_approver;

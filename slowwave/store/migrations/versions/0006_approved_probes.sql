-- What the probes said of the very items that were approved.
ALTER TABLE night.approvals ADD COLUMN probes jsonb DEFAULT '{}' NOT NULL;

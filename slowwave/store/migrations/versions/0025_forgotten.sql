-- What was forgotten is in no search, not as of an earlier day either, by day as by a plan: a claim from the event that says so, a page and
-- its passages from its mark. An undo takes event and mark back, and brings back what was searched. Of a page that was forgotten before and
-- begun anew these are the passages since then.
CREATE FUNCTION memory.forget_claim_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    DELETE FROM memory.search_texts t WHERE t.id = NEW.claim_id AND t.namespace_id = NEW.namespace_id;
  ELSE
    PERFORM memory.index_texts('memories', ARRAY(SELECT m.id FROM memory.memories m WHERE m.id = OLD.claim_id AND m.namespace_id = OLD.namespace_id));
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION memory.forget_page_texts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF jsonb_exists(NEW.metadata, 'forgotten') THEN
    DELETE FROM memory.search_texts t USING memory.chunks c WHERE c.document_id = NEW.id AND t.id = c.id;
  ELSIF current_setting('slowwave.undo', true) = 'on' THEN
    PERFORM memory.index_texts('chunks', ARRAY(SELECT c.id FROM memory.chunks c WHERE c.document_id = NEW.id AND c.recorded_at >= coalesce(
      (SELECT max(v.invalidated_at) FROM memory.documents v WHERE v.version_of = NEW.id AND jsonb_exists(v.metadata, 'forgotten')), '-infinity')));
  END IF;
  RETURN NULL;
END $$;

SELECT night.as_definer('memory.forget_claim_text()');
SELECT night.as_definer('memory.forget_page_texts()');
CREATE TRIGGER forget_text AFTER INSERT ON memory.claim_events FOR EACH ROW WHEN (NEW.event = 'retired') EXECUTE FUNCTION memory.forget_claim_text();
CREATE TRIGGER recall_text AFTER DELETE ON memory.claim_events FOR EACH ROW WHEN (OLD.event = 'retired') EXECUTE FUNCTION memory.forget_claim_text();
CREATE TRIGGER forget_texts_of_page AFTER UPDATE OF metadata ON memory.documents FOR EACH ROW
  WHEN (jsonb_exists(OLD.metadata, 'forgotten') <> jsonb_exists(NEW.metadata, 'forgotten')) EXECUTE FUNCTION memory.forget_page_texts();

-- A plan says what else holds the words of a page that it would forget.
GRANT EXECUTE ON FUNCTION memory.held_elsewhere(memory.documents) TO slowwave_reader;

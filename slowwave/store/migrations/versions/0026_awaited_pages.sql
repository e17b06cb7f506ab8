-- A link of a page that a plan writes may mean another page of the same plan: it means nothing until that one is there, whichever of the two
-- is applied first, and nothing again when that one is taken back.
ALTER TABLE memory.links ADD COLUMN awaited_id uuid;
CREATE INDEX links_awaited ON memory.links (awaited_id) WHERE awaited_id IS NOT NULL;

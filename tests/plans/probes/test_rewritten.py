"""What stands for words that a page no longer says, and for claims that end."""

from __future__ import annotations

from datetime import UTC, datetime

from slowwave.changes.cells import inserted_id
from slowwave.plans.items import Item
from slowwave.plans.probes.recall import rewritten
from slowwave.store.settings import Settings
from slowwave.wiki.claims.planned_claims import NewSubject, PlannedClaim, SubjectClaims, planned_claims
from slowwave.wiki.corpus.planned_pages import PlannedPage, planned_pages
from tests.snapshots import make_snapshot, uid

HEAD = "---\ntitle: Tides\ntype: idea\n---\n\n"


def test_a_passage_is_stood_for_by_the_one_that_shares_its_words_and_a_claim_by_what_follows() -> None:
    """Of two new passages the nearer one; a page that only loses text, and a claim that nothing replaces, have none."""
    long = "The spring tide floods the quay at six in the morning. " * 40
    other = "Apples are stored in the cellar until the frost comes back. " * 40
    page = {"id": uid("d"), "corpus_id": uid("c"), "path": "ideas/tides.md", "metadata": "{}", "plane": "durable"}
    chunks = [{"id": uid("old"), "document_id": uid("d"), "content": long, "content_hash": "h", "ordinal": 0}]
    corpus = {"id": uid("c"), "root": "/notes", "profile": "plain"}
    claim = {
        **{"id": uid("m"), "kind": "claim", "state": "active", "attributes": "{}"},
        "valid_from": datetime(2026, 1, 1, tzinfo=UTC),
    }
    snapshot = make_snapshot(documents=[page], chunks=chunks, corpora=[corpus], memories=[claim])
    text = f"{HEAD}# Tides\n\n{long.replace('six', 'nine')}\n\n# Apples\n\n{other}\n"
    (written,) = planned_pages(snapshot, Settings(), None, [PlannedPage("ideas/tides.md", text, "/notes")])
    said = PlannedClaim("state", "It is live.", snapshot.taken_at, closes=(uid("m"),))
    (claims,) = planned_claims(
        snapshot, Settings(), None, [SubjectClaims(NewSubject("project:rowan", "Rowan"), (said,))]
    )
    items = [Item("test", "write", written), Item("test", "claim", claims)]
    new = {i.row: str(i.values["content"]) for i in written.inserts if i.table == "chunks"}
    assert len(new) > 1
    stands = rewritten(snapshot, items)
    assert "quay" in new[stands[uid("old")]]
    version = next(n for n, i in enumerate(claims.inserts) if i.table == "memories")
    assert stands[uid("m")] == inserted_id(items[1].id, version)
    assert rewritten(snapshot, [Item("test", "none", claims)]).keys() == {uid("m")}

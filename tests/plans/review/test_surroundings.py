"""A card says what was planned, applied and rejected about its rows before, and with what they are linked."""

from __future__ import annotations

from slowwave.night.answers import split
from slowwave.plans.gate import reject
from slowwave.plans.review.card import card
from slowwave.plans.review.drafts import reconsider
from slowwave.store.connect import Store
from tests.memories import behind_triggers
from tests.night.test_amended_items import NAMES, applied_and_undone, item_of, people, waiting
from tests.permitting import sign
from tests.snapshots import uid
from tests.toy import key


def test_history_and_links_of_a_question(store: Store) -> None:
    """Split, applied, undone, withdrawn and rejected: the newest first; links by name, and no secret of a reason."""
    people(store)
    plan = waiting(store)
    merge = item_of(plan, "dedupe_entities")
    first = card(store, plan, next(s for s in plan.items if s.id == merge)).around
    assert first.history == ()
    assert first.links == ((NAMES[3], "KNOWS", NAMES[1]),)
    made = split(store, "acme", plan.plan_hash, merge, out=[uid(NAMES[3])], by="mara")
    sign(store, "acme", plan.plan_hash, reviewer="mara", include_decided=False)
    applied_and_undone(store, made, "SELECT 1")
    reconsider(store, "acme", [merge], withdrawn_by="jon", reason="one family")
    behind_triggers(store, "UPDATE night.plan_items SET status = 'pending' WHERE item_id = %s", made.item)
    reject(store, "acme", made.plan_hash, rejected_by="jon", reason=f"his key is {key()}", items=[made.item])
    amended = waiting(store, made.plan_hash)
    shown = card(store, amended, amended.items[0]).around
    assert shown.history[0].what == "rejected"
    assert {event.what for event in shown.history} == {"rejected", "withdrawn", "applied", "undone"}
    assert key() not in repr(shown)
    assert all(event.sentence() for event in shown.history)

"""A new night's plan takes over what was said of the items that say the same, and names what was said of those that are gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowwave.plans.gate import revoke
from slowwave.plans.review.drafts import NewDraft, read_drafts, save_drafts, undo_last
from slowwave.plans.review.queue import gone_drafts, queue
from slowwave.store.connect import Store
from tests.nights import write_a_plan
from tests.permitting import approve, sign
from tests.plans.review.reviews import Review, asking
from tests.plans.review.test_drafts import say


@pytest.fixture
def review(store: Store) -> Review:
    """Mara said yes, no and skip of three items, and yes of one that needs no person."""
    review = asking(store)
    say(review, "mara", _0="yes", _1="no", _2="skip")
    return review


def next_night(review: Review, *gone: str) -> Review:
    """The plan of the next night, without some items."""
    first, *items = [i for i in review.plan.items if i.id not in gone]
    changed = replace(
        first, decision=f"{first.decision}-again"
    )  # the plan of a night that found something else as well
    _, plan = write_a_plan(review.store, review.world, items=[changed, *items])
    return replace(review, plan=plan)


def said(review: Review) -> dict[str, tuple[str, bool]]:
    found = read_drafts(review.store, review.slug, review.hash)
    return {item: (draft.verdict, draft.followed is not None) for item, draft in found.items()}


def test_what_was_said_follows_to_the_same_items_and_the_rest_is_named(review: Review) -> None:
    yes, no, skip = review.asked[:3]
    second = next_night(review, no)
    assert said(second) == {yes: ("yes", True), skip: ("skip", True)}
    assert queue(second.stored(), read_drafts(second.store, second.slug, second.hash)).followed == 2
    (gone,) = gone_drafts(second.store, second.slug, second.hash)
    assert (gone.item, gone.verdict, gone.reviewer, gone.plan_hash) == (no, "no", "mara", review.hash)
    assert gone_drafts(review.store, review.slug, review.hash) == []
    third = next_night(second, yes)
    assert said(third) == {skip: ("skip", True)}, "over two nights, though nobody looked at the second plan"


def test_one_s_own_word_of_the_new_plan_counts_and_undo_gives_back_what_followed(review: Review) -> None:
    yes, no, skip = review.asked[:3]
    second = next_night(review)
    drafts = [NewDraft(yes, "no"), NewDraft(no, "none"), NewDraft(skip, "yes")]
    save_drafts(second.store, second.slug, second.hash, drafts, reviewer="mara")
    save_drafts(second.store, second.slug, second.hash, [NewDraft(no, "yes")], reviewer="jon")
    assert said(second) == {yes: ("no", False), no: ("yes", False), skip: ("yes", False)}
    assert set(undo_last(second.store, second.slug, second.hash, reviewer="mara")) == {yes, no, skip}
    found = read_drafts(second.store, second.slug, second.hash)
    assert (found[yes].verdict, found[no].verdict, found[no].against) == ("yes", "no", ("jon",))
    assert found[skip].verdict == "skip"
    assert undo_last(second.store, second.slug, second.hash, reviewer="mara") == (), (
        "what followed is no step of this plan"
    )


def test_a_signature_spends_what_followed(review: Review) -> None:
    """Signed with the new plan; an item that waits again afterwards is asked about again, now and in the night after."""
    yes, no, _ = review.asked[:3]
    second = next_night(review)
    done = sign(second.store, second.slug, second.hash, reviewer="jon", include_decided=False)
    assert (done.approved, done.rejected) == (1, 1)
    assert second.statuses()[yes] == "approved"
    assert second.statuses()[no] == "rejected"
    assert done.approval_id
    revoke(second.store, second.slug, done.approval_id, revoked_by="jon", reason="too early")
    assert second.statuses()[yes] == "pending"
    assert said(second) == {}
    assert said(next_night(second)) == {}
    assert gone_drafts(second.store, second.slug, second.hash) == []


def test_what_was_decided_in_the_plan_before_does_not_follow(review: Review) -> None:
    yes, *_ = review.asked
    approve(review.store, review.slug, review.hash, approver="jon", items=[yes])
    assert yes not in said(next_night(review))

"""Drafts are revocable, each reviewer's own, and nothing follows from them."""

from __future__ import annotations

import pytest

from slowwave.errors import Refused
from slowwave.plans.gate import reject
from slowwave.plans.review.drafts import NewDraft, read_drafts, save_drafts, undo_last
from slowwave.store.connect import Store
from tests.nights import write_a_plan
from tests.permitting import approve
from tests.plans.review.reviews import Review, asking


@pytest.fixture
def review(store: Store) -> Review:
    return asking(store)


def say(review: Review, reviewer: str, **verdicts: str) -> None:
    """Verdicts by place: ``_0="yes"`` is of the first item that asks."""
    drafts = [NewDraft(review.asked[int(place[1:])], verdict) for place, verdict in verdicts.items()]  # type: ignore[arg-type]
    save_drafts(review.store, review.slug, review.hash, drafts, reviewer=reviewer)


def said(review: Review) -> dict[int, tuple[str, str]]:
    found = read_drafts(review.store, review.slug, review.hash)
    return {review.asked.index(item): (draft.verdict, draft.reviewer) for item, draft in found.items()}


def test_the_latest_of_a_reviewer_counts_and_nothing_follows_from_it(review: Review) -> None:
    before = review.statuses()
    say(review, "mara", _0="yes", _1="no")
    say(review, "mara", _0="no")
    say(review, "mara", _1="none")
    assert said(review) == {0: ("no", "mara")}
    assert review.statuses() == before
    assert review.rows("approvals") == review.rows("rejections") == 0


def test_two_reviewers_have_their_own_and_see_where_they_differ(review: Review) -> None:
    """A skip is no verdict: the other's counts. Who said what stays with it."""
    say(review, "mara", _0="yes", _1="skip", _2="skip")
    say(review, "jon", _0="no", _1="no")
    found = read_drafts(review.store, review.slug, review.hash)
    assert said(review) == {0: ("no", "jon"), 1: ("no", "jon"), 2: ("skip", "mara")}
    assert [found[review.asked[n]].against for n in range(3)] == [("mara",), (), ()]
    say(review, "mara", _0="none")
    assert read_drafts(review.store, review.slug, review.hash)[review.asked[0]].against == ()


def test_what_was_said_last_is_taken_back_step_by_step(review: Review) -> None:
    """A save of many goes at once, what was said before comes back, and the other reviewer's stays."""
    say(review, "jon", _0="skip")
    say(review, "mara", _0="yes")
    say(review, "mara", _0="no", _1="no")
    undo = lambda: undo_last(review.store, review.slug, review.hash, reviewer="mara")  # noqa: E731
    assert set(undo()) == set(review.asked[:2])
    assert said(review) == {0: ("yes", "mara")}
    assert undo() == (review.asked[0],)
    assert said(review) == {0: ("skip", "jon")}
    assert undo() == ()
    say(review, "mara", _2="yes")
    assert undo() == (review.asked[2],)
    assert review.rows("review_drafts") == 9, "what was said and taken back stays on record"


def test_a_note_is_kept_with_its_verdict(review: Review) -> None:
    drafts = [NewDraft(review.asked[0], "no", "two people; O'Hara \\ \u202e")]
    save_drafts(review.store, review.slug, review.hash[:12], drafts, reviewer="mara")
    draft = read_drafts(review.store, review.slug, review.hash)[review.asked[0]]
    assert (draft.note, draft.recorded_at.tzinfo is not None) == ("two people; O'Hara \\ \u202e", True)


@pytest.mark.parametrize(
    ("drafts", "reviewer", "told"),
    [
        ([], "mara", "no verdict"),
        ([NewDraft("x", "yes")], "mara", "no id"),
        ([NewDraft("00000000-0000-4000-8000-000000000000", "yes")], "mara", "is no item"),
        ([NewDraft("00000000-0000-4000-8000-000000000000", "maybe")], "mara", "is no verdict"),  # type: ignore[arg-type]
        ([NewDraft("00000000-0000-4000-8000-000000000000", "no", "x" * 2001)], "mara", "at most"),
        ([NewDraft("00000000-0000-4000-8000-000000000000", "no", "x\x00")], "mara", "no text may hold"),
        ([NewDraft("00000000-0000-4000-8000-000000000000", "no")] * 2, "mara", "more than one"),
        ([NewDraft("00000000-0000-4000-8000-000000000000", "no")], "policy", "A policy"),
        ([NewDraft("00000000-0000-4000-8000-000000000000", "no")], "", "must be named"),
    ],
)
def test_what_cannot_be_kept_is_refused(review: Review, drafts: list[NewDraft], reviewer: str, told: str) -> None:
    with pytest.raises(Refused, match=told):
        save_drafts(review.store, review.slug, review.hash, drafts, reviewer=reviewer)
    assert review.rows("review_drafts") == 0


def test_of_several_verdicts_one_that_is_refused_keeps_none(review: Review) -> None:
    reject(review.store, review.slug, review.hash, rejected_by="jon", reason="no", items=[review.asked[1]])
    with pytest.raises(Refused, match="is rejected already"):
        say(review, "mara", _0="yes", _1="yes")
    assert said(review) == {}


def test_a_plan_that_is_over_takes_no_drafts(review: Review) -> None:
    """Superseded, and expired."""
    _, newer = write_a_plan(review.store, review.world, items=[i for i in review.plan.items if i.id in review.decided])
    with pytest.raises(Refused, match=f"superseded by {newer.plan_hash[:12]}"):
        say(review, "mara", _0="yes")
    late = asking(review.store, 400, expiry_days=0)
    with pytest.raises(Refused, match="expired on"):
        say(late, "mara", _0="yes")


def test_what_was_said_of_an_item_that_is_decided_counts_no_more(review: Review) -> None:
    say(review, "mara", _0="no", _1="yes")
    approve(review.store, review.slug, review.hash, approver="jon", items=[review.asked[0]])
    assert said(review) == {1: ("yes", "mara")}
    assert undo_last(review.store, review.slug, review.hash, reviewer="mara") == (review.asked[1],)

"""The queue shows what waits, by what it asks, with what was said of it."""

from __future__ import annotations

import pytest

from slowwave.plans.questions import HEADINGS
from slowwave.review.drafts import NewDraft, read_drafts, save_drafts
from slowwave.review.queue import Queue, queue
from slowwave.store.connect import Store
from tests.review.reviews import Review, asking
from tests.review.test_drafts import say


@pytest.fixture
def review(store: Store) -> Review:
    return asking(store)


def shown(review: Review, **more: object) -> Queue:
    return queue(review.stored(), read_drafts(review.store, review.slug, review.hash), **more)  # type: ignore[arg-type]


def test_items_stand_under_their_question_with_what_was_said(review: Review) -> None:
    say(review, "mara", _0="yes", _1="no", _2="skip")
    save_drafts(review.store, review.slug, review.hash, [NewDraft(review.decided[0], "no")], reviewer="mara")
    found = shown(review)
    (group,) = found.groups
    assert (group.code, group.label) == ("same", HEADINGS["same"])
    assert {w.id for w in group.items} == set(review.asked)
    assert found.counts == group.counts == {"open": len(review.asked) - 3, "yes": 1, "no": 1, "skip": 1}
    assert (found.decided, found.overruled) == (len(review.decided), 1)
    assert {w.id: w.state for w in found.items}[review.asked[1]] == "no"
    assert all(w.sentence.startswith("Are these rows one thing?") for w in found.items)


def test_an_order_and_filters_leave_the_counts(review: Review) -> None:
    say(review, "mara", _0="yes")
    everything = shown(review)
    assert [w.information for w in everything.items] == sorted((w.information for w in everything.items), reverse=True)
    likeliest = [w.probability for w in shown(review, sort="probability").items]
    assert likeliest == sorted(likeliest, reverse=True)
    assert {w.id for w in shown(review, state="open").items} == set(review.asked[1:])
    assert all(w.probability >= 0.6 for w in shown(review, likely=0.6).items)
    assert shown(review, operation="archive_stale").items == ()
    wanted = everything.items[0]
    assert wanted.id in {w.id for w in shown(review, search=wanted.title.upper()).items}
    assert shown(review, search="no such words").items == ()
    assert shown(review, search="no such words").counts == everything.counts


def test_a_contradiction_is_shown(review: Review) -> None:
    say(review, "mara", _0="yes")
    say(review, "jon", _0="no")
    assert shown(review).contradictions == (review.asked[0],)
    assert {w.id: w.state for w in shown(review).items}[review.asked[0]] == "no"

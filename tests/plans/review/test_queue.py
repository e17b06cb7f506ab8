"""The queue shows what waits, by what it asks, with what was said of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from slowwave.plans.questions import HEADINGS
from slowwave.plans.review.card import called_rows
from slowwave.plans.review.drafts import NewDraft, read_drafts, save_drafts
from slowwave.plans.review.queue import Queue, queue, unnamed
from slowwave.store.connect import Store
from tests.plans.review.reviews import Review, asking
from tests.plans.review.test_drafts import say


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


def test_questions_are_called_by_what_the_store_calls_their_rows(review: Review) -> None:
    """Where evidence gives no names, as in plans on stores of others: ids stand only for rows that have none, and evidence that names them
    asks the store for nothing."""
    merges = review.stored()
    assert not unnamed(merges), "a merge of entities rests on their names"
    assert all("merged into" in w.title and "entities " not in w.title for w in queue(merges, {}).items)
    rows = {item.id: json.loads(item.mutation) for item in merges.items}
    bare = {
        id_: {"kind": "set_state", "table": "entities", "rows": [of["keep"], *of["absorb"]]}
        for id_, of in rows.items()
        if "keep" in of
    }
    plan = replace(
        merges,
        items=tuple(
            replace(item, mutation=json.dumps(bare[item.id] | {"writes": [], "guards": [], "inserts": []}))
            for item in merges.items
            if item.id in bare
        ),
    )
    assert all(w.title.startswith("entities ") for w in queue(plan, {}).items)
    names = called_rows(review.store, plan)
    assert names.keys() == unnamed(plan)
    titles = {w.id: w.title for w in queue(plan, {}, names=names).items}
    with review.store.connect("owner") as connection:
        called = {
            str(id_): str(name)
            for id_, name in connection.execute("SELECT id::text, name FROM memory.entities").fetchall()
        }
    assert titles
    assert titles == {id_: ", ".join(called[row["id"]] for row in bare[id_]["rows"][:5]) for id_ in titles}
    told = replace(plan, items=tuple(replace(item, evidence='{"names": ["Ada", "A."]}') for item in plan.items))
    assert not unnamed(told)
    assert {w.title for w in queue(told, {}, names=names).items} == {"Ada = A."}

"""Questions that follow from others: they are listed with the question that holds them back, and wait for it alone."""

from __future__ import annotations

import pytest

from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.night.follow_up import held_back, leaves_questions, seal_follow_ups
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.plans.ledger import read_plan
from slowwave.plans.review.drafts import NewDraft, read_session, resting_on_decided, save_drafts
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.surfaces.api.plan import NightPlan
from tests.memories import ask, remember
from tests.night.test_answers import towns


@pytest.mark.slow
def test_follow_up_is_sealed_when_no_open_question_shares_a_cell_with_it(store: Store) -> None:
    """Before all are answered nothing is planned; then the plan of what follows is linked to the one that it follows from."""
    plan = towns(store, "Porto", "Lisbon", "Faro")
    session = read_session(store, "acme", plan.hash)
    asked = {question.id for question in plan.questions}
    assert [of in asked for _, of in held_back(session)] == [True] * plan.counts["deferred"]
    runs = "SELECT count(*) FROM night.runs"
    before = ask(store, runs)
    assert (seal_follow_ups(store, "acme", plan.hash, by="mara"), ask(store, runs)) == ((), before)
    save_drafts(store, "acme", plan.hash, [NewDraft(id_, "no") for id_ in sorted(asked)], reviewer="mara")
    (made,) = seal_follow_ups(store, "acme", plan.hash, by="mara")
    for named in (plan.hash, made):
        assert [s.plan.plan_hash for s in read_session(store, "acme", named)] == [plan.hash, made]


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "left"), [("same", 1), ("different", 3)])
def test_pairs_that_share_a_row_are_asked_in_one_session(store: Store, answer: str, left: int) -> None:
    """Three spellings of one company: the planner asks one pair a plan; the others follow when it is answered (J17)."""
    names = ("Jansen Boats", "Jensen Boats", "Janson Boats")
    entities = [{"id": name, "name": name, "entity_type": "organisation"} for name in names]
    remember(store, "acme", entities=entities)
    night = run_night(store, "acme", ops="dedupe_entities", force=True)
    assert night.plan is not None
    with store.connect("reader") as connection:
        assert leaves_questions(read_plan(connection, night.plan.plan_hash)) == ("dedupe_entities",)
    first, before, asked = NightPlan("acme", night.plan.plan_hash, store), digest(store, "acme"), 0
    plans = [first]
    while plans:
        plan = plans.pop()
        for question in plan.questions:
            done = plan.answer(question, answer, "mara")
            asked += 1
            assert done.problem == ""
            plans += [NightPlan("acme", made, store) for made in done.follow_ups]
    assert asked == 2, "two of the three pairs look alike, and they share a row"
    runs = [apply_approval(store, s.approval_id).run_id for s in first.sign("mara") if s.approval_id]
    assert ask(store, "SELECT count(*) FROM memory.entities WHERE invalidated_at IS NULL") == [(left,)]
    assert run_night(store, "acme", ops="dedupe_entities", force=True).new_items == 0
    for run in reversed(runs):
        undo_run(store, run)
    assert digest(store, "acme") == before


@pytest.mark.slow
def test_question_that_a_decided_merge_held_back_is_asked_in_the_same_session(store: Store) -> None:
    """It is asked about the survivor, and its answer counts only together with the merge (J17)."""
    mail = {"email": "office@jansen-boats.example"}
    named = [("a", "Jansen Boats", mail), ("b", "jansen boats", mail), ("c", "Jansen Boats", {})]
    named += [("d", "Mara Fisheries", {}), ("e", "Mora Fisheries", {})]
    entities = [{"id": id_, "name": name, "entity_type": "organisation", "attributes": a} for id_, name, a in named]
    remember(store, "acme", entities=entities)
    night = run_night(store, "acme", ops="dedupe_entities", force=True)
    assert night.plan is not None
    first, before = NightPlan("acme", night.plan.plan_hash, store), digest(store, "acme")
    assert [item.decision for item in first.items if item.decision != "review"] == ["merge"]
    (question,) = first.questions
    (made,) = first.answer(question, "different", "mara").follow_ups
    follow_up = NightPlan("acme", made, store)
    (held,) = follow_up.questions
    assert follow_up.answer(held, "same", "mara").problem == ""
    session = read_session(store, "acme", first.hash)
    assert resting_on_decided(session) == {made}

    signed = {s.plan_hash: s for s in first.sign("mara")}
    assert (signed[made].approval_id, signed[made].left) == (None, 1)
    with pytest.raises(Refused, match="rest on items"):
        first.sign("mara")
    runs = [apply_approval(store, s.approval_id) for s in first.sign("mara", include_decided=True) if s.approval_id]
    assert [run.counts["applied"] for run in runs] == [1, 1]
    live = "SELECT lower(name) FROM memory.entities WHERE invalidated_at IS NULL ORDER BY 1"
    assert ask(store, live) == [("jansen boats",), ("mara fisheries",), ("mora fisheries",)]
    for run in reversed(runs):
        undo_run(store, run.run_id)
    assert digest(store, "acme") == before

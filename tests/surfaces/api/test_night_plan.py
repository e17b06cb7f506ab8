"""A plan in Python: the very hash that somebody looked at is signed, applied and taken back."""

from __future__ import annotations

import subprocess
import sys

import pytest

import slowwave
from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.dreamers import OPS, forgetful
from tests.memories import ask, remember
from tests.nights import new_world, write_a_plan


def test_plan_look_approve_apply_and_undo(store: Store) -> None:
    """In the words that people write; the digest is the same at both ends."""
    slug = forgetful(store, rows=4)
    before = digest(store, slug)
    plan = slowwave.plan(slug, ops=OPS, store=store)
    assert len(plan) == len(plan.items) == 4
    assert plan.state == "awaiting_approval"
    assert all(item.name and item.changes for item in plan)
    assert plan.questions == ()
    plan.approve("mara", items=plan.items[:2])
    assert plan.state == "partly_approved"
    assert ask(store, "SELECT plan_hash, approver FROM night.approvals") == [(plan.hash, "mara")]
    run = plan.apply()
    assert run.counts["applied"] == 2
    assert plan.state == "partly_applied"
    plan.approve("mara")
    second = plan.apply()
    assert digest(store, slug) != before
    (undone,) = run.undo(items=[plan.items[0]])
    assert undone.items == (plan.items[0].id,)
    run.undo()
    second.undo()
    plan.refresh()
    assert (digest(store, slug), plan.state) == (before, "undone")
    with pytest.raises(Refused, match="was undone"):
        slowwave.plan(slug, ops=OPS, store=store)
    assert slowwave.plan(slug, plan_hash=plan.hash[:12], store=store).state == "undone", (
        "asked for by name it is still there"
    )


def test_approvals_that_wait_are_applied_together_and_undone_backwards(store: Store) -> None:
    """One call applies what several people signed."""
    world = new_world(store)
    before = digest(store, world.slug)
    _, written = write_a_plan(store, world)
    plan = slowwave.plan(world.slug, plan_hash=written.plan_hash[:10], store=store)
    (question,) = plan.questions
    plan.approve("mara")
    plan.approve("theo", items=[question])
    run = plan.apply()
    assert len(run.run_ids) == 2
    assert run.counts["applied"] == len(plan)
    assert [len(undone.items) for undone in run.undo()] == [1, len(plan) - 1]
    assert digest(store, world.slug) == before


def test_what_may_not_be_is_refused_and_nothing_is_written(store: Store) -> None:
    """No plan, no approval, a plan that another has taken the place of, a name that is none."""
    slug = forgetful(store, rows=4)
    before = digest(store, slug)
    plan = slowwave.plan(slug, store=store, ops=OPS)
    with pytest.raises(slowwave.Refused, match="Approve it"):
        plan.apply()
    with pytest.raises(slowwave.Refused):
        plan.approve("")
    assert slowwave.plan(slug, store=store, plan_hash=plan.hash).hash == plan.hash
    ask(store, "UPDATE night.plans SET state = 'superseded' WHERE plan_hash = %s", plan.hash)
    with pytest.raises(slowwave.Refused):
        plan.approve("mara")
    with pytest.raises(slowwave.Refused):
        slowwave.plan(slug, store=store, plan_hash="0" * 12)
    with pytest.raises(slowwave.Refused):
        slowwave.plan("nobody", store=store)
    with pytest.raises(slowwave.Refused):
        slowwave.plan(slug, ops="no_such_operation", store=store)
    assert digest(store, slug) == before


def test_a_rejection_is_remembered_and_counted(store: Store) -> None:
    """Some items, then the rest."""
    slug = forgetful(store, rows=4)
    plan = slowwave.plan(slug, store=store, ops=OPS)
    assert plan.reject("mara", "They are two people.", items=[plan.items[0].id]) == 1
    assert dict(plan.counts) == {"rejected": 1, "pending": 3}
    assert plan.reject("mara", "Nor these.") == 3
    assert plan.state == "rejected"


def test_what_a_prompt_shows_is_a_line(store: Store) -> None:
    """However many items, however long a name."""
    slug = forgetful(store, rows=4)
    ask(store, "UPDATE memory.entities SET name = name || repeat(' and on', 100)")
    plan = slowwave.plan(slug, store=store, ops=OPS)
    assert repr(plan) == f"<NightPlan {slug} {plan.hash[:12]} awaiting_approval: 4 to approve, 0 questions>"
    assert len(repr(plan.items[0])) < 140
    plan.approve("mara")
    assert repr(plan.apply()).endswith("4 applied>")


def test_importing_the_package_loads_no_engine() -> None:
    """``import slowwave`` is nothing; asking for ``plan`` loads it."""
    code = "import sys, slowwave; print('psycopg' in sys.modules); slowwave.plan; print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_forget_plans_approves_and_applies_and_refuses_undo(store: Store) -> None:
    """J23 from Python: a stored memory is deleted for good."""
    texts = {"key": "The boat key lies under the pot.", "tea": "Tea is green."}
    remember(
        store,
        "acme",
        memories=[{"id": name, "kind": "note", "current_version_id": f"{name} v"} for name in texts],
        memory_versions=[{"id": f"{n} v", "memory_id": n, "ordinal": 1, "content": text} for n, text in texts.items()],
    )
    for memory, match in (("", ""), ("key", "boat")):
        with pytest.raises(Refused, match="exactly one of memory, entity, session and match"):
            slowwave.forget("acme", memory=memory, match=match, store=store)
    plan = slowwave.forget("acme", match="boat key", reason="She asked.", store=store)
    assert plan.forgetting is not None
    assert plan.forgetting.rows["memories"] == 1
    assert "cannot be undone" in plan.forgetting.sentence()
    plan.approve("mara", force=True, note="She asked.")
    run = plan.apply()
    assert ask(store, "SELECT content FROM memory.memory_versions") == [("Tea is green.",)]
    with pytest.raises(Refused, match="forgot rows for good"):
        run.undo()


def test_to_frame_has_a_row_for_each_item(store: Store) -> None:
    plan = slowwave.plan(forgetful(store, rows=4), ops=OPS, store=store)
    frame = plan.to_frame()
    assert list(frame.index) == [item.id for item in plan.items]
    assert list(frame["name"]) == [item.name for item in plan.items]
    assert set(frame["status"]) == {"pending"}

"""What an undo finds wrong with a journal; how each forgery ends is told in tests/regressions/test_06_forged_journal.py."""

from __future__ import annotations

from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.nights import new_world, write_a_plan
from tests.permitting import approve


def test_whatever_was_applied_comes_back_and_goes_again(store: Store) -> None:
    """Merges with aliases that were spared, counters, vectors: apply, undo, undo of the undo, in part and whole, over several worlds."""
    for seed in (3, 7, 11):
        world = new_world(store, seed)
        before = digest(store, world.slug)
        _, plan = write_a_plan(store, world)
        approval = approve(store, world.slug, plan.plan_hash, approver="mara", include_review=True)
        run = apply_approval(store, approval.id)
        after = digest(store, world.slug)
        first = undo_run(store, run.run_id, items=[approval.item_ids[0]])
        assert first.items == approval.item_ids[:1]
        assert digest(store, world.slug) != after
        undo_run(store, first.run_id)
        assert digest(store, world.slug) == after
        rest = undo_run(store, run.run_id)
        assert set(rest.items) == set(approval.item_ids) - set(first.items), "the first stands by the undo of its undo"
        back = undo_run(store, rest.run_id)
        assert digest(store, world.slug) == after
        assert undo_run(store, back.run_id).items == back.items
        assert undo_run(store, first.run_id).items == ()
        undo_run(store, approval.item_ids[0])
        assert digest(store, world.slug) == before

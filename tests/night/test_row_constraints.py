"""Apply and undo on a store that has rows from before its constraints, or whose rows were changed since."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from slowwave.changes.merges import Alike, merge_memories
from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import set_columns
from slowwave.errors import UndoBlocked
from slowwave.night.executor import ApplyResult, apply_approval
from slowwave.night.undo import undo_run
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import ago, ask, remember
from tests.nights import write_a_plan
from tests.permitting import approve
from tests.snapshots import uid

DROP = "ALTER TABLE memory.memories DROP CONSTRAINT memories_validity_is_in_order"
ADD = f"{DROP.replace('DROP', 'ADD')} CHECK (valid_to >= valid_from) NOT VALID"


def applied(store: Store, operation: str, mutations: Sequence[Mutation]) -> ApplyResult:
    """An item a mutation, planned, approved and applied."""
    ((namespace_id,),) = ask(store, "SELECT id::text FROM memory.namespaces WHERE slug = 'acme'")
    world = SimpleNamespace(namespace_id=namespace_id, slug="acme")
    decision = "archive" if operation == "archive_stale" else "merge"
    _, plan = write_a_plan(store, world, items=[Item(operation, decision, m) for m in mutations])
    return apply_approval(store, approve(store, "acme", plan.plan_hash, approver="mara").id)


def test_an_item_that_touches_a_broken_row_fails_alone(store: Store) -> None:
    """The other of its batch is applied, and its reason names the constraint."""
    with store.connect("owner") as owner:
        owner.execute(DROP.encode())
    remember(
        store,
        "acme",
        memories=[
            {"id": "old", "kind": "episodic", "valid_from": ago(1), "valid_to": ago(2)},
            {"id": "good", "kind": "episodic", "valid_from": ago(2), "valid_to": ago(1)},
        ],
    )
    with store.connect("owner") as owner:
        owner.execute(ADD.encode())
    states = {uid(name): {"state": "archived"} for name in ("old", "good")}
    result = applied(
        store, "archive_stale", set_columns(export_snapshot(store, "acme"), "set_state", "memories", states)
    )
    assert (result.counts["applied"], result.counts["failed"]) == (1, 1)
    assert ask(store, "SELECT state FROM memory.memories WHERE id = %s", uid("good")) == [("archived",)]
    ((reason,),) = ask(store, "SELECT reason FROM night.plan_items WHERE status = 'failed'")
    assert "memories_validity_is_in_order" in str(reason)


def test_an_undo_that_would_break_a_constraint_is_refused_and_names_it(store: Store) -> None:
    """A survivor began as early as the row that it absorbed, and was ended since, before its own beginning."""
    remember(
        store,
        "acme",
        memories=[
            {"id": "keep", "kind": "episodic", "valid_from": ago(2)},
            {"id": "gone", "kind": "episodic", "valid_from": ago(9)},
        ],
    )
    result = applied(
        store,
        "dedupe_memories",
        merge_memories(export_snapshot(store, "acme"), [Alike(uid("keep"), (uid("gone"),))]),
    )
    assert result.counts["applied"] == 1
    with store.connect("owner") as owner:
        owner.execute("UPDATE memory.memories SET valid_to = %s WHERE id = %s", (ago(5), uid("keep")))
    before = digest(store, "acme")
    with pytest.raises(UndoBlocked, match="memories_validity_is_in_order"):
        undo_run(store, result.run_id)
    assert digest(store, "acme") == before
    with store.connect("owner") as owner:
        owner.execute("UPDATE memory.memories SET valid_to = NULL WHERE id = %s", (uid("keep"),))
    undo_run(store, result.run_id)
    assert ask(store, "SELECT count(*) FROM memory.memories WHERE invalidated_at IS NULL") == [(2,)]

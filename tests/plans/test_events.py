"""The chain of events: whoever changes, adds or removes one behind the triggers is found at the first that does not fit."""

from __future__ import annotations

import pytest

from slowwave.night.executor import apply_approval
from slowwave.plans.event_chain import verify_chain
from slowwave.store.connect import Store
from tests.memories import behind_triggers
from tests.nights import new_world, write_a_plan
from tests.permitting import approve


def applied(store: Store) -> tuple[str, int]:
    """A namespace with a chain of several events, and how many."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara", include_review=True).id)
    count, broken = checked(store, world.namespace_id)
    assert (count > 3, broken) == (True, None)
    return world.namespace_id, count


def checked(store: Store, namespace: str) -> tuple[int, int | None]:
    with store.connect("reader") as connection:
        return verify_chain(connection, namespace)


@pytest.mark.parametrize(
    "forged",
    [
        *(f"previous_hash = repeat('{digit}', 64)" for digit in "0f"),
        *(f"hash = repeat('{digit}', 64)" for digit in "0f"),
        *(
            "payload_hash = repeat('0', 64)",
            "event = 'undone'",
            "item_id = gen_random_uuid()",
            "run_id = gen_random_uuid()",
        ),
    ],
)
def test_a_changed_event_is_named(store: Store, forged: str) -> None:
    """Whichever column it is, and whether the forged value sorts before the right one or after it."""
    namespace, _ = applied(store)
    behind_triggers(store, f"UPDATE night.memory_events SET {forged} WHERE sequence = 3")
    assert checked(store, namespace) == (3, 3)


def test_a_missing_event_is_named_by_the_next(store: Store) -> None:
    """The number that follows is not the one that should."""
    namespace, count = applied(store)
    behind_triggers(store, "DELETE FROM night.memory_events WHERE sequence = 2")
    assert checked(store, namespace) == (2, 3)
    behind_triggers(store, "DELETE FROM night.memory_events WHERE sequence > 1")
    assert checked(store, namespace) == (1, None), "the end of a chain is known by the journal, not by the chain"
    assert count > 1

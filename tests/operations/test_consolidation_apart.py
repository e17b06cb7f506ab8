"""Pairs that stay apart, and those of which one takes the place of the other."""

from __future__ import annotations

from slowwave.operations.consolidation import Contradicting, contradicting, rejected
from slowwave.store.settings import Settings
from tests.operations.planners.test_consolidate_clusters import memory, world
from tests.snapshots import uid

MOVED = {"a": "Mara lives in Lund.", "b": "Mara moved from Lund to Bergen.", "c": "Mara paints boats."}


def pair(one: str, other: str) -> tuple[str, str]:
    first, second = sorted((uid(one), uid(other)))
    return first, second


def found(*conflicts: dict[str, object]) -> Contradicting:
    rows = [memory(n, t, day=k) for k, (n, t) in enumerate(MOVED.items(), 1)]
    return contradicting(world(*rows, conflicts=list(conflicts)), Settings())


def on_record(one: str, other: str, resolution: str) -> dict[str, object]:
    return {"table_name": "memories", "row_a_id": uid(one), "row_b_id": uid(other), "resolution": resolution}


def test_the_later_of_two_replaces_the_earlier_where_a_rule_says_so() -> None:
    """It is in no other list, though the audit of an earlier night put it on record."""
    clash = found()
    assert (clash.replaces, clash.others) == ({pair("a", "b")}, frozenset())
    again = found(on_record("a", "b", "detected"))
    assert (again.replaces, again.others) == ({pair("a", "b")}, frozenset())


def test_what_was_decided_to_stand_and_what_nothing_orders_is_apart() -> None:
    """Kept, deferred, or on record without a rule that finds it tonight."""
    for resolution in ("kept", "deferred"):
        clash = found(on_record("a", "b", resolution))
        assert (clash.replaces, clash.others) == (frozenset(), {pair("a", "b")})
    clash = found(on_record("c", "b", "detected"))
    assert clash.others == {pair("b", "c")}
    assert clash.every() == {pair("a", "b"), pair("b", "c")}


def test_a_conflict_of_another_table_or_operation_keeps_nobody_apart() -> None:
    """Facts have their own, and so has every operation its rejections."""
    other = {**on_record("a", "b", "kept"), "table_name": "memory_facts"}
    assert found(other).replaces == {pair("a", "b")}
    assert rejected(world(memory("a", MOVED["a"])), "topic_memories") == frozenset()

"""What waits for another night: housekeeping beyond its cap, the oldest memories first; nothing else is displaced by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from slowwave.changes.merges import Alike, merge_memories
from slowwave.changes.rows import invalidate_rows, set_columns
from slowwave.operations import permits
from slowwave.operations.planners.archive_small_talk import _RESTS_ON
from slowwave.plans.items import Item
from slowwave.plans.permitted import Permits
from slowwave.plans.probes.radius import HeldOver, at_fault
from slowwave.plans.seal import arrange, arranged_again, leaving, without
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from tests.permitting import blast_radius, harmful, waiting
from tests.snapshots import TAKEN_AT, make_snapshot, uid

ORDER = ("resolve_conflicts", "archive_small_talk", "dedupe_memories")
PERMITS = Permits({name: permits().by_operation[name] for name in ORDER})
SETTINGS = Settings(blast_radius_rows=5)
"""Of 100 rows five, and thirty with housekeeping."""


def store(kinds: Sequence[str] = ("episodic",) * 100) -> Snapshot:
    """A memory a day, the first the oldest."""
    return make_snapshot(
        memories=[
            {"id": uid(n), "kind": kind, "valid_from": TAKEN_AT - timedelta(days=200 - n)}
            for n, kind in enumerate(kinds)
        ]
    )


def archived(snapshot: Snapshot, rows: Sequence[int]) -> list[Item]:
    values = {uid(n): {"state": "archived"} for n in rows}
    made = set_columns(snapshot, "set_state", "memories", values, _RESTS_ON)
    return [Item("archive_small_talk", "archive", mutation) for mutation in made]


def joined(snapshot: Snapshot, rows: Sequence[int]) -> list[Item]:
    """Each row into the one after it."""
    made = merge_memories(snapshot, [Alike(uid(n + 1), (uid(n),)) for n in rows])
    return [Item("dedupe_memories", "merge", mutation) for mutation in made]


def resolved(snapshot: Snapshot, rows: Sequence[int], sure: float = 0.9) -> list[Item]:
    return [
        Item("resolve_conflicts", "resolve", invalidate_rows(snapshot, "memories", {uid(n): None}), probability=sure)
        for n in rows
    ]


def rows_of(items: Sequence[Item], ids: frozenset[str]) -> list[str]:
    return sorted(w.cell.row for i in items if i.id in ids for w in i.mutation.writes if w.cell.column == "state")


def test_the_newest_small_talk_waits_and_the_plan_is_within_its_caps() -> None:
    """Of 40 that would be archived 30 are; a plan of all of them is beyond, and one of the rest passes without force."""
    snapshot = store()
    items = archived(snapshot, range(40))
    waits = waiting(snapshot, items, SETTINGS)
    assert rows_of(items, waits.ids) == sorted(uid(n) for n in range(30, 40))
    assert waits.sentences() == (
        "10 items are left for a later night (10 of archive_small_talk): the plan is at its limit for memories.",
    )
    assert not blast_radius(snapshot, items, SETTINGS).passed
    radius = blast_radius(snapshot, [i for i in items if i.id not in waits.ids], SETTINGS)
    assert radius.passed
    assert "30 of 100 memories (30.0%; 5, and 30 with duplicates and small talk, allowed)" in radius.sentence()


def test_merges_and_what_is_no_housekeeping_come_first() -> None:
    """Twenty merges and five ended facts leave room for five of the small talk."""
    snapshot = store()
    items = [*archived(snapshot, range(10)), *joined(snapshot, range(50, 90, 2)), *resolved(snapshot, range(20, 25))]
    waits = waiting(snapshot, items, SETTINGS)
    assert rows_of(items, waits.ids) == sorted(uid(n) for n in range(5, 10))
    assert blast_radius(snapshot, [i for i in items if i.id not in waits.ids], SETTINGS).passed


def test_the_least_sure_contradictions_wait_beyond_the_ordinary_cap() -> None:
    """Housekeeping's room is not theirs."""
    snapshot = store()
    items = [*resolved(snapshot, range(4), 0.95), *resolved(snapshot, range(4, 8), 0.8)]
    waits = waiting(snapshot, items, SETTINGS)
    late = {i.id for i in items if i.id in waits.ids}
    assert len(late) == 3
    assert {i.probability for i in items if i.id in late} == {0.8}


def test_what_may_not_wait_still_needs_force_and_is_named() -> None:
    """Rows that nobody declared housekeeping are held to the ordinary cap, whatever stands beside; housekeeping is not at fault."""
    snapshot = store()
    other = [replace(i, operation="archive_stale") for i in archived(snapshot, range(8))]
    items = [*other, *archived(snapshot, range(20, 30))]
    assert not waiting(snapshot, items, SETTINGS).ids
    radius = blast_radius(snapshot, items, SETTINGS)
    assert not radius.passed
    assert "8 of 100 memories in addition to duplicates and small talk (5 allowed)" in radius.sentence()
    found = at_fault(snapshot, items, _fine(), radius)
    assert found == {i.id for i in other}


def _fine():
    from slowwave.plans.probes.recall import _NOTHING, RecallProbe

    return RecallProbe(**{name: getattr(_NOTHING, name) for name in _NOTHING.__slots__}, memories=_NOTHING)


def test_a_review_never_waits() -> None:
    snapshot = store()
    items = [replace(i, decision="review") for i in archived(snapshot, range(40))]
    assert waiting(snapshot, items, SETTINGS) == HeldOver()


def test_a_kind_is_held_to_its_cap_as_well() -> None:
    """Ten of one kind among a hundred: five of them may go by the rule for small types, however much room the table has."""
    snapshot = store(("working",) * 10 + ("episodic",) * 90)
    waits = waiting(snapshot, archived(snapshot, range(10)), SETTINGS)
    assert len(waits.ids) == 5


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_items_makes_no_difference(seed: int) -> None:
    snapshot = store()
    items = [*archived(snapshot, range(40)), *joined(snapshot, range(50, 80, 2)), *resolved(snapshot, range(82, 90))]
    expected = waiting(snapshot, items, SETTINGS)
    Random(seed).shuffle(items)
    assert waiting(snapshot, items, SETTINGS) == expected
    one, two = (without(arrange(i, PERMITS), expected.ids, PERMITS) for i in (items, items[::-1]))
    assert one == two
    assert {i.id for i in one.deferred_items} >= expected.ids


def test_what_waits_keeps_waiting_while_items_change_and_lets_in_what_it_displaced() -> None:
    """A merge that lost its row to small talk stands once that waits; what waits comes back by no detour."""
    snapshot = store()
    talk, merge = archived(snapshot, [1]), joined(snapshot, [0])
    before = arrange([*talk, *merge], PERMITS)
    assert [i.id for i in before.deferred_items] == [merge[0].id]
    later = without(before, {talk[0].id}, PERMITS)
    assert ([i.id for i in later.items], later.deferred) == ([merge[0].id], {talk[0].id: ""})
    asked = replace(merge[0], decision="review", risk="high")
    assert arranged_again(later, {merge[0].id: asked}, PERMITS).waiting == {talk[0].id}
    gone = leaving(before, {talk[0].id})
    assert (gone.items, set(gone.deferred)) == ((), {talk[0].id, merge[0].id})


def test_housekeeping_that_harms_recall_waits_and_anything_else_asks_for_force() -> None:
    snapshot = store()
    talk, ends = archived(snapshot, [1, 2]), resolved(snapshot, [5])
    assert harmful([*talk, *ends], {talk[0].id}).ids == {talk[0].id}
    assert "recall would find less" in harmful(talk, {talk[0].id}).sentences()[0]
    assert harmful([*talk, *ends], {talk[0].id, ends[0].id}) == HeldOver()

"""``archive_stale``: both policies, whom they never take, and what archived rows are to recall."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta

import numpy as np
import pytest

from slowwave.changes.apply import apply_items
from slowwave.changes.simulate import simulate
from slowwave.changes.undo import undo_entries
from slowwave.operations import PLANNERS, Proposal
from slowwave.plans.items import Item
from slowwave.search.rows import searched_rows
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import MODEL, ago, ask, remember
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

archive_stale = PLANNERS["archive_stale"]

Row = dict[str, object]
NATURAL = {"operations": {"archive_stale": {"policy": "natural_selection"}}}
NATURAL_RING_OF_3 = {"operations": {"archive_stale": {"policy": "natural_selection", "ring_cap": 3}}}


def memory(name: str, days: float = 30, **more: object) -> Row:
    """A memory of medium importance that began and arrived so many days ago and was never read."""
    start = TAKEN_AT - timedelta(days=days)
    return {"id": uid(name), "external_id": name, "kind": "episodic", "valid_from": start, "recorded_at": start, **more}


def recall_of(name: str, days: float) -> Row:
    """A recall so many days ago that found one row."""
    return {"query": "q", "occurred_at": TAKEN_AT - timedelta(days=days), "hit_ids": [uid(name)]}


LOGGED = [recall_of("another row", 400), recall_of("another row", 0)]
"""Recalls that found other rows, logged for longer than any memory of these tests is there."""


def archived(
    *memories: Row, settings: Mapping[str, object] | None = None, **tables: Sequence[Row]
) -> tuple[set[str | None], Proposal, Snapshot]:
    """The names of those that would be archived."""
    tables = {**tables, "recall_events": [*tables.get("recall_events", ()), *LOGGED]}
    snapshot = make_snapshot(settings=settings, memories=memories, **tables)
    found = archive_stale(make_inputs(snapshot))
    return {i.mutation.rows[0].external_id for i in found.items}, found, snapshot


def test_an_old_faded_memory_that_nobody_read_is_archived() -> None:
    """mnemo's rule; the item says why, and the night after has nothing to archive."""
    names, found, snapshot = archived(
        memory("m", current_version_id=uid("v")), memory("young", 6), memory("read", access_count=1),
        memory_versions=[{"id": uid("v"), "memory_id": uid("m"), "content": "It rained."}],
    )  # fmt: skip
    assert names == {"m"}
    (item,) = found.items
    assert (item.decision, item.risk, Item.from_json(item.to_json())) == ("archive", "low", item)
    assert (item.evidence["names"], item.evidence["age_hours"], item.evidence["policy"]) == (
        ["It rained."],
        720.0,
        "stale",
    )
    assert found.report.headline == "1 of 3 active memories would be archived (stale)."
    after = simulate(snapshot, found.items)
    states = {m["external_id"]: m["state"] for m in after.table("memories").to_pylist()}
    assert states == {"m": "archived", "young": "active", "read": "active"}
    assert archive_stale(make_inputs(after)).items == ()


@pytest.mark.parametrize(("hours", "gone"), [(167, False), (168, True)])
def test_the_age_gate_decides_for_what_was_never_read(hours: float, gone: bool) -> None:
    """By default everything unread has faded after 92 hours: the seven days keep it."""
    assert bool(archived(memory("m", hours / 24))[0]) is gone


@pytest.mark.parametrize("policy", ["stale", "natural_selection"])
@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"pinned": True}, "that do not fade"),
        ({"attributes": {"shock": True}}, "that do not fade"),
        ({"ring": "shocks"}, "that do not fade"),
        ({"kind": "procedural"}, "that do not fade"),
        ({"ring": "procedures"}, "that do not fade"),
        ({"id": uid("recalled")}, "recalled in the window"),
        ({"id": uid("selected")}, "recalled in the window"),
        ({"id": uid("promoted")}, "promoted"),
        ({"id": uid("disputed")}, "in an open conflict"),
        ({"state": "quarantined"}, ""),
        ({"invalidated_at": TAKEN_AT}, ""),
    ],
)
def test_what_an_operator_would_miss_is_never_archived(policy: str, row: Row, reason: str) -> None:
    """Not by either policy, however old it is; the report counts what was kept for which reason."""
    names, found, _ = archived(
        memory("m", 300, **row),
        settings={"operations": {"archive_stale": {"policy": policy, "ring_cap": 1}}},
        recall_events=[
            {"query": "q", "occurred_at": TAKEN_AT - timedelta(days=80), "hit_ids": [uid("recalled")],
             "selected_ids": [uid("selected")]}
        ],
        promotions=[{"memory_id": uid("promoted"), "from_ring": "working", "to_ring": "longterm", "scores": {}}],
        conflicts=[{"table_name": "memories", "row_a_id": uid("disputed"), "row_b_id": uid("x"), "reason": "r", "evidence": {}}],
    )  # fmt: skip
    assert names == set()
    assert not reason or found.report.numbers[reason] == 1


def test_a_recall_before_the_window_keeps_nothing() -> None:
    """Use fades as well."""
    events = [{"query": "q", "occurred_at": TAKEN_AT - timedelta(days=91), "hit_ids": [uid("m")]}]
    assert archived(memory("m", 300), recall_events=events)[0] == {"m"}


@pytest.mark.parametrize("settings", [{}, NATURAL])
@pytest.mark.parametrize(
    ("arrived", "recalls", "gone"),
    [
        (1, [240, 0], False),  # imported yesterday with an old date
        (240, [], False),  # no recall was ever logged
        (240, [6, 0], False),  # logged for fewer days than the age limit
        (100, [200, 236], False),  # logged no longer since it arrived
        (240, [8, 0], True),
        (8, [240, 0], True),
    ],
)
def test_a_memory_without_a_chance_to_be_recalled_stays(
    settings: Row, arrived: float, recalls: Sequence[float], gone: bool
) -> None:
    """An old date proves nothing where recalls were not logged for the age limit after the memory arrived (J7)."""
    row = memory("m", 240, recorded_at=TAKEN_AT - timedelta(days=arrived))
    snapshot = make_snapshot(
        settings=settings, memories=[row], recall_events=[recall_of("n", days) for days in recalls]
    )
    found = archive_stale(make_inputs(snapshot))
    assert bool(found.items) is gone
    assert found.report.numbers["without a chance to be recalled"] == (not gone)
    assert len(found.report.findings) == (not gone)


def test_the_time_of_a_read_here_counts_as_a_logged_recall_and_an_imported_one_does_not() -> None:
    """Stores that count reads themselves log no recall events; an import brings times from before it."""
    old, new = TAKEN_AT - timedelta(days=60), TAKEN_AT - timedelta(days=1)
    for read_at, gone in ((old, False), (new, True)):
        reads = [memory(f"read {n}", 50 - n, access_count=3, last_accessed_at=read_at) for n in range(2)]
        reads.append(memory("first", 50, access_count=1, last_accessed_at=TAKEN_AT - timedelta(days=20)))
        found = archive_stale(make_inputs(make_snapshot(memories=[memory("m", 30), *reads])))
        assert bool(found.items) is gone


def test_pinned_memories_that_would_be_stale_are_told() -> None:
    """They stay, and a person may look at them."""
    _, found, _ = archived(memory("m", 300, pinned=True), memory("read", 300, pinned=True, access_count=4))
    (finding,) = found.report.findings
    assert (finding.rows, finding.severity) == ((uid("m"),), "info")


def test_natural_selection_takes_what_is_below_the_floor_read_or_not() -> None:
    """0.0995 after 75 days without a read; twenty re-observations carry it four times as far."""
    names, _, _ = archived(
        memory("low", 76), memory("higher", 74), memory("strong", 76, reinforcement_count=20),
        memory("read long ago", 300, access_count=3), settings=NATURAL,
    )  # fmt: skip
    assert names == {"low", "read long ago"}


def test_natural_selection_keeps_the_best_of_each_ring_and_converges() -> None:
    """What does not fade neither counts nor goes; one ring does not press upon another."""
    rows = [memory(f"w{n}", 20 + n) for n in range(5)] + [memory(f"l{n}", 20 + n, ring="longterm") for n in range(2)]
    rows += [memory(f"p{n}", 20, pinned=True) for n in range(4)] + [memory("new", 0.1)]
    names, found, snapshot = archived(*rows, settings=NATURAL_RING_OF_3)
    assert names == {"w2", "w3", "w4"}
    after = simulate(snapshot, found.items)
    assert archive_stale(make_inputs(after)).items == ()


def test_a_ring_full_of_what_is_used_does_not_archive_the_new() -> None:
    """A memory of yesterday is not gone before anyone could read it."""
    rows = [memory(f"m{n}", 40, reinforcement_count=20) for n in range(3)] + [memory("yesterday", 1)]
    assert archived(*rows, settings=NATURAL_RING_OF_3)[0] == set()


def test_a_memory_that_stands_for_others_asks_for_a_look() -> None:
    """With it what was merged into it leaves recall: medium risk, and the evidence says for how many."""
    gone: Row = {"state": "merged", "invalidated_at": TAKEN_AT, "merged_into": uid("m")}
    _, found, _ = archived(memory("m"), memory("a", **gone), memory("b", **gone))
    (item,) = found.items
    assert (item.risk, item.evidence["stands_for"]) == ("medium", 2)


def _loaded(store: Store) -> tuple[str, Sequence[Item]]:
    """Two old memories in the store, and the items that archive them."""
    namespace = remember(
        store, "stale",
        memories=[
            {"id": n, "external_id": n, "kind": "episodic", "valid_from": ago(60), "recorded_at": ago(60),
             "current_version_id": f"text of {n}"}
            for n in ("crane", "ferry")
        ],
        recall_events=[{"id": f"r{days}", "query": "q", "occurred_at": ago(days)} for days in (20, 0.1)],
        memory_versions=[
            {"id": f"text of {n}", "memory_id": n, "content": f"The {n} stood in Basel."} for n in ("crane", "ferry")
        ],
    )  # fmt: skip
    return namespace, archive_stale(make_inputs(export_snapshot(store, "stale", model=MODEL))).items


def test_archived_rows_do_not_come_back_from_recall_and_history_keeps_them(store: Store) -> None:
    """They leave what recall searches; the rows, their texts and the journal still tell of them, and undo brings them back."""
    namespace, items = _loaded(store)
    before = digest(store, "stale")
    assert len(items) == 2
    run = str(uuid.uuid4())
    for attempt in range(2):
        with store.connect("applier") as connection, connection.transaction():
            stale = apply_items(connection, namespace, run, items)
        assert len(stale) == 2 * attempt, "applied twice is applied once"
    after = export_snapshot(store, "stale", model=MODEL)
    assert len(searched_rows(after)) == 0
    assert archive_stale(make_inputs(after)).items == ()
    assert sorted(after.table("memory_versions")["content"].to_pylist()) == [
        f"The {n} stood in Basel." for n in ("crane", "ferry")
    ]
    assert np.all(np.array(after.table("memories")["valid_to"].to_pylist()) == None)  # noqa: E711
    with store.connect("applier") as connection, connection.transaction():
        undo_entries(connection, namespace, str(uuid.uuid4()), run, None)
    assert digest(store, "stale") == before
    assert len(searched_rows(export_snapshot(store, "stale", model=MODEL))) == 2


@pytest.mark.parametrize(
    ("change", "stays"),
    [
        ("UPDATE memory.memories SET access_count = access_count + 1, last_accessed_at = now() WHERE id = %s", True),
        ("UPDATE memory.memories SET pinned = true WHERE id = %s", True),
        ("UPDATE memory.memories SET tags = '[\"seen\"]' WHERE id = %s", False),
    ],
)
def test_a_memory_that_was_read_or_pinned_since_is_skipped_alone(store: Store, change: str, stays: bool) -> None:
    """Plan, mutate a touched row, apply: skipped as stale, and nothing else is lost. A tag does not matter."""
    namespace, items = _loaded(store)
    ask(store, change, uid("crane"))
    with store.connect("applier") as connection, connection.transaction():
        stale = apply_items(connection, namespace, str(uuid.uuid4()), items)
    assert len(stale) == stays
    states = dict(ask(store, "SELECT external_id, state FROM memory.memories"))  # type: ignore[arg-type]
    assert states == {"crane": "active" if stays else "archived", "ferry": "archived"}


def test_an_archival_rests_on_what_the_memory_says_and_on_nobody_reading_it() -> None:
    """Read, reworded or pinned since the plan it is not archived by it; counters guard nothing. A refusal holds for those words."""
    (item,) = archived(memory("m", current_version_id=uid("v")))[1].items
    guarded = {c.column for c, _ in item.mutation.seen()}
    assert {"current_version_id", "last_accessed_at", "pinned", "importance"} <= guarded
    assert not guarded & {"access_count", "reinforcement_count"}
    (same,) = archived(memory("m", current_version_id=uid("v"), importance=0.4))[1].items
    (other,) = archived(memory("m", current_version_id=uid("w")))[1].items
    assert same.subject() == item.subject() != other.subject()

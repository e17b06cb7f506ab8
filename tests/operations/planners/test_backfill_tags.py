"""``backfill_tags``: tags are added and never taken away, in scope, and a second night adds none."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from slowwave.changes.apply import apply_items
from slowwave.changes.simulate import simulate
from slowwave.changes.undo import undo_entries
from slowwave.operations import PLANNERS
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import MODEL, ask, remember
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

backfill_tags = PLANNERS["backfill_tags"]
promote_memories = PLANNERS["promote_memories"]

Row = dict[str, object]
ALL = {"operations": {"backfill_tags": {"scope": "all"}}}
KEY = "AKIA" + "Q3EGRIXT7VZM2LWN"  # the form of a cloud key, of no account


def memory(name: str, text: str = "The crane stands in Basel.", **more: object) -> Row:
    """A memory of the long-term ring with its text."""
    row = {"id": uid(name), "external_id": name, "kind": "semantic", "ring": "longterm"}
    return row | {"current_version_id": uid(f"text of {name}"), "text": text, **more}


def world(*memories: Row, settings: Mapping[str, object] | None = None, **tables: Sequence[Row]) -> Snapshot:
    """A snapshot of these."""
    rows = [{k: v for k, v in m.items() if k != "text"} for m in memories]
    versions = [{"id": m["current_version_id"], "memory_id": m["id"], "content": m["text"]} for m in memories]
    return make_snapshot(settings=settings, memories=rows, memory_versions=versions, **tables)


def tags(snapshot: Snapshot) -> dict[str, list[object]]:
    """Memory → tags, by name."""
    return {m["external_id"]: json.loads(m["tags"]) for m in snapshot.table("memories").to_pylist()}


def test_a_memory_gets_the_concepts_of_its_subject_and_text() -> None:
    """Those it has stay first; a second night has nothing to add."""
    snapshot = world(memory("m", subject="Harbour", tags=["own", "Crane"]), memory("bare", "Yes, it is."))
    found = backfill_tags(make_inputs(snapshot))
    (item,) = found.items
    assert Item.from_json(item.to_json()) == item
    assert (item.decision, item.evidence["added"]) == ("tag", ["harbour", "stands", "basel"])
    after = simulate(snapshot, found.items)
    assert tags(after) == {"m": ["own", "Crane", "harbour", "stands", "basel"], "bare": []}
    assert backfill_tags(make_inputs(after)).items == ()
    assert found.report.numbers["nothing to add"] == 1
    assert found.report.headline == "1 of 2 memories in scope would get tags."


def test_the_scope_is_what_is_promoted_or_all() -> None:
    """Long-term, promoted where it is, or promoted tonight; retired memories never."""
    rows = [
        memory("long term"),
        memory("promoted", ring="practice"),
        memory("tonight", ring="working"),
        memory("working", ring="working"),
        memory("archived", state="archived"),
    ]
    promotions = [{"memory_id": uid("promoted"), "from_ring": "practice", "to_ring": "practice", "scores": {}}]
    events = [
        {
            "query": f"q{n % 2}",
            "occurred_at": TAKEN_AT - timedelta(days=n),
            "hit_ids": [uid("tonight"), uid("promoted")],
        }
        for n in range(3)
    ]
    for settings, expected in (
        (None, {"long term", "promoted", "tonight"}),
        ({"operations": {"promote_memories": {"enabled": False}}}, {"long term", "promoted"}),
        (ALL, {"long term", "promoted", "tonight", "working"}),
    ):
        snapshot = world(*rows, settings=settings, promotions=promotions, recall_events=events)
        assert {i.mutation.rows[0].external_id for i in backfill_tags(make_inputs(snapshot)).items} == expected


def test_the_night_that_promotes_tags_as_well_so_that_the_next_has_nothing() -> None:
    """Both planners' items together, and again on what comes of them."""
    events = [
        {"query": f"q{n % 2}", "occurred_at": TAKEN_AT - timedelta(days=n), "hit_ids": [uid("m")]} for n in range(3)
    ]
    snapshot = world(memory("m", ring="working"), recall_events=events)
    inputs = make_inputs(snapshot)
    items = [*promote_memories(inputs).items, *backfill_tags(inputs).items]
    assert [i.operation for i in items] == ["promote_memories", "backfill_tags"]
    assert not items[0].writes() & (items[1].writes() | items[1].guards())
    after = make_inputs(simulate(snapshot, items))
    assert (*promote_memories(after).items, *backfill_tags(after).items) == ()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"text": f"The deploy key is {KEY}."}, "blocked by screening"),
        ({"text": ""}, "without text"),
        ({"tags": {"no": "list"}}, "tags that are no list"),
    ],
)
def test_what_gives_no_tags_is_counted(row: Row, reason: str) -> None:
    """A secret must not travel from the text into a tag."""
    found = backfill_tags(make_inputs(world(memory("m", **row))))
    assert (found.items, found.report.numbers[reason]) == ((), 1)


def test_on_a_real_store_tags_are_added_once_and_come_back(store: Store) -> None:
    """Applied twice = applied once; a text that was rewritten since is skipped; undone exactly."""
    namespace = remember(
        store, "tagged", settings=ALL,
        memories=[{"id": n, "kind": "episodic", "tags": ["own"], "current_version_id": f"v{n}"} for n in ("a", "b")],
        memory_versions=[
            {"id": f"v{n}", "memory_id": n, "content": "The crane stands in Basel."} for n in ("a", "b")
        ] + [{"id": "new", "memory_id": "b", "ordinal": 2, "content": "The ferry left."}],
    )  # fmt: skip
    snapshot = export_snapshot(store, "tagged", model=MODEL)
    items = backfill_tags(make_inputs(snapshot)).items
    assert len(items) == 2
    ask(store, "UPDATE memory.memories SET current_version_id = %s WHERE id = %s", uid("new"), uid("b"))
    before, run = digest(store, "tagged"), str(uuid.uuid4())
    for stale in (1, 2):
        with store.connect("applier") as connection, connection.transaction():
            assert len(apply_items(connection, namespace, run, items)) == stale
    stored = {
        m["id"]: json.loads(m["tags"])
        for m in export_snapshot(store, "tagged", model=MODEL).table("memories").to_pylist()
    }
    assert stored == {uid("a"): ["own", "crane", "stands", "basel"], uid("b"): ["own"]}
    with store.connect("applier") as connection, connection.transaction():
        undo_entries(connection, namespace, str(uuid.uuid4()), run, None)
    assert digest(store, "tagged") == before


@pytest.mark.parametrize("cell", ["{}", "3", "null", '"x"', "[" * 5_000 + "]" * 5_000])
def test_tags_that_are_no_list_are_left_alone(cell: str) -> None:
    """Whatever Postgres takes for JSON; the others get theirs."""
    found = backfill_tags(make_inputs(world(memory("odd", tags=cell), memory("m"))))
    assert [i.mutation.rows[0].external_id for i in found.items] == ["m"]
    assert found.report.numbers["tags that are no list"] == 1


def test_tags_rest_on_the_subject_and_the_text_that_they_are_of() -> None:
    """Either of them gives tags."""
    (item,) = backfill_tags(make_inputs(world(memory("m", subject="Harbour")))).items
    assert {"subject", "current_version_id", "state"} <= {c.column for c, _ in item.mutation.seen()}

"""The one mutation that deletes: what goes with a row, what makes it stale, and that undo is exact or refuses."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from slowwave.changes.apply import apply_items
from slowwave.changes.cells import Cell, Delete, Guard, Write, row_columns
from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.mutation import Mutation, check
from slowwave.changes.rows import invalidate_rows, purge_rows, set_columns
from slowwave.changes.undo import undo_entries
from slowwave.errors import DreamForbiddenOpError, Refused, UndoBlocked
from slowwave.plans.items import Item
from slowwave.plans.permitted import Permits
from slowwave.plans.seal import Header, Plan, seal
from slowwave.plans.show import changes
from slowwave.plans.why import why
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import MODEL, ago, ask, remember
from tests.snapshots import TAKEN_AT, make_snapshot, uid

FACT = {"subject": "ledger", "predicate": "port", "recorded_at": ago(600)}
OLD = {"invalidated_at": ago(500), "recorded_at": ago(600)}


def facts(store: Store, slug: str = "purge") -> str:
    """``old`` was replaced by ``middle``, which was retired as well; ``held`` still names ``middle``; ``live`` is true."""
    return remember(
        store,
        slug,
        memory_facts=[
            {**FACT, **OLD, "id": "middle", "object": "2", "is_active": False, "external_id": "m-1"},
            {**FACT, **OLD, "id": "old", "object": "1", "is_active": False, "superseded_by": uid("middle")},
            {**FACT, "id": "held", "object": "0", "is_active": False, "superseded_by": uid("middle")},
            {**FACT, "id": "live", "object": "3"},
        ],
    )


def memory(store: Store, slug: str = "purge") -> str:
    """A retired memory with everything that belongs to one, and one that was merged into it."""
    return remember(
        store,
        slug,
        memories=[
            {**OLD, "id": "gone", "kind": "episodic", "tags": json.dumps(["a", "ä"]), "importance": 0.1 + 0.2},
            {"id": "merged", "kind": "episodic", "merged_into": uid("gone"), "invalidated_at": ago(3)},
            {"id": "kept", "kind": "episodic"},
        ],
        memory_versions=[
            {"id": "v1", "memory_id": "gone", "ordinal": 1, "content": 'quote " , {brace}\nline \\'},
            {"id": "v2", "memory_id": "gone", "ordinal": 2, "content": "two"},
            {"id": "v3", "memory_id": "kept", "ordinal": 1, "content": "three"},
        ],
        promotions=[{"id": "p", "memory_id": "gone", "from_ring": "working", "to_ring": "semantic"}],
        memory_vectors=[{"id": "gone", "vector": [0.1, 1 / 3, -0.0, 1e-20]}, {"id": "kept", "vector": [1, 0, 0, 0]}],
    )


def purge(store: Store, table: str, *groups: Sequence[str], slug: str = "purge") -> list[Item]:
    snapshot = export_snapshot(store, slug, model=MODEL)
    mutations = purge_rows(snapshot, table, [[uid(n) for n in g] for g in groups], retention_days=365)
    items = [Item("purge_expired", "purge", m, risk="high") for m in mutations]
    return [Item.from_json(json.loads(json.dumps(i.to_json()))) for i in items]


def apply(store: Store, namespace: str, items: Sequence[Item]) -> tuple[str, dict[str, str]]:
    run = str(uuid.uuid4())
    with store.connect("applier") as connection, connection.transaction():
        return run, apply_items(connection, namespace, run, items)


def undo(store: Store, namespace: str, run: str) -> str:
    new = str(uuid.uuid4())
    with store.connect("applier") as connection, connection.transaction():
        undo_entries(connection, namespace, new, run)
    return new


def count(store: Store, table: str) -> int:
    return int(str(ask(store, f"SELECT count(*) FROM memory.{table}")[0][0]))


def test_a_memory_goes_with_all_that_belongs_to_it_and_comes_back_whole(store: Store) -> None:
    """Versions, promotions, the vector and what a merged memory says of it; undone, the memory is what it was, to the last bit."""
    namespace = memory(store)
    before = digest(store, "purge")
    items = purge(store, "memories", ["gone"])
    run, stale = apply(store, namespace, items)
    assert stale == {}
    assert [count(store, t) for t in ("memories", "memory_versions", "promotions", "memory_vectors")] == [2, 1, 0, 1]
    assert ask(store, "SELECT merged_into FROM memory.memories WHERE id = %s", uid("merged")) == [(None,)]
    back = undo(store, namespace, run)
    assert digest(store, "purge") == before
    undo(store, namespace, back)
    assert [count(store, t) for t in ("memories", "memory_versions", "promotions", "memory_vectors")] == [2, 1, 0, 1]


def test_versions_stay_append_only_for_everybody_else(store: Store) -> None:
    """A purge lifts the rule for its own statements, not for the rest of its transaction."""
    namespace = memory(store)
    with store.connect("applier") as connection, connection.transaction():
        apply_items(connection, namespace, str(uuid.uuid4()), purge(store, "memories", ["gone"]))
        with pytest.raises(psycopg.errors.RaiseException, match="append-only"), connection.transaction():
            connection.execute("DELETE FROM memory.memory_versions")
    assert count(store, "memory_versions") == 1


def test_pointers_of_other_rows_are_cleared_and_restored(store: Store) -> None:
    """khora cannot restore what ON DELETE SET NULL took from other rows; here the pointer is a cell of the item."""
    namespace = facts(store)
    before = digest(store, "purge")
    (item,) = purge(store, "memory_facts", ["middle", "old"])
    assert [(w.cell.row, w.seen, w.value) for w in item.mutation.writes] == [(uid("held"), uid("middle"), None)]
    run, stale = apply(store, namespace, [item])
    assert stale == {}
    assert ask(store, "SELECT superseded_by FROM memory.memory_facts WHERE id = %s", uid("held")) == [(None,)]
    assert count(store, "memory_facts") == 2
    undo(store, namespace, run)
    assert digest(store, "purge") == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "UPDATE memory.memory_facts SET is_active = true, invalidated_at = NULL WHERE id = %s",
            "is no longer what the plan saw",
        ),
        ("UPDATE memory.memory_facts SET confidence = 0.5 WHERE id = %s", "memory_facts.confidence of row"),
        ("UPDATE memory.memory_facts SET source_chunk_ids = '{{%s}}' WHERE id = %%s", "source_chunk_ids of row"),
        ("DELETE FROM memory.memory_facts WHERE id = %s", "memory_facts has no row"),
    ],
)
def test_a_row_that_changed_since_is_not_deleted(store: Store, change: str, said: str) -> None:
    """Whatever changed, in whichever column: the plan was about another row. The rest of the batch goes on."""
    namespace = facts(store)
    middle, old = purge(store, "memory_facts", ["middle"], ["old"])
    ask(store, change.replace("{{%s}}", "{" + uid("c") + "}").replace("%%", "%"), uid("old"))
    left = digest(store, "purge")
    run, stale = apply(store, namespace, [old])
    assert stale.keys() == {old.id}
    assert said in stale[old.id]
    assert digest(store, "purge") == left
    assert middle.id not in stale
    assert run


def test_a_row_that_another_names_since_is_not_deleted(store: Store) -> None:
    """A pointer and a foreign key that the plan did not see: nothing is left pointing at nothing, and nothing fails."""
    namespace = facts(store)
    memory(store)
    (fact,), (gone,) = purge(store, "memory_facts", ["middle", "old"]), purge(store, "memories", ["gone"])
    newer = {**FACT, "id": "newer", "object": "9", "superseded_by": uid("old")}
    version = {"id": "v9", "memory_id": "gone", "ordinal": 9, "content": "nine"}
    remember(store, "purge", memory_facts=[newer], memory_versions=[version])
    left = digest(store, "purge")
    _, stale = apply(store, namespace, [fact, gone])
    assert f"is named by row {uid('newer')} of memory_facts (superseded_by)" in stale[fact.id]
    assert f"is named by row {uid('v9')} of memory_versions (memory_id)" in stale[gone.id]
    assert digest(store, "purge") == left


def test_a_vector_of_another_model_keeps_its_memory(store: Store) -> None:
    """A snapshot holds one model's vectors; what the plan cannot hold, it cannot put back."""
    namespace = memory(store)
    ask(store, "SELECT memory.register_vector_model('other-2', 2)")
    ask(store, "INSERT INTO memory.memory_vectors VALUES (%s, 'other-2', %s, '[1,2]')", uid("gone"), namespace)
    (item,) = purge(store, "memories", ["gone"])
    _, stale = apply(store, namespace, [item])
    assert "of memory_vectors (id), which the plan did not see" in stale[item.id]


def test_undo_refuses_when_another_row_took_the_name(store: Store) -> None:
    """The agent imported the fact again under its external id: both cannot be, and half an undo is none."""
    namespace = facts(store)
    run, _ = apply(store, namespace, purge(store, "memory_facts", ["middle", "old"]))
    remember(store, "purge", memory_facts=[{**FACT, "id": "again", "object": "2", "external_id": "m-1"}])
    left = digest(store, "purge")
    with pytest.raises(UndoBlocked, match=rf"1 rows of memory_facts cannot be put back.*{uid('middle')}"):
        undo(store, namespace, run)
    assert digest(store, "purge") == left


def test_undo_brings_back_nothing_that_names_a_row_which_is_gone(store: Store) -> None:
    """``old`` named ``middle`` and went first, ``middle`` later: undone first, ``old`` would name nothing. The later one first."""
    namespace = facts(store)
    before = digest(store, "purge")
    first, _ = apply(store, namespace, purge(store, "memory_facts", ["old"]))
    later, stale = apply(store, namespace, purge(store, "memory_facts", ["middle"]))
    assert stale == {}
    left = digest(store, "purge")
    with pytest.raises(UndoBlocked, match=rf"memory_facts of row {uid('middle')} .*last deleted by run {later}"):
        undo(store, namespace, first)
    assert digest(store, "purge") == left
    undo(store, namespace, later)
    undo(store, namespace, first)
    assert digest(store, "purge") == before


def test_undo_points_no_cell_at_a_row_which_is_gone(store: Store) -> None:
    """A merge turned ``merged`` away from ``gone``, which was purged then: undoing the merge alone would point it at nothing."""
    namespace = memory(store)
    pointer = Cell("memories", uid("merged"), "merged_into")
    turned = Mutation("merge_rows", "memories", (Write(pointer, "set", uid("gone"), uid("kept")),))
    first, stale = apply(store, namespace, [Item("test", "merge", turned)])
    later, gone = apply(store, namespace, purge(store, "memories", ["gone"]))
    assert stale == gone == {}
    with pytest.raises(UndoBlocked, match=rf"memories of row {uid('gone')} .*last deleted by run {later}"):
        undo(store, namespace, first)
    undo(store, namespace, later)
    undo(store, namespace, first)
    assert ask(store, "SELECT merged_into FROM memory.memories WHERE id = %s", uid("merged")) == [
        (uuid.UUID(uid("gone")),)
    ]


def test_an_item_that_points_at_what_it_deletes_is_stale(store: Store) -> None:
    """A write excuses a pointer only when it points elsewhere; one that names the row which goes would name nothing."""
    namespace = facts(store)
    (item,) = purge(store, "memory_facts", ["middle", "old"])
    (write,) = item.mutation.writes
    left = digest(store, "purge")
    forged = replace(item, mutation=replace(item.mutation, writes=(write._replace(value=uid("middle")),)))
    _, stale = apply(store, namespace, [forged])
    assert f"is named by row {uid('held')} of memory_facts" in stale[forged.id]
    assert digest(store, "purge") == left


def test_what_retired_a_purged_row_can_be_undone_only_after_the_purge(store: Store) -> None:
    """Undo of the run that retired it refuses, and names the run that deleted it; undoing both, the later first, is exact."""
    namespace = remember(store, "purge", memory_facts=[{**FACT, "id": "fact", "object": "1"}])
    before = digest(store, "purge")
    snapshot = export_snapshot(store, "purge")
    retired, _ = apply(
        store, namespace, [Item("test", "retire", invalidate_rows(snapshot, "memory_facts", {uid("fact"): None}))]
    )
    ask(store, "UPDATE memory.memory_facts SET invalidated_at = %s", ago(400))
    between = digest(store, "purge")
    purged, stale = apply(store, namespace, purge(store, "memory_facts", ["fact"]))
    assert stale == {}
    with pytest.raises(UndoBlocked) as refusal:
        undo(store, namespace, retired)
    assert f"of row {uid('fact')} (item " in str(refusal.value)
    assert f"last deleted by run {purged}" in str(refusal.value)
    assert "Undo the later run first" in str(refusal.value)
    undo(store, namespace, purged)
    assert digest(store, "purge") == between
    ask(store, "UPDATE memory.memory_facts SET invalidated_at = b.after::timestamptz FROM night.journal j JOIN "
        "night.before_images b ON b.journal_id = j.id WHERE j.run_id = %s AND j.column_name = 'invalidated_at'", retired)  # fmt: skip
    undo(store, namespace, retired)
    assert digest(store, "purge") == before


def test_a_second_purge_finds_nothing(store: Store) -> None:
    """Applied twice is applied once: the second time the row is gone, which is stale and no error."""
    namespace = facts(store)
    items = purge(store, "memory_facts", ["middle", "old"])
    apply(store, namespace, items)
    left = digest(store, "purge")
    _, stale = apply(store, namespace, items)
    assert stale.keys() == {i.id for i in items}
    assert digest(store, "purge") == left


def test_another_namespaces_rows_are_out_of_reach(store: Store) -> None:
    """Named in another namespace's run the row does not exist."""
    facts(store)
    other = remember(store, "other")
    left = digest(store, "purge")
    (item,) = purge(store, "memory_facts", ["middle", "old"])
    _, stale = apply(store, other, [item])
    assert item.id in stale
    assert digest(store, "purge") == left


# What a plan may hold


def small() -> Snapshot:
    """A retired fact that another names, a retired memory with a version, a live one, two entities."""
    long_ago = TAKEN_AT - timedelta(days=400)
    return make_snapshot(
        entities=[{"id": uid("e1"), "name": "e", "mention_count": 1}, {"id": uid("e2"), "name": "e"}],
        memory_facts=[
            {"id": uid("f"), "subject": "s", "predicate": "p", "object": "o", "invalidated_at": long_ago},
            {"id": uid("g"), "subject": "s", "predicate": "p", "object": "o", "superseded_by": uid("f")},
        ],
        memories=[
            {"id": uid("m"), "kind": "event", "invalidated_at": long_ago},
            {"id": uid("n"), "kind": "event", "access_count": 2},
        ],
        memory_versions=[{"id": uid("v"), "memory_id": uid("m"), "content": "c"}],
    )


def item(mutation: Mutation, operation: str = "test") -> Item:
    return Item(operation, "change", mutation)


def sealed(*items: Item) -> Plan:
    header = Header(uid("n"), "n", "s", "f")
    return seal(header, items, Permits(dict.fromkeys((i.operation for i in items), ())))


def test_a_delete_holds_the_whole_row_and_survives_json() -> None:
    """Every column but key, namespace and what triggers keep; mutations without deletes read as they always did."""
    (mutation,) = purge_rows(small(), "memories", [[uid("m")]], retention_days=30)
    assert [(d.table, d.row) for d in mutation.deletes] == [("memories", uid("m")), ("memory_versions", uid("v"))]
    assert all(set(d.seen) == set(row_columns(d.table)) for d in mutation.deletes)
    assert Mutation.from_json(json.loads(json.dumps(mutation.to_json()))) == mutation
    assert "deletes" not in merge_rows(small(), [Merge(uid("e1"), (uid("e2"),))])[0].to_json()


def test_items_conflict_with_the_deletion_of_a_row_they_touch() -> None:
    """Writing it, guarding it, counting on it, pointing at it, deleting it: the later one waits, whichever comes first."""
    snapshot = small()
    (purge_m,) = purge_rows(snapshot, "memories", [[uid("m")]], retention_days=30)
    (purge_f,) = purge_rows(snapshot, "memory_facts", [[uid("f")]], retention_days=30)
    row = Cell("memories", uid("m"), "")
    touching = [
        set_columns(snapshot, "set_state", "memories", {uid("m"): {"state": "archived"}})[0],
        Mutation("set_state", "memories", guards=(Guard("memories", uid("m"), ("importance",), (0.5,)),)),
        Mutation("merge_rows", "memories", (Write(row._replace(column="access_count"), "add", None, 1),)),
        Mutation("merge_rows", "memories", (Write(Cell("memories", uid("n"), "merged_into"), "set", None, uid("m")),)),
    ]
    for first, second in [(item(purge_m, "a"), item(t, "b")) for t in touching]:
        for pair in ((first, second), (second, first)):
            plan = sealed(*pair)
            assert plan.deferred == {pair[1].id: pair[0].id}
    apart = sealed(item(purge_m, "a"), item(purge_f, "b"))
    assert len(apart.items) == 2
    again = sealed(item(purge_f, "a"), item(replace(purge_f, writes=()), "b"))
    assert len(again.deferred) == 1


def test_a_forged_plan_cannot_delete_what_lives() -> None:
    """Checked when a plan is sealed, read and applied: a live row, a part without its whole, half a row, a table of others."""
    snapshot = small()
    (good,) = purge_rows(snapshot, "memories", [[uid("m")]], retention_days=30)
    memory_row, version = good.deletes
    refused = {
        "not retired": [replace(memory_row, seen={**memory_row.seen, "invalidated_at": None}), version],
        "row .* of memory_versions: it is not retired": [version],
        "without holding all of it": [replace(memory_row, seen={"invalidated_at": "2020-01-01T00:00:00+00:00"})],
        "may not delete from entities": [Delete("entities", uid("e1"), "", {})],
    }
    for said, deletes in refused.items():
        with pytest.raises(Refused, match=said):
            check(replace(good, deletes=tuple(deletes)))
    with pytest.raises(Refused, match="set_state may not delete from memories"):
        check(replace(good, kind="set_state"))


@pytest.mark.parametrize("days", [6, 0, -1, 30.5, None, True])
def test_no_retention_under_seven_days_is_taken(days: int) -> None:
    """Also when a setting was forced past its own check; whole days only."""
    with pytest.raises(DreamForbiddenOpError, match="7 days at least"):
        purge_rows(small(), "memories", [[uid("m")]], retention_days=days)


def test_a_row_within_the_retention_is_refused() -> None:
    """The builder looks itself, whatever the planner believes."""
    with pytest.raises(DreamForbiddenOpError, match="within the retention"):
        purge_rows(small(), "memories", [[uid("m")]], retention_days=400)


def test_people_read_what_goes() -> None:
    """The plan's page says that rows are deleted, which ones, and that undo puts them back."""
    (mutation,) = purge_rows(small(), "memories", [[uid("m")]], retention_days=30)
    one = item(mutation)
    said = why(one)
    assert said.sentence.startswith("It would delete 1 row of memories with 1 that belong to it")
    assert {(c.table, c.after) for c in changes(one)} == {("memories", "deleted"), ("memory_versions", "deleted")}

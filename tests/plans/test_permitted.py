"""Permits of operations: every planner has some, they exceed no limit of mutations, and an item is held to its own."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

from slowwave.changes.cells import RELATIONSHIPS, Action, Cell, Delete, Guard, Insert, Value, Write
from slowwave.changes.mutation import KINDS, Mutation, Row
from slowwave.errors import Refused
from slowwave.operations import PLANNERS, permits
from slowwave.plans import approval, gate, policies
from slowwave.plans.items import Item
from slowwave.plans.permitted import (
    OF_CLAIMS,
    OF_ENTITIES,
    OF_MEMORIES,
    OF_PAGES,
    PAGE_PARTS,
    RISKS,
    Permit,
    Permits,
    retired,
)
from slowwave.plans.review import drafts
from slowwave.plans.seal import Header, arrange, arranged_again, seal

ID = "00000000-0000-0000-0000-00000000000{}"
EVERY = tuple(PLANNERS)
PERMITS = permits()


def archive(operation: str = "archive_stale", risk: str = "low", *, state: str = "archived", rows: int = 1) -> Item:
    """A memory, or several, in another state."""
    ids = [ID.format(n) for n in range(rows)]
    writes = tuple(Write(Cell("memories", i, "state"), "set", "active", state) for i in ids)
    return Item(operation, "archive", Mutation("set_state", "memories", writes, rows=tuple(map(Row, ids))), risk=risk)


def test_every_planner_has_permits_and_none_reaches_beyond_its_mutations() -> None:
    """A planner without any could seal nothing."""
    assert set(PERMITS.by_operation) == set(PLANNERS)
    assert all(PERMITS.by_operation.values())
    for permit in (p for some in PERMITS.by_operation.values() for p in some):
        kind = KINDS[permit.kind]
        assert permit.risk in RISKS
        assert permit.tables | permit.beside <= set(kind.writes) | kind.inserts | kind.deletes
        assert permit.deletes == bool(kind.deletes), "what deletes says so"
        if permit.only is not None:
            (table,) = permit.tables
            assert permit.only <= kind.writes[table]


def test_only_one_operation_deletes_and_it_is_of_high_risk() -> None:
    """DESIGN: exactly one."""
    deleting = [name for name, some in PERMITS.by_operation.items() if any(p.deletes for p in some)]
    assert deleting == ["purge_expired"]
    assert [p.risk for p in PERMITS.by_operation["purge_expired"]] == ["high"]


@pytest.mark.parametrize("operation", EVERY)
def test_archiving_fits_operations_that_declare_it_and_no_other(operation: str) -> None:
    """By state, by column and by number."""
    fits = not PERMITS.violation(archive(operation, "medium"))
    archives = [
        p for p in PLANNERS[operation].permits if p.kind == "set_state" and "memories" in p.tables and p.retires
    ]
    assert fits == any(p.only is None or "state" in p.only for p in archives)
    assert fits or operation not in ("archive_stale", "decay_transition", "redact_or_quarantine")
    assert PERMITS.violation(archive(operation, "medium", rows=2))
    if not fits:
        assert not PERMITS.approvable_by_policy(archive(operation), EVERY)


def test_a_label_raises_the_risk_and_never_lowers_it() -> None:
    """What the planner says counts where it is more; the same item may be of low risk to one operation and of medium to another."""
    assert [PERMITS.risk_of(archive(risk=risk)) for risk in RISKS] == list(RISKS)
    assert PERMITS.violation(archive("decay_transition", "low"))
    assert PERMITS.risk_of(archive("decay_transition", "medium")) == "medium"
    assert PERMITS.violation(archive(risk="none")), "a risk that nobody knows"


def test_a_policy_approves_low_risk_of_what_it_names_and_no_review() -> None:
    """The three conditions, one by one."""
    item = archive()
    assert PERMITS.approvable_by_policy(item, ("archive_stale",))
    assert not PERMITS.approvable_by_policy(item, ("dedupe_entities",))
    assert not PERMITS.approvable_by_policy(replace(item, decision="review"), ("archive_stale",))
    assert not PERMITS.approvable_by_policy(archive(risk="medium"), ("archive_stale",))


def test_a_row_that_an_item_does_not_name_is_not_retired_by_it() -> None:
    """The rows that people are shown are those that go; one that is woken is not retired."""
    item = archive()
    other = replace(item, mutation=replace(item.mutation, rows=(Row(ID.format(7)),)))
    assert "none of those that it is about" in PERMITS.violation(other)
    assert not PERMITS.violation(archive(state="active", rows=3))


def test_a_merge_ends_relationships_of_what_it_absorbs_and_no_others() -> None:
    """By the set of relationships that it guards, to which apply holds it."""
    keep, gone, edge = (ID.format(n) for n in range(3))
    write = Write(Cell("relationships", edge, "invalidated_at"), "now", None)
    guard = Guard("entities", gone, (RELATIONSHIPS,), ((edge,),))
    merge = Mutation("merge_rows", "entities", (write,), (guard,), keep=Row(keep), absorb=(Row(gone),))
    assert not PERMITS.violation(Item("dedupe_entities", "merge", merge))
    names = Guard("entities", gone, ("name",), ("M.",))
    assert not PERMITS.violation(Item("dedupe_entities", "merge", replace(merge, guards=(names, guard))))
    for other in (guard._replace(seen=((),)), guard._replace(row=keep), guard._replace(table="memories")):
        item = Item("dedupe_entities", "merge", replace(merge, guards=(other,)))
        assert edge in PERMITS.violation(item)
        assert not PERMITS.approvable_by_policy(item, EVERY)


def test_a_foreign_table_is_not_touched() -> None:
    """`insert_summary` may write memories and communities, but not by one operation."""
    mutation = Mutation("insert_summary", "communities", inserts=(Insert("memories", {"kind": "summary"}),))
    assert "may not touch memories" in PERMITS.violation(Item("community_summaries", "summarise", mutation))
    assert "may not carry" in PERMITS.violation(Item("consolidate_clusters", "summarise", mutation))
    assert "may not carry" in PERMITS.violation(Item("no such operation", "summarise", mutation))


def delete(table: str, row: str) -> Delete:
    """A deleted row, whose content does not matter to permits."""
    return Delete(table, row, "id", {})


def test_delete_in_table_outside_of_permit_is_refused() -> None:
    """Deletes count as touched tables, even for an operation that may delete (R9.A5)."""
    row, other = (ID.format(n) for n in range(2))
    purge = Mutation("purge_rows", "memory_facts", rows=(Row(row),), deletes=(delete("memory_facts", row),))
    item = Item("purge_expired", "purge", purge, risk="high")
    assert not PERMITS.violation(item)
    parts = Mutation("purge_rows", "memories", rows=(Row(row),), deletes=(delete("memories", row),))
    versions = replace(parts, deletes=(*parts.deletes, delete("memory_versions", other)))
    assert not PERMITS.violation(replace(item, mutation=versions)), "rows that belong to it go with it"
    foreign = replace(purge, deletes=(*purge.deletes, delete("entities", other)))
    assert "may not touch entities" in PERMITS.violation(replace(item, mutation=foreign))
    stray = replace(purge, deletes=(*purge.deletes, delete("memory_facts", other)))
    assert f"retires row {other}" in PERMITS.violation(replace(item, mutation=stray))
    assert PERMITS.risk_of(item) == "high"
    keeping = Permits({"purge_expired": (Permit("purge_rows", {"memory_facts"}, "high", retires=None),)})
    assert keeping.violation(item) == "purge_expired may not delete."


def test_permit_allows_no_more_than_it_declares() -> None:
    """A planner that declares kind and table alone retires nothing, deletes nothing, and does not wait for another night."""
    permit = Permit("set_state", {"memories"})
    assert permit == Permit("set_state", {"memories"}, "low", frozenset(), None, 0, frozenset(), False, False, False)
    table = Permits({"archive_stale": (permit,)})
    assert "may retire 0 rows" in table.violation(archive())
    assert not table.may_wait(archive())


def test_parts_of_pages_and_claims_are_the_tables_of_their_kind() -> None:
    """Permits name these sets, so a table that is missing would refuse every item of an operation."""
    for kind, table, parts in (("write_page", "documents", OF_PAGES), ("write_claims", "memories", OF_CLAIMS)):
        assert parts | {table} == set(KINDS[kind].writes) | KINDS[kind].inserts
    assert OF_MEMORIES | {"memories"} == set(KINDS["new_version"].writes) | KINDS["new_version"].inserts
    assert {"relationships", *KINDS["merge_rows"].inserts} == OF_ENTITIES
    assert PAGE_PARTS < OF_PAGES


def test_write_in_table_outside_of_permit_is_refused() -> None:
    """By a write alone, without an insert or a delete."""
    item = archive()
    foreign = Write(Cell("entities", ID.format(3), "description"), "set", "a", "b")
    mutation = replace(item.mutation, writes=(*item.mutation.writes, foreign))
    assert "may not touch entities" in PERMITS.violation(replace(item, mutation=mutation))


def test_erased_and_deleted_rows_count_as_retired() -> None:
    """The blast radius counts them, although nothing writes that they end."""
    row, other = (ID.format(n) for n in range(2))
    note = Insert("erasures", {"table_name": "memories", "row_id": row, "reason": ""})
    erasing = Mutation("forget_rows", "erasures", inserts=(note,), rows=(Row(row),))
    assert retired(Item("forget", "forget", erasing)) == {("memories", row)}
    purge = Mutation("purge_rows", "memories", rows=(Row(other),), deletes=(delete("memories", other),))
    assert retired(Item("purge_expired", "purge", purge)) == {("memories", other)}


@pytest.mark.parametrize("state", ["archived", "quarantined", "merged", "superseded"])
def test_row_in_any_state_but_active_counts_as_retired(state: str) -> None:
    """Quarantining counts against the permit and the blast radius as archiving does (R9.A6)."""
    item = archive(state=state)
    assert retired(item) == {("memories", ID.format(0))}
    assert not PERMITS.violation(item)
    assert "may retire 1 rows an item, and it retires 2" in PERMITS.violation(archive(state=state, rows=2))
    assert not retired(archive(state="active"))


@pytest.mark.parametrize(
    ("table", "write", "retires"),
    [
        ("memories", ("invalidated_at", "now", None), True),
        ("memories", ("invalidated_at", "set", None), False),
        ("memories", ("valid_to", "set", "2026-01-01T00:00:00+00:00"), True),
        ("memories", ("valid_to", "set", None), False),
        ("memory_facts", ("is_active", "set", False), True),
        ("memory_facts", ("is_active", "set", None), True),
        ("memory_facts", ("is_active", "set", True), False),
        ("memories", ("tags", "set", "x"), False),
    ],
)
def test_writes_that_end_a_row_count_as_retiring(table: str, write: tuple[str, Action, Value], retires: bool) -> None:
    column, action, value = write
    change = Write(Cell(table, ID.format(1), column), action, None, value)
    item = Item("any", "any", Mutation("invalidate_rows", table, (change,), rows=(Row(ID.format(1)),)))
    assert bool(retired(item)) is retires
    never = Permits({"any": (Permit("invalidate_rows", {table}),)})
    assert ("may retire 0 rows" in never.violation(item)) is retires


def test_only_items_without_inserts_deletes_and_questions_may_wait() -> None:
    """Another night would insert under another id, and could not delete what is gone (R9.A2)."""
    row = ID.format(0)
    plain = Permit("set_state", {"memories"}, retires=1)
    for permit in (plain, replace(plain, waits=True), replace(plain, tidies=True)):
        permits_ = Permits({"archive_stale": (permit,)})
        item = archive()
        assert permits_.may_wait(item) is (permit.waits or permit.tidies)
        assert permits_.tidies(item) is permit.tidies
        others = [
            replace(item, mutation=replace(item.mutation, inserts=(Insert("memories", {"kind": "summary"}),))),
            replace(item, mutation=replace(item.mutation, deletes=(delete("memories", row),))),
            replace(item, decision="review"),
            replace(item, operation="dedupe_memories"),
        ]
        assert not any(permits_.may_wait(other) or permits_.tidies(other) for other in others)


def test_rows_of_other_tables_end_only_where_the_permit_names_them() -> None:
    """``ends`` names tables whose rows may end without being named, and nothing else."""
    page, chunk = ID.format(1), ID.format(2)
    write = Write(Cell("chunks", chunk, "invalidated_at"), "now", None)
    item = Item("any", "any", Mutation("write_page", "documents", (write,), rows=(Row(page),)))
    ends = Permit("write_page", {"documents"}, beside={"chunks"}, ends={"chunks"})
    assert not Permits({"any": (ends,)}).violation(item)
    also = Write(Cell("documents", chunk, "invalidated_at"), "now", None)
    unnamed = replace(item, mutation=replace(item.mutation, writes=(write, also)))
    assert "which is none of those that it is about" in Permits({"any": (ends,)}).violation(unnamed)
    assert not Permits({"any": (replace(ends, ends=frozenset({"chunks", "documents"})),)}).violation(unnamed)
    without = replace(ends, ends=frozenset())
    assert Permits({"any": (without,)}).violation(item) == "any may not retire rows of chunks."


def test_write_outside_of_permitted_columns_is_refused() -> None:
    """``only`` restricts the columns of the operation's table, not those of the tables next to it."""
    only = Permit("new_version", {"memories"}, beside={"memory_versions"}, only={"tags"})
    tags, kind = (Write(Cell("memories", ID.format(0), c), "set", None, "x") for c in ("tags", "kind"))
    beside = Write(Cell("memory_versions", ID.format(1), "content"), "set", None, "x")
    fine = Mutation("new_version", "memories", (tags, beside), rows=(Row(ID.format(0)),))
    table = Permits({"any": (only,)})
    assert not table.violation(Item("any", "any", fine))
    more = replace(fine, writes=(*fine.writes, kind))
    assert table.violation(Item("any", "any", more)) == "any may not write memories.kind."


def test_empty_table_permits_nothing_and_missing_table_is_an_error() -> None:
    """No caller gets a permissive default."""
    none = Permits({})
    item = archive()
    assert none.risk_of(item) == "high"
    assert not none.may_wait(item)
    assert not none.approvable_by_policy(item, EVERY)
    with pytest.raises(Refused, match=r"may not carry set_state on memories\. Nothing was approved"):
        none.refuse_unpermitted([item], "approved")
    header = Header("n", "n", "s", "f")
    with pytest.raises(Refused, match="Nothing was planned"):
        seal(header, [item], none)
    with pytest.raises(Refused, match="Nothing was planned"):
        arranged_again(arrange([], none), {item.id: item}, none)
    for call in (gate.approve, gate.sign_items, gate.judge, arrange, drafts.sign):
        assert inspect.signature(call).parameters["permits"].default is inspect.Parameter.empty
    for call in (policies.decide_by_policies, policies.decide_carried, approval.refuse_unsigned, drafts.sign_session):
        assert inspect.signature(call).parameters["permits"].default is inspect.Parameter.empty

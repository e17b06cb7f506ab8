"""What operations may do is told of every planner, and no more than the mutations themselves allow."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from slowwave.changes.cells import RELATIONSHIPS, Cell, Guard, Insert, Write
from slowwave.changes.mutation import KINDS, Mutation, Row
from slowwave.operations import PLANNERS
from slowwave.plans import permitted
from slowwave.plans.items import Item
from slowwave.plans.permitted import RISKS, approvable_by_policy, risk_of, violation

ID = "00000000-0000-0000-0000-00000000000{}"
EVERY = tuple(PLANNERS)


def archive(operation: str = "archive_stale", risk: str = "low", *, state: str = "archived", rows: int = 1) -> Item:
    """A memory, or several, in another state."""
    ids = [ID.format(n) for n in range(rows)]
    writes = tuple(Write(Cell("memories", i, "state"), "set", "active", state) for i in ids)
    return Item(operation, "archive", Mutation("set_state", "memories", writes, rows=tuple(map(Row, ids))), risk=risk)


def test_every_planner_has_permits_and_none_reaches_beyond_its_mutations() -> None:
    """A planner without any could seal nothing."""
    assert set(permitted.table()) == set(PLANNERS)
    assert all(permitted.table().values())
    for permit in (p for permits in permitted.table().values() for p in permits):
        kind = KINDS[permit.kind]
        assert permit.risk in RISKS
        assert permit.tables | permit.beside <= set(kind.writes) | kind.inserts | kind.deletes
        assert permit.deletes == bool(kind.deletes), "what deletes says so"
        if permit.only is not None:
            (table,) = permit.tables
            assert permit.only <= kind.writes[table]


def test_only_one_operation_deletes_and_it_is_of_high_risk() -> None:
    """DESIGN: exactly one."""
    deleting = [name for name, permits in permitted.table().items() if any(p.deletes for p in permits)]
    assert deleting == ["purge_expired"]
    assert [p.risk for p in permitted.table()["purge_expired"]] == ["high"]


@pytest.mark.parametrize("operation", EVERY)
def test_archiving_fits_operations_that_declare_it_and_no_other(operation: str) -> None:
    """By state, by column and by number."""
    fits = not violation(archive(operation, "medium"))
    permits = [p for p in PLANNERS[operation].permits if p.kind == "set_state" and "memories" in p.tables and p.retires]
    assert fits == any(p.only is None or "state" in p.only for p in permits)
    assert fits or operation not in ("archive_stale", "decay_transition", "redact_or_quarantine")
    assert violation(archive(operation, "medium", rows=2))
    if not fits:
        assert not approvable_by_policy(archive(operation), EVERY)


def test_a_label_raises_the_risk_and_never_lowers_it() -> None:
    """What the planner says counts where it is more; the same item may be of low risk to one operation and of medium to another."""
    assert [risk_of(archive(risk=risk)) for risk in RISKS] == list(RISKS)
    assert violation(archive("decay_transition", "low"))
    assert risk_of(archive("decay_transition", "medium")) == "medium"
    assert violation(archive(risk="none")), "a risk that nobody knows"


def test_a_policy_approves_low_risk_of_what_it_names_and_no_review() -> None:
    """The three conditions, one by one."""
    item = archive()
    assert approvable_by_policy(item, ("archive_stale",))
    assert not approvable_by_policy(item, ("dedupe_entities",))
    assert not approvable_by_policy(replace(item, decision="review"), ("archive_stale",))
    assert not approvable_by_policy(archive(risk="medium"), ("archive_stale",))


def test_a_row_that_an_item_does_not_name_is_not_retired_by_it() -> None:
    """The rows that people are shown are those that go; one that is woken is not retired."""
    item = archive()
    other = replace(item, mutation=replace(item.mutation, rows=(Row(ID.format(7)),)))
    assert "none of those that it is about" in violation(other)
    assert not violation(archive(state="active", rows=3))


def test_a_merge_ends_relationships_of_what_it_absorbs_and_no_others() -> None:
    """By the set of relationships that it guards, to which apply holds it."""
    keep, gone, edge = (ID.format(n) for n in range(3))
    write = Write(Cell("relationships", edge, "invalidated_at"), "now", None)
    guard = Guard("entities", gone, (RELATIONSHIPS,), ((edge,),))
    merge = Mutation("merge_rows", "entities", (write,), (guard,), keep=Row(keep), absorb=(Row(gone),))
    assert not violation(Item("dedupe_entities", "merge", merge))
    for other in (guard._replace(seen=((),)), guard._replace(row=keep)):
        item = Item("dedupe_entities", "merge", replace(merge, guards=(other,)))
        assert edge in violation(item)
        assert not approvable_by_policy(item, EVERY)


def test_a_foreign_table_is_not_touched() -> None:
    """`insert_summary` may write memories and communities, but not by one operation."""
    mutation = Mutation("insert_summary", "communities", inserts=(Insert("memories", {"kind": "summary"}),))
    assert "may not touch memories" in violation(Item("community_summaries", "summarise", mutation))
    assert "may not carry" in violation(Item("consolidate_clusters", "summarise", mutation))
    assert "may not carry" in violation(Item("no such operation", "summarise", mutation))


@pytest.mark.parametrize(
    "code",
    [
        "from slowwave.plans.permitted import table; print(len(table()['purge_expired']))",
        "from slowwave.night.run_events import redact; print(len(redact({'operation': 'census'}, 'all')['operation'][:1]))",
    ],
)
def test_a_process_that_has_listed_no_operations_knows_them_all_the_same(code: str) -> None:
    """One that only approves or applies must not take every item for a forgery, nor hide the names of operations."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "1", done.stderr[-2000:]

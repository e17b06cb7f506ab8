"""Of what planners propose, a plan takes neither what was rejected nor what lies outside the scope, and says how much that was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowwave.changes.cells import Cell
from slowwave.changes.mutation import Mutation, Row, Write
from slowwave.night.night import NightContext, filtered, plan_summary, without_secrets
from slowwave.night.runs import Probes
from slowwave.operations import BUDGET_SPENT, Proposal, permits
from slowwave.plans.items import Item
from slowwave.plans.report import Finding, Report
from slowwave.plans.seal import DreamScope, Header, seal
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES
from slowwave.store.connect import Store
from tests.nights import archive_items, new_world, pair_items
from tests.snapshots import make_inputs, make_snapshot, make_table, uid


def test_a_plan_takes_what_is_left_and_says_what_was_left_out(store: Store) -> None:
    """One merge was rejected, and the scope names the rows of another: of all others it says that they lie outside."""
    snapshot = export_snapshot(store, new_world(store).slug)
    merges, states = pair_items(snapshot), archive_items(snapshot)
    rejected, inside = merges[0], merges[1]
    row = {
        **{"id": uid("no"), "operation": rejected.operation},
        **{"subject": rejected.subject(), "reason": "", "rejected_by": "mara", "recorded_at": snapshot.taken_at},
    }
    table = make_table(SNAPSHOT_TABLES["rejections"], [row])
    snapshot = replace(snapshot, tables={**snapshot.tables, "rejections": table})
    states_report = Report("archive_stale", "Old ones.", {"old": len(states)})
    proposals = {
        "dedupe_entities": Proposal(tuple(merges), Report("dedupe_entities", "Pairs.", {BUDGET_SPENT: 3})),
        "archive_stale": Proposal(tuple(states), states_report),
        "promote_memories": Proposal((), Report("promote_memories", "", skipped="It is off.")),
    }
    found = filtered(
        store, snapshot, proposals, DreamScope(entity_ids=frozenset(inside.mutation.row_ids()[:1])), NightContext()
    )
    assert [i.id for i in found.lowered.items] == [inside.id]
    assert (found.rejected, found.out_of_scope, found.held_back) == (1, len(merges) + len(states) - 2, "")
    assert (
        len(filtered(store, snapshot, proposals, DreamScope(), NightContext()).lowered.items)
        == len(merges) + len(states) - 1
    )

    why = " ".join(found.why_nothing(proposals, carried=4))
    assert "1 proposal was rejected" in why
    assert f"{found.out_of_scope} proposals lie outside" in why
    assert "4 proposals wait" in why
    assert "not planned" not in why
    held = " ".join(replace(found, held_back="It is only read.").why_nothing(proposals, carried=0))
    assert f"{len(merges) + len(states)} proposals are not planned. It is only read." in held
    assert "Did not run: promote_memories." in why

    audits = {"census": Report("census", "Two.", {"rows": 2}, (Finding("Odd.", ()),), details={"person": 2})}
    plan = seal(Header(snapshot.namespace_id, "acme", "s", "f"), found.lowered.items, permits())
    probes = Probes({}, ("All is well.",), ("It harms recall.",))
    planners = found.reports(proposals)
    one = "1 proposal was rejected or undone before and left out of the plan."
    assert planners["dedupe_entities"].headline == f"Pairs. {one}"
    assert planners["dedupe_entities"].numbers == {BUDGET_SPENT: 3, "rejected before": 1}
    assert planners["archive_stale"] is states_report
    summary = plan_summary(plan, probes, found, make_inputs(snapshot, baselines={"old": {"n": 1}}), audits, planners)
    assert summary["planners"]["dedupe_entities"]["numbers"]["rejected before"] == 1  # type: ignore[index]
    assert summary["items"] == {"dedupe_entities": {inside.decision: 1}}
    assert (summary["rejected_before"], summary["out_of_scope"]) == (found.rejected, found.out_of_scope)
    assert (summary["budget_spent"], summary["needs_force"]) == (3, ["It harms recall."])
    assert summary["skipped"] == {"promote_memories": "It is off."}
    assert summary["audits"] == {"census": {"headline": "Two.", "numbers": {"rows": 2}}}
    assert summary["baselines"] == {"old": {"n": 1}, "census": {"person": 2}}
    assert "proposed_by" not in summary
    by = plan_summary(plan, probes, found, make_inputs(snapshot), audits, planners, "an agent")["proposed_by"]
    assert by == ["an agent"]


def test_rejected_merge_that_its_planner_left_out_is_counted(store: Store) -> None:
    """The planner never proposes a rejected pair, so the night counts the rejections whose rows have not changed."""
    snapshot = export_snapshot(store, new_world(store).slug)
    rejected, *others = pair_items(snapshot)
    row = {
        **{"id": uid("no"), "operation": rejected.operation, "row_ids": list(rejected.mutation.row_ids())},
        **{"subject": rejected.subject(), "reason": "", "rejected_by": "mara", "recorded_at": snapshot.taken_at},
    }
    changed = row | {"id": uid("changed"), "subject": others[0].subject()}
    for rows, count in (([row], 1), ([changed], 0)):
        table = make_table(SNAPSHOT_TABLES["rejections"], rows)
        seen = replace(snapshot, tables={**snapshot.tables, "rejections": table})
        proposals = {rejected.operation: Proposal(tuple(others[1:]), Report(rejected.operation, "Pairs."))}
        found = filtered(store, seen, proposals, DreamScope(), NightContext())
        assert (found.rejected, len(found.lowered.items)) == (count, len(others) - 1)


@pytest.mark.parametrize("screened", [True, False])
def test_items_quote_and_write_no_secret_of_the_plan(screened: bool) -> None:
    """An item about another row may quote the memory; one that would write its words is left for a later night."""
    value = f"Marmalade-Tiger-{88}"
    text = f"The password is {value}."
    snapshot = make_snapshot(
        memories=[{"id": uid("m"), "kind": "episodic", "current_version_id": uid("v")}],
        memory_versions=[{"id": uid("v"), "memory_id": uid("m"), "content": text}],
    )
    found = {"rules": ["secret (password)"], "found": [[16, 16 + len(value), "password", "high"]]}
    state = Mutation("set_state", "memories", rows=(Row(uid("m")),))
    held = Item("redact_or_quarantine", "review", state, found)
    quoted = Item(
        "an_operation",
        "change",
        Mutation("set_state", "memories", rows=(Row(uid("n")),)),
        {"why": [{"a": text}], "n": 3},
    )
    write = Write(Cell("memories", uid("n"), "subject"), "set", "", f"Use {value}")
    written = Item(
        "an_operation", "change", Mutation("set_attributes", "memories", writes=(write,), rows=(Row(uid("n")),))
    )
    given = [quoted, written, *([held] if screened else [])]
    kept = without_secrets(snapshot, given)
    if not screened:
        assert kept == given
        return
    assert [i.id for i in kept] == [quoted.id, held.id]
    assert kept[0].evidence == {"why": [{"a": "The password is [redacted: known secret]."}], "n": 3}

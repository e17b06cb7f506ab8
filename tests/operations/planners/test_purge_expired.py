"""``purge_expired``: what was retired long ago and nothing needs, a whole retention later, and never sooner."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from slowwave.changes.simulate import simulate
from slowwave.errors import DreamForbiddenOpError
from slowwave.operations import PLANNERS, Inputs, Proposal, permits, run_planner
from slowwave.operations.options import PurgeExpiredOptions
from slowwave.plans.items import Item
from slowwave.plans.probes.isolation import isolation_probe
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from tests.permitting import blast_radius
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

purge_expired = PLANNERS["purge_expired"]

Row = Mapping[str, object]


def days(n: float):
    return TAKEN_AT - timedelta(days=n)


RECORDED = {"recorded_at": days(900)}
OLD = {**RECORDED, "invalidated_at": days(400)}


def fact(name: str, **more: object) -> Row:
    return {"id": uid(name), "subject": "ledger", "predicate": "port", "object": name, **RECORDED, **more}


def memory(name: str, **more: object) -> Row:
    return {"id": uid(name), "kind": "episodic", **RECORDED, **more}


def run(snapshot: Snapshot) -> Proposal:
    return purge_expired(make_inputs(snapshot))


def rows(found: Proposal, decision: str = "purge") -> set[frozenset[str]]:
    return {frozenset(i.mutation.row_ids()) for i in found.items if i.decision == decision}


def one(*names: str) -> set[frozenset[str]]:
    return {frozenset((uid(n),)) for n in names}


def test_facts_past_the_retention_go_and_no_others() -> None:
    """khora 8.14: inactive or invalidated, for longer than the retention; the boundary itself is kept."""
    snapshot = make_snapshot(
        memory_facts=[
            fact("invalidated", invalidated_at=days(366)),
            fact("at the boundary", invalidated_at=days(365)),
            fact("yesterday", invalidated_at=days(1)),
            fact("inactive and ended", is_active=False, valid_to=days(400)),
            fact("ended but true of its time", valid_to=days(400)),
            fact("live"),
        ]
    )
    found = run(snapshot)
    assert rows(found) == one("invalidated")
    assert rows(found, "review") == one("inactive and ended"), "when it was closed here is not told"
    assert {(i.risk, i.mutation.kind) for i in found.items} == {("high", "purge_rows")}
    numbers = found.report.numbers
    assert numbers["memory_facts looked at"] == 6
    assert numbers["memory_facts retired"] == 4
    assert numbers["memory_facts within the retention"] == 2
    assert (numbers["items"], numbers["rows purged"], numbers["for review"]) == (2, 1, 1)
    item = next(i for i in found.items if uid("invalidated") in i.mutation.row_ids())
    assert (item.evidence["age_days"], item.evidence["retention_days"]) == (366, 365)
    assert item.evidence["retired"] == [{"subject": "ledger", "predicate": "port", "object": "invalidated"}]
    assert Item.from_json(item.to_json()) == item


def test_the_latest_marker_counts() -> None:
    """A row that was touched since stays: khora's docstring promises the later of two markers, its SQL takes one. What is yet
    to come is no marker."""
    snapshot = make_snapshot(
        memory_facts=[
            fact("ended later", invalidated_at=days(400), valid_to=days(10)),
            fact("ends in a year", invalidated_at=days(400), valid_to=days(-365)),
            fact("superseded lately", is_active=False, superseded_by=uid("new")),
            fact("new", recorded_at=days(5)),
        ]
    )
    assert rows(run(snapshot)) == one("ends in a year")


def test_a_fact_of_which_nothing_tells_when_it_ended_is_asked_about() -> None:
    """It may have been switched off yesterday, however old it is; a young one is not even asked about."""
    undated = {"is_active": False}
    snapshot = make_snapshot(memory_facts=[fact("old", **undated), fact("young", **undated, recorded_at=days(5))])
    found = run(snapshot)
    assert rows(found, "review") == one("old")
    assert rows(found) == set()
    assert "Nothing tells since when" in str(found.items[0].evidence["reason"])
    assert found.report.numbers["for review"] == 1


def test_rows_that_name_each_other_go_together() -> None:
    """A chain of superseded facts is one item, whatever its length: no night leaves a pointer to nothing."""
    chain = [fact(str(n), **OLD, superseded_by=uid(str(n + 1)) if n < 5 else None) for n in range(6)]
    snapshot = make_snapshot(
        memory_facts=[*chain, fact("alone", **OLD), fact("self", **OLD, superseded_by=uid("self"))]
    )
    found = run(snapshot)
    assert rows(found) == {frozenset(uid(str(n)) for n in range(6)), *one("alone", "self")}
    assert all(i.mutation.writes == () for i in found.items)
    after = simulate(snapshot, found.items)
    assert after.table("memory_facts").num_rows == 0
    assert run(after).items == ()


def test_a_pointer_of_a_row_that_stays_is_cleared() -> None:
    """The row that stays was retired later: it is within the retention, and forgets by what it was replaced."""
    snapshot = make_snapshot(
        memory_facts=[
            fact("gone", **OLD),
            fact("stays", **{**OLD, "invalidated_at": days(20)}, superseded_by=uid("gone")),
        ]
    )
    found = run(snapshot)
    assert rows(found) == one("gone")
    assert found.report.numbers["pointers cleared"] == 1
    after = simulate(snapshot, found.items)
    assert after.table("memory_facts").select(["id", "superseded_by"]).to_pylist() == [
        {"id": uid("stays"), "superseded_by": None}
    ]
    assert run(after).items == ()


def test_what_live_rows_name_stays() -> None:
    """In a pointer, in a member list, in what a summary or a page cites, or in an open conflict; a closed one holds nothing."""
    names = ["pointed at", "cited", "cited in capitals", "on a page", "in conflict", "was in conflict", "free"]
    conflict = {"table_name": "memories", "row_b_id": uid("live"), "reason": "dates"}
    snapshot = make_snapshot(
        memories=[
            *(memory(n, **OLD) for n in names),
            memory("live", merged_into=uid("pointed at"), attributes={"cites": [{"id": uid("cited")}]}),
            memory("retired", **{**OLD, "invalidated_at": days(3)}, attributes={"cites": [uid("free")]}),
        ],
        communities=[{"id": uid("c"), "payload": {"claims": [uid("cited in capitals").upper()]}}],
        pages=[{"id": uid("p"), "path": "a.md", "body": f"See [it]({uid('on a page')})."}],
        conflicts=[
            {**conflict, "row_a_id": uid("in conflict")},
            {**conflict, "row_a_id": uid("was in conflict"), "resolved_at": TAKEN_AT},
        ],
    )
    found = run(snapshot)
    assert rows(found) == one("was in conflict", "free")
    assert found.report.numbers["memories named by live rows or conflicts"] == 5


def test_a_switched_off_fact_holds_nothing() -> None:
    """Inactive rows that nobody invalidated are retired too: what they name may go with them."""
    snapshot = make_snapshot(
        memory_facts=[
            fact("new", **OLD),
            fact("old", is_active=False, valid_to=days(500), superseded_by=uid("new")),
        ]
    )
    assert rows(run(snapshot), "review") == {frozenset((uid("old"), uid("new")))}


def test_pinned_memories_stay() -> None:
    """Somebody said that this one is kept."""
    found = run(make_snapshot(memories=[memory("pinned", **OLD, pinned=True), memory("free", **OLD)]))
    assert rows(found) == one("free")
    assert found.report.numbers["memories pinned"] == 1


def test_a_memory_takes_its_versions_promotions_and_vector_with_it() -> None:
    """All in one item; archived memories are not retired, and merged ones are."""
    snapshot = make_snapshot(
        memories=[
            memory("gone", **OLD, state="merged", merged_into=uid("kept")),
            memory("kept"),
            memory("archived", state="archived"),
        ],
        memory_versions=[{"memory_id": uid(m), "content": m} for m in ("gone", "kept")],
        promotions=[{"memory_id": uid("gone"), "from_ring": "a", "to_ring": "b"}],
        vectors={"memory_vectors": {uid("gone"): (1, 0), uid("kept"): (0, 1)}},
    )
    found = run(snapshot)
    assert rows(found) == one("gone")
    assert [d.table for d in found.items[0].mutation.deletes] == [
        "memories",
        "memory_versions",
        "promotions",
        "memory_vectors",
    ]
    assert found.report.numbers["versions, vectors and promotions"] == 3
    after = simulate(snapshot, found.items)
    assert [after.table(t).num_rows for t in ("memories", "memory_versions", "promotions")] == [2, 1, 0]
    vectors = after.vectors["memory_vectors"]
    assert (vectors.ids.to_pylist(), vectors.matrix.tolist()) == ([uid("kept")], [[0.0, 1.0]])


def test_edges_and_replaced_communities_go_and_entities_never_do() -> None:
    """An entity is what relationships stand on, live or not."""
    ends = {"source_entity_id": uid("e"), "target_entity_id": uid("e"), "relationship_type": "A"}
    snapshot = make_snapshot(
        entities=[{"id": uid("e"), "name": "e", **OLD}],
        relationships=[
            {"id": uid("edge"), **ends, **OLD},
            {"id": uid("ended"), **ends, **RECORDED, "valid_to": days(400)},
        ],
        communities=[
            {"id": uid("replaced"), **RECORDED, "valid_to": days(400)},
            {"id": uid("replaced lately"), **RECORDED, "valid_to": days(40)},
            {"id": uid("current"), **RECORDED},
        ],
    )
    assert rows(run(snapshot)) == one("edge", "replaced")


def test_nothing_is_purged_within_seven_days_whatever_a_setting_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings refuse it, and the planner looks again (khora re-checks at apply)."""
    snapshot = make_snapshot(memory_facts=[fact("f", **OLD)])
    shortest = Settings(operations={"purge_expired": {"retention_days": 7}})
    assert len(purge_expired(Inputs(snapshot, {}, shortest)).items) == 1
    six = PurgeExpiredOptions.model_construct(retention_days=6)
    monkeypatch.setattr(Settings, "options", lambda *_: six)
    with pytest.raises(DreamForbiddenOpError, match="7 days at least"):
        purge_expired(Inputs(snapshot, {}, Settings()))


def test_it_is_off_unless_switched_on_and_no_policy_may_approve_it() -> None:
    """By name it runs all the same; every item is of high risk, and policies take low ones only."""
    inputs = make_inputs(make_snapshot(memory_facts=[fact("f", **OLD)]))
    assert run_planner(purge_expired, inputs).report.skipped == "op_disabled_by_config"
    named = run_planner(purge_expired, inputs, frozenset({"purge_expired"}))
    assert [i.risk for i in named.items] == ["high"]


def test_the_probes_see_what_is_deleted() -> None:
    """Every cell of a deleted row is counted, and a row that the snapshot lacks is foreign; retired rows are nobody's loss."""
    snapshot = make_snapshot(memory_facts=[fact("f", **OLD), fact("g")])
    items = list(run(snapshot).items)
    isolation = isolation_probe(snapshot, items)
    assert (isolation.passed, isolation.cells) == (True, len(items[0].mutation.deletes[0].seen))
    elsewhere = isolation_probe(make_snapshot(), items)
    assert {(f.table, f.row) for f in elsewhere.foreign} == {("memory_facts", uid("f"))}
    assert blast_radius(snapshot, items, Settings()).retired == 0
    other = make_snapshot(memory_facts=[fact("f"), fact("g")])
    assert blast_radius(other, items, Settings()).per_table["memory_facts"].retired == 1


def test_an_empty_namespace_has_its_denominators() -> None:
    """A night that finds nothing says what it looked at."""
    found = run(make_snapshot())
    assert found.items == ()
    assert (
        found.report.headline == "0 of 0 retired rows are past the 365 days that they are kept, and would be deleted."
    )
    assert found.report.numbers["memory_facts looked at"] == 0


def test_purges_do_not_conflict_with_each_other() -> None:
    """Whole nights of them are approved at once."""
    snapshot = make_snapshot(memory_facts=[fact(str(n), **OLD) for n in range(20)])
    items = run(snapshot).items
    assert len(seal(Header(uid("n"), "n", "s", "f"), items, permits()).items) == 20

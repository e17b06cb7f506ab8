"""``seal_proposal``: a plan of somebody's own beside the night's, of the same making."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest

from slowwave.changes.mutation import Mutation
from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.proposal import seal_proposal
from slowwave.night.runs import Night
from slowwave.night.undo import undo_run
from slowwave.operations import Inputs, Proposal
from slowwave.plans.gate import reject
from slowwave.plans.items import Item
from slowwave.plans.report import Report
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.wiki.claims.planned_claims import PlannedClaim, SubjectClaims, planned_claims
from slowwave.wiki.corpus.planned_pages import PlannedPage, planned_pages
from tests.memories import ask, remember
from tests.permitting import approve
from tests.wiki.claims import tell

OPERATION = "proposed_changes"


def sealed(store: Store, text: str, of: str, path: str = "ideas/tides.md", operation: str = OPERATION) -> Night:
    def propose(inputs: Inputs) -> Proposal:
        page = PlannedPage(path, f"---\ntitle: Tides\ntype: idea\n---\n\n{text}\n")
        mutations: list[Mutation] = planned_pages(inputs.snapshot, inputs.settings, inputs.embed, [page])
        items = tuple(Item(operation, "create", m, risk="medium") for m in mutations)
        return Proposal(items, Report(operation, "One page."))

    return seal_proposal(store, "acme", OPERATION, propose, of=of)


def states(store: Store) -> dict[str, str]:
    return {str(h): str(s) for h, s in ask(store, "SELECT plan_hash, state FROM night.plans WHERE state <> 'empty'")}


def test_a_proposal_and_a_night_leave_each_others_plans_alone(store: Store) -> None:
    """Neither supersedes the other; a second plan of one proposal takes the place of the first."""
    twice = [
        {"id": n, "entity_type": "person", "name": "Mara Reyes", "attributes": {"email": "m@b.example"}} for n in "ab"
    ]
    remember(store, "acme", entities=twice)
    night = run_night(store, "acme").plan
    assert night is not None
    assert night.items
    first, other = sealed(store, "At six.", "one").plan, sealed(store, "At six.", "two", "ideas/moon.md").plan
    assert first is not None
    assert other is not None
    assert {*states(store).values()} == {"awaiting_approval"}
    later = run_night(store, "acme", force=True).plan
    again = sealed(store, "At nine.", "one").plan
    assert later is not None
    assert again is not None
    waiting = {h for h, state in states(store).items() if state == "awaiting_approval"}
    assert waiting == {later.plan_hash, other.plan_hash, again.plan_hash}


def test_what_was_rejected_is_not_sealed_again(store: Store) -> None:
    """The same page is left out, and the plan asks nobody; another text is asked about. Items of a foreign operation are no plan."""
    remember(store, "acme")
    night = sealed(store, "At six.", "one")
    assert night.plan is not None
    assert night.probes is not None
    assert night.state == "awaiting_approval"
    assert night.probes.results.keys() >= {"specifics", "blast_radius", "isolation", "recall"}
    reject(store, "acme", night.plan.plan_hash, rejected_by="mara", reason="No.")
    assert sealed(store, "At six.", "one").state == "empty"
    assert sealed(store, "At nine.", "one").state == "awaiting_approval"
    with pytest.raises(Refused, match="may not carry"):
        sealed(store, "At six.", "two", operation="dedupe_entities")
    assert ask(store, "SELECT count(*) FROM night.runs WHERE state = 'cancelled'") == [(1,)]


def applied(store: Store, plan: str, item: str) -> str:
    return apply_approval(store, approve(store, "acme", plan, approver="mara", items=[item]).id).run_id


def test_items_of_one_plan_about_one_subject_go_in_any_order(store: Store) -> None:
    """They were planned together: each may go before or after the other. What is said by day in between is not theirs."""
    remember(store, "acme")
    tell(store, "Rowan is planned.", "project:rowan", kind="state", role="owner")

    def propose(inputs: Inputs) -> Proposal:
        entities = inputs.snapshot.table("entities")
        (rowan,) = entities.filter(pc.equal(entities["external_id"], "project:rowan"))["id"].to_pylist()
        groups = [
            SubjectClaims(rowan, (PlannedClaim("fact", text, inputs.snapshot.taken_at),))
            for text in ("Rowan has a jetty.", "Rowan has a crane.", "Rowan has a gate.")
        ]
        made = planned_claims(inputs.snapshot, inputs.settings, None, groups)
        return Proposal(tuple(Item(OPERATION, "create", m, risk="medium") for m in made), Report(OPERATION, "Three."))

    before = digest(store, "acme")
    plan = seal_proposal(store, "acme", OPERATION, propose, of="rowan").plan
    assert plan is not None
    first, second, third = (item.id for item in plan.items)
    runs = [applied(store, plan.plan_hash, id_) for id_ in (second, first)]
    for run in runs:
        undo_run(store, run)
    assert digest(store, "acme") == before
    tell(store, "Rowan has a tower.", "project:rowan", role="owner")
    applied(store, plan.plan_hash, third)
    assert ask(store, "SELECT status FROM night.plan_items ORDER BY item_id = %s", third) == [
        ("undone",),
        ("undone",),
        ("skipped_stale",),
    ]

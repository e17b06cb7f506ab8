"""A part of a plan is judged by its own future, and what fails in it is named."""

from __future__ import annotations

from datetime import timedelta

from slowwave.changes.rows import NewVersion, new_versions, set_columns
from slowwave.changes.simulate import simulate
from slowwave.plans.probes.texts import specifics_probe
from slowwave.store.settings import Settings
from tests.permitting import prove_subset
from tests.plans.probes.plans import entity, item, merges
from tests.snapshots import TAKEN_AT, make_snapshot, uid

TOPICS = [f"topic{n}" for n in range(60)]
SNAPSHOT = make_snapshot(
    memories=[{"id": uid(t), "kind": "semantic", "current_version_id": uid(f"{t} v")} for t in TOPICS],
    memory_versions=[{"id": uid(f"{t} v"), "memory_id": uid(t), "content": f"About {t} today."} for t in TOPICS],
    recall_events=[
        {
            **{"id": uid(f"asked {t}"), "query": t, "selected_ids": [uid(t)]},
            "occurred_at": TAKEN_AT - timedelta(days=n),
        }
        for n, t in enumerate(TOPICS[:20])
    ],
)


def archive(*names: str, operation: str = "archive_stale"):
    values = {uid(name): {"state": "archived"} for name in names}
    return [item(m, operation, "archive") for m in set_columns(SNAPSHOT, "set_state", "memories", values)]


def reword(*names: str):
    changes = [NewVersion(uid(t), f"About {t} today (2026-03-01).", "dates") for t in names]
    return [item(m, "absolutize_dates", "reword") for m in new_versions(SNAPSHOT, changes)]


def test_what_passes_needs_no_force_and_is_told_in_figures_alone():
    proof = prove_subset(SNAPSHOT, [*reword(*TOPICS[:30]), *archive(*TOPICS[40:50])], Settings(), None)
    assert (proof.needs_force(), proof.harm.leave_out) == ((), ())
    disclosed = proof.to_json()
    assert set(disclosed) == {"recall", "blast_radius", "specifics"}
    assert "topic" not in str(disclosed)


def test_the_items_that_cost_recall_are_named_and_the_rest_passes_without_them():
    """Two of ten archived memories were used; only those have to go."""
    archived = archive("topic3", "topic7", *TOPICS[40:48])
    proof = prove_subset(SNAPSHOT, [*reword(*TOPICS[20:30]), *archived], Settings(), None)
    used = {i.id for i in archived if i.mutation.rows[0].id in (uid("topic3"), uid("topic7"))}
    assert set(proof.harm.leave_out) == used
    (sentence,) = proof.needs_force()
    assert all(f"{id_[:8]}" in sentence for id_ in used)
    rest = [i for i in archived if i.id not in used]
    assert prove_subset(SNAPSHOT, rest, Settings(), None).needs_force() == ()


def test_beyond_the_blast_radius_whole_operations_are_named():
    """Half an operation would only slip under the cap."""
    items = [*archive(*TOPICS[20:50]), *archive(*TOPICS[50:53], operation="redact_or_quarantine")]
    proof = prove_subset(SNAPSHOT, items, Settings(), None)
    assert len(proof.harm.leave_out) == 30
    assert "--without archive_stale." in proof.needs_force()[0]


def test_where_all_is_at_fault_nothing_is_left_to_advise():
    proof = prove_subset(SNAPSHOT, archive(*TOPICS), Settings(), None)
    assert (proof.harm.leave_out, proof.harm.advice) == ((), "")
    assert len(proof.needs_force()) == 2


def test_a_loss_that_the_plan_tells_is_decided_and_another_is_not():
    """Whoever approves a review item has read what it would lose; the refusal names items, and no value."""
    snapshot = make_snapshot(
        entities=[entity("Mara", description="Takes 12.50 EUR."), entity("M.", description="Takes 14 EUR.")]
    )
    items = merges(snapshot, {"Mara": ["M."]})
    (loss,) = specifics_probe(snapshot, simulate(snapshot, items), items).lost
    disclosed = frozenset({(loss.row, loss.term)})
    settings = Settings(blast_radius_share=1)
    assert prove_subset(snapshot, items, settings, None, disclosed=disclosed).needs_force() == ()
    (sentence,) = prove_subset(snapshot, items, settings, None).needs_force()
    assert items[0].id[:8] in sentence
    assert "14" not in sentence.replace(items[0].id[:8], "")

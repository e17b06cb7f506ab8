"""Facts and events as assets: what each declares to read is all that it needs, and what it proposes reaches the store and comes back."""

from __future__ import annotations

import pytest

from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.plans.ledger import read_plan
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.dagster.project import project
from tests.memories import ago, ask, remember, unit
from tests.permitting import approve
from tests.snapshots import uid

AUDITS = ("tombstones", "abstention_drift")
PLANNERS = ("dedupe_facts", "supersede_facts", "dedupe_memories")
OPERATIONS = (*AUDITS, *PLANNERS)


def namespace(store: Store) -> None:
    """A fact told twice, one that was replaced, one that was switched off, an event noted twice, and recalls far under the floor."""
    lives = [
        {"id": f"lives {n}", "subject": f"person {n}", "predicate": "lives in", "object": f"town {n}"}
        for n in range(30)
    ]
    facts = [
        {"id": "vim", "subject": "Ann", "predicate": "uses", "object": "vim", "source_chunk_ids": ["chunk"]},
        {"id": "vim again", "subject": "ANN", "predicate": "Uses", "object": "Vim.", "confidence": 0.5},
        {"id": "oslo", "subject": "Ann", "predicate": "lives in", "object": "Oslo", "valid_from": ago(90)},
        {"id": "rome", "subject": "Ann", "predicate": "lives in", "object": "Rome", "valid_from": ago(9)},
        {"id": "off", "subject": "Ann", "predicate": "owns", "object": "a car", "is_active": False},
    ]
    events = [("stopped", "The crane stopped.", 9, 2), ("stopped again", "The crane had stopped.", 8, 3)]
    remember(
        store,
        "acme",
        {
            "operations": {
                "abstention_drift": {"min_samples": 2, "min_top_score": 0.9},
                "contradictions": {"enabled": False},
            }
        },
        documents=[{"id": "page", "content": "d"}],
        chunks=[{"id": "chunk", "document_id": "page", "content": "Ann uses vim."}],
        memory_facts=[*lives, *facts],
        memories=[
            {
                **{"id": name, "kind": "event", "subject": "Crane", "valid_from": ago(days), "access_count": count},
                "current_version_id": f"text of {name}",
            }
            for name, _, days, count in events
        ],
        memory_versions=[{"id": f"text of {name}", "memory_id": name, "content": text} for name, text, _, _ in events],
        memory_vectors=[{"id": name, "vector": unit(1.0, 0.1 * n)} for n, (name, *_) in enumerate(events)],
        recall_events=[
            {"id": f"recall {n}", "occurred_at": ago(n), "query": "crane", "hit_ids": ["stopped"], "scores": [0.3]}
            for n in range(3)
        ],
    )


@pytest.mark.usefixtures("every_rule_decides")
def test_facts_and_events_from_the_night_to_the_store_and_back(store: Store) -> None:
    """One night by name; approved, applied, every check of it holds; a night after is silent; undone, all is as it was."""
    namespace(store)
    before = digest(store, "acme")
    with project(store, "acme") as night:
        result = night.night("acme", operations=",".join(OPERATIONS))
        assert result.success
        assert {n: night.metadata(result, "plan", n)["items"].value for n in PLANNERS} == dict.fromkeys(PLANNERS, 1)
        told = night.metadata(result, "night", "plan")
        report = " ".join(told["report"].value.replace("\\", "").split())
        assert "“Ann lives in Oslo” ends on " in report
        assert "“Ann lives in Rome” stays." in report
        assert "“ANN Uses Vim.” is merged into “Ann uses vim”" in report
        plan_hash = told["plan_hash"].value
        with store.connect("reader") as connection:
            plan = read_plan(connection, plan_hash)
        assert {(s.item.operation, s.item.decision) for s in plan.items} == {
            ("dedupe_facts", "merge"),
            ("supersede_facts", "supersede"),
            ("dedupe_memories", "merge"),
        }
        audits = night.value("SELECT summary -> 'audits' FROM night.plans WHERE plan_hash = %s", plan_hash)
        assert audits["tombstones"]["numbers"]["tombstone_count"] == 1
        assert audits["abstention_drift"]["headline"].startswith("Lower min_top_score from 0.9 to 0.27")
        probes = night.value("SELECT probes FROM night.plans WHERE plan_hash = %s", plan_hash)
        assert (probes["convergence"]["items"], probes["specifics"]["lost"]) == (0, [])

        approval = approve(store, "acme", plan_hash, approver="mara", force=True, note="test")
        applied = apply_approval(store, approval.id)
        assert applied.counts["applied"] == 3
        checks = night.run("checks_job", tags={"dagster/partition": "acme"})
        assert checks.success
        assert all(e.passed for e in checks.get_asset_check_evaluations())
        live = "SELECT object FROM memory.memory_facts WHERE subject ILIKE 'ann' AND is_active ORDER BY object"
        assert [o for (o,) in ask(store, live)] == ["Rome", "vim"]
        history = (
            "SELECT object FROM memory.memory_facts WHERE subject = 'Ann' AND invalidated_at IS NULL AND valid_to > %s"
        )
        assert ask(store, history, ago(50)) == [("Oslo",)], "asked about that day, the store still knows"
        assert ask(store, "SELECT access_count FROM memory.memories WHERE state = 'active'") == [(5,)]

    again = run_night(store, "acme", ops=",".join(OPERATIONS))
    assert again.plan is not None
    assert (again.plan.items, again.plan.deferred) == ((), {})
    undo_run(store, applied.run_id)
    assert digest(store, "acme") == before
    refused = run_night(store, "acme", ops=",".join(PLANNERS))
    assert refused.plan is not None
    assert refused.new_items == 0, "what was undone is not proposed again"
    assert ask(store, "SELECT count(*) FROM memory.memories WHERE merged_into = %s", uid("stopped again")) == [(0,)]

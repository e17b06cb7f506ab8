"""Planners as assets: what each declares to read is all that it needs, and what it proposes goes through the gate to the store."""

from __future__ import annotations

from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.plans.ledger import read_plan
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.dagster.project import project
from tests.memories import ago, ask, remember
from tests.permitting import approve
from tests.snapshots import uid

OPERATIONS = ("normalize_schema", "prune_edges", "purge_expired")


def namespace(store: Store) -> None:
    """A type to rename, one of whose rows meets another; an edge that nothing supports; a fact and a memory past their time."""
    long_ago = {"recorded_at": ago(600), "invalidated_at": ago(500)}
    remember(
        store,
        "acme",
        {"operations": {"normalize_schema": {"mapping": {"Tool ": "tool"}}}},
        entities=[
            {"id": "grafana 1", "entity_type": "Tool ", "name": "Grafana", "mention_count": 2},
            {"id": "grafana 2", "entity_type": "tool", "name": "Grafana", "mention_count": 1},
            {"id": "loki", "entity_type": "Tool ", "name": "Loki"},
        ],
        relationships=[
            {
                "id": "weak",
                "source_entity_id": "grafana 1",
                "target_entity_id": "loki",
                "relationship_type": "ASSOCIATED_WITH",
                "confidence": 0.1,
                "source_chunk_ids": ["gone"],
            }
        ],
        memory_facts=[{"id": "fact", "subject": "s", "predicate": "p", "object": "o", **long_ago}],
        memories=[{"id": "memory", "kind": "episodic", **long_ago}],
        memory_versions=[{"id": "version", "memory_id": "memory", "content": "c"}],
    )


def test_schema_edges_and_retention_from_the_night_to_the_store_and_back(store: Store) -> None:
    """One night by name; approved, applied, every check of it holds; undone, the memory is what it was; not proposed again."""
    namespace(store)
    before = digest(store, "acme")
    with project(store, "acme") as night:
        result = night.night("acme", operations=",".join(OPERATIONS))
        assert result.success
        items = {name: night.metadata(result, "plan", name)["items"].value for name in OPERATIONS}
        assert items == {"normalize_schema": 2, "prune_edges": 1, "purge_expired": 2}
        plan_hash = night.metadata(result, "night", "plan")["plan_hash"].value
        with store.connect("reader") as connection:
            plan = read_plan(connection, plan_hash)
        assert {s.item.decision for s in plan.items} == {"merge", "rename", "prune", "purge"}
        approval = approve(store, "acme", plan_hash, approver="mara", include_review=True, force=True, note="test")
        applied = apply_approval(store, approval.id)
        done = [s for s in plan.items if s.status != "deferred"]
        assert applied.counts["applied"] == len(done)
        checks = night.run("checks_job", tags={"dagster/partition": "acme"})
        assert checks.success
        assert all(e.passed for e in checks.get_asset_check_evaluations())
        assert ask(store, "SELECT count(*) FROM memory.memories") == [(0,)]
        assert ask(
            store, "SELECT entity_type, invalidated_at IS NULL FROM memory.entities WHERE id = %s", uid("grafana 1")
        ) == [("tool", True)]
    undo_run(store, applied.run_id)
    assert digest(store, "acme") == before
    again = run_night(store, "acme", ops="purge_expired")
    assert again.plan is not None
    assert ask(store, "SELECT count(*) FROM night.plan_items WHERE plan_hash = %s", again.plan.plan_hash) == [(0,)]

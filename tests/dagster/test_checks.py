"""After an apply the checks hold, and each of them fails on the very fault that it is there for."""

from __future__ import annotations

from types import SimpleNamespace

import dagster as dg
import pytest

from slowwave.dagster.checks import PROMISES, Promise, errors_of, validate
from slowwave.night.executor import apply_approval
from slowwave.store.connect import Store
from tests.dagster.project import Project, project
from tests.memories import remember
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.snapshots import uid
from tests.worlds import World


def applied_world(store: Store) -> World:
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    result = apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara").id)
    assert result.counts["applied"] > 0
    return world


def evaluate(checks: Project, namespace: str | None = None) -> dict[str, dg.AssetCheckEvaluation]:
    result = checks.run("checks_job", tags={"dagster/partition": namespace} if namespace else {})
    assert result.success
    return {e.check_name: e for e in result.get_asset_check_evaluations()}


def test_all_checks_hold_after_an_apply(store: Store) -> None:
    """Every check passes, and shows how much it looked at."""
    world = applied_world(store)
    with project(store, world.slug) as checks:
        found = evaluate(checks)
        one = evaluate(checks, world.slug)
    assert {name: e.passed for name, e in found.items()} == dict.fromkeys(found, True), found
    assert len(found) == 3 + 5 + len(PROMISES)
    for name in (
        "no_live_relationship_touches_a_retired_entity",
        "cells_changed_are_cells_planned",
        "event_chain_verifies",
    ):
        assert found[name].metadata["looked_at"].value > 0, name
        assert one[name].metadata["namespaces"].value == 1
    assert found["mention_counts_are_not_negative"].metadata["looked_at"].value == len(world.rows["entities"])


@pytest.mark.parametrize(
    ("check", "damage"),
    [
        (
            "no_live_relationship_touches_a_retired_entity",
            "UPDATE memory.relationships SET source_entity_id = (SELECT id FROM memory.entities WHERE merged_into IS NOT NULL "
            "LIMIT 1) WHERE id = (SELECT id FROM memory.relationships WHERE invalidated_at IS NULL LIMIT 1)",
        ),
        ("cells_changed_are_cells_planned", "DELETE FROM night.journal WHERE id = (SELECT min(id) FROM night.journal)"),
        ("event_chain_verifies", "UPDATE night.memory_events SET payload_hash = 'x' WHERE sequence = 2"),
        ("mention_counts_are_not_negative", "UPDATE memory.entities SET mention_count = -1"),
        ("memories_point_at_their_own_version", "UPDATE memory.memories SET current_version_id = gen_random_uuid()"),
        (
            "merge_chains_end_at_live_rows",
            "UPDATE memory.entities SET invalidated_at = now() WHERE id IN (SELECT merged_into FROM memory.entities)",
        ),
        (
            "merge_chains_end_at_live_rows",
            "UPDATE memory.entities e SET merged_into = o.id, invalidated_at = now() FROM memory.entities o WHERE o.merged_into = e.id",
        ),
        (
            "type_shares_are_steady",
            "UPDATE night.plans SET summary = jsonb_set(summary, '{baselines}', "
            '\'{"schema_drift": {"entity_frequencies": {"gone": 20, "tool": 20}, "entity_total": 40}}\')',
        ),
        ("nothing_is_recorded_in_the_future", "UPDATE memory.memory_facts SET recorded_at = now() + interval '1 day'"),
        (
            "recall_scores_are_in_range",
            "INSERT INTO memory.recall_events (id, namespace_id, occurred_at, query, hit_ids, scores) SELECT gen_random_uuid(), id, now(), "
            "'q', ARRAY[gen_random_uuid()], '{NaN}' FROM memory.namespaces",
        ),
    ],
)
def test_each_check_finds_its_fault(store: Store, check: str, damage: str) -> None:
    """What no role of ours may do, the owner does with the triggers off."""
    world = applied_world(store)
    with store.connect("owner") as owner:
        owner.execute("SET session_replication_role = replica")
        assert owner.execute(damage.encode()).rowcount > 0
    with project(store, world.slug) as checks:
        found = evaluate(checks)
    assert not found[check].passed
    assert found[check].description


def test_memories_without_vectors_are_missed_where_others_have_some(store: Store) -> None:
    """A store without any vector says nothing; one of ten memories may wait for its own, five may not."""
    wanted = {"memories_have_vectors": PROMISES["memories_have_vectors"]}
    names = [f"m{n}" for n in range(10)]
    remember(
        store,
        "acme",
        memories=[{"id": n, "kind": "episodic", "current_version_id": f"v {n}"} for n in names],
        memory_versions=[{"id": f"v {n}", "memory_id": n, "content": n} for n in names],
    )
    answers = [validate(store, ["acme"], wanted)["memories_have_vectors"].success]
    for some in (names[:5], names[5:9]):
        with store.connect("owner") as owner:
            owner.execute("INSERT INTO memory.vector_models (model, dimensions) VALUES ('m', 2) ON CONFLICT DO NOTHING")
            owner.execute(
                "INSERT INTO memory.memory_vectors (id, model, namespace_id, vector) "
                "SELECT id, 'm', namespace_id, '[1,0]' FROM memory.memories WHERE id = ANY(%s::uuid[])",
                ([uid(n) for n in some],),
            )
        answers.append(validate(store, ["acme"], wanted)["memories_have_vectors"].success)
    assert answers == [True, False, True]


def test_an_expectation_that_cannot_be_asked_is_no_plain_failure(store: Store) -> None:
    """Great Expectations does not raise: a missing column comes back as a result, with the error nested in it."""
    world = new_world(store)
    promise = Promise(
        "-", "SELECT id, namespace_id FROM memory.entities", "ExpectColumnValuesToBeUnique", {"column": "gone"}
    )
    result = validate(store, [world.slug], {"gone": promise})["gone"]
    assert not result.success
    assert errors_of(result)


def test_both_shapes_of_an_error_are_read() -> None:
    """Flat, and nested under the id of a metric; a result without an error has none."""
    raised = {"raised_exception": True, "exception_message": "no such column\nmore"}
    assert errors_of(SimpleNamespace(exception_info=raised)) == ["no such column"]
    assert errors_of(SimpleNamespace(exception_info={"metric": raised})) == ["no such column"]
    assert errors_of(SimpleNamespace(exception_info={"raised_exception": False})) == []
    assert errors_of(SimpleNamespace(exception_info=None)) == []

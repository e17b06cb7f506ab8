"""Alarms for the operator: what nobody audits, what nobody decides, and what changes nothing."""

from __future__ import annotations

from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.retention import audited, decided, effective
from slowwave.store.connect import Store
from tests.memories import behind_triggers
from tests.nights import new_world, write_a_plan
from tests.permitting import approve


def _write(store: Store, query: str, *parameters: object) -> None:
    with store.connect("owner") as owner:
        owner.execute("SET session_replication_role = replica")
        assert owner.execute(query.encode(), parameters).rowcount


def test_a_namespace_that_changed_and_was_not_audited_is_late(store: Store) -> None:
    """Never audited for three days: late. Audited: well. Changed since, with an old snapshot: late again, once a
    night is due. Unchanged: well.
    """
    world = new_world(store)
    with store.connect("reader") as reader:
        assert audited(reader, [world.slug]).late == ()
        _write(store, "UPDATE memory.namespaces SET recorded_at = now() - interval '3 days'")
        assert "was never audited" in audited(reader, [world.slug]).late[0]
        _write(store, "UPDATE memory.namespaces SET settings = settings || '{\"freshness_audit_days\": 4}'")
        assert audited(reader, [world.slug]).late == (), "nights may be rarer where the settings say so"
        _write(store, "UPDATE memory.namespaces SET settings = settings - 'freshness_audit_days'")
        run_night(store, world.slug)
        assert audited(reader, [world.slug]).late == ()
        _write(store, "UPDATE night.snapshots SET taken_at = taken_at - interval '3 days'")
        assert audited(reader, [world.slug]).late == (), "nothing has changed, so there is nothing to audit"
        _write(
            store, "INSERT INTO memory.changes (namespace_id, table_name) VALUES (%s, 'entities')", world.namespace_id
        )
        behind_triggers(store, "UPDATE night.runs SET started_at = started_at - interval '3 days'")
        _write(store, "UPDATE memory.namespaces SET settings = settings || '{\"gate_min_new_records\": 1000}'")
        assert audited(reader, [world.slug]).late == (), "too few new records: the schedule waits for more"
        _write(store, "UPDATE memory.namespaces SET settings = settings || '{\"gate_min_new_records\": 5}'")
        answer = audited(reader, [world.slug])
    assert answer.looked_at == 1
    assert "last audited 3 days ago and has changed since" in answer.late[0]


def test_a_plan_that_waits_is_named_until_somebody_decides(store: Store) -> None:
    """The sentence names plan, age and expiry; an approval ends the alarm."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with store.connect("reader") as reader:
        assert decided(reader, [world.slug]).late == ()
        _write(store, "UPDATE night.plans SET recorded_at = now() - interval '5 days'")
        (late,) = decided(reader, [world.slug]).late
        assert plan.plan_hash[:12] in late
        assert "has waited 5 days (limit 3)" in late
        _write(store, "UPDATE memory.namespaces SET settings = settings || '{\"freshness_plan_days\": 6}'")
        assert decided(reader, [world.slug]).late == ()
        _write(store, "UPDATE memory.namespaces SET settings = settings - 'freshness_plan_days'")
        approve(store, world.slug, plan.plan_hash, approver="mara")
        assert decided(reader, [world.slug]).late == ()


def test_applies_that_change_nothing_are_noticed(store: Store) -> None:
    """Three applies with stale items only; one that changes something ends the alarm."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara").id)
    with store.connect("reader") as reader:
        assert effective(reader, [world.slug]).late == (), "one apply proves nothing"
        for _ in range(3):
            _write(
                store,
                "INSERT INTO night.applied (approval_id, namespace_id, plan_hash, run_id, counts, recorded_at) "
                'SELECT gen_random_uuid(), namespace_id, plan_hash, run_id, \'{"applied": 0, "skipped_stale": 4}\', clock_timestamp() '
                "FROM night.applied LIMIT 1",
            )
        assert "The last 3 applies" in effective(reader, [world.slug]).late[0]
        _write(
            store,
            "INSERT INTO night.applied (approval_id, namespace_id, plan_hash, run_id, counts, recorded_at) "
            "SELECT gen_random_uuid(), namespace_id, plan_hash, run_id, '{\"applied\": 2}', clock_timestamp() FROM night.applied LIMIT 1",
        )
        assert effective(reader, [world.slug]).late == ()

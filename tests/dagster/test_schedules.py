"""The nightly schedule: a run for what changed, a reason for what did not."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from slowwave.dagster.jobs import in_short
from slowwave.night.night import run_night
from slowwave.night.snapshot import snapshot_rows
from slowwave.night.status import Closed
from slowwave.plans.states import latest_plan
from slowwave.store.connect import Store
from tests.dagster.project import project
from tests.dreamers import dead_run
from tests.memories import behind_triggers
from tests.nights import new_world, take_snapshot, write_a_plan

NIGHT = datetime(2026, 3, 2, 3, tzinfo=UTC)
SUNDAY = NIGHT - timedelta(days=1)


def test_a_night_is_asked_for_once_for_every_namespace(store: Store) -> None:
    """The key names night and namespace, so a daemon that restarts asks for no second one."""
    world, other = new_world(store, 7), new_world(store, 400)
    with project(store, world.slug, other.slug) as night:
        requests = night.tick(NIGHT)
    assert isinstance(requests, list)
    assert [r.run_key for r in requests] == ["2026-03-02:nightly:0"]
    assert namespaces_of(requests) == [sorted((world.slug, other.slug))]


def namespaces_of(requests: list[dg.RunRequest]) -> list[list[str]]:
    """Return the namespaces of each requested run."""
    return [request.run_config["ops"]["plan_nights"]["config"]["namespaces"] for request in requests]


def operations_of(request: dg.RunRequest) -> str:
    return request.run_config["ops"]["plan_nights"]["config"].get("operations", "")


def test_a_run_serves_a_group_of_namespaces(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the setting says, each once; the keys name night and group."""
    monkeypatch.setenv("SLOWWAVE_NIGHTS_PER_RUN", "2")
    slugs = sorted(new_world(store, seed).slug for seed in (7, 400, 500))
    with project(store, *slugs) as night:
        requests = night.tick(NIGHT)
    assert isinstance(requests, list)
    assert namespaces_of(requests) == [slugs[:2], slugs[2:]]
    assert [r.run_key for r in requests] == ["2026-03-02:nightly:0", "2026-03-02:nightly:1"]


def test_a_gate_of_many_namespaces_is_one_sentence() -> None:
    unchanged = [Closed("unchanged", f"n{n} is unchanged.") for n in range(5_000)]
    assert in_short([*unchanged, Closed("disabled", "m is disabled.")]) == [
        "unchanged: 5,000 namespaces, the first of which: n0 is unchanged.",
        "disabled: m is disabled.",
    ]
    assert in_short(unchanged[:2]) == ["unchanged: n0 is unchanged.", "unchanged: n1 is unchanged."]


def test_a_run_has_the_tags_of_the_size_of_its_namespaces(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the rows of the latest snapshot; a namespace without one counts as the largest."""
    small, large, new = (new_world(store, seed).slug for seed in (7, 400, 500))
    for slug in (small, large):
        take_snapshot(store, slug)
    rows = snapshot_rows(store)
    many = "UPDATE night.snapshots SET row_counts = '{\"entities\": 70000}' WHERE namespace_id = (SELECT id FROM memory.namespaces"
    behind_triggers(store, f"{many} WHERE slug = %s)", large)
    tags = {"50000": {"dagster-k8s/config": {"container_config": {"resources": {"limits": {"memory": "4Gi"}}}}}}
    monkeypatch.setenv("SLOWWAVE_NIGHT_RUN_TAGS", json.dumps(tags))
    with project(store, small, large, new) as night:
        requests = night.tick(NIGHT)
    assert isinstance(requests, list)
    assert rows.keys() == {small, large}
    assert 0 < rows[small] < 1000
    found = {tuple(names): request for names, request in zip(namespaces_of(requests), requests, strict=True)}
    assert found.keys() == {(small,), tuple(sorted((large, new)))}
    assert "dagster-k8s/config" not in found[(small,)].tags
    assert (
        json.loads(found[tuple(sorted((large, new)))].tags["dagster-k8s/config"]) == tags["50000"]["dagster-k8s/config"]
    )
    assert {request.run_key for request in requests} == {"2026-03-02:nightly:0", "2026-03-02:nightly:0:50000"}


def test_an_unchanged_namespace_is_skipped_with_its_reason(store: Store) -> None:
    """Nothing was written since its last night: the tick says so, and runs nothing."""
    world, other = new_world(store, 7), new_world(store, 400)
    run_night(store, world.slug)
    with project(store, world.slug) as night:
        skipped = night.tick(NIGHT)
        assert isinstance(skipped, dg.SkipReason)
        assert f"{world.slug} is unchanged since the night of" in (skipped.skip_message or "")
        night.instance.add_dynamic_partitions("namespaces", [other.slug])
        requests = night.tick(NIGHT)
        assert isinstance(requests, list)
        assert namespaces_of(requests) == [[other.slug]]


def test_on_sundays_a_night_has_the_weekly_operations(store: Store) -> None:
    """Unchanged or not, as age alone is work for them; the tag reaches the planners, which are off on other nights."""
    world = new_world(store)
    with store.connect("owner") as owner:  # a world's rows were all recorded on one day
        owner.execute("UPDATE memory.namespaces SET settings = settings || '{\"gate_min_sessions\": 1}'")
    with project(store, world.slug) as night:
        assert night.night(world.slug).success
        skipped = night.tick(NIGHT)
        assert isinstance(skipped, dg.SkipReason)
        assert f"{world.slug} is unchanged since the night of" in (skipped.skip_message or "")
        skipped = night.tick(SUNDAY)
        assert isinstance(skipped, dg.SkipReason)
        assert f"too_soon: {world.slug} had a night 0.0 hours ago" in (skipped.skip_message or "")
        behind_triggers(store, "UPDATE night.runs SET started_at = started_at - interval '1 day'")
        requests = night.tick(SUNDAY)
        assert isinstance(requests, list)
        assert [operations_of(r) for r in requests] == ["weekly"]
        assert night.run("night_job", run_config=requests[0].run_config).success
        assert night.value("SELECT parameters FROM night.runs ORDER BY started_at DESC LIMIT 1") == {"weekly": True}
    off = {"community_summaries": "op_disabled_by_config", "purge_expired": "op_disabled_by_config"}
    weekday, sunday = _skipped(store, world.slug)[-2:]
    assert off.items() <= weekday.items()
    assert "community_summaries" not in sunday
    assert sunday["purge_expired"] == "op_not_requested"


def test_on_sundays_few_sessions_leave_the_plain_night(store: Store) -> None:
    """The weekly operations wait for more; what the day brought does not."""
    world = new_world(store)
    with project(store, world.slug) as night:
        requests = night.tick(SUNDAY)
    assert isinstance(requests, list)
    assert [(operations_of(r), *namespaces_of([r])) for r in requests] == [("", [world.slug])]


def test_a_closed_gate_is_told_by_its_name_and_fails_nothing(store: Store) -> None:
    """A namespace that somebody works in is left out; the others have their night."""
    world, other = new_world(store, 7), new_world(store, 400)
    held = dead_run(store, world.slug, "apply", "applying", 1)
    with project(store, world.slug, other.slug) as night:
        requests = night.tick(NIGHT)
        assert isinstance(requests, list)
        assert namespaces_of(requests) == [[other.slug]]
        night.instance.delete_dynamic_partition("namespaces", other.slug)
        skipped = night.tick(NIGHT)
    assert isinstance(skipped, dg.SkipReason)
    assert f"locked: {world.slug} is held by run {held}" in (skipped.skip_message or "")


def _skipped(store: Store, namespace: str) -> list[dict[str, str]]:
    with store.connect("reader") as connection:
        return [
            skipped
            for (skipped,) in connection.execute(
                "SELECT p.summary -> 'skipped' FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id "
                "WHERE n.slug = %s ORDER BY p.recorded_at",
                (namespace,),
            )
        ]


def test_a_namespace_whose_nights_are_off_is_skipped_with_its_reason(store: Store) -> None:
    """Off is a decision, not a failed run every night; not even on Sundays."""
    world = new_world(store)
    with store.connect("owner") as owner:
        owner.execute("UPDATE memory.namespaces SET settings = '{\"enabled\": false}'")
    with project(store, world.slug) as night:
        for when in (NIGHT, NIGHT - timedelta(days=1)):
            skipped = night.tick(when)
            assert isinstance(skipped, dg.SkipReason)
            assert f"{world.slug} is disabled" in (skipped.skip_message or "")


def test_a_run_of_some_operations_leaves_the_night_due(store: Store) -> None:
    """The tag is part of what the run was asked for."""
    world = new_world(store)
    with project(store, world.slug) as night:
        assert night.night(world.slug, operations="orphans").success
        requests = night.tick(NIGHT)
    assert isinstance(requests, list)
    assert namespaces_of(requests) == [[world.slug]]


def test_a_namespace_without_a_partition_waits_for_the_sensor(store: Store) -> None:
    """A request for a partition that is not there would fail the whole tick."""
    new_world(store)
    with project(store) as night:
        skipped = night.tick(NIGHT)
    assert isinstance(skipped, dg.SkipReason)


def test_plans_past_their_time_expire_at_night(store: Store) -> None:
    """Nobody decided in a week: the plan's state says so."""
    world = new_world(store)
    write_a_plan(store, world, expiry_days=0)
    with project(store, world.slug) as night:
        night.tick(NIGHT)
        assert night.value("SELECT state FROM night.plans") == "expired"
    with store.connect("reader") as connection:
        assert latest_plan(connection, world.slug)


def test_an_unreachable_store_is_a_reason_to_skip() -> None:
    """The daemon goes on; the address is named without its password."""
    store = Store("postgresql://me:hunter2@127.0.0.1:1/none")
    with project(store) as night:
        skipped = night.tick(NIGHT)
    assert isinstance(skipped, dg.SkipReason)
    assert "does not answer" in (skipped.skip_message or "")
    assert "hunter2" not in (skipped.skip_message or "")


def test_a_namespace_with_long_hours_has_the_nights_of_its_tiled_job_alone(store: Store) -> None:
    """As docs/scale.md says: `gate_min_hours` holds back every scheduled night, weekly ones included, and not `tiled_night_job`."""
    world = new_world(store)
    config = {"ops": {"divide_candidate_search": {"config": {"namespace": world.slug}}}}
    with project(store, world.slug) as night:
        assert night.run("tiled_night_job", run_config=config).success
        assert night.value("SELECT count(*) FROM night.plans") == 1, "without a single tile as well"
        with store.connect("owner") as owner:
            owner.execute("UPDATE memory.namespaces SET settings = settings || '{\"gate_min_new_records\": 0}'")
        behind_triggers(store, "UPDATE night.runs SET started_at = started_at - interval '60 days'")
        for when in (NIGHT, SUNDAY):
            requests = night.tick(when)
            assert isinstance(requests, list)
            assert namespaces_of(requests) == [[world.slug]]
        with store.connect("owner") as owner:
            owner.execute("UPDATE memory.namespaces SET settings = settings || '{\"gate_min_hours\": 87600}'")
        for when in (NIGHT, SUNDAY):
            skipped = night.tick(when)
            assert isinstance(skipped, dg.SkipReason)
            assert f"too_soon: {world.slug} had a night" in (skipped.skip_message or "")
        assert night.run("tiled_night_job", run_config=config).success
        assert night.value("SELECT count(*) FROM night.plans") == 2

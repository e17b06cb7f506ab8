"""A night of the command line reaches the instance with the same events and the same metadata as a night of Dagster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import dagster as dg
import pytest

from slowwave.dagster.events import night_events, report_night, report_status
from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.operations import Inputs, Proposal
from slowwave.store import server
from slowwave.store.connect import Store
from tests.clusters import cloned
from tests.conftest import forget_environment
from tests.dagster.project import Project, project
from tests.dagster.quick_events import ephemeral
from tests.nights import new_world

Given = tuple[Night, Inputs, Mapping[str, Proposal]]


@dataclass(frozen=True)
class TwoNights:
    """A night of Dagster, and one of the library after it, with what it told at its end."""

    project: Project
    slug: str
    result: dg.ExecuteInProcessResult
    given: Given


@pytest.fixture(scope="module")
def nights(postgres: server.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoNights]:
    """Both of one namespace, in which nothing happened between them."""
    with cloned(postgres, "template_slowwave") as name:
        store = Store.embedded_in(postgres.url(name), postgres.home)
        slug = new_world(store).slug
        told: list[Given] = []
        with project(store, slug, "another") as made, pytest.MonkeyPatch.context() as patch:
            forget_environment(patch, tmp_path_factory.mktemp("night"))
            result = made.night(slug)
            run_night(store, slug, force=True, done=lambda *given: told.append(given))
            yield TwoNights(made, slug, result, told[0])


def events(instance: dg.DagsterInstance, slug: str, keys: set[dg.AssetKey]) -> dict[dg.AssetKey, dict[str, Any]]:
    """The newest materialization of each asset in the partition."""
    found: dict[dg.AssetKey, dict[str, Any]] = {}
    for key in keys:
        (record,) = instance.fetch_materializations(
            dg.AssetRecordsFilter(key, asset_partitions=[slug]), limit=1
        ).records
        assert record.asset_materialization is not None
        found[key] = dict(record.asset_materialization.metadata)
    return found


def evaluated(instance: dg.DagsterInstance, check: dg.AssetCheckKey) -> dg.AssetCheckEvaluation | None:
    """The newest evaluation of a check."""
    for record in instance.event_log_storage.get_asset_check_execution_history(check, 1):
        if record.event and record.event.dagster_event:
            return record.event.dagster_event.asset_check_evaluation_data
    return None


def test_the_same_assets_with_the_same_metadata(nights: TwoNights) -> None:
    """What Dagster's own night materialized, under the same keys; what both say of the same rows is equal."""
    own = {
        event.asset_key: dict(event.step_materialization_data.materialization.metadata)
        for event in nights.result.get_asset_materialization_events()
        if event.asset_key
    }
    with ephemeral() as instance:
        assert report_night(*nights.given, instance) > len(own)
        assert instance.get_dynamic_partitions("namespaces") == [nights.slug]
        told = events(instance, nights.slug, set(own))
    assert {key: set(of) for key, of in told.items()} == {key: set(of) for key, of in own.items()}
    for key in (dg.AssetKey(["snapshot"]), dg.AssetKey(["model", "live_relationships"])):
        assert told[key]["dagster/row_count"] == own[key]["dagster/row_count"]
    plan, night = told[dg.AssetKey(["night", "plan"])], nights.given[0]
    assert night.plan is not None
    assert plan["plan_hash"].value == night.plan.plan_hash
    assert plan["run_id"].value == night.run_id
    assert f"%22{night.plan.plan_hash}%22" in plan["summary"].value


def test_checks_are_told_as_they_were_found(nights: TwoNights) -> None:
    """Those of models and of pages, each with its asset; a night of Dagster evaluates the same."""
    own = {(check.asset_key, check.check_name, check.passed) for check in nights.result.get_asset_check_evaluations()}
    with ephemeral() as instance:
        report_night(*nights.given, instance)
        told = {
            (key, name, evaluation.passed)
            for key, name, _ in own
            if (evaluation := evaluated(instance, dg.AssetCheckKey(key, name)))
        }
    assert told == own != set()


def test_of_many_nights_the_plans_alone_are_told(nights: TwoNights) -> None:
    """A hundred events a namespace would take longer than its night."""
    with ephemeral() as instance:
        assert report_night(*nights.given, instance, whole=False) == 1
        events(instance, nights.slug, {dg.AssetKey(["night", "plan"])})


def test_how_all_stand_is_a_page_at_once(nights: TwoNights) -> None:
    """What waits, and the command that shows it: the page of the status is not empty until the next morning."""
    key = dg.AssetKey(["night", "status"])
    with ephemeral() as instance:
        report_status(nights.project.store, instance)
        (record,) = instance.fetch_materializations(key, limit=2).records
    assert record.asset_materialization
    told = record.asset_materialization.metadata
    assert (told["namespaces"].value, told["needs_a_person"].value) == (1, 1)
    assert f"slowwave plans show {nights.slug}" in str(told["status"].value)


def test_no_text_of_memory_is_told_where_it_is_hidden(nights: TwoNights) -> None:
    """Events stay for ever, so ``redact_text`` holds for those of the command line too."""
    night, inputs, proposals = nights.given
    hidden = replace(inputs, snapshot=replace(inputs.snapshot, settings={"redact_text": "all"}))
    names = {str(name) for name in inputs.snapshot.table("entities")["name"].to_pylist()}
    said = {
        open_: str(list(night_events(night, given, proposals))) for open_, given in ((True, inputs), (False, hidden))
    }
    shown = [name for name in names if len(name) > 4 and name in said[True]]
    assert shown
    assert not [name for name in shown if name in said[False]]

"""What a plan's page offers beside its approval: links that open a job with what the page knows, a person's words left to the person."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import dagster as dg
import pytest
import yaml
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin

from slowwave.dagster.events import applied_metadata, decision_links, part_link, reject_link, review_text, undo_link
from slowwave.dagster.layout import DEFAULT
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.dagster.project import Project, failure, project
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.toy import toy

HASH = "a" * 64


def opened(link: str, **typed: object) -> tuple[str, dict[str, Any], str]:
    """Job, run config and partition that a link asks for, with what a person types into its empty lines."""
    query = parse_qs(urlsplit(link).query)
    config = yaml.safe_load(query["config"][0])
    (op,) = config["ops"].values()
    op["config"].update(typed)
    return urlsplit(link).path.split("/")[4], config, query["tags[0][value]"][0]


def launched(gate: Project, link: str, **typed: object) -> dg.ExecuteInProcessResult:
    job, config, namespace = opened(link, **typed)
    return gate.run(job, None if job == "undo_job" else namespace, run_config=config)


def test_links_approve_a_part_reject_the_rest_and_undo(store: Store) -> None:
    """Each with nothing but what a person has to say; without that it does not start."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with project(store, world.slug) as gate:
        some = part_link(DEFAULT, world.slug, plan.plan_hash, "items")
        with pytest.raises(dg.DagsterInvalidConfigError):
            launched(gate, some, approver="mara")
        assert launched(gate, some, approver="mara", items=[plan.items[0].id[:8]]).success
        assert gate.value("SELECT item_ids::text[] FROM night.approvals") == [plan.items[0].id]
        before = digest(store, world.slug)
        assert gate.apply(gate.value("SELECT id::text FROM night.approvals")).success
        run = gate.value("SELECT id::text FROM night.runs WHERE mode = 'apply'")
        assert launched(gate, undo_link(DEFAULT, world.slug, run)).success
        assert digest(store, world.slug) == before
        no = reject_link(DEFAULT, world.slug, plan.plan_hash)
        with pytest.raises(dg.DagsterInvalidConfigError):
            launched(gate, no, rejected_by="mara")
        result = launched(gate, no, rejected_by="mara", reason="not now")
        assert result.success
        assert gate.value("SELECT state FROM night.plans") == "rejected"
        assert "not now" not in str([event.message for event in result.all_events])
        assert "was rejected" in failure(launched(gate, no, rejected_by="mara", reason="again"))


def test_all_but_an_operation(store: Store) -> None:
    """The other half of a partial approval."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with project(store, world.slug) as gate:
        rest = part_link(DEFAULT, world.slug, plan.plan_hash, "without")
        assert launched(gate, rest, approver="mara", without=["archive_stale"]).success
        signed = set(gate.value("SELECT item_ids::text[] FROM night.approvals"))
    assert signed == {i.id for i in plan.items if i.operation != "archive_stale" and i.decision != "review"}


def test_links_lead_to_the_location_that_started_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """``dagster dev -f definitions.py`` names the location by its file, whatever the definitions say."""
    origin = RemoteJobOrigin(
        RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("definitions.py"), "defs"), "night_job"
    )
    toy(store, "harbour")
    with project(store, "harbour") as gate:
        first = str(gate.metadata(gate.night("harbour"), "night", "plan"))
        monkeypatch.setattr(dg.DagsterRun, "remote_job_origin", origin)
        second = str(gate.metadata(gate.night("harbour", force=True), "night", "plan"))
    assert (
        "/locations/slowwave/jobs/approve_plan" in first,
        "/locations/definitions.py/jobs/approve_plan" in second,
    ) == (True, True)


def test_every_line_is_short_enough_to_be_shown_at_once() -> None:
    """The UI hides Markdown of 1,000 characters and more behind a button."""
    lines = {
        **decision_links(DEFAULT, "n" * 60, HASH, force=True),
        "undo": applied_metadata(DEFAULT, "n" * 60, HASH[:36], HASH, {"applied": 1})["undo"],
    }
    assert all(len(str(line.value)) < 1000 for line in lines.values())
    assert "undo" not in applied_metadata(DEFAULT, "x", HASH[:36], HASH, {"applied": 0, "noop": 3})


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", "`slowwave review demo-harbor --by YOUR-NAME`"),
        ("https://review.example:8443/slow/", f"](https://review.example:8443/slow/plans/{HASH})"),
        ("javascript:alert(1)", "`slowwave review demo-harbor --by YOUR-NAME`"),
        ("https://u:hunter2@review.example", "`slowwave review demo-harbor --by YOUR-NAME`"),
        ("https://[broken", "`slowwave review demo-harbor --by YOUR-NAME`"),
    ],
)
def test_the_review_page_is_linked_where_the_operator_says_where_it_is(
    url: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its command stands there; what is no address of a page, or holds a password, is never shown."""
    monkeypatch.setenv("SLOWWAVE_REVIEW_URL", url)
    found = review_text("demo-harbor", HASH)
    assert found.endswith(shown)
    assert "hunter2" not in found
    assert "`" not in review_text("a`b ](x)", HASH).removeprefix("Question by question: `").removesuffix("`") or url
    assert not re.search(r"\]\((?!https://review)", found)


def test_a_signature_by_any_job_is_told_to_the_lineage(store: Store) -> None:
    """``night/approval`` is no asset that runs, and its page shows who signed."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    signed = approve(store, world.slug, plan.plan_hash, approver="mara", items=[plan.items[0].id])
    assert signed.item_ids
    with project(store, world.slug) as gate:
        assert gate.approve(world.slug, plan_hash=plan.plan_hash, approver="olaf", items=[plan.items[1].id]).success
        (record,) = gate.instance.fetch_materializations(dg.AssetKey(["night", "approval"]), limit=5).records
    assert record.partition_key == world.slug
    assert record.asset_materialization is not None
    assert record.asset_materialization.metadata["approver"].value == "olaf"

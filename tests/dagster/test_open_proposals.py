"""What an agent proposes is sealed by a run of its own, once, where that is switched on, and applied by the gated job."""

from __future__ import annotations

import threading
from typing import Any

import dagster as dg

from slowwave.dagster.gate import apply_job, approval_sensor
from slowwave.dagster.jobs import proposals_job
from slowwave.dagster.sensors import ATTEMPTS, WAITING_TAG, open_proposals_sensor
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from slowwave.wiki.proposal_request import ProposalApplyRequest, ProposalRequest
from slowwave.wiki.proposals import decide, propose, settle
from tests.dagster.project import Project, project
from tests.memories import ask, remember
from tests.permitting import approve

SLUG = "acme"
ON = '{"operations": {"proposed_changes": {"enabled": true}}}'
PAGE: dict[str, Any] = {"kind": "create", "target": "core/user.md", "frontmatter": {"title": "User", "type": "core"}}


def proposed(store: Store, text: str = "Mara likes tea.", settings: str = ON) -> str:
    """The id of a proposal, in a namespace with these settings."""
    if not ask(store, "SELECT 1 FROM memory.namespaces"):
        remember(store, SLUG)
    ask(store, "UPDATE memory.namespaces SET settings = settings || %s::jsonb RETURNING 1", settings)
    target = f"core/{text.split()[0].lower()}.md"
    request = ProposalRequest.model_validate({"actions": [{"page": PAGE | {"content": text, "target": target}}]})
    with store.connect("owner") as connection:
        return propose(connection, SLUG, request, Settings()).id


def tick(p: Project) -> list[dg.RunRequest]:
    found = open_proposals_sensor(proposals_job())(
        dg.build_sensor_context(instance=p.instance, resources={"store": p.store})
    )
    return list(found.run_requests or []) if isinstance(found, dg.SensorResult) else []


def ran(p: Project, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
    return p.run("proposals_job", request.partition_key, tags=dict(request.tags))


def test_from_a_proposal_to_an_applied_plan(store: Store) -> None:
    """Asked for once however often it ticks; the plan waits, a token's word signs it by another run, and the gated job applies it."""
    id_ = proposed(store)
    before = digest(store, SLUG)
    with project(store, SLUG) as p:
        (first,), (again,) = tick(p), tick(p)
        assert (first.run_key, first.partition_key) == (again.run_key, SLUG)
        result = ran(p, first)
        assert result.success
        told = p.metadata(result, "proposals", "plans")
        assert [told[name].value for name in ("sealed", "refused", "signed")] == [1, 0, 0]
        assert (tick(p), digest(store, SLUG)) == ([], before), "a plan waits, and nobody was asked to apply it"
        ((plan_hash,),) = ask(store, "SELECT plan_hash FROM memory.proposals")
        verdict = ProposalApplyRequest(id=id_, plan_hash=str(plan_hash))
        with store.connect("owner") as connection:
            decide(connection, SLUG, verdict)
        (signs,) = tick(p)
        assert signs.run_key != first.run_key
        told = p.metadata(ran(p, signs), "proposals", "plans")
        assert [told[name].value for name in ("sealed", "signed")] == [0, 1]
        apply = approval_sensor(apply_job())(dg.build_sensor_context(instance=p.instance, resources={"store": store}))
        assert isinstance(apply, dg.SensorResult)
        (request,) = apply.run_requests or []
        assert p.run("apply_job", run_config=request.run_config, tags=dict(request.tags)).success
        assert p.value("SELECT count(*) FROM memory.documents WHERE path = 'core/mara.md'") == 1
        assert tick(p) == []


def test_two_who_seal_at_once_seal_one_plan(store: Store) -> None:
    """Two ticks, two runs: the second finds nothing left, and takes no plan's place."""
    ids = {proposed(store), proposed(store, "Nobody likes rain.")}
    found: list[set[str]] = []
    both = threading.Barrier(2)

    def seal() -> None:
        both.wait()
        found.append({*settle(store, SLUG, wait=60.0).sealed})

    threads = [threading.Thread(target=seal) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(len, found)) == [0, 2]
    assert found[0] | found[1] == ids
    assert ask(store, "SELECT state, count(*) FROM night.plans GROUP BY 1") == [("awaiting_approval", 2)]


def test_where_it_is_off_a_person_plans_by_hand(store: Store) -> None:
    """By default, where nights are off, and where the namespace is read-only; what waits then is asked for once it is on."""
    proposed(store, settings="{}")
    with project(store, SLUG) as p:
        assert tick(p) == []
        for settings, asked in ((ON, 1), (f'{ON[:-1]}, "enabled": false}}', 0), (f'{ON[:-1]}, "enabled": true}}', 1)):
            ask(store, "UPDATE memory.namespaces SET settings = settings || %s::jsonb RETURNING 1", settings)
            assert len(tick(p)) == asked
        ask(store, "UPDATE memory.namespaces SET read_only = true RETURNING 1")
        assert tick(p) == []
    with project(store, "another") as p:
        ask(store, "UPDATE memory.namespaces SET read_only = false RETURNING 1")
        assert tick(p) == [], "the partition is to come"


def test_what_cannot_be_sealed_is_not_tried_for_ever(store: Store) -> None:
    """Not beside a run, three times in all, and anew once something else is proposed."""
    proposed(store)
    with project(store, SLUG) as p:
        job = p.defs.resolve_job_def("proposals_job")
        for n in range(ATTEMPTS):
            (request,) = tick(p)
            assert str(request.run_key).endswith(f":{n + 1}")
            tags = {WAITING_TAG: request.tags[WAITING_TAG]}
            run = p.instance.create_run_for_job(job, tags=tags, status=dg.DagsterRunStatus.STARTED)
            assert tick(p) == []
            p.instance.report_run_failed(run)
        assert tick(p) == []
        proposed(store, "Nobody likes rain.")
        (fresh,) = tick(p)
        assert ran(p, fresh).success
        hashes = [str(h) for (h,) in ask(store, "SELECT plan_hash FROM memory.proposals ORDER BY plan_hash")]
        assert len(set(hashes)) == 2
        approve(store, SLUG, hashes[0], approver="mara")

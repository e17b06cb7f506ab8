"""The Python API: what a dream does, what it tells, and how it ends when others or an accident come in between."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import slowwave
from slowwave.errors import (
    DreamApplyDisabled,
    DreamDisabledError,
    DreamForbiddenOpError,
    DreamLockUnavailable,
    DreamRunStuckError,
    Refused,
    UnknownName,
)
from slowwave.night.executor import apply_approval
from slowwave.night.run_events import Event, RunCompleted
from slowwave.operations.setting_names import with_config
from slowwave.plans.seal import DreamScope
from slowwave.plans.waiting import waiting_approvals
from slowwave.snapshots.export import export_snapshot
from slowwave.store import claims, server
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.surfaces.api.dreams import DreamProgress, result_of
from slowwave.surfaces.cli.main import main
from tests.dreamers import OPS, STOPPING, copied, dead_run, forgetful, go_on, process, row_of, wait_for
from tests.memories import ago, ask, remember
from tests.nights import new_world, pair_items, write_a_plan
from tests.permitting import approve
from tests.snapshots import uid
from tests.stand_ins import instead
from tests.toy import toy
from tests.waiting import until


def of(result: slowwave.DreamResult, operation: str = OPS) -> slowwave.OpSummary:
    (found,) = [o for o in result.ops if o.op_type == operation]
    return found


def apply(store: Store, slug: str, **more: Any) -> slowwave.DreamResult:
    return slowwave.dream(slug, "apply", ops=OPS, approver="mara", store=store, **more)


def test_importing_slowwave_loads_nothing_until_it_is_used() -> None:
    """A program that only names the package pays for nothing; what it exports is there all the same."""
    code = (
        "import sys, slowwave\n"
        "print([m for m in sys.modules if m.startswith(('slowwave.', 'numpy', 'psycopg', 'pyarrow'))])\n"
        "print(all(getattr(slowwave, name) for name in slowwave.__all__), slowwave.DreamScope(), 'dream' in dir(slowwave))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.strip().splitlines()
    assert first == "[]"
    assert second.startswith("True DreamScope(op_kinds=None")
    assert second.endswith("True")
    with pytest.raises(AttributeError, match="nightmare"):
        slowwave.nightmare  # noqa: B018


def test_a_dry_run_tells_what_it_would_do_and_writes_no_memory(store: Store) -> None:
    """Counts of the plan, true times, why operations are missing; nothing else of the namespace changes."""
    slug = forgetful(store)
    before = digest(store, slug)
    result = slowwave.dream(slug, ops=OPS, store=store)
    assert (result.state, result.run.mode, result.apply_runs) == ("awaiting_approval", "plan", ())
    assert of(result) == slowwave.OpSummary(OPS, planned=12, pending=12)
    assert {r.reason for r in result.skip_reasons} == {"op_not_requested"}
    assert {r.op_type for r in result.skip_reasons} >= {"orphans", "dedupe_entities"}
    assert result.run.finished_at is not None
    assert result.run.duration_ms == pytest.approx(
        (result.run.finished_at - result.run.started_at).total_seconds() * 1000
    )
    assert result.run.duration_ms > 0
    assert digest(store, slug) == before
    assert json.loads(json.dumps(result.to_json()))["plan_hash"] == result.plan_hash
    (run,) = slowwave.dream_history(slug, store=store)
    assert run == result.run
    status = slowwave.dream_status(result.run.run_id[:8], store=store)
    assert (status.state, status.phase, status.done, status.stuck) == (
        "awaiting_approval",
        "plan",
        status.total - 1,
        False,
    )
    assert status.parameters == {"ops": [OPS], "dry_run": True}
    assert slowwave.dream(uid(slug), store=store, ops=OPS).plan_hash != "", "a namespace's id will do as well"


def test_apply_writes_what_the_call_signs_and_undo_takes_it_back_once(store: Store) -> None:
    """From the call to the exact undo; the second undo has nothing to take back and says so."""
    slug = forgetful(store)
    before = digest(store, slug)
    result = apply(store, slug)
    assert (result.state, result.run.mode) == ("completed", "apply")
    assert of(result) == slowwave.OpSummary(OPS, planned=12, applied=12)
    assert result.run.counts == {"applied": 12, "skipped_stale": 0, "failed": 0, "deferred": 0, "noop": 0}
    assert ask(store, "SELECT approver, channel FROM night.approvals") == [("mara", "dream")]
    assert digest(store, slug) != before
    status = slowwave.dream_status(result.run.run_id, store=store)
    assert (status.phase, status.done, status.total) == ("apply", 12, 12)
    assert (status.items_done, status.items_left, status.error) == (12, 0, "")
    undone = slowwave.dream_undo(result.run.run_id, store=store)
    assert len(undone.items) == 12
    assert digest(store, slug) == before
    again = slowwave.dream_undo(result.run.run_id, store=store)
    assert again.items == ()
    assert digest(store, slug) == before
    assert [r.mode for r in slowwave.dream_history(slug, store=store)] == ["undo", "undo", "apply", "plan"]


def test_the_diff_of_a_dream_is_counted_in_plan_and_journal(store: Store) -> None:
    """A merge is one entity merged, by the plan as by the journal."""
    world = new_world(store)
    items = pair_items(export_snapshot(store, world.slug))
    _, plan = write_a_plan(store, world, items=items)
    planned = slowwave.dream(world.slug, resume_from="last", store=store)
    merges = sum(i.decision == "merge" for i in plan.items)
    assert planned.diff.entities_merged == merges > 0
    applied = slowwave.dream(world.slug, "apply", approver="mara", resume_from="last", store=store)
    assert applied.state == "completed"
    assert applied.diff == planned.diff
    retired = "SELECT count(*) FROM memory.relationships WHERE invalidated_by IS NOT NULL"
    assert [(applied.diff.edges_retired,)] == ask(store, retired)
    assert applied.diff.edges_pruned == 0
    assert of(applied, "dedupe_entities").pending == 1, "the review item waits for a person"


def test_apply_without_a_signature_waits_for_one(store: Store) -> None:
    """Nobody signed, no policy is set: the plan stands, nothing is written, and a later call may sign that very plan."""
    slug = forgetful(store)
    before = digest(store, slug)
    result = slowwave.dream(slug, "apply", ops=OPS, store=store)
    assert (result.state, result.apply_runs) == ("awaiting_approval", ())
    assert digest(store, slug) == before
    signed = slowwave.dream(slug, "apply", approver="mara", resume_from=result.run.run_id, store=store)
    assert (signed.state, signed.plan_hash) == ("completed", result.plan_hash)
    assert of(signed).applied == 12


def test_a_policy_approves_what_it_names(store: Store) -> None:
    """With an accepted policy no person needs to approve."""
    slug = forgetful(store, policy=True)
    result = slowwave.dream(slug, "apply", ops=OPS, store=store)
    assert (result.state, of(result).applied) == ("completed", 12)
    assert ask(store, "SELECT approver FROM night.approvals") == [("policy",)]


def test_config_of_a_call_changes_its_plan_alone_and_is_kept_with_the_run(store: Store) -> None:
    slug = forgetful(store)
    assert of(slowwave.dream(slug, ops=OPS, store=store)).planned > 0
    given = {f"operations.{OPS}.min_dead": 1000}
    result = slowwave.dream(slug, ops=OPS, store=store, config=given)
    assert sum(op.planned for op in result.ops) == 0
    assert slowwave.dream_status(result.plan_run_id, store=store).parameters["config"] == {
        "operations": {OPS: {"min_dead": 1000}}
    }
    whole = slowwave.DreamConfig.model_validate({"operations": {OPS: {"min_dead": 1000}}})
    assert sum(op.planned for op in slowwave.dream(slug, ops=OPS, store=store, config=whole).ops) == 0
    loose = slowwave.DreamConfig.model_validate({"blast_radius_share": 0.9})
    assert with_config({"blast_radius_share": 0.1}, loose)["blast_radius_share"] == 0.1
    assert of(slowwave.dream(slug, ops=OPS, store=store)).planned > 0
    assert ask(store, "SELECT settings ? 'operations' FROM memory.namespaces WHERE slug = %s", slug) == [(False,)]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({f"operations.{OPS}.min_ded": 2}, "Did you mean min_dead"),
        ({"blast_radius_share": 1.0}, "blast_radius_share limits what a plan may change"),
        ({"judge_endpoint": "http://elsewhere.example"}, "by the variable SLOWWAVE_JUDGE_ENDPOINT alone"),
    ],
)
def test_config_of_a_call_with_a_key_that_it_cannot_set_is_refused(
    store: Store, config: dict[str, object], message: str
) -> None:
    slug = forgetful(store)
    with pytest.raises(Refused, match=message):
        slowwave.dream(slug, store=store, config=config)
    assert ask(store, "SELECT count(*) FROM night.runs") == [(0,)]


def test_no_policy_signs_a_dry_run(store: Store) -> None:
    """What is signed would be applied by whoever looks for approvals next, and a dry-run writes no memory."""
    slug = forgetful(store, policy=True)
    result = slowwave.dream(slug, "dry-run", ops=OPS, store=store)
    assert result.state == "awaiting_approval"
    assert waiting_approvals(store, slug) == []


def test_no_policy_approves_a_plan_with_settings_of_one_call(store: Store) -> None:
    """The policy was accepted for nights with the namespace's settings; a later night leaves the plan to people as well."""
    slug = forgetful(store, policy=True)
    result = slowwave.dream(slug, "apply", ops=OPS, store=store, config={f"operations.{OPS}.min_dead": 1})
    assert (result.state, waiting_approvals(store, slug)) == ("awaiting_approval", [])
    assert slowwave.dream(slug, "apply", ops=OPS, store=store).apply_runs, (
        "the policy approves the same items of an ordinary plan"
    )


def test_failed_probes_refuse_unless_somebody_says_why(store: Store) -> None:
    """A plan that changes too much is not signed by habit."""
    slug = forgetful(store, rows=40, blast_radius_share=0.0, blast_radius_rows=0, policy=True)
    scope = DreamScope(op_kinds=frozenset({"dedupe_entities", OPS}))
    _twins(store, slug)
    with pytest.raises(Refused, match="did not pass its probes"):
        slowwave.dream(slug, "apply", scope, approver="mara", store=store)
    with pytest.raises(Refused, match="needs a reason"):
        slowwave.dream(slug, "apply", scope, approver="mara", force=True, store=store)
    result = slowwave.dream(slug, "apply", scope, approver="mara", force=True, note="they are copies", store=store)
    assert result.state == "completed"
    assert ask(store, "SELECT forced, note FROM night.approvals") == [(True, "they are copies")]


def test_defect_c16_default_mode_and_every_field_of_the_scope_are_read(store: Store) -> None:
    """khora reads one of five fields, and never its default mode."""
    slug = forgetful(store, default_mode="apply", policy=True)

    def planned(**scope: Any) -> int:
        return of(slowwave.dream(slug, "dry-run", DreamScope(**scope), ops=OPS, store=store)).planned

    assert planned() == 12
    assert planned(since=ago(3)) == sum(10 - n % 10 <= 3 for n in range(12))
    assert planned(until=ago(3)) == 12 - planned(since=ago(3))
    assert planned(since=ago(9), until=ago(9) + timedelta(seconds=1)) == 2
    assert planned(entity_ids=frozenset({uid(f"{slug} 4"), uid("nobody")})) == 1
    assert planned(document_ids=frozenset({uid(f"{slug} letter")})) == 12, "all cite its chunk"
    assert planned(document_ids=frozenset({uid("another")})) == 0
    narrowed = slowwave.dream(slug, "dry-run", DreamScope(until=ago(3)), ops=OPS, store=store)
    assert ("out_of_scope", "3 items about rows outside the scope") in {
        (r.reason, r.detail) for r in narrowed.skip_reasons
    }
    kinds = slowwave.dream(
        slug, "dry-run", DreamScope(op_kinds=frozenset({"vectorcypher_orphan_report"})), ops=OPS, store=store
    )
    assert [o.op_type for o in kinds.ops] == ["orphans"], "the scope's kinds win, and khora's names are understood"
    by_default = slowwave.dream(slug, ops=OPS, store=store)
    assert (by_default.run.mode, by_default.state) == ("apply", "completed")


def test_defect_c13_whether_apply_may_write_is_asked_before_anything_is_planned(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill switch and read-only namespace: a sentence at once, and no run in the ledger. A dry run may look."""
    slug = forgetful(store)
    monkeypatch.setenv("SLOWWAVE_DISABLE_APPLY", "1")
    with pytest.raises(DreamApplyDisabled, match="SLOWWAVE_DISABLE_APPLY is set"):
        apply(store, slug)
    monkeypatch.delenv("SLOWWAVE_DISABLE_APPLY")
    ask(store, "UPDATE memory.namespaces SET read_only = true")
    with pytest.raises(DreamApplyDisabled, match="read-only"):
        apply(store, slug)
    assert ask(store, "SELECT count(*) FROM night.runs") == [(0,)]
    assert slowwave.dream(slug, ops=OPS, store=store).state == "awaiting_approval"


def test_defect_c13_an_error_comes_as_it_was_raised(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planner's RuntimeError is not replaced by one about a generator; the run says what it was."""
    slug = forgetful(store)

    def broken(_: object) -> object:
        raise RuntimeError("out of paper")

    instead(monkeypatch, OPS, broken)
    with pytest.raises(RuntimeError, match=r"^out of paper$"):
        slowwave.dream(slug, ops=OPS, store=store)
    (run,) = slowwave.dream_history(slug, store=store)
    assert (run.state, run.error) == ("crashed", "RuntimeError: out of paper")


def test_what_may_not_be_is_refused_in_words(store: Store) -> None:
    """Before any run is opened."""
    slug = forgetful(store)
    off = forgetful(store, "off", rows=1, enabled=False)
    for error, match, call in [
        (ValueError, "no mode 'maybe'", {"mode": "maybe"}),
        (Refused, "must be named", {"mode": "apply", "approver": "x"}),
        (UnknownName, "no operation 'dance'", {"ops": "dance"}),
        (DreamForbiddenOpError, "never deletes a document", {"ops": ["delete_document"]}),
        (Refused, "is no run", {"resume_from": "ffff"}),
    ]:
        with pytest.raises(error, match=match):
            slowwave.dream(slug, store=store, **call)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="There is no namespace 'nobody'") as unknown:
        slowwave.dream("nobody", store=store)
    assert isinstance(unknown.value, Refused), "as in khora, and still a refusal (K16)"
    with pytest.raises(DreamDisabledError, match="Nights are off in off"):
        slowwave.dream(off, store=store)
    for call_by_id in (slowwave.dream_status, slowwave.dream_cancel, slowwave.dream_pause, slowwave.dream_resume):
        with pytest.raises(Refused, match="is no run"):
            call_by_id("12345678", store=store)
    with pytest.raises(Refused, match="is no apply run and no applied item"):
        slowwave.dream_undo("12345678", store=store)
    assert ask(store, "SELECT count(*) FROM night.runs") == [(0,)]


def test_progress_and_events_of_both_halves_and_who_listens_cannot_end_them(store: Store) -> None:
    """Steps, then items; a callback that raises is its own affair."""
    slug = forgetful(store, batch_items=5)
    seen: list[DreamProgress] = []
    events: list[Event] = []

    def look(progress: DreamProgress) -> None:
        seen.append(progress)
        raise ValueError("who cares")

    result = apply(store, slug, on_progress=look, callbacks=[events.append])
    assert result.state == "completed"
    plan = [p for p in seen if p.phase == "plan"]
    assert [p.message for p in plan][:2] == ["snapshot", "models"]
    assert [p.done for p in plan] == list(range(plan[0].total))
    assert {p.run_id for p in plan} == {result.plan_run_id}
    assert [(p.run_id, p.done, p.total) for p in seen if p.phase == "apply"] == [
        (result.run.run_id, done, 12) for done in (5, 10, 12)
    ]
    ends = [(e.run_id, e.mode, e.state) for e in events if isinstance(e, RunCompleted)]
    assert ends == [
        (result.plan_run_id, "plan", "awaiting_approval"),
        (result.run.run_id, "apply", "completed"),
    ]


def test_defect_c8_cancelled_is_cancelled_and_nothing_unreached_counts_as_applied(store: Store) -> None:
    """A run that is cancelled after five of twelve items applied five, and what is left can be gone on with."""
    slug = forgetful(store, batch_items=5)
    events: list[Event] = []

    def cancel(progress: DreamProgress) -> None:
        if progress.phase == "apply" and progress.done == 5:
            assert slowwave.dream_cancel(progress.run_id, store=store).cancel_requested

    result = apply(store, slug, on_progress=cancel, callbacks=[events.append])
    assert result.state == "cancelled"
    assert of(result) == slowwave.OpSummary(OPS, planned=12, applied=5, pending=7)
    status = slowwave.dream_status(result.run.run_id, store=store)
    assert (status.state, status.items_done, status.items_left) == ("cancelled", 5, 7)
    assert [e.state for e in events if isinstance(e, RunCompleted)] == ["awaiting_approval", "cancelled"]
    with pytest.raises(Refused, match="is cancelled, so there is nothing to cancel"):
        slowwave.dream_cancel(result.run.run_id, store=store)
    resumed = slowwave.dream(slug, resume_from=result.run.run_id, store=store)
    assert (resumed.run.run_id, resumed.run.resume_of) == (result.run.run_id, result.run.run_id)
    assert (resumed.state, of(resumed).applied) == ("completed", 12)


def test_defect_c8_a_plan_run_that_is_cancelled_is_cancelled_and_plans_again_under_its_id(store: Store) -> None:
    """Between two steps, from wherever: no plan is written; resumed, it remembers what it was asked for."""
    slug = forgetful(store)
    events: list[Event] = []

    def cancel(progress: DreamProgress) -> None:
        if progress.message == "orphans":
            slowwave.dream_cancel(progress.run_id, store=store)

    scope = DreamScope(until=ago(3))
    result = slowwave.dream(slug, scope=scope, ops=OPS, store=store, on_progress=cancel, callbacks=[events.append])
    assert (result.state, result.plan_hash, result.ops) == ("cancelled", "", ())
    assert [e.state for e in events if isinstance(e, RunCompleted)] == ["cancelled"]
    assert ask(store, "SELECT count(*) FROM night.plans") == [(0,)]
    again = slowwave.dream(slug, resume_from=result.run.run_id, store=store)
    assert (again.run.run_id, again.state) == (result.run.run_id, "awaiting_approval")
    assert of(again).planned == 9, "the scope it was cancelled with"


def test_defect_c7_a_second_run_fails_at_once_and_another_namespace_proceeds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one namespace is held, whoever comes is told by whom; nobody waits, and nobody touches the holder's row."""
    slug, other = forgetful(store), forgetful(store, "other")
    held = dead_run(store, slug, "plan", "planning", 1)
    before = row_of(store, held)
    monkeypatch.setattr(claims, "time", SimpleNamespace(monotonic=time.monotonic, sleep=pytest.fail))
    for call in (
        lambda: slowwave.dream(slug, ops=OPS, store=store),
        lambda: slowwave.dream(slug, ops=OPS, store=store, abandon=True),
        lambda: slowwave.dream(slug, ops=OPS, store=store, resume_from=held),
    ):
        with pytest.raises(DreamLockUnavailable, match=held):
            call()
    assert row_of(store, held) == before
    assert ask(store, "SELECT count(*) FROM night.runs") == [(1,)], "who lost opened no run"
    assert slowwave.dream(other, ops=OPS, store=store).state == "awaiting_approval"


def test_who_waits_gets_the_namespace_when_it_is_free(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """``wait`` polls, for planning and for resuming alike."""
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            slowwave.dream_cancel(held, store=store)

    slug = forgetful(store)
    held = dead_run(store, slug, "plan", "planning", 0)
    monkeypatch.setattr(claims, "time", SimpleNamespace(monotonic=time.monotonic, sleep=wait))
    assert slowwave.dream(slug, ops=OPS, store=store, wait=300).state == "awaiting_approval"
    assert len(waits) == 2


@pytest.mark.parametrize(("mode", "state"), [("plan", "planning"), ("apply", "applying"), ("undo", "applying")])
def test_defect_c7_a_stuck_run_is_named_until_it_is_given_up(store: Store, mode: str, state: str) -> None:
    """Its heartbeat is older than the namespace's limit: the error has its id and age, and says what to do."""
    slug = forgetful(store, heartbeat_expiry_seconds=60)
    gone = dead_run(store, slug, mode, state, 61)
    before = row_of(store, gone)
    assert slowwave.dream_status(gone, store=store).stuck
    with pytest.raises(DreamRunStuckError, match=f"{gone} .*`abandon=True`") as stuck:
        slowwave.dream(slug, ops=OPS, store=store)
    assert (stuck.value.run_id, 60 < stuck.value.heartbeat_age_seconds < 90) == (gone, True)
    assert row_of(store, gone) == before, "naming it changes nothing"
    assert slowwave.dream(slug, ops=OPS, store=store, abandon=True).state == "awaiting_approval"
    crashed = slowwave.dream_status(gone, store=store)
    assert (crashed.state, crashed.stuck) == ("crashed", False)
    assert "heartbeat expired" in crashed.error


def test_a_stuck_plan_run_is_gone_on_with_under_its_id(store: Store) -> None:
    """Planning wrote nothing, so it is planned again."""
    slug = forgetful(store)
    gone = dead_run(store, slug, "plan", "planning", 10_000)
    result = slowwave.dream(slug, ops=OPS, store=store, resume_from=gone)
    assert (result.run.run_id, result.state, of(result).planned) == (gone, "awaiting_approval", 12)
    assert slowwave.dream(slug, store=store, resume_from=gone).plan_hash == result.plan_hash


def test_a_run_is_resumed_in_its_own_namespace_only_and_a_completed_one_gives_its_result(store: Store) -> None:
    """Nothing happens twice."""
    slug, other = forgetful(store), forgetful(store, "other")
    result = apply(store, slug)
    after = digest(store, slug)
    with pytest.raises(Refused, match="is one of acme, not of other"):
        slowwave.dream(other, store=store, resume_from=result.run.run_id)
    assert slowwave.dream(slug, store=store, resume_from=result.run.run_id) == result
    assert digest(store, slug) == after
    undone = slowwave.dream_undo("last", namespace=slug, store=store)
    with pytest.raises(Refused, match="undo again instead of resuming"):
        slowwave.dream(slug, store=store, resume_from=undone.run_id)


def test_defect_c3_kill_9_then_resume_ends_where_an_uninterrupted_run_ends(
    store: Store,
    postgres: server.Server,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A process is killed between two batches of many. What is left of its sealed plan is applied under the same run id, nothing
    is planned again, every item is journalled once, and `slowwave namespace digest` prints what it prints for a copy that ran in peace."""
    slug = forgetful(store, rows=40, batch_items=4, heartbeat_expiry_seconds=8)
    marker = tmp_path / "run"
    with copied(postgres, database) as copy:
        with process(store, STOPPING, slug, str(marker), "12") as running:
            run_id = wait_for(marker, running)
            _grow_old(store, run_id)
            until(lambda: not slowwave.dream_status(run_id, store=store).stuck)  # it stands still, and its heart beats
            with pytest.raises(DreamLockUnavailable, match=run_id):
                slowwave.dream(slug, store=store, resume_from=run_id)
            running.kill()  # signal 9: nobody can say goodbye
            running.wait()
        status = slowwave.dream_status(run_id, store=store)
        assert (status.state, status.items_done, status.items_left) == ("applying", 12, 28)
        _grow_old(store, run_id)
        with pytest.raises(DreamRunStuckError, match=run_id):
            slowwave.dream(slug, "apply", ops=OPS, store=store)
        resumed = slowwave.dream(slug, store=store, resume_from=run_id)
        assert (resumed.run.run_id, resumed.state) == (run_id, "completed")
        assert of(resumed) == slowwave.OpSummary(OPS, planned=40, applied=40)
        assert ask(store, "SELECT count(*), count(DISTINCT item_id), count(DISTINCT run_id) FROM night.journal") == [
            (40, 40, 1)
        ]
        assert ask(store, "SELECT count(*) FROM night.plans") == [(1,)]
        assert apply(copy, slug).state == "completed"
        digests = [_digest(one, slug, monkeypatch, capsys) for one in (store, copy)]
    assert digests[0] == digests[1]


def _grow_old(store: Store, run_id: str) -> None:
    """An hour without a heartbeat."""
    ask(store, "UPDATE night.runs SET heartbeat_at = heartbeat_at - interval '1 hour' WHERE id = %s", run_id)


def test_two_processes_at_once(store: Store, tmp_path: Path) -> None:
    """One applies; a second one fails at once; another namespace proceeds; a third process cancels the first."""
    slug, other = forgetful(store, rows=30, batch_items=3), forgetful(store, "other")
    marker = tmp_path / "run"
    with process(store, STOPPING, slug, str(marker), "3") as running:
        run_id = wait_for(marker, running)
        with pytest.raises(DreamLockUnavailable, match="is writing to acme"):
            slowwave.dream(slug, ops=OPS, store=store)
        assert apply(store, other).state == "completed"
        slowwave.dream_cancel(run_id, store=store)
        go_on(marker)
        assert running.wait(120) == 0
    status = slowwave.dream_status(run_id, store=store)
    assert (status.state, status.items_done + status.items_left) == ("cancelled", 30)
    assert status.items_left > 0


def test_undo_of_an_operation_an_item_and_what_is_neither(store: Store) -> None:
    """Parts of a run come back exactly; each part once."""
    slug = forgetful(store, rows=6)
    _twins(store, slug)
    before = digest(store, slug)
    result = slowwave.dream(slug, "apply", ops=f"dedupe_entities,{OPS}", approver="mara", store=store)
    assert of(result, "dedupe_entities").applied == 1
    with pytest.raises(
        Refused, match=r"applied nothing of 'orphans'. It applied items of: dedupe_entities, gc_references"
    ):
        slowwave.dream_undo("last", operation="orphans", store=store)
    with pytest.raises(Refused, match="it was applied by"):
        slowwave.dream_undo(result.plan_run_id, store=store)
    undone = slowwave.dream_undo("last", operation="vectorcypher_source_chunk_ids_gc", store=store)
    assert len(undone.items) == of(result).applied
    assert ask(store, "SELECT count(*) FROM memory.entities WHERE merged_into IS NOT NULL") == [(1,)]
    ((merge,),) = ask(
        store, "SELECT item_id::text FROM night.plan_items WHERE operation = 'dedupe_entities' AND status = 'applied'"
    )
    with pytest.raises(Refused, match="is an item, and has no parts"):
        slowwave.dream_undo(str(merge), items=[str(merge)], store=store)
    assert slowwave.dream_undo(str(merge)[:13], store=store).items == (merge,)
    assert digest(store, slug) == before
    again = slowwave.dream_undo(str(merge), store=store)
    assert (again.items, again.undo_of) == ((), result.run.run_id)
    assert digest(store, slug) == before


def test_an_undo_of_an_undo_of_an_undo_is_an_undo(store: Store) -> None:
    """What stands is told by the whole chain, and an item alone is undone where it stands."""
    slug = forgetful(store, rows=3)
    before = digest(store, slug)
    apply(store, slug)
    after = digest(store, slug)
    first = slowwave.dream_undo("last", store=store)
    back = slowwave.dream_undo(first.run_id, store=store)
    assert digest(store, slug) == after
    assert ask(store, "SELECT DISTINCT status FROM night.plan_items") == [("applied",)]
    slowwave.dream_undo(back.run_id, store=store)
    assert digest(store, slug) == before
    assert ask(store, "SELECT DISTINCT status FROM night.plan_items") == [("undone",)]
    assert slowwave.dream_undo(first.items[0], store=store).items == ()


def _twins(store: Store, slug: str) -> None:
    row = {
        "entity_type": "person",
        "name": "Mara Reyes",
        "attributes": {"email": "mara@harbor.example", "phone": "+31 10 555 0199"},
        "mention_count": 4,
    }
    remember(store, slug, entities=[{"id": f"twin {n}", "recorded_at": ago(n), **row} for n in (1, 2)])


def _digest(store: Store, slug: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.owner)
    monkeypatch.setattr(sys, "argv", ["slowwave", "namespace", "digest", slug])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    return capsys.readouterr().out


@pytest.mark.usefixtures("every_rule_decides")
def test_diff_counts_what_mnemos_reflection_report_has(store: Store) -> None:
    """Dates, archived and promoted memories, accepted edits and resolved conflicts, in the plan as after the apply (M2)."""
    toy(store, "acme")
    ops = "absolutize_dates,archive_stale,promote_memories,accept_external_edits"
    planned = slowwave.dream("acme", ops=ops, store=store)
    applied = slowwave.dream("acme", "apply", ops=ops, store=store, approver="mara", force=True, note="a test")
    names = ("dates_absolutized", "memories_archived", "memories_promoted", "edits_accepted")
    counts = tuple(getattr(applied.diff, name) for name in names)
    assert counts == tuple(getattr(planned.diff, name) for name in names) == (1, 4, 1, 1)
    asked = slowwave.dream("acme", ops="contradictions,resolve_conflicts", store=store)
    assert asked.diff.conflicts_resolved == 0, "a question is no change"
    ((item,),) = ask(store, "SELECT item_id::text FROM night.plan_items WHERE plan_hash = %s", asked.plan_hash)
    approval = approve(store, "acme", asked.plan_hash, approver="mara", items=[str(item)])
    run = apply_approval(store, approval.id)
    assert result_of(store, asked.plan_run_id, (run.run_id,)).diff.conflicts_resolved == 1

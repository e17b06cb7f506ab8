"""``dream_now`` in every outcome, and the reason that is kept with the run."""

from __future__ import annotations

import json
from threading import Timer
from types import SimpleNamespace
from typing import Any

import pytest

import slowwave
from slowwave.errors import Refused
from slowwave.night.night import run_night
from slowwave.operations import PLANNERS
from slowwave.store import claims
from slowwave.store.connect import Store
from slowwave.surfaces.api.outcomes import NO_REASON, DreamOutcome, dream_now
from tests.dreamers import OPS, dead_run, forgetful
from tests.memories import ago, ask, remember
from tests.stand_ins import instead
from tests.wiki.pages.test_index import SECRET

FACT = {"subject": "Mara", "predicate": "lives in", "object": "Lisbon", "fact_text": "Mara lives in Lisbon."}


def counts_of(found: DreamOutcome) -> tuple[int, ...]:
    return tuple(found.counts.get(name, 0) for name in ("planned", "applied"))


def test_it_is_part_of_the_python_api() -> None:
    """Loaded when it is first used, like its companions."""
    assert slowwave.dream_now is dream_now
    assert slowwave.DreamOutcome is DreamOutcome


def test_awaiting_approval_and_its_reason(store: Store) -> None:
    """A plan waits; run, plan, counts and duration are in the envelope, and the reason stays with the run in one line."""
    slug = forgetful(store, rows=4)
    found = dream_now(slug, "the user\nsaid\x1b[31m 'tidy up'\u202e " + "x" * 600, ops=OPS, store=store)
    assert (found.outcome, counts_of(found), found.gate) == ("awaiting_approval", (4, 0), "")
    assert found.reason.startswith("the user said [31m 'tidy up' x")
    assert len(found.reason) <= 500
    ((plan_hash, parameters),) = ask(store, "SELECT plan_hash, parameters FROM night.runs WHERE id = %s", found.run_id)
    assert (plan_hash, parameters) == (found.plan_hash, {"ops": [OPS], "reason": found.reason, "dry_run": True})
    assert found.duration_ms > 0
    assert f"plans approve {slug} {found.plan_hash[:12]}" in found.message
    assert slowwave.dream_status(found.run_id, store=store).reason == found.reason
    assert slowwave.dream_history(slug, store=store)[0].reason == found.reason
    assert json.loads(json.dumps(found.to_json()))["outcome"] == "awaiting_approval"


def test_a_secret_in_a_reason_is_not_kept(store: Store) -> None:
    """An agent pastes what it was told; the ledger keeps the rest of the sentence."""
    slug = forgetful(store, rows=2)
    found = dream_now(slug, f"because {SECRET} and more", ops=OPS, store=store)
    ((kept,),) = ask(store, "SELECT parameters ->> 'reason' FROM night.runs WHERE id = %s", found.run_id)
    assert kept == found.reason
    assert "ghp_" not in str(kept)
    assert str(kept).endswith("]. and more")
    assert len(dream_now(slug, "why " * 1_000_000, ops=OPS, store=store).reason) <= 500


def test_an_approval_whose_rows_changed_meanwhile_says_so(store: Store) -> None:
    """Completed, as all that was approved is decided; the sentence does not claim that all of it is applied."""
    slug = forgetful(store, rows=4)

    def meddle(event: object) -> None:
        if type(event).__name__ == "RunStarted" and getattr(event, "mode", "") == "apply":
            ask(store, "UPDATE memory.entities SET source_chunk_ids = '{}' WHERE name ~ '^Part 001'")

    found = dream_now(slug, "now", "apply", OPS, "mara", store=store, callbacks=[meddle])
    assert (found.outcome, found.counts["applied"], found.counts["skipped_stale"]) == ("completed", 3, 1)
    assert "applied: 3; not applied: 1 stale" in found.message


def test_completed_by_an_approver_by_a_policy_and_with_nothing_to_decide(store: Store) -> None:
    """What was approved in the call, or by the namespace's own policy, is applied at once; then nothing is left."""
    slug = forgetful(store, rows=4)
    signed = dream_now(slug, "now", "apply", OPS, "mara", store=store)
    assert (signed.outcome, counts_of(signed), len(signed.apply_runs)) == ("completed", (4, 4), 1)
    nothing = dream_now(slug, "again", "apply", OPS, "mara", store=store)
    assert (nothing.outcome, nothing.apply_runs, counts_of(nothing)) == ("completed", (), (0, 0))
    other = forgetful(store, "zebra", rows=3, policy=True)
    by_policy = dream_now(other, "now", "apply", OPS, store=store)
    assert (by_policy.outcome, counts_of(by_policy)) == ("completed", (3, 3))


def test_apply_without_anybody_who_approves_waits(store: Store) -> None:
    """Asking is not approving."""
    slug = forgetful(store, rows=2)
    found = dream_now(slug, "now", "apply", OPS, store=store)
    assert (found.outcome, found.apply_runs) == ("awaiting_approval", ())


def test_skipped_names_the_gate(store: Store) -> None:
    """Unchanged since a night, unless operations are named; switched off; read-only; apply switched off. No cadence, and no dry run,
    holds back a person who asks."""
    slug = forgetful(store, rows=6)
    for _ in range(2):
        dry = dream_now(slug, "", store=store)
        assert (dry.outcome, dry.reason) == ("awaiting_approval", NO_REASON)
    run_night(store, slug)
    again = dream_now(slug, "", store=store)
    assert (again.outcome, again.gate, again.run_id) == ("skipped", "unchanged", "")
    assert "unchanged since the night of" in again.message
    assert dream_now(slug, "", ops=OPS, store=store).outcome == "awaiting_approval"
    assert dream_now(slug, "", "apply", approver="mara", store=store).outcome == "completed", "what waits is signed now"
    ask(store, "INSERT INTO memory.documents (id, namespace_id) SELECT gen_random_uuid(), id FROM memory.namespaces")
    assert dream_now(slug, "", store=store).outcome == "completed", "neither too soon nor too few"
    ask(store, "INSERT INTO night.switches (name, is_on, set_by) VALUES ('apply_disabled', true, 'zoe')")
    stopped = dream_now(slug, "", "apply", OPS, "mara", store=store)
    assert (stopped.outcome, stopped.gate) == ("skipped", "disabled")
    assert "zoe switched apply off" in stopped.message
    ask(store, "UPDATE memory.namespaces SET read_only = true")
    assert dream_now(slug, "", store=store).gate == "read_only"
    ask(store, "UPDATE memory.namespaces SET settings = '{\"enabled\": false}'")
    assert dream_now(slug, "", store=store).gate == "disabled"


def test_locked_names_who_holds_the_namespace(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A living run does, and waiting a little does not help; a dead one is given up."""
    slug = forgetful(store, rows=2)
    held = dead_run(store, slug, "apply", "applying", 1)
    waited = [0.0]

    def wait(seconds: float) -> None:
        waited[0] += seconds

    monkeypatch.setattr(claims, "time", SimpleNamespace(monotonic=lambda: waited[0], sleep=wait))
    found = dream_now(slug, "now", ops=OPS, wait=0.4, store=store)
    assert (found.outcome, found.run_id, held in found.message) == ("locked", "", True)
    assert waited == [pytest.approx(0.4)]
    ask(store, "UPDATE night.runs SET heartbeat_at = heartbeat_at - interval '1 hour'")
    assert dream_now(slug, "now", ops=OPS, store=store).outcome == "awaiting_approval"


@pytest.mark.parametrize("mode", ["dry-run", "apply"])
def test_check_failed_when_the_probes_refuse_an_approval(store: Store, mode: Any) -> None:
    """The plan is there, and nothing of it is applied without force, whoever signs."""
    slug = forgetful(store, rows=6, blast_radius_share=0.0, blast_radius_rows=0)
    remember(store, slug, memory_facts=[{"id": f"f{n}", **FACT, "recorded_at": ago(9 - n)} for n in range(2)])
    found = dream_now(slug, "now", mode, "dedupe_facts", "mara" if mode == "apply" else None, store=store)
    assert (found.outcome, found.apply_runs) == ("check_failed", ())
    assert found.plan_hash
    assert "did not pass its probes" in found.message
    assert "--force" in found.message
    assert ask(store, "SELECT count(*) FROM night.approvals") == [(0,)]


def test_errored_ends_the_run_with_its_sentence(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planner that fails is an outcome; what it says of memory is redacted as everywhere."""
    slug = forgetful(store, rows=2, redact_text="all")

    def fails(_: object) -> Any:
        raise ValueError("Anna's diary is broken")

    instead(monkeypatch, OPS, fails)
    found = dream_now(slug, "now", ops=OPS, store=store)
    assert found.outcome == "errored"
    assert found.message.startswith("ValueError (")
    assert "diary" not in found.message
    assert ask(store, "SELECT state FROM night.runs WHERE id = %s", found.run_id) == [("crashed",)]
    ask(store, 'UPDATE memory.namespaces SET settings = \'{"gate_min_hours": "often"}\'')
    wrong = dream_now(slug, "now", store=store)
    assert (wrong.outcome, wrong.run_id) == ("errored", "")
    assert "gate_min_hours cannot be 'often'" in wrong.message


def test_timed_out_cancels_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noticed before the next step; the namespace is free, and the run can be gone on with."""
    slug = forgetful(store, rows=2)
    slow = PLANNERS[OPS]
    timers: list[Timer] = []

    class AtOurWord(Timer):
        def start(self) -> None:
            timers.append(self)

    def lasts(inputs: Any) -> Any:
        if len(timers) == 1:
            timers[0].function()
            timers.append(timers[0])
        return slow(inputs)

    monkeypatch.setattr("slowwave.surfaces.api.dreams.Timer", AtOurWord)
    instead(monkeypatch, OPS, lasts)
    found = dream_now(slug, "now", ops=OPS, timeout=1.0, store=store)
    assert (found.outcome, found.apply_runs) == ("timed_out", ())
    assert "cancelled after 1 s" in found.message
    assert {timer.interval for timer in timers} == {1.0}
    assert ask(store, "SELECT state FROM night.runs WHERE id = %s", found.run_id) == [("cancelled",)]
    assert slowwave.dream(slug, resume_from=found.run_id, store=store).state == "awaiting_approval"


def test_a_wrong_question_is_refused(store: Store) -> None:
    """It has no outcome, as nothing was asked that could have one."""
    slug = forgetful(store, rows=2)
    for arguments in (
        {"namespace": "nobody"},
        {"mode": "perhaps"},
        {"ops": "dance"},
        {"approver": "x"},
        {"timeout": 0.0},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"wait": float("nan")},
        {"wait": -1.0},
    ):
        with pytest.raises(Refused):
            dream_now(**{"namespace": slug, "store": store, **arguments})  # type: ignore[arg-type]
    assert ask(store, "SELECT count(*) FROM night.runs") == [(0,)]


def test_two_workers_one_namespace_one_applies_the_other_reports_locked(store: Store) -> None:
    """And other namespaces proceed meanwhile."""
    slug, other = forgetful(store, rows=30, batch_items=2), forgetful(store, "zebra", rows=4)
    met: list[str] = []

    def meanwhile(progress: slowwave.DreamProgress) -> None:
        if progress.phase == "apply" and progress.done >= 2 and not met:
            met.append(dream_now(slug, "me too", "apply", OPS, "zoe", store=store).outcome)
            met.append(dream_now(other, "elsewhere", "apply", OPS, "zoe", store=store).outcome)

    result = slowwave.dream(slug, "apply", ops=OPS, approver="mara", store=store, on_progress=meanwhile)
    assert met == ["locked", "completed"]
    assert (result.state, result.run.counts["applied"]) == ("completed", 30)

"""What is judged at an approval: the night's verdict for all that it proved, and the part's own for a part."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import fsspec
import pytest

from slowwave.errors import ProbesFailed
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.plans.gate import beyond_ordinary_caps, reject
from slowwave.store.connect import Store
from tests.memories import ago, ask, behind_triggers, recalls_of_nothing, remember
from tests.nights import take_snapshot
from tests.permitting import accept_operations, approve, decide_by_policies

NAMES = [f"fact {n}" for n in range(12)]


def night_of(store: Store, slug: str = "agent", **settings: object):
    """Twelve faded memories, of which archive_stale takes all."""
    remember(
        store,
        slug,
        {"blast_radius_share": 0.02, **settings},
        memories=[
            {
                **{
                    "id": f"{slug} {n}",
                    "kind": "semantic",
                    "importance": 0.1,
                    "valid_from": ago(300),
                    "recorded_at": ago(300),
                },
                "current_version_id": f"{slug} {n} v",
            }
            for n in NAMES
        ],
        memory_versions=[
            {"id": f"{slug} {n} v", "memory_id": f"{slug} {n}", "content": f"It was about {n}."} for n in NAMES
        ],
        recall_events=recalls_of_nothing(slug, 20),
    )
    night = run_night(store, slug, ops="archive_stale")
    assert night.plan is not None
    return night.plan


def records(store: Store) -> list[dict[str, object]]:
    return [row[0] for row in ask(store, "SELECT probes FROM night.approvals ORDER BY recorded_at")]  # type: ignore[misc]


def test_the_whole_plan_has_the_verdict_of_its_night_and_is_not_simulated_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = night_of(store, blast_radius_share=1.0)
    monkeypatch.setattr("slowwave.plans.gate._part", lambda *_: pytest.fail("judged again"))
    approve(store, "agent", plan.plan_hash, approver="mara")
    assert records(store) == [{"of": "plan", "items": 12}]


def test_the_limits_are_those_of_the_night(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever approves with other settings in the environment does not widen the cap."""
    plan = night_of(store)
    monkeypatch.setenv("SLOWWAVE_BLAST_RADIUS_ROWS", "500")
    monkeypatch.setenv("SLOWWAVE_BLAST_RADIUS_SHARE", "1")
    ids = [i.id for i in plan.items]
    with pytest.raises(ProbesFailed):
        approve(store, "agent", plan.plan_hash, approver="mara", items=ids[:7])
    approve(store, "agent", plan.plan_hash, approver="mara", items=ids[:6])


def test_what_was_applied_counts_and_what_was_forced_does_not(store: Store) -> None:
    """Six of twelve are allowed. A seventh is refused; once a person forced the six, the next are judged by themselves."""
    plan = night_of(store)
    ids = [i.id for i in plan.items]
    apply_approval(store, approve(store, "agent", plan.plan_hash, approver="mara", items=ids[:6]).id)
    with pytest.raises(ProbesFailed):
        approve(store, "agent", plan.plan_hash, approver="mara", items=ids[6:7])
    approve(store, "agent", plan.plan_hash, approver="mara", items=ids[6:9], force=True, note="they are done with")
    with pytest.raises(ProbesFailed):
        approve(store, "agent", plan.plan_hash, approver="mara", items=ids[9:10])

    other = night_of(store, "other")
    ids = [i.id for i in other.items]
    approve(store, "other", other.plan_hash, approver="mara", items=ids[:6], force=True, note="they are done with")
    assert approve(store, "other", other.plan_hash, approver="mara", items=ids[6:7]).item_ids == (ids[6],)


def test_a_policy_leaves_to_a_person_what_fails_by_itself(store: Store) -> None:
    plan = night_of(store)
    accept_operations(store, "agent", ["archive_stale"], accepted_by="mara")
    assert decide_by_policies(store, "agent", plan.plan_hash).approvals == ()
    behind_triggers(store, "UPDATE night.plans SET summary = '{}'")
    behind_triggers(
        store, "UPDATE night.plans SET seal = night.plan_seal(plan_hash, namespace_id, expires_at, probes, summary)"
    )
    behind_triggers(store, "UPDATE night.plan_items SET status = 'skipped_stale' WHERE ordinal = 0")
    assert decide_by_policies(store, "agent", plan.plan_hash).approvals == ()
    assert records(store) == []


@pytest.mark.parametrize(
    ("changed", "beyond"),
    [
        ({}, False),
        ({"reworded": 2}, True),
        ({"lost_tokens": 41}, True),
        ({"allowed_in_all": 30, "allowed_tokens_in_all": 400, "tidied": 4}, False),
        ({"retired": 6, "tidied": 6, "allowed_in_all": 30}, True),
        ({"allowed": None}, True),
    ],
)
def test_the_caps_without_housekeeping_hold_for_each_table_and_each_type(
    changed: dict[str, object], beyond: bool
) -> None:
    """Rows and tokens, whatever housekeeping may touch beside; what cannot be read is beyond, and what was not measured is not."""
    within = {"retired": 4, "reworded": 1, "lost_tokens": 40, "allowed": 5, "allowed_tokens": 40}
    given = {**within, **changed}
    assert beyond_ordinary_caps({"blast_radius": {"per_table": {"memories": given}, "per_type": {}}}) is beyond
    of_type = {"per_table": {"memories": within}, "per_type": {"memories": {"event": within, "episodic": given}}}
    assert beyond_ordinary_caps({"blast_radius": of_type}) is beyond
    assert beyond_ordinary_caps({"blast_radius": {"per_table": {}}})
    assert not beyond_ordinary_caps({})


def test_files_of_another_snapshot_judge_nothing(store: Store) -> None:
    """Files that were put into the snapshot's folder are found out, and a part needs force, whatever the whole plan passed."""
    plan = night_of(store, blast_radius_share=1.0)
    ((location,),) = ask(store, "SELECT location FROM night.snapshots")
    other = take_snapshot(store, "agent")
    shutil.rmtree(str(location))
    shutil.copytree(other, str(location))
    part = [plan.items[0].id]
    with pytest.raises(ProbesFailed, match="another one"):
        approve(store, "agent", plan.plan_hash, approver="mara", items=part)
    approve(store, "agent", plan.plan_hash, approver="mara")
    assert [r["of"] for r in records(store)] == ["plan"]


@pytest.mark.parametrize(
    "elsewhere",
    [
        "ftp://127.0.0.1:1/{id}",
        "http://127.0.0.1:1/{id}",
        "s3://bucket/{id}",
        "memory://agent/{id}",
        "{copy}",
        "{there}/../{id}x",
    ],
)
def test_a_snapshot_location_outside_the_base_is_never_opened(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: str
) -> None:
    """T16: a location that the planner's login wrote is not opened in the approver's process, whatever its scheme; a sentence says so."""
    plan = night_of(store, blast_radius_share=1.0)
    ((location,),) = ask(store, "SELECT location FROM night.snapshots")
    copy = tmp_path / str(location).rpartition("/")[2]
    shutil.copytree(str(location), copy)
    named = elsewhere.format(id=copy.name, copy=copy, there=location)
    ask(store, "UPDATE night.snapshots SET location = %s", named)
    opened: list[str] = []
    real = fsspec.url_to_fs
    monkeypatch.setattr("fsspec.url_to_fs", lambda url, **given: (opened.append(url), real(url, **given))[1])
    with pytest.raises(ProbesFailed, match="not its folder below"):
        approve(store, "agent", plan.plan_hash, approver="mara", items=[plan.items[0].id])
    assert opened == []


def test_a_snapshot_location_spelt_otherwise_is_opened(store: Store) -> None:
    """Two spellings of one folder of this machine are one place."""
    plan = night_of(store, blast_radius_share=1.0)
    ask(store, "UPDATE night.snapshots SET location = 'file://' || replace(location, '/db.', '/./db.')")
    approve(store, "agent", plan.plan_hash, approver="mara", items=[plan.items[0].id])
    assert [r["of"] for r in records(store)] == ["items"]


def test_a_part_that_nothing_can_judge_needs_force_and_says_so(store: Store) -> None:
    """The files of the night are gone: the whole plan passed, a part of it might not, and a person takes it upon themselves."""
    plan = night_of(store, blast_radius_share=1.0)
    ((location,),) = ask(store, "SELECT location FROM night.snapshots")
    shutil.rmtree(str(location))
    part = [plan.items[0].id]
    with pytest.raises(ProbesFailed, match="could not be judged"):
        approve(store, "agent", plan.plan_hash, approver="mara", items=part)
    assert approve(store, "agent", plan.plan_hash, approver="mara", items=part, force=True, note="seen").forced
    (record,) = records(store)
    assert (record["of"], record["items"]) == ("nothing", 1)


def test_the_snapshot_of_a_plan_that_waits_is_kept(store: Store) -> None:
    """Proposals take one each: however many came since, a part is judged on what its night saw. What is decided lets go of its own."""
    plan = night_of(store)
    for _ in range(4):
        take_snapshot(store, "agent")
    ids = [i.id for i in plan.items]
    with pytest.raises(ProbesFailed, match="with these items"):
        approve(store, "agent", plan.plan_hash, approver="mara", items=ids[:7])
    approve(store, "agent", plan.plan_hash, approver="mara", items=ids[:6])
    assert [r["of"] for r in records(store)] == ["items"]
    take_snapshot(store, "agent")
    assert ask(store, "SELECT count(*) FROM night.snapshots WHERE deleted_at IS NULL") == [(4,)]
    reject(store, "agent", plan.plan_hash, rejected_by="mara", reason="Test.")
    take_snapshot(store, "agent")
    assert ask(store, "SELECT count(*) FROM night.snapshots WHERE deleted_at IS NULL") == [(3,)]


def test_what_is_left_out_is_named_by_item_or_operation(store: Store) -> None:
    plan = night_of(store, blast_radius_share=1.0)
    out = plan.items[0].id
    signed = approve(store, "agent", plan.plan_hash, approver="mara", without=[out[:8]])
    assert out not in signed.item_ids
    assert len(signed.item_ids) == 11
    (record,) = records(store)
    assert (record["of"], record["items"]) == ("items", 11)


def test_approve_part_vectors_of_another_model_judges_by_words(store: Store) -> None:
    """Queries embedded by the configured model cannot be compared with vectors of another one."""
    ask(store, "SELECT memory.register_vector_model('theirs', 2)")
    anna = {"id": "anna", "name": "Anna", "entity_type": "PERSON"}
    vectors = [{"id": "anna", "model": "theirs", "vector": [0.6, 0.8]}]
    used = {
        "occurred_at": ago(1),
        "query": "Who is Anna?",
        "hit_ids": ["anna"],
        "selected_ids": ["anna"],
        "scores": [1.0],
    }
    recalls = [{"id": "used", **used}]
    remember(
        store, "agent", {"blast_radius_share": 1.0}, entities=[anna], entity_vectors=vectors, recall_events=recalls
    )
    plan = night_of(store)
    approve(store, "agent", plan.plan_hash, approver="mara", items=[plan.items[0].id])
    assert [r["of"] for r in records(store)] == ["items"]


def test_approve_part_of_plan_as_of_an_instant_judges_its_snapshot(store: Store) -> None:
    """Such a plan is sealed under its instant, and its part is still judged on the rows that its night read."""
    night_of(store, blast_radius_share=1.0)
    plan = run_night(store, "agent", ops="archive_stale", now=datetime.now(UTC)).plan
    assert plan is not None
    approve(store, "agent", plan.plan_hash, approver="mara", items=[plan.items[0].id])
    assert [r["of"] for r in records(store)] == ["items"]

"""Line 11: items that do no harm were refused because others of their plan do.

A plan held date rewrites, and memories to archive that the agent had used. The recall probe failed because of the archived ones. The
operator named the date rewrites alone, with ``--items``, and was refused with the verdict of the whole plan. Probes judge what is
approved; what fails is named, so that the operator can leave it out.
"""

from __future__ import annotations

import shutil

import pytest

from slowwave.errors import Refused
from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.store.connect import Store
from tests.memories import ago, ask, recalls_of_nothing, remember
from tests.permitting import approve

TOPICS = ("lighthouse", "harbour", "violin", "orchard", "glacier", "printer", "bakery", "compass", "saddle", "turbine")
DATED = ("Anna called", "Ben moved", "Cleo painted", "Dora slept")


def mixed(store: Store) -> tuple[Night, list[str], list[str]]:
    """A night that archives ten used memories and writes four dates out; with the ids of either."""
    old = [
        (t, f"The {t} was repaired.", {"importance": 0.1, "valid_from": ago(300), "recorded_at": ago(300)})
        for t in TOPICS
    ]
    new = [(d, f"{d} yesterday.", {"importance": 0.9, "valid_from": ago(3), "recorded_at": ago(3)}) for d in DATED]
    remember(
        store,
        "agent",
        memories=[
            {"id": name, "kind": "semantic", "current_version_id": f"{name} v", **more}
            for name, _, more in [*old, *new]
        ],
        memory_versions=[{"id": f"{name} v", "memory_id": name, "content": text} for name, text, _ in [*old, *new]],
        recall_events=[
            {"id": f"asked {t}", "query": f"what happened to the {t}", "selected_ids": [t], "occurred_at": ago(120)}
            for t in TOPICS
        ]
        + recalls_of_nothing("agent", 20),
    )
    night = run_night(store, "agent", ops="archive_stale,absolutize_dates")
    assert night.plan is not None
    ids = {
        operation: [i.id for i in night.plan.items if i.operation == operation]
        for operation in ("archive_stale", "absolutize_dates")
    }
    assert (len(ids["archive_stale"]), len(ids["absolutize_dates"])) == (10, 4)
    return night, ids["archive_stale"], ids["absolutize_dates"]


def test_items_that_do_no_harm_are_approved_though_others_of_the_plan_fail(store: Store) -> None:
    """The date rewrites pass by themselves; the archived ones do not, whole or in part, and the whole plan is told what to leave out."""
    night, archived, dated = mixed(store)
    assert night.plan is not None
    hash_ = night.plan.plan_hash
    signed = approve(store, "agent", hash_, approver="mara", items=dated)
    assert (sorted(signed.item_ids), signed.forced) == (sorted(dated), False)
    with pytest.raises(Refused, match="Recall@10"):
        approve(store, "agent", hash_, approver="mara", items=archived[:3])
    with pytest.raises(Refused, match="Recall@10"):
        approve(store, "agent", hash_, approver="mara")


def test_what_fails_is_named_and_can_be_left_out(store: Store) -> None:
    """The refusal says without which items the rest passes; that very option is taken, and the approval keeps what was proved."""
    night, _, dated = mixed(store)
    assert night.plan is not None
    with pytest.raises(Refused, match="--without archive_stale"):
        approve(store, "agent", night.plan.plan_hash, approver="mara")
    signed = approve(store, "agent", night.plan.plan_hash, approver="mara", without=["archive_stale"])
    assert sorted(signed.item_ids) == sorted(dated)
    ((kept,),) = ask(store, "SELECT probes FROM night.approvals")
    assert isinstance(kept, dict)
    assert (kept["of"], kept["items"], kept["recall"]["passed"]) == ("items", 4, True)
    assert "lighthouse" not in str(kept)


def test_without_its_snapshot_a_part_cannot_be_judged(store: Store) -> None:
    """The files are gone: what the whole plan passed says nothing of the part, and force with a reason still decides."""
    night, _, dated = mixed(store)
    assert night.plan is not None
    ((location,),) = ask(store, "SELECT location FROM night.snapshots WHERE id = %s", night.snapshot_id)
    shutil.rmtree(str(location))
    with pytest.raises(Refused, match="what the whole plan passed says nothing of a part"):
        approve(store, "agent", night.plan.plan_hash, approver="mara", items=dated)
    assert approve(store, "agent", night.plan.plan_hash, approver="mara", items=dated, force=True, note="read").forced

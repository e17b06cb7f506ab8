"""Line 11: a plan that archived every memory of a namespace passed the blast radius.

An agent had 21 memories, and a few thousand passages of documents beside them. A night with a strict archive policy retired 21 of 21
memories: .4 % of all rows, within the 2 % allowed, and within the 25 rows that are always allowed. So no force was asked for. Tables
are held to the cap by themselves, and so are the kinds of memories and the tokens.
"""

from __future__ import annotations

import pytest

from slowwave.errors import Refused
from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.store.connect import Store
from tests.memories import ago, recalls_of_nothing, remember
from tests.permitting import approve


def archiving(store: Store, slug: str, **settings: object) -> Night:
    """The night of a namespace with 21 faded memories among 2,000 passages, as it stands after ``archive_stale`` alone."""
    remember(
        store,
        slug,
        {"blast_radius_share": 0.02, **settings},
        documents=[{"id": f"{slug} book", "content": "A book."}],
        chunks=[
            {"id": f"{slug} page {n}", "document_id": f"{slug} book", "content": f"Page {n} of the book."}
            for n in range(2_000)
        ],
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
            for n in range(21)
        ],
        memory_versions=[
            {"id": f"{slug} {n} v", "memory_id": f"{slug} {n}", "content": f"Decision {n}: keep archive number {n}."}
            for n in range(21)
        ],
        recall_events=recalls_of_nothing(slug, 20),
    )
    return run_night(store, slug, ops="archive_stale")


def test_a_plan_that_retires_all_memories_needs_force(store: Store) -> None:
    """However many rows of other tables dilute them."""
    night = archiving(store, "agent")
    assert night.plan is not None
    assert len(night.plan.items) == 21
    with pytest.raises(Refused, match="Beyond the cap"):
        approve(store, "agent", night.plan.plan_hash, approver="mara")
    assert night.probes is not None
    radius = night.probes.results["blast_radius"]
    assert isinstance(radius, dict)
    assert (radius["passed"], radius["share"]) == (False, 1.0)
    assert approve(store, "agent", night.plan.plan_hash, approver="mara", force=True, note="a test namespace").forced


def test_two_halves_of_such_a_plan_do_not_slip_under_the_cap(store: Store) -> None:
    """Eleven of 21 are allowed; what was approved before counts with what is approved now."""
    night = archiving(store, "halves")
    assert night.plan is not None
    ids = [item.id for item in night.plan.items]
    assert len(approve(store, "halves", night.plan.plan_hash, approver="mara", items=ids[:11]).item_ids) == 11
    with pytest.raises(Refused, match="Beyond the cap"):
        approve(store, "halves", night.plan.plan_hash, approver="mara", items=ids[11:13])
    with pytest.raises(Refused, match="Beyond the cap"):
        approve(store, "halves", night.plan.plan_hash, approver="mara")

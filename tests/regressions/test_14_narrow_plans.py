"""Line 14: a narrow dry-run threw away the night's plan.

The plan of a night was pending; somebody planned with `--ops …` or `--since …`, and the pending plan, even one approved in part, was
superseded by a plan of three items. An empty list of operations planned all of them. Now only the night of a whole namespace
supersedes another night's plan, and an empty list is refused.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from slowwave.errors import Refused
from slowwave.night.night import run_night
from slowwave.plans.seal import DreamScope
from slowwave.store.connect import Store
from slowwave.surfaces.api.dreams import dream
from tests.dreamers import forgetful
from tests.memories import NOW, ask, remember
from tests.permitting import approve
from tests.snapshots import uid


def state(store: Store, plan_hash: str) -> str:
    ((found,),) = ask(store, "SELECT state FROM night.plans WHERE plan_hash = %s", plan_hash)
    return str(found)


def planned(store: Store, slug: str, **arguments: object) -> str:
    """The hash of a night's plan."""
    one = run_night(store, slug, force=True, **arguments)  # type: ignore[arg-type]
    assert one.plan is not None
    return one.plan.plan_hash


@pytest.mark.parametrize(
    "narrow",
    [
        {"ops": ("gc_references",)},
        {"scope": DreamScope(op_kinds=frozenset(("gc_references",)))},
        {"scope": DreamScope(since=NOW - timedelta(days=5))},
        {"scope": DreamScope(document_ids=frozenset((uid("acme letter"),)))},
        {"now": NOW},
        {"config": {"operations.gc_references.min_dead": 2}},
    ],
    ids=("operations", "the scope's operations", "since", "a document", "as of an instant", "settings of one call"),
)
@pytest.mark.parametrize("signed", [False, True])
def test_a_part_never_takes_the_place_of_a_night(store: Store, narrow: dict[str, object], signed: bool) -> None:
    """Waiting or approved, the night's plan stands, and can be signed still."""
    slug = forgetful(store)
    whole = planned(store, slug)
    items = [str(i) for (i,) in ask(store, "SELECT item_id FROM night.plan_items WHERE plan_hash = %s", whole)]
    if signed:
        approve(store, slug, whole, approver="mara", items=items[:1], force=True, note="a test")
    before = state(store, whole)
    planned(store, slug, **narrow)
    assert state(store, whole) == before == ("approved" if signed else "awaiting_approval")
    assert approve(store, slug, whole, approver="mara", items=items[1:2], force=True, note="a test").item_ids


def test_a_dry_run_of_everything_is_no_night_either(store: Store) -> None:
    """The plan of a dry run replaces only the plan of an earlier dry run."""
    slug = forgetful(store)
    whole = planned(store, slug)
    first = dream(slug, "dry-run", store=store).plan_hash
    second = dream(slug, "dry-run", store=store).plan_hash
    assert len({whole, first, second}) == 3
    assert [state(store, hash_) for hash_ in (whole, first, second)] == [
        "awaiting_approval",
        "superseded",
        "awaiting_approval",
    ]
    newer = planned(store, slug)
    assert [state(store, hash_) for hash_ in (whole, second, newer)] == [
        "superseded",
        "superseded",
        "awaiting_approval",
    ]


def test_night_after_dry_run_is_not_skipped_as_unchanged(store: Store) -> None:
    """A dry run is no night, so the schedule's next night makes the plan that people are asked about."""
    slug = forgetful(store)
    dream(slug, "dry-run", store=store)
    first = run_night(store, slug)
    assert (first.skipped, first.plan is not None) == ("", True)
    assert run_night(store, slug).skipped.startswith("unchanged since")


def test_two_parts_stand_side_by_side_and_the_same_part_is_one(store: Store) -> None:
    """The second `--ops gc_references` is the newer look at the same thing."""
    slug = forgetful(store)
    part = planned(store, slug, ops=("gc_references",))
    other = planned(store, slug, ops=("gc_references", "archive_stale"))
    again = planned(store, slug, ops=("gc_references",))
    assert [state(store, hash_) for hash_ in (part, other, again)] == [
        "superseded",
        "awaiting_approval",
        "awaiting_approval",
    ]


@pytest.mark.parametrize("ops", [[], (), frozenset[str](), "", " , "])
def test_an_empty_list_of_operations_is_not_everything(store: Store, ops: object) -> None:
    """By each way in; nothing is planned."""
    slug = forgetful(store)
    with pytest.raises(Refused):
        run_night(store, slug, ops=ops)  # type: ignore[arg-type]
    with pytest.raises(Refused):
        dream(slug, "dry-run", ops=ops, store=store)  # type: ignore[arg-type]
    if not isinstance(ops, str):
        scope = DreamScope(op_kinds=frozenset(ops))  # type: ignore[call-overload]
        with pytest.raises(Refused):
            run_night(store, slug, scope=scope)
        with pytest.raises(Refused):
            dream(slug, "dry-run", scope, store=store)
    assert ask(store, "SELECT count(*) FROM night.plans") == [(0,)]


def test_a_plan_that_is_applied_is_not_superseded(store: Store) -> None:
    """The next night has nothing to take its place in."""
    slug = forgetful(store)
    result = dream(slug, "apply", ops=("gc_references",), approver="mara", force=True, note="a test", store=store)
    assert result.apply_runs
    remember(
        store, slug, entities=[{"id": "late", "entity_type": "tool", "name": "Late", "source_chunk_ids": ["gone late"]}]
    )
    planned(store, slug)
    assert state(store, result.plan_hash) == "approved"

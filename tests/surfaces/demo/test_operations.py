"""Every operation on the demo: each finds what was planted for it and nothing else, applies it, and finds nothing more."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.night.undo import undo_run
from slowwave.operations import operations
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.surfaces.cli.demo import score_night
from slowwave.surfaces.demo import NAMESPACES, found_against_planted, generate
from tests.permitting import approve

OPERATION_OF = {problem: name for name, made in operations().items() for problem in made.planted}
"""Planted problem → the operation that must find it, as the operations declare it."""


def test_every_planted_problem_belongs_to_one_operation() -> None:
    """A problem that no operation says is its own would be looked for by nobody."""
    assert len(OPERATION_OF) == sum(len(made.planted) for made in operations().values())
    assert {
        s.problem for s in found_against_planted(generate(NAMESPACES[0], datetime.now(UTC)).key, items=(), reports={})
    } == set(OPERATION_OF)


@pytest.mark.usefixtures("every_rule_decides")
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_each_planted_problem_is_found_by_its_operation_applied_and_taken_back(demo: Store, namespace: str) -> None:
    """What ``slowwave night NS --ops all`` promises, in three namespaces with an answer key.

    What meets on one row waits for the night after; then, as of the same instant, nothing is left to do. As of an instant before the
    apply the index of memory lists no promotion, so the second night renders it again.
    """
    waits = {
        "community_summaries",
        "archive_stale",
        "promote_memories",
        "backfill_tags",
        "decay_transition",
        "compile_pages",
    }
    now = datetime.now(UTC)
    before = digest(demo, namespace)
    first = run_night(demo, namespace, ops="all", now=now)
    _expect_found(first)
    runs = [_apply_all(demo, first)]
    second = run_night(demo, namespace, ops="all", now=now)
    left = {i.operation for i in second.plan.items} if second.plan else set[str]()
    assert left <= waits, namespace
    if second.new_items:
        runs.append(_apply_all(demo, second))
    third = run_night(demo, namespace, ops="all", now=now)
    assert (third.new_items, third.state) == (0, "empty"), namespace
    for run_id in reversed(runs):
        undo_run(demo, run_id)
    assert digest(demo, namespace) == before


def _apply_all(store: Store, night: Night) -> str:
    """Approve and apply everything, questions too; none may fail or be stale. Returns the run."""
    assert night.plan is not None
    assert night.probes is not None
    assert night.probes.needs_force == ()
    approval = approve(store, night.namespace, night.plan.plan_hash, approver="me", include_review=True)
    result = apply_approval(store, approval.id)
    assert result.counts["applied"] + result.counts.get("noop", 0) == len(night.plan.items)
    assert (result.counts["skipped_stale"], result.counts["failed"]) == (0, 0)
    return result.run_id


def _expect_found(night: Night) -> None:
    """All of it found, nothing false, for each operation that there is."""
    for score in score_night(night):
        problem = str(score["problem"])
        wanted = 0 if problem == "merge traps" else score["planted"]
        assert (score["found"], score["false"]) == (wanted, 0), (night.namespace, score)
        assert score["planted"], problem

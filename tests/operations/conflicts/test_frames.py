"""Conflicts between statements of one frame: without vectors, within one author, and never decided."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from slowwave.operations.conflicts.decide import decide, read_sides
from slowwave.operations.conflicts.rows import Tally
from slowwave.operations.conflicts.values import value_conflicts
from slowwave.plans.questions import Conflict
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from tests.snapshots import TAKEN_AT, make_snapshot, uid


def memory(text: str, day: int = 0, **more: object) -> dict[str, object]:
    return {"text": text, "kind": "semantic", "subject": "", "recorded_at": TAKEN_AT + timedelta(days=day - 90), **more}


def world(*memories: dict[str, object]) -> Snapshot:
    return make_snapshot(
        memories=[
            {k: v for k, v in m.items() if k != "text"}
            | {"id": uid(f"m{n}"), "current_version_id": uid(f"version of m{n}")}
            for n, m in enumerate(memories)
        ],
        memory_versions=[
            {"id": uid(f"version of m{n}"), "memory_id": uid(f"m{n}"), "content": m["text"]}
            for n, m in enumerate(memories)
        ],
        vectors={"memory_vectors": {}},
    )


def found(*memories: dict[str, object]) -> Sequence[Conflict]:
    return value_conflicts(world(*memories), Tally())


ADA, OTTO = "The patron of the club is Ada.", "The patron of the club is Otto."


def test_two_values_are_asked_about_without_vectors() -> None:
    (conflict,) = found(memory(ADA), memory(OTTO, 3), memory("The patron of the choir is Mara."))
    assert {conflict.a, conflict.b} == {uid("m0"), uid("m1")}
    assert (conflict.reason, conflict.doubtful, conflict.pattern) == ("object", True, "memories: frame")


@pytest.mark.parametrize("importance", [0.1, 0.8])
@pytest.mark.parametrize("policy", ["evidence_weighted", "keep_newest"])
def test_nothing_decides_a_frame_alone(importance: float, policy: str) -> None:
    """Of little importance as well, where other conflicts are decided for the newer one."""
    snapshot = world(memory(ADA, importance=importance), memory(OTTO, 3, importance=importance))
    (conflict,) = value_conflicts(snapshot, Tally())
    limit = Settings(operations={"resolve_conflicts": {"low_importance": 0.3}})
    assert not decide(policy, conflict, read_sides(snapshot, [conflict], limit)).sure


@pytest.mark.parametrize("more", [{"author": "Mara"}, {"scope": "work"}, {"subject": "Club"}, {"kind": "event"}])
def test_statements_of_other_authors_scopes_subjects_and_kinds_are_not_compared(more: dict[str, object]) -> None:
    assert not found(memory(ADA), memory(OTTO, 3, **more))


def test_a_frame_with_several_values_of_one_day_takes_many_and_so_does_its_relation() -> None:
    """Three pets told on two days are three pets; then two pets of another person are two as well."""
    pets = [memory(f"The pet of Mara is {name}.", day) for name, day in (("Rex", 1), ("Tom", 1), ("Ivy", 2))]
    assert not found(*pets)
    other = [memory("The pet of Otto is Max.", 1), memory("The pet of Otto is Leo.", 5)]
    assert len(found(*other)) == 1
    assert not found(*pets, *other)


def test_a_value_that_changed_twice_is_asked_about() -> None:
    assert found(
        *(memory(f"The home of Mara is {name}.", day) for name, day in (("Oslo", 1), ("Bergen", 9), ("Turku", 20)))
    )


def test_statements_that_held_one_after_the_other_are_no_conflict() -> None:
    """Both are active: the first holds for ten more days, and the second begins then."""
    until = TAKEN_AT + timedelta(days=10)
    assert found(memory(ADA, valid_to=until), memory(OTTO, 3))
    assert not found(memory(ADA, valid_to=until), memory(OTTO, 3, valid_from=until))

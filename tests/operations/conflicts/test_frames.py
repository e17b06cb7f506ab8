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


@pytest.mark.parametrize(
    ("one", "other", "rule"),
    [
        ("Ada feeds the calves.", "Otto feeds the calves now.", "role"),
        ("Dr. Lind looks after our mare.", "Dr. Berg looks after our mare now.", "role"),
        ("Bay 6 is the isolation bay.", "Bay 9 is the isolation bay.", "role"),
        ("Kiln 3.11 is our minimum version.", "Kiln 3.12 is our minimum version.", "role"),
        ("We use Kiln for the weekly bread.", "We use Silo for the weekly bread.", "frame"),
    ],
)
def test_another_holder_and_another_object_of_any_verb_are_asked_about(one: str, other: str, rule: str) -> None:
    """The subject of a memory may be its holder."""
    subjects = ("Ada", "Otto") if one.startswith("Ada") else ("", "")
    (conflict,) = found(memory(one, subject=subjects[0]), memory(other, 3, subject=subjects[1]))
    assert (conflict.reason, conflict.doubtful, conflict.pattern) == ("object", True, f"memories: {rule}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada plays the tuba.", "Otto plays the tuba."),
        ("Ada treats horses.", "Otto treats horses."),
        ("Ada feeds the calves.", "Ada feeds the hens."),
        ("Ada doubts the error bars.", "Otto doubts the error bars."),
        ("Bay 6 is the best bay.", "Bay 9 is the best bay."),
        ("Ada is on call for the search cluster.", "Ada is on call for the mail cluster."),
    ],
)
def test_statements_that_several_may_fit_are_not_asked_about(one: str, other: str) -> None:
    assert not found(memory(one), memory(other, 3))


def test_verbs_of_which_the_namespace_lists_several_objects_take_many() -> None:
    runs = [memory("The farm runs on Kiln.", 1), memory("The farm runs on Silo.", 3)]
    assert len(found(*runs)) == 1
    assert not found(*runs, memory("The mill runs on Reed and Holm."))
    assert not found(
        *(memory(f"We use {name} for the weekly bread.", day) for name, day in (("Kiln", 1), ("Silo", 1), ("Reed", 2)))
    )

"""Conflicts between memories: near, about one thing, and only where both cannot be true."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from slowwave.operations.conflicts.memories import memory_conflicts
from slowwave.operations.conflicts.rows import Tally
from slowwave.plans.questions import Conflict
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from tests.snapshots import TAKEN_AT, make_snapshot, uid


def memory(name: str, text: str, angle: float = 0, **more: object) -> dict[str, object]:
    return {"id": uid(name), "text": text, "angle": angle, "kind": "semantic", "subject": "Build", **more}


def world(*memories: dict[str, object]) -> Snapshot:
    angles = {str(m["id"]): math.radians(float(str(m["angle"]))) for m in memories}
    return make_snapshot(
        memories=[
            {k: v for k, v in m.items() if k not in ("text", "angle")}
            | {"current_version_id": uid(f"version of {m['id']}")}
            for m in memories
        ],
        memory_versions=[
            {"id": uid(f"version of {m['id']}"), "memory_id": m["id"], "content": m["text"]} for m in memories
        ],
        vectors={"memory_vectors": {id_: (math.cos(a), math.sin(a)) for id_, a in angles.items()}},
    )


def without_vectors(*memories: dict[str, object]) -> Snapshot:
    return make_snapshot(
        memories=[
            {k: v for k, v in m.items() if k not in ("text", "angle")} | {"current_version_id": uid(f"of {m['id']}")}
            for m in memories
        ],
        memory_versions=[{"id": uid(f"of {m['id']}"), "memory_id": m["id"], "content": m["text"]} for m in memories],
    )


def found(*memories: dict[str, object]) -> Sequence[Conflict]:
    return memory_conflicts(world(*memories), Settings(), Tally())


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("The build takes 12 minutes.", "The build takes 21 minutes.", "number"),
        ("The build moved to Jenkins on 2026-01-04.", "The build moved to Jenkins on 2026-02-04.", "date"),
        ("The build needs a signing key.", "The build does not need a signing key.", "polarity"),
        ("The build cache is enabled on runners.", "The build cache is disabled on runners.", "polarity"),
        ("The heavy crane stands at the quay.", "The light crane stands at the quay.", "polarity"),
        ("Always squash before the build.", "Never squash before the build.", "polarity"),
    ],
)
def test_near_memories_that_cannot_both_be_true_are_in_conflict(one: str, other: str, reason: str) -> None:
    """A number, a date, a negation, an antonym; with the similarity measured, and not doubtful where a subject is named."""
    (conflict,) = found(memory("a", one), memory("b", other, 20))
    assert (conflict.table, conflict.reason, conflict.doubtful) == ("memories", reason, False)
    assert conflict.evidence["similarity"] == round(math.cos(math.radians(20)), 4)
    assert {conflict.a, conflict.b} == {uid("a"), uid("b")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The build takes 12 minutes.", "The build takes 12 minutes on runners."),
        ("The build takes 12 minutes.", "Does the build take 21 minutes?"),
        ("My build takes 12 minutes.", "Your build takes 21 minutes."),
        ("The build takes 12 minutes.", "The build may take 21 minutes."),
        ("Build 91 takes 12 minutes.", "Build 92 takes 21 minutes."),
        (
            "The hosting region of the Ida Holm build is São Paulo.",
            "The hosting region of the Otto Roth build is São Paulo.",
        ),
        ("The budget of Build Susan Holm is 12 euros.", "The budget of Build Susanne Roth is 21 euros."),
        ("ran the build: 12 warnings", "ran the build: 9 warnings"),
        ("TODO: order a desk for the lobby.", "TODO: order a desk for the library."),
        ("We need to renew the certificate of the portal.", "We need to renew the certificate of the shop."),
        ("TODO: water the plants in room 4.", "TODO: water the plants in room 5."),
        ("The build takes 12 minutes.", "Lunch for the nine guests costs 21 euros."),
    ],
)
def test_what_both_may_be_true_is_none(one: str, other: str) -> None:
    """One says more, asks, speaks of somebody else's, guesses, or of something else, however near the vectors are."""
    assert found(memory("a", one), memory("b", other)) == []


@pytest.mark.parametrize("subject", ["Office", ""])
@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("The office closes at 18:00.", "The office closes at 19:00.", "time"),
        ("The lease ends in 2026.", "The lease ends in 2027.", "date"),
        ("Ben is allergic to nuts.", "Ben is not allergic to nuts.", "polarity"),
    ],
)
def test_memories_without_vectors_are_compared_by_equal_words(one: str, other: str, reason: str, subject: str) -> None:
    rows = [memory("a", one, subject=subject), memory("b", other, subject=subject)]
    snapshot = without_vectors(*rows)
    (conflict,) = memory_conflicts(snapshot, Settings(), Tally())
    assert (conflict.reason, conflict.doubtful, "similarity" in conflict.evidence) == (reason, True, False)
    assert len(memory_conflicts(world(rows[0] | {"angle": 80}, rows[1]), Settings(), Tally())) == (reason == "polarity")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The office closes at 18:00.", "The office opens at 9:00."),
        ("Build 91 takes 12 minutes.", "Build 92 takes 21 minutes."),
        ("The north office closes at 18:00.", "The south office closes at 19:00."),
        ("Ben is allergic to nuts.", "Ada is not allergic to eggs."),
    ],
)
def test_memories_without_vectors_of_other_things_are_no_conflict(one: str, other: str) -> None:
    snapshot = without_vectors(memory("a", one, subject=""), memory("b", other, subject=""))
    assert memory_conflicts(snapshot, Settings(), Tally()) == []


def test_what_happened_twice_is_no_contradiction() -> None:
    """Two lunches cost two sums; but one event did not both happen and not happen."""
    sums = "Lunch cost 12 euros at the harbour.", "Lunch cost 21 euros at the harbour."
    denied = "The crane moved the load at noon.", "The crane did not move the load at noon."
    for kind in ("event", "episodic"):
        assert found(*(memory(n, t, kind=kind) for n, t in zip("ab", sums, strict=True))) == []
        assert [c.reason for c in found(*(memory(n, t, kind=kind) for n, t in zip("ab", denied, strict=True)))] == [
            "polarity"
        ]


@pytest.mark.parametrize(
    "more",
    [
        {"subject": "Deploy"},
        {"kind": "claim"},
        {"scope": "team"},
        {"author": "bob"},
        {"state": "archived"},
        {"valid_to": TAKEN_AT},
        {"angle": 60},
    ],
)
def test_only_near_active_memories_of_one_kind_and_subject_are_compared(more: dict[str, object]) -> None:
    """The rest is another matter, or no memory any more."""
    assert found(memory("a", "The build takes 12 minutes."), memory("b", "The build takes 21 minutes.", **more)) == []


def test_without_a_subject_a_person_decides() -> None:
    """Nothing says that both speak of one build."""
    (conflict,) = found(
        memory("a", "The build takes 12 minutes.", subject=""), memory("b", "The build takes 21 minutes.", subject="")
    )
    assert conflict.doubtful


def test_copies_stand_behind_one_statement() -> None:
    """Three memories, one conflict: who loses, loses with the copies; a pinned copy is a case of its own."""
    texts = ("The build takes 12 minutes.", "The build takes 21 minutes.", "the build takes 21 minutes")
    rows = [memory(n, t) for n, t in zip("abc", texts, strict=True)]
    (conflict,) = found(*rows)
    assert len({conflict.a, conflict.b, *conflict.also_a, *conflict.also_b}) == 3
    assert len(found(*rows[:2], rows[2] | {"pinned": True})) == 2


def test_the_answer_is_kept_for_its_tables_and_no_others() -> None:
    """A night asks more than once; another snapshot, or another floor, is looked at anew."""
    rows = memory("a", "The build takes 12 minutes."), memory("b", "The build takes 21 minutes.", 30)
    snapshot, tally = world(*rows), Tally()
    first = memory_conflicts(snapshot, Settings(), tally)
    assert memory_conflicts(snapshot, Settings(), Tally()) is first
    assert memory_conflicts(snapshot, Settings(operations={"neighbour_graph": {"similarity": 0.9}}), Tally()) == []
    assert memory_conflicts(world(*rows), Settings(), Tally()) is not first
    assert tally.numbers["near pairs of memories"] == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The harbour office accepts cash payments.", "The harbour office does not accept cash payments."),
        ("The shutter closes before the pump starts.", "The shutter never closes before the pump starts."),
        ("The spare lane may be opened at night.", "The spare lane may not be opened at night."),
        ("We sell diesel at the east pier.", "We don't sell diesel at the east pier."),
        ("The crew can use the sauna.", "The crew cannot use the sauna."),
    ],
)
def test_find_plain_negation_at_any_distance_of_vectors_is_a_conflict(one: str, other: str) -> None:
    """M-R2: an embedding model may place a negation below the floor of neighbours."""
    for subject in ("Build", ""):
        (conflict,) = found(memory("a", one, subject=subject), memory("b", other, 80, subject=subject))
        assert (conflict.reason, conflict.doubtful) == ("polarity", not subject)
        assert conflict.evidence["similarity"] == round(math.cos(math.radians(80)), 4)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The harbour office accepts cash payments.", "The harbour office does not accept card payments."),
        ("The harbour office accepts cash payments.", "The harbour office accepts cash payments!"),
        ("Does the harbour office accept cash payments?", "The harbour office does not accept cash payments."),
        ("She signed her contract in 2014.", "She did not sign her contract in 2018."),
        ("Die Werft öffnet um neun.", "Die Werft öffnet nicht um neun."),
    ],
)
def test_find_other_statements_far_apart_by_their_vectors_are_none(one: str, other: str) -> None:
    assert not found(memory("a", one), memory("b", other, 80))


def test_find_plain_negation_of_another_scope_is_none() -> None:
    one, other = "The harbour office accepts cash payments.", "The harbour office does not accept cash payments."
    assert not found(memory("a", one, scope="one"), memory("b", other, 80, scope="two"))

"""Memories that state other objects of one relation, whatever their words, kinds and vectors."""

from __future__ import annotations

from datetime import timedelta

import pytest

from slowwave.operations.conflicts.decide import ConflictDecision, decide, read_sides
from slowwave.operations.conflicts.find import find_conflicts
from slowwave.operations.conflicts.rows import Tally
from slowwave.operations.conflicts.values import other_values, value_conflicts
from slowwave.plans.questions import Conflict
from slowwave.store.settings import Settings
from tests.operations.conflicts.test_memories import memory, world
from tests.snapshots import TAKEN_AT, uid

OLD = TAKEN_AT - timedelta(days=60)


def said(name: str, text: str, days: int = 0, **more: object) -> dict[str, object]:
    """A memory ``days`` after the first, each of them as far from the others as vectors can be."""
    angle = (sum(name.encode()) * 61) % 360
    return memory(name, text, angle, subject="", valid_from=OLD + timedelta(days=days), **more)


def found(*memories: dict[str, object]) -> list[Conflict]:
    return list(value_conflicts(world(*memories), Tally(), longer=True))


def decided(*memories: dict[str, object], policy: str = "evidence_weighted") -> list[tuple[str, ConflictDecision]]:
    snapshot, settings = world(*memories), Settings()
    conflicts = find_conflicts(snapshot, settings).conflicts
    sides = read_sides(snapshot, conflicts, settings)
    made = [(c, decide(policy, c, sides)) for c in conflicts]
    return [(c.a if d.winner == "a" else c.b, d) for c, d in made]


@pytest.mark.parametrize(
    ("one", "other", "rule"),
    [
        ("Mara lives in Oslo.", "These days Mara is based in Bergen, by the sea.", "aligned"),
        ("Jonas leads the platform team.", "The platform team meets daily. Petra leads the platform team.", "role"),
        ("Jonas leads the platform team.", "Petra took over the platform team.", "news"),
        ("Priya lives in Leeds.", "Priya lives in Sheffield.", "aligned"),
        ("Omar and Ana live in Leeds.", "Omar and Ana have moved to Sheffield.", "news"),
        ("I live in Leeds.", "I've moved to Sheffield.", "news"),
        ("Alice works for Acme.", "Alice joined Globex in March", "news"),
        ("Alice works for Acme.", "Alice got hired by Globex last week.", "news"),
        ("Omar works as a translator.", "Omar is a bookkeeper.", "aligned"),
        ("Omar works as a carpenter.", "Omar retrained as a nurse.", "news"),
        ("Omar works for the zoo.", "Omar started working for the opera house.", "news"),
        ("Omar goes to Mill School.", "Omar now goes to Brook School.", "news"),
        ("My favourite drink is tea.", "The user's day was long. My favourite drink is coffee.", "frame"),
        ("My favourite drink is Assam.", "My favourite drink is water.", "frame"),
        ("Our vet is Dr. Amari.", "From now on, our vet is Dr. Feld.", "frame"),
        ("The head of sales is Mr Haas.", "Ms Okonkwo has taken over from Mr Haas as head of sales.", "news"),
        ("The freezer is in the cellar.", "The freezer is in the pantry.", "frame"),
        ("The depot is in Graz.", "The depot has been relocated to Linz.", "news"),
        ("The build farm runs on Jenkins.", "The build farm runs on Buildkite.", "aligned"),
        ("Field 7 is sown with barley.", "Field 7 is sown with oats.", "frame"),
        ("Bin collection is on Fridays.", "Bin collection has moved to Mondays.", "news"),
        ("Invoice 118 is due on 2026-04-01.", "Invoice 118 is due on 2026-05-01.", "frame"),
        ("Invoice 118 is due on 4 June.", "Due date of invoice 118 has been moved to 18 June.", "news"),
        ("The tax report is due on Friday.", "The tax report has been postponed to 12 May.", "news"),
        ("The worker's limit is 40.", "Raised the worker's limit: it is 80 now.", "news"),
    ],
)
def test_another_object_is_a_conflict(one: str, other: str, rule: str) -> None:
    """However far apart the vectors are; of events only those that call their value new."""
    (conflict,) = found(said("a", one), said("b", other, 5, kind="event" if rule == "news" else "semantic"))
    assert (conflict.table, conflict.reason in ("object", "number", "polarity"), conflict.evidence["rule"]) == (
        "memories",
        True,
        rule,
    )
    assert {conflict.a, conflict.b} == {uid("a"), uid("b")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mara lives in Oslo.", "Mara lives in Oslo, Norway."),
        ("Mara lives in Oslo.", "Mara lives in Norway."),
        ("Priya lives in Leeds.", "Priya lives in England."),
        ("Mara lives in Oslo.", "Mara Lind lives in Bergen."),
        ("Mara lives in Oslo.", "Jonas lives in Bergen."),
        ("Mara lives in Oslo.", "Mara works for Acme."),
        ("Jonas leads the platform team.", "Petra leads the design team."),
        ("Our supplier for flour is Hartmann.", "Our supplier for eggs is Brandt."),
        ("Our vet is Dr. Amari.", "Our vet is Amari."),
        ("My friend is Anna.", "My friend is Brigitte."),
        ("The freezer is in the cellar.", "The freezer is in the house."),
        ("The depot is in Graz.", "The depot is in Austria."),
        ("Jan is in Paris this week.", "Jan is in Rome this week."),
        ("The rope is long.", "The rope is thin."),
        ("The gutters are copper.", "The gutters are metal."),
        ("Omar is a baker.", "Omar is a father."),
        ("Mara works for Acme.", "Mara joined the Arden Rowing Club."),
        ("Mara works for Acme.", "Mara joined Tom for lunch."),
        ("The desk of Ida is in Linz.", "The desk of Omar was moved from Linz to Graz."),
        ("Field 7 is sown with barley.", "Field 8 is sown with oats."),
        ("The soup was salty.", "The soup is sweet."),
        ("Omar and Ana own the invoicing desk.", "Ana took over the billing desk from Omar."),
        ("Cargo hold 2 is empty.", "Cargo hold 3 is empty."),
    ],
)
def test_another_subject_a_part_or_a_spelling_is_none(one: str, other: str) -> None:
    """Nor a country beside its town."""
    assert found(said("a", one), said("b", other, 5)) == []


def test_scopes_authors_programs_and_times_are_kept_apart() -> None:
    """Two users' "I"; what a program says of itself; what held at another time."""
    mine, other = "I live in Oslo.", "I live in Bergen."
    assert found(said("a", mine, author="ann"), said("b", other, 5, author="ben")) == []
    assert found(said("a", mine, author="assistant"), said("b", other, 5, author="assistant")) == []
    assert found(said("a", mine, scope="one"), said("b", other, 5, scope="two")) == []
    assert found(said("a", mine, valid_to=TAKEN_AT + timedelta(days=1)), said("b", other, 62)) == []
    assert len(found(said("a", mine, author="ann"), said("b", other, 5, author="ann"))) == 1


@pytest.mark.usefixtures("every_rule_decides")
def test_a_statement_that_says_it_is_new_replaces_those_before() -> None:
    """Under any policy, all that went before and nothing that came after; a longer memory is for a person."""
    memories = (
        said("a", "Mara lives in Oslo."),
        said("b", "Mara is based in Oslo.", 3, importance=0.9),
        said("c", "Mara moved to Bergen.", 9),
    )
    for policy in ("evidence_weighted", "source_precedence", "keep_newest"):
        winners = decided(*memories, policy=policy)
        assert [(winner, d.sure) for winner, d in winners] == [(uid("c"), True)] * 2
    assert "has changed" in winners[0][1].why
    longer = said("a", "Mara lives in Oslo. She has two cats.")
    assert [c.doubtful for c in found(longer, memories[2])] == [True]
    assert decided(longer, memories[2]) == []  # its sentence is marked


def test_without_a_word_of_change_a_person_decides() -> None:
    """Two may share a name; and of a relation with many objects none replaces another."""
    ((_, decision),) = decided(said("a", "Mara lives in Oslo."), said("b", "Mara lives in Bergen.", 9))
    assert not decision.sure
    towns = [said(str(n), f"Mara lives in {town}.", n) for n, town in enumerate(("Oslo", "Bergen", "Tromso", "Molde"))]
    assert all(c.doubtful for c in found(*towns, said("z", "Mara moved to Narvik.", 20)))
    assert found(said("a", "Mara moved to Bergen."), said("b", "Mara lives in Oslo.", 0))[0].doubtful


@pytest.mark.usefixtures("every_rule_decides")
def test_a_state_that_is_new_ends_the_one_before_and_marks_no_mention_of_its_word() -> None:
    """The attic is still there; without a word of change a person is asked, and nothing is marked."""
    old, new = said("a", "Mara's studio is in the attic."), said("b", "Mara's studio is in the garage now.", 5)
    assert [(winner, d.sure) for winner, d in decided(old, new)] == [(uid("b"), True)]
    assert other_values(world(old, new)).values == []
    doubted = other_values(world(old, said("b", "Mara's studio is in the garage.", 5)))
    assert [c.doubtful for c in doubted.conflicts] == [True]

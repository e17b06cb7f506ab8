"""Statements of the form "A is the R" about two holders: a role of one holder is asked about, a description of several is not."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from slowwave.operations.conflicts.decide import decide, read_sides, relations
from slowwave.operations.conflicts.find import find_conflicts
from slowwave.operations.conflicts.rows import Tally
from slowwave.operations.conflicts.values import value_conflicts
from slowwave.plans.questions import Conflict
from slowwave.store.settings import Settings
from tests.operations.conflicts.test_frames import memory as note
from tests.operations.conflicts.test_frames import world
from tests.snapshots import uid

ROLES = [
    ("Ilse is the duty officer.", "Marek is the duty officer now."),
    ("Ilse is the captain of the Dagny.", "Marek is the captain of the Dagny."),
    ("Ilse is the treasurer of the rowing club.", "Marek is the treasurer of the rowing club now."),
    (
        "Ilse Brandt is the chief executive of Kestrel Systems.",
        "Marek Novak is now the chief executive of Kestrel Systems.",
    ),
    ("The duty officer is Ilse.", "Marek is the duty officer now."),
    ("Ilse is the captain of the Dagny.", "Marek has taken over as captain of the Dagny."),
    ("Ilse is the head of the design team.", "Marek is the new head of the design team."),
    ("Ilse is our tax adviser.", "Marek is our tax adviser now."),
    ("PostgreSQL is the primary database.", "MySQL is the primary database now."),
    ("Ilse is the landlord of the mill.", "Marek is the landlord of the mill now."),
    ("Ilse is the user's dentist.", "Marek is the user's dentist now."),
    ("Ilse is the chair of the board.", "Marek became the chair of the board."),
    ("Ilse is the mayor of Turku.", "Marek is the mayor of Turku."),
    ("Ilse is the product owner for Lantern.", "Marek is the product owner for Lantern."),
    ("Kestrel Systems is the main supplier of the mill.", "Ostrava Glass is the main supplier of the mill now."),
    ("Ilse is the on-call engineer.", "Marek is the on-call engineer now."),
    ("Ilse is the lead of Project Reed.", "Marek is now the lead of Project Reed."),
    ("Ilse is the coach of the youth team.", "Marek is the coach of the youth team."),
    ("Ilse is the warden of the bird reserve.", "As of May, Marek is the warden of the bird reserve."),
    ("Ilse is the keeper of the spare key.", "Marek is the keeper of the spare key now."),
]
"""Pairs of statements of which the later one gives a role to somebody else."""

NO_ROLES = [
    ("Ilse is the best.", "Marek is the best."),
    ("Ilse is the best singer of the choir.", "Marek is the best singer of the choir."),
    ("Ilse is the reason the trip was late.", "Marek is the reason the trip was late."),
    ("Ilse is the one who waters the plants.", "Marek is the one who waters the plants."),
    ("Ilse is the kind of person who calls back.", "Marek is the kind of person who calls back."),
    ("Ilse is a member of the board.", "Marek is a member of the board."),
    ("Ilse is the member from the north.", "Marek is the member from the north."),
    ("Ilse is the friend from school.", "Marek is the friend from school."),
    ("Ilse is the same height as Ada.", "Marek is the same height as Ada."),
    ("Ilse is the funny one in the family.", "Marek is the funny one in the family."),
    ("Ilse is the most patient teacher at the school.", "Marek is the most patient teacher at the school."),
    ("Ilse is the neighbour with the dog.", "Marek is the neighbour with the dog."),
    ("Ilse is the colleague who sits by the window.", "Marek is the colleague who sits by the window."),
    ("Ilse is the first to arrive at the mill.", "Marek is the first to arrive at the mill."),
    ("Ilse is the guest of the club.", "Marek is the guest of the club."),
    ("Ilse is the sister of Ada.", "Vera is the sister of Ada."),
    ("Ilse is the child of Ada.", "Marek is the child of Ada."),
    ("Ilse is the owner of a boat.", "Marek is the owner of a boat."),
    ("Ilse is the author of a novel.", "Marek is the author of a novel."),
    ("Ilse is the captain of the Dagny.", "Marek is the captain of the Fulmar."),
    ("Ilse is the duty officer on Mondays.", "Marek is the duty officer on Fridays."),
    ("Ilse is the duty officer in Turku.", "Marek is the duty officer in Oslo."),
    ("Ilse was the duty officer.", "Marek is the duty officer."),
    ("Ilse is the deputy captain of the Dagny.", "Marek is the captain of the Dagny."),
    ("Ilse is the duty officer this week.", "Marek is the duty officer next week."),
    ("If Ilse is the duty officer, call her.", "Marek is the duty officer."),
    ("Is Ilse the duty officer?", "Marek is the duty officer."),
    ("Ilse might be the duty officer.", "Marek is the duty officer."),
    ("Ilse is not the duty officer.", "Marek is the duty officer."),
    ("Ilse is the talk of the village.", "Marek is the talk of the village."),
    ("Ilse is the winner of the race in May.", "Marek is the winner of the race in June."),
    ("Ilse is the life of the party.", "Marek is the life of the party."),
    ("Ilse is the spitting image of her mother.", "Marek is the spitting image of his mother."),
    ("Ilse is the co-founder of Kestrel.", "Marek is the co-founder of Kestrel."),
    ("Ilse is the right person for the job.", "Marek is the right person for the job."),
    ("Ilse is the tall man in the photo.", "Marek is the tall man in the photo."),
    ("Ilse is the parent of Piet.", "Marek is the parent of Piet."),
    ("Oslo is the place to be.", "Turku is the place to be."),
    ("Tea is the answer to everything.", "Coffee is the answer to everything."),
    ('Ada said: "Ilse is the duty officer."', "Marek is the duty officer."),
    ("Ilse and Vera are the duty officers.", "Marek is the duty officer."),
    ("Ilse Brandt is the duty officer.", "Ilse is the duty officer."),
    ("Ilse is the contact for invoices.", "Marek is the contact for orders."),
    ("Ilse is the hero of the story.", "Marek is the hero of the story."),
    ("Ilse is the player to watch.", "Marek is the player to watch."),
    ("Ilse is the student who asks most.", "Marek is the student who asks most."),
    ("Ilse is the person I trust most.", "Marek is the person I trust most."),
    ("Ilse is the love of my life.", "Marek is the pride of my life."),
]
"""Pairs of statements that may both be true, written before the rule."""


def holder(text: str) -> str:
    """Return the subject that an importer gives a statement: the name at its beginning, else its first noun."""
    named = re.match(r"[A-Z][\w-]*(?: [A-Z][\w-]*)*(?= (?:is|was|has|became|and|might)\b)", text)
    return named[0].casefold() if named else text.split()[0].casefold()


def found(*texts: tuple[str, int]) -> Sequence[Conflict]:
    return value_conflicts(world(*(note(text, day, subject=holder(text)) for text, day in texts)), Tally())


def compare(earlier: str, later: str, *, subjects: bool) -> Sequence[Conflict]:
    """Return the conflicts of two statements, whose subjects are their holders or empty."""
    one, two = (holder(text) if subjects else "" for text in (earlier, later))
    return value_conflicts(world(note(earlier, subject=one), note(later, 3, subject=two)), Tally())


@pytest.mark.parametrize("subjects", [True, False])
@pytest.mark.parametrize(("earlier", "later"), ROLES)
def test_another_holder_of_a_role_is_asked_about(earlier: str, later: str, subjects: bool) -> None:
    """The subject of such a memory is often its holder, so that no two memories about the role have the same one."""
    (conflict,) = compare(earlier, later, subjects=subjects)
    assert (conflict.reason, conflict.doubtful) == ("object", True)


@pytest.mark.parametrize("subjects", [True, False])
@pytest.mark.parametrize(("earlier", "later"), NO_ROLES)
def test_a_description_of_several_is_not_asked_about(earlier: str, later: str, subjects: bool) -> None:
    assert not compare(earlier, later, subjects=subjects)


FIRST, NEXT = ("Ilse is the captain of the Dagny.", 0), ("Marek is the captain of the Dagny.", 9)


def test_only_the_last_holder_before_is_asked_about() -> None:
    again = ("Ilse is the captain of the Dagny again.", 20)
    conflicts = found(FIRST, NEXT, ("Vera is the captain of the Dagny.", 20), again)
    assert {frozenset((c.a, c.b)) for c in conflicts} == {
        frozenset((uid("m0"), uid("m1"))),
        frozenset((uid("m1"), uid("m2"))),
    }


@pytest.mark.parametrize(
    "learnt",
    [
        [("Otto and Mara are the captains of the Fulmar.", 1)],
        [("Otto is the captain of the Fulmar.", 1), ("Mara is the captain of the Fulmar.", 1)],
    ],
)
def test_a_role_that_several_have_at_one_time_is_not_asked_about(learnt: list[tuple[str, int]]) -> None:
    """The namespace shows it for one ship, so it holds for the others as well."""
    assert found(FIRST, NEXT)
    assert not found(FIRST, NEXT, *learnt)


def test_news_on_one_day_do_not_show_that_several_have_a_role() -> None:
    assert len(found(FIRST, ("Marek is now the captain of the Dagny.", 0))) == 1


@pytest.mark.parametrize(
    "more",
    [{"author": "Mara"}, {"scope": "work"}, {"subject": "Piet"}],
)
def test_a_holder_is_not_compared_with_those_of_another_author_scope_or_matter(more: dict[str, object]) -> None:
    assert not value_conflicts(world(note(FIRST[0], subject="ilse"), note(NEXT[0], 9, **more)), Tally())


def test_my_role_is_compared_with_statements_of_the_same_speaker_only() -> None:
    mine = note("Ilse is my tax adviser.", author="user", kind="episodic")
    other = note("Marek is my tax adviser now.", 9, author="agent")
    assert not value_conflicts(world(mine, other), Tally())


CLUB, CLUB_NEXT = ("Ilse is the treasurer of the club.", 0), ("Marek is the treasurer of the club now.", 9)


@pytest.mark.parametrize("importance", [0.1, 0.8])
@pytest.mark.parametrize("policy", ["evidence_weighted", "keep_newest"])
def test_no_policy_decides_another_holder_alone(policy: str, importance: float) -> None:
    snapshot = world(*(note(text, day, importance=importance) for text, day in (CLUB, CLUB_NEXT)))
    (conflict,) = find_conflicts(snapshot, Settings()).conflicts
    assert conflict.pattern == "memories: role"
    limit = Settings(operations={"resolve_conflicts": {"low_importance": 0.3}})
    assert not decide(policy, conflict, read_sides(snapshot, [conflict], limit)).sure


def test_questions_about_one_role_have_one_relation() -> None:
    """Questions of one relation are one group, and a namespace can let the newest of it win."""
    snapshot = world(*(note(text, day) for text, day in (CLUB, CLUB_NEXT)))
    conflicts = find_conflicts(snapshot, Settings()).conflicts
    assert relations(conflicts[0], read_sides(snapshot, conflicts, Settings())) == ["… is the treasurer of"]

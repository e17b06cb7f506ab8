"""Notes that give one thing different figures in other words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from slowwave.operations.conflicts.memories import figure_conflicts
from slowwave.operations.conflicts.rows import Tally
from slowwave.plans.questions import Conflict
from tests.operations.conflicts.test_memories import memory, without_vectors, world
from tests.operations.conflicts.test_news import OLD, decided
from tests.snapshots import uid


def note(name: str, text: str, days: int = 0, **more: object) -> dict[str, object]:
    """A memory whose vector is near those of the other notes."""
    return memory(name, text, sum(name.encode()) % 7, subject="", valid_from=OLD + timedelta(days=days), **more)


def clash(*memories: dict[str, object]) -> list[Conflict]:
    return figure_conflicts(world(*memories), Tally())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Cache listens on port 6379.", "To reach the cache, connect to port 6380."),
        ("The grant application is due on 3 May.", "The grant application has to be in by 10 May."),
        ("Auth token ttl 1h", "Auth tokens expire after 15 minutes."),
        ("Driver 4.2.1 is installed.", "Driver 4.2.2 is installed."),
        ('The alarm "Unit 4" is set to 30 degrees.', 'The alarm "Unit 4" has been set to 35 degrees.'),
        ("Balance on the joint account: €3,200.", "There's €1,870 on the joint account."),
        ("Balance today (2026-10-05): €3,200.", "The balance of the account is €1,870 today (2026-10-05)."),
    ],
)
def test_another_figure_of_one_thing_is_for_a_person(one: str, other: str) -> None:
    """Without a word of change both may be true."""
    (conflict,) = clash(note("a", one), note("b", other, 5))
    assert (conflict.reason, conflict.doubtful) == ("number", True)


@pytest.mark.parametrize("later", ["Standup moved to 09:30.", "Standup is at 09:30."])
def test_notes_without_vectors_are_compared_by_their_words(later: str) -> None:
    rows = [note("a", "Standup is at 09:15."), note("b", later, 5)]
    (conflict,) = figure_conflicts(without_vectors(*rows), Tally())
    assert (conflict.reason, "similarity" in conflict.evidence) == ("time", False)
    assert figure_conflicts(without_vectors(rows[0], note("b", "Lunch moved to 09:30.", 5)), Tally()) == []


@pytest.mark.usefixtures("every_rule_decides")
def test_a_note_that_says_it_is_new_replaces_the_earlier_one() -> None:
    """Never the later one by the earlier."""
    old, new = "Passwords have at least 8 characters.", "Effective immediately, a password must have 14 characters."
    assert [(w, d.sure) for w, d in decided(note("a", old), note("b", new, 5))] == [(uid("b"), True)]
    assert all(c.doubtful for c in clash(note("a", old, 5), note("b", new)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Nora's budget is 300 euros.", "The budget of Nina is 400 euros."),
        ("The staging cache listens on port 6379.", "The production cache listens on port 6380."),
        ("I ran 5 km along the river yesterday.", "I run 8 km along the river."),
        ("Does the cache listen on port 6379?", "The cache listens on port 6380."),
        ("Cache listens on port 6379.", "The lease has 12 pages."),
        ("Field 7 is sown with barley.", "Field 8 is sown with oats."),
        ("We keep 12 spare relays in the cabinet.", "The relay cabinet now runs firmware 3.2."),
        ("The run of the sage is in the atlas under number 102.", "The sage is packed with 3 spares in dry air."),
        ("The kiln takes 3 hours.", "The kiln costs 30 euros now."),
        ("The gate closes at 18:00.", "The lamp closes the gap at 19:00."),
        ("Retries of the PDF worker: 4", "Retries of the email worker: 6"),
        ("The bill for the roof is over 300 euros.", "The bill for the roof is 340 euros."),
        ("Cache listens on port 6379.", "The cache is a container on port 6379 of the host."),
        ("The cache keeps 5 entries.", "The cache does not keep 5 entries."),
        ("Cache listens on port 6379. It is a container.", "To reach the cache, connect to port 6380."),
        ("The weather is awful today (2026-10-05).", "The weather is awful this week (2026-10-26/2026-11-01)."),
        ("Water the plants in room 4.", "We need to water the plants in room 5."),
        ("The museum opens at 10:00.", 'Translate this: "The museum opens at 11:00."'),
        ("The cache is full since last May (2026-05).", "The cache is full since a few days ago (about 2026-10-02)."),
    ],
)
def test_other_persons_places_times_and_questions_are_none(one: str, other: str) -> None:
    """Nor another thing, the same figure, or a note of several sentences."""
    assert clash(note("a", one), note("b", other, 5)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The wind limit of the crane is 20 m/s.", "The wind limit for the crane is 17 metres per second, by the way."),
        ("Cache listens on port 6379.", "To reach the cache, connect to port 6380."),
        ("Passwords have at least 8 characters.", "Effective immediately, a password must have 14 characters."),
    ],
)
def test_figures_of_two_speakers_about_one_thing_are_for_a_person(one: str, other: str) -> None:
    """Neither speaker corrects the other, whatever the words of change."""
    (conflict,) = clash(note("a", one, author="Ana"), note("b", other, 5, author="Ben"))
    assert (conflict.reason, conflict.doubtful, conflict.evidence.get("replaces")) == ("number", True, None)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I run 5 km along the river.", "I run 8 km along the river."),
        ("Our budget for the roof is 300 euros.", "The budget for the roof is 340 euros."),
        ("Your cache listens on port 6379.", "The cache listens on port 6380."),
        ("The inspection of the crane starts on 3 May.", "The inspection of the crane starts on 10 June."),
        ("The speed of the crane is 20 m/s.", "The crane needs 17 litres of oil."),
    ],
)
def test_speakers_of_themselves_and_of_other_days_are_none(one: str, other: str) -> None:
    """What each has is theirs, and a date may be that of another event."""
    assert clash(note("a", one, author="Ana"), note("b", other, 5, author="Ben")) == []


def test_figure_of_an_unnamed_author_is_compared_with_their_own_notes_alone() -> None:
    one, other = "Cache listens on port 6379.", "To reach the cache, connect to port 6380."
    assert clash(note("a", one, author=""), note("b", other, 5, author="Ben")) == []
    assert len(clash(note("a", one, author="Ben"), note("b", other, 5, author="Ben"))) == 1


def test_a_series_is_no_case() -> None:
    """What has had three figures has another one every time."""
    cranes = [note(str(n), f"The crane at the quay lifts {n} tons.", n) for n in range(3, 6)]
    assert len(clash(*cranes[:2])) == 1
    assert clash(*cranes) == []
    assert clash(*cranes[:2], {**cranes[2], "state": "merged"}) == []


def test_notes_far_apart_are_not_compared() -> None:
    """A word in common is not enough."""
    far = memory("b", "To reach the cache, connect to port 6380.", 90, subject="", valid_from=OLD + timedelta(days=5))
    assert clash(note("a", "Cache listens on port 6379."), far) == []

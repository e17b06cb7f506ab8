"""Conflicts of statements that give one subject another value: in turns and notes, of the same speaker, and never decided alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import permutations
from operator import itemgetter

import pytest

from slowwave.operations.conflicts.decide import decide, read_sides
from slowwave.operations.conflicts.find import ended_statements, find_conflicts
from slowwave.operations.conflicts.rows import Tally
from slowwave.operations.conflicts.values import value_conflicts
from slowwave.operations.planners.resolve_conflicts import resolve_conflicts
from slowwave.plans.questions import REASONS, Conflict
from slowwave.store.settings import Settings
from tests.operations.conflicts.test_frames import memory as note
from tests.operations.conflicts.test_frames import world
from tests.snapshots import TAKEN_AT, make_inputs, uid

VAASA = "The user's landlord is Ida Holm."
TURN = "My landlord is Otto Berg, so whom do I call about the heating?"


def turn(text: str, day: int = 0, **more: object) -> dict[str, object]:
    return note(text, day, **{"author": "user", "kind": "episodic", **more})


def found(*memories: dict[str, object]) -> Sequence[Conflict]:
    return value_conflicts(world(*memories), Tally())


def pairs(*memories: dict[str, object]) -> set[frozenset[object]]:
    return {frozenset((c.a, c.b)) for c in found(*memories)}


FIRST = {frozenset((uid("m0"), uid("m1")))}


@pytest.mark.parametrize("author", ["agent", "user"])
def test_a_turn_is_compared_with_the_notes_about_its_speaker(author: str) -> None:
    (conflict,) = found(note(VAASA, author=author), turn(TURN, 3))
    assert (conflict.reason, conflict.doubtful, conflict.pattern) == ("object", True, "memories: aligned")


def test_a_turn_is_compared_with_other_turns_of_its_speaker_only() -> None:
    first = turn("I live in Vaasa. Which gym is open?")
    later = "I live in Turku, so can you help me find a gym?"
    assert pairs(first, turn(later, 3)) == FIRST
    assert not found(first, turn(later, 3, author="Mara"))
    assert not found(first, turn(later, 3, author="assistant"))
    assert not found(first, turn(later, 3, scope="work"))


def test_a_thing_is_compared_in_a_turn_and_in_a_note_of_another_author() -> None:
    closes = note("The tide gate closes at 18:00.", author="agent")
    assert pairs(closes, turn("The tide gate closes at 19:00, can you plan that?", 3)) == FIRST
    assert not found(closes, note("The tide gate closes at 19:00.", 3, author="Mara"))


@pytest.mark.parametrize("importance", [0.1, 0.8])
@pytest.mark.parametrize("policy", ["evidence_weighted", "keep_newest"])
def test_no_policy_decides_an_alignment(policy: str, importance: float) -> None:
    snapshot = world(note(VAASA, author="user", importance=importance), turn(TURN, 3, importance=importance))
    (conflict,) = value_conflicts(snapshot, Tally())
    limit = Settings(operations={"resolve_conflicts": {"low_importance": 0.3}})
    assert not decide(policy, conflict, read_sides(snapshot, [conflict], limit)).sure


def test_correction_with_an_apology_is_a_conflict_and_no_note() -> None:
    """ "Sorry, that was wrong." states nothing that would be lost."""
    snapshot = world(turn("My dentist is Dr. Falk."), turn("Sorry, that was wrong. My dentist is Dr. Falkner.", 3))
    (conflict,) = find_conflicts(snapshot, Settings()).conflicts
    assert conflict.doubtful
    assert not ended_statements(snapshot)


def test_a_longer_memory_is_marked_instead_of_lost() -> None:
    """What else it states still holds."""
    snapshot = world(turn("My landlord is Ida Holm. I sing in the choir."), turn(TURN, 3))
    assert not find_conflicts(snapshot, Settings()).conflicts
    (ended,) = ended_statements(snapshot)
    assert (ended.sentence, ended.holds, ended.pattern) == ("My landlord is Ida Holm.", True, "frame")


def test_a_relation_that_another_statement_lists_takes_many() -> None:
    served = [note("The ferry calls at Vaasa.", 1), note("The ferry calls at Turku.", 5)]
    assert pairs(*served) == FIRST
    assert not found(*served, note("The barge calls at Kemi and Pori.", 7))


def test_a_relation_with_several_values_on_one_day_takes_many() -> None:
    served = [note("The ferry calls at Vaasa.", 1), note("The ferry calls at Turku.", 5)]
    barge = [note(f"The barge calls at {town}.", day) for town, day in (("Kemi", 1), ("Pori", 1), ("Oulu", 2))]
    assert not found(*served, *barge)


@pytest.mark.parametrize("amount", ["5 000 €", "5\u202f000 euros", "€5,000"])
def test_an_equal_amount_in_another_form_is_no_other_value(amount: str) -> None:
    first = note("The travel budget is €5,000." if "euros" in amount else "The travel budget is EUR 5,000.")
    assert not found(first, note(f"The travel budget is {amount}.", 3))
    assert pairs(note("The travel budget is €4,000."), note("The travel budget is €5,000.", 3)) == FIRST


@pytest.mark.parametrize("day", [0, 3])
def test_other_weekdays_are_asked_about_also_in_notes_of_one_day(day: int) -> None:
    tuesdays = note("Deploys happen on Tuesdays.")
    (conflict,) = found(tuesdays, note("Deploys happen on Thursdays.", day))
    assert (conflict.reason, conflict.doubtful) == ("polarity", True)
    assert not found(tuesdays, note("Backups happen on Thursdays.", day))
    assert not found(tuesdays, note("Deploys happen on Tuesdays and Thursdays.", day))
    assert not found(tuesdays, note("Deploys happen on Thursdays."), note("Deploys happen on Fridays."))


def test_news_are_asked_about_also_in_notes_of_one_day() -> None:
    """A statement that calls itself news comes after the other; without that, other words may be about something else."""
    desk = note("The desk of Ida Holm is in Turku.")
    assert pairs(desk, note("The desk of Ida Holm has been moved to Vaasa.")) == FIRST
    assert pairs(note("The desk of Ida Holm has been moved to Vaasa."), desk) == FIRST
    other = "The large desk of Ida Holm is in Vaasa."
    assert pairs(desk, note(other, 3)) == FIRST
    assert not found(desk, note(other))


def test_other_times_of_day_are_no_other_numbers() -> None:
    (conflict,) = found(note("The tide gate closes at 18:00."), note("The tide gate closes at 19:00.", 3))
    assert (conflict.reason, REASONS[conflict.reason]) == ("time", "state different times")


def test_news_in_other_words_are_asked_about_if_only_one_statement_can_be_meant() -> None:
    news = note("Project Reed has been handed to Otto Berg.", 5)
    lead = note("The lead of Project Reed is Ida Holm.", 1)
    assert pairs(lead, news) == FIRST
    assert not found(lead, news, note("The sponsor of Project Reed is Mara Lind.", 2))


def test_a_correction_is_compared_with_all_that_name_what_it_corrects() -> None:
    """However many words they share, if only one statement can be meant."""
    manager = note("The manager of Ida is Ada Lind.", 1)
    corrected = note("Correction: Ida reports to Otto Berg.", 5)
    assert pairs(manager, corrected) == FIRST
    assert pairs(note("The desk of Ida is in Vaasa.", 1), note("Actually, Turku, not Vaasa.", 5)) == FIRST
    assert not found(manager, note("The dentist of Ida is Mara Holm.", 2), corrected)


def test_who_appoints_holds_no_role() -> None:
    treasurer = note("The treasurer of Reed Systems is Ada Lind.", 1)
    assert pairs(treasurer, note("Reed Systems has appointed Otto Berg as its new treasurer.", 5)) == FIRST


def test_late_news_end_nothing_that_began_later() -> None:
    """The older statement is the one that is noted or lost, whichever words it has."""
    assert not found(
        note("Project Reed has been handed to Otto Berg.", 1), note("The lead of Project Reed is Ida Holm.", 5)
    )


def test_equal_words_in_many_statements_cost_no_more_than_a_sort() -> None:
    """A template with a running number proposes nothing."""
    assert not found(*(note(f"Crane {n} of the quay carries {n % 7} tons.", n % 60) for n in range(300)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("TODO: call the plumber about the sink.", "TODO: call the plumber about the boiler."),
        ("- [ ] renew the passport of Anna", "- [ ] renew the passport of Otto"),
        ("I must send the invoice to Mills.", "I must send the invoice to Berger."),
    ],
)
def test_tasks_with_another_object_exclude_nothing(one: str, other: str) -> None:
    """Both may be open, in memories that state something else as well too."""
    assert not pairs(note(one), note(other, 3))
    snapshot = world(turn(f"{one} The choir sings at noon."), turn(other, 3))
    assert not ended_statements(snapshot)


@pytest.mark.parametrize("ids", list(permutations(range(3))))
def test_value_that_holds_again_ends_the_one_between_from_its_own_start(ids: tuple[int, ...]) -> None:
    """The later of two rows with one text decides, whatever their ids."""
    rows = [("The valve of the north loop is open.", 1), ("The valve of the north loop is closed.", 5)]
    rows.append((rows[0][0], 9))
    since = [TAKEN_AT + timedelta(days=day - 90) for _, day in rows]
    memories = [(ids[n], note(text, valid_from=since[n])) for n, (text, _) in enumerate(rows)]
    snapshot = world(*(memory for _, memory in sorted(memories, key=itemgetter(0))))
    (item,) = resolve_conflicts(make_inputs(snapshot)).items
    assert [row.id for row in item.mutation.rows] == [uid(f"m{ids[1]}")]
    (until,) = (w.value for w in item.mutation.writes if w.cell.column == "valid_to")
    assert str(until)[:10] == since[2].date().isoformat()

"""Open items, the clauses that close them, and withdrawals of other statements."""

from __future__ import annotations

import pytest

from slowwave.text.closings import (
    MAY_WITHDRAW,
    closing_share,
    may_have_open_items,
    read_closings,
    read_open_items,
    read_withdrawals,
    withdrawn_sentence,
)

CLOSED = [
    ("TODO: renew the TLS certificate of the shop", "The TLS certificate of the shop was renewed on Tuesday"),
    ("Remind Ana to book the venue", "The venue is booked"),
    ("We need to migrate the ledger to PostgreSQL 16", "The ledger now runs on PostgreSQL 16, migration finished"),
    ("I have to call the dentist", "Called the dentist, appointment on the 12th"),
    ("Open issue: the export button is broken on Safari", "Export button on Safari is fixed since v2.3"),
    ("Ship the onboarding emails – still open", "Onboarding emails: done"),
    ("put oil the gate on my to do list", "I oiled the gate."),
    ("The north pump needs fixing", "The north pump works again."),
    ("The crane must be inspected", "The crane was inspected by Jon Dahl."),
    ("We need to order chairs for the workshop", "The chairs for the workshop are no longer needed."),
    ("Notify Rosa of the delay", "Rosa was notified of it."),
    ("Notify Rosa of the delay of the ferry", "Rosa was notified of the delay by Jon."),
    ("Notify Rosa of the delay of the ferry", "Jon notified Rosa of the delay."),
    ("Notify Rosa of her delay", "Rosa was notified of her delay."),
    ("I need to renew my passport", "The user renewed her passport."),
    ("I have to repair Ana's bicycle", "Jon repaired her bicycle."),
    ("We must translate chapter 3 of the manual", "Chapter 3 of the manual was translated by one of us."),
    ("Paint the gate", "The gate was painted on 3 of June."),
    ("Clean the windows", "Every window was cleaned."),
    ("Open issue: the export button is broken", "The export button was broken, but it works again."),
    ("Paint the gate", "The gate was painted, but in May we have to paint it again."),
]
OPEN = [
    ("TODO: renew the certificate of the shop", "The certificate of the portal was renewed."),  # another object
    ("I have to call the dentist", "I called the plumber."),
    ("Wash the dog", "The dog food arrived."),
    ("We should drop support for Python 3.8", "We dropped support for Python 3.7."),  # another number
    ("Rotate the keys of the depot", "The keys of the depot expired."),  # another action
    ("Notify Rosa of the delay", "Rosa will be notified of the delay."),  # a plan
    ("Notify Rosa of the delay", "Rosa has not been notified of the delay yet."),
    ("Notify Rosa of the delay", "Was Rosa notified of the delay?"),
    ("Notify Rosa of the delay", "was Rosa notified of the delay"),
    ("Translate the manual", "The manual is partly translated."),
    ("Merge the fix of the login", "The fix of the login is in review."),
    ("I want to learn to drive", "My sister learned to drive."),
    ("Set up the printer", "set up the printer"),  # the order again
    ("I need to paint the gate", "I painted the gate two years ago."),
    ("I have to repaint the garden fence", "The neighbour repainted his old garden fence."),
    ("I need to renew my passport", "Clara renewed her passport."),
    ("We must vaccinate the calves", "The neighbours vaccinated their calves."),
    ("Translate the user manual", "We have translated three of the nine chapters of the user manual."),
    ("Paint the gates", "2 of the gates were painted."),
    ("Refund Mr. Sato", "I think Mr. Sato was refunded, but I am not sure."),
    ("Refund Mr. Sato", "Mr. Sato was probably refunded."),
    ("Lock the north door", "The north door is locked at ten every evening."),
    ("Lock the north door", "The north door is usually locked."),
    ("Clean the lens", "The lens was cleaned, but it is dirty again."),
]
NONE = [
    "You should visit the mill.",
    "Maybe we should paint the gate.",
    "We have to keep all logs.",
    "Do not paint the gate.",
    "do i have to paint the gate",
    "Export Settings",
    "Paint is expensive.",
    "It will rain in the valley.",
]
WITHDRAWN = [
    ("We pinned the solver to 5.4 for the annealing job.", "The pin was taken back; 6.1 handles it."),
    ("Deployments are frozen until Monday.", "We lifted the freeze on deployments on Tuesday."),
    ("Visitors must carry lamps in the east wing.", "The lamp requirement in the east wing was rescinded."),
    ("The lease of the barn was extended.", "The extension of the barn's lease has been withdrawn."),
    ("The permit was renewed.", "The renewal of the permit was rolled back."),
    ("We upgraded the firmware of the crane.", "We had to undo the upgrade of the crane's firmware."),
    ("Notice: crane 4 is out of order.", "The notice about crane 4 no longer applies."),
    ("The fair is on Friday.", "Friday's fair was called off."),
    ("Crate 712 is closed.", "Crate 712 has been reopened."),
    ("The survey was cancelled.", "They reopened the survey."),
    ("The museum is closed.", "The museum reopened under a new roof."),
    ("The beta test ends in June.", "The beta-test was cancelled."),
    ("The lease is cheap.", "Ana cancelled the lease after the storm."),
    ("Jon has the depot.", "Jon handed over the depot to Rosa."),
    ("Igor owns the boiler room.", "Rosa took over the boiler room from Igor."),
    ("TODO (Igor): write the rota.", "The rota has been reassigned to Rosa."),
    ("Jon is on call for the crane depot.", "Jon handed the crane depot over to Rosa."),
]
HOLDS = [
    ("We pinned the solver to 5.4.", "The pin of the renderer was taken back."),  # another object
    ("The freeze on deployments is new.", "We lifted the freeze on hiring."),
    ("Notice: crane 4 is out of order.", "The notice about crane 5 no longer applies."),  # another number
    ("The fair is on Friday.", "Monday's fair was called off."),  # another day
    ("The freeze is new.", "The freeze will be lifted."),  # a plan
    ("The freeze is new.", "The freeze was never lifted."),
    ("The freeze is new.", "The freeze was partly lifted."),
    ("The freeze will be lifted on Monday.", "The freeze was lifted."),  # the plan of it
    ("There is no freeze.", "The freeze was lifted."),
    ("We shipped the lamps before the freeze.", "The freeze was lifted."),  # mentioned only
    ("The boat is red.", "The boat was lifted out of the water."),  # moved in space
    ("Arguments are sorted by name.", "The sort works with reversed arguments."),  # no deed
    ("I booked a flight to Oslo.", "Her flight to Oslo was cancelled."),  # another person
    ("The museum is large.", "The museum reopened."),  # it was not closed
    ("Jon wrote the rota.", "The rota was reassigned to Rosa."),  # a deed, not a holder
    ("The rota is written by Rosa.", "The rota was reassigned to Rosa."),  # the same holder
    ("Igor owns the rota.", "Rosa took over the rota from Jon."),  # another holder
    ("Igor owns the rota.", "The rota was transferred to paper."),
]


def share(task: str, later: str) -> float:
    return max((closing_share(i, c, {}) for i in read_open_items(task) for c in read_closings(later)), default=0.0)


@pytest.mark.parametrize(("task", "later"), CLOSED)
def test_a_later_clause_closes_a_task(task: str, later: str) -> None:
    assert may_have_open_items([task]) == [True]
    assert share(task, later) > 0.5


@pytest.mark.parametrize(("task", "later"), OPEN)
def test_another_object_number_action_person_doubt_habit_or_open_end_closes_nothing(task: str, later: str) -> None:
    assert read_open_items(task)
    assert not share(task, later)


def withdrawn(earlier: str, later: str) -> list[str]:
    assert MAY_WITHDRAW.search(later)
    return [sentence for one in read_withdrawals(later) if (sentence := withdrawn_sentence(earlier, one))]


@pytest.mark.parametrize(("earlier", "later"), WITHDRAWN)
def test_a_later_clause_withdraws_reopens_or_reassigns(earlier: str, later: str) -> None:
    assert withdrawn(f"The mill is old. {earlier}", later) == [earlier]


@pytest.mark.parametrize(("earlier", "later"), HOLDS)
def test_another_object_number_day_holder_plan_denial_or_movement_withdraws_nothing(earlier: str, later: str) -> None:
    assert not withdrawn(earlier, later)


def test_words_of_two_letters_are_read_for_withdrawals() -> None:
    assert not withdrawn("AL and UK are codes.", "The al was cancelled by UK-al.")


@pytest.mark.parametrize("text", NONE)
def test_advice_rules_denials_questions_and_headings_are_no_tasks(text: str) -> None:
    assert not read_open_items(text)


def test_a_closing_with_the_verb_of_the_task_counts_more() -> None:
    assert share("Paint the gate", "The gate was painted.") > share("Paint the gate", "The gate is done.") == 1.0


def test_column_of_texts_is_searched_as_each_text_is() -> None:
    """Beyond some hundred texts, another library searches the column first."""
    texts = [
        "I’ll call Ana.",
        "[ ] wash the car",
        "The gate OUGHT TO be painted.",
        "Купить: TODO",
        "The gate is red.",
        "Buy milk.",
    ]
    many = [*texts, *(f"The gate number {n} is red." for n in range(600))]
    assert may_have_open_items(many) == [may_have_open_items([text]) == [True] for text in many]
    assert may_have_open_items(many)[:6] == [True, True, True, True, False, True]

"""Clauses that give one subject another value in other words, and pairs that look like them."""

from __future__ import annotations

import pytest

from slowwave.text.alignment import are_other_tasks, other_stated_value, read_propositions


def aligned(earlier: str, later: str) -> bool:
    pairs = [(one, other) for one in read_propositions(earlier) for other in read_propositions(later)]
    return any(other_stated_value(one, other) for one, other in pairs)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The desk of Ida Holm is in Turku.", "The desk of Ida Holm has been moved to Vaasa."),
        ("The head of the choir is Ada Lind.", "Otto Berg is the head of the choir."),
        ("The tide gate closes at 18:00.", "The tide gate closes at 19:00."),
        ("The hotline answers within 2 hours.", "The hotline answers within 4 hours."),
        ("The budget of Project Reed is 400 euros.", "The budget of Project Reed was cut to 300 euros."),
        ("Project Reed: budget 400 euros", "The budget of Project Reed is 300 euros."),
        ("The relay listens on port 7070.", "relay port=7171"),
        ("The walls of the hall are olive green.", "Correction: the walls of the hall are slate grey."),
        ("The code of the shed is 5521.", "Sorry, that was wrong. The code of the shed is 5512."),
        ("The code of the shed is 5521.", "No, the code of the shed is 5512."),
        ("My instructor is Ada Lind.", "Actually, my instructor is Otto Berg, not Ada Lind."),
        ("Ida works for Reed Systems.", "Ida started at Holm Freight last week."),
        ("I'm a welder.", "I've trained as a nurse."),
        ("Case 4117 is assigned to Ada Lind.", "Case 4117 has been reassigned to Otto Berg."),
        ("Ada Lind manages Ida.", "The manager of Ida is Otto Berg."),
        ("The crew is coached by Ada Lind.", "The coach of the crew is Otto Berg."),
        ("The treasurer of Reed Systems is Ada Lind.", "Reed Systems has appointed Otto Berg as its new treasurer."),
        ("Norrland Steel CFO Ada Lind", "Norrland Steel CFO Otto Berg"),
        ("home: Vaasa", "home: Turku"),
        ("We sell the Dune tent for 40 euros.", "The price of the Dune tent was changed to 45 euros."),
        ("The state of job 4117 is queued.", "Job 4117 has been set to waiting."),
        ("job 4117 [queued]", "Correction: job 4117 is paused."),
        ("The crew meets at 09:30.", "Actually, the crew meets at 10:30, not 09:30."),
        ("The desk of Ida is in room 2.", "Actually, room 4, not room 2."),
        ("The harp lesson is on Tuesdays at 16:30.", "The harp lesson has been moved to Thursdays at 17:00."),
        ("I live in Vaasa, in a small flat near the canal.", "I live in Turku."),
        ("The crew trains on Mondays and Fridays.", "The crew trains on Tuesdays and Sundays."),
    ],
)
def test_another_value_in_a_note_is_aligned(earlier: str, later: str) -> None:
    assert aligned(earlier, later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I live in Vaasa.", "I live in Turku, so can you help me find a gym?"),
        ("I am visiting Ida, who lives in Vaasa. What is open?", "Ida lives in Turku."),
        ("The tide gate closes at 18:00.", "I walked past the tide gate and it closes at 19:00. Can you plan that?"),
        ("The shelf costs 40 euros.", "I looked at the label, the shelf costs 45 euros. Is that fair?"),
        ("The captain of the Reed is Ada Lind.", "I met Otto Berg, the captain of the Reed. What could I give him?"),
        ("Ida leads Project Reed.", "We had the kickoff for Project Reed and Otto is leading it, please note that."),
        ("I rent a flat in Vaasa, that is where I live.", "I rent a flat in Turku."),
        ("My favourite port is Vaasa.", "It rains. My favourite port is Turku, which train should I take?"),
        ("Our staging database is Postgres 14.", "Our staging database was upgraded to Postgres 16."),
    ],
)
def test_another_value_in_a_clause_of_a_turn_is_aligned(earlier: str, later: str) -> None:
    assert aligned(earlier, later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Ida works for Reed Systems.", "Ida no longer works for Reed Systems."),
        ("Ida moved to Vaasa last week.", "Ida no longer lives in Vaasa."),
        ("Ida tel 555 0178", "The number 555 0178 of Ida is out of service."),
        ("I eat vegan. Can you suggest a dinner?", "I no longer eat vegan."),
        ("Runa is allergic to walnuts.", "Correction: the walnut allergy is not Runa's."),
        ("Ada Lind plays the violin.", "Sorry, that was wrong. Ada Lind does not play the violin."),
    ],
)
def test_a_withdrawn_value_is_aligned_with_the_clause_that_states_it(earlier: str, later: str) -> None:
    assert aligned(earlier, later)


HYPOTHETICAL = [
    ("I live in Vaasa.", "If I lived in Turku, would I need a car?"),
    ("I live in Vaasa.", "If I moved to Turku, I live in the wrong town for my job."),
    ("I live in Vaasa.", "Imagine I live in Turku. Which gym would I join?"),
    ("I live in Vaasa.", "Suppose I live in Turku: how far is the sea?"),
    ("The tide gate closes at 18:00.", "What if the tide gate closes at 19:00?"),
    ("The tide gate closes at 18:00.", "The tide gate would close at 19:00 in a storm."),
    ("The tide gate closes at 18:00.", "Unless it freezes, the tide gate closes at 19:00."),
]
QUOTED = [
    ("I live in Vaasa.", 'My aunt wrote "I live in Turku", what do I answer?'),
    ("The tide gate closes at 18:00.", "The exercise reads: “The tide gate closes at 19:00.”"),
    ("The tide gate closes at 18:00.", "Somebody says the tide gate closes at 19:00."),
    ("The tide gate closes at 18:00.", "There is a rumour that the tide gate closes at 19:00."),
]
UNREAL = [
    ("I live in Vaasa.", "I dreamt that I live in Turku."),
    ("I live in Vaasa.", "In my novel I live in Turku, so describe the harbour."),
    ("My boss is Ida.", "A joke: my boss is Otto."),
]
CODE = [
    ("The relay listens on port 7070.", "```\nthe relay listens on port 9090\n```\nWhat is this?"),
    ("The relay listens on port 7070.", "For example, the relay listens on port 9090."),
    ("From X to Y.", "From X to Z."),
]
LISTED = [
    ("Ida lives in Vaasa.", "Ida lives in Turku and Vaasa."),
    ("Ida speaks Danish.", "Ida also speaks Korean."),
    ("Ida speaks Danish.", "Ida speaks Korean."),
    ("Ida is fluent in Danish.", "Ida is fluent in Korean."),
    ("The reader supports CSV.", "The reader supports XML."),
    ("Ida plays the harp.", "Ida has started to play the cello."),
    ("I visited Vaasa.", "I visited Turku."),
    ("A supplier of the mill is Reed Systems.", "A supplier of the mill is Holm Foods."),
]
OTHERS = [
    ("I live in Vaasa.", "My sister lives in Turku, can you find a hotel?"),
    ("Ida lives in Vaasa.", "Otto lives in Turku."),
    ("The north office closes at 18:00.", "The south office closes at 19:00."),
    ("The desk of Ida is in Vaasa.", "The desk of Otto has been moved to Turku."),
    ("The support team meets in room Maple.", "The design team has switched to room Cedar for its meetings."),
    ("The address of order B-318 is 7 Orchard Road.", "The address of order C-452 is 7 Orchard Road."),
    ("I got the resizer running, it listens on port 9160.", "The search gateway now listens on port 8042."),
    ("The region of the mail relay is Turku.", "The export worker is no longer hosted in Turku."),
    ("Project Ada Lind is led by Otto Berg.", "Project Ida Holm is led by Otto Berg."),
    ("The contact for Reed Systems is Berg Freight.", "The contact for Holm Systems is Berg Freight."),
    ("I need a present for Ida before October.", "I need a present for Otto before May."),
    ("I've been looking for a cellist.", "I've been learning a new dance."),
    ("I've been working in my current mill for years.", "Actually, there's been a leak in a boat of my mill."),
]
PLANS = [
    ("I live in Vaasa.", "I wanted to move to Turku."),
    ("I live in Vaasa.", "I plan to move to Turku next year, so can you find a flat?"),
    ("The tide gate closes at 18:00.", "We considered that the tide gate closes at 19:00."),
    ("The tide gate closes at 18:00.", "The tide gate closed at 19:00 yesterday."),
    ("On duty this week is Ada.", "On duty this week is Otto."),
    ("The harp lesson is on Tuesdays at 16:30.", "The harp lesson has been moved to the attic at 17:00."),
]
OTHER_RELATIONS = [
    ("The tide gate opens at 18:00.", "The tide gate closes at 19:00."),
    ("Ida works for Reed Systems.", "Ida has moved to Turku."),
    ("The budget of Project Reed is 400 euros.", "The fine of Project Reed is 300 euros."),
    ("The team + Otto Berg", "The team has switched to room Cedar for its meetings."),
    ("Croatia has a king.", "Croatia does not have a queen."),
    ("tell me something about elephants", "tell me something about dogs"),
    ("You're welcome, Ida.", "You're welcome, Otto."),
]


QUESTIONS = [
    ("what's that song that is playing now", "what's that song on the speaker now"),
    ("can you find a flight to Vaasa on the 3rd", "can you find a flight to Vaasa on the 7th"),
]
ORDERS = [
    ("Lend Ida Holm the Steam Iron.", "Lend Ida Holm the Garden Hose."),
    ("Smoke alarm at Oil Jetty: 7 boxes of fish are warm.", "Smoke alarm at Lorry Park: 6 boxes of fish are warm."),
    ("We all meet at Rose Hall.", "We all meet at Corner Pool."),
    ("The inspector liked the guard rail at Reed Head.", "The inspector liked the guard rail at Import Gate."),
]
ANOTHERS = [
    ("Ida works for Reed Systems.", "Ida no longer works for Holm Systems."),
    ("Ida works for Reed Systems.", "Otto no longer works for Reed Systems."),
]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        *ORDERS,
        *QUESTIONS,
        *ANOTHERS,
        *HYPOTHETICAL,
        *QUOTED,
        *UNREAL,
        *CODE,
        *LISTED,
        *OTHERS,
        *PLANS,
        *OTHER_RELATIONS,
        ("Runa is allergic to walnuts.", "The walnut allergy is not Runa's."),
        ("Runa is allergic to walnuts.", "Correction: the walnut allergy is not Tove's."),
        ("Ada Lind lives in Oslo.", "Correction: Ada Lind does not live in Bergen."),
        ("Job 4117 is queued.", "Correction: job 4359 is paused."),
        ("languages: Danish", "languages: Finnish"),
        ("I need my pin number for my account at the port.", "I need a new pin on my account."),
        ("Ada is leading it.", "We had the kickoff for Project Reed and Otto is leading it."),
        ("The lead of Project Holm is Ada.", "We had the kickoff for Project Reed and Otto is leading it."),
        ("The depot of Holm Freight is in Turku.", "I bought a tent in Vaasa."),
        ("I live in Vaasa.", "Actually, Turku, not Oslo."),
    ],
)
def test_clauses_that_may_both_be_true_are_not_aligned(earlier: str, later: str) -> None:
    assert not aligned(earlier, later)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("TODO: order a desk for the lobby.", "TODO: order a desk for the library."),
        ("TODO: call the plumber about the sink.", "TODO: call the plumber about the boiler."),
        ("TODO: fix the leak in the east wing.", "TODO: fix the leak in the west wing."),
        ("- [ ] renew the passport of Anna", "- [ ] renew the passport of Otto"),
        ("Water the plants in room 4.", "Water the plants in room 5."),
        ("We need to renew the certificate of the portal.", "We still have to renew the certificate of the shop."),
        ("Otto must send the invoice to Mills.", "Otto must send the invoice to Berger."),
        ("Remember to oil the hinges.", "Don't forget to oil the chain."),
    ],
)
def test_tasks_with_another_object_are_other_tasks(one: str, other: str) -> None:
    assert are_other_tasks(one, other)
    assert are_other_tasks(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We need to leave at 7.", "We need to leave at 8."),  # a time
        ("TODO: send the report by Monday.", "TODO: send the report by Friday."),
        ("We have to leave the flat by 5 May.", "We have to leave the flat by 9 May."),
        ("TODO: pay the rent of 900 euros.", "TODO: pay the rent of 950 euros."),  # an amount
        ("Buy two bottles of milk.", "Buy three bottles of milk."),
        ("We need to hire 2 painters.", "We need to hire 3 painters."),
        ("Let's paint the kitchen blue.", "Let's paint the kitchen green."),  # a result
        ("TODO: move the desk to the hall.", "TODO: move the desk to the loft."),
        (
            "The deadline of the build must be 5 May.",
            "The deadline of the build must be 7 May.",
        ),  # a statement or a rule
        ("Visitors must enter by the north gate.", "Visitors must enter by the south gate."),
        ("We have to use Postgres for the ledger.", "We have to use MySQL for the ledger."),
        ("Reply to users in English.", "Reply to users in German."),
        ("TODO: the code of the shed is 5521.", "TODO: the code of the shed is 5512."),
        ("Inside the hall Ada runs the bar.", "Inside the hall Otto runs the bar."),
        ("TODO: open the valve.", "TODO: close the valve."),  # another verb
        ("TODO: oil the hinges.", "TODO: oil the hinges of the gate."),
        ("TODO: oil the hinges.", "TODO: oil the hinges."),
        ("I need to oil the hinges. The key is in room 4.", "I need to oil the hinges. The key is in room 5."),
    ],
)
def test_times_amounts_results_and_rules_are_no_other_tasks(one: str, other: str) -> None:
    assert not are_other_tasks(one, other)

"""Which plain sentences state a relation that takes one object, and which only look like it."""

from __future__ import annotations

import pytest

from slowwave.text.relations import SELF, StatedRelation, stated_relations


@pytest.mark.parametrize(
    ("text", "subject", "relation", "object_", "change"),
    [
        ("Mara lives in Oslo.", "mara", "lives in", "oslo", False),
        ("Mara Lind is now based in Bergen, near the harbour.", "mara lind", "lives in", "bergen", True),
        ("In early spring Mara moved from Oslo to Bergen with her cats.", "mara", "lives in", "bergen", True),
        ("The user lives in Porto since 2021.", SELF, "lives in", "porto", True),
        ("I've moved to Berlin.", SELF, "lives in", "berlin", True),
        ("My sister lives in Rome.", f"{SELF}: sister", "lives in", "rome", False),
        ("Alice works for the Globex group.", "alice", "works for", "globex group", False),
        ("Alice joined Globex in March", "alice", "works for", "globex", True),
        ("Carmela got hired by Globex last week.", "carmela", "works for", "globex", True),
        ("Percival is a beekeeper now, quite a change.", "percival", "works as", "beekeeper", True),
        ("Omar is a bookkeeper.", "omar", "works as", "bookkeeper", False),
        ("Omar works as a translator.", "omar", "works as", "translator", False),
        ("Jonas leads the platform team.", "platform team", "is led by", "jonas", False),
        ("Petra Lang is the new head of the platform team", "platform team", "is led by", "petra lang", True),
        ("Petra took over the platform team.", "platform team", "is led by", "petra", True),
        ("The tax report is due on Friday.", "tax report", "is due", "friday", False),
        (
            "The tax report was sent. The tax report has been postponed to 12 May.",
            "tax report",
            "is due",
            "12 may",
            True,
        ),
        ("Invoice 118 is due on 4 May.", "invoice 118", "is due", "4 may", False),
        ("Due date of invoice 118 was pushed from 4 May to 2 June.", "invoice 118", "is due", "2 june", True),
        ("Omar now goes to Brookfield Academy.", "omar", "goes to school at", "brookfield academy", True),
        ("Omar is married to Ana.", "omar", "is married to", "ana", False),
        ("My dog is called Rex.", f"{SELF}: dog", "is called", "rex", False),
        ("Percival works as a welder.", "percival", "works as", "welder", False),
        ("By profession Hamish is an illustrator.", "hamish", "works as", "illustrator", False),
        ("I'm a dentist by trade.", SELF, "works as", "dentist", False),
        ("I've switched careers: I'm a welder these days.", SELF, "works as", "welder", True),
        (
            "My son goes to Hillside Primary, so which bus stop is closest?",
            f"{SELF}: son",
            "goes to school at",
            "hillside primary",
            False,
        ),
        ("Good morning, my name is Emily and I would like to row.", SELF, "name", "emily", False),
        ("Omar left Acme and works for Globex now.", "omar", "works for", "globex", True),
        ("I quit Acme; from now on I work for Globex.", SELF, "works for", "globex", True),
        ("My favourite colour is now green.", SELF, "favorite color", "green", True),
        ("Anna's phone number is 555 0199.", "anna", "phone number", "555 0199", False),
        ("The budget for Atlas is 40k", "atlas", "budget", "40k", False),
        ("The capital of Freedonia is Sylvania.", "freedonia", "capital", "sylvania", False),
    ],
)
def test_what_is_stated(text: str, subject: str, relation: str, object_: str, change: bool) -> None:
    """Subject and object as keys; a verb or a word of change says that it is new."""
    assert stated_relations(text) == (StatedRelation(subject, relation, object_, change),)


def test_what_is_stated_of_several_is_stated_of_each() -> None:
    """Each of them may have lived elsewhere."""
    assert [r.subject for r in stated_relations("Omar, Ana and Petra have moved to Bergen.")] == [
        "omar",
        "ana",
        "petra",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Does Mara live in Oslo?",
        "If Mara lives in Oslo, we meet there.",
        "Mara does not live in Oslo.",
        "Mara used to live in Oslo.",
        "Mara wants to move to Oslo.",
        "Mara would have moved to Oslo.",
        "She lives in Oslo.",
        "Omar called from Oslo.",
        "Omar called Ana.",
        "Omar is a fan of jazz.",
        "Omar is a mother's boy.",
        "Mara joined a book club in the old library and had a great discussion about novels.",
        "Mara joined a nearby choir to feel closer to her neighbours.",
        "Mara joined a group of hikers who share her interest in mountains.",
        "Mara joined the Arden Rowing Club.",
        "Mara joined Tom for lunch.",
        "Mara joined us at noon.",
        "Mara moved to marketing.",
        "Mara moved to the next chapter.",
        "Tom works at home.",
        "I work at night.",
        "The meeting is set for Monday.",
        "Follow-up is due by Friday.",
        "My boss is very demanding.",
        "Everything lives in there.",
        "",
    ],
)
def test_what_is_not(text: str) -> None:
    """Questions, hypotheses, denials, wishes, the past; pronouns, and nouns of which there may be many."""
    assert stated_relations(text) == ()


def test_of_one_relation_the_last_statement_counts() -> None:
    """As a text corrects itself."""
    found = stated_relations("Mara lives in Oslo. Alice works for Acme. Mara moved to Bergen.")
    assert [(r.subject, r.object) for r in found] == [("mara", "bergen"), ("alice", "acme")]


@pytest.mark.slow
@pytest.mark.timeout(60)  # a pattern that goes back over the text takes far longer
@pytest.mark.parametrize(
    "piece",
    [
        "Mara lives in ",
        "Aa ",
        "my a ",
        "moved from a ",
        "A.",
        "the a is ",
        " and",
        "'s name is ",
        "I am a ",
        " and works ",
        "x; ",
    ],
)
def test_hostile_text_costs_time_in_proportion_to_its_length(piece: str) -> None:
    """Memory text is untrusted."""
    stated_relations((piece * 100_000)[:200_000])


def test_what_was_told_later_and_stands_beside_is_no_part_of_a_statement() -> None:
    """Its words of change are the later one's."""
    (stated,) = stated_relations("Mara lives in Oslo (later, on 2026-02-11: “Mara lives in Bergen now”).")
    assert (stated.object, stated.change) == ("oslo", False)
    (somebody,) = stated_relations("Bastian lives in Oslo.")
    assert somebody.subject == "bastian"

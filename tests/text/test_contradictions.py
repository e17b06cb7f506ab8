"""Statements about one thing: those that cannot both be true, and the many that can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slowwave.text.contradictions import find

FEVER = Path(__file__).parents[3] / "shared/data/contradictions_dev/fever_symmetric_dev.jsonl"


def kind(a: str, b: str) -> str | None:
    """The same from both sides."""
    one, two = find([(a, b), (b, a)])
    assert one == two
    return one


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("20 metres per second", "17 metres per second", "number"),
        ("The berth takes 40 tonnes a call.", "The berth takes 90 tonnes a call.", "number"),
        ("At most 40 tonnes of fuel a call.", "At most 90 tonnes of fuel a call.", "number"),
        ("04:30", "05:15", "time"),
        ("Deploys happen on Tuesdays.", "Deploys happen on Thursdays.", "polarity"),
        ("Deploys happen on Tuesdays.", "Deploys happen on Thursday.", "polarity"),
        ("Tom Okafor works from Lagos.", "Tom Okafor works from Berlin.", "object"),
        ("The contract runs until 2027-03-31.", "The contract runs until 2027-09-30.", "date"),
        ("always", "never", "polarity"),
        ("true", "false", "polarity"),
        ("Mara works for Acme.", "Mara does not work for Acme.", "polarity"),
        ("Mara no longer works for Acme.", "Mara works for Acme.", "polarity"),
        ("The tin films are stable in dry air.", "The tin films are not stable in dry air.", "polarity"),
        ("He is the drummer of the band.", "He never drummed in that band.", "polarity"),
        ("The probe is a German film about the sea.", "The probe is an American film by Mara Reyes.", "polarity"),
        ("Seohyun is a South Korean singer and actress.", "Seohyun is a dog.", "object"),
        ("The film was directed by Mara Reyes in Porto.", "The film was directed by Tom Okafor in Porto.", "object"),
        ("My sister lives in Porto.", "My sister lives in Denver.", "object"),
        ("I work at Acme.", "I work at Borealis Labs.", "object"),
        ("My dog is called Rex.", "My dog is called Bruno.", "object"),
        ("I prefer tea over coffee.", "I prefer coffee over tea.", "object"),
        ("I prefer tea over coffee.", "These days I prefer coffee over tea.", "object"),
        ("Tom is older than Mara.", "Mara is older than Tom.", "object"),
        ("We redecorated the attic in spring.", "We redecorated the pantry in spring.", "object"),
        ("Nadia trained as a dentist.", "Nadia trained as a tailor.", "object"),
        ("The bread on the table is fresh.", "The bread on the table is stale.", "polarity"),
        ("The train departed at nine.", "The train arrived at nine.", "polarity"),
    ],
)
def test_statements_that_exclude_each_other(a: str, b: str, expected: str) -> None:
    """The kind says in what."""
    assert kind(a, b) == expected


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("", ""),
        ("Works in the Porto office.", "Works in the Porto office."),
        ("Works in the Porto office.", "WORKS  IN THE PORTO OFFICE."),
        ("Works in the Porto office.", "Joined in 2019 as an engineer."),
        ("Delivers spare gear wheels for the crane.", "Every spring, mechanics learn how the mast is greased."),
        ("They met in Lisbon.", "Friends since school; both like sailing."),
        ("Sold 757,000 copies.", "Sold more than 100,000 copies."),
        ("Mara is an engineer and a mother.", "Mara is a mother."),
        ("Life Without Tears is a song.", "Life Without Tears is a song about the sea."),
        ("She does not eat meat.", "She sings in a choir."),
        ("The Endless River is an album by Pink Floyd.", "The Endless River is not an album by Danny Devito."),
        ("My sister lives in Porto.", "My brother lives in Denver."),
        ("My dog is called Rex.", "My cat is called Bruno."),
        ("I live in New York City.", "I live in NYC."),
        ("I work at Acme.", "I work at Acme Labs."),
        ("I love hiking in summer.", "I love skiing in winter."),
        ("The backup runs daily.", "The report runs weekly."),
        ("Tom is not older than Mara.", "Mara is not older than Tom."),
        ("He always pays on time.", "He never fails to pay on time."),
        ("The soup was not cold.", "The soup was hot."),
        ("She never drinks tea.", "She drinks coffee."),
        ("She plays guitar and drums in a band.", "She plays guitar and piano in a band."),
        ("One of the cups is full.", "One of the cups is empty."),
        ("Would you rather have a dog?", "Would you rather have a cat?"),
        ("Nadia trained as a surgeon.", "Nadia trained as a doctor."),
        ("User dislikes emoji in commit messages", "The user doesn't like emoji in commit messages"),
        (
            "The library of Delft is closed on public holidays in winter",
            "The library of Delft is not open on public holidays in winter",
        ),
        ("The travel budget is EUR 5,000.", "The travel budget is 5 000 €."),
        ("Yoga is on Mondays and Fridays.", "Yoga is on Mondays."),
        ("The codes are 5 000, 6 and 7.", "The codes are 5,000, 6 and 7."),
    ],
)
def test_what_completes_a_statement_is_no_contradiction(a: str, b: str) -> None:
    """More, or something else, is said: both may be true."""
    assert kind(a, b) is None


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("The office closes at 18:00.", "The office closes at 19:00.", "time"),
        ("Standup is at 09:15.", "Standup moved to 09:30.", "time"),
        ("The lease ends on 2026-05-01.", "The lease ends on 2027-05-01.", "date"),
        ("The lease ends on 2026-05-01 at 18:00.", "The lease ends on 2027-05-01 at 19:00.", "date"),
    ],
)
def test_find_other_times_of_day_are_no_other_dates(one: str, other: str, expected: str) -> None:
    assert kind(one, other) == expected


def test_many_pairs_at_once_keep_their_order() -> None:
    """One answer a pair."""
    assert find([("yes", "no"), ("a", "a"), ("5 km", "6 km")]) == ["polarity", None, "number"]
    assert find([]) == []


def test_a_hostile_text_takes_no_time() -> None:
    """What is read of a text is bounded, however long it is and however it repeats."""
    long = "not " * 50_000 + "1 " * 50_000
    assert find([(long, long + "2")]) == [None]


def test_development_pairs_are_told_apart() -> None:
    """Real claims, mostly not near-identical: a third of the contradictions is seen, and two in a hundred entailments are mistaken."""
    if not FEVER.exists():
        pytest.skip("the development data set fever_symmetric_dev is not on this machine")
    pairs = [json.loads(line) for line in FEVER.read_text().splitlines()]
    found = find([(p["a"], p["b"]) for p in pairs])
    share = {
        label: sum(k is not None for p, k in zip(pairs, found, strict=True) if p["label"] == label)
        / sum(p["label"] == label for p in pairs)
        for label in ("contradiction", "entailment")
    }
    assert share["contradiction"] >= 0.35
    assert share["entailment"] <= 0.02


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("She signed her contract in 2014.", "She did not sign her contract in 2018."),
        ("The city was founded in 1234.", "The city did not exist in 1035."),
        ("The club won nine titles in 1971, 1975 and 1979.", "The club lost the title in 2017."),
        ("The kiln was fired on 3 May.", "The kiln was not fired on 9 May."),
        ("The crew painted 12 boats.", "The crew never painted 40 boats."),
        ("The mill employs 30 people.", "The mill doesn't employ 80 people."),
    ],
)
def test_find_negation_with_another_figure_is_no_contradiction(one: str, other: str) -> None:
    """J13: both can be true."""
    assert find([(one, other), (other, one)]) == [None, None]


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("She signed her contract in 2014.", "She did not sign her contract in 2014.", "polarity"),
        ("She signed her contract.", "She did not sign her contract in 2018.", "polarity"),
        ("The shop opens at 8:00.", "The shop does not open until 9:00.", "time"),
        ("The kiln holds 40 pots.", "The kiln holds 60 pots and does not smoke.", "number"),
    ],
)
def test_find_negation_of_the_same_figure_or_of_something_else_is_a_contradiction(
    one: str, other: str, kind: str
) -> None:
    assert find([(one, other), (other, one)]) == [kind, kind]

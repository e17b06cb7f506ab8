"""Entities of one vector whose names have the same words were merged, though punctuation or order made them two things: ".NET" and "NET",
"*args" and "**args", "a - b" and "a + b", "React like Vue" and "Vue like React", "Paris to Rome" and "Rome to Paris". So were memories and
facts that differ in an operator.

Line 9: names equal but for punctuation that means something (code), and names with swapped roles.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from slowwave.matching.entities import match_entities
from slowwave.operations import PLANNERS
from slowwave.text.sameness import sameness
from tests.snapshots import make_inputs, make_snapshot, uid

dedupe_facts = PLANNERS["dedupe_facts"]

OTHERS = [
    (".NET", "NET"),
    ("*args", "**args"),
    ("foo!", "foo?"),
    ("a - b", "a + b"),
    ("/etc/hosts", "etc/hosts"),
    ("React like Vue", "Vue like React"),
    ("Paris to Rome", "Rome to Paris"),
    ("Flight from Oslo to Bergen", "Flight from Bergen to Oslo"),
    ("Alice loves Bob", "Bob loves Alice"),
    ("affect heuristic", "effect heuristic"),
    ("propane tank", "propene tank"),
    ("median nerve", "medial nerve"),
]
SAME = [
    ("Mara Reyes", "Reyes Mara"),
    ("Yahoo!", "Yahoo"),
    ("Node.js", "Nodejs"),
    ("Ford vs Ferrari", "Ferrari vs Ford"),
    ("Bank of America", "America, Bank of"),
    ("accommodation policy", "accomodation policy"),
    ("colour scheme", "color scheme"),
]


def merges(a: str, b: str) -> bool:
    """Whether two entities of one vector become one, among entities that are nobody's twins."""
    names = [a, b, "Harbour Lights", "Quarterly Review", "Tuvalu"]
    rows = [
        {"id": f"e{k}", "name": name, "entity_type": "CONCEPT", "vector": [1.0, 0.0] if k < 2 else [0.0, float(k)]}
        for k, name in enumerate(names)
    ]
    return bool(match_entities(pa.Table.from_pylist(rows)).merges)


@pytest.mark.parametrize(("a", "b"), OTHERS)
def test_two_things_of_the_same_words_stay_two(a: str, b: str) -> None:
    """Whatever their vectors say."""
    assert not merges(a, b)
    assert not merges(b, a)


@pytest.mark.parametrize(("a", "b"), SAME)
def test_one_thing_in_two_spellings_still_merges(a: str, b: str) -> None:
    """Order without a role, punctuation without a meaning, a mistyped word."""
    assert merges(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The check is a < b in the loop.", "The check is a > b in the loop."),
        ("The result is p - q after the call.", "The result is p + q after the call."),
        ("The service is written in C# now.", "The service is written in C++ now."),
        ("Call getUser on login.", "Call setUser on login."),
        ("Pass *args to the hook.", "Pass **args to the hook."),
        ("The file is /var/log/app.log today.", "The file is var/log/app.log today."),
    ],
)
def test_code_in_a_memory_is_read_with_its_signs(a: str, b: str) -> None:
    """The words are the same, and what they say is not."""
    assert sameness(a, b).decision != "same"
    assert sameness(b, a).decision != "same"


def test_facts_that_differ_in_a_sign_stay_two() -> None:
    """Ruby has both methods."""
    facts = [
        {"id": uid(k), "subject": "The hook", "predicate": "calls", "object": name}
        for k, name in (("a", "save!"), ("b", "save?"))
    ]
    assert dedupe_facts(make_inputs(make_snapshot(memory_facts=facts))).items == ()

"""The injected faults of the benchmark: each changes what is stated, the same ones every time, and the sentences themselves are right."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime

from benchmarks.grounding import Turn, cases, differences, retold

AT = datetime(2026, 5, 4, 9, tzinfo=UTC)
TURNS = [
    Turn(
        "1", "bank-emily 2026-05-04", "user", AT, "My name is Emily. I really enjoy painting old harbour cranes in oil."
    ),
    Turn("2", "bank-emily 2026-05-04", "assistant", AT, "You could paint the lighthouse on the northern pier at dawn."),
    Turn("3", "bank-emily 2026-05-04", "user", AT, "I want to buy a wooden easel for the attic."),
    Turn("4", "bank-emily 2026-05-04", "user", AT, "I don't paint with acrylic colours."),
]


def test_sentences_are_retold_in_the_third_person() -> None:
    assert retold("I've been to my brother's boat.") == "The user has been to their brother's boat."
    assert retold("I usually carry two ropes.") == "The user usually carries two ropes."
    assert retold("I don't sail.") == "The user does not sail."
    assert retold("You can sail.") == ""
    assert retold("I like it.") == ""


def test_each_fault_is_injected_found_and_named_while_the_sentences_are_right() -> None:
    given = list(cases(TURNS))
    found = differences(TURNS, given)
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    for k, case in enumerate(given):
        kinds[case.fault].add(found[k].kind if k in found else "")
    assert kinds[""] == kinds["none: its sentence is not in the source"] == {""}
    assert "negation" in kinds["added never"] & kinds["negation left out"]
    assert "date" in kinds["invented date"] & kinds["changed date"]
    assert "number" in kinds["changed number"]
    assert "speaker" in kinds["other speaker"] & kinds["suggestion as habit"] & kinds["taste of another"]
    assert "mood" in kinds["wish as deed"]
    assert list(cases(TURNS)) == given

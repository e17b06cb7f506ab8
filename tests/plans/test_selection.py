"""Which items of a plan are shown, in which order: what asks a person comes first."""

from __future__ import annotations

import pytest

from slowwave.errors import Refused
from slowwave.plans.ledger import Selection, StoredItem, asked, choose
from slowwave.plans.questions import CODES, HEADINGS


def stored(id_: str, operation: str, decision: str, **more: object) -> StoredItem:
    said = {"risk": "low", "probability": 1.0, "status": "pending", "reason": "", "question": "", **more}
    return StoredItem(
        **{"id": id_, "operation": operation, "decision": decision, "tokens": 0},
        **{"mutation": "{}", "evidence": "{}", "sources": "[]", "kind": "merge_rows", **said},
    )  # type: ignore[arg-type]


ITEMS = (
    stored("a", "merge_things", "merge", probability=0.97),
    stored("b", "merge_things", "review", reason="Are these rows one thing? Names agree.", probability=0.9),
    stored("c", "retire", "retire", risk="medium"),
    stored("d", "merge_things", "review", reason="Would lose 12.50 EUR of row 17.", risk="high"),
    stored("e", "merge_things", "merge", status="deferred"),
    stored("f", "merge_things", "review", reason="Are these rows one thing?", probability=0.6),
    stored("g", "merge_things", "review", reason="Are these rows one thing?", status="rejected"),
    stored("h", "merge_things", "merge", risk="low", probability=0.96),
)


def ids(**asked_for: object) -> str:
    return "".join(s.id for s in choose(ITEMS, Selection(**asked_for)).items)  # type: ignore[arg-type]


def test_questions_come_first_under_what_they_ask() -> None:
    """Then what was decided, by operation; what is answered and what is deferred come last."""
    chosen = choose(ITEMS, Selection())
    assert [(heading, "".join(s.id for s in items)) for heading, items in chosen.groups()] == [
        ("Are these rows one thing?", "bf"),
        ("May this value be lost?", "d"),
        ("merge_things · merge · low risk", "ah"),
        ("retire · retire · medium risk", "c"),
        ("Are these rows one thing?", "g"),
        ("Left for a later night", "e"),
    ]
    assert (chosen.matching, chosen.of, chosen.pages) == (8, 8, 1)


def test_filters_sorts_and_pages() -> None:
    """``auto`` is all that is no review; sorting is inside of each heading; a page is a part of what matches."""
    assert ids(decisions=("review",)) == "bfdg"
    assert ids(decisions=("auto",)) == "ahce"
    assert ids(decisions=("retire", "review"), operations=("retire",)) == "c"
    assert ids(sort="probability") == "fbdhacge"
    assert ids(sort="operation") == ids()
    assert [ids(limit=3, page=n) for n in (1, 2, 3)] == ["bfd", "ahc", "ge"]
    second = choose(ITEMS, Selection(limit=3, page=2))
    assert (second.first, second.page, second.pages) == (4, 2, 3)
    assert choose((), Selection()).items == ()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"decisions": ("maybe",)}, "merge, retire, review"),
        ({"operations": ("merge_thing",)}, "merge_things, retire"),
        ({"page": 9}, "no page 9"),
        ({"sort": "colour"}, "probability"),
    ],
)
def test_what_the_plan_has_none_of_is_refused_with_what_it_has(wrong: dict[str, object], named: str) -> None:
    """A slip is no empty list."""
    with pytest.raises(Refused, match=named):
        ids(**wrong)


def test_a_question_is_told_without_what_it_is_about() -> None:
    """So that all that ask the same stand together; every code has its heading, and an older plan's sentence has its own."""
    assert asked(stored("x", "y", "review", question="value_lost", reason="Would lose 3.")) == "May this value be lost?"
    assert asked(stored("x", "y", "review", reason="Which of the two is right? number")) == "Which of the two is right?"
    assert asked(stored("x", "y", "review", reason="Would lose Tuesday of row 3.")) == "May this value be lost?"
    assert asked(stored("x", "y", "review")) == "May this change?"
    assert HEADINGS.keys() == set(CODES)

"""Questions come in the order of what their answers settle."""

from __future__ import annotations

import json

from slowwave.plans.ledger import StoredItem
from slowwave.review.ordering import information, uncertainty


def item(name: str, p: float, rows: str = "", *, question: str = "same", reason: str = "") -> StoredItem:
    """A question about rows, whose evidence is one name and why a person is asked."""
    named = [{"id": row, "external_id": None} for row in rows or name]
    mutation = {"kind": "merge_rows", "table": "entities", "keep": named[0], "absorb": named[1:], "rows": []}
    evidence = {"waterfall": [{"evidence": "name", "weight": 2.0}], "reason": reason or name}
    return StoredItem(
        *(name, "dedupe_entities", "review", "high", 0, p, json.dumps(mutation), json.dumps(evidence), "[]"),
        *("merge_rows", "pending", "", question),
    )


def order(*items: StoredItem) -> str:
    told = information(items)
    return "".join(sorted(told, key=lambda id_: (-told[id_], id_)))


def test_of_two_questions_the_more_uncertain_tells_more() -> None:
    assert order(item("a", 0.9), item("b", 0.5), item("c", 0.999), item("d", 0.2)) == "bdac"
    assert uncertainty(item("a", 0.5)) == 1
    assert uncertainty(item("a", 1.0)) == uncertainty(item("a", 0.0)) == 0


def test_what_hangs_on_an_answer_counts() -> None:
    """A chain of rows goes before a pair that is a little more uncertain."""
    chain = (item("a", 0.6, "xy"), item("b", 0.6, "yz"), item("c", 0.6, "zw"))
    assert order(*chain, item("d", 0.5, "uv")) == "abcd"


def test_one_of_many_alike_goes_first_and_the_next_ones_wait() -> None:
    """Its answer tells of the others; the fifth of them tells less than the first of another kind."""
    alike = [item(name, 0.5, reason="initials") for name in "abcdefgh"]
    others = [item("x", 0.5, reason="suffix"), item("y", 0.5, reason="suffix")]
    assert order(*alike, *others) == "abcdxefghy"


def test_a_probability_that_they_are_one_says_nothing_of_a_lost_value() -> None:
    assert uncertainty(item("a", 0.9999, question="value_lost")) == 1
    assert information([]) == {}

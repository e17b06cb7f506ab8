"""The plan's page explains its weakest merges and its likeliest reviews, and no memory text can speak there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from slowwave.changes.merges import Merge, merge_rows
from slowwave.night.plan_page import EXPLAINED, page_of
from slowwave.night.runs import Night, Probes
from slowwave.plans.items import Item
from slowwave.plans.questions import questions
from slowwave.plans.seal import Header, Plan
from tests.snapshots import make_snapshot, uid

HOSTILE = "[Approve this plan](http://evil.example) ![x](http://evil.example/x.png) | ` # <b>"


def items(probabilities: Sequence[float], decision: str = "merge", name: str = "Grafana") -> list[Item]:
    """A merge of two rows for each probability."""
    rows = [
        {
            "id": uid(f"{decision} {n} {side}"),
            "name": f"{name} {n}",
            "entity_type": "tool",
            "attributes": {"said": name},
        }
        for n in range(len(probabilities))
        for side in "ab"
    ]
    ids = [(uid(f"{decision} {n} a"), uid(f"{decision} {n} b")) for n in range(len(probabilities))]
    fall = [
        {"evidence": "prior", "weight": -3.0},
        {"evidence": "name", "weight": 8.0, "detail": f"Both are called {name}"},
    ]
    mutations = merge_rows(make_snapshot(entities=rows), [Merge(keep, (absorbed,)) for keep, absorbed in ids])
    return [
        Item("dedupe_entities", decision, m, {"waterfall": fall, "reason": name}, probability=p)
        for m, p in zip(mutations, probabilities, strict=True)
    ]


def explained(found: Sequence[Item]) -> str:
    """The explanations on the page of a plan of these items."""
    plan = Plan(Header("", "acme", "", ""), tuple(found), "ab" * 32)
    return page_of(Night("acme", plan=plan, probes=Probes({}, (), ())), 7, "none").why()


def test_the_weakest_merges_come_first_and_the_likeliest_reviews() -> None:
    """What is most likely wrong is what a person should read."""
    merges = items([0.999, 0.9512, 0.97])
    reviews = items([0.2, 0.9, 0.5], "review")
    told = explained([*merges, *reviews])
    assert re.findall(r"#### .*: (.*)", told) == ["95.1 %", "97.0 %", "99.9 %", "90.0 %", "50.0 %", "20.0 %"]
    assert told.index("weakest first (3 of 3)") < told.index("likeliest first (3 of 3)")
    assert f"slowwave why acme {merges[1].id}" in told
    assert "| Both are called Grafana |  | ████████ | +8.00 | 3,000 times likelier | 99.3 % |" in told.replace(
        "\u00a0", " "
    )
    assert "|  | stays | is merged into it |" in told


def test_a_large_plan_explains_some_and_says_of_how_many() -> None:
    """The page stays readable."""
    told = explained(items([0.95 + k / 1000 for k in range(40)]))
    assert told.count("#### ") == EXPLAINED
    assert f"({EXPLAINED} of 40)" in told


def test_items_without_a_waterfall_have_no_place_there() -> None:
    """A plan of cleanings has no such section."""
    (item,) = items([0.99])
    assert explained([Item(item.operation, item.decision, item.mutation)]) == ""
    assert explained([]) == ""


def test_memory_text_is_shown_and_does_nothing() -> None:
    """Names, attributes, evidence and reasons: no link, no image, no heading, no cell more."""
    told = explained(items([0.99], name=HOSTILE))
    assert not re.search(r"(?<!\\)[\[\]()`<>]", re.sub(r"### .*", "", told, count=1))
    for line in told.split("\n"):
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (4, 7), line


def test_every_review_item_says_what_it_asks_by_its_code() -> None:
    """In the list of items, questions first, where one that is decided asks nothing."""
    found = [*items([0.99]), *items([0.5], "review")]
    plan = Plan(Header("", "acme", "", ""), tuple(found), "ab" * 32, questions=questions(found, {}))
    page = page_of(Night("acme", plan=plan, probes=Probes({}, (), ())), 7, "none")
    assert [row["question"] for row in page.items] == ["same", ""]
    assert "| question |" in page.markdown()

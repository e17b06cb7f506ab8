"""Questions come in the order of what their answers settle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest

from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.review.drafts import Draft
from slowwave.plans.review.queue import information, queue


def item(name: str, p: float, rows: str = "", *, question: str = "same", reason: str = "") -> StoredItem:
    """A question about rows, whose evidence is one name and why a person is asked."""
    named = [{"id": row, "external_id": None} for row in rows or name]
    mutation = {"kind": "merge_rows", "table": "entities", "keep": named[0], "absorb": named[1:], "rows": []}
    evidence = {"waterfall": [{"evidence": "name", "weight": 2.0}], "reason": reason or name}
    return StoredItem(
        *(name, "dedupe_entities", "review", "high", 0, p, json.dumps(mutation), json.dumps(evidence), "[]"),
        *("merge_rows", "pending", "", question),
    )


def order(*items: StoredItem, merges: Sequence[StoredItem] = (), said: Mapping[str, str] | None = None) -> str:
    drafts = {
        id_: Draft(id_, verdict, "", "mara", datetime(2026, 1, 1, tzinfo=UTC)) for id_, verdict in (said or {}).items()
    }
    told = information(items, merges=merges, drafts=drafts)
    return "".join(sorted((id_ for id_ in told if id_ not in drafts), key=lambda id_: (-told[id_], id_)))


ab, bc, cd, xy = (item(rows, p, rows) for rows, p in (("ab", 0.5), ("bc", 0.4), ("cd", 0.3), ("xy", 0.6)))


@pytest.mark.parametrize(
    ("merges", "said", "first"),
    [
        ((), {}, "xyabbccd"),
        ((item("merge", 1, "ae"),), {}, "abxybccd"),
        ((item("merge", 1, "cefghi"), item("more", 1, "jb")), {}, "bccdabxy"),
        ((), {"ab": "yes"}, "xybccd"),
        ((item("merge", 1, "ae"),), {"ab": "yes"}, "bcxycd"),
        ((item("merge", 1, "ae"),), {"ab": "no"}, "xybccd"),
        ((item("merge", 1, "bc"),), {}, "abxycdbc"),
    ],
    ids=[
        "nothing merges: the likeliest",
        "two rows are one: the question stands for two pairs",
        "large groups",
        "a yes makes a group of two",
        "a yes joins its row to a group",
        "a no joins nothing",
        "what merges anyway settles nothing",
    ],
)
def test_what_a_yes_would_join_counts(merges: tuple[StoredItem, ...], said: Mapping[str, str], first: str) -> None:
    assert order(ab, bc, cd, xy, merges=merges, said=said) == first


def test_answered_questions_keep_their_place_and_answers_so_far_move_the_others() -> None:
    drafts = {"ab": Draft("ab", "yes", "", "mara", datetime(2026, 1, 1, tzinfo=UTC))}
    assert information([ab, bc], drafts=drafts)["ab"] == information([ab, bc])["ab"] == 0.5
    assert information([ab, bc], drafts=drafts)["bc"] > information([ab, bc])["bc"]
    assert information([ab, bc], {"bc": 0.9})["bc"] == 0.9
    disputed = {"ab": replace(drafts["ab"], against=("otto",))}
    assert information([ab, bc], drafts=disputed)["bc"] == 0.4, "of what reviewers disagree on nothing follows"


def test_what_hangs_on_an_answer_counts() -> None:
    """Of other questions the probability says nothing: a chain of rows goes before a pair."""
    chain = (item(name, 0.9999, rows, question="value_lost") for name, rows in (("a", "xy"), ("b", "yz"), ("c", "zw")))
    assert order(*chain, item("A", 0.5, "uv", question="value_lost")) == "abcA"


def test_one_of_many_alike_goes_first_and_the_next_ones_wait() -> None:
    """Its answer tells of the others; the fifth of them tells less than the first of another kind."""
    alike = [item(name, 0.5, question="value_lost", reason="initials") for name in "abcdefgh"]
    others = [
        item("x", 0.5, question="value_lost", reason="suffix"),
        item("y", 0.5, question="value_lost", reason="suffix"),
    ]
    assert order(*alike, *others) == "abcdxefghy"


def test_a_plan_without_questions_has_no_order() -> None:
    assert information([]) == {}


def clustered(name: str, p: float, cluster: str = "") -> StoredItem:
    """A question about two rows of a cluster, if one is named."""
    found = item(name, p, name)
    return replace(found, evidence=json.dumps(json.loads(found.evidence) | ({"cluster": cluster} if cluster else {})))


@pytest.mark.parametrize("budget", [None, 4])
def test_questions_of_one_cluster_are_listed_next_to_each_other(budget: int | None) -> None:
    """Where the first of them belongs, whatever lies between them by what they settle; a chosen order is kept."""
    items = (clustered("ab", 0.9, "a"), clustered("vw", 0.8), clustered("xy", 0.7), clustered("cd", 0.3, "a"))
    plan = StoredPlan(*[None] * len(fields(StoredPlan)))  # type: ignore[arg-type]
    plan = replace(plan, items=items)
    assert [w.id for w in queue(plan, {}, budget=budget).items] == ["ab", "cd", "vw", "xy"]
    assert [w.id for w in queue(plan, {}, budget=budget, sort="probability").items] == ["ab", "vw", "xy", "cd"]
    assert [w.id for w in queue(plan, {}, budget=2).items] == ["ab", "cd"]

"""What answers do to decisions: to the pairs themselves, and to pairs like them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import quality, worlds
from slowwave.errors import Refused
from slowwave.matching import Answers, Matches, match_entities
from slowwave.matching.answers import Labelled
from slowwave.matching.match import match
from slowwave.matching.review import ENOUGH
from slowwave.store.settings import Settings

NAMES = (
    "Mara Reyes",
    "M. Reyes",
    "Mara Reyes II",
    "Mara Reyez",
    "Harbour Cafe",
    "Harbor Cafe",
    "Cafe Harbour 3",
    "Mara",
)
MAILS = ("mara@acme.example", "reyes@acme.example", "cafe@acme.example", "")
Given = list[tuple[str, str, bool | str]]


def rows(seed: int) -> pa.Table:
    """Sixteen rows of two types, alike and in conflict by chance."""
    dice = Random(seed)
    drawn = [(f"{k:02}", dice.choice(("person", "place")), dice.choice(NAMES), dice.choice(MAILS)) for k in range(16)]
    columns = dict(zip(("id", "entity_type", "name", "email"), zip(*drawn, strict=True), strict=True))
    emails = columns.pop("email")
    return pa.table(
        {
            **{k: list(v) for k, v in columns.items()},
            "attributes": [json.dumps({"email": e} if e else {}) for e in emails],
        }
    )


@st.composite
def answered(draw: st.DrawFn) -> tuple[pa.Table, Given]:
    """Rows, and answers that some partition of them gives; some are unsure, some about rows that are not there."""
    table = rows(draw(st.integers(0, 40)))
    ids = table["id"].to_pylist()
    group = dict(zip(ids, draw(st.lists(st.integers(0, 5), min_size=16, max_size=16)), strict=True))
    pairs = draw(st.lists(st.sampled_from(list(combinations(ids, 2))), unique=True, max_size=40))
    said: Given = [(a, b, "unsure" if (int(a) * int(b)) % 7 == 6 else group[a] == group[b]) for a, b in pairs]
    return table, said + draw(st.sampled_from([[], [("00", "nobody", True)]]))


def told(found: Matches) -> object:
    """All that a plan is made of."""
    return (
        found.merges,
        found.review,
        found.merge_links,
        dict(found.thresholds),
        dict(found.counts),
        found.expected_false,
    )


@given(answered(), st.randoms(use_true_random=False), st.sampled_from(["precision", "f1"]))
def test_answers_hold_in_any_order(case: tuple[pa.Table, Given], dice: Random, aim: str) -> None:
    """No "no" ends in one cluster; every "yes" about rows of one type does; the order of answers and rows means nothing."""
    table, said = case
    found = match_entities(table, answers=said, aim=aim)  # type: ignore[arg-type]
    kind = dict(zip(table["id"].to_pylist(), table["entity_type"].to_pylist(), strict=True))
    cluster = {id_: k for k, ids in enumerate(found.merges) for id_ in ids}
    compared = set(found.thresholds)
    for a, b, same in said:
        together = a in cluster and cluster.get(a) == cluster.get(b)
        if same is False:
            assert not together
            assert (a, b) not in {(p.a, p.b) for p in found.review}
        if same is True and kind[a] == kind.get(b) and kind[a] in compared:
            assert together
    for links, ids in zip(found.merge_links, found.merges, strict=True):
        assert {id_ for link in links for id_ in link} == set(ids)
        assert len(links) == len(ids) - 1
    again = said[:]
    dice.shuffle(again)
    turned = table.take(pa.array(dice.sample(range(16), 16)))
    assert told(match_entities(turned, answers=[(b, a, same) for a, b, same in again], aim=aim)) == told(found)  # type: ignore[arg-type]
    assert told(match_entities(table).learn(Answers.from_triples(said), aim)) == told(found)  # type: ignore[arg-type]


@given(answered())
def test_the_waterfall_still_adds_up(case: tuple[pa.Table, Given]) -> None:
    """With what answers say as a step of its own."""
    found = match_entities(*case[:1], answers=case[1])
    pairs = [(p.a, p.b) for p in found.review] + [link for links in found.merge_links for link in links]
    for pair in found.explain_all(pairs):
        odds = sum(float(step["weight"]) for step in pair.waterfall)  # type: ignore[arg-type]
        assert 1 / (1 + 2.718281828 ** -max(min(odds, 40), -40)) == pytest.approx(pair.probability, abs=0.01)


def entities(*given_: tuple[str, str], **attributes: str) -> pa.Table:
    return pa.table(
        {
            "id": [id_ for id_, _ in given_],
            "entity_type": ["thing"] * len(given_),
            "name": [name for _, name in given_],
            "attributes": [json.dumps(attributes)] * len(given_),
        }
    )


def test_a_yes_on_a_pair_that_a_rule_forbids_joins_that_pair_only() -> None:
    """Two versions are said to be one thing. It is done and told, and neither takes along the rows that have its version."""
    table = entities(
        ("a", "PostgreSQL 15"), ("b", "PostgreSQL 16"), ("c", "PostgreSQL 15"), ("d", "PostgreSQL 16"), url="pg.example"
    )
    assert set(match_entities(table).merges) == {("a", "c"), ("b", "d")}
    found = match_entities(table, answers=[("a", "b", True)])
    assert found.merges == (("a", "b"),)
    assert found.counts["answers against a rule"] == 1
    assert "specifics" in found.explain("b", "a").reason
    assert found.explain("a", "b").probability == 1


def test_a_recorded_conflict_is_stronger_than_an_answer() -> None:
    """It was decided as well, and is open; the answer is counted, not followed, and what it would chain neither."""
    table = entities(("a", "Acme"), ("b", "Acme"), ("c", "Acme"), url="acme.example")
    answers = Answers.from_triples([("a", "b", True), ("b", "c", True)])
    found = match(table, Settings(), cannot_link={"conflict": [("c", "a")]}, answers=answers)
    assert found.merges == (("a", "b"),)
    assert found.counts["answers that a conflict or rejection forbids"] == 1


def test_a_no_holds_though_most_of_a_cluster_agrees() -> None:
    """Four rows that are the same in everything: three may be one, with either of the two that are answered to be apart."""
    table = entities(
        ("a", "Acme Works"), ("b", "Acme Works"), ("c", "Acme Works"), ("d", "Acme Works"), url="acme.example"
    )
    assert match_entities(table).merges == (("a", "b", "c", "d"),)
    found = match_entities(table, answers=[("b", "a", False), ("c", "d", True)])
    assert not any({"a", "b"} <= set(ids) for ids in found.merges)
    assert any({"c", "d"} <= set(ids) for ids in found.merges)
    assert found.counts["vetoed by answer"] == 1


def test_contradictory_answers_are_refused() -> None:
    table = entities(("a", "Acme"), ("b", "Acme"), ("c", "Acme"))
    with pytest.raises(Refused, match="a = b = c, but a ≠ c"):
        match_entities(table, answers=[("a", "b", True), ("b", "c", True), ("a", "c", False)])


def two_houses() -> pa.Table:
    """Three rows of one works and two of one mill, of which nothing says that they are one thing."""
    works = entities(("a", "Acme Works"), ("b", "Acme Works"), ("c", "Acme Works"), url="acme.example")
    return pa.concat_tables(
        [
            works,
            entities(
                ("d", "Zenith Paper Mill and Printing House"),
                ("e", "Zenith Paper Mill and Printing House"),
                city="Oslo",
            ),
        ]
    )


@pytest.mark.parametrize(
    ("answers", "merges"),
    [
        ([], [("a", "b", "c"), ("d", "e")]),
        ([("b", "e", True)], [("a", "b", "c", "d", "e")]),
        ([("b", "e", False)], [("a", "b", "c"), ("d", "e")]),
        ([("a", "d", True), ("d", "e", False)], [("a", "b", "c", "d")]),
        ([("a", "d", True), ("c", "e", False)], [("a", "b", "c", "d")]),
    ],
    ids=["no answer", "a yes joins two groups", "a no joins none", "a no takes one out", "a no through a chain"],
)
def test_a_yes_joins_two_groups_and_a_no_keeps_apart(answers: Given, merges: list[tuple[str, ...]]) -> None:
    """The evidence makes two groups, and says nothing for one. In the last case c and e cannot both be with the rest: c suits two of its
    rows, e one."""
    assert sorted(match_entities(two_houses(), answers=answers).merges) == merges


def restaurants() -> tuple[pa.Table, dict[str, str]]:
    made = worlds.make("restaurants", 0.4)
    table = pa.table(
        {
            "id": [row.id for row in made],
            "entity_type": [row.entity_type for row in made],
            "name": [row.name for row in made],
            "attributes": [json.dumps(row.attrs) for row in made],
        }
    )
    return table, {row.id: row.cluster_id for row in made}


def f1(found: Matches, gold: dict[str, str]) -> float:
    """Of pairs that nobody was asked about as well: of all."""
    ids = sorted(gold)
    place = {id_: k for k, id_ in enumerate(ids)}
    labels = quality.labels_of(len(ids), [[place[id_] for id_ in c] for c in found.merges])
    codes = {c: k for k, c in enumerate(sorted(set(gold.values())))}
    counted = quality.closure(labels, np.array([codes[gold[id_]] for id_ in ids]))
    return counted.f1 or 0.0


def ask(found: Matches, gold: dict[str, str], k: int) -> Given:
    return [(q.a, q.b, gold[q.a] == gold[q.b]) for q in found.next_questions(k)]


def test_thirty_answers_find_what_no_score_would_merge() -> None:
    """Two guides name restaurants so differently that names disagree in many matches; the answers are about other pairs too."""
    table, gold = restaurants()
    first = now = match_entities(table)
    said: Given = []
    for _ in range(3):
        said += ask(now, gold, 10)
        now = first.learn(Answers.from_triples(said), "f1")
    before, after = f1(first.learn(Answers(), "f1"), gold), f1(now, gold)
    assert before < 0.93
    assert after > before + 0.04
    said_yes = {(a, b) for a, b, same in said if same}
    new = {link for links in now.merge_links for link in links} - said_yes
    new -= {link for links in first.merge_links for link in links}
    assert len(new) > 5, "pairs that nobody was asked about"


def test_a_few_answers_teach_nothing_but_themselves() -> None:
    """One under the least that a type needs."""
    table, gold = restaurants()
    first = match_entities(table)
    said = ask(first, gold, ENOUGH)
    assert first.learn(Answers.from_triples(said)).model["restaurant"].calibration is not None
    few = first.learn(Answers.from_triples(said[1:]))
    assert few.model["restaurant"].calibration is None
    assert dict(few.thresholds) == dict(first.thresholds)


def pairs_of(places: Sequence[int]) -> list[tuple[str, str]]:
    letters = [f"{a}{b}{c}" for a in "bdfg" for b in "aeiou" for c in "klmnprst"]
    return [(f"Mor{letters[k]}endale Works", f"Mor{letters[k]}andale Works") for k in places]


@pytest.mark.parametrize("same", [True, False])
def test_doubtful_pairs_of_earlier_nights_are_answers_too(same: bool) -> None:
    """Their rows are gone. What was decided without doubt is not one: it says nothing about how far a score is to be believed."""
    names = [name for pair in pairs_of(range(100)) for name in pair]
    table = pa.table({"id": names, "entity_type": ["t"] * 200, "name": names, "attributes": ["{}"] * 200})
    old = [name for pair in pairs_of(range(100, 130)) for name in pair]
    seen = pa.table({"id": old, "entity_type": ["t"] * 60, "name": old, "attributes": ["{}"] * 60})
    pairs = tuple((a, b, same) for a, b in pairs_of(range(100, 130)))
    sure = match(table, Settings(), labelled=Labelled(seen, pairs))
    asked = match(table, Settings(), labelled=Labelled(seen, pairs, frozenset((a, b) for a, b, _ in pairs)))
    assert sure.model["t"].calibration is None
    pair = pairs_of([5])[0]
    gain = asked.explain(*pair).probability - sure.explain(*pair).probability
    assert gain > 0.1 if same else abs(gain) < 0.05, "the weights are sure already that such pairs are two things"

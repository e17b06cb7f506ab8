"""What a person is asked: few pairs that settle many, and how sure a doubted pair is told to be."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from benchmarks import worlds
from slowwave.matching import Matches, match_entities
from slowwave.matching.clusters import BORNE_OUT
from slowwave.matching.review import DOUBTED, FORESTS, forests
from slowwave.store.settings import Settings

ROWS = 9

Graph = tuple[np.ndarray, np.ndarray, np.ndarray]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Labels of rows that stand in groups, and pairs of rows in any order."""
    groups = draw(st.lists(st.integers(0, ROWS - 1), min_size=ROWS, max_size=ROWS))
    label = np.array([groups.index(g) for g in groups])
    pairs = st.tuples(st.integers(0, ROWS - 1), st.integers(0, ROWS - 1)).filter(lambda p: p[0] < p[1])
    found = draw(st.lists(pairs, max_size=30, unique=True))
    return label, np.array([p[0] for p in found], np.int64), np.array([p[1] for p in found], np.int64)


def components(label: np.ndarray, i: np.ndarray, j: np.ndarray) -> list[int]:
    """Which groups hang together."""
    links = sparse.coo_matrix((np.ones(len(i)), (label[i], label[j])), shape=(ROWS, ROWS))
    return csgraph.connected_components(links, directed=False)[1].tolist()


@given(graphs(), st.integers(0, 4))
def test_each_forest_is_the_strongest_of_what_is_left(graph: Graph, most: int) -> None:
    """As one edge at a time says it, and there are fewer than k pairs a group."""
    label, i, j = graph
    expected = np.full(len(i), -1)
    seen: set[tuple[int, int]] = set()
    groups = [list(range(ROWS)) for _ in range(most)]
    for k, (a, b) in enumerate(zip(label[i].tolist(), label[j].tolist(), strict=True)):
        if a == b or (min(a, b), max(a, b)) in seen:
            continue
        seen.add((min(a, b), max(a, b)))
        for layer, of in enumerate(groups):
            if of[a] != of[b]:
                groups[layer] = [of[a] if g == of[b] else g for g in of]
                expected[k] = layer
                break
    found = forests(label, i, j, most)
    assert found.tolist() == expected.tolist()
    assert (found >= 0).sum() <= most * max(len(set(label.tolist())) - 1, 0)


@given(graphs(), st.data())
def test_with_two_forests_one_answer_parts_nothing_that_hangs_together_otherwise(
    graph: Graph, data: st.DataObject
) -> None:
    """Without any one pair between two groups the pairs that are asked about join what all the others join."""
    label, i, j = graph
    kept = forests(label, i, j, 2) >= 0
    if not kept.any():
        return
    gone = data.draw(st.sampled_from(np.flatnonzero(kept).tolist()))
    same = (np.minimum(label[i], label[j]) == min(label[i[gone]], label[j[gone]])) & (
        np.maximum(label[i], label[j]) == max(label[i[gone]], label[j[gone]])
    )
    assert components(label, i[kept & ~same], j[kept & ~same]) == components(label, i[~same], j[~same])


@cache
def _found(world: str, scale: float = 0.3, **settings: object) -> tuple[Matches, int]:
    rows = worlds.make(world, scale)
    table = pa.table(
        {
            "id": [r.id for r in rows],
            "entity_type": [r.entity_type for r in rows],
            "name": [r.name for r in rows],
            "attributes": [json.dumps(r.attrs) for r in rows],
        }
    )
    given_ = Settings.model_validate({"operations": {"dedupe_entities": settings}})
    return match_entities(table, given_), len(rows)


@pytest.fixture(scope="module")
def organisations() -> Matches:
    return _found("organisations")[0]


def test_one_pair_stands_for_two_groups(organisations: Matches) -> None:
    """No two groups are asked about twice, none within itself, and a question says how much it settles."""
    group = {id_: k for k, ids in enumerate(organisations.merges) for id_ in ids}
    size = {k: len(ids) for k, ids in enumerate(organisations.merges)}
    ends = [tuple(sorted(str(group.get(id_, id_ + "?")) for id_ in (p.a, p.b))) for p in organisations.review]
    assert len(set(ends)) == len(ends) < organisations.counts["doubtful pairs"]
    assert all(a != b for a, b in ends)
    assert [p.settles for p in organisations.review] == [
        size.get(group.get(p.a, -1), 1) * size.get(group.get(p.b, -1), 1) for p in organisations.review
    ]
    assert max(p.settles for p in organisations.review) > 1


@pytest.mark.parametrize("per_row", [0, 0.1, 1, 5])
def test_there_are_no_more_than_a_person_has_time_for(per_row: float) -> None:
    """And of fewer the most telling stay."""
    found, rows = _found("organisations", review_pairs_per_row=per_row)
    assert len(found.review) <= per_row * rows
    most, _ = _found("organisations", review_pairs_per_row=1)
    both = min(len(found.review), len(most.review))
    assert found.review[:both] == most.review[:both]
    assert bool(found.review) == (per_row > 0)


def test_what_a_rule_keeps_for_a_person_is_not_told_to_be_sure() -> None:
    """Two of one household: the score says .999, and the rule about two names is heard by the probability as well."""
    found, _ = _found("people")
    pairs = found.explain_all([(p.a, p.b) for p in found.review])
    doubted = [p for p in pairs if any(step["evidence"] == "rules" for step in p.waterfall)]
    assert {p.probability for p in doubted} == {DOUBTED}
    assert all(p.reason for p in doubted)
    assert [p.probability for p in pairs] == pytest.approx([p.probability for p in found.review], abs=1e-6)
    for pair in doubted:
        odds = sum(float(str(step["weight"])) for step in pair.waterfall)
        assert 1 / (1 + np.exp(-odds)) == pytest.approx(DOUBTED, abs=0.001)


def test_what_merges_keeps_its_probability() -> None:
    """A pair within a cluster is not doubted, though a rule would have kept it apart from the rest."""
    found, _ = _found("people")
    links = found.explain_all([link for links in found.merge_links for link in links])
    assert max(p.probability for p in links) > DOUBTED
    assert not [p for p in links if p.reason or any(step["evidence"] == "rules" for step in p.waterfall)]


def test_a_pair_that_is_not_sure_merges_where_all_across_two_cores_are_likely() -> None:
    """Such a link is under the threshold of its type, and stands in a cluster of four rows or more."""
    found, _ = _found("memories", 1.0)
    kind = {row.id: row.entity_type for row in worlds.make("memories", 1.0)}
    weak = [
        (pair, len(ids))
        for ids, links in zip(found.merges, found.merge_links, strict=True)
        for pair in found.explain_all(links)
        if pair.probability < found.thresholds[kind[pair.a]]
    ]
    assert weak
    assert all(size > BORNE_OUT and pair.probability >= 0.5 for pair, size in weak)


def test_what_settles_most_comes_first(organisations: Matches) -> None:
    """The first forest before the second, and within it a pair of two large groups before an as likely one of two rows."""
    review = organisations.review
    group = {id_: k for k, ids in enumerate(organisations.merges) for id_ in ids}
    ends = [[str(group.get(id_, id_ + "?")) for id_ in (p.a, p.b)] for p in review]
    names = {name: k for k, name in enumerate(dict.fromkeys(name for pair in ends for name in pair))}
    i, j = (np.array([names[pair[k]] for pair in ends]) for k in (0, 1))
    by = np.array(sorted(range(len(review)), key=lambda k: -review[k].probability))
    layer = np.empty(len(review), np.int64)
    layer[by] = forests(np.arange(len(names)), np.minimum(i, j)[by], np.maximum(i, j)[by], FORESTS)
    ends_at = np.cumsum(np.bincount(layer[layer >= 0], minlength=FORESTS))
    assert 0 < ends_at[0] < ends_at[1] < ends_at[2] <= len(review)
    assert (layer[: ends_at[0]] == 0).mean() > 0.95  # but for ties
    gains = [p.probability * p.settles for p in review]
    for start, end in ((0, ends_at[0]), (ends_at[0], ends_at[1]), (ends_at[1], len(review))):
        assert gains[start:end] == sorted(gains[start:end], reverse=True)
    assert gains != sorted(gains, reverse=True)


def test_a_pair_that_would_join_groups_that_disagree_is_doubted() -> None:
    """One name and one e-mail, and two birth dates beside it: the score is sure of both pairs, and they cannot both be right."""
    rows = [("a", {}), ("b", {"date_of_birth": "1980-02-01"}), ("c", {"date_of_birth": "1990-07-09"})]
    table = pa.table(
        {
            "id": [id_ for id_, _ in rows],
            "name": ["Jo Marsh"] * 3,
            "entity_type": ["person"] * 3,
            "attributes": [
                json.dumps(attributes | {"email": "jo@marsh.example"} if id_ == "a" else attributes)
                for id_, attributes in rows
            ],
            "vector": [[1.0, 0.0, 0.0], [1.0, 0.05, 0.0], [1.0, 0.0, 0.05]],
        }
    )
    found = match_entities(table)
    assert found.merges == ()
    assert [(p.a, p.b, p.probability) for p in found.review] == [("a", "b", DOUBTED), ("a", "c", DOUBTED)]

"""``match_memories`` and ``cluster_memories``: what merges, what never does, and groups that hold together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from random import Random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.errors import Refused
from slowwave.matching import MemoryMatches, cluster_memories, match_memories
from slowwave.text.sameness import sameness


def at(degrees: float) -> list[float]:
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


def table(rows: Sequence[tuple[str, float]], **more: Sequence[object]) -> pa.Table:
    """Texts and their directions; ids a, b, c …"""
    columns: Mapping[str, Sequence[object]] = {
        "id": [chr(97 + k) for k in range(len(rows))],
        "text": [text for text, _ in rows],
        "vector": [at(angle) for _, angle in rows],
        **more,
    }
    return pa.table(columns)


def decisions(found: MemoryMatches) -> dict[tuple[str, str], str]:
    return {(p.a, p.b): p.decision for p in found.pairs}


def test_texts_alone_are_enough() -> None:
    """Offline: the wheel's model embeds them; synonyms count as the same word."""
    texts = [
        "Anna bought a new car.",
        "Anna purchased a new car.",
        "Anna sold a new car.",
        "The user prefers dark mode.",
        "the user prefers dark mode",
        "Marcus is allergic to penicillin.",
        "Marcus is not allergic to penicillin.",
    ]
    found = match_memories(pa.table({"id": list("abcdefg"), "text": texts}))
    assert found.merges == (("a", "b"), ("d", "e"))
    assert ("f", "g") in {(p.a, p.b) for p in found.contradictions}
    assert found.counts["rows"] == 7


def test_cosine_alone_never_merges() -> None:
    """Equal vectors, other things said: for a person at best."""
    found = match_memories(
        table([("The server crashed.", 0), ("The backup server crashed.", 0), ("Lunch was good.", 0)])
    )
    assert found.merges == ()
    assert decisions(found) == {("a", "b"): "review", ("a", "c"): "different", ("b", "c"): "different"}
    assert [(p.a, p.b) for p in found.review] == [("a", "b")]
    explained = found.explain("b", "a")
    assert explained is not None
    assert explained.reason == "Only one of them says backup."


@pytest.mark.parametrize(("degrees", "merged"), [(20, True), (30, True), (38, False)])
def test_equal_words_need_less_cosine_and_equal_texts_none(degrees: float, merged: bool) -> None:
    """cos 30° is .866, cos 38° .788, less than .92 less the lenience; what is equal by its key needs no vector to agree."""
    found = match_memories(table([("The crane stopped.", 0), ("The crane had stopped.", degrees)]))
    assert bool(found.merges) is merged
    assert match_memories(table([("The crane stopped.", 0), ("the crane stopped!", 90)])).merges == (("a", "b"),)


@pytest.mark.parametrize("column", ["kind", "scope", "subject", "author"])
def test_only_rows_of_one_kind_scope_subject_and_author_merge(column: str) -> None:
    """Where there is such a column."""
    rows = [("The crane stopped.", 0.0), ("The crane stopped.", 0.0)]
    assert match_memories(table(rows, **{column: ["x", "x"]})).merges == (("a", "b"),)
    assert match_memories(table(rows, **{column: ["x", "y"]})).merges == ()


def test_frames_lists_and_missing_vectors_are_taken() -> None:
    """pandas as Arrow; a row without a vector or a text is compared by its key alone, or not at all."""
    frame = pd.DataFrame(
        {"id": [1, 2, 3, 4], "text": ["Tea is hot.", "tea is hot", "", None], "vector": [at(0), None, at(0), None]}
    )
    assert match_memories(frame).merges == (("1", "2"),)
    fixed = pa.table(
        {"id": ["a", "b"], "text": ["x y z", "x y z."], "vector": pa.array([at(0), at(5)], pa.list_(pa.float32(), 2))}
    )
    assert match_memories(fixed).merges == (("a", "b"),)
    assert match_memories(pa.table({"id": pa.array([], pa.string()), "text": pa.array([], pa.string())})).merges == ()


def test_what_is_wrong_is_refused_with_its_row() -> None:
    """A sentence and no traceback of Arrow's."""
    with pytest.raises(Refused, match="repeats the id"):
        match_memories(pa.table({"id": ["a", "a"], "text": ["x", "y"]}))
    with pytest.raises(Refused, match="no column text"):
        cluster_memories(pa.table({"id": ["a"]}))
    with pytest.raises(Refused, match="vector of row 1 has 1"):
        match_memories(pa.table({"id": ["a", "b"], "text": ["x", "y"], "vector": [[1.0, 0.0], [1.0]]}))


WORDS = ("Anna", "The crane", "My team", "Your team")
VERBS = ("likes", "does not like", "bought", "sold", "moved")
THINGS = ("the red bridge", "the blue bridge", "12 boxes", "21 boxes", "tea", "the bridge in Rome")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(WORDS), st.sampled_from(VERBS), st.sampled_from(THINGS), st.integers(0, 25)),
        max_size=14,
    ),
    st.randoms(use_true_random=False),
)
def test_groups_are_disjoint_hold_no_vetoed_pair_and_do_not_depend_on_the_order(
    rows: list[tuple[str, str, str, int]], r: Random
) -> None:
    """Whatever is near: the same groups for any order of the rows, each row in one, no two members that contradict each other."""
    whole = table([(f"{a} {b} {c}.", float(angle)) for a, b, c, angle in rows])
    if not rows:
        return
    found = match_memories(whole)
    order = list(range(len(rows)))
    r.shuffle(order)
    assert match_memories(whole.take(order)).merges == found.merges
    members = [id_ for group in found.merges for id_ in group]
    assert len(members) == len(set(members))
    texts = dict(zip(whole["id"].to_pylist(), whole["text"].to_pylist(), strict=True))
    for group in found.merges:
        for a, b in combinations(group, 2):
            assert sameness(texts[a], texts[b]).decision == "same"


def test_a_chain_is_no_cluster() -> None:
    """Each near the next, the ends far apart: the nearest three hold together, nobody is in two groups."""
    rows = [("x", 0.0), ("x", 10.0), ("x", 20.0), ("x", 60.0), ("x", 80.0), ("x", 100.0), ("x", 170.0)]
    groups = cluster_memories(table(rows), floor=0.75, cohesion=0.75)
    assert groups == (("a", "b", "c"), ("d", "e", "f"))
    shuffled = table(rows).take([3, 6, 0, 5, 1, 4, 2])
    assert cluster_memories(shuffled, floor=0.75, cohesion=0.75) == groups


def test_every_two_members_have_the_cohesion() -> None:
    """Random rows in few dimensions: many near pairs, and still no group wider than asked."""
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((200, 5))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    ids = [str(k) for k in range(200)]
    groups = cluster_memories(pa.table({"id": ids, "text": ids, "vector": list(matrix)}), floor=0.7, cohesion=0.8)
    assert len(groups) > 5
    for group in groups:
        rows = matrix[[int(k) for k in group]]
        assert (rows @ rows.T).min() >= 0.8 - 1e-5


def test_clusters_from_texts_alone() -> None:
    """Offline, by the wheel's model: three about the weather, three about a card; the odd one is in none."""
    texts = [
        *("what is the weather like today", "how is the weather today", "tell me today's weather"),
        *("i lost my credit card", "my credit card is lost", "i can't find my credit card"),
        "do penguins have knees",
    ]
    groups = cluster_memories(pa.table({"id": list("abcdefg"), "text": texts}))
    assert groups == (("a", "b", "c"), ("d", "e", "f"))

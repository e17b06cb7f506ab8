"""Neighbour graph: degrees, similarities and the coverage of vectors."""

from __future__ import annotations

import math

from slowwave.operations import AUDITS
from slowwave.plans.report import Report
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

neighbour_graph = AUDITS["neighbour_graph"]


def at(degrees: float) -> tuple[float, float]:
    """A direction; cos 20° is .94, cos 50° .64."""
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


def audited(*memories: tuple[str, float | None], **more: object) -> Report:
    rows = [{"id": uid(name), "external_id": name, "subject": f"of {name}", **more} for name, _ in memories]
    vectors = {uid(name): at(angle) for name, angle in memories if angle is not None}
    return neighbour_graph(make_inputs(make_snapshot(memories=rows, vectors={"memory_vectors": vectors})))


def test_pairs_are_counted_once_with_their_real_similarity() -> None:
    """Three in a row: the ends are 40° apart, which is still .766; the fourth is alone and the fifth has no vector."""
    found = audited(("a", 0), ("b", 20), ("c", 40), ("d", 120), ("e", None))
    numbers = found.numbers
    assert (numbers["active memories"], numbers["without a vector"], numbers["vector coverage"]) == (5, 1, 0.8)
    assert (numbers["pairs"], numbers["with a neighbour"], numbers["greatest degree"]) == (3, 3, 2)
    expected = (2 * math.cos(math.radians(20)) + math.cos(math.radians(40))) / 3
    assert numbers["mean similarity"] == round(expected, 4)
    assert [row["similarity"] for row in found.table] == [0.9397, 0.9397, 0.766]
    assert found.headline == ("3 of 5 active memories have a neighbour of similarity 0.75 or more; 1 has no vector.")
    assert {found.table[2]["a says"], found.table[2]["b says"]} == {"of a", "of c"}, (
        "the two that are farthest apart, in words"
    )


def test_every_memory_of_the_histogram_is_counted() -> None:
    """Pairs by similarity add up to the pairs, memories by degree to those with a vector."""
    found = audited(*((str(k), 9.0 * k) for k in range(12)))
    similarities, degrees = found.plots
    assert sum(similarities.values) == found.numbers["pairs"]
    assert sum(degrees.values) == 12


def test_what_recall_does_not_find_is_no_neighbour() -> None:
    """Archived and retired memories are in no graph; an empty namespace says so."""
    for more in ({"state": "archived"}, {"invalidated_at": TAKEN_AT}):
        assert audited(("a", 0), ("b", 0), **more).numbers["active memories"] == 0
    assert (
        audited().headline == "0 of 0 active memories have a neighbour of similarity 0.75 or more; each has a vector."
    )

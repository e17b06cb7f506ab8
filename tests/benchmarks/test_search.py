"""Figures of searches: hits, and hybrid compared with its halves."""

import pytest

from benchmarks.search import Asked, compared, drawn, hits_of, served
from slowwave.store.connect import Store


def test_hits_leave_out_the_question_and_count_an_answer_once():
    question = Asked("q", frozenset({3, 4}), frozenset({0}))
    assert hits_of([0, 3, 5, 3, 4], question) == [True, False, False, True]
    assert hits_of([*range(10, 20), 3], question) == [False] * 10


@pytest.mark.parametrize(
    ("hybrid", "difference"),
    [
        ([True] * 8 + [False] * 12, "-0.200 (-0.400 … -0.050)"),
        ([True] * 12 + [False] * 8, "+0.000 (+0.000 … +0.000)"),
        ([True] * 20, "+0.400 (+0.200 … +0.600)"),
    ],
)
def test_hybrid_is_compared_question_by_question_with_its_better_half(hybrid: list[bool], difference: str):
    hits = {"bm25": [False] * 20, "vector": [True] * 12 + [False] * 8, "hybrid": hybrid}
    name, number, *recalls, last = compared("set", hits)
    assert (name, number, recalls[:2]) == ("set", "20", ["0.000", "0.600"])
    assert last == difference


@pytest.mark.slow
def test_server_answers_the_drawn_questions(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.owner)
    figures = dict(served(drawn(store, 40)[:8]))
    assert {"seconds until it answers", "MB before a search", "searches a second, hybrid, 8 clients"} <= figures.keys()

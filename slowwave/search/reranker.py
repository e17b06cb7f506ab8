"""Another order of what was found, by a model: a score for each candidate, or the few pages that answer. What it omits stays, behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

from slowwave.language.searcher import Searcher, texts_of
from slowwave.texts.quotation import quotable

RERANKED: Final = 40
SELECTED: Final = 12
"""Candidates that are shown to the model, of each step."""

SHOWN: Final = 500
"""Characters of a candidate that it reads."""

_RERANK: Final = "Score from 0 to 1 how well each candidate answers the query. Give each one's chunk_id with its score, the best first."
_SELECT: Final = "Name the paths of the candidates that answer the query, the best first, and no others."
_RANKING: Final = {
    "ranking": {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["chunk_id", "score"],
            "properties": {"chunk_id": {"type": "string"}, "score": {"type": "number"}},
        },
    }
}


class Candidate(NamedTuple):
    """Something that was found: where it is, and the part of it that answers."""

    path: str
    text: str


class Order(NamedTuple):
    """Places of all candidates in their new order; with a ``warning`` it is the order that they had."""

    places: list[int]
    warning: str = ""


def reranked(searcher: Searcher, query: str, found: Sequence[Candidate]) -> Order:
    """By the model's scores. Candidates are named by their places, so that no id of the store leaves it."""
    shown = [{"chunk_id": str(n), **_candidate_json(one)} for n, one in enumerate(found[:RERANKED])]
    helped = searcher.ask("rerank", _RERANK, {"query": query, "candidates": shown}, _RANKING, 2_000)
    scores: dict[int, float] = {}
    listed = helped.answer["ranking"] if helped.answer else ()
    for one in cast("list[Any]", listed) if isinstance(listed, list) else ():
        if isinstance(one, dict) and str(one.get("chunk_id")) in map(str, range(len(shown))):
            score = one.get("score")
            if isinstance(score, int | float) and 0 <= score <= 1:
                scores.setdefault(int(str(one["chunk_id"])), float(score))
    return _ordered(sorted(scores, key=lambda n: (-scores[n], n)), len(found), helped.warning)


def selected(searcher: Searcher, query: str, found: Sequence[Candidate]) -> Order:
    """The candidates at the paths that the model names, first."""
    shown = [_candidate_json(one) for one in found[:SELECTED]]
    answer = {"selected_paths": {"type": "array", "items": {"type": "string"}}}
    helped = searcher.ask("select", _SELECT, {"query": query, "candidates": shown}, answer)
    paths = texts_of(helped.answer, "selected_paths", SELECTED) if helped.answer else []
    first = [n for path in paths for n, one in enumerate(found[:SELECTED]) if one.path == path]
    return _ordered(first, len(found), helped.warning)


def _ordered(first: Sequence[int], count: int, warning: str) -> Order:
    return Order(list(dict.fromkeys([*first, *range(count)])), warning)


def _candidate_json(one: Candidate) -> dict[str, str]:
    return {"path": one.path, "text": str(quotable(one.text))[:SHOWN]}

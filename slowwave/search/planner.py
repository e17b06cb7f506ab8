"""More queries for a question, and another order of its results, by a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from slowwave.models.panel import Searcher, texts_of
from slowwave.text.quotation import quotable

# Additional queries for one question, from a model: a plan of queries, or other words if the plain search found little.

MOST: Final = 3
"""Maximum number of queries of a plan for each plane."""

EXPANSIONS: Final = 2
WEAK: Final = 0.5
"""Score of the best match below which queries with other words are requested."""

_LONGEST: Final = 500
_LIST: Final = {"type": "array", "items": {"type": "string"}}
_PLAN: Final = (
    "Plan a search of an agent's memory. Give short queries that would find what answers the question: durable_queries for pages and "
    "facts, session_queries for past conversations, and whether results from conversations are wanted at all."
)
_EXPAND: Final = "Give at most two other short queries, in other words, that would find what answers the question."


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Queries in addition to the one that was asked, by plane, and whether conversations are wanted.

    ``warning`` is set if there is no plan.
    """

    durable: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    include_sessions: bool = False
    warning: str = ""

    def queries(self, planes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the queries of some planes, each once."""
        durable, sessions = (
            (self.durable if "durable" in planes else ()),
            (self.sessions if "sessions" in planes else ()),
        )
        return tuple(dict.fromkeys((*durable, *sessions)))


def planned(searcher: Searcher, question: str) -> QueryPlan:
    """Return the model's plan for a question."""
    answer = {"durable_queries": _LIST, "session_queries": _LIST, "include_session_results": {"type": "boolean"}}
    helped = searcher.ask("plan", _PLAN, {"question": question}, answer)
    if helped.answer is None:
        return QueryPlan(warning=helped.warning)
    durable, sessions = (
        tuple(text[:_LONGEST] for text in texts_of(helped.answer, name, MOST))
        for name in ("durable_queries", "session_queries")
    )
    return QueryPlan(durable, sessions, helped.answer["include_session_results"] is True)


def expanded(searcher: Searcher, question: str) -> QueryPlan:
    """Return the question in other words, as queries for every plane."""
    helped = searcher.ask("expand", _EXPAND, {"question": question}, {"queries": _LIST})
    found = texts_of(helped.answer, "queries", EXPANSIONS) if helped.answer else []
    other = tuple(text[:_LONGEST] for text in found if text != question)
    return QueryPlan(other, other, warning=helped.warning)


# Reordering of results by a model: a score for each candidate, or a selection of the few pages that answer. Results that the model omits
# are kept after the others.

RERANKED: Final = 40
SELECTED: Final = 12
"""Number of candidates that the model sees in each step."""

SHOWN: Final = 500
"""Maximum length in characters of a candidate that the model sees."""

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
    """A search result for a model: its path, and the part of it that answers the query."""

    path: str
    text: str


class Order(NamedTuple):
    """The positions of all candidates in their new order; with a ``warning`` the order is unchanged."""

    places: list[int]
    warning: str = ""


def reranked(searcher: Searcher, query: str, found: Sequence[Candidate]) -> Order:
    """Return the candidates in the order of the model's scores.

    Candidates are named by their positions, so that no id of the store leaves it.
    """
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
    """Return the candidates with those first whose paths the model selects."""
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

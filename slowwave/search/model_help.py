"""Help of a model at run time, within its budget: more queries for one question, and another order of the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from slowwave.errors import SettingsError
from slowwave.models.panel import Budget, Searcher, Usage, texts_of
from slowwave.search.request import KnownNamespace
from slowwave.store.configured_models import searcher_for
from slowwave.store.logins import Connection
from slowwave.text.screening import quotable

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


# The model that helps at run time, within the budget of a namespace for 24 hours.
#
# Every call is recorded in ``memory.model_calls`` as it ends, so that restarts and other processes count it. ``slowwave.wiki.recall`` uses
# the model as well.

_SPENT: Final = """
SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM memory.model_calls
 WHERE namespace_id = %s AND recorded_at > now() - interval '24 hours'"""

_BOOK: Final = "SELECT memory.book_model_call(%s::uuid, %s::text, %s::text, %s::bigint, %s::bigint)"


def helper(
    connection: Connection, known: KnownNamespace, *, timeout: float | None = None
) -> tuple[Searcher | None, str]:
    """Return the model that the settings name, or None and the reason if a wanted model is missing.

    ``connection`` may book costs (``memory.book_model_call``), as the role ``server`` may. ``timeout`` is that of ``searcher_for``.
    """
    settings = known.settings
    if not (settings.search_model and settings.search_steps):
        return None, ""
    try:
        return searcher_for(settings, day_budget(connection, known), timeout=timeout), ""
    except SettingsError as problem:
        return None, str(problem)


def day_budget(connection: Connection, known: KnownNamespace) -> Budget:
    """Return the budget that a namespace has left for models today; this connection books the costs."""
    row = connection.execute(_SPENT, (known.id,)).fetchone()

    def record(usage: Usage) -> None:
        connection.execute(_BOOK, (known.id, usage.operation, usage.model, usage.input, usage.output))

    return Budget(
        per_day=known.settings.search_max_tokens_per_day,
        spent_today=int(str(row[0])) if row else 0,
        record=record,
    )

"""More queries for one question, by a model: a plan of what to look for, or other words where the plain search found little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from slowwave.language.searcher import Searcher, texts_of

MOST: Final = 3
"""Queries of a plan for each plane."""

EXPANSIONS: Final = 2
WEAK: Final = 0.5
"""Best match below which other words are asked for."""

_LONGEST: Final = 500
_LIST: Final = {"type": "array", "items": {"type": "string"}}
_PLAN: Final = (
    "Plan a search of an agent's memory. Give short queries that would find what answers the question: durable_queries for pages and "
    "facts, session_queries for past conversations, and whether results from conversations are wanted at all."
)
_EXPAND: Final = "Give at most two other short queries, in other words, that would find what answers the question."


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Queries beside the one that was asked, by plane, and whether conversations are wanted; ``warning`` where there is no plan."""

    durable: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    include_sessions: bool = False
    warning: str = ""

    def queries(self, planes: tuple[str, ...]) -> tuple[str, ...]:
        """Those of some planes, each once."""
        durable, sessions = (
            (self.durable if "durable" in planes else ()),
            (self.sessions if "sessions" in planes else ()),
        )
        return tuple(dict.fromkeys((*durable, *sessions)))


def planned(searcher: Searcher, question: str) -> QueryPlan:
    """A plan for a question."""
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
    """The question in other words, for every plane."""
    helped = searcher.ask("expand", _EXPAND, {"question": question}, {"queries": _LIST})
    found = texts_of(helped.answer, "queries", EXPANSIONS) if helped.answer else []
    other = tuple(text[:_LONGEST] for text in found if text != question)
    return QueryPlan(other, other, warning=helped.warning)

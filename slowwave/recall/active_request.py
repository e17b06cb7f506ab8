"""The request and the answer of active memory, and what happens in between: searches, denials, a block.

A search that takes longer than ``timeout_ms`` is stopped: what is known by then is told, and the answer says that it is partial. A language
model plans and words only where the settings ask for it and time is left; searches ask none.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Literal, NamedTuple

import psycopg
from pydantic import BaseModel, ConfigDict, Field

from slowwave.config.settings import SearchStep, Settings
from slowwave.language.searcher import Searcher
from slowwave.recall.active import ActiveBlock, FoundPage, active_block, chosen, worded_block
from slowwave.recall.active_profiles import AUTO, ActiveProfile, active_profiles
from slowwave.recall.active_steps import COMPOSE_SECONDS, PLAN_SECONDS, ReminderPlan, WordedLine, reminder_plan, worded
from slowwave.recall.wake_request import WakeRequest, wake
from slowwave.search.model_help import helper
from slowwave.search.namespace_settings import KnownNamespace
from slowwave.search.recall_log import Answered, Recalled
from slowwave.search.request import SearchRequest, SearchResponse, SearchResult, SearchScope
from slowwave.store.connect import Connection
from slowwave.store.namespaces import namespace_id

_CANDIDATES: Final = 20
_SESSIONS_OF_A_WAKE: Final = 5
_LONGEST_QUERY: Final = 8_000
_EMBEDDING: Final = 0.7
"""Share of the time left that embedding may take; the rest is for a search by words."""

_SET_TIMEOUT: Final = "SELECT set_config('statement_timeout', %s, true)"


class ActiveMemoryRequest(BaseModel):
    """What an agent is about to do, for what it should be reminded of."""

    model_config = ConfigDict(extra="forbid")

    prompt: str = Field(min_length=1, max_length=100_000, description="What the agent is asked, or is about to do.")
    agent: str = Field(min_length=1, max_length=200, description="Who asks.")
    cwd: str = Field(
        default="",
        max_length=4_096,
        description="The folder in which it works; its name is a project where none is named.",
    )
    project: str = Field(default="", max_length=200, description="The project in hand.")
    scope: SearchScope = Field(default=SearchScope(), description="Holds for sessions alone.")
    profile: str = Field(
        default=AUTO, max_length=100, description="auto, general, coding, writing, personal, health or privacy."
    )
    timeout_ms: int = Field(default=3_000, ge=100, le=30_000, description="How long searches may take.")
    budget_tokens: int = Field(
        default=400, ge=100, le=1_200, description="Most tokens of the block, the wake left out."
    )
    include_wake: bool = Field(default=False, description="Whether the profile's wake block stands before it.")
    debug: bool = Field(default=False, description="Whether the answer says how it came about.")


class ActiveMemoryResponse(BaseModel):
    """``kind`` is ``none`` where nothing is told. ``partial``: a search was not waited for. The rest with ``debug``."""

    kind: Literal["none", "memory"]
    block: str
    summary: str
    sources: tuple[str, ...]
    partial: bool = False
    warnings: tuple[str, ...] = ()
    profile: str | None = None
    took_ms: float | None = None


def active_memory(
    connection: Connection, namespace: str, request: ActiveMemoryRequest, settings: Settings
) -> Answered[ActiveMemoryResponse]:
    """What an agent is reminded of, and what was searched for it. Raises ``Refused`` for a namespace or profile that is not there."""
    began = time.monotonic()
    profiles = active_profiles()
    name, profile = profiles.chosen(request.profile, request.prompt)
    project = request.project or request.cwd.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    sessions = profiles.wants_sessions(profile, request.prompt)
    told = WakeRequest(
        agent=request.agent,
        profile=profile.wake,
        project=project[:200],
        include_recent_sessions=_SESSIONS_OF_A_WAKE if sessions else 0,
        include_pinned_decisions=profile.decisions,
    )
    woken = wake(connection, namespace, told, settings) if request.include_wake else None
    help_ = _Help(
        connection, KnownNamespace(namespace_id(connection, namespace), settings), began + request.timeout_ms / 1000
    )
    plan = help_.plan(request.prompt) if profile.durable or profile.sessions != "never" else ReminderPlan()
    sessions = sessions or (plan.include_sessions and profile.sessions != "never")
    asked = _asked(request, profile, plan, sessions=sessions)
    searches = _searched(connection, namespace, asked, help_.deadline)
    same = _same(connection, [answer for _, answer in searches])
    found = [
        _page(result, rank, one.query, one.request.corpus == "sessions", same.get(result.id, frozenset()))
        for one, answer in searches
        for rank, result in enumerate(answer.results)
    ]
    pages = chosen(found, profile, profiles, durable=plan.most_durable, sessions=plan.most_sessions)
    lines = help_.words(request.prompt, pages) if pages else ()
    block = worded_block(lines, pages, request.budget_tokens) if lines else active_block(pages, request.budget_tokens)
    before = woken.answer.block if woken else ""
    text = "\n\n".join(part for part in (before, f"## Relevant memory\n\n{block.text}" if block.text else "") if part)
    late = len(asked) - len(searches)
    warnings = dict.fromkeys([*help_.warnings, *(warning for _, answer in searches for warning in answer.warnings)])
    if late:
        told_late = (
            f"{late} of {len(asked)} searches took longer than {request.timeout_ms:,} ms and were not waited for."
        )
        warnings[told_late] = None
    answer = ActiveMemoryResponse(
        kind="memory" if text else "none",
        block=text,
        summary=_summary(block, partial=bool(late)),
        sources=block.sources,
        partial=bool(late),
        warnings=tuple(warnings),
        profile=name if request.debug else None,
        took_ms=round((time.monotonic() - began) * 1000, 1) if request.debug else None,
    )
    recalls = (Recalled.of_search(found) for _, found in searches)
    return Answered(answer, (*recalls, *(woken.recalls if woken else ())))


class _Asked(NamedTuple):
    """A search, and the place of its query among those of its plane."""

    request: SearchRequest
    query: int


class _Help:
    """The model's steps of one reminder, until ``deadline`` (monotonic seconds); ``warnings`` say what was left out."""

    def __init__(self, connection: Connection, known: KnownNamespace, deadline: float) -> None:
        self._connection, self._known, self.deadline = connection, known, deadline
        self.warnings: list[str] = []

    def plan(self, prompt: str) -> ReminderPlan:
        searcher = self._searcher("active_plan", PLAN_SECONDS)
        plan = reminder_plan(searcher, prompt) if searcher else ReminderPlan()
        self.warnings += filter(None, [plan.warning])
        return plan

    def words(self, prompt: str, pages: Sequence[FoundPage]) -> tuple[WordedLine, ...]:
        searcher = self._searcher("active_compose", COMPOSE_SECONDS)
        lines, warning = worded(searcher, prompt, pages) if searcher else ((), "")
        self.warnings += filter(None, [warning])
        return lines

    def _searcher(self, step: SearchStep, least: float) -> Searcher | None:
        """The model, with half of the time that is left; none where that is less than ``least``."""
        if step not in self._known.settings.search_steps:
            return None
        left = self.deadline - time.monotonic()
        if left < least:
            self.warnings.append(
                f"The step {step} was left out: it needs {least * 1000:,.0f} ms of the time that is left."
            )
            return None
        searcher, problem = helper(self._connection, self._known, timeout=left / 2)
        self.warnings += filter(None, [problem])
        return searcher


def _asked(request: ActiveMemoryRequest, profile: ActiveProfile, plan: ReminderPlan, *, sessions: bool) -> list[_Asked]:
    """Return the searches: durable pages where the profile has them searched, and sessions where they are wanted; the prompt before a
    plan's. A prompt of small talk ("thanks, that is all") is about no page, so nothing is searched for it.
    """
    from slowwave.texts.small_talk import is_small_talk  # a server starts without its tables

    if is_small_talk(request.prompt):
        return []
    prompt = request.prompt[:_LONGEST_QUERY]
    durable = [
        SearchRequest(query=query, k=_CANDIDATES, include_content=True, debug=True)
        for query in dict.fromkeys((prompt, *plan.durable))
        if profile.durable
    ]
    spoken = [
        SearchRequest(query=query, k=_CANDIDATES, corpus="sessions", scope=request.scope, debug=True)
        for query in dict.fromkeys((prompt, *plan.sessions))
        if sessions
    ]
    return [_Asked(one, n) for of in (durable, spoken) for n, one in enumerate(of)]


def _searched(
    connection: Connection, namespace: str, asked: Sequence[_Asked], deadline: float
) -> list[tuple[_Asked, SearchResponse]]:
    """The searches that ended in time, each with its answer; the database stops one that does not."""
    from slowwave.search.search import search_on  # NumPy and the embedder: a server starts without them

    done: list[tuple[_Asked, SearchResponse]] = []
    for one in asked:
        left = int((deadline - time.monotonic()) * 1000)
        if left > 0:
            with suppress(psycopg.errors.QueryCanceled), connection.transaction():
                connection.execute(_SET_TIMEOUT, (str(left),))
                embed_until = time.monotonic() + left * _EMBEDDING / 1000
                done.append((one, search_on(connection, namespace, one.request, plain=True, embed_until=embed_until)))
    return done


def _same(connection: Connection, answers: Sequence[SearchResponse]) -> dict[str, frozenset[str]]:
    """Result of one search → those of others that are one thing with it: one search tells a thing once."""
    from slowwave.search.candidates import cited_among  # as below
    from slowwave.search.things import either_covers

    results = {r.id: r for answer in answers for r in answer.results}
    if sum(bool(answer.results) for answer in answers) < 2:
        return {}
    found: dict[str, set[str]] = defaultdict(set)
    for memory, passage, sure in cited_among(connection, list(results)):
        if sure or either_covers(results[memory].snippet, results[passage].snippet):
            found[memory].add(passage)
            found[passage].add(memory)
    return {id_: frozenset(own) for id_, own in found.items()}


def _page(result: SearchResult, rank: int, query: int, spoken: bool, same: frozenset[str]) -> FoundPage:
    return FoundPage(
        result.path or f"{result.kind}/{result.id}",
        result.snippet,
        result.score,
        rank=rank,
        query=query,
        plane="sessions" if spoken else "durable",
        confidence=result.confidence,
        stale=bool(result.stale_warning),
        metadata=result.frontmatter or {},
        row=result.id,
        same=same,
    )


def _summary(block: ActiveBlock, *, partial: bool) -> str:
    if not block.sources:
        return "The searches took too long." if partial else "Nothing that may be told was found."
    return f"{len(block.sources)} {'page' if len(block.sources) == 1 else 'pages'}: {', '.join(block.sources)}."

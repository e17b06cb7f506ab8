"""The request and the answer of active memory, and what happens in between: searches, denials, a block.

A search that takes longer than ``timeout_ms`` is stopped: what is known by then is told, and the answer says that it is partial.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Literal

import psycopg
from pydantic import BaseModel, ConfigDict, Field

from slowwave.config.settings import Settings
from slowwave.recall.active import DURABLE, ActiveBlock, FoundPage, active_block, chosen
from slowwave.recall.active_profiles import AUTO, ActiveProfile, active_profiles
from slowwave.recall.wake_request import WakeRequest, wake
from slowwave.search.recall_log import Answered, Recalled
from slowwave.search.request import SearchRequest, SearchResponse, SearchResult, SearchScope
from slowwave.search.search import search_on
from slowwave.store.connect import Connection

_CANDIDATES: Final = 20
_SESSIONS_OF_A_WAKE: Final = 5
_LONGEST_QUERY: Final = 8_000


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
    asked = _asked(request, profile, sessions=sessions)
    searches = _searched(connection, namespace, asked, began + request.timeout_ms / 1000)
    found = [
        _page(result, rank, one.corpus == "sessions")
        for one, answer in searches
        for rank, result in enumerate(answer.results)
    ]
    block = active_block(chosen(found, profile, profiles, durable=DURABLE), request.budget_tokens)
    before = woken.answer.block if woken else ""
    text = "\n\n".join(part for part in (before, f"## Relevant memory\n\n{block.text}" if block.text else "") if part)
    late = len(asked) - len(searches)
    warnings = dict.fromkeys(warning for _, answer in searches for warning in answer.warnings)
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


def _asked(request: ActiveMemoryRequest, profile: ActiveProfile, *, sessions: bool) -> list[SearchRequest]:
    """The searches: durable pages where the profile has them searched, and sessions where it and the prompt ask for them."""
    query = request.prompt[:_LONGEST_QUERY]
    durable = [SearchRequest(query=query, k=_CANDIDATES, include_content=True, debug=True)] if profile.durable else []
    spoken = SearchRequest(query=query, k=_CANDIDATES, corpus="sessions", scope=request.scope, debug=True)
    return [*durable, *([spoken] if sessions else [])]


def _searched(
    connection: Connection, namespace: str, asked: Sequence[SearchRequest], deadline: float
) -> list[tuple[SearchRequest, SearchResponse]]:
    """The searches that ended in time, each with its answer; the database stops one that does not."""
    done: list[tuple[SearchRequest, SearchResponse]] = []
    for one in asked:
        left = int((deadline - time.monotonic()) * 1000)
        if left > 0:
            with suppress(psycopg.errors.QueryCanceled), connection.transaction():
                connection.execute("SELECT set_config('statement_timeout', %s, true)", (str(left),))
                done.append((one, search_on(connection, namespace, one, plain=True)))
    return done


def _page(result: SearchResult, rank: int, spoken: bool) -> FoundPage:
    return FoundPage(
        result.path or f"{result.kind}/{result.id}",
        result.snippet,
        result.score,
        rank=rank,
        plane="sessions" if spoken else "durable",
        confidence=result.confidence,
        stale=bool(result.stale_warning),
        metadata=result.frontmatter or {},
    )


def _summary(block: ActiveBlock, *, partial: bool) -> str:
    if not block.sources:
        return "The searches took too long." if partial else "Nothing that may be told was found."
    return f"{len(block.sources)} {'page' if len(block.sources) == 1 else 'pages'}: {', '.join(block.sources)}."

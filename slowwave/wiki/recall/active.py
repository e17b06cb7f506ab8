"""Active memory: select which found pages an agent is reminded of, and word the reminder within a budget."""

from __future__ import annotations

import re
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, cached_property
from importlib import resources
from typing import Any, Final, Literal, NamedTuple

import psycopg
from pydantic import BaseModel, ConfigDict, Field

from slowwave.errors import Refused
from slowwave.models.panel import Searcher, SearchStep, texts_of
from slowwave.search.model_help import helper
from slowwave.search.recall_events import Answered, Recalled
from slowwave.search.request import (
    KnownNamespace,
    NotBlank,
    SearchRequest,
    SearchResponse,
    SearchResult,
    SearchScope,
)
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.store.settings import Settings
from slowwave.text.markdown import in_line, plain_line
from slowwave.text.quotation import quotable
from slowwave.text.tokens import BYTES_A_TOKEN
from slowwave.wiki.recall.research import cited
from slowwave.wiki.recall.wake import WakeRequest, wake

# Profiles of active memory: what an agent is reminded of while it works, and what it never gets; the data is in ``active_profiles.toml``.

AUTO: Final = "auto"
GENERAL: Final = "general"


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PathWeight(_Data):
    """A weight added to the score of a page whose path matches; an asterisk matches any characters."""

    path: str
    add: float = Field(ge=-0.1, le=0.1)


class NeverShown(_Data):
    """The pages that no profile shows: paths, and values of frontmatter."""

    paths: tuple[str, ...]
    statuses: tuple[str, ...]
    source_kinds: tuple[str, ...]
    sensitivities: tuple[str, ...]


class Intent(_Data):
    """The words by which a prompt asks for something."""

    words: tuple[str, ...]


class ActiveProfile(_Data):
    """A profile of active memory.

    It names the wake profile, and states whether pinned decisions are included, whether durable pages and sessions are searched, and what
    else is denied.
    """

    wake: str
    decisions: bool = True
    durable: bool = True
    sessions: Literal["intent", "always", "never"] = "intent"
    words: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()
    visibilities: tuple[str, ...] = ()
    sensitivities: tuple[str, ...] = ()


class ActiveProfiles(_Data):
    """The complete content of the profiles file."""

    order: tuple[str, ...]
    weights: tuple[PathWeight, ...]
    never: NeverShown
    profiles: Mapping[str, ActiveProfile]
    intent: Intent

    @cached_property
    def _patterns(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        return tuple((name, _any_of(self.profiles[name].words)) for name in self.order)

    def chosen(self, asked: str, prompt: str) -> tuple[str, ActiveProfile]:
        """Return the profile of this name; for ``auto``, the first one whose words are in the prompt, else ``general``.

        Raises ``Refused`` for an unknown name.
        """
        if asked == AUTO:
            asked = next((name for name, words in self._patterns if words.search(prompt)), GENERAL)
        if asked not in self.profiles:
            raise Refused(f"There is no profile {asked!r}. Choose {AUTO} or one of {', '.join(sorted(self.profiles))}.")
        return asked, self.profiles[asked]

    def wants_sessions(self, profile: ActiveProfile, prompt: str) -> bool:
        """Return whether sessions are searched for a prompt."""
        if profile.sessions != "intent":
            return profile.sessions == "always"
        return _any_of(self.intent.words).search(prompt) is not None


@cache
def active_profiles() -> ActiveProfiles:
    """Return the profiles that ship with the package."""
    text = resources.files("slowwave.wiki.recall").joinpath("active_profiles.toml").read_text(encoding="utf-8")
    return ActiveProfiles.model_validate(tomllib.loads(text))


@cache
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that matches any of the words as a whole, in the singular or with an s, in any case.

    Without words it matches nothing.
    """
    if not words:
        return re.compile(r"(?!)")
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})s?(?!\w)", re.IGNORECASE)


# Active memory: which of the pages that a search found are shown to an agent, and in what words, within a budget.
#
# Denials come first: a page that a profile may not show is dropped before ranking, so that no score brings it back. ``slowwave.search``
# runs the searches.

DURABLE: Final = 6
SESSIONS: Final = 3
"""The most pages of each plane that are shown."""

LONGEST: Final = {"durable": 300, "sessions": 160}
"""The most characters of a page, by plane."""

STALE: Final = 0.15
QUERY: Final = 0.06
RANK: Final = 0.01
"""Subtracted from a score: for a stale page, for each query before the one that found it, for each place in its list."""


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page that a search found.

    ``score`` is from 0 to 1. ``rank`` is its position in the results of ``query``, the number of the search; both count from 0. ``row``
    is its id, and ``same`` are the ids of rows with the same content.
    """

    path: str
    text: str
    score: float
    rank: int = 0
    query: int = 0
    plane: Literal["durable", "sessions"] = "durable"
    confidence: Literal["high", "medium", "low"] = "medium"
    stale: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    row: str = ""
    same: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ActiveBlock:
    """The text shown to an agent and its sources; empty if nothing may be shown."""

    text: str
    sources: tuple[str, ...]


def denied(page: FoundPage, profile: ActiveProfile, profiles: ActiveProfiles) -> str:
    """Return in one word why a page is not shown; empty if it may be."""
    never, facts = profiles.never, page.metadata
    sensitivity = str(facts.get("sensitivity") or "")
    if page.plane == "sessions":
        # A session is stored under logs/ and always has low confidence: whether sessions are searched at all is up to the profile.
        reasons = {"status": facts.get("status") in {"quarantined", "superseded", "retired"}}
    else:
        reasons = {
            "path": _fits(page.path, never.paths),
            "status": facts.get("status") in never.statuses or bool(facts.get("superseded_by")),
            "source_kind": facts.get("source_kind") in never.source_kinds,
            "confidence": page.confidence == "low",
            "profile": not profile.durable or _fits(page.path, profile.denies),
            "visibility": facts.get("visibility") in profile.visibilities,
        }
    reasons["sensitivity"] = sensitivity in never.sensitivities or sensitivity in profile.sensitivities
    return next((reason for reason, holds in reasons.items() if holds), "")


def chosen(
    pages: Iterable[FoundPage],
    profile: ActiveProfile,
    profiles: ActiveProfiles,
    *,
    durable: int = DURABLE,
    sessions: int = SESSIONS,
) -> tuple[FoundPage, ...]:
    """Return the pages to show, best first.

    Pages that are denied are left out. Each path and each content is shown once, with at most ``durable`` and ``sessions`` pages of the
    two planes.
    """
    scored = [(_worth(page, profiles), page) for page in pages if not denied(page, profile, profiles)]
    left = {"durable": durable, "sessions": sessions}
    selected: dict[str, FoundPage] = {}
    same: set[str] = set()
    for _, page in sorted(scored, key=lambda one: (-one[0], one[1].path)):
        if page.path not in selected and page.row not in same and left[page.plane]:
            left[page.plane] -= 1
            selected[page.path] = page
            same |= page.same
    return tuple(selected.values())


def active_block(pages: Sequence[FoundPage], budget: int) -> ActiveBlock:
    """Format a line for each page, best first, in at most ``budget`` tokens.

    A page that does not fit is left out, and a shorter one may follow.
    """
    return _filled(((page.text, (page.path,), LONGEST[page.plane], page.stale) for page in pages), budget)


def worded_block(lines: Iterable[tuple[str, tuple[str, ...]]], pages: Sequence[FoundPage], budget: int) -> ActiveBlock:
    """Format worded lines with the paths of their pages, as ``active_block`` formats pages."""
    old = {page.path for page in pages if page.stale}
    block = _filled(((text, paths, LONGEST["durable"], bool(old & set(paths))) for text, paths in lines), budget)
    return ActiveBlock(block.text, tuple(dict.fromkeys(block.sources)))


def _filled(told: Iterable[tuple[str, tuple[str, ...], int, bool]], budget: int) -> ActiveBlock:
    """Fill the block with lines given as (text, paths, most characters, whether it may be out of date)."""
    room, lines, sources = budget * BYTES_A_TOKEN, list[str](), list[str]()
    for text, paths, longest, stale in told:
        shortened = " ".join(plain_line(in_line(text)).split())
        shortened = shortened if len(shortened) <= longest else f"{shortened[: longest - 1].rstrip()}…"
        line = f"- {shortened} ({', '.join(paths)})" + (" [may be out of date]" if stale else "")
        size = len(line.encode()) + (1 if lines else 0)
        if shortened and size <= room:
            room -= size
            lines.append(line)
            sources += paths
    return ActiveBlock("\n".join(lines), tuple(sources))


def _worth(page: FoundPage, profiles: ActiveProfiles) -> float:
    add = next((w.add for w in profiles.weights if _fits(page.path, (w.path,))), 0.0)
    return page.score + add - QUERY * page.query - RANK * page.rank - STALE * page.stale


def _fits(path: str, patterns: Iterable[str]) -> bool:
    """Return whether a path matches a pattern in any case: a vault has ``People/`` where another folder has ``people/``."""
    return any(fnmatchcase(path.lower(), pattern.lower()) for pattern in patterns)


# The use of a language model for a reminder: to plan its searches, and to word what they found. Each step runs only if there is time.
#
# A plan adds queries and the number of pages to show. Whether sessions may be searched at all is up to the profile. A worded line counts if
# it names pages that the model was given and states nothing that they do not. If no line is left, the pages are shown as they are. What a
# profile denies is never sent.

PLAN_SECONDS: Final = 1.8
COMPOSE_SECONDS: Final = 2.2
"""Seconds that must be left of a reminder's time; with less, the step is left out."""

MOST_QUERIES: Final = 3
MOST_DURABLE: Final = 8
MOST_SESSIONS: Final = 6
LONGEST_PROMPT: Final = 4_000
"""The most characters of a prompt that a model gets."""

_LONGEST_QUERY_ACTIVE_STEPS: Final = 500
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_PLAN: Final = (
    "An agent is about to act on a prompt. Plan what to look for in its memory: short durable_queries for pages and facts, session_queries "
    "for past conversations, whether conversations are wanted, and how many of each are worth telling."
)
_PLANNED: Final = {
    "durable_queries": _TEXTS,
    "session_queries": _TEXTS,
    "include_sessions": {"type": "boolean"},
    "durable_limit": {"type": "integer", "minimum": 1, "maximum": MOST_DURABLE},
    "session_limit": {"type": "integer", "minimum": 0, "maximum": MOST_SESSIONS},
}
_COMPOSE: Final = (
    "An agent is about to act on a prompt. Tell it what of the pages bears on that, in at most six short sentences, each with the numbers "
    "of the pages that say so. Keep names, numbers and negations as they are written. Leave out what no page says."
)
_COMPOSED: Final = {
    "sentences": {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["text", "sources"],
            "properties": {"text": {"type": "string"}, "sources": {"type": "array", "items": {"type": "integer"}}},
        },
    }
}


class ReminderPlan(NamedTuple):
    """Queries in addition to the prompt, whether sessions are wanted, and the most pages of each plane.

    ``warning`` is set if a model gave no plan.
    """

    durable: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    include_sessions: bool = False
    most_durable: int = DURABLE
    most_sessions: int = SESSIONS
    warning: str = ""


class WordedLine(NamedTuple):
    """A line of a reminder, and the pages that support it."""

    text: str
    sources: tuple[str, ...]


def reminder_plan(searcher: Searcher, prompt: str) -> ReminderPlan:
    """Return a search plan for a prompt; numbers out of bounds are brought within them."""
    helped = searcher.ask("active_plan", _PLAN, {"prompt": prompt[:LONGEST_PROMPT]}, _PLANNED)
    answer = helped.answer
    if answer is None:
        return ReminderPlan(warning=helped.warning)
    durable, sessions = (
        tuple(text[:_LONGEST_QUERY_ACTIVE_STEPS] for text in texts_of(answer, name, MOST_QUERIES))
        for name in ("durable_queries", "session_queries")
    )
    most_durable, most_sessions = (
        min(most, max(least, value)) if type(value := answer[name]) is int else usual
        for name, least, most, usual in (
            ("durable_limit", 1, MOST_DURABLE, DURABLE),
            ("session_limit", 0, MOST_SESSIONS, SESSIONS),
        )
    )
    return ReminderPlan(durable, sessions, answer["include_sessions"] is True, most_durable, most_sessions)


def worded(searcher: Searcher, prompt: str, pages: Sequence[FoundPage]) -> tuple[tuple[WordedLine, ...], str]:
    """Return the lines that pages support, and a warning if there are none."""
    from slowwave.text.specifics import ungrounded  # it loads language data that a server does not need to start

    texts = [str(quotable(" ".join(page.text.split()))) for page in pages]
    shown = [
        {"number": n, "path": page.path, "text": text}
        for n, (page, text) in enumerate(zip(pages, texts, strict=True), 1)
    ]
    helped = searcher.ask("active_compose", _COMPOSE, {"prompt": prompt[:LONGEST_PROMPT], "pages": shown}, _COMPOSED)
    if helped.answer is None:
        return (), helped.warning
    lines = tuple(
        WordedLine(" ".join(line.text.split()), tuple(dict.fromkeys(pages[n - 1].path for n in line.sources)))
        for line in cited(helped.answer, len(pages))
        if not ungrounded(line.text, [texts[n - 1] for n in line.sources])
    )
    return lines, "" if lines else "What the model worded does not stand in the pages, so they are told as they are."


# The request and the response of active memory, and the steps in between: searches, denials, a block.
#
# A search that takes longer than ``timeout_ms`` is stopped: what is known by then is shown, and the response states that it is partial. A
# language model plans and words only if the settings ask for it and time is left; searches never use one.

_CANDIDATES: Final = 20
_SESSIONS_OF_A_WAKE: Final = 5
_LONGEST_QUERY: Final = 8_000
_EMBEDDING: Final = 0.7
"""The share of the remaining time that embedding may take; the rest is for a search by words."""

_SET_TIMEOUT: Final = "SELECT set_config('statement_timeout', %s, true)"


class ActiveMemoryRequest(BaseModel):
    """A request for what an agent should be reminded of, given what it is about to do."""

    model_config = ConfigDict(extra="forbid")

    prompt: NotBlank = Field(
        min_length=1, max_length=100_000, description="What the agent is asked, or is about to do."
    )
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
    """The reminder of an agent; ``kind`` is ``none`` if there is nothing to show.

    ``partial``: a search did not end in time. The other fields are set with ``debug``.
    """

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
    """Return the reminder for an agent, and the searches made for it.

    Raises ``Refused`` for a namespace or profile that does not exist.
    """
    began = time.monotonic()
    profiles = active_profiles()
    name, profile = profiles.chosen(request.profile, request.prompt)
    project = request.project or request.cwd.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    sessions = profiles.wants_sessions(profile, request.prompt)
    wake_request = WakeRequest(
        agent=request.agent,
        profile=profile.wake,
        project=project[:200],
        include_recent_sessions=_SESSIONS_OF_A_WAKE if sessions else 0,
        include_pinned_decisions=profile.decisions,
    )
    woken = wake(connection, namespace, wake_request, settings) if request.include_wake else None
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
    """A search, and the position of its query among those of its plane."""

    request: SearchRequest
    query: int


class _Help:
    """The model's steps for one reminder, until ``deadline`` (monotonic seconds); ``warnings`` state what was left out."""

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
        """Return the model with half of the remaining time; None if the step is off or less than ``least`` seconds remain."""
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
    """Return the searches for a prompt, with the prompt itself before the queries of a plan.

    Durable pages are searched if the profile says so, sessions if they are wanted. A prompt of small talk ("thanks, that is all") is
    about no page, so nothing is searched for it.
    """
    from slowwave.text.small_talk import is_small_talk  # a server starts without its tables

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
    """Return the searches that ended in time, each with its answer; the database stops a search that does not."""
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
    """Map a result of one search to the results of others that have the same content.

    Results of the same search never repeat each other.
    """
    from slowwave.search.candidates import cited_among  # imported late for the same reason as above
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

"""The request and response of a search, the settings in effect, and the part of a text that is shown."""

from __future__ import annotations

import json
import os
from datetime import date, datetime
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.store.settings import Settings

# Request and response of a search: one definition for Python, the command line, HTTP and MCP.

Mode = Literal["bm25", "vector", "hybrid", "recall", "exact"]
CorpusChoice = Literal["durable", "sessions", "all"]
EvidenceClass = Literal["session", "inbox", "archive", "raw", "generated", "canonical", "other"]
Confidence = Literal["high", "medium", "low"]

_ALIASES: Final = {"text": "bm25", "keyword": "bm25", "lexical": "bm25", "semantic": "vector"}


def _refuse_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is blank, so there is nothing to search for; write at least one word")
    return text


NotBlank = Annotated[str, AfterValidator(_refuse_blank)]
"""A text with at least one visible character."""


class SearchScope(BaseModel):
    """Conditions that all results of a search meet.

    The values of a list are alternatives, except for ``tags``, which must all be present. Tags are compared as in Obsidian: without
    ``#``, ignoring case, and ``team`` also finds ``team/design``. Days are ISO dates, both included.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    path_glob: str = Field(default="", description="Paths, with * within a folder and ** across folders.")
    type: tuple[str, ...] = Field(default=(), description="Types of documents, kinds of memories, types of entities.")
    status: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    session_id: tuple[str, ...] = ()
    session_key: str = Field(default="", description="One more session id.")
    since: date | None = None
    until: date | None = None

    @field_validator("tags")
    @classmethod
    def _plain_tags(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(plain for tag in tags if (plain := tag.strip().lstrip("#").strip("/")))


class SearchRequest(BaseModel):
    """One search of a namespace."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    query: NotBlank = Field(min_length=1, max_length=8_000)
    scope: SearchScope = SearchScope()
    k: int = Field(default=10, ge=1, le=50, description="How many results at most.")
    mode: Mode = Field(
        default="hybrid",
        description="bm25 (text, keyword, lexical), vector (semantic), hybrid, recall (sessions, the recent before the old), exact.",
    )
    corpus: CorpusChoice = "durable"
    min_relevance_score: float = Field(default=0.0, ge=0, le=1)
    include_content: bool = Field(default=True, description="Snippets of up to 700 characters; else 240.")
    include_retired: bool = Field(default=False, description="Also what is superseded, retired or quarantined.")
    as_of: datetime | None = Field(default=None, description="Search what stood then; UTC unless it says.")
    rerank: Literal["auto", "true", "false"] = "auto"
    debug: bool = False

    @field_validator("mode", mode="before")
    @classmethod
    def _known_mode(cls, mode: object) -> object:
        return _ALIASES.get(mode, mode) if isinstance(mode, str) else mode


Kind = Literal["chunks", "memories", "entities"]


class OtherWording(BaseModel):
    """Another row that was found and states the same as a result: the passage that a memory was made from, or a copy."""

    id: str
    kind: Kind
    path: str
    lines: str | None


class SearchResult(BaseModel):
    """One item that was found, in the better of its wordings.

    ``lines`` are those of its file, "a-b". Fields from ``score_normalized`` on are for ``debug``.
    """

    id: str
    kind: Kind
    path: str
    title: str
    lines: str | None
    evidence_class: EvidenceClass
    snippet: str
    stale_warning: str | None
    confidence: Confidence
    score: float = Field(description="From 0 to 1 in every mode.")
    also_in: tuple[OtherWording, ...] = Field(default=(), description="Rows that were found and tell the same.")
    score_normalized: float | None = Field(default=None, description="The match alone, without priors.")
    rank_score: float | None = Field(default=None, description="What the order rests on; it may be below 0 or above 1.")
    frontmatter: dict[str, Any] | None = None

    def elsewhere(self) -> tuple[str, ...]:
        """Return, for display, up to three other paths that state the same, or nothing if there are none."""
        paths = [path for path in dict.fromkeys(other.path for other in self.also_in) if path != self.path]
        return (f"also in {' and '.join(paths[:3])}",) if paths else ()


class SearchResponse(BaseModel):
    """The results of a search, best first.

    ``warnings`` describe what was left out or done differently than asked.
    """

    query: str
    count: int
    took_ms: float
    warnings: tuple[str, ...]
    results: tuple[SearchResult, ...]


# The settings of a namespace at run time: loaded with its row, and built once for each distinct version.

_NAMESPACE: Final = "SELECT id::text, settings::text FROM memory.namespaces WHERE slug = %s"


class KnownNamespace(NamedTuple):
    """A namespace's id and its settings."""

    id: str
    settings: Settings


def known_namespace(connection: Connection, namespace: str) -> KnownNamespace:
    """Return a namespace by its name.

    Raises ``Refused`` for an unknown one.
    """
    known = connection.execute(_NAMESPACE, (namespace,)).fetchone()
    id_, overlay = known or (namespace_id(connection, namespace), "{}")
    return KnownNamespace(str(id_), _settings(str(overlay), _variables()))


def settings_of(connection: Connection, namespace: str) -> Settings:
    """Return the settings in effect in a namespace.

    Raises ``Refused`` for an unknown one.
    """
    return known_namespace(connection, namespace).settings


@lru_cache(64)
def _settings(overlay: str, variables: tuple[tuple[str, str], ...]) -> Settings:
    """Return a namespace's settings, cached while neither they nor the environment change.

    Building them costs more than a search.
    """
    return Settings.for_namespace(json.loads(overlay))


def _variables() -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in os.environ.items() if name.startswith("SLOWWAVE_"))

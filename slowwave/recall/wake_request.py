"""The request and the answer of a wake: one pair of models for Python, the command line and whoever serves it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from slowwave.config.settings import Settings
from slowwave.recall.wake import wake_block, without_repeats
from slowwave.recall.wake_profiles import wake_profiles
from slowwave.recall.wake_rows import wake_rows
from slowwave.search.recall_log import Answered, Lines, Recalled
from slowwave.store.connect import Connection
from slowwave.store.namespaces import namespace_id


class WakeRequest(BaseModel):
    """What an agent asks for when it begins."""

    model_config = ConfigDict(extra="forbid")

    agent: str = Field(min_length=1, max_length=200, description="Who wakes.")
    budget_tokens: int = Field(default=600, ge=50, le=1500, description="Most tokens of the block.")
    profile: str = Field(default="default", max_length=100, description="Which sections are told, in which order.")
    project: str = Field(default="", max_length=200, description="The project whose state is told as well.")
    include_recent_sessions: int = Field(default=5, ge=0, le=50, description="How many sessions are told, a line each.")
    include_pinned_decisions: bool = Field(default=True, description="Whether pinned decisions are told.")
    debug: bool = Field(default=False, description="Whether the answer says what it rests on.")


class WakeResponse(BaseModel):
    """``block`` is Markdown for the beginning of a prompt; the same bytes as long as what it tells of stands. The rest with ``debug``."""

    profile: str
    block: str
    tokens_estimated: int | None = None
    sources: tuple[str, ...] | None = None
    left_out: int | None = None
    frozen_at: datetime | None = None


def wake(connection: Connection, namespace: str, request: WakeRequest, settings: Settings) -> Answered[WakeResponse]:
    """The wake block of a namespace, and what it recalls. Raises ``Refused`` for a namespace or profile that is not there."""
    profiles = wake_profiles(Path(settings.wake_profiles) if settings.wake_profiles else None)
    profile = profiles.profile(request.profile)
    rows = wake_rows(
        connection,
        namespace_id(connection, namespace),
        profiles,
        profile,
        project=request.project,
        sessions=request.include_recent_sessions,
        decisions=request.include_pinned_decisions,
    )
    block = wake_block(rows.sections, request.budget_tokens)
    if (once := without_repeats(rows.sections, rows.memories, block)) != rows.sections:
        block = wake_block(once, request.budget_tokens)
    told = WakeResponse(profile=request.profile, block=block.text)
    if request.debug:
        about = {"tokens_estimated": block.tokens, "left_out": block.left_out}
        told = told.model_copy(update={**about, "sources": block.sources, "frozen_at": rows.newest})
    memories = tuple(source for source in block.sources if source in rows.memories)
    pages = tuple(Lines(source) for source in block.sources if source not in rows.memories)
    return Answered(told, (Recalled(hits=memories, pages=pages),))

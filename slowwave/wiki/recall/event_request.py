"""The request and the answer of a recall event: what an agent says it recalled, and what of it was of use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from slowwave.search.recall_events import log_recall
from slowwave.store.logins import Connection

MOST_RESULTS: Final = 100
"""Results of one recall that are kept: nobody looks at more."""


class RecallEventRequest(BaseModel):
    """What was asked, what was found, best first, and what of it the agent used. Results are ids that an answer named."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=4000, description="What was looked for.")
    result_ids: tuple[UUID, ...] = Field(
        default=(), max_length=MOST_RESULTS, description="Ids of what was found, the best first."
    )
    selected_ids: tuple[UUID, ...] = Field(default=(), max_length=MOST_RESULTS, description="Those that were used.")
    scores: tuple[float, ...] = Field(
        default=(), max_length=MOST_RESULTS, description="A score for each result, or none."
    )


class RecallEventResponse(BaseModel):
    """``id`` is the event's."""

    stored: bool
    id: UUID
    selected_ids: tuple[UUID, ...]
    created_at: datetime


def recall_event(connection: Connection, namespace: str, request: RecallEventRequest) -> RecallEventResponse:
    """Log a recall of a namespace. Raises ``Refused`` for scores of another length, and for what was used without being found."""
    at = datetime.now(UTC)
    event = log_recall(
        namespace,
        request.query,
        request.result_ids,
        scores=request.scores,
        selected=request.selected_ids,
        occurred_at=at,
        connection=connection,
    )
    return RecallEventResponse(stored=True, id=UUID(event), selected_ids=request.selected_ids, created_at=at)

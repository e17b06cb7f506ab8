"""The request and the response of a recall event: what an agent reports as recalled, and what of it was useful."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from slowwave.search.recall_events import log_recall
from slowwave.store.logins import Connection

MOST_RESULTS: Final = 100
"""The most results of one recall that are stored: no one checks more."""


class RecallEventRequest(BaseModel):
    """A recall to report: the query, the results, best first, and those of them that the agent used.

    Results are ids from an answer.
    """

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
    """The response to a recall event; ``id`` is the id of the event."""

    stored: bool
    id: UUID
    selected_ids: tuple[UUID, ...]
    created_at: datetime


def recall_event(connection: Connection, namespace: str, request: RecallEventRequest) -> RecallEventResponse:
    """Log a recall of a namespace.

    Raises ``Refused`` if there are not as many scores as results, and for used results that were not found.
    """
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

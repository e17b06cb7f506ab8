"""The request and the response of a recall event: what an agent reports as recalled, and what of it was useful."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from slowwave.errors import Refused
from slowwave.search.recall_events import log_recall
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id

MOST_RESULTS: Final = 100
"""The most results of one recall that are stored: no one checks more."""

_PASSAGES: Final = """
SELECT path, id FROM (
  SELECT p.path, p.place, c.id::text AS id, c.ordinal, row_number() OVER (PARTITION BY p.path ORDER BY c.ordinal, c.id) AS n
    FROM unnest(%s::text[]) WITH ORDINALITY AS p (path, place)
    JOIN memory.documents d ON d.namespace_id = %s AND d.path = p.path AND d.invalidated_at IS NULL
    JOIN memory.chunks c ON c.document_id = d.id AND c.invalidated_at IS NULL) found
WHERE n <= 100 ORDER BY place, n
"""


class RecallEventRequest(BaseModel):
    """A recall to report: the query, the results, best first, and those of them that the agent used.

    Results are ids from an answer, or paths of pages, which stand for all passages of the page. ``agent``, ``session_key``, ``corpus``
    and ``source`` are accepted, as agents of Dory send them, and not stored.
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
    result_paths: tuple[str, ...] = Field(
        default=(), max_length=MOST_RESULTS, description="Paths of pages that were found, instead of ids."
    )
    selected_path: str = Field(default="", description="The page of these that was used.")
    agent: str = ""
    session_key: str = ""
    corpus: str = ""
    source: str = ""


class RecallEventResponse(BaseModel):
    """The response to a recall event; ``id`` is the id of the event."""

    stored: bool
    id: UUID
    selected_ids: tuple[UUID, ...]
    created_at: datetime
    selected_path: str = ""


def recall_event(connection: Connection, namespace: str, request: RecallEventRequest) -> RecallEventResponse:
    """Log a recall of a namespace.

    Raises ``Refused`` if there are not as many scores as results, for used results that were not found, and for a path that is no page.
    """
    at = datetime.now(UTC)
    results, selected = [str(id_) for id_ in request.result_ids], [str(id_) for id_ in request.selected_ids]
    paths = list(dict.fromkeys((*request.result_paths, *((request.selected_path,) if request.selected_path else ()))))
    if paths and request.scores:
        raise Refused("Scores belong to result_ids; pages that are named by their paths have none. Nothing was logged.")
    passages = connection.execute(_PASSAGES, (paths, namespace_id(connection, namespace))).fetchall() if paths else []
    if missing := next((path for path in paths if path not in {str(path) for path, _ in passages}), None):
        raise Refused(f"There is no page {missing[:200]!r} here. Nothing was logged; search gives the paths of pages.")
    results += [str(id_) for _, id_ in passages]
    selected += [str(id_) for path, id_ in passages if path == request.selected_path]
    event = log_recall(
        namespace,
        request.query,
        list(dict.fromkeys(results)),
        scores=request.scores,
        selected=list(dict.fromkeys(selected)),
        occurred_at=at,
        connection=connection,
    )
    return RecallEventResponse(
        stored=True,
        id=UUID(event),
        selected_ids=tuple(UUID(id_) for id_ in dict.fromkeys(selected)),
        created_at=at,
        selected_path=request.selected_path,
    )

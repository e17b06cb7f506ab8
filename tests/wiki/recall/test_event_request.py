"""What an agent says it recalled: one event of its namespace, or a refusal in words."""

from __future__ import annotations

from uuid import UUID

import pytest
from pydantic import ValidationError

from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.wiki.recall.event_request import MOST_RESULTS, RecallEventRequest, recall_event
from tests.memories import ask, remember
from tests.snapshots import uid

A, B = UUID(uid("a")), UUID(uid("b"))


def test_an_event_is_written_by_the_login_of_the_server(store: Store) -> None:
    """Query, results, scores and what was used, at the instant that the answer names."""
    remember(store, "acme")
    request = RecallEventRequest(query="crane", result_ids=(A, B), scores=(0.9, 0.4), selected_ids=(B,))
    with store.connect("server") as connection:
        told = recall_event(connection, "acme", request)
    assert ask(store, "SELECT id, query, hit_ids, scores, selected_ids, occurred_at FROM memory.recall_events") == [
        (told.id, "crane", [A, B], [0.9, 0.4], [B], told.created_at)
    ]


def test_what_was_used_without_being_found_is_refused(store: Store) -> None:
    """As are scores of another length; neither is written."""
    remember(store, "acme")
    with store.connect("server") as connection:
        for wrong in (
            RecallEventRequest(query="q", selected_ids=(A,), result_ids=(B,)),
            RecallEventRequest(query="q", result_ids=(A,), scores=(0.1, 0.2)),
        ):
            with pytest.raises(Refused):
                recall_event(connection, "acme", wrong)
    assert ask(store, "SELECT count(*) FROM memory.recall_events") == [(0,)]


def test_page_reported_by_path_is_stored_as_its_passages(store: Store) -> None:
    """The body is what an agent of Dory sends; another namespace's page of that path is not touched."""
    for slug in ("acme", "rival"):
        passages = [
            {
                "id": f"{slug} {n}",
                "document_id": f"{slug} page",
                "ordinal": n,
                "content": text,
                "start_line": n,
                "end_line": n,
            }
            for n, text in enumerate(("Cranes lift.", "They rest at night."), 1)
        ]
        remember(
            store,
            slug,
            corpora=[{"id": f"{slug} wiki", "root": f"/{slug}", "profile": "dory"}],
            documents=[
                {"id": f"{slug} page", "corpus_id": f"{slug} wiki", "path": "wiki/crane.md", "content": "Cranes lift."},
                {"id": f"{slug} other", "corpus_id": f"{slug} wiki", "path": "wiki/quay.md", "content": "The quay."},
            ],
            chunks=[
                *passages,
                {
                    "id": f"{slug} q",
                    "document_id": f"{slug} other",
                    "ordinal": 1,
                    "content": "The quay.",
                    "start_line": 1,
                    "end_line": 1,
                },
            ],
        )
    body = {
        **{"agent": "clawd", "session_key": "s1", "query": "crane", "corpus": "memory", "source": "openclaw"},
        **{"result_paths": ["wiki/quay.md", "wiki/crane.md"], "selected_path": "wiki/crane.md"},
    }
    with store.connect("server") as connection:
        answer = recall_event(connection, "acme", RecallEventRequest.model_validate(body))
        with pytest.raises(Refused, match=r"no page 'wiki/gone.md'"):
            recall_event(connection, "acme", RecallEventRequest(query="q", result_paths=("wiki/gone.md",)))
        with pytest.raises(Refused, match="Scores belong to result_ids"):
            recall_event(
                connection, "acme", RecallEventRequest(query="q", result_paths=("wiki/quay.md",), scores=(1.0,))
            )
    used = [UUID(uid("acme 1")), UUID(uid("acme 2"))]
    assert (answer.selected_path, list(answer.selected_ids)) == ("wiki/crane.md", used)
    assert ask(store, "SELECT hit_ids, selected_ids FROM memory.recall_events") == [
        ([UUID(uid("acme q")), *used], used)
    ]


def test_a_request_is_bounded() -> None:
    """No empty query, no more results than anybody looks at."""
    for wrong in ({"query": ""}, {"query": "q", "result_ids": [A] * (MOST_RESULTS + 1)}, {"query": "q", "ids": []}):
        with pytest.raises(ValidationError):
            RecallEventRequest.model_validate(wrong)

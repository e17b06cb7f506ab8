"""What a model costs by day is booked call by call, and a day that is spent leaves its steps out with a warning."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from slowwave.search.model_help import day_budget
from slowwave.search.request import SearchRequest, SearchResponse, known_namespace
from slowwave.search.search import search
from slowwave.store.connect import Store
from tests.endpoints import Server, completion
from tests.memories import ask
from tests.search.test_search import TODAY, Axes, corpus, file

pytestmark = pytest.mark.slow

BOOKED = "SELECT step, model, input_tokens + output_tokens FROM memory.model_calls ORDER BY recorded_at"
OTHERS = """
INSERT INTO memory.model_calls SELECT gen_random_uuid(), id, 'plan', 'm', %s, 0, now() - %s::interval FROM memory.namespaces WHERE slug = %s
"""


@pytest.fixture
def server() -> Iterator[Server]:
    """A model that expands a query."""
    found = Server(lambda *_: (200, completion(json.dumps({"queries": ["tide"]}), tokens=700), {}))
    yield found
    found.close()


def asked(store: Store, server: Server, most: int = 10_000) -> SearchResponse:
    """A search that the model helps with."""
    own = {"MODEL": "m", "ENDPOINT": server.url, "STEPS": '["expand"]', "MAX_TOKENS_PER_DAY": str(most)}
    with patch.dict(os.environ, {f"SLOWWAVE_SEARCH_{name}": value for name, value in own.items()}):
        return search(
            store, "acme", SearchRequest(query="water level at the harbour today"), embedder=Axes(), today=TODAY
        )


def test_each_call_is_booked_and_a_spent_day_asks_no_more(store: Store, server: Server) -> None:
    """The plain answer and a warning; yesterday's calls and another namespace's cost this one nothing."""
    corpus(store, file("tides", "notes/tides.md", "Ebb, and the tide of water."))
    assert asked(store, server).warnings == ()
    assert ask(store, BOOKED) == [("expand", "m", 700)]
    ask(store, "INSERT INTO memory.namespaces (id, slug) VALUES (gen_random_uuid(), 'rival')")
    for tokens, before, slug in ((9_000, "25 hours", "acme"), (9_000, "1 hour", "rival")):
        ask(store, OTHERS, tokens, before, slug)
    assert asked(store, server).warnings == ()
    ask(store, OTHERS, 8_000, "23 hours", "acme")
    found = asked(store, server)
    assert [result.path for result in found.results] == ["notes/tides.md"]
    assert ("left out" in found.warnings[0], len(server.requests)) == (True, 2)
    assert asked(store, server, most=0).warnings == ()


def test_a_login_that_reads_alone_books_nothing(store: Store) -> None:
    """Whoever asks a model acts as the server does."""
    corpus(store)
    with store.connect("server") as connection:
        budget = day_budget(connection, known_namespace(connection, "acme"))
        assert budget.left() == 200_000
    with pytest.raises(Exception, match="permission"), store.connect("reader") as connection:
        connection.execute("INSERT INTO memory.model_calls DEFAULT VALUES")

"""More queries, by a model that a local server plays: a plan, other words, and what becomes of nonsense."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from slowwave.models.panel import Searcher, SearchStep
from slowwave.search.planner import EXPANSIONS, MOST, QueryPlan, expanded, planned
from slowwave.search.request import SearchRequest, SearchResponse
from slowwave.search.search import search
from slowwave.store.configured_models import searcher_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.endpoints import Server, completion
from tests.search.test_search import TODAY, Axes, corpus, file
from tests.snapshots import uid


@pytest.fixture
def server() -> Iterator[Server]:
    """A server whose answer a test sets."""
    found = Server(lambda *_: (500, {}, {}))
    yield found
    found.close()


def answers(server: Server, said: object) -> None:
    """Let every question have one answer."""
    server.answer = lambda *_: (200, completion(said if isinstance(said, str) else json.dumps(said)), {})


def settings(server: Server, *steps: SearchStep) -> Settings:
    """A model helps in some steps."""
    return Settings(search_model="m", search_endpoint=server.url, search_steps=steps)


def helper(server: Server) -> Searcher:
    """The model that the server plays."""
    found = searcher_for(settings(server, "plan"))
    assert found is not None
    return found


def helped(store: Store, server: Server, query: str, *steps: SearchStep, **asked: object) -> SearchResponse:
    """A search that the model helps with."""
    own = {"MODEL": "m", "ENDPOINT": server.url, "STEPS": json.dumps(steps)}
    request = SearchRequest.model_validate({"query": query, **asked})
    with patch.dict(os.environ, {f"SLOWWAVE_SEARCH_{name}": value for name, value in own.items()}):
        return search(store, "acme", request, embedder=Axes(), today=TODAY)


def test_a_plan_has_queries_for_each_plane(server: Server) -> None:
    """As many as are looked for, each once; sessions only where they are searched."""
    plan = {
        "durable_queries": ["a", "a", " ", 3, "b", "c", "d"],
        "session_queries": ["s"],
        "include_session_results": True,
    }
    answers(server, plan)
    found = planned(helper(server), "q")
    assert found == QueryPlan(("a", "b", "c"), ("s",), include_sessions=True)
    assert len(found.durable) == MOST
    assert found.queries(("durable",)) == ("a", "b", "c")
    assert found.queries(("durable", "sessions")) == ("a", "b", "c", "s")


@pytest.mark.parametrize("said", ["nonsense", "[]", {"durable_queries": ["a"]}])
def test_what_is_no_plan_is_a_warning(server: Server, said: object) -> None:
    """No query comes of it."""
    answers(server, said)
    found = planned(helper(server), "q")
    assert found.queries(("durable", "sessions")) == ()
    assert "another form" in found.warning


def test_other_words_leave_out_the_question_itself(server: Server) -> None:
    """And are few."""
    answers(server, {"queries": ["q", "a", "b", "c"]})
    assert expanded(helper(server), "q").durable == ("a",)
    assert EXPANSIONS == 2


def test_other_words_find_what_the_question_did_not(store: Store, server: Server) -> None:
    """Asked for where the plain search is weak, and not where it found what was asked."""
    corpus(store, file("boiler", "a.md", "The boiler is from Norrvik"), file("page", "b.md", "The lake is cold"))
    answers(server, {"queries": ["boiler norrvik"]})
    found = helped(store, server, "heating", "expand", mode="bm25")
    assert [r.id for r in found.results] == [uid("boiler")]
    assert len(server.requests) == 1
    helped(store, server, "boiler norrvik", "expand", mode="bm25")
    assert len(server.requests) == 1


def test_a_plan_finds_and_a_server_that_is_away_leaves_the_plain_answer(store: Store, server: Server) -> None:
    """With a warning; an exact search asks nobody."""
    corpus(store, file("boiler", "a.md", "The boiler is from Norrvik"), file("page", "b.md", "The lake is cold"))
    answers(server, {"durable_queries": ["boiler"], "session_queries": [], "include_session_results": False})
    assert {r.id for r in helped(store, server, "lake", "plan", mode="bm25").results} == {uid("boiler"), uid("page")}
    server.answer = lambda *_: (404, {}, {})
    found = helped(store, server, "lake", "plan", mode="bm25")
    assert [r.id for r in found.results] == [uid("page")]
    assert "SLOWWAVE_SEARCH_API_KEY" in found.warnings[0]
    asked = len(server.requests)
    assert helped(store, server, "lake", "plan", mode="exact").warnings == ()
    assert len(server.requests) == asked

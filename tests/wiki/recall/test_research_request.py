"""Research on a namespace, with and without a model at a local server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date

import pytest

from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.wiki.recall.research import ResearchRequest, ResearchResponse, research
from tests.endpoints import Server, completion
from tests.memories import remember
from tests.wiki.recall.test_active_request import put_page

QUESTION = "How is the heating of the lake house controlled?"
PAGE = "projects/lake/state.md"


@pytest.fixture
def server() -> Iterator[Server]:
    """A server whose answer a test sets."""
    found = Server(lambda *_: (200, completion(json.dumps({"sentences": []})), {}))
    yield found
    found.close()


def researched(store: Store, settings: Settings | None = None, **asked: object) -> ResearchResponse:
    """What ``acme`` answers."""
    request = ResearchRequest.model_validate({"question": QUESTION, **asked})
    with store.connect("server") as connection:
        found = research(connection, "acme", request, settings or Settings(), date(2026, 5, 1))
    assert [recalled.query for recalled in found.recalls] == [QUESTION]
    reason = "meets the conditions" if asked.get("corpus") == "sessions" else "has a vector"  # none was made here
    assert reason in found.answer.warnings[0]
    return found.answer.model_copy(update={"warnings": found.answer.warnings[1:]})


def helped(server: Server) -> Settings:
    """Settings by which a model answers."""
    return Settings(search_model="m", search_endpoint=server.url, search_steps=("research",))


def test_without_a_model_the_answer_is_extracts(store: Store) -> None:
    """With its sources, and where the page belongs; nothing found is said so."""
    remember(store, "acme")
    put_page(store, PAGE, "thermostat", type="project", status="active")
    told = researched(store, kind="briefing")
    assert "- The heating of the lake house is controlled by thermostat. [1]" in told.research.body
    assert [(s.number, s.path) for s in told.sources] == [(1, PAGE)]
    assert told.research.target == (
        "references/briefings/2026-05-01-how-is-the-heating-of-the-lake-house-controlled.md"
    )
    assert (told.synthesis, told.warnings) == (False, ())
    assert "Nothing that is remembered" in researched(store, corpus="sessions").research.body


def test_a_model_words_the_answer_from_the_sources(store: Store, server: Server) -> None:
    """It gets the question and the snippets; what it says without a source is left out."""
    remember(store, "acme")
    put_page(store, PAGE, "thermostat", type="project", status="active")
    said = [{"text": "A thermostat does it.", "sources": [1]}, {"text": "Invented.", "sources": [7]}]
    server.answer = lambda *_: (200, completion(json.dumps({"sentences": said})), {})
    told = researched(store, helped(server))
    assert told.synthesis
    assert "- A thermostat does it. [1]" in told.research.body
    assert "Invented" not in told.research.body
    given = json.loads(server.requests[0]["messages"][1]["content"])
    assert given["question"] == QUESTION
    assert given["sources"][0]["text"].endswith("thermostat.")


@pytest.mark.parametrize("content", ["no json", json.dumps({"sentences": [{"text": "Mine.", "sources": []}]}), "{}"])
def test_a_model_that_fails_leaves_extracts_and_a_warning(store: Store, server: Server, content: str) -> None:
    """As does a server that refuses."""
    remember(store, "acme")
    put_page(store, PAGE, "thermostat", type="project", status="active")
    server.answer = lambda *_: (200, completion(content), {})
    for answer in (server.answer, lambda *_: (404, {}, {})):
        server.answer = answer
        told = researched(store, helped(server))
        assert not told.synthesis
        assert len(told.warnings) == 1
        assert "thermostat. [1]" in told.research.body


def test_a_model_without_an_endpoint_is_a_warning(store: Store) -> None:
    """Nobody is asked."""
    remember(store, "acme")
    put_page(store, PAGE, "thermostat", type="project", status="active")
    told = researched(store, Settings(search_model="m", search_steps=("research",)))
    assert "SLOWWAVE_SEARCH_ENDPOINT" in told.warnings[0]

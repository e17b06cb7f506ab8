"""``slowwave.Memory`` asks what the requests know, in their words, and answers what the rooms do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import slowwave
from slowwave.errors import Refused
from slowwave.search.recall_events import logged
from slowwave.search.request import SearchRequest
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.wiki.corpus.corpora import GetRequest, add_corpus
from slowwave.wiki.corpus.link_graph import LinkResponse, LintResponse
from slowwave.wiki.corpus.requests import SessionIngestRequest
from slowwave.wiki.corpus.sync import sync_corpus
from slowwave.wiki.recall.active import ActiveMemoryRequest
from slowwave.wiki.recall.research import ResearchRequest
from slowwave.wiki.recall.wake import WakeRequest
from tests.memories import ask, remember
from tests.snapshots import uid
from tests.wiki.recall.test_wake_rows import put_document

LEFT_OUT = {SearchRequest: {"rerank"}}
"""What a method does not offer."""


@pytest.mark.parametrize(
    ("method", "request_model"),
    [
        (slowwave.Memory.search, SearchRequest),
        (slowwave.Memory.wake, WakeRequest),
        (slowwave.Memory.active, ActiveMemoryRequest),
        (slowwave.Memory.research, ResearchRequest),
        (slowwave.Memory.session_ingest, SessionIngestRequest),
        (slowwave.Memory.get, GetRequest),
    ],
)
def test_a_method_takes_the_fields_of_its_request_with_their_defaults(
    method: Callable[..., Any], request_model: type[BaseModel]
) -> None:
    """A field that is added to a request, or another default, shows here until the method has it."""
    offered = dict(list(inspect.signature(method).parameters.items())[1:])
    fields = {
        name: inspect.Parameter.empty if field.is_required() else field.default
        for name, field in request_model.model_fields.items()
        if name not in LEFT_OUT.get(request_model, ())
    }
    assert {name: parameter.default for name, parameter in offered.items()} == fields


def test_an_agent_wakes_is_reminded_and_searches(store: Store) -> None:
    """One namespace, three questions; a search and a reminder are recalls."""
    remember(store, "acme")
    put_document(store, "core/active.md", "The crane audit is due on Friday.", type="core", status="active")
    content = {"id": "c", "document_id": "core/active.md", "content": "The crane audit is due on Friday."}
    remember(store, "acme", chunks=[content])
    memory = slowwave.Memory("acme", store)
    assert memory.wake("tests", profile="coding").block == "## Active\n\nThe crane audit is due on Friday."
    (found,) = memory.search("crane", mode="keyword", debug=True).results
    assert (found.id, found.frontmatter) == (uid("c"), {"type": "core", "status": "active"})
    assert memory.active("When is the crane audit?", "tests").sources == ("core/active.md",)
    logged()
    assert ask(store, "SELECT query FROM memory.recall_events ORDER BY occurred_at") == [
        ("crane",),
        ("When is the crane audit?",),
    ]


def test_a_page_is_read_and_its_links_are_followed(store: Store, tmp_path: Path) -> None:
    """A page that is read on purpose is a recall of what it holds; asking for links is none."""
    remember(store, "acme")
    (tmp_path / "a.md").write_text("# Crane\n\nSee [[b]] and [[nowhere]].\n")
    (tmp_path / "b.md").write_text("# Audit\n\nOn Friday.\n")
    with store.connect("owner") as connection:
        sync_corpus(connection, "acme", add_corpus(connection, "acme", tmp_path, "plain"), embedder_for(Settings()))
    memory = slowwave.Memory("acme", store)
    found = memory.get("b.md", from_line=3)
    assert (found.content, found.total_lines) == ("On Friday.\n", 3)
    near = memory.link("neighbors", "a.md")
    assert isinstance(near, LinkResponse)
    assert [edge.to for edge in near.edges] == ["b.md"]
    broken = memory.link("lint")
    assert isinstance(broken, LintResponse)
    assert [one.to for one in broken.broken] == ["nowhere"]
    logged()
    assert ask(store, "SELECT count(*), bool_and(cardinality(selected_ids) > 0) FROM memory.recall_events") == [
        (1, True)
    ]
    with pytest.raises(Refused, match=r"c\.md"):
        memory.get("c.md")


def test_what_cannot_be_asked_is_refused_in_words(store: Store) -> None:
    """The first field that is wrong, and a namespace that is not there."""
    remember(store, "acme")
    memory = slowwave.Memory("acme", store)
    with pytest.raises(Refused, match="k cannot be"):
        memory.search("tea", k=51)
    with pytest.raises(Refused, match="budget_tokens cannot be '9'"):
        memory.wake("tests", budget_tokens=9)
    with pytest.raises(Refused, match="no namespace"):
        slowwave.Memory("nobody", store).wake("tests")


def test_a_session_is_handed_in_and_found(store: Store) -> None:
    """The first of a store has its vectors; again it changes nothing, and what cannot be taken is refused in words."""
    remember(store, "acme")
    memory = slowwave.Memory("acme", store)
    handed = ("logs/sessions/a.md", "The spring tide is at six.", "codex", "s1")
    assert memory.session_ingest(*handed).result == "new"
    assert memory.session_ingest(*handed).result == "unchanged"
    assert ask(store, "SELECT count(*) FROM memory.chunk_vectors") == [(1,)]
    (found,) = memory.search("spring tide", corpus="sessions").results
    assert (found.path, found.evidence_class) == ("logs/sessions/a.md", "session")
    with pytest.raises(Refused, match="path"):
        memory.session_ingest("core/user.md", *handed[1:])

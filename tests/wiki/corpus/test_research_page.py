"""The page of research, kept: where it belongs, by whoever may write, and never at the cost of the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.store.connect import Store
from slowwave.surfaces.api.memory import Memory
from tests.memories import ask, remember
from tests.wiki.corpus.folders import Folder
from tests.wiki.corpus.pages import put
from tests.wiki.serving import http, token_of

QUESTION = "When is the spring tide?"


@pytest.fixture
def harbour(store: Store) -> Store:
    remember(store, "acme")
    put(store)
    return store


def test_it_becomes_a_page_where_its_kind_belongs_that_searches_find(harbour: Store) -> None:
    """Marked as generated and unread; asked for once more on the same day, the first page stays and the answer says so."""
    told = Memory("acme", harbour).research(QUESTION, kind="briefing", save=True)
    assert told.artifact is not None
    assert (told.artifact.path, told.artifact.kind) == (told.research.target, "briefing")
    assert told.artifact.path.startswith("references/briefings/")
    ((content, fields, size),) = ask(
        harbour,
        "SELECT content, metadata, octet_length(content) FROM memory.documents WHERE path = %s AND invalidated_at IS NULL",
        told.artifact.path,
    )
    assert told.research.body.strip() in str(content)
    assert told.artifact.bytes_written == size
    assert isinstance(fields, dict)
    assert (fields["source_kind"], fields["type"]) == ("generated", "briefing")
    found = Memory("acme", harbour).search(QUESTION, mode="bm25")
    assert told.artifact.path in {r.path for r in found.results}
    again = Memory("acme", harbour).research(QUESTION, kind="briefing", save=True)
    assert (again.artifact, "was not kept" in again.warnings[-1]) == (None, True)
    assert ask(harbour, "SELECT count(*) FROM memory.documents WHERE path = %s", told.artifact.path) == [(1,)]


def test_without_save_nothing_is_written(harbour: Store) -> None:
    before = ask(harbour, "SELECT count(*) FROM memory.documents")
    assert Memory("acme", harbour).research(QUESTION).artifact is None
    assert ask(harbour, "SELECT count(*) FROM memory.documents") == before


def test_in_a_followed_folder_its_file_is_there_at_once(tmp_path: Path, store: Store) -> None:
    folder = Folder(tmp_path / "notes", store, slug="acme")
    folder.write("tides.md", "# Tides\n\nThe spring tide is at six.\n")
    folder.sync()
    told = Memory("acme", store).research(QUESTION, save=True)
    assert told.artifact is not None
    assert told.research.body.strip() in (folder.root / told.artifact.path).read_text()


@pytest.mark.slow
@pytest.mark.anyio
async def test_over_http_it_takes_a_token_that_may_write(harbour: Store) -> None:
    """Whoever may only read has the answer, and is told why there is no page."""
    asked = {"question": QUESTION, "save": True}
    async with http(harbour, token=token_of(harbour, "acme", "read")) as client:
        answer = (await client.post("/v1/research", json=asked)).json()
        assert answer["artifact"] is None
        assert "token that may write" in answer["warnings"][-1]
        assert "six" in answer["research"]["body"]
    async with http(harbour, token=token_of(harbour)) as client:
        answer = (await client.post("/v1/research", json=asked)).json()
        assert answer["artifact"]["path"] == answer["research"]["target"]

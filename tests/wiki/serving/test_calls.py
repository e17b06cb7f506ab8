"""The list of calls: each is complete, and those on pages answer in parts that an agent can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.store.connect import Store
from slowwave.text.tokens import count
from slowwave.wiki.serving.calls import CALLS, PAGE_TOKENS
from slowwave.wiki.serving.tokens import SCOPES
from tests.memories import remember
from tests.wiki.corpus.folders import Folder
from tests.wiki.serving import OPEN, http, mcp_over_http, token_of

LINES = 3000


@pytest.fixture
def pages(tmp_path: Path, store: Store) -> Store:
    """Two pages that link, one of them long."""
    folder = Folder(tmp_path / "notes", store, "vault", "acme")
    folder.write("tea.md", "# Tea\n\nSee [[log]].\n")
    folder.write("log.md", "".join(f"line {n} of the log\n" for n in range(1, LINES + 1)))
    folder.sync()
    remember(store, "rival")
    return store


def test_every_call_says_what_it_is() -> None:
    """Names that make paths and tools, scopes that there are, and one line each."""
    for name, call in CALLS.items():
        assert name == call.name == call.tool.replace("_", "-")
        assert call.scope in SCOPES
        assert "\n" not in call.description
        assert 20 < len(call.description) < 160
        assert call.method == "POST" or call.scope == "read"


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_long_page_is_read_to_its_end_by_next(pages: Store) -> None:
    """No answer is over the bound, and the parts are the page."""
    parts: list[str] = []
    at: int | None = 1
    async with http(pages, OPEN) as client:
        while at is not None:
            part = (await client.get("/v1/get", params={"path": "log.md", "from": at})).json()
            assert count(part["content"]) <= PAGE_TOKENS
            parts.append(part["content"])
            at = part["next"]
        few = (await client.get("/v1/get", params={"path": "log", "from": 2, "lines": 1})).json()
    assert len(parts) > 1
    assert "".join(parts).splitlines() == [f"line {n} of the log" for n in range(1, LINES + 1)]
    assert (few["content"], few["next"]) == ("line 2 of the log\n", 3)
    async with mcp_over_http(pages, OPEN) as client:
        told = await client.call_tool("get", {"path": "log.md", "from": LINES})
        assert told.content[0].text == f"line {LINES} of the log\n\n[log.md, lines {LINES}-{LINES} of {LINES}]"  # type: ignore[union-attr]
        assert not (await client.call_tool("get", {"path": "log.md"})).is_error


@pytest.mark.anyio
@pytest.mark.slow
async def test_dory_a_page_that_is_not_there_is_not_found(pages: Store) -> None:
    """Nor is another namespace's, nor a path that leads out; a line before the first is no request."""
    async with http(pages, OPEN) as client:
        for path in ("none.md", "../tea.md", "/etc/passwd"):
            assert (await client.get("/v1/get", params={"path": path})).status_code == 404
        assert (await client.get("/v1/get", params={"path": "tea.md", "from": 0})).status_code == 422
        assert (await client.get("/v1/get", params={"path": "tea.md", "from": 99})).status_code == 400
    async with http(pages, token=token_of(pages, "rival")) as client:
        assert (await client.get("/v1/get", params={"path": "tea.md"})).status_code == 404


@pytest.mark.anyio
@pytest.mark.slow
async def test_what_may_be_published_is_listed_for_its_namespace_only(tmp_path: Path, store: Store) -> None:
    """A page that is marked as public, and neither one that is not nor anything of it."""
    folder = Folder(tmp_path / "notes", store, "vault", "acme")
    folder.write("tides.md", "---\nvisibility: public\n---\n# Tides\n")
    folder.write("diary.md", "# Diary\n")
    folder.sync()
    remember(store, "rival")
    async with http(store, OPEN) as client:
        found = (await client.get("/v1/public-artifacts")).json()
    assert (found["count"], [(a["relative_path"], a["title"]) for a in found["artifacts"]]) == (
        1,
        [("tides.md", "Tides")],
    )
    async with http(store, token=token_of(store, "rival")) as client:
        assert (await client.get("/v1/public-artifacts")).json() == {"count": 0, "artifacts": []}


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_links_are_asked_by_tool_and_by_route(pages: Store, mode: str) -> None:
    """Backlinks and lint, with the same fields."""
    asked = {"op": "backlinks", "path": "log.md"}
    async with http(pages, OPEN) as client:
        found = (await client.post("/v1/link", json=asked)).json()
    assert [(edge["from"], edge["to"]) for edge in found["edges"]] == [("tea.md", "log.md")]
    async with mcp_over_http(pages, OPEN, mode=mode) as client:
        assert (await client.call_tool("link", asked)).structured_content == found
        assert (await client.call_tool("link", {"op": "lint"})).structured_content["count"] == 0  # type: ignore[index]

"""An agent's day over HTTP and MCP: it wakes, searches, reads, is reminded and reports what it used; the night rests on it."""

from __future__ import annotations

import pytest

from slowwave.night.night import run_night
from slowwave.search.recall_events import logged
from slowwave.snapshots.files import load_snapshot
from slowwave.snapshots.models import load_models, run_models
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.memories import ask
from tests.snapshots import uid
from tests.wiki.recall.test_active_request import put_page
from tests.wiki.serving import http, mcp_over_http, token_of
from tests.wiki.serving.conftest import MARKER

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

PAGE = "projects/lake/state.md"
QUERY = "How is the heating of the lake house controlled?"


async def test_dory_what_an_agent_recalled_by_day_is_a_signal_at_night(acme: Store) -> None:
    """All that it is told is a recall, searches and reminders with scores; what it reads and says it used counts as selected."""
    put_page(acme, PAGE, "thermostat", type="project", status="active")
    async with http(acme, token=token_of(acme)) as client:
        woken = (await client.post("/v1/wake", json={"agent": "tests", "project": "lake"})).json()
        assert "controlled by thermostat" in woken["block"]
        found = (await client.post("/v1/search", json={"query": QUERY})).json()
        (hit,) = [result for result in found["results"] if result["path"] == PAGE]
        assert hit["snippet"] == "The heating of the lake house is controlled by thermostat."
        assert hit["id"] == uid(f"chunk {PAGE}")
        page = (await client.get("/v1/get", params={"path": PAGE})).json()
        assert page["content"].splitlines()[-1] == "The heating of the lake house is controlled by thermostat."
        reminded = (
            await client.post("/v1/active-memory", json={"prompt": QUERY, "agent": "tests", "timeout_ms": 30_000})
        ).json()
        assert reminded["sources"] == [PAGE]
        used = {"query": QUERY, "result_ids": [hit["id"]], "scores": [hit["score"]], "selected_ids": [hit["id"]]}
        assert (await client.post("/v1/recall-event", json=used)).json()["stored"]
    logged()
    night = run_night(acme, "acme", force=True, ops="census")
    (location,) = ask(acme, "SELECT location FROM night.snapshots WHERE id = %s", night.snapshot_id)[0]
    snapshot = load_snapshot(str(location))
    signals = run_models(load_models(), snapshot, Settings())["recall_signals"].to_pylist()
    (signal,) = [row for row in signals if row["row_id"] == hit["id"]]
    assert (signal["recalls"], signal["queries"], signal["selections"]) == (5, 1, 2)


async def test_the_same_through_mcp(acme: Store) -> None:
    """The tools' texts are for a model to read: a source and an id with each result, and nothing of another namespace."""
    put_page(acme, PAGE, "thermostat", type="project", status="active")
    async with mcp_over_http(acme, token=token_of(acme)) as client:
        found = await client.call_tool("search", {"query": QUERY})
        reminded = await client.call_tool("active_memory", {"prompt": QUERY, "agent": "tests", "timeout_ms": 30_000})
        told = await client.call_tool("search", {"query": f"{MARKER} likes tea"})
    assert not found.is_error
    assert not reminded.is_error
    assert f"id {uid(f'chunk {PAGE}')}" in found.content[0].text
    assert PAGE in reminded.content[0].text
    assert MARKER not in told.content[0].text


async def test_a_share_of_none_logs_nothing(acme: Store) -> None:
    """As an operator may want it of a namespace; what an agent reports is still kept."""
    ask(
        acme,
        "UPDATE memory.namespaces SET settings = settings || '{\"recall_log_share\": 0}' WHERE slug = 'acme' RETURNING 1",
    )
    async with http(acme, token=token_of(acme)) as client:
        assert (await client.post("/v1/search", json={"query": QUERY})).status_code == 200
    assert ask(acme, "SELECT count(*) FROM memory.recall_events") == [(0,)]

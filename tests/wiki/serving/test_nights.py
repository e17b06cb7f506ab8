"""A night that an agent requests, from the call to the run that takes it, and the list of runs over HTTP and MCP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from slowwave.night.night import run_night
from slowwave.store.connect import Store
from tests.memories import ago, ask, behind_triggers
from tests.wiki.serving import OPEN, http, mcp_over_http, token_of

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

WHY = "the user settled four decisions"
ROWS = (
    "SELECT reason, agent, token_id IS NOT NULL, taken_at IS NOT NULL FROM memory.night_requests ORDER BY recorded_at"
)


async def asked(store: Store, token: str | None, **body: object) -> Any:
    """Request a night over HTTP."""
    async with http(store, token=token) as client:
        return await client.post("/v1/nights", json=body)


async def test_dream_now_is_answered_by_the_night_that_takes_it(acme: Store) -> None:
    """The reason is that of the run. A second request returns the open one; so does one that comes too early after the night."""
    token = token_of(acme, "acme", "read", "night")
    async with mcp_over_http(acme, token=token) as client:
        assert {"dream_now", "nights"} <= {tool.name for tool in (await client.list_tools()).tools}
        first = (await client.call_tool("dream_now", {"reason": WHY, "agent": "kate"})).structured_content
        again = (await client.call_tool("dream_now", {"reason": "once more"})).structured_content
    assert first is not None
    assert again is not None
    assert (first["status"], first["known"], first["reason"]) == ("open", False, WHY)
    assert (again["id"], again["known"], again["reason"], again["next_at"]) == (first["id"], True, WHY, None)
    night = run_night(acme, "acme")
    assert ask(acme, "SELECT count(*) FROM night.approvals") == [(0,)]
    found = (await asked(acme, token)).json()
    assert (found["id"], found["known"], found["status"], found["run_id"]) == (first["id"], True, "taken", night.run_id)
    ((reason,),) = ask(acme, "SELECT parameters ->> 'reason' FROM night.runs")
    assert reason == f"requested by token {token.split('_')[1]} (kate): {WHY}"
    behind_triggers(acme, "UPDATE memory.night_requests SET taken_at = %s", ago(0.5))
    early = (await asked(acme, token)).json()
    assert (early["id"], early["next_at"] > early["taken_at"]) == (first["id"], True), "gate_min_hours is 24"
    behind_triggers(acme, "UPDATE memory.night_requests SET taken_at = %s", ago(1.1))
    assert (await asked(acme, token)).json()["known"] is False


async def test_dream_now_needs_the_scope_night(acme: Store) -> None:
    """It is in no listing, and refused, without the scope; a server that needs no token never has it."""
    reads = token_of(acme, "acme", "read", "write", "propose", "approve")
    async with mcp_over_http(acme, token=reads) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert ("nights" in names, "dream_now" in names) == (True, False)
        assert (await client.call_tool("dream_now", {})).is_error
    assert (await asked(acme, reads)).status_code == 403
    assert (await asked(acme, None)).status_code == 401
    ask(acme, "DELETE FROM memory.tokens RETURNING 1")
    async with http(acme, OPEN) as client:
        refused = await client.post("/v1/nights", json={})
        assert (refused.status_code, (await client.get("/v1/nights")).status_code) == (403, 200)
    assert ask(acme, ROWS) == []


async def test_dream_now_reaches_the_namespace_of_its_token_alone(acme: Store) -> None:
    """No field names a namespace, and the other one sees neither the request nor the run."""
    mine, theirs = token_of(acme, "acme", "night"), token_of(acme, "rival", "read")
    assert (await asked(acme, mine, namespace="rival")).status_code == 422
    assert (await asked(acme, mine)).status_code == 200
    run_night(acme, "acme")
    async with http(acme, token=theirs) as client:
        assert (await client.get("/v1/nights")).json() == {"runs": [], "total": 0, "next": None, "requested": None}


async def test_a_reason_is_stored_as_one_short_line_without_secrets(acme: Store) -> None:
    """It is untrusted text that people read in lists."""
    token = token_of(acme, "acme", "night")
    body = {"reason": "see\n\x1b[31mthis [bold]now[/bold] password=hunter2hunter2", "agent": "k\nate"}
    assert (await asked(acme, token, reason="x" * 501)).status_code == 422
    found = (await asked(acme, token, **body)).json()
    assert found["agent"] == "k ate"
    assert "hunter2" not in str(found)
    assert "\n" not in found["reason"]
    assert "\x1b" not in found["reason"]
    assert ask(acme, ROWS) == [(found["reason"], "k ate", True, False)]


@pytest.mark.parametrize(
    "change", ["settings = settings || '{\"enabled\": false}'", "read_only = true"], ids=["nights are off", "read-only"]
)
async def test_dream_now_is_refused_where_no_night_could_follow(acme: Store, change: str) -> None:
    """The answer states why, and nothing is stored."""
    ask(acme, f"UPDATE memory.namespaces SET {change} WHERE slug = 'acme' RETURNING 1")
    refused = await asked(acme, token_of(acme, "acme", "night"))
    assert (refused.status_code, "Nothing was requested" in refused.text) == (400, True)
    assert ask(acme, ROWS) == []


async def test_the_list_of_nights_is_paged(acme: Store) -> None:
    """Newest first, by limit and offset, until there is no next part; no run says what memory holds."""
    for _ in range(3):
        run_night(acme, "acme", force=True)
    token = token_of(acme, "acme", "read")
    seen: list[str] = []
    async with http(acme, token=token) as client:
        offset: int | None = 0
        while offset is not None:
            found = (await client.get("/v1/nights", params={"limit": 2, "offset": offset})).json()
            seen += [run["run_id"] for run in found["runs"]]
            assert found["total"] == 3
            offset = found["next"]
        for limit, status in ((0, 422), (101, 422), (100, 200)):
            assert (await client.get("/v1/nights", params={"limit": limit})).status_code == status
        assert (await client.get("/v1/nights", params={"offset": 3})).json()["runs"] == []
    assert seen == [str(id_) for (id_,) in ask(acme, "SELECT id FROM night.runs ORDER BY started_at DESC")]
    assert "Mara" not in json.dumps(found)
    assert {"mode", "state", "trigger", "reason", "counts", "duration_ms", "consolidations"} <= found["runs"][0].keys()

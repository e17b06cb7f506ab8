"""The calls as MCP tools, by the official client over streamable HTTP in both ways that it begins; raw where it is about codes."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from mcp import MCPError

from slowwave.store.connect import Store
from slowwave.wiki.serving import mcp_server
from slowwave.wiki.serving.answering import Answering, Door
from slowwave.wiki.serving.calls import CALLS
from slowwave.wiki.serving.http_app import http_app
from slowwave.wiki.serving.tokens import SCOPES
from tests.memories import ask
from tests.snapshots import uid
from tests.wiki.serving import HERE, OPEN, mcp_over_http, token_of
from tests.wiki.serving.conftest import MARKER

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

BOTH = pytest.mark.parametrize("mode", ["auto", "legacy"])
INVALID_PARAMS, METHOD_NOT_FOUND, PARSE_ERROR = -32602, -32601, -32700


@BOTH
async def test_an_agent_wakes_and_says_what_it_used(acme: Store, mode: str) -> None:
    """The block is the text that a model reads; programs get the fields."""
    async with mcp_over_http(acme, token=token_of(acme), mode=mode) as client:
        assert "wake" in str(client.instructions)
        woken = await client.call_tool("wake", {"agent": "codex"})
        assert [part.text for part in woken.content if part.type == "text"] == ["## User\n\nMara likes tea."]
        assert woken.structured_content == {"profile": "default", "block": "## User\n\nMara likes tea."}
        told = await client.call_tool("recall_event", {"query": "tea", "result_ids": [uid("a")]})
        assert told.structured_content is not None
        assert told.structured_content["stored"] is True
        status = await client.call_tool("status", {})
        assert json.loads(status.content[0].text)["holds"]["documents"] == 1  # type: ignore[union-attr]
    assert ask(acme, "SELECT query FROM memory.recall_events") == [("tea",)]


@BOTH
async def test_tools_are_the_calls_with_the_schemas_of_their_models(acme: Store, mode: str) -> None:
    """Names with underscores, one description each, what a token may; and nothing that only repeats a name."""
    everything = token_of(acme, "acme", *SCOPES)
    async with mcp_over_http(acme, token=everything, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {call.tool for call in CALLS.values()}
    for call in CALLS.values():
        tool = tools[call.tool]
        assert tool.description == call.description
        assert set(tool.input_schema.get("properties", {})) == {
            field.alias or name for name, field in call.request.model_fields.items()
        }
    assert tools["wake"].input_schema["required"] == ["agent"]
    listing = json.dumps([tool.model_dump(mode="json", exclude_none=True, by_alias=True) for tool in tools.values()])
    assert '"title":' not in listing
    assert len(json.dumps(json.loads(listing), separators=(",", ":"))) < 24_000


READS = (
    *("wake", "active_memory", "search", "get", "link", "claims", "history", "public_artifacts", "status", "profiles"),
    *("memory_proposals_list", "memory_proposal", "nights"),
)
ADDS = ("research", "recall_event", "memory_proposals", "dream_now")
REPLACES = ("session_ingest", "memory_write", "write", "purge", "memory_proposal_apply", "memory_proposal_reject")


async def test_what_a_tool_does_to_memory_is_what_its_annotations_say(acme: Store) -> None:
    """A client asks a person before what replaces or deletes: every tool, so that a new one has to say what it does."""
    everything = token_of(acme, "acme", *SCOPES)
    async with mcp_over_http(acme, token=everything) as client:
        tools = (await client.list_tools()).tools
    told = {t.name: (t.annotations.read_only_hint, t.annotations.destructive_hint) for t in tools if t.annotations}
    assert told == {
        **dict.fromkeys(READS, (True, False)),
        **dict.fromkeys(ADDS, (False, False)),
        **dict.fromkeys(REPLACES, (False, True)),
    }
    assert all(call.effect != "none" for call in CALLS.values() if call.scope != "read")


async def test_dory_a_tool_that_a_token_may_not_use_is_not_listed_and_refused(acme: Store) -> None:
    """As over HTTP."""
    async with mcp_over_http(acme, token=token_of(acme, "acme", "read")) as client:
        assert "recall_event" not in {tool.name for tool in (await client.list_tools()).tools}
        refused = await client.call_tool("recall_event", {"query": "q"})
        assert refused.is_error
    assert ask(acme, "SELECT count(*) FROM memory.recall_events") == [(0,)]


async def test_dory_what_a_token_sees_over_mcp_is_of_its_namespace(acme: Store) -> None:
    """Each request brings its token: of two agents at one server each has its own memory."""
    mine, theirs = token_of(acme), token_of(acme, "rival")
    async with mcp_over_http(acme, token=mine) as client:
        for tool, arguments in (("wake", {"agent": "a"}), ("status", {}), ("profiles", {})):
            assert MARKER not in str(await client.call_tool(tool, arguments))
        assert MARKER not in str(await client.get_prompt("wake")) + str(await client.read_resource("memory://status"))
    async with mcp_over_http(acme, token=theirs) as client:
        assert MARKER in str(await client.call_tool("wake", {"agent": "a"}))


@BOTH
async def test_dory_a_request_that_its_model_does_not_admit_is_invalid_params(acme: Store, mode: str) -> None:
    """So is a tool, a prompt or a resource that is not there. A refusal is the tool's error, in words."""
    async with mcp_over_http(acme, OPEN, mode=mode) as client:
        for name, arguments in (("wake", {}), ("wake", {"agent": "a", "budget_tokens": 9}), ("purge", {})):
            with pytest.raises(MCPError) as problem:
                await client.call_tool(name, arguments)
            assert problem.value.code == INVALID_PARAMS
        with pytest.raises(MCPError) as problem:
            await client.get_prompt("nothing")
        assert problem.value.code == INVALID_PARAMS
        with pytest.raises(MCPError) as problem:
            await client.read_resource("memory://nothing")
        assert problem.value.code == INVALID_PARAMS
        refused = await client.call_tool("wake", {"agent": "a", "profile": "none"})
        assert (refused.is_error, "coding" in str(refused.content)) == (True, True)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", PARSE_ERROR),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "memory/purge"}', METHOD_NOT_FOUND),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wake"}}', INVALID_PARAMS),
    ],
)
async def test_dory_json_rpc_errors_have_their_codes(acme: Store, body: bytes, code: int) -> None:
    """What is no JSON, no method, no arguments."""
    app = http_app(Answering(acme), OPEN)
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HERE, headers=headers) as client,
    ):
        answer: dict[str, Any] = (await client.post("/mcp", content=body)).json()
    assert answer["error"]["code"] == code


async def test_a_prompt_begins_with_the_block_and_a_resource_is_the_status(acme: Store) -> None:
    """What people choose in a client, and what a client attaches."""
    async with mcp_over_http(acme, OPEN) as client:
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["wake"]
        prompt = await client.get_prompt("wake", {"profile": "default"})
        assert prompt.messages[0].content.text == "## User\n\nMara likes tea."  # type: ignore[union-attr]
        assert [str(one.uri) for one in (await client.list_resources()).resources] == ["memory://status"]
        (status,) = (await client.read_resource("memory://status")).contents
        assert json.loads(status.text)["namespace"] == "acme"  # type: ignore[union-attr]


async def test_an_answer_over_the_bound_is_an_error_that_says_so(acme: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is cut behind the model's back."""
    monkeypatch.setattr(mcp_server, "MOST_TOKENS", 5)
    async with mcp_over_http(acme, OPEN) as client:
        answer = await client.call_tool("wake", {"agent": "a"})
    assert (answer.is_error, answer.structured_content) == (True, None)
    assert "more than 5" in str(answer.content)


async def test_mcp_without_a_token_is_refused_before_it_begins(acme: Store) -> None:
    """And so is one that is revoked while a client is connected."""
    with pytest.raises(BaseException) as problem:  # noqa: PT011 - a group of the client's tasks
        async with mcp_over_http(acme, Door()):
            pass
    assert problem
    async with mcp_over_http(acme, token=token_of(acme)) as client:
        await client.call_tool("status", {})
        ask(acme, "UPDATE memory.tokens SET revoked_at = now()")
        with pytest.raises(MCPError):
            await client.call_tool("status", {})


async def test_a_page_is_a_resource_of_its_path(acme: Store) -> None:
    """As the tool get reads it, of the caller's namespace; a path that is none is invalid, and no way out."""
    async with mcp_over_http(acme, token=token_of(acme)) as client:
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "memory://pages/{+path}"
        (page,) = (await client.read_resource("memory://pages/core/user.md")).contents
        assert page.text.startswith("Mara likes tea.")
        assert MARKER not in page.text
        for path in ("core/none.md", "..%2F..%2Fetc%2Fpasswd", ""):
            with pytest.raises(MCPError):
                await client.read_resource(f"memory://pages/{path}")

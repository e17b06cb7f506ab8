"""``slowwave serve`` and ``slowwave mcp`` as processes of their own, reached as agents reach them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import httpx
import pytest
from mcp import Client, StdioServerParameters

from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.surfaces.cli.conftest import Run
from tests.waiting import until
from tests.wiki.recall.test_wake_rows import put_document
from tests.wiki.serving import bearer, token_of

PROGRAM = str(Path(sys.executable).with_name("slowwave"))


@pytest.fixture
def environment(store: Store, tmp_path: Path) -> dict[str, str]:
    """What such a process is started with: the address of the server's login, and of no other."""
    remember(store, "acme")
    put_document(store, "core/user.md", "Mara likes tea.")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLOWWAVE_")}
    return {**kept, "SLOWWAVE_DATABASE_URL": store.logins["server"], "SLOWWAVE_HOME": str(tmp_path / "none")}


def test_a_server_answers_until_it_is_asked_to_end(store: Store, environment: dict[str, str], tmp_path: Path) -> None:
    """With the server's login alone: over HTTP, and by the MCP client at /mcp; nothing on standard output."""
    token, log = token_of(store), tmp_path / "log"
    with log.open("wb") as told:
        server = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0"], env=environment, stdout=subprocess.PIPE, stderr=told
        )
        try:
            address = until(lambda: re.search(r"(http://127\.0\.0\.1:\d+)", log.read_text()))[1]

            async def by_mcp() -> str:
                import httpx2
                from mcp.client.streamable_http import streamable_http_client

                async with (
                    httpx2.AsyncClient(headers=bearer(token), timeout=120) as session,
                    Client(streamable_http_client(f"{address}/mcp", http_client=session)) as client,
                ):
                    return str(await client.call_tool("wake", {"agent": "a"}))

            with httpx.Client(base_url=address, headers=bearer(token), timeout=120) as client:
                woken = client.post("/v1/wake", json={"agent": "a"})
                assert woken.json()["block"] == "## User\n\nMara likes tea."
                assert client.get("/v1/status", headers=bearer("wrong")).status_code == 401
                assert "server" not in woken.headers
            assert "Mara likes tea." in anyio.run(by_mcp)
        finally:
            server.send_signal(signal.SIGINT)
            out, _ = server.communicate(timeout=60)
    assert (server.returncode, out) == (0, b"")
    assert "http wake 200" in log.read_text()
    assert "Mara" not in log.read_text()


def test_an_agent_starts_a_server_of_its_own_over_stdio(store: Store, environment: dict[str, str]) -> None:
    """The official client runs the command that its configuration names."""
    command = StdioServerParameters(command=PROGRAM, args=["mcp", "acme"], env=environment)

    async def asked() -> tuple[set[str], str, bool]:
        async with Client(command) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            woken = str(await client.call_tool("wake", {"agent": "claude"}))
            used = await client.call_tool("recall_event", {"query": "tea"})
            return tools, woken, used.is_error

    tools, woken, failed = anyio.run(asked)
    assert {"wake", "recall_event", "status", "profiles"} <= tools
    assert ("Mara likes tea." in woken, failed) == (True, False)
    assert ask(store, "SELECT query FROM memory.recall_events") == [("tea",)]


def test_dory_a_server_that_would_be_open_to_everybody_does_not_start(store: Store, run: Run) -> None:
    """Exit code 2 and a sentence, before anything listens."""
    remember(store, "acme")
    for arguments in (("acme", "--host", "0.0.0.0"), (), ("nobody",)):  # noqa: S104
        code, out, err = run("serve", "--port", "0", *arguments)
        assert (code, out, "Refused" in err) == (2, "", True)
    assert run("mcp", "nobody")[0] == 2

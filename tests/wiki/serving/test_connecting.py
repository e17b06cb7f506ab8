"""Each command and configuration that docs/serve.md tells, and server.json: started or reached as written, by the official MCP client.

What a reader fills in is filled in here: the token, the paths, and the port where another program has 7070.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import signal
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from slowwave.store.connect import Store
from tests.waiting import until
from tests.wiki.serving import token_of

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

ROOT = Path(__file__).parents[3]
LISTED = json.loads((ROOT / "server.json").read_text())


@dataclass(frozen=True, slots=True)
class Documented:
    """How a client is told to reach memory: by a command that it starts, or at an address."""

    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def documented() -> dict[str, Documented]:
    """Every way of the page by the client's name, and what registries list."""
    page = (ROOT / "docs" / "serve.md").read_text().partition("## Connecting agents")[2]
    found: dict[str, Documented] = {}
    for client, told in re.findall(r"^\*\*([^*.]+)\*\*(.*?)(?=^\*\*|\Z)", page, re.MULTILINE | re.DOTALL):
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```", told, re.MULTILINE | re.DOTALL):
            for number, way in enumerate(_ways(language, block), 1):
                found[f"{client}, {language or 'command'} {number}"] = way
    package = LISTED["packages"][0]
    written = [(a.get("name"), a.get("value", a.get("placeholder"))) for a in package["packageArguments"]]
    arguments = [part for pair in written for part in pair if part]
    return {**found, "server.json": Documented((package["identifier"], *arguments))}


def _ways(language: str, block: str) -> Iterator[Documented]:
    """What one block tells."""
    match language:
        case "json":
            yield from map(_configured, json.loads(block)["mcpServers"].values())
        case "toml":
            yield from map(_configured, tomllib.loads(block)["mcp_servers"].values())
        case "python":
            call = next(n for n in ast.walk(ast.parse(block)) if isinstance(n, ast.Dict) and _has(n, "url"))
            filled_in = SimpleNamespace(environ={"SLOWWAVE_TOKEN": "$SLOWWAVE_TOKEN"})
            told = eval(compile(ast.Expression(call), "serve.md", "eval"), {"os": filled_in})  # noqa: S307 - our own page
            yield Documented(url=told["url"], headers=told["headers"])
        case _:
            for line in block.splitlines():
                words = shlex.split(line)
                if "--" in words:
                    yield Documented(words[words.index("--") + 1 :])
                else:
                    name, _, value = words[-1].partition(": ")
                    yield Documented(url=words[-3], headers={name: value})


def _has(told: ast.Dict, name: str) -> bool:
    return any(isinstance(key, ast.Constant) and key.value == name for key in told.keys)


def _configured(server: Mapping[str, Any]) -> Documented:
    headers = dict(server.get("headers", {}))
    if variable := server.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${variable}"
    command = [server["command"], *server["args"]] if "command" in server else []
    return Documented(command, server.get("env", {}), server.get("url", ""), headers)


@pytest.fixture
def environment(acme: Store, programs: Path, tmp_path: Path) -> dict[str, str]:
    """A user's: the program on the PATH, the store's login and a token."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLOWWAVE_")}
    return {
        **kept,
        "PATH": f"{programs}{os.pathsep}{kept['PATH']}",
        "SLOWWAVE_DATABASE_URL": acme.logins["server"],
        "SLOWWAVE_HOME": str(tmp_path / "none"),
        "SLOWWAVE_TOKEN": token_of(acme),
    }


@pytest.fixture
def address(environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """Where ``slowwave serve acme`` listens."""
    log = tmp_path / "log"
    with log.open("wb") as told:
        command = ["slowwave", "serve", "acme", "--port", "0"]
        server = subprocess.Popen(command, env=environment, stderr=told)
    try:
        yield until(lambda: re.search(r"http://(127\.0\.0\.1:\d+)", log.read_text()))[1]
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=60)


COMMANDS = {name: way for name, way in documented().items() if way.command}
ADDRESSES = {name: way for name, way in documented().items() if way.url}


def test_the_page_is_read_whole() -> None:
    """Five clients by eight ways, and the listing."""
    assert sorted(COMMANDS) == ["Claude Code, command 1", "Claude Desktop, json 1", "Codex, toml 1", "server.json"]
    assert sorted(ADDRESSES) == [
        "Claude Code, command 2",
        "Claude Code, json 1",
        "Codex, toml 2",
        "Cursor, json 1",
        "LangGraph, python 1",
        "OpenAI Agents SDK, python 1",
    ]


@pytest.mark.parametrize("client", COMMANDS)
async def test_a_command_of_the_page_starts_a_memory(client: str, environment: dict[str, str], programs: Path) -> None:
    """``initialize``, ``tools/list`` and ``tools/call`` of what the client would start."""
    program, *arguments = COMMANDS[client].command
    if program.startswith("/path/to/"):
        program = str(programs / program.removeprefix("/path/to/"))
    assert set(COMMANDS[client].environment) <= {"SLOWWAVE_HOME"}
    await _wakes(Client(StdioServerParameters(command=program, args=arguments, env=environment), mode="legacy"))


@pytest.mark.parametrize("client", ADDRESSES)
async def test_an_address_of_the_page_is_a_memory(client: str, environment: dict[str, str], address: str) -> None:
    """The same at the address, with the headers that the client would send."""
    token = environment["SLOWWAVE_TOKEN"]
    headers = {
        name: re.sub(r"\$\{(env:)?SLOWWAVE_TOKEN\}|\$SLOWWAVE_TOKEN\b", token, value)
        for name, value in ADDRESSES[client].headers.items()
    }
    assert headers == {"Authorization": f"Bearer {token}"}
    url = ADDRESSES[client].url.replace("127.0.0.1:7070", address)
    async with httpx2.AsyncClient(headers=headers, timeout=120) as session:
        await _wakes(Client(streamable_http_client(url, http_client=session), mode="legacy"))


async def _wakes(client: Client) -> None:
    async with client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        woken = await client.call_tool("wake", {"agent": "a"})
    assert {"wake", "search", "get", "recall_event", "memory_write"} <= tools
    assert (woken.is_error, woken.structured_content) == (
        False,
        {"profile": "default", "block": "## User\n\nMara likes tea."},
    )


def test_the_listing_is_of_this_version() -> None:
    """Version and name as the package has them; the mark by which a registry knows that the package is the listing's is in its readme."""
    package, project = LISTED["packages"][0], tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (package["identifier"], package["version"], LISTED["version"]) == (
        project["name"],
        *2 * [project["version"]],
    )
    assert package["runtimeArguments"][0]["value"] == f"{project['name']}[serve,minilm]=={project['version']}"
    assert f"<!-- mcp-name: {LISTED['name']} -->" in (ROOT / "README.md").read_text()

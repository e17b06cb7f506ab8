"""docs/serve.md: its configurations can be read, name commands that there are, and its table is the list of calls."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from slowwave.surfaces.cli.main import VERBS
from slowwave.wiki.serving.calls import CALLS

PAGE = (Path(__file__).parents[3] / "docs" / "serve.md").read_text()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_table_is_the_list_of_calls() -> None:
    """Tool, route and scope of each, and no other."""
    rows = re.findall(r"^\| `(\w+)` \| `(\w+) (\S+)` \| (\w+) \|", PAGE, re.MULTILINE)
    assert rows == [(call.tool, call.method, call.path, call.scope) for call in CALLS.values()]


def test_configurations_can_be_read_and_start_what_there_is() -> None:
    """A client would take them as they are."""
    servers = [server for block in _blocks("json") for server in json.loads(block)["mcpServers"].values()]
    servers += [server for block in _blocks("toml") for server in tomllib.loads(block)["mcp_servers"].values()]
    assert len(servers) == 5
    for server in servers:
        if "command" in server:
            assert server["args"][0] in VERBS
        else:
            assert server["url"].endswith(":7070/mcp")
    assert len(_blocks("python")) == 2
    for block in _blocks("python"):
        compile(block, "serve.md", "exec")

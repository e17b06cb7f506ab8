"""Line 17: of an agent file with 56 blocks, 35 were in no agent's `block_ids`. They were left out, and the import said `skipped 0`. Every
block of a file is imported, or listed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import ImportRefused
from slowwave.sources.letta import import_letta
from slowwave.store.connect import Store
from tests.memories import ask
from tests.sources.conftest import HashEmbedder

PLACES = """SELECT n.slug, m.subject, v.content FROM memory.memories m JOIN memory.namespaces n ON n.id = m.namespace_id
  JOIN memory.memory_versions v ON v.id = m.current_version_id ORDER BY 1, 2, 3"""


def agent(name: str, *block_ids: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "id": f"agent-{name}", "messages": [], "block_ids": list(block_ids), **more}


def block(n: int, label: str = "note", **more: Any) -> dict[str, Any]:
    return {"id": f"block-{n}", "label": label, "value": f"Text {n}.", **more}


def imported(store: Store, folder: Path, content: dict[str, Any], **options: Any):
    path = folder / "export.af"
    path.write_text(json.dumps({"created_at": "2026-03-01T09:00:00Z", **content}))
    with store.connect("owner") as connection:
        return import_letta(connection, path, embedder=HashEmbedder(), **options)


def test_blocks_that_no_agent_names_are_imported(store: Store, tmp_path: Path) -> None:
    """Some of one label, some of none other's: all 56, once."""
    content = {
        "agents": [agent("helper", *(f"block-{n}" for n in range(21)))],
        "blocks": [block(n, f"label {n % 40}") for n in range(56)],
    }
    summary = imported(store, tmp_path, content)
    assert (summary.namespaces, summary.added["memories"], summary.skipped, summary.seen) == (("helper",), 56, (), 56)
    assert {text for _, _, text in ask(store, PLACES)} == {f"Text {n}." for n in range(56)}
    assert imported(store, tmp_path, content).added == {}


def test_each_goes_where_it_belongs(store: Store, tmp_path: Path) -> None:
    """To the agents that name it, carry it or share it in a group; of several agents' file the rest goes to the file's namespace."""
    content = {
        "agents": [agent("one", "block-0", "block-1"), agent("two", "block-1", memory_blocks=[block(7, "carried")])],
        "groups": [{"agent_ids": ["agent-one", "agent-two"], "shared_block_ids": ["block-2"]}],
        "blocks": [block(0), block(1, "both"), block(2, "shared"), block(3), {"label": "note", "value": "No id."}],
    }
    imported(store, tmp_path, content)
    assert ask(store, PLACES) == [
        ("export", "note", "No id."),
        ("export", "note", "Text 3."),
        ("one", "both", "Text 1."),
        ("one", "note", "Text 0."),
        ("one", "shared", "Text 2."),
        ("two", "both", "Text 1."),
        ("two", "carried", "Text 7."),
        ("two", "shared", "Text 2."),
    ]


def test_a_file_of_blocks_alone_has_something_to_import(store: Store, tmp_path: Path) -> None:
    """A library of blocks without an agent."""
    assert imported(store, tmp_path, {"agents": [], "blocks": [block(0)]}).namespaces == ("export",)


def test_an_agent_may_have_two_blocks_of_one_label(store: Store, tmp_path: Path) -> None:
    """Neither stands in for the other."""
    content = {"agents": [agent("a", "block-0", "block-1")], "blocks": [block(0, "human"), block(1, "human")]}
    assert imported(store, tmp_path, content).added["memories"] == 2
    content["blocks"][1]["value"] = "Another."
    assert imported(store, tmp_path, content).added["memories"] == 1


def test_a_block_that_the_file_does_not_hold_is_named(store: Store, tmp_path: Path) -> None:
    """The file says that the agent has it, and it is not there."""
    content = {"agents": [agent("a", "block-0", "block-9")], "blocks": [block(0)]}
    with pytest.raises(ImportRefused, match=r"agents\[0\]\.block_ids\[1\]: .*block-9"):
        imported(store, tmp_path, content)
    summary = imported(store, tmp_path, content, on_error="skip")
    assert ([s.path for s in summary.skipped], summary.added["memories"]) == (["agents[0].block_ids[1]"], 1)

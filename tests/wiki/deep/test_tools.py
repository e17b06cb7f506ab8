"""The tools of a deep pass: text for every answer, limits on everything, and no word of a model taken for a deed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.wiki.deep.loop import LONGEST_ANSWER, TOOLS, ToolLimits, Tools
from slowwave.wiki.deep.scratch import Scratch


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    for folder in ("memories", "sessions"):
        (tmp_path / folder).mkdir()
    (tmp_path / "memories" / "rowan.md").write_text("# rowan\n\n- [mem:x] The crane lifts 12 tons.\n- one\n- one\n")
    (tmp_path / "sessions" / "one.md").write_text("Mara: the crane lifts 14 tons now.\n")
    return Tools(Scratch(tmp_path, lambda name: name.startswith("memories/")))


def call(tools: Tools, name: str, **arguments: Any) -> str:
    return tools.call(name, json.dumps(arguments))


def test_deep_a_model_lists_reads_searches_and_edits(tools: Tools) -> None:
    """The work, and what is noted of it: names that were read and written, whatever the model says."""
    assert call(tools, "list") == "memories/rowan.md\nsessions/one.md"
    assert call(tools, "glob", pattern="sessions/*") == "sessions/one.md"
    assert call(tools, "grep", pattern="CRANE lifts", ignore_case=True, folder="sessions").startswith(
        "sessions/one.md:1:"
    )
    assert call(tools, "read", file="memories/rowan.md", first_line=3, lines=1) == "- [mem:x] The crane lifts 12 tons."
    assert call(tools, "run", command="wc", arguments=["-l", "sessions/one.md"]) == "1 sessions/one.md"
    assert "written" in call(tools, "edit", file="memories/rowan.md", old="12 tons", new="14 tons")
    assert "14 tons" in tools.scratch.read("memories/rowan.md")
    assert (list(tools.touched), list(tools.read)) == (["memories/rowan.md"], ["sessions/one.md", "memories/rowan.md"])
    assert tools.refused == 0


def test_3_4_deep_a_failed_edit_is_no_file_touched(tools: Tools) -> None:
    """nexo counts it as one."""
    for answer in (
        call(tools, "edit", file="memories/rowan.md", old="- one", new="x"),
        call(tools, "edit", file="memories/rowan.md", old="", new="x"),
        call(tools, "edit", file="memories/none.md", old="a", new="x"),
        call(tools, "write", file="sessions/one.md", text="x"),
        call(tools, "write", file="../out.md", text="x"),
    ):
        assert answer.startswith("Refused: ")
    assert (tools.touched, tools.refused) == ({}, 5)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", "not JSON"),
        ("read", "[]"),
        ("read", "[" * 100_000),
        ("read", json.dumps({"file": {"name": "memories/rowan.md"}})),
        ("read", json.dumps({"file": ["memories/rowan.md"]})),
        ("read", json.dumps({"path": "memories/rowan.md"})),
        ("read", json.dumps({"file": "memories/rowan.md", "lines": "all"})),
        ("bash", json.dumps({"command": "ls"})),
        ("_write", json.dumps({"file": "memories/x.md", "text": "x"})),
        ("grep", json.dumps({"pattern": "("})),
        ("grep", json.dumps({"pattern": "x" * 300})),
        ("glob", json.dumps({"pattern": "*" * 9})),
        ("run", json.dumps({"command": "wc", "arguments": "memories/rowan.md"})),
        ("run", json.dumps({"command": ["wc"], "arguments": []})),
        ("list", json.dumps({"folder": "\ud800"})),
        ("read", json.dumps({"file": "memories/\ud800.md"})),
        ("glob", json.dumps({"pattern": "\ud800*"})),
        ("grep", json.dumps({"pattern": "\ud800"})),
        ("grep", json.dumps({"pattern": "a", "folder": "\udfff"})),
        ("edit", json.dumps({"file": "memories/rowan.md", "old": "\ud800", "new": "x"})),
        ("edit", json.dumps({"file": "memories/rowan.md", "old": "Rowan", "new": "\ud800"})),
        ("write", json.dumps({"file": "memories/rowan.md", "text": "\ud800"})),
        ("run", json.dumps({"command": "wc", "arguments": ["\ud800"]})),
        ("run", json.dumps({"command": "\ud800", "arguments": []})),
        ("\ud800", "{}"),
        ("grep", json.dumps({"\ud800": "a"})),
        ("read", '{"file": "memories/\ud800.md"}'),
        ("read", json.dumps({"file": "memories/rowan.md", "lines": float("inf")})),
    ],
)
def test_3_7_deep_arguments_that_cannot_be_are_refused_in_words(tools: Tools, name: str, arguments: str) -> None:
    """Nested ones among them; the model is told and goes on."""
    assert tools.call(name, arguments).startswith("Refused: ")
    assert not tools.touched


def test_deep_calls_bytes_and_answers_are_bounded(tools: Tools) -> None:
    """Each limit has its own sentence, and none ends in an error."""
    tools.scratch.write("memories/long.md", "x" * (2 * LONGEST_ANSWER))
    tools.limits = ToolLimits(calls=4, read_bytes=LONGEST_ANSWER + 10, written_bytes=5)
    assert "cut" in call(tools, "read", file="memories/long.md")
    assert call(tools, "read", file="memories/long.md").startswith("Refused: ")
    assert call(tools, "write", file="memories/b.md", text="123456").startswith("Refused: ")
    assert not call(tools, "write", file="memories/b.md", text="12345").startswith("Refused: ")
    assert call(tools, "list").startswith("Refused: All 4 calls")


def test_deep_a_pattern_that_takes_other_engines_for_ever_is_quick(tools: Tools) -> None:
    """RE2 reads a line once, whatever the pattern."""
    tools.scratch.write("memories/long.md", "a" * 50_000 + "!")
    assert call(tools, "grep", pattern="^(a+)+$", folder="memories") == "No line fits."


def test_deep_every_tool_that_is_offered_is_there(tools: Tools) -> None:
    """As the protocol names them."""
    for tool in TOOLS:
        function: Any = tool["function"]
        assert "There is no tool" not in tools.call(function["name"], "{}")

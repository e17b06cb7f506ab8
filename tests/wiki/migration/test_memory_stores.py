"""Exports of other memories and sessions of coding agents, by the readers that imports have."""

from __future__ import annotations

from pathlib import Path

from slowwave.wiki.migration.pages import classified_page
from tests.wiki.migration.folders import staged

CLAUDE_CODE = (
    '{"type":"user","sessionId":"s-1","cwd":"/boat","timestamp":"2026-03-01T09:00:00Z",'
    '"message":{"role":"user","content":"Rig the sail."}}\n'
    '{"type":"assistant","sessionId":"s-1","timestamp":"2026-03-01T09:01:00Z",'
    '"message":{"role":"assistant","content":[{"type":"text","text":"The sail is rigged."},{"type":"tool_use","name":"Bash"}]}}\n'
)
CODEX = (
    '{"timestamp":"2026-03-02T09:00:00Z","type":"session_meta","payload":{"id":"x-9","cwd":"/boat"}}\n'
    '{"timestamp":"2026-03-02T09:00:01Z","type":"response_item",'
    '"payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Paint the hull."}]}}\n'
)


def test_mem0_memories_become_a_page_and_statements_of_their_user(tmp_path: Path) -> None:
    """A platform's answer and a bare list; categories say the sort; relations are evidence."""
    export = {
        "results": [
            {
                "id": "1",
                "memory": "Mara sails on Sundays",
                "user_id": "mara",
                "created_at": "2026-01-02T03:04:05-08:00",
            },
            {"id": "2", "memory": "Prefers tea to coffee", "user_id": "mara", "categories": ["user_preferences"]},
            {"id": "3", "memory": "The bot speaks French", "agent_id": "bot", "metadata": {"type": "voice"}},
        ],
        "relations": [{"source": "mara", "relationship": "sails", "target": "boat"}],
    }
    found = staged(tmp_path / "mem0", {"export.json": export, "list.json": [{"memory": "Jo rows", "user_id": "jo"}]})
    pages = {page.place.rsplit("/", 1)[1]: page for page in found.pages}
    assert sorted(pages) == ["agent_id-bot.md", "relations.md", "user_id-jo.md", "user_id-mara.md"]
    mara = classified_page(pages["user_id-mara.md"])
    assert [(told.about.name, [(a.kind, a.text) for a in told.atoms]) for told in mara.told] == [
        ("mara", [("person_fact", "Mara sails on Sundays"), ("preference", "Prefers tea to coffee")])
    ]
    assert mara.told[0].atoms[0].at is not None
    assert "- 2026-01-02: Mara sails on Sundays" in mara.page.text
    assert classified_page(pages["agent_id-bot.md"]).resolution == "evidence_only"
    assert 'French {"type": "voice"}' in pages["agent_id-bot.md"].text


def test_letta_agents_become_conversations_and_blocks(tmp_path: Path) -> None:
    """As `slowwave import letta` reads them, heartbeats and tools left out."""
    agent = {
        "agents": [
            {
                "id": "agent-0",
                "name": "Harbour Bot",
                "block_ids": ["block-0"],
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "text", "text": "When is high tide?"}],
                        "created_at": "2026-02-01T09:00:00Z",
                    },
                    {
                        "role": "tool",
                        "content": [{"type": "text", "text": "table"}],
                        "created_at": "2026-02-01T09:00:01Z",
                    },
                    {
                        "role": "assistant",
                        "content": [{"type": "text", "text": "At nine."}],
                        "created_at": "2026-02-01T09:00:02Z",
                    },
                ],
            }
        ],
        "blocks": [{"id": "block-0", "label": "human", "value": "Mara sails."}],
        "created_at": "2026-02-02T00:00:00Z",
    }
    found = staged(tmp_path, {"bot.af": agent, "broken.af": '{"agents": [{"name": 3}]}'})
    assert sorted(page.reader for page in found.pages) == ["Letta conversation", "Letta memory block"]
    assert any("At nine." in page.text and "table" not in page.text for page in found.pages)
    assert [out.path for out in found.bad] == ["broken.af"]


def test_sessions_of_claude_code_and_codex_beside_their_notes(tmp_path: Path) -> None:
    """A project memory: CLAUDE.md or AGENTS.md, topic files, and what was said."""
    found = staged(
        tmp_path / "one",
        {"CLAUDE.md": "Use oak.\n", "memory/debugging.md": "Check the keel.\n", "s-1.jsonl": CLAUDE_CODE},
    )
    assert found.read_as == (".: Claude Code project memory",)
    assert [page.reader for page in found.pages] == ["Markdown", "Markdown", "transcript"]
    assert "The sail is rigged." in found.pages[2].text
    found = staged(tmp_path / "two", {"AGENTS.md": "Use oak.\n", "sessions/rollout-1.jsonl": CODEX + '{"foo": 1}\n'})
    assert found.read_as == (".: Codex project memory",)
    assert [(out.path, out.line) for out in found.bad] == [("sessions/rollout-1.jsonl", 3)]
    found = staged(tmp_path / "three", {"AGENTS.md": "Use oak.\n", "sessions/rollout-1.jsonl": CODEX})
    assert 'agent: "codex"' in found.pages[1].text

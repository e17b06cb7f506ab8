"""Exports of other assistants: what was said is kept, in order and in its branch; machinery, hidden turns and secrets are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slowwave.wiki.migration import staging as conversations
from tests.wiki.migration.folders import staged


def node(id_: str, parent: str | None, role: str, text: str, at: float, **more: Any) -> dict[str, Any]:
    """A node of ChatGPT's mapping."""
    content = {"content_type": "text", "parts": [text], **more.pop("content", {})}
    message = {"author": {"role": role}, "create_time": at, "content": content, **more}
    return {"id": id_, "parent": parent, "message": message}


def test_chatgpt_the_branch_that_was_shown_last(tmp_path: Path) -> None:
    """An edited question leaves its first answer behind; tools, code and hidden turns say nothing; a key is taken out."""
    nodes = [
        {"id": "root", "parent": None, "message": None},
        node("system", "root", "system", "You are helpful.", 1.7e9),
        node("q1", "system", "user", "When is low tide?", 1.7e9 + 1),
        node("a1", "q1", "assistant", "At three.", 1.7e9 + 2),
        node("q2", "system", "user", "When is high tide? My password: hunter2hunter2", 1.7e9 + 3),
        node("tool", "q2", "tool", "tide table", 1.7e9 + 4),
        node("code", "tool", "assistant", "print(1)", 1.7e9 + 5, content={"content_type": "code"}),
        node("hid", "code", "user", "About me", 1.7e9 + 5, metadata={"is_visually_hidden_from_conversation": True}),
        node("a2", "hid", "assistant", "At nine.", 1.7e9 + 6, metadata="odd"),
    ]
    export = [
        {
            "conversation_id": "c-1",
            "title": "Tides & times",
            "mapping": {n["id"]: n for n in nodes},
            "current_node": "a2",
        },
        {"id": "c-2", "title": None, "mapping": {"x": node("x", "x", "user", "A circle.", 1)}, "current_node": "x"},
        {"id": "c-3", "mapping": {}},
    ]
    found = staged(tmp_path / "gpt", {"conversations.json": export, "user.json": {"email": "m@example.org"}})
    first, second = found.pages
    assert found.read_as == (".: data export",)
    assert first.reader == "ChatGPT conversation"
    assert first.place == "sources/imported/gpt/conversations/chatgpt/2023-11-14-tides-times-c-1.md"
    assert "**assistant** 2023-11-14 22:13\n\nAt nine." in first.text
    assert "When is high tide?" in first.text
    for gone in ("low tide", "At three", "tide table", "print(1)", "About me", "hunter2", "You are helpful"):
        assert gone not in first.text
    assert "A circle." in second.text
    assert [out.path for out in found.noted] == ["user.json"]


def test_claude_conversations_memories_and_projects(tmp_path: Path) -> None:
    """The three files of an export, each as pages of its own."""
    talk = {
        "uuid": "11112222-3333",
        "name": "Tides",
        "chat_messages": [
            {"sender": "human", "text": "When is high tide?", "created_at": "2026-02-14T10:04:22Z"},
            {
                "sender": "assistant",
                "text": "",
                "content": [{"type": "text", "text": "At nine."}, {"type": "tool_use"}],
            },
            "odd",
        ],
    }
    found = staged(
        tmp_path / "claude",
        {
            "conversations.json": [talk],
            "memories.json": [
                {"conversations_memory": "Mara sails.", "project_memories": {"p-1": "The boat is blue."}}
            ],
            "projects.json": [
                {
                    "uuid": "p-1",
                    "name": "Boat",
                    "prompt_template": "Be brief.",
                    "docs": [{"filename": "a.txt", "content": "Oak."}],
                }
            ],
        },
    )
    texts = {page.place.removeprefix("sources/imported/claude/"): page.text for page in found.pages}
    assert list(texts) == [
        "conversations/claude/2026-02-14-tides-11112222-333.md",
        "claude/memory.md",
        "claude/memory-p-1.md",
        "claude/projects/boat-p-1/project.md",
        "claude/projects/boat-p-1/1-a.txt.md",
    ]
    assert "At nine." in texts["conversations/claude/2026-02-14-tides-11112222-333.md"]
    assert texts["claude/memory.md"].endswith("---\nMara sails.\n")


def test_a_long_conversation_goes_on_on_another_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns stay whole."""
    monkeypatch.setattr(conversations, "LONGEST_PAGE", 50)
    messages = [{"sender": "human", "text": f"This is turn {n} of a long talk."} for n in range(5)]
    found = staged(tmp_path, {"conversations.json": [{"uuid": "c", "name": "Long", "chat_messages": messages}]})
    assert len(found.pages) == 5
    assert all(page.place.endswith(f"-c-{n}.md") for n, page in enumerate(found.pages, 1))


def test_an_entry_of_another_form_makes_the_file_bad(tmp_path: Path) -> None:
    """Nothing of it is taken."""
    found = staged(tmp_path, {"conversations.json": [{"mapping": {}}, {"chat_messages": []}]})
    assert not found.pages
    assert [out.reason for out in found.bad] == ["entry 2 is no conversation of ChatGPT (it has no mapping)"]

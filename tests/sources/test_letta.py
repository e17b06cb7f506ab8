"""Agent files: what was said and what the agent keeps; nothing of its machinery."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slowwave.errors import ImportRefused
from slowwave.sources.letta import import_letta

DATA = Path(__file__).parents[2] / "../shared/data/letta_af"


def message(role: str, text: object, second: int = 0, **more: object) -> dict[str, object]:
    content = [{"type": "text", "text": text}] if isinstance(text, str) else text
    return {
        "id": f"message-{second}",
        "role": role,
        "created_at": f"2026-01-01T00:00:{second:02}+00:00",
        "content": content,
        **more,
    }


def agent_file(*messages: object, name: str = "Customer Service!", block: object = "Name: Chad") -> dict[str, object]:
    return {
        "agents": [{"name": name, "messages": list(messages), "block_ids": ["block-0"]}],
        "blocks": [{"id": "block-0", "label": "human", "value": block}],
        "created_at": "2026-01-02T00:00:00+00:00",
    }


@pytest.fixture
def af(tmp_path: Path):
    def write(content: object) -> Path:
        path = tmp_path / "agent.af"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def memories(connection) -> list[tuple[object, ...]]:
    return connection.execute(
        """SELECT m.kind, m.author, m.subject, v.content, m.attributes->>'source_id' FROM memory.memories m
        JOIN memory.memory_versions v ON v.id = m.current_version_id ORDER BY m.valid_from, v.content"""
    ).fetchall()


def test_speech_and_blocks_are_memory_and_machinery_is_not(store, embedder, af):
    """Wrapped user turns are unwrapped, send_message is speech, notices, prompts, tools and empty parts are left."""
    said = {"type": "user_message", "message": "I am Chad", "time": "now"}
    call = {"function": {"name": "send_message", "arguments": json.dumps({"message": "Hello Chad"})}}
    path = af(
        agent_file(
            message("system", "You are a prompt."),
            message("user", json.dumps(said), 1),
            message("assistant", [], 2, tool_calls=[call, {"function": {"name": "search", "arguments": "{}"}}]),
            message("tool", "OK", 3),
            message("user", json.dumps({"type": "heartbeat", "reason": "x"}), 4),
            message("user", '{"just": "json"}', 5),
        )
    )
    with store.connect("owner") as connection:
        summary = import_letta(connection, path, embedder=embedder)
        assert summary.namespaces == ("customer-service",)
        assert memories(connection) == [
            ("episodic", "user", "", "I am Chad", "message-1"),
            ("episodic", "assistant", "", "Hello Chad", "message-2"),
            ("episodic", "user", "", '{"just": "json"}', "message-5"),
            ("semantic", "memory_block", "human", "Name: Chad", "block-0"),
        ]


def test_a_later_export_that_numbers_anew_adds_only_what_is_new(store, embedder, af):
    """Exports renumber their messages: rows are known by what they say and when, and an agent's block by its label."""
    first, second = message("user", "one", 1), message("user", "two", 2)
    with store.connect("owner") as connection:
        import_letta(connection, af(agent_file(first, second)), embedder=embedder)
        again = [{**second, "id": "message-0"}, message("user", "three", 3)]
        summary = import_letta(connection, af(agent_file(*again, block="Name: Chad. Age: 30")), embedder=embedder)
        assert (summary.known, summary.reworded, summary.added["memories"]) == (2, 1, 1)
        assert {row[3] for row in memories(connection)} == {"one", "two", "three", "Name: Chad. Age: 30"}


def test_a_json_string_that_holds_json_is_unwrapped(store, embedder, af):
    """Some exports are a string within JSON; they hold the same memory."""
    with store.connect("owner") as connection:
        path = af(json.dumps(json.dumps(agent_file(message("user", "one", 1)))))
        assert import_letta(connection, path, embedder=embedder).added["memories"] == 2
        assert import_letta(connection, path, embedder=embedder, namespace="mine").namespaces == ("mine",)


@pytest.mark.parametrize("content", ["{", "7", '"{"', '{"agents": []}', '{"agents": [1]}', "{}"])
def test_what_is_no_agent_file_is_refused(store, embedder, af, content: str):
    """A wrong file is named as a whole."""
    with store.connect("owner") as connection, pytest.raises(ImportRefused, match=r"agent\.af"):
        import_letta(connection, af(content), embedder=embedder)


def test_a_bad_message_is_refused_by_its_place_or_skipped(store, embedder, af, contents):
    """The second message has no zone: the file is refused, or taken without it."""
    bad = {**message("user", "two", 2), "created_at": "2026-01-01T00:00:00"}
    path = af(agent_file(message("user", "one", 1), bad))
    before = contents()
    with store.connect("owner") as connection:
        with pytest.raises(ImportRefused, match="message 2 of agent 'Customer Service!': created_at has no time zone"):
            import_letta(connection, path, embedder=embedder)
        assert contents() == before
        summary = import_letta(connection, path, embedder=embedder, on_error="skip")
    assert [row.line for row in summary.skipped] == [2]
    assert summary.added["memories"] == 2


@pytest.mark.parametrize(
    ("name", "slug", "expected"), [("loop", "loop", 10), ("customer_service", "customer_service", 2)]
)
def test_published_agent_files_arrive(store, embedder, contents, name: str, slug: str, expected: int):
    """Real files: Loop's one sentence and nine blocks; once."""
    path = DATA / f"{name}.af"
    if not path.exists():
        pytest.skip("the shared demo data is not beside this checkout")
    with store.connect("owner") as connection:
        summary = import_letta(connection, path, embedder=embedder)
        before = contents()
        assert (summary.namespaces, summary.added["memories"]) == ((slug,), expected)
        assert import_letta(connection, path, embedder=embedder).added == {}
    assert contents() == before

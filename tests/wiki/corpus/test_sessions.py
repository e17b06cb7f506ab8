"""Sessions from the files of three harnesses: what was said is kept, machinery and secrets are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import ImportRefused
from slowwave.night.executor import apply_approval
from slowwave.store.connect import Store
from slowwave.wiki.corpus.corpora import FORGOTTEN_SESSION
from slowwave.wiki.corpus.sessions import SessionImport, import_sessions
from slowwave.wiki.corpus.transcripts import cleaned
from slowwave.wiki.forget import plan_forgetting
from tests.memories import ask
from tests.permitting import approve
from tests.wiki.corpus.folders import CountingEmbedder

AT = "2026-05-04T09:0{}:00.000Z"
LATER = 1_790_000_000.0


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def claude(n: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": role,
        "sessionId": "abc",
        "cwd": "/src",
        "timestamp": AT.format(n),
        "message": {"role": role, "content": content},
        **more,
    }


CLAUDE = [
    {"type": "summary", "summary": "Tide work", "leafUuid": "x"},
    claude(0, "user", "When is the spring tide?"),
    claude(1, "user", "<system-reminder>be brief</system-reminder>"),
    claude(
        2,
        "assistant",
        [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "name": "Read", "input": {"path": "secretfile"}}],
    ),
    claude(3, "user", [{"type": "tool_result", "content": "toolnoise"}]),
    claude(4, "assistant", [{"type": "text", "text": "At six.\nTool call: Read\nThe table says so."}]),
    claude(5, "assistant", "sidechain words", isSidechain=True),
]
CODEX = [
    {"timestamp": AT.format(0), "type": "session_meta", "payload": {"id": "c-1", "cwd": "/src"}},
    {"timestamp": AT.format(1), "type": "response_item", "payload": {
        "type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>x</environment_context>"}]}},
    {"timestamp": AT.format(1), "type": "response_item", "payload": {
        "type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix the crane."}]}},
    {"timestamp": AT.format(1), "type": "event_msg", "payload": {"type": "user_message", "message": "Fix the crane."}},
    {"timestamp": AT.format(2), "type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "toolnoise"}},
    {"timestamp": AT.format(3), "type": "response_item", "payload": {
        "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Fixed."}]}},
]  # fmt: skip
OPENAI = [
    {"id": "chat-1", "created_at": AT.format(0), "messages": [
        {"role": "system", "content": "toolnoise"},
        {"role": "user", "content": "Who opens the gate?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "t"}]},
        {"role": "tool", "content": "toolnoise"},
        {"role": "assistant", "content": "The porter."},
    ]},
]  # fmt: skip


def take(store: Store, *paths: Path, **more: Any) -> SessionImport:
    with store.connect("owner") as connection:
        return import_sessions(connection, paths, "work", embedder=CountingEmbedder(), clock=lambda: LATER, **more)


def test_sessions_of_three_harnesses(store: Store, tmp_path: Path) -> None:
    """Each is a page of the plane of sessions, in a corpus that stands lower; another import of the same files changes nothing."""
    files = [lines(tmp_path / f"{name}.jsonl", rows) for name, rows in (("a", CLAUDE), ("b", CODEX), ("c", OPENAI))]
    done = take(store, *files)
    assert (done.new, done.changed, done.unchanged, done.turns, done.skipped) == (3, 0, 0, 6, ())
    rows = ask(
        store,
        "SELECT path, plane, metadata ->> 'agent', metadata ->> 'session_id', metadata ->> 'status', title, content "
        "FROM memory.documents ORDER BY path",
    )
    assert [row[:6] for row in rows] == [
        (
            "logs/sessions/claude-code/2026-05-04-abc.md",
            "sessions",
            "claude-code",
            "abc",
            "done",
            "When is the spring tide?",
        ),
        ("logs/sessions/codex/2026-05-04-c-1.md", "sessions", "codex", "c-1", "done", "Fix the crane."),
        ("logs/sessions/openai/2026-05-04-chat-1.md", "sessions", "openai", "chat-1", "done", "Who opens the gate?"),
    ]
    text = "".join(str(row[6]) for row in rows)
    assert not any(
        noise in text
        for noise in ("toolnoise", "secretfile", "Tool call", "sidechain", "environment_context", "system-reminder")
    )
    assert "**assistant** 2026-05-04 09:04\n\nAt six.\nThe table says so.\n" in text
    assert ask(store, "SELECT root, standing FROM memory.corpora") == [("sessions:", 0.5)]
    assert ask(store, "SELECT count(*) FROM memory.chunks c JOIN memory.chunk_vectors USING (id)") == [(3,)]
    assert take(store, *files).unchanged == 3


def test_sessions_of_an_earlier_model_are_embedded_with_the_next_import(store: Store, tmp_path: Path) -> None:
    """They have no folder, and so no sync of their own."""
    take(store, lines(tmp_path / "a.jsonl", CLAUDE))
    with store.connect("owner") as connection:
        file = lines(tmp_path / "b.jsonl", CODEX)
        import_sessions(connection, [file], "work", embedder=CountingEmbedder("tests-other"), clock=lambda: LATER)
    assert ask(store, "SELECT model, count(*) FROM memory.chunk_vectors GROUP BY 1 ORDER BY 1") == [
        ("tests-8", 1),
        ("tests-other", 2),
    ]


def test_a_session_that_goes_on_becomes_a_new_version(store: Store, tmp_path: Path) -> None:
    file = lines(tmp_path / "a.jsonl", CLAUDE)
    take(store, file)
    lines(file, [*CLAUDE, claude(6, "user", "And the neap tide?")])
    assert take(store, file).changed == 1
    assert ask(store, "SELECT count(*) FILTER (WHERE version_of IS NULL), count(*) FROM memory.documents") == [(1, 2)]


def test_dory_a_session_that_goes_on_now_is_active(store: Store, tmp_path: Path) -> None:
    """It is done when it has been idle for half an hour."""
    file = lines(tmp_path / "a.jsonl", CLAUDE)
    with store.connect("owner") as connection:
        import_sessions(connection, [file], "work", embedder=CountingEmbedder(), clock=lambda: 1_777_885_500.0)
    assert ask(store, "SELECT metadata ->> 'status' FROM memory.documents") == [("active",)]


def test_lines_that_are_no_session_are_named(store: Store, tmp_path: Path) -> None:
    """Nothing is imported of a file with a bad line unless such lines may be left out."""
    file = lines(tmp_path / "a.jsonl", CLAUDE)
    file.write_text(file.read_text() + "{broken\n[1]\n{}\n")
    with pytest.raises(ImportRefused, match="line 8"):
        take(store, file)
    assert ask(store, "SELECT count(*) FROM memory.documents") == [(0,)]
    done = take(store, file, on_error="skip")
    assert (done.new, [out.line for out in done.skipped]) == (1, [8, 9, 10])


@pytest.mark.parametrize(
    "secret",
    [
        "OPENAI_API_KEY=" + "abcd" * 6,
        "export DB_PASSWORD='" + "hunter2 again" + "'",
        "Authorization: Bearer " + "abc123def456ghi",
        "sk-" + "live0abc" * 4,
    ],
)
def test_dory_sessions_are_cleaned_of_secrets(secret: str) -> None:
    """ENV-style secrets, bearer tokens and sk- keys, as the seed did, and what screening knows besides."""
    text = cleaned(f"Before {secret} after.\n<tool_call>x</tool_call>\nNext line.")
    value = secret.split("=", 1)[-1].split()[-1].strip("'")
    assert value not in text
    assert text.startswith("Before ")
    assert text.endswith("after.\nNext line.")


def test_import_of_a_session_that_a_plan_forgot_leaves_it_out_and_names_it(store: Store, tmp_path: Path) -> None:
    """T6: also once it has grown; other sessions of the file are taken."""
    codex = lines(tmp_path / "codex.jsonl", CODEX)
    assert take(store, codex, lines(tmp_path / "claude.jsonl", CLAUDE)).new == 2
    done = plan_forgetting(store, "work", "session", "c-1")
    assert done.rows["documents"] == 1
    signed = approve(store, "work", done.plan_hash, approver="mara", channel="cli", force=True, note="Asked for.")
    assert apply_approval(store, signed.id).counts["applied"] == 1
    assert ask(store, "SELECT count(*) FROM memory.documents") == [(1,)]
    again = take(store, lines(codex, [*CODEX, CODEX[-1]]), lines(tmp_path / "claude.jsonl", CLAUDE))
    assert (again.new, again.unchanged, [out.reason for out in again.skipped]) == (0, 1, [FORGOTTEN_SESSION])
    assert ask(store, "SELECT count(*) FROM memory.documents") == [(1,)]

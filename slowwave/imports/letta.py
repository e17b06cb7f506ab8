"""Letta agent files (``.af``): conversations and memory blocks of one or more agents.

Only what people and agents said and what the agent keeps in its memory is imported. System prompts, tool calls and tool
results are configuration and machinery, not memory; an agent's ``send_message`` call is its speech and is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg

from slowwave.errors import ImportRefused
from slowwave.imports.pipeline import ImportSummary, Progress, Turn, write_turns
from slowwave.imports.rows import (
    BadRow,
    OnError,
    RowCheck,
    chosen_slug,
    content_id,
    instant,
    parse_json,
    required_text,
    slug_of,
    storable,
    unreadable,
)
from slowwave.imports.screening import Screening
from slowwave.language.embedder import Embedder


def import_letta(
    connection: psycopg.Connection[Any],
    path: Path,
    *,
    embedder: Embedder,
    on_error: OnError = "stop",
    namespace: str | None = None,
    progress: Progress | None = None,
) -> ImportSummary:
    """Import an agent file; each agent goes to the namespace of its name's slug unless ``namespace`` is given.

    Messages become episodic memories, blocks semantic ones (subject = the block's label, valid from the file's own time).
    Ids in such a file are numbered anew by every export, so rows are known by a hash of agent, time, role and content; the
    file's id stays in the memory's attributes. A block that changed is a new memory. Raises ``ImportRefused``.
    """
    check = RowCheck(str(path), on_error, screening=Screening.of(connection))
    turns = list(read_agents(path, check, chosen_slug(namespace)))
    return write_turns(connection, turns, check, embedder=embedder, source="letta", progress=progress)


def read_agents(path: Path, check: RowCheck, namespace: str | None = None) -> Iterator[Turn]:
    """The turns and blocks of all agents; a file that is a JSON string holding JSON is unwrapped."""
    try:
        content = parse_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
        if isinstance(content, str):
            content = parse_json(content)
        if not isinstance(content, dict):
            raise BadRow("not a JSON object")
        agents = _objects(content, "agents")
        blocks = {str(block.get("id")): block for block in _objects(content, "blocks")}
    except (OSError, BadRow) as error:
        unreadable(path, error)
    if not agents:
        raise ImportRefused(
            f"{path} holds no agents, so there is nothing to import. Check that it is a Letta agent file."
        )
    known: set[tuple[str, str]] = set()
    for agent in agents:
        for place, kind, row in _rows(agent, blocks):
            check.seen += 1
            try:
                name = required_text(agent, "name")
                slug = namespace or slug_of(name)
                turn = _block(row, name, content) if kind == "block" else _message(row, name)
                if turn is None or (slug, turn.external_id) in known:
                    continue
                known.add((slug, turn.external_id))
                state = check.screening.state(slug, turn.content)
            except BadRow as error:
                check.bad(place, f"{kind} {place} of agent {agent.get('name')!r}: {error}")
                continue
            yield replace(turn, namespace=slug, state=state)


def _rows(agent: dict[str, Any], blocks: dict[str, Any]) -> Iterator[tuple[int, str, Any]]:
    """(place, kind, row) of an agent's messages and the blocks it refers to or carries."""
    for place, message in enumerate(agent.get("messages") or (), 1):
        yield place, "message", message
    carried = [block for block in agent.get("memory_blocks") or () if isinstance(block, dict)]
    referred = [blocks[str(key)] for key in agent.get("block_ids") or () if str(key) in blocks]
    for place, block in enumerate([*carried, *referred], 1):
        yield place, "block", block


def _message(row: object, agent: str) -> Turn | None:
    """A turn, or None for what is not speech."""
    if not isinstance(row, dict):
        raise BadRow("not a JSON object")
    role = required_text(row, "role", 64)
    if role not in ("user", "assistant"):
        return None
    content = _speech(row, role)
    if not content.strip():
        return None
    storable(content, "content")
    created_at = instant(row.get("created_at"), "created_at")
    return Turn(
        "",
        content_id(agent, created_at.isoformat(), role, content),
        created_at,
        role,
        content,
        session=created_at.date().isoformat(),
        attributes=_origin(row),
    )


def _speech(row: dict[str, Any], role: str) -> str:
    """The text of a message: its parts, or what its ``send_message`` calls say."""
    content = row.get("content")
    parts = [content] if isinstance(content, str) else [part.get("text") for part in _objects(row, "content")]
    said = [part for part in parts if isinstance(part, str)]
    if role == "user":
        return "\n".join(text for text in map(_unpacked, said) if text)
    for call in _objects(row, "tool_calls"):
        function = call.get("function")
        if isinstance(function, dict) and function.get("name") == "send_message":
            arguments = _parsed(function.get("arguments"))
            if isinstance(arguments, dict) and isinstance(arguments.get("message"), str):
                said.append(arguments["message"])
    return "\n".join(said)


def _unpacked(text: str) -> str:
    """What the user typed: Letta wraps it in JSON, and its own notices (login, heartbeat) with it."""
    packed = _parsed(text) if text.lstrip().startswith("{") else None
    if not isinstance(packed, dict) or "type" not in packed:
        return text
    message = packed.get("message")
    return message if packed["type"] == "user_message" and isinstance(message, str) else ""


def _block(row: dict[str, Any], agent: str, file: dict[str, Any]) -> Turn | None:
    """A memory block as a turn, or None for an empty one."""
    label = required_text(row, "label", 200)
    value = row.get("value")
    if not isinstance(value, str):
        raise BadRow("value is not text")
    if not value.strip():
        return None
    storable(value, "value")
    created_at: datetime = instant(row.get("created_at") or file.get("created_at"), "created_at of the file")
    return Turn(
        "",
        content_id(agent, "block", label, value),
        created_at,
        "memory_block",
        value.strip(),
        session="blocks",
        title="Memory blocks",
        kind="semantic",
        subject=label,
        attributes=_origin(row),
    )


def _origin(row: dict[str, Any]) -> dict[str, Any]:
    """The file's own id of a row, if it has a storable one."""
    value = row.get("id")
    if not isinstance(value, str):
        return {}
    storable(value, "id")
    return {"source_id": value}


def _objects(row: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """A list of objects that may be absent. Raises ``BadRow`` when it is something else."""
    value = row.get(name)
    if value is None or (name == "content" and isinstance(value, str)):
        return []
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise BadRow(f"{name} is not a list of objects")
    return value


def _parsed(text: object) -> Any:
    """A JSON value out of text, or None."""
    try:
        return parse_json(text) if isinstance(text, str) else None
    except BadRow:
        return None

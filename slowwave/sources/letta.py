"""Letta agent files (``.af``): conversations and memory blocks of one or more agents.

Only what people and agents said and what the agent keeps in its memory is imported. System prompts, tool calls and tool results are
configuration and not memory. An agent's ``send_message`` call is its speech and is imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import psycopg

from slowwave.errors import ImportRefused
from slowwave.models.embedder import Embedder
from slowwave.snapshots.memories import CHARACTER_LIMIT
from slowwave.sources.loading import Progress
from slowwave.sources.pipeline import ImportSummary, write_turns
from slowwave.sources.rows import (
    BadRow,
    OnError,
    RowCheck,
    chosen_slug,
    content_id,
    instant,
    parse_json,
    read_json_file,
    required_text,
    slug_of,
    storable,
)
from slowwave.sources.turns import Turn

_NOTICES: Final = ("heartbeat", "login", "system_alert")
"""The types of Letta's own messages in the user's turn."""


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

    Messages become episodic memories, and blocks become semantic ones (subject = the block's label, valid from the file's own time). A
    block goes to every agent that names it or whose group shares it. A block without an agent goes to the agents' namespace, or to that
    of the file's name if they have several.

    Ids in such a file are numbered anew by every export. So messages are identified by a hash of agent, time, role and content, and an
    agent's block by its label: if the block has changed, its memory gets a new version. Blocks that share a label or belong to no agent
    are identified by their text. The file's id is kept in the memory's attributes. Raises ``ImportRefused``.
    """
    check = RowCheck.from_connection(connection, path, on_error)
    turns = list(read_agents(path, check, chosen_slug(namespace)))
    return write_turns(connection, turns, check, embedder=embedder, source="letta", progress=progress)


def read_agents(path: Path, check: RowCheck, namespace: str | None = None) -> Iterator[Turn]:
    """Yield the turns and blocks of all agents.

    A file that is a JSON string holding JSON is unwrapped. Bad parts are reported to ``check`` by their JSON path.
    """
    content = read_json_file(path)
    file = _File(content, check, path, namespace)
    agents, blocks = file.agents(), file.blocks()
    if not agents and not blocks and not check.skipped:
        raise ImportRefused(
            f"{path} holds no agents and no blocks, so there is nothing to import. Check that it is a Letta agent file."
        )
    known: set[tuple[str, str]] = set()
    for row in (*file.messages(agents), *file.attached(agents, blocks), *file.loose(agents, blocks)):
        check.seen += 1
        try:
            turn = row.turn(file.created_at)
            if turn is None or (row.slug, turn.external_id) in known:
                continue
            check.limits.check(row.slug, turn.content, "value" if row.kind == "block" else "content")
            known.add((row.slug, turn.external_id))
            state = check.screening.state(row.slug, turn.content)
        except BadRow as error:
            of = f" of agent {row.agent!r}" if row.agent else ""
            check.bad(row.place, f"{row.kind} {row.place}{of}: {error}", row.path)
            continue
        yield replace(turn, namespace=row.slug, state=state)


@dataclass(frozen=True, slots=True)
class _Agent:
    """An agent that can be imported: its place in the file and the namespace that it goes to."""

    place: int
    name: str
    slug: str
    row: Mapping[str, Any]

    @property
    def path(self) -> str:
        return f"agents[{self.place}]"


@dataclass(frozen=True, slots=True)
class _Row:
    """A message or block: its place in the file, its agent, and its namespace.

    ``unique``: no other block of the agent has its label.
    """

    kind: str
    place: int
    path: str
    agent: str
    slug: str
    row: Any
    unique: bool = False

    def turn(self, created_at: object) -> Turn | None:
        """Return the turn that the row becomes, or None if the row is empty.

        Raises ``BadRow``.
        """
        if not isinstance(self.row, dict):
            raise BadRow("not a JSON object")
        return _message(self.row, self.agent) if self.kind == "message" else self._block(self.row, created_at)

    def _block(self, row: dict[str, Any], file_time: object) -> Turn | None:
        label = required_text(row, "label", 200)
        value = row.get("value")
        if not isinstance(value, str):
            raise BadRow("value is missing" if value is None else "value is not text")
        if not value.strip():
            return None
        storable(value, "value")
        created_at: datetime = instant(row.get("created_at") or file_time, "created_at of the file")
        text_id, named = content_id(self.agent, "block", label, value), content_id(self.agent, "block", label)
        return Turn(
            "",
            named if self.unique else text_id,
            created_at,
            "memory_block",
            value.strip(),
            session="blocks",
            title="Memory blocks",
            kind="semantic",
            subject=label,
            attributes={**_origin(row), **_limit(row)},
            formerly=(text_id if self.unique else named,),
        )


class _File:
    """The parts of an agent file; parts of a wrong type are reported to the check, with their path."""

    def __init__(self, content: dict[str, Any], check: RowCheck, path: Path, namespace: str | None) -> None:
        self._content, self._check, self._path, self._namespace = content, check, path, namespace
        self._attached: set[str] = set()
        self.created_at = content.get("created_at")

    def agents(self) -> list[_Agent]:
        """Return the agents that have a name; nothing can be imported from the others."""
        found: list[_Agent] = []
        for place, row in enumerate(self._list(self._content, "agents", "")):
            try:
                if not isinstance(row, dict):
                    raise BadRow("not a JSON object")
                name = required_text(row, "name")
                found.append(_Agent(place, name, self._namespace or slug_of(name), row))
            except BadRow as error:
                self._bad(place + 1, f"agent {place + 1}: {error}", f"agents[{place}]")
        return found

    def blocks(self) -> list[tuple[str, Any]]:
        """Return (path, block) for all blocks that are listed outside the agents."""
        return [(f"blocks[{n}]", row) for n, row in enumerate(self._list(self._content, "blocks", ""))]

    def messages(self, agents: Sequence[_Agent]) -> Iterator[_Row]:
        """Yield every message of every agent."""
        for agent in agents:
            for place, row in enumerate(self._list(agent.row, "messages", agent.path)):
                yield _Row("message", place + 1, f"{agent.path}.messages[{place}]", agent.name, agent.slug, row)

    def attached(self, agents: Sequence[_Agent], blocks: Sequence[tuple[str, Any]]) -> Iterator[_Row]:
        """Yield the blocks that an agent carries, names or shares, once for each agent."""
        by_id = {row["id"]: (path, row) for path, row in blocks if _has_id(row)}
        shared = self._shared()
        for agent in agents:
            carried = self._list(agent.row, "memory_blocks", agent.path)
            own = [(f"{agent.path}.memory_blocks[{n}]", row) for n, row in enumerate(carried)]
            for path, key in (*self._ids(agent.row, "block_ids", agent.path), *shared.get(self._id(agent), ())):
                if key in by_id:
                    own.append(by_id[key])
                else:
                    self._bad(agent.place + 1, f"{path} names block {key!r}, which the file does not hold", path)
            labels = Counter(label for label, _ in {_said(row) for _, row in own})
            self._attached.update(path for path, _ in own)
            for place, (path, row) in enumerate(own, 1):
                yield _Row("block", place, path, agent.name, agent.slug, row, labels[_said(row)[0]] == 1)

    def loose(self, agents: Sequence[_Agent], blocks: Sequence[tuple[str, Any]]) -> Iterator[_Row]:
        """Yield the blocks that no agent has."""
        slugs = {agent.slug for agent in agents}
        for place, (path, row) in enumerate(blocks, 1):
            if path not in self._attached:
                try:
                    slug = self._namespace or (slugs.copy().pop() if len(slugs) == 1 else slug_of(self._path.stem))
                except BadRow as error:
                    self._bad(place, f"block {place}: {error}", path)
                    continue
                yield _Row("block", place, path, "", slug, row)

    def _shared(self) -> dict[str, list[tuple[str, str]]]:
        """Return agent's id → (path, id) of the blocks that its groups share."""
        shared: dict[str, list[tuple[str, str]]] = {}
        for n, group in enumerate(self._list(self._content, "groups", "")):
            path = f"groups[{n}]"
            if not isinstance(group, dict):
                self._bad(n + 1, f"{path} is not a JSON object", path)
                continue
            ids = self._ids(group, "shared_block_ids", path)
            for _, agent in self._ids(group, "agent_ids", path):
                shared.setdefault(agent, []).extend(ids)
        return shared

    def _id(self, agent: _Agent) -> str:
        found = agent.row.get("id")
        return found if isinstance(found, str) else ""

    def _ids(self, row: Mapping[str, Any], name: str, path: str) -> list[tuple[str, str]]:
        """Return (path, id) for each id in a list."""
        found: list[tuple[str, str]] = []
        for n, key in enumerate(self._list(row, name, path)):
            here = f"{path}.{name}[{n}]"
            if isinstance(key, str):
                found.append((here, key))
            else:
                self._bad(n + 1, f"{here} is not text", here)
        return found

    def _list(self, row: Mapping[str, Any], name: str, path: str) -> list[Any]:
        """Return a list that may be absent."""
        value = row.get(name)
        if isinstance(value, list):
            return value
        if value is not None:
            here = f"{path}.{name}" if path else name
            self._bad(1, f"{here} is not a list", here)
        return []

    def _bad(self, place: int, reason: str, path: str) -> None:
        self._check.seen += 1
        self._check.bad(place, reason, path)


def _has_id(row: object) -> bool:
    return isinstance(row, dict) and isinstance(row.get("id"), str)


def _said(row: object) -> tuple[str, str]:
    """Return a block's label and value; each is empty if it is not text."""
    pair = (row.get("label"), row.get("value")) if isinstance(row, dict) else ("", "")
    label, value = (part if isinstance(part, str) else "" for part in pair)
    return label, value.strip()


def _message(row: dict[str, Any], agent: str) -> Turn | None:
    """Return a turn, or None for a message that is not speech."""
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
    """Return the text of a message: its parts, or the messages of its ``send_message`` calls."""
    content = row.get("content")
    parts = [content] if isinstance(content, str) else list(_texts(_objects(row, "content")))
    if role == "user":
        return "\n".join(text for text in map(_unpacked, parts) if text)
    for n, call in enumerate(_objects(row, "tool_calls")):
        function = call.get("function")
        if function is not None and not isinstance(function, dict):
            raise BadRow(f"tool_calls[{n}].function is not a JSON object")
        if function and not isinstance(function.get("name"), str):
            raise BadRow(f"tool_calls[{n}].function.name is not text")
        if function and function["name"] == "send_message":
            arguments = function.get("arguments")
            spoken = _parsed(arguments) if isinstance(arguments, str) else arguments
            message = spoken.get("message") if isinstance(spoken, dict) else None
            if not isinstance(message, str):
                raise BadRow(f"tool_calls[{n}].function.arguments is not a JSON object with a message")
            parts.append(message)
    return "\n".join(parts)


def _texts(parts: Iterable[dict[str, Any]]) -> Iterator[str]:
    for n, part in enumerate(parts):
        text = part.get("text")
        if isinstance(text, str):
            yield text
        elif text is not None:
            raise BadRow(f"content[{n}].text is not text")


def _unpacked(text: str) -> str:
    """Return what the user typed, without the JSON that Letta wraps it in.

    Letta wraps its own notices (login, heartbeat) as well; they give an empty text.
    """
    packed = _parsed(text) if text.lstrip().startswith("{") else None
    if not isinstance(packed, dict):
        return text
    message = packed.get("message")
    if packed.get("type") == "user_message" and isinstance(message, str):
        return message
    return "" if packed.get("type") in _NOTICES else text


def _limit(row: Mapping[str, Any]) -> dict[str, int]:
    """Return how many characters of a block the agent's context holds, if the block states it."""
    limit = row.get("limit")
    return {CHARACTER_LIMIT: limit} if type(limit) is int and limit > 0 else {}


def _origin(row: dict[str, Any]) -> dict[str, Any]:
    """Return the id that the file itself gives a row, if it is text.

    Raises ``BadRow`` if the id cannot be stored.
    """
    value = row.get("id")
    if not isinstance(value, str):
        return {}
    storable(value, "id")
    return {"source_id": value}


def _objects(row: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return a list of objects that may be absent.

    Raises ``BadRow`` if it is something else.
    """
    value = row.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise BadRow(f"{name} is not a list of objects")
    return value


def _parsed(text: str) -> Any:
    """Parse a text as JSON; return None if it is not JSON."""
    try:
        return parse_json(text)
    except BadRow:
        return None

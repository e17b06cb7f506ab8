"""Conversations as ChatGPT and Claude export them, and what Claude keeps of a person and of projects. Pure.

Which of a ChatGPT conversation's branches counts is the one that was shown last. Calls of tools and their results are machinery, as in
``slowwave.corpus.transcripts``, and secrets are taken out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from slowwave.corpus.sessions import session_markdown
from slowwave.corpus.transcripts import Transcript, TranscriptTurn, cleaned, turn_of
from slowwave.migrating.source_files import SourceFile
from slowwave.migrating.staged_page import StagedPage, converted, slug, with_origin
from slowwave.texts.frontmatter import UnreadableFile

LONGEST_PAGE: Final = 200_000
"""Characters of turns on one page; a longer conversation goes on with the next turn on another."""

_ROLES: Final = {"human": "user"}


def chatgpt_pages(source: SourceFile, conversations: list[Any]) -> Iterator[StagedPage]:
    """A page for each conversation that says something. Raises ``UnreadableFile`` naming the entry."""
    for place, entry in enumerate(conversations):
        mapping = entry.get("mapping") if isinstance(entry, dict) else None
        if not isinstance(mapping, dict):
            raise UnreadableFile(f"entry {place + 1} is no conversation of ChatGPT (it has no mapping)")
        turns = [turn for node in _branch(entry, mapping) if (turn := _chatgpt_turn(node)) is not None]
        key = _word(entry.get("conversation_id")) or _word(entry.get("id")) or str(place + 1)
        yield from conversation_pages(source, "chatgpt", key, _word(entry.get("title")), turns, "ChatGPT conversation")


def claude_pages(source: SourceFile, conversations: list[Any]) -> Iterator[StagedPage]:
    """The same of Claude's export, whose messages are a list."""
    for place, entry in enumerate(conversations):
        messages = entry.get("chat_messages") if isinstance(entry, dict) else None
        if not isinstance(messages, list):
            raise UnreadableFile(f"entry {place + 1} is no conversation of Claude (it has no chat_messages)")
        turns = [turn for message in messages if (turn := _claude_turn(message)) is not None]
        key = _word(entry.get("uuid")) or str(place + 1)
        yield from conversation_pages(source, "claude", key, _word(entry.get("name")), turns, "Claude conversation")


def claude_memory_pages(source: SourceFile, entries: list[Any]) -> Iterator[StagedPage]:
    """What Claude remembers: of all conversations, and of each project."""
    for entry in entries:
        if not isinstance(entry, dict):
            raise UnreadableFile("an entry is no memory of Claude")
        if text := _body(entry.get("conversations_memory")):
            yield converted(source, "claude/memory.md", "What Claude remembers", text, "Claude memory")
        projects = entry.get("project_memories")
        for key, told in sorted(projects.items()) if isinstance(projects, dict) else ():
            if text := _body(told):
                title = f"What Claude remembers of project {key[:40]}"
                yield converted(source, f"claude/memory-{slug(key)}.md", title, text, "Claude memory")


def claude_project_pages(source: SourceFile, entries: list[Any]) -> Iterator[StagedPage]:
    """Claude's projects: what each is, and the documents that were given to it."""
    for entry in entries:
        if not isinstance(entry, dict):
            raise UnreadableFile("an entry is no project of Claude")
        name = _word(entry.get("name")) or "project"
        folder = f"claude/projects/{slug(name)}-{slug(_word(entry.get('uuid')), 8)}"
        told = [text for key in ("description", "prompt_template") if (text := _body(entry.get(key)))]
        if told:
            yield converted(source, f"{folder}/project.md", name, "\n\n".join(told), "Claude project")
        documents = entry.get("docs")
        for number, document in enumerate(documents if isinstance(documents, list) else ()):
            told = _object(document)
            if text := _body(told.get("content")):
                title = _word(told.get("filename")) or f"document {number + 1}"
                yield converted(source, f"{folder}/{number + 1}-{slug(title)}.md", title, text, "Claude project")


def conversation_pages(
    source: SourceFile, agent: str, key: str, title: str, turns: list[TranscriptTurn], reader: str, folder: str = ""
) -> Iterator[StagedPage]:
    """The pages of a conversation: one, or as many as its length asks for."""
    said = [TranscriptTurn(turn.role, text, turn.at) for turn in turns if (text := cleaned(turn.text))]
    parts: list[list[TranscriptTurn]] = []
    size = 0
    for turn in said:
        if not parts or size + len(turn.text) > LONGEST_PAGE:
            parts.append([])
            size = 0
        parts[-1].append(turn)
        size += len(turn.text)
    for number, part in enumerate(parts, 1):
        transcript = Transcript(agent, key, folder, part)
        page = session_markdown(transcript, math.inf)
        day = f"{transcript.begun:%Y-%m-%d}" if transcript.begun else "undated"
        more = f"-{number}" if len(parts) > 1 else ""
        place = f"conversations/{slug(agent)}/{day}-{slug(title or key)}-{slug(key, 12)}{more}.md"
        yield with_origin(source, place, page, reader)


def _branch(entry: Mapping[str, Any], mapping: Mapping[str, Any]) -> list[Any]:
    """The nodes from the root to the one that was shown last; all of them by their time where that is not known."""
    at, found, met = entry.get("current_node"), list[Any](), set[str]()
    while isinstance(at, str) and at in mapping and at not in met and isinstance(mapping[at], dict):
        met.add(at)
        found.append(mapping[at])
        at = mapping[at].get("parent")
    if found:
        return found[::-1]
    nodes: list[Any] = [node for node in mapping.values() if isinstance(node, dict)]
    return sorted(nodes, key=lambda node: _number(_object(node.get("message")).get("create_time")))


def _chatgpt_turn(node: Mapping[str, Any]) -> TranscriptTurn | None:
    message = node.get("message")
    if not isinstance(message, Mapping):
        return None
    author, content = message.get("author"), message.get("content")
    hidden = _object(message.get("metadata")).get("is_visually_hidden_from_conversation") is True
    if hidden or not isinstance(author, dict) or not isinstance(content, dict):
        return None
    parts = content.get("parts") if isinstance(content.get("parts"), list) else [content.get("text")]
    if content.get("content_type") not in ("text", "multimodal_text", None):
        return None
    text = "\n\n".join(part for part in parts or () if isinstance(part, str) and part.strip())
    return turn_of({"role": author.get("role"), "content": text}, message.get("create_time"))


def _claude_turn(message: object) -> TranscriptTurn | None:
    if not isinstance(message, dict):
        return None
    sender = message.get("sender")
    content = message.get("text") or message.get("content")
    return turn_of({"role": _ROLES.get(str(sender), sender), "content": content}, message.get("created_at"))


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _word(value: object) -> str:
    return " ".join(value.split())[:200] if isinstance(value, str) else ""


def _body(value: object) -> str:
    """A text without its secrets; nothing for what is none."""
    return cleaned(value) if isinstance(value, str) and value.strip() else ""

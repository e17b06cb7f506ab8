"""What other memories hand out: Mem0's lists of memories, and Letta's agent files. The latter are read by ``slowwave.imports.letta``."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from slowwave.corpus.transcripts import TranscriptTurn, cleaned, read_transcripts
from slowwave.errors import ImportRefused
from slowwave.imports.letta import read_agents
from slowwave.imports.limits import Limits
from slowwave.imports.rows import RowCheck
from slowwave.imports.turns import Turn
from slowwave.migrating.conversations import conversation_pages
from slowwave.migrating.records import AtomKind, RecordStatement, TypedRecord, instant_of
from slowwave.migrating.source_files import LARGEST_TEXT, SourceFile
from slowwave.migrating.staged_page import StagedPage, converted, slug
from slowwave.texts.frontmatter import UnreadableFile

_OF_CATEGORY: Final[Mapping[str, AtomKind]] = {
    "preferences": "preference",
    "user_preferences": "preference",
    "goals": "goal",
}
"""Mem0's categories that say what sort of statement a memory is."""


def mem0_pages(source: SourceFile, memories: Sequence[Any], relations: Sequence[Any] = ()) -> Iterator[StagedPage]:
    """A page for each owner (user, agent or run) with a line for each memory; a user's memories are statements about that person.

    Raises ``UnreadableFile`` naming the entry that is no memory.
    """
    of_owner: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for place, entry in enumerate(memories):
        if not isinstance(entry, dict) or not isinstance(entry.get("memory"), str) or not entry["memory"].strip():
            raise UnreadableFile(f"entry {place + 1} is no memory of Mem0 (it has no memory text)")
        whose = next(((k, v) for k in ("user_id", "agent_id", "run_id") if (v := _word(entry.get(k)))), ("", "unowned"))
        of_owner[whose].append(entry)
    for (kind, owner), entries in sorted(of_owner.items()):
        lines = [_line(entry) for entry in entries]
        statements = tuple(
            RecordStatement(_kind(entry), text[:600], instant_of(entry.get("created_at")))
            for entry in entries
            if (text := " ".join(cleaned(entry["memory"]).split()))
        )
        records = [TypedRecord("person", owner, (), statements, "mem0")] if kind == "user_id" and statements else []
        body = "\n".join(f"- {line}" for line in lines)
        place = f"mem0/{slug(kind or 'owner')}-{slug(owner)}.md"
        yield converted(source, place, f"Memories of {owner}", body, "Mem0 export", records=records)
    edges = [edge for edge in relations if isinstance(edge, dict)]
    told = [" ".join(_word(edge.get(k)) for k in ("source", "relationship", "target")).strip() for edge in edges]
    if any(told):
        body = "\n".join(f"- {line}" for line in told if line)
        yield converted(source, "mem0/relations.md", "Relations that Mem0 kept", body, "Mem0 export")


def letta_pages(source: SourceFile) -> Iterator[StagedPage]:
    """A page for each day of each agent, and one for each block of its memory. Raises ``UnreadableFile``."""
    with _as_file(source) as path:
        check = _check(source)
        try:
            turns = list(read_agents(path, check))
        except ImportRefused as problem:
            raise UnreadableFile(str(problem).replace(str(path), source.path).split(". Nothing")[0]) from None
    if check.skipped:
        raise UnreadableFile(f"{check.skipped[0].place}: {check.skipped[0].reason}")
    sessions: dict[tuple[str, str], list[Turn]] = defaultdict(list)
    for turn in turns:
        if turn.kind == "semantic":
            place = f"letta/{slug(turn.namespace)}/{slug(turn.subject)}-{turn.external_id[:8]}.md"
            title = f"{turn.subject} of {turn.namespace}"
            yield converted(source, place, title, cleaned(turn.content), "Letta memory block")
        else:
            sessions[turn.namespace, turn.session].append(turn)
    for (agent, day), said in sorted(sessions.items()):
        in_time = sorted(said, key=lambda turn: (turn.created_at, turn.external_id))
        told = [TranscriptTurn(turn.role, turn.content, turn.created_at) for turn in in_time]
        yield from conversation_pages(source, agent, day, f"Conversation of {day}", told, "Letta conversation")


def transcript_pages(source: SourceFile) -> Iterator[StagedPage]:
    """A page for each session of a JSONL file that Claude Code, Codex or an OpenAI-style program wrote.

    Raises ``UnreadableFile`` with the line of what is no line of a session.
    """
    with _as_file(source) as path:
        check = _check(source)
        found = read_transcripts(path, check)
    if check.skipped:
        raise UnreadableFile(check.skipped[0].reason, check.skipped[0].line)
    for transcript in found:
        first = next((turn.text for turn in transcript.turns if turn.role == "user"), transcript.turns[0].text)
        title = " ".join(first.split())[:60]
        yield from conversation_pages(
            source, transcript.agent, transcript.session_id, title, transcript.turns, "transcript", transcript.folder
        )


class _as_file:  # noqa: N801 - a context, used as one
    """A file's bytes at a path of its own, for readers that open one: what was screened for links and size is what they read."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._folder = TemporaryDirectory(prefix="slowwave-")

    def __enter__(self) -> Path:
        path = Path(self._folder.name) / f"{slug(Path(self._source.path).stem)}{self._source.suffix}"
        path.write_bytes(self._source.content)
        return path

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def _check(source: SourceFile) -> RowCheck:
    """Counts bad rows by their line; texts may be as long as a page."""
    return RowCheck(source.path, "skip", limits=Limits(text=LARGEST_TEXT))


def _kind(entry: Mapping[str, Any]) -> AtomKind:
    named = entry.get("categories")
    words = [str(word).lower() for word in named] if isinstance(named, list) else []
    found: list[AtomKind] = [_OF_CATEGORY[word] for word in words if word in _OF_CATEGORY]
    return found[0] if found else "person_fact"


def _line(entry: Mapping[str, Any]) -> str:
    at = instant_of(entry.get("created_at"))
    metadata = entry.get("metadata")
    more = (
        f" {json.dumps(metadata, ensure_ascii=False, sort_keys=True)}"
        if isinstance(metadata, dict) and metadata
        else ""
    )
    return f"{f'{at:%Y-%m-%d}: ' if at else ''}{' '.join(cleaned(entry['memory']).split())}{more}"


def _word(value: object) -> str:
    return " ".join(str(value).split())[:200] if isinstance(value, str | int) and not isinstance(value, bool) else ""

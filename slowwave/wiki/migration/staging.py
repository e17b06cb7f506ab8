"""Staging of every input of a migration as a Markdown page, including exports of conversations and memories."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa

from slowwave.errors import ImportRefused
from slowwave.sources.letta import read_agents
from slowwave.sources.page_files import LeftOut, decoded
from slowwave.sources.rows import BadRow, Limits, RowCheck, Table, storable
from slowwave.sources.turns import Turn
from slowwave.text.frontmatter import UnreadableFile, frontmatter
from slowwave.text.screening import counting, private_words, screen_all
from slowwave.wiki.corpus.page_text import changed_head
from slowwave.wiki.corpus.sessions import session_markdown
from slowwave.wiki.corpus.transcripts import Transcript, TranscriptTurn, cleaned, read_transcripts, turn_of
from slowwave.wiki.migration.files import (
    AT_HOME,
    LARGEST_TEXT,
    NAMES,
    AtomKind,
    CorpusRoot,
    RecordStatement,
    SourceFile,
    SourceFolder,
    StagedPage,
    TypedRecord,
    converted,
    corpus_roots,
    instant_of,
    json_value,
    place_of,
    placed,
    records_of,
    root_of,
    slug,
    toml_file,
    with_origin,
    yaml_file,
)

# Conversations as ChatGPT and Claude export them, and Claude's memories of a person and of projects. Pure.
#
# Of the branches of a ChatGPT conversation, the one shown last counts. Tool calls and their results are left out, as in
# ``slowwave.wiki.corpus.transcripts``, and secrets are removed.

LONGEST_PAGE: Final = 200_000
"""Characters of turns on one page; a longer conversation continues on another page with the next turn."""

_ROLES: Final = {"human": "user"}


def chatgpt_pages(source: SourceFile, conversations: list[Any]) -> Iterator[StagedPage]:
    """Yield the pages of each ChatGPT conversation that contains text. Raises ``UnreadableFile`` naming the entry."""
    for place, entry in enumerate(conversations):
        mapping = entry.get("mapping") if isinstance(entry, dict) else None
        if not isinstance(mapping, dict):
            raise UnreadableFile(f"entry {place + 1} is no conversation of ChatGPT (it has no mapping)")
        turns = [turn for node in _branch(entry, mapping) if (turn := _chatgpt_turn(node)) is not None]
        key = _word(entry.get("conversation_id")) or _word(entry.get("id")) or str(place + 1)
        yield from conversation_pages(source, "chatgpt", key, _word(entry.get("title")), turns, "ChatGPT conversation")


def claude_pages(source: SourceFile, conversations: list[Any]) -> Iterator[StagedPage]:
    """Yield the pages of each conversation in Claude's export, whose messages are a list.

    Raises ``UnreadableFile`` naming the entry.
    """
    for place, entry in enumerate(conversations):
        messages = entry.get("chat_messages") if isinstance(entry, dict) else None
        if not isinstance(messages, list):
            raise UnreadableFile(f"entry {place + 1} is no conversation of Claude (it has no chat_messages)")
        turns = [turn for message in messages if (turn := _claude_turn(message)) is not None]
        key = _word(entry.get("uuid")) or str(place + 1)
        yield from conversation_pages(source, "claude", key, _word(entry.get("name")), turns, "Claude conversation")


def claude_memory_pages(source: SourceFile, entries: list[Any]) -> Iterator[StagedPage]:
    """Yield the pages of Claude's memory: one about all conversations, and one for each project."""
    for entry in entries:
        if not isinstance(entry, dict):
            raise UnreadableFile("an entry is no memory of Claude")
        if text := _body(entry.get("conversations_memory")):
            yield converted(source, "claude/memory.md", "What Claude remembers", text, "Claude memory")
        projects = entry.get("project_memories")
        for key, memory in sorted(projects.items()) if isinstance(projects, dict) else ():
            if text := _body(memory):
                title = f"What Claude remembers of project {key[:40]}"
                yield converted(source, f"claude/memory-{slug(key)}.md", title, text, "Claude memory")


def claude_project_pages(source: SourceFile, entries: list[Any]) -> Iterator[StagedPage]:
    """Yield the pages of Claude's projects: a description of each, and its documents."""
    for entry in entries:
        if not isinstance(entry, dict):
            raise UnreadableFile("an entry is no project of Claude")
        name = _word(entry.get("name")) or "project"
        folder = f"claude/projects/{slug(name)}-{slug(_word(entry.get('uuid')), 8)}"
        texts = [text for key in ("description", "prompt_template") if (text := _body(entry.get(key)))]
        if texts:
            yield converted(source, f"{folder}/project.md", name, "\n\n".join(texts), "Claude project")
        documents = entry.get("docs")
        for number, document in enumerate(documents if isinstance(documents, list) else ()):
            texts = _object(document)
            if text := _body(texts.get("content")):
                title = _word(texts.get("filename")) or f"document {number + 1}"
                yield converted(source, f"{folder}/{number + 1}-{slug(title)}.md", title, text, "Claude project")


def conversation_pages(
    source: SourceFile, agent: str, key: str, title: str, turns: list[TranscriptTurn], reader: str, folder: str = ""
) -> Iterator[StagedPage]:
    """Yield the pages of a conversation: one, or several if it is long."""
    spoken = [TranscriptTurn(turn.role, text, turn.at) for turn in turns if (text := cleaned(turn.text))]
    parts: list[list[TranscriptTurn]] = []
    size = 0
    for turn in spoken:
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
    """Return the nodes from the root to the current node, or all nodes by time if the current node is unknown."""
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
    """Return a text without its secrets; empty for a value that is not a text."""
    return cleaned(value) if isinstance(value, str) and value.strip() else ""


# Exports of other memories: Mem0's lists of memories, and Letta's agent files, which ``slowwave.sources.letta`` parses.

_OF_CATEGORY: Final[Mapping[str, AtomKind]] = {
    "preferences": "preference",
    "user_preferences": "preference",
    "goals": "goal",
}
"""Categories of Mem0, each with the kind of its statements."""


def mem0_pages(source: SourceFile, memories: Sequence[Any], relations: Sequence[Any] = ()) -> Iterator[StagedPage]:
    """Yield a page for each owner (user, agent or run) with one line per memory.

    The memories of a user are statements about that person. Raises ``UnreadableFile`` naming the entry that is not a memory.
    """
    of_owner: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for place, entry in enumerate(memories):
        if not isinstance(entry, dict) or not isinstance(entry.get("memory"), str) or not entry["memory"].strip():
            raise UnreadableFile(f"entry {place + 1} is no memory of Mem0 (it has no memory text)")
        whose = next(
            ((k, v) for k in ("user_id", "agent_id", "run_id") if (v := _single_line(entry.get(k)))),
            ("", "unowned"),
        )
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
    relation_lines = [
        " ".join(_single_line(edge.get(k)) for k in ("source", "relationship", "target")).strip() for edge in edges
    ]
    if any(relation_lines):
        body = "\n".join(f"- {line}" for line in relation_lines if line)
        yield converted(source, "mem0/relations.md", "Relations that Mem0 kept", body, "Mem0 export")


def letta_pages(source: SourceFile) -> Iterator[StagedPage]:
    """Yield a page for each day of each agent, and one for each block of its memory. Raises ``UnreadableFile``."""
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
    for (agent, day), turns_of_day in sorted(sessions.items()):
        in_time = sorted(turns_of_day, key=lambda turn: (turn.created_at, turn.external_id))
        transcript = [TranscriptTurn(turn.role, turn.content, turn.created_at) for turn in in_time]
        yield from conversation_pages(source, agent, day, f"Conversation of {day}", transcript, "Letta conversation")


def transcript_pages(source: SourceFile) -> Iterator[StagedPage]:
    """Yield the pages of each session in a JSONL file of Claude Code, Codex or an OpenAI-style program.

    Raises ``UnreadableFile`` with the line that is not a line of a session.
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
    """Context manager that writes a file's bytes to a temporary path, for readers that open a path.

    The readers get exactly the bytes that were checked for links and size.
    """

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
    """Return a check that counts bad rows by line; texts may be as long as a page."""
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


def _single_line(value: object) -> str:
    return " ".join(str(value).split())[:200] if isinstance(value, str | int) and not isinstance(value, bool) else ""


# Stage one: every input becomes a Markdown page. The suffix of a file selects its reader, for JSON also the shape of the value.
#
# A file that cannot be parsed is rejected as a whole, with the line; the other files are still staged.

_MARKDOWN: Final = (".md", ".markdown")
_ACCOUNT: Final = frozenset(
    ("user.json", "users.json", "message_feedback.json", "shared_conversations.json", "model_comparisons.json")
)
"""Export files that only describe the account."""

Pages = Iterator[StagedPage]


@dataclass(slots=True)
class Staging:
    """The staged pages by path, the detected formats, and the files that were left out.

    ``bad`` files cannot be read. ``quarantined`` files were read but contain text that screening refuses. ``noted`` files are skipped and
    harmless.
    """

    label: str
    roots: list[CorpusRoot] = field(default_factory=list)
    pages: list[StagedPage] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)
    bad: list[LeftOut] = field(default_factory=list)
    quarantined: list[LeftOut] = field(default_factory=list)
    noted: list[LeftOut] = field(default_factory=list)
    private: dict[str, str] = field(default_factory=dict)
    """Privacy class by source file, for pages that do not set one themselves."""

    @property
    def read_as(self) -> tuple[str, ...]:
        """Return a description of each folder and the format that was detected for it."""
        return tuple(f"{root.folder or '.'}: {NAMES[root.kind]}" for root in self.roots)

    @property
    def readers(self) -> Counter[str]:
        """Return the number of pages by reader."""
        return Counter(page.reader for page in self.pages)


def stage(folder: SourceFolder, tell: Callable[[int, int], None] | None = None) -> Staging:
    """Read and stage all files of a folder. Time: linear in the bytes."""
    roots = corpus_roots(list(folder.files), folder.root)
    staging = Staging(folder.label, roots)
    found: list[StagedPage] = []
    for done, source in enumerate(folder.read(), 1):
        if tell is not None and done % 100 == 0:
            tell(done, len(folder.files))
        staging.files.append((source.path, source.sha256))
        if PurePosixPath(source.path).name in _ACCOUNT:
            staging.noted.append(LeftOut(source.path, 0, "it says whose account it is, and nothing to remember"))
            continue
        try:
            made = list(_pages(source, root_of(source.path, roots)))
            for page in made:
                if len(page.text.encode("utf-8", "replace")) > LARGEST_TEXT:
                    raise UnreadableFile(
                        f"it becomes a page of more than {LARGEST_TEXT:,} bytes; split it up", page.line
                    )
        except UnreadableFile as problem:
            staging.bad.append(LeftOut(source.path, problem.line, str(problem)))
            continue
        found += made
    staging.bad += folder.bad
    staging.noted += folder.noted
    staging.noted += [
        LeftOut(f"*{suffix}", 0, f"{n:,} of this kind are not read") for suffix, n in sorted(folder.others.items())
    ]
    staging.pages = placed(_screened(found, staging), folder.label)
    for left in (staging.bad, staging.quarantined, staging.noted):
        left.sort(key=lambda out: (out.path, out.line))
    return staging


def _screened(pages: Sequence[StagedPage], staging: Staging) -> list[StagedPage]:
    """Return the pages without secrets, instructions to a model or hidden text.

    The others are added to ``staging.quarantined`` by name, never with their text.
    """
    out: dict[int, LeftOut] = {}
    for place, detected in screen_all(pa.array([page.text for page in pages], pa.string())):
        if counted := counting(detected):
            page, first = pages[place], counted[0]
            line = page.text.count("\n", 0, first.start) + 1 if page.reader == "Markdown" else page.line
            out[place] = LeftOut(page.source, line, f"screening keeps it out ({first.kind}: {first.rule})")
    staging.quarantined += out.values()
    return _classed([page for place, page in enumerate(pages) if place not in out], staging)


def _classed(pages: Sequence[StagedPage], staging: Staging) -> list[StagedPage]:
    """Return the pages, adding the detected privacy class to pages that were converted here.

    A page that was written as Markdown stays unchanged; its class is only reported.
    """
    found = list(pages)
    for place, word in private_words(pa.array([page.text for page in pages], pa.string())):
        page = pages[place]
        own = frontmatter(page.text)
        if "sensitivity" not in own.fields:
            staging.private[page.source] = word.name
            if page.reader != "Markdown":
                head = changed_head(page.text, {"sensitivity": word.name})
                found[place] = replace(page, text=head + page.text[own.end :])
    return found


def _pages(source: SourceFile, root: CorpusRoot) -> Pages:
    own = source.path.removeprefix(root.folder)
    if source.suffix in _MARKDOWN:
        text = decoded(source.content)
        head = frontmatter(text)
        try:
            storable(head.fields, "its frontmatter")
        except BadRow as problem:
            raise UnreadableFile(str(problem), 1) from None
        at_home = root.kind in AT_HOME
        place = place_of(own if at_home else source.path)
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        yield StagedPage(source.path, source.sha256, 1, source.day, place, text, "Markdown", at_home)
        return
    title = PurePosixPath(source.path).name
    place = place_of(source.path)
    if source.suffix == ".af":
        yield from letta_pages(source)
        return
    text = decoded(source.content).removeprefix("\ufeff")
    match source.suffix:
        case ".txt":
            yield converted(source, place, title, text, "text")
        case ".csv":
            yield converted(source, place, title, _rows_of_table(source, text), "CSV")
        case ".yaml" | ".yml":
            yield from _structured(source, place, title, text, yaml_file(text), "YAML")
        case ".toml":
            yield from _structured(source, place, title, text, toml_file(text), "TOML")
        case ".jsonl" | ".ndjson":
            yield from _lines(source, place, title, text)
        case _:
            yield from _json(source, place, title, text)


def _json(source: SourceFile, place: str, title: str, text: str) -> Pages:
    value = json_value(text)
    if isinstance(value, str) and value.lstrip().startswith("{"):  # some agent files are JSON within JSON
        value = json_value(value)
    if isinstance(value, dict) and "agents" in value and ("blocks" in value or "groups" in value):
        yield from letta_pages(source)
    elif isinstance(value, dict) and _are(value.get("results"), "memory"):
        relations = value.get("relations")
        yield from mem0_pages(source, value["results"], relations if isinstance(relations, list) else ())
    elif isinstance(value, dict) and "schema" not in value and _are(value.get("memories"), "memory"):
        yield from mem0_pages(source, value["memories"])
    elif isinstance(value, list) and (reader := _reader_of(value)) is not None:
        yield from reader(source, value)
    else:
        yield from _structured(source, place, title, text, value, "JSON")


def _lines(source: SourceFile, place: str, title: str, text: str) -> Pages:
    rows: list[tuple[int, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                rows.append((number, json_value(line)))
            except UnreadableFile as problem:
                raise UnreadableFile(str(problem), number) from None
    values = [value for _, value in rows]
    first = values[0] if values else None
    if (
        isinstance(first, dict)
        and "schema" not in first
        and not {"memory", "mapping", "chat_messages"} & set(first)
        and (
            {"role", "messages", "sessionId", "payload"} & set(first)
            or first.get("type") in ("summary", "file-history-snapshot", "queue-operation", "session_meta")
            or ("instructions" in first and "id" in first)
        )
    ):
        yield from transcript_pages(source)
    elif (reader := _reader_of(values)) is not None:
        yield from reader(source, values)
    else:
        body = "\n".join(f"- line {number}: {json.dumps(value, ensure_ascii=False)}" for number, value in rows)
        yield converted(source, place, title, body, "JSON lines", records=records_of(values) if values else ())


def _reader_of(values: Sequence[Any]) -> Callable[[SourceFile, list[Any]], Pages] | None:
    """Return the reader for a list, chosen by the fields of its entries, or None if no reader matches."""
    if _are(values, "mapping"):
        return chatgpt_pages
    if _are(values, "chat_messages"):
        return claude_pages
    if _are(values, "conversations_memory") or _are(values, "project_memories"):
        return claude_memory_pages
    if _are(values, "prompt_template") or _are(values, "docs"):
        return claude_project_pages
    if _are(values, "memory") and all(isinstance(value["memory"], str) for value in values[:1]):
        return mem0_pages
    return None


def _are(values: object, name: str) -> bool:
    """Return whether a list begins with an object that has a field; the reader checks the other items."""
    return isinstance(values, list) and bool(values) and isinstance(values[0], Mapping) and name in values[0]


def _structured(source: SourceFile, place: str, title: str, text: str, value: Any, reader: str) -> Pages:
    """Build a page that contains a structured file verbatim, in a fence that nothing in it can close."""
    records: list[TypedRecord] = records_of(value)
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    body = f"{fence}{reader.lower()}\n{text if text.endswith(chr(10)) else text + chr(10)}{fence}\n"
    named = records[0].title if len(records) == 1 else title
    yield converted(source, place, named, body, f"typed {reader}" if records else reader, records=records)


def _rows_of_table(source: SourceFile, text: str) -> str:
    """Format the rows of a table as a list, each with the line at which it begins."""
    check = RowCheck(source.path, "skip")
    header = next(csv.reader([next(iter(text.splitlines()), "")]), [""])[0] if text.strip() else ""
    try:
        rows = list(Table(io.StringIO(text, newline=""), check, (), header))
    except (ImportRefused, ValueError) as problem:
        message = str(problem).split(". Nothing")[0].removeprefix(f"{source.path}, ")
        line = message.split(":")[0].removeprefix("line ")
        raise UnreadableFile(message.partition(": ")[2] or message, int(line) if line.isdigit() else 1) from None
    if check.skipped:
        raise UnreadableFile(check.skipped[0].reason, check.skipped[0].line)
    if bad := next((row for row in rows if row.more), None):
        raise UnreadableFile("more fields than the first line names", bad.line)
    return "\n".join(
        f"- line {row.line}: "
        + "; ".join(f"{name}: {' '.join(value.split())}" for name, value in row.values.items() if value)
        for row in rows
    )

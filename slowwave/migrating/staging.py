"""Stage one: every input becomes a page in Markdown. Which reader a file gets is seen from its ending and, of JSON, from its shape.

A file that cannot be read is bad as a whole, with the line; nothing of it is staged, and the others are.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, Final

import pyarrow as pa

from slowwave.corpus.folder_scan import LeftOut
from slowwave.corpus.page_file import decoded
from slowwave.corpus.page_text import changed_head
from slowwave.errors import ImportRefused
from slowwave.imports.rows import BadRow, RowCheck, storable
from slowwave.imports.table import Table
from slowwave.migrating.conversations import chatgpt_pages, claude_memory_pages, claude_pages, claude_project_pages
from slowwave.migrating.folder_kinds import AT_HOME, NAMES, CorpusRoot, corpus_roots, root_of
from slowwave.migrating.memory_stores import letta_pages, mem0_pages, transcript_pages
from slowwave.migrating.records import TypedRecord, records_of
from slowwave.migrating.source_files import LARGEST_TEXT, SourceFile, SourceFolder
from slowwave.migrating.staged_page import StagedPage, converted, place_of, placed
from slowwave.migrating.structured_text import json_value, toml_file, yaml_file
from slowwave.texts.frontmatter import UnreadableFile, frontmatter
from slowwave.texts.screening import counting, screen_all
from slowwave.texts.sensitivity import private_words

_MARKDOWN: Final = (".md", ".markdown")
_ACCOUNT: Final = frozenset(
    ("user.json", "users.json", "message_feedback.json", "shared_conversations.json", "model_comparisons.json")
)
"""Files of exports that say nothing but whose account it was."""

Pages = Iterator[StagedPage]


@dataclass(slots=True)
class Staging:
    """The staged pages by their places, how the folder and its files were read, and what was left out.

    ``bad`` cannot be taken; ``quarantined`` can be read and holds what screening keeps out; ``noted`` is passed over and harmless.
    """

    label: str
    roots: list[CorpusRoot] = field(default_factory=list)
    pages: list[StagedPage] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)
    bad: list[LeftOut] = field(default_factory=list)
    quarantined: list[LeftOut] = field(default_factory=list)
    noted: list[LeftOut] = field(default_factory=list)
    private: dict[str, str] = field(default_factory=dict)
    """The privacy class of pages, by the file that they come from, where it does not say one itself."""

    @property
    def read_as(self) -> tuple[str, ...]:
        """What each folder was taken for, in words."""
        return tuple(f"{root.folder or '.'}: {NAMES[root.kind]}" for root in self.roots)

    @property
    def readers(self) -> Counter[str]:
        """Pages by the reader that made them."""
        return Counter(page.reader for page in self.pages)


def stage(folder: SourceFolder, tell: Callable[[int, int], None] | None = None) -> Staging:
    """Read and stage all that lies there. Time: linear in the bytes."""
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
    """The pages that hold no secret, no order to a model and nothing hidden; the others are named, never quoted."""
    out: dict[int, LeftOut] = {}
    for place, detected in screen_all(pa.array([page.text for page in pages], pa.string())):
        if counted := counting(detected):
            page, first = pages[place], counted[0]
            line = page.text.count("\n", 0, first.start) + 1 if page.reader == "Markdown" else page.line
            out[place] = LeftOut(page.source, line, f"screening keeps it out ({first.kind}: {first.rule})")
    staging.quarantined += out.values()
    return _classed([page for place, page in enumerate(pages) if place not in out], staging)


def _classed(pages: Sequence[StagedPage], staging: Staging) -> list[StagedPage]:
    """The pages with the privacy class that their words are of, where a page was made here; of a page as it was written it is only told."""
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
    if isinstance(value, str) and value.lstrip().startswith("{"):  # JSON within JSON, as some agent files are
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
    """The reader of a list, by what its entries have; None for a list of anything."""
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
    """Whether a list is of objects of which the first has a field; the reader judges the others."""
    return isinstance(values, list) and bool(values) and isinstance(values[0], Mapping) and name in values[0]


def _structured(source: SourceFile, place: str, title: str, text: str, value: Any, reader: str) -> Pages:
    """A page that holds a structured file as it is written, in a fence that nothing in it can close."""
    records: list[TypedRecord] = records_of(value)
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    body = f"{fence}{reader.lower()}\n{text if text.endswith(chr(10)) else text + chr(10)}{fence}\n"
    named = records[0].title if len(records) == 1 else title
    yield converted(source, place, named, body, f"typed {reader}" if records else reader, records=records)


def _rows_of_table(source: SourceFile, text: str) -> str:
    """The rows of a table as a list, each with the line at which it begins."""
    check = RowCheck(source.path, "skip")
    header = next(csv.reader([next(iter(text.splitlines()), "")]), [""])[0] if text.strip() else ""
    try:
        rows = list(Table(io.StringIO(text, newline=""), check, (), header))
    except (ImportRefused, ValueError) as problem:
        said = str(problem).split(". Nothing")[0].removeprefix(f"{source.path}, ")
        line = said.split(":")[0].removeprefix("line ")
        raise UnreadableFile(said.partition(": ")[2] or said, int(line) if line.isdigit() else 1) from None
    if check.skipped:
        raise UnreadableFile(check.skipped[0].reason, check.skipped[0].line)
    if bad := next((row for row in rows if row.more), None):
        raise UnreadableFile("more fields than the first line names", bad.line)
    return "\n".join(
        f"- line {row.line}: "
        + "; ".join(f"{name}: {' '.join(value.split())}" for name, value in row.values.items() if value)
        for row in rows
    )

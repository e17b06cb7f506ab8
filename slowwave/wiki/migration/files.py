"""Files of a migration: the kind of a folder or archive, the pages staged from it, and structured records."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tomllib
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, NamedTuple, get_args

from slowwave.errors import Refused
from slowwave.matching.names import latin
from slowwave.sources.page_files import FileMark, LeftOut, Unsettled, read_bytes, scan_folder
from slowwave.sources.profile import profile
from slowwave.sources.rows import BadRow, storable
from slowwave.text.frontmatter import UnreadableFile, yaml_value
from slowwave.wiki.claims.request import Family
from slowwave.wiki.corpus.page_text import changed_head, verbatim_page

# The files of a folder, an archive or a single file to migrate: their bytes, and the files that cannot be read, with the reason.
#
# Nothing is unpacked to disk, no link is followed, and every size is bounded before it is read.

TEXTS: Final = (".md", ".markdown", ".txt", ".yaml", ".yml", ".toml", ".csv")
RECORDS: Final = (".json", ".jsonl", ".ndjson", ".af")
ARCHIVES: Final = (".zip",)
SUFFIXES: Final = (*TEXTS, *RECORDS, *ARCHIVES)

LARGEST_TEXT: Final = 2_000_000
"""Maximum bytes of a file that becomes one page."""
LARGEST_RECORDS: Final = 256 * 1024 * 1024
"""Maximum bytes of a file with many conversations, memories or rows; the whole file is read at once."""
MOST_FILES: Final = 100_000

EXPORTED: Final = re.compile(r"conversations(?:-\d{1,4})?\.json|memories\.json|projects\.json")
"""Files that are read from an archive: the export files of ChatGPT and Claude."""

_RATIO: Final = 200
"""Maximum bytes that one byte of an archive may expand to."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source file by its path within the source folder; ``day`` is the day of its last modification, in UTC."""

    path: str
    content: bytes
    sha256: str
    day: date

    @property
    def suffix(self) -> str:
        """Return the suffix of the file in lower case."""
        return PurePosixPath(self.path).suffix.lower()


@dataclass(slots=True)
class SourceFolder:
    """Contents of a source folder by path: readable files, counts of other files by suffix, and files that cannot be read."""

    root: Path
    label: str
    files: dict[str, FileMark] = field(default_factory=dict)
    others: Counter[str] = field(default_factory=Counter)
    bad: list[LeftOut] = field(default_factory=list)
    noted: list[LeftOut] = field(default_factory=list)

    def read(self) -> Iterator[SourceFile]:
        """Yield the files one at a time, in the order of their paths; files that cannot be read are added to ``bad``."""
        for path, mark in self.files.items():
            suffix = PurePosixPath(path).suffix.lower()
            file = self.root / path if self.root.is_dir() else self.root
            try:
                content = read_bytes(file, mark, LARGEST_TEXT if suffix in TEXTS else LARGEST_RECORDS)
            except Unsettled:
                self.bad.append(LeftOut(path, 0, "it is being written; migrate again when it stands still"))
                continue
            except UnreadableFile as problem:
                self.bad.append(LeftOut(path, problem.line, str(problem)))
                continue
            day = datetime.fromtimestamp(mark.mtime / 1e9, UTC).date()
            if suffix in ARCHIVES:
                yield from self._members(path, content, day)
            else:
                yield _source(path, content, day)

    def _members(self, path: str, content: bytes, day: date) -> Iterator[SourceFile]:
        try:
            yield from [_source(f"{path}/{name}", data, day) for name, data in _exported(content)]
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as problem:
            self.bad.append(
                LeftOut(path, 0, f"it is no archive that can be read ({type(problem).__name__}); unpack it")
            )
        except UnreadableFile as problem:
            self.bad.append(LeftOut(path, 0, str(problem)))


def source_folder(root: Path) -> SourceFolder:
    """Scan a folder or a single file by name, without opening files. Raises ``Refused`` if there is nothing to read."""
    root = root.expanduser()
    if root.is_symlink() and not root.is_dir():
        raise Refused(f"{root} is a link. Nothing was read. Name the file itself.")
    if root.is_file():
        found = SourceFolder(root, root.stem or root.name)
        if root.suffix.lower() not in SUFFIXES:
            raise Refused(f"{root.name} is of no kind that is read ({', '.join(SUFFIXES)}). Nothing was planned.")
        found.files[root.name] = FileMark.from_stat(root.lstat())
        return found
    root = root.resolve()
    everything = profile("plain").model_copy(update={"include": ("**/*", "*"), "exclude": ()})
    scan = scan_folder(root, everything)
    found = SourceFolder(root, root.name)
    for path, mark in scan.files.items():
        suffix = PurePosixPath(path).suffix.lower()
        if suffix in SUFFIXES:
            found.files[path] = mark
        else:
            found.others[suffix or "no ending"] += 1
    for out in scan.left_out:
        (found.noted if out.reason.startswith("it is a link; ") else found.bad).append(out)
    if len(found.files) > MOST_FILES:
        raise Refused(
            f"{root} holds {len(found.files):,} files, more than {MOST_FILES:,}. Nothing was planned. Migrate its folders one by one."
        )
    if not found.files and not found.bad:
        raise Refused(f"{root} holds no file that is read ({', '.join(SUFFIXES)}). Nothing was planned.")
    return found


def _source(path: str, content: bytes, day: date) -> SourceFile:
    return SourceFile(path, content, hashlib.sha256(content).hexdigest(), day)


def _exported(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) of the files of an export within an archive.

    Raises ``UnreadableFile``, and the errors of ``zipfile``.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        wanted = [
            info
            for info in archive.infolist()
            if EXPORTED.fullmatch(PurePosixPath(info.filename).name) and len(PurePosixPath(info.filename).parts) <= 2
        ]
        if not wanted:
            raise UnreadableFile(
                "the archive holds no conversations.json, memories.json or projects.json; unpack it and migrate the folder"
            )
        names = [PurePosixPath(info.filename).name for info in wanted]
        if len(set(names)) < len(names):
            raise UnreadableFile("the archive holds a file twice; unpack it and migrate the folder")
        for name, info in zip(names, wanted, strict=True):
            if info.flag_bits & 1:
                raise UnreadableFile("the archive is encrypted; unpack it and migrate the folder")
            most = min(LARGEST_RECORDS, _RATIO * max(info.compress_size, 1_000))
            with archive.open(info) as member:
                data = member.read(most + 1)
            if len(data) > most:
                raise UnreadableFile(
                    f"{name} in the archive becomes more than {most:,} bytes; unpack it if that is meant"
                )
            yield name, data


# The kind of a folder: a corpus in Dory's layout, an Obsidian vault, a workspace or memory of an agent, an export, or any folder of
# files.
#
# It is detected from names alone, and the report states it. If several corpora lie side by side, each is detected separately.

FolderKind = Literal[
    "dory", "vault", "workspace", "claude-code", "codex", "export", "markdown", "files",
]  # fmt: skip

NAMES: Final[Mapping[FolderKind, str]] = {
    "dory": "Dory corpus",
    "vault": "Obsidian vault",
    "workspace": "agent's workspace",
    "claude-code": "Claude Code project memory",
    "codex": "Codex project memory",
    "export": "data export",
    "markdown": "folder of Markdown",
    "files": "folder of files",
}
AT_HOME: Final[frozenset[FolderKind]] = frozenset(("dory", "vault"))
"""Kinds of folders whose pages keep their paths."""

_BUCKETS: Final = frozenset(
    ("core", "people", "projects", "concepts", "decisions", "logs", "digests", "knowledge", "ideas")
)
_SOULS: Final = frozenset(("SOUL.md", "USER.md", "IDENTITY.md", "HEARTBEAT.md"))
_EXPORTS: Final = frozenset(("conversations.json", "memories.json", "projects.json"))
_MARKDOWN: Final = (".md", ".markdown")


class CorpusRoot(NamedTuple):
    """A folder (with a trailing slash; empty for the whole source) and its kind."""

    folder: str
    kind: FolderKind


def corpus_roots(paths: Collection[str], root: Path) -> list[CorpusRoot]:
    """Return the roots that the paths belong to, the longest folder first.

    If a folder contains only folders, each of them is examined separately.
    """
    kind = _kind(paths, root)
    if kind in ("markdown", "files") and paths and all("/" in path for path in paths):
        inside: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            first, _, rest = path.partition("/")
            inside[first].append(rest)
        kinds: dict[str, FolderKind] = {first: _kind(rests, root / first) for first, rests in inside.items()}
        if any(found not in ("markdown", "files") for found in kinds.values()):
            return [CorpusRoot(f"{first}/", found) for first, found in sorted(kinds.items())]
    return [CorpusRoot("", kind)]


def root_of(path: str, roots: Collection[CorpusRoot]) -> CorpusRoot:
    """Return the root that contains a path."""
    return next(root for root in roots if path.startswith(root.folder))


def _kind(paths: Collection[str], root: Path) -> FolderKind:
    names = {path for path in paths if "/" not in path}
    tops = {PurePosixPath(path).parts[0] for path in paths if "/" in path and path.endswith(_MARKDOWN)}
    if (root / ".obsidian").is_dir():
        return "vault"
    if names & _SOULS:
        return "workspace"
    if len(tops & _BUCKETS) >= 2 and tops & {"core", "people", "projects", "decisions", "concepts"}:
        return "dory"
    if names & _EXPORTS or any(name.endswith((".af", ".zip")) for name in names):
        return "export"
    if names & {"CLAUDE.md", "MEMORY.md"} or (root / ".claude").is_dir():
        return "claude-code"
    if "AGENTS.md" in names or any(PurePosixPath(path).name.startswith("rollout-") for path in paths):
        return "codex"
    return "markdown" if paths and all(path.endswith(_MARKDOWN) for path in paths) else "files"


# Records: entries of structured files that name their own subject, by a family or by a registered schema.
#
# Only such entries become claims without a model: a family with a title and a summary, or one of four export schemas. Any other content
# of a structured file is kept as evidence.

AtomKind = Literal[
    "project_update", "decision", "person_fact", "concept_claim", "preference", "goal", "open_question", "followup",
    "timeline_event",
]  # fmt: skip
ATOM_KINDS: Final[tuple[AtomKind, ...]] = get_args(AtomKind)

SCHEMAS: Final[Mapping[str, Family]] = {
    "dory.project_export.v1": "project",
    "dory.person_export.v1": "person",
    "dory.decision_export.v1": "decision",
    "dory.concept_export.v1": "concept",
}
"""The registered schemas, each with the family that it exports."""

_TYPED: Final[Mapping[str, Family]] = {
    "project": "project",
    "person": "person",
    "decision": "decision",
    "concept": "concept",
}
OF_FAMILY: Final[Mapping[Family, AtomKind]] = {
    "project": "project_update",
    "person": "person_fact",
    "decision": "decision",
    "concept": "concept_claim",
    "core": "person_fact",
}
"""The kind of a plain statement about a subject of each family."""

_LISTS: Final[Mapping[str, AtomKind | None]] = {
    "facts": None,  # the kind depends on the subject's family
    "claims": None,
    "updates": "project_update",
    "preferences": "preference",
    "goals": "goal",
    "decisions": "decision",
    "open_questions": "open_question",
    "followups": "followup",
    "open_work": "followup",
    "timeline": "timeline_event",
}
"""Lists of statements that a record may have, each with the kind of its statements."""

_TEXTS: Final[Mapping[str, AtomKind | None]] = {
    "summary": None,
    "current_state": "project_update",
    "decision": "decision",
    "rationale": "decision",
}
_DAYS: Final = ("date", "updated", "updated_at", "created", "created_at", "as_of")
LONGEST_STATEMENT: Final = 600


@dataclass(frozen=True, slots=True)
class RecordStatement:
    """One statement of a record; ``at`` is the time since when it holds, or None if the record does not give it."""

    kind: AtomKind
    text: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class TypedRecord:
    """The statements of an entry about one subject.

    ``line`` is the line at which the entry begins in the file, as far as that is known.
    """

    family: Family
    title: str
    aliases: tuple[str, ...]
    statements: tuple[RecordStatement, ...]
    schema: str = ""
    line: int = 1


def records_of(value: Any) -> list[TypedRecord]:
    """Return the typed entries of a JSON, YAML or TOML value: the value itself, or the items of a list.

    Returns an empty list if there are none. Raises ``UnreadableFile`` for an entry that names a registered schema and does not conform to
    it.
    """
    entries = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, dict) for entry in entries):
        return []
    found = [record for entry in entries if (record := _record(entry)) is not None]
    return found if len(found) == len(entries) else []


def _record(entry: Mapping[str, Any]) -> TypedRecord | None:
    schema = entry.get("schema")
    family: Family | None = SCHEMAS.get(schema) if isinstance(schema, str) else None
    if family is None and not isinstance(schema, str):  # an entry with an unregistered schema is evidence
        family = _TYPED.get(str(entry.get("family")))
    if family is None:
        return None
    title, summary = _text(entry.get("title") or entry.get("name")), _text(entry.get("summary"))
    if not title or not summary:
        if isinstance(schema, str):
            missing = "title" if not title else "summary"
            raise UnreadableFile(f"it says that it is a {schema} and has no {missing}", 1)
        return None
    day = next((at for name in _DAYS if (at := instant_of(entry.get(name))) is not None), None)
    statements = tuple(dict.fromkeys(_statements(entry, family, day)))
    return TypedRecord(
        family, title[:200], tuple(_words(entry.get("aliases"))), statements, schema if isinstance(schema, str) else ""
    )


def _statements(entry: Mapping[str, Any], family: Family, day: datetime | None) -> Iterator[RecordStatement]:
    for name, kind in _TEXTS.items():
        if text := _text(entry.get(name)):
            yield RecordStatement(kind or OF_FAMILY[family], text[:LONGEST_STATEMENT], day)
    for name, kind in _LISTS.items():
        for part in entry[name] if isinstance(entry.get(name), list) else ():
            fields = part if isinstance(part, Mapping) else {"text": part}
            text = _text(fields.get("text") or fields.get("statement") or fields.get("summary"))
            at = next((found for key in _DAYS if (found := instant_of(fields.get(key))) is not None), day)
            if text:
                yield RecordStatement(kind or OF_FAMILY[family], text[:LONGEST_STATEMENT], at)


def instant_of(value: object) -> datetime | None:
    """Parse a date or timestamp as files write it, in UTC; return None for any other value."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value / 1_000 if value > 1e11 else value, UTC)
        if isinstance(value, date) and not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
    except (ValueError, OverflowError, OSError):
        return None
    if not isinstance(found, datetime):
        return None
    try:
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except OverflowError:
        return None


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _words(value: object) -> Sequence[str]:
    parts = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(text[:200] for part in parts if (text := _text(part))))[:20]


# Staged pages: every input first becomes a Markdown page that names its source file and line.
#
# A Markdown file stays as it is, except for Unix line ends and a removed byte order mark. A page from another format states that in its
# head.

IMPORTED: Final = "sources/imported"
"""Folder of pages that do not keep their own path."""

LONGEST_PLACE: Final = 200
_UNSAFE: Final = re.compile(r"[^a-z0-9._-]+")
_NOT_WRITTEN: Final = re.compile(r"(?:logs/sessions|archive|inbox/(?:proposed|applied|rejected))/")
"""Paths that no plan writes to: sessions are ingested, archives are closed, proposals are answered."""


@dataclass(frozen=True, slots=True)
class StagedPage:
    """A staged page: its source file and line, its path, its text, and the reader that made it.

    ``at_home`` is whether its folder is a corpus in which the page has this path. ``records`` are typed entries of a structured file.
    """

    source: str
    sha256: str
    line: int
    day: date
    place: str
    text: str
    reader: str
    at_home: bool = False
    records: tuple[TypedRecord, ...] = ()


def converted(
    source: SourceFile,
    place: str,
    title: str,
    body: str,
    reader: str,
    *,
    line: int = 1,
    fields: Mapping[str, Any] | None = None,
    records: Sequence[TypedRecord] = (),
) -> StagedPage:
    """Build a page from a source that is not Markdown; ``body`` is kept byte for byte."""
    head = {
        "title": title[:200],
        "type": "source",
        "source_kind": "imported",
        **(fields or {}),
        **origin(source, line),
    }
    text = verbatim_page(head, body if body.endswith("\n") else f"{body}\n")
    return StagedPage(source.path, source.sha256, line, source.day, place, text, reader, records=tuple(records))


def with_origin(source: SourceFile, place: str, text: str, reader: str, line: int = 1) -> StagedPage:
    """Add the fields of its origin to a page that already has a head."""
    body = changed_head(text, origin(source, line)) + text[len(changed_head(text, {})) :]
    return StagedPage(source.path, source.sha256, line, source.day, place, body, reader)


def origin(source: SourceFile, line: int) -> dict[str, object]:
    """Return the fields that record the origin of a page."""
    return {"migrated_from": source.path, "source_sha256": source.sha256, "source_line": line}


def place_of(path: str) -> str:
    """Convert a path to a valid page path: lower-case Latin letters, digits, dots, hyphens and underscores.

    ``.md`` is appended to names with another suffix.
    """
    parts = [_part(part) for part in PurePosixPath(path).parts]
    name = parts[-1].removesuffix(".markdown").removesuffix(".md")
    whole = "/".join([*parts[:-1], f"{name or 'page'}.md"])
    if len(whole) > LONGEST_PLACE:
        whole = f"{whole[: LONGEST_PLACE - 20].rstrip('/.-_')}-{_short(path)}.md"
    return whole


def slug(text: str, longest: int = 60) -> str:
    """Convert a text to a path segment."""
    return _part(text)[:longest].strip("-._") or "page"


def placed(pages: Sequence[StagedPage], label: str) -> list[StagedPage]:
    """Assign a unique path to each page.

    A page that is ``at_home`` keeps its path if it is the first to claim it; the others go under ``sources/imported/LABEL/``. The same
    pages always get the same paths, in any order.
    """
    taken: set[str] = set()
    found: dict[int, str] = {}
    order = sorted(
        range(len(pages)), key=lambda n: (not pages[n].at_home, pages[n].source, pages[n].line, pages[n].place)
    )
    for n in order:
        page = pages[n]
        away = f"{IMPORTED}/{slug(label)}/{page.place}"
        home = page.at_home and not _NOT_WRITTEN.match(page.place)
        place = page.place if home and page.place not in taken else away
        if place in taken:
            place = f"{place.removesuffix('.md')}-{_short(f'{page.source}:{page.line}')}.md"
        taken.add(place)
        found[n] = place
    return [replace(page, place=found[n], at_home=found[n] == page.place) for n, page in enumerate(pages)]


def _part(text: str) -> str:
    bare = _UNSAFE.sub("-", latin(text).lower()).strip("-._")
    return bare[:80].strip("-._") or f"n-{_short(text)}"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


# JSON, YAML and TOML texts as values, parsed strictly: no repeated keys, no anchors, limited depth, and errors with their line.

LONGEST_YAML: Final = 1_000_000
"""Maximum characters of a YAML file, which is parsed event by event."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')
_TOML_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


class _Twice(ValueError):  # noqa: N818 - always caught here
    """Error for an object with a repeated key."""


def json_value(text: str) -> Any:
    """Parse a JSON text. Raises ``UnreadableFile`` with the line."""
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    except json.JSONDecodeError as problem:
        raise UnreadableFile(f"it is no JSON ({problem.msg})", problem.lineno) from None
    except _Twice as problem:
        raise UnreadableFile(f"{str(problem)[:64]!r} stands twice in one object", _line_of_second(text)) from None
    except RecursionError:
        raise UnreadableFile("its JSON is nested too deeply", 1) from None
    except ValueError:
        raise UnreadableFile("its JSON holds a number that is none, or out of range", 1) from None
    return _kept(value)


def yaml_file(text: str) -> Any:
    """Parse a YAML text with the rules for frontmatter. Raises ``UnreadableFile`` with the line."""
    if len(text) > LONGEST_YAML:
        raise UnreadableFile(f"it has {len(text):,} characters, more than {LONGEST_YAML:,} for YAML")
    return _kept(yaml_value(text))


def toml_file(text: str) -> Any:
    """Parse a TOML text. Raises ``UnreadableFile`` with the line."""
    try:
        return _kept(json.loads(json.dumps(tomllib.loads(text), default=str)))
    except tomllib.TOMLDecodeError as problem:
        found = _TOML_LINE.search(str(problem))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1
        raise UnreadableFile(f"it is no TOML ({_TOML_LINE.sub('', str(problem)).strip()})", line) from None
    except (RecursionError, ValueError):
        raise UnreadableFile("its TOML is nested too deeply, or holds a number out of range", 1) from None


def _kept(value: Any) -> Any:
    """Return the value if a database can store it; otherwise raise ``UnreadableFile``."""
    try:
        storable(value, "it")
    except BadRow as problem:
        raise UnreadableFile(str(problem), 1) from None
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _Twice(name)
            seen.add(name)
    return found


def _constant(name: str) -> Any:
    raise ValueError(name)


def _line_of_second(text: str) -> int:
    """Return the line of the first repeated key in an object."""
    open_: list[set[str] | None] = []
    last = ""
    at = 0
    for token in _TOKEN.finditer(text):
        lexeme = token[0]
        if lexeme in "{[":
            open_.append(set() if lexeme == "{" else None)
        elif lexeme in "}]":
            open_.pop()
        elif lexeme == ":" and open_ and (names := open_[-1]) is not None:
            name = json.loads(last)
            if name in names:
                return text.count("\n", 0, at) + 1
            names.add(name)
        elif lexeme[0] == '"':
            last, at = lexeme, token.start()
    return 1

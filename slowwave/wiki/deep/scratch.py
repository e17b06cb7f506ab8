"""The scratch copy of a deep pass: files reached without following links, and memories as topic files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.errors import Refused
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.sources.blocks import MEMORY, find
from slowwave.store.settings import Settings
from slowwave.text.screening import redact, screen
from slowwave.wiki.pages.index import memory_index

# The scratch folder: files by name. Each is opened part by part, without following a link.
#
# A name is relative, with slashes. The code below decides what a tool may read or write. ``slowwave.wiki.deep.loop`` limits how often and
# how much.

LONGEST_NAME: Final = 300
"""Maximum bytes of a name."""

LONGEST_FILE: Final = 1_000_000
"""Maximum bytes of a file; the whole file is read at once."""

_DEEPEST: Final = 12
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder in which files may be read, and those written that ``may_write`` allows.

    Every method raises ``Refused``, with a message for the caller, and has then changed nothing.
    """

    root: Path
    may_write: Callable[[str], bool]

    def files(self, folder: str = "") -> Iterator[str]:
        """Yield the names of all regular files under a folder, in order; links and other special entries are left out."""
        with self._folder(parts_of(folder) if folder not in ("", ".") else ()) as opened:
            yield from _below(opened, "" if folder in ("", ".") else f"{folder.strip('/')}/")

    def read(self, name: str) -> str:
        """Return the text of a file."""
        *parents, last = parts_of(name)
        with self._folder(parents) as opened:
            try:
                descriptor = os.open(_as_listed(opened, last, name), _READ, dir_fd=opened)
            except OSError:
                raise _absent(name) from None
            with os.fdopen(descriptor, "rb") as file:
                _refuse_odd(os.fstat(descriptor), name)
                body = file.read(LONGEST_FILE + 1)
        if len(body) > LONGEST_FILE:
            raise Refused(f"{shown(name)} has more than {LONGEST_FILE:,} bytes.")
        try:
            return body.decode()
        except UnicodeDecodeError:
            raise Refused(f"{shown(name)} is no text.") from None

    def write(self, name: str, text: str) -> None:
        """Write a text to a file; a new file is created only in an existing folder."""
        *parents, last = parts_of(name)
        if not self.may_write("/".join((*parents, last))):
            raise Refused(
                f"{shown(name)} is not yours to change. The files that are lie under memories/ and pages/, and MEMORY.md."
            )
        try:
            body = text.encode()
        except UnicodeEncodeError:
            raise Refused("The text holds half a character, so it is no text.") from None
        with self._folder(parents) as opened:
            try:
                there = os.stat(_as_listed(opened, last, name, new=True), dir_fd=opened, follow_symlinks=False)
                _refuse_odd(there, name)
            except FileNotFoundError:
                pass
            beside = f".{secrets.token_hex(8)}"
            try:
                with os.fdopen(os.open(beside, _NEW, 0o600, dir_fd=opened), "wb") as file:
                    file.write(body)
                os.rename(beside, last, src_dir_fd=opened, dst_dir_fd=opened)
            except OSError as problem:
                _forget(beside, opened)
                raise Refused(f"{shown(name)} cannot be written ({problem.strerror}).") from None

    @contextmanager
    def _folder(self, parts: tuple[str, ...] | list[str]) -> Generator[int]:
        """Yield a descriptor of the folder at the end of some parts.

        Each part is opened from the one above it, and none may be a link.
        """
        opened = os.open(self.root, _FOLDER)
        try:
            for part in parts:
                try:
                    below = os.open(_as_listed(opened, part, part), _FOLDER, dir_fd=opened)
                except OSError:
                    raise Refused(f"There is no folder {shown('/'.join(parts))}.") from None
                os.close(opened)
                opened = below
            if not _path_of(opened, self.root, parts).resolve().is_relative_to(self.root.resolve()):
                raise Refused(f"{shown('/'.join(parts))} lies outside.")
            yield opened
        finally:
            os.close(opened)


def parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of a name.

    Raises ``Refused`` for a name that could mean a file elsewhere: absolute, with ``..``, hidden, or different from how it looks.
    """
    plain = unicodedata.normalize("NFC", name) == name and name.isprintable() and "\\" not in name
    parts = tuple(name.split("/"))
    if (
        not plain
        or len(name.encode("utf-8", "replace")) > LONGEST_NAME
        or len(parts) > _DEEPEST
        or any(not part or part.startswith((".", "~", "-")) or part != part.strip() for part in parts)
    ):
        raise Refused(
            f"{shown(name)} is no name of a file here. Names are relative to the folder, as `memories/rowan.md`, without . and .. ."
        )
    return parts


def shown(name: str) -> str:
    """Return a name in a form that is safe in a sentence, whoever chose it."""
    return ascii(name[:80])


def _as_listed(opened: int, part: str, name: str, *, new: bool = False) -> str:
    """Return a part as its folder lists it.

    A name that is there in other letters would be the same file on some disks, so it is refused.
    """
    if not any(entry != part and _alike(entry) == _alike(part) for entry in os.listdir(opened)):
        return part
    raise Refused(f"{shown(name)} is there in other letters. Use its name as it is listed.") if new else _absent(name)


def _alike(part: str) -> str:
    return unicodedata.normalize("NFC", part).casefold()


def _refuse_odd(there: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(there.st_mode):
        raise Refused(f"{shown(name)} is no file.")
    if there.st_nlink != 1:
        raise Refused(f"{shown(name)} has another name elsewhere, so it is left alone.")


def _path_of(opened: int, root: Path, parts: tuple[str, ...] | list[str]) -> Path:
    """Return the path of an open folder: from the system if possible, else by its name."""
    link = Path(f"/proc/self/fd/{opened}")
    return link.readlink() if link.is_symlink() else root.joinpath(*parts)


def _below(opened: int, prefix: str) -> Iterator[str]:
    with os.scandir(opened) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name.startswith("."):
            continue
        if entry.is_file(follow_symlinks=False):
            yield f"{prefix}{entry.name}"
        elif entry.is_dir(follow_symlinks=False) and prefix.count("/") < _DEEPEST:
            below = os.open(entry.name, _FOLDER, dir_fd=opened)
            try:
                yield from _below(below, f"{prefix}{entry.name}/")
            finally:
                os.close(below)


def _forget(name: str, opened: int) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=opened)


def _absent(name: str) -> Refused:
    return Refused(f"There is no file {shown(name)}.")


# Trees: every name under a folder with its type and hash, and the differences between two trees.
#
# No link is followed and no report is trusted: the hashes show what a model wrote. The compared folder is the one *around* the scratch
# folder, so that files written next to it show as well.

COPY: Final = "copy"
"""The name of the scratch folder within the folder of a run, which contains nothing else."""

_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Escape:
    """A change that none of Slowwave's tools can have made: the name of the entry, and the problem."""

    name: str
    what: str


def tree(folder: Path) -> dict[str, str]:
    """Return the entries under ``folder`` by name: SHA-256 of a file's bytes, or a description of anything else.

    Files with a second name are described as such. Cost: linear in the bytes.
    """
    found: dict[str, str] = {}
    for at, folders, files in os.walk(folder, followlinks=False):
        base = Path(at)
        for name in (*folders, *files):
            there = (base / name).lstat()
            found[str((base / name).relative_to(folder))] = _described(base / name, there)
    return found


def escapes(
    before: Mapping[str, str], after: Mapping[str, str], may_write: Callable[[str], bool]
) -> tuple[Escape, ...]:
    """Return the forbidden changes between two trees of a run's folder, by name.

    Names in the scratch folder are shown without that folder's name. ``may_write`` returns whether a name in the scratch folder may
    change. Folders may not be added or removed; links and further names of a file are never allowed.
    """
    found: list[Escape] = []
    for path in sorted(before.keys() | after.keys()):
        was, is_ = before.get(path), after.get(path)
        if was == is_:
            continue
        inside = path.startswith(f"{COPY}/")
        name = path.removeprefix(f"{COPY}/") if inside else path
        if is_ is not None and not _is_hash(is_) and is_ != "folder":
            found.append(Escape(name, f"became {is_}"))
        elif not inside:
            found.append(
                Escape(name, "was written outside the copy" if was is None else "was changed outside the copy")
            )
        elif is_ is None:
            found.append(Escape(name, "was deleted"))
        elif is_ == "folder":
            found.append(Escape(name, "is a new folder"))
        elif not may_write(name):
            found.append(
                Escape(name, "was changed, and may only be read" if was else "is new where nothing may be written")
            )
    return tuple(found)


def _described(path: Path, there: os.stat_result) -> str:
    if stat.S_ISDIR(there.st_mode):
        return "folder"
    if stat.S_ISLNK(there.st_mode):
        return "a link"
    if not stat.S_ISREG(there.st_mode):
        return "no file"
    if there.st_nlink != 1:
        return "a file with another name elsewhere"
    digest = hashlib.sha256()
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _is_hash(text: str) -> bool:
    return len(text) == hashlib.sha256().digest_size * 2


# Topic files: memories as lines of Markdown, one entry each, and parsed back.
#
# ``- [mem:ID] text`` is a memory. Further lines of its text are indented by two spaces, so that no text can begin another entry. ``- text
# [source: sessions/x.md]`` is a statement that no memory makes yet, with its source.

_ENTRY: Final = re.compile(r"- (?:\[mem:([0-9a-f-]{36})\] ?)?(.*)")
_SOURCE: Final = re.compile(r"\s*\[source:\s*([^\]\n]{1,300})\]")
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: the memory's id (empty for a new statement), its text without the sources it names, and these sources."""

    memory: str
    text: str
    sources: tuple[str, ...] = ()


def written(heading: str, entries: Iterable[Entry]) -> str:
    """Return the text of a topic file; the same entries give the same text."""
    lines = [f"# {heading}", ""]
    for entry in entries:
        first, *more = entry.text.split("\n")
        mark = f"[mem:{entry.memory}] " if entry.memory else ""
        lines += [f"- {mark}{first}", *(_INDENT + line for line in more)]
    return "\n".join(lines) + "\n"


def entries_of(text: str) -> list[Entry]:
    """Return the entries of a topic file; headings and lines outside of any entry are left out."""
    found: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        entry = _ENTRY.fullmatch(line)
        if entry:
            found.append((entry[1] or "", [entry[2]]))
        elif found and (line.startswith(_INDENT) or not line):
            found[-1][1].append(line.removeprefix(_INDENT))
    return [_entry(memory, lines) for memory, lines in found]


def loose(text: str) -> list[str]:
    """Return the lines of a topic file that belong to no entry and are no heading, whose content would be lost."""
    inside, found = False, list[str]()
    for line in text.split("\n"):
        if _ENTRY.fullmatch(line):
            inside = True
        elif line.strip() and not line.startswith("#") and not (inside and line.startswith(_INDENT)):
            found.append(line)
    return found


def same(one: str, other: str) -> bool:
    """Return whether two texts are identical except for white space at the ends of lines, which an editor removes."""
    return _trimmed(one) == _trimmed(other)


def _entry(memory: str, lines: Sequence[str]) -> Entry:
    text = "\n".join(lines).rstrip("\n")
    sources = tuple(
        dict.fromkeys(part.strip() for found in _SOURCE.findall(text) for part in found.split(",") if part.strip())
    )
    return Entry(memory, _SOURCE.sub("", text).rstrip() if sources else text, sources)


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


# The content of a scratch copy: memories as topic files, the pages of corpora, the index, and the sessions since the last deep pass.
#
# Left out is what a model must not get: texts in which screening finds a secret, an instruction or hidden characters; quarantined and
# forgotten pages; and what exceeds the limits.

TOPICS: Final = "memories"
PAGES: Final = "pages"
SESSIONS: Final = "sessions"

MOST_MEMORIES: Final = 5_000
MOST_PAGES: Final = 2_000
MOST_SESSIONS: Final = 200
MOST_BYTES: Final = 16_000_000
"""Maximum bytes of a copy. If it cannot contain all memories and pages, it contains the newest."""

_SLUG: Final = re.compile(r"[^a-z0-9]+")
_EVIDENCE: Final = "evidence:"
_KINDS_READ: Final = frozenset(("claim", "summary"))
"""Kinds that are not reworded here: claims have a separate history, and summaries represent the memories that they cite."""


@dataclass(frozen=True, slots=True)
class CopiedPage:
    """A page of a corpus for a file of a copy: the document's id, its corpus's root and its path there."""

    document: str
    root: str
    path: str


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A copy of a namespace as it was handed out.

    ``files`` maps names to texts. ``memories`` maps each memory to its topic file, ``subjects`` each topic file to its subject, and
    ``pages`` and ``sessions`` each file to its document. ``may_grow`` maps the folders that may get new files to the root of their
    corpus. ``fresh`` are sessions since the last deep pass, and ``left_out`` counts what is in no file, by reason.
    """

    files: Mapping[str, str]
    memories: Mapping[str, str]
    subjects: Mapping[str, str]
    pages: Mapping[str, CopiedPage]
    sessions: Mapping[str, str]
    may_grow: Mapping[str, str]
    fresh: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)

    def may_write(self, name: str) -> bool:
        """Return whether a file may be changed or created."""
        if name in self.files:
            return name == MEMORY or name in self.pages or name in self.subjects
        try:
            parts = parts_of(name)
        except Refused:
            return False
        folder = "/".join(parts[:2]) if parts[0] == PAGES else parts[0]
        return name.endswith(".md") and (
            (parts[0] == TOPICS and len(parts) == 2) or (folder in self.may_grow and len(parts) > 2)
        )


@dataclass(slots=True)
class _Copy:
    files: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    size: int = 0

    def add(self, name: str, text: str) -> bool:
        """Add a file, and return whether it is within the limits."""
        size = len(text.encode("utf-8", "replace"))
        if size > LONGEST_FILE or self.size + size > MOST_BYTES:
            self.left_out["beyond the limits"] += 1
            return False
        self.size += size
        self.files[name] = text
        return True


def handed_out(snapshot: Snapshot, settings: Settings, since: datetime | None) -> HandedOut:
    """Build the copy of a namespace; ``since`` is the time at which the last deep pass began.

    The same snapshot gives the same copy. Cost: a pass over memories, versions and documents, and a screening of every text in the copy.
    """
    copy = _Copy()
    memories, subjects = _topics(snapshot, copy)
    pages, roots = _pages(snapshot, copy)
    sessions, fresh = _sessions(snapshot, copy, since)
    index = memory_index(snapshot, settings)
    stored = {
        str(row["path"]): row for row in snapshot.live("pages").select(["path", "body", "input_hash"]).to_pylist()
    }
    row = stored.get(MEMORY)
    if row and row["input_hash"] == index.input_hash and (block := find(str(row["body"]))) and block.whole:
        copy.add(MEMORY, block.inside + "\n")
    return HandedOut(copy.files, memories, subjects, pages, sessions, roots, fresh, dict(copy.left_out))


def _topics(snapshot: Snapshot, copy: _Copy) -> tuple[dict[str, str], dict[str, str]]:
    """Return the topic files: memory → file, and file → subject."""
    live = active_memories(snapshot)
    claims = pc.is_in(live["kind"], value_set=pa.array(sorted(_KINDS_READ), pa.string()))
    chosen = live.filter(pc.invert(claims)).sort_by([("recorded_at", "descending"), ("id", "ascending")])
    if len(chosen) > MOST_MEMORIES:
        copy.left_out["beyond the limits"] += len(chosen) - MOST_MEMORIES
        chosen = chosen.slice(0, MOST_MEMORIES)
    groups: dict[str, list[Entry]] = defaultdict(list)
    heading: dict[str, str] = {}
    for row in chosen.select(["id", "subject", "kind", "text"]).to_pylist():
        subject, text = str(row["subject"] or ""), str(row["text"])
        entry = Entry(str(row["id"]), text)
        if not text.strip() or _unfit(text) or _unfit(subject) or not _returns(entry):
            copy.left_out["unsafe"] += bool(text.strip())
            continue
        last = slug(subject) or f"about-{slug(str(row['kind'])) or 'memories'}"
        groups[last].append(entry)
        heading.setdefault(last, " ".join(subject.split()))
    memories: dict[str, str] = {}
    subjects: dict[str, str] = {}
    for last in sorted(groups):
        name = f"{TOPICS}/{last}.md"
        entries = sorted(groups[last], key=lambda entry: entry.memory)
        if copy.add(name, written(heading[last] or last, entries)):
            subjects[name] = heading[last]
            memories |= {entry.memory: name for entry in entries}
    return memories, subjects


def _pages(snapshot: Snapshot, copy: _Copy) -> tuple[dict[str, CopiedPage], dict[str, str]]:
    """Return the pages of corpora: file → page, and folder in which files may be new → its corpus's root."""
    corpora = {str(row["id"]): str(row["root"]) for row in snapshot.live("corpora", ("id", "root")).to_pylist()}
    folders: dict[str, str] = {}
    for corpus, root in sorted(corpora.items(), key=lambda pair: pair[1]):
        if root in (_EVIDENCE, f"{SESSIONS}:"):
            continue
        base = slug(Path(root.rstrip(":")).name) or "corpus"
        folders[corpus] = (
            f"{PAGES}/{base}" if f"{PAGES}/{base}" not in folders.values() else f"{PAGES}/{base}-{corpus[:8]}"
        )
    found: dict[str, CopiedPage] = {}
    for row in _documents(snapshot, "durable", MOST_PAGES, copy):
        folder = folders.get(str(row["corpus_id"]), "")
        path, text = str(row["path"] or ""), str(row["content"])
        metadata = _metadata(row["metadata"])
        if not folder or path.endswith(".tombstone.md") or metadata.keys() & {"quarantined", "forgotten"}:
            continue
        name = f"{folder}/{path}"
        if _unfit(text) or not _fits(name):
            copy.left_out["unsafe"] += 1
        elif copy.add(name, text):
            found[name] = CopiedPage(str(row["id"]), corpora[str(row["corpus_id"])], path)
    return found, {folder: corpora[corpus] for corpus, folder in folders.items()}


def _sessions(snapshot: Snapshot, copy: _Copy, since: datetime | None) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the sessions to read, newest first, without their secrets: file → document, and those since the last deep pass."""
    found: dict[str, str] = {}
    fresh: list[str] = []
    versions = snapshot.table("documents").select(["version_of", "invalidated_at"])
    last = (
        versions.filter(pc.is_valid(versions["version_of"]))
        .group_by("version_of")
        .aggregate([("invalidated_at", "max")])
    )
    changed = dict(zip(last["version_of"].to_pylist(), last["invalidated_at_max"].to_pylist(), strict=True))
    for row in _documents(snapshot, SESSIONS, MOST_SESSIONS, copy):
        name = f"{SESSIONS}/{PurePosixPath(str(row['path'] or row['id'])).name}"
        if name in found:  # another agent has a session with that day and name
            name = f"{name.removesuffix('.md')}-{str(row['id'])[:8]}.md"
        text = redact(str(row["content"]))
        if not _fits(name) or any(f.kind == "injection" and f.severity != "low" for f in screen(text)):
            copy.left_out["unsafe"] += 1
        elif copy.add(name, text):
            found[name] = str(row["id"])
            if since is None or max(row["recorded_at"], changed.get(str(row["id"]), row["recorded_at"])) > since:
                fresh.append(name)
    return found, tuple(sorted(fresh))


def _documents(snapshot: Snapshot, plane: str, most: int, copy: _Copy) -> list[dict[str, Any]]:
    """Return the newest live documents of a plane."""
    columns = ("id", "corpus_id", "path", "content", "metadata", "recorded_at", "plane", "version_of")
    live = snapshot.live("documents", columns)
    live = live.filter(pc.and_(pc.equal(live["plane"], plane), pc.is_null(live["version_of"])))
    live = live.sort_by([("recorded_at", "descending"), ("id", "ascending")])
    copy.left_out["beyond the limits"] += max(0, len(live) - most)
    return live.slice(0, most).to_pylist()


def _returns(entry: Entry) -> bool:
    """Return whether an entry can be parsed back from its text; an entry that names sources cannot."""
    text = written("x", [entry])
    back = entries_of(text)
    return len(back) == 1 and not loose(text) and not back[0].sources and same(back[0].text, entry.text)


def _unfit(text: str) -> bool:
    return any(f.kind in ("secret", "injection", "hidden") and f.severity != "low" for f in screen(text))


def _fits(name: str) -> bool:
    try:
        parts_of(name)
    except Refused:
        return False
    return True


def _metadata(cell: object) -> Mapping[str, object]:
    try:
        found: Any = json.loads(str(cell))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def slug(text: str) -> str:
    """Return a text as the name of a file: Latin letters and digits, at most 60, or empty if it has none."""
    return _SLUG.sub("-", text.casefold()).strip("-")[:60].strip("-")

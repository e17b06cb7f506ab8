"""What a scratch copy holds: memories as topic files, the pages of corpora, the index, and the sessions since the last deep pass to be
read.

Left out is what must not be trusted to a model or comes from none of them: texts that screening finds a secret, an order or hidden
characters in, quarantined and forgotten pages, and what the limits do not reach. Writing the files belongs to ``slowwave.deep.scratch``.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.deep.scratch import LONGEST_FILE, parts_of
from slowwave.deep.topics import Entry, entries_of, loose, same, written
from slowwave.errors import Refused
from slowwave.pages.blocks import find
from slowwave.pages.index import memory_index
from slowwave.pages.page import MEMORY
from slowwave.rows.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.screening import redact, screen

TOPICS: Final = "memories"
PAGES: Final = "pages"
SESSIONS: Final = "sessions"

MOST_MEMORIES: Final = 5_000
MOST_PAGES: Final = 2_000
MOST_SESSIONS: Final = 200
MOST_BYTES: Final = 16_000_000
"""ToolLimits of a copy; of memories and pages the newest are in it."""

_SLUG: Final = re.compile(r"[^a-z0-9]+")
_EVIDENCE: Final = "evidence:"
_KINDS_READ: Final = frozenset(("claim", "summary"))
"""Claims have a history of their own, summaries stand for what they cite: neither is reworded here."""


@dataclass(frozen=True, slots=True)
class CopiedPage:
    """A page of a corpus by the file that it is in a copy: the document's id, its corpus's root and its path there."""

    document: str
    root: str
    path: str


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A copy as it was handed out: name → text. ``memories`` says which memory stands in which topic file, ``subjects`` what a topic
    file is about, ``pages`` and ``sessions`` which document a file is, ``may_grow`` folders in which files may be new, with their
    corpus's root.

    ``fresh`` are sessions since the last deep pass, ``left_out`` counts what is in no file, by why.
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
        """Whether a file may be changed, or be new."""
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
        """Whether a file has its place."""
        size = len(text.encode("utf-8", "replace"))
        if size > LONGEST_FILE or self.size + size > MOST_BYTES:
            self.left_out["beyond the limits"] += 1
            return False
        self.size += size
        self.files[name] = text
        return True


def handed_out(snapshot: Snapshot, settings: Settings, since: datetime | None) -> HandedOut:
    """The copy of a namespace; ``since`` is when the last deep pass began. The same snapshot gives the same copy. Cost: a pass over
    memories, versions and documents, and a screening of every text that is in it."""
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
    """Topic files: memory → file, file → subject."""
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
    """Pages of corpora: file → page; folder in which files may be new → its corpus's root."""
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
    """Sessions to be read, the newest first, without their secrets: file → document, and those since the last deep pass."""
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
        if name in found:  # another agent's session of that day and name
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
    """The newest live documents of a plane."""
    columns = ("id", "corpus_id", "path", "content", "metadata", "recorded_at", "plane", "version_of")
    live = snapshot.live("documents", columns)
    live = live.filter(pc.and_(pc.equal(live["plane"], plane), pc.is_null(live["version_of"])))
    live = live.sort_by([("recorded_at", "descending"), ("id", "ascending")])
    copy.left_out["beyond the limits"] += max(0, len(live) - most)
    return live.slice(0, most).to_pylist()


def _returns(entry: Entry) -> bool:
    """Whether an entry reads as what it was written from: one that names a source of its own would not."""
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
    """A text as the name of a file: Latin letters and digits, at most 60; empty where it has none."""
    return _SLUG.sub("-", text.casefold()).strip("-")[:60].strip("-")

"""Staged pages: what every input becomes first, a page in Markdown that says from which file and line it comes.

A Markdown file stays as it is, but for ends of lines as Unix has them and no byte order mark. What was something else says so in its head.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import PurePosixPath
from typing import Any, Final

from slowwave.corpus.page_text import changed_head, verbatim_page
from slowwave.matching.alphabets import latin
from slowwave.migrating.records import TypedRecord
from slowwave.migrating.source_files import SourceFile

IMPORTED: Final = "sources/imported"
"""Where pages lie that have no place of their own."""

LONGEST_PLACE: Final = 200
_UNSAFE: Final = re.compile(r"[^a-z0-9._-]+")
_NOT_WRITTEN: Final = re.compile(r"(?:logs/sessions|archive|inbox/(?:proposed|applied|rejected))/")
"""Places at which no plan writes: sessions are ingested, archives are closed, proposals are answered."""


@dataclass(frozen=True, slots=True)
class StagedPage:
    """A page: the file (and the line of it) that it comes from, its place, its text, and by which reader it was made.

    ``at_home``: its folder is a corpus in which it has this place. ``records`` are typed entries of a structured file.
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
    """A page made of what was no Markdown; ``body`` is kept to the byte."""
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
    """A page that has a head already, which says besides where it comes from."""
    body = changed_head(text, origin(source, line)) + text[len(changed_head(text, {})) :]
    return StagedPage(source.path, source.sha256, line, source.day, place, body, reader)


def origin(source: SourceFile, line: int) -> dict[str, object]:
    """The fields that say where a page comes from."""
    return {"migrated_from": source.path, "source_sha256": source.sha256, "source_line": line}


def place_of(path: str) -> str:
    """A path as a page can have it: small Latin letters, digits, dots, hyphens and _; ``.md`` behind what has another ending."""
    parts = [_part(part) for part in PurePosixPath(path).parts]
    name = parts[-1].removesuffix(".markdown").removesuffix(".md")
    whole = "/".join([*parts[:-1], f"{name or 'page'}.md"])
    if len(whole) > LONGEST_PLACE:
        whole = f"{whole[: LONGEST_PLACE - 20].rstrip('/.-_')}-{_short(path)}.md"
    return whole


def slug(text: str, longest: int = 60) -> str:
    """A text as a part of a path."""
    return _part(text)[:longest].strip("-._") or "page"


def placed(pages: Sequence[StagedPage], label: str) -> list[StagedPage]:
    """The pages, each at a place of its own: one that is at home stays there while nothing else does, the others lie under
    ``sources/imported/LABEL/``. The same pages always get the same places, in whatever order they come.
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

"""The files of pages: which files a folder has, their fields, links and headings, and the chunks that they are cut into."""

from __future__ import annotations

import hashlib
import mimetypes
import os
import re
import stat
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from slowwave.errors import Refused
from slowwave.sources.chunking import MarkdownChunk, chunks_of
from slowwave.sources.profile import PageType, Plane, Profile, matches
from slowwave.sources.rows import BadRow, storable
from slowwave.text.frontmatter import UnreadableFile, frontmatter

# The body of a Markdown file: its headings, the blocks and tags that it names, and its links. Code is excluded.

LinkKind = Literal["wikilink", "markdown", "embed", "mention"]
LONGEST_TARGET: Final = 500
_WIKILINK: Final = re.compile(r"(!?)\[\[([^\[\]\n]{1,1000})\]\]")
_BLOCK: Final = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)\s*$")
_ADDRESS: Final = re.compile(r"//|[A-Za-z][A-Za-z0-9+.-]*:")
_OTHER_FILE: Final = re.compile(r"\.(?!(?:md|markdown)$)[a-z][a-z0-9]{0,9}$", re.IGNORECASE)
_TAG: Final = re.compile(r"(?<![\w/#&])#([^\W\d_][\w/-]*)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as plain text, and its line in the file."""

    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link as it is written, with percent signs decoded.

    ``target`` has no anchor; if it is empty, the link points to the page itself. ``line`` is the line of the file.
    """

    kind: LinkKind
    target: str
    anchor: str
    line: int


@dataclass(frozen=True, slots=True)
class MarkdownPage:
    """The headings, links, blocks, tags and prose of a body."""

    headings: tuple[Heading, ...] = ()
    links: tuple[PageLink, ...] = ()
    blocks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    attachments: tuple[PageLink, ...] = ()
    """Embeds of files that are not pages."""

    prose: tuple[tuple[int, str], ...] = ()
    """The line and words of text that is neither code nor link nor HTML."""

    @property
    def title(self) -> str:
        """Return the first heading of the first level."""
        return next((h.text for h in self.headings if h.level == 1 and h.text), "")


def markdown_page(body: str, first_line: int = 1) -> MarkdownPage:
    """Parse a body whose first line is ``first_line`` of its file."""
    headings: list[Heading] = []
    links: list[PageLink] = []
    attachments: list[PageLink] = []
    blocks: list[str] = []
    tags: dict[str, None] = {}
    prose: list[tuple[int, str]] = []
    level = 0
    defined: dict[str, Any] = {}
    tokens = _parser().parse(body, defined)
    references = defined.get("references", {})
    notes = {str(found["href"]) for label, found in references.items() if label.startswith("^")}
    for token in tokens:
        level = int(token.tag[1]) if token.type == "heading_open" else level if token.type == "inline" else 0
        if token.type != "inline" or token.map is None:
            continue
        line = first_line + token.map[0]
        if level:
            headings.append(Heading(level, _plain(token), line))
        blocks += [found[1] for text in token.content.splitlines() if (found := _BLOCK.search(text))]
        for child, at in _inside(token, line):
            if child.type == "text":
                tags.update(dict.fromkeys(_TAG.findall(child.content)))
                prose.append((at, child.content))
            elif child.attrGet("href") in notes:
                continue  # in CommonMark, a footnote is a link to its first word
            elif (link := link_of(child, at)) is not None:
                links.append(link)
            elif (file := attachment_of(child, at)) is not None:
                attachments.append(file)
    return MarkdownPage(
        *(tuple(headings), tuple(links), tuple(dict.fromkeys(blocks)), tuple(tags)),
        attachments=tuple(attachments),
        prose=tuple(prose),
    )


def parse_body(text: str) -> MarkdownPage:
    """Parse the body of a whole file, after its frontmatter."""
    head = frontmatter(text)
    return markdown_page(text[head.end :], head.lines + 1)


def _inside(token: Token, line: int) -> Iterator[tuple[Token, int]]:
    """Yield the parts of a paragraph, each with its line."""
    for child in token.children or ():
        yield child, line
        line += child.type in ("softbreak", "hardbreak")


def _plain(token: Token) -> str:
    """Return the words of a heading."""
    parts = [c.meta.get("shown", c.content) if c.type == "wikilink" else c.content for c in token.children or ()]
    return _BLOCK.sub("", " ".join("".join(parts).split()))


def link_of(token: Token, line: int) -> PageLink | None:
    """Return the page link of a part of a paragraph, with its target as written; None if it is no such link."""
    if token.type == "wikilink":
        target, _, anchor = token.content.partition("#")
        return _page_link(token.meta["kind"], target.strip(), anchor.strip(), line)
    if token.type == "link_open":
        return _href("markdown", str(token.attrGet("href") or ""), line)
    return _href("embed", str(token.attrGet("src") or ""), line) if token.type == "image" else None


def attachment_of(token: Token, line: int) -> PageLink | None:
    """Return the embed of a file that is not a page, such as a picture, with its target as written; None for any other part."""
    if token.type == "image":
        target = unquote(str(token.attrGet("src") or "").partition("#")[0])
        target = "" if _ADDRESS.match(target) else target
    else:
        is_embed = token.type == "wikilink" and token.meta["kind"] == "embed"
        target = token.content.partition("#")[0].strip() if is_embed else ""
    is_file = target and len(target) <= LONGEST_TARGET and _page_link("embed", target, "", line) is None
    return PageLink("embed", target, "", line) if is_file else None


def _href(kind: LinkKind, href: str, line: int) -> PageLink | None:
    """Return a link to a page of the same folder, or None for addresses elsewhere."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return None
    if parts.scheme or parts.netloc or not href:
        return None
    return _page_link(kind, unquote(parts.path), unquote(parts.fragment), line)


def _page_link(kind: LinkKind, target: str, anchor: str, line: int) -> PageLink | None:
    """Return a link to a page, or None for a target that is not a page: a picture, a sheet, a program.

    A name in a wikilink may contain a dot (``v1.beta``).
    """
    known = mimetypes.guess_type(target)[0]
    if (
        (known and known != "text/markdown")
        or (kind == "markdown" and _OTHER_FILE.search(target))
        or len(target) > LONGEST_TARGET
        or "\0" in target + anchor
        or not (target or anchor)
    ):
        return None
    return PageLink(kind, target, anchor[:LONGEST_TARGET], line)


def wikilink(state: StateInline, silent: bool) -> bool:
    """Parse ``[[target#anchor|shown]]`` and ``![[…]]`` as a token ``wikilink``, as a rule of markdown-it-py."""
    found = _WIKILINK.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        target, _, shown = found[2].partition("|")
        token = state.push("wikilink", "", 0)
        token.content = target.removesuffix("\\")  # in a table, the bar is escaped
        token.meta = {"kind": "embed" if found[1] else "wikilink", "shown": shown or target}
    state.pos = found.end()
    return True


@cache
def _parser() -> MarkdownIt:
    """Return a parser for CommonMark with tables.

    Raw HTML is parsed as text, and never as a link.
    """
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    parser.inline.ruler.before("link", "wikilink", wikilink)
    return parser


# Fields: what a page states about itself, in one form whatever its frontmatter looks like, by the rules of a profile.
#
# A word that the profile does not know is left out, its default is used, and ``problems`` names it: a page is never refused for a status.

LONGEST_TITLE: Final = 400
_TYPE_ENDS: Final = re.compile(r"[#|—]")
_DAY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})(?!\d)")
_PLAIN: Final = ("superseded_by", "slug", "agent", "device", "session_id", "domain", "confidence", "captured_from")
_MOST: Final = 200  # tags or aliases of one page


@dataclass(frozen=True, slots=True)
class PageFields:
    """The fields of a page: its ``values`` as stored in ``documents.metadata``, its title, its plane and its day.

    A value that is absent is unknown.
    """

    values: Mapping[str, Any]
    title: str
    plane: Plane
    day: date | None


def fields_of(written: Mapping[str, Any], path: str, page: MarkdownPage, profile: Profile) -> PageFields:
    """Return the fields of a page from its frontmatter, its path and its body."""
    problems: list[str] = []
    plane = profile.plane_of(path)
    type_ = _type(written.get("type"), path, profile, problems)
    kind, defaults = profile.types.get(type_, PageType()), profile.defaults

    def word(name: str, known: Sequence[str], aliases: Mapping[str, str], default: str | None) -> str | None:
        value = _text(written.get(name)).lower()
        value = aliases.get(value, value)
        if value and (not known or value in known):
            return value
        if value:
            problems.append(f"{name}: {value[:64]!r} is none of {', '.join(known)}")
        return default

    default_kind = kind.source_kind or ("extracted" if written.get("sources") else defaults.source_kind)
    values: dict[str, Any] = {
        "type": type_,
        "status": word("status", profile.statuses, profile.status_aliases, kind.status or defaults.status),
        "canonical": _canonical(written.get("canonical"), path, kind, profile),
        "source_kind": word("source_kind", profile.source_kinds, {}, default_kind),
        "temperature": word("temperature", profile.temperatures, {}, kind.temperature or defaults.temperature),
        "visibility": word("visibility", profile.visibilities, {}, None),
        "sensitivity": word("sensitivity", profile.sensitivities, {}, None),
        "area": word("area", profile.areas, {}, None),
    }
    for name in ("created", "updated", "date"):
        values[name] = _day(name, written.get(name), problems)
    values["date"] = values["date"] or _dated(PurePosixPath(path).name)
    for name in _PLAIN:
        values[name] = _text(written.get(name)) or None
    for name in ("pinned", "has_timeline"):
        values[name] = True if written.get(name) is True else None
    stem = PurePosixPath(path).stem
    values["slug"] = values["slug"] or (PurePosixPath(path).parent.name if stem in ("state", "index") else stem) or stem
    tags = [tag.lstrip("#") for tag in _listed(written.get("tags", written.get("tag")))]
    values["tags"] = list(dict.fromkeys([*tags, *(page.tags if profile.inline_tags else ())]))[:_MOST]
    values["aliases"] = _listed(written.get("aliases", written.get("alias")), words=False)[:_MOST]
    title = _text(written.get("title")) or _day_and(page.title, stem) or title_of_name(stem)
    values["title"] = title = title[:LONGEST_TITLE]
    sections = profile.sections_of(path, type_)
    if sections and values["canonical"]:
        there = {heading.text.casefold() for heading in page.headings}
        values["missing_sections"] = [name for name in sections if name.casefold() not in there] or None
    values["headings"] = [heading.text for heading in page.headings][:_MOST]
    values["blocks"] = list(page.blocks)[:_MOST]
    values["problems"] = problems or None
    day = values["date"] or values["created"]
    return PageFields(
        {name: value for name, value in values.items() if value is not None},
        title,
        plane,
        date.fromisoformat(day) if day else None,
    )


def _type(written: object, path: str, profile: Profile, problems: list[str]) -> str:
    type_name = _TYPE_ENDS.split(_text(written))[0].strip().lower()
    type_name = profile.type_aliases.get(type_name, type_name)
    if path.startswith("archive/") and "archive" in profile.types:
        return "archive"
    if type_name and (not profile.closed or type_name in profile.types):
        return type_name
    if type_name:
        problems.append(f"type: {type_name[:64]!r} is no type of the profile {profile.name}")
    return profile.type_of(path)


def _canonical(written: object, path: str, kind: PageType, profile: Profile) -> bool:
    if isinstance(written, bool):
        return written
    if kind.canonical_if is not None:
        return matches(path, kind.canonical_if)
    return profile.defaults.canonical if kind.canonical is None else kind.canonical


def _day(name: str, written: object, problems: list[str]) -> str | None:
    text = _text(written)
    found = _dated(text) if text else None
    if text and found is None:
        problems.append(f"{name}: {text[:64]!r} is no day (YYYY-MM-DD)")
    return found


def _dated(text: str) -> str | None:
    found = _DAY.search(text)
    try:
        return date.fromisoformat(found[1]).isoformat() if found else None
    except ValueError:
        return None


def _day_and(heading: str, stem: str) -> str:
    """Return the first heading, after the day if the file is named by one that the heading does not state ("# Friday")."""
    is_day = _dated(stem) == stem and stem not in heading
    return f"{stem} {heading}" if heading and is_day else heading


def title_of_name(stem: str) -> str:
    """Return the title that a file's name gives: its words, with dates as they are written."""
    return re.sub(r"(?<!\d)[-_]|[-_](?!\d)", " ", stem)


def _text(value: object) -> str:
    """Return a word or number as text; empty for any other value, such as a list or mapping."""
    return " ".join(str(value).split()) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _listed(value: object, *, words: bool = True) -> list[str]:
    """Return a list, or the parts of a text that are separated by commas (and, for ``words``, by spaces)."""
    if isinstance(value, str):
        parts: Sequence[object] = re.split(r"[,\s]+" if words else r",", value)
    else:
        parts = value if isinstance(value, list) else ()
    return list(dict.fromkeys(text for part in parts if (text := _text(part))))


# A parsed file of a corpus: its bytes as text, its fields, chunks and links. ``slowwave.wiki.corpus.writing`` stores it.


class Unsettled(Exception):  # noqa: N818 - a finding of this package, always caught in it
    """A file that is being written: it changed while it was read, or is gone again.

    It is read the next time.
    """


@dataclass(frozen=True, slots=True)
class FileMark:
    """The size of a file in bytes and its modification time in nanoseconds, which show that it has not been touched."""

    size: int
    mtime: int

    @classmethod
    def from_stat(cls, found: os.stat_result) -> FileMark:
        """Build the mark from the system's file status."""
        return cls(found.st_size, found.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class PageFile:
    """A page of a corpus; ``text`` is the whole file and, encoded, equals its bytes."""

    path: str
    content_hash: str
    text: str
    body_line: int
    written: Mapping[str, Any]
    fields: PageFields
    page: MarkdownPage
    chunks: tuple[MarkdownChunk, ...]


def read_bytes(file: Path, mark: FileMark, largest: int) -> bytes:
    """Return the bytes of a regular file that still matches ``mark``.

    Raises ``Unsettled``, and ``UnreadableFile`` for a file that cannot be read or has more than ``largest`` bytes.
    """
    if mark.size > largest:
        raise UnreadableFile(f"it has {mark.size:,} bytes, more than {largest:,}")
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as opened:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise UnreadableFile("it is no file")
            content = opened.read(largest + 1)
            after = os.fstat(descriptor)
    except FileNotFoundError:
        raise Unsettled from None
    except OSError as problem:
        raise UnreadableFile(f"it cannot be read ({problem.strerror})") from None
    if not FileMark.from_stat(before) == FileMark.from_stat(after) == mark:
        raise Unsettled
    return content


def page_file(path: str, content: bytes, profile: Profile) -> PageFile:
    """Build a page from its bytes.

    Raises ``UnreadableFile``, with the line if there is one.
    """
    text = decoded(content)
    head = frontmatter(text)
    try:
        storable(head.fields, "its frontmatter")
    except BadRow as problem:
        raise UnreadableFile(str(problem), 1) from None
    body_line = head.lines + 1
    body = text[head.end :] if head.lines else text.removeprefix("\ufeff")
    page = markdown_page(body, body_line)
    return PageFile(
        path,
        content_hash(content),
        text,
        body_line,
        head.fields,
        fields_of(head.fields, path, page, profile),
        page,
        tuple(chunks_of(text, body_line)),
    )


def content_hash(content: bytes) -> str:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(content).hexdigest()


def decoded(content: bytes) -> str:
    """Decode the bytes of a file.

    Raises ``UnreadableFile`` with the line for a NUL byte and for text that is not UTF-8.
    """
    if (nul := content.find(b"\0")) >= 0:
        raise UnreadableFile("it is no text (it holds a NUL byte)", content.count(b"\n", 0, nul) + 1)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise UnreadableFile("it is not UTF-8", content.count(b"\n", 0, problem.start) + 1) from None


# The files of a folder: which a profile takes, the mark of each, and what is left out, with the reason.
#
# Only names and marks are read here, not the content of files.


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is left out; ``line`` is 0 for the whole file."""

    path: str
    line: int
    reason: str

    def to_json(self) -> dict[str, object]:
        """Return the file as ``--json`` shows it."""
        return {"path": self.path, "line": self.line, "reason": self.reason}


@dataclass(slots=True)
class FolderScan:
    """The pages by relative path (with slashes), the files that were left out, and the folders that could not be read."""

    files: dict[str, FileMark] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)


def scan_folder(root: Path, profile: Profile, known: Collection[str] = ()) -> FolderScan:
    """Scan a folder for pages.

    Names that begin with a dot are skipped, and links to folders are not followed. A link to a file is left out with a reason: if it
    points into the folder, the file itself is taken, otherwise nothing is. Of names that differ only in case or in the spelling of
    accents, the ``known`` one is taken, else the first. Raises ``Refused`` if there is no folder.
    """
    found = FolderScan()
    if not root.is_dir():
        raise Refused(
            f"{root} is no folder that can be read, so nothing was looked at and nothing is taken for gone. "
            "Mount it, or connect or add it under its new path."
        )
    inside = root.resolve()
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError as problem:
            found.closed.append(folder)
            found.left_out.append(
                LeftOut(folder.rstrip("/") or ".", 0, f"the folder cannot be read ({problem.strerror})")
            )
            continue
        for entry in entries:
            path = folder + entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(f"{path}/")
            elif profile.takes(path):
                _look(entry, path, inside, found)
    _leave_doubles(found, frozenset(known))
    found.files = dict(sorted(found.files.items()))
    found.left_out.sort(key=lambda out: out.path)
    return found


def _look(entry: os.DirEntry[str], path: str, inside: Path, found: FolderScan) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        found.left_out.append(LeftOut(path.encode(errors="replace").decode(), 0, "its name is not UTF-8"))
        return
    if entry.is_symlink():
        within = Path(entry.path).resolve().is_relative_to(inside)
        reason = "it is a link; the file that it names is taken" if within else "it is a link out of the folder"
        found.left_out.append(LeftOut(path, 0, reason))
        return
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return  # deleted since the folder was listed
    if stat.S_ISREG(status.st_mode):
        found.files[path] = FileMark.from_stat(status)
    else:
        found.left_out.append(LeftOut(path, 0, "it is no file"))


def _leave_doubles(found: FolderScan, known: frozenset[str]) -> None:
    """Keep one of the files whose names other systems treat as equal, a known one first, and leave out the others."""
    spelled: defaultdict[str, list[str]] = defaultdict(list)
    for path in found.files:
        spelled[unicodedata.normalize("NFC", path).casefold()].append(path)
    for paths in spelled.values():
        taken, *others = sorted(paths, key=lambda path: (path not in known, path))
        for path in others:
            del found.files[path]
            found.left_out.append(
                LeftOut(path, 0, f"its name differs from {taken} in case alone, and many systems hold one of the two")
            )

"""The body of a Markdown file: its headings, the blocks and tags that it names, and where it links to. Code is none of these."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

LinkKind = Literal["wikilink", "markdown", "embed", "mention"]
LONGEST_TARGET: Final = 500
_WIKILINK: Final = re.compile(r"(!?)\[\[([^\[\]\n]{1,1000})\]\]")
_BLOCK: Final = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)\s*$")
_OTHER_FILE: Final = re.compile(r"\.(?!(?:md|markdown)$)[a-z][a-z0-9]{0,9}$", re.IGNORECASE)
_TAG: Final = re.compile(r"(?<![\w/#&])#([^\W\d_][\w/-]*)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as plain text and the line of the file that it stands in."""

    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link as it is written: ``target`` without anchor (empty: the page itself), percent signs decoded. ``line`` is of the file."""

    kind: LinkKind
    target: str
    anchor: str
    line: int


@dataclass(frozen=True, slots=True)
class MarkdownPage:
    """What a body holds besides its words."""

    headings: tuple[Heading, ...] = ()
    links: tuple[PageLink, ...] = ()
    blocks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    prose: tuple[tuple[int, str], ...] = ()
    """Line and words of what is neither code nor link nor HTML."""

    @property
    def title(self) -> str:
        """The first heading of the first level."""
        return next((h.text for h in self.headings if h.level == 1 and h.text), "")


def markdown_page(body: str, first_line: int = 1) -> MarkdownPage:
    """Read a body whose first line is ``first_line`` of its file."""
    headings: list[Heading] = []
    links: list[PageLink] = []
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
                continue  # to CommonMark, a footnote is a link to its first word
            elif (link := link_of(child, at)) is not None:
                links.append(link)
    return MarkdownPage(tuple(headings), tuple(links), tuple(dict.fromkeys(blocks)), tuple(tags), tuple(prose))


def _inside(token: Token, line: int) -> Iterator[tuple[Token, int]]:
    """The parts of a paragraph, each with its line."""
    for child in token.children or ():
        yield child, line
        line += child.type in ("softbreak", "hardbreak")


def _plain(token: Token) -> str:
    """The words of a heading."""
    parts = [c.meta.get("shown", c.content) if c.type == "wikilink" else c.content for c in token.children or ()]
    return _BLOCK.sub("", " ".join("".join(parts).split()))


def link_of(token: Token, line: int) -> PageLink | None:
    """The page that a part of a paragraph links to as it is written; None for what is no such link."""
    if token.type == "wikilink":
        target, _, anchor = token.content.partition("#")
        return _page_link(token.meta["kind"], target.strip(), anchor.strip(), line)
    if token.type == "link_open":
        return _href("markdown", str(token.attrGet("href") or ""), line)
    return _href("embed", str(token.attrGet("src") or ""), line) if token.type == "image" else None


def _href(kind: LinkKind, href: str, line: int) -> PageLink | None:
    """A link to a page of the same folder; addresses elsewhere are none."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return None
    if parts.scheme or parts.netloc or not href:
        return None
    return _page_link(kind, unquote(parts.path), unquote(parts.fragment), line)


def _page_link(kind: LinkKind, target: str, anchor: str, line: int) -> PageLink | None:
    """None for what is no page: a picture, a sheet, a program. A name in a wikilink may have a dot of its own (``v1.beta``)."""
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
    """The rule of markdown-it-py that reads ``[[target#anchor|shown]]`` and ``![[…]]`` as a token ``wikilink``."""
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
    """CommonMark with tables. Raw HTML is text as any other, and never a link."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    parser.inline.ruler.before("link", "wikilink", wikilink)
    return parser

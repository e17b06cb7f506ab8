"""The pages of a compiled wiki that list other pages: an index by type, the hot pages, and a log by day.

The functions have no side effects. Each page has one block, and the rest of it belongs to the user, as on every page. A line is shorter
than 150 characters, and the index stays within its limits.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from slowwave.sources.blocks import RenderedBody, rendered_body, section_block
from slowwave.wiki.pages.lines import LINE, hook

INDEX: Final = "wiki/index.md"
HOT: Final = "wiki/hot.md"
LOG: Final = "wiki/log.md"
TITLES: Final = {INDEX: "Index", HOT: "Hot", LOG: "Log"}
"""Path → its title, which is the heading of its block."""

HOTTEST: Final = 10
"""Maximum number of pages in each list of the hot page."""

ORDER: Final = ("core", "person", "project", "concept", "decision")
"""Types in the order of an index; others follow by name."""

_NAMED: Final = 60  # characters of a title
_LOGGED: Final = 1_000  # lines of a log
_HEADINGS: Final = {"person": "People", "core": "Core", "knowledge": "Knowledge"}


@dataclass(frozen=True, slots=True)
class ListedPage:
    """An entry for a page in the lists of other pages.

    ``says`` is the first statement of the page in its own words, empty if the page must not be quoted. ``updated`` is an ISO day.
    """

    path: str
    title: str
    type: str
    says: str = ""
    updated: str = ""


def wiki_body(path: str, content: str, before: str | None = None) -> RenderedBody:
    """Render the body of one of the three pages with this content.

    ``before`` is the current body, None if there is none. Raises ``Refused`` for damaged marks.
    """
    title = TITLES[path]
    if before is None:
        return RenderedBody(f"# {title}\n\n{section_block(title, content)}\n", (title,))
    return rendered_body(before, {title: content}, (title,))


def index_content(pages: Iterable[ListedPage], max_lines: int, max_bytes: int) -> str:
    """Return one line per page under its type, ordered by title.

    Beyond the limits the pages that were changed longest ago are only counted.
    """
    listed = sorted(pages, key=lambda p: (p.updated, p.path), reverse=True)
    lines = {page.path: line for page in listed if (line := _line(page))}
    shown = [page for page in listed if page.path in lines]
    content = _grouped(shown, lines, len(listed) - len(shown))
    while shown and (content.count("\n") + 1 > max_lines or len(content.encode()) > max_bytes):
        over = max(content.count("\n") + 1 - max_lines, (len(content.encode()) - max_bytes) // LINE)
        shown = shown[: len(shown) - max(1, over)]
        content = _grouped(shown, lines, len(listed) - len(shown))
    return content


def hot_content(pages: Iterable[ListedPage], recalled: Sequence[str]) -> str:
    """Return the lists of the pages changed last and of the pages recalled most, with at most ``HOTTEST`` entries each.

    ``recalled`` are paths, the most recalled first.
    """
    known = {page.path: page for page in pages if page.path not in TITLES}
    parts: list[str] = []
    # The summaries are on the pages themselves and in the index, so they are not repeated here.
    known = {path: replace(page, says="") for path, page in known.items()}
    changed = sorted(known.values(), key=lambda p: (p.updated, p.path), reverse=True)
    for heading, some in (("Changed lately", changed), ("Recalled most", [known[p] for p in recalled if p in known])):
        if lines := [line for page in some if (line := _line(page))][:HOTTEST]:
            parts.append("\n".join([f"**{heading}**", "", *lines]))
    return "\n\n".join(parts)


def log_content(days: Mapping[str, Sequence[ListedPage]]) -> str:
    """Return one line per day (ISO) with the pages written on that day, for the newest 1,000 days."""
    return "\n".join(_day_line(day, days[day]) for day in sorted(days)[-_LOGGED:])


def _day_line(day: str, pages: Sequence[ListedPage]) -> str:
    line, rest = f"- {day}:", len(pages)
    for page in pages:
        link, more = _link(page), f" and {rest - 1:,} more"
        if len(line) + len(link) + 2 + (len(more) if rest > 1 else 0) > LINE:
            break
        line, rest = f"{line} {link},", rest - 1
    return line.removesuffix(",") + (
        f" and {rest:,} more" if rest and rest < len(pages) else f" {rest:,} pages" if rest else ""
    )


def _grouped(shown: Sequence[ListedPage], lines: dict[str, str], omitted: int) -> str:
    types = sorted({page.type for page in shown}, key=lambda t: (ORDER.index(t) if t in ORDER else len(ORDER), t))
    parts: list[str] = []
    for kind in types:
        named = sorted((p for p in shown if p.type == kind), key=lambda p: (p.title.casefold(), p.path))
        heading = _HEADINGS.get(kind) or f"{hook(kind.capitalize(), _NAMED)}s"
        parts.append("\n".join([f"## {heading}", "", *(lines[p.path] for p in named)]))
    if omitted:
        parts.append(f"_{omitted:,} more are not shown: the index has reached its limit._")
    return "\n\n".join(parts)


def _line(page: ListedPage) -> str:
    """Format the line of a page; empty if the path is too long for a title."""
    start = f"- {_link(page)}"
    if len(start) > LINE:
        return ""
    room = LINE - len(start) - 3
    return f"{start} · {hook(page.says, room)}" if page.says and room > 20 else start


def _link(page: ListedPage) -> str:
    target = quote(posixpath.relpath(page.path, posixpath.dirname(INDEX)))
    return f"[{hook(page.title or page.path, _NAMED)}]({target})"

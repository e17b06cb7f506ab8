"""What a wake tells of, read from the store: documents of the profile's sections, pinned decisions, memories, recent sessions.

Retired, quarantined and hidden rows are not read. One statement for documents, one for memories, one for sessions; each by an index of the
namespace and bounded. How the budget is shared belongs to ``slowwave.recall.wake``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg.rows import class_row

from slowwave.recall.wake import SectionContent, lines_with, passages
from slowwave.recall.wake_profiles import PROJECT, WakeProfile, WakeProfiles, WakeSection
from slowwave.store.connect import Connection
from slowwave.texts.frontmatter import body
from slowwave.texts.markup import plain_line, without_marks
from slowwave.texts.quotation import quotable

_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9_.-]*", re.IGNORECASE)
_LONGEST_DECISION: Final = 400
_LONGEST_SESSION: Final = 120
_LONGEST_PAGE: Final = 160
_ITEM: Final = re.compile(r"(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_SPEAKER: Final = re.compile(r"\*\*[^*\n]{1,40}\*\*:?(?:[ \t]*[\[(]?\d{4}-\d\d-\d\d[^\n]{0,30})?$")
"""A line that only names who speaks: "**user**", "**Mara** (2026-05-04 09:00)"; not "**user** Hello."."""
_PROSE: Final = re.compile(r"[\w\"'“‘*_`(]")

_LIVE: Final = """
       invalidated_at IS NULL AND metadata->>'superseded_by' IS NULL AND NOT jsonb_exists(metadata, 'quarantined')
   AND coalesce(metadata->>'status', '') NOT IN ('superseded', 'retired', 'quarantined', 'stale')
   AND coalesce(metadata->>'sensitivity', '') <> 'credentials'
   AND path NOT LIKE 'inbox/quarantine/%%' AND path NOT LIKE '%%.tombstone.md'"""

_DOCUMENTS: Final = f"""
SELECT path, title, content, recorded_at FROM memory.documents
 WHERE namespace_id = %(namespace)s AND corpus_id IS NOT NULL AND plane = 'durable' AND path LIKE ANY(%(paths)s) AND {_LIVE}
 ORDER BY path, id LIMIT 200"""  # noqa: S608 - of constants

_DECISIONS: Final = f"""
SELECT path, title, content, recorded_at FROM memory.documents
 WHERE namespace_id = %(namespace)s AND corpus_id IS NOT NULL AND plane = 'durable' AND metadata->>'type' = 'decision'
   AND metadata->'frontmatter'->>'pinned' = 'true' AND {_LIVE}
 ORDER BY coalesce(metadata->>'updated', metadata->>'date', metadata->>'created', '') DESC, path, id LIMIT %(limit)s"""  # noqa: S608

# What others link to is worth more, and so is what is recent beside the newest page; no clock and no recall is asked, so that an unchanged
# corpus gives the same bytes.
_PAGES: Final = f"""
WITH pages AS (
  SELECT id, path, valid_from, coalesce(metadata->'frontmatter'->>'pinned', '') = 'true' AS pinned,
      coalesce(metadata->>'type', '') = 'decision' AS decision FROM memory.documents
   WHERE namespace_id = %(namespace)s AND corpus_id IN (SELECT c.id FROM memory.corpora c WHERE c.profile <> 'dory')
     AND plane = 'durable' AND NOT path LIKE ANY(%(paths)s) AND coalesce(metadata->>'visibility', '') <> 'private'
     AND coalesce(metadata->>'sensitivity', '') IN ('', 'none') AND {_LIVE}),
told AS (SELECT * FROM pages WHERE NOT (pinned AND decision)), -- a pinned decision has a line of its own
linked AS (
  SELECT l.target_document_id AS id, count(DISTINCT l.document_id) AS pages FROM memory.links l
   WHERE l.namespace_id = %(namespace)s AND l.invalidated_at IS NULL AND l.target_document_id <> l.document_id GROUP BY 1),
best AS (
  SELECT p.id, count(*) OVER () AS every, row_number() OVER (ORDER BY p.pinned DESC, ln(1 + coalesce(k.pages, 0)) + coalesce(
      1 / (1 + extract(epoch FROM (SELECT max(valid_from) FROM pages) - p.valid_from) / 31557600), 0) DESC, p.path, p.id) AS place
    FROM told p LEFT JOIN linked k USING (id) ORDER BY place LIMIT %(limit)s)
SELECT d.path, d.title, d.content, d.recorded_at, b.every FROM best b JOIN memory.documents d USING (id) ORDER BY b.place"""  # noqa: S608

_SESSIONS: Final = f"""
SELECT path, title, content, recorded_at FROM memory.documents
 WHERE namespace_id = %(namespace)s AND corpus_id IS NOT NULL AND plane = 'sessions' AND {_LIVE}
 ORDER BY coalesce(metadata->>'updated', metadata->>'date', metadata->>'created', '') DESC, path DESC, id LIMIT %(limit)s"""  # noqa: S608

_MEMORIES: Final = """
SELECT m.id::text AS path, m.subject AS title, v.content, m.recorded_at, 0 AS every, ARRAY(SELECT d.path FROM memory.documents d
    WHERE d.id = ANY (m.source_document_ids) OR d.id IN (SELECT c.document_id FROM memory.chunks c WHERE c.id = ANY (m.source_chunk_ids))
  ) AS made_of
  FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
 WHERE m.namespace_id = %(namespace)s AND m.state = 'active' AND m.invalidated_at IS NULL AND (m.valid_to IS NULL OR m.valid_to > now())
   AND m.kind IN ('semantic', 'procedural', 'claim', 'topic', 'summary') AND m.sensitivity IN ('', 'none')
 ORDER BY m.pinned DESC, m.importance * m.confidence DESC, m.access_count DESC, m.id LIMIT %(limit)s"""


@dataclass(frozen=True, slots=True)
class _Row:
    path: str
    title: str
    content: str
    recorded_at: datetime
    every: int = 0
    """Of how many rows it is one, where that is asked."""
    made_of: Sequence[str] = ()
    """The paths of the documents that a memory cites."""

    @property
    def body(self) -> str:
        """The text under the frontmatter, with a marker for each secret."""
        return without_marks(str(quotable(body(self.content))))


@dataclass(frozen=True, slots=True)
class WakeRows:
    """Sections with their passages, the ids of the memories among their sources with the paths of the pages that they were made of, and the
    instant of the newest row among them (None where nothing was read).
    """

    sections: tuple[SectionContent, ...]
    memories: Mapping[str, frozenset[str]]
    newest: datetime | None


def wake_rows(
    connection: Connection,
    namespace_id: str,
    profiles: WakeProfiles,
    profile: WakeProfile,
    *,
    project: str = "",
    sessions: int = 5,
    decisions: bool = True,
) -> WakeRows:
    """Read what ``profile`` tells. A ``project`` that is no slug names no path and is left out."""
    chosen = _sections(profiles, profile, project)
    with connection.cursor(row_factory=class_row(_Row)) as cursor:

        def rows(statement: str, **given: Any) -> list[_Row]:
            return cursor.execute(statement, {"namespace": namespace_id, **given}).fetchall()  # pyright: ignore[reportArgumentType]

        read: list[_Row] = []
        memories: dict[str, frozenset[str]] = {}
        paths = [_like(path) for _, section in chosen for path in section.paths]
        documents = rows(_DOCUMENTS, paths=paths) if paths else []
        told: list[SectionContent] = []
        for name, section in chosen:
            of = [row for row in documents if any(_fits(row.path, path) for path in section.paths)]
            found = [(row, p) for row in of for p in _passages(row, section)]
            told.append(
                SectionContent(
                    section.title,
                    tuple(p for _, p in found),
                    tuple(dict.fromkeys(row.path for row, _ in found)),
                    profile.caps.get(name),
                )
            )
            read += [row for row, _ in found]
        for title, statement, limit, line in (
            ("Decisions", _DECISIONS, profile.decisions if decisions else 0, _decision),
            ("Remembered", _MEMORIES, profile.memories, _memory),
            ("Pages", _PAGES, profile.pages, _page),
            ("Recent sessions", _SESSIONS, sessions if profile.sessions else 0, _session),
        ):
            of = rows(statement, limit=limit, paths=paths) if limit else []
            lines = [(row, text) for row in of if (text := line(row))]
            if statement == _MEMORIES:
                memories = {row.path: frozenset(row.made_of) for row in of}
            if statement == _PAGES and of:
                title = f"{title} ({of[0].every:,} in all)"
            told.append(
                SectionContent(title, tuple(f"- {text}" for _, text in lines), tuple(row.path for row, _ in lines))
            )
            read += [row for row, _ in lines]
    return WakeRows(tuple(told), memories, max((row.recorded_at for row in read), default=None))


def _sections(profiles: WakeProfiles, profile: WakeProfile, project: str) -> list[tuple[str, WakeSection]]:
    """Those of the profile, with the project's name in their paths; one of a project is left out where none is named."""
    found: list[tuple[str, WakeSection]] = []
    for name in profile.sections:
        section = profiles.sections[name]
        if any(PROJECT in path for path in section.paths):
            if not _SLUG.fullmatch(project):
                continue
            section = section.model_copy(update={"paths": tuple(p.replace(PROJECT, project) for p in section.paths)})
        found.append((name, section))
    return found


def _passages(row: _Row, section: WakeSection) -> Sequence[str]:
    return lines_with(row.body, section.lines) if section.lines else passages(row.body)


def _like(path: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", path).replace("*", "%")


def _fits(path: str, pattern: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), path, re.DOTALL) is not None


def _decision(row: _Row) -> str:
    said = next((p for p in passages(row.body)), "")
    first = _first_line(said)
    return _short(": ".join(part for part in (row.title, first) if part), _LONGEST_DECISION)


def _memory(row: _Row) -> str:
    return " ".join(str(quotable(row.content)).split())


def _page(row: _Row) -> str:
    """Its title, where it lies, and its first sentence unless that is the title again, with the first one behind it that gives an order."""
    title = " ".join(str(quotable(row.title)).split()) or row.path
    said, order = _first_sentence(row.body)
    told = f"{title} ({row.path})"
    said = "" if said.casefold().rstrip(".") == title.casefold() else said
    parts = [_short(part, _LONGEST_PAGE) for part in (said, order) if part]
    return f"{told}: {' '.join(parts)}" if parts else told


def _session(row: _Row) -> str:
    first, title = _first_line(row.body), row.title or row.path
    said = _short(first, _LONGEST_SESSION)
    if not said or first.startswith(title):  # without a title of its own a session is called by its first line
        return said or title
    return f"{plain_line(title).rstrip(' .:')}: {said}"


def _first_line(text: str) -> str:
    """The first line that says something, as plain text: no heading, and no line that only names who speaks."""
    lines = (line.strip() for line in text.splitlines())
    return next(
        (plain_line(line) for line in lines if line and not line.startswith("#") and not _SPEAKER.match(line)), ""
    )


def _first_sentence(text: str) -> tuple[str, str]:
    """The first sentence of the first paragraph of prose, as plain text, and the first one behind it that gives an order. No heading, list
    of links, table, code or quotation begins it. A list is told in whole items.
    """
    from slowwave.texts.instructions import gives_order
    from slowwave.texts.sentences import sentences  # knows more words than a wake without pages needs

    found, order = "", ""
    for paragraph in passages(text):
        lines = [line.strip() for line in paragraph.splitlines() if not line.startswith("#")]
        first = next((n for n, line in enumerate(lines) if _ITEM.match(line)), len(lines))
        said = plain_line(" ".join(" ".join(lines[:first]).split()))
        if found or not (said and _PROSE.match(said)):
            continue
        own = sentences(said)
        found, order = own[0], next((one for one in own[1:] if gives_order(one)), "")
        if first < len(lines) and len(own) == 1:
            found = _with_items(found, lines[first:])
    return (found, order) if found else (_first_line(text), "")


def _with_items(lead: str, lines: Sequence[str]) -> str:
    """A line that leads in a list, with as many whole items as have room."""
    items = [plain_line(_ITEM.sub("", line)).rstrip(" .;,") for line in lines if _ITEM.match(line)]
    told, sign = lead.rstrip(" :."), ":"
    for n, item in enumerate(items):
        more = f"{told}{sign} {item}"
        if len(more) + 3 * (n + 1 < len(items)) > _LONGEST_PAGE:
            return f"{told}{sign if n else ':'} …"
        told, sign = more, ";"
    return told


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"

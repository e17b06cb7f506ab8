"""Wake: the text that an agent gets when it starts, from rows of its profile, within a budget of tokens."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final

from psycopg.rows import class_row
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from slowwave.errors import Refused, SettingsError
from slowwave.search.recall_events import Answered, Lines, Recalled
from slowwave.search.things import covers
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.store.settings import Settings
from slowwave.text.frontmatter import body
from slowwave.text.markdown import plain_line, without_marks
from slowwave.text.quotation import quotable
from slowwave.text.tokens import BYTES_A_TOKEN, count

# Wake: the text that an agent gets when it starts, within a budget of tokens, from rows that were read before.
#
# Passages (paragraphs) of every section compete for the budget by worth: that of the section's place in the profile times ``FADING`` for
# each passage before it. So a long first section leaves space for the beginning of the others, and one long passage does not end the block.
# A section is shown from its beginning, without gaps. The same rows give the same bytes, so that a prompt that begins with them can be
# cached: no clock is used.

SECTION_WORTH: Final = 0.9
"""The worth of a section compared with the section before it."""

FADING: Final = 0.8
"""The worth of a passage compared with the passage before it."""

SHORTEST_CUT: Final = 40
"""Tokens under which a passage is left out rather than cut."""

_PARAGRAPHS: Final = re.compile(r"\n[ \t]*\n+")
_HEADING: Final = re.compile(r"#{1,6}[ \t]")
_ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class SectionContent:
    """A section: its ``title``, passages in order, their sources, and the most tokens that it may take (None: all)."""

    title: str
    passages: tuple[str, ...]
    sources: tuple[str, ...]
    cap: int | None = None


@dataclass(frozen=True, slots=True)
class WakeBlock:
    """The wake block; ``text`` takes at most the budget, ``left_out`` counts the passages that did not fit."""

    text: str
    tokens: int
    sources: tuple[str, ...]
    left_out: int


def passages(text: str) -> tuple[str, ...]:
    """Split a body into paragraphs.

    A heading belongs to the paragraph under it. A heading with nothing under it is left out.
    """
    found: list[str] = []
    heading = ""
    for paragraph in _PARAGRAPHS.split(text.strip()):
        cleaned = paragraph.strip("\n").rstrip()
        if not cleaned.strip():
            continue
        if "\n" not in cleaned and _HEADING.match(cleaned):
            heading = cleaned
            continue
        found.append(f"{heading}\n{cleaned}" if heading else cleaned)
        heading = ""
    return tuple(found)


def lines_with(text: str, pattern: str) -> tuple[str, ...]:
    """Return the lines that match an expression, each as a passage; headings are left out."""
    wanted = re.compile(pattern)
    return tuple(line.strip() for line in text.splitlines() if wanted.search(line) and not _HEADING.match(line))


def wake_block(sections: Sequence[SectionContent], budget: int) -> WakeBlock:
    """Fill ``budget`` tokens (counted as ``slowwave.text.tokens`` does) with passages of the sections.

    Raises ``ValueError`` for a budget under 1.
    """
    if budget < 1:
        raise ValueError("A budget has at least one token.")
    sections = [section for section in sections if section.passages]
    taken: list[list[str]] = [[] for _ in sections]
    spent = [0] * len(sections)
    closed = [False] * len(sections)
    room = budget * BYTES_A_TOKEN
    for n, place in _by_worth(sections):
        if closed[n]:
            continue
        section, passage = sections[n], sections[n].passages[place]
        head = f"## {section.title}\n\n" if not taken[n] else ""
        before = "\n\n" if any(taken) else ""
        limit = room if section.cap is None else min(room, section.cap * BYTES_A_TOKEN - spent[n])
        fixed = _bytes(before + head)
        whole = fixed + _bytes(passage) <= limit
        text = passage if whole else ("" if taken[n] else cut(passage, limit - fixed))
        closed[n] = not whole
        if not text:
            continue
        cost = fixed + _bytes(text)
        room, spent[n] = room - cost, spent[n] + cost
        taken[n].append(text)
    filled = [
        "\n\n".join([f"## {section.title}", *texts]) for section, texts in zip(sections, taken, strict=True) if texts
    ]
    block = "\n\n".join(filled)
    sources = dict.fromkeys(
        source for section, texts in zip(sections, taken, strict=True) if texts for source in section.sources
    )
    left = sum(len(s.passages) for s in sections) - sum(map(len, taken))
    return WakeBlock(block, count(block), tuple(sources), left)


def without_repeats(
    sections: Sequence[SectionContent], made_of: Mapping[str, frozenset[str]], block: WakeBlock
) -> tuple[SectionContent, ...]:
    """Return the sections without the memories that a paragraph in ``block`` already covers.

    Only paragraphs of the pages that the memory was made of (``made_of``, by the memory's id) count.
    """

    def repeated(memory: str, text: str) -> bool:
        pages = made_of.get(memory, frozenset())
        of = (section for section in sections if not pages.isdisjoint(section.sources))
        return any(p in block.text and covers(p, text) for section in of for p in section.passages)

    kept: list[SectionContent] = []
    for section in sections:
        if made_of.keys().isdisjoint(section.sources):
            kept.append(section)
            continue
        pairs = [p for p in zip(section.sources, section.passages, strict=True) if not repeated(*p)]
        kept.append(replace(section, sources=tuple(s for s, _ in pairs), passages=tuple(p for _, p in pairs)))
    return tuple(kept)


def cut(text: str, size: int) -> str:
    """Cut a text to whole words, at most ``size`` bytes with "…" at the end; empty under ``SHORTEST_CUT`` tokens."""
    if size < SHORTEST_CUT * BYTES_A_TOKEN:
        return ""
    head = text.encode("utf-8", "replace")[: size - _bytes(_ELLIPSIS)].decode("utf-8", "ignore")
    words = re.sub(r"\s+\S*$", "", head)
    return f"{(words or head).rstrip()}{_ELLIPSIS}"


def _by_worth(sections: Sequence[SectionContent]) -> Iterable[tuple[int, int]]:
    """Return (section, passage), the most valuable first; passages of equal value keep the order of the sections."""
    places = [(n, k) for n, section in enumerate(sections) for k in range(len(section.passages))]
    return sorted(places, key=lambda at: (-(SECTION_WORTH ** at[0]) * FADING ** at[1], at))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


# Wake profiles: which sections an agent gets when it wakes, in the order of their worth; the data is in ``wake_profiles.toml``.

PROJECT: Final = "{project}"
"""A placeholder in a path for the name of the requested project."""


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as problem:
        raise ValueError(f"is no regular expression: {problem}") from None
    return pattern


class WakeSection(BaseModel):
    """Documents of a corpus under one title.

    With ``lines``, only the lines that match the expression are shown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(min_length=1)
    paths: tuple[str, ...] = Field(
        min_length=1, description="Paths in the corpus, in any case; an asterisk stands for any characters."
    )
    lines: Annotated[str, AfterValidator(_compiles)] = ""


class WakeProfile(BaseModel):
    """The sections of a profile, the most important first, the most tokens of each, and what else is shown."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sections: tuple[str, ...]
    caps: Mapping[str, int] = Field(default_factory=dict, description="Most tokens of a section.")
    decisions: int = Field(default=3, ge=0, le=50, description="Pinned decisions.")
    memories: int = Field(default=0, ge=0, le=200, description="Memories that are no document, the weightiest.")
    pages: int = Field(
        default=0,
        ge=0,
        le=200,
        description="Pages that no section tells, of folders that are not laid out as Dory's, a line each.",
    )
    sessions: bool = Field(default=True, description="Whether recent sessions are told, a line each.")


class WakeProfiles(BaseModel):
    """The profiles and their sections.

    Raises ``SettingsError`` for a profile that names an unknown section.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    sections: Mapping[str, WakeSection]
    profiles: Mapping[str, WakeProfile]

    def profile(self, name: str) -> WakeProfile:
        """Return the profile of this name.

        Raises ``Refused`` if there is none.
        """
        try:
            return self.profiles[name]
        except KeyError:
            known = ", ".join(sorted(self.profiles))
            raise Refused(f"There is no wake profile {name!r}. Choose one of {known}.") from None


def wake_profiles(own: Path | None = None) -> WakeProfiles:
    """Return the profiles of this package, merged with an operator's file if one is given.

    Raises ``SettingsError`` for a file that cannot be used.
    """
    return _shipped() if own is None else _merged(own)


@cache
def _shipped() -> WakeProfiles:
    text = resources.files("slowwave.wiki.recall").joinpath("wake_profiles.toml").read_text(encoding="utf-8")
    return WakeProfiles.model_validate(tomllib.loads(text))


def _merged(own: Path) -> WakeProfiles:
    ours = _shipped()
    try:
        read = tomllib.loads(own.read_text(encoding="utf-8"))
        theirs = WakeProfiles.model_validate({"sections": {}, "profiles": {}, **read})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise SettingsError(f"The wake profiles in {own} cannot be read ({problem}). Nothing was told.") from None
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise SettingsError(f"The wake profiles in {own} cannot be used: {place}: {first['msg']}.") from None
    found = WakeProfiles(sections={**ours.sections, **theirs.sections}, profiles={**ours.profiles, **theirs.profiles})
    for name, profile in found.profiles.items():
        if missing := [s for s in (*profile.sections, *profile.caps) if s not in found.sections]:
            raise SettingsError(f"The wake profile {name} in {own} names the section {missing[0]}, which is not there.")
    return found


# The content of a wake, read from the store: documents of the profile's sections, pinned decisions, memories, recent sessions.
#
# Retired, quarantined and hidden rows are not read. There is one statement for documents, one for memories and one for sessions; each uses
# an index of the namespace and is bounded.

_PROJECT: Final = re.compile(r"[^\W_][\w .-]*")
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
 WHERE namespace_id = %(namespace)s AND corpus_id IS NOT NULL AND plane = 'durable' AND path ILIKE ANY(%(paths)s) AND {_LIVE}
 ORDER BY path, id LIMIT 200"""  # noqa: S608 - of constants

_DECISIONS: Final = f"""
SELECT path, title, content, recorded_at FROM memory.documents
 WHERE namespace_id = %(namespace)s AND corpus_id IS NOT NULL AND plane = 'durable' AND metadata->>'type' = 'decision'
   AND metadata->'frontmatter'->>'pinned' = 'true' AND {_LIVE}
 ORDER BY coalesce(metadata->>'updated', metadata->>'date', metadata->>'created', '') DESC, path, id LIMIT %(limit)s"""  # noqa: S608

# Pages that others link to are worth more, and so are those that are recent compared with the newest page. No clock and no recall is used,
# so that an unchanged corpus gives the same bytes.
_PAGES: Final = f"""
WITH pages AS (
  SELECT id, path, valid_from, coalesce(metadata->'frontmatter'->>'pinned', '') = 'true' AS pinned,
      coalesce(metadata->>'type', '') = 'decision' AS decision FROM memory.documents
   WHERE namespace_id = %(namespace)s AND corpus_id IN (SELECT c.id FROM memory.corpora c WHERE c.profile <> 'dory')
     AND plane = 'durable' AND NOT path ILIKE ANY(%(paths)s) AND coalesce(metadata->>'visibility', '') <> 'private'
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
    """The total number of rows, if it was queried."""
    made_of: Sequence[str] = ()
    """The paths of the documents that a memory cites."""

    @property
    def body(self) -> str:
        """Return the text after the frontmatter, with a marker for each secret."""
        return without_marks(str(quotable(body(self.content))))


@dataclass(frozen=True, slots=True)
class WakeRows:
    """The sections with their passages, and the memories among their sources.

    ``memories`` maps the id of a memory to the paths of the pages that it was made of. ``newest`` is the instant of the newest row, or
    None if nothing was read.
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
    """Read the rows that ``profile`` shows.

    Paths are compared ignoring case. A ``project`` that cannot be the name of a file or folder is left out.
    """
    chosen = _sections(profiles, profile, project)
    with connection.cursor(row_factory=class_row(_Row)) as cursor:

        def rows(statement: str, **given: Any) -> list[_Row]:
            return cursor.execute(statement, {"namespace": namespace_id, **given}).fetchall()  # pyright: ignore[reportArgumentType]

        read: list[_Row] = []
        memories: dict[str, frozenset[str]] = {}
        paths = [_like(path) for _, section in chosen for path in section.paths]
        documents = rows(_DOCUMENTS, paths=paths) if paths else []
        contents: list[SectionContent] = []
        for name, section in chosen:
            of = [row for row in documents if any(_fits(row.path, path) for path in section.paths)]
            found = [(row, p) for row in of for p in _passages(row, section)]
            contents.append(
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
            contents.append(
                SectionContent(title, tuple(f"- {text}" for _, text in lines), tuple(row.path for row, _ in lines))
            )
            read += [row for row, _ in lines]
    return WakeRows(tuple(contents), memories, max((row.recorded_at for row in read), default=None))


def _sections(profiles: WakeProfiles, profile: WakeProfile, project: str) -> list[tuple[str, WakeSection]]:
    """Return the sections of the profile, with the project's name in their paths.

    Sections of a project are left out if no project is named.
    """
    found: list[tuple[str, WakeSection]] = []
    for name in profile.sections:
        section = profiles.sections[name]
        if any(PROJECT in path for path in section.paths):
            if not _PROJECT.fullmatch(project):
                continue
            section = section.model_copy(update={"paths": tuple(p.replace(PROJECT, project) for p in section.paths)})
        found.append((name, section))
    return found


def _passages(row: _Row, section: WakeSection) -> Sequence[str]:
    return lines_with(row.body, section.lines) if section.lines else passages(row.body)


def _like(path: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", path).replace("*", "%")


def _fits(path: str, pattern: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), path, re.DOTALL | re.IGNORECASE) is not None


def _decision(row: _Row) -> str:
    passage = next((p for p in passages(row.body)), "")
    first = _first_line(passage)
    return _short(": ".join(part for part in (row.title, first) if part), _LONGEST_DECISION)


def _memory(row: _Row) -> str:
    return " ".join(str(quotable(row.content)).split())


def _page(row: _Row) -> str:
    """Format a page as its title, its path and its first sentence, followed by the first sentence that gives an order.

    The first sentence is left out if it equals the title.
    """
    title = " ".join(str(quotable(row.title)).split()) or row.path
    sentence, order = _first_sentence(row.body)
    heading = f"{title} ({row.path})"
    sentence = "" if sentence.casefold().rstrip(".") == title.casefold() else sentence
    parts = [_short(part, _LONGEST_PAGE) for part in (sentence, order) if part]
    return f"{heading}: {' '.join(parts)}" if parts else heading


def _session(row: _Row) -> str:
    first, title = _first_line(row.body), row.title or row.path
    sentence = _short(first, _LONGEST_SESSION)
    if not sentence or first.startswith(title):  # a session without a title is called by its first line
        return sentence or title
    return f"{plain_line(title).rstrip(' .:')}: {sentence}"


def _first_line(text: str) -> str:
    """Return the first line with content as plain text; skip headings and lines that only name a speaker."""
    lines = (line.strip() for line in text.splitlines())
    return next(
        (plain_line(line) for line in lines if line and not line.startswith("#") and not _SPEAKER.match(line)), ""
    )


def _first_sentence(text: str) -> tuple[str, str]:
    """Return the first sentence of the first prose paragraph as plain text, and the first later one that gives an order.

    Headings, lists of links, tables, code and quotations are not prose. A list is shown in whole items.
    """
    from slowwave.text.sentences import sentences  # it loads word lists that a wake without pages does not need
    from slowwave.text.turns import gives_order

    found, order = "", ""
    for paragraph in passages(text):
        lines = [line.strip() for line in paragraph.splitlines() if not line.startswith("#")]
        first = next((n for n, line in enumerate(lines) if _ITEM.match(line)), len(lines))
        plain = plain_line(" ".join(" ".join(lines[:first]).split()))
        if found or not (plain and _PROSE.match(plain)):
            continue
        own = sentences(plain)
        found, order = own[0], next((one for one in own[1:] if gives_order(one)), "")
        if first < len(lines) and len(own) == 1:
            found = _with_items(found, lines[first:])
    return (found, order) if found else (_first_line(text), "")


def _with_items(lead: str, lines: Sequence[str]) -> str:
    """Return a line that introduces a list, with as many whole items as fit."""
    items = [plain_line(_ITEM.sub("", line)).rstrip(" .;,") for line in lines if _ITEM.match(line)]
    text, sign = lead.rstrip(" :."), ":"
    for n, item in enumerate(items):
        more = f"{text}{sign} {item}"
        if len(more) + 3 * (n + 1 < len(items)) > _LONGEST_PAGE:
            return f"{text}{sign if n else ':'} …"
        text, sign = more, ";"
    return text


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


# The request and the response of a wake: one pair of models for Python, the command line and every server.


class WakeRequest(BaseModel):
    """A request of an agent that starts."""

    model_config = ConfigDict(extra="forbid")

    agent: str = Field(min_length=1, max_length=200, description="Who wakes.")
    budget_tokens: int = Field(default=600, ge=50, le=1500, description="Most tokens of the block.")
    profile: str = Field(default="default", max_length=100, description="Which sections are told, in which order.")
    project: str = Field(default="", max_length=200, description="The project whose state is told as well.")
    include_recent_sessions: int = Field(default=5, ge=0, le=50, description="How many sessions are told, a line each.")
    include_pinned_decisions: bool = Field(default=True, description="Whether pinned decisions are told.")
    debug: bool = Field(default=False, description="Whether the answer says what it rests on.")


class WakeResponse(BaseModel):
    """The wake block of an agent.

    ``block`` is Markdown for the start of a prompt, and has the same bytes as long as its content is valid. The other fields are set with
    ``debug``.
    """

    profile: str
    block: str
    tokens_estimated: int | None = None
    sources: tuple[str, ...] | None = None
    left_out: int | None = None
    frozen_at: datetime | None = None


def wake(connection: Connection, namespace: str, request: WakeRequest, settings: Settings) -> Answered[WakeResponse]:
    """Return the wake block of a namespace, and the rows that it recalls.

    Raises ``Refused`` for a namespace or profile that does not exist.
    """
    profiles = wake_profiles(Path(settings.wake_profiles) if settings.wake_profiles else None)
    profile = profiles.profile(request.profile)
    rows = wake_rows(
        connection,
        namespace_id(connection, namespace),
        profiles,
        profile,
        project=request.project,
        sessions=request.include_recent_sessions,
        decisions=request.include_pinned_decisions,
    )
    block = wake_block(rows.sections, request.budget_tokens)
    if (once := without_repeats(rows.sections, rows.memories, block)) != rows.sections:
        block = wake_block(once, request.budget_tokens)
    response = WakeResponse(profile=request.profile, block=block.text)
    if request.debug:
        about = {"tokens_estimated": block.tokens, "left_out": block.left_out}
        response = response.model_copy(update={**about, "sources": block.sources, "frozen_at": rows.newest})
    memories = tuple(source for source in block.sources if source in rows.memories)
    pages = tuple(Lines(source) for source in block.sources if source not in rows.memories)
    return Answered(response, (Recalled(hits=memories, pages=pages),))

"""The canonical page of a subject, section by section; text that a person wrote on it stays."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.errors import Refused
from slowwave.operations.conflicts.decide import effective_verdicts
from slowwave.operations.conflicts.find import conflicts_of_memories
from slowwave.operations.conflicts.rows import Tally
from slowwave.snapshots.memories import attributes, version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.sources.blocks import LAST, outside_blocks
from slowwave.store.settings import Settings
from slowwave.text.screening import screen_all, unsafe
from slowwave.text.tokens import fold
from slowwave.wiki.pages.lines import escape, flat, hook

# Claims by subject: the claims of a snapshot by the entity that they are about, ready for a page.
#
# Claims about a merged entity are those of its survivor. Claims that recall does not find are left out: forgotten, retired, archived,
# merged into another claim or quarantined. ``subject_page`` below decides which claims a page shows, and how.

KINDS: Final = ("fact", "preference", "state", "decision", "note")

_HOPS: Final = 16  # merges of a subject that are followed
_COLUMNS: Final = (
    *("id", "attributes", "current_version_id", "valid_from", "valid_to", "recorded_at", "visibility", "sensitivity", "confidence"),
    *("session_id", "source_document_ids"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SubjectStatement:
    """A claim about a subject.

    ``since`` and ``until`` bound the time in which it was true, and ``said_at`` is when it was said. ``documents`` are the ids of its
    source documents. ``against`` are claims of the same subject that contradict it and currently hold as well.
    """

    id: str
    kind: str
    text: str
    since: datetime
    until: datetime | None
    said_at: datetime
    confidence: float = 1.0
    visibility: str = "private"
    sensitivity: str = ""
    session_id: str = ""
    version_id: str = ""
    documents: tuple[str, ...] = ()
    against: tuple[str, ...] = ()

    def holds(self, at: datetime) -> bool:
        """Return whether the claim has not ended at this time."""
        return self.until is None or self.until > at


@dataclass(frozen=True, slots=True)
class SubjectStatements:
    """A subject with its claims, ordered by when they began.

    ``ids`` are those of the entity and of the entities merged into it. ``ref`` is its reference, if it has one. ``unsafe`` are claims
    that screening keeps off every page.
    """

    id: str
    name: str
    entity_type: str
    ref: str
    ids: tuple[str, ...]
    aliases: tuple[str, ...]
    statements: tuple[SubjectStatement, ...]
    unsafe: tuple[str, ...] = ()


def subject_statements(snapshot: Snapshot, settings: Settings) -> list[SubjectStatements]:
    """Return the subjects that have claims, ordered by id.

    Needs the tables memories, memory_versions, memory_vectors, claim_events, entities, entity_aliases and conflicts. Cost: a pass over
    claims, and the search for conflicts if they were not found before.
    """
    claims = _claims(snapshot)
    if not len(claims):
        return []
    survivors, merged = _survivors(snapshot)
    rows, hidden = _statements(snapshot, claims)
    by_subject: defaultdict[str, list[SubjectStatement]] = defaultdict(list)
    unsafe_of: defaultdict[str, list[str]] = defaultdict(list)
    for about, statement in rows:
        if (subject := survivors.get(about)) is not None:
            if statement.id in hidden:
                unsafe_of[subject].append(statement.id)
            else:
                by_subject[subject].append(statement)
    against = _against(snapshot, settings, by_subject)
    wanted = {*by_subject, *unsafe_of}
    entities = _entities(snapshot, wanted)
    aliases = _aliases(snapshot, wanted)
    return [
        SubjectStatements(
            id_,
            str(row["name"]),
            str(row["entity_type"]),
            str(row["external_id"] or "") if row["source"] == "semantic" else "",
            (id_, *sorted(merged.get(id_, ()))),
            aliases.get(id_, ()),
            tuple(
                replace(s, against=tuple(sorted(against.get(s.id, ()))))
                for s in sorted(by_subject[id_], key=lambda s: (s.since, s.said_at, s.id))
            ),
            tuple(sorted(unsafe_of[id_])),
        )
        for id_, row in sorted(entities.items())
    ]


def _claims(snapshot: Snapshot) -> pa.Table:
    memories = snapshot.table("memories")
    standing = pc.and_(pc.equal(memories["kind"], "claim"), pc.equal(memories["state"], "active"))
    standing = pc.and_(standing, pc.is_null(memories["invalidated_at"]))
    return memories.filter(standing).select(_COLUMNS)


def _statements(snapshot: Snapshot, claims: pa.Table) -> tuple[list[tuple[str, SubjectStatement]], Collection[str]]:
    """Return (entity, claim) for each claim about an entity, and the ids of claims that screening keeps off every page."""
    texts = version_texts(snapshot, claims["current_version_id"]).combine_chunks()
    found: list[tuple[str, SubjectStatement]] = []
    for row, text in zip(claims.to_pylist(), texts.to_pylist(), strict=True):
        more = attributes(row["attributes"])
        about, kind = str(more.get("entity_id") or ""), str(more.get("claim_kind") or "")
        if not about or not text.strip():
            continue
        found.append(
            (
                about,
                SubjectStatement(
                    row["id"],
                    kind if kind in KINDS else "fact",
                    text,
                    row["valid_from"] or row["recorded_at"],
                    row["valid_to"],
                    row["recorded_at"],
                    row["confidence"],
                    row["visibility"],
                    row["sensitivity"],
                    row["session_id"] or "",
                    row["current_version_id"],
                    tuple(row["source_document_ids"] or ()),
                ),
            )
        )
    ids = claims["id"].to_pylist()
    statements = texts.to_pylist()
    return found, {ids[place] for place, _ in screen_all(texts) if unsafe(statements[place])}


def _survivors(snapshot: Snapshot) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Return the live survivor of each entity, and for each survivor the entities merged into it.

    An entity that was not merged is its own survivor.
    """
    entities = snapshot.table("entities").select(["id", "merged_into", "invalidated_at", "state"])
    live = set(snapshot.live("entities", ["id", "state"]).filter(pc.field("state") == "active")["id"].to_pylist())
    absorbed = entities.filter(pc.is_valid(entities["merged_into"]))
    into = dict(zip(absorbed["id"].to_pylist(), absorbed["merged_into"].to_pylist(), strict=True))
    found = {id_: id_ for id_ in live}
    merged: defaultdict[str, set[str]] = defaultdict(set)
    for id_ in into:
        end = id_
        for _ in range(_HOPS):
            if end not in into:
                break
            end = into[end]
        if end in live:
            found[id_] = end
            merged[end].add(id_)
    return found, merged


def _against(
    snapshot: Snapshot, settings: Settings, by_subject: Mapping[str, Sequence[SubjectStatement]]
) -> dict[str, set[str]]:
    """Return for each claim the claims of its subject that contradict it, if both currently hold.

    Pairs that a person allowed to hold together are left out. Conflicts that a night calls doubtful count only if they state another
    object of one relation, which is a contradiction at run time as well.
    """
    subject_of = {
        s.id: subject for subject, statements in by_subject.items() for s in statements if s.holds(snapshot.taken_at)
    }
    verdicts = effective_verdicts(snapshot)
    found: defaultdict[str, set[str]] = defaultdict(set)
    kept: set[frozenset[str]] = set()
    pairs = _marked(snapshot)
    for conflict in conflicts_of_memories(snapshot, settings, Tally()):
        verdict = verdicts.get(conflict.seen)
        every = list(product((conflict.a, *conflict.also_a), (conflict.b, *conflict.also_b)))
        if verdict is not None and verdict.person and not verdict.winner_said:
            kept |= {frozenset(pair) for pair in every}
        elif not conflict.doubtful or conflict.evidence.get("rule") in ("frame", "aligned"):
            pairs += every
    for a, b in pairs:
        if a in subject_of and subject_of[a] == subject_of.get(b) and frozenset((a, b)) not in kept:
            found[a].add(b)
            found[b].add(a)
    return found


def _marked(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return the pairs of claims that were marked as contradictory when they were recorded."""
    events = snapshot.table("claim_events").select(["claim_id", "event", "other_id"])
    events = events.filter(pc.equal(events["event"], "contradicted"))
    return list(zip(events["claim_id"].to_pylist(), events["other_id"].to_pylist(), strict=True))


def _entities(snapshot: Snapshot, wanted: Collection[str]) -> dict[str, dict[str, Any]]:
    table = snapshot.table("entities").select(["id", "name", "entity_type", "external_id", "source"])
    rows = table.filter(pc.is_in(table["id"], value_set=pa.array(sorted(wanted), pa.string()))).to_pylist()
    return {row["id"]: row for row in rows}


def _aliases(snapshot: Snapshot, wanted: Collection[str]) -> dict[str, tuple[str, ...]]:
    table = snapshot.table("entity_aliases")
    rows = table.filter(pc.is_in(table["entity_id"], value_set=pa.array(sorted(wanted), pa.string())))
    found: defaultdict[str, set[str]] = defaultdict(set)
    for entity, alias in zip(rows["entity_id"].to_pylist(), rows["alias"].to_pylist(), strict=True):
        found[entity].add(alias)
    return {entity: tuple(sorted(names)) for entity, names in found.items()}


# The text of a page outside of Slowwave's blocks: statements that a person wrote there, so that no block repeats them.
#
# A statement occurs on a page if a sentence, or several consecutive ones in one line or paragraph, has exactly its words; case, Markdown
# marks and quotes are ignored. Headings and comments do not count. No side effects; time linear in the text.

_LONGEST_PROSE_WORDS: Final = 12  # sentences of a statement; a longer one is never found on a page
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?=[ \t])")
_ITEM: Final = re.compile(r"[ \t>]*(?:[-*+]|\d{1,4}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?|[ \t]*>[ \t>]*")
_CITED: Final = re.compile(r"\[[^\[\]\n]{0,80}\]\(claim:[^()\s]{0,80}\)")
_LINK: Final = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{1,1000}\)")
_WIKILINK: Final = re.compile(r"!?\[\[(?:[^\[\]|\n]{1,300}\|)?([^\[\]|\n]{1,300})\]\]")
_MARKUP: Final = re.compile(r"[\\`*\"“”„«»]|~~|(?<![^\W_])_|_(?![^\W_])")
_ENDS_PROSE_WORDS: Final = re.compile(r"[.!?…;](?=[\s.!?…;]|$)|[。！？|]")
_SOURCE: Final = re.compile(r"\(`[^`\n]{1,300}`\)")
_DATED: Final = re.compile(
    r"\**\d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?\**[ \t]*[:—–-]?[ \t]+(?:(?:State|Note|Decision|Preference): )?"
)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_TOKEN: Final = re.compile(r"[^\s`()\[\]<>]+")


class _Piece(NamedTuple):
    """The sentences of a line or a paragraph, and the days that it names."""

    sentences: tuple[str, ...]
    days: frozenset[str]


@dataclass(slots=True)
class _Runs:
    """A search for consecutive sentences of a statement in the pieces of a page.

    Its index maps runs of sentences to the days that their pieces name, by the number of sentences.
    """

    pieces: Sequence[_Piece]
    _of: dict[int, dict[tuple[str, ...], set[str]]] = field(default_factory=dict[int, dict[tuple[str, ...], set[str]]])

    def days(self, text: str) -> set[str] | None:
        """Return the days of the pieces that contain a statement, or None if no piece contains it."""
        wanted = _sentences(text)
        size = len(wanted)
        if not self.pieces or not 0 < size <= _LONGEST_PROSE_WORDS:
            return None
        if size not in self._of:
            runs: dict[tuple[str, ...], set[str]] = {}
            for words, days in self.pieces:
                for at in range(len(words) - size + 1):
                    runs.setdefault(words[at : at + size], set()).update(days)
            self._of[size] = runs
        return self._of[size].get(wanted)


@dataclass(frozen=True, slots=True)
class ProseWords:
    """The text of a body outside of blocks.

    It holds the sentences anywhere and in the timeline, and the tokens as they are written.
    """

    _anywhere: _Runs
    _timeline: _Runs
    _names: frozenset[str]

    @classmethod
    def from_body(cls, body: str) -> ProseWords:
        """Parse a body without its head.

        A body with damaged block marks yields no text, because its blocks are not written either.
        """
        try:
            outside = outside_blocks(body)
        except Refused:
            outside = ""
        first, *more = outside.split("<!--")
        rest = "".join([first, *(p.partition("-->")[2] if "-->" in p else p for p in more)])
        every, dated = list[str](), list[str]()
        depth = 0  # level of the timeline heading that the line is under
        for line in rest.splitlines():
            if heading := _HEADING.match(line):
                if not depth or len(heading[1]) <= depth:
                    name = line.strip(" \t#").casefold()
                    depth = len(heading[1]) if name == LAST[0].casefold() else 0
                line = ""
            every.append(line)
            dated.append(line if depth else "")
        return cls(_Runs(_pieces(every)), _Runs(_pieces(dated)), frozenset(_TOKEN.findall(rest)))

    def says(self, statement: str) -> bool:
        """Return whether a statement occurs anywhere on the page."""
        return self._anywhere.days(statement) is not None

    def dates(self, statement: str, ended: str = "") -> bool:
        """Return whether a statement occurs in the timeline, with the day of its end if it has ended."""
        days = self._timeline.days(statement)
        return days is not None and (not ended or ended in days)

    def names(self, place: str) -> bool:
        """Return whether the page names a place, which must not contain white space."""
        return place in self._names


def _pieces(lines: Iterable[str]) -> list[_Piece]:
    """Split lines into pieces: each line, and each paragraph or item of several lines."""
    found: list[_Piece] = []
    held: list[str] = []
    for line in [*lines, ""]:
        item = _ITEM.match(line)
        if held and (item or not line.strip()):
            texts = [*held, " ".join(held)] if len(held) > 1 else held
            for text in texts:
                days = frozenset(_DAY.findall(text))
                dated = _DATED.match(text)
                shown = [text, text[dated.end() :]] if dated else [text]
                found += [_Piece(sentences, days) for t in shown if (sentences := _sentences(t))]
            held = []
        if line.strip():
            held.append(line[item.end() :] if item else line)
    return found


def _sentences(text: str) -> tuple[str, ...]:
    shown = _WIKILINK.sub(r"\1", _LINK.sub(r"\1", _SOURCE.sub("", _CITED.sub("", text))))
    parts = (" ".join(part.split()) for part in _ENDS_PROSE_WORDS.split(_MARKUP.sub("", fold(shown))))
    return tuple(part for part in parts if part)


# The content of a canonical page: section by section, from the claims about its subject.
#
# The statements of a section are bullets, newest first; a single one has no bullet. Each has the ids of its claims. Claims that have
# ended are only in the timeline. The kinds of claims in a section follow Dory's rule (a statement goes where a semantic write would put
# it): a note on a project is open work and no state. Statements are memory text: flat, escaped, and only those that pass the screening.
# No side effects.

MOST: Final = 60
"""Maximum number of statements of one section, and of pages of its evidence."""

MOST_DATES: Final = 120
"""Maximum number of lines of a timeline."""

CONTRADICTIONS: Final = "Contradictions"
"""The section with both sides of contradictions; a page has it while there are any."""

_SUMMARY: Final = 5
_LONGEST: Final = 600  # characters of a statement
_NAMED: Final = 3  # claims that are named after a statement that several of them make
_DOUBTFUL: Final = 0.5
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_ENDS: Final = " .!?…。！？"

_BUT: Final = {name: tuple(k for k in KINDS if k != name) for name in KINDS}

SECTIONS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "person": {
        "Current Facts": ("fact", "state", "note"),
        "Preferences And Working Style": ("preference",),
        "Related Decisions And Projects": ("decision",),
    },
    "project": {
        "Current State": ("state", "fact", "preference"),
        "Open Work": ("note",),
        "Key Decisions": ("decision",),
    },
    "concept": {
        "Current Understanding": ("fact", "state", "preference"),
        "Related People Projects And Decisions": ("decision",),
        "Open Questions": ("note",),
    },
    "decision": {"Decision": _BUT["note"], "Context": ("note",)},
    "core/user.md": {"Current Facts": _BUT["preference"], "Preferences": ("preference",)},
    "core/active.md": {"Current Focus": KINDS},
    "core/defaults.md": {"Default Operating Assumptions": KINDS},
    "core/env.md": {"Environment": KINDS},
    "core/identity.md": {"Role": KINDS},
    "core/soul.md": {"Behavior Rules": KINDS},
}
"""Family, or the path of a page of core → its sections that consist of statements, each with its kinds of claims."""


class _Said(NamedTuple):
    """A statement with its words as the page shows them, and the key that statements with the same words share."""

    claim: SubjectStatement
    words: str
    key: str

    @classmethod
    def from_claim(cls, claim: SubjectStatement) -> _Said:
        return cls(claim, hook(claim.text, _LONGEST), flat(claim.text).casefold().rstrip(_ENDS))


@dataclass(frozen=True, slots=True)
class EvidencePlace:
    """The path of a document, and whether it lies in the corpus of the page that cites it."""

    path: str
    beside: bool = False


@dataclass(frozen=True, slots=True)
class SubjectPage:
    """The content of a page about a subject.

    - ``contents`` maps a heading to the text of its block.
    - ``claims`` are the ids of the claims on the page, including those that ended.
    - ``summary`` is the text of the newest claim that holds, not escaped; it is empty if there is none.
    - ``left_out`` are claims that the page must not show, because it is public or is not marked as sensitive.
    """

    contents: Mapping[str, str]
    claims: tuple[str, ...]
    summary: str = ""
    left_out: tuple[str, ...] = ()


def subject_page(
    path: str,
    family: str,
    statements: Sequence[SubjectStatement],
    places: Mapping[str, EvidencePlace],
    now: datetime,
    *,
    visibility: str = "",
    sensitivity: str = "",
    own: ProseWords | None = None,
) -> SubjectPage:
    """Compile the content of the page at ``path`` from claims, which must be ordered by when they began.

    ``places`` are documents by id. ``visibility`` and ``sensitivity`` are the page's own values. ``own`` is the text on the page outside
    of blocks, which is not repeated. If that text has every claim that holds and dates every claim that ended, and no claims contradict
    each other, the content is empty.

    A public page has only public claims. A page that is marked neither private nor sensitive has no sensitive claims. Cost: linear in the
    claims.
    """
    admits = _admits(visibility, sensitivity)
    admitted = [_Said.from_claim(s) for s in statements if admits(s)]
    own = own or ProseWords.from_body("")
    standing = [s for s in reversed(admitted) if s.claim.holds(now)]
    fresh = [s for s in standing if not own.says(s.claim.text)]
    dated = [s for s in admitted if not own.dates(s.claim.text, "" if s.claim.holds(now) else _day(s.claim.until))]
    sections = SECTIONS.get(path, SECTIONS.get(family, {}))
    shown = {s.claim.id for s in standing}
    contents: dict[str, str] = {}
    if "Decision" not in sections:
        contents["Summary"] = _section_text(fresh, _SUMMARY, shown, more=False)
    for heading, kinds in sections.items():
        contents[heading] = _section_text([s for s in fresh if s.claim.kind in kinds], MOST, shown)
    contents[CONTRADICTIONS] = _contradictions(standing)
    claims = [s.claim for s in admitted]
    if fresh or contents[CONTRADICTIONS] or any(not s.claim.holds(now) for s in dated):
        contents["Timeline"] = _timeline(dated, path, places, now)
        contents["Evidence"] = _evidence(claims, path, places, own)
    return SubjectPage(
        {heading: content for heading, content in contents.items() if content},
        tuple(s.id for s in claims),
        standing[0].claim.text if standing else "",
        tuple(s.id for s in statements if not admits(s)),
    )


def claim_link(id_: str) -> str:
    """Return the link from a line to its claim, which ``slowwave why`` follows."""
    return f"[{id_[:8]}](claim:{id_})"


def _admits(visibility: str, sensitivity: str) -> Callable[[SubjectStatement], bool]:
    private = visibility == "private" or sensitivity not in ("", "none")

    def admits(statement: SubjectStatement) -> bool:
        sensitive = statement.sensitivity not in ("", "none")
        if visibility == "public":
            return statement.visibility == "public" and not sensitive
        return private or not sensitive

    return admits


def _distinct(statements: Iterable[_Said]) -> list[list[_Said]]:
    """Group statements with the same words, in the order of the first of each."""
    found: dict[str, list[_Said]] = {}
    for statement in statements:
        found.setdefault(statement.key, []).append(statement)
    return list(found.values())


def _section_text(statements: Iterable[_Said], most: int, shown: Collection[str], *, more: bool = True) -> str:
    distinct = _distinct(statements)
    if not distinct:
        return ""
    lines = [_line(same, shown) for same in distinct[:most]]
    if len(distinct) == 1:
        return lines[0]
    lines = [f"- {line}" for line in lines]
    return "\n".join(
        [*lines, f"- _{len(distinct) - most:,} more are known._"] if more and len(distinct) > most else lines
    )


def _line(same: Sequence[_Said], shown: Collection[str]) -> str:
    first = same[0]
    marks = [f"(confidence {first.claim.confidence:.2f})"] if first.claim.confidence < _DOUBTFUL else []
    marks += ["(contradicted, see below)"] if any(a in shown for s in same for a in s.claim.against) else []
    return " ".join([first.words, *marks, *_links(same)])


def _links(same: Sequence[_Said]) -> list[str]:
    more = [f"and {len(same) - _NAMED:,} more"] if len(same) > _NAMED else []
    return [*(claim_link(s.claim.id) for s in same[:_NAMED]), *more]


def _contradictions(standing: Sequence[_Said]) -> str:
    """Format both sides of each contradicting pair once."""
    known = {s.claim.id: s for s in standing}

    def when(id_: str) -> tuple[datetime, datetime, str]:
        return known[id_].claim.since, known[id_].claim.said_at, id_

    pairs = {(min(id_, a), max(id_, a)) for id_, s in known.items() for a in s.claim.against if a in known}
    sides = sorted(
        (sorted(pair, key=when) for pair in pairs), key=lambda pair: [when(id_) for id_ in pair], reverse=True
    )
    lines = [f"- {' Against: '.join(f'{known[id_].words} {claim_link(id_)}' for id_ in pair)}" for pair in sides[:MOST]]
    return "\n".join([*lines, *([f"- _{len(pairs) - MOST:,} more are known._"] if len(pairs) > MOST else [])])


def _timeline(told: Sequence[_Said], path: str, places: Mapping[str, EvidencePlace], now: datetime) -> str:
    dated: dict[tuple[str, str, str], list[_Said]] = {}
    for s in told:
        ended = "" if s.claim.holds(now) else _day(s.claim.until)
        dated.setdefault((_day(s.claim.since), ended, s.key), []).append(s)
    kept = list(dated.items())[-MOST_DATES:]
    lines = [f"- _{len(dated) - len(kept):,} earlier entries are known._"] if len(kept) < len(dated) else []
    for (since, ended, _), same in kept:
        first = same[0].claim
        when = f"{since} to {ended}" if ended and ended != since else since
        kind = "" if first.kind == "fact" else f"{first.kind.capitalize()}: "
        said_on = _day(min(s.claim.said_at for s in same))
        marks = ["(ended)"] if ended and ended == since else []
        marks += [f"(said {said_on})"] if said_on != since else []
        cited = [f"({_place(place, path)})" for id_ in first.documents[:1] if (place := places.get(id_))]
        lines.append(" ".join([f"- {when}: {kind}{same[0].words}", *marks, *_links(same), *cited]))
    return "\n".join(lines)


def _evidence(told: Sequence[SubjectStatement], path: str, places: Mapping[str, EvidencePlace], own: ProseWords) -> str:
    ids = dict.fromkeys(id_ for s in reversed(told) for id_ in reversed(s.documents) if id_ in places)
    ids = [id_ for id_ in ids if not own.names(places[id_].path)]
    found = list(dict.fromkeys(_place(places[id_], path) for id_ in ids))
    told_in = dict.fromkeys(s.session_id for s in reversed(told) if s.session_id and not s.documents)
    found += [f"session {_code(session)}" for session in told_in]
    lines = [f"- {place}" for place in found[:MOST]]
    return "\n".join([*lines, *([f"- _{len(found) - MOST:,} more are known._"] if len(found) > MOST else [])])


def _place(place: EvidencePlace, path: str) -> str:
    """Format a page as a link if this page can link to it, else as its path for `slowwave corpus get`."""
    if place.beside and _PLAIN.fullmatch(place.path):
        return f"[{escape(place.path)}]({posixpath.relpath(place.path, posixpath.dirname(path) or '.')})"
    return _code(place.path)


def _code(text: str) -> str:
    return f"`{flat(text).replace('`', chr(39))[:300]}`"


def _day(at: datetime | None) -> str:
    return at.astimezone(UTC).date().isoformat() if at else ""

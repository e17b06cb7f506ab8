"""Rows of a snapshot for operations: memories, facts, retired rows, exemptions, quotes, relative dates, small talk."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache, partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.errors import SettingsError
from slowwave.snapshots.memories import active_memories, attributes, languages_of_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.date_phrases import HINT
from slowwave.text.dates import absolutize, local_day
from slowwave.text.foreign_dates import DATED_LANGUAGES
from slowwave.text.keys import keys
from slowwave.text.languages import languages
from slowwave.text.prefilter import matching
from slowwave.text.screening import redact
from slowwave.text.small_talk import LONGEST, is_small_talk, without_small_talk
from slowwave.text.subjects import PROGRAMS
from slowwave.text.turns import HINT as INSTRUCTION_HINT
from slowwave.text.turns import instructive

# Questions that memories have answered: the queries of past recalls, by the memories that they returned.

_MOST: Final = 20
"""Maximum number of questions per memory."""

FIRST: Final = 3
"""Number of leading results that count if it is unknown which of them were used."""


def questions_of(snapshot: Snapshot, ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return for each memory the queries of recalls that used it: the most frequent first, then the newest; at most 20.

    A recall used the selected hits, or its first three hits if none were selected. Empty queries are ignored. Time: linear in the recall
    events.
    """
    events = snapshot.table("recall_events").select(["query", "hit_ids", "selected_ids", "occurred_at"])
    events = events.sort_by([("occurred_at", "descending"), ("query", "ascending")])
    queries = events["query"]
    chosen = pc.fill_null(pc.list_value_length(events["selected_ids"]), 0)
    hits = pc.list_slice(events["hit_ids"].combine_chunks(), 0, FIRST)
    used = pc.if_else(pc.greater(chosen, 0), events["selected_ids"].combine_chunks(), hits)
    flat = pa.table({"event": pc.list_parent_indices(used), "id": pc.list_flatten(used)})
    flat = flat.filter(pc.is_in(flat["id"], value_set=pa.array(sorted(ids), pa.string())))
    times: dict[str, Counter[str]] = defaultdict(Counter)
    for id_, query in zip(flat["id"].to_pylist(), queries.take(flat["event"]).to_pylist(), strict=True):
        if query and (asked := " ".join(str(query).split())):
            times[id_][asked] += 1  # a counter keeps equal counts in the order of insertion, so the newest come first
    return {id_: tuple(q for q, _ in found.most_common(_MOST)) for id_, found in times.items()}


# Exemptions: memories that do not age, each with its reason. Decay, relevance, archiving and summaries use them.
#
# An exempt memory never decays, does not fade, is not archived for its age and is not summarised.

Mask = NDArray[np.bool_]

EXEMPT: Final = ("pinned", "shock", "procedural", "instructions")
"""Reasons why a memory does not age, in order of precedence."""

SHOCKS: Final = "shocks"
PROCEDURAL: Final = ("procedural", "procedures")
"""Plugged.in has the ring ``procedures``, mnemo the kind ``procedural``. Either name counts, as a ring and as a kind."""

RESTS_ON: Final = ("attributes", "author", "current_version_id", "kind", "pinned", "ring", "subject")
"""Columns of a memory that an exemption depends on."""

_INSTRUCTIONS: Final = (
    "personas?|system_?prompt|instructions?|custom_?instructions|rules?|polic(?:y|ies)|guidelines?|guardrails?|"
    "directives?|principles|constitution|playbook|soul|memory_?blocks?|core_?memory"
)
_NAMED: Final = ("kind", "ring", "author")
_SUBJECT: Final = (
    f"(?i)^(?:{_INSTRUCTIONS.replace('_?', '[ _-]?')}|.*[ _-](?:persona|instructions|rules|polic(?:y|ies)|guidelines))$"
)


def exemptions(snapshot: Snapshot) -> dict[str, Mask]:
    """Return the reasons why active memories (rows of ``active_memories``) do not age.

    For each reason of ``EXEMPT``, the result flags (n,) the memories for which it is the first that applies. ``shock``: the ring
    ``shocks``, or ``true`` in the attribute. ``procedural``: by ring or kind. ``instructions`` are memory blocks (as Letta's), memories
    whose kind, ring, author or subject names a persona, rules or a policy, and texts in that form (``slowwave.text.turns``). Time is linear
    in the memories; only texts with a word of an order are parsed.
    """
    memories = active_memories(snapshot)
    shock = _among(memories["ring"], (SHOCKS,))
    for k, found in attribute_of(memories, "shock").items():
        shock[k] |= found is True
    masks = {
        "pinned": memories["pinned"].to_numpy().astype(np.bool_),
        "shock": shock,
        "procedural": _among(memories["kind"], PROCEDURAL) | _among(memories["ring"], PROCEDURAL),
        "instructions": snapshot.answers.find_once(
            "instructions", [memories], None, partial(_instructions, memories)
        ).copy(),
    }
    before = np.zeros(len(memories), np.bool_)
    for name in EXEMPT:
        masks[name] = masks[name] & ~before
        before |= masks[name]
    return masks


def attribute_of(memories: pa.Table, name: str) -> Mapping[int, object]:
    """Return an attribute by row, for the rows that have it; only these are parsed."""
    column = memories["attributes"]
    rows = np.flatnonzero(pc.fill_null(pc.match_substring(column, f'"{name}"'), False).to_numpy(zero_copy_only=False))
    cells = column.take(pa.array(rows)).to_pylist()
    found = ((int(k), attributes(cell).get(name)) for k, cell in zip(rows, cells, strict=True))
    return {k: value for k, value in found if value is not None}


def _instructions(memories: pa.Table) -> Mask:
    named = f"(?i)^(?:{_INSTRUCTIONS})$"
    mask = np.zeros(len(memories), np.bool_)
    for column in _NAMED:
        mask |= _matching(memories[column], named)
    mask |= _matching(memories["subject"], _SUBJECT)
    hinted = np.flatnonzero(_matching(memories["text"], INSTRUCTION_HINT) & ~mask)
    texts = memories["text"].take(pa.array(hinted)).to_pylist()
    mask[hinted] = [instructive(text) for text in texts]
    return mask


def _matching(column: pa.ChunkedArray, pattern: str) -> Mask:
    return pc.fill_null(matching(column, pattern), False).to_numpy(zero_copy_only=False).astype(np.bool_)


def _among(column: pa.ChunkedArray, values: tuple[str, ...]) -> Mask:
    return pc.is_in(column, value_set=pa.array(values)).to_numpy().copy()


# Facts of a snapshot: current facts, recorded facts that were never revoked, and facts that follow each other in time.

SAYS: Final = ("subject", "predicate", "object")
"""The columns with the statement of a fact."""


def live_facts(snapshot: Snapshot) -> pa.Table:
    """Return the facts that hold: active facts that are neither retracted nor ended in the world."""
    live = snapshot.live("memory_facts")
    return live.filter(live["is_active"])


def recorded_facts(snapshot: Snapshot) -> pa.Table:
    """Return the recorded facts: those that hold, and those that were merged into an equal one.

    A merge names the survivor in ``superseded_by`` and leaves ``valid_to`` unchanged, whereas a fact that was replaced has ended.
    """
    facts = snapshot.table("memory_facts")
    merged = pc.and_(
        pc.and_(pc.is_valid(facts["superseded_by"]), pc.is_valid(facts["invalidated_at"])),
        pc.is_null(facts["valid_to"]),
    )
    return pa.concat_tables([live_facts(snapshot), facts.filter(merged)])


def current_facts(snapshot: Snapshot) -> pa.Table:
    """Return the facts that hold, and those that held until another one replaced them."""
    facts = snapshot.table("memory_facts")
    ended = pc.and_(pc.is_valid(facts["superseded_by"]), pc.is_valid(facts["valid_to"]))
    ended = pc.and_(pc.and_(ended, pc.is_null(facts["invalidated_at"])), pc.invert(facts["is_active"]))
    return pa.concat_tables([live_facts(snapshot), facts.filter(ended)])


@dataclass(frozen=True, slots=True, eq=False)
class Successions:
    """Pairs of rows of a table of facts: ``earlier`` and ``later`` (p,) follow each other.

    After ``contested`` rows, several objects begin at once.
    """

    earlier: np.ndarray
    later: np.ndarray
    contested: np.ndarray


def successions(facts: pa.Table, now: datetime) -> Successions:
    """Find the facts that are followed by one with the same subject and predicate but another object.

    It does not matter whether the predicate takes one object or several. ``facts`` are current ones. The successor is the first fact with
    another object that begins strictly later, and not after ``now``. If several objects begin at that instant, the successor cannot be
    determined. Time: a sort of the facts.
    """
    starts = facts["valid_from"]
    begun = pc.fill_null(pc.less_equal(starts, pa.scalar(now, starts.type)), False).to_numpy()
    at = np.flatnonzero(begun)
    if len(at) < 2:
        return Successions(at[:0], at[:0], at[:0])
    topic, object_ = (c[at] for c in topics(facts))
    start = starts.cast(pa.int64()).fill_null(0).to_numpy()[at]
    # The fact of an object with the highest confidence comes first, because the earlier fact refers to it.
    order = np.lexsort((-facts["confidence"].to_numpy()[at], object_, start, topic))
    at, topic, object_, start = (c[order] for c in (at, topic, object_, start))
    # A block consists of the facts of one topic and start.
    begins = np.ones(len(at), bool)
    begins[1:] = (topic[1:] != topic[:-1]) | (start[1:] != start[:-1])
    head = np.flatnonzero(begins)
    of, says = topic[head], object_[head]
    alone = says == object_[np.append(head[1:], len(at)) - 1]  # they are sorted, so comparing the ends is enough
    # Consecutive blocks with one object form a run, and the next block follows each of them.
    opens = np.ones(len(head), bool)
    opens[1:] = ~(alone[1:] & alone[:-1]) | (of[1:] != of[:-1]) | (says[1:] != says[:-1])
    follows = np.append(np.append(np.flatnonzero(opens), len(head))[np.cumsum(opens)], len(head))
    of, says, alone = np.append(of, -1), np.append(says, -1), np.append(alone, True)  # past the end: no topic
    after = follows[np.cumsum(begins) - 1]
    same = (of[after] == topic) & alone[after] & (says[after] == object_)  # one of several objects continues
    after = np.where(same, follows[after], after)
    inside = of[after] == topic
    clear = inside & alone[after]
    return Successions(at[clear], at[head[after[clear]]], at[inside & ~clear])


def topics(facts: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers (n,) that are equal for facts of one subject and predicate, and numbers (n,) for those of one object.

    Both are compared by their keys.
    """
    subject, predicate, object_ = (keys(facts[c]).dictionary_encode() for c in SAYS)
    codes = [c.indices.to_numpy(zero_copy_only=False).astype(np.int64) for c in (subject, predicate, object_)]
    return codes[0] * max(len(predicate.dictionary), 1) + codes[1], codes[2]


# Texts of a snapshot's rows, for people who review them.
#
# Quotes are memory text: the code that shows them escapes them and obeys the namespace's ``redact_text``. Secrets are masked here already,
# because a quote may be kept longer than its row.

LONGEST_QUOTES: Final = 400
"""Maximum length in characters of a quote."""

_READ: Final = 20_000  # characters of a text that are screened: a secret is never cut in two before screening


def quotes(snapshot: Snapshot, wanted: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return the text of each row in ``wanted``, which holds ids by table.

    The text is the current version of a memory, the text or the three parts of a fact, the source, type, target and description of a
    relationship, and the name of an entity. Rows of other tables, rows that are not in the snapshot and rows without text are left out.
    Cost: a pass over the ids of each table that has one of them, and screening of the texts.
    """
    readers = {
        "entities": _entities,
        "memories": _memories,
        "memory_facts": _facts,
        "relationships": _relationships,
    }
    found: dict[str, str] = {}
    for table, ids in wanted.items():
        if table in readers and ids:
            rows = snapshot.table(table)
            found |= readers[table](snapshot, rows.filter(_quotes_among(rows["id"], ids)))
    return {id_: redact(text[:_READ])[:LONGEST_QUOTES] for id_, text in found.items() if text}


def _entities(snapshot: Snapshot, rows: pa.Table) -> dict[str, str]:
    del snapshot
    return dict(zip(rows["id"].to_pylist(), rows["name"].to_pylist(), strict=True))


def _memories(snapshot: Snapshot, rows: pa.Table) -> dict[str, str]:
    versions = snapshot.table("memory_versions")
    current = versions.filter(_quotes_among(versions["id"], set(rows["current_version_id"].to_pylist())))
    texts = dict(zip(current["id"].to_pylist(), current["content"].to_pylist(), strict=True))
    read = zip(*(rows[name].to_pylist() for name in ("id", "current_version_id", "subject")), strict=True)
    return {id_: str(texts.get(version) or subject or "") for id_, version, subject in read}


def _facts(snapshot: Snapshot, rows: pa.Table) -> dict[str, str]:
    del snapshot
    return {
        row["id"]: row["fact_text"] or f"{row['subject']} {row['predicate']} {row['object']}"
        for row in rows.select(["id", "subject", "predicate", "object", "fact_text"]).to_pylist()
    }


def _relationships(snapshot: Snapshot, rows: pa.Table) -> dict[str, str]:
    ends = {id_ for column in ("source_entity_id", "target_entity_id") for id_ in rows[column].to_pylist()}
    entities = snapshot.table("entities")
    known = entities.filter(_quotes_among(entities["id"], ends))
    names = dict(zip(known["id"].to_pylist(), known["name"].to_pylist(), strict=True))
    found: dict[str, str] = {}
    for row in rows.to_pylist():
        source, target = (names.get(row[f"{end}_entity_id"], "") for end in ("source", "target"))
        properties = row["properties"] if row["properties"] not in (None, "", "{}") else ""
        details = ": ".join(part for part in (row["description"], properties) if part)
        found[row["id"]] = f"{source} {row['relationship_type']} {target}{f': {details}' if details else ''}"
    return found


def _quotes_among(ids: pa.ChunkedArray, wanted: Collection[str]) -> pa.ChunkedArray:
    return pc.is_in(ids, value_set=pa.array(sorted(i for i in wanted if i), pa.string()))


# Memories that may contain a relative date, each with its text and the day on which it was recorded, in the author's time zone.
#
# ``slowwave.text.dates`` interprets the phrases. The day is ``valid_from`` in the zone that the memory's attributes name (``timezone``), or
# else in the setting ``dates_zone``. A summary covers several days and is left out, and so is a memory without a start.

LONGEST_RELATIVE_DATES: Final = 65_536
"""Maximum length in characters. A longer text is a document rather than a memory, and is left unchanged."""

_SUMMARY: Final = "summary"


@dataclass(frozen=True, slots=True)
class DatedMemory:
    """One memory with a date.

    ``id`` and ``text`` are those of the memory, ``recorded`` is its start, ``zone`` (IANA) its author's time zone, and ``day`` the day of
    that instant there. ``language`` is the code of its text's language, empty for English.
    """

    id: str
    text: str
    recorded: datetime
    zone: str
    day: date
    pinned: bool
    attributes: Mapping[str, object]
    language: str = ""


@dataclass(frozen=True, slots=True)
class DatedMemories:
    """Memories to be read, by id, and the number of memories before each gate."""

    memories: tuple[DatedMemory, ...]
    numbers: Mapping[str, int]


def candidates(snapshot: Snapshot, settings: Settings) -> DatedMemories:
    """Return the active memories whose text has a word that every relative date has, and those in languages whose dates are found.

    Cost: a pass over the texts, without Python for most. Raises ``SettingsError`` if ``dates_zone`` is not a time zone.
    """
    if not _is_zone(settings.dates_zone):
        raise SettingsError(
            f"The setting dates_zone is {settings.dates_zone[:64]!r}, which is no time zone. Use an IANA name such as Europe/Oslo."
        )
    live = active_memories(snapshot)
    numbers = {"active memories": len(live)}
    language = pa.array(languages_of_memories(snapshot), pa.string())
    live = live.append_column("language", language)
    english, dated_language = pc.equal(language, ""), pc.is_in(language, value_set=pa.array(DATED_LANGUAGES))
    if unread := pc.sum(pc.invert(pc.or_(english, dated_language)), min_count=0).as_py():
        numbers["in languages whose dates are not read"] = unread
    hinted = live.filter(pc.or_(pc.and_(english, matching(live["text"], HINT)), dated_language))
    numbers["with a word of time"] = len(hinted)
    dated = hinted.filter(pc.is_valid(hinted["valid_from"]))
    numbers["of these without a start"] = len(hinted) - len(dated)
    own = dated.filter(pc.not_equal(dated["kind"], _SUMMARY))
    numbers["of these summaries"] = len(dated) - len(own)
    short = own.filter(pc.less_equal(pc.utf8_length(own["text"]), LONGEST_RELATIVE_DATES))
    numbers["of these too long"] = len(own) - len(short)
    columns = ("id", "text", "valid_from", "pinned", "attributes", "language")
    found: list[DatedMemory] = []
    unknown = 0
    for row in short.select(columns).to_pylist():
        more = attributes(row["attributes"])
        zone = _zone(more, settings)
        unknown += bool(more.get("timezone")) and zone != more["timezone"]
        day = local_day(row["valid_from"], zone)
        dated_row = (row["id"], row["text"], row["valid_from"], zone, day, row["pinned"], more, row["language"])
        found.append(DatedMemory(*dated_row))
    numbers["with a time zone that is not known"] = unknown
    return DatedMemories(tuple(found), numbers)


def as_meant(memories: pa.Table, wanted: NDArray[np.bool_], settings: Settings) -> pa.Array:
    """Return the (n,) texts of memories, ``large_string``, with relative dates written out in those ``wanted`` (n).

    Texts from two days then have different words. The table has ``text``, ``kind``, ``valid_from`` and ``attributes``. Cost: that of
    ``absolutize`` for the wanted texts that have a word of time.
    """
    texts = memories["text"].combine_chunks()
    own = pc.and_(pc.is_valid(memories["valid_from"]), pc.not_equal(memories["kind"], _SUMMARY)).combine_chunks()
    own = pc.and_(own, pc.less_equal(pc.utf8_length(texts), LONGEST_RELATIVE_DATES))
    read = wanted & own.to_numpy(zero_copy_only=False).astype(bool)
    language = np.full(len(texts), "", object)
    language[read] = languages(texts.filter(pa.array(read)))
    read &= np.isin(language, DATED_LANGUAGES) | matching(texts, HINT).to_numpy(zero_copy_only=False).astype(bool)
    if not read.any():
        return texts
    rows = memories.filter(pa.array(read)).select(("text", "valid_from", "attributes")).to_pylist()
    dated_texts = [
        absolutize(
            r["text"], r["valid_from"], zone=_zone(attributes(r["attributes"]), settings), idle=False, language=code
        ).text
        for r, code in zip(rows, language[read].tolist(), strict=True)
    ]
    return pc.replace_with_mask(texts, pa.array(read), pa.array(dated_texts, pa.large_string()))


def _zone(more: Mapping[str, object], settings: Settings) -> str:
    """Return the time zone that a memory's attributes name, else that of the settings."""
    named = more.get("timezone")
    return str(named) if named and _is_zone(str(named)) else settings.dates_zone


@lru_cache(maxsize=1024)
def _is_zone(name: str) -> bool:
    try:
        local_day(datetime.fromisoformat("2000-01-01T00:00:00+00:00"), name)
    except ValueError:
        return False
    return True


# Retired rows: the rows of a table that have left the memory, and the time of that as far as the store records it.

_INSTANT: Final = pa.timestamp("us", tz="UTC")


def retired(snapshot: Snapshot, name: str) -> pa.ChunkedArray:
    """Return (n,) whether each row is invalidated, an inactive fact, or a community that another one replaced."""
    table = snapshot.table(name)
    gone = pc.is_valid(table["invalidated_at"])
    if "is_active" in table.column_names:
        gone = pc.or_(gone, pc.invert(table["is_active"]))
    if name == "communities":
        gone = pc.or_(gone, pc.is_valid(_past(snapshot, table["valid_to"])))
    return gone


def retired_since(snapshot: Snapshot, name: str) -> pa.ChunkedArray:
    """Return (n,) the latest past mark of each row's retirement, null for a row without one.

    Marks are ``invalidated_at``, ``valid_to`` and, for a fact, the instant at which the one in ``superseded_by`` was recorded.
    """
    table = snapshot.table(name)
    marks = [_past(snapshot, table[c]) for c in ("invalidated_at", "valid_to") if c in table.column_names]
    if "superseded_by" in table.column_names:
        newer = pc.index_in(table["superseded_by"], value_set=table["id"].combine_chunks())
        marks.append(_past(snapshot, table["recorded_at"].take(newer)))
    latest = pc.max_element_wise(
        *(m.cast(pa.int64()) for m in marks)
    )  # Arrow cannot compare instants with max_element_wise
    return latest.cast(_INSTANT)


def _past(snapshot: Snapshot, instants: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the instants up to that of the snapshot; later ones become null."""
    past = pc.less_equal(instants, pa.scalar(snapshot.taken_at, _INSTANT))
    return pc.if_else(past, instants, pa.scalar(None, _INSTANT))


# Memories that rest on others: an agent or an importer named the memories that one was derived from.

_NAMING: Final = ("derived_from", "source", "sources", "source_ids", "source_memory_ids", "links")
"""Attributes of a memory that may name other memories by id or external id."""

_NAMES_OTHERS: Final = rf'"(?:{"|".join(_NAMING)})"\s*:'


def resting_on_ended(snapshot: Snapshot) -> dict[str, str]:
    """Map each active memory that names an ended one as its source to that one; ids of both.

    A memory has ended if it was invalidated or its end in the world is past; one that was merged into another lives on in it. Only memories
    that name the ended one itself are returned. Cost: a pass over the attributes, and a parse of those that name a source.
    """
    table = snapshot.table("memories")
    over = pc.or_(pc.is_valid(table["invalidated_at"]), pc.is_valid(_past(snapshot, table["valid_to"])))
    ended = table.filter(pc.and_(over, pc.is_null(table["merged_into"])))
    return {id_: sources[0] for id_, sources in named_sources(active_memories(snapshot), ended).items()}


def named_sources(memories: pa.Table, sources: pa.Table) -> dict[str, list[str]]:
    """Map each memory that names others of ``sources`` as its source to them, by ids or external ids; ids of both.

    Cost: a pass over the attributes, and a parse of those that name a source.
    """
    rows = sources.select(("id", "external_id")).to_pylist()
    named = {str(row[name]): str(row["id"]) for row in rows for name in ("id", "external_id") if row[name]}
    if not named:
        return {}
    known = pc.is_in(memories["source"], value_set=pa.array(sorted(named), memories["source"].type))
    texts = memories["attributes"].cast(pa.large_string())
    citing = memories.filter(pc.fill_null(pc.or_(matching(texts, _NAMES_OTHERS), known), False))
    found: dict[str, list[str]] = {}
    for row in citing.select(("id", "source", "attributes")).to_pylist():
        given = attributes(row["attributes"])
        ids = [row["source"], *(id_ for name in _NAMING for id_ in _named_ids(given.get(name)))]
        if mine := [named[id_] for id_ in dict.fromkeys(ids) if id_ in named and named[id_] != row["id"]]:
            found[str(row["id"])] = mine
    return found


def _named_ids(value: object) -> list[str]:
    """Return the ids in an attribute: one, a list, or a list of objects with an ``id`` or a ``target``."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [str(value[name]) for name in ("id", "target") if name in value]
    return (
        [id_ for one in value for id_ in _named_ids(one) if not isinstance(one, list)]
        if isinstance(value, list)
        else []
    )


# Cleared memories: a person decided that they stay unchanged whatever screening finds in them; and the result of screening.

CLEARED: Final = "cleared"
"""The value of the attribute ``screening`` of a memory that a person cleared."""


def is_cleared(cell: object) -> bool:
    """Return whether a memory's cell of attributes marks it as cleared by a person."""
    fields = cell if isinstance(cell, Mapping) else attributes(cell) if CLEARED in str(cell) else {}
    return fields.get("screening") == CLEARED


def is_held_back(text: str, cell: object) -> bool:
    """Return whether screening must act on a text before it may be reworded.

    A plan holds the new words, and would hold the secret. ``cell`` holds the memory's attributes. A person's clearance covers
    instructions and the like; a secret remains a secret.
    """
    from slowwave.text.screening import counting, screen  # the rules of screening take a while to load

    found = counting(screen(text))
    return any(f.kind in ("secret", "hidden") for f in found) or bool(found and not is_cleared(cell))


# Memories that consist of small talk only, among those that a recall can find.
#
# ``slowwave.text.informative`` recognises small talk, and the planner ``archive_small_talk`` decides what happens to it. Only kinds for
# spoken text are checked. Knowledge and procedures that someone wrote down, and summaries, are exempt.

KINDS: Final = ("episodic", "working", "event")
"""Kinds of memories with spoken text."""


def small_talk(snapshot: Snapshot) -> Mask:
    """Return (n,) which active memories (rows of ``active_memories``) are only small talk.

    Time: about 10 µs for each memory of these kinds and of at most ``LONGEST`` characters; the last answer is kept.
    """
    memories = active_memories(snapshot)
    return snapshot.answers.find_once("small talk", [memories], None, partial(_small_talk, memories)).copy()


def _small_talk(memories: pa.Table) -> Mask:
    of_kind = pc.is_in(memories["kind"], value_set=pa.array(KINDS))
    short = pc.less_equal(pc.utf8_length(memories["text"]), LONGEST)
    mask = pc.and_(of_kind, short).to_numpy().astype(np.bool_)
    rows = memories.select(["text", "author"]).filter(pa.array(mask)).to_pylist()
    mask[mask] = [is_small_talk(r["text"], program=is_program(r["author"])) for r in rows]
    return mask


def texts_without_small_talk(memories: pa.Table, column: str) -> pa.Array:
    """Return (n,) the texts of a ``column`` without their sentences of small talk, ``large_string``.

    Texts of other kinds are unchanged.
    """
    columns = (memories[name].to_pylist() for name in (column, "kind", "author"))
    return pa.array((text_without_small_talk(*row) for row in zip(*columns, strict=True)), pa.large_string())


def text_without_small_talk(text: str, kind: object, author: object) -> str:
    """Return the text of a memory of a kind and an author without its sentences of small talk."""
    return without_small_talk(text, program=is_program(author)) if kind in KINDS else text


def is_program(author: object) -> bool:
    """Return whether an author's "I" refers to a program."""
    return str(author or "").casefold() in PROGRAMS

"""MEMORY.md and DREAMS.md: promoted memories and the work of the nights, in lines that are safe as Markdown."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.snapshots.memories import version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.sources.blocks import MEMORY
from slowwave.store.settings import Settings
from slowwave.wiki.options import CompilePagesOptions
from slowwave.wiki.pages.lines import DREAMS, LINE, Rendered, body_of, fits, flat, hook, input_hash, source

# Promoted memories, best first: live promotions of memories that recall can find, each with the memory's words.

_HOPS: Final = 16  # merges of a promoted memory that are followed
_HITS: Final = ("hits", "recalls", "recall_count")
_DAYS: Final = ("days", "unique_days", "distinct_days")


@dataclass(frozen=True, slots=True)
class Promoted:
    """One promoted memory with the recorded ones of its scores."""

    memory: str
    text: str
    subject: str
    kind: str
    score: float | None
    hits: int | None
    days: int | None


def promoted(snapshot: Snapshot) -> list[Promoted]:
    """Return the promotions that are live at the snapshot's instant: best score first, then newest, then by id.

    Each memory is listed once, with its newest promotion. For a merged memory its survivor is listed. Memories that recall cannot find,
    or that are in another ring by now, are left out. Cost: a pass over memories and versions, and the number of promotions.
    """
    rows = snapshot.live("promotions").select(["memory_id", "to_ring", "scores", "recorded_at"])
    rows = rows.filter(pc.less_equal(rows["recorded_at"], pa.scalar(snapshot.taken_at, pa.timestamp("us", "UTC"))))
    rows = rows.sort_by([("recorded_at", "descending"), ("memory_id", "ascending")])
    if not len(rows):
        return []
    survivors = _survivors(snapshot, rows["memory_id"].unique().to_pylist())
    live = snapshot.live("memories")
    live = live.filter(
        pc.and_(pc.equal(live["state"], "active"), pc.is_in(live["id"], pa.array(survivors.values(), pa.string())))
    )
    texts = version_texts(snapshot, live["current_version_id"]).to_pylist()
    columns = (live[name].to_pylist() for name in ("id", "ring", "subject", "kind"))
    known = {id_: (ring, subject, kind, text) for id_, ring, subject, kind, text in zip(*columns, texts, strict=True)}
    found: dict[str, Promoted] = {}
    for row in rows.to_pylist():
        memory = survivors.get(row["memory_id"], "")
        if memory in found or memory not in known:
            continue
        ring, subject, kind, text = known[memory]
        if text.strip() and (ring == row["to_ring"] or memory != row["memory_id"]):
            found[memory] = Promoted(memory, text, subject, kind, *figures(row["scores"]))
    return sorted(found.values(), key=lambda p: -(p.score or 0.0))  # stable: the newest first among equals


def figures(scores: object) -> tuple[float | None, int | None, int | None]:
    """Parse score, hits and distinct days from the JSON ``scores`` of a promotion; None for absent values."""
    try:
        parts: object = json.loads(str(scores))
    except (ValueError, RecursionError):  # an agent may have written the value, nested to any depth
        parts = None
    known: Mapping[str, object] = parts if isinstance(parts, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    score, hits, days = _number(known, ("score",)), _number(known, _HITS), _number(known, _DAYS)
    return score, None if hits is None else int(hits), None if days is None else int(days)


def in_brackets(score: float | None, hits: int | None, days: int | None) -> str:
    """Format figures as in a line (nexo 3.3); empty if there are none."""
    parts = [f"score={score:.2f}"] if score is not None else []
    parts += [f"hits={hits}"] if hits is not None else []
    parts += [f"days={days}"] if days is not None else []
    return f" _({', '.join(parts)})_" if parts else ""


def _number(parts: Mapping[str, object], names: tuple[str, ...]) -> float | None:
    for name in names:
        value = parts.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e9:
            return float(value)
    return None


def _survivors(snapshot: Snapshot, ids: list[str]) -> dict[str, str]:
    """Return the survivor of each promoted memory, which is the memory itself if it was not merged."""
    memories = snapshot.table("memories").select(["id", "merged_into"])
    merged = memories.filter(pc.is_valid(memories["merged_into"]))
    into = dict(zip(merged["id"].to_pylist(), merged["merged_into"].to_pylist(), strict=True))

    def last(memory: str) -> str:
        for _ in range(_HOPS):
            if memory not in into:
                break
            memory = into[memory]
        return memory

    return {id_: last(id_) for id_ in ids}


# Screening of the words of a memory for a page: unsafe words are left out and counted.


@dataclass(slots=True)
class PageScreen:
    """The screening of one page, with cached results.

    ``refused`` are the memories whose words were left out.
    """

    refused: set[str] = field(default_factory=set)
    _known: dict[str, bool] = field(default_factory=dict)

    def passes(self, memory: str, text: str) -> bool:
        """Return whether words of a memory may be shown, and record the memory if not.

        ``memory`` is empty for the words of a heading, which belong to no memory.
        """
        from slowwave.text.screening import unsafe  # imported late, because its rules take a moment to load

        if text not in self._known:
            self._known[text] = not unsafe(text)
        if not self._known[text] and memory:
            self.refused.add(memory)
        return self._known[text]


# MEMORY.md: the index of promoted memories, one line per memory, each with the link to its source (nexo 3.3).

TEMPLATE: Final = 1
"""Version of the text around the entries: a new version renders every page again."""

_TITLE: Final = "Memory"
_OPENING: Final = (
    f"# {_TITLE}",
    "",
    "Memories that proved useful when they were recalled. Slowwave writes the lines between the two marks; the rest of the file is yours.",
)
_HEADING: Final = 80


def memory_index(snapshot: Snapshot, settings: Settings) -> Rendered:
    """Render the index of a namespace with its best promoted memories.

    The page stays within ``compile_pages.max_lines`` and ``compile_pages.max_bytes``. Memories are grouped by subject if a subject has
    several, else by kind. The same promotions of the same words give the same page at any time. Cost: that of ``promoted``, and a
    screening of every memory that is shown or left out.
    """
    screen = PageScreen()
    options = settings.options("compile_pages", CompilePagesOptions)
    limits = options.max_lines, options.max_bytes
    every = promoted(snapshot)
    safe: list[Promoted] = []
    for n, memory in enumerate(every):
        if len(safe) == limits[0]:
            omitted = len(every) - n
            break
        if screen.passes(memory.memory, memory.text):
            safe.append(memory)
    else:
        omitted = 0
    shown = safe
    body = body_of(_lines(shown, screen, omitted))
    while shown and not fits(body, *limits):
        shown = shown[: len(shown) - max(1, (body.count("\n") + 1 - limits[0]) // 2)]
        body = body_of(_lines(shown, screen, omitted + len(safe) - len(shown)))
    omitted += len(safe) - len(shown)
    inputs = [[m.memory, _words(m, screen), m.score, m.hits, m.days] for m in shown]
    return Rendered(
        path=MEMORY,
        title=_TITLE,
        body=body,
        input_hash=input_hash(TEMPLATE, snapshot.namespace_id, inputs, omitted, limits if omitted else None),
        entries=len(shown),
        sources=tuple(m.memory for m in shown),
        unsafe=tuple(sorted(screen.refused)),
        omitted=omitted,
    )


def _words(memory: Promoted, screen: PageScreen) -> list[str]:
    return [_line(memory), _subject(memory, screen), memory.kind]


def _lines(shown: Sequence[Promoted], screen: PageScreen, omitted: int) -> list[str]:
    if not shown:
        return []
    subjects = Counter(_subject(m, screen) for m in shown)
    groups: dict[str, list[str]] = {}
    for memory in shown:
        subject = _subject(memory, screen)
        named = bool(subject) and subjects[subject] > 1
        heading = hook(subject, _HEADING) if named else _kind(memory, screen)
        groups.setdefault(heading, []).append(_line(memory))
    lines = list(_OPENING)
    for heading, entries in groups.items():
        lines += ["", f"## {heading}", *entries]
    if omitted:
        lines += ["", f"_{omitted:,} more are promoted and not shown: the index has reached its limit._"]
    return lines


def _line(memory: Promoted) -> str:
    end = f"{in_brackets(memory.score, memory.hits, memory.days)} {source(memory.memory)}"
    return f"- {hook(memory.text, LINE - 2 - len(end))}{end}"


def _subject(memory: Promoted, screen: PageScreen) -> str:
    subject = flat(memory.subject)
    return subject if subject and screen.passes("", subject) else ""


def _kind(memory: Promoted, screen: PageScreen) -> str:
    kind = flat(memory.kind)
    return hook(kind.capitalize(), _HEADING) if kind and screen.passes("", kind) else "Memories"


# DREAMS.md: the changes of the nights to memory, day by day, from the rows that they left (nexo 3.3).
#
# Only dated changes are listed: promotions and their ends, merges, summaries, new versions, retired memories, up to the snapshot's
# instant. A state has no date, so the counts of memories that are archived or quarantined at present are above the days.

_TITLE_DIARY: Final = "Dream diary"
_OPENING_DIARY: Final = (
    f"# {_TITLE_DIARY}",
    "",
    "The changes that nights made to this memory. A change that was undone since the last night is removed by the next one. "
    "Slowwave writes the lines between the two marks; the rest of the file is yours.",
)
_LINKED: Final = 3  # sources of a line that counts
_PROMOTED: Final = 20  # promotions of a day that are listed
_REASON: Final = 60
_STATES: Final = ("archived", "quarantined")
_HAPPENED: Final[Mapping[str, tuple[str, str]]] = {
    "promoted": ("1 memory promoted", "{n} memories promoted"),
    "revoked": ("1 promotion revoked", "{n} promotions revoked"),
    "merged": ("1 memory merged into another", "{n} memories merged into others"),
    "folded": ("1 memory folded into a summary", "{n} memories folded into summaries"),
    "written": ("1 summary written", "{n} summaries written"),
    "rewritten": ("1 memory rewritten by {by}", "{n} memories rewritten by {by}"),
    "retired": ("1 memory retired", "{n} memories retired"),
}
"""The possible changes of a day, in the order in which a day lists them."""


@dataclass(frozen=True, slots=True)
class _Event:
    """Events of one kind on one day, with their count and the first memories that they affected."""

    what: str
    by: str
    count: int
    memories: tuple[str, ...]


def dream_diary(snapshot: Snapshot, settings: Settings) -> Rendered:
    """Render the diary of a namespace, newest day first.

    It has as many whole days as ``compile_pages.max_lines`` and ``compile_pages.max_bytes`` allow. Cost: passes over promotions, memories
    and versions, and the entries of the days that are shown.
    """
    days = _days(snapshot)
    screen = PageScreen()
    options = settings.options("compile_pages", CompilePagesOptions)
    limits = options.max_lines, options.max_bytes
    opening = [*_OPENING_DIARY, *_at_present(snapshot)]
    shown: list[list[str]] = []
    sources: list[str] = []
    body = ""
    listed = _promotions(snapshot)
    for n, (day, events) in enumerate(days):
        lines, linked = _day(day, events, listed.get(day, []), screen)
        longer = _body(opening, [*shown, lines], len(days) - n - 1)
        if not shown and not fits(longer, *limits):
            # If even the first day does not fit, list it without its entries rather than not at all.
            lines, linked = _day(day, events, (), screen)
            longer = _body(opening, [lines], len(days) - 1)
        if not fits(longer, *limits):
            break
        shown.append(lines)
        sources += linked
        body = longer
    omitted = len(days) - len(shown)
    return Rendered(
        path=DREAMS,
        title=_TITLE_DIARY,
        body=body,
        input_hash=input_hash(TEMPLATE, snapshot.namespace_id, opening if days else None, shown, omitted),
        entries=len(shown),
        sources=tuple(dict.fromkeys(sources)),
        unsafe=tuple(sorted(screen.refused)),
        omitted=omitted,
    )


def _body(opening: Sequence[str], days: Sequence[Sequence[str]], omitted: int) -> str:
    more = ["", f"_{omitted:,} earlier {'day is' if omitted == 1 else 'days are'} not shown._"] if omitted else []
    return body_of([*opening, *(line for day in days for line in day), *more])


def _day(
    day: str, events: Sequence[_Event], listed: Sequence[_Listed], screen: PageScreen
) -> tuple[list[str], list[str]]:
    """Return the lines of one day, and the memories that they link."""
    lines, linked = ["", f"## {day}"], list[str]()
    for event in events:
        one, many = _HAPPENED[event.what]
        by = hook(event.by, _REASON) if screen.passes("", event.by) else "an operation"
        parts = (one if event.count == 1 else many).format(n=f"{event.count:,}", by=by)
        more = f" and {event.count - len(event.memories):,} more" if event.count > len(event.memories) else ""
        lines.append(f"- {parts}: {', '.join(map(source, event.memories))}{more}")
        linked += event.memories
    entries = [p for p in listed if p.text.strip() and screen.passes(p.memory, p.text)][:_PROMOTED]
    if entries:
        lines += ["", "### Promoted", *map(_entry, entries)]
        linked += [p.memory for p in entries]
    return lines, linked


def _entry(entry: _Listed) -> str:
    score, hits, _ = figures(entry.scores)
    parts = [f"score {score:.2f}"] if score is not None else []
    parts += [f"hits {hits}"] if hits is not None else []
    end = f"{' — ' if parts else ''}{', '.join(parts)} {source(entry.memory)}"
    return f"- {hook(entry.text, LINE - 2 - len(end))}{end}"


def _at_present(snapshot: Snapshot) -> list[str]:
    live = snapshot.live("memories")
    counts = {state: pc.sum(pc.equal(live["state"], state)).as_py() or 0 for state in _STATES}
    parts = [f"{n:,} {state}" for state, n in counts.items() if n]
    return ["", f"Out of recall at present: {', '.join(parts)}."] if parts else []


def _days(snapshot: Snapshot) -> list[tuple[str, list[_Event]]]:
    """Return the days with events, newest first, each with its events in the order of ``_HAPPENED``."""
    events = _events(snapshot)
    parts = pc.less_equal(events["at"], pa.scalar(snapshot.taken_at, pa.timestamp("us", "UTC")))
    table = events.filter(parts).append_column("day", pc.strftime(events["at"].filter(parts), "%Y-%m-%d"))
    grouped = table.sort_by([("id", "ascending")]).group_by(["day", "what", "by"], use_threads=False)
    rows = grouped.aggregate([("id", "count"), ("id", "list")])
    days: dict[str, list[_Event]] = defaultdict(list)
    names = ("day", "what", "by", "id_count")
    first = pc.list_slice(rows["id_list"], 0, _LINKED).to_pylist()
    for day, what, by, count, ids in zip(*(rows[c].to_pylist() for c in names), first, strict=True):
        days[day].append(_Event(what, by, count, tuple(ids)))
    order = list(_HAPPENED)
    return [
        (day, sorted(events, key=lambda e: (order.index(e.what), e.by)))
        for day, events in sorted(days.items(), reverse=True)
    ]


def _events(snapshot: Snapshot) -> pa.Table:
    """Return all dated events as (at, what, by, id); ids are those of memories."""
    memories = snapshot.table("memories")
    promotions = snapshot.table("promotions")
    versions = snapshot.table("memory_versions").select(
        ["memory_id", "ordinal", "reason", "recorded_at", "recorded_by"]
    )
    versions = versions.filter(pc.is_valid(versions["recorded_by"]))
    gone = memories.filter(pc.is_valid(memories["invalidated_at"]))
    absorbed = gone.filter(pc.is_valid(gone["merged_into"]))
    retired = gone.filter(pc.and_(pc.is_null(gone["merged_into"]), pc.is_valid(gone["invalidated_by"])))
    summaries = memories["id"].filter(pc.equal(memories["kind"], "summary"))
    folded = pc.is_in(absorbed["merged_into"], value_set=_array(summaries))
    first = versions.filter(pc.equal(versions["ordinal"], 1))
    revoked = promotions.filter(pc.is_valid(promotions["invalidated_at"]))
    later = versions.filter(pc.greater(versions["ordinal"], 1))
    written = first.filter(pc.is_in(first["memory_id"], value_set=_array(summaries)))
    return pa.concat_tables(
        [
            _dated("promoted", promotions, "memory_id", "recorded_at"),
            _dated("revoked", revoked, "memory_id", "invalidated_at"),
            _dated("merged", absorbed.filter(pc.invert(folded)), "id", "invalidated_at"),
            _dated("folded", absorbed.filter(folded), "id", "invalidated_at"),
            _dated("written", written, "memory_id", "recorded_at"),
            _dated("rewritten", later, "memory_id", "recorded_at", later["reason"]),
            _dated("retired", retired, "id", "invalidated_at"),
        ]
    )


def _dated(what: str, rows: pa.Table, memory: str, instant: str, by: pa.ChunkedArray | None = None) -> pa.Table:
    none = pa.array([""] * len(rows), pa.string())
    return pa.table(
        {
            "at": rows[instant],
            "what": pa.array([what] * len(rows), pa.string()),
            "by": none if by is None else by,
            "id": rows[memory],
        }
    )


@dataclass(frozen=True, slots=True)
class _Listed:
    """A promotion of a memory that recall can find, with the current words of the memory."""

    memory: str
    text: str
    scores: str


def _promotions(snapshot: Snapshot) -> dict[str, list[_Listed]]:
    """Return the promotions by day, best score first."""
    rows = snapshot.table("promotions").select(["memory_id", "scores", "recorded_at"])
    live = snapshot.live("memories").select(["id", "state", "current_version_id"])
    live = live.filter(pc.and_(pc.equal(live["state"], "active"), pc.is_in(live["id"], _array(rows["memory_id"]))))
    texts = version_texts(snapshot, live["current_version_id"]).to_pylist()
    known = dict(zip(live["id"].to_pylist(), texts, strict=True))
    days: dict[str, list[_Listed]] = defaultdict(list)
    columns = (rows["memory_id"], pc.strftime(rows["recorded_at"], "%Y-%m-%d"), rows["scores"])
    for memory, day, scores in zip(*(c.to_pylist() for c in columns), strict=True):
        if memory in known:
            days[day].append(_Listed(memory, known[memory], scores))
    return {day: sorted(found, key=lambda p: (-(figures(p.scores)[0] or 0.0), p.memory)) for day, found in days.items()}


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column  # pyright: ignore[reportUnnecessaryIsInstance]

"""DREAMS.md: what the nights did to memory, day by day, read from the rows that they left (nexo 3.3).

Only what a row dates is listed: promotions and their ends, merges, summaries, new versions, retired memories, as far as the snapshot's
instant. A state has no date, so what is archived or quarantined at present stands above the days.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.pages.lines import LINE, hook, source
from slowwave.pages.page import DREAMS, Rendered, body_of, fits, input_hash
from slowwave.pages.promoted import figures
from slowwave.pages.screened import PageScreen
from slowwave.rows.memories import version_texts
from slowwave.snapshots.snapshot import Snapshot

TEMPLATE: Final = 1
"""Version of the words around the entries: another one renders every page again."""

_TITLE: Final = "Dream diary"
_OPENING: Final = (
    f"# {_TITLE}",
    "",
    "What nights did to this memory. Slowwave writes what stands between the two marks; the rest of the file is yours.",
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
"""What may happen on a day, in the order in which a day tells it."""


@dataclass(frozen=True, slots=True)
class _Event:
    """What happened on one day: how often, and to which memories first."""

    what: str
    by: str
    count: int
    memories: tuple[str, ...]


def dream_diary(snapshot: Snapshot, settings: Settings) -> Rendered:
    """The diary of a namespace, newest day first, as many whole days as ``compile_pages.max_lines`` and ``compile_pages.max_bytes`` hold.

    Cost: passes over promotions, memories and versions, and what the days that are shown list.
    """
    days = _days(snapshot)
    screen = PageScreen()
    limits = settings.operations.compile_pages.max_lines, settings.operations.compile_pages.max_bytes
    opening = [*_OPENING, *_at_present(snapshot)]
    shown: list[list[str]] = []
    sources: list[str] = []
    body = ""
    listed = _promotions(snapshot)
    for n, (day, events) in enumerate(days):
        lines, linked = _day(day, events, listed.get(day, []), screen)
        longer = _body(opening, [*shown, lines], len(days) - n - 1)
        if not shown and not fits(longer, *limits):
            lines, linked = _day(
                day, events, (), screen
            )  # a day of its own is listed without its entries rather than not at all
            longer = _body(opening, [lines], len(days) - 1)
        if not fits(longer, *limits):
            break
        shown.append(lines)
        sources += linked
        body = longer
    omitted = len(days) - len(shown)
    return Rendered(
        path=DREAMS,
        title=_TITLE,
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
    """Lines of one day, and the memories that they link."""
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
    """Days on which anything happened, the newest first, each with its events in the order of ``_HAPPENED``."""
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
    """(at, what, by, id) of all that is dated; ids are those of memories."""
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
    """A promotion of a memory that recall can find, with the memory's words as they are now."""

    memory: str
    text: str
    scores: str


def _promotions(snapshot: Snapshot) -> dict[str, list[_Listed]]:
    """Day → its promotions, the best score first."""
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

"""Display of an item's changes: cell by cell, in the words of its rows, and with their names."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from slowwave.bindings.connect import texts_of
from slowwave.changes.cells import TOLD, VERSION, Change, Insert, Value, Write, decode
from slowwave.changes.lowering import Unexplained
from slowwave.changes.mutation import Mutation, Row
from slowwave.errors import SlowwaveError
from slowwave.plans.items import Item
from slowwave.plans.outcome import find_outcome, instant, is_place, seen_words
from slowwave.plans.questions import plain_name
from slowwave.plans.writings import KINDS, about
from slowwave.search.words import asked, words
from slowwave.store.logins import Connection
from slowwave.store.tables import VECTORS
from slowwave.text.quotation import quotable, quotable_all
from slowwave.text.tokens import counted, fold

if TYPE_CHECKING:
    from slowwave.text.specifics import Losses

# The changes of an item for people: cell by cell before → after, its inserts, and what a text would lose.


@dataclass(frozen=True, slots=True)
class ItemChange:
    """One changed cell or new row: its place, its value before and after."""

    table: str
    row: str
    column: str
    before: str
    after: str


def changes(item: Item) -> list[ItemChange]:
    """Return all changes of an item in cell order, followed by inserts and deleted rows."""
    return _listed(item.id, item.mutation)


def physical_changes(item: Item) -> list[ItemChange]:
    """Return what an item writes to a connected store, by its table names and keys; empty for our own memory."""
    return _listed(item.id, item.mutation.physical) if item.mutation.physical else []


def unexplained_changes(item_id: str, found: Unexplained) -> list[ItemChange]:
    """Return the physical cells of an item that its logical part does not explain, with redacted values."""
    listed = _listed(item_id, found.cells)
    return [replace(c, before=str(quotable(c.before)), after=str(quotable(c.after))) for c in listed]


def unexplained_lines(item_id: str, found: Unexplained) -> list[str]:
    """Format a warning that an item writes to its store what it does not show, with a line for each such cell."""
    lines = [f"It does not do what it shows, so it can be neither approved nor applied. {found.reason}"]
    for c in unexplained_changes(item_id, found):
        where = ".".join(part for part in (c.table, c.column) if part)
        lines.append(f"not explained: {where} of row {c.row}: {c.before} → {c.after}")
    return lines


def _listed(item_id: str, change: Mutation | Change) -> list[ItemChange]:
    shown: list[ItemChange] = []
    for w in change.writes:
        match w.action:
            case "add":
                before, after = "n", f"n {int(str(w.value)):+d}"
            case "now":
                before, after = text_of(w.cell.table, w.cell.column, w.seen), "time of apply"
            case "item":
                before, after = text_of(w.cell.table, w.cell.column, w.seen), f"item {item_id}"
            case "row":
                before, after = text_of(w.cell.table, w.cell.column, w.seen), "the new row"
            case "set":
                before, after = (
                    text_of(w.cell.table, w.cell.column, w.seen),
                    text_of(w.cell.table, w.cell.column, w.value),
                )
        shown.append(ItemChange(w.cell.table, w.cell.row, w.cell.column, before, after))
    for i in change.inserts:
        values = ", ".join(f"{c}={text_of(i.table, c, v)}" for c, v in sorted(i.values.items()))
        shown.append(ItemChange(i.table, i.row or "new row", "", "nothing", values))
    for d in change.deletes:
        values = ", ".join(
            f"{c}={text_of(d.table, c, v)}" for c, v in sorted(d.seen.items()) if v not in (None, "", ())
        )
        shown.append(ItemChange(d.table, d.row, "", values, "deleted"))
    return shown


@dataclass(frozen=True, slots=True)
class Rewording:
    """A memory whose own words an item removes: the id of the version that the plan saw, and its replacement.

    The replacement is ``text``, or the version ``by`` of another memory; with neither, the memory leaves recall. ``beside`` are the
    versions of the item's other memories, which stay: those that a contradiction or a merge keeps.
    """

    memory: str
    version: str
    text: str = ""
    by: str = ""
    beside: tuple[str, ...] = ()


def rewordings(item: Item) -> list[Rewording]:
    """Return the memories that an item rewords, sums up, merges away or removes from recall.

    Quarantined memories are left out, because their text must not be shown.
    """
    mutation = item.mutation
    if mutation.table != "memories" or mutation.kind in ("write_claims", "forget_rows"):  # claims keep their words
        return []
    cells = [*mutation.seen(), *((w.cell, w.seen) for w in mutation.writes)]
    versions = {c.row: str(v) for c, v in cells if c.table == "memories" and c.column in (VERSION, TOLD) and v}
    texts = [str(i.values["content"]) for i in mutation.inserts if i.table == "memory_versions"]
    if mutation.kind == "merge_rows" and mutation.keep:
        gone, by = [row.id for row in mutation.absorb], versions.get(mutation.keep.id, "")
        return [Rewording(row, versions[row], by=by) for row in gone if row in versions and by]
    if texts:
        beside = _beside(versions, {row.id for row in mutation.rows})
        return [
            Rewording(row.id, versions[row.id], texts[0], beside=beside) for row in mutation.rows if row.id in versions
        ]
    leaving = {
        w.cell.row
        for w in mutation.writes
        if w.cell.table == "memories" and (w.cell.column, w.value) == ("state", "archived")
    }
    leaving |= {w.cell.row for w in mutation.writes if w.cell.table == "memories" and w.cell.column == "invalidated_at"}
    beside = _beside(versions, leaving)
    return [Rewording(row, versions[row], beside=beside) for row in sorted(leaving) if row in versions]


def _beside(versions: Mapping[str, str], changed: Collection[str]) -> tuple[str, ...]:
    """Return the versions of the memories that an item read and does not change."""
    return tuple(version for row, version in sorted(versions.items()) if row not in changed)


def lost_lines(found: Losses) -> list[str]:
    """Format losses as lines: "- " for removed, "+ " for added and "~ " for reworded text.

    Reworded text shows [-removed-] and {+added+} words. Text that stays is shown in full next to a change, and counted elsewhere.
    """
    lines: list[str] = []
    kept: list[str] = []

    def flush() -> None:
        lines.extend(f"  {text}" for text in kept[:1])
        if len(kept) > 2:
            lines.append(f"  … {len(kept) - 2:,} more stay")
        lines.extend(f"  {text}" for text in kept[1:][-1:])
        kept.clear()

    for pieces, same in groupby(found.lines):
        times = len(list(same))
        if len(pieces) == 1 and pieces[0].mark == "kept":
            kept.extend([pieces[0].text] * times)
            continue
        flush()
        if len(pieces) == 1:
            lines.append(f"{_MARKS[pieces[0].mark]} {pieces[0].text}" + (f" ({times:,} times)" if times > 1 else ""))
        else:
            lines.append("~ " + " ".join(_BRACKETS[p.mark].format(_without_marks(p.text)) for p in pieces))
    flush()
    return lines


_MARKS: Final = {"kept": " ", "lost": "-", "new": "+"}
_PARTS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_AROUND: Final = 9  # parts: words, signs and the text between them
_BRACKETS: Final = {"kept": "{}", "lost": "[-{}-]", "new": "{{+{}+}}"}
_MARK: Final = re.compile(r"(?<=\[)(?=-)|(?<=\{)(?=\+)|(?<=-)(?=\])|(?<=\+)(?=\})")


def _without_marks(text: str) -> str:
    """Return a text of memory with a space in each marker of a removed or added part, so that no memory can pretend to have changed."""
    return _MARK.sub(" ", text)


def reworded_line(before: str, after: str) -> str:
    """Format a reworded text as one line: [-removed-] and {+added+} text with a few words around each.

    If "…" at an end says that a text was cut, a difference there, after another one, is due to the cut and is not shown.
    """
    is_cut = before.endswith("…") or after.endswith("…")
    old, new = (_PARTS.findall(_without_marks(text.removesuffix("…"))) for text in (before, after))
    groups = [_one_run(old, new)] if old != new else []
    if groups == [[]]:
        groups = [*SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_AROUND)]
    if is_cut and sum(tag != "equal" for group in groups for tag, *_ in group) > 1 and groups[-1][-1][0] != "equal":
        groups[-1].pop()
    shown: list[str] = []
    end = 0
    for group in filter(None, groups):
        if group[0][1] > end:
            shown.append("…")
        for tag, a, b, c, d in group:
            if tag == "equal":
                shown.append("".join(old[a:b]))
                continue
            shown += [_BRACKETS["lost"].format("".join(old[a:b]))] * (a < b)
            shown += [_BRACKETS["new"].format("".join(new[c:d]))] * (c < d)
        end = group[-1][2]
    return "".join([*shown, *["…"] * (is_cut or end < len(old))])


def _one_run(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Return the operations of a text that only got or lost one run of parts; empty for any other.

    ``SequenceMatcher`` may find a sign within the run that equals one after it, and split the run there.
    """
    shorter = min(len(old), len(new))
    start = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    rest = shorter - start
    if any(old[-n] != new[-n] for n in range(1, rest + 1)):
        return []
    before, after = min(start, _AROUND), min(rest, _AROUND)
    a, b = len(old) - rest, len(new) - rest
    return [
        ("equal", start - before, start, start - before, start),
        ("insert" if len(new) > len(old) else "delete", start, a, start, b),
        ("equal", a, a + after, b, b + after),
    ]


def text_of(table: str, column: str, value: Value) -> str:
    """Return a cell's value as text: a list of ids as their number, a vector by its length and first values."""
    if value is None:
        return "nothing"
    if table in VECTORS and column == "vector" and isinstance(value, str):
        vector = decode(value)
        return f"vector of {len(vector)} [{', '.join(f'{x:.3f}' for x in vector[:3])}, …]"
    return f"{len(value)} ids" if isinstance(value, tuple) else str(value)


# The names of rows for people: an entity's name, the ends of a relationship, the text of a memory or fact.
#
# An item names its rows by id, and its evidence holds words for some of them. Missing words are read from memory, all at once. They are
# untrusted and pass ``quotable``; surfaces escape them.

LONGEST: Final = 300
"""The number of characters of a name. A longer text of a memory is shown in full where its losses are listed."""

_NAMES: Final = """
SELECT id::text, name FROM memory.entities WHERE id = ANY(%(ids)s::uuid[]) AND state <> 'quarantined' UNION ALL
SELECT r.id::text, concat_ws(' ', s.name, r.relationship_type, t.name) FROM memory.relationships r
  JOIN memory.entities s ON s.id = r.source_entity_id JOIN memory.entities t ON t.id = r.target_entity_id
  WHERE r.id = ANY(%(ids)s::uuid[]) UNION ALL
SELECT id::text, fact_text FROM memory.memory_facts WHERE id = ANY(%(ids)s::uuid[]) UNION ALL
SELECT m.id::text, v.content FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
  WHERE m.id = ANY(%(ids)s::uuid[]) AND m.state <> 'quarantined' UNION ALL
SELECT id::text, coalesce(nullif(path, ''), title) FROM memory.documents WHERE id = ANY(%(ids)s::uuid[]) UNION ALL
SELECT id::text, content FROM memory.chunks WHERE id = ANY(%(ids)s::uuid[])
"""


def read_names(connection: Connection, ids: Collection[str], namespace_id: str) -> dict[str, str]:
    """Return row → current name.

    One query, and another if the namespace belongs to a connected store and rows are left without a name. Quarantined rows have no name,
    nor have rows of a store that cannot be read now.
    """
    if not ids:
        return {}
    rows = connection.execute(_NAMES, {"ids": sorted(ids)}).fetchall()
    if left := set(ids).difference(str(id_) for id_, _ in rows):
        with suppress(SlowwaveError):
            rows += texts_of(connection, namespace_id, left).items()
    names = quotable_all([str(name) for _, name in rows])
    return {str(id_): str(name)[:LONGEST] for (id_, _), name in zip(rows, names, strict=True) if name}


def named_rows(items: Iterable[Item]) -> set[str]:
    """Return the rows whose names describe the items' changes: those they are about and those they write."""
    found: set[str] = set()
    for item in items:
        found.update(item.mutation.row_ids())
        found.update(w.cell.row for w in item.mutation.writes)
        found.update(str(w.value) for w in item.mutation.writes if w.cell.column in POINTERS and w.value)
    return found


POINTERS: Final = frozenset(("superseded_by", "merged_into", "source_entity_id", "target_entity_id", "entity_id"))
"""Columns that name another row of memory."""


def own_names(item: Item, names: Mapping[str, str]) -> dict[str, str]:
    """Return row of an item → name: from its evidence, else the current name, else the external id."""
    mutation = item.mutation
    rows = (mutation.keep, *mutation.absorb) if mutation.keep else mutation.rows
    found = {**names, **seen_words(item)}
    return found | {row.id: found.get(row.id) or row.external_id or f"{mutation.table} {row.id[:8]}" for row in rows}


_SOURCES: Final = """
SELECT id::text, 'passage', left(content, %(most)s) FROM memory.chunks WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, 'document', left(content, %(most)s) FROM memory.documents WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT m.id::text, 'memory', left(v.content, %(most)s) FROM memory.memories m
  JOIN memory.memory_versions v ON v.id = m.current_version_id WHERE m.id = ANY(%(ids)s::uuid[])
"""

_READ: Final = 100
"""The number of an item's sources that are read."""

_QUOTED_SOURCES: Final = 5
"""The number of an item's sources that are quoted."""

_PASSAGE: Final = 4_000
"""The number of characters of a source that are read."""

_REDACTED: Final = re.compile(r"\[redacted[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of an item that support it, as (id, kind, text), quotable, and a sentence about the others, which may be empty.

    ``words`` are the words of the item's rows, by which a source supports it.
    """

    quoted: tuple[tuple[str, str, str], ...]
    others: str
    words: frozenset[str]


def read_sources(connection: Connection, item: Item, names: Mapping[str, str]) -> Sources:
    """Read the first sources of an item that contain at least a third of the words of one of its rows.

    A row may cite passages about something else, which a person would take for its reason. ``names`` are those of the item's rows
    (``read_names``). One query.
    """
    own = own_names(item, names)
    texts = [*(own[row] for row in item.mutation.row_ids() if row in own), *seen_words(item).values()]
    rows = [frozenset(asked(_REDACTED.sub(" ", text))) for text in texts]
    cited = list(dict.fromkeys(item.sources))
    found = connection.execute(_SOURCES, {"ids": cited[:_READ], "most": _PASSAGE}).fetchall() if cited else []
    stored = {str(id_): (str(id_), str(kind), str(quotable(str(text)))) for id_, kind, text in found}

    def supports(text: str) -> bool:
        held = frozenset(words(text))
        return any(3 * len(row & held) >= len(row) for row in rows)

    quoted = [stored[id_] for id_ in cited if id_ in stored and supports(stored[id_][2])][:_QUOTED_SOURCES]
    left = len(cited) - len(quoted)
    others = ""
    if left and quoted:
        others = f"It also cites {counted(left, 'other passage')}."
    elif left:
        others = f"It cites {counted(left, 'passage')}, and not one that is still stored contains its words."
    return Sources(tuple(quoted), others, frozenset[str]().union(*rows))


def called(item: Item, names: Mapping[str, str], status: str = "") -> str:
    """Describe an item in one line: its outcome if it has two sides, else the names of its rows.

    A reworded text is shown with the removed and the added words. ``status`` is the item's, see ``slowwave.plans.outcome.find_outcome``.
    """
    mutation, evidence = item.mutation, item.evidence
    found = find_outcome(item, names, status)
    if mutation.kind in KINDS:
        return f"{about(mutation)}: {found.sentence()}" if found else about(mutation)
    if found:
        return found.sentence()
    if mutation.kind == "new_version" and (before := evidence.get("before")) and (after := evidence.get("after")):
        return reworded_line(*_quoted(before, after))
    own = own_names(item, names)
    if rows := [own[row.id] for row in mutation.rows]:
        return _few(rows)
    return " = ".join(_said(item)) or f"new {mutation.table}"


def _quoted(*texts: object) -> list[str]:
    return [str(quotable(str(text))) for text in texts]


def _few(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"


def _said(item: Item) -> tuple[str, ...]:
    """Return the names that the planner gave, without secrets."""
    names: Any = item.evidence.get("names")
    return tuple(str(quotable(str(name))) for name in names) if isinstance(names, (list, tuple)) else ()


# The changes of an item in the words of its rows: one line per change, names before ids, without bookkeeping.
#
# Stamps, counters, vectors and changes that merely follow from a retired row do not help a decision: they are counted here, and
# ``changes`` lists each of them. ``slowwave.plans.writings`` formats pages and claims, ``slowwave.text.specifics`` lost words.

_STAMPS: Final = frozenset(
    (
        "invalidated_at",
        "invalidated_by",
        "merged_into",
        "superseded_by",
        "is_active",
        "content_hash",
        "current_version_id",
    )
)
_JOINED: Final = frozenset(("source_chunk_ids", "source_document_ids"))
"""Columns of a merge's survivor that gain the values of the others, in every merge."""

_MOVED: Final = frozenset(("source_entity_id", "target_entity_id", "entity_id"))
_RECORDS: Final = frozenset(("promotions", "claim_events", "memory_versions", *VECTORS))
"""Tables whose rows only record a change that has another line."""

_NAME: Final = 33
"""The number of characters of a row's name within a line; the heading of its item has all of it."""

_KNOWN: Final = 16
"""The longest external id that a person would know; longer ones are digests."""

_Cells = Mapping[str, Write]


@dataclass(frozen=True, slots=True)
class RowChanges:
    """The changes of an item as lines of plain text without secrets.

    ``hidden`` is the number of cells and new rows that the lines leave out.
    """

    lines: tuple[str, ...]
    hidden: int


def row_changes(item: Item, names: Mapping[str, str], status: str = "") -> RowChanges:
    """List the changes of an item, starting with the outcome of its two sides.

    ``names`` are those of its rows (``read_names``). ``status`` is the item's, see ``slowwave.plans.outcome.find_outcome``. Cost: linear
    in its cells.
    """
    full = own_names(item, names)
    own = _short(item, full)
    sides = find_outcome(item, names, status)
    alone = item.mutation.rows[0].id if len(item.mutation.rows) == 1 and not sides else ""
    by_row: defaultdict[tuple[str, str], dict[str, Write]] = defaultdict(dict)
    for write in item.mutation.writes:
        by_row[write.cell.table, write.cell.row][write.cell.column] = write
    shown = _ShownLines([sides.sentence()] if sides else [], 0)
    ended = {row.id for row in sides.ends} if sides else set[str]()
    moved: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for (table, row), cells in by_row.items():
        if to := next((str(cells[c].value) for c in cells if c in _MOVED), ""):
            moved[table, to].add(row)
        subject = "" if row == alone else _name(own, table, row)
        if "state" in cells and row == alone and (hides := state_change(item)):
            shown.lines.append(hides)
            cells.pop("state")
        _add_row(shown, table, subject, cells, merge=item.mutation.keep is not None, named=row in ended)
    for (table, to), rows in moved.items():
        shown.lines.append(
            f"{_count(len(rows), table)} of it {'moves' if len(rows) == 1 else 'move'} to {_name(own, 'row', to)}"
        )
    renamed = {w.cell.row: str(w.value) for w in item.mutation.writes if w.cell.column == "name" and w.value}
    _add_inserts(shown, item.mutation.inserts, own | renamed, full | renamed)
    for delete in item.mutation.deletes:
        shown.lines.append(f"deletes {_name(own, delete.table, delete.row)}")
    if not shown.lines and shown.hidden and not rewordings(item):
        shown.lines.append(_silent(item))
        shown.hidden = 0
    return RowChanges(tuple(str(quotable(line)) for line in shown.lines), shown.hidden)


def state_change(item: Item) -> str:
    """Describe what a change of state means for the memory of an item that changes nothing else; empty for other items.

    A block of a connected folder leaves its file. Searches leave out passages of small talk and quarantined memories, and no others.
    """
    mutation = item.mutation
    states = [w for w in mutation.writes if w.cell.column == "state" and w.cell.table == mutation.table]
    if mutation.kind != "set_state" or len(mutation.rows) != 1 or not states or states[0].value == "active":
        return ""
    if foreign := foreign_end(mutation, mutation.rows, "It"):
        return foreign
    change = f"(state {states[0].seen} → {states[0].value}). It stays stored"
    if states[0].value == "archived" and item.operation != "archive_small_talk":
        return f"No search returns the memory any more {change}, and so does a passage that it cites, which searches still return."
    return f"No search returns it any more {change}."


def foreign_end(mutation: Mutation, ended: Sequence[Row], who: str, *, placed: bool = True) -> str:
    """Describe what becomes of rows that end in a connected folder or table; empty for a store of Slowwave's own.

    With ``placed`` the sentence names the places of the rows in their files.
    """
    stored, places = (
        mutation.physical,
        [row.external_id for row in ended if row.external_id and is_place(row.external_id)],
    )
    if places:
        more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
        place = f" ({places[0]}{more})" if placed else ""
        return f"{who} leaves its file{place}, and no search returns it. `slowwave undo` puts it back there."
    if stored and stored.deletes:
        return f"{who} is deleted from the connected store. `slowwave undo` puts it back."
    if stored:
        return f"{who} is marked as ended in the connected store, and no search returns it. `slowwave undo` removes the mark."
    return ""


@dataclass(slots=True)
class _ShownLines:
    lines: list[str]
    hidden: int


def _add_row(told: _ShownLines, table: str, subject: str, cells: _Cells, *, merge: bool, named: bool) -> None:
    """Add the lines of one row: its end, unless the outcome has ``named`` it, then each cell that a person can read."""
    end = cells.get("valid_to")
    when = instant(end.value) if end and end.action == "set" and end.value else ""
    gone = "invalidated_at" in cells or ("is_active" in cells and cells["is_active"].value is False)
    if (gone or when) and not named:
        equal = ": an equal one stays" if merge and table == "relationships" and not when else ""
        told.lines.append(f"{_before(subject)}ends {f'on {when}' if when else 'when the plan is applied'}{equal}")
    for column, write in cells.items():
        if write.action != "set" or table in VECTORS or column in _STAMPS or (merge and column in _JOINED):
            told.hidden += 1
        elif column in _MOVED or (gone and column == "state") or (when and column == "valid_to"):
            continue
        elif instant(write.seen) == instant(write.value):  # of the same minute
            told.hidden += 1
        else:
            told.lines.append(
                f"{_before(subject, ':')}{plain_name(column)} {_change(table, column, write.seen, write.value)}"
            )


def _add_inserts(
    told: _ShownLines, inserts: Sequence[Insert], own: Mapping[str, str], names: Mapping[str, str]
) -> None:
    """Add the lines of new rows, with the names of entities (``own``, and in full ``names``) that they have after the change."""
    called: defaultdict[str, list[str]] = defaultdict(list)
    for insert in inserts:
        if insert.table == "entity_aliases":
            called[str(insert.values.get("entity_id"))].append(str(insert.values.get("alias")))
        elif insert.table in _RECORDS:
            told.hidden += 1
        else:
            values = ", ".join(
                f"{c} {text_of(insert.table, c, v)}" for c, v in sorted(insert.values.items()) if _says(c, v)
            )
            told.lines.append(f"new in {insert.table}: {values or 'a row'}")
    for row, aliases in called.items():
        if other := [alias for alias in aliases if fold(alias) != fold(names.get(row, ""))]:
            told.lines.append(f"{_name(own, 'entities', row)} is also called {', '.join(other)}")


def _short(item: Item, own: Mapping[str, str]) -> dict[str, str]:
    """Return names short enough to fit twice into a line; equal names get their external id as well."""
    short = {row: name if len(name) <= _NAME else f"{name[: _NAME - 1].rstrip()}…" for row, name in own.items()}
    mutation = item.mutation
    rows = (*((mutation.keep,) if mutation.keep else ()), *mutation.absorb, *mutation.rows)
    times = Counter(short[row.id] for row in rows)
    alike = [row for row in rows if times[short[row.id]] > 1]
    return short | {row.id: f"{short[row.id]} ({_id(row)})" for row in alike}


def _id(row: Row) -> str:
    """Return the external id if a person would know it, else the first characters of the row's id."""
    return row.external_id if row.external_id and len(row.external_id) <= _KNOWN else row.id[:8]


def _silent(item: Item) -> str:
    """Return a line for an item whose changes no other line describes."""
    tables = {w.cell.table for w in item.mutation.writes} | {i.table for i in item.mutation.inserts}
    if tables and tables <= set(VECTORS):
        return "gets its vector"
    cells = len(item.mutation.writes) + len(item.mutation.inserts)
    return f"{counted(cells, 'cell')} that nobody reads"


def _change(table: str, column: str, before: Value, after: Value) -> str:
    """Format before → after; for lists, only added and removed values."""
    if isinstance(before, tuple) and isinstance(after, tuple):
        return f"{len(before):,} → {len(after):,}"
    was, now = _json(before), _json(after)
    if isinstance(was, list) and isinstance(now, list):
        return _added_and_gone(was, now)
    if isinstance(was, dict) and isinstance(now, dict):
        pairs = ([f"{k}={_plain(v)}" for k, v in sorted(d.items())] for d in (was, now))
        return _added_and_gone(*pairs)
    return f"{instant(text_of(table, column, before))} → {instant(text_of(table, column, after))}"


def _added_and_gone(was: Iterable[Any], now: Iterable[Any]) -> str:
    old, new = [_plain(v) for v in was], [_plain(v) for v in now]
    parts = [f"+ {v}" for v in new if v not in old] + [f"- {v}" for v in old if v not in new]
    return ", ".join(parts) or "in another order"


def _says(column: str, value: Value) -> bool:
    return not column.endswith(("_id", "_ids", "_hash")) and value not in (None, "", (), "{}", "[]")


def _json(value: Value) -> object:
    if not isinstance(value, str) or value[:1] not in ("[", "{"):
        return None
    try:
        return json.loads(value)
    except ValueError:
        return None


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _name(own: Mapping[str, str], table: str, row: str) -> str:
    return own.get(row) or (f"{table} {row[:8]}" if row else f"a row of {table}")


def _before(subject: str, mark: str = "") -> str:
    return f"{subject}{mark} " if subject else ""


def _count(n: int, table: str) -> str:
    return f"{n:,} {table.removesuffix('s') if n == 1 else table}"

"""What an item changes, in the words of its rows: one line a change, names before ids, and no bookkeeping.

Stamps, counters, vectors and what merely follows a retired row say nothing to who decides: they are counted here, and
``slowwave.plans.diff`` lists each of them. Pages and claims are told by ``slowwave.plans.writings``, lost words by
``slowwave.texts.losses``.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from slowwave.mutations.cells import Insert, Value, Write
from slowwave.mutations.mutation import Row
from slowwave.plans.diff import rewordings, text_of
from slowwave.plans.items import Item
from slowwave.plans.outcome import find_outcome, instant
from slowwave.plans.row_names import own_names
from slowwave.store.tables import VECTORS
from slowwave.texts.counted import counted
from slowwave.texts.quotation import quotable

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
"""Columns of a merge's survivor that gain what the others have: every merge says so."""

_MOVED: Final = frozenset(("source_entity_id", "target_entity_id", "entity_id"))
_RECORDS: Final = frozenset(("promotions", "claim_events", "memory_versions", *VECTORS))
"""Tables whose rows only record what another line tells."""

_NAME: Final = 33
"""Characters of a row's name within a line; the heading of its item has all of it."""

_KNOWN: Final = 16
"""Characters of an external id that somebody gave; longer ones are digests."""

_Cells = Mapping[str, Write]


@dataclass(frozen=True, slots=True)
class RowChanges:
    """``lines`` are plain text of one line each, without secrets; ``hidden`` is how many cells and new rows they leave out."""

    lines: tuple[str, ...]
    hidden: int


def row_changes(item: Item, names: Mapping[str, str], status: str = "") -> RowChanges:
    """List the changes of an item, the outcome of its two sides first; ``names`` are those of its rows (``slowwave.plans.row_names``).

    ``status`` is the item's, see ``slowwave.plans.outcome.find_outcome``. Cost: linear in its cells.
    """
    own = _short(item, own_names(item, names))
    sides = find_outcome(item, names, status)
    alone = item.mutation.rows[0].id if len(item.mutation.rows) == 1 and not sides else ""
    by_row: defaultdict[tuple[str, str], dict[str, Write]] = defaultdict(dict)
    for write in item.mutation.writes:
        by_row[write.cell.table, write.cell.row][write.cell.column] = write
    told = _ShownLines([sides.sentence()] if sides else [], 0)
    ended = {row.id for row in sides.ends} if sides else set[str]()
    moved: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for (table, row), cells in by_row.items():
        if to := next((str(cells[c].value) for c in cells if c in _MOVED), ""):
            moved[table, to].add(row)
        subject = "" if row == alone else _name(own, table, row)
        _add_row(told, table, subject, cells, merge=item.mutation.keep is not None, named=row in ended)
    for (table, to), rows in moved.items():
        told.lines.append(
            f"{_count(len(rows), table)} of it {'moves' if len(rows) == 1 else 'move'} to {_name(own, 'row', to)}"
        )
    _add_inserts(told, item.mutation.inserts, own)
    for delete in item.mutation.deletes:
        told.lines.append(f"deletes {_name(own, delete.table, delete.row)}")
    if not told.lines and told.hidden and not rewordings(item):
        told.lines.append(_silent(item))
        told.hidden = 0
    return RowChanges(tuple(str(quotable(line)) for line in told.lines), told.hidden)


@dataclass(slots=True)
class _ShownLines:
    lines: list[str]
    hidden: int


def _add_row(told: _ShownLines, table: str, subject: str, cells: _Cells, *, merge: bool, named: bool) -> None:
    """Add the lines of one row: that it ends, unless the outcome has ``named`` it, then each cell that a person can read."""
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
            told.lines.append(f"{_before(subject, ':')}{column} {_change(table, column, write.seen, write.value)}")


def _add_inserts(told: _ShownLines, inserts: Sequence[Insert], own: Mapping[str, str]) -> None:
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
    told.lines += [f"{_name(own, 'entities', row)} is also called {', '.join(names)}" for row, names in called.items()]


def _short(item: Item, own: Mapping[str, str]) -> dict[str, str]:
    """Names that fit twice into a line; rows of the item that would be called the same say their external id as well."""
    short = {row: name if len(name) <= _NAME else f"{name[: _NAME - 1].rstrip()}…" for row, name in own.items()}
    mutation = item.mutation
    rows = (*((mutation.keep,) if mutation.keep else ()), *mutation.absorb, *mutation.rows)
    times = Counter(short[row.id] for row in rows)
    alike = [row for row in rows if times[short[row.id]] > 1]
    return short | {row.id: f"{short[row.id]} ({_id(row)})" for row in alike}


def _id(row: Row) -> str:
    """An external id that a person would know, else how the row's own begins."""
    return row.external_id if row.external_id and len(row.external_id) <= _KNOWN else row.id[:8]


def _silent(item: Item) -> str:
    """What an item changes of which no line says anything."""
    tables = {w.cell.table for w in item.mutation.writes} | {i.table for i in item.mutation.inserts}
    if tables and tables <= set(VECTORS):
        return "gets its vector"
    cells = len(item.mutation.writes) + len(item.mutation.inserts)
    return f"{counted(cells, 'cell')} that nobody reads"


def _change(table: str, column: str, before: Value, after: Value) -> str:
    """Before → after; of a list only what comes and goes."""
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

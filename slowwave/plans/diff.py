"""What an item would change, for people: cell by cell before → after with what it inserts, and what of a text would be lost."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby
from typing import Final

from slowwave.mutations.cells import TOLD, VERSION, Value
from slowwave.mutations.change import Change
from slowwave.mutations.lowering import Unexplained
from slowwave.mutations.mutation import Mutation
from slowwave.mutations.vectors import decode
from slowwave.plans.items import Item
from slowwave.store.tables import VECTORS
from slowwave.texts.losses import Losses
from slowwave.texts.quotation import quotable


@dataclass(frozen=True, slots=True)
class ItemChange:
    """One cell or new row: where, what is there, what would be."""

    table: str
    row: str
    column: str
    before: str
    after: str


def changes(item: Item) -> list[ItemChange]:
    """All changes of an item, in cell order, inserts and deleted rows last."""
    return _listed(item.id, item.mutation)


def physical_changes(item: Item) -> list[ItemChange]:
    """What an item writes to the tables of a store that is not ours, by their names and keys; nothing in our own memory."""
    return _listed(item.id, item.mutation.physical) if item.mutation.physical else []


def unexplained_changes(item_id: str, found: Unexplained) -> list[ItemChange]:
    """Return the physical cells of an item that its logical part does not explain, without what screening would redact."""
    listed = _listed(item_id, found.cells)
    return [replace(c, before=str(quotable(c.before)), after=str(quotable(c.after))) for c in listed]


def unexplained_lines(item_id: str, found: Unexplained) -> list[str]:
    """Format a warning that an item writes to its store what it does not show, and each such cell, for whoever would approve it."""
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
    """What a memory says no longer in its own words: the id of the version that the plan saw, and what stands for it then.

    That is ``text``, or the version ``by`` of another memory; with neither it leaves recall, and nothing stands for it. ``beside`` are the
    versions of the item's other memories, which stay: those that a contradiction or a merge keeps.
    """

    memory: str
    version: str
    text: str = ""
    by: str = ""
    beside: tuple[str, ...] = ()


def rewordings(item: Item) -> list[Rewording]:
    """The memories that an item rewords, sums up, merges away or takes out of recall. What is quarantined is not to be shown."""
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
    """Losses as lines: "- " before what goes, "+ " before what comes, "~ " before what is reworded, with [-these-] words for {+those+}.

    What stays is shown in full beside something that goes, else counted.
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
            lines.append("~ " + " ".join(_BRACKETS[p.mark].format(p.text) for p in pieces))
    flush()
    return lines


_MARKS: Final = {"kept": " ", "lost": "-", "new": "+"}
_PARTS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_AROUND: Final = 9  # parts, which are words, signs and what is between them
_BRACKETS: Final = {"kept": "{}", "lost": "[-{}-]", "new": "{{+{}+}}"}


def reworded_line(before: str, after: str) -> str:
    """A text that is reworded, in a line: [-what goes-] and {+what comes+} with a few words around each."""
    old, new = _PARTS.findall(before), _PARTS.findall(after)
    shown: list[str] = []
    end = 0
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_AROUND):
        if group[0][1] > end:
            shown.append("…")
        for tag, a, b, c, d in group:
            if tag == "equal":
                shown.append("".join(old[a:b]))
                continue
            shown += [_BRACKETS["lost"].format("".join(old[a:b]))] * (a < b)
            shown += [_BRACKETS["new"].format("".join(new[c:d]))] * (c < d)
        end = group[-1][2]
    return "".join([*shown, *["…"] * (end < len(old))])


def text_of(table: str, column: str, value: Value) -> str:
    """A cell's value as text: a list of ids as how many, a vector by its length and how it begins."""
    if value is None:
        return "nothing"
    if table in VECTORS and column == "vector" and isinstance(value, str):
        vector = decode(value)
        return f"vector of {len(vector)} [{', '.join(f'{x:.3f}' for x in vector[:3])}, …]"
    return f"{len(value)} ids" if isinstance(value, tuple) else str(value)

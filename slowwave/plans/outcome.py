"""The outcome of an item with two sides: which rows end, when and why, and which row stays.

The side of a row is derived from the writes and guards of the sealed item, never from the order of its evidence, which only provides
words. Every surface that names two sides uses ``find_outcome`` and its sentence, so surfaces cannot disagree. The words quote memory,
which is untrusted: they pass ``quotable``, and surfaces escape them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from slowwave.changes.cells import OVERLAY, Cell, Insert, Value, inserted_id
from slowwave.changes.mutation import Mutation
from slowwave.plans.items import Item
from slowwave.plans.questions import NO_SIDE, SAME, TASK_DONE, is_about_task, is_part_of_another, reason_in_words
from slowwave.text.quotation import quotable
from slowwave.text.tokens import fold

LONGEST: Final = 300
"""The number of characters of a side that a sentence quotes."""

_LISTED: Final = 3
"""The number of rows of a side that a sentence names."""

_KNOWN: Final = 16
"""The longest external id that a person would know; longer ones are digests."""

_PLACE: Final = re.compile(r", line \d+$")
"""A block of a connected folder has the external id "path, line N"."""

_ENDED: Final = ("loser", "earlier", "was")
_STAYED: Final = ("winner", "later", "told_by")
"""Keys of the evidence under which planners store the words of the row that ends, and of the row that stays."""

_SAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "entities": ("name",),
    "memory_facts": ("subject", "predicate", "object"),
}
"""Table → the columns that hold the words of a row. Other tables keep the words of their rows elsewhere."""

NO_NAMES: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """A row on one side: its id, its words, and for a row that ends the instant (ISO 8601).

    ``date`` is empty if the row ends when the plan is applied.
    """

    id: str
    text: str
    date: str = ""
    external_id: str = ""

    @property
    def is_place(self) -> bool:
        """Return whether the external id is a file and a line of a connected folder, as the night read it."""
        return is_place(self.external_id)

    @property
    def shown_id(self) -> str:
        """Return the external id if a person would know it, else the first characters of the row's id."""
        return self.external_id if self.is_place or 0 < len(self.external_id) <= _KNOWN else self.id[:8]


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """The rows that stay and the rows that end.

    ``kind`` is ``merges`` if the rows that end are merged into the one that stays. ``reason`` is a clause that follows "because".
    ``proposed`` is true while nobody has decided. ``name`` is the new name of the row that stays, empty if it keeps its own. ``side`` is
    a clause that says why this row stays rather than the other.
    """

    stays: tuple[OutcomeRow, ...]
    ends: tuple[OutcomeRow, ...]
    reason: str
    kind: Literal["ends", "merges"] = "ends"
    proposed: bool = False
    noun: str = ""
    name: str = ""
    side: str = ""

    @property
    def date(self) -> str:
        """Return the instant at which all rows end; empty if they end at apply or at different instants."""
        dates = {row.date for row in self.ends}
        return dates.pop() if len(dates) == 1 else ""

    @property
    def is_undecided(self) -> bool:
        """Return whether nobody has decided, and nothing says which side is later."""
        return self.proposed and self.side == NO_SIDE

    def to_json(self) -> dict[str, object]:
        """Return the form of ``--json``; a ``date`` is null if a row ends when the plan is applied."""
        return {
            "kind": self.kind,
            "proposed": self.proposed,
            "stays": [{"id": row.id or None, "text": row.text} for row in self.stays],
            "ends": [{"id": row.id or None, "text": row.text, "date": row.date or None} for row in self.ends],
            "date": self.date or None,
            "name": self.name or None,
            "reason": self.reason,
            "side": self.side or None,
            "sentence": self.sentence(),
        }

    def sentence(self) -> str:
        """Return one sentence for people: “X” ends on DATE because …; “Y” stays. A merge names what stays only if that is a name."""
        times = Counter(row.text for row in (*self.stays, *self.ends))

        def listed(rows: Sequence[OutcomeRow]) -> str:
            named = [_quoted(row, alike=times[row.text] > 1) for row in rows[:_LISTED]]
            if len(rows) > _LISTED:
                named.append(f"{len(rows) - _LISTED:,} more")
            return _joined(named)

        because = f" because {self.reason}" if self.reason else ""
        stay = f"{self.noun}{listed(self.stays)} {'stays' if len(self.stays) == 1 else 'stay'}"
        if self.kind == "merges":
            verb = "is" if len(self.ends) == 1 else "are"
            done = f"{listed(self.ends)} {verb} merged into {listed(self.stays)}"
            if not self.noun:
                return f"{'Proposal: ' if self.proposed else ''}{done}{because}."
            name = OutcomeRow("", self.name or self.stays[0].text)
            if len({fold(text) for text in (*times, name.text)}) == 1:
                stay = f"{'both' if times.total() == 2 else 'all'} are called {_quoted(name, alike=False)}"
            elif self.name:
                stay = f"{self.noun}{_quoted(name, alike=False)} stays"
        else:
            dates = dict.fromkeys(row.date for row in self.ends)
            done = _joined([_ending(date, [r for r in self.ends if r.date == date], listed) for date in dates])
        if self.is_undecided:
            why = f"They {self.reason.removeprefix('they ')}, and nothing" if self.reason else "Nothing"
            return f"{listed(self.stays)} or {listed(self.ends)}? {why} says which is later. With yes, {done}; {stay}."
        side = f" {self.side}" if self.side else ""
        return f"{'Proposal: ' if self.proposed else ''}{done}{because}; {stay}{side}."


def find_outcome(item: Item, names: Mapping[str, str] = NO_NAMES, status: str = "") -> ItemOutcome | None:
    """Return the outcome of an item with two sides, None for any other item. Cost: linear in its cells.

    Args:
        item: The sealed item.
        names: Words of rows by id, for rows whose words the item does not hold (``slowwave.plans.show.read_names``).
        status: The item's status. A review item is a proposal until it is approved.
    """
    mutation = item.mutation
    asked = item.is_question and status not in ("approved", "applied", "undone", "noop")
    found: ItemOutcome | None = None
    if mutation.kind == "write_claims":
        found = _replaced_claims(item, names)
    elif mutation.keep:
        found = _merge(item, names)
    elif mutation.kind == "insert_summary":
        found = _summary(item, names)
    elif mutation.kind == "invalidate_rows":
        found = _ended_rows(item, names, decided=not asked)
    elif mutation.kind == "new_version":
        found = _ended_sentences(item)
    if found is None or not found.stays or not found.ends:
        return None
    return replace(found, proposed=asked)


def seen_words(item: Item) -> dict[str, str]:
    """Return row → words, for the rows of the item whose words the sealed item holds."""
    mutation, evidence = item.mutation, item.evidence
    found: dict[str, str] = {}
    given = evidence.get("names")
    if mutation.keep:
        rows = (mutation.keep, *mutation.absorb)
        if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == len(rows):
            found = {row.id: str(name) for row, name in zip(rows, given, strict=True)}
    elif sides := find_sides(mutation):
        ends, stays = sides
        for ids, keys in ((ends, _ENDED), (stays, _STAYED)):
            if len(ids) == 1 and (text := _first(evidence, keys)):
                found[ids[0]] = text
    found |= _columns_seen(mutation)
    if (
        len(mutation.rows) == 1 and "redacted" in evidence
    ):  # screening of the text alone does not find all of its secrets
        found[mutation.rows[0].id] = str(evidence["redacted"])
    quotes = evidence.get("quotes") if mutation.kind == "insert_summary" else None
    for one in quotes if isinstance(quotes, Sequence) and not isinstance(quotes, str) else ():
        if isinstance(one, Mapping) and "id" in one:
            found[str(one["id"])] = str(one.get("text", ""))
    return {row: str(quotable(text)) for row, text in found.items() if text}


def is_place(external_id: str) -> bool:
    """Return whether an external id is a file and a line of a connected folder."""
    return _PLACE.search(external_id) is not None


def instant(value: Value) -> str:
    """Return an instant as its day, with the time if that is not midnight; any other text unchanged."""
    text = str(value)
    if not (len(text) >= 20 and text[4:5] == text[7:8] == "-" and text[10:11] == "T"):
        return text
    return text[:10] if text[11:19] == "00:00:00" else f"{text[:10]} {text[11:16]}"


def _merge(item: Item, names: Mapping[str, str]) -> ItemOutcome | None:
    mutation, words = item.mutation, seen_words(item)
    if mutation.keep is None:
        return None
    stays, *ends = (
        _row(mutation, row.id, words.get(row.id) or names.get(row.id, ""), external=row.external_id or "")
        for row in (mutation.keep, *mutation.absorb)
    )
    entities = mutation.table == "entities"
    given = next((w.value for w in mutation.writes if w.cell == Cell("entities", mutation.keep.id, "name")), None)
    name = str(quotable(str(given))) if entities and given is not None else ""
    return ItemOutcome(
        (stays,),
        tuple(ends),
        _why_joined(item),
        "merges",
        noun="the name " if entities else "",
        name=name if name != stays.text else "",
    )


def _why_joined(item: Item) -> str:
    if is_part_of_another(item):
        return "the longer text states it as well"
    return f"they {SAME.get(item.mutation.table, 'are one thing')}"


def _summary(item: Item, names: Mapping[str, str]) -> ItemOutcome | None:
    """Return the outcome of a summary.

    Memories that it sums up are merged into it; the previous summary of a community ends.
    """
    mutation, words = item.mutation, seen_words(item)
    if not mutation.inserts:
        return None
    text = str(quotable(str(item.evidence.get("text") or ""))) or f"the new row of {mutation.table}"
    new = OutcomeRow(inserted_id(item.id, 0), text)
    dates = _end_dates(mutation)
    ends = tuple(_row(mutation, r, words.get(r) or names.get(r, ""), d) for r, d in dates.items())
    if mutation.table == "memories":
        return ItemOutcome((new,), ends, "the summary states what they state", "merges")
    return ItemOutcome((new,), ends, "a new summary of the community replaces it")


def _ended_rows(item: Item, names: Mapping[str, str], *, decided: bool) -> ItemOutcome | None:
    mutation, evidence, words = item.mutation, item.evidence, seen_words(item)
    if (sides := find_sides(mutation)) is None:
        return None
    dates = _end_dates(mutation)
    label = str(quotable(_first(evidence, _ENDED)))
    ends = tuple(_row(mutation, r, words.get(r) or names.get(r) or label, dates[r]) for r in sides[0])
    stays = tuple(_row(mutation, r, words.get(r) or names.get(r, "")) for r in sides[1])
    if not stays and (source := evidence.get("told_by")):
        stays = (OutcomeRow("", str(quotable(str(source)))),)
    noun = "the source " if "unsupported" in evidence else ""
    side = "" if is_about_task(item) else str(evidence.get("side") or "")
    return ItemOutcome(stays, ends, _reason(evidence, decided=decided), noun=noun, side=side)


def _ended_sentences(item: Item) -> ItemOutcome | None:
    """Return the outcome of sentences that now state until when they were true: they end, and the memory stays as a row."""
    marks, rows = item.evidence.get("ended"), item.mutation.rows
    texts = [str(i.values.get("content")) for i in item.mutation.inserts if i.table == "memory_versions"]
    if not isinstance(marks, Sequence) or isinstance(marks, str) or not rows or not any("(until " in t for t in texts):
        return None
    over = [mark for mark in marks if isinstance(mark, Mapping) and "until" in mark]
    ends = (OutcomeRow(rows[0].id, str(quotable(str(m.get("sentence", "")))), str(m["until"])) for m in over)
    statements = dict.fromkeys(str(quotable(str(m.get("said", "")))) for m in over)
    return ItemOutcome(tuple(OutcomeRow("", text) for text in statements), tuple(ends), "it was stated later")


def _replaced_claims(item: Item, names: Mapping[str, str]) -> ItemOutcome | None:
    """Return the outcome of claims that another claim replaces, by the events that the item would record."""
    mutation = item.mutation
    dates = _end_dates(mutation)
    words = {
        insert.refs["memory_id"]: str(quotable(str(insert.values["content"])))
        for insert in mutation.inserts
        if insert.table == "memory_versions" and "memory_id" in insert.refs
    }

    def claim(event: Insert, column: str) -> OutcomeRow:
        if (n := event.refs.get(column)) is None:
            id_ = str(event.values[column])
            return _row(mutation, id_, names.get(id_, ""), dates.get(id_, ""))
        until = mutation.inserts[n].values.get("valid_to")
        return OutcomeRow(inserted_id(item.id, n), words.get(n, ""), str(until) if until else "")

    events = [i for i in mutation.inserts if i.table == "claim_events" and i.values.get("event") == "replaced"]
    ends = {row.id: row for event in events if (row := claim(event, "claim_id")).date}
    others = {row.id: row for event in events if (row := claim(event, "other_id")).id not in ends}
    return ItemOutcome(tuple(others.values()), tuple(ends.values()), "a later statement replaces it")


def find_sides(mutation: Mutation) -> tuple[list[str], list[str]] | None:
    """Return the rows that an invalidation ends and the rows that replace them.

    The second are the rows that ``superseded_by`` names, or else the guarded rows that must not end.
    """
    if mutation.kind != "invalidate_rows" or not (dates := _end_dates(mutation)):
        return None
    pointed = dict.fromkeys(
        str(w.value) for w in mutation.writes if w.cell.column == "superseded_by" and w.action == "set" and w.value
    )
    guarded = dict.fromkeys(
        guard.row
        for guard in mutation.guards
        if guard.table == mutation.table and "invalidated_at" in guard.columns and guard.row not in dates
    )
    return list(dates), [row for row in pointed or guarded if row not in dates]


def _end_dates(mutation: Mutation) -> dict[str, str]:
    """Return row → end date for rows of the mutation's table that end; an empty text means at apply.

    A connected store without a column for the date gets the time of the apply, and only our overlay the date.
    """
    beside = {w.cell.row for w in mutation.change.writes if w.cell.table == OVERLAY and w.cell.column == "valid_to"}
    found: dict[str, str] = {}
    for write in mutation.writes:
        if write.cell.table != mutation.table or (write.action == "set" and not write.value):
            continue
        if write.cell.column == "valid_to":
            dated = write.action == "set" and write.cell.row not in beside
            found[write.cell.row] = str(write.value) if dated else ""
        elif write.cell.column == "invalidated_at":
            found.setdefault(write.cell.row, "")
    return found


def _columns_seen(mutation: Mutation) -> dict[str, str]:
    """Return row → words as the plan saw them, for rows that hold their words in their own columns."""
    columns = _SAYS.get(mutation.table)
    if columns is None:
        return {}
    seen: dict[str, dict[str, str]] = {}
    for cell, value in (*mutation.seen(), *((w.cell, w.seen) for w in mutation.writes)):
        if cell.table == mutation.table and cell.column in columns and value:
            seen.setdefault(cell.row, {})[cell.column] = str(value)
    two_sided = mutation.kind == "invalidate_rows"  # whose evidence quotes the whole text of a fact
    return {} if two_sided else {r: " ".join(f[c] for c in columns) for r, f in seen.items() if len(f) == len(columns)}


def _reason(evidence: Mapping[str, object], *, decided: bool) -> str:
    if ended_by := evidence.get("ended_by"):
        return f"“{str(quotable(str(ended_by)))[:LONGEST]}” replaces it and is replaced in turn"
    if (by := evidence.get("ruled_by")) and evidence.get("policy") == "manual":
        day = evidence.get("ruled_on")
        return f"{quotable(str(by))} ruled so{f' on {instant(str(day))}' if day else ''}"
    if evidence.get("reason") == "done":
        return f"{TASK_DONE[0].lower()}{TASK_DONE[1:-1]}"
    if words := reason_in_words(evidence, decided=decided):
        return f"they {words}"
    if "earlier" in evidence and "later" in evidence:
        return "the later one begins then"
    if unsupported := evidence.get("unsupported"):
        return f"in its source {unsupported}"
    return "another memory states the same" if "told_by" in evidence else ""


def _row(mutation: Mutation, id_: str, text: str, date: str = "", *, external: str = "") -> OutcomeRow:
    known = external or next((row.external_id for row in mutation.rows if row.id == id_ and row.external_id), "")
    return OutcomeRow(id_, text or known or f"{mutation.table} {id_[:8]}", date, known)


def _first(evidence: Mapping[str, object], keys: Sequence[str]) -> str:
    return next((str(evidence[key]) for key in keys if evidence.get(key)), "")


def _quoted(row: OutcomeRow, *, alike: bool) -> str:
    text = row.text if len(row.text) <= LONGEST else f"{row.text[: LONGEST - 1].rstrip()}…"
    return f"“{text}” ({row.shown_id})" if row.is_place or (alike and row.id) else f"“{text}”"


def _ending(date: str, rows: Sequence[OutcomeRow], listed: Callable[[Sequence[OutcomeRow]], str]) -> str:
    verb = "ends" if len(rows) == 1 else "end"
    return f"{listed(rows)} {verb} {f'on {instant(date)}' if date else 'when the plan is applied'}"


def _joined(parts: Sequence[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last

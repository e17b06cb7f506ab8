"""Nothing lost: what is specific in rows that are absorbed or reworded stays reachable from the row that says it then.

Specific are numbers, dates, versions, identifiers, proper names and negations (``slowwave.texts.specifics``). So are conditions of a
memory (``slowwave.texts.conditions``): one is lost if the statement stays and no text has the condition next to it. Reachable is
what recall can read after the plan: an entity's name, aliases, description and attributes, a memory's text, subject, tags and
attributes, what a fact says, and the live chunks and documents that the survivor cites. An absorbed row stays linked to it, but
recall reads live rows only: what stands on it alone is lost. An attribute for which the survivor keeps another value stands beside it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, NamedTuple

from slowwave.mutations.cells import Value, inserted_id
from slowwave.mutations.new_version import REDACTION
from slowwave.mutations.rows import as_ids, live_ids, rows_by_id, rows_where
from slowwave.mutations.simulate import simulate
from slowwave.plans.items import Item
from slowwave.rows.memories import WEIGHTS
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.conditions import Condition, lost_conditions
from slowwave.texts.counted import counted
from slowwave.texts.specifics import specifics
from slowwave.texts.tokens import tokenise

CENSORED: Final = "a secret"
"""What stands for a term that screening would take out of the row: it is lost all the same, and is not repeated."""

_LONGEST_TERM: Final = 120
_Read = Callable[[str], frozenset[str]]
_FACT: Final = ("subject", "predicate", "object", "fact_text")
_CITED: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "source_chunk_ids": ("chunks", ("content",)),
    "source_document_ids": ("documents", ("title", "content")),
}
"""Column → the table that it cites, and the columns of that which hold text."""


class LostTerm(NamedTuple):
    """A term of an absorbed row that is no longer reachable after an item."""

    item: str
    row: str
    term: str


@dataclass(frozen=True, slots=True)
class SpecificsProbe:
    """``items`` merges and new texts with ``terms`` specifics before, of which ``lost`` are not reachable, sorted.

    ``asked`` is what review items would lose that go to review for another reason as well.
    """

    items: int
    terms: int
    lost: tuple[LostTerm, ...]
    asked: tuple[LostTerm, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing is lost."""
        return not self.lost

    def items_losing(self) -> frozenset[str]:
        """Items that a person has to look at."""
        return frozenset(loss.item for loss in self.lost)

    def by_item(self) -> dict[str, list[tuple[str, str]]]:
        """Item → (row, term) of what it would lose."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for loss in (*self.lost, *self.asked):
            found[loss.item].append((loss.row, loss.term))
        return found

    def to_json(self) -> dict[str, object]:
        """As plans store and show it."""
        lost, asked = ([loss._asdict() for loss in losses] for losses in (self.lost, self.asked))
        return {"items": self.items, "terms": self.terms, "lost": lost, "asked": asked, "passed": self.passed}

    def sentence(self) -> str:
        """What an operator reads."""
        touched = f"the rows that {counted(self.items, 'item absorbs or rewords', 'items absorb or reword')}"
        terms = counted(
            self.terms, "number, date, name, negation or condition", "numbers, dates, names, negations and conditions"
        )
        looked = f"{terms} in {touched}"
        also = (
            f" Of the other review items, {len({loss.item for loss in self.asked}):,} would lose something: each says what."
            if self.asked
            else ""
        )
        if not self.items:
            return f"Nothing is lost: no item absorbs or rewords a row.{also}"
        if not self.terms:
            return f"Nothing is lost: {touched} hold no number, date, name, negation or condition.{also}"
        if self.passed:
            return (
                f"Nothing is lost: {f'{looked} stays' if self.terms == 1 else f'all of {looked} stay'} reachable.{also}"
            )
        return (
            f"{len(self.lost):,} of {looked} would no longer be reachable. "
            f"{counted(len(self.items_losing()), 'item goes', 'items go')} to review: look at what each would lose.{also}"
        )


def specifics_probe(before: Snapshot, after: Snapshot, items: Sequence[Item]) -> SpecificsProbe:
    """Look at every merge and new text of ``items``, which are those that ``after`` has in it; other items lose nothing.

    What a redaction takes out is to be lost, and is not looked for.

    Time: linear in the text of the rows that the merges name; cited sources are read only where something is missing without them.
    """
    read = cache(_terms)  # a name is an alias after a merge, and one chunk is cited by many
    merges: dict[str, list[_Merge]] = defaultdict(list)
    for item in items:
        if merge := _merge(item):
            merges[item.mutation.table].append(merge)
    terms, lost = 0, list[LostTerm]()
    for table, found in merges.items():
        count, gone = _look(before, after, table, found, read)
        terms += count
        lost += gone
    return SpecificsProbe(sum(map(len, merges.values())), terms, tuple(sorted(lost)))


def with_reviews(
    probe: SpecificsProbe, before: Snapshot, after: Snapshot, reviews: Sequence[Item], anew: Mapping[str, str]
) -> SpecificsProbe:
    """The probe with what ``reviews`` would lose, each on top of ``after``; ``anew`` maps items to those they were sealed anew as.

    An item is named as it is in the plan. Cost: a simulation of the reviews, and what ``specifics_probe`` costs for them.
    """
    lost = tuple(sorted(loss._replace(item=anew[loss.item]) for loss in probe.lost))
    known = {*anew.values()}
    others = [item for item in reviews if item.id not in known and _merge(item)]
    asked = specifics_probe(before, simulate(after, reviews), others).lost if others else ()
    return replace(probe, lost=lost, asked=asked)


class _Merge(NamedTuple):
    item: str
    keep: str
    absorbed: tuple[str, ...]


def _merge(item: Item) -> _Merge | None:
    """The row that says it afterwards, and those that said it: a new version stands for the one before it."""
    mutation = item.mutation
    rows = tuple(row.id for row in mutation.rows)
    if mutation.kind == "merge_rows" and mutation.keep:
        return _Merge(item.id, mutation.keep.id, tuple(row.id for row in mutation.absorb))
    if mutation.kind == "new_version" and not any(i.values.get("reason") == REDACTION for i in mutation.inserts):
        return _Merge(item.id, rows[0], rows)
    if mutation.kind == "insert_summary" and mutation.table == "memories":
        return _Merge(item.id, inserted_id(item.id, 0), rows)
    return None


def _look(
    before: Snapshot, after: Snapshot, table: str, merges: Sequence[_Merge], read: _Read
) -> tuple[int, list[LostTerm]]:
    """How many terms the absorbed rows of one table have, and which of them are lost."""
    absorbed = _texts(before, table, {row for m in merges for row in m.absorbed})
    wanted = {
        (m.item, m.keep, row): frozenset[str]().union(*map(read, absorbed[row])) for m in merges for row in m.absorbed
    }
    reached = _texts(after, table, {m.keep for m in merges})
    missing = {who: gone for who, terms in wanted.items() if (gone := _missing(terms, reached[who[1]], read))}
    cited = _sources(after, table, {keep for _, keep, _ in missing})
    lost = {
        LostTerm(item, row, term)
        for (item, keep, row), terms in missing.items()
        for term in _showable(_missing(terms, cited[keep], read), absorbed[row], read)
    }
    conditions = _conditions_lost(after, wanted, absorbed, reached) if table == "memories" else set[LostTerm]()
    return sum(map(len, wanted.values())) + len(conditions), sorted(lost | conditions)


def _conditions_lost(
    after: Snapshot,
    merges: Iterable[tuple[str, str, str]],
    absorbed: Mapping[str, Sequence[str]],
    reached: Mapping[str, Sequence[str]],
) -> set[LostTerm]:
    """The conditions of memories whose statement is made without them, in the survivor and in the sources that it cites."""
    gone = {
        (item, keep, row): found
        for item, keep, row in merges
        if absorbed[row] != reached[keep] and (found := lost_conditions(absorbed[row], reached[keep]))
    }
    cited = _sources(after, "memories", {keep for _, keep, _ in gone})
    return {
        LostTerm(item, row, _shown(condition))
        for (item, keep, row), found in gone.items()
        for condition in found
        if not cited[keep] or condition in lost_conditions(absorbed[row], [*reached[keep], *cited[keep]])
    }


def _shown(condition: Condition) -> str:
    """A lost condition as it may be shown: its words, or ``CENSORED`` if screening would take some out."""
    from slowwave.texts.screening import redact

    words = " ".join(condition.text.split())
    return words[:_LONGEST_TERM] if redact(words) == words else CENSORED


def _showable(lost: frozenset[str], texts: Sequence[str], read: _Read) -> frozenset[str]:
    """Lost terms as they may be shown: those that stand nowhere in the row but in what screening takes out are ``CENSORED``."""
    if not lost:
        return lost
    from slowwave.texts.screening import redact  # its rules take a while to load

    hidden = _missing(lost, [redact(text) for text in texts], read)
    return lost - hidden | ({CENSORED} if hidden else set[str]())


def _missing(terms: frozenset[str], texts: Sequence[str], read: _Read) -> frozenset[str]:
    """Terms that stand in none of the texts; one without digits may also stand inside a longer name.

    Words are compared before texts are read for their specifics, which costs a hundred times more.
    """
    words = " \n ".join(["", *(" ".join(tokenise(text)) for text in texts), ""])
    left = frozenset(t for t in terms if any(map(str.isdigit, t)) or f" {' '.join(tokenise(t))} " not in words)
    for text in texts:
        if not left:
            break
        left -= read(text)
    return left


def _texts(snapshot: Snapshot, table: str, ids: set[str]) -> dict[str, list[str]]:
    """Row of the table → what recall reads of it, each a text of its own."""
    match table:
        case "entities":
            return _of_entities(snapshot, ids)
        case "memories":
            return _of_memories(snapshot, ids)
        case _:
            columns = [c for c in _FACT if c in snapshot.table(table).column_names]
            rows = rows_by_id(snapshot, table, ids, columns)
            return {id_: [str(r[c] or "") for c in columns] for id_, r in rows.items()}


def _of_entities(snapshot: Snapshot, ids: set[str]) -> dict[str, list[str]]:
    """Entity → its name, description, attribute values and aliases."""
    rows = rows_by_id(snapshot, "entities", ids, ("name", "description", "attributes"))
    texts = {id_: [str(r["name"]), str(r["description"] or ""), *_values(r["attributes"])] for id_, r in rows.items()}
    for alias in rows_where(snapshot, "entity_aliases", "entity_id", ids, ("alias",)):
        texts[str(alias["entity_id"])].append(str(alias["alias"]))
    return texts


def _of_memories(snapshot: Snapshot, ids: set[str]) -> dict[str, list[str]]:
    """Memory → its current text, subject, tags and attribute values; former versions of a text are history."""
    rows = rows_by_id(snapshot, "memories", ids, ("current_version_id", "subject", "tags", "attributes"))
    wanted = {str(r["current_version_id"]) for r in rows.values()}
    found = {
        str(v["id"]): str(v["content"]) for v in rows_where(snapshot, "memory_versions", "id", wanted, ("content",))
    }
    return {
        id_: [
            found.get(str(r["current_version_id"]), ""),
            str(r["subject"] or ""),
            *_values(r["tags"]),
            *_values(r["attributes"], without=WEIGHTS),
        ]
        for id_, r in rows.items()
    }


def _values(cell: Value, *, without: Collection[str] = ()) -> Iterator[str]:
    """The strings and numbers in a cell of JSON, however deep; ``without`` some keys of its object."""
    found: object = json.loads(str(cell or "{}"))
    left: list[object] = [{k: v for k, v in found.items() if k not in without} if isinstance(found, dict) else found]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
        elif value is not None and not isinstance(value, bool):
            yield str(value)


def _sources(snapshot: Snapshot, of: str, ids: set[str]) -> dict[str, list[str]]:
    """Row of a table → the texts of the live chunks and documents that it cites."""
    columns = [c for c in _CITED if c in snapshot.table(of).column_names]
    citing = rows_by_id(snapshot, of, ids, columns)
    texts: dict[str, list[str]] = {id_: [] for id_ in citing}
    for column in columns:
        table, text = _CITED[column]
        cited = {id_: as_ids(row[column]) for id_, row in citing.items()}
        wanted = {source for sources in cited.values() for source in sources}
        found = rows_by_id(snapshot, table, wanted & live_ids(snapshot, table) if wanted else (), text)
        for id_, sources in cited.items():
            texts[id_] += [str(found[s][c] or "") for s in sources if s in found for c in text]
    return texts


def _terms(text: str) -> frozenset[str]:
    return specifics(text).terms()

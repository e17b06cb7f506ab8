"""Probes of texts: specifics stay reachable, and statements that are retired or reworded are still stated by other rows."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.cells import Value, inserted_id
from slowwave.changes.mutation import REDACTION, erased
from slowwave.changes.rows import as_ids, live_ids, rows_by_id, rows_where
from slowwave.changes.simulate import simulate
from slowwave.plans.items import Item
from slowwave.plans.probes.isolation import chain as merge_chain
from slowwave.plans.probes.isolation import merged_into, won_against
from slowwave.plans.probes.recall import withheld_rows
from slowwave.search.rows import searched_table
from slowwave.search.words import asked
from slowwave.snapshots.memories import WEIGHTS, version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.conditions import Condition, lost_conditions
from slowwave.text.quotation import quote
from slowwave.text.sameness import sameness
from slowwave.text.sentences import sentences
from slowwave.text.specifics import specifics, unsaid
from slowwave.text.tokens import counted, fold, tokenise
from slowwave.text.words import GRAMMAR

# Specifics: the specific terms of absorbed or reworded rows stay reachable from the row that replaces them.
#
# Specific are numbers, dates, versions, identifiers, proper names and negations (``slowwave.text.specifics``), and conditions of a memory
# (``slowwave.text.conditions``). A condition is lost if the statement stays and no text has the condition next to it. Reachable is what
# recall can read after the plan: an entity's name, aliases, description and attributes; a memory's text, subject, tags and attributes;
# the text of a fact; and the live chunks and documents that the survivor cites. An absorbed row stays linked to the survivor, but recall
# reads only live rows: a term that only the absorbed row has is lost. If the survivor keeps another value of an attribute, the absorbed
# value is kept next to it.

CENSORED: Final = "a secret"
"""The replacement for a lost term that screening would remove from the row; it counts as lost and is not repeated."""

_LONGEST_TERM: Final = 120
_Read = Callable[[str], frozenset[str]]
_FACT: Final = ("subject", "predicate", "object", "fact_text")
_CITED: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "source_chunk_ids": ("chunks", ("content",)),
    "source_document_ids": ("documents", ("title", "content")),
}
"""Column → the table that it cites, and the text columns of that table."""


class LostTerm(NamedTuple):
    """A term of an absorbed row that is no longer reachable after an item."""

    item: str
    row: str
    term: str


@dataclass(frozen=True, slots=True)
class SpecificsProbe:
    """The specifics in ``items`` merges and new texts: ``terms`` before, of which ``lost`` are not reachable, sorted.

    ``asked`` is what review items would lose that are in review for another reason as well. ``erased`` is the number of rows that the
    items delete for good.
    """

    items: int
    terms: int
    lost: tuple[LostTerm, ...]
    asked: tuple[LostTerm, ...] = ()
    erased: int = 0

    @property
    def passed(self) -> bool:
        """Return whether nothing is lost."""
        return not self.lost

    def items_losing(self) -> frozenset[str]:
        """Return the items that a person has to review."""
        return frozenset(loss.item for loss in self.lost)

    def by_item(self) -> dict[str, list[tuple[str, str]]]:
        """Return item → (row, term) of what it would lose."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for loss in (*self.lost, *self.asked):
            found[loss.item].append((loss.row, loss.term))
        return found

    def to_json(self) -> dict[str, object]:
        """Return the form that plans store and show."""
        lost, asked = ([loss._asdict() for loss in losses] for losses in (self.lost, self.asked))
        return {"items": self.items, "terms": self.terms, "lost": lost, "asked": asked, "passed": self.passed}

    def sentence(self) -> str:
        """Return sentences for an operator."""
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
        if self.erased:
            also = (
                f"{also} {counted(self.erased, 'row is', 'rows are')} deleted for good, with all that only they state."
            )
        kept = "In all other rows nothing is lost" if self.erased else "Nothing is lost"
        if not self.items:
            return f"{kept}: no item absorbs or rewords a row.{also}"
        if not self.terms:
            return f"{kept}: {touched} hold no number, date, name, negation or condition.{also}"
        if self.passed:
            return f"{kept}: {f'{looked} stays' if self.terms == 1 else f'all of {looked} stay'} reachable.{also}"
        return (
            f"{len(self.lost):,} of {looked} would no longer be reachable. "
            f"{counted(len(self.items_losing()), 'item goes', 'items go')} to review: look at what each would lose.{also}"
        )


def specifics_probe(before: Snapshot, after: Snapshot, items: Sequence[Item]) -> SpecificsProbe:
    """Check every merge and new text of ``items``, which are applied in ``after``; other items lose nothing.

    Text removed by a redaction is meant to be lost and is not checked. Time: linear in the text of the rows that the merges name; cited
    sources are read only if something is missing without them.
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
    gone_for_good = sum(len(erased(item.mutation)) for item in items)
    return SpecificsProbe(sum(map(len, merges.values())), terms, tuple(sorted(lost)), erased=gone_for_good)


def with_reviews(
    probe: SpecificsProbe, before: Snapshot, after: Snapshot, reviews: Sequence[Item], anew: Mapping[str, str]
) -> SpecificsProbe:
    """Return the probe with what each of ``reviews`` would lose on top of ``after``.

    ``anew`` maps items to the items as they were sealed again; losses name items as they are in the plan. Cost: a simulation of the
    reviews, and the cost of ``specifics_probe`` for them.
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
    """Return the row that states the text afterwards and the rows that stated it before, or None for other items.

    A new version replaces the previous one. One that corrects a date or number by the source of the memory loses the wrong one on purpose.
    """
    mutation = item.mutation
    rows = tuple(row.id for row in mutation.rows)
    if "unsupported" in item.evidence:
        return None
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
    """Return how many terms the absorbed rows of one table have, and which of them are lost."""
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
    """Return lost conditions of memories: the survivor and its cited sources make the statement without them."""
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
    """Return the words of a lost condition, or ``CENSORED`` if screening would remove some of them."""
    from slowwave.text.screening import redact

    words = " ".join(condition.text.split())
    return words[:_LONGEST_TERM] if redact(words) == words else CENSORED


def _showable(lost: frozenset[str], texts: Sequence[str], read: _Read) -> frozenset[str]:
    """Return lost terms for display; terms that occur only in text that screening removes become ``CENSORED``."""
    if not lost:
        return lost
    from slowwave.text.screening import redact  # its rules take a while to load

    hidden = _missing(lost, [redact(text) for text in texts], read)
    return lost - hidden | ({CENSORED} if hidden else set[str]())


def _missing(terms: frozenset[str], texts: Sequence[str], read: _Read) -> frozenset[str]:
    """Return the terms that occur in none of the texts; a term without digits may be part of a longer name.

    Words are compared before specifics are extracted from texts, which costs a hundred times more.
    """
    words = " \n ".join(["", *(" ".join(tokenise(text)) for text in texts), ""])
    left = frozenset(t for t in terms if any(map(str.isdigit, t)) or f" {' '.join(tokenise(t))} " not in words)
    for text in texts:
        if not left:
            break
        left -= read(text)
    return left


def _texts(snapshot: Snapshot, table: str, ids: set[str]) -> dict[str, list[str]]:
    """Return row of the table → the texts that recall reads of it."""
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
    """Return entity → its name, description, attribute values and aliases."""
    rows = rows_by_id(snapshot, "entities", ids, ("name", "description", "attributes"))
    texts = {id_: [str(r["name"]), str(r["description"] or ""), *_values(r["attributes"])] for id_, r in rows.items()}
    for alias in rows_where(snapshot, "entity_aliases", "entity_id", ids, ("alias",)):
        texts[str(alias["entity_id"])].append(str(alias["alias"]))
    return texts


def _of_memories(snapshot: Snapshot, ids: set[str]) -> dict[str, list[str]]:
    """Return memory → its current text, subject, tags and attribute values, without former versions of the text."""
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
    """Yield the strings and numbers in a JSON cell at every depth; ``without`` skips keys of the top-level object."""
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
    """Return row of a table → the texts of the live chunks and documents that it cites."""
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


# Statements: which statements of retired or reworded memories and passages are no longer made by any row that recall finds.
#
# A statement is a sentence with at least two content words that is not a question. It is still made after the plan if any live row makes
# it in the same words. It is also still made if a row that replaces its own row makes it in words that ``slowwave.text.sameness``
# considers the same, or with all its specifics and most of its words. Such rows are the new version, the row it was merged into, its
# summary, a passage that it cites, or a memory that cites it. Rows that the plan does not touch keep their statements and are not read.
# Statements that are quarantined, redacted or forgotten on request are meant to disappear and are not checked.
#
# If a row loses a contradiction, the statements that the winner contradicts are replaced, and its other statements are lost. Statements
# that remain only in archived rows are forgotten, which is the decision of the operation that archives; they are counted separately.

_CONTENT: Final = 2
_STOP: Final = re.compile(r"[.!?…。！？]\S*\s|[。！？]")
_MOST: Final = 0.7
_MANY: Final = 0.5
"""The share of a statement's words that another row must contain: for a statement without specifics, and with specifics."""

_SHOWN: Final = 50
_AT_ONCE: Final = 200  # words of a regular expression
_QUOTED: Final = 200  # characters


class LostStatement(NamedTuple):
    """A statement that is no longer made, with its row and the first item that touches it."""

    item: str
    row: str
    text: str


@dataclass(frozen=True, slots=True)
class StatementsProbe:
    """The statements of ``rows`` that are retired or reworded.

    Of ``statements``, ``replaced`` were replaced by a contradicting one, ``forgotten`` remain only in archived rows, and ``lost`` are no
    longer made for another reason; the last two are sorted. ``erased`` memories and passages are deleted for good and not compared;
    ``along`` states why other passages are among them.
    """

    rows: int = 0
    statements: int = 0
    replaced: int = 0
    forgotten: tuple[LostStatement, ...] = ()
    lost: tuple[LostStatement, ...] = ()
    erased: int = 0
    along: tuple[str, ...] = ()

    @property
    def kept(self) -> int:
        """Return how many statements are still made somewhere."""
        return self.statements - self.replaced - len(self.forgotten) - len(self.lost)

    @property
    def share(self) -> float:
        """Return the share of statements that are still made; before the plan it is 1."""
        return self.kept / self.statements if self.statements else 1.0

    @property
    def passed(self) -> bool:
        """Return whether nothing is lost that nobody decided to forget."""
        return not self.lost

    def to_json(self) -> dict[str, object]:
        """Return the form that plans store and show: the first 50 of each kind, with shortened texts."""
        counts = {"rows": self.rows, "statements": self.statements, "told": self.kept, "share": self.share}
        shown = {
            name: [{**one._asdict(), "text": quote(one.text, _QUOTED)} for one in of[:_SHOWN]]
            for name, of in (("lost", self.lost), ("forgotten", self.forgotten))
        }
        many = {"lost_statements": len(self.lost), "forgotten_statements": len(self.forgotten)}
        return {**counts, "replaced": self.replaced, **many, **shown, "passed": self.passed}

    def sentence(self) -> str:
        """Return sentences for an operator."""
        deleted = (
            f" {counted(self.erased, 'memory or passage is', 'memories and passages are')} deleted for good with all statements."
            if self.erased
            else ""
        )
        also = " ".join((deleted, *self.along))
        if not self.statements:
            return (
                f"No statement of {'another' if self.erased else 'a'} memory or passage is retired or reworded.{also}"
            )
        rows = counted(self.rows, "memory or passage", "memories and passages")
        apart = [
            counted(count, one, many)
            for count, one, many in (
                (len(self.lost), "is in no memory any more", "are in no memory any more"),
                (len(self.forgotten), "is in archived rows alone", "are in archived rows alone"),
                (self.replaced, "gave way to what contradicts it", "gave way to what contradicts them"),
            )
            if count
        ]
        summary = (
            f"{self.kept:,} of {counted(self.statements, 'statement')} ({self.share:.1%}) of {rows} that the plan retires or rewords "
            f"{'is' if self.kept == 1 else 'are'} still on record in memories or passages"
        )
        return f"{'; '.join([summary, ', '.join(apart)] if apart else [summary])}.{also}"


def statements_probe(before: Snapshot, after: Snapshot, items: Iterable[Item] = ()) -> StatementsProbe:
    """Find the statements of retired or reworded rows that are no longer made.

    These are the memories and passages that recall finds in ``before`` and that are gone or have another text in ``after``. ``items``
    made ``after``; without them, losers of contradictions count as lost, and no loss names an item. Cost: a pass over memories and
    versions. It is linear in the statements, and more for one that is not made in the same words. If statements are missing then, a pass
    over the live texts follows.
    """
    items = list(items)
    gone_for_good = {row: table for item in items for table, row in erased(item.mutation)}
    touched = _touched(before, after, gone_for_good.keys())
    deleted = sum(table in ("memories", "chunks") for table in gone_for_good.values())
    along = tuple(str(why) for item in items if erased(item.mutation) and (why := item.evidence.get("along")))
    if not touched:
        return StatementsProbe(erased=deleted, along=along)
    standing = _TextsAfter(before, after, touched, won_against(items))
    count, missing, replaced = 0, list[tuple[str, str]](), 0
    keys: dict[str, str] = {}
    for id_, text in touched.items():
        left = _keyed(text)
        count += len(left)
        if texts := standing.texts(id_):
            left = [(s, key) for s, key in left if not any(_says(t, key) for t in texts)]
            left = [(s, key) for s, key in left if not _retold(s, texts)]
        if left and (winners := standing.winners(id_)):
            stands = [(s, key) for s, key in left if not _is("contradiction", s, winners)]
            replaced += len(left) - len(stands)
            left = stands
        missing += [(id_, s) for s, _ in left]
        keys.update(left)
    elsewhere = _said_anywhere(after, keys) if missing else frozenset[str]()
    gone = [(id_, s) for id_, s in missing if s not in elsewhere]
    archived = standing.archived({id_ for id_, _ in gone})
    of = _items_of(items, {id_ for id_, _ in gone})
    lost, forgotten = (
        tuple(sorted(LostStatement(of.get(id_, ""), id_, s) for id_, s in gone if (id_ in archived) is held))
        for held in (False, True)
    )
    return StatementsProbe(len(touched), count, replaced, forgotten, lost, deleted, along)


def statements(text: str) -> list[str]:
    """Return the sentences of a text, line by line, that are statements: two content words or more, and no question."""
    return [sentence for sentence, _ in _keyed(text)]


def _keyed(text: str) -> list[tuple[str, str]]:
    """Return the statements of a text, each with its words in normalized form."""
    parts = [s for line in text.splitlines() for s in (sentences(line) if _STOP.search(line) else [line.strip()])]
    statements = [(s, tokenise(s)) for s in parts if s and not s.rstrip("\"'”’)").endswith("?")]
    return [(s, _spaced(words)) for s, words in statements if sum(word not in GRAMMAR for word in words) >= _CONTENT]


class _TextsAfter:
    """The texts that replace retired or reworded rows after the plan."""

    def __init__(self, before: Snapshot, after: Snapshot, touched: Mapping[str, str], won: Mapping[str, str]) -> None:
        self._after, self._won = after, won
        into = merged_into(after, ("memories",))
        chains = {id_: merge_chain(id_, into) for id_ in touched}
        cited = _cited(before, set(touched))
        citing = _citing(after, set(touched))
        memories = {i for rows in chains.values() for i in rows}.union(*citing.values(), won.values())
        memories |= {i for rows in citing.values() for row in rows for i in merge_chain(row, into)}
        known = _memory_texts(after, memories) | _passage_texts(
            after, {c for own in cited.values() for c in own} | set(touched)
        )
        self._texts = {
            id_: [
                known[i]
                for i in dict.fromkeys(
                    [
                        *rows[::-1],
                        *cited.get(id_, ()),
                        *(j for row in sorted(citing.get(id_, ())) for j in merge_chain(row, into)),
                    ]
                )
                if i in known
            ]
            for id_, rows in chains.items()
        }
        self._known = known

    def texts(self, id_: str) -> Sequence[str]:
        """Return the texts that replace a row, its own or its survivor's first."""
        return self._texts[id_]

    def winners(self, id_: str) -> Sequence[str]:
        """Return the text of the row to which it lost a contradiction, if it did."""
        winner = self._won.get(id_)
        return [self._known[winner]] if winner in self._known else []

    def archived(self, ids: set[str]) -> frozenset[str]:
        """Return those of some rows that are archived."""
        rows = self._after.table("memories")
        rows = rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(ids), pa.string())))
        return frozenset(rows["id"].filter(pc.equal(rows["state"], "archived")).to_pylist())


def _touched(before: Snapshot, after: Snapshot, erasures: Set[str]) -> dict[str, str]:
    """Return row → text before, for rows that recall finds before and not, or with another text, after; ordered by id.

    Withheld rows and ``erasures`` are left out. Other missing rows are included, such as those that nights retired and purged between two
    snapshots.
    """
    found: dict[str, str] = {}
    held = withheld_rows(before, after, missing=False) | erasures
    for table, column in (("chunks", "content"), ("memories", "current_version_id")):
        if after.table(table) is before.table(table):
            continue
        then, now = (searched_table(snapshot, table, ("id", column)) for snapshot in (before, after))
        place = pc.index_in(then["id"], value_set=now["id"].combine_chunks())
        same = pc.fill_null(pc.equal(now[column].take(place), then[column]), False)
        rows, place = then.filter(pc.invert(same)), place.filter(pc.invert(same))
        texts, new = rows[column], now[column].take(place)
        if table == "memories":
            texts, new = version_texts(before, texts), version_texts(after, new)
        other = pc.invert(pc.fill_null(pc.equal(texts, new), False))
        rows, texts = rows.filter(other), texts.filter(other)
        found.update(zip(rows["id"].to_pylist(), texts.to_pylist(), strict=True))
    return {id_: found[id_] for id_ in sorted(found) if id_ not in held and found[id_]}


def _memory_texts(snapshot: Snapshot, ids: set[str]) -> dict[str, str]:
    """Return memory → text for those of some memories that recall finds."""
    rows = searched_table(snapshot, "memories", ("id", "current_version_id"))
    rows = rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(ids), pa.string())))
    return dict(
        zip(rows["id"].to_pylist(), version_texts(snapshot, rows["current_version_id"]).to_pylist(), strict=True)
    )


def _passage_texts(snapshot: Snapshot, ids: set[str]) -> dict[str, str]:
    rows = searched_table(snapshot, "chunks", ("id", "content"))
    rows = rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(ids), pa.string())))
    return dict(zip(rows["id"].to_pylist(), rows["content"].to_pylist(), strict=True))


def _cited(snapshot: Snapshot, ids: set[str]) -> dict[str, list[str]]:
    """Return memory → the passages that it cites."""
    rows = rows_where(snapshot, "memories", "id", ids, ("source_chunk_ids",))
    return {str(row["id"]): [str(c) for c in row["source_chunk_ids"] or ()] for row in rows}  # type: ignore[union-attr]


def _citing(snapshot: Snapshot, ids: set[str]) -> dict[str, set[str]]:
    """Return passage → the memories that cite it."""
    memories = snapshot.table("memories")
    lists = memories["source_chunk_ids"].combine_chunks()
    flat = pc.list_flatten(lists)
    wanted = pc.is_in(flat, value_set=pa.array(sorted(ids), pa.string()))
    of = memories["id"].take(pc.list_parent_indices(lists).filter(wanted))
    found: dict[str, set[str]] = defaultdict(set)
    for passage, memory in zip(flat.filter(wanted).to_pylist(), of.to_pylist(), strict=True):
        found[passage].add(memory)
    return found


def _says(text: str, key: str) -> bool:
    """Return whether a text makes a statement in the same words.

    The longest word is checked first, because most texts lack it and need not be split into words.
    """
    return max(key.split(), key=len) in fold(text) and key in _folded(text)


def _retold(statement: str, texts: Sequence[str]) -> bool:
    """Return whether the texts that replace a row make a statement in other words."""
    words = frozenset(asked(statement))
    near = [text for text in texts if _MANY * len(words) <= len(words & _words(text))]
    if not near:
        return False
    terms = specifics(statement).terms()
    least = _MANY if terms else _MOST
    if any(len(words & _words(text)) >= least * len(words) for text in near) and not unsaid(terms, texts):
        return True
    return _is("same", statement, near)


def _is(decision: str, statement: str, texts: Sequence[str]) -> bool:
    """Return whether ``sameness`` makes this decision for the statement and a sentence with half of its words."""
    words = frozenset(asked(statement)) if texts else frozenset[str]()
    return any(
        2 * len(words & own) >= len(words) and sameness(statement, other).decision == decision
        for text in texts
        for other, own in _split(text)
    )


@lru_cache(1_024)
def _words(text: str) -> frozenset[str]:
    """Return the content words of a text."""
    return frozenset(asked(text))


@lru_cache(1_024)
def _split(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the sentences of a text, each with its content words."""
    return tuple((s, frozenset(asked(s))) for line in text.splitlines() for s in sentences(line))


def _said_anywhere(snapshot: Snapshot, wanted: Mapping[str, str]) -> frozenset[str]:
    """Return the statements that a live memory or passage makes in the same words.

    ``wanted`` maps statements to their words in normalized form. Only texts that contain the rarest word and the next one are compared.
    """
    uses = Counter(chain.from_iterable(map(str.split, wanted.values())))
    by_pair: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for statement, key in wanted.items():
        words = key.split()
        at = min(words.index(min(words, key=uses.__getitem__)), len(words) - 2)
        by_pair[words[at], words[at + 1]].append((key, statement))
    memories = searched_table(snapshot, "memories", ("current_version_id",))
    passages = searched_table(snapshot, "chunks", ("content",))["content"]
    found: set[str] = set()
    for column in (version_texts(snapshot, memories["current_version_id"]), passages):
        for text in _holding(column, {max(pair, key=len) for pair in by_pair}).to_pylist():
            own = tokenise(text)
            if rare := [pair for pair in pairwise(own) if pair in by_pair]:
                folded = _spaced(own)
                found.update(statement for pair in rare for key, statement in by_pair[pair] if key in folded)
    return frozenset(found)


def _holding(texts: pa.ChunkedArray, words: Collection[str]) -> pa.ChunkedArray:
    """Return the texts that may hold one of some folded words.

    They are filtered by a regular expression, unless it would become too large; then all texts are returned.
    """
    if len(words) > _AT_ONCE:
        return texts
    pattern = "|".join(word.replace("'", ".") for word in sorted(words))
    return texts.filter(pc.fill_null(pc.match_substring_regex(texts, pattern, ignore_case=True), False))


def _folded(text: str) -> str:
    """Return the words of a text in normalized form, with a space around each."""
    return _spaced(tokenise(text))


def _spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def _items_of(items: Iterable[Item], rows: set[str]) -> dict[str, str]:
    """Return row → the first item that is about it."""
    found: dict[str, str] = {}
    for item in items if rows else ():
        for row in rows.intersection(item.mutation.row_ids()):
            found.setdefault(row, item.id)
    return found

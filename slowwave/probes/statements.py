"""Statements: of what the memories and passages say that a plan retires or rewords, what is told no longer by anything that recall finds.

A statement is a sentence of two words of content or more that asks nothing. It is told after the plan where a living row says it: in the
same words, anywhere; or in words that ``slowwave.texts.sameness`` calls the same, or with all its specifics and most of its words, in a row
that stands for its own: its new version, the row that it was merged into, the summary of it, a passage that it cites or a memory that cites
it. Rows that the plan leaves alone tell their statements as before and are not read. What is quarantined, redacted
or forgotten on request is to be told no longer, and is not looked for.

A loser of a contradiction gives way to the winner: statements of its that the winner contradicts are replaced, others are lost. What only
archived rows say is forgotten, which an operation that archives decides; it is counted apart.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.mutations.forget_limits import erased
from slowwave.mutations.rows import rows_where
from slowwave.plans.items import Item
from slowwave.probes.merges import chain as merge_chain
from slowwave.probes.merges import merged_into, won_against
from slowwave.probes.queries import withheld_rows
from slowwave.rows.memories import version_texts
from slowwave.search.rows import searched_table
from slowwave.search.words import asked
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.counted import counted
from slowwave.texts.grounding import unsaid
from slowwave.texts.quotation import quote
from slowwave.texts.sameness import sameness
from slowwave.texts.sentences import sentences
from slowwave.texts.specifics import specifics
from slowwave.texts.tokens import fold, tokenise
from slowwave.texts.vocabulary import GRAMMAR

_CONTENT: Final = 2
_STOP: Final = re.compile(r"[.!?…。！？]\S*\s|[。！？]")
_MOST: Final = 0.7
_MANY: Final = 0.5
"""Shares of a statement's words that stand in the row that tells it: of one that has no specifics, and of one that has."""

_SHOWN: Final = 50
_AT_ONCE: Final = 200  # words of a regular expression
_QUOTED: Final = 200  # characters


class LostStatement(NamedTuple):
    """A statement that is told no longer, with its row and the first item that touches it."""

    item: str
    row: str
    text: str


@dataclass(frozen=True, slots=True)
class StatementsProbe:
    """``rows`` that are retired or reworded say ``statements``; ``replaced`` of them gave way to what contradicts them, ``forgotten`` stand
    in archived rows alone, and ``lost`` are told no longer for another reason; both sorted.
    """

    rows: int = 0
    statements: int = 0
    replaced: int = 0
    forgotten: tuple[LostStatement, ...] = ()
    lost: tuple[LostStatement, ...] = ()

    @property
    def kept(self) -> int:
        """Those that are still said somewhere."""
        return self.statements - self.replaced - len(self.forgotten) - len(self.lost)

    @property
    def share(self) -> float:
        """The share that is still told; before the plan all of them are."""
        return self.kept / self.statements if self.statements else 1.0

    @property
    def passed(self) -> bool:
        """Whether nothing is lost that nobody decided to forget."""
        return not self.lost

    def to_json(self) -> dict[str, object]:
        """As plans store and show it: the first 50 of each, cut."""
        counts = {"rows": self.rows, "statements": self.statements, "told": self.kept, "share": self.share}
        shown = {
            name: [{**one._asdict(), "text": quote(one.text, _QUOTED)} for one in of[:_SHOWN]]
            for name, of in (("lost", self.lost), ("forgotten", self.forgotten))
        }
        many = {"lost_statements": len(self.lost), "forgotten_statements": len(self.forgotten)}
        return {**counts, "replaced": self.replaced, **many, **shown, "passed": self.passed}

    def sentence(self) -> str:
        """What an operator reads."""
        if not self.statements:
            return "No statement of a memory or passage is retired or reworded."
        rows = counted(self.rows, "memory or passage", "memories and passages")
        apart = [
            counted(count, one, many)
            for count, one, many in (
                (len(self.lost), "is told no longer", "are told no longer"),
                (len(self.forgotten), "stands in archived rows alone", "stand in archived rows alone"),
                (self.replaced, "gave way to what contradicts it", "gave way to what contradicts them"),
            )
            if count
        ]
        told = (
            f"{self.kept:,} of {counted(self.statements, 'statement')} ({self.share:.1%}) of {rows} that the plan retires or rewords "
            f"{'is' if self.kept == 1 else 'are'} still told"
        )
        return f"{'; '.join([told, ', '.join(apart)] if apart else [told])}."


def statements_probe(before: Snapshot, after: Snapshot, items: Iterable[Item] = ()) -> StatementsProbe:
    """Look for the statements of every memory and passage that recall finds in ``before`` and that is gone or says something else in
    ``after``. ``items`` made ``after``; without them losers of contradictions are lost, and no loss names an item.

    Cost: a pass over memories and versions; linear in the statements, and more for one that is not told in the same words; a pass over the
    living texts where statements are missing then.
    """
    items = list(items)
    touched = _touched(before, after, {row for item in items for _, row in erased(item.mutation)})
    if not touched:
        return StatementsProbe()
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
    return StatementsProbe(len(touched), count, replaced, forgotten, lost)


def statements(text: str) -> list[str]:
    """The sentences of a text, line by line, that say something: two words of content or more, and no question."""
    return [sentence for sentence, _ in _keyed(text)]


def _keyed(text: str) -> list[tuple[str, str]]:
    """The statements of a text, each with its words as they are compared."""
    parts = [s for line in text.splitlines() for s in (sentences(line) if _STOP.search(line) else [line.strip()])]
    told = [(s, tokenise(s)) for s in parts if s and not s.rstrip("\"'”’)").endswith("?")]
    return [(s, _spaced(words)) for s, words in told if sum(word not in GRAMMAR for word in words) >= _CONTENT]


class _TextsAfter:
    """Which texts stand after the plan for rows that it retires or rewords."""

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
        """What stands for a row: itself or its survivor first."""
        return self._texts[id_]

    def winners(self, id_: str) -> Sequence[str]:
        """The text of the row to which it gave way, if it lost a contradiction."""
        winner = self._won.get(id_)
        return [self._known[winner]] if winner in self._known else []

    def archived(self, ids: set[str]) -> frozenset[str]:
        """Those of some rows that are archived."""
        rows = self._after.table("memories")
        rows = rows.filter(pc.is_in(rows["id"], value_set=pa.array(sorted(ids), pa.string())))
        return frozenset(rows["id"].filter(pc.equal(rows["state"], "archived")).to_pylist())


def _touched(before: Snapshot, after: Snapshot, erasures: Set[str]) -> dict[str, str]:
    """Row that recall finds before and not, or in other words, after → its text before, by id; what is withheld is left out, and so are
    ``erasures``. Other rows that are gone, as those that nights retired and purged between two snapshots, are looked for.
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
    """Those of some memories that recall finds → their texts."""
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
    """Memory → the passages that it cites."""
    rows = rows_where(snapshot, "memories", "id", ids, ("source_chunk_ids",))
    return {str(row["id"]): [str(c) for c in row["source_chunk_ids"] or ()] for row in rows}  # type: ignore[union-attr]


def _citing(snapshot: Snapshot, ids: set[str]) -> dict[str, set[str]]:
    """Passage → the memories that cite it."""
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
    """Whether a text says a statement in the same words; most lack the longest of them, which is found out before they are parted."""
    return max(key.split(), key=len) in fold(text) and key in _folded(text)


def _retold(statement: str, texts: Sequence[str]) -> bool:
    """Whether texts that stand for its row say a statement in other words."""
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
    """Whether a sentence of texts that has half of a statement's words is to it what ``sameness`` calls so."""
    words = frozenset(asked(statement)) if texts else frozenset[str]()
    return any(
        2 * len(words & own) >= len(words) and sameness(statement, other).decision == decision
        for text in texts
        for other, own in _split(text)
    )


@lru_cache(1_024)
def _words(text: str) -> frozenset[str]:
    """The words of content of a text."""
    return frozenset(asked(text))


@lru_cache(1_024)
def _split(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """The sentences of a text, each with its words of content."""
    return tuple((s, frozenset(asked(s))) for line in text.splitlines() for s in sentences(line))


def _said_anywhere(snapshot: Snapshot, wanted: Mapping[str, str]) -> frozenset[str]:
    """Those of some statements, with their words as they are compared, that a living memory or passage says in the same words: texts with
    its rarest word and the next one are looked at."""
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
    """The texts that may hold one of some folded words: by a regular expression where it would not become too large, else all of them."""
    if len(words) > _AT_ONCE:
        return texts
    pattern = "|".join(word.replace("'", ".") for word in sorted(words))
    return texts.filter(pc.fill_null(pc.match_substring_regex(texts, pattern, ignore_case=True), False))


def _folded(text: str) -> str:
    """The words of a text as they are compared, with a space around each."""
    return _spaced(tokenise(text))


def _spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def _items_of(items: Iterable[Item], rows: set[str]) -> dict[str, str]:
    """Row → the first item that is about it."""
    found: dict[str, str] = {}
    for item in items if rows else ():
        for row in rows.intersection(item.mutation.row_ids()):
            found.setdefault(row, item.id)
    return found

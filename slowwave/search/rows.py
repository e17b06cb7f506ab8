"""Rows that recall can find, and the pairs of them that are one result: a memory and the passage that it cites."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.search.words import asked, words
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.sentences import sentences

# Searched rows: the rows of a snapshot that a recall can find, each with its text.
#
# Only live, active rows: entities (name, description, aliases), chunks (content, under the title of their document and the speaker of a
# message) and memories (their current version, under its subject). Facts, relationships and documents are reached through these and are not
# searched.

SEARCHED: Final = ("entities", "chunks", "memories")
"""Tables whose rows can be found."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchedRows:
    """The rows that recall can find.

    ``ids`` (n) are sorted, of all tables together. ``texts`` (n) are ``large_string`` and never null. ``headings`` (n) is the number of
    characters of a text that are the title or subject above it, including the line break.
    """

    ids: pa.Array
    texts: pa.Array
    headings: pa.Array

    def __len__(self) -> int:
        return len(self.ids)

    def content(self, row: int) -> str:
        """Return a text without its heading."""
        return str(self.texts[row].as_py())[int(self.headings[row].as_py()) :]


def searched_rows(snapshot: Snapshot, tables: Sequence[str] = SEARCHED) -> SearchedRows:
    """Return the rows of ``tables`` in ``snapshot`` that recall can find.

    Archived, quarantined and merged rows are left out, as are retired ones.
    """
    parts = [_TEXTS[table](snapshot) for table in tables]
    ids = pa.concat_arrays([_flat(ids, pa.string()) for ids, _, _ in parts])
    texts = pa.concat_arrays([_flat(texts, pa.large_string()) for _, texts, _ in parts])
    headings = pa.concat_arrays([_heights(headings) for _, _, headings in parts])
    order = pc.sort_indices(ids)
    return SearchedRows(ids.take(order), pc.fill_null(texts, "").take(order), headings.take(order))


def searched_table(snapshot: Snapshot, table: str, columns: Sequence[str]) -> pa.Table:
    """Return some columns of the live rows of one table, only those with the state ``active`` if the table has states."""
    if "state" not in snapshot.table(table).column_names:
        return snapshot.live(table, columns)
    rows = snapshot.live(table, (*columns, "state"))
    return rows.filter(pc.equal(rows["state"], "active")).select(list(dict.fromkeys(columns)))


_Part = tuple[pa.ChunkedArray, pa.ChunkedArray, pa.ChunkedArray]
"""Ids, texts and headings (n each)."""


def _entities(snapshot: Snapshot) -> _Part:
    rows = searched_table(snapshot, "entities", ("id", "name", "description"))
    # One thread keeps the aliases of an entity in id order, so that equal rows have equal texts.
    known = snapshot.table("entity_aliases").group_by("entity_id", use_threads=False).aggregate([("alias", "list")])
    joined = pc.binary_join(known["alias_list"], " ")
    aliases = joined.take(pc.index_in(rows["id"], value_set=known["entity_id"].combine_chunks()))
    text = pc.binary_join_element_wise(
        rows["name"], rows["description"], aliases, " ", null_handling="replace", null_replacement=""
    )
    return rows["id"], text, pa.chunked_array([pa.repeat("", len(rows))])


def _chunks(snapshot: Snapshot) -> _Part:
    rows = searched_table(snapshot, "chunks", ("id", "document_id", "content", "speaker"))
    documents = snapshot.table("documents")
    place = pc.index_in(rows["document_id"], value_set=documents["id"].combine_chunks())
    titles = documents["title"].take(place)
    headings = pc.if_else(pc.is_valid(rows["speaker"]), _joined(titles, rows["speaker"]), titles)
    return rows["id"], _joined(headings, rows["content"]), headings


def _memories(snapshot: Snapshot) -> _Part:
    rows = searched_table(snapshot, "memories", ("id", "subject", "current_version_id"))
    versions = snapshot.table("memory_versions")
    current = pc.index_in(rows["current_version_id"], value_set=versions["id"].combine_chunks())
    return rows["id"], _joined(rows["subject"], versions["content"].take(current)), rows["subject"]


_TEXTS: Final[Mapping[str, Callable[[Snapshot], _Part]]] = {
    "entities": _entities,
    "chunks": _chunks,
    "memories": _memories,
}


def _joined(heading: pa.ChunkedArray, text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Put texts (n) under their headings (n), if they have one."""
    headed = pc.binary_join_element_wise(heading, text, "\n", null_handling="replace", null_replacement="")
    return pc.if_else(pc.equal(pc.fill_null(heading, ""), ""), text, headed)


def _heights(headings: pa.ChunkedArray) -> pa.Array:
    """Return the number of characters (n,) int32 that headings (n) take of a text."""
    lengths = pc.fill_null(pc.utf8_length(headings), 0)
    return _flat(pc.add(lengths, pc.min_element_wise(lengths, 1)), pa.int32())


def _flat(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays([chunk.cast(kind) for chunk in column.chunks] or [pa.array([], kind)])


# Grouping: a memory and the passage from which it was made are one thing, which a search returns once, in the better wording.
#
# A memory is one thing with every passage that it cites. A summary, and a memory that cites only a document, is one thing with those
# passages of which one states what the other does. The citations come from ``slowwave.search.search`` for the store and from the class
# below for a snapshot. ``slowwave.search.priors`` handles near copies.

STEP: Final = 1e-6
"""The smallest difference of two ranks."""

_TOLD: Final = 0.7
"""Share of the content words of one text that another must contain to state the same."""


_COMPARED: Final = 40
_LONGEST: Final = 300  # maximum length in characters of a text that may be one sentence
_SHARED: Final = 3
_TAIL: Final = 6
"""Number of leading words that sentences of one form share, and of final words in which they may differ."""

_ADDING: Final = frozenset(("also", "another", "too", "sometimes"))
"""Words that show that a sentence adds a value instead of replacing one."""


class Cited(NamedTuple):
    """The positions of a memory and a passage among rows, and whether they are one result whatever their texts are."""

    memory: int
    passage: int
    sure: bool


def covers(text: str, said: str) -> bool:
    """Return whether one text covers another: it has all of its figures, and 7 in 10 of its other content words."""
    words = set(asked(said))
    missing = words.difference(asked(text))
    return len(missing) <= (1 - _TOLD) * len(words) and not any(c.isdigit() for word in missing for c in word)


def either_covers(one: str, other: str) -> bool:
    """Return whether the longer of two texts covers the shorter one."""
    short, long = sorted((one, other), key=len)
    return covers(long, short)


def better_worded(
    cited: Iterable[Cited], ranks: Sequence[float], covered: Sequence[float], lengths: Sequence[int], margin: float
) -> list[float]:
    """Adjust ranks (n) so that, of a memory and its passage within ``margin``, the better-worded one is ahead by ``STEP``.

    The better-worded one has more of the query's words (``covered``), or of equals the shorter one; if both are equal, neither is.
    """
    raised = list(ranks)
    for memory, passage, _ in cited:
        better, other = sorted((memory, passage), key=lambda n: (-covered[n], lengths[n]))
        alike = (covered[better], lengths[better]) == (covered[other], lengths[other])
        if not alike and 0 <= ranks[other] - ranks[better] <= margin:
            raised[better] = max(raised[better], ranks[other] + STEP)
    return raised


def newer_first(texts: Sequence[str], days: Sequence[str], ranks: Sequence[float], margin: float) -> list[float]:
    """Exchange ranks so that of rows with one sentence form and ranks within ``margin`` of the best, the newer is ahead.

    "The spare key is with Ada." and "The spare key is with Otto." have one form: a person who asks wants the latest statement. Only the
    ``_COMPARED`` best rows are compared. ``days`` are ISO; rows without a day keep their ranks.
    """
    given = list(ranks)
    order = sorted(range(len(ranks)), key=lambda n: -ranks[n])[:_COMPARED]
    row_words = {n: words(texts[n]) for n in order if days[n] and len(texts[n]) <= _LONGEST}
    row_words = {n: own for n, own in row_words.items() if _ADDING.isdisjoint(own) and len(sentences(texts[n])) == 1}
    free = [n for n in order if n in row_words]
    while free:
        best = free[0]
        alike = [
            n
            for n in free
            if n == best or (ranks[best] - ranks[n] <= margin and _have_one_form(row_words[best], row_words[n]))
        ]
        free = [n for n in free if n not in alike]
        by_day = sorted(alike, key=lambda n: days[n], reverse=True)
        for place, rank in zip(by_day, [ranks[n] for n in alike], strict=True):
            given[place] = rank
        for newer, older in reversed([*pairwise(by_day)]):
            if days[newer] > days[older]:  # otherwise equal ranks would be ordered by id
                given[newer] = max(given[newer], given[older] + STEP)
    return given


def _have_one_form(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two sentences start with the same ``_SHARED`` or more words and differ in at most ``_TAIL`` final words."""
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared >= _SHARED and max(len(one), len(other)) - shared <= _TAIL


def grouped(count: int, cited: Collection[Cited], told: Callable[[Cited], bool]) -> list[list[int]]:
    """Group the positions of rows, best first, into results: each starts with its representative, followed by the other rows.

    A row belongs to the first better row that is shown and forms one result with it, so two facts of one passage are two results if the
    passage is not shown. ``told`` is called for pairs that are not sure. Time: linear in the rows and pairs.
    """
    before: dict[int, list[tuple[int, Cited]]] = defaultdict(list)
    for pair in cited:
        first, last = sorted((pair.memory, pair.passage))
        before[last].append((first, pair))
    things: dict[int, list[int]] = {}
    for place in range(count):
        better = sorted(before.get(place, ()))
        leader = next((n for n, pair in better if n in things and (pair.sure or told(pair))), place)
        things.setdefault(leader, []).append(place)
    return list(things.values())


# Citations in a snapshot: the searched rows that are one thing (memories with the passages that they cite), as arrays.


@dataclass(frozen=True, slots=True, eq=False)
class CitedRows:
    """The citations of n searched rows: row r cites ``keys[starts[r]:starts[r + 1]]``.

    A key below n is a passage, other keys are documents. ``document`` (n,) is the key of a passage's document, -1 for a row that is not a
    passage. ``summary`` (n,) flags the rows that are summaries.
    """

    starts: np.ndarray
    keys: np.ndarray
    document: np.ndarray
    summary: np.ndarray

    @classmethod
    def of(cls, snapshot: Snapshot, rows: SearchedRows) -> CitedRows:
        """Return the citations of a snapshot.

        Cost: a pass over memories, their sources and passages.
        """
        memories, chunks = snapshot.table("memories"), snapshot.table("chunks")
        place = _places(memories["id"], rows.ids)
        cited = memories["source_chunk_ids"].combine_chunks()
        alone = pc.equal(pc.fill_null(pc.list_value_length(cited), 0), 0).to_numpy(zero_copy_only=False)
        documents = snapshot.table("documents")["id"].combine_chunks()
        parts = (
            _edges(cited, place, rows.ids, 0),
            _edges(memories["source_document_ids"].combine_chunks(), np.where(alone, place, -1), documents, len(rows)),
        )
        row, key = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.lexsort((key, row))
        starts = np.searchsorted(row[order], np.arange(len(rows) + 1))
        document, summary = np.full(len(rows), -1), np.zeros(len(rows), np.bool_)
        of_chunk, of_document = _places(chunks["id"], rows.ids), _places(chunks["document_id"], documents)
        searched = of_chunk >= 0
        document[of_chunk[searched]] = len(rows) + np.where(of_document < 0, len(documents), of_document)[searched]
        summaries = place[pc.equal(memories["kind"], "summary").to_numpy(zero_copy_only=False)]
        summary[summaries[summaries >= 0]] = True
        return cls(starts, key[order], document, summary)

    def among(self, query: np.ndarray, row: np.ndarray) -> list[Cited]:
        """Return the pairs of positions of hits of one query that may be one result, from the queries and rows of hits (m).

        Time is linear in hits and pairs.
        """
        passages = np.flatnonzero(self.document[row] >= 0)
        memories = np.flatnonzero(self.starts[row] < self.starts[row + 1])
        if not len(passages) or not len(memories):
            return []
        memory, key = _spread(self.starts[row[memories]], self.starts[row[memories] + 1])
        memory, key = memories[memory], self.keys[key]
        width = 1 + max(len(self.document), int(self.document.max()), int(self.keys.max()))
        hit = np.concatenate([passages, passages])
        held = np.concatenate(
            [query[passages] * width + row[passages], query[passages] * width + self.document[row[passages]]]
        )
        order = np.argsort(held, kind="stable")
        wanted = query[memory] * width + key
        found = [np.searchsorted(held[order], wanted, side) for side in ("left", "right")]
        pair, at = _spread(*found)
        sure = (key < len(self.document)) & ~self.summary[row[memory]]
        columns = (memory[pair].tolist(), hit[order][at].tolist(), sure[pair].tolist())
        return [Cited(*values) for values in zip(*columns, strict=True)]

    def equals(self, other: CitedRows) -> bool:
        """Return whether the same rows have the same citations."""
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("starts", "keys", "document", "summary")
        )


def _places(ids: pa.ChunkedArray, among: pa.Array) -> np.ndarray:
    """Return the positions of ids (n,), -1 for missing ones."""
    return pc.fill_null(pc.index_in(ids, value_set=among), -1).to_numpy().astype(np.int64)


def _edges(lists: pa.ListArray, of: np.ndarray, among: pa.Array, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the (row, key) pairs of lists (n) of ids, for the ids that are in ``among``.

    ``of`` (n,) are the rows of the lists, -1 for none.
    """
    parent = of[pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)]
    place = pc.fill_null(pc.index_in(pc.list_flatten(lists), value_set=among), -1).to_numpy(zero_copy_only=False)
    known = (parent >= 0) & (place >= 0)
    return parent[known], place[known].astype(np.int64) + first


def _spread(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (range number, value) of every number in ranges (n)."""
    sizes = ends - starts
    which = np.repeat(np.arange(len(sizes)), sizes)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + starts[which]

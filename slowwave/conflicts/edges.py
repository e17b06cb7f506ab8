"""Conflicts between relationships: parallel edges that contradict each other, edges that run both ways, objects that exclude each other.

Edges are read by what their type is about (``slowwave.conflicts.types``): A PARENT_OF B and B CHILD_OF A are parallel, LIKES and
DISLIKES are one relation asserted and denied. Self-loops and edges to retired entities are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.conflicts.columns import (
    Bools,
    Found,
    Ints,
    StatementRows,
    Tally,
    codes,
    conflicts_of,
    kinds,
    live_rows,
    pack,
    pairs_within,
)
from slowwave.conflicts.conflict import Conflict
from slowwave.conflicts.objects import EntityColumns, Takes, Values, rival_objects
from slowwave.conflicts.types import mutual_pairs, read_type, runs_against, runs_both_ways, runs_one_way, says_little
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.keys import keys
from slowwave.texts.statements import stem
from slowwave.texts.tokens import tokenise
from slowwave.texts.vocabulary import GRAMMAR, words_of

TABLE: Final = "relationships"

BOOKKEEPING: Final = words_of("""
id uuid key source sources source_id chunk_id document_id created_at updated_at recorded_at extracted_at timestamp date_added
confidence score weight count mentions version model extractor run_id hash embedding description evidence context""")
"""Property keys that speak of the record and not of the world."""

_HOW: Final = words_of("in at on for to from by with as of under near inside outside")
_WHOLE: Final = ("part of", "locat in")
_FILLED: Final = 4  # words that fill a slot
_LONGEST: Final = 300  # characters of descriptions whose ratio is taken


@dataclass(frozen=True, slots=True, eq=False)
class RelationEdges:
    """Live edges between live entities, in id order: positions of their ends, codes of type and base, and how the type reads.

    ``low`` and ``high`` are the ends in the direction that the base has.
    """

    table: pa.Table
    source: Ints
    target: Ints
    kind: Ints
    kinds: Sequence[str]
    base: Ints
    bases: Sequence[str]
    denies: Bools
    low: Ints
    high: Ints


def edge_conflicts(
    edges: RelationEdges, entities: pa.Table, aliases: pa.Table, takes: Takes, similarity: float, tally: Tally
) -> list[Conflict]:
    """All conflicts between live relationships. Time: a few sorts of the edges, and the pairs that a rule singles out."""
    if not len(edges.table):
        return []
    return [
        *_parallel(edges, entities, aliases, similarity, tally),
        *_reversed(edges, codes(entities["entity_type"])[0], tally),
        *_objects(edges, entities, takes, tally),
    ]


def read_edges(snapshot: Snapshot, entities: pa.Table, tally: Tally) -> RelationEdges:
    """The edges as codes."""
    table = live_rows(snapshot, TABLE)
    tally.add("relationships looked at", len(table))
    ids = entities["id"].combine_chunks()
    source, target = (
        pc.fill_null(pc.index_in(table[end], value_set=ids), -1).to_numpy().astype(np.int64)
        for end in ("source_entity_id", "target_entity_id")
    )
    kept = (source >= 0) & (target >= 0) & (source != target)
    tally.add("relationships without two live ends", int((~kept).sum()))
    table, source, target = table.filter(pa.array(kept)).combine_chunks(), source[kept], target[kept]
    kind, names = codes(keys(table["relationship_type"]))
    readings = [read_type(str(name)) for name in names.to_pylist()]
    bases, of = np.unique(np.array([r.base for r in readings], np.object_).astype(str), return_inverse=True)
    flipped = np.array([r.flipped for r in readings], np.bool_)[kind] if readings else np.zeros(0, np.bool_)
    denies = np.array([r.denies for r in readings], np.bool_)[kind] if readings else np.zeros(0, np.bool_)
    return RelationEdges(
        *(table, source, target, kind, [str(n) for n in names.to_pylist()]),
        *(of.astype(np.int64)[kind] if readings else kind, bases.tolist(), denies),
        *(np.where(flipped, target, source), np.where(flipped, source, target)),
    )


def parts_of(edges: RelationEdges) -> frozenset[tuple[int, int]]:
    """Pairs of entities of which one is part of the other, or lies in it."""
    wanted = [k for k, base in enumerate(edges.bases) if base in _WHOLE]
    rows = np.flatnonzero(np.isin(edges.base, wanted))
    return frozenset(zip(edges.low[rows].tolist(), edges.high[rows].tolist(), strict=True))


def _parallel(
    edges: RelationEdges, entities: pa.Table, aliases: pa.Table, similarity: float, tally: Tally
) -> list[Conflict]:
    """Edges of one base between the same ends that say different things (khora 8.9).

    ``polarity``: one asserts, the other denies. ``property_contradiction``: a shared property has two values. Else the kind in which the
    descriptions contradict each other, and at last ``low_similarity``: difflib's ratio of description and properties strictly under the
    threshold, where the descriptions fill one slot differently ("works in the harbour office", "works in a bakery by the sea").
    Descriptions without a slot in common say different things, and both may be true; so may all that describes edges of a type that says
    no more than that two things go together. What a description calls the two ends is no matter:
    after a merge they bear several names.
    """
    ends = pack(edges.low, edges.high, edges.base)
    _, group, size = np.unique(ends, return_inverse=True, return_counts=True)
    some = np.flatnonzero(size[group] > 1)
    tally.add("parallel relationships", len(some))
    if not len(some):
        return []
    table = edges.table.take(pa.array(some)).combine_chunks()
    text, _ = codes(keys(pc.fill_null(table["description"], "")))
    properties, distinct = codes(pc.fill_null(table["properties"], "{}"))
    rows = StatementRows.fold(
        table, pack(group[some].astype(np.int64), edges.denies[some].astype(np.int64), text, properties)
    )
    first = rows.first
    i, j, left_out = pairs_within(group[some][first].astype(np.int64), text[first])
    tally.add("pairs in crowded groups left out", left_out)
    overlap = rows.overlap(i, j)
    i, j = i[overlap], j[overlap]
    tally.add("parallel pairs compared", len(i))
    denies = edges.denies[some][first]
    parsed = [_properties(p) for p in distinct.to_pylist()]
    texts = rows.texts("description", np.arange(len(rows)))
    found: Found = []
    open_: list[tuple[int, int]] = []
    little = [says_little(base) for base in edges.bases]
    tally.add("descriptions that complement each other", 0)
    for x, y in zip(i.tolist(), j.tolist(), strict=True):
        shared = _differing(parsed[properties[first[x]]], parsed[properties[first[y]]])
        if denies[x] != denies[y]:
            found.append((x, y, "polarity", {"rule": "one_denies"}))
        elif shared:
            found.append((x, y, "property_contradiction", {"rule": "shared_properties", "keys": shared}))
        elif texts[x].strip() and texts[y].strip() and not little[edges.base[some[first[x]]]]:
            open_.append((x, y))
    named = _names(entities, aliases, edges.low[some][first], edges.high[some][first], open_)
    texts = [_unnamed(text, names) if (names := named.get(k)) else text for k, text in enumerate(texts)]
    whole = [_whole(text, parsed[properties[at]]) for text, at in zip(texts, first.tolist(), strict=True)]
    return conflicts_of(rows, TABLE, [*found, *_descriptions(open_, texts, whole, similarity, tally)])


def _descriptions(
    pairs: Sequence[tuple[int, int]], texts: Sequence[str], whole: Sequence[str], similarity: float, tally: Tally
) -> Found:
    """``whole`` are descriptions with properties, which is what khora compares; no more than 300 characters of them are."""
    a, b = [texts[x] for x, _ in pairs], [texts[y] for _, y in pairs]
    found: Found = []
    for k, (clash, (x, y)) in enumerate(zip(kinds(a, b), pairs, strict=True)):
        if clash:
            found.append((x, y, clash, {"rule": "descriptions"}))
        elif _rival_slots(a[k], b[k]):
            ratio = SequenceMatcher(None, whole[x][:_LONGEST], whole[y][:_LONGEST]).ratio()
            if ratio < similarity:
                evidence: dict[str, object] = {"rule": "slots", "similarity": round(ratio, 4)}
                found.append((x, y, "low_similarity", {**evidence, "doubtful": True}))
        else:
            tally.add("descriptions that complement each other", 1)
    return found


def _names(
    entities: pa.Table, aliases: pa.Table, low: Ints, high: Ints, pairs: Sequence[tuple[int, int]]
) -> dict[int, tuple[str, ...]]:
    """Statement → all names of its two ends in lower case, the longest first, for the statements of some pairs."""
    statements = sorted({k for pair in pairs for k in pair})
    at = np.unique(np.concatenate([low[statements], high[statements]])) if statements else np.empty(0, np.int64)
    rows = entities.select(["id", "name"]).take(pa.array(at))
    ids = rows["id"].to_pylist()
    names: dict[str, set[str]] = {id_: {name} for id_, name in zip(ids, rows["name"].to_pylist(), strict=True)}
    known = aliases.filter(pc.is_in(aliases["entity_id"], value_set=pa.array(ids, pa.string())))
    for id_, alias in zip(known["entity_id"].to_pylist(), known["alias"].to_pylist(), strict=True):
        names[id_].add(alias)
    of = dict(zip(at.tolist(), ids, strict=True))
    return {
        k: tuple(
            sorted({n.lower() for e in (int(low[k]), int(high[k])) for n in names[of[e]]}, key=lambda n: (-len(n), n))
        )
        for k in statements
    }


def _unnamed(text: str, names: Sequence[str]) -> str:
    """The text with "it" in the place of each name that stands there as a whole word."""
    for name in names:
        low, at = text.lower(), 0
        if len(name) < 2 or len(low) != len(text):  # of some letters the lower case is longer
            continue
        while (at := low.find(name, at)) >= 0:
            end = at + len(name)
            if (at and low[at - 1].isalnum()) or low[end : end + 1].isalnum():
                at = end
                continue
            text = f"{text[:at]}it{text[end:]}"
            low, at = text.lower(), at + 2
    return text


def _reversed(edges: RelationEdges, sort: Ints, tally: Tally) -> list[Conflict]:
    """A → B and B → A of a type that runs one way only, or one way between such things; ``sort`` is the type of each entity."""
    pairs, mutual = mutual_pairs(edges.low, edges.high, edges.base, len(edges.bases))
    one_way = np.array(
        [runs_one_way(b, int(p), int(m)) for b, p, m in zip(edges.bases, pairs, mutual, strict=True)], np.bool_
    )
    tally.add("pairs of ends with edges both ways", int(mutual.sum()))
    against = runs_against((sort[edges.low], sort[edges.high]), edges.base)
    learnt = np.zeros(len(edges.bases), np.bool_)
    learnt[edges.base[against]] = True
    learnt &= [not runs_both_ways(b) for b in edges.bases]
    tally.add("of them of a type that runs both ways", int(mutual[~(one_way | learnt)].sum()))
    rows = np.flatnonzero((one_way | learnt)[edges.base] & (mutual[edges.base] > 0) & ~edges.denies)
    if not len(rows):
        return []
    low, high, base = edges.low[rows], edges.high[rows], edges.base[rows]
    folded = StatementRows.fold(edges.table.take(pa.array(rows)).combine_chunks(), pack(low, high, base))
    one, two, kind = low[folded.first], high[folded.first], base[folded.first]
    group = pack(np.minimum(one, two), np.maximum(one, two), kind)
    i, j, _ = pairs_within(np.unique(group, return_inverse=True)[1].astype(np.int64), np.arange(len(folded)))
    wrong = against[rows][folded.first]
    overlap = folded.overlap(i, j) & (one_way[kind[i]] | wrong[i] | wrong[j])
    found: Found = [
        (x, y, "reversed", {"rule": "one_way", "type": edges.bases[int(kind[x])]})
        for x, y in zip(i[overlap].tolist(), j[overlap].tolist(), strict=True)
    ]
    return conflicts_of(folded, TABLE, found)


def _objects(edges: RelationEdges, entities: pa.Table, takes: Takes, tally: Tally) -> list[Conflict]:
    asserted = np.flatnonzero(~edges.denies)
    source, kind, target = edges.source[asserted], edges.kind[asserted], edges.target[asserted]
    rows = StatementRows.fold(edges.table.take(pa.array(asserted)).combine_chunks(), pack(source, kind, target))
    first = rows.first
    names = entities["name"].take(pa.array(target[first])).to_pylist()
    values = Values(source[first], kind[first], names, target[first], edges.kinds, named=True)
    found = rival_objects(values, takes, things(entities, parts_of(edges)), tally)
    kept = rows.overlap(*(np.array([f[n] for f in found], np.int64) for n in (0, 1))) if found else []
    tally.add("pairs of objects at different times", int(len(found) - np.sum(kept)) if found else 0)
    return conflicts_of(rows, TABLE, [f for f, keep in zip(found, kept, strict=True) if keep])


def things(entities: pa.Table, parts: frozenset[tuple[int, int]]) -> EntityColumns:
    """What conflicts of objects have to know about entities."""
    return EntityColumns(codes(entities["entity_type"])[0], _Texts(entities["attributes"]), parts)


class _Texts:
    """A column read value by value: few of many are."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __getitem__(self, at: int) -> str:
        return str(self._column[at].as_py() or "{}")


def _whole(text: str, properties: Mapping[str, object]) -> str:
    """Description and properties as one text, as khora 8.9 writes it."""
    return " | ".join([*([text] if text else []), *(f"{key}={properties[key]}" for key in sorted(properties))])


def _properties(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _differing(a: Mapping[str, object], b: Mapping[str, object]) -> list[str]:
    """Shared keys with different values, sorted; of two lists the shorter may be part of the longer."""
    return sorted(k for k in a.keys() & b.keys() if k.casefold() not in BOOKKEEPING and not _same(a[k], b[k]))


def _same(a: object, b: object) -> bool:
    if a is None or b is None or a in ("", []) or b in ("", []):
        return True
    if isinstance(a, list) and isinstance(b, list):
        one, two = ({json.dumps(v, sort_keys=True).casefold() for v in values} for values in (a, b))
        return one <= two or two <= one
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b
    return " ".join(str(a).split()).casefold() == " ".join(str(b).split()).casefold()


def _rival_slots(a: str, b: str) -> bool:
    """Whether both fill a slot (a word and its preposition) with nothing in common."""
    one, two = _slots(a), _slots(b)
    return any(one[s].isdisjoint(two[s]) for s in one.keys() & two.keys())


def _slots(text: str) -> dict[tuple[str, str], frozenset[str]]:
    words = tokenise(text)
    found: dict[tuple[str, str], frozenset[str]] = {}
    for k in range(1, len(words) - 1):
        head = words[k - 1]
        if words[k] in _HOW and head not in GRAMMAR and head not in _HOW:
            filled: list[str] = []
            for word in words[k + 1 :]:
                if word in _HOW or len(filled) == _FILLED:
                    break
                if word not in GRAMMAR:
                    filled.append(stem(word))
            if filled:
                found.setdefault((stem(head), words[k]), frozenset(filled))
    return found

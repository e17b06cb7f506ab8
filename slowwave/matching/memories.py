"""Matching of memories: which state the same, which are about one subject, and how near unrelated texts are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slowwave.matching import clusters
from slowwave.matching.match import cohesive_groups
from slowwave.matching.population import read_columns, read_ids, read_vectors
from slowwave.matching.vectors import neighbours, one_thread, pairs_of, unit_rows
from slowwave.text.forms import CodeMarks, code_marks
from slowwave.text.keys import keys
from slowwave.text.sameness import Sameness, WordsInUse, sameness

# ``match_memories`` and ``cluster_memories``: memories that state the same, and memories about one subject.
#
# Vectors show which memories are near; their texts decide whether two state the same (``slowwave.text.sameness``). Cosine alone never
# merges, and contradictions are never merged. The planners decide what happens to the groups.

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Embed = Callable[[Sequence[str]], np.ndarray]
Decision = Literal["merge", "review", "contradiction", "different"]

FLOOR: Final = 0.75
"""Minimum cosine of a pair that is compared."""

LENIENCE: Final = 0.12
"""Reduction of the required cosine for two texts with the same words in the same order, because function words and word forms move
vectors."""

SYNONYMS: Final = 0.88
"""Minimum cosine of two single words for treating them as synonyms, in the offline model. Of 31 pairs tried, synonyms had .70 to .96,
others up to .87."""

NEAREST: Final = 10
"""Number of neighbours of a memory that are compared; copies of one text count as one."""

_COLUMNS: Final = ("id", "text", "created_at", "kind", "vector", "scope", "subject", "author")
_ALIKE: Final = ("kind", "scope", "subject", "author")


class MemoryPair(NamedTuple):
    """Two ids, the smaller first, with their cosine, the decision, and a sentence that explains it."""

    a: str
    b: str
    cosine: float
    decision: Decision
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class MemoryMatches:
    """The decisions about memories.

    ``merges`` are disjoint groups of ids to merge now, ``pairs`` all pairs that were compared, nearest first, and ``counts`` the
    denominators: rows, texts, pairs, decisions.
    """

    merges: tuple[tuple[str, ...], ...]
    pairs: tuple[MemoryPair, ...]
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def review(self) -> tuple[MemoryPair, ...]:
        """Return the pairs for a person."""
        return tuple(p for p in self.pairs if p.decision == "review")

    @property
    def contradictions(self) -> tuple[MemoryPair, ...]:
        """Return the pairs that cannot both be true."""
        return tuple(p for p in self.pairs if p.decision == "contradiction")

    def explain(self, a: str, b: str) -> MemoryPair | None:
        """Return the pair of two ids, or None if it was not compared."""
        a, b = min(a, b), max(a, b)
        return next((p for p in self.pairs if (p.a, p.b) == (a, b)), None)


def match_memories(
    table: Any,
    *,
    threshold: float = 0.92,
    embed: Embed | None = None,
) -> MemoryMatches:
    """Match the rows of an Arrow table or pandas frame with each other; the order of the rows does not matter.

    Columns: ``id`` and ``text``; optional ``created_at``, ``kind``, ``scope``, ``subject``, ``author`` (only rows that agree in all that
    are present are compared) and ``vector`` (numbers, one length, null for a row without one). Without vectors, ``embed`` computes them,
    or else the offline model.

    A pair merges if the texts have equal keys, or if they say the same and the cosine reaches ``threshold`` (``LENIENCE`` less if they
    have the same words in the same order). No two rows of a group contradict each other or say something else. A pair that is near and
    doubtful is for *review*. Raises ``Refused`` with the row named, and ``EmbeddingError`` if nothing can embed.

    Time: that of ``neighbours`` over the distinct texts, and about 200 µs for each pair of neighbours, at most ``NEAREST`` per text.
    """
    memories = _Memories.from_table(table, embed)
    own = memories.distinct()
    i, j, cosine = _near(memories, own, FLOOR - LENIENCE if threshold < FLOOR else FLOOR)
    same = _Reader.from_memories(memories, _embedder(embed) if memories.embedded else None)

    def decide(x: int, y: int, c: float) -> tuple[Decision, str]:
        found = same.say(x, y)
        if found.decision == "same":
            needed = threshold - LENIENCE if found.exact else threshold
            return ("merge", found.reason) if c >= needed - 1e-6 else ("review", f"{found.reason} But not near enough.")
        if found.decision == "doubtful":
            return ("review", found.reason) if c >= threshold - 1e-6 else ("different", found.reason)
        return found.decision, found.reason

    decided = [decide(x, y, c) for x, y, c in zip(i.tolist(), j.tolist(), cosine.tolist(), strict=True)]
    merge = np.array([d == "merge" for d, _ in decided], bool)
    order = np.lexsort((j[merge], i[merge], -cosine[merge]))

    def forbids(x: Ints, y: Ints) -> NDArray[np.bool_]:
        apart = [same.say(a, b).decision != "same" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        return np.array(apart, bool)

    def agrees(x: Ints, y: Ints) -> NDArray[np.bool_]:
        return np.ones(len(x), bool)

    grown = clusters.grow(len(memories.ids), i[merge][order], j[merge][order], forbids, agrees)
    label = grown.label[memories.copy_of]
    merges = memories.groups(label)
    pairs = tuple(
        MemoryPair(memories.ids[x], memories.ids[y], round(c, 4), d, reason)
        for x, y, c, (d, reason) in sorted(
            zip(i.tolist(), j.tolist(), cosine.tolist(), decided, strict=True), key=lambda p: (-p[2], p[0], p[1])
        )
    )
    counts = Counter({"rows": len(memories.ids), "texts": len(own), "pairs": len(pairs)})
    counts.update({f"pairs: {d}": 0 for d in ("merge", "review", "contradiction", "different")})
    counts.update(f"pairs: {d}" for d, _ in decided)
    counts["groups"], counts["merged into others"] = len(merges), sum(len(m) - 1 for m in merges)
    return MemoryMatches(merges, pairs, dict(counts))


def cluster_memories(
    table: Any,
    *,
    floor: float = 0.65,
    cohesion: float = 0.6,
    nearest: int = NEAREST,
    min_size: int = 3,
    embed: Embed | None = None,
) -> tuple[tuple[str, ...], ...]:
    """Group the ids of memories about one subject.

    ``table`` is an Arrow table or pandas frame as for ``match_memories``; the order of its rows does not matter. Groups grow along pairs
    of neighbours (the ``nearest`` of each row, cosine ≥ ``floor``), strongest first. Every two members have a cosine ≥ ``cohesion``, so a
    chain of near pairs is no group, and a row far from all others is in no group. Groups are disjoint, sorted by their first id, and hold
    at least ``min_size`` rows. Only rows of one kind, scope, subject and author are grouped, if the table has such columns. Time: that of
    ``neighbours``, and the squared sizes of the groups.
    """
    memories = _Memories.from_table(table, embed)
    i, j, cosine = _near(memories, np.arange(len(memories.ids)), floor, nearest)
    unit = (
        memories.units
        if np.array_equal(memories.rows, np.arange(len(memories.units)))
        else memories.units[memories.rows]
    )
    found = cohesive_groups(unit, i, j, np.rint(cosine * 1e5), cohesion - 1e-6, most=len(memories.ids))
    return tuple(sorted(tuple(memories.ids[k] for k in group) for group in found if len(group) >= min_size))


@dataclass(frozen=True, slots=True, eq=False)
class _Memories:
    """Memories in the order of their ids.

    ``copy_of`` (n,) is the first row of the same block and key. ``units`` (v, d) are unit vectors, and ``rows`` (n,) is each row's
    position among them, -1 for a row without one. ``embedded`` is set if Slowwave computed the vectors.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    block: Ints
    copy_of: Ints
    units: Floats
    rows: Ints
    embedded: bool

    @classmethod
    def from_table(cls, table: Any, embed: Embed | None) -> _Memories:
        columns = read_columns(table, _COLUMNS, ("id", "text"))
        ids = read_ids(columns["id"])
        order = sorted(range(len(ids)), key=ids.__getitem__)
        columns = {
            name: values.take(order) if isinstance(values, pa.ChunkedArray) else [values[k] for k in order]
            for name, values in columns.items()
        }
        texts = tuple("" if t is None or t != t else str(t) for t in columns["text"])
        block = np.zeros(len(ids), np.int64)
        for name in _ALIKE:
            codes = {v: c for c, v in enumerate(dict.fromkeys(map(str, columns.get(name, ()))))}
            own = np.array([codes[str(v)] for v in columns.get(name, ())] or np.zeros(len(ids)), np.int64)
            _, block = np.unique(block * (len(codes) + 1) + own, return_inverse=True)
        matrix, rows = read_vectors(columns.get("vector"), len(ids))
        key = keys(pa.array(texts, pa.large_string())).dictionary_encode().indices.to_numpy(zero_copy_only=False)
        first: dict[tuple[int, int, CodeMarks], int] = {}
        copy_of = np.array(
            [
                first.setdefault((b, k, code_marks(texts[n])), n) if texts[n].strip() else n
                for n, (b, k) in enumerate(zip(block.tolist(), key.tolist(), strict=True))
            ],
            np.int64,
        )
        if matrix is None or rows is None:
            nonblank = [n for n in range(len(ids)) if texts[n].strip()]
            distinct = list(dict.fromkeys(texts[n] for n in nonblank))
            place = {text: k for k, text in enumerate(distinct)}
            matrix = np.asarray(_embedder(embed)(distinct), np.float32) if distinct else np.empty((0, 1), np.float32)
            rows = np.array([place.get(text, -1) for text in texts], np.int64)
            embedded = True
        else:
            embedded = embed is not None
        units, kept = unit_rows(matrix)
        at = np.full(len(matrix) + 1, -1)
        at[kept] = np.arange(len(kept))
        ordered = tuple(ids[k] for k in order)
        return cls(ordered, texts, block.astype(np.int64), copy_of, units, at[rows], embedded)

    def distinct(self) -> Ints:
        """Return the rows that are not a copy of an earlier row."""
        return np.flatnonzero(self.copy_of == np.arange(len(self.ids)))

    def groups(self, label: Ints) -> tuple[tuple[str, ...], ...]:
        """Return the ids of the rows that share a label, grouped by label."""
        members: dict[int, list[str]] = {}
        for id_, of in zip(self.ids, label.tolist(), strict=True):
            members.setdefault(of, []).append(id_)
        return tuple(sorted(tuple(m) for m in members.values() if len(m) > 1))


def _near(memories: _Memories, own: Ints, floor: float, k: int = NEAREST) -> tuple[Ints, Ints, Floats]:
    """Find the neighbours within each block among rows ``own``: i < j and the cosine."""
    own = own[memories.rows[own] >= 0]
    found: list[tuple[Ints, Ints, Floats]] = []
    order = own[np.argsort(memories.block[own], kind="stable")]
    with one_thread():
        for part in np.split(order, np.flatnonzero(np.diff(memories.block[order])) + 1):
            if len(part) > 1:
                i, j, cosine = pairs_of(*neighbours(memories.units, k, floor, memories.rows[part]))
                found.append((part[i], part[j], cosine))
    empty = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
    i, j, cosine = (np.concatenate(c) for c in zip(empty, *found, strict=True))
    return i, j, cosine


@dataclass(frozen=True, slots=True, eq=False)
class _Reader:
    """The sameness of rows; each pair of texts is compared once."""

    texts: tuple[str, ...]
    compare: Callable[[str, str], Sameness]

    @classmethod
    def from_memories(cls, memories: _Memories, embed: Embed | None) -> _Reader:
        common = WordsInUse(memories.texts)

        @lru_cache(maxsize=65_536)
        def vector(word: str) -> NDArray[np.float32]:
            assert embed is not None  # noqa: S101 - asked with an embedder only
            return np.asarray(embed([word])[0], np.float32)

        def synonyms(x: str, y: str) -> bool:
            return float(vector(x) @ vector(y)) >= SYNONYMS

        @lru_cache(maxsize=262_144)
        def compare(a: str, b: str) -> Sameness:
            return sameness(a, b, synonyms if embed is not None else None, common)

        return cls(memories.texts, compare)

    def say(self, x: int, y: int) -> Sameness:
        """Return the sameness of two rows."""
        a, b = self.texts[x], self.texts[y]
        return self.compare(min(a, b), max(a, b))


def _embedder(embed: Embed | None) -> Embed:
    if embed is not None:
        return embed
    from slowwave.models.embedder import OfflineEmbedder  # its model takes a second to load

    return OfflineEmbedder().embed


# Short notes about pairwise different things, which show how near an embedding model puts unrelated texts.
#
# They were written for this purpose and are not copied. A model's cosines of them are its null distribution; each operation decides how far
# its threshold lies above that.

_MOST: Final = 512
_DECILE: Final = 1.2816
"""Number of standard deviations between the median and the first decile of a normal distribution."""


class NullCosines(NamedTuple):
    """Cosines of unrelated texts: their ``median``, and their standard ``deviation`` estimated from the values below it."""

    median: float
    deviation: float

    def above(self, deviations: float) -> float:
        """Return the cosine that is ``deviations`` deviations above the median, at most .99."""
        return min(0.99, self.median + deviations * self.deviation)


def null_cosines(vectors: NDArray[np.floating]) -> NullCosines:
    """Measure the cosines of unrelated texts in (n, d) vectors, n ≥ 2, most of which are unrelated.

    Zero and non-finite vectors are left out. The deviation is taken from below the median, where related texts have no influence, so a
    few related texts change it little. If there are more than 512 rows, an evenly drawn sample is compared.
    """
    units, _ = unit_rows(vectors[:: -(-len(vectors) // _MOST)])
    cosine = (units @ units.T)[np.triu_indices(len(units), 1)].astype(np.float64)
    low, median = np.quantile(cosine, (0.1, 0.5)).tolist()
    return NullCosines(median, (median - low) / _DECILE)


UNRELATED: Final = (
    "The library card expires at the end of June.",
    "Basil needs more light than mint does.",
    "We moved the standup to a quarter past nine.",
    "Her cousin plays the cello in a youth orchestra.",
    "The invoice template has a wrong tax number.",
    "Sourdough has to rest overnight in the fridge.",
    "The backup job writes to a second disk every night.",
    "He is afraid of flying and takes the ferry.",
    "Snow closed the mountain pass for two days.",
    "The warranty of the dishwasher has run out.",
    "Use tabs and not spaces in the makefile.",
    "My sister teaches chemistry at a secondary school.",
    "The museum is free on the first Sunday of the month.",
    "A wasp nest hangs under the garage roof.",
    "The insurance asks for a photo of the damage.",
    "Customers in Norway pay no shipping fee.",
    "Our goalkeeper broke his thumb during training.",
    "The chapter about whales is too long.",
    "Logins are limited to five attempts an hour.",
    "The tailor shortened both sleeves by an inch.",
    "Election posters have to be removed within a week.",
    "Goat cheese and figs go well together.",
    "The compiler warns about an unused variable.",
    "They adopted an old greyhound from the shelter.",
    "The choir rehearses in the chapel on Wednesdays.",
    "Her blood pressure is a little too high.",
    "The lift stops only at even floors.",
    "We ran out of printer paper again.",
    "The volcano was last active a century ago.",
    "He collects stamps with pictures of lighthouses.",
    "Refunds are approved by the finance team.",
    "The hotel room had a view of the harbour.",
    "Wear gloves when you handle the acid.",
    "The second act of the play drags.",
    "Bees avoid the field since it was sprayed.",
    "The API returns dates in universal time.",
    "Grandfather built this violin from maple.",
    "Parking costs four euros an hour downtown.",
    "The interview with the plumber is on Monday.",
    "She swims a mile before breakfast.",
    "The lawyer advised against signing the lease.",
    "Bicycles may be taken on the late train.",
    "The telescope shows the rings of Saturn.",
    "Marketing wants a shorter slogan.",
    "The baby has her first tooth.",
    "A fuse blew when the oven was switched on.",
    "The river carries more sand than it used to.",
    "Passwords are rotated every quarter.",
    "He prefers green tea without sugar.",
    "The bridge is painted in a dark red.",
    "Our tenants complain about the noise.",
    "The vaccine has to be kept cold.",
    "Chess club meets above the bakery.",
    "The unit tests take eleven minutes.",
    "Wolves have returned to the northern forest.",
    "The curtain rod is six centimetres too short.",
    "Her thesis is about medieval trade routes.",
    "The bus driver waited for the children.",
    "Quarterly sales fell in the southern region.",
    "The soup tastes better on the next day.",
    "Someone left a blue umbrella in the hall.",
    "The satellite loses contact behind the moon.",
    "He learnt Portuguese while working in Brazil.",
    "The judge postponed the hearing.",
    "Their wedding will be outdoors if it stays dry.",
    "The scooter battery lasts thirty kilometres.",
    "Moths have eaten holes into the wool coat.",
    "The database index was rebuilt on Sunday.",
    "Pomegranates ripen late in the year.",
    "The fire drill took everybody by surprise.",
    "Her handwriting is hard to read.",
    "The glacier has become visibly smaller.",
    "Meeting rooms are booked through the calendar.",
    "The parrot imitates the doorbell.",
    "The loan is paid off in three years.",
    "Rust has spread along the fence.",
    "The documentary about jazz won a prize.",
    "Please send the contract by registered mail.",
    "The vineyard lies on a steep southern slope.",
    "He forgot to water the tomatoes.",
    "The keyboard layout is Swiss German.",
    "The dentist recommends a softer brush.",
    "Migrating birds rest in the marsh.",
    "The newsletter goes out every other Thursday.",
    "The statue lost an arm in the war.",
    "Her luggage was sent to Madrid by mistake.",
    "The algorithm sorts parcels by weight.",
    "Fog delayed the morning flights.",
    "The landlord repainted the staircase.",
    "A pinch of cinnamon improves the sauce.",
    "The marathon route crosses the old town.",
    "The helpline is not staffed at night.",
    "He restores antique clocks for a living.",
    "The server room smells of burnt plastic.",
    "Kindergarten starts at half past seven.",
    "The referee ignored an obvious foul.",
)
"""Ninety-six notes."""

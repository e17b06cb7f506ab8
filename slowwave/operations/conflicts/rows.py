"""Conflicts between relationships and between facts: denials, versions, and objects that exclude each other.

Over 900 lines: both kinds of rows are compared by the same columns, types and objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from slowwave.changes.cells import canonical
from slowwave.operations.scoring import Verdict
from slowwave.plans.questions import SAID, Conflict, said_hash, seen_hash
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.contradictions import Kind, find
from slowwave.text.keys import keys
from slowwave.text.statements import stem
from slowwave.text.tokens import tokenise
from slowwave.text.words import CARDINALS, EXCLUSIVE, GRAMMAR, NEGATIONS, TENS, words_of

# Relationship types and predicates by their words: in which direction they run, whether they deny, and how many objects they take.
#
# "REPORTS_TO" and "manages" state one relation from its two ends, "likes" and "dislikes" assert and deny one thing, "KNOWS" runs both
# ways by itself. Words decide if they are known; otherwise the share of edges of a type that run both ways decides.
# ``slowwave.operations.scoring`` learns how many objects a predicate takes.

EDGES: Final = 50
"""Pairs of ends from which a type can be learnt to run one way only."""

MUTUAL: Final = 0.02
"""Greatest share of such a type's pairs that run both ways."""


SORTED: Final = 10
"""Edges of a type between two sorts of things from which its direction between them is learnt."""


class TypeReading(NamedTuple):
    """Parsed type: its ``base`` (what it is about), whether it ``denies`` that, and whether its ends are ``flipped``."""

    base: str
    denies: bool
    flipped: bool


@lru_cache(maxsize=65_536)
def read_type(key: str) -> TypeReading:
    """Parse a type or predicate in the spelling of ``slowwave.text.keys``.

    The base of an unknown one is the stems of its own words.
    """
    words = key.replace("_", " ").split()
    denies = any(w in NEGATIONS for w in words)
    kept = [w for w in words if w not in NEGATIONS and w not in _SMALL] or words
    for at, word in enumerate(kept):
        if word in _DENYING:
            kept = [*kept[:at], _DENYING[word], *kept[at + 1 :]]
            denies = not denies
            break
    phrase = " ".join(kept)
    if phrase in _INVERSE:
        return TypeReading(_base(_INVERSE[phrase].split()), denies, flipped=True)
    phrase = _SAME.get(phrase, phrase)
    kept = phrase.split()
    if len(kept) > 1 and kept[-1] == "by":
        return TypeReading(_base(kept[:-1]), denies, flipped=True)
    return TypeReading(_base(kept), denies, flipped=False)


def runs_one_way(base: str, pairs: int, mutual: int) -> bool:
    """Return whether A → B rules out B → A.

    The words decide if they are known. Else at most 2 % of at least 50 pairs of ends may run both ways.
    """
    if base in _ONE_WAY or base.endswith((" at", " in")):
        return True
    return not runs_both_ways(base) and pairs >= EDGES and mutual <= MUTUAL * pairs


def runs_both_ways(base: str) -> bool:
    """Return whether the words imply that A → B means B → A as well."""
    return base in _BOTH_WAYS or base.endswith((" with", " together", " mutual"))


def runs_against(kinds_of: tuple[np.ndarray, np.ndarray], edges: np.ndarray) -> np.ndarray:
    """Return (n,) whether an edge runs against the usual direction of its type between two sorts of things.

    ``kinds_of`` are the sorts of both ends (n,), ``edges`` (n,) the types. The usual direction is that of at least ten edges, and ten
    times as many as the other. Example: a meeting is held at a place, and no place at a meeting.
    """
    low, high = kinds_of
    width = int(max(low.max(initial=0), high.max(initial=0))) + 1
    way, back = (edges * width + low) * width + high, (edges * width + high) * width + low
    found, counts = np.unique(way, return_counts=True)
    at = np.minimum(np.searchsorted(found, back), max(len(found) - 1, 0))
    other = np.where(found[at] == back, counts[at], 0) if len(found) else np.zeros(0, np.int64)
    own = counts[np.searchsorted(found, way)] if len(found) else other
    return (low != high) & (other >= SORTED) & (own * SORTED <= other)


def single_by_name(key: str) -> bool:
    """Return whether the words of a predicate imply that it takes one object; used if the data are too few."""
    words = [w for w in key.replace("_", " ").split() if w not in _SMALL]
    return " ".join(words) in _SINGLE


def many_by_name(key: str) -> bool:
    """Return whether the words of a predicate imply that it takes many objects, whatever the data show.

    Such a predicate states only that two things go together ("associated with", "mentions"), or runs both ways ("knows"), and is not one
    that takes one object ("married to").
    """
    base = read_type(key).base
    return not single_by_name(key) and (says_little(base) or runs_both_ways(base))


def says_little(base: str) -> bool:
    """Return whether a base states only that two things go together; any other statement about them may also be true."""
    return base in _GENERIC


def mutual_pairs(source: np.ndarray, target: np.ndarray, kind: np.ndarray, kinds: int) -> tuple[np.ndarray, np.ndarray]:
    """Count the unordered pairs of ends per type, and those of them that run both ways, (kinds,) each.

    ``source``, ``target`` and ``kind`` (n,) are the ends and type codes of the edges.
    """
    width = int(max(source.max(initial=0), target.max(initial=0))) + 1
    low, high = np.minimum(source, target), np.maximum(source, target)
    edges = np.unique(((kind * width + low) * width + high) * 2 + (source > target))
    pairs, ways = np.unique(edges // 2, return_counts=True)
    of = pairs // (width * width)
    return np.bincount(of, minlength=kinds), np.bincount(of[ways == 2], minlength=kinds)


def _base(words: Sequence[str]) -> str:
    return " ".join(stem(w) for w in words)


_SMALL: Final = words_of("is was are were be been being has have had do does did a an the longer currently")

_DENYING: Final = {
    denying: asserting
    for line in """
likes dislikes hates loathes
like dislike hate
trusts distrusts mistrusts
allows forbids prohibits disallows
accepts rejects
approves disapproves
supports opposes
agrees disagrees
includes excludes
believes disbelieves doubts
confirms refutes
enabled disabled
friend enemy
supported unsupported
compatible incompatible
related unrelated
""".strip().splitlines()
    for asserting, *others in [line.split()]
    for denying in others
}

_SAME: Final = {
    other: first
    for line in """
parent of|father of|mother of|parent
likes|loves|enjoys
report to|reports to|reports into
works for|works at|employed by|employee of|works in
owns|owner of
part of|belongs to|component of|subset of
located in|located at|situated in|based in
""".strip().splitlines()
    for first, *others in [line.split("|")]
    for other in others
}

_INVERSE: Final = {
    inverse: direct
    for line in """
parent of|child of|son of|daughter of|parent
report to|manages|manager of|supervises|supervisor of|boss of|leads
works for|employs|employer of
part of|contains|includes|part|consists of|comprises
owns|owned by|property of
before|after
precedes|follows after
larger than|smaller than
older than|younger than
ancestor of|descendant of
teaches|student of|taught by
""".strip().splitlines()
    for direct, *others in [line.split("|")]
    for inverse in others
    if inverse != direct
} | {"child of": "parent of"}

_ONE_WAY: Final = frozenset(
    _base(read.split())
    for read in """
parent of|report to|works for|part of|owns|before|precedes|larger than|older than|ancestor of|located in|member of|subsidiary of|born in
created|creator of|authored|author of|wrote|writes|founded|founder of|invented|discovered|produces|produced|acquired|supersedes|replaces
inherits from|derived from|installed at|kept at|hosted|capital of|king of|head of|chief of|causes|contained in|child of|invoiced
""".strip()
    .replace("\n", "|")
    .split("|")
)

_BOTH_WAYS: Final = frozenset(
    _base(read.split())
    for read in """
knows|know|met|meets|married to|married|spouse of|spouse|partner of|sibling of|sibling|brother of|sister of|friend of|friend|friends with
colleague of|colleague|related to|related|similar to|same as|equals|connected to|connected|linked to|adjacent to|neighbor of|neighbour of
near|close to|next to|relative of|cousin of|associated|associated to|competitor of|competes|rival of|opposite of|talks to|contacts|likes
trusts|helps|follows|mentions|references|calls|emails|loves|hates|admires|visits|borders|overlaps|interacts|synonym of|alias of
""".strip()
    .replace("\n", "|")
    .split("|")
)

_GENERIC: Final = frozenset(
    _base([w for w in read.split() if w not in _SMALL])
    for read in """
associated with|associated|associated to|association|related to|related|relates to|related with|relates|relation|has relation|relationship
linked to|linked with|links to|link|connected to|connected with|connected|connects to|connection|correlated with|similar to
co occurs with|co occurs|cooccurs with|cooccurs|co occurrence|cooccurrence|occurs with|occurs in|appears in|appears with|see also|about
mentions|mentioned|mentioned in|mentioned with|mentioned by|mentioned together|references|referenced by|refers to|cites|cited by|concerns
involves|involved in|discusses|discussed|discussed in|discussed with|tagged|tagged with|tag|topic|has topic|interacts with|interacted with
""".strip()
    .replace("\n", "|")
    .split("|")
)

_SINGLE: Final = frozenset(
    """
birthday|birth date|birthdate|date of birth|born on|born in|birthplace|birth place|place of birth|died on|died in|date of death|age|capital
capital city|headquarters|headquartered in|ceo|chief executive|mother|father|husband|wife|spouse|married to|blood type|height|lives in
lives at|resides in|home city|home address|located in|located at|based in|works for|works at|employed by|employer|reports to|due on
expires on|costs|founded in|founded on|starts on|ends on|deadline|price|status
""".strip()
    .replace("\n", "|")
    .split("|")
)


# Columns as codes, for comparing edges and facts: values become numbers, groups become runs of equal numbers.

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Found = list[tuple[int, int, str, dict[str, object]]]
"""Two statements, the reason of their conflict, and evidence."""

WINDOW: Final = 8
"""Statements of one group up to which all pairs are compared; in a larger group each is compared with the seven after it in order."""

CROWD: Final = 64
"""Largest group that is compared: a larger one is a log and not a contradiction; it is left out, and counted."""

ALIKE: Final = 85.0
"""Ratio (rapidfuzz) of two names from which they may be spellings of one."""

_NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class StatementRows:
    """Statements of one table.

    ``first`` (n,) is the latest row that makes the statement, the one with the smallest id of equals, because a value that was stated again
    holds since then; ``of`` (m,) is the statement of each of the table's live rows.
    ``begins`` and ``ends`` (n,) span the valid times of all rows of a statement, in microseconds; an unknown time is open.
    """

    table: pa.Table
    of: Ints
    first: Ints
    begins: Ints
    ends: Ints

    @classmethod
    def fold(cls, table: pa.Table, key: Ints) -> StatementRows:
        """Fold rows (m,) with the same key into one statement; ``table`` is in id order."""
        since = _instants(pc.coalesce(table["valid_from"], table["recorded_at"]), 0)
        order = np.lexsort((np.arange(len(key)), -since, key))
        _, leads, of = np.unique(key[order], return_index=True, return_inverse=True)
        first, of = order[leads], of[np.argsort(order)]
        count = len(first)
        begins, ends = np.full(count, _NEVER), np.full(count, -_NEVER)
        np.minimum.at(begins, of, _instants(table["valid_from"], -_NEVER))
        np.maximum.at(ends, of, _instants(table["valid_to"], _NEVER))
        return cls(table, of.astype(np.int64), first.astype(np.int64), begins, ends)

    def __len__(self) -> int:
        return len(self.first)

    def overlap(self, i: Ints, j: Ints) -> Bools:
        """Return (p,) whether the valid times of two statements overlap or are unknown."""
        return np.maximum(self.begins[i], self.begins[j]) < np.minimum(self.ends[i], self.ends[j])

    def last(self) -> Ints:
        """Return (n,) when the latest row of a statement began to hold, else was recorded, in microseconds."""
        since = pc.coalesce(self.table["valid_from"], self.table["recorded_at"])
        latest = np.full(len(self), -_NEVER)
        np.maximum.at(latest, self.of, _instants(since, 0))
        return latest

    def texts(self, column: str, statements: Ints) -> list[str]:
        """Return a column of the statements' first rows; null becomes an empty string."""
        found = self.table[column].take(pa.array(self.first[statements]))
        return pc.fill_null(found, "").to_pylist()


@dataclass(slots=True)
class Tally:
    """Counts of what was compared and of what each gate left out."""

    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, count: int) -> None:
        """Add to a number, which is shown even when it is 0."""
        self.numbers[name] = self.numbers.get(name, 0) + count


def codes(column: pa.Array | pa.ChunkedArray) -> tuple[Ints, pa.Array]:
    """Return a column as numbers (n,) and its distinct values; null is a value."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = pc.dictionary_encode(array, null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary


def pack(*columns: Ints) -> Ints:
    """Combine columns of codes (n,) into one code that is equal where all of them are equal."""
    packed = columns[0]
    for column in columns[1:]:
        high, width = int(packed.max(initial=0)) + 1, int(column.max(initial=0)) + 1
        if high * width >= 2**62:
            _, packed = np.unique(packed, return_inverse=True)
            packed = packed.astype(np.int64)
        packed = packed * width + column
    return packed


def pairs_within(group: Ints, order: Ints) -> tuple[Ints, Ints, int]:
    """Return pairs of positions that share a group, and the number of pairs left out.

    Groups of up to ``WINDOW`` positions yield all pairs. In larger groups each position is paired with the seven that follow it by
    ``order``; groups of more than ``CROWD`` yield none. So a group of b positions costs at most 7·b pairs.
    """
    _, inverse, sizes = np.unique(group, return_inverse=True, return_counts=True)
    every = int((sizes * (sizes - 1) // 2).sum())
    arranged = np.lexsort((order, group))
    arranged = arranged[sizes[inverse[arranged]] <= CROWD]
    sorted_group = group[arranged]
    left: list[Ints] = []
    right: list[Ints] = []
    for step in range(1, WINDOW):
        same = np.flatnonzero(sorted_group[step:] == sorted_group[:-step])
        left.append(arranged[same])
        right.append(arranged[same + step])
    i, j = np.concatenate(left), np.concatenate(right)
    return np.minimum(i, j), np.maximum(i, j), every - len(i)


def conflicts_of(rows: StatementRows, name: str, found: Found) -> list[Conflict]:
    """Turn statements (i, j) with reason and evidence into conflicts of their rows; the first one about each pair is kept."""
    if not found:
        return []
    statements = np.unique(np.array([(i, j) for i, j, _, _ in found], np.int64).ravel())
    members = np.flatnonzero(np.isin(rows.of, statements))
    behind: dict[int, list[str]] = {}
    first = rows.first[rows.of[members]]
    ids = rows.table["id"].take(pa.array(members)).to_pylist()
    for statement, row, lead, id_ in zip(rows.of[members].tolist(), members.tolist(), first.tolist(), ids, strict=True):
        if row != lead:
            behind.setdefault(statement, []).append(id_)
    wanted = rows.table.select(["id", *SAID[name]]).take(pa.array(rows.first[statements]))
    said = {
        statement: (str(row["id"]), said_hash(name, {k: canonical(v) for k, v in row.items()}))
        for statement, row in zip(statements.tolist(), wanted.to_pylist(), strict=True)
    }
    made: dict[tuple[str, str], Conflict] = {}
    for i, j, reason, evidence in found:
        (a, said_a), (b, said_b) = said[i], said[j]
        if a > b:
            a, b, said_a, said_b, i, j = b, a, said_b, said_a, j, i
        if (a, b) not in made:
            made[a, b] = Conflict(
                *(name, a, b, reason, seen_hash((said_a, said_b))),
                evidence={**evidence, "said": {"a": said_a, "b": said_b}},
                also_a=tuple(behind.get(i, ())),
                also_b=tuple(behind.get(j, ())),
            )
    return sorted(made.values(), key=lambda c: (c.a, c.b))


def kinds(a: Sequence[str], b: Sequence[str]) -> list[Kind | None]:
    """Return the kind of contradiction in each pair of texts, or None; each distinct pair is compared once."""
    pairs = [(x, y) if x <= y else (y, x) for x, y in zip(a, b, strict=True)]
    distinct = list(dict.fromkeys(pairs))
    known = dict(zip(distinct, find(distinct), strict=True))
    return [known[p] for p in pairs]


def alike(a: Sequence[str], b: Sequence[str]) -> Bools:
    """Return (p,) whether two names may be spellings of one thing, or one extends the other ("Porto", "Porto, Portugal").

    Compared in columns, by rapidfuzz.
    """
    if not len(a):
        return np.zeros(0, np.bool_)
    one, two = (keys(pa.array(x, pa.string())).to_pylist() for x in (a, b))
    near = process.cpdist(one, two, scorer=fuzz.ratio, score_cutoff=ALIKE, dtype=np.float32) >= ALIKE
    within = [x <= y or y <= x for x, y in ((set(p.split()), set(q.split())) for p, q in zip(one, two, strict=True))]
    return near | np.array(within, np.bool_)


def live_rows(snapshot: Snapshot, name: str) -> pa.Table:
    """Return the live rows in id order, as one chunk."""
    return snapshot.live(name).combine_chunks()


def among(column: pa.ChunkedArray, values: Collection[str]) -> Bools:
    """Return (n,) whether each text is one of ``values``."""
    return pc.is_in(column, value_set=pa.array(sorted(values), pa.string())).to_numpy(zero_copy_only=False).astype(bool)


def _instants(column: pa.ChunkedArray, unknown: int) -> Ints:
    return pc.fill_null(pc.cast(column, pa.int64()), unknown).to_numpy().astype(np.int64)


# Objects: when two different objects of one subject and predicate cannot both be true.
#
# If a predicate takes one object, any other object contradicts it. Otherwise several objects may be true, unless they are texts that are
# identical except for a number, a date or a term ("20 metres", "17 metres"; "always", "never"), or an "is" names two different things.
# The ends of relationships are not texts: "EIP-4788" and "EIP-2929" are two of many, unless the type takes one.

Takes = Mapping[str, Verdict]
"""Maps the key of a predicate to whether it takes one object, many, or the data are too few."""

LISTS: Final = 0.1
"""Share of the subjects with several objects from which twins are common: there they are parts of a list and are not reported."""

_COPULAS: Final = frozenset(("is", "was", "are", "were", "is the", "was the"))
_FIGURE: Final = re.compile(r"\d+(?:[.,:/-]\d+)*")
_LETTER: Final = re.compile(r"(?<=\*)[a-z]\b|\b[a-z]$")
_ANSWERS: Final = words_of("always never sometimes yes no true false on off enabled disabled")
_SWAPPED: Final = frozenset(EXCLUSIVE) | NEGATIONS | frozenset(CARDINALS) | frozenset(TENS) | {"always", "sometimes"}


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Distinct values (subject, predicate, object).

    ``subject`` and ``predicate`` (n,) are codes, ``texts`` the objects' texts, ``entity`` (n,) the entity that each object names (-1:
    none). ``predicates`` are the keys by code. With ``named`` objects are entities by themselves, not by their text.
    """

    subject: Ints
    predicate: Ints
    texts: Sequence[str]
    entity: Ints
    predicates: Sequence[str]
    named: bool

    def read(self, rows: Ints) -> list[str]:
        """Return the texts of some values."""
        positions: list[int] = rows.tolist()
        return [self.texts[k] for k in positions]


class Readable(Protocol):
    """Texts by position, of which only few are ever used."""

    def __getitem__(self, at: int, /) -> str:
        """Return the text at a position."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class EntityColumns:
    """Entity data by position: type codes (e,), attributes as JSON texts, and pairs of a part and its whole."""

    kind: Ints
    attributes: Readable
    parts: frozenset[tuple[int, int]]

    def differ(self, i: int, j: int) -> bool:
        """Return whether a shared attribute of two entities has different values.

        Such entities are different things, however similar their names are.
        """
        one, two = _scalars(self.attributes[i]), _scalars(self.attributes[j])
        return any(one[k] != two[k] for k in one.keys() & two.keys())


def rival_objects(values: Values, takes: Takes, things: EntityColumns, tally: Tally) -> Found:
    """Find pairs of values that contradict each other, with reason and evidence.

    Time: a sort of the values, and 50 to 300 µs for each pair that a rule selects. For a predicate that takes one object, subjects with
    more than eight objects are left out.
    """
    if not len(values.subject):
        return []
    group = np.unique(np.stack([values.subject, values.predicate]), axis=1, return_inverse=True)[1].astype(np.int64)
    size = np.bincount(group)
    several = np.flatnonzero(size[group] > 1)
    tally.add("subjects with several objects", int((size > 1).sum()))
    verdicts = [_verdict(key, takes) for key in values.predicates]
    single = np.array([v in ("single", "named") for v in verdicts], np.bool_)
    is_single = single[values.predicate]
    crowded = size[group] > WINDOW
    tally.add("subjects with too many objects", len(np.unique(group[several[(is_single & crowded)[several]]])))
    one = several[(is_single & ~crowded)[several]]
    listed = np.array([v == "listed" for v in verdicts], np.bool_)[values.predicate]
    rest = several[~is_single[several] & ~listed[several]]
    return [
        *_of_one(values, one, group, verdicts, things, tally),
        *_copulas(values, rest[~crowded[rest]], group, things),
        *([] if values.named else _twins(values, rest, group, verdicts, things, tally)),
    ]


def _verdict(key: str, takes: Takes) -> str:
    """Return how many objects a predicate takes.

    Words that mean many (``listed``) take precedence over the data. Words that mean one (``named``) count only if the data are too few.
    """
    if many_by_name(key):
        return "listed"
    found = takes.get(key, "unknown")
    return "named" if found == "unknown" and single_by_name(key) else found


def _of_one(
    values: Values, rows: Ints, group: Ints, verdicts: Sequence[str], things: EntityColumns, tally: Tally
) -> Found:
    """Find all pairs of different objects, except possible names of one thing, and a part with its whole."""
    i, j = _all_pairs(group, rows)
    a, b = values.read(i), values.read(j)
    clash = kinds(a, b)
    spellings = alike(a, b)
    found: Found = []
    for k, (x, y) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        e, f = int(values.entity[x]), int(values.entity[y])
        if e >= 0 and e == f:
            continue
        if (e, f) in things.parts or (f, e) in things.parts:
            tally.add("pairs of a part and its whole", 1)
            continue
        sure = clash[k] in ("number", "date", "time", "polarity") or (e >= 0 and f >= 0 and things.differ(e, f))
        if spellings[k] and not sure:
            tally.add("pairs that may be one object", 1)
            continue
        evidence: dict[str, object] = {
            "rule": "one_object",
            "predicate": values.predicates[int(values.predicate[x])],
            "learnt": verdicts[int(values.predicate[x])] == "single",
        }
        found.append((x, y, _reason(values, clash[k]), evidence))
    return found


def _copulas(values: Values, rows: Ints, group: Ints, things: EntityColumns) -> Found:
    """Find predicates like "is" that name two different things of one type.

    Example: "The escalation owner is Irene Falk", "… is Ines Falk".
    """
    copula = np.array([key in _COPULAS for key in values.predicates], np.bool_)
    rows = rows[copula[values.predicate[rows]] & (values.entity[rows] >= 0)]
    i, j = _all_pairs(group, rows)
    kind = things.kind
    same = (kind[values.entity[i]] == kind[values.entity[j]]) & (values.entity[i] != values.entity[j])
    i, j = i[same], j[same]
    doubt = alike(values.read(i), values.read(j))
    return [
        (x, y, "object", {"rule": "is", "predicate": values.predicates[int(values.predicate[x])]})
        for x, y, maybe in zip(i.tolist(), j.tolist(), doubt.tolist(), strict=True)
        if not maybe or things.differ(int(values.entity[x]), int(values.entity[y]))
    ]


def _twins(
    values: Values, rows: Ints, group: Ints, verdicts: Sequence[str], things: EntityColumns, tally: Tally
) -> Found:
    """Find objects that are identical except for one figure or term.

    Three of a kind are a list and do not count, nor do the twins of a predicate for which twins are common.
    """
    read = zip(rows.tolist(), values.read(rows), strict=True)
    framed = [(k, frame) for k, text in read if (frame := _frame(text)) is not None]
    if not framed:
        return []
    at = np.array([k for k, _ in framed], np.int64)
    frames, number = np.unique(np.array([f for _, f in framed], np.object_).astype(str), return_inverse=True)
    shared = np.unique(np.stack([group[at], number]), axis=1, return_inverse=True)[1].astype(np.int64)
    pair = np.bincount(shared)[shared] == 2
    tally.add("objects of a list", int((np.bincount(shared) > 2).sum()))
    i, j = _all_pairs(shared, np.flatnonzero(pair))
    i, j, frame = at[i], at[j], frames[number[i]]
    allowed = np.array([_may(values, int(x), verdicts, str(f)) for x, f in zip(i, frame, strict=True)], np.bool_)
    i, j, frame = i[allowed], j[allowed], frame[allowed]
    clash = kinds(values.read(i), values.read(j))
    left = [(int(x), int(y), str(f), c) for x, y, f, c in zip(i, j, frame, clash, strict=True) if c]
    left = [
        (x, y, f, c) for x, y, f, c in left if c in ("date", "time") or _but_for_one(values.texts[x], values.texts[y])
    ]
    # texts may exclude each other as kinds of a thing do ("green tea", "black tea"): figures and answers do not
    left = [(x, y, f, c) for x, y, f, c in left if c != "polarity" or _answers(values.texts[x], values.texts[y])]
    lists = _lists(values, [x for x, _, f, _ in left if f.strip("* ")], rows, group)
    tally.add("pairs of a list", sum(int(values.predicate[x]) in lists and bool(f.strip("* ")) for x, _, f, _ in left))
    return [
        (x, y, _reason(values, c), _twin_evidence(values, x, verdicts, f))
        for x, y, f, c in left
        if int(values.predicate[x]) not in lists or not f.strip("* ")
    ]


def _twin_evidence(values: Values, x: int, verdicts: Sequence[str], frame: str) -> dict[str, object]:
    """Build the evidence of twins; if the predicate takes many objects, both may be true and a person decides."""
    doubtful = verdicts[int(values.predicate[x])] == "many"
    key = values.predicates[int(values.predicate[x])]
    return {"rule": "same_but_for_one", "predicate": key, **({"doubtful": True} if doubtful else {})}


def _may(values: Values, x: int, verdicts: Sequence[str], frame: str) -> bool:
    """Return whether two objects may be twins; bare figures ("2025-03-14") may not if the predicate is known to take many."""
    return (
        bool(frame.strip("* "))
        or verdicts[int(values.predicate[x])] != "many"
        or values.texts[x].casefold() in _ANSWERS
    )


def _but_for_one(a: str, b: str) -> bool:
    """Return whether two texts of one frame differ only in figures or only in one word.

    "3 dogs" and "2 cats" differ in both, and are two things that one can have.
    """
    apart = [(x, y) for x, y in zip(a.casefold().split(), b.casefold().split(), strict=False) if x != y]
    figures = sum(any(map(str.isdigit, x + y)) for x, y in apart)
    return figures == len(apart) or (not figures and len(apart) == 1)


def _answers(a: str, b: str) -> bool:
    """Return whether one text answers yes and the other no, or one denies the other."""
    one, two = a.casefold().split(), b.casefold().split()
    apart = set(one) ^ set(two)
    return bool(apart) and apart <= _ANSWERS | NEGATIONS


def _lists(values: Values, twins: Iterable[int], rows: Ints, group: Ints) -> Collection[int]:
    """Return the predicates for which twins are common.

    They have twins for at least four subjects, and for more than one in ten of the subjects with several objects.
    """
    of = values.predicate[np.array(list(twins), np.int64)] if twins else np.empty(0, np.int64)
    count = np.bincount(of, minlength=len(values.predicates))
    groups, first = np.unique(group[rows], return_index=True)
    del groups
    whole = np.bincount(values.predicate[rows[first]], minlength=len(values.predicates))
    return frozenset(np.flatnonzero((count >= 4) & (count > LISTS * whole)).tolist())


def _frame(text: str) -> str | None:
    """Return the text with a star for every figure and every word that has a rival.

    Return None if the text has neither, or more than twelve words.
    """
    low = text.casefold().strip().rstrip(".!?")
    words = low.split()
    if len(words) > 12:
        return None
    digits = _FIGURE.search(low) is not None
    if not digits and _SWAPPED.isdisjoint(words):
        return None
    starred = " ".join("*" if w in _SWAPPED else w for w in words)
    return _LETTER.sub("*", _FIGURE.sub("*", starred)) if digits else starred


def _all_pairs(group: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the pairs of ``rows`` that share a group."""
    if not len(rows):
        return rows, rows
    i, j, _ = pairs_within(group[rows], rows)
    return rows[i], rows[j]


def _reason(values: Values, clash: str | None) -> str:
    """Return the reason of a conflict: the clash of two texts, or ``object`` for entities and for texts without a clash."""
    return "object" if values.named or clash is None else clash


def _scalars(text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        str(k): str(v).casefold().strip()
        for k, v in found.items()
        if isinstance(v, str | int | float | bool) and str(v).strip()
    }


def entities_named(names: pa.ChunkedArray, texts: pa.Array) -> Ints:
    """Return (n,) the position of the entity that each text names by its key, or -1 if none or several match."""
    if not len(texts):
        return np.empty(0, np.int64)
    encoded = keys(names).dictionary_encode()
    of = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    counts = np.bincount(of, minlength=len(encoded.dictionary))
    place = np.zeros(len(encoded.dictionary), np.int64)
    place[of] = np.arange(len(of))
    at = pc.fill_null(pc.index_in(keys(texts), value_set=encoded.dictionary), -1).to_numpy().astype(np.int64)
    known = at >= 0
    found = np.full(len(texts), -1, np.int64)
    found[known] = np.where(counts[at[known]] == 1, place[at[known]], -1)
    return found


# Conflicts between relationships: parallel edges that contradict each other, edges that run both ways, objects that exclude each other.
#
# Edges are compared by what their type is about: A PARENT_OF B and B CHILD_OF A are parallel, LIKES and DISLIKES are one relation
# asserted and denied. Self-loops and edges to retired entities are left out.

TABLE: Final = "relationships"

BOOKKEEPING: Final = words_of("""
id uuid key source sources source_id chunk_id document_id created_at updated_at recorded_at extracted_at timestamp date_added
confidence score weight count mentions version model extractor run_id hash embedding description evidence context""")
"""Property keys that describe the record and not the world."""

_HOW: Final = words_of("in at on for to from by with as of under near inside outside")
_WHOLE: Final = ("part of", "locat in")
_FILLED: Final = 4  # words that fill a slot
_LONGEST: Final = 300  # characters of descriptions whose ratio is taken


@dataclass(frozen=True, slots=True, eq=False)
class RelationEdges:
    """Live edges between live entities, in id order.

    The columns are the positions of their ends, codes of type and base, and how the type is parsed. ``low`` and ``high`` are the ends in
    the direction of the base.
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
    """Find all conflicts between live relationships.

    Time: a few sorts of the edges, and the pairs that a rule selects.
    """
    if not len(edges.table):
        return []
    return [
        *_parallel(edges, entities, aliases, similarity, tally),
        *_reversed(edges, codes(entities["entity_type"])[0], tally),
        *_objects(edges, entities, takes, tally),
    ]


def read_edges(snapshot: Snapshot, entities: pa.Table, tally: Tally) -> RelationEdges:
    """Read the live edges between live entities as codes."""
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
    """Return the pairs of entities of which one is part of the other, or lies in it."""
    wanted = [k for k, base in enumerate(edges.bases) if base in _WHOLE]
    rows = np.flatnonzero(np.isin(edges.base, wanted))
    return frozenset(zip(edges.low[rows].tolist(), edges.high[rows].tolist(), strict=True))


def _parallel(
    edges: RelationEdges, entities: pa.Table, aliases: pa.Table, similarity: float, tally: Tally
) -> list[Conflict]:
    """Find edges of one base between the same ends that state different things (khora 8.9).

    ``polarity``: one asserts, the other denies. ``property_contradiction``: a shared property has two values. Else the kind in which the
    descriptions contradict each other. The last kind is ``low_similarity``: difflib's ratio of description and properties is strictly
    below the threshold, and the descriptions fill one slot differently ("works in the harbour office", "works in a bakery by the sea").
    Descriptions without a common slot state different things, and both may be true. So may all descriptions of edges whose type states
    only that two things go together. Names of the two ends in a description are ignored, because after a merge the ends have several
    names.
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
    """Find descriptions that contradict each other.

    ``whole`` are the descriptions with their properties, which khora compares; at most 300 characters of each are compared.
    """
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
    """Map each statement of some pairs to all names of its two ends in lower case, the longest first."""
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
    """Replace each of the names that occurs as a whole word in the text with "it"."""
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
    """Find A → B and B → A of a type that runs one way, in general or between such entities; ``sort`` is each entity's type."""
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
    """Return the entity data that is needed to compare objects."""
    return EntityColumns(codes(entities["entity_type"])[0], _Texts(entities["attributes"]), parts)


class _Texts:
    """Column that is converted value by value, because only few values are used."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __getitem__(self, at: int) -> str:
        return str(self._column[at].as_py() or "{}")


def _whole(text: str, properties: Mapping[str, object]) -> str:
    """Join description and properties into one text, as khora 8.9 does."""
    return " | ".join([*([text] if text else []), *(f"{key}={properties[key]}" for key in sorted(properties))])


def _properties(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _differing(a: Mapping[str, object], b: Mapping[str, object]) -> list[str]:
    """Return the shared keys with different values, sorted; of two lists the shorter may be part of the longer."""
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
    """Return whether both texts fill a slot (a word and its preposition) and have nothing in common there."""
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


# Conflicts between facts: one denies what the other states, one statement in two versions, objects that exclude each other.
#
# ``supersede_facts`` also handles facts that are replaced in time. Two facts are in conflict only if their valid times overlap or are
# unknown, so a fact that was ended is in conflict with none that came after it.

TABLE_FACTS: Final = "memory_facts"


def fact_conflicts(
    facts: pa.Table, entities: pa.Table, takes: Takes, things: EntityColumns, tally: Tally
) -> list[Conflict]:
    """Find all conflicts between facts.

    Time: a few sorts of the facts, and the pairs that a rule selects.
    """
    tally.add("facts looked at", len(facts))
    if not len(facts):
        return []
    subject, _ = codes(keys(facts["subject"]))
    kind, names = codes(keys(facts["predicate"]))
    predicates = [str(name) for name in names.to_pylist()]
    readings = [read_type(p) for p in predicates]
    _, of = np.unique(np.array([r.base for r in readings], np.object_).astype(str), return_inverse=True)
    base = of.astype(np.int64)[kind]
    denies = np.array([r.denies for r in readings], np.bool_)[kind]
    value, _ = codes(keys(facts["object"]))
    text, _ = codes(keys(pc.fill_null(facts["fact_text"], "")))
    statement = pack(subject, base, value)
    return [
        *_versions(
            StatementRows.fold(facts, pack(statement, denies.astype(np.int64), text)), statement, denies, text, tally
        ),
        *_fact_objects(facts, (subject, kind, value), denies, predicates, entities, takes, things, tally),
    ]


def _versions(
    rows: StatementRows, statement: np.ndarray, denies: np.ndarray, text: np.ndarray, tally: Tally
) -> list[Conflict]:
    """Find facts with equal subject, predicate and object of which one denies it, or whose texts contradict each other."""
    _, group = np.unique(statement[rows.first], return_inverse=True)
    i, j, left_out = pairs_within(group.astype(np.int64), text[rows.first])
    tally.add("pairs in crowded groups left out", left_out)
    overlap = rows.overlap(i, j)
    i, j = i[overlap], j[overlap]
    tally.add("versions of one fact compared", len(i))
    clash = kinds(rows.texts("fact_text", i), rows.texts("fact_text", j))
    denied = denies[rows.first[i]] != denies[rows.first[j]]
    found: Found = [
        (x, y, "polarity", {"rule": "one_denies"}) if against else (x, y, str(c), {"rule": "texts"})
        for x, y, c, against in zip(i.tolist(), j.tolist(), clash, denied.tolist(), strict=True)
        if against or c
    ]
    return conflicts_of(rows, TABLE_FACTS, found)


def _fact_objects(
    facts: pa.Table,
    key: tuple[np.ndarray, np.ndarray, np.ndarray],
    denies: np.ndarray,
    predicates: list[str],
    entities: pa.Table,
    takes: Takes,
    things: EntityColumns,
    tally: Tally,
) -> list[Conflict]:
    asserted = np.flatnonzero(~denies)
    subject, kind, value = (column[asserted] for column in key)
    rows = StatementRows.fold(facts.take(pa.array(asserted)).combine_chunks(), pack(subject, kind, value))
    first = rows.first
    _, group, size = np.unique(pack(subject, kind)[first], return_inverse=True, return_counts=True)
    tally.add("subjects with a predicate", len(size))
    objects = rows.table["object"].take(pa.array(first)).combine_chunks()
    several = np.flatnonzero(size[group] > 1)
    entity = np.full(len(rows), -1, np.int64)
    entity[several] = entities_named(entities["name"], objects.take(pa.array(several)))
    values = Values(subject[first], kind[first], objects.to_pylist(), entity, predicates, named=False)
    found = rival_objects(values, takes, things, tally)
    kept = rows.overlap(*(np.array([f[n] for f in found], np.int64) for n in (0, 1))) if found else []
    tally.add("pairs of objects at different times", int(len(found) - np.sum(kept)) if found else 0)
    return conflicts_of(rows, TABLE_FACTS, [f for f, keep in zip(found, kept, strict=True) if keep])

"""Objects: when two different objects of one subject and predicate cannot both be true.

Where a predicate takes one object, any other contradicts it. Elsewhere objects may stand side by side, unless they are texts that are the
same but for a number, a date or a term ("20 metres", "17 metres"; "always", "never"), or an "is" names two different things. Things that
a relationship leads to are no texts: "EIP-4788" beside "EIP-2929" are two of many, unless its type takes one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.conflicts.columns import WINDOW, Found, Ints, Tally, alike, kinds, pairs_within
from slowwave.conflicts.types import many_by_name, single_by_name
from slowwave.scoring.predicates import Verdict
from slowwave.texts.keys import keys
from slowwave.texts.vocabulary import CARDINALS, EXCLUSIVE, NEGATIONS, TENS, words_of

Takes = Mapping[str, Verdict]
"""Key of a predicate → whether the data say that it takes one object, many, or too little."""

LISTS: Final = 0.1
"""Share of the subjects with several objects of which twins are common: there they are parts of a list, and nothing to report."""

_COPULAS: Final = frozenset(("is", "was", "are", "were", "is the", "was the"))
_FIGURE: Final = re.compile(r"\d+(?:[.,:/-]\d+)*")
_LETTER: Final = re.compile(r"(?<=\*)[a-z]\b|\b[a-z]$")
_ANSWERS: Final = words_of("always never sometimes yes no true false on off enabled disabled")
_SWAPPED: Final = frozenset(EXCLUSIVE) | NEGATIONS | frozenset(CARDINALS) | frozenset(TENS) | {"always", "sometimes"}


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Distinct (subject, predicate, object): codes (n,) of subject and predicate, the objects' texts, the entity each one names (-1: none).

    ``predicates`` are the keys by code. ``named`` says that objects are entities by themselves, not by their text.
    """

    subject: Ints
    predicate: Ints
    texts: Sequence[str]
    entity: Ints
    predicates: Sequence[str]
    named: bool

    def read(self, rows: Ints) -> list[str]:
        """The texts of some values."""
        positions: list[int] = rows.tolist()
        return [self.texts[k] for k in positions]


class Readable(Protocol):
    """Texts by position, of which few are ever read."""

    def __getitem__(self, at: int, /) -> str:
        """The text at a position."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class EntityColumns:
    """What is known of entities, by position: type codes (e,), attributes as JSON texts, pairs of which one is part of the other."""

    kind: Ints
    attributes: Readable
    parts: frozenset[tuple[int, int]]

    def differ(self, i: int, j: int) -> bool:
        """Whether a shared attribute of two entities has two values: they are different things, however alike their names."""
        one, two = _scalars(self.attributes[i]), _scalars(self.attributes[j])
        return any(one[k] != two[k] for k in one.keys() & two.keys())


def rival_objects(values: Values, takes: Takes, things: EntityColumns, tally: Tally) -> Found:
    """Pairs of values that contradict each other, with reason and evidence.

    Time: a sort of the values, and 50 to 300 µs for each pair that a rule singles out; a subject of more than eight objects is no case for
    a predicate of one, and is left out.
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
    """The words go first where they say that a predicate takes many (``listed``), and last where that it takes one (``named``)."""
    if many_by_name(key):
        return "listed"
    found = takes.get(key, "unknown")
    return "named" if found == "unknown" and single_by_name(key) else found


def _of_one(
    values: Values, rows: Ints, group: Ints, verdicts: Sequence[str], things: EntityColumns, tally: Tally
) -> Found:
    """All pairs of different objects, but those that may be one thing under two names, or a part and its whole."""
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
        sure = clash[k] in ("number", "date", "polarity") or (e >= 0 and f >= 0 and things.differ(e, f))
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
    """ "The escalation owner is Irene Falk", "… is Ines Falk": two different things of one type."""
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
    """Objects that are the same but for one figure or term. Three of a kind are a list, and so are twins common for the predicate."""
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
    left = [(x, y, f, c) for x, y, f, c in left if c == "date" or _but_for_one(values.texts[x], values.texts[y])]
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
    """A predicate that takes many objects may well take both: that is for a person to say."""
    doubtful = verdicts[int(values.predicate[x])] == "many"
    key = values.predicates[int(values.predicate[x])]
    return {"rule": "same_but_for_one", "predicate": key, **({"doubtful": True} if doubtful else {})}


def _may(values: Values, x: int, verdicts: Sequence[str], frame: str) -> bool:
    """Bare figures ("2025-03-14") are no twins where a predicate is known to take many."""
    return (
        bool(frame.strip("* "))
        or verdicts[int(values.predicate[x])] != "many"
        or values.texts[x].casefold() in _ANSWERS
    )


def _but_for_one(a: str, b: str) -> bool:
    """Whether two texts of one frame differ in figures alone or in one word alone: "3 dogs" and "2 cats" are two things to have."""
    apart = [(x, y) for x, y in zip(a.casefold().split(), b.casefold().split(), strict=False) if x != y]
    figures = sum(any(map(str.isdigit, x + y)) for x, y in apart)
    return figures == len(apart) or (not figures and len(apart) == 1)


def _answers(a: str, b: str) -> bool:
    """Whether one answers yes and the other no, or one denies the other."""
    one, two = a.casefold().split(), b.casefold().split()
    apart = set(one) ^ set(two)
    return bool(apart) and apart <= _ANSWERS | NEGATIONS


def _lists(values: Values, twins: Iterable[int], rows: Ints, group: Ints) -> Collection[int]:
    """Predicates of which four subjects or more, and one in ten of those with several objects, have twins."""
    of = values.predicate[np.array(list(twins), np.int64)] if twins else np.empty(0, np.int64)
    count = np.bincount(of, minlength=len(values.predicates))
    groups, first = np.unique(group[rows], return_index=True)
    del groups
    whole = np.bincount(values.predicate[rows[first]], minlength=len(values.predicates))
    return frozenset(np.flatnonzero((count >= 4) & (count > LISTS * whole)).tolist())


def _frame(text: str) -> str | None:
    """The text with a star for every figure and every word that has a rival; None when it has none."""
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
    """Pairs of ``rows`` that share a group."""
    if not len(rows):
        return rows, rows
    i, j, _ = pairs_within(group[rows], rows)
    return rows[i], rows[j]


def _reason(values: Values, clash: str | None) -> str:
    """Entities are other objects whatever their names say; of texts a figure says more."""
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
    """(n,): the position of the entity that a text names by its key, -1 where none or several do."""
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

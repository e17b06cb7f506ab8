"""Under which type a row is compared: its own, or that of its namesake where its own says nothing; and namesakes of different types.

Rows of different types are never compared otherwise, as what is alike means another thing for each. A type is often what the words around
a mention happened to say, so it is no reason by itself that two rows of one name never meet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from slowwave.matching.names import fold

UNTYPED: Final = frozenset(
    ("", "unknown", "concept", "entity", "thing", "object", "other", "misc", "miscellaneous", "node", "none")
)
"""Folded types that say nothing."""


def compared_as(types: Sequence[str], names: Sequence[str]) -> list[str]:
    """The type under which each row is compared: a row without a type takes the only one that rows of its name have."""
    kinds = {type_: fold(type_) for type_ in set(types)}
    if UNTYPED.isdisjoint(kinds.values()):
        return list(types)
    folded = [fold(name) for name in names]
    known: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, type_ in sorted({(name, t) for name, t in zip(folded, types, strict=True) if kinds[t] not in UNTYPED}):
        known[name].setdefault(kinds[type_], type_)
    known.pop("", None)
    only = {name: next(iter(held.values())) for name, held in known.items() if len(held) == 1}
    return [
        only.get(name, type_) if kinds[type_] in UNTYPED else type_ for type_, name in zip(types, folded, strict=True)
    ]


def namesakes(ids: Sequence[str], types: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of ids (the smaller first) of one name and two types: the first row of each type with that of the type before it."""
    first: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for id_, type_, name in sorted(zip(ids, types, names, strict=True)):
        if (kind := fold(type_)) not in UNTYPED and (folded := fold(name)):
            first[folded].setdefault(kind, id_)
    pairs: list[tuple[str, str]] = []
    for rows in first.values():
        in_order = list(rows.values())
        pairs += [(min(a, b), max(a, b)) for a, b in pairwise(in_order)]
    return sorted(pairs)

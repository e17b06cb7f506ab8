"""Matching of a table of any origin, each row under the type that rows of its name have."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from slowwave.errors import Refused
from slowwave.matching.answers import Answers
from slowwave.matching.match import Aim, Matches, match
from slowwave.matching.names import fold
from slowwave.matching.options import DefaultSettings, MatchSettings
from slowwave.matching.population import is_missing, read_columns, read_ids, read_text, read_vectors

# The type under which a row is compared: its type, or that of a row with the same name if its type is unspecific; and rows with one name
# but different types.
#
# Otherwise rows of different types are never compared, because similarity means something else for each type. A type often results from the
# words around a mention, so different types alone are no reason never to compare two rows of one name.

UNTYPED: Final = frozenset(
    ("", "unknown", "concept", "entity", "thing", "object", "other", "misc", "miscellaneous", "node", "none")
)
"""Folded types that are unspecific."""


def compared_as(types: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the type under which each row is compared.

    A row without a type takes the type of the rows with its name, if these have only one.
    """
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
    """Return pairs of ids (the smaller first) with one name and two types.

    They are the first row of each type with that of the type before it.
    """
    first: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for id_, type_, name in sorted(zip(ids, types, names, strict=True)):
        if (kind := fold(type_)) not in UNTYPED and (folded := fold(name)):
            first[folded].setdefault(kind, id_)
    pairs: list[tuple[str, str]] = []
    for rows in first.values():
        in_order = list(rows.values())
        pairs += [(min(a, b), max(a, b)) for a, b in pairwise(in_order)]
    return sorted(pairs)


# ``match_entities``: match a table of any origin.
#
# The columns have ordinary names, and ids are returned as texts. ``slowwave.matching.match`` decides.

_KNOWN: Final = (
    *("id", "entity_type", "name", "attributes", "source", "vector"),
    *("aliases", "neighbours", "documents", "links"),
)


def match_entities(
    table: Any,
    settings: MatchSettings | None = None,
    *,
    answers: Iterable[tuple[str, str, bool | str | None]] = (),
    aim: Aim = "precision",
) -> Matches:
    """Match the rows of an Arrow table or pandas frame with each other; the order of the rows does not matter.

    Columns: ``id`` and ``name``; optional ``entity_type`` (only rows of one type are compared; a row without a type is compared under the
    type of its only typed namesake), ``attributes`` (a mapping or JSON text), ``vector`` (numbers, one length), ``aliases``,
    ``neighbours`` and ``documents`` (lists; or ``links``, a mapping that holds the latter two) and ``source`` (the origin of the row).
    Neighbours are any items that rows have in common.

    ``answers`` are pairs of ids and whether they are the same: True, False or "unsure". ``Matches.next_questions`` returns the pairs to
    ask about, and ``Matches.learn`` decides again with more answers. The ``aim`` "precision" merges pairs that are as sure as the
    settings demand, "f1" the pairs that best balance precision and recall.

    Raises ``Refused`` with the row named.
    """
    columns = read_columns(table, _KNOWN, ("id", "name"))
    ids = read_ids(columns["id"])
    n = len(ids)
    names = [read_text(t) or "" for t in columns["name"]]
    types = [read_text(t) or "entity" for t in columns.get("entity_type", [""] * n)]
    entities = pa.table(
        {
            "id": pa.array(ids, pa.string()),
            "entity_type": pa.array(compared_as(types, names), pa.string()),
            "name": pa.array(names, pa.string()),
            "attributes": pa.array(
                [_attributes(k, a) for k, a in enumerate(columns.get("attributes", ()))] or [None] * n
            ),
            "source_document_ids": pa.array(_lists(columns, "documents", n), pa.list_(pa.string())),
            "source": pa.array([read_text(s) for s in columns.get("source", [None] * n)], pa.string()),
        }
    )
    aliases = _lists(columns, "aliases", n)
    owners = [id_ for id_, others in zip(ids, aliases, strict=True) for _ in others]
    matrix, rows = read_vectors(columns.get("vector"), n)
    return match(
        entities,
        settings or DefaultSettings(),
        matrix=matrix,
        rows=rows,
        neighbours=_lists(columns, "neighbours", n),
        aliases=pa.table(
            {"entity_id": pa.array(owners, pa.string()), "alias": [a for others in aliases for a in others]}
        ),
        answers=Answers.from_triples(answers),
        aim=aim,
    )


def _attributes(row: int, given: Any) -> str | None:
    """Return attributes as JSON text, or None if there are none."""
    if is_missing(given) or given == "":
        return None
    if isinstance(given, Mapping):
        return json.dumps(given, default=str)
    try:
        parsed = json.loads(given) if isinstance(given, str) else None
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise Refused(f"The attributes of row {row} are no JSON object. Write an object, or leave them empty.")
    return str(given)


def _lists(columns: Mapping[str, list[Any]], name: str, n: int) -> list[list[str]]:
    """Return a column of lists of texts; neighbours and documents may be in the column ``links``."""
    given = columns.get(name)
    if given is None and name in ("neighbours", "documents") and "links" in columns:
        given = [link.get(name) if isinstance(link, Mapping) else None for link in columns["links"]]
    values: Sequence[Any] = given if given is not None else [()] * n
    return [[str(x) for x in v] if isinstance(v, (list, tuple, set, np.ndarray)) else [] for v in values]

"""Conflicts between facts: one denies what the other states, one statement in two versions, objects that exclude each other.

Facts that are replaced in time belong to ``supersede_facts`` as well: two facts are in conflict only when their valid times overlap or
are unknown, so a fact that was ended is in conflict with none that came after it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.conflicts.columns import Found, StatementRows, Tally, codes, conflicts_of, kinds, pack, pairs_within
from slowwave.conflicts.conflict import Conflict
from slowwave.conflicts.objects import EntityColumns, Takes, Values, entities_named, rival_objects
from slowwave.conflicts.types import read_type
from slowwave.texts.keys import keys

TABLE: Final = "memory_facts"


def fact_conflicts(
    facts: pa.Table, entities: pa.Table, takes: Takes, things: EntityColumns, tally: Tally
) -> list[Conflict]:
    """All conflicts between facts. Time: a few sorts of the facts, and the pairs that a rule singles out."""
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
        *_objects(facts, (subject, kind, value), denies, predicates, entities, takes, things, tally),
    ]


def _versions(
    rows: StatementRows, statement: np.ndarray, denies: np.ndarray, text: np.ndarray, tally: Tally
) -> list[Conflict]:
    """Facts of one subject, predicate and object of which one denies it, or whose texts contradict each other."""
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
    return conflicts_of(rows, TABLE, found)


def _objects(
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
    return conflicts_of(rows, TABLE, [f for f, keep in zip(found, kept, strict=True) if keep])

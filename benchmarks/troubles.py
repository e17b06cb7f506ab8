"""Trouble planted in columns: edges, facts and events with something in them for every operation of a night.

Shares are of the rows of their table, so every size has as much trouble as another. Each function returns the table and how much
was planted in it by kind. Entities and their duplicates belong to ``benchmarks.generate``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks import columns

BLOCK: Final = 150
"""Entities of one community, and the share of its edges that stay within it."""
WITHIN: Final = 0.8

CLASH_SHARE: Final = 0.01
WEAK_SHARE: Final = 0.02
EXPIRED_EDGES: Final = 0.01
DRIFTED_SHARE: Final = 0.01
EXPIRED_FACTS: Final = 0.10
FACT_COPIES: Final = 0.03
REPLACED_FACTS: Final = 0.02
PLURAL_FACTS: Final = 0.05
EVENT_COPIES: Final = 0.08
EVENTS_PER_SUBJECT: Final = 8

MAPPING: Final = {"Person": "PERSON", "works for": "WORKS_FOR"}
"""Drifted type → what the namespace's settings make of it."""

_DAY: Final = 24 * 60
_HALF_YEAR: Final = 180 * _DAY
_LONG_AGO: Final = (400 * _DAY, 700 * _DAY)
_RELATIONS: Final = {
    **{"ASSOCIATED_WITH": 0.40, "WORKS_FOR": 0.15, "PART_OF": 0.10, "USES": 0.10, "LOCATED_IN": 0.08},
    **{"KNOWS": 0.07, "OWNS": 0.05, "DEPENDS_ON": 0.05},
}
RELATIONS: Final = tuple(_RELATIONS)
_PREDICATES: Final = ("is named", "lives in", "is led by", "was founded in", "reports to", "is based in")
_MANY: Final = "likes"
_CLASHES: Final = (("{} holds 40 units", "{} holds 90 units"), ("{} ends on 2027-03-31", "{} ends on 2027-09-30"))

Planted = dict[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What trouble stands on: the namespace's chance, time and words, its entities (ids, names, blocks) and chunks."""

    rng: np.random.Generator
    now: datetime
    words: np.ndarray
    entities: pa.Array
    names: pa.Array
    blocks: np.ndarray
    chunks: pa.Array


def edges(ground: Ground, n: int) -> tuple[pa.Table, Planted]:
    """n relationships, four of five within a block; sources evenly, targets more often some than others, no self-loop.

    One of a hundred repeats another edge with a description that contradicts it; two of a hundred are weak associations of which no
    source is left, as many are weak and have one; one was retired long ago, one has a type that drifted.
    """
    rng, size = ground.rng, len(ground.entities)
    source, target = _ends(ground, n)
    kind = rng.choice(len(RELATIONS), n, p=list(_RELATIONS.values()))
    confidence = rng.uniform(0.5, 1, n).round(3)
    chunk = rng.integers(0, size, n)
    described = columns.sentences(rng, ground.words, n, 8)
    rows, taken = rng.permutation(n), 0

    def some(share: float) -> np.ndarray:
        nonlocal taken
        taken += round(share * n)
        return rows[taken - round(share * n) : taken]

    clash, of = some(CLASH_SHARE), some(CLASH_SHARE)
    source[clash], target[clash], kind[clash] = source[of], target[of], kind[of]
    described = _clashing(described, clash, of)
    weak, held = some(WEAK_SHARE), some(WEAK_SHARE)
    for some_rows in (weak, held):
        kind[some_rows] = RELATIONS.index("ASSOCIATED_WITH")
        confidence[some_rows] = rng.uniform(0.1, 0.39, len(some_rows)).round(3)
    chunk[weak] = size + np.arange(len(weak))
    expired, drifted = some(EXPIRED_EDGES), some(DRIFTED_SHARE)
    spelled = np.array([*RELATIONS, "works for"], np.object_)
    kind[drifted] = len(RELATIONS)
    gone, known = _retired(ground, n, expired)
    table = pa.table(
        {
            "id": columns.ids(rng, n),
            "external_id": columns.numbered("r", n),
            "source_entity_id": ground.entities.take(pa.array(source)),
            "target_entity_id": ground.entities.take(pa.array(target)),
            "relationship_type": pa.array(spelled[kind], pa.string()),
            "description": described,
            "source_chunk_ids": columns.lists(
                pa.concat_arrays([ground.chunks, columns.ids(rng, len(weak))]), chunk, np.ones(n, np.int64)
            ),
            "confidence": pa.array(confidence),
            "weight": pa.array(rng.uniform(0.2, 3, n).round(3)),
            "recorded_at": known,
            "invalidated_at": gone,
        }
    )
    return table, {
        "contradicting edges": len(clash),
        "weak edges": len(weak),
        "expired edges": len(expired),
        "drifted edges": len(drifted),
    }


def _ends(ground: Ground, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng, size = ground.rng, len(ground.entities)
    order = np.argsort(ground.blocks, kind="stable")
    first = np.searchsorted(ground.blocks[order], np.arange(int(ground.blocks.max()) + 2))
    source = rng.integers(0, size, n)
    skewed = rng.random(n) ** 1.5
    own = ground.blocks[source]
    inside = order[(first[own] + skewed * (first[own + 1] - first[own])).astype(np.int64)]
    target = np.where(rng.random(n) < WITHIN, inside, (skewed * size).astype(np.int64))
    return source, np.where(target == source, (target + 1) % size, target)


def _clashing(described: pa.Array, one: np.ndarray, other: np.ndarray) -> pa.Array:
    """Descriptions with those of each pair replaced by two that contradict each other."""
    texts = described.to_numpy(zero_copy_only=False).copy()
    for at, (a, b) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        base = " ".join(str(texts[a]).split()[:4]).capitalize()
        says = _CLASHES[at % 2]
        texts[a], texts[b] = says[0].format(base), says[1].format(base)
    return pa.array(texts, pa.string())


def _retired(ground: Ground, n: int, expired: np.ndarray) -> tuple[pa.Array, pa.Array]:
    """(invalidated_at, recorded_at): rows retired more than a year ago, the others recorded within half a year."""
    recorded = ground.rng.integers(_DAY, _HALF_YEAR, n)
    gone = ground.rng.integers(*_LONG_AGO, n)
    recorded[expired] = gone[expired] + 100 * _DAY
    mask = np.ones(n, np.bool_)
    mask[expired] = False
    at = columns.instants(ground.now, gone)
    return pc.if_else(pa.array(mask), pa.scalar(None, at.type), at), columns.instants(ground.now, recorded)


def facts(ground: Ground, n: int) -> tuple[pa.Table, Planted]:
    """n facts, most of them one a subject.

    One of ten was retired long ago; three of a hundred repeat another one in other case and punctuation, two of a hundred replace one
    by a later object, and five of a hundred are a second object where there may be many.
    """
    rng, size = ground.rng, len(ground.entities)
    subject = np.arange(n) % size
    predicate = rng.integers(0, len(_PREDICATES), n)
    object_ = columns.sentences(rng, ground.words, n, 2).to_numpy(zero_copy_only=False).copy()
    names = ground.names.to_numpy(zero_copy_only=False)
    rows, taken = rng.permutation(n), 0

    def some(share: float) -> np.ndarray:
        nonlocal taken
        taken += round(share * n)
        return rows[taken - round(share * n) : taken]

    copies, of = some(FACT_COPIES), some(FACT_COPIES)
    newer, older = some(REPLACED_FACTS), some(REPLACED_FACTS)
    second, first = some(PLURAL_FACTS), some(PLURAL_FACTS)
    expired = some(EXPIRED_FACTS)
    for made, base in ((copies, of), (newer, older), (second, first)):
        subject[made], predicate[made] = subject[base], predicate[base]
    object_[copies] = [f"{str(o).upper()}." for o in object_[of]]
    said = np.array(_PREDICATES, np.object_)[predicate]
    said[second] = said[first] = _MANY
    version_rows = names[subject]
    gone, known = _retired(ground, n, expired)
    since = rng.integers(_DAY, _HALF_YEAR, n)
    since[older], since[newer] = rng.integers(90, 170, len(older)) * _DAY, rng.integers(2, 60, len(newer)) * _DAY
    live = np.ones(n, np.bool_)
    live[expired] = False
    table = pa.table(
        {
            "id": columns.ids(rng, n),
            "external_id": columns.numbered("f", n),
            "subject": pa.array(version_rows, pa.string()),
            "predicate": pa.array(said, pa.string()),
            "object": pa.array(object_, pa.string()),
            "fact_text": pc.binary_join_element_wise(
                pa.array(version_rows, pa.string()), pa.array(said, pa.string()), pa.array(object_, pa.string()), " "
            ),
            "confidence": pa.array(rng.uniform(0.5, 1, n).round(3)),
            "source_chunk_ids": columns.lists(ground.chunks, rng.integers(0, size, n), np.ones(n, np.int64)),
            "is_active": pa.array(live),
            "valid_from": columns.instants(ground.now, since),
            "recorded_at": known,
            "invalidated_at": gone,
        }
    )
    return table, {
        "duplicate facts": len(copies),
        "superseded facts": len(newer),
        "expired facts": len(expired),
    }


def events(ground: Ground, n: int) -> tuple[pa.Table, pa.Table, np.ndarray, Planted]:
    """n memories of the kind ``event``, their versions, and (n, d) vectors; about eight events a subject.

    Eight of a hundred tell another one again within three days, with a cosine over .96; two of a hundred do so a month later.
    """
    rng, size = ground.rng, len(ground.entities)
    subject = rng.integers(0, max(1, n // EVENTS_PER_SUBJECT), n)
    minutes = rng.integers(4 * _DAY, _HALF_YEAR - 40 * _DAY, n)
    texts = columns.sentences(rng, ground.words, n, 14).to_numpy(zero_copy_only=False).copy()
    matrix = columns.unit(columns.meanings(rng, n))
    rows = rng.permutation(n)
    many, late = round(EVENT_COPIES * n), round(EVENT_COPIES * n / 4)
    copies, monthly = rows[:many], rows[many : many + late]
    made = np.concatenate([copies, monthly])
    base = rows[many + late :][rng.permutation(n - many - late)[: len(made)]]
    subject[made] = subject[base]
    minutes[copies] = minutes[base[:many]] - rng.integers(0, 3 * _DAY, many)
    minutes[monthly] = minutes[base[many:]] + 30 * _DAY
    texts[made] = [f"{str(t).capitalize()}." for t in texts[base]]
    matrix[made] = columns.near(rng, matrix[base], 0.961, 0.99)
    ids, versions = columns.ids(rng, n), columns.ids(rng, n)
    when = columns.instants(ground.now, minutes)
    table = pa.table(
        {
            "id": ids,
            "external_id": columns.numbered("m", n),
            "kind": pa.repeat("event", n),
            "subject": ground.names.take(pa.array(subject % size)),
            "source": pa.repeat("bench", n),
            "confidence": pa.array(rng.uniform(0.5, 1, n).round(3)),
            "source_chunk_ids": columns.lists(ground.chunks, rng.integers(0, size, n), np.ones(n, np.int64)),
            "current_version_id": versions,
            "valid_from": when,
            "recorded_at": when,
        }
    )
    version_rows = pa.table(
        {"id": versions, "memory_id": ids, "content": pa.array(texts, pa.string()), "recorded_at": when}
    )
    return table, version_rows, matrix, {"duplicate events": many}

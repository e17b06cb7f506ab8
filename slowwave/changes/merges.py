"""Merges: one entity, fact or memory absorbs others, parallel edges become one, and a summary replaces its members."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slowwave.changes.cells import RELATIONSHIPS, Cell, Guard, Insert, Value, Write, defaults, encode
from slowwave.changes.mutation import Mutation, Row
from slowwave.changes.rows import Fields, as_ids, live_ids, rows_by_id, rows_where
from slowwave.errors import Refused
from slowwave.matching.names import NameCandidate, choose_name
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.tables import COUNTERS

# Parallel edges: live relationships with one source, target and type, which result from merging their ends, become one.
#
# khora's merge leaves them in parallel (its defect C4). Only those with the same content are folded: both without an end date, and with
# descriptions and properties that complete each other. Others are kept, because their differences may matter.

ENDPOINTS: Final = ("source_entity_id", "target_entity_id")
_KNOWS: Final = (
    "description",
    "properties",
    "source_chunk_ids",
    "source_document_ids",
    "confidence",
    "weight",
    "valid_from",
)
_SAYS: Final = (*ENDPOINTS, "relationship_type", "valid_to")
EDGE_COLUMNS: Final = (*_SAYS, *_KNOWS, "invalidated_at", "invalidated_by")
"""The columns of a relationship that ``fold`` needs."""


def fold(
    edges: Iterable[Fields], into: Mapping[str, str], live: Mapping[str, frozenset[str]]
) -> tuple[list[Write], list[Guard], set[str]]:
    """Return the writes and guards that merge the relationships that ``into`` (absorbed entity → survivor) makes parallel.

    ``edges`` have ``EDGE_COLUMNS`` and their id; ``live`` holds the ids that provenance may name, by column. An edge between entities
    that are not absorbed is kept, else the one with the smallest id. It gets the union of provenance, the greatest weight and confidence,
    the earliest start, and the descriptions and properties that only the others have. Only edges of absorbed entities are invalidated, in
    system time. The third value holds the ids of all folded edges, the kept ones included. Cost: linear in edges.
    """
    groups: dict[tuple[Value, ...], list[Fields]] = defaultdict(list)
    for edge in edges:
        if edge["invalidated_at"] is None and edge["valid_to"] is None:
            ends = tuple(into.get(str(edge[end]), edge[end]) for end in ENDPOINTS)
            groups[(*ends, edge["relationship_type"])].append(edge)
    writes: list[Write] = []
    guards: list[Guard] = []
    folded: set[str] = set()
    for group in groups.values():
        if len(group) == 1:
            continue
        keep, *rest = sorted(group, key=lambda e: (_moves(e, into), str(e["id"])))
        known = dict(keep)
        gone = [edge for edge in rest if _moves(edge, into) and _join(known, edge, live)]
        if not gone:
            continue
        folded |= {str(edge["id"]) for edge in (keep, *gone)}
        changed = [c for c in _KNOWS if known[c] != keep[c]]
        writes += [Write(Cell("relationships", str(keep["id"]), c), "set", keep[c], known[c]) for c in changed]
        guards.append(
            _guard(keep, (*_unmoved(keep, into), *(c for c in (*_KNOWS, "invalidated_at") if c not in changed)))
        )
        for edge in gone:
            writes.append(Write(Cell("relationships", str(edge["id"]), "invalidated_at"), "now"))
            writes.append(
                Write(Cell("relationships", str(edge["id"]), "invalidated_by"), "item", edge["invalidated_by"])
            )
            guards.append(_guard(edge, (*_unmoved(edge, into), *_KNOWS)))
    return writes, guards, folded


def _moves(edge: Fields, into: Mapping[str, str]) -> bool:
    """Return whether an end of the edge is moved by the merge.

    Edges without such an end were parallel before the merge, which leaves them alone.
    """
    return any(str(edge[end]) in into for end in ENDPOINTS)


def _join(known: Fields, edge: Fields, live: Mapping[str, frozenset[str]]) -> bool:
    """Add to ``known`` what ``edge`` knows.

    Return False, and add nothing, if descriptions or properties of the two differ.
    """
    descriptions = sorted({str(e["description"] or "") for e in (known, edge)} - {""})
    properties = [json.loads(str(e["properties"])) for e in (known, edge)]
    if len(descriptions) > 1 or any(properties[0][k] != v for k, v in properties[1].items() if k in properties[0]):
        return False
    known["description"] = descriptions[0] if descriptions else known["description"]
    if set(properties[1]) - set(properties[0]):
        known["properties"] = json.dumps({**properties[1], **properties[0]}, sort_keys=True, ensure_ascii=False)
    for column, ids in live.items():
        known[column] = tuple(i for i in dict.fromkeys((*as_ids(known[column]), *as_ids(edge[column]))) if i in ids)
    for column in ("confidence", "weight"):
        known[column] = max(float(str(known[column])), float(str(edge[column])))
    starts = [known["valid_from"], edge["valid_from"]]
    known["valid_from"] = None if None in starts else min(map(str, starts))
    return True


def _unmoved(edge: Fields, into: Mapping[str, str]) -> list[str]:
    """Return the columns that make edges parallel, without the ends that the merge moves."""
    return [c for c in _SAYS if c not in ENDPOINTS or edge[c] not in into]


def _guard(edge: Fields, columns: Sequence[str]) -> Guard:
    return Guard.on("relationships", str(edge["id"]), edge, columns)


# ``merge_rows``: one entity absorbs others that are the same thing.
#
# The survivor gets the best of the names (``slowwave.matching.names``), unless it is pinned, and keeps the others as aliases. It takes the
# union of provenance (without dead references), attributes and counters, and optionally a vector. The absorbed rows are invalidated in
# system time and refer to it. In every relationship of an absorbed row, live or not, only the endpoint that named it is rewritten, so that
# two merges may share an edge. Edges inside the cluster are invalidated, and those that the merge makes parallel become one
# (``parallel_edges``). ``valid_to`` is never written, because the world did not change.

_SEEN: Final = (
    *("external_id", "name", "entity_type", "description", "attributes", "source_chunk_ids", "source_document_ids"),
    *("mention_count", "pinned", "state", "merged_into", "valid_from", "valid_to", "invalidated_at", "invalidated_by"),
)
OTHER_VALUES: Final = "other_values"
"""Attribute of a survivor that lists values of absorbed rows by name if it keeps a different value: ``{"price": [9.5]}``."""

_CELL: Final = attrgetter("cell.table", "cell.row", "cell.column", "cell.key")
_ROW: Final = attrgetter("table", "row")
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Merge:
    """A cluster: ``keep`` absorbs ``absorb``.

    If given, ``vector`` (d,) becomes the survivor's vector, ``entity_type`` its type and ``name`` its name. Without ``name`` it gets the
    best of the names.
    """

    keep: str
    absorb: tuple[str, ...]
    vector: np.ndarray | None = None
    entity_type: str = ""
    name: str = ""


def survivor_first(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the ids of entities that become one, the survivor first.

    The order is: pinned, then most mentions, then earliest, then smallest id. Rows have ``id``, ``pinned``, ``mention_count``,
    ``valid_from`` and ``recorded_at``.
    """

    def rank(r: Mapping[str, Any]) -> tuple[bool, int, datetime, str]:
        return (not r["pinned"], -int(r["mention_count"]), r["valid_from"] or r["recorded_at"] or _LATEST, r["id"])

    return [r["id"] for r in sorted(rows, key=rank)]


def survivor_name(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the name that the survivor of a merge gets; ``rows`` are the entities that become one, the survivor first.

    A pinned survivor keeps its name. Rows have ``name``, ``pinned``, ``description``, ``attributes``, ``mention_count``,
    ``source_chunk_ids`` and ``source_document_ids``.
    """
    if rows[0]["pinned"]:
        return str(rows[0]["name"])
    return choose_name(
        [
            NameCandidate(
                str(row["name"]),
                max(
                    int(row["mention_count"]), *(len(row[c] or ()) for c in ("source_chunk_ids", "source_document_ids"))
                ),
                f"{row['description'] or ''} {row['attributes']}",
            )
            for row in rows
        ]
    )


def merge_rows(snapshot: Snapshot, merges: Sequence[Merge]) -> list[Mutation]:
    """Build the mutations of merges of entities, in the order given.

    Raises ``Refused`` if an entity is in two clusters. Cost: one pass over entities, relationships, aliases, chunks and documents,
    regardless of the number of merges.
    """
    members = [m for merge in merges for m in (merge.keep, *merge.absorb)]
    if len(members) != len(set(members)):
        raise Refused("An entity stands in two merges of one plan: clusters must be disjoint. Join them or drop one.")
    absorbed = {a for merge in merges for a in merge.absorb}
    entities = rows_by_id(snapshot, "entities", set(members), _SEEN)
    edges = _incident(snapshot, set(members))
    aliases = _aliases(snapshot, set(members))
    places = _vector_places(snapshot, [merge.keep for merge in merges if merge.vector is not None])
    live = {
        "source_chunk_ids": live_ids(snapshot, "chunks"),
        "source_document_ids": live_ids(snapshot, "documents"),
    }
    folded: set[str] = set()
    return [_one(snapshot, merge, entities, edges, aliases, places, live, absorbed, folded) for merge in merges]


def _one(
    snapshot: Snapshot,
    merge: Merge,
    entities: Mapping[str, Fields],
    edges: Mapping[str, Sequence[Fields]],
    aliases: Mapping[str, Sequence[str]],
    places: Mapping[str, int],
    live: Mapping[str, frozenset[str]],
    absorbed: Set[str],
    folded: set[str],
) -> Mutation:
    """Build the mutation of one merge.

    ``absorbed`` are the entities that any merge of the batch absorbs, ``folded`` the edges that earlier merges folded; edges that another
    merge writes are left to it.
    """
    keep = entities[merge.keep]
    absorb = sorted(merge.absorb)
    if not absorb:
        raise Refused(f"The merge into {merge.keep} absorbs nothing.")
    for id_ in (merge.keep, *absorb):
        if entities[id_]["invalidated_at"] is not None:
            raise Refused(f"Entity {id_} is already retired; a merge takes live rows only.")
    everyone = [keep, *(entities[a] for a in absorb)]
    name = merge.name or survivor_name(everyone)
    writes, guards = _survivor(everyone, live, merge.entity_type, name)
    for a in absorb:
        writes += _retire(a, entities[a], merge.keep)
        incident = tuple(sorted({str(e["id"]) for e in edges.get(a, ())}))
        guards.append(Guard.on("entities", a, entities[a] | {RELATIONSHIPS: incident}, _ABSORBED))
    writes += _edges(merge.keep, absorb, edges)
    cluster = {merge.keep, *absorb}
    touched = {str(e["id"]): e for id_ in sorted(cluster) for e in edges.get(id_, ())}
    mine = [
        e
        for id_, e in touched.items()
        if id_ not in folded
        and len(cluster.intersection(ends := [str(e[end]) for end in ENDPOINTS])) == 1
        and not absorbed & ({*ends} - cluster)
    ]
    folding, resting, met = fold(mine, dict.fromkeys(absorb, merge.keep), live)
    writes, guards = writes + folding, guards + resting
    folded |= met
    inserts: list[Insert] = []
    known = {name, *aliases.get(merge.keep, ())}
    for a in (merge.keep, *absorb):
        for alias in (str(entities[a]["name"]), *aliases.get(a, ())):
            if alias not in known:
                known.add(alias)
                inserts.append(Insert("entity_aliases", {"entity_id": merge.keep, "alias": alias, "source": "merge"}))
    if merge.vector is not None:
        _vector(snapshot, merge.keep, places[merge.keep], merge.vector, writes, inserts)
    return Mutation(
        "merge_rows",
        "entities",
        writes=tuple(sorted(writes, key=_CELL)),
        guards=tuple(sorted(guards, key=_ROW)),
        inserts=tuple(inserts),
        keep=_row(merge.keep, keep),
        absorb=tuple(_row(a, entities[a]) for a in absorb),
    )


_CONTENT: Final = ("name", "entity_type", "description", "attributes", "source_chunk_ids", "source_document_ids")
_ABSORBED: Final = (*_CONTENT, "valid_from", "valid_to", RELATIONSHIPS)


def _survivor(
    everyone: Sequence[Fields], live: Mapping[str, frozenset[str]], entity_type: str, name: str
) -> tuple[list[Write], list[Guard]]:
    """Return the writes of the survivor's changed cells and the guard on the others.

    Its name is guarded in both cases, because a merge is remembered by the names of its members.
    """
    keep, *absorbed = everyone
    after: Fields = {
        column: tuple(dict.fromkeys(i for e in everyone for i in as_ids(e[column]) if i in live[column]))
        for column in live
    }
    after["name"] = name
    after["entity_type"] = entity_type or keep["entity_type"]
    after["attributes"] = _attributes(keep, absorbed)
    after["description"] = keep["description"] or max((str(e["description"] or "") for e in absorbed), key=len)
    starts = [str(e["valid_from"]) for e in everyone]
    after["valid_from"] = None if any(e["valid_from"] is None for e in everyone) else min(starts)
    id_ = str(keep["id"])
    changed = [c for c, value in after.items() if value != keep[c]]
    writes = [Write(Cell("entities", id_, c), "set", keep[c], after[c]) for c in changed]
    mentions = sum(int(str(e["mention_count"])) for e in absorbed)
    if mentions:
        writes.append(Write(Cell("entities", id_, "mention_count"), "add", None, mentions))
    stay = [
        c
        for c in (*_CONTENT, "valid_from", "valid_to", "invalidated_at", "merged_into")
        if c not in changed or c == "name"
    ]
    return writes, [Guard.on("entities", id_, keep, stay)]


def _attributes(keep: Fields, absorbed: Iterable[Fields]) -> Value:
    """Return the attributes of the survivor, completed by those that only absorbed rows have.

    Where the survivor keeps another value than an absorbed row, that value is kept under ``OTHER_VALUES``. The text is unchanged if
    nothing is added.
    """
    own, merged = (json.loads(str(keep["attributes"])) for _ in range(2))
    for e in absorbed:
        theirs: dict[str, Any] = json.loads(str(e["attributes"]))
        further = theirs.pop(OTHER_VALUES, {})
        for name, value in theirs.items():
            _keep_beside(merged, name, merged.setdefault(name, value), value)
        for name, values in further.items() if isinstance(further, dict) else ():
            _keep_beside(merged, name, merged.get(name), values)
    return keep["attributes"] if merged == own else json.dumps(merged, sort_keys=True, ensure_ascii=False)


def _keep_beside(merged: dict[str, Any], name: str, kept: Any, value: Any) -> None:
    """Add the values that differ from the kept one to the attribute ``OTHER_VALUES``.

    They are lost if a source has its own attribute of that name; a person is then asked (``slowwave.plans.probes.texts``).
    """
    known, values = (v if isinstance(v, list) else [v] for v in (kept, value))
    for one in values:
        if (
            one not in known
            and one not in (None, "")
            and isinstance(others := merged.setdefault(OTHER_VALUES, {}), dict)
        ):
            stand = others.setdefault(name, [])
            if isinstance(stand, list) and one not in stand:
                stand.append(one)


def _retire(id_: str, seen: Fields, keep: str) -> list[Write]:
    def cell(column: str) -> Cell:
        return Cell("entities", id_, column)

    writes = [
        Write(cell("invalidated_at"), "now", seen["invalidated_at"]),
        Write(cell("invalidated_by"), "item", seen["invalidated_by"]),
        Write(cell("merged_into"), "set", seen["merged_into"], keep),
        Write(cell("state"), "set", seen["state"], "merged"),
    ]
    if mentions := int(str(seen["mention_count"])):
        writes.append(Write(cell("mention_count"), "add", None, -mentions))
    return writes


def _edges(keep: str, absorb: Sequence[str], edges: Mapping[str, Sequence[Fields]]) -> list[Write]:
    cluster, gone = {keep, *absorb}, set(absorb)
    writes: list[Write] = []
    for edge in {str(e["id"]): e for a in absorb for e in edges.get(a, ())}.values():
        id_ = str(edge["id"])
        for column in ENDPOINTS:
            if edge[column] in gone:
                writes.append(Write(Cell("relationships", id_, column), "set", edge[column], keep))
        if (
            edge["source_entity_id"] in cluster
            and edge["target_entity_id"] in cluster
            and edge["invalidated_at"] is None
        ):
            writes.append(Write(Cell("relationships", id_, "invalidated_at"), "now"))
            writes.append(Write(Cell("relationships", id_, "invalidated_by"), "item", edge["invalidated_by"]))
    return writes


def _vector_places(snapshot: Snapshot, keeps: Sequence[str]) -> dict[str, int]:
    """Return survivor → its row among the entity vectors, -1 if it has none.

    One look-up for all survivors, because each look-up scans all ids.
    """
    if not keeps:
        return {}
    rows = snapshot.vectors["entity_vectors"].rows_of(pa.array(keeps, pa.string()))
    return dict(zip(keeps, rows.tolist(), strict=True))


def _vector(
    snapshot: Snapshot, keep: str, row: int, vector: np.ndarray, writes: list[Write], inserts: list[Insert]
) -> None:
    vectors = snapshot.vectors["entity_vectors"]
    if not vectors.model:
        return  # a namespace without a registered model has no vectors
    after = encode(vector)
    if row < 0:
        inserts.append(Insert("entity_vectors", {"vector": after}, keep, vectors.model))
    elif (seen := encode(vectors.matrix[row])) != after:
        writes.append(Write(Cell("entity_vectors", keep, "vector", vectors.model), "set", seen, after))


def _incident(snapshot: Snapshot, ids: set[str]) -> dict[str, list[Fields]]:
    incident: dict[str, list[Fields]] = defaultdict(list)
    for column in ENDPOINTS:
        for edge in rows_where(snapshot, "relationships", column, ids, EDGE_COLUMNS):
            incident[str(edge[column])].append(edge)
    return incident


def _aliases(snapshot: Snapshot, ids: set[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for row in rows_where(snapshot, "entity_aliases", "entity_id", ids, ("alias",)):
        found[str(row["entity_id"])].append(str(row["alias"]))
    return {k: sorted(v) for k, v in found.items()}


def _row(id_: str, fields: Fields) -> Row:
    external = fields["external_id"]
    return Row(id_, None if external is None else str(external))


# ``merge_rows`` of rows with the same content: one row absorbs others and takes their additional values.
#
# ``merge_facts`` and ``merge_memories`` define which values the survivor takes and how absorbed rows are retired. Entities are merged
# above, because their relationships follow them.


@dataclass(frozen=True, slots=True)
class Alike:
    """Rows with the same content: ``keep`` absorbs ``absorb``.

    A row that ``states_more`` than those that it absorbs keeps its own start, as what else it states did not hold before.
    """

    keep: str
    absorb: tuple[str, ...]
    states_more: bool = False


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of a table whose equal rows can be merged.

    ``says`` are the columns with the content, ``merged`` those that are combined, and ``alive`` those that decide whether a row is live.
    Rows may be merged if they are not invalidated and the column of ``active`` has its value. ``counters`` are moved to the survivor;
    ``retired`` are set on absorbed rows, where None means the id of the survivor.
    """

    table: str
    noun: str
    says: tuple[str, ...]
    merged: tuple[str, ...]
    alive: tuple[str, ...]
    active: tuple[str, Value]
    retired: Mapping[str, Value]
    counters: tuple[str, ...] = ()


def merge_alike(
    snapshot: Snapshot,
    columns: Columns,
    merges: Sequence[Alike],
    survivor: Callable[[Sequence[Fields]], Mapping[str, Value]],
) -> list[Mutation]:
    """Build the mutations of merges, in the order given.

    ``survivor`` returns the merged cells of some rows, the kept row first. Raises ``Refused`` if a row is in two groups, or is not live
    and active. Cost: one pass over the table, regardless of the number of merges.
    """
    members = [m for merge in merges for m in (merge.keep, *merge.absorb)]
    if len(members) != len(set(members)):
        raise Refused(
            f"A {columns.noun} stands in two merges of one plan: groups must be disjoint. Join them or drop one."
        )
    wanted = ("external_id", "invalidated_by", *columns.counters, *columns.says, *columns.merged, *columns.alive)
    rows = rows_by_id(snapshot, columns.table, set(members), wanted)
    state, active = columns.active
    for id_ in members:
        if rows[id_]["invalidated_at"] is not None or rows[id_][state] != active:
            raise Refused(f"{columns.noun.capitalize()} {id_} is already retired; a merge takes live rows only.")
    return [_merge_alike_group(columns, merge, rows, survivor) for merge in merges]


def _merge_alike_group(
    columns: Columns,
    merge: Alike,
    rows: Mapping[str, Fields],
    survivor: Callable[[Sequence[Fields]], Mapping[str, Value]],
) -> Mutation:
    if not merge.absorb:
        raise Refused(f"The merge into {merge.keep} absorbs nothing.")
    table, keep, absorb = columns.table, rows[merge.keep], sorted(merge.absorb)
    after = survivor([keep, *(rows[a] for a in absorb)])
    writes = [Write(Cell(table, merge.keep, c), "set", keep[c], v) for c, v in after.items() if v != keep[c]]
    changed = {w.cell.column for w in writes}
    kept = (*columns.says, *(c for c in columns.merged if c not in changed), *columns.alive)
    guards = [Guard.on(table, merge.keep, keep, kept)]
    for column in columns.counters:
        if total := sum(int(str(rows[a][column])) for a in absorb):
            writes.append(Write(Cell(table, merge.keep, column), "add", None, total))
    for a in absorb:
        writes += _retired(columns, a, rows[a], merge.keep)
        guards.append(Guard.on(table, a, rows[a], (*columns.says, *columns.merged, "valid_to")))
    return Mutation(
        "merge_rows",
        table,
        writes=tuple(sorted(writes, key=lambda w: (w.cell.row, w.cell.column))),
        guards=tuple(sorted(guards, key=lambda g: g.row)),
        keep=_row(merge.keep, keep),
        absorb=tuple(_row(a, rows[a]) for a in absorb),
    )


def _retired(columns: Columns, id_: str, seen: Fields, keep: str) -> list[Write]:
    def cell(column: str) -> Cell:
        return Cell(columns.table, id_, column)

    return [
        *(Write(cell(c), "add", None, -amount) for c in columns.counters if (amount := int(str(seen[c])))),
        *(Write(cell(c), "set", seen[c], keep if v is None else v) for c, v in columns.retired.items()),
        Write(cell("invalidated_at"), "now", seen["invalidated_at"]),
        Write(cell("invalidated_by"), "item", seen["invalidated_by"]),
    ]


def united(rows: Sequence[Fields], column: str, standing: frozenset[str]) -> tuple[str, ...]:
    """Return the ids in a column of all rows that are in ``standing``, each once."""
    return tuple(dict.fromkeys(i for row in rows for i in as_ids(row[column]) if i in standing))


def greatest(rows: Sequence[Fields], column: str) -> float:
    """Return the greatest number in a column."""
    return max(float(str(row[column])) for row in rows)


def earliest_start(rows: Sequence[Fields]) -> str | None:
    """Return the earliest ``valid_from``, or None if a row has none: it has always been valid."""
    starts = [row["valid_from"] for row in rows]
    return None if None in starts else min(map(str, starts))


# ``merge_rows`` of facts: one fact absorbs others that state the same.
#
# The survivor takes the union of the sources (without dead references), the greatest confidence and the earliest start; a fact without a
# start has always been valid. The absorbed rows become inactive, are invalidated in system time, and name the survivor in
# ``superseded_by``. ``valid_to`` is never written, because the world did not change.

_FACTS: Final = Columns(
    "memory_facts",
    "fact",
    says=("subject", "predicate", "object", "fact_text"),
    merged=("source_chunk_ids", "confidence", "valid_from"),
    alive=("is_active", "superseded_by", "valid_to", "invalidated_at"),
    active=("is_active", True),
    retired={"is_active": False, "superseded_by": None},
)


def merge_facts(snapshot: Snapshot, merges: Sequence[Alike]) -> list[Mutation]:
    """Build the mutations of merges of facts; see ``merge_alike``."""
    chunks = live_ids(snapshot, "chunks")

    def survivor(rows: Sequence[Fields]) -> Mapping[str, Value]:
        return {
            "source_chunk_ids": united(rows, "source_chunk_ids", chunks),
            "confidence": greatest(rows, "confidence"),
            "valid_from": earliest_start(rows),
        }

    return merge_alike(snapshot, _FACTS, merges, survivor)


# ``merge_rows`` of memories: one memory absorbs others that state the same.
#
# The survivor keeps its text and takes the union of tags and sources (without dead references), the greatest importance and confidence, the
# earliest start and the counters, which are reduced in the absorbed rows by the planned amount. Absorbed rows are merged and invalidated in
# system time; their sources, texts and ``valid_to`` are never written.

_MEMORIES: Final = Columns(
    "memories",
    "memory",
    says=("current_version_id", "kind", "scope", "subject", "author", "visibility", "sensitivity"),
    merged=("tags", "importance", "confidence", "pinned", "source_chunk_ids", "source_document_ids", "valid_from"),
    alive=("state", "merged_into", "valid_to", "invalidated_at"),
    active=("state", "active"),
    retired={"state": "merged", "merged_into": None},
    counters=COUNTERS["memories"],
)


def merge_memories(snapshot: Snapshot, merges: Sequence[Alike]) -> list[Mutation]:
    """Build the mutations of merges of memories; see ``merge_alike``."""
    sources = {
        "source_chunk_ids": live_ids(snapshot, "chunks"),
        "source_document_ids": live_ids(snapshot, "documents"),
    }

    own_start = {merge.keep for merge in merges if merge.states_more}

    def survivor(rows: Sequence[Fields]) -> Mapping[str, Value]:
        return {
            **{column: united(rows, column, known) for column, known in sources.items()},
            "tags": _tags(rows[0], rows[1:]),
            **{column: greatest(rows, column) for column in ("importance", "confidence")},
            "pinned": any(row["pinned"] is True for row in rows),
            "valid_from": rows[0]["valid_from"] if str(rows[0]["id"]) in own_start else earliest_start(rows),
        }

    return merge_alike(snapshot, _MEMORIES, merges, survivor)


def _tags(keep: Fields, absorbed: Iterable[Fields]) -> Value:
    """Return the survivor's tags, completed by those of absorbed rows; its own text if none are new."""
    own: object = json.loads(str(keep["tags"]))
    if not isinstance(own, list):
        return keep["tags"]
    union: list[object] = list(own)
    for row in absorbed:
        given: object = json.loads(str(row["tags"]))
        union += [t for t in given if t not in union] if isinstance(given, list) else []
    return keep["tags"] if len(union) == len(own) else json.dumps(union, ensure_ascii=False)


# ``insert_summary`` of memories: a new memory states the joint content of others and replaces them, or rests on memories that stay.
#
# The memories that it replaces are merged into it: they are no longer recalled and stay linked, with their texts. Nothing in them is
# written except that they are retired; their counters move to the new row by the amount that the plan saw.

REASON: Final = "consolidation"
"""The reason of the first version of such a memory."""

_SAYS_CONSOLIDATE_MEMORIES: Final = (
    "current_version_id",
    "kind",
    "scope",
    "subject",
    "author",
    "visibility",
    "sensitivity",
    "pinned",
    "stage",
    "ring",
    "attributes",
)
_RESTS_ON_MEMORIES: Final = (
    *("current_version_id", "scope", "subject", "author", "visibility", "sensitivity", "state", "invalidated_at"),
)
_RETIRED: Final = ("state", "merged_into", "invalidated_at", "invalidated_by")
_OWN: Final = ("current_version_id", "recorded_at", *COUNTERS["memories"])


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A new memory with the text ``content`` that replaces the ``cited`` memories, and ``rests_on`` others, which stay as they are.

    ``values`` are columns of its row; other columns have their defaults.
    """

    content: str
    cited: tuple[str, ...]
    values: Mapping[str, Value] = field(default_factory=dict)
    vector: NDArray[np.floating] | None = None
    rests_on: tuple[str, ...] = ()


def consolidate_memories(snapshot: Snapshot, consolidations: Sequence[Consolidation]) -> list[Mutation]:
    """Return one mutation per consolidation, in their order.

    Raises ``Refused`` for a memory that is cited twice or retired. Every cited memory must still be as the plan saw it: its text, whom it
    is about, who may see it, and what would exempt it. Cost: a pass over the memories.
    """
    cited = [id_ for c in consolidations for id_ in c.cited]
    if len(set(cited)) != len(cited):
        raise Refused("A memory is cited by two summaries of one plan: groups must be disjoint. Join them or drop one.")
    named = [*cited, *{id_ for c in consolidations for id_ in c.rests_on}]
    rows = rows_by_id(
        snapshot,
        "memories",
        named,
        ("external_id", *_SAYS_CONSOLIDATE_MEMORIES, *_RETIRED, "valid_to", *COUNTERS["memories"]),
    )
    for id_ in named:
        if rows[id_]["invalidated_at"] is not None or rows[id_]["state"] != "active":
            raise Refused(f"Memory {id_} is already retired; a summary takes live ones only.")
    return [_consolidate_group(c, rows, snapshot.vectors["memory_vectors"].model) for c in consolidations]


def _consolidate_group(consolidation: Consolidation, rows: Mapping[str, Fields], model: str) -> Mutation:
    if not consolidation.cited and not consolidation.rests_on:
        raise Refused("A summary that cites no memory stands for none.")
    members, sources = sorted(consolidation.cited), sorted(consolidation.rests_on)
    sums: dict[str, Value] = {c: sum(int(str(rows[m][c])) for m in members) for c in COUNTERS["memories"]}
    values = {**defaults("memories", _OWN), "kind": "summary", **consolidation.values, **sums}
    inserts = [
        Insert("memories", values, refs={"current_version_id": 1}),
        Insert(
            "memory_versions",
            {"ordinal": 1, "content": consolidation.content, "reason": REASON},
            refs={"memory_id": 0},
        ),
    ]
    if consolidation.vector is not None and model:
        vector = encode(np.asarray(consolidation.vector, np.float32))
        inserts.append(Insert("memory_vectors", {"vector": vector}, key=model, refs={"id": 0}))
    return Mutation(
        "insert_summary",
        "memories",
        writes=tuple(write for m in members for write in _retire_members(m, rows[m])),
        guards=(
            *(Guard.on("memories", m, rows[m], (*_SAYS_CONSOLIDATE_MEMORIES, "valid_to")) for m in members),
            *(Guard.on("memories", m, rows[m], (*_RESTS_ON_MEMORIES, "valid_to")) for m in sources),
        ),
        inserts=tuple(inserts),
        rows=tuple(
            Row(m, None if rows[m]["external_id"] is None else str(rows[m]["external_id"]))
            for m in (*members, *sources)
        ),
    )


def _retire_members(id_: str, seen: Fields) -> list[Write]:
    def cell(column: str) -> Cell:
        return Cell("memories", id_, column)

    return [
        *(Write(cell(c), "add", None, -amount) for c in COUNTERS["memories"] if (amount := int(str(seen[c])))),
        Write(cell("state"), "set", seen["state"], "merged"),
        Write(cell("merged_into"), "row", seen["merged_into"], 0),
        Write(cell("invalidated_at"), "now", seen["invalidated_at"]),
        Write(cell("invalidated_by"), "item", seen["invalidated_by"]),
    ]

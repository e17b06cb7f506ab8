"""``merge_rows``: one entity absorbs others that are the same thing.

The survivor gets the best of the names (``slowwave.matching.best_names``), unless it is pinned, and keeps the others as aliases. It takes
the union of provenance (cleaned of dead references), attributes and counters, and optionally a vector; the absorbed rows are invalidated in
system time and point at it. Every relationship of an absorbed row, live or not, has the endpoint that named it rewritten, and only that
endpoint, so that two merges may share an edge; edges inside the cluster are invalidated, and those that the merge makes parallel become
one (``parallel_edges``). ``valid_to`` is never written: the world did not change.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa

from slowwave.errors import Refused
from slowwave.matching.best_names import NameCandidate, choose_name
from slowwave.mutations.cells import RELATIONSHIPS, Cell, Guard, Insert, Value, Write
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.parallel_edges import EDGE_COLUMNS, ENDPOINTS, fold
from slowwave.mutations.rows import Fields, as_ids, live_ids, rows_by_id, rows_where
from slowwave.mutations.vectors import encode
from slowwave.snapshots.snapshot import Snapshot

_SEEN: Final = (
    *("external_id", "name", "entity_type", "description", "attributes", "source_chunk_ids", "source_document_ids"),
    *("mention_count", "pinned", "state", "merged_into", "valid_from", "valid_to", "invalidated_at", "invalidated_by"),
)
OTHER_VALUES: Final = "other_values"
"""Attribute of a survivor under which the values of absorbed rows stand, by name, where it keeps another: ``{"price": [9.5]}``."""

_CELL: Final = attrgetter("cell.table", "cell.row", "cell.column", "cell.key")
_ROW: Final = attrgetter("table", "row")
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Merge:
    """A cluster: ``keep`` absorbs ``absorb``; ``vector`` (d,) becomes the survivor's, and ``entity_type`` its type, when given.

    ``name`` becomes the survivor's name; without one the best of the names does.
    """

    keep: str
    absorb: tuple[str, ...]
    vector: np.ndarray | None = None
    entity_type: str = ""
    name: str = ""


def survivor_first(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Ids of entities that become one, the survivor's first: pinned, then most mentions, then earliest, then the smallest id.

    Rows have ``id``, ``pinned``, ``mention_count``, ``valid_from`` and ``recorded_at``.
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
    """Spell out merges of entities, in the order given. Clusters are disjoint; an entity in two of them is refused.

    Cost: one pass over entities, relationships, aliases, chunks and documents, whatever the number of merges.
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
    """``absorbed`` by any merge of the batch, and the edges ``folded`` by earlier ones: what another merge writes is left to it."""
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
    """The survivor's cells: written where they change, guarded where they stay. Its name is guarded either way, as a merge is remembered
    by the names of its members."""
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
    """The survivor's attributes, completed by those that only absorbed rows have, and with the values of theirs for which it keeps another
    beside them; unchanged text when there are none."""
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
    """Put the values that are not kept among the other ones. Where a source's own attribute has that name they are lost, and a person is
    asked (``slowwave.probes.specifics``)."""
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
    """Survivor → its row among the entities' vectors, -1 where it has none: one look-up, since each reads all ids."""
    if not keeps:
        return {}
    rows = snapshot.vectors["entity_vectors"].rows_of(pa.array(keeps, pa.string()))
    return dict(zip(keeps, rows.tolist(), strict=True))


def _vector(
    snapshot: Snapshot, keep: str, row: int, vector: np.ndarray, writes: list[Write], inserts: list[Insert]
) -> None:
    vectors = snapshot.vectors["entity_vectors"]
    if not vectors.model:
        return  # a namespace without a registered model keeps no vectors
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

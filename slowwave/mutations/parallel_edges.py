"""Parallel edges: live relationships of one source, target and type, which a merge of their ends makes, become one.

khora's merge leaves them side by side (its defect C4). Folded are only those that say the same: both open-ended in the world, with
descriptions and properties that complete each other. Others stay as they are, since what differs may be what matters.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from slowwave.mutations.cells import Cell, Guard, Value, Write
from slowwave.mutations.rows import Fields, as_ids

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
"""What ``fold`` reads of a relationship."""


def fold(
    edges: Iterable[Fields], into: Mapping[str, str], live: Mapping[str, frozenset[str]]
) -> tuple[list[Write], list[Guard], set[str]]:
    """Writes and guards that make one relationship of those that ``into`` (absorbed entity → survivor) makes parallel.

    ``edges`` have ``EDGE_COLUMNS`` and their id, ``live`` are the ids that provenance may name, by column. An edge of the survivor's
    own stays, else the one with the smallest id: it gets the union of provenance, the greatest weight and confidence, the earliest
    start, and what the others say besides. Edges of absorbed entities alone are invalidated, in system time. The third value is the
    ids of all that were folded. Cost: linear in edges.
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
    """Whether an edge has an end that the merge moves; those without were parallel before it, which is not its matter."""
    return any(str(edge[end]) in into for end in ENDPOINTS)


def _join(known: Fields, edge: Fields, live: Mapping[str, frozenset[str]]) -> bool:
    """Add to ``known`` what ``edge`` knows; False, and nothing is added, where the two say different things."""
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
    """What makes it parallel, without the ends that the merge moves."""
    return [c for c in _SAYS if c not in ENDPOINTS or edge[c] not in into]


def _guard(edge: Fields, columns: Sequence[str]) -> Guard:
    return Guard.on("relationships", str(edge["id"]), edge, columns)

"""``forget_rows``: a page, or claims of a subject, leave memory with all that searches find of them, and a page stays that says why.

It is to a plan what ``memory.forget_page`` and ``memory.forget`` are by day. Nothing is deleted: a page is superseded and what it said is a
version, claims and the evidence that only they rest on are retired. That not even a search as of an earlier day finds their words is the
database's affair (migration 0025), which looks for the mark of a page and the event of a claim, when they come and when an undo takes them
back.

``erase_rows`` is the exception: it deletes imported rows for good and cannot be undone. The item holds the ids of these rows and no text.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.errors import Refused
from slowwave.mutations.cells import RELATIONSHIPS, Cell, Guard, Insert, Value, Write, canonical, canonical_json
from slowwave.mutations.forget_limits import ERASURES, FORGOTTEN, RETIRED
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.page_limits import EVIDENCE
from slowwave.mutations.rows import Fields, as_ids, rows_by_id, rows_where
from slowwave.mutations.write_page import PageText, checked, page_cells
from slowwave.snapshots.snapshot import Snapshot

_CLAIM: Final = ("kind", "attributes", "current_version_id", "source_document_ids", "valid_from")
_CLAIM_ENDS: Final = ("valid_to", "invalidated_at", "invalidated_by", "external_id")
_PAGE: Final = ("corpus_id", "path", "plane", "version_of", "content_hash")
_PAGE_ENDS: Final = ("metadata", "invalidated_at", "invalidated_by")


@dataclass(frozen=True, slots=True)
class Forgetter:
    """Who forgets, in which session, and why: what the event of each claim says."""

    reason: str
    agent: str = ""
    session_id: str = ""


def forget_page(snapshot: Snapshot, page: PageText, tombstone: PageText) -> Mutation:
    """The page as it is once it is forgotten, and the tombstone beside it; neither is found by a search. Raises as ``write_pages``.

    Cost: a pass over documents, chunks and links.
    """
    gone = replace(page, metadata={**page.metadata, FORGOTTEN: True}, passages=(), links=(), pointing=())
    cells = page_cells(snapshot, [gone, replace(tombstone, passages=(), links=())])
    inserts = dict.fromkeys((i.table, i.row) for c in cells for i in c.inserts if i.table == "corpora")
    rows = [i for c in cells for i in c.inserts if i.table != "corpora"]
    made = [next(i for c in cells for i in c.inserts if (i.table, i.row) == at) for at in inserts]
    return checked(
        Mutation(
            "forget_rows",
            "documents",
            tuple(w for c in cells for w in c.writes),
            tuple(dict.fromkeys(g for c in cells for g in c.guards)),
            (*made, *rows),
            tuple(r for c in cells for r in c.rows),
        )
    )


def forget_claims(
    snapshot: Snapshot, subjects: Collection[str], claims: Collection[str], tombstone: PageText, by: Forgetter
) -> Mutation:
    """Claims of a subject (its entities' ids), with the evidence that no other claim rests on; ``tombstone`` says that they went.

    Raises ``Refused`` where a claim is not there, or was forgotten already. Cost: a pass over memories, documents, chunks and links.
    """
    seen = rows_by_id(snapshot, "memories", claims, (*_CLAIM, *_CLAIM_ENDS))
    (stone,) = page_cells(snapshot, [replace(tombstone, passages=(), links=())])
    writes, guards = [*stone.writes], [*stone.guards]
    for id_, entity in rows_by_id(snapshot, "entities", subjects, ("merged_into",)).items():
        guards.append(Guard.on("entities", id_, entity, ("merged_into",)))
    for id_ in sorted(seen):
        _forget_claim(snapshot, id_, seen[id_], writes, guards)
    _forget_evidence(snapshot, _evidence(snapshot, seen), writes, guards)
    noted: dict[str, Value] = {"event": RETIRED, "other_id": None, "evidence_id": stone.document}
    noted |= {"agent": by.agent, "session_id": by.session_id or None, "reason": by.reason}
    events = [Insert("claim_events", {**noted, "claim_id": id_}) for id_ in sorted(seen)]
    rows = tuple(Row(id_, _text(seen[id_]["external_id"])) for id_ in sorted(seen))
    return checked(
        Mutation(
            "forget_rows",
            "memories",
            tuple(writes),
            tuple(dict.fromkeys(guards)),
            (*stone.inserts, *events),
            rows,
        )
    )


def erase_rows(snapshot: Snapshot, rows: Mapping[str, Collection[str]], reason: str) -> Mutation:
    """Delete rows for good: table → ids. Memories, entities and documents that the snapshot does not hold are left out.

    The item is stale if a memory has another version by then, an entity another relationship, or a page another text. Raises ``Refused``
    if no row is left. Cost: a pass over each named table and over the relationships.
    """
    seen = {table: _held(snapshot, table, ids) for table, ids in rows.items()}
    guards = [
        Guard.on(table, id_, row, _ERASED[table])
        for table in sorted(_ERASED.keys() & seen.keys())
        for id_, row in seen[table].items()
        if table != "entities"
    ]
    incident: dict[str, set[str]] = {id_: set() for id_ in seen.get("entities", {})}
    for column in ("source_entity_id", "target_entity_id"):
        for edge in rows_where(snapshot, "relationships", column, incident, ()):
            incident[str(edge[column])].add(str(edge["id"]))
    for id_, row in seen.get("entities", {}).items():
        edges = {RELATIONSHIPS: tuple(sorted(incident[id_]))}
        guards.append(Guard.on("entities", id_, row | edges, (*_ERASED["entities"], RELATIONSHIPS)))
    named = [(table, id_) for table in sorted(seen) for id_ in sorted(seen[table])]
    if not named:
        raise Refused("Nothing that is stored matches. Nothing was planned.")
    inserts = [Insert(ERASURES, {"table_name": table, "row_id": id_, "reason": reason}) for table, id_ in named]
    external = {id_: _text(row.get("external_id")) for table in seen for id_, row in seen[table].items()}
    return checked(
        Mutation(
            *("forget_rows", ERASURES),
            guards=tuple(guards),
            inserts=tuple(inserts),
            rows=tuple(Row(id_, external[id_]) for _, id_ in named),
        )
    )


def _held(snapshot: Snapshot, table: str, ids: Collection[str]) -> dict[str, Fields]:
    """Return the rows of ``ids`` with the columns that their guards need; tables without guards are not looked up."""
    if table not in _ERASED:
        return {id_: {} for id_ in ids}
    return {str(row["id"]): row for row in rows_where(snapshot, table, "id", ids, _ERASED[table])}


_ERASED: Final[Mapping[str, tuple[str, ...]]] = {
    "memories": ("external_id", "current_version_id"),
    "entities": ("external_id", "merged_into"),
    "documents": ("external_id", "content_hash"),
}
"""Table → the columns that say, without text, that a row still holds what the plan saw."""


def _forget_claim(snapshot: Snapshot, id_: str, seen: Fields, writes: list[Write], guards: list[Guard]) -> None:
    """It ends now, unless it ended before, or where it would begin only later."""
    if seen["invalidated_at"] is not None:
        raise Refused(f"Claim {id_} was forgotten, or retired, since. Propose it anew.")
    taken = str(canonical(snapshot.taken_at))
    since, until = seen["valid_from"], seen["valid_to"]
    guards.append(Guard.on("memories", id_, seen, _CLAIM))
    if until is None or str(until) > taken:
        cell = Cell("memories", id_, "valid_to")
        later = since is not None and str(since) > taken
        writes.append(Write(cell, "set", until, since) if later else Write(cell, "now", until))
    writes += _end("memories", id_, seen)


def _evidence(snapshot: Snapshot, claims: Mapping[str, Fields]) -> dict[str, Fields]:
    """The live pages of evidence on which the claims rest and no other claim does."""
    roots = snapshot.table("corpora")
    corpora = set(roots["id"].filter(pc.equal(roots["root"], EVIDENCE)).to_pylist())
    wanted = {id_ for seen in claims.values() for id_ in as_ids(seen["source_document_ids"])}
    memories = snapshot.table("memories").select(["id", "kind", "invalidated_at", "source_document_ids"])
    others = pc.and_(pc.equal(memories["kind"], "claim"), pc.is_null(memories["invalidated_at"]))
    mine = pc.is_in(memories["id"], value_set=pa.array(sorted(claims), pa.string()))
    rest = memories.filter(pc.and_(others, pc.invert(mine)))["source_document_ids"].combine_chunks()
    wanted -= set(pc.unique(pc.list_flatten(rest)).to_pylist())
    rows = rows_where(snapshot, "documents", "id", wanted, (*_PAGE, *_PAGE_ENDS))
    return {str(r["id"]): r for r in rows if r["corpus_id"] in corpora and r["invalidated_at"] is None}


def _forget_evidence(snapshot: Snapshot, pages: Mapping[str, Fields], writes: list[Write], guards: list[Guard]) -> None:
    """The pages end, with their passages and links."""
    for id_, seen in sorted(pages.items()):
        marked = canonical_json({**json.loads(str(seen["metadata"])), FORGOTTEN: True})
        guards.append(Guard.on("documents", id_, seen, _PAGE))
        writes.append(Write(Cell("documents", id_, "metadata"), "set", seen["metadata"], marked))
        writes += _end("documents", id_, seen)
    for table in ("chunks", "links"):
        for row in rows_where(snapshot, table, "document_id", pages.keys(), ("invalidated_at", "invalidated_by")):
            if row["invalidated_at"] is None:
                guards.append(Guard.on(table, str(row["id"]), row, ("document_id",)))
                writes += _end(table, str(row["id"]), row)


def _end(table: str, row: str, seen: Fields) -> Sequence[Write]:
    return (
        Write(Cell(table, row, "invalidated_at"), "now", seen["invalidated_at"]),
        Write(Cell(table, row, "invalidated_by"), "item", seen["invalidated_by"]),
    )


def _text(value: Value) -> str | None:
    return None if value is None else str(value)

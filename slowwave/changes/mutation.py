"""Mutations: a small closed set of changes, written out cell by cell, and the limits of each kind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple, Protocol

from slowwave.changes.cells import (
    CLAIMS,
    POINTERS,
    SHARED,
    VIRTUAL,
    Cell,
    Change,
    Delete,
    Guard,
    Insert,
    Value,
    Write,
    column_of,
    delete_json,
    deletes_from_json,
    guard_json,
    guards_from_json,
    insert_json,
    inserts_from_json,
    is_counter,
    named_id,
    quoted,
    row_columns,
    sql_type,
    table_of,
    value_json,
    write_json,
    writes_from_json,
)
from slowwave.errors import Refused
from slowwave.store.tables import VECTORS, metadata
from slowwave.text.markdown import path_fault

REDACTION: Final = "redact"
"""The reason of a version that omits text which must not be read. No other version may omit a part of a memory's statement."""

# Columns by which a row names other rows of its namespace: foreign keys, lists of sources and members, and the references of claim events.


@cache
def names_of(table: str) -> tuple[tuple[str, str], ...]:
    """Return (column, table) of every reference from a row of ``table`` to one row in its namespace."""
    columns = table_of(table).c
    keys = {(c.name, key.column.table.name) for c in columns for key in c.foreign_keys}
    event_pointers = {(c, t) for c, t in EVENT_POINTERS.items() if table == "claim_events" and c in columns}
    return tuple(sorted((c, t) for c, t in keys | event_pointers if t not in ("namespaces", "vector_models")))


EVENT_POINTERS: Final[Mapping[str, str]] = {"claim_id": "memories", "other_id": "memories", "evidence_id": "documents"}
"""Column of a claim event → the table of the row that it names; an event outlives that row."""


LISTS: Final[Mapping[str, str]] = {
    "source_document_ids": "documents",
    "source_chunk_ids": "chunks",
    "member_ids": "entities",
}
"""Column with a list of ids → the table of the rows that it names."""


@cache
def lists_of(table: str) -> tuple[tuple[str, str], ...]:
    """Return (table, column) of every list in ``memory`` that may name rows of ``table``."""
    return tuple(
        sorted(
            (t.name, column)
            for t in metadata.tables.values()
            for column, target in LISTS.items()
            if t.schema == "memory" and column in t.c and target == table
        )
    )


@cache
def references_to(table: str) -> tuple[tuple[str, str], ...]:
    """Return (table, column) of every foreign key or pointer in ``memory`` that may name a row of ``table``."""
    keys = {
        (t.name, key.parent.name)
        for t in metadata.tables.values()
        for key in t.foreign_keys
        if t.schema == "memory" and key.column.table.name == table
    }
    pointers = {
        (t.name, column)
        for t in metadata.tables.values()
        for column, target in POINTERS.items()
        if t.schema == "memory" and column in t.c and (target or t.name) == table
    }
    return tuple(sorted(keys | pointers))


# Limits of a mutation that writes claims, by its cells alone: it inserts claims and their subject, and ends or supports claims that its
# guards contain. It touches no other memory.

REF: Final = re.compile(r"(person|project|concept|decision|core):[a-z0-9][a-z0-9-]{0,119}")
"""The allowed form of a subject's reference."""

_EVENTS: Final = frozenset({"added", "supported", "replaced", "contradicted"})
_NEW: Final = frozenset({"memories", "entities"})


def _about(values: Mapping[str, Value]) -> str:
    """Return the id of the entity that a claim is about; empty if it names none."""
    attributes = json.loads(str(values.get("attributes") or "{}"))
    return str(attributes.get("entity_id") or "") if isinstance(attributes, dict) else ""


def claim_fault(mutation: Mutation) -> str:
    """Return the first limit that a mutation of claims breaks, as the predicate of a sentence; empty if there is none."""
    guards = {(g.table, g.row): dict(zip(g.columns, g.seen, strict=True)) for g in mutation.guards}
    held = {
        row
        for (table, row), seen in guards.items()
        if table == "memories" and seen.get("kind") == "claim" and seen.get("invalidated_at", "") is None
    }
    for write in mutation.writes:
        if write.cell.table == "memories" and write.cell.row not in held:
            return f"may not write memory {write.cell.row}, which it does not hold to be a claim that stands"
        if write.cell.column == "valid_to" and not isinstance(write.value, str):
            return f"may not open claim {write.cell.row} again"
    subjects = {i.row for i in mutation.inserts if i.table == "entities"}
    weighed = subjects | {row for (table, row), seen in guards.items() if table == "entities" and CLAIMS in seen}
    for insert in mutation.inserts:
        values = insert.values
        if insert.table in _NEW and (values.get("invalidated_at") is not None or values.get("state") != "active"):
            return f"may not make a retired row of {insert.table}"
        if insert.table == "memories" and values.get("kind") != "claim":
            return "may make no memory but claims"
        if insert.table == "memories" and _about(values) not in weighed:
            return f"may say nothing of entity {_about(values)[:64]}, of which it does not hold what is said already"
        if insert.table == "entities" and (
            not insert.row or values.get("source") != "semantic" or not REF.fullmatch(str(values.get("external_id")))
        ):
            return f"may not make a subject {str(values.get('external_id'))[:64]!r}"
        if insert.table == "entity_aliases" and values.get("entity_id") not in subjects:
            return "may name no subject but one that it makes"
        if insert.table == "entity_vectors" and insert.row not in subjects:
            return "may give no subject a vector but one that it makes"
        if insert.table == "memory_versions" and "memory_id" not in insert.refs:
            return "may give no memory a text but one that it makes"
        if insert.table == "memory_vectors" and "id" not in insert.refs:
            return "may give no memory a vector but one that it makes"
        if insert.table == "claim_events":
            named = {values.get(c) for c in ("claim_id", "other_id") if c not in insert.refs} - {None}
            if (
                values.get("event") not in _EVENTS
                or not named <= held
                or not {"claim_id"} <= values.keys() | insert.refs.keys()
            ):
                return "may note an event of no claim but those that it makes or holds"
    return ""


# Limits of a mutation that writes pages, by its cells alone: its guards, which apply compares with the rows, show where the pages are.
#
# So a forged item reaches only corpora whose root its guards name, no page of a session, no existing evidence, and no row of another page.
# The id of a corpus that it creates is derived from the root and the namespace (``misnamed``), and apply checks that an existing corpus
# with that id has that root: no other corpus can be passed off as a new one.

EVIDENCE: Final = "evidence:"
_MADE: Final[Mapping[str, frozenset[str]]] = {
    "write_page": frozenset({"pages:"}),
    "write_claims": frozenset({"pages:", EVIDENCE}),
    "forget_rows": frozenset({"pages:", EVIDENCE}),
}
"""Kind → the roots of the corpora that it may create."""


def page_fault(mutation: Mutation) -> str:
    """Return the first limit that a mutation of pages breaks, as the predicate of a sentence; empty if there is none."""
    guards = {(g.table, g.row): dict(zip(g.columns, g.seen, strict=True)) for g in mutation.guards}
    roots = {row: str(seen.get("root")) for (table, row), seen in guards.items() if table == "corpora"}
    for insert in (i for i in mutation.inserts if i.table == "corpora"):
        if insert.values.get("root") not in _MADE[mutation.kind]:
            return f"may not make a corpus {str(insert.values.get('root'))[:64]!r}"
        roots[insert.row] = str(insert.values["root"])
    new = {i.row: i.values for i in mutation.inserts if i.table == "documents" and "invalidated_at" not in i.stamped}
    there = {w.cell.row for w in mutation.writes if w.cell.table == "documents"}
    there |= {row for (table, row), seen in guards.items() if table == "documents" and "corpus_id" in seen}
    own = {*new, *there}
    retired = ("documents", "invalidated_at")
    ended = {
        w.cell.row: {"invalidated_at": w.seen} for w in mutation.writes if (w.cell.table, w.cell.column) == retired
    }
    for row in sorted(own):
        place = new.get(row) or {**ended.get(row, {}), **guards.get(("documents", row), {})}
        if fault := _misplaced(row, place, roots, mutation.kind, is_new=row in new):
            return fault
    for insert in mutation.inserts:
        if insert.table == "documents" and insert.row not in new:
            if insert.values.get("version_of") not in there:
                return "may keep a version of no page but one that it writes"
        elif insert.table in ("chunks", "links") and insert.values.get("document_id") not in own:
            return f"may insert {insert.table} of no page but one that it writes"
    return _foreign_part(mutation, guards, own)


def misnamed(mutation: Mutation, namespace_id: str) -> str:
    """Return a fault for the first shared row whose id is not derived from its identifying column; empty if there is none.

    Shared rows are those that several items may insert (``SHARED``). The fault is the predicate of a sentence.
    """
    for insert in mutation.inserts:
        if own := SHARED.get(insert.table):
            identifier = insert.values.get(own[0])
            if insert.row != named_id(namespace_id, insert.table, str(identifier)):
                return f"may not make row {insert.row} of {insert.table}: that is not the id of {str(identifier)[:64]!r} in this namespace"
    return ""


def _misplaced(row: str, place: Mapping[str, Value], roots: Mapping[str, str], kind: str, *, is_new: bool) -> str:
    """Return what is wrong with the location of a page; empty if it may be written there."""
    root, path = roots.get(str(place.get("corpus_id")), ""), str(place.get("path"))
    stands = {"invalidated_at", "version_of", "plane"} <= place.keys() and place["plane"] == "durable"
    if not root or not stands or place["invalidated_at"] is not None or place["version_of"] is not None:
        return f"writes document {row} without holding that it is a live page of a corpus"
    if root == "sessions:" or (root == EVIDENCE and kind != "forget_rows" and not (is_new and kind == "write_claims")):
        return f"may not write document {row} of {root}"
    if is_new and path_fault(path, is_new=True):
        return f"may not make a page at {path[:64]!r}"
    return ""


def _foreign_part(mutation: Mutation, guards: Mapping[tuple[str, str], Mapping[str, Value]], own: set[str]) -> str:
    """Return a fault for a changed passage, vector or link that belongs to no page of the mutation; empty if there is none.

    A link of another page may be changed to point at a page of the mutation.
    """
    for write in mutation.writes:
        table, row, column, _ = write.cell
        if table in ("chunks", "links"):
            pointing = column == "target_document_id" and write.value in own
            if not pointing and guards.get((table, row), {}).get("document_id") not in own:
                return f"may not write {table}.{column} of row {row}, which belongs to no page that it writes"
    vectors = {i.row for i in mutation.inserts if i.table == "chunk_vectors"}
    passages = {i.row for i in mutation.inserts if i.table == "chunks"}
    passages |= {row for (table, row), seen in guards.items() if table == "chunks" and seen.get("document_id") in own}
    return f"may not insert a vector of passage {min(vectors - passages)}" if vectors - passages else ""


# Limits of forgetting, by the cells of a mutation alone: a page ends together with a tombstone, claims of one subject together with a page
# that reports it, and nothing else ends. No other kind may mark a page as forgotten, because the mark removes its words from every search.

FORGOTTEN: Final = "forgotten"
"""Key in the metadata of a page whose words no search finds, not even as of an earlier day."""

RETIRED: Final = "retired"
"""The event of a forgotten claim."""

ERASURES: Final = "erasures"
"""The table in which each new row deletes the row that it names, for good."""

ERASABLE: Final = frozenset(
    {"memories", "memory_versions", "promotions", "claim_events", "memory_facts", "entities", "entity_aliases"}
    | {"relationships", "documents", "chunks", "links", "communities", "pages", "recall_events", "session_items"}
    | {"proposals", "purges", "conflicts", "findings", "model_answers"}
)
"""The tables whose rows a plan may delete for good, as in the constraint of ``memory.erasures``."""

NOT_IN_SNAPSHOTS: Final = frozenset(
    {"session_items", "recall_events", "proposals", "purges", "conflicts", "findings", "model_answers"}
)
"""Erasable tables that no snapshot holds completely: only the database checks the namespace of their rows."""

_Seen = Mapping[tuple[str, str], Mapping[str, Value]]


def tombstone_path(path: str) -> str:
    """Return the path of the page that records why a page was forgotten."""
    return f"{path.removesuffix('.md')}.tombstone.md"


def forget_fault(mutation: Mutation) -> str:
    """Return the first limit of forgetting that a mutation breaks, as the predicate of a sentence; empty if there is none."""
    if mutation.kind != "forget_rows":
        marks = (w for w in mutation.writes if (w.cell.table, w.cell.column) == ("documents", "metadata"))
        marked = any(_marked(w.value) != _marked(w.seen) for w in marks)
        made = any(
            i.table == "documents" and not i.stamped and _marked(i.values.get("metadata")) for i in mutation.inserts
        )
        return "may mark no page as forgotten" if marked or made else ""
    if mutation.table == ERASURES or any(i.table == ERASURES for i in mutation.inserts):
        return _erasure_fault(mutation)
    guards = {(g.table, g.row): dict(zip(g.columns, g.seen, strict=True)) for g in mutation.guards}
    for write in mutation.writes:
        if write.cell.table != "documents" and not _ends(write):
            return f"may only end {write.cell.table} (row {write.cell.row})"
    return _page_fault(mutation, guards) if mutation.table == "documents" else _claims_fault(mutation, guards)


def erased(mutation: Mutation) -> list[tuple[str, str]]:
    """Return table and id of each row that a mutation deletes for good, in the mutation's order."""
    return [(str(i.values["table_name"]), str(i.values["row_id"])) for i in mutation.inserts if i.table == ERASURES]


def _erasure_fault(mutation: Mutation) -> str:
    """Return a fault for an erasure that does anything else, or names a table whose rows may not be erased; empty if none."""
    if mutation.table != ERASURES or mutation.writes or mutation.deletes or mutation.physical:
        return "may erase rows or end them, not both in one item"
    for insert in mutation.inserts:
        columns = insert.values.keys() - {"reason"}
        if insert.table != ERASURES or insert.refs or insert.stamped or columns != {"table_name", "row_id"}:
            return "may note of rows that they were erased, and nothing else"
        if insert.values["table_name"] not in ERASABLE:
            return f"may not erase rows of {str(insert.values['table_name'])[:64]!r}"
    named = sorted(row for _, row in erased(mutation))
    return "" if named and named == sorted(mutation.row_ids()) else "lists each row that it erases once"


def _page_fault(mutation: Mutation, guards: _Seen) -> str:
    """Return a fault if the item does more than forget one page and write its tombstone; empty if it does not."""
    if any(w.cell.table == "memories" for w in mutation.writes) or any(
        i.table == "claim_events" for i in mutation.inserts
    ):
        return "may forget a page or claims, not both in one item"
    gone = {
        _place(guards.get(("documents", w.cell.row), {}))
        for w in mutation.writes
        if (w.cell.table, w.cell.column) == ("documents", "metadata") and _marked(w.value) and not _marked(w.seen)
    }
    stones = {(corpus, tombstone_path(path)) for corpus, path in gone}
    if len(gone) != 1:
        return "may forget one page an item"
    written = {w.cell.row for w in mutation.writes if w.cell.table == "documents"}
    new = [_place(i.values) for i in mutation.inserts if i.table == "documents" and not i.stamped]
    places = {*new, *(_place(guards.get(("documents", row), {})) for row in written)}
    if places != gone | stones:
        return "may write the page that it forgets and the tombstone beside it, both and nothing else"
    ended = [w for w in mutation.writes if w.cell.table == "documents" and w.cell.column.startswith("invalidated_")]
    return f"may not retire document {ended[0].cell.row}: a forgotten page stays, superseded" if ended else ""


def _claims_fault(mutation: Mutation, guards: _Seen) -> str:
    """Return a fault if the item does more than forget claims of one subject; empty if it does not.

    It may also end the evidence that only those claims are based on, and write one page that records it.
    """
    subjects = {row: seen.get("merged_into") for (table, row), seen in guards.items() if table == "entities"}
    if (
        sum(into is None for into in subjects.values()) != 1
        or not {i for i in subjects.values() if i} <= subjects.keys()
    ):
        return "may forget claims of one subject, which its guards name"
    claims = {w.cell.row for w in mutation.writes if w.cell.table == "memories"}
    for row in sorted(claims):
        seen = guards.get(("memories", row), {})
        if seen.get("kind") != "claim" or _object(seen.get("attributes")).get("entity_id") not in subjects:
            return f"may not forget memory {row}, which it does not hold to be a claim of the subject"
    pages = {i.row: str(i.values.get("path")) for i in mutation.inserts if i.table == "documents" and not i.stamped}
    if len(pages) != 1 or not next(iter(pages.values())).startswith("sources/semantic/"):
        return "keeps one page that says what was forgotten"
    noted: set[object] = set()
    for insert in (i for i in mutation.inserts if i.table == "claim_events"):
        noted.add(insert.values.get("claim_id"))
        if insert.refs or insert.values.get("event") != RETIRED or insert.values.get("evidence_id") not in pages:
            return "may note of claims that they were forgotten, and no more"
    ended = {w.cell.row for w in mutation.writes if (w.cell.table, w.cell.column) == ("memories", "invalidated_at")}
    if not claims or noted != claims or ended != claims:
        return "notes of each claim that it was forgotten, and of no other"
    roots = {row: seen.get("root") for (table, row), seen in guards.items() if table == "corpora"}
    roots |= {i.row: i.values.get("root") for i in mutation.inserts if i.table == "corpora"}
    for write in (w for w in mutation.writes if w.cell.table == "documents"):
        corpus = guards.get(("documents", write.cell.row), {}).get("corpus_id")
        if roots.get(str(corpus)) != EVIDENCE:
            return f"may not write document {write.cell.row}, which is no evidence"
        if not (_ends(write) or (write.cell.column == "metadata" and _only_marked(write))):
            return f"may not write what document {write.cell.row} says"
    return ""


def _ends(write: Write) -> bool:
    """Return whether a write retires its row now, or ends it in world time."""
    match write.cell.column:
        case "invalidated_at":
            return write.action == "now" and write.seen is None
        case "invalidated_by":
            return write.action == "item"
        case "valid_to":
            return write.action == "now" or (write.action == "set" and isinstance(write.value, str))
        case _:
            return False


def _only_marked(write: Write) -> bool:
    return _object(write.value) == {**_object(write.seen), FORGOTTEN: True}


def _marked(metadata: Value) -> bool:
    return isinstance(metadata, str) and f'"{FORGOTTEN}"' in metadata and FORGOTTEN in _object(metadata)


def _object(value: Value) -> Mapping[str, object]:
    found = json.loads(value) if isinstance(value, str) else {}
    return found if isinstance(found, dict) else {}


def _place(values: Mapping[str, Value]) -> tuple[str, str]:
    return str(values.get("corpus_id")), str(values.get("path"))


# The kinds of mutations: a small closed set, with the cells that each may touch. Some kinds have further limits.


@dataclass(frozen=True, slots=True)
class Kind:
    """The limits of one kind of mutation: the cells it may write, by table, and the tables it may insert into and delete from."""

    writes: Mapping[str, frozenset[str]]
    inserts: frozenset[str] = frozenset()
    deletes: frozenset[str] = frozenset()


_INVALIDATE: Final = frozenset({"invalidated_at", "invalidated_by", "valid_to"})
_WORLDLY: Final[tuple[str, ...]] = ("documents", "entities", "relationships", "memory_facts", "memories", "communities")
_REFERENCES: Final = frozenset({"source_chunk_ids", "source_document_ids"})
_VECTOR_TABLES: Final = ("entity_vectors", "chunk_vectors", "memory_vectors")

_PAGE_CELLS: Final[Mapping[str, frozenset[str]]] = {
    "documents": frozenset({"title", "content", "metadata", "valid_from", "content_hash"}),
    "chunks": frozenset({"ordinal", "start_line", "end_line", "invalidated_at", "invalidated_by"}),
    "links": frozenset({"target_document_id", "invalidated_at", "invalidated_by"}),
}
_PAGE_ROWS: Final = frozenset({"corpora", "documents", "chunks", "links", "chunk_vectors"})

KINDS: Final[Mapping[str, Kind]] = {
    "merge_rows": Kind(
        {
            "entities": frozenset(
                {"source_chunk_ids", "source_document_ids", "attributes", "description", "confidence", "pinned"}
                | {"mention_count", "state", "merged_into", "invalidated_at", "invalidated_by", "valid_from"}
                | {"entity_type", "name"}
            ),
            "relationships": frozenset({"source_entity_id", "target_entity_id", "invalidated_at", "invalidated_by"})
            | {
                "description",
                "properties",
                "source_chunk_ids",
                "source_document_ids",
                "confidence",
                "weight",
                "valid_from",
            },
            "entity_vectors": frozenset({"vector"}),
            "memory_facts": frozenset({"source_chunk_ids", "confidence", "valid_from", "is_active", "superseded_by"})
            | {"invalidated_at", "invalidated_by"},
            "memories": frozenset({"tags", "importance", "confidence", "source_chunk_ids", "source_document_ids"})
            | {"access_count", "reinforcement_count", "valid_from", "state", "merged_into", "pinned"}
            | {"invalidated_at", "invalidated_by"},
        },
        frozenset({"entity_aliases", "entity_vectors"}),
    ),
    "rename_type": Kind({"entities": frozenset({"entity_type"}), "relationships": frozenset({"relationship_type"})}),
    "insert_summary": Kind(
        {
            "communities": frozenset({"valid_to"}),
            "memories": frozenset({"state", "merged_into", "invalidated_at", "invalidated_by"})
            | {"access_count", "reinforcement_count"},
        },
        frozenset({"communities", "memories", "memory_versions", "memory_vectors"}),
    ),
    "new_version": Kind(
        {
            "memories": frozenset({"current_version_id", "stage", "attributes", "state"}),
            "memory_vectors": frozenset({"vector"}),
        },
        frozenset({"memory_versions", "memory_vectors"}),
    ),
    "set_vector": Kind({t: frozenset({"vector"}) for t in _VECTOR_TABLES}, frozenset(_VECTOR_TABLES)),
    "filter_references": Kind(
        {
            "entities": _REFERENCES,
            "relationships": _REFERENCES,
            "memories": _REFERENCES,
            "memory_facts": frozenset({"source_chunk_ids"}),
        }
    ),
    "invalidate_rows": Kind(
        {
            **dict.fromkeys(_WORLDLY, _INVALIDATE),
            "memory_facts": _INVALIDATE | {"is_active", "superseded_by"},
            **{t: _INVALIDATE - {"valid_to"} for t in ("chunks", "pages", "promotions")},
        }
    ),
    "set_state": Kind(
        {
            "entities": frozenset({"state"}),
            "memories": frozenset({"state", "ring", "stage"}),
            "promotions": frozenset({"invalidated_at", "invalidated_by"}),
        },
        frozenset({"promotions"}),
    ),
    "set_attributes": Kind(
        {
            "entities": frozenset({"attributes", "pinned"}),
            "relationships": frozenset({"properties"}),
            "memories": frozenset({"attributes", "tags", "visibility", "sensitivity", "pinned"}),
            "documents": frozenset({"metadata"}),
        }
    ),
    "render_page": Kind({"pages": frozenset({"title", "body", "input_hash"})}, frozenset({"pages"})),
    "write_page": Kind(_PAGE_CELLS, _PAGE_ROWS),
    "write_claims": Kind(
        {
            **_PAGE_CELLS,
            "memories": frozenset({"valid_to", "source_document_ids", "source_chunk_ids", "reinforcement_count"}),
        },
        _PAGE_ROWS
        | {
            "entities",
            "entity_aliases",
            "entity_vectors",
            "memories",
            "memory_versions",
            "memory_vectors",
            "claim_events",
        },
    ),
    "forget_rows": Kind(
        {
            "documents": frozenset(
                {"title", "content", "metadata", "content_hash", "invalidated_at", "invalidated_by"}
            ),
            **dict.fromkeys(("chunks", "links"), _INVALIDATE - {"valid_to"}),
            "memories": _INVALIDATE,
        },
        frozenset({"corpora", "documents", "claim_events", "erasures"}),
    ),
    "purge_rows": Kind(
        {"memory_facts": frozenset({"superseded_by"}), "memories": frozenset({"merged_into"})},
        deletes=frozenset({"memory_facts", "relationships", "communities", "memories"})
        | {"memory_versions", "memory_vectors", "promotions"},
    ),
}


# A mutation: one of a small closed set of changes, written out cell by cell.
#
# Every mutation is a value: its kind, its rows, and the writes, inserts, deletes and guards that the builder of its kind made from a
# snapshot. ``check`` verifies at sealing, and again before the mutation is applied, that it touches only cells that its kind may touch: a
# forged plan item cannot reach another table, column or namespace. Because the change is data, simulation (``simulate``), apply and undo
# (``statements``) are implemented once for all kinds.


class Row(NamedTuple):
    """A row, named for users by ``external_id`` and for the database by ``id``."""

    id: str
    external_id: str | None = None

    def canonical(self) -> str:
        """Return the canonical JSON of this row."""
        return f'{{"external_id":{value_json(self.external_id)},"id":{quoted(self.id)}}}'


MADE_FROM: Final = "made_from"
"""Key in the metadata of a page for its planner's inputs, so that the page is not proposed again while these are unchanged."""

_SHOWN: Final = ("kind", "table", "keep", "absorb", "rows", "writes", "inserts", "guards", "deletes", "physical")


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change; ``keep`` and ``absorb`` name the rows of a merge, ``rows`` those of every other kind.

    In a namespace of a connected store, ``physical`` is the change of that store to which the cells were lowered; the cells themselves
    are parsed and shown.
    """

    kind: str
    table: str
    writes: tuple[Write, ...] = ()
    guards: tuple[Guard, ...] = ()
    inserts: tuple[Insert, ...] = ()
    rows: tuple[Row, ...] = ()
    keep: Row | None = None
    absorb: tuple[Row, ...] = ()
    deletes: tuple[Delete, ...] = ()
    physical: Change | None = None

    @property
    def change(self) -> Mutation | Change:
        """Return the change of the database: the mutation's own cells, or those of a connected store that they were lowered to."""
        return self.physical or self

    def row_ids(self) -> tuple[str, ...]:
        """Return the ids of the rows that the mutation is about, sorted."""
        rows = (*self.rows, *((self.keep,) if self.keep else ()), *self.absorb)
        return tuple(sorted(r.id for r in rows))

    def seen(self) -> Iterator[tuple[Cell, Value]]:
        """Yield the guarded cells, each with the value that the plan saw."""
        for guard in self.guards:
            yield from guard.cells()

    def members(self) -> list[tuple[str, ...]]:
        """Return the member ids of each new row that has some: a new community is about them and has no id yet."""
        named = (insert.values.get("member_ids") for insert in self.inserts)
        return [ids for ids in named if isinstance(ids, tuple)]

    def made_from(self) -> list[tuple[str, ...]]:
        """Return the source of each written document: (corpus, path, source) if it is new, else (id, source).

        The source is ``made_from`` in the metadata of the page, or else the hash of its content.
        """
        found: list[tuple[str, ...]] = []
        for insert in self.inserts:
            if insert.table == "documents" and not insert.stamped:
                place = str(insert.values.get("corpus_id")), str(insert.values.get("path"))
                found.append((*place, _source(insert.values.get("metadata"), insert.values.get("content_hash"))))
        written: dict[str, dict[str, Value]] = {}
        for write in self.writes:
            if write.cell.table == "documents":
                written.setdefault(write.cell.row, {})[write.cell.column] = write.value
        return found + [(row, _source(v.get("metadata"), v.get("content_hash"))) for row, v in sorted(written.items())]

    def said(self) -> list[tuple[str, ...]]:
        """Return subject, kind and statement of each claim that the mutation inserts."""
        found: list[tuple[str, ...]] = []
        for insert in self.inserts:
            n = insert.refs.get("memory_id", -1)
            if insert.table == "memory_versions" and 0 <= n < len(self.inserts):
                attributes = json.loads(str(self.inserts[n].values.get("attributes") or "{}"))
                found.append(
                    (*(str(attributes.get(c)) for c in ("entity_id", "claim_kind")), str(insert.values.get("content")))
                )
        return found

    def canonical(self) -> str:
        """Return the canonical JSON, which is sealed and stored, and from which the id of an item is derived."""
        absorb = keep = rows = ""
        if self.keep:
            absorb, keep = f'"absorb":{_all(self.absorb)},', f'"keep":{self.keep.canonical()},'
        else:
            rows = f'"rows":{_all(self.rows)},'
        physical = f'"physical":{self.physical.canonical()},' if self.physical else ""
        deletes = f'"deletes":[{",".join(map(delete_json, self.deletes))}],' if self.deletes else ""
        return (
            f'{{{absorb}{deletes}"guards":[{",".join(map(guard_json, self.guards))}],'
            f'"inserts":[{",".join(map(insert_json, self.inserts))}],{keep}"kind":{quoted(self.kind)},'
            f'{physical}{rows}"table":{quoted(self.table)},"writes":[{",".join(map(write_json, self.writes))}]}}'
        )

    def to_json(self) -> dict[str, object]:
        """Return the form that is shown to users: the fields of ``canonical``, the kind first."""
        stored = json.loads(self.canonical())
        return {name: stored[name] for name in _SHOWN if name in stored}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Mutation:
        """Parse the form of ``to_json`` and check the mutation."""
        mutation = cls.as_stored(value)
        check(mutation)
        return mutation

    @classmethod
    def as_stored(cls, value: Mapping[str, object]) -> Mutation:
        """Parse the form of ``to_json`` without checks, so that what was applied can be undone even if the rules have changed."""

        def rows(name: str) -> tuple[Row, ...]:
            return tuple(_row(r) for r in _list(value.get(name)))

        keep, physical = value.get("keep"), value.get("physical")
        return cls(
            kind=str(value["kind"]),
            table=str(value["table"]),
            writes=writes_from_json(_list(value.get("writes"))),
            guards=guards_from_json(_list(value.get("guards"))),
            inserts=inserts_from_json(_list(value.get("inserts"))),
            rows=rows("rows"),
            keep=_row(keep) if keep else None,
            absorb=rows("absorb"),
            deletes=deletes_from_json(_list(value.get("deletes"))),
            physical=Change.as_stored(physical) if isinstance(physical, Mapping) else None,
        )


class Identified(Protocol):
    """A mutation with the id of its item; the form in which mutations are simulated, applied and undone."""

    @property
    def id(self) -> str:
        """The item's id."""
        ...

    @property
    def mutation(self) -> Mutation:
        """The mutation of the item."""
        ...


def check(mutation: Mutation) -> None:
    """Refuse a mutation that exceeds the limits of its kind.

    Raises ``Refused`` for a cell, table or column that the kind may not touch, a counter that is not changed by a delta, and a delete of
    a row that is not retired.
    """
    kind = KINDS.get(mutation.kind)
    if kind is None:
        raise Refused(f"There is no mutation {mutation.kind!r}. Known: {', '.join(sorted(KINDS))}.")
    for write in mutation.writes:
        cell = write.cell
        if cell.column not in kind.writes.get(cell.table, frozenset()):
            raise Refused(f"{mutation.kind} may not write {cell.table}.{cell.column} (row {cell.row}).")
        if (write.action == "add") != is_counter(cell.table, cell.column):
            raise Refused(
                f"{cell.table}.{cell.column} (row {cell.row}): counters change by deltas, and only counters do."
            )
        if write.action == "row":
            _check_own(mutation, cell.table, cell.column, write.value)
    for insert in mutation.inserts:
        if insert.table not in kind.inserts:
            raise Refused(f"{mutation.kind} may not insert into {insert.table}.")
        for column in insert.values:
            column_of(insert.table, column)
        for column, n in insert.refs.items():
            _check_own(mutation, insert.table, column, n)
        for column in insert.stamped:
            if column in insert.values or sql_type(insert.table, column) != "timestamptz":
                raise Refused(f"{mutation.kind} may not stamp {insert.table}.{column}.")
    for table, columns in {(g.table, g.columns) for g in mutation.guards}:
        _check_columns(table, columns)
    gone = {(d.table, d.row) for d in mutation.deletes}
    for delete in mutation.deletes:
        if delete.table not in kind.deletes:
            raise Refused(f"{mutation.kind} may not delete from {delete.table} (row {delete.row}).")
        if set(delete.seen) != set(row_columns(delete.table)):
            raise Refused(
                f"{mutation.kind} would delete row {delete.row} of {delete.table} without holding all of it, so it could not be put back."
            )
        whole = _belongs_to(delete)
        if not (is_retired(delete.table, delete.seen) if whole is None else whole in gone):
            raise Refused(f"{mutation.kind} may not delete row {delete.row} of {delete.table}: it is not retired.")
    if "documents" in kind.inserts and (fault := page_fault(mutation)):
        raise Refused(f"{mutation.kind} {fault}.")
    if mutation.kind == "write_claims" and (fault := claim_fault(mutation)):
        raise Refused(f"{mutation.kind} {fault}.")
    if fault := forget_fault(mutation):
        raise Refused(f"{mutation.kind} {fault}.")


@cache
def _check_columns(table: str, columns: tuple[str, ...]) -> None:
    for column in columns:
        if column not in VIRTUAL:
            column_of(table, column)


def _check_own(mutation: Mutation, table: str, column: str, n: object) -> None:
    """Check that a pointer to a row of the same item names a row that the item inserts, in the table the column points to."""
    target = VECTORS.get(table) if column == "id" else POINTERS.get(column, dict(names_of(table)).get(column))
    inserts = mutation.inserts
    if target is None or not isinstance(n, int) or not 0 <= n < len(inserts) or inserts[n].table != (target or table):
        raise Refused(f"{mutation.kind} points {table}.{column} at a row that it does not insert.")


def is_retired(table: str, seen: Mapping[str, object]) -> bool:
    """Return whether a row is retired: invalidated, an inactive fact, or a community that another one replaced."""
    return (
        seen.get("invalidated_at") is not None
        or (table == "memory_facts" and seen.get("is_active") is False)
        or (table == "communities" and seen.get("valid_to") is not None)
    )


def _belongs_to(delete: Delete) -> tuple[str, str] | None:
    """Return the row that a version, a promotion or a vector is part of; it may only be deleted together with that row."""
    if delete.table in VECTORS:
        return VECTORS[delete.table], delete.row
    return ("memories", str(delete.seen["memory_id"])) if "memory_id" in delete.seen else None


def _source(metadata: Value, content_hash: Value) -> str:
    """Return ``made_from`` of a page's metadata, or the hash of its content if there is none."""
    fields = json.loads(metadata) if isinstance(metadata, str) else {}
    return str(fields.get(MADE_FROM) or content_hash)


def _all(rows: Iterable[Row]) -> str:
    return f"[{','.join(row.canonical() for row in rows)}]"


def _list(value: object) -> Sequence[Sequence[object]]:
    return value if isinstance(value, list) else []  # pyright: ignore[reportReturnType]


def _row(value: object) -> Row:
    if not isinstance(value, Mapping):
        raise Refused("A plan item names a row in a form that no version of Slowwave wrote.")
    external = value.get("external_id")
    return Row(str(value["id"]), None if external is None else str(external))

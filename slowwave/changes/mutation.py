"""A mutation: one of a small closed set of changes, spelled out cell by cell, and what each kind may and may not do."""

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

# By which columns a row names other rows of its namespace: foreign keys, lists of sources and members, and what events of claims say.


@cache
def names_of(table: str) -> tuple[tuple[str, str], ...]:
    """(column, table) of everything by which a row of ``table`` names one row of another, or of its own, in its namespace."""
    columns = table_of(table).c
    keys = {(c.name, key.column.table.name) for c in columns for key in c.foreign_keys}
    told = {(c, t) for c, t in EVENT_POINTERS.items() if table == "claim_events" and c in columns}
    return tuple(sorted((c, t) for c, t in keys | told if t not in ("namespaces", "vector_models")))


EVENT_POINTERS: Final[Mapping[str, str]] = {"claim_id": "memories", "other_id": "memories", "evidence_id": "documents"}
"""Column of an event of a claim → the table of the row that it names; an event outlives what it names."""


LISTS: Final[Mapping[str, str]] = {
    "source_document_ids": "documents",
    "source_chunk_ids": "chunks",
    "member_ids": "entities",
}
"""Column of ids → the table of the rows that it names."""


@cache
def lists_of(table: str) -> tuple[tuple[str, str], ...]:
    """(table, column) of every list in ``memory`` that may name rows of ``table``."""
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
    """(table, column) of everything in ``memory`` that names a row of ``table``: foreign keys, and pointers that have none."""
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


# What a mutation that writes claims may not do, by its cells alone: it makes claims and their subject, and ends or supports claims that
# its guards hold; whatever else is a memory it leaves alone.

REF: Final = re.compile(r"(person|project|concept|decision|core):[a-z0-9][a-z0-9-]{0,119}")
"""What the reference of a subject may be."""

_EVENTS: Final = frozenset({"added", "supported", "replaced", "contradicted"})
_NEW: Final = frozenset({"memories", "entities"})


def _about(values: Mapping[str, Value]) -> str:
    """The entity that a claim is about; empty where it names none."""
    told = json.loads(str(values.get("attributes") or "{}"))
    return str(told.get("entity_id") or "") if isinstance(told, dict) else ""


def claim_fault(mutation: Mutation) -> str:
    """The first thing that it may not do, as a sentence; empty where there is none."""
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


# What a mutation that writes pages may not do, by its cells alone: its guards, which apply holds against the rows, say where they lie.
#
# So an item that somebody forged reaches no other corpus than those of which its guards name the root, no page of a session, no evidence
# that is there already, and nothing that belongs to another page. A corpus that it says it makes has the id of its root in the namespace
# (``misnamed``), and apply holds one of that id that is there already to that root: no other corpus can be passed off as a new one.

EVIDENCE: Final = "evidence:"
_MADE: Final[Mapping[str, frozenset[str]]] = {
    "write_page": frozenset({"pages:"}),
    "write_claims": frozenset({"pages:", EVIDENCE}),
    "forget_rows": frozenset({"pages:", EVIDENCE}),
}
"""Kind → the roots of the corpora that it may make."""


def page_fault(mutation: Mutation) -> str:
    """The first thing that a mutation of a kind that writes pages may not do, as a sentence; empty where there is none."""
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
    """The first row of a table of rows that items share which has not the id of what it is, as a sentence; empty where there is none."""
    for insert in mutation.inserts:
        if own := SHARED.get(insert.table):
            said = insert.values.get(own[0])
            if insert.row != named_id(namespace_id, insert.table, str(said)):
                return f"may not make row {insert.row} of {insert.table}: that is not the id of {str(said)[:64]!r} in this namespace"
    return ""


def _misplaced(row: str, place: Mapping[str, Value], roots: Mapping[str, str], kind: str, *, is_new: bool) -> str:
    """What is wrong with where a page lies."""
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
    """A passage or link that it changes and that belongs to no page of its own; a link of another page may come to mean one of its own."""
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


# What a mutation may not forget, by its cells alone: a page goes with a tombstone beside it, claims of one subject with a page that says
# so, and nothing else ends. No other kind may mark a page as forgotten: the mark takes its words out of every search.

FORGOTTEN: Final = "forgotten"
"""In the metadata of a page: its words are in no search, not as of an earlier day either (memory.forget_page_texts)."""

RETIRED: Final = "retired"
"""The event of a claim that was forgotten."""

ERASURES: Final = "erasures"
"""The table of which each new row deletes the row that it names, for good (memory.erase_rows)."""

ERASABLE: Final = frozenset(
    {"memories", "memory_versions", "promotions", "claim_events", "memory_facts", "entities", "entity_aliases"}
    | {"relationships", "documents", "chunks", "links", "communities", "pages", "recall_events", "session_items"}
    | {"proposals", "purges", "conflicts", "findings", "model_answers"}
)
"""The tables of which a plan may delete rows for good, as the constraint of ``memory.erasures`` has it."""

NOT_IN_SNAPSHOTS: Final = frozenset(
    {"session_items", "recall_events", "proposals", "purges", "conflicts", "findings", "model_answers"}
)
"""Erasable tables that no snapshot holds as a whole: the database alone checks the namespace of their rows."""

_Seen = Mapping[tuple[str, str], Mapping[str, Value]]


def tombstone_path(path: str) -> str:
    """Where it stands why a page was forgotten."""
    return f"{path.removesuffix('.md')}.tombstone.md"


def forget_fault(mutation: Mutation) -> str:
    """The first thing that it may not do, as a sentence; empty where there is none."""
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
    """Refuse an erasure that does anything else, or that names a table of which no row may be erased."""
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
    """A page, its tombstone, and their parts."""
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
    """Claims of one subject, the evidence that only they rest on, and the page that says so."""
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
    """Whether a write retires its row now, or ends it in the world."""
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


# The kinds of mutations: a small closed set, and which cells each may touch. What else a kind may not do, its own limits say.


@dataclass(frozen=True, slots=True)
class Kind:
    """What one kind may do: the cells it writes, by table, and the tables it inserts into and deletes from."""

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


# A mutation: one of a small closed set of changes, spelled out cell by cell.
#
# Every mutation is a value: its kind, the rows it is about, and the writes, inserts, deletes and guards that the builder of its
# kind made from a snapshot. ``slowwave.changes.mutation`` says which cells each kind may touch, and ``check`` holds every mutation to
# it, at sealing and again before it is applied: a forged plan item cannot reach another table, column or namespace. Because the change is
# data, simulation (``simulate``), application and undo (``statements``) are written once for all kinds.


class Row(NamedTuple):
    """A row named for people (``external_id``) and for the database (``id``)."""

    id: str
    external_id: str | None = None

    def canonical(self) -> str:
        """Its canonical JSON."""
        return f'{{"external_id":{value_json(self.external_id)},"id":{quoted(self.id)}}}'


MADE_FROM: Final = "made_from"
"""In the metadata of a page: what its planner made it from, so that it is not proposed again while that stands."""

_SHOWN: Final = ("kind", "table", "keep", "absorb", "rows", "writes", "inserts", "guards", "deletes", "physical")


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change. ``keep`` and ``absorb`` name a merge's rows; ``rows`` those of every other kind.

    In a namespace of a store that is not ours, ``physical`` is what its cells come to there; they themselves are read and shown.
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
        """What is done to the database: its own cells, or those of a store that is not ours to which they were lowered."""
        return self.physical or self

    def row_ids(self) -> tuple[str, ...]:
        """The rows it is about, sorted."""
        rows = (*self.rows, *((self.keep,) if self.keep else ()), *self.absorb)
        return tuple(sorted(r.id for r in rows))

    def seen(self) -> Iterator[tuple[Cell, Value]]:
        """The cells that it rests on, and what was seen in them."""
        for guard in self.guards:
            yield from guard.cells()

    def members(self) -> list[tuple[str, ...]]:
        """The ids that each of its new rows names as its members: a new community is about them, and has no id of its own yet."""
        named = (insert.values.get("member_ids") for insert in self.inserts)
        return [ids for ids in named if isinstance(ids, tuple)]

    def made_from(self) -> list[tuple[str, ...]]:
        """Of each document that it writes: corpus and path where it is new, and what it was made from, or else says."""
        found: list[tuple[str, ...]] = []
        for insert in self.inserts:
            if insert.table == "documents" and not insert.stamped:
                place = str(insert.values.get("corpus_id")), str(insert.values.get("path"))
                found.append((*place, _source(insert.values.get("metadata"), insert.values.get("content_hash"))))
        told: dict[str, dict[str, Value]] = {}
        for write in self.writes:
            if write.cell.table == "documents":
                told.setdefault(write.cell.row, {})[write.cell.column] = write.value
        return found + [(row, _source(v.get("metadata"), v.get("content_hash"))) for row, v in sorted(told.items())]

    def said(self) -> list[tuple[str, ...]]:
        """Of each claim that it makes: its subject, kind and statement."""
        found: list[tuple[str, ...]] = []
        for insert in self.inserts:
            n = insert.refs.get("memory_id", -1)
            if insert.table == "memory_versions" and 0 <= n < len(self.inserts):
                told = json.loads(str(self.inserts[n].values.get("attributes") or "{}"))
                found.append(
                    (*(str(told.get(c)) for c in ("entity_id", "claim_kind")), str(insert.values.get("content")))
                )
        return found

    def canonical(self) -> str:
        """Its canonical JSON, which is sealed and stored, and of which an item's id is made."""
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
        """The form that is shown: ``canonical``, the kind first."""
        stored = json.loads(self.canonical())
        return {name: stored[name] for name in _SHOWN if name in stored}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Mutation:
        """The inverse of ``to_json``, checked."""
        mutation = cls.as_stored(value)
        check(mutation)
        return mutation

    @classmethod
    def as_stored(cls, value: Mapping[str, object]) -> Mutation:
        """The inverse of ``to_json``, unchecked: what was applied can be undone, whatever is thought of it today."""

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
    """A mutation with the id of the item that carries it: what is simulated, applied and undone."""

    @property
    def id(self) -> str:
        """The item's id."""
        ...

    @property
    def mutation(self) -> Mutation:
        """Its mutation."""
        ...


def check(mutation: Mutation) -> None:
    """Refuse a mutation that writes what its kind may not, writes a counter other than by a delta, or deletes what still lives."""
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
    """A pointer to a row of the item's own has to name one that it inserts, and of the table to which the column points."""
    target = VECTORS.get(table) if column == "id" else POINTERS.get(column, dict(names_of(table)).get(column))
    inserts = mutation.inserts
    if target is None or not isinstance(n, int) or not 0 <= n < len(inserts) or inserts[n].table != (target or table):
        raise Refused(f"{mutation.kind} points {table}.{column} at a row that it does not insert.")


def is_retired(table: str, seen: Mapping[str, object]) -> bool:
    """Whether a row has left the memory for good: invalidated, or an inactive fact, or a community that another one replaced."""
    return (
        seen.get("invalidated_at") is not None
        or (table == "memory_facts" and seen.get("is_active") is False)
        or (table == "communities" and seen.get("valid_to") is not None)
    )


def _belongs_to(delete: Delete) -> tuple[str, str] | None:
    """The row that a version, a promotion or a vector is a part of, with which alone it may go."""
    if delete.table in VECTORS:
        return VECTORS[delete.table], delete.row
    return ("memories", str(delete.seen["memory_id"])) if "memory_id" in delete.seen else None


def _source(metadata: Value, content_hash: Value) -> str:
    """What a page was made from, as its metadata say it, or the hash of what it says."""
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

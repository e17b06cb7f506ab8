"""What a mutation that writes pages may not do, by its cells alone: its guards, which apply holds against the rows, say where they lie.

So an item that somebody forged reaches no other corpus than those of which its guards name the root, no page of a session, no evidence that
is there already, and nothing that belongs to another page. A corpus that it says it makes has the id of its root in the namespace
(``misnamed``), and apply holds one of that id that is there already to that root: no other corpus can be passed off as a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from slowwave.mutations.cells import SHARED, Value, named_id
from slowwave.texts.page_paths import path_fault

if TYPE_CHECKING:
    from slowwave.mutations.mutation import Mutation

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

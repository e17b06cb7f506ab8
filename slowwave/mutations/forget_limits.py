"""What a mutation may not forget, by its cells alone: a page goes with a tombstone beside it, claims of one subject with a page that says
so, and nothing else ends. No other kind may mark a page as forgotten: the mark takes its words out of every search.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from slowwave.mutations.cells import Value, Write
from slowwave.mutations.page_limits import EVIDENCE

if TYPE_CHECKING:
    from slowwave.mutations.mutation import Mutation

FORGOTTEN: Final = "forgotten"
"""In the metadata of a page: its words are in no search, not as of an earlier day either (migration 0025)."""

RETIRED: Final = "retired"
"""The event of a claim that was forgotten."""

ERASURES: Final = "erasures"
"""The table of which each new row deletes the row that it names, for good (migration 0052)."""

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

"""What stands for passages and claims that items end: the passages of the page's next text, and the claim that follows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.mutations.cells import inserted_id
from slowwave.mutations.mutation import Mutation
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot


def rewritten(before: Snapshot, items: Iterable[Item]) -> dict[str, str]:
    """Passage that an item ends → the new one of the page that shares most words with it, the first of several; claim that ends → the claim
    of the item that replaces it. A passage of a page that only loses text has none. One pass over the chunks.
    """
    stands: dict[str, str] = {}
    ended: dict[str, list[tuple[str, str]]] = {}
    for item in items:
        if item.mutation.kind not in ("write_page", "write_claims"):
            continue
        stands |= _followed(item)
        ended |= _ended(item.mutation)
    if not ended:
        return stands
    chunks = before.table("chunks").select(["id", "content"])
    chunks = chunks.filter(pc.is_in(chunks["id"], value_set=pa.array(sorted(ended), pa.string())))
    for id_, content in zip(chunks["id"].to_pylist(), chunks["content"].to_pylist(), strict=True):
        words = _words(content)
        stands[id_] = max(ended[id_], key=lambda new: len(words & _words(new[1])))[0]
    return stands


def _followed(item: Item) -> dict[str, str]:
    events = (i for i in item.mutation.inserts if i.table == "claim_events" and i.values.get("event") == "replaced")
    return {
        str(e.values["claim_id"]): inserted_id(item.id, e.refs["other_id"])
        for e in events
        if "claim_id" in e.values and "other_id" in e.refs
    }


def _ended(mutation: Mutation) -> dict[str, list[tuple[str, str]]]:
    """Passage that ends → the new ones of its page, each with its text."""
    new: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for insert in mutation.inserts:
        if insert.table == "chunks":
            new[str(insert.values["document_id"])].append((insert.row, str(insert.values["content"])))
    pages: Mapping[str, str] = {
        g.row: str(g.seen[g.columns.index("document_id")])
        for g in mutation.guards
        if g.table == "chunks" and "document_id" in g.columns
    }
    gone = (w.cell.row for w in mutation.writes if (w.cell.table, w.cell.column) == ("chunks", "invalidated_at"))
    return {row: new[pages[row]] for row in gone if row in pages and new[pages[row]]}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())

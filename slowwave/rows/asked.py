"""Questions that memories have answered: the queries of past recalls, by the memories that were found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.snapshots.snapshot import Snapshot

_MOST: Final = 20
"""Questions of one memory."""

FIRST: Final = 3
"""Places of a list of hits that count where nobody said which of them was used."""


def questions_of(snapshot: Snapshot, ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Memory → the queries of recalls that used it, those asked most often first, then the newest; at most 20.

    A recall used what was selected; where nothing was, its first three hits. Empty queries ask nothing. Time: linear in the recall events.
    """
    events = snapshot.table("recall_events").select(["query", "hit_ids", "selected_ids", "occurred_at"])
    events = events.sort_by([("occurred_at", "descending"), ("query", "ascending")])
    queries = events["query"]
    chosen = pc.fill_null(pc.list_value_length(events["selected_ids"]), 0)
    hits = pc.list_slice(events["hit_ids"].combine_chunks(), 0, FIRST)
    used = pc.if_else(pc.greater(chosen, 0), events["selected_ids"].combine_chunks(), hits)
    flat = pa.table({"event": pc.list_parent_indices(used), "id": pc.list_flatten(used)})
    flat = flat.filter(pc.is_in(flat["id"], value_set=pa.array(sorted(ids), pa.string())))
    times: dict[str, Counter[str]] = defaultdict(Counter)
    for id_, query in zip(flat["id"].to_pylist(), queries.take(flat["event"]).to_pylist(), strict=True):
        if query and (asked := " ".join(str(query).split())):
            times[id_][asked] += 1  # a counter keeps equal counts in the order of their first: the newest first
    return {id_: tuple(q for q, _ in found.most_common(_MOST)) for id_, found in times.items()}

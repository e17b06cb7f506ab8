"""Session backlog: conversations since the last night, and those that no summary covers yet. Numbers only.

``slowwave.night.status`` decides whether there is enough for a weekly night; ``consolidate_clusters`` writes the summaries.

The audit counts sessions (``session_id`` of memories), new ones and undigested ones, with their sizes and the age of the oldest.

A session is undigested while it has active memories and none of its memories was merged into a summary. New is what was recorded since
the last night that ran this audit. A document that no memory cites is counted separately, and so is a session that was stored as a page,
because no memory was made from it. Time: linear in memories, their texts and the documents they cite.
"""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations import Inputs
from slowwave.plans.report import Report
from slowwave.snapshots.memories import version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.tokens import BYTES_A_TOKEN

_INSTANT = pa.timestamp("us", tz="UTC")


def session_backlog(inputs: Inputs) -> Report:
    """Count the sessions since the last night and those that no summary covers yet, with their size and age."""
    snapshot = inputs.snapshot
    memories = snapshot.table("memories")
    said = memories.filter(pc.not_equal(memories["kind"], "summary"))
    since = _last(inputs)
    sessions = _sessions(snapshot, said)
    open_ = sessions.filter(pc.and_(pc.greater(sessions["live_sum"], 0), pc.equal(sessions["digested_sum"], 0)))
    sizes = open_["live_sum"].to_numpy()
    first = pc.min(open_["begun_min"]).as_py()
    age = (snapshot.taken_at - first).total_seconds() / 86_400 if first else 0.0
    documents, uncited, pages, unread = _documents(snapshot)
    new = (
        len(sessions) if since is None else _count(pc.greater(sessions["recorded_at_max"], pa.scalar(since, _INSTANT)))
    )
    numbers: dict[str, int | float] = {
        "sessions": len(sessions),
        "new sessions": new,
        "undigested sessions": len(open_),
        "undigested memories": int(sizes.sum()),
        "undigested tokens": int(pc.sum(open_["tokens_sum"]).as_py() or 0),
        "largest undigested session": int(sizes.max(initial=0)),
        "median undigested session": float(np.median(sizes)) if len(sizes) else 0.0,
        "days since the oldest undigested session": round(max(age, 0.0), 2),
        "memories without a session": _count(pc.is_null(said["session_id"])),
        "documents": documents,
        "documents that no memory cites": uncited,
        "session pages": pages,
        "session pages that no memory cites": unread,
    }
    spoken = f", {pages:,} of them sessions" if pages else ""
    headline = (
        f"{len(open_):,} of {len(sessions):,} sessions are undigested, {int(sizes.sum()):,} memories in all; {new:,} are new."
        if len(sessions)
        else f"No memory names a session; {documents:,} documents were looked at{spoken}."
    )
    return Report("session_backlog", headline, numbers, details={"at": snapshot.taken_at.isoformat()})


def _sessions(snapshot: Snapshot, said: pa.Table) -> pa.Table:
    """Return one row per session: live memories and their tokens, digested memories, start and last record."""
    named = said.filter(pc.is_valid(said["session_id"]))
    memories = snapshot.table("memories")
    summaries = memories.filter(pc.equal(memories["kind"], "summary"))["id"].combine_chunks()
    digested = pc.is_in(named["merged_into"], value_set=summaries)
    is_live = pc.and_(pc.is_null(named["invalidated_at"]), pc.equal(named["state"], "active"))
    lengths = pc.binary_length(version_texts(snapshot, named["current_version_id"]).cast(pa.large_binary()))
    tokens = -(-lengths.to_numpy().astype(np.int64) // BYTES_A_TOKEN) * is_live.to_numpy()
    rows = pa.table(
        {
            "session": named["session_id"],
            "live": is_live.cast(pa.int64()),
            "digested": digested.cast(pa.int64()),
            "tokens": tokens,
            "begun": pc.coalesce(named["valid_from"], named["recorded_at"]),
            "recorded_at": named["recorded_at"],
        }
    )
    wanted = [("live", "sum"), ("digested", "sum"), ("tokens", "sum"), ("begun", "min"), ("recorded_at", "max")]
    return rows.group_by("session").aggregate(wanted)


def _documents(snapshot: Snapshot) -> tuple[int, int, int, int]:
    """Count the live documents and those that no live memory cites, and the sessions among both."""
    documents = snapshot.live("documents", ("id", "plane"))
    cited = pc.list_flatten(snapshot.live("memories")["source_document_ids"]).unique()
    uncited = pc.invert(pc.is_in(documents["id"], value_set=_array(cited)))
    spoken = pc.equal(documents["plane"], "sessions")
    return len(documents), _count(uncited), _count(spoken), _count(pc.and_(uncited, spoken))


def _last(inputs: Inputs) -> datetime | None:
    """Return the time of the last run of the audit, from the audit's own note."""
    try:
        found = datetime.fromisoformat(str(inputs.baselines.get("session_backlog", {}).get("at", "")))
    except ValueError:
        return None
    return found if found.tzinfo else None


def _array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _count(mask: pa.ChunkedArray) -> int:
    return int(pc.sum(mask).as_py() or 0)

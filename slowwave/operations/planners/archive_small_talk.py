"""``archive_small_talk``: greetings, thanks and courtesies leave recall, because no one will ever ask for them.

``slowwave.text.informative`` defines small talk, ``slowwave.snapshots.rows`` chooses the memories. A memory with one sentence that states
something stays unchanged.

The planner archives active memories of what was said that are nothing but small talk, once they are ``min_age_hours`` old, the oldest
first. They stay in the store, with their passages. Exempt memories (``slowwave.snapshots.rows``), memories that an agent selected in the
recall window, promoted ones, and those in an unresolved conflict are left alone. A mere hit in a recall does not protect a memory. Cost:
a pass over memories and versions, and the parsing of short texts.

Each item is a question: of 33 utterances of clinc150's held-out half that the list takes for small talk, only 16 are.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.changes.cells import Value
from slowwave.changes.rows import set_columns
from slowwave.operations import Inputs, Proposal
from slowwave.operations.rejections import REJECTED, open_conflicts, rejected_subjects
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Report
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.rows import RESTS_ON, exemptions, small_talk
from slowwave.text.quotation import quote
from slowwave.text.tokens import counts

OPERATION: Final = "archive_small_talk"
_RESTS_ON: Final = (*RESTS_ON, "valid_from")
_QUOTED: Final = 200  # characters
_SHOWN: Final = 10
_MIN_AGE_HOURS: Final = 24.0  # a conversation of today may still refer to it
_MAX_PER_NIGHT: Final = 1_000  # so that the items of one night stay readable; the next night takes up the rest

Mask = NDArray[np.bool_]


def archive_small_talk(inputs: Inputs) -> Proposal:
    """Propose to archive greetings, thanks, courtesies and empty questions: they leave recall and stay in the store."""
    snapshot = inputs.snapshot
    memories = active_memories(snapshot)
    start = pc.coalesce(memories["valid_from"], memories["recorded_at"])
    until = snapshot.taken_at - timedelta(hours=_MIN_AGE_HOURS)
    signals = inputs.models["recall_signals"]
    selected = signals.filter(pc.greater(signals["selections"], 0))["row_id"]
    disputed = sorted({id_ for pair in open_conflicts(snapshot, "memories") for id_ in pair})
    reasons: dict[str, Mask] = {
        **exemptions(snapshot),
        "too young": pc.greater(start, pa.scalar(until, start.type)).to_numpy(),
        "selected in the window": _among(memories["id"], selected),
        "promoted": _among(memories["id"], snapshot.live("promotions")["memory_id"]),
        "in an open conflict": _among(memories["id"], pa.array(disputed, pa.string())),
    }
    found = small_talk(snapshot)
    numbers: dict[str, int | float] = {"active memories": len(memories), "small talk": int(found.sum())}
    for name, kept in reasons.items():
        numbers[name] = int((found & kept).sum())
        found &= ~kept
    picked = memories.filter(pa.array(found)).append_column("start", start.filter(pa.array(found)))
    items = _items(inputs, picked.sort_by([("start", "ascending"), ("id", "ascending")]))
    refused = rejected_subjects(
        snapshot, OPERATION
    )  # before the limit: a rejected item must not take the place of another
    proposed = [i for i in items if not refused or i.subject() not in refused]
    numbers[REJECTED] = len(items) - len(proposed)
    numbers["left for another night"] = max(0, len(proposed) - _MAX_PER_NIGHT)
    proposed = proposed[:_MAX_PER_NIGHT]
    numbers["tokens"] = sum(int(str(i.evidence["tokens"])) for i in proposed)
    numbers["items"] = len(proposed)
    headline = (
        f"{len(proposed):,} of {len(memories):,} active memories are small talk and would be archived"
        f"{', if a person agrees' if any(i.is_question for i in proposed) else ''}: {numbers['tokens']:,} tokens."
    )
    shown = tuple({"text": quoted} for i in proposed[:_SHOWN] for quoted in _names(i))
    return Proposal(tuple(proposed), Report(OPERATION, headline, numbers, (), shown))


def _items(inputs: Inputs, picked: pa.Table) -> list[Item]:
    """Return one item per memory, in table order."""
    ids: list[str] = picked["id"].to_pylist()
    values: Mapping[str, Mapping[str, Value]] = {id_: {"state": "archived"} for id_ in ids}
    mutations = {m.rows[0].id: m for m in set_columns(inputs.snapshot, "set_state", "memories", values, _RESTS_ON)}
    tokens = counts(picked["text"]).tolist()
    return [
        ask_unless_measured(
            Item(OPERATION, Decision.ARCHIVE, mutations[id_], {"names": [quote(text, _QUOTED)], "tokens": n}),
            "small talk alone",
        )
        for id_, text, n in zip(ids, picked["text"].to_pylist(), tokens, strict=True)
    ]


def _names(item: Item) -> list[str]:
    names = item.evidence["names"]
    return [str(n) for n in names] if isinstance(names, list) else []


def _among(column: pa.ChunkedArray, known: pa.ChunkedArray | pa.Array) -> Mask:
    values = known.combine_chunks() if isinstance(known, pa.ChunkedArray) else known
    return pc.is_in(column, value_set=values).to_numpy()

"""Facts of a snapshot: which hold now, which were recorded and never taken back, and which of them follow each other in time.

What they mean is decided by the audits and planners that ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.keys import keys

SAYS: Final = ("subject", "predicate", "object")
"""What a fact says, in columns."""


def live_facts(snapshot: Snapshot) -> pa.Table:
    """The facts that hold: neither retracted nor ended in the world, and active."""
    live = snapshot.live("memory_facts")
    return live.filter(live["is_active"])


def recorded_facts(snapshot: Snapshot) -> pa.Table:
    """The facts that hold, and those that were merged into one that says the same: each of them was recorded.

    A merge names the survivor in ``superseded_by`` and leaves ``valid_to`` alone; a fact that was replaced has ended.
    """
    facts = snapshot.table("memory_facts")
    merged = pc.and_(
        pc.and_(pc.is_valid(facts["superseded_by"]), pc.is_valid(facts["invalidated_at"])),
        pc.is_null(facts["valid_to"]),
    )
    return pa.concat_tables([live_facts(snapshot), facts.filter(merged)])


def current_facts(snapshot: Snapshot) -> pa.Table:
    """The facts that hold, and those that held until another one replaced them: what is known of the course of things."""
    facts = snapshot.table("memory_facts")
    ended = pc.and_(pc.is_valid(facts["superseded_by"]), pc.is_valid(facts["valid_to"]))
    ended = pc.and_(pc.and_(ended, pc.is_null(facts["invalidated_at"])), pc.invert(facts["is_active"]))
    return pa.concat_tables([live_facts(snapshot), facts.filter(ended)])


@dataclass(frozen=True, slots=True, eq=False)
class Successions:
    """Rows of a table of facts: ``earlier`` and ``later`` (p,) follow each other; after ``contested`` several objects begin at once."""

    earlier: np.ndarray
    later: np.ndarray
    contested: np.ndarray


def successions(facts: pa.Table, now: datetime) -> Successions:
    """Which facts are followed by one of the same subject and predicate with another object, whatever the predicate takes.

    ``facts`` are current ones. The successor is the first fact with another object that begins strictly later, and not after
    ``now``. Where several objects begin at that instant nobody can tell which it is. Time: a sort of the facts.
    """
    starts = facts["valid_from"]
    begun = pc.fill_null(pc.less_equal(starts, pa.scalar(now, starts.type)), False).to_numpy()
    at = np.flatnonzero(begun)
    if len(at) < 2:
        return Successions(at[:0], at[:0], at[:0])
    topic, object_ = (c[at] for c in topics(facts))
    start = starts.cast(pa.int64()).fill_null(0).to_numpy()[at]
    # the surest fact of an object first: it is the one that the earlier one names
    order = np.lexsort((-facts["confidence"].to_numpy()[at], object_, start, topic))
    at, topic, object_, start = (c[order] for c in (at, topic, object_, start))
    # a block is the facts of one topic and start
    begins = np.ones(len(at), bool)
    begins[1:] = (topic[1:] != topic[:-1]) | (start[1:] != start[:-1])
    head = np.flatnonzero(begins)
    of, says = topic[head], object_[head]
    alone = says == object_[np.append(head[1:], len(at)) - 1]  # sorted, so that the ends tell
    # blocks that say the same one after another are one run, and what follows it follows each of them
    opens = np.ones(len(head), bool)
    opens[1:] = ~(alone[1:] & alone[:-1]) | (of[1:] != of[:-1]) | (says[1:] != says[:-1])
    follows = np.append(np.append(np.flatnonzero(opens), len(head))[np.cumsum(opens)], len(head))
    of, says, alone = np.append(of, -1), np.append(says, -1), np.append(alone, True)  # past the end: no topic
    after = follows[np.cumsum(begins) - 1]
    same = (of[after] == topic) & alone[after] & (says[after] == object_)  # one of several goes on
    after = np.where(same, follows[after], after)
    inside = of[after] == topic
    clear = inside & alone[after]
    return Successions(at[clear], at[head[after[clear]]], at[inside & ~clear])


def topics(facts: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """(n,) each: numbers that are equal for facts of one subject and predicate, and for those of one object, by their keys."""
    subject, predicate, object_ = (keys(facts[c]).dictionary_encode() for c in SAYS)
    codes = [c.indices.to_numpy(zero_copy_only=False).astype(np.int64) for c in (subject, predicate, object_)]
    return codes[0] * max(len(predicate.dictionary), 1) + codes[1], codes[2]

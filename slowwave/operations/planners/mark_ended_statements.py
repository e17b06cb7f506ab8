"""``mark_ended_statements``: a sentence that has ended gets its end date, if its memory also states what still holds.

``slowwave.operations.conflicts`` finds what has ended. "Good morning! My flat is in Leeds." becomes "Good morning! My flat is in Leeds
(until 2026-04-12; then: “I moved to Porto”)." in a new version; no word is removed, and the former version stays on record. A sentence
about what happened before, or one for which no one has decided yet whether a later one replaces it, stays and cites the later statement:
"Mara rang from Oslo (later, on 2026-04-12: “Mara moved to Bergen”)". So does one that a denial or a dislike contradicts.

A memory that states nothing else loses the conflict instead (``resolve_conflicts``). A pinned memory, a summary, and one that screening
would hold back are left alone. If the later statement contains brackets or quotation marks, apart from dates written next to relative
ones, only the day is written. Cost: that of finding conflicts, once per night.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import NewVersion, new_versions
from slowwave.operations import Inputs, Proposal
from slowwave.operations.conflicts.find import ended_statements
from slowwave.operations.conflicts.memories import EndedStatement
from slowwave.plans.items import Decision, Item, decides_alone, why_asked
from slowwave.plans.report import Report
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.rows import is_held_back
from slowwave.text.dates import BESIDE, local_day
from slowwave.text.quotation import quote, quote_change
from slowwave.text.subjects import without_later
from slowwave.text.tokens import counted

OPERATION: Final = "mark_ended_statements"
_QUOTED: Final = 400  # signs
_LONGEST: Final = 160  # signs of what is said instead
_RESTS_ON: Final = ("attributes", "kind", "valid_from", "visibility", "sensitivity", "scope")
_CLOSE: Final = re.compile(r"[.!…]*$")
_NO_QUOTE: Final = re.compile(r"[()\[\]{}<>`*_#|\"“”\n\r]")


class _Change(NamedTuple):
    memory: Mapping[str, object]
    text: str
    marks: Sequence[tuple[EndedStatement, str]]


def mark_ended_statements(inputs: Inputs) -> Proposal:
    """Propose to add the end date to a sentence that a later memory ends, if the rest of its memory still holds."""
    found = ended_statements(inputs.snapshot)
    changes, left = _changes(inputs, found)
    vectors = (
        np.asarray(inputs.embed([c.text for c in changes]), np.float32)
        if inputs.embed is not None and changes and inputs.snapshot.vectors["memory_vectors"].model
        else None
    )
    versions = [
        NewVersion(
            str(c.memory["id"]), c.text, OPERATION, rests_on=_RESTS_ON, because=tuple({m.later for m, _ in c.marks})
        )
        for c in changes
    ]
    proposed = tuple(
        _item(change, mutation)
        for change, mutation in zip(changes, new_versions(inputs.snapshot, versions, vectors), strict=True)
    )
    numbers = {
        "sentences that have ended": sum(not one.holds for one in found),
        "sentences that mention what has ended": sum(one.holds for one in found),
        **left,
        "items": len(proposed),
        "for review": sum(i.is_question for i in proposed),
    }
    headline = f"{counted(len(proposed), 'memory tells', 'memories tell')} what is over, and would say until when"
    headline += f"; {numbers['for review']:,} go to a person." if numbers["for review"] else "."
    return Proposal(proposed, Report(OPERATION, headline, numbers=numbers))


def _item(change: _Change, mutation: Mutation) -> Item:
    """Make an item, which is a question unless every rule behind its marks is measured well enough to decide."""
    asks = [one.pattern for one, _ in change.marks if not decides_alone(OPERATION, one.pattern)]
    evidence = _evidence(change)
    if asks:
        evidence["reason"] = why_asked(OPERATION, asks[0])
    decision, risk = (Decision.REVIEW, "high") if asks else (Decision.REWORD, "medium")
    return Item(OPERATION, decision, mutation, evidence=evidence, risk=risk, sources=_sources(change))


def _changes(inputs: Inputs, found: Sequence[EndedStatement]) -> tuple[list[_Change], dict[str, int]]:
    """Return the changed memories, in order, and how many were left alone for each reason."""
    ended: defaultdict[str, list[EndedStatement]] = defaultdict(list)
    for one in found:
        for id_ in one.memories:
            ended[id_].append(one)
    left: dict[str, int] = dict.fromkeys(("pinned", "summaries", "held back by screening"), 0)
    live = active_memories(inputs.snapshot)
    mine = live.filter(pc.is_in(live["id"], value_set=pa.array(sorted(ended), pa.string())))
    changes: list[_Change] = []
    for memory in mine.select(("id", "text", "kind", "pinned", "attributes")).to_pylist():
        if memory["pinned"]:
            left["pinned"] += 1
        elif memory["kind"] == "summary":
            left["summaries"] += 1
        elif is_held_back(memory["text"], memory["attributes"]):
            left["held back by screening"] += 1
        else:
            marks = [(one, _marked(one, inputs.settings.dates_zone)) for one in ended[memory["id"]]]
            marks = [(one, marked) for one, marked in marks if memory["text"].count(one.sentence) == 1]
            text = memory["text"]
            for one, marked in marks:
                text = text.replace(one.sentence, marked)
            if marks:
                changes.append(_Change(memory, text, marks))
    return changes, left


def _marked(one: EndedStatement, zone: str) -> str:
    """Return a sentence with the day on which it ended, and with what was stated then."""
    day = local_day(one.since, zone).isoformat()
    said = _CLOSE.sub("", re.sub(BESIDE, "", without_later(one.said.strip())))
    quoted = not (len(said) > _LONGEST or _NO_QUOTE.search(said) or is_held_back(said, None))
    if one.holds:
        mark = f"later, on {day}: “{said}”" if quoted else f"told before {day}"
    else:
        mark = f"until {day}; then: “{said}”" if quoted else f"until {day}"
    end = _CLOSE.search(one.sentence)
    at = end.start() if end else len(one.sentence)
    return f"{one.sentence[:at]} ({mark}){one.sentence[at:]}"


def _evidence(change: _Change) -> dict[str, object]:
    before, after = quote_change(str(change.memory["text"]), change.text, _QUOTED)
    return {
        "ended": [
            {
                "sentence": quote(one.sentence, _QUOTED),
                "later" if one.holds else "until": one.since.isoformat(),
                "said": quote(one.said, _QUOTED),
            }
            for one, _ in change.marks
        ],
        "before": before,
        "after": after,
    }


def _sources(change: _Change) -> tuple[str, ...]:
    return (str(change.memory["id"]), *dict.fromkeys(one.later for one, _ in change.marks))

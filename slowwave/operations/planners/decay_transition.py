"""``decay_transition``: a memory that has been in its stage for its days is shortened, and finally archived.

No text is overwritten: the text of each stage is a version, and the older ones stay. ``slowwave.operations.scoring`` decides when a
memory is due, ``slowwave.operations.summary_text`` writes the text.

The planner proposes the next stage for every memory that is due (Plugged.in 1.4, at ``days`` and ``tokens``).

A text longer than the next stage allows is shortened: by whole units of its own (``slowwave.text.shortening``), keeping first what
answered past recalls, or by ``consolidation_model`` if it is prose. A text that is short enough stays unchanged, and so does one that
cannot be expressed well in so few words. In all cases it becomes a version, with which the stage begins. After the essence comes the
archive: the memory leaves recall, and nothing is deleted. The evidence lists what a shorter text no longer states; if that is not stated
anywhere else either, the plan's probe makes the item a review.

Exempt memories (``slowwave.snapshots.rows``) stay unchanged, and so does what ``archive_stale`` takes in the same night: its archiving
would take precedence, and the shorter text would be useless. A text that screening has to handle is left until then. Time: one pass over
memories and versions; only the texts of due memories are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.cells import Value
from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import NewVersion, new_versions, set_columns
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import DecayTransitionOptions
from slowwave.operations.planners.archive_stale import OPERATION as ARCHIVE
from slowwave.operations.planners.archive_stale import leaving
from slowwave.operations.planners.mark_ended_statements import OPERATION as MARK
from slowwave.operations.planners.mark_ended_statements import resting
from slowwave.operations.registry import runs_tonight
from slowwave.operations.scoring import STAGES, next_stage, reason, schedule
from slowwave.operations.summary_text import EXTRACTIVE, SummaryText, Writing
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Report
from slowwave.snapshots.memories import active_memories, attributes
from slowwave.snapshots.rows import RESTS_ON, exemptions, is_held_back, questions_of
from slowwave.store.settings import Settings
from slowwave.text.extractive import Source
from slowwave.text.quotation import quote
from slowwave.text.tokens import count

OPERATION: Final = "decay_transition"

_QUOTED: Final = 200  # characters
_DROPS: Final = 20
_COLUMNS: Final = ("id", "text", "valid_from", "recorded_at", "attributes", "source_document_ids", "source_chunk_ids")

_RESTS_ON: Final = (*RESTS_ON, "valid_from")
"""Columns for stage, end and exemptions. Counters, which stretch a stage, change with every recall and are not guarded."""

_LEAVING: Final = f"archived by {ARCHIVE}"

_Fields = Mapping[str, Any]


def decay_transition(inputs: Inputs) -> Proposal:
    """Propose to shorten memories that have been in their decay stage for the days of that stage."""
    snapshot, settings = inputs.snapshot, inputs.settings
    memories = active_memories(snapshot)
    plan = schedule(snapshot, memories, settings)
    due = plan.is_due(int(snapshot.taken_at.timestamp() * 1_000_000))
    archived = leaving(inputs) if runs_tonight(inputs, ARCHIVE) else frozenset[str]()
    archived |= resting(inputs) if runs_tonight(inputs, MARK) else frozenset[str]()  # a person decides about them first
    mine = due & ~pc.is_in(memories["id"], value_set=pa.array(sorted(archived), pa.string())).to_numpy()
    rows = memories.select(_COLUMNS).filter(pa.array(mine)).to_pylist()
    going_on = [
        _Step(row, STAGES[stage], datetime.fromtimestamp(when // 1_000_000, UTC))
        for row, stage, when in zip(rows, plan.stage[mine].tolist(), plan.due[mine].tolist(), strict=True)
    ]
    steps = [s for s in going_on if not _held_back(s)]
    writing = Writing(inputs.consolidator, inputs.budget, OPERATION)
    absent = bool(settings.consolidation_model) and inputs.consolidator is None
    asked = questions_of(snapshot, {s.id for s in steps if s.to != STAGES[-1] and s.too_long(settings)})
    shorter = _shorten(steps, settings, writing, asked, absent=absent)
    proposed = [*_versions(inputs, steps, shorter), *_forgotten(inputs, steps)]
    shortened = [i for i in proposed if "text" in i.evidence]
    forgotten = sum(i.evidence["to"] == STAGES[-1] for i in proposed)
    numbers: dict[str, int | float] = {
        "live memories": len(memories),
        **{name: int(mask.sum()) for name, mask in exemptions(snapshot).items()},
        "due": int(due.sum()),
        "held back by screening": len(going_on) - len(steps),
        **{f"{stage} due": int((plan.stage[due] == n).sum()) for n, stage in enumerate(STAGES[:-1])},
        **({_LEAVING: int((due & ~mine).sum())} if archived else {}),
        "no writer at hand": sum(s.to != STAGES[-1] and s.id not in shorter for s in steps) if absent else 0,
        "shortened": len(shortened),
        "asked": sum(i.is_question for i in proposed),
        "short enough": len(proposed) - len(shortened) - forgotten,
        "archived": forgotten,
        "could not be shortened": sum(bool(i.evidence.get("too_long")) for i in proposed),
        "that drop a specific": sum(bool(i.evidence.get("drops")) for i in proposed),
        "tokens saved": sum(_saved(i) for i in proposed),
        **writing.numbers(),
        "items": len(proposed),
    }
    return Proposal(tuple(proposed), Report(OPERATION, _headline(numbers), numbers, writing.findings()))


def _held_back(step: _Step) -> bool:
    """Return whether the step would write a text that screening has to handle first; an archived text is not written."""
    return step.to != STAGES[-1] and is_held_back(step.text, step.row["attributes"])


@dataclass(frozen=True, slots=True)
class _Step:
    """Memory that leaves its ``stage``, which ended at ``due``."""

    row: _Fields
    stage: str
    due: datetime

    @property
    def id(self) -> str:
        return str(self.row["id"])

    @property
    def text(self) -> str:
        return str(self.row["text"])

    @property
    def to(self) -> str:
        return next_stage(self.stage)

    def too_long(self, settings: Settings) -> bool:
        return count(self.text) > settings.options("decay_transition", DecayTransitionOptions).tokens.get(self.to, 0)


def _shorten(
    steps: Sequence[_Step],
    settings: Settings,
    writing: Writing,
    asked: Mapping[str, tuple[str, ...]],
    *,
    absent: bool,
) -> dict[str, SummaryText | None]:
    """Map each memory to its shorter text, or None if the old one is kept; memories left for another night are missing."""
    found: dict[str, SummaryText | None] = {}
    for step in steps:
        if step.to == STAGES[-1]:
            continue
        if not step.text or not step.too_long(settings):
            found[step.id] = None
        elif not absent:
            text = _dated(step, settings)
            source = Source(step.id, text, step.row["valid_from"])
            room = settings.options("decay_transition", DecayTransitionOptions).tokens.get(step.to, 0)
            said = writing.shorten([source], room, may_lose=True, asked=asked.get(step.id, ()))
            if said is not None:
                found[step.id] = said if said.text and count(said.text) < count(step.text) else None
    return found


def _dated(step: _Step, settings: Settings) -> str:
    """Return the text with absolute instead of relative dates, because the sentences that fix their meaning may be cut."""
    from slowwave.text.dates import absolutize

    anchor, own = step.row["valid_from"], attributes(step.row["attributes"]).get("timezone")
    if anchor is None:
        return step.text
    try:
        return absolutize(
            step.text, anchor, zone=str(own or settings.dates_zone), write=settings.dates_write, nearest=False
        ).text
    except ValueError:  # a row may name any zone
        return absolutize(step.text, anchor, zone=settings.dates_zone, write=settings.dates_write, nearest=False).text


def _versions(inputs: Inputs, steps: Sequence[_Step], shorter: Mapping[str, SummaryText | None]) -> list[Item]:
    """Return the items of the memories that continue with a text, in the order of the steps."""
    snapshot = inputs.snapshot
    mine = [s for s in steps if s.id in shorter]
    new = {id_: text for id_, text in shorter.items() if text is not None}
    changed = [s for s in mine if s.id in new]
    vectors = inputs.embed([new[s.id].text for s in changed]) if inputs.embed is not None and changed else None
    if vectors is not None and vectors.shape[1] != snapshot.vectors["memory_vectors"].matrix.shape[1]:
        vectors = None
    kept = [s for s in mine if s.id not in new]
    mutations = dict(zip([s.id for s in changed], _mutations(inputs, changed, new, vectors), strict=True))
    mutations |= zip([s.id for s in kept], _mutations(inputs, kept, new, None), strict=True)
    return [_item(s, mutations[s.id], new.get(s.id), inputs.settings) for s in mine]


def _mutations(
    inputs: Inputs, steps: Sequence[_Step], new: Mapping[str, SummaryText], vectors: np.ndarray | None
) -> list[Mutation]:
    changes = [
        NewVersion(s.id, new[s.id].text if s.id in new else s.text, reason(s.to), stage=s.to, rests_on=_RESTS_ON)
        for s in steps
    ]
    return new_versions(inputs.snapshot, changes, vectors) if changes else []


def _item(step: _Step, mutation: Mutation, shorter: SummaryText | None, settings: Settings) -> Item:
    before = count(step.text)
    evidence: dict[str, object] = {
        "from": step.stage,
        "to": step.to,
        "due": step.due.isoformat(),
        "tokens_before": before,
        "tokens_after": count(shorter.text) if shorter else before,
    }
    if shorter is None:
        if step.too_long(settings):
            evidence["too_long"] = "It cannot be said well in so few words, so its text stays."
        item = Item(OPERATION, Decision.ADVANCE, mutation, evidence=evidence, sources=(step.id,))
        return ask_unless_measured(item, "stage with the same text")
    drops = list(shorter.missing)
    evidence |= {
        "text": shorter.text,
        "drops": drops[:_DROPS],
        "dropped": len(drops),
        "writer": shorter.writer,
        "problem": shorter.problem,
    }
    low = not drops and shorter.writer == EXTRACTIVE
    item = Item(
        OPERATION,
        Decision.SHORTEN,
        mutation,
        evidence=evidence,
        risk="low" if low else "medium",
        sources=(step.id,),
        tokens=shorter.tokens,
    )
    return ask_unless_measured(item, "shorter text")


def _saved(item: Item) -> int:
    return int(str(item.evidence["tokens_before"])) - int(str(item.evidence["tokens_after"]))


def _forgotten(inputs: Inputs, steps: Sequence[_Step]) -> list[Item]:
    last = {s.id: s for s in steps if s.to == STAGES[-1]}
    values: dict[str, dict[str, Value]] = {id_: {"stage": STAGES[-1], "state": "archived"} for id_ in last}
    mutations = set_columns(inputs.snapshot, "set_state", "memories", values, _RESTS_ON) if values else []
    return [
        ask_unless_measured(
            Item(
                OPERATION,
                Decision.FORGET,
                mutation,
                evidence={
                    "from": last[mutation.rows[0].id].stage,
                    "to": STAGES[-1],
                    "due": last[mutation.rows[0].id].due.isoformat(),
                    "names": [quote(last[mutation.rows[0].id].text, _QUOTED)],
                    "tokens_before": count(last[mutation.rows[0].id].text),
                    "tokens_after": 0,
                },
                risk="medium",
                sources=(mutation.rows[0].id,),
            ),
            "last stage over",
        )
        for mutation in mutations
    ]


def _headline(numbers: Mapping[str, int | float]) -> str:
    return (
        f"{numbers['due']:,} of {numbers['live memories']:,} live memories are due for their next stage: {numbers['shortened']:,} are "
        f"shortened if a person agrees, {numbers['short enough']:,} are short enough, {numbers['archived']:,} are archived"
        + (f", {numbers[_LEAVING]:,} are archived by {ARCHIVE} instead" if _LEAVING in numbers else "")
        + f"; {numbers['tokens saved']:,} tokens are saved."
    )

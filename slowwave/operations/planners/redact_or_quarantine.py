"""``redact_or_quarantine``: memories that hold a secret, an order to a model or hidden text leave recall, or say it without the secret.

What is found and where belongs to ``slowwave.texts.screening``; chunks, entities and pages are reported by the audit ``safety_scan``.

One item for each active memory with a secret, an order or hidden text, after ``policy``.

``block`` takes it out of recall once a person has reviewed it, ``quarantine`` once the plan is approved; ``redact`` gives it a version
without its secrets and split words, unless it holds an order to a model or hidden text, which is quarantined; ``warn`` only tells.
Left alone: stray marks, look-alike words by themselves, memories that a person cleared, and pinned ones, which are reported. An item
says rules and places and quotes nothing. After nexo's secret guard (3.6), where one secret blocked a whole batch: here it blocks
its own memory. Cost: linear in the texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from slowwave.config.settings import Settings
from slowwave.mutations.cells import Value
from slowwave.mutations.mutation import Mutation
from slowwave.mutations.new_version import REDACTION, NewVersion, new_versions
from slowwave.mutations.set_columns import set_columns
from slowwave.operations import Inputs, Proposal, operation
from slowwave.operations.spec import FIRST
from slowwave.plans.items import Item
from slowwave.plans.permitted import OF_MEMORIES, Permit
from slowwave.reports.model import Finding, Report
from slowwave.rows.memories import active_memories
from slowwave.rows.screening_exemptions import is_cleared
from slowwave.texts.findings import Detection as Found

OPERATION: Final = "redact_or_quarantine"
_NAMED: Final = 20
_GUARDED: Final = ("current_version_id", "attributes", "pinned")
_KEPT: Final = "The original stays in the version history, and its source chunks as they are: no search tells one that says no more."

_Decision = Literal["redact", "quarantine", "review"]


class _Held(NamedTuple):
    """A memory with findings that count, and what is to become of it; ``text`` is the redacted one, or empty."""

    id: str
    length: int
    found: tuple[Found, ...]
    decision: _Decision
    chunks: int
    text: str = ""


@operation(
    kind="planner",
    reads=("memories", "memory_versions", "memory_vectors", "rejections"),
    after=FIRST,
    permits=(
        Permit("set_state", {"memories"}, "medium", only={"state"}, retires=1),
        Permit("new_version", {"memories"}, "medium", beside=OF_MEMORIES),
    ),
)
def redact_or_quarantine(inputs: Inputs) -> Proposal:
    """Memories with a secret, an order to a model or hidden text leave recall, or get a version without the secret.

    What is done is the setting `operations.redact_or_quarantine.policy`. Items say which rules and where, and quote nothing. Pinned
    memories are only reported; those whose attribute `screening` is `cleared` are left alone.
    """
    snapshot, settings = inputs.snapshot, inputs.settings
    memories = active_memories(snapshot)
    numbers: dict[str, int] = {"active memories": len(memories)}
    held, pinned = _held(memories, settings, numbers)
    waiting = held if settings.operations.redact_or_quarantine.policy == "warn" else []
    acted = [] if settings.operations.redact_or_quarantine.policy == "warn" else held
    mutations = _quarantines(inputs, [h for h in acted if h.decision != "redact"])
    mutations |= _redactions(inputs, [h for h in acted if h.decision == "redact"])
    items = tuple(
        Item(
            OPERATION,
            h.decision,
            mutations[h.id],
            _evidence(h, settings.operations.redact_or_quarantine.policy),
            risk="high" if h.decision == "review" else "medium",
        )
        for h in acted
    )
    for decision in ("redact", "quarantine", "review"):
        numbers[f"{decision} items"] = sum(h.decision == decision for h in acted)
    numbers["pinned memories with findings"] = len(pinned)
    numbers["items"] = len(items)
    return Proposal(
        items,
        Report(
            OPERATION,
            f"{len(held):,} of {len(memories):,} active memories hold a secret, an order to a model or hidden text"
            + (
                f"; {len(items):,} would be redacted or quarantined."
                if items or not waiting
                else "; by the policy they are only reported."
            ),
            numbers=numbers,
            findings=(
                *_findings_of(pinned, "pinned and left as they are: reword or unpin them"),
                *_findings_of(waiting, "left as they are by the policy warn: look at them"),
            ),
        ),
    )


def _held(memories: pa.Table, settings: Settings, numbers: dict[str, int]) -> tuple[list[_Held], list[_Held]]:
    """(memories to act on, pinned ones), by id; ``numbers`` receives what was left out."""
    from slowwave.texts.screening import counting, redact, screen_all  # its rules take a while to load

    held: list[_Held] = []
    pinned: list[_Held] = []
    counts = dict.fromkeys(("cleared by a person", "stray marks or look-alikes only"), 0)
    for place, found in screen_all(memories["text"]):
        row = memories.slice(place, 1).to_pylist()[0]
        id_, text, cell, n = row["id"], row["text"], row["attributes"], len(row["source_chunk_ids"] or ())
        counts_for = counting(found)
        if not counts_for:
            counts["stray marks or look-alikes only"] += 1
        elif is_cleared(cell):
            counts["cleared by a person"] += 1
        elif row["pinned"]:
            pinned.append(_Held(id_, len(text), counts_for, "review", n))
        else:
            clean = redact(text, found) if _may_be_redacted(counts_for, settings) else ""
            decision: _Decision = (
                "redact"
                if clean
                else "review"
                if settings.operations.redact_or_quarantine.policy == "block"
                else "quarantine"
            )
            held.append(_Held(id_, len(text), counts_for, decision, n, clean))
    numbers |= counts
    return held, pinned


def _may_be_redacted(found: Sequence[Found], settings: Settings) -> bool:
    """Whether the policy is to redact, and nothing is found that a text without it would still be suspect of."""
    return settings.operations.redact_or_quarantine.policy == "redact" and all(
        f.kind == "secret" or (f.kind == "hidden" and f.severity == "medium") for f in found
    )


def _quarantines(inputs: Inputs, held: Sequence[_Held]) -> dict[str, Mutation]:
    """Memory → what takes it out of recall, as long as it says what was screened and nobody has cleared or pinned it."""
    if not held:
        return {}
    values: dict[str, dict[str, Value]] = {h.id: {"state": "quarantined"} for h in held}
    mutations = set_columns(inputs.snapshot, "set_state", "memories", values, _GUARDED)
    return {m.rows[0].id: m for m in mutations}


def _redactions(inputs: Inputs, held: Sequence[_Held]) -> dict[str, Mutation]:
    """Memory → its version without secrets, with the vector of the new text when there is an embedder."""
    if not held:
        return {}
    changes = [NewVersion(h.id, h.text, REDACTION, rests_on=("attributes",)) for h in held]
    vectors = (
        np.asarray(inputs.embed([h.text for h in held]), np.float32)
        if inputs.embed is not None and inputs.snapshot.vectors["memory_vectors"].model
        else None
    )
    mutations = new_versions(inputs.snapshot, changes, vectors)
    return {h.id: m for h, m in zip(held, mutations, strict=True)}


def _evidence(held: _Held, policy: str) -> dict[str, object]:
    return {
        "policy": policy,
        "rules": sorted({f"{f.kind} ({f.rule})" for f in held.found}),
        "found": [[f.start, f.end, f.rule, f.severity] for f in held.found[:_NAMED]],
        "findings": len(held.found),
        "characters": held.length,
        "source_chunks": held.chunks,
        **({"kept": _KEPT} if held.decision == "redact" else {}),
    }


def _findings_of(held: Sequence[_Held], why: str) -> list[Finding]:
    """One finding for all: the audit names each."""
    if not held:
        return []
    message = f"{len(held):,} memories with findings are {why}; the safety scan names them."
    return [Finding(message, rows=tuple(h.id for h in held[:_NAMED]), severity="warning")]

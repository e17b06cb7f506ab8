"""``accept_external_edits``: record what an outside dreamer rewrote and reported, once (mnemo 2.4, steps 2 and 6).

What the dreamer wrote stays unchanged. ``slowwave.text.turns`` parses the reports.

The planner marks what a dreamer rewrote as seen and renews its vector; it stamps the reports and counts their figures.

A memory was rewritten if its attribute ``dreamed_at`` is text and ``dreamed_processed`` is not true. A report is stamped with the instant
at which its version was recorded, so that the same memory yields the same plan. A night handles at most ``reembed.max_per_night``
memories, in id order: a memory whose vector was not renewed is not marked. Time: linear in the memories, and in the texts of the memories
concerned.

The planner writes only marks and vectors, so it decides without a measurement (``slowwave.plans.items``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.rows import set_columns, set_vector
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import ReembedOptions
from slowwave.plans.items import Decision, Item
from slowwave.plans.report import Finding, Report
from slowwave.snapshots.memories import active_memories
from slowwave.text.turns import HEADING, OrganizationReport, parse

OPERATION: Final = "accept_external_edits"

SAME_VECTOR: Final = 1e-5
"""Components that differ by no more than this are equal: a model's answer varies slightly with the batch."""


@dataclass(slots=True)
class _Found:
    """Result of one pass over the memories; ``marks`` are the new attributes by memory."""

    marks: dict[str, dict[str, object]] = field(default_factory=dict)
    rewritten: list[tuple[str, str]] = field(default_factory=list)
    reports: dict[str, OrganizationReport] = field(default_factory=dict)
    malformed: int = 0


def accept_external_edits(inputs: Inputs) -> Proposal:
    """Propose to mark memories that an outside dreamer rewrote as seen, and to renew the vectors of their texts."""
    snapshot, limit = inputs.snapshot, inputs.settings.options("reembed", ReembedOptions).max_per_night
    active = active_memories(snapshot)
    found = _find(_candidates(active), _recorded(inputs, active))
    taken = sorted(found.marks)[:limit]
    kept = frozenset(taken)
    items = [
        Item(OPERATION, Decision.ACCEPT, mutation, evidence=_evidence(found, mutation.rows[0].id))
        for mutation in set_columns(
            snapshot,
            "set_attributes",
            "memories",
            {id_: {"attributes": json.dumps(found.marks[id_], sort_keys=True, ensure_ascii=False)} for id_ in taken},
        )
    ]
    vectors = _renewed(inputs, [(id_, text) for id_, text in found.rewritten if id_ in kept])
    if vectors:
        items += [
            Item(OPERATION, Decision.RE_EMBED, mutation) for mutation in set_vector(snapshot, "memory_vectors", vectors)
        ]
    return Proposal(tuple(items), _report(found, len(active), kept, len(vectors), len(items)))


def _candidates(active: pa.Table) -> pa.Table:
    """Return the memories whose text or attributes contain the names that mark a rewrite or a report."""
    dreamed = pc.fill_null(pc.match_substring(active["attributes"], "dreamed_at"), False)
    reports = pc.match_substring_regex(active["text"], HEADING)
    return active.filter(pc.or_(dreamed, reports)).select(["id", "attributes", "text", "current_version_id"])


def _recorded(inputs: Inputs, active: pa.Table) -> Mapping[str, str]:
    """Map each version of a memory with a report to the time when it was recorded, ISO 8601 in UTC."""
    reports = active.filter(pc.match_substring_regex(active["text"], HEADING))
    versions = inputs.snapshot.table("memory_versions").select(["id", "recorded_at"])
    mine = versions.filter(pc.is_in(versions["id"], value_set=reports["current_version_id"].combine_chunks()))
    return {str(row["id"]): row["recorded_at"].isoformat() for row in mine.to_pylist()}


def _find(candidates: pa.Table, recorded: Mapping[str, str]) -> _Found:
    found = _Found()
    for row in candidates.to_pylist():
        try:
            attributes: object = json.loads(row["attributes"])
        except (TypeError, ValueError, RecursionError):
            attributes = None
        if not isinstance(attributes, dict):  # which a mark would overwrite
            found.malformed += 1
            continue
        marks: dict[str, object] = {}
        if isinstance(attributes.get("dreamed_at"), str) and attributes.get("dreamed_processed") is not True:
            marks["dreamed_processed"] = True
            found.rewritten.append((row["id"], row["text"]))
        if "dream_report_ingested_at" not in attributes and (report := parse(row["text"])) is not None:
            marks["dream_report_ingested_at"] = recorded[row["current_version_id"]]
            found.reports[row["id"]] = report
        if marks:
            found.marks[row["id"]] = {**attributes, **marks}
    return found


def _renewed(inputs: Inputs, rewritten: Sequence[tuple[str, str]]) -> dict[str, np.ndarray]:
    """Map each memory whose vector changes to the vector of its text; memories without one are left to ``reembed``."""
    vectors = inputs.snapshot.vectors["memory_vectors"]
    if inputs.embed is None or not vectors.model or not rewritten:
        return {}
    places = vectors.rows_of(pa.array([id_ for id_, _ in rewritten], pa.string()))
    held = [(id_, text, place) for (id_, text), place in zip(rewritten, places, strict=True) if place >= 0 and text]
    if not held:
        return {}
    fresh = inputs.embed([text for _, text, _ in held])
    if fresh.shape[1] != vectors.matrix.shape[1]:
        return {}
    apart = np.abs(fresh - vectors.matrix[[place for _, _, place in held]]).max(axis=1)
    return {
        id_: vector
        for (id_, _, _), vector, distance in zip(held, fresh, apart, strict=True)
        if not distance <= SAME_VECTOR
    }


def _evidence(found: _Found, id_: str) -> dict[str, object]:
    report = found.reports.get(id_)
    counts = (
        {"consolidated": report.consolidated, "removed": report.removed, "reindexed": report.reindexed}
        if report
        else {}
    )
    return {"rewritten": "dreamed_processed" in found.marks[id_], "counts": counts}


def _report(found: _Found, looked_at: int, kept: frozenset[str], vectors: int, items: int) -> Report:
    known = list(found.reports.values())
    numbers: dict[str, int | float] = {
        "memories looked at": looked_at,
        "memories with attributes of no object": found.malformed,
        "rewritten outside": len(found.rewritten),
        "reports": len(known),
        "reported consolidated": sum(r.consolidated for r in known),
        "reported removed": sum(r.removed for r in known),
        "reported reindexed": sum(r.reindexed for r in known),
        "vectors renewed": vectors,
        "left for later": len(found.marks) - len(kept),
        "items": items,
    }
    if not found.marks:
        headline = f"None of {looked_at:,} memories was rewritten by an outside dreamer or holds a new report of one."
    else:
        headline = (
            f"{len(found.rewritten):,} of {looked_at:,} memories were rewritten by an outside dreamer, and {len(known):,} hold a report of "
            "its work."
        )
    findings = tuple(
        Finding(
            f"A report tells of {r.consolidated:,} consolidated, {r.removed:,} removed and {r.reindexed:,} reindexed.",
            (id_,),
            details={"counts": {"consolidated": r.consolidated, "removed": r.removed, "reindexed": r.reindexed}},
        )
        for id_, r in sorted(found.reports.items())
    )
    return Report(OPERATION, headline, numbers, findings)

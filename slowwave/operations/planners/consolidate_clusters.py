"""``consolidate_clusters``: one shorter text summarizes related memories, which leave recall in favour of it.

Vectors find close memories; their texts decide: no summary contains two texts that contradict each other, and a summary that would leave
out a specific is not proposed. ``slowwave.operations.summary_text`` writes the summaries.

The planner proposes summaries of close memories of one kind, scope, subject, author and audience (Plugged.in 1.3, corrected).

Every two members have at least the cosine of ``cohesion_floor``, and no two contradict each other: neither by their texts, nor by the
audit of contradictions, nor by a conflict on record, whatever was decided about it. Clusters are split to ``max_input_tokens``, never
cut. A summary replaces only the memories that it states in full. The others stay unchanged, and so do all members if fewer than
``min_cluster_size`` are left or less than a tenth of the tokens is saved.

The ``max_clusters_per_run`` most valuable summaries are proposed, chosen from five times as many with the most tokens, as far as the
limit of what a plan may retire allows. The value is the saving, times the share of informative words among the members' words
(``slowwave.text.informative``). Memories of nothing but small talk are left alone, and other memories are summarized without their small
talk. A summary may become part of another one after ``cooldown_days``, together with at least as many new memories. Exempt memories
(``slowwave.snapshots.rows``), essences and memories that screening has to handle first are left alone.

Time: that of ``near_pairs``, which is linear above some thousand memories per block, that of finding contradictions, and linear in the
texts of the clusters that are summarized.

A summary replaces the words of its members in recall, so it is a question (``slowwave.plans.items``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from slowwave.operations import Inputs, Proposal
from slowwave.operations.consolidation import Search, cohesion_floor, contradicting, rejected
from slowwave.operations.summary_text import (
    FoundSummary,
    Pool,
    Writing,
    candidates,
    cosines_among,
    in_focus,
    summary_items,
)
from slowwave.plans.report import Report
from slowwave.text.quotation import quote

OPERATION: Final = "consolidate_clusters"

_QUOTED: Final = 200  # characters
_SHOWN: Final = 10


def consolidate_clusters(inputs: Inputs) -> Proposal:
    """Propose one shorter text for memories that are similar to each other."""
    settings, snapshot = inputs.settings, inputs.snapshot
    numbers: dict[str, int | float] = {}
    if settings.consolidation_model and inputs.consolidator is None:
        headline = "No summary is proposed, as the model that the settings name is not at hand."
        return Proposal((), Report(OPERATION, headline, {"no writer at hand": 1, "items": 0}))
    pool = candidates(snapshot, settings, numbers)
    writing = Writing(inputs.consolidator, inputs.budget, OPERATION)
    cannot_link = contradicting(snapshot, settings).every() | rejected(snapshot, OPERATION)
    floor = cohesion_floor(inputs)
    numbers["cosine of two members"] = round(floor, 4)
    summaries = Search(pool, settings, floor, cannot_link, in_focus(pool, inputs.focus), writing, numbers).summaries()
    items = summary_items(inputs, OPERATION, pool, summaries)
    numbers |= {**writing.numbers(), **_figures(summaries), "items": len(items)}
    return Proposal(
        tuple(items), Report(OPERATION, _headline(numbers), numbers, writing.findings(), _table(pool, summaries))
    )


def _figures(summaries: Sequence[FoundSummary]) -> dict[str, int | float]:
    """Sum up the figures that Plugged.in keeps as ``dream_consolidations``."""
    return {
        "summaries": len(summaries),
        "memories that would be absorbed": sum(len(s.places) for s in summaries),
        "cluster members that stay": sum(len(s.uncited) for s in summaries),
        "tokens before": sum(s.before for s in summaries),
        "tokens after": sum(s.after for s in summaries),
        "tokens saved": sum(s.saving for s in summaries),
    }


def _table(pool: Pool, summaries: Sequence[FoundSummary]) -> tuple[Mapping[str, object], ...]:
    return tuple(
        {
            "sources": len(s.places),
            "similarity": round(float(cosines_among(pool, s.places).mean()), 4),
            "tokens before": s.before,
            "tokens after": s.after,
            "writer": s.written.writer,
            "text": quote(s.written.text, _QUOTED),
        }
        for s in summaries[:_SHOWN]
    )


def _headline(numbers: Mapping[str, int | float]) -> str:
    return (
        f"{numbers['summaries']:,} summaries would stand for {numbers['memories that would be absorbed']:,} of "
        f"{numbers['live memories']:,} live memories and save {numbers['tokens saved']:,} of {numbers['live tokens']:,} tokens."
    )

"""``consolidate_clusters``: memories that go together are summarized by one shorter text, and leave recall for it.

Vectors say which memories lie close, what the texts say decides: nothing that contradicts another stands in one summary, and a
summary that would leave out a specific is not proposed. How a summary is worded belongs to ``slowwave.operations.summary_text``.

Propose summaries of memories of one kind, scope, subject, author and audience that lie close (Plugged.in 1.3, put right).

Every two members have the cosine of ``consolidation_floor``, and no two contradict each other: neither by their texts, nor by the audit of
contradictions, nor by a conflict on record, whatever was decided about it. Clusters are split to ``max_input_tokens``,
never cut. A summary stands for those that it tells whole: the others stay what they are, and so does everyone where fewer than
``min_cluster_size`` are left or less than a tenth of the tokens is saved. The ``max_clusters_per_run``
of most worth are proposed, out of five times as many of the most tokens, as far as they leave room in what a plan may retire: what they
save, by the share of their members' words that tell something (``slowwave.text.informative``). Small talk alone is left as it is, and what
stands beside it is told without it. A summary
may become part of another one after ``cooldown_days``, with as many new memories at least. Exempt memories
(``slowwave.snapshots.rows``), essences and what screening has to act on first are left alone.

Time: that of ``consolidation_pairs``, which is linear beyond some thousand memories of a block, of finding what contradicts, and linear in
the texts of the clusters that are worded.

A summary replaces the words of its members in recall, so it is a question (``slowwave.plans.items``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from slowwave.operations import Inputs, Proposal, operation
from slowwave.operations.consolidation import Search, cohesion_floor, contradicting, rejected
from slowwave.operations.operation import MEMORIES
from slowwave.operations.summary_text import (
    FoundSummary,
    Pool,
    Writing,
    candidates,
    cosines_among,
    in_focus,
    summary_items,
)
from slowwave.plans.permitted import OF_MEMORIES, Permit
from slowwave.plans.report import Report
from slowwave.text.screening import quote

OPERATION: Final = "consolidate_clusters"

_QUOTED: Final = 200  # characters
_SHOWN: Final = 10


@operation(
    kind="planner",
    reads=("memories", "memory_versions", "memory_vectors", "chunks", "documents", "conflicts", "rejections"),
    after=("dedupe_memories",),
    weekly=True,
    permits=(Permit("insert_summary", {"memories"}, beside=OF_MEMORIES, retires=None),),
    compares=MEMORIES,
)
def consolidate_clusters(inputs: Inputs) -> Proposal:
    """Memories that lie close are summarized by one shorter text; once a person agrees they leave recall for it and stay linked to it.

    A summary stands for those whose numbers, dates, names and negations it all keeps; the others stay what they are. Its sentences
    are taken from the sources, or written by `SLOWWAVE_CONSOLIDATION_MODEL` and held against them.
    """
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
    """What Plugged.in keeps as ``dream_consolidations``, summed up."""
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

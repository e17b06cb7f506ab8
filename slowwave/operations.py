"""What every operation takes and gives: ``Inputs`` in, a ``Report`` from audits and a ``Proposal`` from planners."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from slowwave.coverage import blind, told
from slowwave.errors import DreamForbiddenOpError, Refused
from slowwave.language import Embed
from slowwave.language.budget import Budget
from slowwave.language.chat import Chat
from slowwave.plans.items import Item
from slowwave.reports.model import Report
from slowwave.settings import Settings
from slowwave.snapshot import Snapshot
from slowwave.texts.quotation import Known, quotable

if TYPE_CHECKING:
    from slowwave.matching.evidence import Model  # brings SciPy, which definitions do without


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """All that an operation may read or ask. It has no connection to the store.

    ``budget`` is asked before every call of a model and told what it cost; ``writer`` writes summaries of communities, ``consolidator``
    those of memories and shorter texts, when they are configured.
    ``models`` are the SQL models' results by name; ``baselines`` the ``details`` of the previous night's reports by operation.
    With ``focus`` a planner may confine itself to what these rows take part in; ``learnt`` is what planners have learnt tonight, by
    operation, and need not learn again. ``ops`` are the operations that the night was asked for by name; without them the settings say.
    """

    snapshot: Snapshot
    models: Mapping[str, pa.Table]
    settings: Settings
    baselines: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    embed: Embed | None = None
    judges: tuple[Chat, ...] = ()
    focus: frozenset[str] | None = None
    learnt: Mapping[str, Model] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    writer: Chat | None = None
    consolidator: Chat | None = None
    ops: Collection[str] | None = None

    def runs(self, operation: str) -> bool:
        """Whether an operation is part of this night."""
        return not skip_reason(operation, self.settings, self.ops)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a planner proposes, with its account of what it looked at.

    For a second look at the outcome: what it has ``learnt``, and the ids of rows that its items bring ``nearer`` to each other
    without writing to them.
    """

    items: tuple[Item, ...]
    report: Report
    learnt: Model | None = None
    nearer: tuple[str, ...] = ()


BUDGET_SPENT: Final = "budget_spent"
"""In a planner's numbers: calls of models that the token budget of the run or the day did not allow."""

Audit = Callable[[Inputs], Report]
Planner = Callable[[Inputs], Proposal]

SWITCHES: Final[Mapping[str, str]] = {
    "redact_or_quarantine": "redact_or_quarantine_enabled",
    "accept_external_edits": "accept_external_edits_enabled",
    "consolidate_clusters": "consolidate_clusters_enabled",
    "decay_transition": "decay_transition_enabled",
    "absolutize_dates": "absolutize_dates_enabled",
    "archive_stale": "archive_stale_enabled",
    "promote_memories": "promote_memories_enabled",
    "backfill_tags": "backfill_tags_enabled",
    "reembed": "reembed_enabled",
    "compile_pages": "compile_pages_enabled",
    "contradictions": "contradiction_detect_enabled",
    "resolve_conflicts": "contradiction_reconcile_enabled",
    "dedupe_facts": "dedupe_facts_enabled",
    "supersede_facts": "supersede_facts_enabled",
    "dedupe_memories": "dedupe_memories_enabled",
    "dedupe_entities": "dedupe_entities_enabled",
    "recompute_centroids": "centroid_recompute_enabled",
    "normalize_schema": "normalize_schema_enabled",
    "gc_references": "source_chunk_ids_gc_enabled",
    "prune_edges": "prune_edges_enabled",
    "community_summaries": "community_summary_enabled",
    "purge_expired": "compact_facts_enabled",
}
"""Operation → the setting that makes it part of a night for which nobody names operations. The others always are."""


WEEKLY: Final = ("consolidate_clusters", "decay_transition", "community_summaries")
"""Operations that are dear and seldom news: the scheduled night from Saturday to Sunday has them besides."""

FORBIDDEN: Final = frozenset(("delete_document", "document_delete", "documents_delete"))
"""Kinds that no night may do, whoever asks."""

KHORA_KINDS: Final[Mapping[str, str]] = {
    "compact_facts": "purge_expired",
    "cluster_events": "dedupe_memories",
    "vectorcypher_schema_drift_report": "schema_drift",
    "vectorcypher_source_chunk_ids_audit": "dead_references",
    "vectorcypher_source_chunk_ids_gc": "gc_references",
    "vectorcypher_orphan_report": "orphans",
    "vectorcypher_centroid_recompute": "recompute_centroids",
    "vectorcypher_dedupe_entities": "dedupe_entities",
    "vectorcypher_prune_edges": "prune_edges",
    "vectorcypher_community_summary": "community_summaries",
    "vectorcypher_contradiction_detect": "contradictions",
    "vectorcypher_contradiction_reconcile": "resolve_conflicts",
    "vectorcypher_normalize_schema": "normalize_schema",
    "chronicle_abstention_drift_report": "abstention_drift",
    "chronicle_tombstone_audit": "tombstones",
    "chronicle_fact_compaction": "purge_expired",
    "chronicle_event_clustering": "dedupe_memories",
}
"""khora's kind → our operation; its other generic kinds have our names."""


def weekly(settings: Settings, known: Collection[str]) -> frozenset[str]:
    """What the settings switch on, and the weekly operations."""
    return frozenset(name for name in known if not skip_reason(name, settings, None)).union(WEEKLY)


def named(ops: str | Collection[str] | None, known: Collection[str]) -> frozenset[str] | None:
    """The operations that ``ops`` names: ``all``, names separated by commas, or a collection of names; None when nothing is asked.

    khora's kinds are understood. Raises ``DreamForbiddenOpError`` for a forbidden kind, ``Refused`` for an unknown one and for a list that
    names none: that is nothing to do, and not everything.
    """
    if ops is None:
        return None
    asked = [name.strip().lower() for name in (ops.split(",") if isinstance(ops, str) else ops)]
    if not any(asked):
        raise Refused(
            "The list of operations is empty, so there is nothing to plan. Name some, or all; without a list the settings say which."
        )
    if forbidden := FORBIDDEN.intersection(asked):
        raise DreamForbiddenOpError(
            f"{min(forbidden)} is forbidden: a night never deletes a document. Take it out of the operations; nothing was done."
        )
    if "all" in asked:
        return frozenset(known)
    found = {name if name in known else KHORA_KINDS.get(name, name) for name in asked}
    if unknown := sorted(found - set(known)):
        raise Refused(f"There is no operation {unknown[0][:64]!r}. Known: {', '.join(sorted(known))}, or all.")
    return frozenset(found)


def skip_reason(operation: str, settings: Settings, ops: Collection[str] | None) -> str:
    """Why a night leaves an operation out, or an empty string: by name when ``ops`` names any, else by its switch."""
    if ops is not None:
        return "" if operation in ops else "op_not_requested"
    switch = SWITCHES.get(operation)
    return "" if switch is None or getattr(settings, switch) else "op_disabled_by_config"


def run_audit(name: str, audit: Audit, inputs: Inputs, ops: Collection[str] | None = None) -> Report:
    """The audit's report with its time and what it could not compare, or the report that says why it did not run."""
    if reason := skip_reason(name, inputs.settings, ops):
        return _left_out(name, reason)
    if report := blind(name, inputs.snapshot):
        return report
    began, clock = datetime.now(UTC), time.perf_counter()
    report = _quotable(told(audit(inputs), inputs.snapshot))
    return replace(report, started_at=began.isoformat(), seconds=time.perf_counter() - clock)


def run_planner(name: str, planner: Planner, inputs: Inputs, ops: Collection[str] | None = None) -> Proposal:
    """The planner's proposal with its time and what it could not compare, or an empty one that says why it did not run."""
    if reason := skip_reason(name, inputs.settings, ops):
        return Proposal((), _left_out(name, reason))
    if report := blind(name, inputs.snapshot):
        return Proposal((), report)
    began, clock, refused = datetime.now(UTC), time.perf_counter(), inputs.budget.refused
    proposal = planner(replace(inputs, ops=ops))
    report = _quotable(told(proposal.report, inputs.snapshot))
    report = replace(report, started_at=began.isoformat(), seconds=time.perf_counter() - clock)
    if missed := inputs.budget.refused - refused:
        report = replace(report, numbers={**report.numbers, BUDGET_SPENT: missed})
    return replace(proposal, report=report)


def _quotable(report: Report) -> Report:
    """The report without what screening would redact: it is kept, shown and sent."""
    known: Known = {}
    return replace(
        report,
        headline=quotable(report.headline, known),
        numbers=quotable(report.numbers, known),
        findings=tuple(
            replace(f, message=quotable(f.message, known), details=quotable(f.details, known)) for f in report.findings
        ),
        table=quotable(report.table, known),
        plots=tuple(replace(p, title=quotable(p.title, known), labels=quotable(p.labels, known)) for p in report.plots),
        details=quotable(report.details, known),
    )


def _left_out(name: str, reason: str) -> Report:
    how = (
        "not among the operations asked for"
        if reason == "op_not_requested"
        else f"off in the settings (SLOWWAVE_{SWITCHES[name].upper()})"
    )
    return Report(name, f"Did not run: it is {how}.", skipped=reason)

"""The closed vocabulary: words that are this program's own and never memory. Which of them is kept where belongs to
``slowwave.reports.redaction``; a word that is missing here is hidden, no more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module
from typing import Final

from sqlalchemy import DateTime, Text

from slowwave.mutations.mutation import KINDS
from slowwave.store.tables import metadata


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COLUMNS: Final = tuple(column for table in metadata.tables.values() for column in table.columns)

TABLES: Final = frozenset(table.name for table in metadata.tables.values())
"""Names of tables, of memory and of the ledger."""

_sources: Final[list[Callable[[], Collection[str]]]] = []


def take_from(source: Callable[[], Collection[str]]) -> None:
    """Have ``source`` asked for the names of audits and planners from now on. ``slowwave.operations`` gives its own when it is imported."""
    _sources[:] = [source]
    operations.cache_clear()


@cache
def operations() -> frozenset[str]:
    """Names of audits, planners and of what else writes. Where a process has listed no operations yet, ours are the source."""
    if not _sources:
        import_module("slowwave.operations")
    return frozenset(("apply", "undo")).union(*(source() for source in _sources))


WORDS: Final = (
    TABLES
    | frozenset(KINDS)
    | frozenset(column.name for column in _COLUMNS)
    | _words(
        """
        add applied apply approved archive audit audit_complete awaiting_approval calibrated cancelled centroid chunk
        clean close compact completed crashed date defer deferred delete descriptions detected different document
        empty entity episodes error evidence_weighted exact expired failed high info insert insufficient_input invalidate invalidated is
        isolated item keep keep_newest kept llm_budget_exhausted low low_similarity lower manual many medium merge
        merged_type moved new no_candidates no_op no_vectors none noop now number object one_object one_way prefer
        op_disabled_by_config op_not_requested pending plan planned polarity probe property_contradiction prune purge
        raise re_embed re_embed_unavailable recall_events rejected relationship rename replace resolve retire reversed
        review same same_but_for_one set shared_properties single skip_multimodal skip_singleton skipped_stale
        snapshot source_precedence summarise summarize supersede superseded two_judges undone unknown unsure unused
        warning weak
        accept advance archived block compressed embed end essence forgotten full promote quarantine quarantined redact render
        revoke reword tag
        """
    )
)
"""What may stand as a value under ``WORD_KEYS`` beside the names of operations: names, decisions, statuses, reasons, levels."""

WORD_KEYS: Final = _words(
    """
    a action b bucket centroid chunks_live claims claims_dropped column column_name columns confidence_threshold
    conflict decision doubtful earlier expected_with_several keys kind later learnt list margin mode mutation
    name_level new_type of old_type op_kind op_type operation phase pointers_cleared policy predicate reason replaces
    resolution retired retired_since risk rule severity share_with_one_object shown side source_table state status
    strategy subjects suggested table table_name tables target text restated repeated type_after types_before
    verdict waterfall weights what window_days writer
    """
)
"""Keys under which one of ``WORDS`` is kept; every other text under them is hidden."""

INSIDE: Final = _words(
    """
    attributes guards inserts metadata payload properties quote quotes seen settings tags text texts value values
    writes
    """
)
"""Keys whose value is memory through and through: keys, texts and numbers in it are hidden."""

TEXT_KEYS: Final = frozenset(
    column.name for column in _COLUMNS if column.table.schema == "memory" and isinstance(column.type, Text)
) | _words("names detail like type headline message label title why cited")
"""Keys whose texts are memory, whatever they look like: an external id may be a UUID, and is not ours."""

INSTANT_KEYS: Final = frozenset(column.name for column in _COLUMNS if isinstance(column.type, DateTime)) | _words(
    "oldest newest at started_at applied_at"
)
"""Keys under which an instant is kept."""

KEYS: Final = (
    WORDS
    | WORD_KEYS
    | INSIDE
    | _words(
        """
        absorb after age_days all_rows applied_at at baseline before candidates cells cited cluster clusters community
        confidence content_hash cooccurrence_edge_weight cosine count counts current dates days dead dead_ids degree
        detail details distance duration_ms edges entity_id evidence findings first_dead frequency_delta_threshold from
        group groups half_life_days headline id ids input_hash interpolation isolated_candidates item item_id items judges
        keep labels length length_max length_p50 length_p90 length_p99 level like live live_rows loser loser_id member_ids
        members mentions message missing model names newest numbers occurrences oldest op_id op_type opinions overlap p10
        p25 p50 p75 p90 p95 p99 pagerank_cut pairs passed percentile plan_hash plots polarity position previous
        probability problem queries rank rationale_hash reasons recall_window_days recency references retention_days row
        row_a row_a_id row_b row_b_id row_id row_ids rows run_id score score_gap seconds seen_hash share side sides
        similarity skipped snapshot_id sources started_at survivor threshold title to token_rule tokens top_offenders
        total type vector_models verdict victim waterfall weight why winner winner_id without_vector
        age_hours beyond_the_limits bytes characters classes cluster_similarity consolidated due effective_importance entries
        exempt found kinds lead least_similarity left left_out_as_unsafe lines nearest new_lines places reindexed removed
        rewritten rules said_on score source_chunks source_count stands_for token_savings tokens_after tokens_before uncited
        """
    )
)
"""Keys of ours, beside the names of operations. Another key may be a name from the data, and is hidden with the texts under it."""

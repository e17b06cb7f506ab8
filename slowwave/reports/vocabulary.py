"""The closed vocabulary: words that are this program's own and never memory. Which of them is kept where belongs to
``slowwave.reports.redaction``; a word that is missing here is hidden, no more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
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

_sources: Final[list[Callable[[], Mapping[str, Collection[str]]]]] = []


def take_from(source: Callable[[], Mapping[str, Collection[str]]]) -> None:
    """Have ``source`` asked for the names of audits and planners from now on, and for the names of numbers that each declares.
    ``slowwave.operations`` gives its own when it is imported."""
    _sources[:] = [source]
    for known in (operations, operation_words, labels):
        known.cache_clear()


def _declared() -> Mapping[str, Collection[str]]:
    """Operation → the names of numbers that it declares. Where a process has listed no operations yet, ours are the source."""
    if not _sources:
        import_module("slowwave.operations")
    return _sources[0]()


@cache
def operations() -> frozenset[str]:
    """Names of audits, planners and of what else writes."""
    return frozenset(("apply", "undo")).union(_declared())


@cache
def labels() -> frozenset[str]:
    """Names of numbers that operations declare."""
    return frozenset(label for declared in _declared().values() for label in declared)


@cache
def operation_words() -> frozenset[str]:
    """The words of which those names consist."""
    return frozenset(word for name in operations() for word in name.split("_"))


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
    a action b bucket centroid chunks_standing claims claims_dropped column column_name columns confidence_threshold
    conflict decision doubtful earlier expected_with_several keys kind later learnt list margin mode mutation
    name_level new_type of old_type op_kind op_type operation phase pointers_cleared policy predicate reason replaces
    resolution retired retired_since risk rule severity share_with_one_object shown side source_table state status
    strategy subjects suggested table table_name tables target text told_again told_the_same type_after types_before
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

LABEL_WORDS: Final = frozenset(word for name in WORDS for word in name.split("_")) | _words(
    """
    a about above absorbed abstained acronym after age aged agreed ahead alike all alone also among an and another
    answered antonym any apart archived as ask asked at attribute average averages away back barred bars baseline be
    before behind below between beyond blocks both bridges bucket budget by calibrated call calls candidate candidates
    centroid change changed changes child chunk chunks citations cited claims clean cleaned cleared closed cluster
    clusters cold columns combined communities community compared complement complementary configured conflict
    conflicts connected contradicting contradiction cooccurrence cosine could count covered crowded cut date day days
    dead decayed decided declared deferred degrees delta demoted description descriptions differences different
    differing disagreed distance distinct document documents doubtful dropped due duplicate duplicates each earlier
    edge edges either embed empty ended ends enough entities entity error event events every evidence exact expected
    expired facts false few fields first floor for forgotten found frequencies frequency from gone group groups half
    hand held history hours how id identifier identifiers ids in inactive index initials instant interpolation is
    isolated item items joins joints judged judges keep kept key keys kinds known label later learnt least left length
    level levels life like limit lines linked list little live longest look looked loops lost low many mapped mapping
    mappings margin max maximum may mean median members memories memory mentioned merge merged merges mid min minimum
    minute missing model models modularity month most moved multimodal name named names near negation neither new
    newest ngram nickname no none not number numbers object objects observed of offenders old oldest on once one only
    open or other out outside over pagerank pair pairs parallel past pending per percentile person pinned place
    planned point pointers polarity policy predicate predicates probability problem promoted property protected pruned
    purged quantity queries quoted range rank ranked rare ratio re recall recalled recalls recent recommendation
    recommended record references refused rejected rejection relationship relationships removed renamed reopened
    replaced replaces replies reply rescued reserved resolved retention retired reversed review reviews reworded row
    rows rule ruled runs said same sample samples say scanned score scored scores seconds seen selected self sentences
    several share shown signals similar similarity since singleton singletons size skip skipped slip small source
    sources specifics spelling spent split stale standing stands start still subjects suggested sum summaries summary
    supported tables take taken tested text than that the their them these threshold thresholds ties times to together
    token tokens tombstone too top total touched tried type types unavailable unchanged undated undeclared under
    unique unknown unlinked unsupported unused used vector vectors verdict verdicts version vetoed vote wait waiting
    ways weak week weight weights went what when where which while who whose why window with within without word words
    would writer written year yet
    added alikes already are attributes blocked budget_spent bytes cites class compare compressed consolidated contradict
    cooling copies coverage degree diary do down drop effective entries essence exempt fade finite full greatest hidden
    injection instructions largest limits long longer lookalike lose make marks neighbours never night note nothing outside pages part
    privacy procedural promotions quarantine questions redact reindexed renewed reported reports revoked rewritten saved
    saving screening secret session sessions shock short shortened specific stand stay stray tell texts this those time
    undigested unsafe worth young zero zone
    """
)
"""Words of which the names of a report's numbers consist."""

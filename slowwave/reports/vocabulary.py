"""The closed vocabulary: words that are this program's own and never memory. Which of them is kept where belongs to
``slowwave.reports.redaction``; a word that is missing here is hidden, no more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from functools import cache
from importlib import import_module
from typing import Final, Literal, get_args, get_origin

from sqlalchemy import DateTime, Text

from slowwave.config.operations import Operations
from slowwave.config.settings import Settings
from slowwave.mutations.cells import Action
from slowwave.mutations.kinds import KINDS
from slowwave.reports import events
from slowwave.reports.model import Finding, Report
from slowwave.store.tables import metadata


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COLUMNS: Final = tuple(column for table in metadata.tables.values() for column in table.columns)

_SETTINGS: Final = (Settings, *(type(field.default) for field in Operations.model_fields.values()))

_CHOICES: Final = frozenset(
    str(choice)
    for settings in _SETTINGS
    for field in settings.model_fields.values()
    if get_origin(field.annotation) is Literal
    for choice in get_args(field.annotation)
)
"""What settings are chosen from: policies, scopes, modes."""

_FIELDS: Final = frozenset(
    field.name
    for kind in (Report, Finding, events.OperationEvent, events.Rationale, events.LlmCalled, events.RunCompleted)
    for field in fields(kind)
)
"""Fields of reports and events."""

TABLES: Final = frozenset(table.name for table in metadata.tables.values())
"""Names of tables, of memory and of the ledger."""

_Columns = Mapping[str, Collection[str]]
"""Names of audits and planners, each with the columns of its report that are its own."""

_sources: Final[list[Callable[[], _Columns]]] = []


def take_from(source: Callable[[], _Columns]) -> None:
    """Have ``source`` asked for audits, planners and their columns from now on; importing ``slowwave.operations`` gives its own."""
    _sources[:] = [source]
    operations.cache_clear()
    columns.cache_clear()


@cache
def operations() -> frozenset[str]:
    """Names of audits, planners and of what else writes. Where a process has listed no operations yet, ours are the source."""
    return frozenset(("apply", "undo", *_declared()))


@cache
def columns() -> frozenset[str]:
    """Columns of reports that audits and planners declare, those of other packages among them."""
    return frozenset[str]().union(*_declared().values())


def _declared() -> _Columns:
    if not _sources:
        import_module("slowwave.operations")
    return _sources[0]()


WORDS: Final = (
    TABLES
    | frozenset(KINDS)
    | frozenset(column.name for column in _COLUMNS)
    | frozenset(get_args(Action))
    | _CHOICES
    | _words(
        """
        accept advance approved archive archived audit audit_complete awaiting_approval calibrated cancelled
        centroid chunk clean close compact completed compressed crashed date defer deferred delete descriptions
        detected different document embed empty end entity episodes essence exact expired failed forgotten full
        high info insert insufficient_input invalidate invalidated is isolated keep kept llm_budget_exhausted
        low low_similarity lower many medium merge merged_type moved new no_candidates no_op no_vectors noop
        number one_object one_way op_disabled_by_config op_not_requested pending plan planned polarity prefer
        probe promote property_contradiction prune purge quarantined raise re_embed re_embed_unavailable refused
        rejected relationship rename render resolve retire reversed review revoke reword same same_but_for_one
        shared_properties single skip_multimodal skip_singleton skipped_stale snapshot summarise summarize
        supersede superseded tag undone unknown unsure unused warning weak
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

_OUR_TEXTS: Final = ("id", "content_hash", "plan_hash", "fingerprint")
"""Texts of ours in tables of memory: an id that is no UUID, and what bytes and plans come to."""

TEXT_KEYS: Final = frozenset(
    column.name
    for column in _COLUMNS
    if column.table.schema == "memory" and isinstance(column.type, Text) and column.name not in _OUR_TEXTS
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
    | _FIELDS
    | _words(
        """
        absorb age_days age_hours all_rows applied_at baseline beyond_the_limits bytes candidates cells
        characters cited classes cluster cluster_similarity clusters community consolidated content_hash
        cooccurrence_edge_weight cosine count current dates days dead dead_ids degree detail distance due edges
        effective_importance entries exempt first_dead found frequency_delta_threshold from group groups
        half_life_days ids interpolation isolated_candidates items judges kinds labels lead least_similarity
        left left_out_as_unsafe length length_max length_p50 length_p90 length_p99 level like lines live
        live_rows loser members mentions missing names nearest new_lines newest occurrences oldest opinions
        overlap p10 p25 p50 p75 p90 p95 p99 pagerank_cut pairs passed percentile places position previous
        probability problem queries rank reasons recall_window_days recency references reindexed removed
        retention_days rewritten row_a row_b rules said_on score_gap seen_hash share sides similarity
        source_chunks source_count stands_for survivor to token_rule token_savings tokens_after tokens_before
        top_offenders total type uncited victim why winner without_vector
        """
    )
)
"""Keys of ours, beside the names of operations. Another key may be a name from the data, and is hidden with the texts under it."""

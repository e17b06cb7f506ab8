"""Generate ``docs/settings.md`` and the table of ``docs/operations.md`` from the declarations in the code."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic.fields import FieldInfo

from slowwave.operations import Operation
from slowwave.operations.registry import operations
from slowwave.store.settings import KHORA_SETTINGS, Settings

# ``docs/settings.md``: every setting from the model itself, those of each operation, and the equivalents of the settings of five earlier
# systems.
#
# ``python -m scripts.settings_page`` prints the page; a test compares it with the file.


class Seed(NamedTuple):
    """Setting of another system: its name and default there, our setting (empty if there is none), and what differs."""

    name: str
    default: str
    ours: str = ""
    note: str = ""


def _khora(name: str, default: str, note: str = "") -> Seed:
    """Return a setting of khora's whose variable is read here too."""
    return Seed(name, default, KHORA_SETTINGS[name], note)


SEEDS: Final[dict[str, tuple[Seed, ...]]] = {
    "khora (`KHORA_DREAM_…`)": (
        _khora("enabled", "false", "On here: a night writes nothing without an approval."),
        _khora("default_mode", "dry-run"),
        _khora("ops.dedupe_entities", "false"),
        _khora("ops.prune_edges", "false"),
        _khora("ops.recompute_centroids", "false"),
        _khora("ops.compact_facts", "false"),
        _khora("ops.cluster_events", "false", "On here; items wait for approval."),
        _khora("dedupe_entities_enabled", "false", "On here; items wait for approval."),
        _khora("source_chunk_ids_gc_enabled", "false", "On here, likewise."),
        _khora("centroid_recompute_enabled", "false", "On here, likewise. Off, merges keep the survivor's vector."),
        _khora("prune_edges_enabled", "false", "On here, likewise."),
        _khora("contradiction_detect_enabled", "false", "On here, likewise."),
        _khora("contradiction_reconcile_enabled", "false", "On here, likewise."),
        _khora("community_summary_enabled", "false", "The weekly schedule runs it."),
        _khora("normalize_schema_enabled", "false", "On here; an empty mapping renames nothing."),
        _khora("llm_max_tokens_per_run", "200 000", "Estimated before each call."),
        _khora("llm_max_tokens_per_namespace_per_day", "1 000 000", "Counted in the database, over 24 hours."),
        _khora("retention_days", "30"),
        _khora("retention_runs_per_namespace", "50"),
        _khora("report_file_sink_enabled", "false"),
        _khora("report_event_sink_enabled", "false"),
        _khora("report_collector_sink_enabled", "false"),
        _khora("redact_text", "summary", "Holds in every sink and in Dagster's metadata."),
        _khora("dream_op_types", "[]"),
        _khora("dream_decisions", "[]"),
        _khora("cooccurrence_edge_weight", "0.2"),
        _khora("orphan_pr_percentile_threshold", "5.0"),
        _khora("source_chunk_ids_gc_min_dead", "1"),
        _khora("centroid_lev_threshold", "2"),
        _khora("centroid_min_intra_cluster_cosine", "0.88"),
        _khora(
            "dedupe_entities_default_threshold",
            "0.90",
            "Under it a pair is a question, with learnt weights as well, unless "
            "names that mean the same have an equal identifier.",
        ),
        _khora("dedupe_entities_per_type_thresholds", "{}", "Likewise."),
        _khora(
            "dedupe_verifier_band_low",
            "0.78",
            "Candidates by vector; with learnt weights, below it nothing merges without a person.",
        ),
        Seed(
            "dedupe_verifier_band_high",
            "0.95",
            "",
            "Judges are asked about what is left for review, whatever its cosine: evidence decides, not a band.",
        ),
        Seed("dedupe_verifier_model, dedupe_auditor_model", "two models", "judge_models"),
        _khora("dedupe_verifier_timeout_seconds", "10"),
        _khora("dedupe_verifier_min_confidence", "0.6"),
        _khora("prune_edges_target_predicates", '["ASSOCIATED_WITH"]'),
        _khora("prune_edges_confidence_threshold", "0.4"),
        _khora("contradiction_detect_similarity_threshold", "0.5"),
        Seed("contradiction_reconcile_model, …_auditor_model", "two models", "judge_models"),
        _khora("contradiction_reconcile_timeout_seconds", "10"),
        _khora("contradiction_reconcile_min_confidence", "0.6"),
        _khora("community_summary_min_size", "5"),
        _khora("community_summary_model", "gpt-4o-mini", "Empty here: no model is needed."),
        _khora("community_summary_max_members_per_prompt", "20"),
        _khora("normalize_schema_mapping", "{}", "And one mapping for each axis."),
        _khora("abstention_drift_min_samples", "1000"),
        _khora("abstention_drift_sample_cap", "1024"),
        _khora("fact_compaction_retention_days", "365"),
        _khora("event_clustering_cosine_threshold", "0.95"),
        _khora("event_clustering_window_days", "7"),
        Seed("KHORA_DREAM_DISABLE_APPLY", "unset", "", "`SLOWWAVE_DISABLE_APPLY`, and a switch in the database."),
    ),
    "Plugged.in": (
        Seed("DREAM_ENABLED", "true", "enabled"),
        Seed(
            "DREAM_SIMILARITY_THRESHOLD",
            "0.75",
            "operations.consolidate_clusters.cohesion",
            "Of every two members, not of a chain; empty: the embedding model's own.",
        ),
        Seed("DREAM_MIN_CLUSTER_SIZE", "3", "operations.consolidate_clusters.min_cluster_size"),
        Seed(
            "DREAM_MAX_CLUSTERS_PER_RUN",
            "10",
            "operations.consolidate_clusters.max_clusters_per_run",
            "The cap of what a plan may retire says how many.",
        ),
        Seed(
            "DREAM_CONSOLIDATION_MAX_INPUT_TOKENS",
            "1500",
            "operations.consolidate_clusters.max_input_tokens",
            "Larger ones are split.",
        ),
        Seed("DREAM_CONSOLIDATION_MAX_OUTPUT_TOKENS", "300", "operations.consolidate_clusters.max_output_tokens"),
        Seed(
            "DREAM_COOLDOWN_DAYS",
            "7",
            "operations.consolidate_clusters.cooldown_days",
            "Of summaries; sources never come back.",
        ),
        Seed(
            "DREAM_TOP_K_NEIGHBORS",
            "3",
            "operations.neighbour_graph.top_k",
            "Of that audit and of contradictions between memories: a cluster is a group, not a graph of nearest ones.",
        ),
        Seed(
            "decay stages: days, tokens",
            "7, 30, 90, 365; 500, 250, 150, 50",
            "operations.decay_transition.days",
            "And `operations.decay_transition.tokens`.",
        ),
        Seed(
            "natural selection: floor, rows of a term",
            "0.1, 1000",
            "operations.archive_stale.relevance_floor",
            "It archives, and deletes nothing; `operations.archive_stale.policy`, `operations.archive_stale.ring_cap`.",
        ),
    ),
    "mnemo": (
        Seed(
            "deduplication cosine",
            "0.92",
            "operations.dedupe_memories.cosine_threshold",
            "And what the texts say must agree.",
        ),
        Seed("event window and cosine", "–", "operations.dedupe_memories.events_cosine_threshold"),
        Seed(
            "low importance for automatic resolution",
            "0.3",
            "operations.resolve_conflicts.low_importance",
            "It asks unless a limit is set.",
        ),
        Seed(
            "archive importance, age",
            "0.2, 168 h",
            "operations.archive_stale.effective_importance",
            "And `operations.archive_stale.min_age_hours`.",
        ),
        Seed("decay rate", "0.01 an hour", "", "The attribute `decay_rate` of a memory; 0.01 where it names none."),
        Seed("mode", "coordinated", "reflection_mode"),
        Seed("new records before a run", "5", "gate_min_new_records"),
        Seed("hours between runs", "24", "gate_min_hours"),
        Seed("scan caps", "10,000", "", "Nothing is capped: whole namespaces are read."),
    ),
    "nexo-rs": (
        Seed("dreaming.enabled", "false", "enabled"),
        Seed(
            "interval_secs",
            "86400",
            "nightly_hour",
            "And `nightly_days`, for all namespaces; `gate_min_hours` is the least interval of one.",
        ),
        Seed("min_score", "0.35", "operations.promote_memories.min_score"),
        Seed("min_recall_count", "3", "operations.promote_memories.min_recalls"),
        Seed(
            "min_unique_queries",
            "2",
            "operations.promote_memories.min_queries",
            "Counted, not rebuilt; a promotion also needs recalls on two days.",
        ),
        Seed("max_promotions_per_sweep", "20", "operations.promote_memories.max_per_night"),
        Seed(
            "weights",
            "five, sum 0.94",
            "operations.promote_memories.weights",
            "The same five and `selected_rate`; `signals_compat` gives the original formula.",
        ),
        Seed("recency half-lives", "10,000, 365, 90 d", "relevance_half_life_days"),
        Seed("recall window", "none", "recall_window_days"),
        Seed("frequency cap", "6", "signals_compat", "20 here; this gives the original."),
        Seed(
            "auto_dream.enabled",
            "false",
            "operations.deep_pass.enabled",
            "It needs a model that is named: `operations.deep_pass.model`.",
        ),
        Seed("min_hours", "24 h", "operations.deep_pass.min_hours", "For nights: `gate_min_hours`."),
        Seed("min_sessions", "5", "operations.deep_pass.min_sessions", "For weekly nights: `gate_min_sessions`."),
        Seed("scan_interval", "10 min", "operations.deep_pass.scan_minutes", "Kept in the ledger, not in a process."),
        Seed(
            "index lines, size",
            "200, 25 KB",
            "operations.compile_pages.max_lines",
            "And `operations.compile_pages.max_bytes`.",
        ),
        Seed("holder_stale", "1 h", "heartbeat_expiry_seconds"),
        Seed(
            "fork_timeout",
            "5 min",
            "operations.deep_pass.timeout_seconds",
            "For one answer: `operations.deep_pass.answer_seconds`.",
        ),
        Seed(
            "max turns", "30", "operations.deep_pass.max_turns", "More is a pass that timed out, not one that is done."
        ),
        Seed(
            "memory.secret_guard",
            "block",
            "operations.redact_or_quarantine.policy",
            "And `screening_on_import`, `screening_on_write`.",
        ),
    ),
    "Dory (`DORY_…`)": (
        Seed("embedding provider", "gemini, 768", "embedding_model", "Offline by default, or `embedding_endpoint`."),
        Seed(
            "dream_llm_provider",
            "openrouter",
            "operations.community_summaries.model",
            "And `judge_models`; none by default.",
        ),
        Seed(
            "local LLM timeout, openrouter timeout",
            "5 s, 30 s",
            "writer_timeout_seconds",
            "And `search_timeout_seconds`.",
        ),
        Seed("local LLM max tokens", "512", "", "Fixed for each kind of question."),
        Seed(
            "max_write_bytes",
            "10,240",
            "max_write_bytes",
            "Over every surface; a statement has 10,000 characters at most.",
        ),
        Seed(
            "active_memory_llm_provider, query planner, expansion, reranker",
            "off",
            "search_steps",
            "With `search_model`: one model for all of them.",
        ),
        Seed("default_wake_budget_tokens", "600", "", "`budget_tokens` of each request, 600 where it names none."),
        Seed(
            "migration_concurrency",
            "2..8",
            "",
            "One process reads, and a run that was cut off is begun again: what stands is known.",
        ),
        Seed(
            "sync_sessions_on_wake",
            "true",
            "",
            "Sessions are handed in: `POST /v1/session-ingest`, `slowwave import sessions FILE --namespace NAME`.",
        ),
    ),
}
"""Maps each system to its settings, in its own order."""

_HEAD: Final = """\
# Settings

How do you change a setting? Set its environment variable for every process, or its value for one namespace with `slowwave namespace set
NAMESPACE KEY=VALUE`, such as `operations.prune_edges.half_life_days=30`. The value of a namespace takes precedence. Addresses, folders,
schedules and `pages_git` are variables only. The hash of a plan covers the settings on which it is based. `slowwave doctor` and every night
name unknown settings with the nearest known name, and a night refuses a misspelt operation or option. `python -m scripts.settings_page`
writes this page.

A setting exists because a system that Slowwave replaces has it, or because users differ in it; the last column states which. All other
values are constants in the code.

| Setting | Default | Meaning | Why it can be set |
| --- | --- | --- | --- |
"""

_OPERATIONS: Final = """
## Operations

The switch makes an operation part of a night without `--ops`. The lines below it are its options. In a
namespace's settings `SLOWWAVE_OPERATIONS__CENSUS__ENABLED` is `{"operations": {"census": {"enabled": false}}}`.

| Operation | Kind | Switch or option | Default | khora's names for it; why an option can be set |
| --- | --- | --- | --- | --- |
"""

_SEEDS: Final = """
## Coming from another system

The names of its settings in Slowwave, or the reason if there is none.
"""


def page() -> str:
    """Return the page as Markdown."""
    rows = [
        f"| `SLOWWAVE_{name.upper()}` | `{shown(name)}` | {f.description} | {reason(name)} |"
        for name, f in Settings.model_fields.items()
        if name != "operations"
    ]
    lines = [line for made in operations().values() for line in _operation(made)]
    parts = [_HEAD + "\n".join(rows) + "\n", _OPERATIONS + "\n".join(lines) + "\n", _SEEDS]
    for system, seeds in SEEDS.items():
        lines = [f"\n### {system}\n", "| There | Default there | Here | |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {_code(s.name)} | {s.default} | {f'`{s.ours}` = `{shown(s.ours)}`' if s.ours else '–'} | {s.note} |"
            for s in seeds
        ]
        parts.append("\n".join(lines) + "\n")
    return "".join(parts)


@cache
def settings() -> dict[str, FieldInfo]:
    """Return every setting but the switches of operations; options are named ``operations.NAME.OPTION``."""
    found = {name: field for name, field in Settings.model_fields.items() if name != "operations"}
    for name, made in operations().items():
        options = made.options.model_fields if made.options else {}
        found |= {f"operations.{name}.{option}": field for option, field in options.items()}
    return found


def reason(name: str) -> str:
    """Return why a setting exists: the systems that have it, and the reason that its declaration gives."""
    systems = [
        system.partition(" (")[0]
        for system, seeds in SEEDS.items()
        if any(name in (seed.ours, *re.findall(r"`([\w.]+)`", seed.note)) for seed in seeds)
    ]
    more = settings()[name].json_schema_extra
    why = str(more.get("why", "")) if isinstance(more, dict) else ""
    return " ".join(filter(None, (f"{', '.join(systems)}." if systems else "", why)))


def shown(name: str) -> str:
    """Return a setting's default as the page shows it."""
    _, _, place = name.partition("operations.")
    operation, _, option = place.partition(".")
    if option == "enabled":
        return json.dumps(operations()[operation].switch)
    return _default(settings()[name])


def _default(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    if default is None:
        return "none"
    return (default or "empty") if isinstance(default, str) else json.dumps(default)


def _operation(made: Operation[Any]) -> list[str]:
    """Return the lines of an operation: its switch, then its options."""
    khora = ", ".join(f"`{k}`" for k in made.khora)
    lines = [f"| `{made.name}` | {made.kind} | `{made.variable}` | {made.default()} | {khora} |"]
    for name, option in (made.options.model_fields if made.options else {}).items():
        variable = f"SLOWWAVE_OPERATIONS__{made.name}__{name}".upper()
        why = reason(f"operations.{made.name}.{name}")
        lines.append(f"| | | `{variable}`: {option.description} | `{_default(option)}` | {why} |")
    return lines


def _code(name: str) -> str:
    return name if " " in name or "," in name else f"`{name}`"


# The table of operations in ``docs/operations.md``, generated from their declarations.
#
# ``python -m scripts.settings_page docs/operations.md`` renews it between its marks; a test compares it with the file.

MARKS: Final = ("<!-- operations -->", "<!-- end of operations -->")


def table() -> str:
    """Return one line per operation, in the order of a night: name, first line of its docstring, and when it runs by default."""
    lines = ["| Operation | What it reports or proposes | Default |", "| --- | --- | --- |"]
    for name, made in operations().items():
        lines.append(f"| `{name}` | {made.summary.replace('|', '/')} | {made.default()} |")
    return "\n".join(lines)


def renewed(page: str) -> str:
    """Return a page with a new table between its marks.

    Raises ``ValueError`` if the page has no marks.
    """
    before, mark, rest = page.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not mark or not end:
        raise ValueError(
            f"The page has no place for the table: put {MARKS[0]} and {MARKS[1]} into it, on lines of their own."
        )
    return f"{before}{mark}\n{table()}\n{end}{after}"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(renewed(path.read_text()))
    if not sys.argv[1:]:
        sys.stdout.write(page())

"""Every setting has an effect: two values of it give two outcomes.

``EFFECTS`` names for each setting the test that fails when the setting is ignored. An option of an operation needs no line there if the
test module of the operation sets it. Tests of settings that no test of their module shows are here.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from scripts.settings_page import settings
from slowwave.matching.match import match
from slowwave.models.endpoint import EndpointChat
from slowwave.night.night import run_night
from slowwave.night.reports import reports_path
from slowwave.operations import Planner
from slowwave.operations.audits.orphans import orphans
from slowwave.operations.planners.absolutize_dates import absolutize_dates
from slowwave.operations.planners.consolidate_clusters import consolidate_clusters
from slowwave.operations.planners.dedupe_memories import dedupe_memories
from slowwave.operations.planners.promote_memories import promote_memories
from slowwave.operations.planners.prune_edges import prune_edges
from slowwave.operations.planners.recompute_centroids import centroid_decision
from slowwave.operations.planners.resolve_conflicts import resolve_conflicts
from slowwave.operations.scoring import worth
from slowwave.operations.setting_names import change_settings
from slowwave.search.model_help import day_budget
from slowwave.search.request import known_namespace
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.configured_models import consolidator_for, judges_for, searcher_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.text.tokens import count
from slowwave.wiki.operations.canonical_pages import canonical_pages
from tests.matching import test_match
from tests.memories import ask, remember
from tests.nights import new_world
from tests.operations.audits.test_abstention_drift import audit, recalls
from tests.operations.audits.test_orphans import ring
from tests.operations.planners import (
    test_archive_stale,
    test_consolidate_clusters,
    test_decay_transition,
    test_dedupe_memories,
    test_promote_memories,
    test_prune_edges,
    test_resolve_conflicts,
)
from tests.permitting import blast_radius
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid
from tests.wiki.claims import test_canonical_pages

ROOT = Path(__file__).parents[2]

EFFECTS: Mapping[str, Mapping[str, str]] = {
    "dagster/test_schedules.py": {
        "gate_min_sessions": "test_on_sundays_a_night_has_the_weekly_operations",
    },
    "matching/test_match.py": {
        "operations.dedupe_entities.default_threshold": "test_pair_under_the_threshold_is_a_question_with_learnt_weights",
        "operations.dedupe_entities.per_type_thresholds": "test_a_threshold_holds_for_every_spelling_of_its_type",
        "operations.recompute_centroids.min_intra_cluster_cosine": "test_multimodal_cluster_is_reported_and_not_merged",
    },
    "matching/test_questions.py": {
        "operations.dedupe_entities.review_pairs_per_row": "test_pairs_that_stand_for_others_are_asked_about_first",
    },
    "models/test_chat.py": {
        "judge_models": "test_settings_name_two_models_or_none",
        "judge_endpoint": "test_settings_name_two_models_or_none",
    },
    "models/test_embedder.py": {
        "embedding_model": "test_settings_choose_the_embedder_and_refuse_a_name_for_two_models",
        "embedding_endpoint": "test_settings_choose_the_embedder_and_refuse_a_name_for_two_models",
    },
    "night/test_claim.py": {
        "heartbeat_expiry_seconds": "test_a_plan_run_that_lost_its_namespace_writes_no_plan",
    },
    "night/test_freshness.py": {
        "gate_min_new_records": "test_a_namespace_that_changed_and_was_not_audited_is_late",
        "freshness_audit_days": "test_a_namespace_that_changed_and_was_not_audited_is_late",
        "freshness_plan_days": "test_a_plan_that_waits_is_named_until_somebody_decides",
    },
    "night/test_gates.py": {
        "enabled": "test_the_gates_in_their_order",
        "reflection_mode": "test_the_mode_always_knows_no_cadence",
        "llm_max_tokens_per_namespace_per_day": "test_a_budget_that_is_spent_closes_the_weekly_night_alone",
    },
    "night/test_retention.py": {
        "retention_days": "test_what_is_old_goes_but_for_the_newest_runs",
        "retention_runs_per_namespace": "test_what_is_old_goes_but_for_the_newest_runs",
        "undo_retention_days": "test_before_images_are_kept_for_ever_unless_a_namespace_says_otherwise",
    },
    "night/test_sinks.py": {
        "report_event_sink_enabled": "test_a_namespace_can_silence_the_webhook_and_cannot_redirect_it",
        "dream_op_types": "test_callbacks_and_webhook_obey_the_settings_khoras_names_included",
        "dream_decisions": "test_callbacks_and_webhook_obey_the_settings_khoras_names_included",
    },
    "night/test_telemetry.py": {
        "report_collector_sink_enabled": "test_what_sinks_lose_is_counted",
        "redact_text": "test_one_run_in_every_sink_tells_no_memory",
    },
    "night/test_throttle.py": {
        "batch_items": "test_batches_halve_where_they_take_long_and_grow_back",
        "apply_max_replication_lag_seconds": "test_apply_waits_while_a_replica_is_behind",
        "apply_max_batch_seconds": "test_batches_halve_where_they_take_long_and_grow_back",
    },
    "dagster/test_definitions.py": {
        "nightly_hour": "test_the_timetable_is_that_of_the_settings",
        "nightly_days": "test_the_timetable_is_that_of_the_settings",
        "time_zone": "test_the_timetable_is_that_of_the_settings",
        "nights_per_run": "test_the_timetable_is_that_of_the_settings",
        "night_run_tags": "test_the_timetable_is_that_of_the_settings",
    },
    "night/test_tiles.py": {
        "worker_memory_gib": "test_night_over_the_memory_of_a_worker_is_refused_before_it_begins",
    },
    "operations/audits/test_schema_drift.py": {
        "expertise": "test_declaring_entities_alone_leaves_relationships_in_peace",
    },
    "search/test_reranker.py": {
        "reranker_model": "test_a_local_reranker_orders_the_results",
    },
    "operations/conflicts/test_judged.py": {
        "nli_model": "test_local_model_is_that_of_the_settings",
        "nli_threshold": "test_local_model_with_words_in_common_asks_from_the_threshold_on",
    },
    "operations/conflicts/test_memories.py": {
        "operations.neighbour_graph.similarity": "test_the_answer_is_kept_for_its_tables_and_no_others",
    },
    "operations/planners/test_absolutize_dates.py": {
        "dates_zone": "test_the_day_is_that_of_the_author",
    },
    "operations/planners/test_resolve_conflicts.py": {
        "judge_confidence": "test_judges_have_to_be_as_sure_as_the_settings_demand",
        "operations.resolve_conflicts.newest_wins": "test_newest_wins_ends_the_older_value_of_a_named_relation_unasked",
    },
    "operations/test_decay.py": {
        "operations.decay_transition.days": "test_days_are_settings_and_a_stage_without_days_lasts",
    },
    "operations/test_run.py": {
        "llm_max_tokens_per_run": "test_calls_that_the_budget_did_not_allow_are_told",
    },
    "operations/test_setting_effects.py": {
        "recall_window_days": "test_recall_window_days_is_how_long_a_recall_counts_as_use",
        "source_precedence": "test_source_precedence_decides_which_source_wins",
        "cooccurrence_edge_weight": "test_cooccurrence_edge_weight_is_the_weight_of_a_mere_co_occurrence",
        "writer_timeout_seconds": "test_writer_timeout_seconds_limits_the_answer_of_a_writer",
        "dates_write": "test_dates_write_replaces_the_words_of_a_relative_date",
        "relevance_half_life_days": "test_relevance_half_life_days_of_a_kind_lets_its_memories_fade_faster",
        "blast_radius_housekeeping_share": "test_blast_radius_housekeeping_share_caps_small_talk_and_duplicates_in_all",
        "plan_expiry_days": "test_plan_expiry_days_is_how_long_a_plan_can_be_approved",
        "report_base_path": "test_report_base_path_is_the_folder_of_reports",
        "search_endpoint": "test_search_timeout_seconds_limits_the_help_of_a_model",
        "search_timeout_seconds": "test_search_timeout_seconds_limits_the_help_of_a_model",
        "search_max_tokens_per_day": "test_search_max_tokens_per_day_is_what_the_budget_of_a_namespace_has_left",
        "judge_timeout_seconds": "test_judge_timeout_seconds_limits_the_answer_of_a_judge",
        "operations.orphans.pr_percentile_threshold": "test_pr_percentile_threshold_of_orphans_is_the_share_that_is_weak",
        "operations.abstention_drift.sample_cap": "test_sample_cap_of_abstention_drift_takes_the_newest_recalls_alone",
        "operations.abstention_drift.min_top_score": "test_min_samples_and_thresholds_of_abstention_drift_decide_the_advice",
        "operations.abstention_drift.combined_threshold": "test_min_samples_and_thresholds_of_abstention_drift_decide_the_advice",
        "operations.dedupe_memories.cosine_threshold": "test_cosine_threshold_of_dedupe_memories_keeps_farther_memories_apart",
        "operations.consolidate_clusters.min_cluster_size": "test_min_cluster_size_and_max_input_tokens_hold_back_a_summary",
        "operations.consolidate_clusters.max_input_tokens": "test_min_cluster_size_and_max_input_tokens_hold_back_a_summary",
        "operations.consolidate_clusters.cooldown_days": "test_cooldown_days_of_consolidate_clusters_leave_out_a_young_summary",
        "operations.dedupe_entities.verifier_band_low": "test_verifier_band_low_of_dedupe_entities_compares_more_pairs",
        "operations.recompute_centroids.lev_threshold": "test_lev_threshold_of_recompute_centroids_is_how_far_names_may_differ",
        "operations.prune_edges.confidence_threshold": "test_confidence_threshold_of_prune_edges_spares_what_is_above_it",
        "operations.prune_edges.half_life_days": "test_half_life_days_of_prune_edges_lets_edges_fade_faster",
        "operations.archive_stale.effective_importance": "test_effective_importance_and_min_age_hours_of_archive_stale_spare_memories",
        "operations.archive_stale.min_age_hours": "test_effective_importance_and_min_age_hours_of_archive_stale_spare_memories",
        "operations.archive_stale.relevance_floor": "test_relevance_floor_of_archive_stale_spares_what_is_above_it",
        "operations.promote_memories.min_recalls": "test_gates_of_promote_memories_hold_back_a_promotion",
        "operations.promote_memories.min_queries": "test_gates_of_promote_memories_hold_back_a_promotion",
        "operations.decay_transition.tokens": "test_tokens_of_decay_transition_are_the_length_of_a_stage",
        "operations.canonical_pages.min_claims": "test_min_claims_of_canonical_pages_is_what_a_subject_needs",
    },
    "operations/test_signals.py": {
        "signals_compat": "test_compat_takes_all_of_the_history_and_questions_word_for_word",
    },
    "plans/probes/test_blast_radius.py": {
        "blast_radius_rows": "test_a_table_is_held_to_its_cap_whatever_stands_beside_it",
    },
    "plans/probes/test_recall.py": {
        "recall_floor": "test_a_harmful_plan_is_flagged",
    },
    "plans/test_gate.py": {},
    "surfaces/review_page/test_app.py": {
        "questions_per_night": "test_page_lists_the_questions_of_a_night_and_the_rest_on_demand",
    },
    "regressions/test_08_two_databases.py": {
        "snapshot_keep_nights": "test_two_databases_keep_their_own_snapshots",
    },
    "regressions/test_18_home.py": {
        "report_file_sink_enabled": "test_what_root_makes_in_a_services_home_is_the_services",
    },
    "search/test_namespace_settings.py": {
        "recall_log_share": "test_a_change_holds_for_the_next_who_asks",
    },
    "snapshots/test_answers.py": {
        "operations.neighbour_graph.top_k": "test_a_night_finds_conflicts_once",
    },
    "sources/test_limits.py": {
        "import_longest_text": "test_a_namespace_may_have_a_limit_of_its_own",
    },
    "store/test_writer.py": {
        "writer_endpoint": "test_the_writer_has_a_key_of_its_own",
        "consolidation_model": "test_one_endpoint_serves_both_writers",
    },
    "surfaces/api/test_dream_outcome.py": {
        "gate_min_hours": "test_errored_ends_the_run_with_its_sentence",
    },
    "surfaces/api/test_dreams.py": {
        "default_mode": "test_defect_c16_default_mode_and_every_field_of_the_scope_are_read",
        "blast_radius_share": "test_failed_probes_refuse_unless_somebody_says_why",
    },
    "wiki/corpus/test_page_write.py": {
        "screening_on_write": "test_screening_redacts_quarantines_or_warns_where_the_setting_says_so",
        "max_write_bytes": "test_dory_the_configured_size_limit_holds",
    },
    "wiki/corpus/test_sync.py": {
        "screening_on_import": "test_a_page_with_a_secret_is_refused_or_kept_out_of_sight",
    },
    "wiki/deep/test_deep_gates.py": {
        "operations.deep_pass.model": "test_3_7_deep_each_gate_says_its_name_in_order",
        "operations.deep_pass.max_tokens_per_week": "test_deep_a_week_has_its_own_budget",
        "operations.deep_pass.min_hours": "test_3_7_deep_a_pass_that_came_to_its_end_holds_back_the_next",
        "operations.deep_pass.scan_minutes": "test_3_4_deep_a_pass_that_failed_counts_as_tried_and_not_as_done",
        "operations.deep_pass.min_sessions": "test_3_7_deep_each_gate_says_its_name_in_order",
    },
    "wiki/deep/test_deep_run.py": {
        "operations.deep_pass.answer_seconds": "test_deep_limits_of_the_settings_hold_for_the_pass_and_its_model",
        "operations.deep_pass.timeout_seconds": "test_deep_limits_of_the_settings_hold_for_the_pass_and_its_model",
        "operations.deep_pass.max_turns": "test_3_4_deep_a_model_that_never_stops_is_timed_out_and_nothing_is_planned",
        "operations.deep_pass.max_tokens": "test_deep_limits_of_the_settings_hold_for_the_pass_and_its_model",
    },
    "wiki/operations/test_digest_sessions.py": {
        "operations.digest_sessions.notes": "test_settings_release_a_privacy_class_and_leave_out_notes",
        "operations.digest_sessions.may_tell": "test_settings_release_a_privacy_class_and_leave_out_notes",
    },
    "wiki/operations/test_page_health.py": {
        "operations.page_health.stale_days": "test_a_canonical_page_is_stale_after_a_month",
    },
    "wiki/pages/test_diary.py": {
        "operations.compile_pages.max_lines": "test_the_diary_keeps_its_limits_by_whole_days",
    },
    "wiki/pages/test_index.py": {
        "operations.compile_pages.max_bytes": "test_the_index_keeps_its_limits_and_says_what_it_leaves_out",
    },
    "wiki/recall/test_research_request.py": {
        "search_model": "test_a_model_without_an_endpoint_is_a_warning",
        "search_steps": "test_a_model_without_an_endpoint_is_a_warning",
    },
    "wiki/recall/test_wake_profiles.py": {
        "wake_profiles": "test_an_own_file_adds_and_replaces",
    },
    "wiki/test_pages.py": {
        "workspace_path": "test_pages_are_planned_approved_applied_written_committed_and_undone",
        "pages_git": "test_pages_are_planned_approved_applied_written_committed_and_undone",
    },
}
"""Test module below ``tests`` → setting → the test that shows its effect: it fails if the setting always has its default."""


def options(operation: str, **values: object) -> dict[str, object]:
    """Return settings of a namespace with these options of one operation."""
    return {"operations": {operation: values}}


def planned(planner: Planner, snapshot: Snapshot) -> int:
    """Return the number of items that a planner proposes."""
    return len(planner(make_inputs(snapshot)).items)


def test_every_setting_names_a_test_that_shows_its_effect() -> None:
    """The test exists and mentions the setting, so that a new setting cannot do nothing unnoticed."""
    named = [name for shown in EFFECTS.values() for name in shown]
    missing = [name for name in settings() if name not in named and not is_set_in_own_test(name)]
    assert not missing, (
        f"No test is named for {missing}. The option of an operation is found if a test in the operation's own test module sets it. "
        "For others, write a test that fails if the setting always has its default, and add it to EFFECTS in this file."
    )
    unknown = sorted(set(named) - settings().keys())
    assert not unknown, (
        f"These settings no longer exist: {unknown}. Remove them from EFFECTS in this file, with their tests."
    )
    assert len(named) == len(set(named)), (
        "EFFECTS names a setting twice. Keep the line of the test that shows its effect best."
    )
    for path, shown in EFFECTS.items():
        for name, test in shown.items():
            assert test in functions(path), (
                f"EFFECTS names {test} in tests/{path}, which has no such test. Correct the line of {name}."
            )
            assert name.rpartition(".")[2] in functions(path)[test].lower(), (
                f"{test} in tests/{path} does not mention {name}. Name the test that shows its effect in EFFECTS."
            )


def is_set_in_own_test(setting: str) -> bool:
    """Return whether the test module of an operation sets an option: ``{operation: {option: …}}`` or ``f(operation, option=…)``."""
    if setting.count(".") != 2:
        return False
    _, operation, option = setting.split(".")
    return any(
        option in find_set_options(node, operation)
        for file in (ROOT / "tests").glob(f"**/operations/**/test_{operation}.py")
        for node in ast.walk(ast.parse(file.read_text()))
    )


def find_set_options(node: ast.AST, operation: str) -> set[str | None]:
    """Return the options of an operation that a dict display or a call sets."""
    if isinstance(node, ast.Dict):
        inner = [v for k, v in zip(node.keys, node.values, strict=True) if read_literal(k) == operation]
        return {read_literal(k) for value in inner if isinstance(value, ast.Dict) for k in value.keys}
    if isinstance(node, ast.Call) and operation in map(read_literal, node.args):
        return {keyword.arg for keyword in node.keywords}
    return set()


def read_literal(node: ast.expr | None) -> str | None:
    """Return the text of a string literal, else None."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


@cache
def functions(path: str) -> Mapping[str, str]:
    """Map the tests of a module to their source, with that of the constants, fixtures and helpers of the module."""
    source = (ROOT / "tests" / path).read_text()
    parts = [(node, ast.get_source_segment(source, node) or "") for node in ast.parse(source).body]
    tests = {n.name: (n, s) for n, s in parts if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")}
    shared = "\n".join(
        s
        for n, s in parts
        if isinstance(n, ast.Assign | ast.AnnAssign | ast.FunctionDef) and (n, s) not in tests.values()
    )
    decorated = {
        name: "\n".join(ast.get_source_segment(source, d) or "" for d in node.decorator_list)
        for name, (node, _) in tests.items()
    }
    return {name: f"{decorated[name]}\n{text}\n{shared}" for name, (_, text) in tests.items()}


def test_writer_timeout_seconds_limits_the_answer_of_a_writer() -> None:
    made = consolidator_for(
        Settings(consolidation_model="m", writer_endpoint="http://localhost:1", writer_timeout_seconds=3)
    )
    assert isinstance(made, EndpointChat)
    assert made._completions._endpoint._timeout == 3


def test_search_timeout_seconds_limits_the_help_of_a_model() -> None:
    made = searcher_for(
        Settings(
            search_model="m", search_endpoint="http://localhost:1", search_steps=("rerank",), search_timeout_seconds=9
        )
    )
    assert made is not None
    assert isinstance(made.chat, EndpointChat)
    assert made.chat._completions._endpoint._timeout == 9


def test_relevance_half_life_days_of_a_kind_lets_its_memories_fade_faster() -> None:
    memory = {"id": uid("m"), "kind": "note", "importance": 0.5, "valid_from": TAKEN_AT - timedelta(days=10)}
    snapshot = make_snapshot(memories=[memory])
    slow, fast = (
        float(worth(snapshot, Settings(relevance_half_life_days={"note": days})).importance[0]) for days in (1000, 1)
    )
    assert fast < slow / 100


def test_cooccurrence_edge_weight_is_the_weight_of_a_mere_co_occurrence() -> None:
    ranks = [
        orphans(make_inputs(replace(ring(), settings={"cooccurrence_edge_weight": weight})))
        .findings[0]
        .details["score"]
        for weight in (0.1, 0.3)
    ]
    assert float(str(ranks[0])) < float(str(ranks[1]))


def test_pr_percentile_threshold_of_orphans_is_the_share_that_is_weak() -> None:
    found = [
        orphans(make_inputs(replace(ring(), settings=options("orphans", pr_percentile_threshold=share)))).numbers
        for share in (5, 100)
    ]
    assert found[0]["pagerank_cut"] < found[1]["pagerank_cut"]


def test_sample_cap_of_abstention_drift_takes_the_newest_recalls_alone() -> None:
    scores = [[0.5]] * 3 + [[0.9]] * 6
    few, all_of_them = (audit(recalls(*scores, sample_cap=cap)).details["sample_count"] for cap in (4, 100))
    assert (few, all_of_them) == (4, 9)


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ({}, "calibrated"),
        ({"min_samples": 10}, None),
        ({"min_top_score": 0.61}, "lower"),
        ({"combined_threshold": 0.01}, "raise"),
    ],
)
def test_min_samples_and_thresholds_of_abstention_drift_decide_the_advice(
    option: Mapping[str, object], advice: str | None
) -> None:
    """Nine recalls with a score of .4."""
    assert audit(recalls(*[[0.4]] * 9, **option)).details.get("recommendation") == advice


def test_cosine_threshold_of_dedupe_memories_keeps_farther_memories_apart() -> None:
    """Both have the same words in another order, and a cosine of .966."""
    texts = {"a": "The crane stopped on Monday.", "b": "On Monday the crane stopped."}
    pair = [test_dedupe_memories.event(n, text=text, kind="semantic") for n, text in texts.items()]

    def merged(threshold: float) -> int:
        overlay = options("dedupe_memories", cosine_threshold=threshold)
        vectors = {"b": test_dedupe_memories.at(15)}
        return planned(dedupe_memories, test_dedupe_memories.told(*pair, vectors=vectors, settings=overlay))

    assert (merged(0.92), merged(0.99)) == (1, 0)


@pytest.mark.parametrize(("option", "value"), [("min_cluster_size", 4), ("max_input_tokens", 100)])
@pytest.mark.usefixtures("every_rule_decides")
def test_min_cluster_size_and_max_input_tokens_hold_back_a_summary(option: str, value: int) -> None:
    """Three memories become one by default; those of 60 tokens each do not fit into 100."""
    tales = test_consolidate_clusters.tales()
    if option == "max_input_tokens":
        tales = [{**t, "text": f"{t['text']} {' '.join(f'It has {n} windows.' for n in range(7))}"} for t in tales]
    world = test_consolidate_clusters.world
    assert planned(consolidate_clusters, world(*tales)) == 1
    assert (
        planned(consolidate_clusters, world(*tales, settings=options("consolidate_clusters", **{option: value}))) == 0
    )


def test_cooldown_days_of_consolidate_clusters_leave_out_a_young_summary() -> None:
    """It was written 50 days ago."""
    summary = test_consolidate_clusters.memory("s", kind="summary")
    found = [
        consolidate_clusters(
            make_inputs(
                test_consolidate_clusters.world(summary, settings=options("consolidate_clusters", cooldown_days=days))
            )
        ).report.numbers["summaries cooling down"]
        for days in (7, 90)
    ]
    assert found == [0, 1]


def test_verifier_band_low_of_dedupe_entities_compares_more_pairs() -> None:
    """Two names without a common word have a cosine of .82."""
    rows = [test_match.entity("a", "Harbour Watch"), test_match.entity("b", "Nightfall Unit")]
    found = [
        match(
            test_match.table(rows),
            Settings(operations={"dedupe_entities": {"verifier_band_low": low}}),
            matrix=test_match.at_cosine(0.82),
            rows=np.arange(2),
        ).counts["candidates"]
        for low in (0.78, 0.85)
    ]
    assert found == [1, 0]


def test_search_max_tokens_per_day_is_what_the_budget_of_a_namespace_has_left(store: Store) -> None:
    remember(store, "acme")
    with store.connect("reader") as connection:
        known = known_namespace(connection, "acme")
        left = [
            day_budget(connection, known._replace(settings=Settings(search_max_tokens_per_day=most))).left()
            for most in (7, 9)
        ]
    assert left == [7, 9]


def test_lev_threshold_of_recompute_centroids_is_how_far_names_may_differ() -> None:
    near = np.array([[1, 0], [np.cos(0.4), np.sin(0.4)]], np.float32)
    decided = [
        centroid_decision(
            ["Grafana", "Grafan"],
            near,
            np.ones(2, np.int64),
            Settings(operations={"recompute_centroids": {"lev_threshold": n}}),
        )[0]
        for n in (0, 2)
    ]
    assert decided == ["re_embed", "centroid"]


def test_confidence_threshold_of_prune_edges_spares_what_is_above_it() -> None:
    found = [
        planned(
            prune_edges,
            test_prune_edges.world({"dead": {}}, options("prune_edges", confidence_threshold=threshold)),
        )
        for threshold in (0.4, 0.2)
    ]
    assert found == [1, 0]


def test_effective_importance_and_min_age_hours_of_archive_stale_spare_memories() -> None:
    memory = test_archive_stale.memory("m", days=30)

    def archived(**values: object) -> int:
        return len(test_archive_stale.archived(memory, settings=options("archive_stale", **values))[0])

    assert (archived(), archived(effective_importance=0), archived(min_age_hours=24 * 60)) == (1, 0, 0)


def test_relevance_floor_of_archive_stale_spares_what_is_above_it() -> None:
    memory = test_archive_stale.memory("m", days=200)

    def archived(floor: float) -> int:
        overlay = options("archive_stale", policy="natural_selection", relevance_floor=floor)
        return len(test_archive_stale.archived(memory, settings=overlay)[0])

    assert (archived(0.1), archived(0.0)) == (1, 0)


def test_gates_of_promote_memories_hold_back_a_promotion() -> None:
    def promoted(**values: object) -> int:
        world = test_promote_memories.world(
            [test_promote_memories.memory("m")],
            [test_promote_memories.recalls("m")],
            options("promote_memories", **values),
        )
        return planned(promote_memories, world)

    assert (promoted(), promoted(min_recalls=4), promoted(min_queries=3), promoted(min_score=0.9)) == (1, 0, 0, 0)


def test_recall_window_days_is_how_long_a_recall_counts_as_use() -> None:
    event = {"query": "q", "occurred_at": TAKEN_AT - timedelta(days=60), "hit_ids": [uid("m")]}
    memory = {"id": uid("m"), "kind": "semantic"}
    found = [
        make_inputs(
            make_snapshot(settings={"recall_window_days": days}, memories=[memory], recall_events=[event])
        ).models["recall_signals"]
        for days in (30, 90)
    ]
    assert [len(signals) for signals in found] == [0, 1]


def test_source_precedence_decides_which_source_wins() -> None:
    """A person's word against an import, and the other way round where the settings trust imports more."""
    chunks = [test_resolve_conflicts.chunk("h", source="human"), test_resolve_conflicts.chunk("i", source="import")]
    facts = [
        test_resolve_conflicts.fact("porto", "Porto", chunks=["h"]),
        test_resolve_conflicts.fact("lisbon", "Lisbon", days=1, chunks=["i"]),
    ]
    losers = [
        test_resolve_conflicts.decided(
            resolve_conflicts(
                test_resolve_conflicts.world(
                    facts, "source_precedence", chunks=chunks, settings={"source_precedence": order}
                )
            )
        ).keys()
        for order in (["human", "import"], ["import", "human"])
    ]
    assert losers == [{uid("lisbon")}, {uid("porto")}]


def test_dates_write_replaces_the_words_of_a_relative_date() -> None:
    memory = {"id": uid("m"), "kind": "semantic", "current_version_id": uid("v"), "valid_from": TAKEN_AT}
    version = {"id": uid("v"), "memory_id": uid("m"), "content": "The crane stopped yesterday."}
    texts = [
        absolutize_dates(
            make_inputs(make_snapshot(settings={"dates_write": how}, memories=[memory], memory_versions=[version]))
        )
        .items[0]
        .mutation.inserts[0]
        .values["content"]
        for how in ("beside", "replace")
    ]
    assert ["yesterday" in str(text) for text in texts] == [True, False]


def test_blast_radius_housekeeping_share_caps_small_talk_and_duplicates_in_all() -> None:
    memories = [{"id": uid(n), "kind": "semantic"} for n in range(10)]
    snapshot = make_snapshot(memories=memories)
    allowed = [
        blast_radius(snapshot, [], Settings(blast_radius_housekeeping_share=share)).per_table["memories"].allowed_in_all
        for share in (0.6, 1.0)
    ]
    assert allowed == [6, 10]


def test_plan_expiry_days_is_how_long_a_plan_can_be_approved(store: Store) -> None:
    """Two nights of one namespace under two values."""
    world = new_world(store)
    for days in (3, 9):
        change_settings(store, world.slug, {"plan_expiry_days": days})
        run_night(store, world.slug, force=True)
    rows = ask(store, "SELECT extract(epoch FROM expires_at - recorded_at) FROM night.plans ORDER BY recorded_at")
    assert [round(float(str(seconds)) / 86_400) for (seconds,) in rows] == [3, 9]


def test_report_base_path_is_the_folder_of_reports(tmp_path: Path) -> None:
    assert reports_path(Settings(report_base_path=str(tmp_path))) == tmp_path != reports_path(Settings())


def test_judge_timeout_seconds_limits_the_answer_of_a_judge() -> None:
    first, _ = judges_for(
        Settings(judge_models=("a", "b"), judge_endpoint="http://localhost:1", judge_timeout_seconds=3)
    )
    assert isinstance(first, EndpointChat)
    assert first._completions._endpoint._timeout == 3


def test_half_life_days_of_prune_edges_lets_edges_fade_faster() -> None:
    edge = {
        **{"confidence": 0.9, "weight": 0.5, "recorded_at": TAKEN_AT - timedelta(days=60)},
        "source_chunk_ids": [uid("stands")],
    }
    found = [
        planned(
            prune_edges,
            test_prune_edges.world(
                {"edge": edge}, options("prune_edges", score_threshold=0.2, half_life_days=half_life)
            ),
        )
        for half_life in (90, 30)
    ]
    assert found == [0, 1]


def test_tokens_of_decay_transition_are_the_length_of_a_stage() -> None:
    memory = test_decay_transition.memory("m", test_decay_transition.LONG)
    lengths = [
        count(
            str(
                test_decay_transition.plan(
                    test_decay_transition.world(
                        memory, settings=options("decay_transition", tokens={"full": 500, "compressed": most})
                    )
                )
                .items[0]
                .evidence["text"]
            )
        )
        for most in (20, 200)
    ]
    assert lengths[0] <= 20 < lengths[1] <= 200


def test_min_claims_of_canonical_pages_is_what_a_subject_needs() -> None:
    snapshot = test_canonical_pages.world(claims=[test_canonical_pages.claim(name) for name in "abc"])
    found = [
        planned(canonical_pages, replace(snapshot, settings=options("canonical_pages", min_claims=least)))
        for least in (3, 4)
    ]
    assert found[0] > found[1] == 0

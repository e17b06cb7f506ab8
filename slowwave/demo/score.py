"""What a night found of what was planted, one line a problem. It compares; it looks for nothing itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from slowwave.demo.key import AnswerKey
from slowwave.reports.model import Report


@dataclass(frozen=True, slots=True)
class Score:
    """``found`` of ``planted``, and ``false`` alarms. For merge traps ``found`` counts those merged, so it must be 0."""

    problem: str
    planted: int
    found: int
    false: int
    note: str


def found_against_planted(
    key: AnswerKey,
    *,
    merged_groups: Sequence[AbstractSet[str]],
    review_pairs: Collection[Collection[str]],
    reports: Mapping[str, Report],
    gc_rows: AbstractSet[str],
) -> list[Score]:
    """Scores of duplicates, merge traps, dead references, orphans and schema drift, in this order.

    ``merged_groups``: ids that the plan makes one row (of any table; groups of one merge given apart are joined here).
    ``review_pairs``: ids of each item that waits for a person. ``reports`` by operation: ``orphans`` (rows of its findings are
    the candidates) and ``schema_drift`` (``details`` holds ``new_entity_types``, ``unused_entity_types`` and their relationship
    twins). ``gc_rows``: rows whose references the plan cleans; a merge cleans those of its members, so they count as cleaned.
    """
    groups = _joined(merged_groups)
    return [
        _duplicates(key, groups, review_pairs),
        _traps(key, groups, review_pairs),
        _dead_references(key, groups, gc_rows),
        _orphans(key, reports.get("orphans")),
        _schema_drift(key, reports.get("schema_drift")),
    ]


def _duplicates(key: AnswerKey, groups: list[set[str]], review_pairs: Collection[Collection[str]]) -> Score:
    """A group is found when all its rows become one; a merge of rows that are not one group is false."""
    planted = [set(group.ids) for group in key.duplicates]
    found = [group for group in planted if any(group <= merged for merged in groups)]
    waiting = sum(group not in found and any(len(group & set(pair)) > 1 for pair in review_pairs) for group in planted)
    false = sum(not any(merged <= group for group in planted) for merged in groups)
    rows = sum(map(len, planted))
    return Score(
        "duplicates", len(planted), len(found), false, f"groups, {rows} rows in all; {waiting} more wait for review"
    )


def _traps(key: AnswerKey, groups: list[set[str]], review_pairs: Collection[Collection[str]]) -> Score:
    merged = sum(any(set(trap.ids) <= group for group in groups) for trap in key.merge_traps)
    waiting = sum(any(set(trap.ids) <= set(pair) for pair in review_pairs) for trap in key.merge_traps)
    clashes = sum(trap.kind in ("contradiction", "negation") for trap in key.merge_traps)
    note = f"merged, must be 0; {clashes} of the pairs contradict each other; {waiting} wait for review"
    return Score("merge traps", len(key.merge_traps), merged, merged, note)


def _dead_references(key: AnswerKey, groups: list[set[str]], gc_rows: AbstractSet[str]) -> Score:
    planted = {dead.row_id for dead in key.dead_references}
    merging = set[str]().union(*groups)
    found = planted & (gc_rows | merging)
    return Score(
        "dead references",
        len(planted),
        len(found),
        len(gc_rows - planted),
        f"rows; {len(found - gc_rows)} of them are cleaned by their merge",
    )


def _orphans(key: AnswerKey, report: Report | None) -> Score:
    if report is None:
        return Score("orphans", len(key.orphans), 0, 0, "the orphans audit did not run")
    reported = {row for finding in report.findings for row in finding.rows}
    wrong = reported & set(key.orphan_traps)
    weak = len(reported - set(key.orphans) - wrong)
    note = f"false = reported of {len(key.orphan_traps)} isolated ones in use; {weak} weakly connected reported besides"
    return Score("orphans", len(key.orphans), len(reported & set(key.orphans)), len(wrong), note)


def _schema_drift(key: AnswerKey, report: Report | None) -> Score:
    buckets = ("new_entity_types", "unused_entity_types", "new_relationship_types", "unused_relationship_types")
    planted = {(bucket, name) for bucket in buckets for name in getattr(key.schema_drift, bucket)}
    if report is None:
        return Score("schema drift", len(planted), 0, 0, "the schema_drift audit did not run")
    reported: set[tuple[str, str]] = set()
    for bucket in buckets:
        names = report.details.get(bucket, ())
        if isinstance(names, Collection) and not isinstance(names, str):
            reported |= {(bucket, str(name)) for name in names}
    return Score("schema drift", len(planted), len(planted & reported), len(reported - planted), "types new or unused")


def _joined(groups: Sequence[AbstractSet[str]]) -> list[set[str]]:
    """Groups that share a row made one."""
    joined: list[set[str]] = []
    for group in groups:
        apart = [other for other in joined if not other & group]
        joined = [*apart, set(group).union(*(other for other in joined if other & group))]
    return joined

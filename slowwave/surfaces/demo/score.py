"""Scores of a night against the answer key, one line per problem. This module only compares; it detects nothing itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from itertools import combinations

from slowwave.plans.items import Item
from slowwave.plans.report import Report
from slowwave.surfaces.demo.scribe import resolve
from slowwave.surfaces.demo.world import AnswerKey, PlantedContradiction


@dataclass(frozen=True, slots=True)
class Score:
    """The number of ``planted`` problems, how many were ``found``, and the ``false`` alarms.

    For merge traps ``found`` counts those merged, so it must be 0.
    """

    problem: str
    planted: int
    found: int
    false: int
    note: str


def found_against_planted(
    key: AnswerKey, *, items: Sequence[Item], deferred: Sequence[Item] = (), reports: Mapping[str, Report]
) -> list[Score]:
    """Return a score for each injected problem, audits first, then planners in the order of the plan.

    ``items`` are those of the plan. ``deferred`` items are left for another night; they count as detected, except merges of entities.
    ``reports`` are those of audits and planners, by operation. If the operation of a problem has no report or was left out, the note of
    its score says so.
    """
    night = _Night(key, items, deferred, reports)
    return [
        _duplicates(night),
        _traps(night),
        _dead_references(night),
        _orphans(night),
        _schema_drift(night),
        _tombstones(night),
        _abstention(night),
        _contradictions(night),
        _resolved(night),
        _duplicate_facts(night),
        _superseded(night),
        _duplicate_events(night),
        _drifted_types(night),
        _weak_edges(night),
        _communities(night),
        _expired(night),
        _relative_dates(night),
    ]


class _Night:
    """The items and reports of a night by operation, and the answer key."""

    def __init__(
        self, key: AnswerKey, items: Sequence[Item], deferred: Sequence[Item], reports: Mapping[str, Report]
    ) -> None:
        self.key, self.items, self.reports = key, items, reports
        self.every = (*items, *deferred)

    def get_items(self, operation: str) -> list[Item]:
        """Return the items of an operation, including deferred ones."""
        return [i for i in self.every if i.operation == operation]

    def unless_run(self, operation: str, note: str) -> str:
        """Return the note, or the reason why the operation did not run."""
        report = self.reports.get(operation)
        if report is None:
            return f"{operation} did not run"
        return report.headline if report.skipped else note

    def merged(self, *tables: str) -> list[set[str]]:
        """Return the groups of rows that the plan merges, in the named tables or in all if none is named."""
        merges = [i for i in self.items if i.mutation.kind == "merge_rows" and not i.is_question]
        return _joined([set(i.mutation.row_ids()) for i in merges if not tables or i.mutation.table in tables])

    def waiting(self) -> list[tuple[str, ...]]:
        """Return the pairs of rows in each merge that needs a review."""
        reviews = [i for i in self.items if i.mutation.kind == "merge_rows" and i.is_question]
        return [pair for i in reviews for pair in combinations(i.mutation.row_ids(), 2)]

    def sprung(self, problem: str, found: Collection[str] | Collection[AbstractSet[str]]) -> int:
        """Count the traps of a problem that were triggered: all rows of a trap are in one found row, pair or group."""
        groups = [{f} if isinstance(f, str) else f for f in found]
        return sum(any(set(trap.ids) <= group for group in groups) for trap in self.key.traps_of(problem))


def _duplicates(night: _Night) -> Score:
    """Score duplicates: a group is detected if all its rows are merged.

    A merge of rows that do not form one group is a false alarm.
    """
    groups, pairs = night.merged("entities"), night.waiting()
    planted = [set(group.ids) for group in night.key.duplicates]
    twins = [{r.row_id, r.merges_into} for r in night.key.renames if r.merges_into]
    found = [group for group in planted if any(group <= merged for merged in groups)]
    waiting = sum(group not in found and any(len(group & set(pair)) > 1 for pair in pairs) for group in planted)
    false = sum(not any(merged <= group for group in (*planted, *twins)) for merged in groups)
    rows = sum(map(len, planted))
    note = f"groups, {rows} rows in all; {waiting} more wait for review"
    return Score("duplicates", len(planted), len(found), false, note)


def _traps(night: _Night) -> Score:
    groups, traps = night.merged(), night.key.merge_traps
    merged = sum(any(set(trap.ids) <= group for group in groups) for trap in traps)
    waiting = sum(any(set(trap.ids) <= set(pair) for pair in night.waiting()) for trap in traps)
    clashes = sum(trap.kind in ("contradiction", "negation") for trap in traps)
    note = f"merged, must be 0; {clashes} of the pairs contradict each other; {waiting} wait for review"
    return Score("merge traps", len(traps), merged, merged, note)


def _dead_references(night: _Night) -> Score:
    """Score dead references, which cleaning, merging or pruning a row can remove.

    A merge cleans the references of its members, and a pruned row needs no cleaning.
    """
    planted = {dead.row_id for dead in night.key.dead_references}
    cleaned = {r for i in night.every if i.mutation.kind == "filter_references" for r in i.mutation.row_ids()}
    otherwise = set[str]().union(*night.merged(), _retired(night.get_items("prune_edges")))
    found = planted & (cleaned | otherwise)
    note = f"rows; {len(found - cleaned)} of them are merged or pruned instead"
    return Score("dead references", len(planted), len(found), len(cleaned - planted), note)


def _orphans(night: _Night) -> Score:
    key, report = night.key, night.reports.get("orphans")
    reported = {row for finding in report.findings for row in finding.rows} if report else set[str]()
    wrong = reported & set(key.orphan_traps)
    weak = len(reported - set(key.orphans) - wrong)
    note = f"false = reported of {len(key.orphan_traps)} isolated ones in use; {weak} weakly connected reported besides"
    found = len(reported & set(key.orphans))
    return Score("orphans", len(key.orphans), found, len(wrong), night.unless_run("orphans", note))


def _schema_drift(night: _Night) -> Score:
    buckets = ("new_entity_types", "unused_entity_types", "new_relationship_types", "unused_relationship_types")
    planted = {(bucket, name) for bucket in buckets for name in getattr(night.key.schema_drift, bucket)}
    report = night.reports.get("schema_drift")
    reported: set[tuple[str, str]] = set()
    for bucket in buckets:
        names = report.details.get(bucket, ()) if report else ()
        if isinstance(names, Collection) and not isinstance(names, str):
            reported |= {(bucket, str(name)) for name in names}
    note = night.unless_run("schema_drift", "types new or unused")
    return Score("schema drift", len(planted), len(planted & reported), len(reported - planted), note)


def _clashes(night: _Night) -> list[PlantedContradiction]:
    """Return the contradictions of edges and facts, without those of memories.

    Memories that contradict each other test only that they are not merged.
    """
    return [clash for clash in night.key.contradictions if clash.table != "memories"]


def _contradictions(night: _Night) -> Score:
    """Score the contradictions that the audit reports, by pair.

    A superseded pair counts as a contradiction. Any other pair that the audit is sure of is a false alarm.
    """
    key, report = night.key, night.reports.get("contradictions")
    findings = [f for f in report.findings if len(f.rows) == 2] if report else []
    reported = {frozenset(f.rows) for f in findings}
    sure = {frozenset(f.rows) for f in findings if f.severity != "info"}
    planted = {frozenset(clash.ids): clash.kind for clash in _clashes(night)}
    changed = {frozenset(pair) for pair in key.superseded}
    missed = sorted(kind for pair, kind in planted.items() if pair not in reported)
    doubtful = len(reported - sure - planted.keys() - changed)
    note = (
        f"pairs; {len(reported & changed)} superseded facts besides, {night.sprung('contradictions', reported)} traps, "
    )
    note += f"{doubtful} doubtful ones" + (f"; missed: {', '.join(missed)}" if missed else "")
    false = len(sure - planted.keys() - changed)
    note = night.unless_run("contradictions", note)
    return Score("contradictions", len(planted), len(planted.keys() & reported), false, note)


def _resolved(night: _Night) -> Score:
    """Score the contradictions for which the plan proposes a loser, with or without a review."""
    items, pairs = night.get_items("resolve_conflicts"), [set(clash.ids) for clash in _clashes(night)]
    lost, decided = _retired(items), _retired(i for i in items if not i.is_question)
    known = set[str]().union(*pairs, *map(set, night.key.superseded))
    both = sum(pair <= lost for pair in pairs)
    note = f"pairs of which one is to be retired, {sum(bool(pair & decided) for pair in pairs)} without a question; both of {both}"
    found = sum(bool(pair & lost) for pair in pairs)
    note = night.unless_run("resolve_conflicts", note)
    return Score("conflicts to resolve", len(pairs), found, both + len(decided - known), note)


def _duplicate_facts(night: _Night) -> Score:
    return _groups(night, "duplicate facts", "dedupe_facts", night.merged("memory_facts"), night.key.duplicate_facts)


def _duplicate_events(night: _Night) -> Score:
    """Score duplicate events: a group is detected if its events are merged or a reviewer is asked.

    Other questions to the reviewer are no false alarm. Merges of memories other than events are not scored, because the repeated
    statements of an agent are not injected.
    """
    merges = [i for i in night.get_items("dedupe_memories") if i.evidence.get("kind", "event") == "event"]
    decided, asked = (
        _joined([set(i.mutation.row_ids()) for i in merges if i.is_question is question]) for question in (False, True)
    )
    planted = [set(group) for group in night.key.duplicate_events]
    return _groups(
        night,
        "duplicate events",
        "dedupe_memories",
        [*decided, *(group for group in asked if any(wanted <= group for wanted in planted))],
        night.key.duplicate_events,
    )


def _groups(
    night: _Night, problem: str, operation: str, groups: Sequence[set[str]], planted: Iterable[Sequence[str]]
) -> Score:
    """Score groups of rows that should be merged."""
    wanted = [set(group) for group in planted]
    found = sum(any(group <= merged for merged in groups) for group in wanted)
    false = sum(not any(merged <= group for group in wanted) for merged in groups)
    note = f"groups, {sum(map(len, wanted))} rows in all; {night.sprung(problem, groups)} traps merged"
    return Score(problem, len(wanted), found, false, night.unless_run(operation, note))


def _superseded(night: _Night) -> Score:
    """Score superseded facts: the older fact must be closed, by the newer one or as the loser of their conflict.

    Closing a fact that still holds is a false alarm.
    """
    older, items = {old for old, _ in night.key.superseded}, night.get_items("supersede_facts")
    closed, lost = _retired(items), _retired(night.get_items("resolve_conflicts"))
    decided = _retired(i for i in items if not i.is_question)
    clashing = {row for clash in night.key.contradictions for row in clash.ids}
    note = f"facts; {len(older & lost - closed)} lost a conflict; {night.sprung('superseded facts', decided)} traps closed, "
    note += f"{len(closed - decided)} wait for review"
    return Score(
        "superseded facts",
        len(older),
        len(older & (closed | lost)),
        len(decided - older - clashing),
        night.unless_run("supersede_facts", note),
    )


def _weak_edges(night: _Night) -> Score:
    items, planted = night.get_items("prune_edges"), set(night.key.weak_edges)
    pruned = _retired(i for i in items if not i.is_question)
    note = f"edges; {night.sprung('weak edges', pruned)} traps pruned, {len(_retired(items) - pruned)} wait for review"
    note = night.unless_run("prune_edges", note)
    return Score("weak edges", len(planted), len(planted & pruned), len(pruned - planted), note)


def _drifted_types(night: _Night) -> Score:
    """Score drifted types: a row is detected if its type is renamed as the settings map it.

    A row is also detected if it is merged into the row that already has its name under the new type.
    """
    renamed = {
        (w.cell.row, str(w.value))
        for i in night.get_items("normalize_schema")
        for w in i.mutation.writes
        if w.cell.column in ("entity_type", "relationship_type")
    }
    groups = night.merged("entities")
    merged = {r.row_id for r in night.key.renames if any({r.row_id, r.merges_into} <= group for group in groups)}
    planted = {(r.row_id, r.new) for r in night.key.renames}
    found = sum((r.row_id, r.new) in renamed or r.row_id in merged for r in night.key.renames)
    note = f"rows; {len(merged)} of them merged into the row of that name"
    return Score(
        "drifted types", len(planted), found, len(renamed - planted), night.unless_run("normalize_schema", note)
    )


def _expired(night: _Night) -> Score:
    purged = {
        (d.table, d.row)
        for i in night.get_items("purge_expired")
        for d in i.mutation.deletes
        if (d.table, d.row) in set(night.key.retired) or d.table in ("memory_facts", "relationships")
    }
    planted = set(night.key.expired)
    traps = night.sprung("expired rows", [row for _, row in purged])
    note = night.unless_run("purge_expired", f"rows; {traps} traps purged")
    return Score("expired rows", len(planted), len(planted & purged), len(purged - planted), note)


def _relative_dates(night: _Night) -> Score:
    """Score relative dates: a note is detected if its phrase is resolved to the right day.

    The right day is the one that the phrase means on the day it was said; another day is a false alarm.
    """
    planted = {d.memory_id for d in night.key.relative_dates}
    right: dict[str, bool] = {}
    for item in night.get_items("absolutize_dates"):
        memory, rewrites = item.mutation.row_ids()[0], item.evidence.get("rewrites")
        if memory in planted and isinstance(rewrites, list) and rewrites:
            said_on = date.fromisoformat(str(item.evidence["said_on"]))
            right[memory] = str(rewrites[0]["value"]) == resolve(str(rewrites[0]["phrase"]), said_on).isoformat()
    found = sum(right.values())
    note = night.unless_run("absolutize_dates", "notes, each with the very day")
    return Score("relative dates", len(planted), found, len(right) - found, note)


def _communities(night: _Night) -> Score:
    """Score the summaries of communities of five or more members; a summary of a smaller one is a false alarm."""
    sizes = [
        len(members)
        for i in night.get_items("community_summaries")
        for insert in i.mutation.inserts
        if insert.table == "communities" and isinstance(members := insert.values.get("member_ids"), Collection)
    ]
    large = sum(size >= 5 for size in sizes)
    note = night.unless_run("community_summaries", f"at least; {large} summaries, of {sum(sizes)} members in all")
    planted = night.key.communities
    return Score("communities", planted, min(planted, large), len(sizes) - large, note)


def _tombstones(night: _Night) -> Score:
    """Score the retired facts that the audit counts."""
    planted = sum(table == "memory_facts" for table, _ in night.key.retired)
    report = night.reports.get("tombstones")
    counted = int(report.numbers.get("inactive_count", 0)) if report else 0
    note = night.unless_run("tombstones", report.headline if report else "")
    return Score("tombstones", planted, min(planted, counted), max(0, counted - planted), note)


def _abstention(night: _Night) -> Score:
    report = night.reports.get("abstention_drift")
    recommendation = str(report.details.get("recommendation", "")) if report else ""
    right = recommendation == night.key.abstention
    note = night.unless_run(
        "abstention_drift", f"{night.key.abstention} was planted, the audit says {recommendation or 'nothing'}"
    )
    return Score("abstention drift", 1, int(right), int(bool(recommendation) and not right), note)


def _retired(items: Iterable[Item]) -> set[str]:
    """Return the rows that would be closed or invalidated."""
    return {w.cell.row for i in items for w in i.mutation.writes if w.cell.column in ("invalidated_at", "valid_to")}


def _joined(groups: Sequence[AbstractSet[str]]) -> list[set[str]]:
    """Join groups that share a row."""
    joined: list[set[str]] = []
    for group in groups:
        apart = [other for other in joined if not other & group]
        joined = [*apart, set(group).union(*(other for other in joined if other & group))]
    return joined

"""``resolve_conflicts``: of two rows that cannot both be true, the one that loses is retired; what is not clear goes to a person.

Conflicts are found by ``slowwave.conflicts``. A person's verdict is final. Else the namespace's policy decides, in code; or two models
do, at plan time. What they said is remembered in the conflicts table, and they are not asked again while both rows say the same.

Propose a loser for every conflict of live rows that nobody has decided otherwise.

The policy ``policy`` decides: ``manual`` nothing but what people ruled, ``keep_newest`` the later valid_from
(else recorded_at), ``evidence_weighted`` confidence × live sources × recency, ``source_precedence`` the most trusted source,
``two_judges`` two models that agree (khora 8.10). Of two memories of little importance the newer wins, others are weighed as mnemo
2.4 does; a pinned one loses only when a person says so, as does one of another audience. A decision that is not sure becomes a
review, as does every one about a conflict that is doubtful in itself. A replaced fact whose predicate is known to take one object is
left to ``supersede_facts``. Rows are decided about strongest first, so that none loses to a row that loses. Cost: finding the
conflicts, and a pass over each table.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.conflicts.conflict import SAID, Conflict
from slowwave.conflicts.find import find_conflicts
from slowwave.conflicts.judge import ConflictQuestion, ConflictVerdict, JudgedConflicts, judge_conflicts
from slowwave.conflicts.verdicts import EffectiveVerdict, effective_verdicts
from slowwave.mutations.lose_conflict import Loss, lose_conflict
from slowwave.mutations.mutation import Mutation
from slowwave.mutations.rows import live_ids
from slowwave.operations import Inputs, Proposal, operation
from slowwave.operations.coverage import MEMORIES
from slowwave.operations.planners.rejections import rejected_subjects
from slowwave.plans.items import Item
from slowwave.plans.permitted import Permit
from slowwave.reports.model import Finding, Report
from slowwave.reports.plot import Bars
from slowwave.rows.memories import version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.quotation import quote

OPERATION: Final = "resolve_conflicts"

MARGIN: Final = 1.5
"""How many times the weight of the loser the winner must have before evidence decides alone."""

HALF_LIFE_DAYS: Final = 365.0
"""Days in which the recency of a statement falls by half."""

LEAD: Final = 0.1
"""By how much one memory must weigh more than the other, of 1, before evidence decides alone."""

HALF_LIFE_HOURS: Final = 168.0
"""Hours in which the recency of a memory falls by half (mnemo 2.4)."""

RELIABILITY: Final[Mapping[str, float]] = {
    **dict.fromkeys(("tool", "tool_output"), 0.9),
    **dict.fromkeys(("human", "user", "user_input", "canonical"), 0.8),
    "system": 0.75,
    **dict.fromkeys(("model", "model_response", "assistant"), 0.7),
    "agent": 0.6,
    "consolidation": 0.5,
    "retrieval": 0.4,
    "import": 0.3,
}
"""Source of a memory → how reliable it is (mnemo 2.4)."""

UNKNOWN: Final = 0.5
"""Reliability of a source that is not in the table."""

_QUOTED: Final = 3  # passages a side that a judge reads
_SOURCES: Final = 10
_SHOWN: Final = 300  # characters of what a row says, in evidence
_ENDS: Final = ("source_entity_id", "target_entity_id")
_WEIGHED: Final = ("confidence", "source_chunk_ids", "valid_from")
_AUDIENCE: Final = ("visibility", "sensitivity")
_KEPT: Final = ("state", "pinned", *_AUDIENCE)  # of memories, whatever decides
_OF_MEMORIES: Final = ("valid_from", "importance", "source", "pinned", "state")

_Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Decision:
    """Which side wins ("a" or "b"), whether that is sure enough to be done, why, and the columns it was taken on."""

    winner: str
    sure: bool
    why: str
    policy: str
    rests_on: tuple[str, ...] = ()
    strength: float = 0.5
    evidence: Mapping[str, object] = field(default_factory=dict)
    tokens: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ConflictRows:
    """What is known of the rows in conflict, by table and id: their columns, and the chunks and documents of theirs that stand."""

    rows: Mapping[tuple[str, str], _Fields]
    chunks: Mapping[tuple[str, str], tuple[str, ...]]
    sources_of: Mapping[str, str]  # chunk → the source of its document
    taken_at: datetime
    precedence: tuple[str, ...]
    low: float  # importance under which memories are too slight to ask a person


@operation(
    kind="planner",
    reads=(
        *("entities", "entity_aliases", "relationships", "memory_facts", "chunks", "documents"),
        *("memories", "memory_versions", "memory_vectors", "conflicts", "rejections"),
    ),
    after=("accept_external_edits",),
    permits=(Permit("invalidate_rows", {"memories", "memory_facts", "relationships"}, retires=None),),
    compares=replace(MEMORIES, alone=False),
    khora=("vectorcypher_contradiction_reconcile",),
    planted=("conflicts to resolve",),
)
def resolve_conflicts(inputs: Inputs) -> Proposal:
    """Of two rows that contradict each other, the one that loses is retired; what is not clear is a *review*.

    What a person ruled is done as ruled and never asked again. Else the namespace's policy decides: the newer row, the better founded
    one, the more trusted source, or two models that agree and cite their sources. The plan shows what both rows say and why.
    """
    snapshot, settings = inputs.snapshot, inputs.settings
    found = find_conflicts(snapshot, settings)
    counts = Counter[str]()
    verdicts = effective_verdicts(snapshot)
    open_: list[Conflict] = []
    decisions: list[tuple[Conflict, Decision]] = []
    sides = _sides(snapshot, found.conflicts, settings)
    policy = settings.operations.resolve_conflicts.policy
    for conflict in found.conflicts:
        earlier = verdicts.get(conflict.seen)
        if earlier is not None and not (earlier.person or earlier.resolution == "kept" or policy == "two_judges"):
            earlier = None  # judges are heard under their own policy only, but what they kept is kept
        if earlier is not None and (winner := earlier.winning_side(conflict)):
            decisions.append((conflict, _as_decided(winner, earlier)))
            counts["decided by a person" if earlier.person else "decided by judges before"] += 1
        elif earlier is not None:
            counts["deferred before" if earlier.resolution == "deferred" else "kept before"] += 1
        elif settings.operations.supersede_facts.enabled and _replaced(conflict, sides):
            counts["left to supersede_facts"] += 1
        else:
            open_.append(conflict)
    judged = JudgedConflicts({})
    if policy == "two_judges":
        judged = _judge(inputs, open_, sides)
        decisions += _judged(open_, judged, sides)
    elif policy != "manual":
        decisions += [(c, _by_policy(policy, c, sides)) for c in open_]
    pinned = [c for c, d in decisions if d.policy != "manual" and _both_pinned(c, sides)]
    decisions = [(c, d) for c, d in decisions if c not in pinned]
    counts["both pinned"] = len(pinned)
    items, waiting = _items(snapshot, decisions, sides)
    refused = rejected_subjects(snapshot, OPERATION)
    proposed = tuple(i for i in items if not refused or i.subject() not in refused)
    counts["rejected_before"] = len(items) - len(proposed)
    counts["decided by another conflict of a row"] = waiting
    return Proposal(proposed, _report(inputs, found.conflicts, open_, proposed, counts, judged))


def _as_decided(winner: str, earlier: EffectiveVerdict) -> Decision:
    who = earlier.by if earlier.person else "Both judges"
    return Decision(
        winner,
        sure=True,
        why=f"{who} ruled so." if earlier.person else "Both judges named the same loser on an earlier night.",
        policy="manual" if earlier.person else "two_judges",
        strength=1.0,
        evidence={"ruled_by": earlier.by},
    )


def _replaced(conflict: Conflict, sides: ConflictRows) -> bool:
    """Whether a fact with a later start replaces the other, of a predicate that the data say takes one object."""
    if conflict.table != "memory_facts" or not conflict.evidence.get("learnt"):
        return False
    a, b = (sides.rows[conflict.table, id_]["valid_from"] for id_ in (conflict.a, conflict.b))
    return a is not None and b is not None and a != b and max(a, b) <= sides.taken_at


def _by_policy(policy: str, conflict: Conflict, sides: ConflictRows) -> Decision:
    slight = _slight(conflict, sides)
    decision = _POLICIES["keep_newest" if slight else policy](conflict, sides)
    if slight:
        decision = replace(decision, rests_on=(*decision.rests_on, "importance"))
    decision = _for_audience(conflict, _for_pinned(conflict, decision, sides), sides)
    if decision.sure and conflict.doubtful:
        return replace(
            decision, sure=False, why=f"{decision.why} But both may be true: the rule that found them is often wrong."
        )
    return decision


def _slight(conflict: Conflict, sides: ConflictRows) -> bool:
    """Whether both are memories of little importance (mnemo 2.4)."""
    if conflict.table != "memories":
        return False
    return all(sides.rows[conflict.table, id_]["importance"] < sides.low for id_ in (conflict.a, conflict.b))


def _for_pinned(conflict: Conflict, decision: Decision, sides: ConflictRows) -> Decision:
    """A decision against the one side that is pinned becomes a review for it."""
    a, b = (bool(sides.rows[conflict.table, id_].get("pinned")) for id_ in (conflict.a, conflict.b))
    pinned = "" if a == b else "a" if a else "b"
    if not pinned or decision.winner == pinned:
        return decision
    return replace(
        decision, winner=pinned, sure=False, why="The winner is pinned, though all else speaks for the other."
    )


def _for_audience(conflict: Conflict, decision: Decision, sides: ConflictRows) -> Decision:
    """Of two memories that not the same people may see neither silences the other unasked."""
    if conflict.table != "memories" or not decision.sure:
        return decision
    a, b = (sides.rows[conflict.table, id_] for id_ in (conflict.a, conflict.b))
    if all(a[c] == b[c] for c in _AUDIENCE):
        return decision
    why = f"{decision.why} But they have different audiences: who reads the loser may not read the winner."
    return replace(decision, sure=False, why=why)


def _both_pinned(conflict: Conflict, sides: ConflictRows) -> bool:
    return all(sides.rows[conflict.table, id_].get("pinned") for id_ in (conflict.a, conflict.b))


def _keep_newest(conflict: Conflict, sides: ConflictRows) -> Decision:
    """The later valid_from where both are known and differ, else the later recorded_at; a tie is not sure."""
    a, b = (sides.rows[conflict.table, id_] for id_ in (conflict.a, conflict.b))
    for column, known in (("valid_from", a["valid_from"] and b["valid_from"]), ("recorded_at", True)):
        if known and a[column] != b[column]:
            winner = "a" if a[column] > b[column] else "b"
            why = f"The winner's {column} is the later one."
            times = {column: {"a": a[column].isoformat(), "b": b[column].isoformat()}}
            return Decision(winner, True, why, "keep_newest", ("valid_from",), 0.9, times)
    return Decision("a", False, "Both are equally new.", "keep_newest", ("valid_from",))


def _evidence_weighted(conflict: Conflict, sides: ConflictRows) -> Decision:
    """Confidence × live sources × 0.5^(age / a year); sure when one weighs one and a half times the other. Memories as mnemo does."""
    if conflict.table == "memories":
        return _memories_weighted(conflict, sides)
    weights = {s: _weight(conflict.table, id_, sides) for s, id_ in (("a", conflict.a), ("b", conflict.b))}
    # of equal weights the newer one is shown as the winner, for a person to say
    newest = _keep_newest(conflict, sides).winner
    winner = max(("a", "b"), key=lambda s: (round(weights[s], 12), s == newest))
    best, other = weights[winner], weights["b" if winner == "a" else "a"]
    sure = best > 0 and best >= MARGIN * other
    why = (
        f"The winner weighs {best:.3g} and the loser {other:.3g} (confidence × live sources × recency)"
        f"{'' if sure else f'; evidence decides alone from {MARGIN:g} times as much'}."
    )
    share = best / (best + other) if best + other else 0.5
    shown = {"weights": {s: round(w, 6) for s, w in weights.items()}, "margin": MARGIN}
    return Decision(winner, sure, why, "evidence_weighted", _rests(conflict.table), share, shown)


def _memories_weighted(conflict: Conflict, sides: ConflictRows) -> Decision:
    """Mnemo's score; sure when it leads by a tenth."""
    similarity = float(conflict.evidence.get("similarity", 0.0))
    rows = {s: sides.rows["memories", id_] for s, id_ in (("a", conflict.a), ("b", conflict.b))}
    most = max(int(r["access_count"]) for r in rows.values())
    scores = {s: memory_score(r, most, similarity, sides.taken_at) for s, r in rows.items()}
    newest = _keep_newest(conflict, sides).winner
    winner = max(("a", "b"), key=lambda s: (round(scores[s], 12), s == newest))
    best, other = scores[winner], scores["b" if winner == "a" else "a"]
    sure = best - other >= LEAD
    why = (
        f"The winner scores {best:.3f} and the loser {other:.3f} (source, recency, reads, importance, similarity)"
        f"{'' if sure else f'; evidence decides alone from a lead of {LEAD:g}'}."
    )
    shown = {"scores": {s: round(score, 6) for s, score in scores.items()}, "lead": LEAD}
    return Decision(winner, sure, why, "evidence_weighted", _rests("memories"), min(best, 1.0), shown)


def memory_score(row: _Fields, most: int, similarity: float, now: datetime) -> float:
    """0.3 · reliability of the source + 0.2 · recency (half-life 168 h) + 0.2 · reads / ``most`` + 0.2 · importance + 0.1 · similarity
    (mnemo 2.4); between 0 and 1. Recency is that of valid_from, else of recorded_at."""
    since: datetime = row["valid_from"] or row["recorded_at"] or now
    hours = max((now - since).total_seconds() / 3_600, 0.0)
    reads = int(row["access_count"]) / most if most > 0 else 0.0
    reliability = RELIABILITY.get(str(row["source"]).casefold(), UNKNOWN)
    recency = math.exp2(-hours / HALF_LIFE_HOURS)
    return 0.3 * reliability + 0.2 * recency + 0.2 * reads + 0.2 * float(row["importance"]) + 0.1 * similarity


def _source_precedence(conflict: Conflict, sides: ConflictRows) -> Decision:
    """The side with the most trusted source; the same rank, or no known source on either side, is not sure."""
    ranks = {s: _rank(conflict.table, id_, sides) for s, id_ in (("a", conflict.a), ("b", conflict.b))}
    rank = len(sides.precedence)
    names = {s: sides.precedence[r] if r < rank else "unknown" for s, r in ranks.items()}
    shown = {"sources": names}
    rests = _rests(conflict.table)
    if ranks["a"] == ranks["b"]:
        winner = _keep_newest(conflict, sides).winner
        return Decision(winner, False, "Both come from sources of one rank.", "source_precedence", rests, 0.5, shown)
    winner = "a" if ranks["a"] < ranks["b"] else "b"
    return Decision(
        winner, True, "The winner's source goes before the loser's.", "source_precedence", rests, 0.9, shown
    )


_POLICIES: Final[Mapping[str, Callable[[Conflict, ConflictRows], Decision]]] = {
    "keep_newest": _keep_newest,
    "evidence_weighted": _evidence_weighted,
    "source_precedence": _source_precedence,
}


def _weight(table: str, id_: str, sides: ConflictRows) -> float:
    row = sides.rows[table, id_]
    since: datetime = row["valid_from"] or row["recorded_at"] or sides.taken_at
    age = max((sides.taken_at - since).total_seconds() / 86_400, 0.0)
    return float(row["confidence"]) * len(sides.chunks[table, id_]) * math.exp2(-age / HALF_LIFE_DAYS)


def _rank(table: str, id_: str, sides: ConflictRows) -> int:
    places = {name: k for k, name in enumerate(sides.precedence)}
    if table == "memories":
        return places.get(str(sides.rows[table, id_]["source"]).casefold(), len(places))
    ranks = (places.get(sides.sources_of.get(c, "").casefold(), len(places)) for c in sides.chunks[table, id_])
    return min(ranks, default=len(places))


def _rests(table: str) -> tuple[str, ...]:
    if table == "memories":
        return _OF_MEMORIES
    return (*_WEIGHED, *(("source_document_ids",) if table == "relationships" else ()))


def _judge(inputs: Inputs, open_: Sequence[Conflict], sides: ConflictRows) -> JudgedConflicts:
    if not inputs.judges:
        return JudgedConflicts({}, not_asked=len(open_))
    settings = inputs.settings
    names = _names(inputs.snapshot, sides)
    quoted = {
        c.seen: tuple(dict.fromkeys(s for id_ in (c.a, c.b) for s in sides.chunks[c.table, id_][:_QUOTED]))
        for c in open_
    }
    texts = _texts(inputs.snapshot, {s for sources in quoted.values() for s in sources})
    questions = [
        ConflictQuestion(
            c.seen,
            _fields(sides.rows[c.table, c.a], names),
            _fields(sides.rows[c.table, c.b], names),
            c.reason,
            {s: texts[s] for s in quoted[c.seen] if s in texts},
        )
        for c in open_
    ]
    return judge_conflicts(
        questions,
        inputs.judges,
        cap=settings.judge_token_budget,
        confidence=settings.judge_confidence,
        pairs=settings.judge_pairs,
        budget=inputs.budget,
        operation=OPERATION,
    )


def _judged(open_: Sequence[Conflict], judged: JudgedConflicts, sides: ConflictRows) -> list[tuple[Conflict, Decision]]:
    found: list[tuple[Conflict, Decision]] = []
    for conflict in open_:
        verdict = judged.verdicts.get(conflict.seen)
        if verdict is not None and verdict.decision == "invalidate":
            winner = "b" if verdict.loser == "a" else "a"
            shown = {"judges": json.loads(json.dumps(asdict(verdict)))}
            sure = min(o.confidence for o in verdict.opinions)
            decision = Decision(winner, True, verdict.why, "two_judges", (), sure, shown, verdict.tokens)
            decision = _for_audience(conflict, _for_pinned(conflict, decision, sides), sides)
            found.append((conflict, decision))
    return found


def _items(
    snapshot: Snapshot, decisions: Sequence[tuple[Conflict, Decision]], sides: ConflictRows
) -> tuple[list[Item], int]:
    """Items, the sure and strong ones first; a conflict of which a row has lost already needs none, and the number of those."""
    ranked = sorted(
        decisions, key=lambda d: (not d[1].sure, d[1].policy != "manual", -_strength(*d, sides), d[0].a, d[0].b)
    )
    lost: set[tuple[str, str]] = set()
    taken: list[tuple[Conflict, Decision, Loss]] = []
    for conflict, decision in ranked:
        a, b = (conflict.a, *conflict.also_a), (conflict.b, *conflict.also_b)
        winners, losers = (a, b) if decision.winner == "a" else (b, a)
        if any((conflict.table, id_) in lost for id_ in (conflict.a, conflict.b)):
            continue
        if decision.sure:
            lost.update((conflict.table, id_) for id_ in losers)
        kept = _KEPT if conflict.table == "memories" else ()
        rests_on = tuple(dict.fromkeys((*SAID[conflict.table], *kept, *decision.rests_on)))
        taken.append((conflict, decision, Loss(winners[0], losers, rests_on)))
    mutations: dict[int, Mutation] = {}
    for table in SAID:
        at = [k for k, (conflict, _, _) in enumerate(taken) if conflict.table == table]
        mutations |= dict(zip(at, lose_conflict(snapshot, table, [taken[k][2] for k in at]), strict=True))
    names = _names(snapshot, sides)
    items = [_item(c, d, loss, mutations[k], sides, names) for k, (c, d, loss) in enumerate(taken)]
    return items, len(decisions) - len(taken)


def _strength(conflict: Conflict, decision: Decision, sides: ConflictRows) -> float:
    """By what a policy prefers a winner: all of its conflicts are decided before those of a weaker row."""
    id_ = conflict.a if decision.winner == "a" else conflict.b
    if decision.policy == "evidence_weighted":
        return decision.strength if conflict.table == "memories" else _weight(conflict.table, id_, sides)
    if decision.policy == "keep_newest":
        row = sides.rows[conflict.table, id_]
        return float((row["valid_from"] or row["recorded_at"] or sides.taken_at).timestamp())
    if decision.policy == "source_precedence":
        return float(-_rank(conflict.table, id_, sides))
    return decision.strength


def _item(
    conflict: Conflict,
    decision: Decision,
    loss: Loss,
    mutation: Mutation,
    sides: ConflictRows,
    names: Mapping[str, str],
) -> Item:
    evidence: dict[str, object] = {
        "reason": conflict.reason,
        "policy": decision.policy,
        "why": decision.why,
        "winner": _said(sides.rows[conflict.table, loss.winner], names),
        "loser": _said(sides.rows[conflict.table, loss.losers[0]], names),
        "winner_id": loss.winner,
        "conflict": {k: v for k, v in conflict.evidence.items() if k != "said"},
        "seen": conflict.seen,
        **decision.evidence,
    }
    by_person = decision.policy == "manual"
    sources = (c for id_ in (loss.winner, loss.losers[0]) for c in sides.chunks[conflict.table, id_])
    return Item(
        OPERATION,
        "resolve" if decision.sure else "review",
        mutation,
        evidence=evidence,
        risk="low" if by_person else "medium",
        sources=tuple(dict.fromkeys(sources))[:_SOURCES],
        tokens=decision.tokens,
        probability=round(decision.strength, 6),
    )


def _sides(snapshot: Snapshot, conflicts: Sequence[Conflict], settings: Settings) -> ConflictRows:
    rows: dict[tuple[str, str], _Fields] = {}
    chunks: dict[tuple[str, str], tuple[str, ...]] = {}
    live_chunks = live_ids(snapshot, "chunks") if conflicts else frozenset[str]()
    for table, said in SAID.items():
        wanted = {id_ for c in conflicts if c.table == table for id_ in (c.a, c.b)}
        if not wanted:
            continue
        whole = snapshot.table(table)
        columns = list(dict.fromkeys(["id", *said, *_rests(table), "source_chunk_ids", "valid_to", "recorded_at"]))
        found = whole.filter(pc.is_in(whole["id"], value_set=pa.array(sorted(wanted), pa.string())))
        if table == "memories":
            found = found.append_column("text", version_texts(snapshot, found["current_version_id"]))
            columns += ["text", "access_count", *_AUDIENCE]
        for row in found.select(columns).to_pylist():
            key = (table, str(row["id"]))
            rows[key] = row
            chunks[key] = tuple(dict.fromkeys(c for c in row["source_chunk_ids"] or () if c in live_chunks))
    return ConflictRows(
        rows,
        chunks,
        _sources_of(snapshot, {c for cs in chunks.values() for c in cs}),
        snapshot.taken_at,
        tuple(p.casefold() for p in settings.source_precedence),
        settings.operations.resolve_conflicts.low_importance,
    )


def _sources_of(snapshot: Snapshot, wanted: set[str]) -> dict[str, str]:
    if not wanted:
        return {}
    chunks, documents = snapshot.table("chunks"), snapshot.table("documents")
    found = chunks.filter(pc.is_in(chunks["id"], value_set=pa.array(sorted(wanted), pa.string())))
    at = pc.index_in(found["document_id"], value_set=documents["id"].combine_chunks())
    sources = pc.fill_null(documents["source"].take(at), "")
    return dict(zip(found["id"].to_pylist(), sources.to_pylist(), strict=True))


def _texts(snapshot: Snapshot, wanted: set[str]) -> dict[str, str]:
    chunks = snapshot.table("chunks")
    found = chunks.filter(pc.is_in(chunks["id"], value_set=pa.array(sorted(wanted), pa.string())))
    return dict(zip(found["id"].to_pylist(), found["content"].to_pylist(), strict=True))


def _names(snapshot: Snapshot, sides: ConflictRows) -> dict[str, str]:
    """Names of the entities at the ends of relationships in conflict."""
    wanted = {str(row[end]) for (table, _), row in sides.rows.items() if table == "relationships" for end in _ENDS}
    entities = snapshot.table("entities")
    found = entities.filter(pc.is_in(entities["id"], value_set=pa.array(sorted(wanted), pa.string())))
    return dict(zip(found["id"].to_pylist(), found["name"].to_pylist(), strict=True))


def _fields(row: _Fields, names: Mapping[str, str]) -> dict[str, object]:
    """What a judge reads of a row: what it says, and when it holds."""
    times = {c: row[c].isoformat() for c in ("valid_from", "valid_to", "recorded_at") if row[c] is not None}
    if "text" in row:
        return {c: row[c] for c in ("kind", "subject", "text")} | times
    if "subject" in row:
        return {c: row[c] for c in SAID["memory_facts"]} | times
    shown = {"source": names.get(row["source_entity_id"], ""), "target": names.get(row["target_entity_id"], "")}
    return {**shown, **{c: row[c] for c in ("relationship_type", "description", "properties")}, **times}


def _said(row: _Fields, names: Mapping[str, str]) -> str:
    """A row as a sentence for whoever approves."""
    if "text" in row:
        text = row["text"]
    elif "subject" in row:
        text = row["fact_text"] or f"{row['subject']} {row['predicate']} {row['object']}"
    else:
        ends = [names.get(row[end], "?") for end in _ENDS]
        text = f"{ends[0]} {row['relationship_type']} {ends[1]}"
        properties = row["properties"] if row["properties"] not in (None, "{}") else ""
        text = ": ".join(t for t in (text, row["description"], properties) if t)
    return quote(text, _SHOWN)


def _report(
    inputs: Inputs,
    conflicts: Sequence[Conflict],
    open_: Sequence[Conflict],
    items: Sequence[Item],
    counts: Mapping[str, int],
    judged: JudgedConflicts,
) -> Report:
    policy = inputs.settings.operations.resolve_conflicts.policy
    resolved = sum(i.decision == "resolve" for i in items)
    by_person = counts.get("decided by a person", 0)
    deferred = sum(v.decision == "defer" for v in judged.verdicts.values())
    kept = sum(v.decision == "keep" for v in judged.verdicts.values())
    doubtful = sum(c.doubtful for c in open_)
    numbers: dict[str, int | float] = {
        "conflicts": len(conflicts),
        "open": len(open_),
        "of these doubtful": doubtful,
        "decided by a person": by_person,
        "left alone, both pinned": counts.get("both pinned", 0),
        "kept before": counts.get("kept before", 0),
        "deferred before": counts.get("deferred before", 0),
        "left to supersede_facts": counts.get("left to supersede_facts", 0),
        "decided by another conflict of a row": counts.get("decided by another conflict of a row", 0),
        "rejected_before": counts.get("rejected_before", 0),
        "items": len(items),
        "resolved": resolved,
        "for review": len(items) - resolved,
    }
    if policy == "two_judges":
        numbers |= {
            "decided by judges before": counts.get("decided by judges before", 0),
            "judged": len(judged.verdicts),
            "kept by judges": kept,
            "deferred by judges": deferred,
            "llm_budget_exhausted": judged.over_budget,
            "not asked about": judged.not_asked,
            "tokens of the judges": judged.tokens,
        }
    headline = (
        f"{resolved:,} of {len(conflicts):,} conflicts would be resolved by the policy {policy}; "
        f"{len(items) - resolved:,} go to a person."
    )
    reasons = Counter(c.reason for c in conflicts)
    return Report(
        OPERATION,
        headline,
        numbers,
        findings=(
            *_outcomes(inputs, open_, judged),
            *(Finding(sentence) for sentence in judged.sentences),
            *_silent(inputs, open_),
            *_left_alone(counts.get("both pinned", 0), inputs.snapshot.namespace),
        ),
        table=tuple(
            {"decision": i.decision, "reason": i.evidence["reason"], "why": i.evidence["why"], "risk": i.risk}
            for i in items[:10]
        ),
        plots=(Bars("Conflicts by reason", list(reasons), [float(n) for n in reasons.values()], own=True),)
        if reasons
        else (),
    )


def _outcomes(inputs: Inputs, open_: Sequence[Conflict], judged: JudgedConflicts) -> tuple[Finding, ...]:
    """What the judges said, for the conflicts table: a verdict is remembered until a row says something else."""
    by = f"judges:{'+'.join(chat.model for chat in inputs.judges)}"
    found: list[Finding] = []
    for conflict in open_:
        verdict = judged.verdicts.get(conflict.seen)
        if verdict is not None and verdict.opinions:
            details = {"conflict": conflict.to_json(), "verdict": _remembered(conflict, verdict, by)}
            found.append(Finding(verdict.why, rows=(conflict.a, conflict.b), details=details))
    return tuple(found)


def _remembered(conflict: Conflict, verdict: ConflictVerdict, by: str) -> dict[str, object]:
    resolution = {"invalidate": "detected", "keep": "kept", "defer": "deferred"}[verdict.decision]
    loser = {"a": conflict.a, "b": conflict.b}.get(verdict.loser)
    winner = {"a": conflict.b, "b": conflict.a}.get(verdict.loser)
    return {"resolution": resolution, "winner_id": winner, "loser_id": loser, "resolved_by": by, "note": verdict.why}


def _left_alone(count: int, namespace: str) -> tuple[Finding, ...]:
    said = (
        f"{count:,} conflicts are between two pinned memories: unpin one, or rule on them; `slowwave conflicts list {namespace}` shows "
        "how."
    )
    return (Finding(said, severity="warning"),) if count else ()


def _silent(inputs: Inputs, open_: Sequence[Conflict]) -> tuple[Finding, ...]:
    """Why nothing is proposed about open conflicts."""
    policy = inputs.settings.operations.resolve_conflicts.policy
    if not open_ or (policy != "manual" and (policy != "two_judges" or inputs.judges)):
        return ()
    what = (
        f"The policy manual leaves every conflict to people: `slowwave conflicts list {inputs.snapshot.namespace}` shows how to rule."
        if policy == "manual"
        else "The policy two_judges has no judges: set SLOWWAVE_JUDGE_MODELS and SLOWWAVE_JUDGE_ENDPOINT, or another policy."
    )
    return (Finding(f"{len(open_):,} conflicts stay open. {what}", severity="info"),)

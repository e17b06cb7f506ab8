"""Policies: which of two rows in conflict wins, as a namespace's settings have it, and whether that is sure enough to be done.

``keep_newest``: the later start; ``evidence_weighted``: confidence, live sources and recency, memories as mnemo 2.4 weighs them;
``source_precedence``: the most trusted source. A pinned row, and a memory of another audience, lose only when a person says so.

The default policy, and a word of change in a text, decide only what ``slowwave.config.decides_alone`` allows for the rule that found the
conflict. An operator who sets another policy, or a threshold of importance, has chosen to have such conflicts decided.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from slowwave.config.decides_alone import decides_alone, why_asked
from slowwave.conflicts.conflict import Conflict
from slowwave.conflicts.sides import AUDIENCE, ConflictRows, weighed_columns

OPERATION: Final = "resolve_conflicts"
"""The operation under which the rules that find conflicts are measured."""

_DEFAULT: Final = "evidence_weighted"

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


def decide(policy: str, conflict: Conflict, sides: ConflictRows) -> Decision:
    """What a policy decides of a conflict; of two memories of little importance the newer wins under any (mnemo 2.4), and so does one that
    says of itself that it replaces the other."""
    slight, replaces = _slight(conflict, sides), bool(conflict.evidence.get("replaces"))
    used = "keep_newest" if slight or replaces else policy
    decision = _POLICIES[used](conflict, sides)
    if replaces:
        decision = replace(decision, why=f"The later of the two says that something has changed. {decision.why}")
    if slight:
        decision = replace(decision, rests_on=(*decision.rests_on, "importance"))
    decision = for_audience(conflict, for_pinned(conflict, decision, sides), sides)
    if decision.sure and conflict.doubtful and not slight:
        return replace(
            decision, sure=False, why=f"{decision.why} But both may be true: the rule that found them is often wrong."
        )
    chosen = slight or (used == policy and policy != _DEFAULT)
    pattern = "policy of the namespace" if chosen else conflict.pattern
    if decision.sure and not decides_alone(OPERATION, pattern):
        return replace(decision, sure=False, why=f"{decision.why} {why_asked(OPERATION, pattern)}")
    return decision


def _slight(conflict: Conflict, sides: ConflictRows) -> bool:
    """Whether both are memories of little importance (mnemo 2.4)."""
    if conflict.table != "memories":
        return False
    return all(sides.rows[conflict.table, id_]["importance"] < sides.low for id_ in (conflict.a, conflict.b))


def for_pinned(conflict: Conflict, decision: Decision, sides: ConflictRows) -> Decision:
    """A decision against the one side that is pinned becomes a review for it."""
    a, b = (bool(sides.rows[conflict.table, id_].get("pinned")) for id_ in (conflict.a, conflict.b))
    pinned = "" if a == b else "a" if a else "b"
    if not pinned or decision.winner == pinned:
        return decision
    return replace(
        decision, winner=pinned, sure=False, why="The one that stays is pinned, though all else supports the other."
    )


def for_audience(conflict: Conflict, decision: Decision, sides: ConflictRows) -> Decision:
    """Of two memories that not the same people may see neither silences the other unasked."""
    if conflict.table != "memories" or not decision.sure:
        return decision
    a, b = (sides.rows[conflict.table, id_] for id_ in (conflict.a, conflict.b))
    if all(a[c] == b[c] for c in AUDIENCE):
        return decision
    why = f"{decision.why} But they have different audiences: not everyone who reads the one that ends may read the one that stays."
    return replace(decision, sure=False, why=why)


def both_pinned(conflict: Conflict, sides: ConflictRows) -> bool:
    """Whether both rows are pinned: then no policy decides."""
    return all(sides.rows[conflict.table, id_].get("pinned") for id_ in (conflict.a, conflict.b))


def _keep_newest(conflict: Conflict, sides: ConflictRows) -> Decision:
    """The later valid_from where both are known and differ, else the later recorded_at; a tie is not sure."""
    a, b = (sides.rows[conflict.table, id_] for id_ in (conflict.a, conflict.b))
    for column, known in (("valid_from", a["valid_from"] and b["valid_from"]), ("recorded_at", True)):
        if known and a[column] != b[column]:
            winner = "a" if a[column] > b[column] else "b"
            why = f"The one that stays has the later {column}."
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
        f"The one that stays weighs {best:.3g} and the one that ends {other:.3g} (confidence × live sources × recency)"
        f"{'' if sure else f'; evidence decides alone from {MARGIN:g} times as much'}."
    )
    share = best / (best + other) if best + other else 0.5
    shown = {"weights": {s: round(w, 6) for s, w in weights.items()}, "margin": MARGIN}
    return Decision(winner, sure, why, "evidence_weighted", weighed_columns(conflict.table), share, shown)


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
        f"The one that stays scores {best:.3f} and the one that ends {other:.3f} (source, recency, reads, importance, similarity)"
        f"{'' if sure else f'; evidence decides alone from a lead of {LEAD:g}'}."
    )
    shown = {"scores": {s: round(score, 6) for s, score in scores.items()}, "lead": LEAD}
    return Decision(winner, sure, why, "evidence_weighted", weighed_columns("memories"), min(best, 1.0), shown)


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
    rests = weighed_columns(conflict.table)
    if ranks["a"] == ranks["b"]:
        winner = _keep_newest(conflict, sides).winner
        return Decision(winner, False, "Both come from sources of one rank.", "source_precedence", rests, 0.5, shown)
    winner = "a" if ranks["a"] < ranks["b"] else "b"
    return Decision(
        winner, True, "The source of the one that stays has precedence.", "source_precedence", rests, 0.9, shown
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


def strength(conflict: Conflict, decision: Decision, sides: ConflictRows) -> float:
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

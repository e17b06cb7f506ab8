"""``resolve_conflicts``: of two rows that cannot both be true, the losing one is retired; a person decides unclear cases.

``slowwave.operations.conflicts`` finds the conflicts. A person's verdict is final. Otherwise the namespace's policy decides, in code; or
two models do, at plan time. Their opinions are stored in the conflicts table, and they are not asked again while both rows state the
same.

If models are set, they also label near memories that no rule settles (``slowwave.operations.conflicts.judged``): a change becomes a
question. The planner proposes a loser for every conflict of live rows, unless someone has decided otherwise.

The setting ``policy`` decides: ``manual`` nothing but what people ruled, ``keep_newest`` the later valid_from (else recorded_at),
``evidence_weighted`` confidence × live sources × recency, ``source_precedence`` the most trusted source, ``two_judges`` two models that
agree (khora 8.10). Of two memories below the limit ``low_importance``, if one is set, the newer one wins; others are weighed as in mnemo
2.4. A pinned memory loses only if a person says so, and so does one with another audience. A decision that is not sure becomes a review,
and so does every decision on a conflict that is doubtful in itself. A replaced fact whose predicate is known to take one object is left
to ``supersede_facts``. Strong rows are decided first, so that none loses to a row that loses. Cost: finding the conflicts, and a pass
over each table.

A memory that differs from the session or passage that it names as its source is a question as well, except by the policy ``manual``
(``slowwave.operations.conflicts.grounding``).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Final

from slowwave.changes.cells import canonical
from slowwave.changes.mutation import Mutation
from slowwave.changes.rows import Loss, lose_conflict
from slowwave.models.panel import JUDGE_TOKENS, MOST_JUDGED
from slowwave.operations import Inputs, Proposal
from slowwave.operations.conflicts.decide import (
    AUDIENCE,
    OPERATION,
    ConflictDecision,
    ConflictQuestion,
    ConflictRows,
    ConflictVerdict,
    EffectiveVerdict,
    JudgedConflicts,
    beginning,
    both_pinned,
    decide,
    effective_verdicts,
    end_names,
    fields,
    for_audience,
    for_pinned,
    judge_conflicts,
    last_stated,
    passages,
    read_sides,
    relations,
    sentence,
    strength,
    why_this_side,
)
from slowwave.operations.conflicts.find import find_conflicts
from slowwave.operations.conflicts.grounding import ask_about_sources
from slowwave.operations.conflicts.judged import LabelledPairs, judge_pairs
from slowwave.operations.options import ResolveConflictsOptions
from slowwave.plans.commands import argument
from slowwave.plans.items import Decision, Item
from slowwave.plans.questions import SAID, Conflict, said_hash
from slowwave.plans.report import Bars, Finding, Report
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.quotation import quote
from slowwave.text.tokens import counted

_QUOTED: Final = 3  # passages a side that a judge reads
_SOURCES: Final = 10
_LONGEST_QUOTE: Final = 120
_KEPT: Final = ("state", "pinned", *AUDIENCE)  # of memories, whatever decides


def resolve_conflicts(inputs: Inputs) -> Proposal:
    """Propose to retire the losing row of two that contradict each other; an unclear conflict becomes a *review*."""
    snapshot, settings = inputs.snapshot, inputs.settings
    found = find_conflicts(snapshot, settings)
    counts = Counter[str]()
    verdicts = effective_verdicts(snapshot)
    open_: list[Conflict] = []
    decisions: list[tuple[Conflict, ConflictDecision]] = []
    policy = settings.options("resolve_conflicts", ResolveConflictsOptions).policy
    near = LabelledPairs()
    if policy != "manual":
        near = judge_pairs(
            *(snapshot, found.conflicts, inputs.judges, inputs.nli),
            threshold=settings.nli_threshold,
            cap=JUDGE_TOKENS,
            pairs=MOST_JUDGED,
            budget=inputs.budget,
        )
    conflicts = (*found.conflicts, *near.changed)
    sides = read_sides(snapshot, conflicts, settings)
    for conflict in conflicts:
        earlier = verdicts.get(conflict.seen)
        if earlier is not None and not (earlier.person or earlier.resolution == "kept" or policy == "two_judges"):
            earlier = None  # judges are heard under their own policy only, but what they kept is kept
        if earlier is not None and (winner := earlier.winning_side(conflict)):
            decisions.append((conflict, _as_decided(winner, earlier)))
            counts["decided by a person" if earlier.person else "decided by judges before"] += 1
        elif earlier is not None:
            counts["deferred before" if earlier.resolution == "deferred" else "kept before"] += 1
        elif settings.switch("supersede_facts") is not False and _replaced(conflict, sides):
            counts["left to supersede_facts"] += 1
        else:
            open_.append(conflict)
    judged = JudgedConflicts({})
    if policy == "two_judges":
        tasks = [c for c in open_ if c.reason == "done"]  # only a person decides those
        contradicting = [c for c in open_ if c.reason != "done"]
        judged = _judge(inputs, contradicting, sides)
        decisions += [*_judged(contradicting, judged, sides), *((c, decide(policy, c, sides)) for c in tasks)]
    elif policy != "manual":
        decisions += [(c, decide(policy, c, sides)) for c in open_]
    pinned = [c for c, d in decisions if d.policy != "manual" and both_pinned(c, sides)]
    decisions = [(c, d) for c, d in decisions if c not in pinned]
    counts["both pinned"] = len(pinned)
    items, waiting = _items(snapshot, decisions, sides)
    counts["decided by another conflict of a row"] = waiting
    counts["newest wins"] = sum(i.decision == Decision.RESOLVE and "newest_wins" in i.evidence for i in items)
    ended = {row.id for item in items for row in item.mutation.rows}
    unsupported = ask_about_sources(inputs, ended) if policy != "manual" else []
    counts["unsupported"] = len(unsupported)
    return Proposal((*items, *unsupported), _report(inputs, conflicts, open_, items, counts, judged, near))


def _as_decided(winner: str, earlier: EffectiveVerdict) -> ConflictDecision:
    who = earlier.by if earlier.person else "Both judges"
    return ConflictDecision(
        winner,
        sure=True,
        why=f"{who} ruled so." if earlier.person else "Both judges named the same loser on an earlier night.",
        policy="manual" if earlier.person else "two_judges",
        strength=1.0,
        evidence={"ruled_by": earlier.by, **({"ruled_on": earlier.at.isoformat()} if earlier.at else {})},
    )


def _replaced(conflict: Conflict, sides: ConflictRows) -> bool:
    """Return whether a fact with a later start replaces the other, for a predicate that takes one object by the data."""
    if conflict.table != "memory_facts" or not conflict.evidence.get("learnt"):
        return False
    a, b = (sides.rows[conflict.table, id_]["valid_from"] for id_ in (conflict.a, conflict.b))
    return a is not None and b is not None and a != b and max(a, b) <= sides.taken_at


def _judge(inputs: Inputs, open_: Sequence[Conflict], sides: ConflictRows) -> JudgedConflicts:
    if not inputs.judges:
        return JudgedConflicts({}, not_asked=len(open_))
    settings = inputs.settings
    names = end_names(inputs.snapshot, sides)
    quoted = {
        c.seen: tuple(dict.fromkeys(s for id_ in (c.a, c.b) for s in sides.chunks[c.table, id_][:_QUOTED]))
        for c in open_
    }
    texts = passages(inputs.snapshot, {s for sources in quoted.values() for s in sources})
    questions = [
        ConflictQuestion(
            c.seen,
            fields(sides.rows[c.table, c.a], names),
            fields(sides.rows[c.table, c.b], names),
            c.reason,
            {s: texts[s] for s in quoted[c.seen] if s in texts},
        )
        for c in open_
    ]
    return judge_conflicts(
        questions,
        inputs.judges,
        cap=JUDGE_TOKENS,
        confidence=settings.judge_confidence,
        pairs=MOST_JUDGED,
        budget=inputs.budget,
        operation=OPERATION,
    )


def _judged(
    open_: Sequence[Conflict], judged: JudgedConflicts, sides: ConflictRows
) -> list[tuple[Conflict, ConflictDecision]]:
    found: list[tuple[Conflict, ConflictDecision]] = []
    for conflict in open_:
        verdict = judged.verdicts.get(conflict.seen)
        if verdict is not None and verdict.decision == "invalidate":
            winner = "b" if verdict.loser == "a" else "a"
            shown = {"judges": json.loads(json.dumps(asdict(verdict)))}
            sure = min(o.confidence for o in verdict.opinions)
            decision = ConflictDecision(winner, True, verdict.why, "two_judges", (), sure, shown, verdict.tokens)
            decision = for_audience(conflict, for_pinned(conflict, decision, sides), sides)
            found.append((conflict, decision))
    return found


def _items(
    snapshot: Snapshot, decisions: Sequence[tuple[Conflict, ConflictDecision]], sides: ConflictRows
) -> tuple[list[Item], int]:
    """Return the items, the sure and strong ones first, and the number of conflicts that need none.

    A conflict of which one row has already lost needs no item. If a row says that something has changed, what it ends has ended even if
    that row is itself replaced: its losers then lose to the row that replaced it.
    """
    ranked = sorted(
        decisions, key=lambda d: (not d[1].sure, d[1].policy != "manual", -strength(*d, sides), d[0].a, d[0].b)
    )
    lost: dict[tuple[str, str], str] = {}
    later: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    taken: list[tuple[Conflict, ConflictDecision, Loss]] = []
    for conflict, decision in ranked:
        a, b = (conflict.a, *conflict.also_a), (conflict.b, *conflict.also_b)
        winners, losers = (a, b) if decision.winner == "a" else (b, a)
        replaces = decision.sure and bool(conflict.evidence.get("replaces"))
        if decision.sure and "newest_wins" in decision.evidence:
            later[conflict.table, losers[0]].append(winners[0])
        if (conflict.table, losers[0]) in lost or ((conflict.table, winners[0]) in lost and not replaces):
            continue
        if decision.sure:
            lost.update(((conflict.table, id_), winners[0]) for id_ in losers)
        kept = _KEPT if conflict.table == "memories" else ()
        rests_on = tuple(dict.fromkeys((*SAID[conflict.table], *kept, *decision.rests_on)))
        taken.append((conflict, decision, Loss(winners[0], losers, rests_on)))
    taken = [(c, d, _ended_by(c.table, _in_the_end(c, d, loss, lost), lost, later, sides)) for c, d, loss in taken]
    mutations: dict[int, Mutation] = {}
    for table in SAID:
        at = [k for k, (conflict, _, _) in enumerate(taken) if conflict.table == table]
        mutations |= dict(zip(at, lose_conflict(snapshot, table, [taken[k][2] for k in at]), strict=True))
    names = end_names(snapshot, sides)
    items = [_item(c, d, loss, mutations[k], sides, names) for k, (c, d, loss) in enumerate(taken)]
    return items, len(decisions) - len(taken)


def _in_the_end(
    conflict: Conflict, decision: ConflictDecision, loss: Loss, lost: Mapping[tuple[str, str], str]
) -> Loss:
    """Redirect a loss to a row that is itself replaced to the row that replaces it in the end."""
    winner = loss.winner
    while (conflict.table, winner) in lost and lost[conflict.table, winner] not in (loss.winner, *loss.losers):
        winner = lost[conflict.table, winner]
    if winner == loss.winner or not (decision.sure and conflict.evidence.get("replaces")):
        return loss
    return replace(loss, winner=winner, ended_by=loss.winner)


def _ended_by(
    table: str,
    loss: Loss,
    lost: Mapping[tuple[str, str], str],
    later: Mapping[tuple[str, str], Sequence[str]],
    sides: ConflictRows,
) -> Loss:
    """Name the row at whose start the losers end, if it is not the winner.

    It is the next value of a relation whose newest value wins, which lost to the winner in turn, or the row of a winner that began before
    the loser and was stated again later.
    """
    (loser, *_), winner = loss.losers, loss.winner
    began, own = last_stated(table, loser, sides), sides.rows[table, winner]["valid_from"]
    if loss.ended_by or began is None or own is None:
        return loss
    if own <= began:
        again = sides.restated.get((table, winner))
        return replace(loss, ended_by=again[0]) if again and again[1] > began else loss
    between = sorted(
        (start, id_)
        for id_ in later.get((table, loser), ())
        if lost.get((table, id_)) == winner
        and (start := last_stated(table, id_, sides)) is not None
        and began < start < own
    )
    return replace(loss, ended_by=between[0][1]) if between else loss


def _item(
    conflict: Conflict,
    decision: ConflictDecision,
    loss: Loss,
    mutation: Mutation,
    sides: ConflictRows,
    names: Mapping[str, str],
) -> Item:
    recorded = {s: sides.rows[conflict.table, id_]["recorded_at"] for s, id_ in (("a", conflict.a), ("b", conflict.b))}
    figures = {**decision.evidence}
    if recorded["a"] != recorded["b"]:
        figures.setdefault("recorded_at", {s: at.isoformat() for s, at in recorded.items()})
    authors = {id_: str(sides.rows[conflict.table, id_].get("author") or "") for id_ in (conflict.a, conflict.b)}
    named = relations(conflict, sides)
    begins = [name for name in [beginning(conflict, sides)] if name and not named]
    evidence: dict[str, object] = {
        "reason": conflict.reason,
        "policy": decision.policy,
        "why": decision.why,
        **({"side": side} if (side := why_this_side(conflict, decision, sides)) else {}),
        "winner": sentence(sides.rows[conflict.table, loss.winner], names),
        "loser": sentence(sides.rows[conflict.table, loss.losers[0]], names),
        "winner_id": loss.winner,
        "conflict": {k: v for k, v in conflict.evidence.items() if k != "said"},
        "seen": conflict.seen,
        **({"authors": authors} if all(authors.values()) and len(set(authors.values())) > 1 else {}),
        **({"relation": named[0]} if named else {}),
        **({"also_named": also} if (also := named[1:] or begins) else {}),
        **{key: _by_side(value, decision.winner) for key, value in figures.items()},
    }
    replaced_by = "" if (conflict.table, loss.ended_by) not in sides.rows else loss.ended_by  # else it was stated again
    equal = (conflict.also_a if decision.winner == "a" else conflict.also_b) if not replaced_by else ()
    if equal:  # an answer against the winner ends these too, as long as they state this
        evidence["equal"] = {id_: _said_hash(conflict.table, id_, sides) for id_ in equal}
    if isinstance(spans := conflict.evidence.get("quoted"), Mapping):
        words = {s: sides.rows[conflict.table, id_]["text"] for s, id_ in (("a", conflict.a), ("b", conflict.b))}
        quoted = {s: quote(text[slice(*spans[s])], _LONGEST_QUOTE) for s, text in words.items()}
        evidence["quoted"] = _by_side(quoted, decision.winner)
    if replaced_by:
        evidence["ended_by"] = sentence(sides.rows[conflict.table, replaced_by], names)
    by_person = decision.policy == "manual"
    sources = (c for id_ in (replaced_by or loss.winner, loss.losers[0]) for c in sides.chunks[conflict.table, id_])
    return Item(
        OPERATION,
        Decision.RESOLVE if decision.sure else Decision.REVIEW,
        mutation,
        evidence=evidence,
        risk="low" if by_person else "medium",
        sources=tuple(dict.fromkeys(sources))[:_SOURCES],
        tokens=decision.tokens,
        probability=round(decision.strength, 6),
    )


def _said_hash(table: str, id_: str, sides: ConflictRows) -> str:
    return said_hash(table, {column: canonical(sides.rows[table, id_][column]) for column in SAID[table]})


def _by_side(value: object, winner: str) -> object:
    """Return figures of the two rows under the names of their sides: a and b are an order of ids, which no surface shows."""
    if not isinstance(value, Mapping) or set(value) != {"a", "b"}:
        return value
    return {"stays": value[winner], "ends": value["b" if winner == "a" else "a"]}


def _report(
    inputs: Inputs,
    conflicts: Sequence[Conflict],
    open_: Sequence[Conflict],
    items: Sequence[Item],
    counts: Mapping[str, int],
    judged: JudgedConflicts,
    near: LabelledPairs,
) -> Report:
    policy = inputs.settings.options("resolve_conflicts", ResolveConflictsOptions).policy
    resolved = sum(i.decision == Decision.RESOLVE for i in items)
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
        "items": len(items),
        "resolved": resolved,
        "resolved because the newest wins": counts.get("newest wins", 0),
        "for review": len(items) - resolved,
        "memories that differ from their source": (unsupported := counts.get("unsupported", 0)),
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
    numbers |= {f"near pairs: {name}": count for name, count in near.numbers.items()}
    headline = (
        f"{resolved:,} of {len(conflicts):,} conflicts would be resolved by the policy {policy}; "
        f"{len(items) - resolved:,} go to a person."
    )
    if unsupported:
        headline += f" {counted(unsupported, 'memory differs', 'memories differ')} from the source: a person is asked."
    reasons = Counter(c.reason for c in conflicts)
    return Report(
        OPERATION,
        headline,
        numbers,
        findings=(
            *_outcomes(inputs, open_, judged),
            *(Finding(sentence) for sentence in judged.sentences),
            *near.findings,
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
    """Return the judges' opinions as findings for the conflicts table.

    A verdict is remembered until one of the rows states something else.
    """
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
        f"{count:,} conflicts are between two pinned memories: unpin one, or rule on them; "
        f"`slowwave conflicts list {argument(namespace)}` shows how."
    )
    return (Finding(said, severity="warning"),) if count else ()


def _silent(inputs: Inputs, open_: Sequence[Conflict]) -> tuple[Finding, ...]:
    """Return why nothing is proposed about open conflicts."""
    policy = inputs.settings.options("resolve_conflicts", ResolveConflictsOptions).policy
    if not open_ or (policy != "manual" and (policy != "two_judges" or inputs.judges)):
        return ()
    shown = f"`slowwave conflicts list {argument(inputs.snapshot.namespace)}`"
    what = (
        f"The policy manual leaves every conflict to people: {shown} shows how to rule."
        if policy == "manual"
        else "The policy two_judges has no judges: set SLOWWAVE_JUDGE_MODELS and SLOWWAVE_JUDGE_ENDPOINT, or another policy."
    )
    return (Finding(f"{len(open_):,} conflicts stay open. {what}", severity="info"),)

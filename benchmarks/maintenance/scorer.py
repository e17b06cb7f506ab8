"""Figures of one memory system on histories: changes found, changes made wrongly, questions, answers before and after, tokens.

- A *change* is a statement whose claim does not hold at the end. It is *ended* if no live text presents it, *asked* if it is live and a
  question names it next to a statement that ends it; else it is *missed*. Found is the share of ended and asked ones.
- A *wrong unasked change* is a claim that holds at the end, and that no live text presents.
- A question is *wrong* if it names neither a change with a statement that ends it nor two statements of one claim.
- A question to the memory is *answered* if the five best live texts by BM25 present all claims that answer it, and none that is over.
  *If answered* counts them as if a person had ended the changes that the system asked about.
- Tokens are those of all live texts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields

import bm25s

from benchmarks.maintenance.adapter import LiveText, MemorySystem, Question
from benchmarks.maintenance.generator import Claim, History, Label
from slowwave.text.tokens import count

FOUND_AMONG = 5
"""Live texts that a question to the memory finds."""


@dataclass(slots=True)
class Score:
    """Sums over histories."""

    claims: int = 0
    wrong_changes: int = 0
    changes: int = 0
    ended: int = 0
    asked: int = 0
    questions: int = 0
    wrong_questions: int = 0
    to_answer: int = 0
    answered_before: int = 0
    answered_after: int = 0
    answered_if_reviewed: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    cpu_seconds: float = 0.0
    outcomes: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    """(kind of thread, phrasing, relation, ``ended``, ``asked`` or ``missed``) → changes."""
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(``wrong question`` or ``wrong change``, kind of thread and registers of the statements) → number."""

    def add(self, other: Score) -> None:
        """Add the sums of another score."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def to_json(self) -> dict[str, float]:
        """Return the plain figures by name."""
        return {f.name: round(v, 3) for f in fields(self) if isinstance(v := getattr(self, f.name), int | float)}


def score(histories: Iterable[History], make: Callable[[], MemorySystem]) -> Score:
    """Measure a system, a new instance of it for each history."""
    total = Score()
    for history in histories:
        total.add(score_history(history, make()))
    return total


def score_history(history: History, system: MemorySystem) -> Score:
    """Load one history, maintain it once, and compare the result with the labels."""
    system.load(history.statements)
    before = list(system.live())
    began = time.process_time()
    system.maintain()
    result = Score(cpu_seconds=time.process_time() - began)
    after, questions = list(system.live()), list(system.questions())
    _count_changes(history, result, after, questions)
    _count_questions(history, result, questions)
    reviewed = _without(after, _asked_about(history, questions))
    result.to_answer = len(history.asked)
    result.answered_before = _answered(history, before)
    result.answered_after = _answered(history, after)
    result.answered_if_reviewed = _answered(history, reviewed)
    result.tokens_before = sum(count(live.text) for live in before)
    result.tokens_after = sum(count(live.text) for live in after)
    return result


def _presented(history: History, live: LiveText) -> frozenset[int]:
    """Return the statements that a live text presents: its sources whose words it still contains."""
    text = live.text.casefold()
    return frozenset(k for k in live.sources if history.labels[k].contains.casefold() in text)


def _claims(history: History, live: LiveText) -> frozenset[Claim]:
    return frozenset(history.labels[k].claim for k in _presented(history, live))


def _count_changes(history: History, result: Score, after: Sequence[LiveText], questions: Sequence[Question]) -> None:
    present = frozenset[int]().union(*(_presented(history, live) for live in after))
    asked = _asked_about(history, questions)
    for k in sorted(history.must_end()):
        label = history.labels[k]
        outcome = "ended" if k not in present else "asked" if k in asked else "missed"
        result.changes += 1
        result.ended += outcome == "ended"
        result.asked += outcome == "asked"
        by = history.labels[min(label.ended_by)]
        result.outcomes[label.kind, _pair(label, by), label.claim.relation, outcome] += 1
    kept = {history.labels[k].claim for k in present}
    true = history.true_claims()
    result.claims = len(true)
    for claim in true - kept:
        result.wrong_changes += 1
        label = next(label for label in history.labels if label.claim == claim)
        result.errors["wrong change", f"{label.kind}: {label.register}"] += 1


def _pair(earlier: Label, later: Label) -> str:
    """Name the phrasing of two statements."""
    same = earlier.template == later.template
    return f"{earlier.register}, same form" if same else f"{earlier.register} → {later.register}"


def _asked_about(history: History, questions: Iterable[Question]) -> frozenset[int]:
    """Return the changes that a question names next to a statement that ends them, or alone."""
    must_end = history.must_end()
    return frozenset(
        k
        for question in questions
        if question.about == "change"
        for k in question.statements & must_end
        if len(question.statements) == 1 or history.labels[k].ended_by & question.statements
    )


def _count_questions(history: History, result: Score, questions: Sequence[Question]) -> None:
    result.questions = len(questions)
    for question in questions:
        labels = [history.labels[k] for k in sorted(question.statements)]
        change = any(label.ended_by & question.statements for label in labels)
        repeated = len({label.claim for label in labels}) < len(labels)
        alone = len(labels) == 1 and bool(question.statements & history.must_end())
        if question.about == "change" and not (change or repeated or alone):
            result.wrong_questions += 1
            one_topic = len({label.claim[:2] for label in labels}) == 1
            registers = " → ".join(label.register for label in labels)
            named = labels[-1].kind if one_topic else "different subjects or relations"
            result.errors["wrong question", f"{named}: {registers}"] += 1


def _without(live: Sequence[LiveText], ended: frozenset[int]) -> list[LiveText]:
    """Return live texts without those of which every statement has been ended by a person's answers."""
    return [one._replace(sources=one.sources - ended) for one in live if one.sources - ended or not one.sources]


def _answered(history: History, live: Sequence[LiveText]) -> int:
    """Return the number of questions whose best live texts present the right claims and none that is over."""
    if not live or not history.asked:
        return 0
    index = bm25s.BM25()
    index.index(bm25s.tokenize([one.text for one in live], show_progress=False), show_progress=False)
    queries = bm25s.tokenize([asked.text for asked in history.asked], show_progress=False)
    found, _ = index.retrieve(queries, k=min(FOUND_AMONG, len(live)), show_progress=False)
    answered = 0
    for asked, places in zip(history.asked, found, strict=True):
        claims = frozenset[Claim]().union(*(_claims(history, live[int(k)]) for k in places))
        answered += asked.right <= claims and not asked.ended & claims
    return answered

"""The queue of a review: the items of a plan that wait for a person, grouped by what they ask, each with what was said of it so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from slowwave.mutations.mutation import Row
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.outcome import find_outcome, seen_words
from slowwave.plans.permitted import RISKS
from slowwave.plans.questions import CODES, HEADINGS, Code
from slowwave.review.drafts import Draft
from slowwave.review.learning import LikeQuestions, SessionLearning, learn
from slowwave.review.ordering import information
from slowwave.review.sorts import Sort

State = Literal["open", "yes", "no", "skip"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """An item that asks: its id and operation, what it asks, what it is about in a line, and the draft that stands of it, if any.

    ``information`` is how much its answer settles (``slowwave.review.ordering``), ``learnt`` how likely yes is by the answers so far,
    ``follows`` the verdict that they leave alone possible (``slowwave.review.learning``). The title quotes memory, which is untrusted.
    """

    id: str
    operation: str
    code: Code
    sentence: str
    title: str
    risk: str
    probability: float
    information: float
    draft: Draft | None
    learnt: float | None = None
    follows: str = ""

    @property
    def state(self) -> State:
        """Open, or what was said of it."""
        match self.draft.verdict if self.draft else "":
            case "yes":
                return "yes"
            case "no":
                return "no"
            case "skip":
                return "skip"
            case _:
                return "open"


@dataclass(frozen=True, slots=True)
class QuestionGroup:
    """The items of one question in order, and how many of all of its items are open, drafted yes or no, or skipped."""

    code: Code
    label: str
    items: tuple[Waiting, ...]
    counts: Mapping[State, int]


@dataclass(frozen=True, slots=True)
class Queue:
    """Groups in the order in which they are asked, those without items left out; ``counts`` over all of them, whatever is filtered.

    ``decided`` items need no person: a signature approves them as well; ``overruled`` of those a person has drafted something about.
    ``followed`` counts the verdicts that came from an earlier plan with the same items.
    """

    groups: tuple[QuestionGroup, ...]
    counts: Mapping[State, int]
    decided: int
    overruled: int
    contradictions: tuple[str, ...] = field(default=())
    followed: int = 0
    look_decided: tuple[LikeQuestions, ...] = field(default=())

    @property
    def items(self) -> tuple[Waiting, ...]:
        """All items that are shown, in order."""
        return tuple(item for group in self.groups for item in group.items)


def queue(
    plan: StoredPlan,
    drafts: Mapping[str, Draft],
    *,
    sort: Sort = "information",
    state: State | None = None,
    operation: str | None = None,
    risk: str | None = None,
    likely: float | None = None,
    search: str = "",
    names: Mapping[str, str] | None = None,
) -> Queue:
    """The review items of a plan that wait, as its drafts leave them; ``names`` of rows are those of ``slowwave.review.card.called_rows``.

    Filters: what was said of them, their operation, their risk, a probability of at least ``likely``, and words of their title or
    sentence, in any case. Answers so far move what is asked next. Cost: that of ``information`` and ``learn``.
    """
    pending = [s for s in plan.items if s.status == "pending"]
    asked = [s for s in pending if s.decision == "review"]
    taught = learn(asked, drafts)
    merges = [s for s in pending if s.decision != "review" and s.kind == "merge_rows" and s.id not in drafts]
    worth = information(asked, taught.likely, merges=merges, drafts=drafts)
    waiting = [_waiting(s, drafts.get(s.id), worth[s.id], taught, names) for s in asked]
    words = search.casefold().split()
    shown = [
        w
        for w in waiting
        if (state is None or w.state == state)
        and (operation is None or w.operation == operation)
        and (risk is None or w.risk == risk)
        and (likely is None or w.probability >= likely)
        and all(word in f"{w.title} {w.sentence} {w.id}".casefold() for word in words)
    ]
    ordered = sorted(shown, key=_KEYS[sort])
    groups = tuple(
        QuestionGroup(code, HEADINGS[code], tuple(w for w in ordered if w.code == code), _counts(of))
        for code in CODES
        if (of := [w for w in waiting if w.code == code])
    )
    decided = [s for s in pending if s.decision != "review"]
    return Queue(
        groups=groups,
        counts=_counts(waiting),
        decided=len(decided),
        overruled=sum(s.id in drafts for s in decided),
        contradictions=tuple(sorted(d.item for d in drafts.values() if d.against)),
        followed=sum(d.followed is not None for d in drafts.values()),
        look_decided=taught.decided,
    )


def title_of(item: StoredItem, names: Mapping[str, str] | None = None) -> str:
    """Return an item in a line: its outcome where it has two sides, else the names of its evidence, else its rows. It quotes memory.

    Rows are called by ``names`` where these are known, else by their ids.
    """
    return title_from(item.item, names, item.status)


def title_from(item: Item, names: Mapping[str, str] | None = None, status: str = "") -> str:
    """Return the same line for an item that no plan stores; ``status`` is the item's in its plan."""
    if sides := find_outcome(item, names or {}, status):
        return sides.sentence()
    if told := _names_line(item):
        return told
    mutation, rows = item.mutation, _rows(item)
    if names and (called := [names[row.id] for row in rows if row.id in names]):
        return ", ".join(called)
    return f"{mutation.table} {', '.join(row.external_id or row.id[:8] for row in rows)}"


def unnamed(plan: StoredPlan) -> set[str]:
    """Return the rows by whose names the questions of a plan that wait are called, as the sealed items hold none."""
    asked = (s.item for s in plan.items if s.status == "pending" and s.decision == "review")
    return {row.id for item in asked if not _names_line(item) for row in _rows(item) if row.id not in seen_words(item)}


def _names_line(item: Item) -> str:
    """The names that the evidence gives, in a line."""
    given: Any = item.evidence.get("names")
    return " = ".join(str(name) for name in given) if isinstance(given, list) and given else ""


def _rows(item: Item) -> Sequence[Row]:
    """The first five rows that an item is about."""
    mutation = item.mutation
    return [*((mutation.keep,) if mutation.keep else ()), *mutation.absorb, *mutation.rows][:5]


def code_of(item: StoredItem) -> Code:
    """The code of what an item asks; one that has none asks whether it may change something."""
    return _BY_NAME.get(item.question, "change")


def _waiting(
    item: StoredItem, draft: Draft | None, worth: float, taught: SessionLearning, names: Mapping[str, str] | None
) -> Waiting:
    return Waiting(
        id=item.id,
        operation=item.operation,
        code=code_of(item),
        sentence=item.reason,
        title=title_of(item, names),
        risk=item.risk,
        probability=item.probability,
        information=worth,
        draft=draft,
        learnt=taught.likely.get(item.id),
        follows=taught.follows.get(item.id, ""),
    )


def _counts(items: Sequence[Waiting]) -> dict[State, int]:
    found = Counter(w.state for w in items)
    return {"open": found["open"], "yes": found["yes"], "no": found["no"], "skip": found["skip"]}


_BY_NAME: Final[Mapping[str, Code]] = {code: code for code in CODES}
_RANK: Final = {risk: n for n, risk in enumerate(reversed(RISKS))}
_KEYS: Final[Mapping[Sort, Callable[[Waiting], tuple[object, ...]]]] = {
    "information": lambda w: (-w.information, w.id),
    "risk": lambda w: (_RANK.get(w.risk, 0), -w.information, w.id),
    "probability": lambda w: (-w.probability, w.id),
    "operation": lambda w: (w.operation, -w.information, w.id),
}

"""The queue of a review: questions in groups, ordered by how much their answers settle."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log10
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from slowwave.changes.mutation import Mutation, Row
from slowwave.errors import Refused
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredItem, StoredPlan, code_of
from slowwave.plans.outcome import find_outcome, seen_words
from slowwave.plans.permitted import RISKS
from slowwave.plans.questions import CODES, HEADINGS, LATER_SIDES, Code
from slowwave.plans.review import Sort
from slowwave.plans.review.drafts import Draft, current_drafts
from slowwave.plans.review.groups import FEWEST, Direction, QuestionForm, draw_sample, form_of, split_group
from slowwave.plans.review.rules import LikeQuestions, SessionLearning, learn
from slowwave.plans.states import find_plan
from slowwave.plans.waterfall import percent
from slowwave.store.connect import Store
from slowwave.text.quotation import quotable, quotable_all
from slowwave.text.tokens import counted

# The order of questions: those whose answers settle most come first.
#
# For the question whether rows are the same, a yes settles all rows that merge with either row, and a no hardly more than the two rows.
# The value of such a question is the current probability of yes, times the square root of the number of row pairs that it settles (for
# two groups, the geometric mean of their sizes). This is an expected gain; the root reduces the weight of large groups, because one wrong
# row in them makes their questions useless. Alternatives tried: uncertainty (alone, and times the pairs), the probability alone, and
# times all pairs; ``make bench-review`` compares them.
#
# For other questions, such as whether a value may be lost, there is no useful probability, so each counts as equally open. Their value is
# the number of questions of connected rows, plus the number of similar questions, of which each further answer is worth less. This is
# density (Settles, Active Learning, 2012, 5.2). Each question of a group counts as all of the group, because one answer may settle it.
#
# Questions of one cluster of rows are asked next to each other, at the place of the one that settles most: a person who has the rows in
# mind answers the next pair of them faster. The planner names the cluster, because no two questions of a plan share a row.
#
# A question about rows that agents recall is worth more: 1 more for ten recalls, 2 more for a hundred, as a factor. The logarithm keeps
# one popular memory from pushing large groups back.

Likeness = tuple[object, ...]
"""The features that similar questions share."""

_RECALLS: Final = 5_000
_RECALLED: Final = """
SELECT hit::text, count(*) FROM (
  SELECT hit_ids FROM memory.recall_events WHERE namespace_id = %(namespace)s ORDER BY occurred_at DESC LIMIT %(most)s) last,
  unnest(last.hit_ids) hit WHERE hit = ANY(%(rows)s::uuid[]) GROUP BY 1
"""

_Edges = tuple[NDArray[np.int64], NDArray[np.int64]]


def information(
    items: Sequence[StoredItem],
    likely: Mapping[str, float] | None = None,
    *,
    merges: Sequence[StoredItem] = (),
    drafts: Mapping[str, Draft] | None = None,
    recalls: Mapping[str, int] | None = None,
) -> dict[str, float]:
    """Return item → how much its answer settles: a number without a unit, at least 0, larger is asked first.

    The values are comparable among questions of one kind. ``likely`` maps some items to the current probability of yes; the others have
    the plan's probability. The groups of rows result from ``merges``, which are items that need no person, and from the drafts with yes.
    A drafted item keeps the value that it had without drafts. ``recalls`` are the recalls of rows (``count_recalls``). Cost: linear in
    rows, n log n in items.
    """
    known, drafted = likely or {}, drafts or {}
    same = [s for s in items if s.question == "same"]
    worth = _hanging([s for s in items if s.question != "same"])
    yes = [s for s in same if s.id in drafted and drafted[s.id].verdict == "yes" and not drafted[s.id].against]
    before, after = _settled(same, merges), _settled(same, [*merges, *yes])
    for s, alone, now in zip(same, before.tolist(), after.tolist(), strict=True):
        worth[s.id] = known.get(s.id, s.probability) * (alone if s.id in drafted else now) ** 0.5
    if recalls:
        for s in items:
            worth[s.id] *= 1 + log10(1 + sum(recalls.get(row, 0) for row in _row_ids(s)))
    return worth


def count_recalls(store: Store, plan: StoredPlan) -> dict[str, int]:
    """Return row → how many of the namespace's last recalls found it, for the rows of a plan's pending questions.

    One query over at most ``_RECALLS`` recalls, as a reader.
    """
    rows = sorted(set[str]().union(*(_row_ids(s) for s in plan.items if s.status == "pending" and s.is_question)))
    if not rows:
        return {}
    values = {"namespace": plan.header.namespace_id, "most": _RECALLS, "rows": rows}
    with store.connect("reader") as connection:
        return {str(row): int(str(n)) for row, n in connection.execute(_RECALLED, values)}


def _settled(items: Sequence[StoredItem], merges: Sequence[StoredItem]) -> NDArray[np.int64]:
    """Return, for each item (items,), the pairs of rows that a yes joins.

    These are all pairs between the groups of the item's rows that ``merges`` leave; 0 if there is only one group.
    """
    at: dict[str, int] = {}
    of, row = _edges([*items, *merges], at)
    merging = of >= len(items)
    n = len(at)
    graph = sparse.coo_matrix(
        (np.ones(merging.sum(), np.int8), (of[merging] - len(items) + n, row[merging])), shape=(n + len(merges),) * 2
    )
    _, label = csgraph.connected_components(graph, directed=False)
    size = np.bincount(label[:n], minlength=len(label))
    groups = np.unique(np.column_stack([of[~merging], label[row[~merging]]]), axis=0)
    sizes = size[groups[:, 1]]
    total = np.bincount(groups[:, 0], weights=sizes, minlength=len(items))
    return ((total**2 - np.bincount(groups[:, 0], weights=sizes**2, minlength=len(items))) / 2).astype(np.int64)


def _hanging(items: Sequence[StoredItem]) -> dict[str, float]:
    """Return item → how many questions share rows with it or look like it."""
    together = _together(items)
    kinds = {s.id: likeness(s) for s in items}
    alike = Counter(kinds.values())
    forms = {s.id: form for s in items if (form := form_of(s)) and form.is_group}
    members = Counter(form.group for form in forms.values())
    asked: Counter[Likeness] = Counter()
    counts: dict[str, float] = {}
    for s in sorted(items, key=lambda s: s.id):
        kind = kinds[s.id]
        asked[kind] += 1
        group = members[forms[s.id].group] if s.id in forms else 0
        counts[s.id] = together[s.id] + (group if group >= FEWEST else (alike[kind] - asked[kind]) / asked[kind])
    return counts


def likeness(item: StoredItem) -> Likeness:
    """Return the features by which questions look alike: operation, question, kind, signs of the evidence, reason, and form.

    They are taken from the item's evidence, not from the texts of rows.
    """
    evidence: Any = json.loads(item.evidence)
    found = evidence.get("waterfall") if isinstance(evidence, Mapping) else None
    steps = [step for step in found if isinstance(step, Mapping)] if isinstance(found, list) else []
    signs = tuple(sorted({(str(step.get("evidence")), float(step.get("weight", 0)) > 0) for step in steps}))
    reason = str(evidence.get("reason", "")) if isinstance(evidence, Mapping) else ""
    return item.operation, item.question, item.kind, signs, reason if steps else "", form_of(item)


def _together(items: Sequence[StoredItem]) -> dict[str, int]:
    """Return item → how many items are connected with it through the rows that they name, itself included."""
    at: dict[str, int] = {}
    i, j = _edges(items, at)
    size = len(items) + len(at)
    graph = sparse.coo_matrix((np.ones(len(i), np.int8), (i, j + len(items))), shape=(size, size))
    _, label = csgraph.connected_components(graph, directed=False)
    label = label[: len(items)]
    counts = np.bincount(label) if len(items) else np.zeros(0, np.int64)
    return {s.id: int(counts[label[n]]) for n, s in enumerate(items)}


def _edges(items: Sequence[StoredItem], at: dict[str, int]) -> _Edges:
    """Return the edges between items (by index) and the rows that they name (by the number in ``at``)."""
    ends = [(n, at.setdefault(row, len(at))) for n, s in enumerate(items) for row in sorted(_row_ids(s))]
    edges = np.array(ends, np.int64).reshape(-1, 2)
    return edges[:, 0], edges[:, 1]


def _row_ids(item: StoredItem) -> set[str]:
    """Return the ids of the rows that an item is about."""
    mutation: Any = json.loads(item.mutation)
    keep = [mutation["keep"]] if mutation.get("keep") else []
    named = [*keep, *(mutation.get("absorb") or ()), *(mutation.get("rows") or ())]
    return {str(row["id"]) for row in named}


# The queue of a review: the pending items of a plan, grouped by what they ask, each with its draft.

State = Literal["open", "yes", "no", "skip"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pending review item: its id, operation, question, title and latest draft.

    ``information`` is how much its answer settles (``slowwave.plans.review.queue``). ``learnt`` is the probability of yes by the answers
    so far, and ``follows`` the only verdict that they leave possible (``slowwave.plans.review.rules``). ``sides`` are the words of
    two rows if the question is which of them is right, ``form`` is that of their relation, and ``side`` says why one of them would stay.
    ``members`` is the number of open questions of a group that this one is listed for. ``cluster`` names the rows that several questions
    are about, empty if this is the only one. Title, sides and form quote memory, which is untrusted.
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
    sides: tuple[str, str] | None = None
    form: QuestionForm | None = None
    side: str = ""
    members: int = 0
    cluster: str = ""

    @property
    def state(self) -> State:
        """Return ``open``, or the verdict of the draft."""
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
    """The items of one question, in order.

    ``counts`` states how many of all of its items are open, drafted yes or no, or skipped.
    """

    code: Code
    label: str
    items: tuple[Waiting, ...]
    counts: Mapping[State, int]


@dataclass(frozen=True, slots=True)
class Queue:
    """The groups of questions in the order in which they are asked, without empty ones.

    ``counts`` covers all items, whatever is filtered. ``decided`` items need no person: an approval of the review includes them.
    ``overruled`` counts those of them that have a person's draft. ``later`` counts the open questions that are not listed, because a
    group is listed once or the budget of the night is reached. ``followed`` counts the verdicts that came from an earlier plan with
    the same items.
    """

    groups: tuple[QuestionGroup, ...]
    counts: Mapping[State, int]
    decided: int
    overruled: int
    later: int = 0
    contradictions: tuple[str, ...] = field(default=())
    followed: int = 0
    look_decided: tuple[LikeQuestions, ...] = field(default=())

    @property
    def items(self) -> tuple[Waiting, ...]:
        """Return all items that are shown, in order."""
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
    budget: int | None = None,
    recalls: Mapping[str, int] | None = None,
) -> Queue:
    """Return the pending review items of a plan, grouped and ordered, with their drafts.

    With a ``budget``, a group of one form is listed as one question, and so many questions are listed that settle most, less those that
    were answered already. Without it every question is listed.

    Filters: the state of the draft, the operation, the risk, a probability of at least ``likely``, and words of title or sentence in any
    case. ``names`` of rows come from ``slowwave.plans.review.card.called_rows``. The answers so far change the order. Cost: that of
    ``information`` and ``learn``.
    """
    pending = [s for s in plan.items if s.status == "pending"]
    asked = [s for s in pending if s.is_question]
    taught = learn(asked, drafts)
    merges = [s for s in pending if not s.is_question and s.kind == "merge_rows" and s.id not in drafts]
    worth = information(asked, taught.likely, merges=merges, drafts=drafts, recalls=recalls)
    waiting = [_waiting(s, drafts.get(s.id), worth[s.id], taught, names) for s in asked]
    words = search.casefold().split()
    listed = waiting if budget is None else _within_budget(waiting, budget)
    shown = [
        w
        for w in listed
        if (state is None or w.state == state)
        and (operation is None or w.operation == operation)
        and (risk is None or w.risk == risk)
        and (likely is None or w.probability >= likely)
        and all(word in f"{w.title} {w.sentence} {w.id}".casefold() for word in words)
    ]
    ordered = sorted(shown, key=_KEYS[sort])
    ordered = _by_cluster(ordered) if sort == "information" else ordered
    groups = tuple(
        QuestionGroup(code, HEADINGS[code], tuple(w for w in ordered if w.code == code), _counts(of))
        for code in CODES
        if (of := [w for w in waiting if w.code == code])
    )
    decided = [s for s in pending if not s.is_question]
    return Queue(
        groups=groups,
        counts=_counts(waiting),
        decided=len(decided),
        overruled=sum(s.id in drafts for s in decided),
        later=len(waiting) - len(listed),
        contradictions=tuple(sorted(d.item for d in drafts.values() if d.against)),
        followed=sum(d.followed is not None for d in drafts.values()),
        look_decided=taught.decided,
    )


def _within_budget(waiting: Sequence[Waiting], budget: int) -> list[Waiting]:
    """Return the questions to list: all with a draft, and the open ones that settle most, each group as its first question.

    An answer for a group uses up one question of the budget, and so do the answers to its sample together. Answers from an earlier plan
    use up nothing.
    """
    groups: dict[object, list[Waiting]] = {}
    used: set[object] = set()
    alone: list[Waiting] = []
    for w in waiting:
        group = w.form.group if w.form and w.form.is_group else None
        if w.state != "open":
            if w.draft and w.draft.followed is None:
                used.add(group or (w.draft.reviewer, w.draft.recorded_at))
        elif group:
            groups.setdefault(group, []).append(w)
        else:
            alone.append(w)
    for members in groups.values():
        if len(members) < FEWEST:
            alone += members
        else:
            alone.append(replace(min(members, key=_KEYS["information"]), members=len(members)))
    tonight = _by_cluster(sorted(alone, key=_KEYS["information"]))[: max(0, budget - len(used))]
    return [*(w for w in waiting if w.state != "open"), *tonight]


def _by_cluster(ordered: Sequence[Waiting]) -> list[Waiting]:
    """Return the questions with those of one cluster next to each other, at the place of the first of them."""
    clusters: dict[str, list[Waiting]] = {}
    for w in ordered:
        clusters.setdefault(w.cluster or w.id, []).append(w)
    return [w for members in clusters.values() for w in members]


def title_of(item: StoredItem, names: Mapping[str, str] | None = None) -> str:
    """Return an item in one line: its outcome if it has two sides, else the names of its evidence, else its rows.

    Rows are named by ``names`` or, if it lacks them, by their ids. The line quotes memory.
    """
    return title_from(item.item, names, item.status)


def title_from(item: Item, names: Mapping[str, str] | None = None, status: str = "") -> str:
    """Return the line of ``title_of`` for an item that no plan stores; ``status`` is the item's in its plan."""
    if sides := find_outcome(item, names or {}, status):
        return sides.sentence()
    if line := _names_line(item):
        return line
    mutation, rows = item.mutation, _rows(item)
    known = {**(names or {}), **seen_words(item)}
    if called := [known[row.id] for row in rows if row.id in known]:
        return ", ".join(called)
    return f"{mutation.table} {', '.join(row.external_id or row.id[:8] for row in rows)}"


def sides_of(item: StoredItem, names: Mapping[str, str] | None = None) -> tuple[str, str] | None:
    """Return the words of the row that would stay and of the one that would end, if an item asks which of two is right."""
    sides = find_outcome(item.item, names or {}, item.status) if item.question == "which_is_right" else None
    if sides is None or len(sides.stays) != 1 or len(sides.ends) != 1:
        return None
    return sides.stays[0].text, sides.ends[0].text


def unnamed(plan: StoredPlan) -> set[str]:
    """Return the rows of a plan's pending questions whose names the sealed items do not hold."""
    asked = (s.item for s in plan.items if s.status == "pending" and s.is_question)
    return {row.id for item in asked if not _names_line(item) for row in _rows(item) if row.id not in seen_words(item)}


def _names_line(item: Item) -> str:
    """Return the names of the evidence as one line."""
    given: Any = item.evidence.get("names")
    return " = ".join(str(name) for name in given) if isinstance(given, list) and given else ""


def _rows(item: Item) -> Sequence[Row]:
    """Return the first five rows that an item is about."""
    mutation = item.mutation
    return [*((mutation.keep,) if mutation.keep else ()), *mutation.absorb, *mutation.rows][:5]


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
        sides=sides_of(item, names),
        form=form_of(item),
        side=str(item.item.evidence.get("side") or ""),
        cluster=str(item.item.evidence.get("cluster") or ""),
    )


def _counts(items: Sequence[Waiting]) -> dict[State, int]:
    found = Counter(w.state for w in items)
    return {"open": found["open"], "yes": found["yes"], "no": found["no"], "skip": found["skip"]}


_RANK: Final = {risk: n for n, risk in enumerate(reversed(RISKS))}
_KEYS: Final[Mapping[Sort, Callable[[Waiting], tuple[object, ...]]]] = {
    "information": lambda w: (-w.information, w.id),
    "risk": lambda w: (_RANK.get(w.risk, 0), -w.information, w.id),
    "probability": lambda w: (-w.probability, w.id),
    "operation": lambda w: (w.operation, -w.information, w.id),
}


# Questions that one answer may settle: those of one form, or those of one kind that are as probable as one of them.
#
# Every surface shows the sentences below, so that the page and the terminal ask in the same words.

_NOUNS: Final[Mapping[str, str]] = {"memories": "statement", "memory_facts": "fact", "relationships": "relationship"}
_EXAMPLES: Final = 3
_COUNTER_EXAMPLES: Final = 5

CHECKED: Final = (
    "Checked one by one, these questions show that the answer holds for the group. An answer for all of it then counts like answers to "
    "single questions. Without the check it counts against the share of memory that a plan may retire at once."
)
"""Sentence about the sample of a group, in every surface."""


@dataclass(frozen=True, slots=True)
class AlikeQuestions:
    """Open questions that one answer may settle, the least probable first.

    ``form`` is the form of ``of`` if they are a group of forms; otherwise they are those of the kind of ``of`` with at least the
    probability ``least``. ``counter_examples`` are other questions about the same relations, each with the reason why it is one. All
    quote memory.
    """

    of: Waiting
    least: float
    form: QuestionForm | None
    items: tuple[Waiting, ...]
    counter_examples: tuple[tuple[Waiting, str], ...] = ()

    @property
    def sample(self) -> list[Waiting]:
        """Return the questions to check, evenly from the least to the most probable, some of each relation."""
        return draw_sample(self.parts)

    @property
    def parts(self) -> list[list[Waiting]]:
        """Return the questions of each relation."""
        return split_group(self.items, lambda w: w.form)

    @property
    def examples(self) -> list[Waiting]:
        """Return some questions that are not in the sample, or the first of it if it has all."""
        checked = {w.id for w in self.sample}
        return [*(w for w in self.items if w.id not in checked), *self.sample][:_EXAMPLES]

    @property
    def known_by(self) -> str:
        """Return a digest of the questions, so that an answer never covers questions that were not shown."""
        return hashlib.sha256("\n".join(sorted(w.id for w in self.items)).encode()).hexdigest()[:32]

    @property
    def asks(self) -> str:
        """Return the question about all of them."""
        if self.form:
            return _ask_of_forms(Counter(w.form for w in self.items if w.form), self.form)
        return (
            f"{counted(len(self.items), 'open question')} of {self.of.operation} with a probability of at least {percent(self.least)}: "
            f"{HEADINGS[self.of.code]}"
        )

    def line(self, waiting: Waiting) -> str:
        """Return one of the questions, or a counter-example, in a line: both values and their dates, or else its title."""
        if self.form is None or waiting.sides is None:
            return waiting.title
        stays, ends = waiting.sides
        which = f", which {waiting.side.removeprefix('because it ')}" if waiting.side.startswith(LATER_SIDES) else ""
        return f"“{ends}” → “{stays}”{which}"

    @property
    def why(self) -> str:
        """Return why they are asked together."""
        if self.form and self.form.direction == "restated":
            return "They are one group because in each pair the memory that stays has every statement of the other, found by the same rule."
        if self.form and self.form.direction == "alone":
            return "They are one group because each of them is one whole memory that states nothing else."
        if self.form and self.form.direction == "doubtful":
            return "They are one group because a rule that is often wrong found each pair by its words: it may be about two subjects."
        if self.form:
            relation = "this relation" if len(self.parts) == 1 else "one relation"
            return f"They are one group because each pair gives one subject two values of {relation}, and the dates say which is later."
        return "They ask the same about rows that one operation compared, and are at least as probable as the question that you chose."

    @property
    def answers(self) -> tuple[tuple[Literal["yes", "no", "each"], str, str], ...]:
        """Return the verdicts that can be given for all, each with its label and what follows from it.

        ``each`` gives each of several relations the answer that its checked questions have.
        """
        again = "Nothing changes, and none of them is asked again while its rows say what they say."
        if self.form and self.form.direction == "restated":
            merged = "Each of them becomes part of the memory that states the same; it leaves the searches and stays in the history."
            return ("yes", "Merge them", merged), ("no", "Keep both", again)
        if self.form and self.form.direction == "alone":
            return ("yes", "They may leave", "Each of them leaves search and stays stored."), ("no", "They stay", again)
        if self.form:
            each = "Each relation gets the answer that its checked questions have. If they have both, the rest of it stays open."
            return (
                ("yes", "The later ones hold", "Each later value stays, and each earlier one ends."),
                ("no", "Both stay", again),
                *((("each", "As checked", each),) if len(self.parts) > 1 else ()),
            )
        return ("yes", "Yes", "Each of them is done as it proposes."), ("no", "No", again)

    @property
    def checks(self) -> Mapping[str, str]:
        """Return the label of each verdict on a single question of the sample."""
        if self.form and self.form.direction == "alone":
            return {"yes": "May leave", "no": "Stays"}
        labels = {verdict: label for verdict, label, _ in self.answers if verdict != "each"}
        return labels | ({"yes": "Holds"} if self.form and self.form.direction in ("later", "doubtful") else {})


def alike(found: Queue, item: str, at_least: float | None = None) -> AlikeQuestions:
    """Return the open questions that can be answered together with ``item``.

    Questions of a form that one answer may settle are one group, whatever their probability. Others are those of the
    same kind with at least a given probability; without ``at_least`` that of ``item``. Raises ``Refused`` if ``item`` is not pending.
    """
    of = next((w for w in found.items if w.id == item), None)
    if of is None:
        raise Refused("That question does not wait in this plan any more. Nothing was written.")
    form = of.form if of.form and of.form.is_group else None
    least = 0.0 if form else of.probability if at_least is None else at_least
    kind = (of.code, of.operation, of.form and of.form.group)
    same = [w for w in found.items if (w.code, w.operation, w.form and w.form.group) == kind and w.probability >= least]
    alike_ = tuple(sorted((w for w in same if w.state == "open"), key=lambda w: (w.probability, w.id)))
    others = (
        _counter_examples(found, form, {w.form.topic for w in same if w.form})
        if form and form.direction == "later"
        else ()
    )
    return AlikeQuestions(of, least, form, alike_, others)


def ask_about_group(plan: StoredPlan, drafts: Mapping[str, Draft], item: StoredItem) -> str:
    """Return the question about the group of an open question; empty if fewer than ``FEWEST`` open questions are in it.

    Cost: one pass over the evidence of the plan's questions.
    """
    form = form_of(item) if item.is_question else None
    if form is None or not form.is_group:
        return ""
    open_ = (s for s in plan.items if s.status == "pending" and s.is_question and s.id not in drafts)
    forms = Counter(other for s in open_ if (other := form_of(s)) and other.group == form.group)
    return _ask_of_forms(forms, form) if forms.total() >= FEWEST else ""


def _ask_of_forms(forms: Counter[QuestionForm], form: QuestionForm) -> str:
    """Return the question about a group that has ``form`` and others; ``forms`` counts the questions of each."""
    count = forms.total()
    if form.direction == "alone":
        held = "memory is nothing" if count == 1 else "memories are nothing"
        return f"{count:,} {held} but a greeting, thanks or a courtesy. {'May it' if count == 1 else 'May they'} leave search?"
    if form.direction == "restated":
        how = "a part of" if form.relation == "part of another" else "in other words"
        return f"In {counted(count, 'pair')} a memory states {how} what another one states. Merge them?"
    have, ones = ("has", "Does the later one hold?") if count == 1 else ("have", "Do the later ones hold?")
    noun = _NOUNS.get(form.table, "row")
    if form.direction == "doubtful":
        return f"{counted(count, noun)} may contradict a later one, or be about another subject. {ones}"
    topics = {f.topic for f in forms}
    if len(topics) > 1:
        return f"{counted(count, noun)} of {len(topics):,} relations, such as “{quotable(form.relation)}”, {have} a later value. {ones}"
    return f"{counted(count, noun)} of the form “{quotable(form.relation)}” {have} a later value. {ones}"


def _counter_examples(found: Queue, form: QuestionForm, topics: set[str]) -> tuple[tuple[Waiting, str], ...]:
    """Return questions about the relations of a group that were answered otherwise, or in which no later value would stay."""
    reasons: Mapping[Direction, str] = {
        "earlier": "the evidence for the earlier value is stronger, so it is asked by itself",
        "undated": "no date says which is later, so it is asked by itself",
    }
    examples: list[tuple[int, Waiting, str]] = []
    for w in found.items:
        if w.form is None or (w.operation, w.form.table) != (form.operation, form.table) or w.form.topic not in topics:
            continue
        if w.state == "no" and w.draft:
            examples.append((0, w, f"{w.draft.reviewer} answered that the later one does not hold"))
        elif w.form.direction in reasons:
            examples.append((1, w, reasons[w.form.direction]))
    return tuple((w, why) for _, w, why in sorted(examples, key=lambda e: (e[0], e[1].id))[:_COUNTER_EXAMPLES])


# Drafts that did not follow: verdicts in the previous plan on items that the current plan does not have.
#
# An item's id is its content, so the draft of an identical item follows automatically (``slowwave.plans.review.drafts``). An item that
# changed or is no longer proposed is another question or none, so nothing is concluded from its draft.

_BEFORE: Final = """
SELECT o.plan_hash FROM night.plans p JOIN night.plans o ON o.namespace_id = p.namespace_id AND o.recorded_at < p.recorded_at
  AND o.state IN ('superseded', 'expired') AND EXISTS (SELECT 1 FROM night.review_drafts d WHERE d.plan_hash = o.plan_hash)
  AND NOT EXISTS (SELECT 1 FROM night.review_signatures s WHERE s.namespace_id = p.namespace_id AND s.recorded_at > o.recorded_at
                  AND s.plan_hash <> o.plan_hash)
WHERE p.plan_hash = %s ORDER BY o.recorded_at DESC LIMIT 1
"""
"""SQL: the last earlier plan with drafts; none if a later plan was approved since."""

_GONE: Final = """
SELECT o.item_id::text, o.operation, o.decision, o.evidence -> 'evidence', o.mutation FROM night.plan_items o
WHERE o.plan_hash = %(before)s AND o.item_id = ANY(%(items)s::uuid[]) AND NOT EXISTS (
  SELECT 1 FROM night.plan_items i WHERE i.plan_hash = %(plan)s AND i.item_id = o.item_id AND i.status <> 'deferred')
ORDER BY o.ordinal
"""


@dataclass(frozen=True, slots=True)
class GoneDraft:
    """A yes or no in the previous plan (``plan_hash``) whose item the current plan does not have.

    Its title quotes memory, without secrets.
    """

    item: str
    plan_hash: str
    title: str
    verdict: str
    note: str
    reviewer: str


def gone_drafts(store: Store, namespace: str, plan_hash: str) -> list[GoneDraft]:
    """Return the verdicts in the last earlier plan with drafts on items that this plan lacks, without skips. Three queries."""
    with store.connect("approver") as connection:
        plan = find_plan(connection, namespace, plan_hash.strip())
        row = connection.execute(_BEFORE, (plan,)).fetchone()
        before = str(row[0]) if row else ""
        earlier_drafts = (
            {i: d for i, d in current_drafts(connection, before).items() if d.verdict != "skip"} if before else {}
        )
        found: list[Any] = (
            connection.execute(_GONE, {"before": before, "plan": plan, "items": sorted(earlier_drafts)}).fetchall()
            if earlier_drafts
            else []
        )
    items = (
        Item(operation, decision, Mutation.from_json(mutation), evidence)
        for _, operation, decision, evidence, mutation in found
    )
    titles = quotable_all([title_from(item) for item in items])
    return [
        GoneDraft(
            item,
            before,
            str(title),
            earlier_drafts[item].verdict,
            earlier_drafts[item].note,
            earlier_drafts[item].reviewer,
        )
        for (item, *_), title in zip(found, titles, strict=True)
    ]

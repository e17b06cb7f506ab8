"""Groups of questions that one answer may settle: their form, the sample that a person checks, and the answers that a person gave.

Pure functions of stored items and stored answers. ``slowwave.plans.review.queue`` builds the groups that surfaces show, and
``slowwave.plans.review.drafts`` reads the answers.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeVar

from slowwave.plans.ledger import StoredItem
from slowwave.plans.questions import LATER_SIDES

_Any = TypeVar("_Any")

SAMPLE: Final = 10
"""The number of questions of a group that a person checks one by one before one answer counts for all of it."""

FEWEST: Final = 3
"""The number of open questions of one form from which they are asked as a group."""

Direction = Literal["later", "earlier", "undated", "alone", "restated"]
"""Whether the value that would stay is later or earlier than the one that would end, or nothing says so.

``alone``: there is one row. ``restated``: one memory states what another one states.
"""

_ROW_BY_ROW: Final = frozenset({"archive_small_talk"})
"""Operations whose questions each concern one row and differ in its text alone."""

RESTATED: Final = ("other wording", "part of another")
"""Patterns of merges of memories whose questions are of one form (``slowwave.text.restatements``)."""


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """The form of a question: two values of one relation ("the captain of … is"), single rows of an operation, or a pattern of merges.

    The relation is taken from memory, which is untrusted. It is empty for single rows, and one of ``RESTATED`` for merges.
    """

    operation: str
    table: str
    relation: str
    direction: Direction

    @property
    def is_group(self) -> bool:
        """Return whether one answer may settle all questions of this form; earlier and undated values are weighed one by one."""
        return self.direction in ("later", "alone", "restated")

    def shares_relation(self, other: QuestionForm) -> bool:
        """Return whether another form is about the same relation, in whatever direction."""
        return (self.operation, self.table, self.relation) == (other.operation, other.table, other.relation)


def form_of(item: StoredItem) -> QuestionForm | None:
    """Return the form of a question about two values of a relation, single rows or a restatement; None for any other item."""
    if item.operation in _ROW_BY_ROW and item.is_question:
        return QuestionForm(item.operation, "memories", "", "alone")
    if item.question == "same" and item.kind == "merge_rows":
        pattern = str(json.loads(item.evidence).get("pattern") or "")
        return QuestionForm(item.operation, "memories", pattern, "restated") if pattern in RESTATED else None
    if item.question != "which_is_right" or item.kind != "invalidate_rows":
        return None
    evidence = json.loads(item.evidence)
    relation, side = (str(evidence.get(name) or "") for name in ("relation", "side"))
    if not relation or "winner_id" not in evidence:
        return None
    direction: Direction = "undated"
    if side.startswith(LATER_SIDES):
        direction = "later"
    elif side.endswith("it is older"):
        direction = "earlier"
    table = str(json.loads(item.mutation)["table"])
    return QuestionForm(item.operation, table, " ".join(relation.casefold().split()), direction)


def draw_sample(items: Sequence[_Any]) -> list[_Any]:
    """Return at most ``SAMPLE`` of the items, evenly from the first to the last."""
    if len(items) <= SAMPLE:
        return list(items)
    return [items[round(n * (len(items) - 1) / (SAMPLE - 1))] for n in range(SAMPLE)]


def in_order(items: Iterable[StoredItem]) -> list[StoredItem]:
    """Return items as their sample is drawn from them: the least probable first."""
    return sorted(items, key=lambda s: (s.probability, s.id))


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """One stored answer to an item of ``plan_hash``: ``together`` is the number of answers that were stored with it at once.

    ``restored`` answers came back because a later one was undone, and ``undone`` ones were undone themselves.
    """

    item: str
    plan_hash: str
    reviewer: str
    verdict: str
    recorded_at: datetime
    together: int
    restored: bool = False
    undone: bool = False


def person_answered(
    items: Sequence[StoredItem], given: Sequence[GivenAnswer], plan_hash: str, verdicts: Mapping[str, str]
) -> frozenset[str]:
    """Return the items with an answer in ``verdicts`` that a person gave to this very question, or for a group whose sample they checked.

    An answer that was stored alone is a person's own. One that was stored with others is the answer for a group. It counts here only if
    the same reviewer also answered each question of the group's sample alone, in the same plan and with the same verdict. The sample
    is drawn here from the answers as they are stored, so no note and no form can claim that it was checked. Answers stored at once
    for questions of several kinds are as many groups. A group that was answered in an earlier plan has to be checked again.

    Args:
        items: The items of the plan that are pending.
        given: All answers to them, the oldest first, also those of superseded plans that follow to identical items.
        plan_hash: The plan.
        verdicts: Item → the answer that counts now.
    """
    by_id = {s.id: s for s in items}
    latest = {(a.item, a.reviewer): a.verdict for a in given}
    counted = [
        a
        for a in given
        if not (a.restored or a.undone)
        and a.item in by_id
        and a.verdict == verdicts.get(a.item)
        and latest[a.item, a.reviewer] == a.verdict
    ]
    own = {(a.item, a.reviewer) for a in counted if a.together == 1}
    here = {(a.item, a.reviewer) for a in counted if a.together == 1 and a.plan_hash == plan_hash}
    groups: defaultdict[tuple[object, ...], set[str]] = defaultdict(set)
    for a in given:
        if a.together > 1 and a.plan_hash == plan_hash and a.item in by_id and not (a.restored or a.undone):
            groups[a.reviewer, a.recorded_at, a.verdict, *kind_of(by_id[a.item])].add(a.item)
    found = {item for item, _ in own}
    settled = {(a.item, a.reviewer, a.recorded_at) for a in counted if a.together > 1}
    for (reviewer, recorded_at, *_), members in groups.items():
        sample = draw_sample(in_order(by_id[id_] for id_ in members))
        if all((s.id, str(reviewer)) in here for s in sample):
            found |= {id_ for id_ in members if (id_, reviewer, recorded_at) in settled}
    return frozenset(found)


def kind_of(item: StoredItem) -> tuple[object, ...]:
    """Return the kind by which questions are answered together: operation, question and form."""
    return item.operation, item.question, form_of(item)

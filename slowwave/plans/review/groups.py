"""Groups of questions that one answer may settle: their form, the sample that a person checks, and the answers that a person gave.

Pure functions of stored items and stored answers. ``slowwave.plans.review.queue`` builds the groups that surfaces show, and
``slowwave.plans.review.drafts`` reads the answers.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeVar

from slowwave.plans.ledger import StoredItem
from slowwave.plans.questions import LATER_SIDES

_Any = TypeVar("_Any")

SAMPLE: Final = 10
"""The number of questions of a group that a person checks one by one before one answer counts for all of it."""

FEWEST: Final = 3
"""The number of open questions from which they are asked as a group."""

# If a group has several relations, one in so many questions of each is checked, and at least three. Over 200 orders of the questions of
# 10,000 generated memories, in two of whose relations a third of the pairs both hold, 0.7 % of the changes were wrong.
_ONE_IN: Final = 7
_OF_EACH: Final = 3

Direction = Literal["later", "earlier", "undated", "alone", "restated", "doubtful"]
"""Whether the value that would stay is later or earlier than the one that would end, or nothing says so.

``alone``: there is one row. ``restated``: one memory states what another one states. ``doubtful``: the value is later, but the rule that
found the pair is often wrong.
"""

# "the captain of … is" and "… is the captain of the" → captain; "is in" has no topic of its own
_TOPIC: Final = re.compile(
    r"(?:the |an? )?(?P<of>[^…]+?) (?:of|for|in|at|on) ….*|… (?:is|are|was|were) (?:the |an? )?(?P<as>[^…]+?) of(?: the)?"
)
_TYPED: Final = re.compile(r" \([^()]*\)$")  # "captain (name)": the kind of its values

_ROW_BY_ROW: Final = frozenset({"archive_small_talk"})
"""Operations whose questions each concern one row and differ in its text alone."""

RESTATED: Final = ("other wording", "part of another")
"""Patterns of merges of memories whose questions are of one form (``slowwave.text.restatements``)."""


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """The form of a question: two values of one relation ("the captain of … is"), single rows of an operation, or a pattern of merges.

    The relation is taken from memory, which is untrusted. It is empty for single rows and doubtful pairs, and one of ``RESTATED`` for
    merges.
    """

    operation: str
    table: str
    relation: str
    direction: Direction

    @property
    def is_group(self) -> bool:
        """Return whether one answer may settle all questions of this form; earlier and undated values are weighed one by one."""
        return self.direction in ("later", "alone", "restated", "doubtful")

    @property
    def group(self) -> tuple[str, str, Direction, str]:
        """Return what the forms of one group share: later values of several relations are asked about together."""
        relation = "" if self.direction in ("later", "doubtful") else self.relation
        return self.operation, self.table, self.direction, relation

    @property
    def topic(self) -> str:
        """Return the relation without the words around it, the same for "the captain of … is" and "captain (name)"."""
        found = _TOPIC.fullmatch(self.relation)
        return (found["of"] or found["as"]) if found else _TYPED.sub("", self.relation)


def form_of(item: StoredItem) -> QuestionForm | None:
    """Return the form of a question about two values, single rows or a restatement; None for any other item."""
    if item.operation in _ROW_BY_ROW and item.is_question:
        return QuestionForm(item.operation, "memories", "", "alone")
    if item.question == "same" and item.kind == "merge_rows":
        pattern = str(json.loads(item.evidence).get("pattern") or "")
        return QuestionForm(item.operation, "memories", pattern, "restated") if pattern in RESTATED else None
    if item.question != "which_is_right" or item.kind != "invalidate_rows":
        return None
    evidence = json.loads(item.evidence)
    relation, side = (str(evidence.get(name) or "") for name in ("relation", "side"))
    if "winner_id" not in evidence or evidence.get("reason") == "done":
        return None
    direction: Direction = "undated"
    if side.startswith(LATER_SIDES):
        direction = "later"
    elif side.endswith("it is older"):
        direction = "earlier"
    if not relation:
        conflict = evidence.get("conflict")
        if direction != "later" or not (isinstance(conflict, dict) and conflict.get("doubtful")):
            return None
        direction = "doubtful"
    table = str(json.loads(item.mutation)["table"])
    return QuestionForm(item.operation, table, " ".join(relation.casefold().split()), direction)


def split_group(items: Iterable[_Any], form: Callable[[_Any], QuestionForm | None]) -> list[list[_Any]]:
    """Return the parts of a group that are checked by themselves: the questions of each relation.

    A wording with fewer than ``_ONE_IN`` questions is joined with the other such wordings of its topic.
    """
    of = [(item, form(item)) for item in items]
    count = Counter(one for _, one in of)
    parts: defaultdict[object, list[_Any]] = defaultdict(list)
    for item, one in of:
        parts[one.topic if one and count[one] < _ONE_IN else one].append(item)
    return list(parts.values())


def draw_sample(parts: Sequence[Sequence[_Any]], among: int = 1) -> list[_Any]:
    """Return the items to check, each part spread from its first to its last: ``SAMPLE`` of a single part, fewer of each of several.

    Of each of several it is one in ``_ONE_IN``, at least ``_OF_EACH``, and ``SAMPLE`` of all together. If some of the parts of a group
    are left out, ``among`` is the number of all.
    """
    among, found = max(among, len(parts)), list[_Any]()
    for part in parts:
        size = max(_OF_EACH, -(-SAMPLE // among), min(len(part) // _ONE_IN, SAMPLE))
        found += [part[n] for n in sorted(_spread(len(part))[: size if among > 1 else SAMPLE])]
    return found


def _spread(n: int) -> list[int]:
    """Return 0 … n - 1 in the order of their reversed bits, of which each beginning is spread over all."""
    bits = (n - 1).bit_length()
    return [k for k in (int(f"{k:0{bits}b}"[::-1], 2) for k in range(1 << bits)) if k < n]


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
    is drawn here from the answers as they are stored, so no note and no form can claim that it was checked. Relations in which the
    sample has both answers are left out of the group's answer, and count only as relations that were checked. Answers stored at once for
    questions of several kinds are as many groups. A group that was answered in an earlier plan has to be checked again.

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
    alone: defaultdict[tuple[object, ...], set[str]] = defaultdict(set)
    groups: defaultdict[tuple[object, ...], dict[str, str]] = defaultdict(dict)
    for a in given:
        if a.plan_hash == plan_hash and a.item in by_id and not (a.restored or a.undone):
            if a.together > 1:
                groups[a.reviewer, a.recorded_at, *kind_of(by_id[a.item])][a.item] = a.verdict
            else:
                alone[a.reviewer, *kind_of(by_id[a.item])].add(a.item)
    found = {item for item, _ in own}
    settled = {(a.item, a.reviewer, a.recorded_at) for a in counted if a.together > 1}
    for (reviewer, recorded_at, *kind), members in groups.items():
        seen = alone[reviewer, *kind] | members.keys()
        among = len(split_group(in_order(by_id[id_] for id_ in seen), form_of))
        parts: defaultdict[tuple[int, str], list[StoredItem]] = defaultdict(list)
        for n, part in enumerate(split_group(in_order(by_id[id_] for id_ in members), form_of)):
            for s in part:
                parts[n, members[s.id]].append(s)
        sample = draw_sample([*parts.values()], among)
        enough = len(alone[reviewer, *kind]) >= min(SAMPLE, len(seen))
        if enough and all((s.id, str(reviewer)) in here for s in sample):
            found |= {id_ for id_ in members if (id_, reviewer, recorded_at) in settled}
    return frozenset(found)


def kind_of(item: StoredItem) -> tuple[object, ...]:
    """Return the kind by which questions are answered together: operation, question and group of forms."""
    form = form_of(item)
    return item.operation, item.question, form.group if form else None

"""Nearness: what a statement is to others about the same subject. It says one again, contradicts one, or is near to one.

Sameness, contradiction, relations of one object and what is over are those of ``slowwave.texts``, as the nights use them. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from slowwave.claims.remember_request import Relation

LONGEST: Final = 500
"""Characters of a statement that states one matter; longer ones are compared for being the same alone."""

_ONE_AT_A_TIME: Final = "state"


class Nearness(NamedTuple):
    """``relation``: None for what is about something else. ``ends``: of the two only one can hold at a time, so the later one ends the
    earlier one; a contradiction that is not that may be an error of either."""

    relation: Relation | None
    ends: bool = False


def nearness(new: str, new_kind: str, known: str, known_kind: str, names: Collection[str] = ()) -> Nearness:
    """What ``new`` is to ``known``; ``names`` are the subject's, folded. Some 100 µs."""
    from slowwave.conflicts.memories import one_matter
    from slowwave.texts.ended_values import ended_values, ends
    from slowwave.texts.plain_claims import slot_of
    from slowwave.texts.sameness import read, sameness

    found = sameness(new, known)
    if found.decision == "same":
        return Nearness("same")
    if max(len(new), len(known)) > LONGEST:
        return Nearness("near" if found.decision == "doubtful" else None)
    if new_kind == known_kind == _ONE_AT_A_TIME and (slot := slot_of(new)) and slot == slot_of(known):
        return Nearness("contradicts", ends=True)
    if _other_object(new, known, names):
        return Nearness("contradicts", ends=True)
    if any(ends(known, value) for value in ended_values(new)):
        return Nearness("contradicts", ends=True)
    if found.decision == "contradiction" and one_matter(read(new), read(known), about=True):
        return Nearness("contradicts", ends=new_kind == known_kind == _ONE_AT_A_TIME)
    return Nearness("near" if found.decision in ("doubtful", "contradiction") else None)


def _other_object(new: str, known: str, names: Collection[str]) -> bool:
    """Whether both state one relation that takes one object, and another object of it."""
    from slowwave.conflicts.columns import alike
    from slowwave.conflicts.stated import is_comparable
    from slowwave.texts.stated_relations import stated_relations

    told = {(_who(s.subject, names), s.relation): s.object for s in stated_relations(known)}
    pairs = [
        (s.relation, s.object, told[key])
        for s in stated_relations(new)
        if (key := (_who(s.subject, names), s.relation)) in told
    ]
    pairs = [(one, other) for relation, one, other in pairs if is_comparable(relation, one, other)]
    return bool(pairs) and not any(alike([one for one, _ in pairs], [other for _, other in pairs]).tolist())


def _who(subject: str, names: Collection[str]) -> str:
    """One key for all names of the subject."""
    return "" if subject in names else subject

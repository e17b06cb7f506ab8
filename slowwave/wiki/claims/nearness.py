"""Nearness: a statement repeats another one about its subject, contradicts it, or is only near it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from slowwave.wiki.claims.request import Relation

# Nearness: the relation of a statement to others about the same subject: it repeats one, contradicts one, or is near to one.
#
# Sameness, contradiction, relations with one object and ended states come from ``slowwave.text``, as in the nights. Pure.

LONGEST: Final = 500
"""Characters of a statement about one matter; longer statements are only checked for having the same meaning."""

_ONE_AT_A_TIME: Final = "state"


class Nearness(NamedTuple):
    """Relation of two statements.

    ``relation`` is None if they are about different matters. ``ends`` is set if only one of the two can hold at a time, so that the later
    one ends the earlier one. In any other contradiction, either may be an error.
    """

    relation: Relation | None
    ends: bool = False


def nearness(new: str, new_kind: str, known: str, known_kind: str, names: Collection[str] = ()) -> Nearness:
    """Return the relation of ``new`` to ``known``; ``names`` are the folded names of the subject.

    Takes about 100 µs.
    """
    from slowwave.operations.conflicts.memories import one_matter
    from slowwave.text.claims import slot_of
    from slowwave.text.ended_values import ended_values, ends
    from slowwave.text.sameness import read, sameness

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
    """Return whether both state the same relation that takes one object, but with different objects."""
    from slowwave.operations.conflicts.rows import alike
    from slowwave.text.names import known_names
    from slowwave.text.relations import stated_relations

    objects = {(_who(s.subject, names), s.relation): s.object for s in stated_relations(known)}
    pairs = [
        (s.relation, s.object, objects[key])
        for s in stated_relations(new)
        if (key := (_who(s.subject, names), s.relation)) in objects
    ]
    lands = known_names().lands
    pairs = [
        (one, other)
        for relation, one, other in pairs
        if relation != "lives in" or (one in lands) == (other in lands)  # a town and its country may both be right
    ]
    return bool(pairs) and not any(alike([one for one, _ in pairs], [other for _, other in pairs]).tolist())


def _who(subject: str, names: Collection[str]) -> str:
    """Return one key for all names of the subject, and other names unchanged."""
    return "" if subject in names else subject

"""What questions whether two rows are one thing have in common: how their names compare, which values are equal, why the planner doubts.

It is read from the sealed evidence of one item alone, so that the same item is of the same kinds on every night. A policy that a person
accepts names one kind, and says yes or no of it. What contradicts is of none that may be answered yes: two values in conflict, a name that
says a number more, groups that do not agree. A no may rest on just that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from slowwave.plans.ledger import StoredItem

_MERGE: Final = "merge_rows"

Verdict = Literal["yes", "no"]
VERDICTS: Final[tuple[Verdict, ...]] = ("yes", "no")


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """``names`` says how the names compare, ``equal`` which values agree at least and ``differ`` which do not, each as its evidence says
    it; ``doubt`` is the planner's reason."""

    operation: str
    names: str
    equal: tuple[str, ...]
    doubt: str
    differ: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The kind as canonical JSON; equal kinds have equal keys."""
        return json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True)

    def to_json(self) -> dict[str, object]:
        """As a policy keeps it; without ``differ`` where that says nothing."""
        of = {"operation": self.operation, "names": self.names, "equal": list(self.equal), "doubt": self.doubt}
        return {**of, **({"differ": list(self.differ)} if self.differ else {})}

    def sentence(self) -> str:
        """What they have in common, and why the planner doubts; no full stop. It names columns, which are untrusted, and no value."""
        first, *rest = [said[:1].lower() + said[1:] for said in (self.names, *self.equal, *self.differ) if said] or [
            "the evidence is alike"
        ]
        said = ", ".join((first, *rest))
        return f"{said} ({self.doubt[:1].lower()}{self.doubt[1:].rstrip('.')})" if self.doubt else said


def kinds_of(item: StoredItem, verdict: Verdict = "yes") -> frozenset[QuestionKind]:
    """The kinds of an item's question, for a policy that says so of it: by its names alone, with each value that agrees (for a no: that
    differs), and with all of them. None where it asks something else, is about more than two rows, or, for a yes, anything contradicts.
    """
    none = frozenset[QuestionKind]()
    if item.question != "same" or item.kind != _MERGE or item.decision != "review":
        return none
    mutation, evidence = json.loads(item.mutation), json.loads(item.evidence)
    found: Any = evidence.get("waterfall") if isinstance(evidence, Mapping) else None
    doubt = str(evidence.get("reason") or "") if isinstance(evidence, Mapping) else ""
    if len(mutation.get("absorb") or ()) != 1 or mutation.get("deletes") or not isinstance(found, list):
        return none
    steps = [s for s in found if isinstance(s, Mapping) and isinstance(s.get("weight"), int | float)]
    named = [str(s.get("detail") or s["level"]) for s in steps if "level" in s]
    values = [s for s in steps if isinstance(s.get("value"), str)]
    against = [s for s in values if float(s["weight"]) < 0]
    if not named or (verdict == "yes" and (against or doubt in _contradictory())):
        return none
    told = sorted({str(s.get("detail") or s.get("evidence")) for s in (values if verdict == "yes" else against)})
    parts = {(), *((value,) for value in told), tuple(told)}
    if verdict == "yes":
        return frozenset(QuestionKind(item.operation, named[0], part, doubt) for part in parts)
    return frozenset(QuestionKind(item.operation, named[0], (), doubt, part) for part in parts)


@cache
def _contradictory() -> frozenset[str]:
    """Reasons for a doubt that are contradictions, or something that only one of the two says."""
    from slowwave.matching.review import CONTRADICTORY  # it brings SciPy

    return CONTRADICTORY

"""A finding of screening: what kind of thing stands where in a text, and never the thing itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["secret", "injection", "hidden", "lookalike"]
Severity = Literal["low", "medium", "high"]

KINDS: Final[tuple[Kind, ...]] = ("secret", "injection", "hidden", "lookalike")
MOST: Final = 1_000
"""Findings of one kind that are reported of one text: a hostile text shall not make a report of its own size."""


@dataclass(frozen=True, slots=True, order=True)
class Detection:
    """``text[start:end]`` is a finding of ``rule``. A stray mark that carries nothing is ``low``: reported, never acted upon."""

    start: int
    end: int
    kind: Kind
    rule: str
    severity: Severity = "high"


def outermost(found: Iterable[Detection]) -> list[Detection]:
    """The findings by place, without those that lie within an earlier one or overlap its end; at most ``MOST``."""
    kept: list[Detection] = []
    for finding in sorted(found, key=lambda f: (f.start, -f.end)):
        if not kept or finding.start >= kept[-1].end:
            kept.append(finding)
            if len(kept) == MOST:
                break
    return kept

"""A passage: a part of a text that is kept whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["sentence", "item", "row", "heading", "block"]


@dataclass(frozen=True, slots=True)
class Passage:
    """``needs`` are places of passages without which this one does not stand. A heading, and what leads a list in, is not ``alone``: it
    comes with what needs it. ``line`` and ``paragraph`` count where it begins in its text.
    """

    text: str
    kind: Kind
    line: int
    paragraph: int
    needs: tuple[int, ...] = ()
    alone: bool = True


def needing(p: Passage, place: int) -> Passage:
    """The passage, which needs one more."""
    return Passage(p.text, p.kind, p.line, p.paragraph, (*p.needs, place), p.alone)


def not_alone(p: Passage) -> Passage:
    """The passage, which comes only with what needs it."""
    return Passage(p.text, p.kind, p.line, p.paragraph, p.needs, False)

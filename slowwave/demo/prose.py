"""Turning hand-written templates into sentences: slots, word lists, numbers, clock times and choices.

``Slots`` hold what one scene has chosen, so that its turns and its questions speak of the same things. Which sentences
are written, and when, is decided in ``scribe``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from slowwave.demo.cast import CastEntity
from slowwave.demo.world import World

_SLOT: Final = re.compile(r"\{([A-Za-z_.]+?)(\d?)(?::(\d+)-(\d+))?\}")
_CHOICE: Final = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")


@dataclass(slots=True)
class Slots:
    """What the slots of one scene stand for."""

    figures: dict[str, CastEntity] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)


class Pen:
    """Fills templates of one world; every figure is named about equally often."""

    def __init__(self, world: World, figures: Iterable[CastEntity], rng: random.Random) -> None:
        self._world = world
        self._rng = rng
        self._uses: dict[str, dict[str, int]] = {}
        self._figures: dict[str, list[CastEntity]] = {}
        for figure in figures:
            if not figure.apart:
                self._figures.setdefault(figure.family, []).append(figure)
                self._uses.setdefault(figure.family, {})[figure.id] = 0

    def write(self, template: str, binding: Slots, *, choose: bool = True) -> tuple[str, list[CastEntity]]:
        """The sentence and the figures that it names. With ``choose=False`` an open slot is an error of the material (KeyError)."""
        named: list[CastEntity] = []

        def fill(slot: re.Match[str]) -> str:
            kind, digit, low, high = slot.groups()
            if low:
                return str(self._rng.randint(int(low), int(high)))
            key = kind + digit
            if kind.isupper():
                if key not in binding.figures:
                    if not choose:
                        raise KeyError(key)
                    binding.figures[key] = self._next(kind, binding)
                named.append(binding.figures[key])
                return binding.figures[key].name
            if key not in binding.words:
                if not choose:
                    raise KeyError(key)
                binding.words[key] = self._word(kind, binding)
            return binding.words[key]

        text = _CHOICE.sub(lambda found: self._rng.choice(found[1].split("|")), template)
        text = _SLOT.sub(fill, text)
        if template.startswith("{word."):  # names keep their own case, common words begin a sentence
            text = text[0].upper() + text[1:]
        return text, list(dict.fromkeys(named))

    def _next(self, family: str, binding: Slots) -> CastEntity:
        """The figure of the family that was named least, of no group that the scene already has."""
        groups = {figure.group for figure in binding.figures.values()}
        uses = self._uses[family]
        free = [figure for figure in self._figures[family] if figure.group not in groups]
        least = min(uses[figure.id] for figure in free)
        chosen = self._rng.choice([figure for figure in free if uses[figure.id] == least])
        uses[chosen.id] += 1
        return chosen

    def _word(self, kind: str, binding: Slots) -> str:
        if kind == "time":
            return f"{self._rng.randint(0, 23):02}:{self._rng.choice((0, 5, 10, 15, 20, 30, 40, 45, 50)):02}"
        words = self._world.words[kind.removeprefix("word.")]
        return self._rng.choice([word for word in words if word not in binding.words.values()])

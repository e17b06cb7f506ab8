"""WordNet's database files, read: synsets with their words, glosses and pointers, and the senses of each word.

The format is that of the manual pages wndb(5WN) and senseidx(5WN). What is made of it belongs to ``scripts.word_relations``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

_FILES: Final = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_POS: Final = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_MARKER: Final = re.compile(r"\((?:a|p|ip)\)$")


class Pointer(NamedTuple):
    """A relation to another synset; ``source`` and ``target`` number the words that it holds for, from 1, and are 0 for all."""

    symbol: str
    synset: str
    source: int
    target: int


class Sense(NamedTuple):
    """A sense of a word: its number (the commonest is 1), how often it was tagged in texts, and the synset."""

    number: int
    tagged: int
    synset: str


@dataclass(frozen=True, slots=True)
class Synset:
    """A set of synonyms: its key ("n00001740"), words as written, with "_" for a space, the definition and the pointers."""

    key: str
    satellite: bool
    words: tuple[str, ...]
    gloss: str
    pointers: tuple[Pointer, ...]

    def to(self, *symbols: str) -> list[str]:
        """Return the synsets that pointers with these symbols lead to."""
        return [p.synset for p in self.pointers if p.symbol in symbols]


@dataclass(frozen=True, slots=True)
class WordNet:
    """All synsets of WordNet by key, and the senses of each word (folded, part of speech), commonest first."""

    synsets: dict[str, Synset]
    senses: dict[tuple[str, str], list[Sense]]

    def tagged(self, word: str) -> int:
        """Return how often a word was tagged in texts, in any sense."""
        return sum(sense.tagged for part in "nvar" for sense in self.senses.get((word, part), ()))

    def named(self, name: str, part: str = "n") -> str:
        """Return the key of a sense such as "beverage#1".

        Raises ``KeyError`` if there is no such sense.
        """
        word, _, number = name.partition("#")
        for sense in self.senses.get((word.casefold(), part), ()):
            if sense.number == int(number or 1):
                return sense.synset
        raise KeyError(f"WordNet has no sense {name} of that part of speech.")


def read(folder: Path) -> WordNet:
    """Read ``data.*`` and ``index.sense`` of a folder. Raises ``FileNotFoundError`` where one is missing."""
    synsets: dict[str, Synset] = {}
    for part, name in _FILES.items():
        with (folder / f"data.{name}").open(encoding="utf-8") as file:
            for line in file:
                if not line.startswith(" "):
                    synset = _synset(part, line)
                    synsets[synset.key] = synset
    senses: defaultdict[tuple[str, str], list[Sense]] = defaultdict(list)
    with (folder / "index.sense").open(encoding="utf-8") as file:
        for line in file:
            key, offset, number, tagged = line.split()
            word, _, rest = key.partition("%")
            part = _POS[rest[0]]
            senses[word, part].append(Sense(int(number), int(tagged), part + offset))
    return WordNet(synsets, {word: sorted(found) for word, found in senses.items()})


def _synset(part: str, line: str) -> Synset:
    head, _, gloss = line.partition(" | ")
    cells = head.split(" ")
    count = int(cells[3], 16)
    words = tuple(_MARKER.sub("", cells[4 + 2 * k]) for k in range(count))
    at = 4 + 2 * count
    pointers = []
    for k in range(int(cells[at])):
        symbol, offset, other, ends = cells[at + 1 + 4 * k : at + 5 + 4 * k]
        key = ("a" if other == "s" else other) + offset
        pointers.append(Pointer(symbol, key, int(ends[:2], 16), int(ends[2:], 16)))
    return Synset(part + cells[0], cells[2] == "s", words, gloss.strip(), tuple(pointers))

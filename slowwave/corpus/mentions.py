"""Mentions: where a page says the name of a page or entity that is known, without linking to it. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from slowwave.corpus.markdown import MarkdownPage
from slowwave.texts.tokens import fold

LEAST: Final = 3
"""Characters of a name that is looked for."""
_LONGEST: Final = 12  # words
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A row that is known by its names: a document, or an entity."""

    id: str
    names: tuple[str, ...]
    document: bool


@dataclass(frozen=True, slots=True)
class NameMention:
    """A name in a page, as it is written, the first time that it stands there."""

    row: NamedRow
    said: str
    line: int


class KnownNames:
    """Names by their words. One that several documents (or, where there is none, several entities) have says nothing and is passed over."""

    def __init__(self, rows: Iterable[NamedRow], generic: Iterable[str] = ()) -> None:
        passed = {_key(name) for name in generic}
        holders: defaultdict[tuple[str, ...], dict[str, NamedRow]] = defaultdict(dict)
        for row in rows:
            for key in {_key(name) for name in row.names if len(name.strip()) >= LEAST}:
                if key and key not in passed and len(key) <= _LONGEST:
                    holders[key][row.id] = row
        self._of: dict[tuple[str, ...], NamedRow] = {}
        for key, found in holders.items():
            named = [row for row in found.values() if row.document] or list(found.values())
            if len(named) == 1:
                self._of[key] = named[0]
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for key in self._of:
            lengths[key[0]].add(len(key))
        self._lengths = {word: sorted(found, reverse=True) for word, found in lengths.items()}

    def keys(self) -> dict[str, str]:
        """Name → the row that it means: equal mappings find equal mentions."""
        return {" ".join(key): row.id for key, row in self._of.items()}

    def of(self, key: str) -> NamedRow | None:
        """The row that a name of ``keys`` means."""
        return self._of.get(tuple(key.split(" ")))

    def found_in(self, page: MarkdownPage) -> list[NameMention]:
        """The mentions of a page, one for each row, in its order; of names that overlap, the longer one. Linear in the page's words."""
        found: dict[str, NameMention] = {}
        for line, text in page.prose if self._of else ():
            folded = fold(text)
            spans = [(m.start(), m.end()) for m in _WORD.finditer(folded)]
            words = [folded[start:end] for start, end in spans]
            at = 0
            while at < len(words):
                step = 1
                for length in self._lengths.get(words[at], ()):
                    key = tuple(words[at : at + length])
                    if len(key) == length and (row := self._of.get(key)):  # the end of a line may cut it short
                        said = folded[spans[at][0] : spans[at + length - 1][1]]
                        found.setdefault(row.id, NameMention(row, said, line))
                        step = length
                        break
                at += step
        return list(found.values())


def changed_names(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """Names that mean something else than they meant."""
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _key(name: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(fold(name)))

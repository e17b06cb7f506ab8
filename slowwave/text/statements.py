"""Statements: the contents of texts, whether two are about the same thing, and which are plain and of the present."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from slowwave.text.words import EXCLUSIVE, GRAMMAR, GROUPS, OPENERS, VERBS

# Statements: which parts of a longer text belong together, to distinguish two texts that differ in one word.
#
# Only comparisons that need the order of words are here: names at the same place ("directed by …"), and terms and letters with the same
# neighbours. ``slowwave.text.specifics`` compares sets of specifics.

SHORTEST: Final = 6
LONGEST: Final = 200
"""Maximum number of words of a statement. Texts shorter than ``SHORTEST`` are names; longer texts are passages."""

Run = tuple[str, ...]
"""Consecutive capitalised words, folded."""

_LIKE: Final = 3  # leading letters that two spellings of a name share
_WHERE: Final = frozenset(("in", "at", "on", "from"))


@dataclass(frozen=True, slots=True)
class Statement:
    """Text of ``SHORTEST`` to ``LONGEST`` words; ``read_statement`` builds it.

    ``sentence`` means that it is prose and not a long name. ``matter`` holds the stems of its words of content that are not names,
    ``runs`` its names. ``places`` holds (stem before, preposition, name) of names after a verb or noun. ``company`` holds (group, term,
    neighbouring stem) of each exclusive term and ("letter", letter, stem before) of each letter.
    """

    sentence: bool
    words: frozenset[str]
    matter: frozenset[str]
    runs: frozenset[Run]
    places: frozenset[tuple[str, str, Run]]
    company: frozenset[tuple[str, str, str]]

    def exchanged(self, other: Statement) -> tuple[Run, Run] | None:
        """Return two names, one from each statement, that replace each other.

        Each occurs in one statement only, and they are in the same place, or everything else agrees. Return None if there is no such
        pair.
        """
        mine = {run for run in self.runs if other.words.isdisjoint(run)}
        theirs = {run for run in other.runs if self.words.isdisjoint(run)}
        if not mine or not theirs:
            return None
        there = {(before, how): run for before, how, run in sorted(other.places) if run in theirs}
        for before, how, run in sorted(self.places):
            rival = there.get((before, how))
            if run in mine and rival and not _alike(run, rival):
                return run, rival
        if len(self.matter) < 3 or self.matter != other.matter:
            return None
        a, b = min(mine), min(theirs)
        return None if any(_alike(x, y) for x in mine for y in theirs) else (a, b)


@lru_cache(maxsize=1024)
def read_statement(words: tuple[str, ...], letters: frozenset[str]) -> Statement:
    """Parse words as written, in order; ``letters`` are the single letters among them that distinguish things."""
    lows = [w.casefold() for w in words]
    capital = [w[0].isupper() and not (k == 0 and lows[0] in OPENERS) for k, w in enumerate(words)]
    grammar = [low in GRAMMAR for low in lows]
    small = sum(w[0].islower() for w in words)
    verb = any(w in VERBS or (w == "is" and after) for w, after in zip(words, [*grammar[1:], False], strict=True))
    sentence = small >= len(words) / 3 and verb
    if not sentence:  # without such a verb it needs a name among grammar words, or the words of prose
        sentence = small > len(words) / 2 and (any(capital[1:]) or sum(grammar) >= len(words) / 4)
    runs = list(_runs(capital)) if sentence else []
    return Statement(
        sentence=sentence,
        words=frozenset(lows),
        matter=frozenset(
            stem(low)
            for low, big, plain in zip(lows, capital, grammar, strict=True)
            if not (big or plain) and len(low) > 1
        ),
        runs=frozenset(tuple(lows[a:b]) for a, b in runs),
        places=frozenset(_places(lows, capital, grammar, runs)),
        company=frozenset(_company(lows, letters)),
    )


@lru_cache(maxsize=65_536)  # most words occur in many texts
def stem(word: str) -> str:
    """Return a folded word without the commonest endings, enough to recognise "works" in "working"."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def _runs(capital: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Start and end of every run of capitalised words."""
    start = None
    for k, big in enumerate([*capital, False]):
        if big and start is None:
            start = k
        elif not big and start is not None:
            yield start, k
            start = None


def _places(
    lows: Sequence[str], capital: Sequence[bool], grammar: Sequence[bool], runs: Sequence[tuple[int, int]]
) -> Iterator[tuple[str, str, Run]]:
    for start, end in runs:
        back = start - 1
        while back >= 0 and lows[back] in ("the", "a", "an"):
            back -= 1
        how = lows[back] if back >= 0 and grammar[back] else ""
        back -= bool(how)
        if back >= 0 and not (grammar[back] or (back and capital[back])):
            yield stem(lows[back]), "in" if how in _WHERE else how, tuple(lows[start:end])


def _company(lows: Sequence[str], letters: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield exclusive terms with the nearest word of content on either side, and letters with the word before."""
    for k, low in enumerate(lows):
        if k and low in letters:
            yield "letter", low, stem(lows[k - 1])
        if low in EXCLUSIVE:
            before = next((stem(w) for w in lows[max(0, k - 4) : k][::-1] if w not in GRAMMAR), "")
            after = next((stem(w) for w in lows[k + 1 : k + 5] if w not in GRAMMAR), "")
            beside = [f"{before} …"] * bool(before) + [f"… {after}"] * bool(after)
            yield from ((group, GROUPS[group][low], word) for group in EXCLUSIVE[low] for word in beside)


def _alike(a: Run, b: Run) -> bool:
    """Return whether two names may be spellings of one name, a name and its short form, or a name and its acronym."""
    if {w[:_LIKE] for w in a} & {w[:_LIKE] for w in b}:
        return True
    return "".join(w[0] for w in a) in b or "".join(w[0] for w in b) in a

"""Specifics: what a text says that must not change or be lost — numbers, dates, names, negation and the like.

``specifics`` extracts them, and the "nothing lost" probe counts them. Whether two texts contradict each other in one belongs to
``slowwave.texts.differences``; tokens for search belong to ``slowwave.texts.tokens``.

All patterns are bounded or anchored at word starts, so the time is linear in the text's length.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile
from typing import Final

from slowwave.texts.figures import is_unit, ordinal, read, unit
from slowwave.texts.statements import LONGEST, SHORTEST, Statement, read_statement, stem
from slowwave.texts.vocabulary import (
    CARDINALS,
    DENIALS,
    EXCLUSIVE,
    FOREIGN_NEGATIONS,
    GRAMMAR,
    GROUPS,
    NEGATIONS,
    OPENERS,
    ORDINALS,
    ROMANS,
    TENS,
    TITLES,
    VARIANTS,
)

_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Specifics:
    """The specifics of one text, each a normalised string ("5 km", "2024-05-06", "v" of versions dropped).

    ``exclusive`` holds (group, term): terms of one group rule each other out (``north`` and ``south``). ``letters`` are single
    letters that tell things apart ("Plan B", initials), ``ranks`` the ordinals of a title ("2nd baron"), ``variants`` words
    that make another thing of a thing ("remix", "Jr"), ``denied`` stems of what a negation turns round, ``declined`` of what is refused
    or lacking. ``words`` are all words, folded, ``prose`` those of a longer text as written and in order.
    """

    numbers: frozenset[str] = _NONE
    dates: frozenset[str] = _NONE
    versions: frozenset[str] = _NONE
    identifiers: frozenset[str] = _NONE
    romans: frozenset[str] = _NONE
    ordinals: frozenset[str] = _NONE
    ranks: frozenset[str] = _NONE
    letters: frozenset[str] = _NONE
    names: frozenset[str] = _NONE
    negations: frozenset[str] = _NONE
    denied: frozenset[str] = _NONE
    declined: frozenset[str] = _NONE
    variants: frozenset[str] = _NONE
    exclusive: frozenset[tuple[str, str]] = frozenset()
    words: frozenset[str] = _NONE
    prose: tuple[str, ...] = ()

    def statement(self) -> Statement | None:
        """What the text says in the order of its words; None when it has too few or too many."""
        return read_statement(self.prose, self.letters) if self.prose else None

    def terms(self) -> frozenset[str]:
        """What must stay reachable when the text is merged away.

        Single letters and exclusive terms are left out: common words ("on", "before") would drown the rest.
        """
        return self.figures() | self.identifiers | self.names | self.negations

    def figures(self) -> frozenset[str]:
        """Quantities, versions, ordinals and dates: "15", "v15" and "XV" are one figure."""
        return self.numbers | self.versions | self.romans | self.ordinals | self.dates

    def groups(self) -> dict[str, frozenset[str]]:
        """Group → the terms of it that occur."""
        found: dict[str, frozenset[str]] = {}
        for group, term in self.exclusive:
            found[group] = found.get(group, _NONE) | {term}
        return found


def specifics(text: str) -> Specifics:
    """Extract the specifics of a text in any script. Time: linear in its length; a short text is read once while it stays among the
    last 4,096."""
    return _remembered(text) if len(text) <= _SHORT else _read(text)


def _read(text: str) -> Specifics:
    text = text if text.isascii() else unicodedata.normalize("NFKC", text).replace("’", "'")
    found = _Found(text)
    if found.digits or "@" in text or "." in text:
        read(_FOREIGN_DIGIT.sub(lambda m: str(unicodedata.decimal(m[0])), text), found.kinds)
    for k, low in enumerate(found.lows):
        found.word(k, low)
    return found.specifics()


_SHORT: Final = 2_000
_remembered: Final = lru_cache(4_096)(_read)


def may_have_specifics(text: str) -> bool:
    """A cheap look before ``specifics``: False only for plain words with nothing in them but a name."""
    return not (_PLAIN.fullmatch(text) and _KNOWN.isdisjoint(text.lower().split(" ")))


class _Found:
    """The words of a text and what has been found so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.digits = _DIGIT.search(text) is not None
        self.lower = text.islower()
        degree = _DEGREE.search(text) if "." in text else None
        self.matches = list(_WORD.finditer(text, 0, degree.start() if degree else len(text)))
        if self.digits:  # "sm5th" and "46V" are no words
            self.matches = [m for m in self.matches if not _beside_digit(text, m)]
        self.words = [m[0] for m in self.matches]
        self.lows = [w.casefold() for w in self.words]
        self.kinds: defaultdict[str, set[str]] = defaultdict(set)
        self.exclusive: set[tuple[str, str]] = set()

    def word(self, k: int, low: str) -> None:
        """Roman numerals, letters, number words, negations, variants and exclusive terms."""
        word = self.words[k]
        if len(low) == 1:
            self._letter(k, low)
        if low in _KNOWN:
            self._known(k, low)
        if not word.islower() and not word[1:].islower():
            for part in _CAMEL.split(word):
                if len(part) < len(word) and part.casefold() in EXCLUSIVE:
                    self._exclude(part.casefold())

    def _known(self, k: int, low: str) -> None:
        word = self.words[k]
        if low in ROMANS and (word.isupper() or (k and word.islower())):  # "Xi" and "Vi" are names
            self.kinds["romans"].add(str(ROMANS[low]))
        if low in EXCLUSIVE and (low not in _CAPITAL or word[0].isupper()):
            self._exclude(low)
        if low in VARIANTS:
            self.kinds["variants"].add(_SAME_VARIANT.get(low, low))
        if low in DENIALS:
            self.kinds["declined"].add(self._target(k))
        if (low in NEGATIONS and (low != "no" or not self._numero(k))) or word in FOREIGN_NEGATIONS:
            self._negation(k)
        if low in CARDINALS:
            self._cardinal(k, CARDINALS[low])
        elif low in TENS and not (self._next(k) in _AFTER_TENS and self._joined(k + 1)):
            self._cardinal(k, TENS[low])
        elif low in ORDINALS and not (low == "second" and self._is_time(k)):
            self.kinds["ordinals"].add(ordinal(ORDINALS[low] + self._tens(k)))

    def _exclude(self, low: str) -> None:
        self.exclusive.update((group, GROUPS[group][low]) for group in EXCLUSIVE[low])

    def _negation(self, k: int) -> None:
        self.kinds["negations"].add("not")
        self.kinds["denied"].add(self._target(k))

    def _target(self, k: int) -> str:
        """The stem of what a negation turns round: the next word of content, at the end of a text the one before."""
        after, before = self.lows[k + 1 : k + 6], self.lows[max(0, k - 5) : k][::-1]
        return next((stem(w) for w in (*after, *before) if w not in GRAMMAR and w not in NEGATIONS), "")

    def _cardinal(self, k: int, value: int) -> None:
        """A number word with the tens before and the unit after it; a bare "one" is none."""
        tens, after = self._tens(k), self._next(k)
        if value + tens != 1:
            self.kinds["numbers"].add(f"{value + tens} {unit(after)}" if is_unit(after) else str(value + tens))

    def _tens(self, k: int) -> int:
        return TENS.get(self.lows[k - 1], 0) if k and self._joined(k) else 0

    def _joined(self, k: int) -> bool:
        return self.text[self.matches[k - 1].end() : self.matches[k].start()] in (" ", "-")

    def _next(self, k: int) -> str:
        return self.lows[k + 1] if k + 1 < len(self.lows) else ""

    def _numero(self, k: int) -> bool:
        return _NUMERO.match(self.text, self.matches[k].end()) is not None

    def _is_time(self, k: int) -> bool:
        start = self.matches[k].start()
        return _SECOND.search(self.text[max(0, start - 8) : start]) is not None

    def _letter(self, k: int, low: str) -> None:
        """A single letter: a roman numeral at the end of a name, else an initial or what tells apart; no article, no "I"."""
        letter, match, last = self.words[k], self.matches[k], k == len(self.words) - 1
        if not letter.isascii() or (match.start() and self.text[match.start() - 1] == "'"):
            return
        dotted = self.text.startswith(".", match.end())
        if last and k and letter in _ROMAN_LETTERS and not dotted:
            self.kinds["romans"].add(_ROMAN_LETTERS[letter])
        elif (letter.isupper() or self.lower) and (
            dotted or last or low not in "ai" or 0 < k < SHORTEST > len(self.words)
        ):
            self.kinds["letters"].add(low)

    def specifics(self) -> Specifics:
        """All that was found."""
        kinds = {kind: frozenset(values) for kind, values in self.kinds.items() if values}
        if ranks := self.kinds.get("ordinals") and _RANK.findall(self.text):
            kinds["ranks"] = frozenset(ordinal(int(n)) for n in ranks)
        names: set[str] = set()
        _proper_names(self.text, self.matches, names)
        return Specifics(
            names=frozenset(names),
            exclusive=frozenset(self.exclusive),
            words=frozenset(self.lows),
            prose=tuple(self.words) if SHORTEST <= len(self.words) <= LONGEST else (),
            **kinds,
        )


def _beside_digit(text: str, match: re.Match[str]) -> bool:
    start, end = match.span()
    return (start > 0 and text[start - 1].isdigit()) or text[end : end + 1].isdigit()


def _proper_names(text: str, matches: list[re.Match[str]], names: set[str]) -> None:
    """Runs of capitalised words; one capitalised word that opens a sentence counts only when it looks like a name."""
    if text.islower():
        return
    whole = all(m[0][0].isupper() for m in matches)
    run: list[str] = []
    opens, end = False, 0

    def close() -> None:
        if not run:
            return
        words = list(dropwhile(lambda w: w.casefold() in OPENERS, run))
        plain = opens and not whole and len(run) == 1 and run[0][1:].islower()
        if words and not plain:
            names.add(" ".join(words).casefold())
        run.clear()

    for match in matches:
        word = match[0]
        if not word[0].isupper() or _figure_beside(text, match) or (not run and word in ("A", "I")):
            close()
        else:
            gap = text[end : match.start()]
            if run and gap not in (" ", "-") and not (gap == ". " and len(run[-1]) <= 2):
                close()
            if not run:
                opens = end == 0 or any(c in ".!?:\n" for c in gap)
            run.append(word)
        end = match.end()
    close()


def _figure_beside(text: str, match: re.Match[str]) -> bool:
    """Whether the word is part of a code or a unit ("ABC-123", "3 GB")."""
    before = text[max(0, match.start() - 2) : match.start()].rstrip(" -_/.")
    return before[-1:].isdigit() or _FIGURE.match(text, match.end()) is not None


_DIGIT: Final = re.compile(r"\d")
_FOREIGN_DIGIT: Final = re.compile(r"[^\D0-9]")
_FIGURE: Final = re.compile(r"[-_/.]?\d")
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SECOND: Final = re.compile(r"(?:\d|\bper|\ba|\beach|\bevery) ?-?$", re.IGNORECASE)
_NUMERO: Final = re.compile(r"\.? ?\d")
_RANK: Final = re.compile(rf"\b(\d{{1,3}})(?:st|nd|rd|th) (?:{'|'.join(sorted(TITLES))})\b", re.IGNORECASE)
_DEGREE: Final = re.compile(
    r"(?<=[\w,]) (?:m\. ?d|ph\. ?d|m\. ?a|b\. ?a|d\. ?d(?:\. ?s)?|m\. ?p|v\. ?c|[kq]\. ?c|u\. ?s(?:\. ?a)?)\.?\s*$",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile(r"(?:[A-Z][a-z]+|[a-z]{2,}|[A-Z]{2,})(?: (?:[A-Z][a-z]+|[a-z]{2,}|[A-Z]{2,})){0,4}")
_ROMAN_LETTERS: Final = {"I": "1", "V": "5", "X": "10"}
_AFTER_TENS: Final = frozenset(list(CARDINALS)[1:10] + list(ORDINALS)[:9])
_SAME_VARIANT: Final = {"jnr": "jr", "junior": "jr", "snr": "sr", "senior": "sr", "remixed": "remix"}
_CAPITAL: Final = frozenset(("may", "march", "us"))
"""Terms that are everyday words in lower case."""
_KNOWN: Final = (
    frozenset(EXCLUSIVE)
    | VARIANTS
    | DENIALS
    | NEGATIONS
    | FOREIGN_NEGATIONS
    | ROMANS.keys()
    | CARDINALS.keys()
    | TENS.keys()
    | ORDINALS.keys()
)

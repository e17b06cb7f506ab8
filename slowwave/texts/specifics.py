"""Specifics: what a text says that must not change or be lost — numbers, dates, names, negation and the like.

``specifics`` extracts them, ``differ`` says whether two names or texts contradict each other in one. Matching vetoes by it and
the "nothing lost" probe counts by it. Whether two texts mean the same is not decided here; tokens for search belong to
``slowwave.texts.tokens``.

All patterns are bounded or anchored at word starts, so the time is linear in the text's length.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import dropwhile
from typing import Final

from slowwave.texts.vocabulary import EXCLUSIVE, FOREIGN_NEGATIONS, GROUPS, NEGATIONS, OPENERS

_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Specifics:
    """The specifics of one text, each a normalised string ("5 km", "2024-05-06", "v" of versions dropped).

    ``exclusive`` holds (group, term): terms of one group rule each other out (``north`` and ``south``). ``letters`` are single
    letters that tell things apart ("Plan B", middle initials).
    """

    numbers: frozenset[str] = _NONE
    dates: frozenset[str] = _NONE
    versions: frozenset[str] = _NONE
    identifiers: frozenset[str] = _NONE
    romans: frozenset[str] = _NONE
    ordinals: frozenset[str] = _NONE
    letters: frozenset[str] = _NONE
    names: frozenset[str] = _NONE
    negations: frozenset[str] = _NONE
    exclusive: frozenset[tuple[str, str]] = frozenset()

    def terms(self) -> frozenset[str]:
        """What must stay reachable when the text is merged away.

        Single letters and exclusive terms are left out: common words ("on", "before") would drown the rest.
        """
        plain = self.numbers | self.dates | self.versions | self.identifiers | self.romans | self.ordinals
        return plain | self.names | self.negations

    def quantities(self) -> frozenset[str]:
        """Numbers however written: "15", "v15" and "XV" are one quantity."""
        return self.numbers | self.versions | self.romans

    def groups(self) -> dict[str, frozenset[str]]:
        """Group → the terms of it that occur."""
        found: dict[str, frozenset[str]] = {}
        for group, term in self.exclusive:
            found[group] = found.get(group, _NONE) | {term}
        return found

    def differ(self, other: Specifics) -> str | None:
        """The sentence of the first rule under which the two contradict each other, or None."""
        for what, read in STRICT.items():
            if (a := read(self)) != (b := read(other)):
                return f"The {what} differ: {_show(a)} and {_show(b)}."
        if (a := self.identifiers) and (b := other.identifiers) and a != b:
            return f"The identifiers differ: {_show(a)} and {_show(b)}."
        if not (self.letters <= other.letters or other.letters <= self.letters):
            return f"The letters differ: {_show(self.letters)} and {_show(other.letters)}."
        if self.exclusive != other.exclusive:
            mine, theirs = self.groups(), other.groups()
            for group in sorted(mine.keys() & theirs.keys()):
                if mine[group] != theirs[group]:
                    return f"The terms exclude each other: {_show(mine[group])} and {_show(theirs[group])}."
        return None


STRICT: Final[dict[str, Callable[[Specifics], frozenset[str]]]] = {
    "numbers": Specifics.quantities,
    "dates": lambda s: s.dates,
    "ordinals": lambda s: s.ordinals,
    "negations": lambda s: frozenset({"not"}) if s.negations else _NONE,
}
"""Kinds in which two texts differ even when only one of them has any: "PostgreSQL" is not "PostgreSQL 16"."""


def differ(a: str, b: str) -> str | None:
    """The veto sentence when two names or texts differ in a specific, None when they do not."""
    return specifics(a).differ(specifics(b))


def specifics(text: str) -> Specifics:
    """Extract the specifics of a text in any script. Time: linear in its length."""
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    found = _Found()
    rest = text
    if "@" in rest:
        rest = found.take("identifiers", _EMAIL, lambda m: m[0].casefold(), rest)
    if "://" in rest or "www." in rest.casefold():
        rest = found.take("identifiers", _URL, lambda m: _url(m[0]), rest)
    if any(c.isdecimal() for c in rest):
        _figures(rest if rest.isascii() else "".join(map(_ascii_digit, rest)), found)
    _words(rest, found)
    return Specifics(
        exclusive=frozenset(found.exclusive), **{kind: frozenset(values) for kind, values in found.kinds.items()}
    )


class _Found:
    """What has been found so far."""

    def __init__(self) -> None:
        self.kinds: defaultdict[str, set[str]] = defaultdict(set)
        self.exclusive: set[tuple[str, str]] = set()

    def take(self, kind: str, pattern: re.Pattern[str], read: Callable[[re.Match[str]], str | None], text: str) -> str:
        """Collect what ``pattern`` matches and return the text without it, so that no later pattern reads it again."""

        def one(match: re.Match[str]) -> str:
            value = read(match)
            if value is None:
                return match[0]
            self.kinds[kind].add(value)
            return " "

        return pattern.sub(one, text)


def _figures(rest: str, found: _Found) -> None:
    """Everything written with digits: dates and times first, bare numbers last."""
    if _MAYBE_DATE.search(rest):
        for pattern, read in _DATES:
            rest = found.take("dates", pattern, read, rest)
    rest = found.take("ordinals", _ORDINAL, lambda m: _ordinal(int(m[1])), rest)
    rest = found.take("versions", _VERSION, lambda m: m[1].lower(), rest)
    rest = found.take(
        "numbers", _MONEY, lambda m: f"{_number(m[2])} {_unit(m[3] or '')} {m[1]}".replace("  ", " "), rest
    )
    rest = found.take("numbers", _QUANTITY, lambda m: f"{_number(m[1])} {_unit(m[2])}", rest)
    codes = {re.sub(r"[-_/.]", "", t.casefold()) for t in _TOKEN.findall(rest) if _is_code(t)}
    rest = found.take("versions", _DOTTED, lambda m: m[0], rest)
    found.kinds["identifiers"] |= codes | set(_LONG.findall(rest))
    found.kinds["numbers"] |= {_number(n) for n in _DIGITS.findall(rest)}


def _words(text: str, found: _Found) -> None:
    """Roman numerals, number words, letters, negations, exclusive terms and proper names."""
    matches = list(_WORD.finditer(text))
    lower = text.islower()
    for k, match in enumerate(matches):
        word = match[0]
        low = word.casefold().replace("’", "'")
        if len(low) == 1:
            if not match.start() or text[match.start() - 1] not in "'’":
                _letter(word, k, len(matches) - 1, lower, found)
        elif low[0] in "ivx" and (value := _roman(word)) is not None:
            found.kinds["romans"].add(str(value))
        if low in _CARDINALS:
            found.kinds["numbers"].add(_CARDINALS[low])
        elif low in _ORDINAL_WORDS:
            if low != "second" or not _SECOND.search(text[max(0, match.start() - 8) : match.start()]):
                found.kinds["ordinals"].add(_ordinal(_ORDINAL_WORDS[low]))
        elif _negates(word, low, text, match.end()):
            found.kinds["negations"].add("not")
        parts = [low] if word[1:].islower() else [low, *(p.casefold() for p in _CAMEL.split(word))]
        for part in parts:
            if part in EXCLUSIVE and (word[0].isupper() or part not in ("may", "march")):
                found.exclusive.update((group, GROUPS[group][part]) for group in EXCLUSIVE[part])
    _proper_names(text, matches, found.kinds["names"])


def _negates(word: str, low: str, text: str, end: int) -> bool:
    """Whether a word turns the sentence round; "No. 5" does not."""
    if low == "no":
        return _NUMERO.match(text, end) is None
    return low in NEGATIONS or low.endswith("n't") or word in FOREIGN_NEGATIONS


def _letter(letter: str, k: int, last: int, lower: bool, found: _Found) -> None:
    """A single letter: a roman numeral at the end of a name, an initial at its start, else a letter that tells apart."""
    low = letter.casefold()
    if not letter.isascii():
        return
    if k == last and k and letter in _ROMAN_LETTERS:
        found.kinds["romans"].add(_ROMAN_LETTERS[letter])
    elif k == 0:
        if last and low not in "aioy":
            found.exclusive.add(("initial", low))
    elif (letter not in "AI" or k == last) if letter.isupper() else (lower and letter not in "aeiouy"):
        found.kinds["letters"].add(low)


def _proper_names(text: str, matches: list[re.Match[str]], names: set[str]) -> None:
    """Runs of capitalised words; one capitalised word that opens a sentence counts only when it looks like a name."""
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


_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            *("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul"),
            *("august aug", "september sept sep", "october oct", "november nov", "december dec"),
        ),
        1,
    )
    for name in names.split()
}
_MONTH: Final = "(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY: Final = r"(\d{1,2})(?:st|nd|rd|th)?\b"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.ASCII)


def _date(year: str | None, month: int, day: str | None) -> str | None:
    if not 1 <= month <= 12 or (day is not None and not 1 <= int(day) <= 31):
        return None
    tail = f"{month:02d}" + (f"-{int(day):02d}" if day is not None else "")
    return f"{year}-{tail}" if year else f"--{tail}"


def _clock(match: re.Match[str]) -> str | None:
    hour, minute, half = int(match[1]), match[2] or "00", (match[3] or "").lower()
    if hour > 24 or (half and not 1 <= hour <= 12):
        return None
    hour = hour % 12 + 12 * (half[:1] == "p") if half else hour
    return f"{hour:02d}:{minute}"


_DATES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]], ...]] = (
    (_pattern(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)"), lambda m: _date(m[1], int(m[2]), m[3])),
    (
        _pattern(r"(?<!\d)(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?!\d)"),
        lambda m: f"{int(m[1]):02d}/{int(m[3]):02d}/{m[4]}",  # day or month first is not ours to guess
    ),
    (_pattern(rf"\b{_DAY} (?:of )?{_MONTH},? (\d{{4}})\b"), lambda m: _date(m[3], _MONTHS[m[2].lower()], m[1])),
    (_pattern(rf"\b{_MONTH} {_DAY},? (\d{{4}})\b"), lambda m: _date(m[3], _MONTHS[m[1].lower()], m[2])),
    (_pattern(rf"\b{_MONTH},? (\d{{4}})\b"), lambda m: _date(m[2], _MONTHS[m[1].lower()], None)),
    (_pattern(rf"\b{_DAY} (?:of )?{_MONTH}(?!\w)"), lambda m: _date(None, _MONTHS[m[2].lower()], m[1])),
    (_pattern(rf"\b{_MONTH} {_DAY}(?![.,]?\d)"), lambda m: _date(None, _MONTHS[m[1].lower()], m[2])),
    (_pattern(r"(?<!\d)(\d{4})-(\d{2})(?![\d-])"), lambda m: _date(m[1], int(m[2]), None)),
    (_pattern(r"(?<![\d:])(\d{1,2}):(\d{2})(?::\d{2})? ?([ap]\.?m\b)?(?![\d:])"), _clock),
    (_pattern(r"(?<![\w.])(\d{1,2})() ?([ap]\.?m)\b"), _clock),
    (_pattern(r"(?<![\w.,])(1[5-9]\d{2}|20\d{2}|21\d{2})(?!\w|[.,]\d)"), lambda m: m[1]),
)


_MAYBE_DATE: Final = _pattern(rf"(?<!\d)\d{{4}}(?!\d)|\d[-/.:]\d|\d ?[ap]\.?m\b|\b{_MONTH}")
_FIGURE: Final = re.compile(r"[-_/.]?\d")
_EMAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_URL: Final = re.compile(r"(?<!\w)(?:[a-z][a-z+.-]{1,15}://|www\.)[^\s<>\"'()\[\]{}]{1,2000}", re.IGNORECASE)
_ORDINAL: Final = _pattern(r"(?<!\w)(\d{1,6})(?:st|nd|rd|th)\b")
_VERSION: Final = _pattern(
    r"\b(?:version |ver\.? ?|v\.? ?)(\d{1,9}(?:\.\d{1,9}){0,5}(?:-?(?:alpha|beta|rc)\.?\d{0,3})?)\b"
)
_DOTTED: Final = _pattern(r"(?<![\d.])\d{1,9}(?:\.\d{1,9}){2,5}(?![\d.]*\d)")
_UNITS: Final = {
    unit: names.split()[0]
    for names in (
        *("km kilometer kilometre", "m meter metre", "cm centimeter centimetre", "mm millimeter millimetre", "mi mile"),
        *("ft foot feet", "inch inche", "yd yard", "kg kilogram kilo", "g gram", "mg milligram", "t ton tonne"),
        *("lb pound", "oz ounce", "l liter litre", "ml milliliter millilitre", "s sec second", "ms millisecond"),
        *("min minute", "h hr hour", "d day", "week wk", "month", "y yr year", "kb kilobyte", "mb megabyte"),
        *("gb gigabyte", "tb terabyte", "pb petabyte", "kib", "mib", "gib", "kbps", "mbps", "gbps", "hz", "khz"),
        *("mhz", "ghz", "w watt", "kw kilowatt", "mw megawatt", "kwh", "mwh", "v volt", "mah", "% percent pct", "°"),
        *(
            "c °c celsius",
            "f °f fahrenheit",
            "€ eur euro",
            "$ usd dollar",
            "£ gbp",
            "¥ yen jpy",
            "px pixel",
            "dpi",
            "pt",
        ),
        *(
            "k thousand",
            "million mn",
            "billion bn",
            "trillion",
            "x times",
            "people person",
            "user",
            "core",
            "mph",
            "kph",
        ),
    )
    for unit in names.split()
}
_UNIT: Final = "|".join(re.escape(u) for u in sorted(_UNITS, key=len, reverse=True))
_AMOUNT: Final = r"((?:(?<![\w)])[-−])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?)"
_QUANTITY: Final = re.compile(rf"(?<![\w.,]){_AMOUNT} ?({_UNIT})s?(?![\w°])", re.IGNORECASE)
_MONEY: Final = re.compile(rf"([$€£¥]) ?{_AMOUNT}(?: ?(k|mn?|bn?|thousand|million|billion|trillion)\b)?", re.IGNORECASE)
_DIGITS: Final = re.compile(_AMOUNT)
_LONG: Final = re.compile(r"(?<!\w)\d{7,40}(?!\w)")
_TOKEN: Final = re.compile(r"(?<![\w-])\w+(?:[-_/.]\w+)*")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SECOND: Final = re.compile(r"(?:\d|\bper|\ba|\beach|\bevery) ?-?$", re.IGNORECASE)
_NUMERO: Final = re.compile(r"\.? ?\d")
_ROMAN: Final = re.compile(r"x{0,3}(?:ix|iv|v?i{0,3})")
_ROMAN_LETTERS: Final = {"I": "1", "V": "5", "X": "10"}
_CARDINALS: Final = {
    word: str(n)
    for n, word in enumerate(
        ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 2
    )
}
_ORDINAL_WORDS: Final = {
    word: n
    for n, word in enumerate(
        ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"), 1
    )
}


def _ascii_digit(character: str) -> str:
    value = unicodedata.decimal(character, None)
    return character if value is None else str(value)


def _number(text: str) -> str:
    sign = "-" if text[0] in "-−" else ""
    whole, dot, fraction = text.lstrip("-−").replace(",", "").partition(".")
    return f"{sign}{whole.lstrip('0') or '0'}{dot}{fraction}"


def _unit(text: str) -> str:
    low = text.casefold()
    return _UNITS.get(low) or _UNITS.get(low.rstrip("s"), low)


def _ordinal(number: int) -> str:
    tail = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{tail}"


def _url(text: str) -> str:
    return re.sub(r"^(?:https?://)?(?:www\.)?", "", text.casefold()).rstrip("/.,;:!?")


def _is_code(token: str) -> bool:
    return any(c.isdecimal() for c in token) and any(c.isalpha() for c in token)


def _roman(word: str) -> int | None:
    """The value of II…XXXIX in one case; "Xi" and "Vi" are names."""
    if not (word.isupper() or word.islower()) or not _ROMAN.fullmatch(word.lower()):
        return None
    values = [{"i": 1, "v": 5, "x": 10}[c] for c in word.lower()]
    return sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))


def _show(values: frozenset[str]) -> str:
    return ", ".join(sorted(values)) or "none"

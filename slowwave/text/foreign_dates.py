"""Relative dates in other languages than English: phrases that name a day, week, month or year by themselves ("vorgestern").

The phrases are those of the library dateparser (BSD-3-Clause, the extra ``languages``), whose tables come from Unicode's CLDR. Only phrases
that mean one date wherever they occur are found; docs/quality.md shows how often they are right. Left alone are:

- "today", which often means the present age;
- words with a second meaning ("morgen" and "mañana" are also the morning);
- phrases that count from another event or state a duration ("3日後" after an accident, "hace tres años que vivo aquí").
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from slowwave.text.date_values import Value, moved, week_value

DATED_LANGUAGES: Final = ("de", "es", "fr", "it", "ja", "pt", "zh")
"""Languages whose relative dates are found."""

INSTALL: Final = 'Install it by `pip install "slowwave[languages]"`'

_AMBIGUOUS: Final = {
    "de": ("morgen",),  # also the morning
    "es": ("mañana",),  # also the morning
    "ja": ("翌月", "翌週", "翌年"),  # after the time of a story
    "zh": ("后天",),  # also "acquired", as opposed to innate
}
_COUNTED: Final = ("de", "fr", "it")
"""Languages in which "N days ago" states no duration. In Spanish and Portuguese it may ("trabajo aquí hace 3 años"), and in Chinese and
Japanese it may count from what precedes it ("考试3天前")."""

_NAMED: Final = re.compile(r"(?P<later>in )?(?P<number>\d+) (?P<unit>day|week|month|year)(?: ago)?")
_NUMBER: Final = r"(\d++[.,]?\d*+)"  # as dateparser's tables write it


_LED: Final = re.compile(
    r"\b(?:avant|après|apres|antes de|depois de|después de|despues de|dopo|prima di|nach|vor) $", re.IGNORECASE
)
_FOLLOWED: Final = re.compile(r" im\b|度|[一二三四五六日天末]|[月火水木金土]曜")
"""Words that give a phrase another meaning: "antes de ontem", "letzte Woche im September", "来年度", "上周三"."""

_COUNTED_UNITS: Final = ("day", "week")
_ABBREVIATED: Final = 2  # letters of a unit, as in "il y a 3 j"
_TODAY: Final = "0 day ago"
_UNSPACED: Final = ("ja", "zh")


class FoundPhrase(NamedTuple):
    """A phrase at ``start`` … ``end`` of a text, and its date."""

    start: int
    end: int
    value: Value


class _Phrases(NamedTuple):
    """Phrases of a language: a pattern for all, (unit, distance) by folded phrase, and the values of its words for numbers."""

    pattern: re.Pattern[str]
    distances: Mapping[str, tuple[str, int]]
    numbers: Mapping[str, int]


def can_find_foreign_dates() -> bool:
    """Return whether the library with the phrases is installed."""
    return importlib.util.find_spec("dateparser") is not None


def find_foreign_dates(text: str, language: str, today: date) -> Iterator[FoundPhrase]:
    """Yield the relative dates of a text in one of ``DATED_LANGUAGES``, as meant on a day; nothing without the library."""
    if language not in DATED_LANGUAGES or not can_find_foreign_dates():
        return
    phrases = _phrases(language)
    for match in phrases.pattern.finditer(text):
        if _LED.search(text, max(0, match.start() - 16), match.start()) or _FOLLOWED.match(text, match.end()):
            continue
        counted = next((unit for unit in _COUNTED_UNITS if match[unit]), "")
        if counted:
            word = match[counted].casefold()
            value = moved(today, counted, -(int(word) if word.isdigit() else phrases.numbers[word]), about=False)
        else:
            unit, distance = phrases.distances[match[0].casefold()]
            value = week_value(today, distance) if unit == "week" else moved(today, unit, distance, about=False)
        if value is not None:
            yield FoundPhrase(match.start(), match.end(), value)


@cache
def _phrases(language: str) -> _Phrases:
    table: Mapping[str, Any] = import_module(f"dateparser.data.date_translation_data.{language}").info
    distances: dict[str, tuple[str, int]] = {}
    for name, phrases in table["relative-type"].items():
        found = _NAMED.fullmatch(name)
        if found is None or name == _TODAY:
            continue
        distance = int(found["number"]) * (1 if found["later"] else -1)
        distances |= {phrase.casefold(): (found["unit"], distance) for phrase in phrases}
    for word in _AMBIGUOUS.get(language, ()):
        del distances[word]
    numbers = {
        word: int(digits)
        for simplified in table.get("simplifications", ())
        for word, digits in simplified.items()
        if digits.isdigit() and word.isalpha()
    }
    parts = [re.escape(phrase) for phrase in sorted(distances, key=len, reverse=True)]
    for unit in _COUNTED_UNITS:
        variants = [variant.split(_NUMBER) for variant in table["relative-type-regex"][f"\\1 {unit} ago"]]
        before = variants[0][0]
        after = "|".join(
            sorted((end for _, end in variants if len(end.split()[0]) > _ABBREVIATED), key=len, reverse=True)
        )
        number = "|".join((r"[1-9]\d{0,2}", *numbers))
        never = "" if language in _COUNTED else "(?!)"
        parts.append(rf"{never}{before}(?P<{unit}>{number})(?:{after or '(?!)'})")
    edges = ("", "") if language in _UNSPACED else (r"(?<![\w-])", r"(?![\w-])")
    return _Phrases(re.compile(f"{edges[0]}(?:{'|'.join(parts)}){edges[1]}", re.IGNORECASE), distances, numbers)

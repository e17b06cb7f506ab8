"""Named days: days of the calendar that a question about the past names, "on May 4th", "in March", "on 2 June 2025", "in 2024".

Where no year is said, the latest is meant that is not still to come. Numbers alone ("4/5/2025") may be either of two days and are read as
none. English and ISO; linear in the text.
"""

from __future__ import annotations

import calendar
import re
from datetime import date
from typing import Final

from slowwave.texts.calendar_values import day_of_month
from slowwave.texts.tenses import Cues

_MONTHS: Final = {name.casefold(): n for n, name in enumerate(calendar.month_name) if n}
_SHORT: Final = {name[:3]: n for name, n in _MONTHS.items() if len(name) > 3} | {"sept": 9}
_MONTH: Final = rf"(?P<month>{'|'.join(m for m in _MONTHS if m not in ('may', 'march'))}|(?-i:May|March)|(?:{'|'.join(_SHORT)})\b\.?)"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_DAY: Final = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_FORMS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\w-]){_YEAR}-(?P<month>[01]\d)(?:-(?P<day>[0-3]\d))?(?![\w-])",
        rf"\b{_MONTH} (?:the )?{_DAY}\b(?!:|\.\d)(?:,? {_YEAR}\b)?",
        rf"\b{_DAY} (?:of )?{_MONTH}(?!\w)(?:,? {_YEAR}\b)?",
        rf"\b(?:in|during) {_MONTH}(?!\w)(?:,? (?:of )?{_YEAR}\b)?",
        rf"\b{_MONTH} {_YEAR}\b",
        rf"\b(?:in|during) {_YEAR}(?![\w-])",
    )
)
_SAID: Final = re.compile(r"\b(?:decided|agreed|promised|asked|reminded)\b", re.IGNORECASE)
"""Acts of the past whose day is that on which they were recorded, though what they are about may be to come."""


def named_days(text: str, today: date) -> tuple[date, date] | None:
    """The first and the last of the days that a text in the past tense names first, said today; None where it names none, and where
    its verbs speak of what is to come or do not tell: what is due in March was not said in March.
    """
    found = [m for m in (form.search(text) for form in _FORMS) if m]
    cues = Cues.of(text)
    for match in sorted(found, key=lambda m: (m.start(), -m.end())):
        tense = cues.at(*match.span(), whole=True)
        past = tense == "past" or (tense == "unclear" and _SAID.search(text))
        if past and (days := _days(match, today)) is not None:
            return days
    return None


def _days(match: re.Match[str], today: date) -> tuple[date, date] | None:
    said = match.groupdict()
    year, month, day = said["year"], said.get("month"), said.get("day")
    if month is None:
        return date(int(year), 1, 1), date(int(year), 12, 31)
    number = int(month) if month.isdigit() else _numbered(month)
    for other in (int(year),) if year else (today.year, today.year - 1):
        first = day_of_month(other, number, int(day) if day else 1) if number else None
        if first is not None and (year or first <= today):
            last = first if day else date(other, number, calendar.monthrange(other, number)[1])
            return first, last
    return None


def _numbered(month: str) -> int:
    name = month.casefold().rstrip(".")
    return _MONTHS.get(name) or _SHORT[name]

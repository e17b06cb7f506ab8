"""``python -m benchmarks.dates [FILE ...]``: how many relative dates of a set are written out rightly, wrongly or not at all.

The sentences of memories stand beside this module: ``tuned/`` are those that the rules were made with, ``unseen/`` those that were written
after the rules were done. A file is JSONL in the form of duckling's corpus: text, reference, results[]: expr, type, grain,
resolutions[]: value, end_exclusive.
``untouched`` measures the other half: texts that hold no relative date and must come back as they were.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from slowwave.text.dates import absolutize

Find = Callable[[str, datetime], str | None]
"""Text, reference → the ISO value of its first relative date, or None."""


class Expected(NamedTuple):
    """One text of a set: what was said when, and the first and last day that are meant."""

    text: str
    reference: datetime
    first: date
    last: date
    grain: str


@dataclass(frozen=True, slots=True)
class Scored:
    """Texts of a set: ``exact`` have the very days, ``coarser`` an interval that begins or holds them, ``wrong`` other days.

    ``misses`` and ``errors`` are the texts themselves, the latter with what was written.
    """

    texts: int
    exact: int
    coarser: int
    misses: tuple[str, ...]
    errors: tuple[tuple[str, str, str], ...]

    @property
    def right(self) -> int:
        """Exact or coarser."""
        return self.exact + self.coarser

    def shares(self) -> dict[str, float]:
        """Right, wrong and missed, each of all texts."""
        n = max(self.texts, 1)
        return {"right": self.right / n, "wrong": len(self.errors) / n, "missed": len(self.misses) / n}


def slowwave(text: str, reference: datetime) -> str | None:
    """The first value that ``absolutize`` writes."""
    rewrites = absolutize(text, reference).rewrites
    return rewrites[0].value if rewrites else None


def score(path: Path, find: Find = slowwave) -> Scored:
    """Measure on the relative dates of a set that name no clock time, no feast, no season and no month or year of their own."""
    exact, coarser, texts = 0, 0, 0
    misses: list[str] = []
    errors: list[tuple[str, str, str]] = []
    for row in read(path):
        texts += 1
        found = find(row.text, row.reference)
        if found is None:
            misses.append(row.text)
            continue
        first, last = days(found)
        if (first, last) == (row.first, row.last):
            exact += 1
        elif fits(first, last, row):
            coarser += 1
        else:
            errors.append((row.text, found, f"{row.first}/{row.last}"))
    return Scored(texts, exact, coarser, tuple(misses), tuple(errors))


@dataclass(frozen=True, slots=True)
class Told:
    """Sentences of a set: how many have a date, and how many of these are ``right``; those that are ``wrong`` with what was written,
    ``missed`` ones, and those without a date that were ``touched``, of ``dateless`` ones."""

    texts: int
    right: int
    wrong: tuple[tuple[str, str], ...]
    missed: tuple[str, ...]
    dateless: int
    touched: tuple[str, ...]


def sentences(path: Path) -> Told:
    """Measure on sentences of memories. Right is one of the values that are given, or an interval that holds one and has no more than
    three times its days; a sentence of which anything else is written is wrong."""
    whole = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = [(said["on"], text, values) for said in whole["said"] for text, *values in said["rows"]]
    found = [[r.value for r in absolutize(text, datetime.combine(on, TEN)).rewrites] for on, text, _ in rows]
    judged = list(zip(rows, found, strict=True))
    wrong = [(text, ", ".join(has)) for (_, text, values), has in judged if has and not is_as_meant(has, values)]
    missed = [text for (_, text, _), has in judged if not has]
    count, touched = untouched(whole["dateless"]["none"], datetime.combine(whole["said"][0]["on"], TEN))
    return Told(len(rows), len(rows) - len(wrong) - len(missed), tuple(wrong), tuple(missed), count, tuple(touched))


def is_as_meant(found: Sequence[str], values: Sequence[str]) -> bool:
    """Return whether the one value found is one of those given, or an interval that holds one and has at most three times its days."""
    if len(found) != 1:
        return False
    first, last = days(found[0])
    meant = [days(value) for value in values]
    return any(
        (first <= a and b <= last and (last - first).days + 1 <= max(3 * ((b - a).days + 1), 1))
        or (first, last) == (a, b)
        for a, b in meant
    )


def read(path: Path) -> Iterator[Expected]:
    """The texts of a set that are measured."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        result = row["results"][0]
        if is_measured(row, result):
            yield _expected(row, result)


def is_measured(row: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Whether it is a relative date: no clock time, feast, season, named month or year."""
    day_part = result["type"] == "range" and result["grain"] == "hour" and not _HOURS.search(row["text"])
    whole = result["type"] in ("date", "range") and result["grain"] in _GRAINS
    hours = result["grain"] == "hour" and result["type"] == "date" and not _CLOCK.search(row["text"])
    return bool(row.get("relative", True)) and (whole or day_part or hours) and not _ABSOLUTE.search(row["text"])


def untouched(texts: Iterable[str], reference: datetime) -> tuple[int, list[str]]:
    """How many texts there are, and those that were changed."""
    whole = list(texts)
    return len(whole), [text for text in whole if absolutize(text, reference).rewrites]


def days(value: str) -> tuple[date, date]:
    """First and last day of an ISO date, month, year or interval with both ends in it."""
    first, _, last = value.partition("/")
    return _span(first)[0], _span(last or first)[1]


def _expected(row: Mapping[str, Any], result: Mapping[str, Any]) -> Expected:
    meant = result["resolutions"][0]
    first = datetime.fromisoformat(meant["value"]).date()
    if end := meant.get("end_exclusive"):
        until = datetime.fromisoformat(end)
        last = max(first, (until - timedelta(seconds=1)).date())
    else:
        last = _span(first.isoformat()[: _GRAINS.get(result["grain"], 10)])[1]
        if result["grain"] == "week":
            last = first + timedelta(days=6)
        elif result["grain"] == "quarter":
            last = _span(f"{first:%Y}-{first.month + 2:02}")[1]
    return Expected(row["text"], datetime.fromisoformat(row["reference"]), first, last, result["grain"])


def fits(first: date, last: date, row: Expected) -> bool:
    """Return whether the days that are meant begin within these. A weekend without the evening on which it begins fits as well."""
    return (
        (first <= row.first and row.last <= last)
        or (first <= row.first <= last)
        or (row.grain == "hour" and row.first <= first and last <= row.last)
    )


def _span(value: str) -> tuple[date, date]:
    parts = [int(p) for p in value.split("-")]
    if len(parts) == 3:
        return date(*parts), date(*parts)
    if len(parts) == 2:
        year, month = parts
        after = date(year + month // 12, month % 12 + 1, 1)
        return date(year, month, 1), after - timedelta(days=1)
    return date(parts[0], 1, 1), date(parts[0], 12, 31)


SETS: Final = Path(__file__).parent
TEN: Final = time(10)
_GRAINS: Final = {"day": 10, "week": 10, "month": 7, "quarter": 7, "year": 4}
_CLOCK: Final = re.compile(
    r"\d\s?[ap]m?\b|\bat\b|\d:\d|\bnoon\b|@|lunch|\bfor\b|\beight\b|^[89]|o'clock", re.IGNORECASE
)
_HOURS: Final = re.compile(r"\d|\bhours?\b|lunch", re.IGNORECASE)
_ABSOLUTE: Final = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|\d{4}|\d{2} a\.?d|summer|winter|season|spring|\bday in\b"
    r"|xmas|christmas|closest|the \d{1,2}(?:st|nd|rd|th)$|^\w+ \d{1,2}th$|\b(?:last|sunday|monday) of (?:october|the holy)",
    re.IGNORECASE,
)


def main() -> None:
    """Print the shares and what went wrong."""
    for path in (path for name in ("tuned", "unseen") for path in sorted((SETS / name).glob("dates*.toml"))):
        told = sentences(path)
        n, name = max(told.texts, 1), path.parent.name
        print(
            f"{name} {path.stem}: {told.texts} sentences: right {told.right / n:.3f}, wrong {len(told.wrong) / n:.3f}, "
            f"missed {len(told.missed) / n:.3f}; {len(told.touched)} of {told.dateless} dateless texts touched"
        )
        if name == "tuned" or "--texts" in sys.argv:
            for text, found in told.wrong:
                print(f"  wrong: {text!r}: {found}")
            for text in told.missed:
                print(f"  missed: {text!r}")
            for text in told.touched:
                print(f"  touched: {text!r}")
    for name in (a for a in sys.argv[1:] if not a.startswith("--")):
        scored = score(Path(name))
        shares = ", ".join(f"{k} {v:.3f}" for k, v in scored.shares().items())
        print(
            f"{Path(name).stem}: {scored.texts} relative dates, {scored.exact} exact, {scored.coarser} coarser: {shares}"
        )
        for text, found, meant in scored.errors:
            print(f"  wrong: {text!r}: {found} for {meant}")
        for text in scored.misses:
            print(f"  missed: {text!r}")


if __name__ == "__main__":
    main()

"""Titles that recur: "Editorial", "Minutes of the board" name another thing each year or day.

A title whose rows spread over three dates and more says nothing by itself: the date says which of its things is meant, and a row that
states none and could be of two of them is of neither. A thing that is listed often, now and then under a wrong date, has most of its
rows under one. Dates part things only where they are dates of these: not the day of a filing, in which matches differ as a rule. Names of
persons are no titles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from slowwave.matching.attributes import Column
from slowwave.matching.comparisons import FIELDS
from slowwave.matching.evidence import WeightsByType
from slowwave.matching.population import Population

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_DATES: Final = 3  # dates that the rows of a title have
_MOST: Final = 0.5  # share of these rows that may have one date
_AGREE: Final = 0.3  # share of the matches of a type that agree in a column, from which it holds the dates of things
_YEARS: Final = range(1500, 2101)


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """``title`` (n,) numbers the titles of each type. Of each column of dates ``recurring`` says which titles recur by it (titles,), and
    the codes of its values (n,) are -1 where a row states none."""

    title: Ints
    recurring: tuple[tuple[Flags, Ints], ...]

    @classmethod
    def of(cls, population: Population, model: WeightsByType, person: Flags) -> Series:
        """Count the dates of each title; ``person`` (n,) are rows of persons. Linear in the rows."""
        form = population.names.compact
        named = (form >= 0) & ~person
        keys = np.where(named, population.kind * (int(form.max(initial=0)) + 1) + form, -1)
        distinct, title = np.unique(keys, return_inverse=True)
        recurring: list[tuple[Flags, Ints]] = []
        for column in population.attributes.columns:
            if not _dates_things(column, population, model):
                continue
            date = np.full(len(population), -1, np.int64)
            date[column.rows] = column.codes
            rows = column.rows[named[column.rows]]
            (of, _), count = np.unique(np.stack([title[rows], date[rows]]), axis=1, return_counts=True)
            most = np.zeros(len(distinct), np.int64)
            np.maximum.at(most, of, count)
            dated = np.bincount(title[rows], minlength=len(distinct))
            recurs = (np.bincount(of, minlength=len(distinct)) >= _DATES) & (most <= _MOST * dated)
            if recurs.any():
                recurring.append((recurs, date))
        return cls(title, tuple(recurring))

    def apart(self, i: Ints, j: Ints) -> Flags:
        """Whether pairs (p,) have one title that recurs, and two dates."""
        found = np.zeros(len(i), bool)
        for at, a, b in self._recur(i, j):
            found[at] |= (a != b) & (a >= 0) & (b >= 0)
        return found

    def ambiguous(self, i: Ints, j: Ints) -> Flags:
        """The rows (n,) of titles that recur which state no date and are in pairs (p,) with two dates or more."""
        found = np.zeros(len(self.title), bool)
        for at, a, b in self._recur(i, j):
            row = np.concatenate([i[at][(a < 0) & (b >= 0)], j[at][(b < 0) & (a >= 0)]])
            date = np.concatenate([b[(a < 0) & (b >= 0)], a[(b < 0) & (a >= 0)]])
            found |= np.bincount(np.unique(np.stack([row, date]), axis=1)[0], minlength=len(found)) > 1
        return found

    def _recur(self, i: Ints, j: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
        """For each column of dates: which pairs have one title that recurs by it, and the dates of both sides."""
        same = np.flatnonzero(self.title[i] == self.title[j]) if self.recurring else np.zeros(0, np.int64)
        for recurs, date in self.recurring:
            at = same[recurs[self.title[i[same]]]]
            yield at, date[i[at]], date[j[at]]


def _dates_things(column: Column, population: Population, model: WeightsByType) -> bool:
    """Whether the values of a column are days or years of the things that rows of its type are."""
    if column.repeated or not (column.shape == "date" or (column.shape == "number" and _years(column))):
        return False
    weights = model.get(population.type_name(column.kind))
    if weights is None or not weights.learnt:
        return False
    k = population.attributes.of(column.kind).index(column)
    return float(weights.m[k + FIELDS][-1]) >= _AGREE


def _years(column: Column) -> bool:
    return all(text.isdecimal() and int(text) in _YEARS for text in column.texts.tolist())

"""Rows of a CSV table, each with the line at which it begins: strict about quotes, bounded in lines and characters.

A quote that is opened and never closed swallows every row behind it, up to the next quote or to the end of the file. What was meant
cannot be known then, so such a file is refused as a whole, with the line of the quote.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, NoReturn, TextIO

from slowwave.errors import ImportRefused
from slowwave.imports.lines import bounded_lines
from slowwave.imports.rows import RowCheck

MOST_LINES: Final = 1_000
"""Lines of one row; a field of more is a quote that was not closed."""


class TableRow(NamedTuple):
    """A row's first line, its values by column (None for a column before which it ends), and whether it has more of them than columns."""

    line: int
    values: dict[str, str | None]
    more: bool


class Table:
    """The rows of a CSV file with a header; iterate once.

    Raises ``ImportRefused`` for a header without ``columns`` or with two columns of one name, and for quotes that do not close; a single
    line that cannot be read goes to ``check``. ``kind`` is a column of few values: a line inside a quoted field that has all fields and a
    value known from there is a row that a quote has swallowed.
    """

    def __init__(self, file: TextIO, check: RowCheck, columns: Sequence[str], kind: str) -> None:
        self._check, self._kind = check, kind
        self._longest = check.limits.line
        self._lines = bounded_lines(file.readline, self._longest)
        self._held: list[str] = []
        self._first = self._at = 0
        self._known: set[str] = set()
        csv.field_size_limit(max(csv.field_size_limit(), self._longest + 2))  # the module's own bound is lower
        self._reader = csv.reader(self._fed(), strict=True)
        self._header = self._row() or []
        if twice := next((name for name in self._header if name.strip() and self._header.count(name) > 1), ""):
            raise ImportRefused(
                f"{check.file}, line 1: two columns are called {twice[:64]!r}, so it is not known which one counts. Nothing was imported. "
                "Rename or remove one of them."
            )
        if missing := [name for name in columns if name not in self._header]:
            raise ImportRefused(
                f"{check.file} has no column {', '.join(missing)}. Nothing was imported. "
                f"The first line must name {', '.join(columns)}."
            )

    def __iter__(self) -> Iterator[TableRow]:
        while (values := self._row()) is not None:
            if not values:
                continue
            self._check.seen += 1
            if len(self._held) > 1 and (line := self._swallowed(values)):
                self._unclosed(_opened(self._held), f"the row of line {line} lies within it")
            row: dict[str, str | None] = dict.fromkeys(self._header)
            row.update(zip(self._header, values, strict=False))
            self._known.add(row[self._kind] or "")
            yield TableRow(self._first, row, len(values) > len(self._header))

    def _row(self) -> list[str] | None:
        """The next row's values; None at the end."""
        while True:
            self._held = []
            try:
                return next(self._reader)
            except StopIteration:
                return None
            except csv.Error as error:
                if len(self._held) != 1 or self._held[0].count('"') % 2:
                    self._unclosed(_opened(self._held), f"{error} up to line {self._at}")
                self._check.seen += 1
                self._check.bad(self._at, f"a quoted field goes on behind its closing quote ({error})")
                self._reader = csv.reader(self._fed(), strict=True)

    def _fed(self) -> Iterator[str]:
        """Lines for the reader, which asks for another one while a quote is open."""
        for line in self._lines:
            self._at = line.number
            size = sum(map(len, self._held))
            if line.text is not None and len(self._held) < MOST_LINES and size + len(line.text) <= self._longest + 2:
                self._first = self._first if self._held else line.number
                self._held.append(line.text)
                yield line.text
            elif self._held:
                self._unclosed(_opened(self._held), f"it is still open at line {line.number}")
            elif line.quotes % 2:
                self._first = line.number
                self._unclosed(0, "its line is too long to be read")
            else:
                self._check.seen += 1
                self._check.bad(line.number, f"the line has more than {self._longest:,} characters")

    def _swallowed(self, values: Sequence[str]) -> int:
        """The number of a line within the row's quoted fields that is a row itself, or 0."""
        place, width = self._header.index(self._kind), len(self._header)
        known = self._known | {values[place] if len(values) > place else ""}
        last = len(self._held) - 1 if "\n" in values[0] or "\r" in values[0] else len(self._held)
        for n, line in enumerate(self._held[1:last], 1):
            alone = next(csv.reader([line]), [])
            if len(alone) == width and alone[place] and alone[place] in known:
                return self._first + n
        return 0

    def _unclosed(self, offset: int, why: str) -> NoReturn:
        raise ImportRefused(
            f"{self._check.file}, line {self._first + offset}: a quote is opened here and not closed as it should be ({why}), so which "
            "rows follow cannot be known. Nothing was imported. Close the quote; one within a quoted field is written twice."
        )


def _opened(lines: Sequence[str]) -> int:
    """Which of a row's lines opens the quoted field that is open at the end, or that something other than a comma follows."""
    at, state = 0, "start"
    for n, line in enumerate(lines):
        for character in line:
            match state, character:
                case "start" | "plain" | "closing", "," | "\r" | "\n":
                    state = "start"
                case "start", '"':
                    state, at = "open", n
                case "start", _:
                    state = "plain"
                case "open", '"':
                    state = "closing"
                case "closing", '"':
                    state = "open"
                case "closing", _:
                    return at
                case _:
                    pass
    return at

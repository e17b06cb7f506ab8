"""Records as lines for a person: a table where the width allows one, else a block a record. Ids, hashes, names and states stay whole.

Only a cell of several words is ever wrapped, and only between words: what somebody may want to copy stands on one line. Where there is no
terminal there is no width: a record is a line, and nothing is cut. Pure functions of values and a width; printing is the session's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from rich.cells import cell_len
from rich.text import Text

PROSE: Final = 40
"""Columns of the terminal: a cell that is wider may be wrapped."""

LEAST: Final = 30
"""Columns that a wrapped cell has at least; where there are fewer, records become blocks."""

CUT: Final = 300
"""Characters of a cell that a terminal shows."""

_WORDS: Final = re.compile(r"^\s*\S+|`[^`\n]+`\S*|\S+")
_GAP: Final = "  "
_INDENT: Final = "  "
_BETWEEN: Final = " · "


def one_line(value: object, limit: int | None = None) -> str:
    """A value as one line without control, direction and other characters that do not print; cut to ``limit`` characters."""
    text = "".join(c if c.isprintable() else " " for c in str(value))
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def prefix_length(ids: Collection[str]) -> int:
    """How many first characters of ids tell them apart: eight, or whole groups of digits more where that is too few."""
    return next((n for n in (8, 13, 18, 23) if len({id_[:n] for id_ in ids}) == len(ids)), 36)


def wrapped(text: str, width: int | None, *, hang: int = 0) -> list[str]:
    """A text in lines of at most ``width`` columns, broken between words alone; lines after the first are indented by ``hang``.

    What stands in backticks is one word, as it is a command that somebody copies. A longer word has a line to itself and is left to the
    terminal, which copies it whole. Spaces that begin the text are kept.
    """
    if width is None or cell_len(text) <= width:
        return [text]
    lines, line = [], ""
    for word in _WORDS.findall(text):
        if line.strip() and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line = " " * hang + word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def listing(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], width: int | None = None
) -> list[Text]:
    """The lines of a titled table of ``width`` terminal columns; of any width, and cells uncut, when that is None.

    Every row has a cell for each of ``columns``; the first identifies it, and is the heading of its block where the table is
    too narrow. Cost: linear in the characters.
    """
    cells = [[one_line(cell, None if width is None else CUT) for cell in row] for row in rows]
    heading = Text(one_line(title), style="bold")
    if not cells:
        return [heading.append(": none", style="not bold")]
    widths = _widths(columns, cells, width)
    if widths is None:
        return [heading, *(line for row in cells for line in _block(columns, row, width))]
    shown = [Text(_row(columns, widths), style="dim")]
    for row in cells:
        shown += [Text(line) for line in _lines(row, widths)]
    return [heading, *shown]


def _widths(columns: Sequence[str], cells: Sequence[Sequence[str]], width: int | None) -> list[int] | None:
    """Widths of the columns, or None where they do not fit: cells of several words give way down to ``LEAST``, others never."""
    natural = [max(cell_len(c) for c in column) for column in zip(columns, *cells, strict=True)]
    if width is None or sum(natural) + len(_GAP) * (len(natural) - 1) <= width:
        return natural
    least = [
        size if size <= PROSE else max(LEAST, cell_len(name), *(_longest_word(row[n]) for row in cells))
        for n, (name, size) in enumerate(zip(columns, natural, strict=True))
    ]
    least = [min(size, most) for size, most in zip(least, natural, strict=True)]
    spare = width - sum(least) - len(_GAP) * (len(least) - 1)
    if spare < 0:
        return None
    for n in sorted(range(len(least)), key=lambda n: natural[n] - least[n]):  # the least wanting first
        wanting = sum(natural[m] > least[m] for m in range(len(least)))
        given = min(natural[n] - least[n], spare // max(1, wanting))
        least[n], spare = least[n] + given, spare - given
    return least


def _longest_word(text: str) -> int:
    return max((cell_len(word) for word in text.split()), default=0)


def _lines(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """One record's lines: its cells beside each other, those that are too wide wrapped."""
    parts = [wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    return [
        _row([part[n] if n < len(part) else "" for part in parts], widths) for n in range(max(len(p) for p in parts))
    ]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(cell + " " * (size - cell_len(cell)) for cell, size in zip(cells, widths, strict=True)).rstrip()


def _block(columns: Sequence[str], row: Sequence[str], width: int | None) -> list[Text]:
    """A record as a block: its first cell, then ``name value`` one after another; a long value has lines of its own."""
    inside = None if width is None else width - len(_INDENT)
    lines: list[str] = []
    line = ""
    for name, value in zip(columns[1:], row[1:], strict=True):
        if not value:
            continue
        pair = f"{name} {value}"
        together = f"{line}{_BETWEEN}{pair}" if line else pair
        if inside is None or cell_len(together) <= inside:
            line = together
            continue
        if line:
            lines.append(line)
        *full, line = wrapped(pair, inside, hang=len(_INDENT))
        lines += full
        if full:  # a text that was wrapped ends its line
            lines.append(line)
            line = ""
    lines += [line] if line else []
    return [Text(row[0], style="bold"), *(Text(_INDENT + line) for line in lines)]

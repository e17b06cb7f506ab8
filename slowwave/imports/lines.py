"""Lines of a file of which none is read into memory beyond a bound: a hostile export may be one line of any length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import AnyStr, Final, Generic

from slowwave.errors import ImportRefused

_PIECE: Final = 65_536

_ENDLESS: Final = 64 << 20
"""Bytes or characters beyond the bound after which a line is taken to have no end, as that of a device or of a forged export."""


@dataclass(frozen=True, slots=True)
class Line(Generic[AnyStr]):
    """A line by its number from 1, with its end; ``text`` is None for one that is too long, and ``quotes`` counts its double quotes."""

    number: int
    text: AnyStr | None
    quotes: int = 0


def bounded_lines(read: Callable[[int], AnyStr], longest: int) -> Iterator[Line[AnyStr]]:
    """Every line of a file. ``read`` is its ``readline``; a line longer than ``longest`` is passed over piece by piece.

    ``longest`` counts what ``read`` counts (bytes or characters), without the line's end. Memory: one line of that length. Raises
    ``ImportRefused`` for a line that goes on for 64 Mi more than that: the whole file is refused, whatever is done about bad rows.
    """
    number = 0
    while text := read(longest + 2):
        number += 1
        if len(text) <= longest or _length(text) <= longest:
            yield Line(number, text)
            continue
        quotes, piece, passed = _quotes(text), text, 0
        while not _ended(piece) and (piece := read(_PIECE)):
            quotes += _quotes(piece)
            passed += len(piece)
            if passed > _ENDLESS:
                raise ImportRefused(
                    f"Line {number} does not end within {_ENDLESS + longest:,} characters, so this is no file of lines. Nothing was "
                    "imported. Check that the file is whole and of the format that was named."
                )
        yield Line(number, None, quotes)


def _length(text: str | bytes) -> int:
    """Without the end of the line."""
    return len(text.rstrip("\r\n")) if isinstance(text, str) else len(text.rstrip(b"\r\n"))


def _ended(text: str | bytes) -> bool:
    return text.endswith(("\n", "\r")) if isinstance(text, str) else text.endswith(b"\n")


def _quotes(text: str | bytes) -> int:
    return text.count('"') if isinstance(text, str) else text.count(b'"')

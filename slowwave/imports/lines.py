"""Lines of a file of which none is read into memory beyond a bound: a hostile export may be one line of any length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import AnyStr, Final, Generic

_PIECE: Final = 65_536


@dataclass(frozen=True, slots=True)
class Line(Generic[AnyStr]):
    """A line by its number from 1, with its end; ``text`` is None for one that is too long, and ``quotes`` counts its double quotes."""

    number: int
    text: AnyStr | None
    quotes: int = 0


def bounded_lines(read: Callable[[int], AnyStr], longest: int) -> Iterator[Line[AnyStr]]:
    """Every line of a file. ``read`` is its ``readline``; a line longer than ``longest`` is passed over piece by piece.

    ``longest`` counts what ``read`` counts (bytes or characters), without the line's end. Memory: one line of that length.
    """
    number = 0
    while text := read(longest + 2):
        number += 1
        if len(text) <= longest or _length(text) <= longest:
            yield Line(number, text)
            continue
        quotes, piece = _quotes(text), text
        while not _ended(piece) and (piece := read(_PIECE)):
            quotes += _quotes(piece)
        yield Line(number, None, quotes)


def _length(text: str | bytes) -> int:
    """Without the end of the line."""
    return len(text.rstrip("\r\n")) if isinstance(text, str) else len(text.rstrip(b"\r\n"))


def _ended(text: str | bytes) -> bool:
    return text.endswith(("\n", "\r")) if isinstance(text, str) else text.endswith(b"\n")


def _quotes(text: str | bytes) -> int:
    return text.count('"') if isinstance(text, str) else text.count(b'"')

"""Batches: what one transaction of an import takes, and how a progress bar follows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

Progress = Callable[[int, int], None]
"""Called with (rows done, rows in all)."""
_T = TypeVar("_T")
BATCH_ROWS: Final = 512
BATCH_CHARACTERS: Final = 200_000
BATCH_NAMES: Final = 2_000
"""What one transaction takes of rows, of text and of names in it; a single turn may hold more, within its own limits."""


def batches(rows: Sequence[_T], size: Callable[[_T], int], most: int) -> Iterator[Sequence[_T]]:
    """Rows in order, some at a time: at most ``BATCH_ROWS``, and one alone or no more than ``most`` of what ``size`` says."""
    begin = total = 0
    for place, row in enumerate(rows):
        own = size(row)
        if place > begin and (place - begin == BATCH_ROWS or total + own > most):
            yield rows[begin:place]
            begin, total = place, 0
        total += own
    if begin < len(rows):
        yield rows[begin:]


@dataclass(slots=True)
class Steps:
    """Tells a progress bar about rows, over all namespaces."""

    progress: Progress | None
    total: int
    done: int = 0

    def part(self, rows: int) -> Callable[[float], None]:
        """For a share between 0 and 1 of the next ``rows``."""
        done = self.done

        def step(share: float) -> None:
            if self.progress is not None:
                self.progress(done + int(rows * share), self.total)

        return step

    def finish(self, rows: int) -> None:
        """``rows`` more are done."""
        self.done += rows
        if self.progress is not None:
            self.progress(self.done, self.total)

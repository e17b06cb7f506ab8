"""Tables of figures, as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Part:
    """One table: a title, a sentence, a header and its rows."""

    title: str
    says: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def show(found: Iterable[Part], console: Console) -> None:
    """Print tables, the first column to the left."""
    for part in found:
        table = Table(title=part.title, caption=part.says)
        for n, column in enumerate(part.header):
            table.add_column(column, justify="left" if n == 0 else "right")
        for row in part.rows:
            table.add_row(*row)
        console.print(table)

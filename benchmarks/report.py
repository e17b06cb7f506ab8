"""Tables of figures, as a terminal shows them and as a page holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

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


def put(found: Iterable[Part], page: Path, marks: tuple[str, str], says: str) -> None:
    """Write the sentence and the tables between two marks of a Markdown page; what stands outside of them stays."""
    head, _, rest = page.read_text(encoding="utf-8").partition(marks[0])
    lines = [marks[0], "", says, ""]
    for part in found:
        lines += [f"### {part.title}", "", part.says, "", f"| {' | '.join(part.header)} |"]
        lines += ["| --- |" + " ---: |" * (len(part.header) - 1), *(f"| {' | '.join(row)} |" for row in part.rows), ""]
    page.write_text(head + "\n".join([*lines, marks[1]]) + rest.partition(marks[1])[2], encoding="utf-8")

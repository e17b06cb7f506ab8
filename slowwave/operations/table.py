"""The table of operations in ``docs/operations.md``, made from what they declare.

``python -m slowwave.operations.table docs/operations.md`` renews it between its marks; a test holds it against the file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from slowwave.operations.registry import operations

MARKS: Final = ("<!-- operations -->", "<!-- end of operations -->")


def table() -> str:
    """One line an operation, in the order of a night: its name, the first sentence of its docstring, and when it runs unless asked."""
    lines = ["| Operation | What it reports or proposes | Default |", "| --- | --- | --- |"]
    for name, made in operations().items():
        lines.append(f"| `{name}` | {made.description.splitlines()[0].replace('|', '/')} | {made.default()} |")
    return "\n".join(lines)


def renewed(page: str) -> str:
    """A page with the table between its marks. Raises ``ValueError`` where it has no marks."""
    before, mark, rest = page.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not mark or not end:
        raise ValueError(
            f"The page has no place for the table: put {MARKS[0]} and {MARKS[1]} into it, on lines of their own."
        )
    return f"{before}{mark}\n{table()}\n{end}{after}"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(renewed(path.read_text()))

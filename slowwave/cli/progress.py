"""How far long work is, on standard error while it lasts; nothing where that is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from slowwave.cli.session import err, out, plain

Tell = Callable[[int, "int | None", str], None]
"""Called with how much is done, of how much where that is known, and what is at hand (empty leaves it)."""


@contextmanager
def progress(label: str) -> Generator[Tell]:
    """A bar that moves as its function is called; it goes when the work ends, and results that are printed meanwhile stand above it."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), _Share(), TimeElapsedColumn())
    console = out if out.is_terminal and err.is_terminal else err  # a bar leaves the lines of its own console alone
    with Progress(*columns, console=console, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(plain(label), total=None)

        def report(done: int, total: int | None, step: str) -> None:
            bar.update(
                task, completed=done, total=total, description=f"{plain(label)}: {plain(step)}" if step else None
            )

        yield report


class _Share(ProgressColumn):
    """Per cent, once it is known of how much: work whose size nobody knows is not at 0 %."""

    def render(self, task: Task) -> Text:
        """The share of one task."""
        return Text("" if task.total is None else f"{task.percentage:>3.0f} %")

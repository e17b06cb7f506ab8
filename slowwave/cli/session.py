"""What every command needs: the store, ready to use, and one way to print JSON, tables and errors.

Exit codes: 0 done, 1 error, 2 refused.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from slowwave.cli.listing import CUT, listing, one_line, wrapped
from slowwave.errors import Refused, SlowwaveError, StoreError
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from slowwave.store.opening import open_store as open_environment

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Namespace = Annotated[str, typer.Argument(help="Name of a namespace.")]

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

_ANY_LATE: Final = "SELECT 1 FROM night.plans WHERE state = 'awaiting_approval' AND expires_at <= now() LIMIT 1"


def program() -> str:
    """How to call this program again: its bare name when that is on PATH, else the path by which it was called."""
    called = Path(sys.argv[0])
    if shutil.which("slowwave") or called.name != "slowwave":
        return "slowwave"
    return str(called.relative_to(Path.cwd())) if called.is_relative_to(Path.cwd()) else str(called)


def open_store() -> Store:
    """The store of the environment, with plans past their time marked as expired."""
    store = open_environment()
    with store.connect("reader") as connection:
        late = connection.execute(_ANY_LATE).fetchone()
    if late:
        from slowwave.plans.ledger import expire_plans  # it imports all that a plan is made of

        expire_plans(store)
    return store


def chosen_namespaces(store: Store, name: str) -> list[str]:
    """One namespace, or all of them for ``ALL``."""

    known = namespaces(store)
    if name == "ALL":
        if not known:
            raise Refused(
                "There is no namespace yet. `slowwave connect mem0`, or another store, `slowwave import messages FILE` and `slowwave demo` "
                "make some."
            )
        return known
    if name not in known:
        raise Refused(f"There is no namespace {name!r}. `slowwave namespaces` lists those there are.")
    return [name]


def show_json(value: object) -> None:
    """One JSON value on standard output."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, first: str = "") -> None:
    """A table of plain text, or a list where the terminal is narrow: memory text cannot speak in markup or control sequences.

    ``first`` is the command, without the program, that makes the first row of one that is empty.
    """
    told = list(rows)
    for line in listing(title, columns, told, width_of(out)):
        out.print(line)
    if first and not told:
        suggest("The first", f"{program()} {first}")


def say(sentence: str, *, indent: int = 0, console: Console = out) -> None:
    """A sentence of plain text, on a terminal wrapped between words; what a person copies belongs into ``suggest``."""
    for line in wrapped(" " * indent + one_line(sentence), width_of(console), hang=indent):
        console.print(Text(line))


def suggest(what: str, *commands: str) -> None:
    """Commands that a person may run next, each alone on its line so that it copies whole; ``what`` they do."""
    say(f"{what}:")
    for command in commands:
        out.print(Text(f"  {one_line(command)}"))


def short(value: object) -> str:
    """A value as one line: its beginning on a terminal, all of it where a program reads."""
    return one_line(value, None if width_of(out) is None else CUT)


def width_of(console: Console) -> int | None:
    """Columns of a terminal; None where there is none, and nothing is cut or wrapped."""
    return console.width if console.is_terminal else None


def plain(value: object, limit: int = 200) -> str:
    """A value as one harmless line, for a sentence with markup."""
    return escape(one_line(value, limit))


def fail(problem: SlowwaveError) -> int:
    """Print an error as its sentence; returns the exit code."""
    kind = "Refused" if isinstance(problem, Refused) else "Error"
    statements = problem.statements if isinstance(problem, StoreError) else ()
    said = problem.said if isinstance(problem, StoreError) else str(problem)
    message = said.replace("`slowwave ", f"`{program()} ")  # a remedy runs as it is printed
    for n, line in enumerate(wrapped(f"{kind}: {one_line(message, 4000)}", width_of(err))):
        text = Text(line)
        if n == 0:
            text.stylize("bold red", 0, len(kind) + 1)
        err.print(text)
    for statement in statements:
        err.print(Text(f"  {one_line(statement)};"))
    return 2 if isinstance(problem, Refused) else 1


def instant_of(option: str, text: str | None) -> datetime | None:
    """An option's instant; a day or a time without a zone is UTC. What is no instant is refused."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise Refused(
            f"--{option} {text[:40]!r} is no instant. Write it as 2026-05-01 or 2026-05-01T09:00:00Z."
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)

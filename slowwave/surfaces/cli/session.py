"""Parts that commands share: the store, output as JSON, tables and lists, errors, and progress."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from json import dumps
from pathlib import Path
from threading import Timer
from typing import Annotated, Final, overload

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from slowwave.errors import Refused, SlowwaveError, StoreError
from slowwave.plans.commands import APPROVER, OTHER, argument
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store as open_environment
from slowwave.store.namespaces import FIRST_NAMESPACE, namespaces, unknown_namespace

# Records as lines for a person: a table if the width allows one, else one block per record. Ids, hashes, names and states are never cut.
#
# Only cells of several words are wrapped, and only between words: text that a person may copy stays on one line. Without a terminal there
# is no width: a record is one line, and nothing is cut. Pure functions of values and a width; the second half of the module prints.

PROSE: Final = 40
"""Columns of the terminal above which a cell may be wrapped."""

LEAST: Final = 30
"""Least columns of a wrapped cell; if there are fewer, records become blocks."""

CUT: Final = 300
"""Maximum characters of a cell on a terminal."""

_WORDS: Final = re.compile(r"^\s*\S+|`[^`\n]+`\S*|\S+")
_GAP: Final = "  "
_INDENT: Final = "  "
_BETWEEN: Final = " · "


def one_line(value: object, limit: int | None = None) -> str:
    """Return a value as one line without characters that do not print (control, direction and others), cut to ``limit``."""
    text = "".join(c if c.isprintable() else " " for c in str(value))
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def prefix_length(ids: Collection[str]) -> int:
    """Return how many first characters distinguish the ids: eight, or further whole groups of digits if eight are too few."""
    return next((n for n in (8, 13, 18, 23) if len({id_[:n] for id_ in ids}) == len(ids)), 36)


def wrapped(text: str, width: int | None, *, hang: int = 0) -> list[str]:
    """Wrap a text into lines of at most ``width`` columns, broken only between words; later lines are indented by ``hang``.

    Text in backticks is one word, because it is a command to copy. A word that is too long gets a line to itself and is left to the
    terminal, which copies it whole. Leading spaces of the text are kept.
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
    """Return the lines of a titled table of ``width`` terminal columns, or of any width with uncut cells if that is None.

    Every row has a cell for each of ``columns``; the first identifies it, and is the heading of its block if the table is too narrow.
    Cost: linear in the characters.
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
    """Return the widths of the columns, or None if they do not fit.

    Columns with cells of several words shrink down to ``LEAST``, others never do.
    """
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
    for n in sorted(range(len(least)), key=lambda n: natural[n] - least[n]):  # the column that lacks the least first
        wanting = sum(natural[m] > least[m] for m in range(len(least)))
        given = min(natural[n] - least[n], spare // max(1, wanting))
        least[n], spare = least[n] + given, spare - given
    return least


def _longest_word(text: str) -> int:
    return max((cell_len(word) for word in text.split()), default=0)


def _lines(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the lines of one record: its cells next to each other, with those that are too wide wrapped."""
    parts = [wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    return [
        _row([part[n] if n < len(part) else "" for part in parts], widths) for n in range(max(len(p) for p in parts))
    ]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(cell + " " * (size - cell_len(cell)) for cell, size in zip(cells, widths, strict=True)).rstrip()


def _block(columns: Sequence[str], row: Sequence[str], width: int | None) -> list[Text]:
    """Format a record as a block: its first cell, then ``name value`` pairs; a long value gets lines of its own."""
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
        if full:  # wrapped text ends its line, so no other pair follows on it
            lines.append(line)
            line = ""
    lines += [line] if line else []
    return [Text(row[0], style="bold"), *(Text(_INDENT + line) for line in lines)]


# Shared by all commands: the store, ready to use, and one way to print JSON, tables and errors.
#
# Exit codes: 0 done, 1 error, 2 refused.

_SLUGS: Final = "SELECT slug, '' FROM memory.namespaces WHERE starts_with(slug, %s) ORDER BY slug LIMIT 100"
_HASHES: Final = """
SELECT left(p.plan_hash, 12), p.state || ' of ' || to_char(p.recorded_at, 'YYYY-MM-DD HH24:MI') FROM night.plans p
  JOIN memory.namespaces n ON n.id = p.namespace_id WHERE n.slug = %s AND starts_with(p.plan_hash, %s) AND p.state <> 'empty'
  ORDER BY p.recorded_at DESC LIMIT 20
"""


def _complete(query: str, *values: str) -> list[tuple[str, str]]:
    """Return the completions that a query finds, each with its help; none if no database runs, because a shell must not start one."""
    try:
        if not os.environ.get("SLOWWAVE_DATABASE_URL", "").strip() and not server.is_running():
            return []
        with Store.from_environment().connect("reader") as connection:
            return [(str(name), str(about)) for name, about in connection.execute(query.encode(), values)]
    except Exception:  # noqa: BLE001 - an error must not be printed between two keys
        return []


def complete_namespace(incomplete: str) -> list[tuple[str, str]]:
    """Complete the name of a namespace."""
    return _complete(_SLUGS, incomplete)


def complete_plan(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Complete the hash of a plan of the namespace that was given before it."""
    return _complete(_HASHES, str(ctx.params.get("namespace") or ""), incomplete)


def complete_operation(incomplete: str) -> list[tuple[str, str]]:
    """Complete the name of an operation, the last of a list with commas."""
    from slowwave.operations.registry import operations

    before, comma, last = incomplete.rpartition(",")
    return [(f"{before}{comma}{name}", made.summary) for name, made in operations().items() if name.startswith(last)]


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Namespace = Annotated[
    str, typer.Argument(metavar="NAMESPACE", help="Name of a namespace.", autocompletion=complete_namespace)
]
OneNamespace = Annotated[
    str | None,
    typer.Argument(metavar="NAMESPACE", help="Only this namespace.", autocompletion=complete_namespace),
]
AnyNamespace = Annotated[
    str, typer.Argument(metavar="NAMESPACE", help="Name of a namespace, or ALL.", autocompletion=complete_namespace)
]
Plan = Annotated[
    str | None,
    typer.Argument(
        metavar="PLAN",
        help="Hash of a plan, or its first characters; by default the latest.",
        autocompletion=complete_plan,
    ),
]
NamedPlan = Annotated[
    str | None,
    typer.Argument(
        metavar="PLAN",
        help="Hash of the plan, or its first characters.",
        autocompletion=complete_plan,
        show_default=False,
    ),
]


def own_name(name: str) -> str:
    """Return the name that somebody gave; refuse the placeholder of printed commands, which would be recorded as theirs."""
    if name in (APPROVER, OTHER):
        raise Refused(f"{name} stands for a person's name: write your own after --by. Nothing was done.")
    return name


By = Annotated[
    str,
    typer.Option("--by", metavar="NAME", help="Your name; it is recorded with the decision.", callback=own_name),
]
Note = Annotated[str, typer.Option("--note", help="Reason, recorded with the decision.")]
Reason = Annotated[str, typer.Option("--reason", help="Reason, recorded with the decision.")]
Items = Annotated[str | None, typer.Option("--items", help="Item ids, or their first characters, separated by commas.")]
Wait = Annotated[float, typer.Option(help="Maximum seconds for which another run may hold the namespace.", min=0)]

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

_ANY_LATE: Final = "SELECT 1 FROM night.plans WHERE state = 'awaiting_approval' AND expires_at <= now() LIMIT 1"


def program() -> str:
    """Return how to call this program again: its bare name if that is on PATH, else the path by which it was called."""
    called = Path(sys.argv[0])
    if shutil.which("slowwave") or called.name != "slowwave":
        return "slowwave"
    return str(called.relative_to(Path.cwd())) if called.is_relative_to(Path.cwd()) else str(called)


def open_store() -> Store:
    """Open the store of the environment, and mark overdue plans as expired."""
    store = open_environment()
    with store.connect("reader") as connection:
        late = connection.execute(_ANY_LATE).fetchone()
    if late:
        from slowwave.plans.ledger import expire_plans  # it imports all modules of plans

        expire_plans(store)
    return store


LISTED: Final = 10
"""Namespaces, and operations, that are listed by name."""


def show_failures(failures: Sequence[tuple[str, SlowwaveError]]) -> None:
    """Print the failures on standard error; namespaces with the same failure share one sentence."""
    alike: dict[str, list[tuple[str, SlowwaveError]]] = {}
    for name, problem in failures:
        alike.setdefault(re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "", str(problem)), []).append((name, problem))
    for same in alike.values():
        names = [name for name, _ in same]
        more = f" and {len(names) - LISTED:,} more; of the first" if len(names) > LISTED else ""
        say(f"{', '.join(names[:LISTED])}{more}: {same[0][1]}", console=err)


def chosen_namespaces(store: Store, name: str) -> list[str]:
    """Return one namespace, or all of them for ``ALL``."""

    known = namespaces(store)
    if name == "ALL":
        if not known:
            from slowwave.bindings.stores import connected_names  # it imports SQLAlchemy

            with store.connect("reader") as connection:
                empty = connected_names(connection)
            why = (
                f"The connected stores ({', '.join(empty)}) have no rows that can be read; `slowwave doctor` says why."
            )
            raise Refused(f"There is no namespace yet. {why if empty else FIRST_NAMESPACE}")
        return known
    if name not in known:
        if name.upper() == "ALL":
            raise Refused(f"There is no namespace {name!r}. Did you mean ALL? It stands for all namespaces.")
        with store.connect("reader") as connection:
            raise unknown_namespace(connection, name)
    return [name]


def show_json(value: object) -> None:
    """Print one JSON value on standard output."""
    sys.stdout.write(dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, first: str = "") -> None:
    """Print a table of plain text, or a list if the terminal is narrow; memory text cannot emit markup or control sequences.

    ``first`` is the command, without the program, that creates the first row of an empty table.
    """
    listed = list(rows)
    for line in listing(title, columns, listed, width_of(out)):
        out.print(line)
    if first and not listed:
        suggest("The first", f"{program()} {first}")


def say(sentence: str, *, indent: int = 0, console: Console = out) -> None:
    """Print a sentence of plain text, wrapped between words on a terminal; use ``suggest`` for what a person copies."""
    for line in wrapped(" " * indent + one_line(sentence), width_of(console), hang=indent):
        console.print(Text(line))


def suggest(what: str, *commands: str) -> None:
    """Print commands that a person may run next, each alone on its line for copying; ``what`` is their purpose."""
    say(f"{what}:")
    for command in commands:
        out.print(Text(f"  {one_line(command)}"))


def has_review_packages() -> bool:
    """Return whether the packages of the review page are installed, which come with the extra ``serve``."""
    return all(importlib.util.find_spec(package) is not None for package in ("starlette", "uvicorn", "jinja2"))


def review_page(namespace: str = "") -> tuple[str, ...]:
    """Return the command that opens the review page of a namespace or of all; none if its packages are not installed."""
    named = f" {argument(namespace)}" if namespace else ""
    return (f"{program()} review{named} --by {APPROVER}",) if has_review_packages() else ()


def short(value: object) -> str:
    """Return a value as one line: its beginning on a terminal, all of it if a program reads the output."""
    return one_line(value, None if width_of(out) is None else CUT)


def width_of(console: Console) -> int | None:
    """Return the columns of a terminal, or None without one; in that case nothing is cut or wrapped."""
    return console.width if console.is_terminal else None


def plain(value: object, limit: int = 200) -> str:
    """Return a value as one harmless line, for a sentence with markup."""
    return escape(one_line(value, limit))


def fail(problem: SlowwaveError, *, json: bool = False) -> int:
    """Print an error as its sentence, with ``json`` also as JSON on standard output, and return the exit code."""
    kind, code = ("Refused", 2) if isinstance(problem, Refused) else ("Error", 1)
    statements = problem.statements if isinstance(problem, StoreError) else ()
    sentence = problem.said if isinstance(problem, StoreError) else str(problem)
    message = sentence.replace("`slowwave ", f"`{program()} ")  # the printed remedy must run when it is copied
    for n, line in enumerate(wrapped(f"{kind}: {one_line(message, 4000)}", width_of(err))):
        text = Text(line)
        if n == 0:
            text.stylize("bold red", 0, len(kind) + 1)
        err.print(text)
    for statement in statements:
        err.print(Text(f"  {one_line(statement)};"))
    if json:
        show_json(
            {"error": one_line(message, 4000), "kind": kind.lower(), "statements": list(statements), "exit_code": code}
        )
    return code


@contextmanager
def interruptible(effect: Callable[[], str]) -> Generator[None]:
    """On Ctrl-C, print the effect of the interruption as a sentence and end with exit code 130."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"Interrupted: {effect()}", console=err)
        raise typer.Exit(130) from None


@overload
def instant_of(option: str, text: str) -> datetime: ...
@overload
def instant_of(option: str, text: None) -> None: ...
@overload
def instant_of(option: str, text: str | None) -> datetime | None: ...
def instant_of(option: str, text: str | None) -> datetime | None:
    """Parse the instant of an option as UTC; a day, or a time without a time zone, is taken as UTC.

    Raises ``Refused`` for a text that is not an instant.
    """
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):  # ``OverflowError``: before the first or after the last year of ``datetime``
        raise Refused(
            f"{option}: {text[:40]!r} is not an instant. Write it as 2026-05-01 or 2026-05-01T09:00:00+02:00."
        ) from None


# Progress of long work, on standard error while it lasts; nothing without a terminal.

Tell = Callable[[int, "int | None", str], None]
"""Callback for progress: how much is done, of how much if that is known, and the current step (empty keeps the last one)."""


DELAY: Final = 2.0
"""Seconds of work after which progress is shown."""


@contextmanager
def progress(label: str) -> Generator[Tell]:
    """Show a progress bar with the stage and the remaining time once the work has taken ``DELAY`` seconds.

    The bar moves when its function is called and disappears at the end of the work. Results that are printed meanwhile appear above it.
    """
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), _Share(), _Remaining())
    # A bar does not overwrite the lines of its own console.
    console = out if out.is_terminal and err.is_terminal else err
    bar = Progress(*columns, console=console, transient=True, disable=not err.is_terminal)
    task = bar.add_task(plain(label), total=None)
    timer = Timer(DELAY, bar.start)
    timer.daemon = True

    def report(done: int, total: int | None, step: str) -> None:
        bar.update(task, completed=done, total=total, description=f"{plain(label)}: {plain(step)}" if step else None)

    if DELAY > 0 and err.is_terminal:
        timer.start()
    else:
        bar.start()
    try:
        yield report
    finally:
        timer.cancel()
        if timer.is_alive():
            timer.join()  # it may be starting the bar at this moment
        bar.stop()


class _Remaining(TimeRemainingColumn):
    """Column with the remaining time, or with the elapsed time while the former is unknown."""

    def render(self, task: Task) -> Text:
        """Return the time of one task."""
        if task.time_remaining is None:
            return Text(f"{task.elapsed or 0:,.0f} s so far")
        return Text(f"about {task.time_remaining:,.0f} s left")


class _Share(ProgressColumn):
    """Column with the percentage, shown once the total is known: work of unknown size is not at 0 %."""

    def render(self, task: Task) -> Text:
        """Return the percentage of one task."""
        return Text("" if task.total is None else f"{task.percentage:>3.0f} %")

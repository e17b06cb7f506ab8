"""``slowwave``: the program, whose commands are imported when they are called."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, ClassVar, Final, NamedTuple, cast

import typer.main
from typer.core import CompletionItem, TyperGroup  # pyright: ignore[reportPrivateImportUsage]

from slowwave.errors import SlowwaveError, StoreError
from slowwave.store.allocators import trimmable

# A group of commands whose modules are imported when a command is called; listing them imports none.
#
# The table of commands is ``VERBS``; their modules implement them.


class Verb(NamedTuple):
    """Location of a command, the first line of its help, and its section in the list of commands.

    The command is the function or ``Typer`` group ``attribute`` of a module in ``slowwave.surfaces.cli``, or a group of ``verbs``.
    """

    module: str
    attribute: str
    help: str
    section: str = "Commands"
    verbs: Mapping[str, Verb] | None = None


class LazyGroup(TyperGroup):
    """Group of the commands in ``verbs``, in their order; looking one up imports its module, listing them does not."""

    verbs: ClassVar[Mapping[str, Verb]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = cast("Any", _Commands(self.verbs))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each section with the first line of their help; a test keeps each on one line of 80 columns."""
        del ctx
        for section in dict.fromkeys(verb.section for verb in self.verbs.values()):
            with formatter.section(section):
                formatter.write_dl([(name, verb.help) for name, verb in self.verbs.items() if verb.section == section])

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the commands that begin so, for the completion of a shell; no module of a command is imported."""
        names = [
            CompletionItem(name, help=verb.help) for name, verb in self.verbs.items() if name.startswith(incomplete)
        ]
        return names or super().shell_complete(ctx, incomplete)


class _Commands(Mapping[str, object]):
    """Commands by name; each is created on first use."""

    def __init__(self, verbs: Mapping[str, Verb]) -> None:
        self._verbs: Final = verbs
        self._made: Final[dict[str, object]] = {}

    def __getitem__(self, name: str) -> object:
        if name not in self._made:
            self._made[name] = _command(name, self._verbs[name])
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._verbs

    def __iter__(self) -> Iterator[str]:
        return iter(self._verbs)

    def __len__(self) -> int:
        return len(self._verbs)


def _command(name: str, verb: Verb) -> object:
    """Build the command ``name`` from a module's function or group, or from a table of commands."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    if verb.verbs is not None:
        group = type("_Verbs", (LazyGroup,), {"verbs": verb.verbs})
        alone.add_typer(typer.Typer(cls=group, help=verb.help, no_args_is_help=True, rich_markup_mode=None), name=name)
        return typer.main.get_group(alone).commands[name]
    found = getattr(import_module(f"slowwave.surfaces.cli.{verb.module}"), verb.attribute)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(name)(found)
    return typer.main.get_group(alone).commands[name]


# ``slowwave``: the program.

_NAMESPACE: Final = {
    "list": Verb("namespaces", "list_", "List namespaces with their live rows and latest plan."),
    "show": Verb("namespaces", "show", "Show a namespace with its own settings."),
    "set": Verb("namespaces", "change", "Change settings of a namespace, or make it read-only."),
    "remove": Verb("namespaces", "remove", "Delete an empty namespace, or end the nights of another one."),
    "as-of": Verb("search", "as_of", "List the rows that recall could have found at an instant."),
    "graph": Verb("search", "graph", "Write live entities and relationships as a graph file."),
    "digest": Verb("store", "digest", "Print one hash of all rows, connected ones too."),
    "reembed": Verb("store", "reembed", "Embed a namespace with another embedding model."),
    "retain": Verb("retention", "retain", "Remove reports and ledger rows that are past their retention."),
}

VERBS: Final = {
    "demo": Verb("demo", "demo", "Load the demo, plan its nights and count the detected defects.", "Start"),
    "doctor": Verb("store", "doctor", "List problems of the installation, each with its remedy.", "Start"),
    "dev": Verb("dev", "command", "Start Dagster's pages, their daemon and the review page.", "Start"),
    "stop": Verb("dev", "stop", "Stop what `slowwave dev` started and the embedded PostgreSQL.", "Start"),
    "night": Verb("nights", "night", "Audit and plan now. Changes are applied only after approval.", "Nights"),
    "status": Verb("status", "status", "Show what is pending, what failed and when nights are due.", "Nights"),
    "apply": Verb("runs", "apply", "Apply the approved items, or resume an unfinished apply run.", "Nights"),
    "undo": Verb("runs", "undo", "Undo an apply run, or a part of it, exactly.", "Nights"),
    "runs": Verb("runs", "app", "List, show, pause, resume and cancel runs.", "Nights"),
    "operations": Verb("nights", "list_operations", "List audits and planners, each with its switch.", "Nights"),
    "plans": Verb("plans", "app", "List, show, diff, review, approve and reject plans.", "Decide"),
    "review": Verb("serve", "review", "Review plans in a browser: answer, approve, apply, undo.", "Decide"),
    "why": Verb("why", "why", "Explain an item, a claim or a memory by its evidence.", "Decide"),
    "conflicts": Verb("why", "app", "List contradicting rows and decide which one is right.", "Decide"),
    "proposals": Verb("remember", "app", "List, plan, approve and reject the proposals of agents.", "Decide"),
    "policies": Verb("policies", "app", "Let nights decide, and set how many people must approve.", "Decide"),
    "search": Verb("search", "search", "Search a namespace as an agent does.", "Memory"),
    "remember": Verb("remember", "remember", "Store a statement about a subject with its evidence.", "Memory"),
    "forget": Verb("remember", "forget", "End claims about a subject, or plan to delete stored rows.", "Memory"),
    "history": Verb("remember", "history", "Show the claims about a subject over time.", "Memory"),
    "wake": Verb("search", "wake", "Print the memory block for the start of an agent's prompt.", "Memory"),
    "active": Verb("search", "active", "Print the memory block for one prompt of an agent.", "Memory"),
    "corpus": Verb("corpus", "app", "Add folders of Markdown; get, write and publish their pages.", "Pages"),
    "pages": Verb("pages", "app", "Show and sync MEMORY.md and DREAMS.md; write answers as pages.", "Pages"),
    "namespace": Verb("", "", "List, show, set, remove and reembed namespaces.", "Stores", _NAMESPACE),
    "connect": Verb("connect", "app", "Connect a store in place: Mem0, LangGraph, a folder, a table.", "Stores"),
    "import": Verb("imports", "app", "Import messages, memories, facts, entities or sessions.", "Stores"),
    "migrate": Verb("store", "migrate", "Upgrade the schema, or plan the import of another memory.", "Stores"),
    "serve": Verb("serve", "serve", "Serve memory to agents over HTTP and MCP until Ctrl-C.", "Serve"),
    "mcp": Verb("serve", "mcp", "Serve one namespace to one agent over standard input and MCP.", "Serve"),
    "tokens": Verb("serve", "app", "Make new tokens of agents; list and revoke them.", "Serve"),
    "switch": Verb("runs", "switch", "Stop apply and undo everywhere, or allow them again.", "Operate"),
    "metrics": Verb("serve", "metrics", "Serve Prometheus metrics of all namespaces.", "Operate"),
}
"""Every command: its module here, the function or group in it, its line in the list of commands, and the section of that line."""


class _Verbs(LazyGroup):
    verbs = VERBS


app = typer.Typer(
    name="slowwave",
    cls=_Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        sys.stdout.write(f"slowwave {version('slowwave')}\n")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:  # pyright: ignore[reportUnusedFunction] - Typer keeps it
    """Run the night shift for an agent's memory: audit, plan, approve, apply, undo."""


def main() -> None:
    """Run the program."""
    # Plans are many small objects without cycles. With the default thresholds a tenth of a night's CPU time went to the search for cycles.
    gc.set_threshold(100_000, 50, 100)
    trimmable()
    if any(name.startswith("OTEL_EXPORTER_OTLP_") for name in os.environ):
        from slowwave.night.telemetry import configure  # it imports all that a plan is made of

        configure()
    # A warning, such as one of an unknown setting, is a sentence for users, who cannot use its place in the code.
    warnings.formatwarning = lambda message, *_, **__: f"{message}\n"
    try:
        app(prog_name="slowwave")
    except Exception as problem:
        refused = _as_refusal(problem)
        if refused is None:
            raise
        from slowwave.surfaces.cli.session import fail

        sys.exit(fail(refused, json="--json" in sys.argv[1:]))
    except SystemExit as ended:
        # Typer ends the program while it handles a usage error, which it has printed as text.
        describe = getattr(ended.__context__, "format_message", None)
        if describe and "--json" in sys.argv[1:]:
            from slowwave.surfaces.cli.session import show_json

            show_json({"error": describe(), "kind": "usage", "statements": [], "exit_code": ended.code})
        raise


_NO_RESOURCES: Final = "53"
"""Class of the SQL states for a full disk, memory that is used up and too many connections."""


def _as_refusal(problem: Exception) -> SlowwaveError | None:
    """Return an error as one of ours, which is shown as its sentence, or None for an unexpected error."""
    if isinstance(problem, SlowwaveError):
        return problem
    from psycopg import OperationalError

    if not isinstance(problem, OperationalError):
        return None
    line = str(problem).strip().splitlines()[0]
    if (problem.sqlstate or "").startswith(_NO_RESOURCES):
        return StoreError(
            f"The database has no room: {line.rstrip('.')}. The statement was rolled back, and what was committed before it stays. Make "
            "room on its server, then run the command again."
        )
    return StoreError(
        f"The database ended the connection: {line.rstrip('.')}. Unfinished changes were rolled back. Try again, or run `slowwave doctor`."
    )

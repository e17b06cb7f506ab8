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
from typer.core import TyperCommand, TyperGroup

from slowwave.errors import SlowwaveError, StoreError
from slowwave.store.allocators import trimmable

# A group of commands whose modules are imported when a command is called; listing them imports none.
#
# The table of commands is ``VERBS``; their modules implement them.


class Verb(NamedTuple):
    """Location of a command (a function or a ``Typer`` group in ``slowwave.surfaces.cli``), and the first line of its help."""

    module: str
    attribute: str
    help: str


class LazyGroup(TyperGroup):
    """Group of the commands in ``verbs``, in their order; looking one up imports its module, listing them does not."""

    verbs: ClassVar[Mapping[str, Verb]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = cast("Any", _Commands(self.verbs))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands in the group's own help: names and first lines, laid out as Typer does."""
        lines = {name: TyperCommand(name, help=verb.help) for name, verb in self.verbs.items()}
        TyperGroup(commands=cast("Any", lines), rich_markup_mode=None).format_commands(ctx, formatter)


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
    """Build the command ``name`` from a module's function or group."""
    found = getattr(import_module(f"slowwave.surfaces.cli.{verb.module}"), verb.attribute)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(name)(found)
    return typer.main.get_group(alone).commands[name]


# ``slowwave``: the program.

VERBS: Final = {
    "night": Verb("nights", "night", "Audit and plan now. Nothing is applied without an approval."),
    "demo": Verb(
        "demo",
        "demo",
        "Load the demo, run a night for each of its namespaces, and count the injected defects that it detects.",
    ),
    "status": Verb(
        "status",
        "status",
        "Say how every namespace stands: what waits for a person, what was done, what failed, and when the next night is.",
    ),
    "deliver": Verb(
        "status",
        "deliver",
        "Send the messages that are pending for a webhook: events of runs, and notices of writes to connected stores.",
    ),
    "operations": Verb(
        "nights", "list_operations", "List all audits and planners in the order of a night, each with its switch."
    ),
    "apply": Verb(
        "runs",
        "apply",
        "Apply the approved items of a namespace, or resume an apply that did not finish.",
    ),
    "undo": Verb(
        "runs",
        "undo",
        "Undo an apply run, or a part of it, exactly.",
    ),
    "history": Verb(
        "runs",
        "history",
        "Show the runs of a namespace, newest first, or the claims about a subject over time.",
    ),
    "signatures": Verb(
        "policies",
        "signatures",
        "Show or set how many people must approve a plan before it is applied. The database enforces it.",
    ),
    "switch": Verb(
        "runs",
        "switch",
        "Stop apply and undo in all processes before their next batch, allow them again, or show the switch.",
    ),
    "namespace": Verb("namespaces", "app", "Show a namespace, change its settings, or remove it."),
    "why": Verb(
        "why", "why", "Say why an item is in a plan, or a claim in memory: its evidence step by step, the sources."
    ),
    "as-of": Verb(
        "search",
        "as_of",
        "Show the memories, entities, relationships and facts that recall could have found at an instant.",
    ),
    "remember": Verb(
        "remember", "remember", "Remember a statement about a subject, with its evidence, and say what near is known."
    ),
    "forget": Verb(
        "remember",
        "forget",
        "End claims about a subject now, or plan to delete stored rows for good: --memory, --entity, --session or --match.",
    ),
    "search": Verb("search", "search", "Search a namespace as an agent does, in memories, documents and entities."),
    "graph": Verb("search", "graph", "Export the graph of a namespace for networkx, Gephi and other tools."),
    "wake": Verb(
        "search",
        "wake",
        "Print what an agent is told when it begins, within a budget of tokens: for the top of its prompt.",
    ),
    "active": Verb(
        "search",
        "active",
        "Print what an agent is reminded of while it works: pages that match the prompt and may be told in its profile.",
    ),
    "research": Verb("pages", "research", "Answer a question as a page in Markdown, each line with its sources."),
    "metrics": Verb("serve", "metrics", "Serve Prometheus metrics of all namespaces at /metrics, or print them once."),
    "retain": Verb(
        "retention",
        "retain",
        "Remove report files, findings and rows of the ledger that are past their retention. The schedule does so every day.",
    ),
    "dev": Verb("dev", "command", "Start the UI and the daemon on this machine, and the review page beside them."),
    "stop": Verb("dev", "stop", "Stop the UIs, their daemons and the embedded PostgreSQL on this machine."),
    "namespaces": Verb(
        "namespaces", "namespaces", "List namespaces with their live rows and the state of their latest plan."
    ),
    "reembed": Verb(
        "store",
        "reembed",
        "Embed a namespace with another model; the namespace changes to it when all vectors are made.",
    ),
    "digest": Verb("store", "digest", "Print one hash of all rows in the memory tables of a namespace."),
    "migrate": Verb(
        "store",
        "migrate",
        "Upgrade the database to the schema of this version, or plan the import of another memory from FOLDER.",
    ),
    "doctor": Verb(
        "store",
        "doctor",
        "List problems of the database with their remedies. The exit code is 1 if there are any.",
    ),
    "corpus": Verb("corpus", "app", "Folders of Markdown: follow, sync, watch, export and publish them."),
    "get": Verb(
        "corpus", "get", "Print a page of a corpus, or lines of it; --json gives its hash and frontmatter as well."
    ),
    "write": Verb(
        "corpus",
        "write",
        "Write a page by its path: create, append, replace or forget. The text is read from a file or standard input.",
    ),
    "purge": Verb(
        "corpus", "purge", "Delete a page for good, with all its versions: say what would go, and with --yes do it."
    ),
    "link": Verb(
        "corpus",
        "link",
        "Show the pages that a page links to, those that link to it, or the broken links of a namespace.",
    ),
    "connect": Verb(
        "connect", "app", "Stores that are not ours, worked on where they lie, from Mem0 to any table of yours."
    ),
    "import": Verb("imports", "app", "Import messages, memories, facts, Letta agents, entities or sessions."),
    "plans": Verb("plans", "app", "Look at plans, review, approve or reject them, revoke approvals."),
    "review": Verb("serve", "review", "Review plans in a browser: answer what they ask, sign once, apply, undo."),
    "policies": Verb("policies", "app", "Policies by which nights decide: list them, accept or revoke one."),
    "proposals": Verb("remember", "app", "What agents propose: list it, plan it, approve or reject it."),
    "runs": Verb("runs", "app", "List runs, show one, and pause, resume, cancel or kill it."),
    "conflicts": Verb("why", "app", "Look at rows that contradict each other, and rule on them."),
    "serve": Verb("serve", "serve", "Serve memory to agents: HTTP under /v1, MCP under /mcp, until Ctrl-C."),
    "mcp": Verb(
        "serve",
        "mcp",
        "Serve one namespace to one agent over standard input and output, by the Model Context Protocol.",
    ),
    "tokens": Verb("serve", "app", "Tokens of agents: make, list, revoke."),
    "pages": Verb("pages", "app", "Pages: MEMORY.md and DREAMS.md."),
}
"""Every command: its module here, the function or group in it, and the line in the list of commands."""


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
        app()
    except Exception as problem:
        refused = _as_refusal(problem)
        if refused is None:
            raise
        from slowwave.surfaces.cli.session import fail

        sys.exit(fail(refused))


def _as_refusal(problem: Exception) -> SlowwaveError | None:
    """Return an error as one of ours, which is shown as its sentence, or None for an unexpected error."""
    if isinstance(problem, SlowwaveError):
        return problem
    from psycopg import OperationalError

    if not isinstance(problem, OperationalError):
        return None
    line = str(problem).strip().splitlines()[0]
    return StoreError(
        f"The database ended the connection: {line} Nothing half-written stands. Try again, or run `slowwave doctor`."
    )

"""A group of commands whose modules are imported when a command is called: listing them imports none.

Which commands there are is a table beside the program (``slowwave.cli.main``); what they do is in their modules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Final, cast

import typer.main
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True, slots=True)
class Verb:
    """Where a command is (a function or a ``Typer`` group in a module of ``slowwave.cli``), and the first line of its help."""

    module: str
    attribute: str
    help: str


class LazyGroup(TyperGroup):
    """The commands of ``verbs``, by name and in its order. Asking for one imports its module, listing them does not."""

    verbs: ClassVar[Mapping[str, Verb]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = cast("Any", _Commands(self.verbs))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands in the group's own help: names and first lines, laid out as Typer does."""
        lines = {name: TyperCommand(name, help=verb.help) for name, verb in self.verbs.items()}
        TyperGroup(commands=cast("Any", lines), rich_markup_mode=None).format_commands(ctx, formatter)


class _Commands(Mapping[str, object]):
    """Commands by name; each is made when it is first asked for."""

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
    """The command that a module's function or group becomes under ``name``."""
    found = getattr(import_module(f"slowwave.cli.{verb.module}"), verb.attribute)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(name)(found)
    return typer.main.get_group(alone).commands[name]

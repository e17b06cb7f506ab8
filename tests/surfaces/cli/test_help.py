"""The output of every ``--help``: sections, one line per command at 80 columns, and plain sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
import typer.main
from typer.testing import CliRunner

from slowwave.surfaces.cli.main import VERBS, app

HEADLESS: Final = re.compile(
    r"^(What|Who|Whose|Whom|Where|Which|That|Of|None|Nobody|Nothing|Whether|Whatever|Whoever|Those|How|In what|By what)\b"
)
"""Beginning of a sentence without a noun: "What a plan changes." matches, "Changes of a plan." must not."""
DIALECT: Final = re.compile(
    r"(?<![-\w])(said|says|tells?|told|stands?|waits?|signs?|signed|signature|looked|takes? back|nobody|of its own|beside)\b",
    re.IGNORECASE,
)
"""Words that the help does not use: "Why; said again." matches, "Why; may be repeated." must not."""
SENTENCES: Final = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n")
MOST_TOP_LEVEL, MOST_IN_SUM = 34, 95


def tree(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every group and command with its words."""
    yield path, command
    for name, one in getattr(command, "commands", {}).items():
        yield from tree(one, (*path, name))


COMMANDS: Final = list(tree(typer.main.get_command(app)))
GROUPS: Final = [(path, command) for path, command in COMMANDS if hasattr(command, "commands")]


def texts(command: Any) -> Iterator[str]:
    """Yield the help of a command and of its parameters, as sentences."""
    for text in (command.help, *(parameter.help for parameter in command.params)):
        for sentence in SENTENCES.split(" ".join((text or "").split())):
            if sentence.strip():
                yield sentence.strip()


def test_help_sections_hold_about_thirty_commands() -> None:
    """The program has one section for each task, and no command more than it had before it had sections."""
    assert list(dict.fromkeys(verb.section for verb in VERBS.values())) == [
        *("Start", "Nights", "Decide", "Memory", "Pages", "Stores", "Serve", "Operate")
    ]
    assert len(VERBS) <= MOST_TOP_LEVEL
    assert len(COMMANDS) - len(GROUPS) <= MOST_IN_SUM
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["--help"]).output
    assert all(f"\n{section}:\n" in shown for section in {verb.section for verb in VERBS.values()})


@pytest.mark.parametrize(("path", "group"), GROUPS[1:], ids=[" ".join(path) for path, _ in GROUPS[1:]])
def test_help_of_a_group_lists_what_it_does_by_names_of_its_commands(path: tuple[str, ...], group: Any) -> None:
    """A reader of "List, show and export" tries `export`."""
    lists = re.findall(r"(?:^|; )(\w+(?:, \w+)* and \w+)\b", group.help)
    named = {name.lower() for one in lists for name in re.split(", | and ", one)}
    assert named <= set(group.commands), (path, named - set(group.commands))


@pytest.mark.parametrize(("path", "group"), GROUPS, ids=[" ".join(path) or "slowwave" for path, _ in GROUPS])
def test_help_of_a_group_has_one_whole_line_per_command(path: tuple[str, ...], group: Any) -> None:
    """At 80 columns each line is the first sentence of the command's own help, and no line is cut."""
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, [*path, "--help"]).output
    assert all(len(line) <= 80 for line in shown.splitlines())
    for name, command in group.commands.items():
        first = " ".join((command.help or "").partition("\n\n")[0].split())
        assert re.search(rf"^  {name} +{re.escape(first)}$", shown, re.MULTILINE), (name, first)


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[" ".join(path) or "slowwave" for path, _ in COMMANDS])
def test_help_has_no_headless_sentence(path: tuple[str, ...], command: Any) -> None:
    """Every sentence of a command and of its options has a subject or a verb, and uses the field's words."""
    found = list(texts(command))
    assert [s for s in found if HEADLESS.match(s)] == []
    assert [s for s in found if DIALECT.search(s)] == []
    lacking = [p.name for p in command.params if not p.help and p.name != "help"]
    assert (lacking, bool(command.help)) == ([], True), path


def test_help_check_notices_a_headless_sentence() -> None:
    """The patterns match the sentences that they are for, and no plain one."""
    assert HEADLESS.match("What a plan changes.")
    assert not HEADLESS.match("Changes of a plan.")
    assert DIALECT.search("Why; may be said again.")
    assert not DIALECT.search("Why; may be repeated.")

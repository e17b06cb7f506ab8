"""Completion of commands, namespaces, plans and operations in bash, zsh and fish."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slowwave.store.connect import Store
from slowwave.surfaces.cli.main import app
from tests.nights import new_world, write_a_plan
from tests.surfaces.cli.test_lazy import HEAVY, imported

WITH_NAMESPACE = ("night", "plans show", "namespace show", "mcp", "status")
OFFERS = """
import json, sys
from typer.testing import CliRunner
from slowwave.surfaces.cli.main import app
offered = [CliRunner().invoke(app, [], prog_name="slowwave", env=asked).stdout for asked in json.loads(sys.argv[1])]
print(json.dumps([offered, sorted(sys.modules)]))
"""


def variables(shell: str, line: str) -> dict[str, str]:
    """Return the variables by which a shell asks for the words at the end of a line."""
    words = line.split(" ")
    asked = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    return {"_SLOWWAVE_COMPLETE": f"complete_{shell}", **asked}


def offered_words(shell: str, shown: str) -> list[str]:
    """Parse the words that a shell is offered."""
    if shell == "zsh":  # one line for the builtin ``_arguments``
        shown = shown.replace('"', "\n")
    return [found for row in shown.splitlines() if (found := row.split("\t")[0].strip())]


def complete(shell: str, line: str, **environment: str) -> tuple[list[str], set[str]]:
    """Return the words that a shell is offered at the end of a line, and the modules that a process for this imports."""
    modules, shown = imported(**variables(shell, line), **environment)
    return offered_words(shell, shown), modules


def complete_here(shell: str, line: str) -> list[str]:
    """Return the same words without a new process, which costs a second."""
    done = CliRunner().invoke(app, [], prog_name="slowwave", env=variables(shell, line))
    assert done.exit_code == 0, done.output
    return offered_words(shell, done.stdout)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_namespaces_and_plans(store: Store, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are those of the namespace that was typed before."""
    world, other = new_world(store, 7), new_world(store, 8)
    _, plan = write_a_plan(store, world)
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.owner)
    for command in WITH_NAMESPACE:
        offered = complete_here(shell, f"slowwave {command} {world.slug[:1]}")
        assert {world.slug, other.slug} <= {*offered}, (command, offered)
    for command in ("plans show", "plans approve", "plans countersign"):
        for namespace, has in ((world.slug, True), (other.slug, False)):
            offered = complete_here(shell, f"slowwave {command} {namespace} ")
            assert (plan.plan_hash[:12] in offered) == has, (command, offered)


def test_completion_of_namespaces_imports_no_engine(store: Store) -> None:
    world = new_world(store, 7)
    asked = [variables("bash", f"slowwave {command} ") for command in WITH_NAMESPACE]
    ran = subprocess.run(
        [sys.executable, "-c", OFFERS, json.dumps(asked)],
        env={"PATH": "", "SLOWWAVE_DATABASE_URL": store.owner},
        capture_output=True,
        text=True,
        check=True,
    )
    offered, modules = json.loads(ran.stdout)
    assert [offered_words("bash", shown) for shown in offered] == [[world.slug]] * len(WITH_NAMESPACE)
    assert {*modules} & HEAVY <= {"pydantic_settings"}


def test_completion_of_commands_imports_no_command() -> None:
    offered, modules = complete("bash", "slowwave ")
    assert {"night", "plans", "namespace"} <= {*offered}
    assert not any(name.startswith("slowwave.surfaces.cli.") and not name.endswith(".main") for name in modules)
    assert complete("bash", "slowwave namespace re")[0] == ["remove", "reembed", "retain"]


def test_completion_of_operations_continues_a_list() -> None:
    assert complete_here("bash", "slowwave night acme --ops census,archive_st") == ["census,archive_stale"]


def test_completion_without_a_database_starts_none(tmp_path: Path) -> None:
    """Pressing a key in a shell must not create or start a server, and prints no error."""
    assert complete("bash", "slowwave night ", SLOWWAVE_HOME=str(tmp_path))[0] == []
    assert [*tmp_path.iterdir()] == []
    assert complete("bash", "slowwave night ", SLOWWAVE_DATABASE_URL="postgresql://127.0.0.1:1/none")[0] == []

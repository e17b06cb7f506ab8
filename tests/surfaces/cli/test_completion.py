"""Completion of commands, namespaces, plans and operations in bash, zsh and fish."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.store.connect import Store
from tests.nights import new_world, write_a_plan
from tests.surfaces.cli.test_lazy import HEAVY, imported


def complete(shell: str, line: str, **environment: str) -> tuple[list[str], set[str]]:
    """Return the words that a shell is offered at the end of a line, and the modules that were imported."""
    words = line.split(" ")
    variables = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    modules, shown = imported(_SLOWWAVE_COMPLETE=f"complete_{shell}", **variables, **environment)
    if shell == "zsh":  # one line for the builtin ``_arguments``
        shown = shown.replace('"', "\n")
    return [found for row in shown.splitlines() if (found := row.split("\t")[0].strip())], modules


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_namespaces_and_plans(store: Store, shell: str) -> None:
    """Plans are those of the namespace that was typed before."""
    world, other = new_world(store, 7), new_world(store, 8)
    _, plan = write_a_plan(store, world)
    for command in ("night", "plans show", "namespace show", "mcp", "status"):
        offered, modules = complete(shell, f"slowwave {command} {world.slug[:1]}", SLOWWAVE_DATABASE_URL=store.owner)
        assert {world.slug, other.slug} <= {*offered}, (command, offered)
        assert modules & HEAVY <= {"pydantic_settings"}
    for command in ("plans show", "plans approve", "plans countersign"):
        for namespace, has in ((world.slug, True), (other.slug, False)):
            offered, _ = complete(shell, f"slowwave {command} {namespace} ", SLOWWAVE_DATABASE_URL=store.owner)
            assert (plan.plan_hash[:12] in offered) == has, (command, offered)


def test_completion_of_commands_imports_no_command() -> None:
    offered, modules = complete("bash", "slowwave ")
    assert {"night", "plans", "namespace"} <= {*offered}
    assert not any(name.startswith("slowwave.surfaces.cli.") and not name.endswith(".main") for name in modules)
    assert complete("bash", "slowwave namespace re")[0] == ["remove", "reembed", "retain"]


def test_completion_of_operations_continues_a_list() -> None:
    assert complete("bash", "slowwave night acme --ops census,archive_st")[0] == ["census,archive_stale"]


def test_completion_without_a_database_starts_none(tmp_path: Path) -> None:
    """Pressing a key in a shell must not create or start a server, and prints no error."""
    assert complete("bash", "slowwave night ", SLOWWAVE_HOME=str(tmp_path))[0] == []
    assert [*tmp_path.iterdir()] == []
    assert complete("bash", "slowwave night ", SLOWWAVE_DATABASE_URL="postgresql://127.0.0.1:1/none")[0] == []

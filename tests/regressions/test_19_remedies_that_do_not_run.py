"""Line 19, and what is like it elsewhere: commands that sentences of the program name, and that end in a usage message.

`slowwave conflicts list` in a refusal lacked the namespace, as did `slowwave plans show`, `slowwave night` and `slowwave pages sync`:
whoever typed what was printed was told "Missing argument 'NAMESPACE'".
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from slowwave.surfaces.cli.main import app

ROOT = Path(__file__).parents[2]
ROOMS = ("slowwave", "memory_assets", "jobs", "sensors", "resources", "dbt_like_sql")


def sentences(file: Path) -> Iterator[str]:
    """The strings of a file but docstrings; ``X1234`` stands for what is filled in, which may be an id."""
    nodes = list(ast.walk(ast.parse(file.read_text())))
    docs = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    left_out = docs | inside
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "X1234" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


def commands() -> list[tuple[str, str]]:
    """Every command line that a string holds in backticks, with its file."""
    files = [f for room in ROOMS for f in sorted((ROOT / room).rglob("*.py")) if "`slowwave " in f.read_text()]
    found = {
        (str(file.relative_to(ROOT)), line.strip())
        for file in files
        for text in sentences(file)
        for line in re.findall(r"`(slowwave [a-z][^`\n]*)`", text)
    }
    return sorted(found)


def find_fault(line: str) -> str:
    """Return why a command line cannot run, or an empty string."""
    command: Any = typer.main.get_command(app)
    words = shlex.split(re.sub(r"(--port) X1234", r"\1 4600", line.replace("YOUR-NAME", "mara")))[1:]
    while (group := getattr(command, "commands", None)) is not None:
        found = group.get(words[0]) if words else None
        if found is None:
            return "it names no command"
        command, words = found, words[1:]
    try:
        command.make_context("slowwave", words)
    except Exception as problem:  # noqa: BLE001 - typer keeps its usage errors to itself
        return str(problem)
    return ""


def test_every_command_in_a_sentence_is_whole() -> None:
    """Its command exists, its options do, and no argument is missing. One test: each worker would read all files to name more of them."""
    found = commands()
    assert len(found) > 100
    assert [(file, line, fault) for file, line in found if (fault := find_fault(line))] == []

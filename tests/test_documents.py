"""What the pages tell a person to type exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from slowwave.surfaces.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND = typer.main.get_command(app)


def typed(page: Path) -> list[str]:
    """Command lines of the page: in its code blocks, and in single backticks."""
    text = page.read_text()
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    lines += re.findall(r"`(slowwave [^`\n]+)`", text)
    return [part.strip() for line in lines for part in line.split("&&") if part.strip().startswith("slowwave ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_exists_with_its_options(page: Path) -> None:
    """A page that names a command or an option that is not there fails here, not at 3 a.m."""
    for line in typed(page):
        words = line.split()[1:]
        command: Any = COMMAND
        while words and (group := getattr(command, "commands", None)):
            name = words.pop(0)
            found = group.get(name)
            assert found is not None, f"{page.name}: {line!r}: there is no {name!r}"
            command = found
        options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        for word in words:
            if word.startswith("--"):
                assert word.split("=")[0] in options, f"{page.name}: {line!r}: there is no option {word}"


def test_every_link_and_picture_is_in_the_tree() -> None:
    """A reader who clicks finds something."""
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"

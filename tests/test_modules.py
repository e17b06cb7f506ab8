"""Every module has its tests: a test module of its own name, a test that imports it, or a line in ``modules.toml``."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("slowwave", "memory_assets", "jobs", "sensors", "resources", "dbt_like_sql")

COVERED_BY: dict[str, str] = tomllib.loads((ROOT / "tests" / "modules.toml").read_text())
"""Module → the test that would fail without it, for those that are reached through others alone."""


def modules() -> list[Path]:
    """All that there are but packages' own files and migrations, which ``tests/store/test_migrations.py`` runs."""
    found = (file.relative_to(ROOT) for room in ROOMS for file in sorted((ROOT / room).rglob("*.py")))
    return [file for file in found if file.name != "__init__.py" and "migrations" not in file.parts]


def imported() -> set[str]:
    """Modules that a test imports by name."""
    found: set[str] = set()
    for test in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(test.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
    return found


def untested() -> set[str]:
    """Modules with neither."""
    tests = imported()
    return {
        name
        for file in modules()
        for name in [".".join(file.with_suffix("").parts)]
        if name not in tests and not _mirrored(file).is_file()
    }


def _mirrored(module: Path) -> Path:
    inner = module.relative_to("slowwave") if module.parts[0] == "slowwave" else module
    return ROOT / "tests" / inner.with_name(f"test_{module.name}")


def test_every_module_is_tested_by_name_or_named_with_what_covers_it() -> None:
    """A new module without a test shows here, and so does a line of one that has its own by now, or that is gone."""
    missing, over = sorted(untested() - COVERED_BY.keys()), sorted(COVERED_BY.keys() - untested())
    assert not missing, (
        f"No test covers {missing}. Add tests/…/test_NAME.py at the same place as the module, or name the test that covers it in "
        "tests/modules.toml."
    )
    assert not over, f"Remove the lines of {over} from tests/modules.toml: each has a test by now, or is gone."


@pytest.mark.parametrize(("module", "test"), COVERED_BY.items())
def test_what_covers_a_module_is_there(module: str, test: str) -> None:
    """The file, and the test in it."""
    path, _, name = test.partition("::")
    assert re.search(rf"^(?:async )?def {name}\(", (ROOT / "tests" / path).read_text(), re.MULTILINE), module

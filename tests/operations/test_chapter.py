"""The chapter "Add an operation in fifteen minutes", followed to the letter: its files, its tests, and what derives from them."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

import pytest

from slowwave.operations.operation import Declared, Operation, operation
from tests.operations.chapter import PAGE, ROOT, blocks, code
from tests.operations.test_plugins import install

pytestmark = pytest.mark.slow


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A folder with the installed package of the chapter, and its tests."""
    (tmp_path / "tests").mkdir()
    for path, content in blocks().items():
        if path.startswith("tests/"):
            (tmp_path / path).write_text(content)
    points = tomllib.loads(blocks()["pyproject.toml"])["project"]["entry-points"]["slowwave.operations"]
    return install(tmp_path, {name: code(name) for name in ("long_memories", "archive_blank")}, points)


def run(written: Path, *arguments: str) -> str:
    """Return the output of a Python process that has the package, whose tests are in a folder of their own."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(written)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def test_its_tests_pass(written: Path) -> None:
    """A file and its test, for an audit and for a planner."""
    tests = sorted(str(path) for path in (written / "tests").rglob("test_*.py"))
    assert len(tests) == 2
    said = run(written, "-m", "pytest", "-p", "no:cacheprovider", "--confcutdir", str(written), *tests)
    assert "2 passed" in said


def test_chapter_declares_the_audit_in_this_repository_as_in_a_package() -> None:
    """The entry of ``OPERATIONS`` and the decorator of the package make equal declarations, except for the function."""
    package: dict[str, Any] = {"__name__": "night_extras.long_memories"}
    exec(code("long_memories"), package)  # noqa: S102 - the code of the chapter
    ours: dict[str, Any] = {"Operation": Operation, "LongMemoriesOptions": package["LongMemoriesOptions"]}
    exec(blocks()["slowwave/operations/audits/__init__.py"], ours)  # noqa: S102 - as above
    (entry,) = ours["OPERATIONS"]
    made = package["long_memories"]
    differing = {f.name for f in fields_of(Operation) if getattr(entry, f.name) != getattr(made, f.name)}
    assert differing == {"function"}


def test_its_classes_have_names_of_their_own() -> None:
    """Whoever follows it breaks no rule of the tree: one name is one class."""
    classes = re.compile(r"^class ([A-Za-z]\w*)", re.MULTILINE)
    ours = {name for file in (ROOT / "slowwave").rglob("*.py") for name in classes.findall(file.read_text())}
    added = [name for path, text in blocks().items() if path.endswith(".py") for name in classes.findall(text)]
    assert added
    assert not ours & {*added}


def test_everything_else_follows_from_the_two_files(written: Path) -> None:
    """Their place in a night, switch, permits, assets with their lineage, and lines of the pages."""
    (written / "look.py").write_text(
        "from benchmarks.operations import planned\n"
        "from memory_assets.definitions import defs\n"
        "from slowwave.operations import AUDITS, PLANNERS\n"
        "from scripts.settings_page import table\n"
        "from slowwave.operations import permits\n"
        "from slowwave.night.run_events import operation_names as names\n"
        "from slowwave.store.settings import Settings\n"
        "from scripts.settings_page import page\n"
        "import dagster as dg\n"
        "graph = defs.resolve_asset_graph()\n"
        "plan = graph.get(dg.AssetKey(['night', 'plan'])).parent_keys\n"
        "audit = graph.get(dg.AssetKey(['audit', 'long_memories']))\n"
        "print(list(AUDITS).index('long_memories') in (1, 2), 'archive_blank' in permits().by_operation, 'archive_blank' in planned())\n"
        "print(PLANNERS['archive_blank'].is_on(Settings()), {'long_memories', 'archive_blank'} <= names())\n"
        "print(sorted(k.to_user_string() for k in audit.parent_keys), audit.group_name)\n"
        "print(dg.AssetKey(['plan', 'archive_blank']) in plan, dg.AssetKey(['audit', 'long_memories']) in plan)\n"
        "print('| `archive_blank` | Memories without a word are archived' in table(), '| off |' in table())\n"
        "print('`SLOWWAVE_OPERATIONS__LONG_MEMORIES__CHARACTERS`' in page())\n"
    )
    assert run(written, str(written / "look.py")).splitlines() == [
        "True True True",
        "False True",
        "['snapshot'] audits",
        "True True",
        "True True",
        "True",
    ]


def test_every_field_is_explained() -> None:
    """A field that the page does not know would be declared by nobody."""
    fields = {*inspect.signature(operation).parameters, *Declared.__annotations__} - {"declared"}
    declared = {*Operation.__dataclass_fields__}
    assert fields <= declared
    missing = [name for name in declared if f"| `{name}` |" not in PAGE.read_text()]
    assert not missing

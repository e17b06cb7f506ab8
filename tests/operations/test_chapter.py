"""The chapter "Add an operation in fifteen minutes", followed to the letter: its files, its tests, and what derives from them."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from slowwave.operations.operation import operation
from tests.operations.chapter import PAGE, ROOT, blocks

pytestmark = pytest.mark.slow

ADDED = """
import slowwave.operations.audits, slowwave.operations.planners
slowwave.operations.audits.__path__.append({audits!r})
slowwave.operations.planners.__path__.append({planners!r})
"""
"""Has the modules of two folders belong to the packages of ours, as if they had been written there."""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A folder with the files of the chapter."""
    for path, content in blocks().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    folders = {kind: str(tmp_path / "slowwave" / "operations" / kind) for kind in ("audits", "planners")}
    (tmp_path / "added.py").write_text(ADDED.format(**folders))
    return tmp_path


def run(written: Path, *arguments: str) -> str:
    """What a Python process prints that has the new files in their packages; its tests lie elsewhere than ours."""
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
    said = run(written, "-m", "pytest", "-p", "added", "-p", "no:cacheprovider", "--confcutdir", str(written), *tests)
    assert "2 passed" in said


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
        "import added\n"
        "from benchmarks.operations import planned\n"
        "from memory_assets.definitions import defs\n"
        "from slowwave.operations import AUDITS, PLANNERS\n"
        "from slowwave.operations.settings_page import table\n"
        "from slowwave.operations import permits\n"
        "from slowwave.night.run_events import operation_names as names\n"
        "from slowwave.store.settings import Settings\n"
        "from slowwave.operations.settings_page import page\n"
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
        "['snapshot/memories', 'snapshot/memory_versions'] audits",
        "True True",
        "True True",
        "True",
    ]


def test_every_field_is_explained() -> None:
    """A field that the page does not know would be declared by nobody."""
    from slowwave.operations.operation import Declared, Operation

    fields = {*inspect.signature(operation).parameters, *Declared.__annotations__} - {"declared"}
    declared = {*Operation.__dataclass_fields__} - {"name", "run", "description", "module"}
    assert fields <= declared
    missing = [name for name in declared if f"| `{name}` |" not in PAGE.read_text()]
    assert not missing

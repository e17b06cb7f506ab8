"""Operations of other packages: found by entry point when they are installed, and refused with a sentence when they cannot be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from slowwave.errors import SettingsError
from slowwave.operations import operations
from tests.operations.chapter import ROOT, blocks, code

pytestmark = pytest.mark.slow


def install(folder: Path, modules: dict[str, str], points: dict[str, str]) -> Path:
    """A package ``night_extras`` as an installer leaves it: its modules, and a dist-info that names its entry points."""
    package, info = folder / "night_extras", folder / "night_extras-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text("")
    for name, content in modules.items():
        (package / f"{name}.py").write_text(content)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: night-extras\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[slowwave.operations]", *lines]) + "\n")
    return folder


def python(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """A process that finds the package."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(folder)))},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_installed_package_adds_its_operations(tmp_path: Path) -> None:
    """With the entry points of the chapter: one of an operation, one of a module. They stand in the registry, on the page of settings and
    among the assets, and are used as they are declared."""
    points = tomllib.loads(blocks()["pyproject.toml"])["project"]["entry-points"]["slowwave.operations"]
    modules = {name: code(name) for name in ("long_memories", "archive_blank")}
    done = python(
        install(tmp_path, modules, points),
        "import json, dagster as dg\n"
        "from memory_assets.definitions import defs\n"
        "from slowwave.operations import AUDITS, PLANNERS, named, operations, run_planner\n"
        "from scripts.settings_page import page\n"
        "from tests.snapshots import make_inputs, make_snapshot\n"
        "graph = defs.resolve_asset_graph()\n"
        "names = ('long_memories', 'archive_blank')\n"
        "keys = {k.to_user_string() for k in graph.get_all_asset_keys()}\n"
        "report = run_planner(PLANNERS['archive_blank'], make_inputs(make_snapshot())).report\n"
        "print(json.dumps({'modules': [operations()[n].module for n in names],\n"
        "    'place': [list(AUDITS)[:2], sorted(names, key=list(operations()).index)],\n"
        "    'page': [f'| `{n}` |' in page() for n in names], 'named': sorted(named('long_memories', operations())),\n"
        "    'assets': [k in keys for k in ('audit/long_memories', 'plan/archive_blank')],\n"
        "    'description': graph.get(dg.AssetKey(['plan', 'archive_blank'])).description.splitlines()[0], 'skipped': report.skipped}))\n",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "modules": ["night_extras.long_memories", "night_extras.archive_blank"],
        "place": [["census", "long_memories"], ["long_memories", "archive_blank"]],
        "page": [True, True],
        "named": ["long_memories"],
        "assets": [True, True],
        "description": "Memories without a word are archived: they leave recall and stay in the store.",
        "skipped": "op_disabled_by_config",
    }


@pytest.mark.parametrize(("listed", "imported"), [(True, "[]"), (False, "['night_extras.long_memories']")])
def test_entry_point_of_a_package_adds_what_it_lists_or_else_its_modules(
    tmp_path: Path, listed: bool, imported: str
) -> None:
    """A package that lists declarations is not imported further; one without a list is."""
    folder = install(tmp_path, {"long_memories": code("long_memories")}, {"it": "night_extras"})
    if listed:
        (folder / "night_extras" / "__init__.py").write_text(
            "from slowwave.operations import Operation\n"
            "OPERATIONS = [Operation('long_memories', 'audit', 'night_extras.long_memories:long_memories', 'Report.', ())]\n"
        )
    done = python(
        folder,
        "import sys\n"
        "from slowwave.operations import operations\n"
        "print(operations()['long_memories'].module, [m for m in sys.modules if m.startswith('night_extras.')])\n",
    )
    assert done.stdout.splitlines() == [f"night_extras.long_memories {imported}"], done.stderr[-3000:]


def test_its_own_columns_are_shown_where_memory_is_hidden(tmp_path: Path) -> None:
    """Those that it declares, with their numbers; a column that it does not declare may be a name from the data."""
    audit = code("long_memories").replace('"written": len(row["text"])', '"written": len(row["text"]), "Mara": 1')
    done = python(
        install(tmp_path, {"long_memories": audit}, {"it": "night_extras.long_memories"}),
        "from slowwave.operations import AUDITS\n"
        "from slowwave.night.run_events import redact_report\n"
        "from tests.snapshots import make_inputs, make_snapshot, uid\n"
        "snapshot = make_snapshot(settings={'operations': {'long_memories': {'characters': 1}}},\n"
        "    memories=[{'id': uid('m'), 'current_version_id': uid('v')}],\n"
        "    memory_versions=[{'id': uid('v'), 'memory_id': uid('m'), 'content': 'four'}])\n"
        "print(redact_report(AUDITS['long_memories'](make_inputs(snapshot)), 'all').table == ("
        "{'id': uid('m'), 'written': 4, 'hidden 3': 1},))\n",
    )
    assert done.stdout.splitlines() == ["True"], done.stderr[-3000:]


DELETING = code("archive_blank").replace("retires=1)", "retires=1, deletes=True)")


@pytest.mark.parametrize(
    ("modules", "point", "said"),
    [
        ({}, "night_extras.gone", "cannot be loaded (ModuleNotFoundError"),
        ({"broken": "1 / 0\n"}, "night_extras.broken", "cannot be loaded (ZeroDivisionError"),
        ({"nothing": "x = 1\n"}, "night_extras.nothing:x", "is no operation"),
        ({"again": code("long_memories").replace("long_memories", "census")}, "night_extras.again", "the name census"),
        ({"late": code("long_memories").replace('("census",)', '("none",)')}, "night_extras.late", "no such audit"),
        ({"deleting": DELETING}, "night_extras.deleting", "which would delete rows"),
        ({"off": code("long_memories").replace("options=L", 'switch="of", options=L')}, "night_extras.off", "its switch is"),
    ],
)  # fmt: skip
def test_a_package_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, modules: dict[str, str], point: str, said: str
) -> None:
    """A night without what was installed for it would be silent about it."""
    for name in [name for name in sys.modules if name.split(".")[0] == "night_extras"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(install(tmp_path, modules, {"it": point}))
    with pytest.raises(SettingsError) as raised:
        operations.__wrapped__()  # looked for again
    assert said in str(raised.value)
    assert "night_extras" in str(raised.value)

"""Commands are imported when they are called: asking what there is must not wait for what plans a night."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import typer
import typer.main
from typer.core import TyperGroup
from typer.testing import CliRunner

from slowwave.store.connect import Store
from slowwave.surfaces.cli.main import VERBS, app
from tests.memories import remember

HEAVY = frozenset(
    ("alembic", "duckdb", "numpy", "pandas", "pyarrow", "pydantic_settings", "rapidfuzz", "scipy", "sklearn", "sqlalchemy", "sqlglot")
)  # fmt: skip
PROGRAM = """
import json, sys
from slowwave.surfaces.cli.main import main
try:
    main()
except SystemExit as ended:
    code = ended.code
print(json.dumps([code if "code" in globals() else 0, sorted(sys.modules)]), file=sys.stderr)
"""

HELPS = """
import json, sys
from typer.testing import CliRunner
from slowwave.surfaces.cli.main import VERBS, app
found = {}
for name in VERBS:
    before = set(sys.modules)
    assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0, name
    found[name] = sorted(set(sys.modules) - before)
print(json.dumps(found))
"""


def imported(*arguments: str, **environment: str) -> tuple[set[str], str]:
    """The modules that a process of the program has loaded in the end, and what it printed."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={"PATH": "", "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(ran.stderr.splitlines()[-1])
    assert not code, ran.stderr
    return set(modules), ran.stdout


def commands(modules: set[str]) -> set[str]:
    """Which modules of commands are among them."""
    verbs = [*VERBS.values(), *(VERBS["namespace"].verbs or {}).values()]
    return {m.removeprefix("slowwave.surfaces.cli.") for m in modules} & {verb.module for verb in verbs}


def test_the_list_of_commands_imports_none_of_them() -> None:
    """``slowwave --help`` names all of them and knows no library."""
    modules, shown = imported("--help")
    assert all(f" {name} " in shown for name in VERBS)
    assert commands(modules) == set()
    assert modules & (HEAVY | {"psycopg", "pydantic", "rich"}) == set()


def test_the_help_of_a_command_imports_its_module_alone() -> None:
    """And so does running it."""
    modules, shown = imported("namespace", "list", "--help")
    assert "--json" in shown
    assert (commands(modules), modules & HEAVY) == ({"namespaces"}, set())
    assert commands(imported("namespace", "retain", "--help")[0]) == {"retention"}


def test_no_help_imports_what_plans_a_night() -> None:
    """All helps one after another in one process, so that what one of them loads is named with it."""
    ran = subprocess.run([sys.executable, "-c", HELPS], env={"PATH": ""}, capture_output=True, text=True, check=True)
    loaded = json.loads(ran.stdout)
    assert set(loaded) == set(VERBS)
    heavy = {name: sorted(HEAVY.intersection(modules)) for name, modules in loaded.items()}
    assert {name: found for name, found in heavy.items() if found} == {}


def test_namespaces_are_listed_without_what_plans_a_night(store: Store) -> None:
    """On a store that is up to date and where no plan is late."""
    modules, shown = imported("namespace", "list", "--json", SLOWWAVE_DATABASE_URL=store.owner)
    assert json.loads(shown) == []
    assert (commands(modules), modules & HEAVY) == ({"namespaces"}, set())


def test_status_loads_the_operations_only_for_an_unknown_setting(store: Store) -> None:
    """Known names, and those of operations that a night checks, cost nothing; an unknown one is named beside the setting that was meant."""
    remember(store, "acme", {"blast_radius_share": 0.5, "operations": {"prune_edges": {"enabled": False}}})
    known = {"SLOWWAVE_DATABASE_URL": store.owner, "SLOWWAVE_RECALL_FLOOR": "0.5"}
    modules, shown = imported("status", **known)
    assert "acme" in shown
    assert modules & {"slowwave.operations", "pyarrow", "numpy", "sqlalchemy"} == set()
    assert "slowwave.operations.setting_names" in imported("status", **known, SLOWWAVE_RECAL_FLOOR="0.5")[0]
    remember(store, "other", {"blast_radius_shar": 0.5})
    modules, _ = imported("status", **known)
    assert "slowwave.operations.setting_names" in modules
    assert "slowwave.text.dates" not in modules


@pytest.mark.parametrize("name", VERBS)
def test_the_line_of_the_list_is_that_of_the_command(name: str) -> None:
    """The table repeats what the function or the group says of itself."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    command = group.commands[name]
    assert (command.name, VERBS[name].help) == (name, (command.help or "").strip().partition("\n\n")[0])


def test_a_slip_is_answered_with_the_command_that_was_meant() -> None:
    """Names are known without the commands."""
    shown = CliRunner().invoke(app, ["plan"])
    assert shown.exit_code == 2
    assert "'plans'" in shown.output


def test_warning_is_printed_without_its_place_in_the_code() -> None:
    """A warning of an unknown setting appears once, on the error stream, for a user who set a variable."""
    code = (
        "import slowwave.surfaces.cli.main as m, slowwave.operations.setting_names as s; "
        "m.app = lambda **_: [s.check_settings({}) for _ in 'ab']; m.main()"
    )
    environment = {**os.environ, "SLOWWAVE_REDACT_TXT": "all"}
    printed = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stderr
    (line,) = printed.splitlines()
    assert line.startswith("SLOWWAVE_REDACT_TXT is not a setting of Slowwave and has no effect. Did you mean")

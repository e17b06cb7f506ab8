"""The registry: every module of ours is declared, in an order that the operations themselves name, and listing them imports none."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from slowwave.errors import SettingsError
from slowwave.operations import khora_kinds, operations, weekly, weekly_operations
from slowwave.operations.operation import FIRST, Operation
from slowwave.operations.registry import PACKAGES, in_order
from slowwave.plans.permitted import Permit
from slowwave.snapshots.models import load_models
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES
from slowwave.store.settings import Settings
from slowwave.store.tables import VECTORS


def made(name: str, kind: Any = "audit", **declared: Any) -> Operation[Any]:
    """An operation that does nothing."""
    permits = () if kind == "audit" else (Permit("set_state", {"memories"}),)
    return Operation(name, kind, "tests:none", "About.", (), permits=permits, **declared)


def order(*some: Operation[Any]) -> list[str]:
    """The names, as a night has them."""
    return list(in_order({one.name: one for one in some}))


@pytest.mark.parametrize("package", [*PACKAGES, "slowwave.wiki.operations"])
def test_registry_has_each_module_named_like_its_function(package: str) -> None:
    """An operation without a declaration would never run, and a declaration without a function would stop the night."""
    modules = [m.name for m in pkgutil.iter_modules(import_module(package).__path__)]
    functions = {n: f for n in modules if (f := getattr(import_module(f"{package}.{n}"), n, None)) is not None}
    declared = {made.name: made.load() for made in operations().values() if made.module.startswith(f"{package}.")}
    assert declared == functions
    assert len(functions) >= 9


def test_registry_lists_operations_without_importing_them() -> None:
    """Dagster's definitions, servers and the command line need names, switches and permits, and import 650 modules less."""
    packages = tuple(f"{package}." for package in (*PACKAGES, "slowwave.wiki.operations"))
    code = (
        "import sys\n"
        "from slowwave.operations import operations\n"
        "assert len(operations()) >= 47\n"
        f"print([n for n in sys.modules if n.startswith({packages!r}) or n in ('httpx', 'rapidfuzz', 'scipy')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_they_read_what_there_is() -> None:
    """A table or model that is not in a snapshot would be an asset that nothing makes."""
    models = {model.name for model in load_models()}
    for one in operations().values():
        assert {*one.reads} <= {*SNAPSHOT_TABLES, *VECTORS}, one.name
        assert {*one.models} <= models, one.name


def test_what_is_read_from_them() -> None:
    """khora's names are names of operations that exist."""
    assert operations()["purge_expired"].variable == "SLOWWAVE_OPERATIONS__PURGE_EXPIRED__ENABLED"
    assert weekly_operations() >= {"consolidate_clusters", "decay_transition", "community_summaries"}
    assert khora_kinds()["compact_facts"] == khora_kinds()["chronicle_fact_compaction"] == "purge_expired"
    assert {*khora_kinds().values()} <= {*operations()}


def test_each_stands_behind_what_it_names() -> None:
    """Audits before planners; equals by name; what says nothing behind all that say something, and what follows it behind that."""
    first, a, b = made("z", after=FIRST), made("b", after=("z",)), made("a", after=("z",))
    late, later, planner = made("k"), made("c", after=("k",)), made("first", "planner", after=FIRST)
    assert order(planner, later, late, a, b, first) == ["z", "a", "b", "k", "c", "first"]


@pytest.mark.parametrize(
    ("some", "said"),
    [
        ((made("a", after=("b",)), made("b", after=("a",))), "a, b name each other in after"),
        ((made("a", after=("b",)),), "in tests names b in after, and there is no such audit"),
        ((made("a", after=("b",)), made("b", "planner")), "in tests names b in after, and there is no such audit"),
    ],
)
def test_a_place_that_cannot_be_is_refused(some: tuple[Operation[Any], ...], said: str) -> None:
    """Nothing is sorted somehow."""
    with pytest.raises(SettingsError, match=said):
        order(*some)


def test_an_operation_without_a_setting_has_a_switch_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its default is what it declares; a variable or the namespace changes it."""
    on, off = made("one"), made("two", switch=False)
    assert (on.is_on(Settings()), off.is_on(Settings())) == (True, False)
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__ONE__ENABLED", "false")
    assert (on.variable, on.is_on(Settings())) == ("SLOWWAVE_OPERATIONS__ONE__ENABLED", False)
    assert off.is_on(Settings.for_namespace({"operations": {"two": {"enabled": True}}}))


def test_weekly_operation_that_is_switched_off_does_not_run_on_the_weekly_night() -> None:
    by_default = weekly(Settings.for_namespace({}))
    assert "community_summaries" in weekly_operations() & by_default
    off = {"operations": {"community_summaries": {"enabled": False}}}
    assert by_default - weekly(Settings.for_namespace(off)) == {"community_summaries"}

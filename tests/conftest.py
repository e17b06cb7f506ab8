"""One PostgreSQL server a worker, copied from the first one; one migrated template database, a database as that is for every test that asks
for a store.

The library and its drivers are imported by the fixtures that need them: a test that needs no database begins after half a second.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, settings

from slowwave.models.embedding_models import STATIC_MODEL

if TYPE_CHECKING:
    from slowwave.store import server
    from slowwave.store.connect import Store
    from tests.lending import Lender

# As the command line does; half of what a worker's collection cost went to looking for cycles among the modules of all tests.
gc.set_threshold(100_000, 50, 100)

_CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
settings.register_profile("ci", max_examples=25, deadline=None, suppress_health_check=_CHECKS, derandomize=True)
settings.register_profile("deep", max_examples=300, deadline=None, suppress_health_check=_CHECKS)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: the browser's test, and those that start processes, wait most of their time."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


_LONG: Final = frozenset(("dagster", "demo", "e2e", "night"))
"""Rooms of tests that run whole nights or servers."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a database is ``slow``. Each worker's share begins with what takes longest, so that nothing is left to wait for."""
    for item in items:
        if isinstance(item, pytest.Function) and "postgres" in item.fixturenames:
            item.add_marker("slow")
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)
    rooms = [_LONG.isdisjoint(item.path.parts) for item in items]
    kinds = [[item for item, quick in zip(items, rooms, strict=True) if quick is kind] for kind in (False, True)]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = [
        item
        for n in range(workers)
        for some in kinds
        for item in some[len(some) * n // workers : len(some) * (n + 1) // workers]
    ]


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: the garbage collector need not look at them again."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Which PostgreSQL versions the tests of external servers run on."""
    if (
        "psycopg" not in sys.modules
        and "PYTEST_XDIST_TESTRUNUID" not in os.environ
        and not getattr(terminalreporter.config.option, "numprocesses", None)
    ):
        return  # no test of this run had a database
    from tests.clusters import majors

    found = ", ".join(map(str, majors()))
    terminalreporter.write_line(f"External servers: PostgreSQL {found}; TEST_POSTGRES_BINDIRS adds others.")


@pytest.fixture
def every_rule_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every pattern decide without a question, as if all of them were measured well enough.

    Two planners keep their own name of the rule. They are imported first, or a test would import them with the patched one for good.
    """
    for planner in ("absolutize_dates", "redact_or_quarantine"):
        importlib.import_module(f"slowwave.operations.planners.{planner}")
    for module in (
        "slowwave.operations.conflicts.decide",
        "slowwave.operations.planners.mark_ended_statements",
        "slowwave.plans.items",
    ):
        monkeypatch.setattr(f"{module}.decides_alone", lambda *_: True)


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Server]:
    """The embedded server, in a folder of its own. Connections of the owner are used again: half of what PostgreSQL did in many tests was
    to let it in."""
    from slowwave.snapshots import models
    from slowwave.store import server
    from slowwave.store.connect import Store
    from tests.clusters import fast_folder, start_prepared
    from tests.lending import connect_and_keep

    def prepare(running: server.Server) -> None:
        _prepare(running)
        if shared and any("demo_template" in getattr(item, "fixturenames", ()) for item in request.session.items):
            _load_demo(running)

    shared = tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else None
    with (
        pytest.MonkeyPatch.context() as patch,
        models.one_database() as kept,
        fast_folder(tmp_path_factory.mktemp("postgres")) as home,
    ):
        patch.setattr(Store, "connect", connect_and_keep)
        # To open a database for models costs as much as to run those of a small namespace.
        open_one = models.model_database
        patch.setattr(models, "model_database", lambda own=None: open_one(kept if own is None else own))
        try:
            yield start_prepared(home, prepare, shared)
        finally:
            server.stop(home)


def _prepare(running: server.Server) -> None:
    """A server's settings for tests, and the template of their databases."""
    import psycopg

    from slowwave.store.connect import Store
    from slowwave.store.migrate import migrate
    from slowwave.store.server import create_database
    from tests.clusters import make_quick

    make_quick(running)
    with psycopg.connect(running.url("postgres"), autocommit=True) as admin:
        # Tests rewrite history behind the triggers' back and choose who is ended in a deadlock, which only a superuser may.
        admin.execute("GRANT SET ON PARAMETER session_replication_role, deadlock_timeout TO slowwave_owner")
    create_database(running.url, "template_slowwave")
    migrate(Store.embedded_in(running.url("template_slowwave"), running.home))


def _load_demo(running: server.Server) -> None:
    """Make the database ``template_demo``, unless the server has it."""
    import psycopg

    from slowwave.models.embedder import OfflineEmbedder
    from slowwave.store.connect import Store
    from slowwave.store.logins import close_idle
    from slowwave.store.server import create_database
    from slowwave.surfaces.demo import load_demo

    with psycopg.connect(running.url("postgres")) as admin:
        if admin.execute("SELECT 1 FROM pg_database WHERE datname = 'template_demo'").fetchone():
            return
    create_database(running.url, "template_demo", "template_slowwave")
    with Store.embedded_in(running.url("template_demo"), running.home).connect("owner") as connection:
        assert load_demo(connection, OfflineEmbedder())
    close_idle()


@pytest.fixture(scope="session")
def lender(postgres: server.Server) -> Lender:
    """Empty, migrated databases."""
    from tests.lending import Lender

    return Lender(postgres, "template_slowwave")


@pytest.fixture
def database(lender: Lender) -> Iterator[str]:
    """The name of an empty, migrated database."""
    with lender.lend() as name:
        yield name


@pytest.fixture
def store(postgres: server.Server, database: str) -> Store:
    """A store with one login a role on a fresh database."""
    from slowwave.store.connect import Store

    return Store.embedded_in(postgres.url(database), postgres.home)


@pytest.fixture(scope="session")
def demo_template(postgres: server.Server) -> str:
    """The name of a database that holds the three demo namespaces as they were generated."""
    _load_demo(postgres)
    return "template_demo"


@pytest.fixture
def demo(postgres: server.Server, demo_template: str) -> Iterator[Store]:
    """A store that holds the demo."""
    from slowwave.store.connect import Store
    from tests.clusters import cloned

    with cloned(postgres, demo_template) as name:
        yield Store.embedded_in(postgres.url(name), postgres.home)


@pytest.fixture(scope="session")
def programs() -> Iterator[Path]:
    """A folder for the PATH, with ``slowwave`` in it."""
    from tests.programs import installed

    with installed() as folder:
        yield folder


@pytest.fixture
def as_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner's connections end when they are given back."""
    from slowwave.store.connect import Store
    from tests.lending import connect_as_in_production

    monkeypatch.setattr(Store, "connect", connect_as_in_production)


_HOMES: Final = count()


@pytest.fixture(autouse=True)
def _own_environment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads the developer's settings or writes to the developer's store. A folder is made only where a test asks for one: for ten
    thousand tests that is ten seconds."""
    if "tmp_path" in request.fixturenames:
        home = request.getfixturevalue("tmp_path") / "home"
    else:
        home = tmp_path_factory.getbasetemp() / f"home{next(_HOMES)}"
    with pytest.MonkeyPatch.context() as patch:
        forget_environment(patch, home)
        yield
    if (home / "postgres").is_dir():  # a server that the test left running
        from slowwave.store import server

        server.stop(home)


def forget_environment(patch: pytest.MonkeyPatch, home: Path) -> None:
    """An environment without the developer's settings, with a home of its own."""
    for name in list(os.environ):
        if name.startswith(("SLOWWAVE_", "OPENLINEAGE_")):
            patch.delenv(name)
    patch.setenv("SLOWWAVE_HOME", str(home))
    patch.setenv(
        "SLOWWAVE_EMBEDDING_MODEL", STATIC_MODEL
    )  # a quarter of the default's CPU; who tests that takes this away

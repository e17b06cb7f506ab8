"""The instance of ``deploy/dagster.yaml``: how often it connects."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import psycopg2
import pytest
from sqlalchemy import make_url

from slowwave.store import server
from tests.clusters import administrator, dropped, run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def database(postgres: server.Server) -> Iterator[str]:
    """The name of an empty database."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    run(postgres.url("postgres"), f"CREATE DATABASE {name}")
    try:
        yield name
    finally:
        dropped(postgres, name)


@pytest.fixture
def home(postgres: server.Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the settings as they are shipped."""
    url = make_url(postgres.url(database)).set(drivername="postgresql+psycopg2")
    monkeypatch.setenv("SLOWWAVE_DAGSTER_URL", url.render_as_string(hide_password=False))
    shutil.copy(ROOT / "deploy" / "dagster.yaml", tmp_path)
    return tmp_path


@pytest.fixture
def connects(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each connection that was made."""
    made: list[object] = []
    connect = psycopg2.connect

    def counted(*arguments: Any, **options: Any) -> object:
        made.append(connection := connect(*arguments, **options))
        return connection

    monkeypatch.setattr(psycopg2, "connect", counted)
    return made


def _use(home: Path, key: str) -> None:
    with dg.DagsterInstance.from_config(str(home)) as instance:
        instance.add_dynamic_partitions("namespaces", [key])
        assert instance.has_dynamic_partition("namespaces", key)
        assert list(instance.get_run_records()) == []
        assert list(instance.all_instigator_state()) == []


def test_a_process_connects_once_for_all_that_its_instances_ask(home: Path, connects: list[object]) -> None:
    """A sensor's look makes an instance of its own, which asks events, runs and schedules; the first also makes the tables."""
    _use(home, "first")
    made = len(connects)
    for n in range(5):
        _use(home, str(n))
    assert len(connects) == made


def test_connections_that_the_server_ended_are_made_again(home: Path, postgres: server.Server, database: str) -> None:
    """As after a restart of the server, while the daemon runs."""
    _use(home, "before")
    ended = administrator(postgres).execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (database,)
    )
    assert ended.fetchall() == [(True,)]
    _use(home, "after")


def test_documented_instance_stores_runs_by_an_ordinary_address(
    postgres: server.Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain ``postgresql://`` address in the dagster.yaml of docs/dagster.md: runs are stored and announced to listeners (F18)."""
    page = (ROOT / "docs" / "dagster.md").read_text()
    (settings,) = re.findall(r"^```yaml\n(storage:.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "dagster.yaml").write_text(settings)
    monkeypatch.setenv("SLOWWAVE_DAGSTER_URL", postgres.url(database))

    @dg.op
    def nothing() -> None: ...

    @dg.job
    def quiet() -> None:
        nothing()

    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        run = quiet.execute_in_process(instance=instance)
        assert [record.dagster_run.run_id for record in instance.get_run_records()] == [run.run_id]
        assert dg.DagsterEventType.RUN_SUCCESS in {event.dagster_event_type for event in instance.all_logs(run.run_id)}

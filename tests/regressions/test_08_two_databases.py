"""Line 8: snapshots and reports were keyed by the namespace's name alone.

Two databases under one ``SLOWWAVE_HOME`` or one ``SLOWWAVE_SNAPSHOTS``, each with a namespace ``acme`` (an import gives both the same id
as well), wrote into one folder, and the retention of one deleted the snapshots of the other, whose plans and pages then had nothing
to rest on. Its reports went the same way. Now each database has a folder of its own, and retention removes what its ledger lists.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from slowwave.night.reports import reports_path
from slowwave.night.retention import retain
from slowwave.snapshots.files import base_path, load_snapshot
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.dreamers import copied, forgetful
from tests.memories import ask
from tests.nights import take_snapshot


def keeping_one(store: Store) -> Store:
    forgetful(store, "acme", rows=1, snapshot_keep_nights=1)
    return store


@pytest.fixture
def other(postgres: server.Server) -> Iterator[Store]:
    """Another database of the same server, made from the same template: only its number tells it apart."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template_slowwave STRATEGY FILE_COPY".encode())
        yield Store.embedded_in(postgres.url(name), postgres.home)
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.mark.parametrize("elsewhere", [False, True], ids=["home", "base"])
def test_two_databases_keep_their_own_snapshots(
    store: Store, other: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    """Each keeps one night: after two nights of each, the newest of both are there."""
    if elsewhere:
        monkeypatch.setenv("SLOWWAVE_SNAPSHOTS", str(tmp_path / "shared"))
    first, second = keeping_one(store), keeping_one(other)
    taken = [take_snapshot(s, "acme") for s in (first, second, first, second)]
    for location in taken[2:]:
        assert load_snapshot(location).namespace == "acme"
    for location in taken[:2]:
        assert not Path(location).exists()
    for one in first, second:
        assert ask(one, "SELECT count(*), count(deleted_at) FROM night.snapshots") == [(2, 1)]


def test_a_copy_of_a_database_is_another_one(store: Store, postgres: server.Server, database: str) -> None:
    """Its ledger lists what the original wrote; a night of the copy removes none of it."""
    first = take_snapshot(keeping_one(store), "acme")
    with copied(postgres, database) as copy:
        for _ in range(2):
            take_snapshot(copy, "acme")
        assert load_snapshot(first).namespace == "acme"


def test_snapshots_of_the_former_layout_go_with_the_ledger_that_lists_them(store: Store) -> None:
    """They lie beside another database's of the same namespace, and those stay."""
    taken = Path(take_snapshot(keeping_one(store), "acme"))
    former = Path(base_path(), "acme", taken.name)
    stranger = former.with_name("20260101T000000-aaaaaaaa")
    former.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(taken, stranger)
    if taken != former:
        taken.rename(former)
    ask(store, "UPDATE night.snapshots SET location = %s", str(former))
    assert load_snapshot(str(former)).namespace == "acme"
    take_snapshot(store, "acme")
    assert not former.exists()
    assert stranger.exists()


def test_retention_leaves_the_reports_of_another_database(store: Store) -> None:
    """Report files are named by run: only runs of this ledger go."""
    forgetful(store, "acme", rows=1)
    day = datetime.now(UTC) - timedelta(days=400)
    folder = reports_path(Settings()) / "acme" / f"{day:%Y-%m-%d}"
    folder.mkdir(parents=True)
    ((ours,),) = ask(
        store,
        "INSERT INTO night.runs (id, namespace_id, mode, state) SELECT gen_random_uuid(), id, 'plan', 'empty' FROM memory.namespaces "
        "RETURNING id::text",
    )
    files = [folder / f"{run}.manifest.json" for run in (ours, uuid.uuid4())]
    for file in files:
        file.write_text("{}")
    removed = retain(store, "acme", Settings(retention_runs_per_namespace=0, retention_days=30))
    assert removed["report_runs"] == 1
    assert [file.exists() for file in files] == [False, True]

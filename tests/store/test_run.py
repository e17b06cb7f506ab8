"""A run as it is read: its namespace's own expiry, counts that are numbers, and found by name."""

from __future__ import annotations

import os
import socket

import pytest

from slowwave.errors import DreamLockUnavailable, Refused
from slowwave.store.claims import crash_plan_run, open_plan_run, reopen_plan_run
from slowwave.store.connect import Store
from slowwave.store.runs import find_run, id_range, last_run, runs_of
from slowwave.store.settings import Settings
from slowwave.surfaces.api.dreams import dream_status
from tests.dreamers import dead_run
from tests.memories import ask, remember


def test_a_run_is_stuck_by_the_settings_of_its_namespace(store: Store) -> None:
    """The same age is alive in one namespace and stuck in another; wrong settings leave the default."""
    expiry = int(Settings.model_fields["heartbeat_expiry_seconds"].default)
    for slug, settings, known in (
        ("patient", {"heartbeat_expiry_seconds": 900}, 900),
        ("hasty", {"heartbeat_expiry_seconds": 30}, 30),
        ("wrong", {"heartbeat_expiry_seconds": "soon"}, expiry),
    ):
        remember(store, slug, settings)
        run_id = dead_run(store, slug, "plan", "planning", 60)
        with store.connect("reader") as connection:
            run = find_run(connection, run_id)
        assert (run.heartbeat_expiry_seconds, run.heartbeat_age_seconds) == (known, 60)
        assert (run.stuck, run.alive) == (known < 60, known >= 60)


def test_a_row_is_read_as_it_is(store: Store) -> None:
    """Ids that it lacks are empty, and counts that are no numbers are none."""
    namespace = remember(store, "acme")
    run_id = dead_run(store, "acme", "apply", "applying", 0)
    ask(
        store,
        'UPDATE night.runs SET counts = \'{"applied": 3, "by": {"gc": 1}}\', parameters = \'{"reason": "asked"}\'',
    )
    with store.connect("reader") as connection:
        (run,) = runs_of(connection, namespace, 5)
    assert (run.run_id, run.namespace, run.namespace_id) == (run_id, "acme", namespace)
    assert (run.plan_hash, run.approval_id, run.undo_of, run.error) == ("", "", "", "")
    assert (run.counts, run.reason, run.finished_at) == ({"applied": 3}, "asked", None)
    assert (run.process, run.dagster_run_id) == ("", "")


def test_run_names_the_process_that_works_on_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its machine and process id, those of the last process that took it up, in its status and in the refusal of another run."""
    remember(store, "acme")
    with store.connect("planner") as connection:
        run_id = open_plan_run(connection, "acme", dagster_run_id="d1")
        here = f"{socket.gethostname()} {os.getpid()}"
        run = find_run(connection, run_id)
        assert (run.process, run.dagster_run_id) == (here, "d1")
        with pytest.raises(DreamLockUnavailable, match=f"is planning acme, in process {here} \\("):
            open_plan_run(connection, "acme")
        crash_plan_run(connection, run_id, "gone")
        monkeypatch.setattr(socket, "gethostname", lambda: "another")
        reopen_plan_run(connection, find_run(connection, run_id))
    assert dream_status(run_id, store=store).process == f"another {os.getpid()}"


def test_a_run_is_found_by_a_name_that_is_one_alone(store: Store) -> None:
    for slug in ("acme", "other"):
        remember(store, slug)
    mine, theirs = dead_run(store, "acme", "plan", "planning", 9), dead_run(store, "other", "apply", "applying", 1)
    with store.connect("reader") as connection:
        assert find_run(connection, mine[:8]).run_id == mine
        assert find_run(connection, "last").run_id == theirs
        assert find_run(connection, "last", namespace="acme").run_id == mine
        assert last_run(connection, "acme").run_id == mine
        for name, modes, namespace in (
            ("zz", ("plan",), None),
            (mine, ("apply",), None),
            (mine, ("plan",), "other"),
            ("last", ("undo",), None),
        ):
            with pytest.raises(Refused):
                find_run(connection, name, modes, namespace)
        with pytest.raises(Refused, match="There are acme, other"):
            last_run(connection, None)


def test_the_beginning_of_an_id_is_a_range() -> None:
    assert id_range("ABCD") == ("abcd0000-0000-0000-0000-000000000000", "abcdffff-ffff-ffff-ffff-ffffffffffff")
    assert id_range("abc") is None
    assert id_range("wxyz") is None

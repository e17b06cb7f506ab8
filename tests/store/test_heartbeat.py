"""Heartbeats: refreshed while a run holds its namespace, by nobody after that, and expired by the namespace's settings."""

from __future__ import annotations

import threading

import pytest

from slowwave.night.runs import begin, crash
from slowwave.store.connect import Store
from slowwave.store.runs import beating, expiry_of, heartbeat_expiry
from slowwave.store.settings import Settings
from tests.dreamers import forgetful, row_of
from tests.memories import remember
from tests.waiting import until

DEFAULT = int(Settings.model_fields["heartbeat_expiry_seconds"].default)


@pytest.mark.parametrize(
    ("overlay", "seconds"),
    [
        ({"heartbeat_expiry_seconds": 45}, 45),
        ({}, DEFAULT),
        (None, DEFAULT),
        ({"heartbeat_expiry_seconds": "soon"}, DEFAULT),
    ],
)
def test_a_heartbeat_expires_by_the_settings_of_its_namespace(overlay: object, seconds: int) -> None:
    """Settings that are not valid leave the default: whoever holds the namespace must not hold it for ever."""
    assert expiry_of(overlay) == seconds


def test_the_expiry_of_a_namespace_is_read_from_the_store(store: Store) -> None:
    remember(store, "hasty", {"heartbeat_expiry_seconds": 7})
    with store.connect("reader") as connection:
        assert heartbeat_expiry(connection, "hasty") == 7
        assert heartbeat_expiry(connection, "nowhere") == DEFAULT


def test_a_heartbeat_is_refreshed_until_its_run_holds_nothing(store: Store) -> None:
    """Again and again, on its own connection; a run that ended is left alone."""
    slug = forgetful(store, rows=1)
    run_id = begin(store, slug)
    with beating(store, "planner", run_id, 1):
        beats: set[object] = set()
        until(lambda: beats.add(_beat(store, run_id)) or len(beats) > 3)
        crash(store, run_id, RuntimeError("over"))
        last = _beat(store, run_id)
        until(lambda: not [t for t in threading.enumerate() if t.name.startswith("heartbeat-")])
        assert _beat(store, run_id) == last


def _beat(store: Store, run_id: str) -> object:
    return row_of(store, run_id)[1]

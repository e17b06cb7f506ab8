"""Many namespaces in one run: each has the plan that a night of it alone has, and one that fails stops no other."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from slowwave.bindings import checks, stores
from slowwave.bindings.connect import note_changes
from slowwave.bindings.stores import disconnect
from slowwave.errors import DreamCancelled, DreamDisabledError, SlowwaveError, StoreError
from slowwave.night import several, snapshot
from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.night.several import in_processes, run_nights
from slowwave.night.snapshot import snapshot_of_night
from slowwave.night.status import gate
from slowwave.plans import lowering
from slowwave.plans.ledger import read_plan
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.files import load_snapshot
from slowwave.store.claims import request_cancel
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.settings import Settings
from tests.bindings.clients import run_as_owner
from tests.bindings.collections import USERS, collection
from tests.memories import ask, behind_triggers

AT = datetime(2026, 11, 1, tzinfo=UTC)


def hashes(store: Store, names: list[str]) -> dict[str, str]:
    found = dict(run_nights(store, names, now=AT))
    assert all(isinstance(night, Night) and night.plan for night in found.values()), found
    return {name: night.plan.plan_hash for name, night in found.items() if isinstance(night, Night) and night.plan}


def test_each_has_the_plan_of_a_night_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are read together, or none because all are too large: the same hash, and so the same cells."""
    names = collection(store)
    nights = {name: run_night(store, name, now=AT) for name in names}
    alone = {name: night.plan for name, night in nights.items()}
    assert sum(len(plan.items) for plan in alone.values() if plan) > len(names)
    expected = {name: plan.plan_hash for name, plan in alone.items() if plan}
    assert len(set(expected.values())) == len(names)
    read: list[int] = []
    export = several.export_snapshots

    def counted(store: Store, of: str, some: list[str]) -> object:
        read.append(len(some))
        return export(store, of, some)

    monkeypatch.setattr(several, "export_snapshots", counted)
    assert hashes(store, names) == expected
    assert read == [4]
    nights = {
        name: run_night(store, name, now=AT) for name in names
    }  # with the figures of a night before, as the next have
    read.clear()
    together = dict(run_nights(store, names, now=AT))
    assert {name: said(night) for name, night in together.items()} == {n: said(night) for n, night in nights.items()}
    assert {name: night.plan.plan_hash for name, night in nights.items() if night.plan} == expected
    assert read == [4]
    monkeypatch.setattr(several, "AT_ONCE", 24)
    assert hashes(store, names) == expected
    assert read == [4, 2, 2]
    monkeypatch.setattr(several, "SMALL", 0)
    assert hashes(store, names) == expected
    assert read == [4, 2, 2]


def said(night: Night | SlowwaveError) -> object:
    """All that a night came to, but for when and how long."""
    assert isinstance(night, Night)
    assert night.plan
    assert night.probes
    reports = {**night.reports, **night.proposals}
    untimed = {name: replace(report, started_at="", seconds=0.0) for name, report in reports.items()}
    items = [(i.id, i.decision, i.risk, i.evidence, i.mutation) for i in night.plan.items]
    return untimed, items, night.plan.plan_hash, night.plan.deferred, night.probes, night.why_nothing, night.new_items


def test_one_that_is_cancelled_makes_no_plan_and_the_next_goes_on(store: Store) -> None:
    """Small ones say seldom where they are: what a person decided meanwhile is seen when the plan would be written."""
    names = collection(store)[:2]

    def cancel(name: str) -> Callable[[str], None]:
        return lambda step: request_cancel(store, "last", name) and None if (name, step) == (names[0], "plan") else None

    found = dict(run_nights(store, names, progress=cancel))
    assert isinstance(found[names[0]], DreamCancelled)
    assert isinstance(found[names[1]], Night)
    rows = ask(
        store, "SELECT n.slug, r.state, r.plan_hash FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id"
    )
    assert ({(slug, state) for slug, state, plan in rows if plan is None}) == {(names[0], "cancelled")}
    assert len(rows) == 2


def test_what_did_not_change_is_skipped_and_one_that_fails_stops_no_other(store: Store) -> None:
    """Nights are off for one user; another one's client writes; the rest have nothing to do, and are not read."""
    names = collection(store)
    assert all(isinstance(night, Night) for _, night in run_nights(store, names))
    with store.connect("owner") as connection:
        connection.execute(
            """UPDATE memory.namespaces SET settings = '{"enabled": false}' WHERE slug = %s""", (names[-1],)
        )
    run_as_owner(
        store, f"DELETE FROM mem0 WHERE payload ->> 'user_id' = '{USERS[0]}' AND payload ->> 'data' LIKE 'Anna met%'"
    )
    assert note_changes(store) == 1
    found = dict(run_nights(store, names))
    (changed,) = [name for name, night in found.items() if isinstance(night, Night) and not night.skipped]
    assert changed.endswith(f"-{USERS[0]}")
    assert isinstance(found[names[-1]], DreamDisabledError)
    assert sum(isinstance(night, Night) and bool(night.skipped) for night in found.values()) == 2
    with store.connect("owner") as connection:
        disconnect(connection, "mem0")
    skipped = next(name for name, night in found.items() if isinstance(night, Night) and night.skipped)
    gone, held = dict(run_nights(store, names))[skipped], gate(store, skipped, Settings.for_namespace({}))
    assert isinstance(gone, Night)
    assert gone.removed_store == "mem0"
    assert held is not None
    assert held.gate == "unchanged"
    assert "mem0 was removed" in held.sentence
    assert "nothing was written" not in held.sentence


def test_what_was_read_with_others_is_read_again_when_something_happened_since(store: Store) -> None:
    """A change of the store, a setting, or another run: an old picture is not planned on."""
    (name, *_) = collection(store)
    old = export_snapshot(store, name)
    assert snapshot_of_night(store, name, exported=old).snapshot_id == old.snapshot_id
    again = replace(export_snapshot(store, name), change_counter=old.change_counter - 1)
    assert snapshot_of_night(store, name, exported=again).snapshot_id != again.snapshot_id
    for statement in (
        f"""UPDATE memory.namespaces SET settings = settings || '{{"enabled": true}}' WHERE slug = '{name}'""",
        f"INSERT INTO night.rejections (id, namespace_id, operation, subject, reason, rejected_by) "
        f"SELECT gen_random_uuid(), id, 'a', 'b', 'so', 'mara' "
        f"FROM memory.namespaces WHERE slug = '{name}'",
    ):
        fresh = export_snapshot(store, name)
        behind_triggers(store, statement)
        assert snapshot_of_night(store, name, exported=fresh).snapshot_id != fresh.snapshot_id
    fresh = export_snapshot(store, name)
    run_night(store, name, force=True)
    assert snapshot_of_night(store, name, exported=fresh).snapshot_id != fresh.snapshot_id


def test_what_was_read_with_others_is_not_read_again_from_its_files(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are written all the same, for whoever judges a part of the plan."""
    names = collection(store)
    monkeypatch.setattr(snapshot, "load_snapshot", None)
    nights = [night for _, night in run_nights(store, names) if isinstance(night, Night)]
    assert len(nights) == len(names)
    with store.connect("reader") as connection:
        places = connection.execute("SELECT location, id FROM night.snapshots").fetchall()
    assert {load_snapshot(str(place)).snapshot_id for place, _ in places} == {night.snapshot_id for night in nights}
    with pytest.raises(TypeError):
        run_night(store, names[0], force=True)


def test_how_texts_follow_is_looked_at_once_a_store(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a pass over all rows of the store: not one for each user whose text would be rewritten."""
    names = collection(store)
    asked: list[str] = []
    structures: list[str] = []
    recipes, unfit = checks.recipes, stores.why_unfit

    def unfit_counted(connection: Connection, of: stores.ConnectedStore) -> str:
        structures.append(of.name)
        return unfit(connection, of)

    def counted(store: Store, of: object) -> object:
        asked.append(str(of))
        return recipes(store, of)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(lowering, "recipes", counted)
    monkeypatch.setattr(stores, "why_unfit", unfit_counted)
    found = [night for _, night in run_nights(store, names) if isinstance(night, Night)]
    assert sum(1 for night in found if any("nobody said which model" in s for s in told(store, night))) == 3
    assert len(asked) == len(structures) == 1


def told(store: Store, night: Night) -> list[str]:
    """What the plan says that it left out."""
    assert night.plan is not None
    with store.connect("reader") as connection:
        return [str(s) for s in read_plan(connection, night.plan.plan_hash).summary.get("sentences", ())]  # pyright: ignore


def test_several_processes_find_what_one_finds(store: Store) -> None:
    """The same plans by hash, and failures with their sentences, whichever process they come from."""
    names = collection(store)
    expected = hashes(store, names)
    run_as_owner(store, f"""UPDATE memory.namespaces SET settings = '{{"enabled": false}}' WHERE slug = '{names[0]}'""")
    found = dict(run_nights(store, names, now=AT, jobs=2))
    assert found.keys() == set(names)
    failed = found.pop(names[0])
    assert isinstance(failed, DreamDisabledError)
    assert names[0] in str(failed)
    plans = {name: night.plan.plan_hash for name, night in found.items() if isinstance(night, Night) and night.plan}
    assert plans == {name: expected[name] for name in names[1:]}


def test_what_an_ended_process_had_not_told_is_a_failure() -> None:
    """The others are told, and the sentence says what to do."""
    found = dict(in_processes(1, [["a"], ["b"]], end_of_a))
    assert isinstance(found["a"], StoreError)
    assert "fewer --jobs" in str(found["a"])
    assert found.keys() == {"a", "b"}


def test_a_copy_made_later_sees_the_variables_of_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the processes are copies of may have been started before a variable was set, and after another was. On Linux it has loaded what
    all of them read."""
    monkeypatch.setenv("SLOWWAVE_WHOSE", "first")
    dict(in_processes(1, [["a"]], what_is_seen))
    monkeypatch.delenv("SLOWWAVE_WHOSE")
    monkeypatch.setenv("SLOWWAVE_OTHER", "second")
    found = dict(in_processes(1, [["SLOWWAVE_WHOSE", "SLOWWAVE_OTHER"]], what_is_seen))
    assert {name: isinstance(night, Night) and night.run_id for name, night in found.items()} == {
        "SLOWWAVE_WHOSE": "",
        "SLOWWAVE_OTHER": "second",
    }
    loaded = dict(in_processes(1, [["slowwave.night.preloaded"]], what_is_loaded))["slowwave.night.preloaded"]
    assert isinstance(loaded, Night)
    assert bool(loaded.run_id) == (sys.platform == "linux")


def what_is_loaded(names: Sequence[str]) -> list[tuple[str, Night | SlowwaveError]]:
    """The modules of those names that a process has before it asked for any."""
    return [(name, Night(name, run_id=name if name in sys.modules else "")) for name in names]


def what_is_seen(names: Sequence[str]) -> list[tuple[str, Night | SlowwaveError]]:
    """The variables of those names, where a night has its run."""
    return [(name, Night(name, run_id=os.environ.get(name, ""))) for name in names]


def end_of_a(names: Sequence[str]) -> list[tuple[str, Night | SlowwaveError]]:
    """Work whose process does not live to tell of it."""
    if "a" in names:
        os.kill(os.getpid(), signal.SIGKILL)
    return [(name, Night(name)) for name in names]

"""Word of what was written to a store: one for each batch that was committed, to a channel at once and to an address until it answers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest

from slowwave.bindings.connect import connect_store
from slowwave.bindings.files import read_binding
from slowwave.bindings.stores import let_write
from slowwave.errors import BindingError
from slowwave.night.delivery import SECRET, URL_NOTICES, deliver, diagnose_notices, endpoint, sign
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.sources.following import look_at_stores
from slowwave.store.connect import Store
from tests.bindings.clients import run_as_owner
from tests.memories import ask
from tests.permitting import approve
from tests.receivers import Receiver
from tests.waiting import until

KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NOTES = """store = "notes"
[notify]
channel = "notes_written"
hook = true
[tables.memories]
table = "notes"
key = { id = "bigint" }
namespace = "owner"
retired = { at = "gone", type = "boolean", test = "true" }
retire = { by = "columns", set = { gone = true } }
[tables.memories.columns]
content = "body"
gone = { at = "gone", type = "boolean" }
vector = { at = "embedding", type = "vector" }
"""


@pytest.fixture
def notes(store: Store) -> Store:
    """A table of which a plan retires one row."""
    run_as_owner(
        store,
        "CREATE TABLE notes (id bigint PRIMARY KEY, owner text, body text, gone boolean DEFAULT false, embedding vector(2))",
        "INSERT INTO notes VALUES (1, 'anna', 'Anna prefers tea', false, '[1,0]'), (2, 'anna', 'Anna prefers tea.', false, '[1,0]'), "
        "(3, 'ben', 'Ben prefers tea', false, '[1,0]')",
    )
    connect_store(store, "table", own_text=NOTES, grant=True)
    let_write(store, "notes", grant=True)
    return store


@pytest.fixture
def listener(notes: Store) -> Iterator[psycopg.Connection]:
    with psycopg.connect(notes.owner, autocommit=True) as connection:
        connection.execute("LISTEN notes_written")
        yield connection


def applied(store: Store) -> str:
    plan = run_night(store, "notes-anna", force=True).plan
    assert plan is not None
    approval = approve(store, "notes-anna", plan.plan_hash, approver="mara", force=True, note="a test")
    return apply_approval(store, approval.id).run_id


def test_whoever_keeps_something_beside_a_store_is_told_what_was_written(
    notes: Store, listener: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody answers at first: the apply stands and the notice waits; then it comes, signed, under the id that it had; undo is told too."""
    answers = iter([503, 204, 204])
    receiver = Receiver(lambda _delivery, _number: (next(answers), {}))
    try:
        monkeypatch.setenv(URL_NOTICES, f"{receiver.url}/token-in-a-path")
        monkeypatch.setenv(SECRET, KEY)
        caplog.set_level("DEBUG")
        run = applied(notes)
        (gone,) = [str(i) for (i,) in ask(notes, "SELECT id FROM notes WHERE gone")]
        (told,) = [json.loads(n.payload) for n in listener.notifies(timeout=5, stop_after=1)]
        assert (told["store"], told["run_id"], told["undo"]) == ("notes", run, False)
        assert [d.problem for d in diagnose_notices(notes)] == [False]
        assert "503" in diagnose_notices(notes)[0].finding
        until(lambda: look_at_stores(notes) == [] and len(receiver.deliveries) > 1)
        first, second = receiver.deliveries
        assert first.body == second.body
        assert first.headers["webhook-id"] == second.headers["webhook-id"]
        to = endpoint("store")
        assert to is not None
        stamp = int(second.headers["webhook-timestamp"])
        assert second.headers["webhook-signature"] == sign(to.keys, second.headers["webhook-id"], stamp, second.body)
        assert second.content["data"] == {
            **{"store": "notes", "namespace": "notes-anna", "run_id": run, "undo": False},
            "tables": {"public.notes": [[gone]]},
        }
        assert deliver(notes) == 0
        assert diagnose_notices(notes) == []
        undone = undo_run(notes, run)
        assert receiver.deliveries[2].content["data"]["run_id"] == undone.run_id
        assert receiver.deliveries[2].content["data"]["undo"] is True
        assert receiver.deliveries[2].content["data"]["tables"] == {"public.notes": [[gone]]}
        assert "token-in-a-path" not in caplog.text
    finally:
        receiver.close()


def test_what_was_not_committed_is_told_nobody_and_what_is_refused_is_given_up(
    notes: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client changed the row: nothing was written. Without an address notices wait; one that answers 410 is asked no more."""
    plan = run_night(notes, "notes-anna", force=True).plan
    assert plan is not None
    run_as_owner(notes, "UPDATE notes SET body = 'Anna prefers coffee' WHERE owner = 'anna'")
    approval = approve(notes, "notes-anna", plan.plan_hash, approver="mara", force=True, note="a test")
    assert apply_approval(notes, approval.id).counts["applied"] == 0
    assert ask(notes, "SELECT count(*) FROM night.notices") == [(0,)]
    run_as_owner(notes, "UPDATE notes SET body = 'Anna prefers coffee.' WHERE id = 2")
    applied(notes)
    assert "Set SLOWWAVE_NOTIFY_URL" in diagnose_notices(notes)[0].remedy
    receiver = Receiver(lambda _delivery, _number: (410, {}))
    try:
        monkeypatch.setenv(URL_NOTICES, receiver.url)
        assert deliver(notes) == 0, "no address without a secret that signs"
        monkeypatch.setenv(SECRET, KEY)
        assert (deliver(notes), deliver(notes), len(receiver.deliveries)) == (0, 0, 1)
        assert "given up" in diagnose_notices(notes)[0].finding
    finally:
        receiver.close()


def test_two_senders_share_what_waits_and_a_killed_one_keeps_it_for_a_while(
    notes: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one posts, no transaction is open and another finds nothing to send; what a killed one had claimed is sent when its claim has
    run out, under the same id."""
    applied(notes)
    meanwhile: list[object] = []

    def answered(_delivery: object, _number: int) -> tuple[int, dict[str, str]]:
        meanwhile.append(deliver(notes))
        locks = "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE c.relname = 'notices'"
        meanwhile.extend(ask(notes, locks))
        return 204, {}

    receiver = Receiver(answered)
    try:
        monkeypatch.setenv(URL_NOTICES, receiver.url)
        monkeypatch.setenv(SECRET, KEY)
        run_as_owner(
            notes,
            "UPDATE night.notices SET claim = gen_random_uuid(), claimed_until = clock_timestamp() + interval '1 minute'",
        )
        assert (deliver(notes), len(receiver.deliveries)) == (0, 0)
        run_as_owner(notes, "UPDATE night.notices SET claimed_until = clock_timestamp() - interval '1 second'")
        assert (deliver(notes), meanwhile) == (1, [0, (0,)])
        assert (deliver(notes), len(receiver.deliveries)) == (0, 1)
        assert ask(notes, "SELECT count(*) FROM night.notices WHERE claim IS NOT NULL") == [(0,)]
    finally:
        receiver.close()


def test_a_binding_tells_somebody_or_says_nothing_of_it() -> None:
    with pytest.raises(BindingError, match=r"line 2.*tells nobody"):
        read_binding(NOTES.replace('channel = "notes_written"\nhook = true\n', ""))
    with pytest.raises(BindingError, match="channel"):
        read_binding(NOTES.replace("notes_written", "Notes; DROP TABLE notes"))

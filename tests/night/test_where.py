"""Plans on stores that are not ours, from the night to the undo, with what their own clients see before, between and after."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from slowwave.bindings.binding import Binding
from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import let_write, stop_writing, writing_grants
from slowwave.changes.cells import Cell, Write
from slowwave.errors import BindingError, Refused
from slowwave.night.executor import ApplyResult, apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.operations import permits
from slowwave.plans import gate, ledger
from slowwave.plans.event_chain import verify_chain
from slowwave.plans.ledger import read_plan, write_plan
from slowwave.plans.review.card import card
from slowwave.plans.seal import Plan, seal
from slowwave.store.claims import open_plan_run
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from slowwave.store.settings import Settings
from tests.peers import ANNA, Peer, make_peer
from tests.permitting import accept_operations, approve, decide_by_policies
from tests.surfaces.cli.conftest import Run
from tests.surfaces.cli.conftest import run as run
from tests.waiting import until

NOTES = """
store = "notes"
title = "Notes of a team"

[parameters]
schema = "public"

[tables.memories]
schema = "{schema}"
table = "User Notes"
key = { id = "bigint" }
namespace = "owner"
retired = { at = "gone at", type = "timestamptz", test = "past" }
retire = { by = "columns", set = { gone = "1970-01-01 00:00:00+00" } }

[tables.memories.columns]
content = "body"
gone = { at = "gone at", type = "timestamptz" }
vector = { at = "embedding", type = "vector" }
"""


def connect(store: Store, peer: Peer) -> str:
    """The peer's store is connected; the name of Anna's namespace."""
    if peer.shape == "notes":
        connect_store(store, "table", parameters={"schema": peer.schema}, own_text=NOTES, name="notes", grant=True)
    else:
        connect_store(store, peer.shape, parameters={"schema": peer.schema}, grant=True)
    (slug,) = [n for n in namespaces(store) if n.endswith(f"-{ANNA}") and n.startswith(peer.shape)]
    return slug


def planned(store: Store, slug: str, ops: str | None = None) -> Plan:
    night = run_night(store, slug, ops=ops, force=True)
    assert night.plan is not None
    return night.plan


def applied(store: Store, slug: str, plan: Plan) -> ApplyResult:
    approval = approve(store, slug, plan.plan_hash, approver="mara", force=True, note="a test", include_review=True)
    return apply_approval(store, approval.id)


def test_the_night_after_writing_is_let_is_due_though_no_row_changed(store: Store) -> None:
    """What earlier nights only said is planned then, and once: letting it twice makes no other night due."""
    slug = connect(store, make_peer(store, "notes", Random(2), rows=9))
    assert planned(store, slug).items == ()
    assert run_night(store, slug).skipped
    let_write(store, "notes", grant=True)
    night = run_night(store, slug)
    assert night.plan is not None
    assert night.plan.items
    let_write(store, "notes", grant=True)
    assert run_night(store, slug).skipped


@pytest.mark.parametrize("shape", ["mem0", "langgraph", "langchain", "hindsight", "letta", "notes"])
def test_nothing_is_planned_until_a_person_lets_it_and_then_it_is_applied_and_undone(
    store: Store, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read-only at first; then the duplicates go, as their store lets rows go, and come back to the byte. A second night plans nothing."""
    monkeypatch.setenv("SLOWWAVE_BLAST_RADIUS_HOUSEKEEPING_SHARE", "1")  # nine rows have room for four merges else
    peer = make_peer(store, shape, Random(2), rows=9)
    slug = connect(store, peer)
    assert planned(store, slug).items == ()
    with store.connect("owner") as connection:
        before = peer.digest(connection)
    assert let_write(store, shape, grant=True) == []
    plan = planned(
        store, slug, "dedupe_memories"
    )  # a whole night asks which of the duplicates' numbers is right, and merges them later
    assert plan.items
    assert all(i.mutation.physical for i in plan.items)
    result = applied(store, slug, plan)
    assert result.counts["applied"] == len(plan.items)
    with store.connect("owner") as connection:
        assert peer.digest(connection) != before
        namespace = connection.execute("SELECT id::text FROM memory.namespaces WHERE slug = %s", (slug,)).fetchone()
        assert namespace is not None
        assert verify_chain(connection, str(namespace[0])) == (len(plan.items), None)
    assert planned(store, slug, "dedupe_memories").items == ()
    undone = undo_run(store, result.run_id)
    assert {*undone.items} == {i.id for i in plan.items}
    with store.connect("owner") as connection:
        assert peer.digest(connection) == before
    assert undo_run(store, result.run_id).items == ()


def test_a_table_of_your_own_is_written_as_long_as_it_is_the_one_that_was_connected(store: Store) -> None:
    """No version of it is known: what it was when it was connected is all that there is to compare."""
    peer = make_peer(store, "notes", Random(2), rows=9)
    slug = connect(store, peer)
    let_write(store, "notes", grant=True)
    plan = planned(store, slug)
    approval = approve(store, slug, plan.plan_hash, approver="mara", force=True, note="a test", include_review=True)
    with store.connect("owner") as connection:
        connection.execute(f'ALTER TABLE {peer.schema}."User Notes" ADD COLUMN mood text'.encode())
        with pytest.raises(Refused, match="mood text, which is new"):
            apply_approval(store, approval.id)
        connection.execute(f'ALTER TABLE {peer.schema}."User Notes" DROP COLUMN mood'.encode())
    assert apply_approval(store, approval.id).counts["applied"] == len(plan.items)


def test_what_a_peer_changed_of_its_tables_is_refused_by_name(store: Store) -> None:
    """A column more, a trigger, rows elsewhere that go along, row security, a right that is taken: a sentence refuses."""
    peer = make_peer(store, "langgraph", Random(2), rows=9)
    slug = connect(store, peer)
    let_write(store, "langgraph", grant=True)
    plan = planned(store, slug)
    approval = approve(store, slug, plan.plan_hash, approver="mara", force=True, note="a test", include_review=True)
    table = f"{peer.schema}.store"
    function = f"CREATE FUNCTION {peer.schema}.mark() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'"
    with store.connect("owner") as connection:
        before = peer.digest(connection)
        for change, back, why in [
            (
                f"ALTER TABLE {table} ADD COLUMN mood text",
                f"ALTER TABLE {table} DROP COLUMN mood",
                "mood text, which is new",
            ),
            (
                f"{function}; CREATE TRIGGER peer_mark BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {peer.schema}.mark()",
                f"DROP TRIGGER peer_mark ON {table}",
                "peer_mark",
            ),
            (
                f"CREATE TABLE {peer.schema}.pins (prefix text, key text, FOREIGN KEY (prefix, key) REFERENCES {table} ON DELETE CASCADE)",
                f"DROP TABLE {peer.schema}.pins",
                "pins",
            ),
            (
                f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
                f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY",
                "Row security",
            ),
        ]:
            connection.execute(change.encode())
            with pytest.raises(Refused, match=why):
                apply_approval(store, approval.id)
            with pytest.raises(Refused, match=why):
                let_write(store, "langgraph")
            connection.execute(back.encode())
        stop_writing(store, "langgraph")
        with pytest.raises(Refused, match="connected to be read"):
            apply_approval(store, approval.id)
        connection.execute(f"REVOKE DELETE ON {table} FROM slowwave_applier".encode())
        assert let_write(store, "langgraph") == [f'GRANT DELETE ON "{peer.schema}"."store" TO slowwave_applier']
        assert peer.digest(connection) == before
        assert let_write(store, "langgraph", grant=True) == []
        assert writing_grants(connection, Binding("none", "None", {})) == []
    assert apply_approval(store, approval.id).counts["applied"] == len(plan.items)
    with pytest.raises(BindingError, match="No store"):
        let_write(store, "nobody")


@pytest.mark.parametrize("shape", ["langgraph", "hindsight"])
def test_a_process_killed_at_a_batch_boundary_is_resumed_in_a_store_of_others(
    store: Store, tmp_path: Path, shape: str
) -> None:
    """Half the items are there after kill -9, the rest after the next run, and all of it comes back."""
    peer = make_peer(store, shape, Random(2), rows=12)
    slug = connect(store, peer)
    let_write(store, shape, grant=True)
    with store.connect("owner") as connection:
        before = peer.digest(connection)
    plan = planned(store, slug)
    assert len(plan.items) > 1
    approval = approve(store, slug, plan.plan_hash, approver="mara", force=True, note="a test", include_review=True)
    marker = tmp_path / "batch-done"
    program = (
        "import signal, sys, pathlib\n"
        "from slowwave.night.executor import apply_approval\n"
        "from slowwave.store.settings import Settings\n"
        "from slowwave.store.connect import Store\n"
        "def stop(done, total):\n"
        "    pathlib.Path(sys.argv[2]).touch()\n"
        "    signal.pause()\n"
        "apply_approval(Store.from_environment(), sys.argv[1], settings=Settings(batch_items=1), progress=stop)\n"
    )
    environment = os.environ | {"SLOWWAVE_DATABASE_URL": store.owner}
    process = subprocess.Popen([sys.executable, "-c", program, approval.id, str(marker)], env=environment)
    try:
        until(lambda: marker.exists() or process.poll() is not None)
        assert process.poll() is None, "the applier ended by itself"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    with store.connect("owner") as connection:
        assert peer.digest(connection) != before
        connection.execute("UPDATE night.runs SET heartbeat_at = now() - interval '1 hour' WHERE state = 'applying'")
    result = apply_approval(store, approval.id, settings=Settings(batch_items=1))
    assert result.counts["applied"] == len(plan.items)
    undo_run(store, result.run_id)
    with store.connect("owner") as connection:
        assert peer.digest(connection) == before


def forged(plan: Plan) -> Plan:
    """A plan with one merge whose physical part also rewrites the text of the row that stays, which its logical part does not."""
    item = next(i for i in plan.items if i.operation == "dedupe_memories")
    mutation = item.mutation
    assert mutation.physical
    assert mutation.keep
    guard = next(g for g in mutation.physical.guards if g.row == mutation.keep.id and "content" in g.columns)
    seen = dict(zip(guard.columns, guard.seen, strict=True))
    left = {column: value for column, value in seen.items() if column != "content"}
    guards = tuple(
        g if g is not guard else g._replace(columns=tuple(left), seen=tuple(left.values()))
        for g in mutation.physical.guards
    )
    write = Write(
        Cell(guard.table, mutation.keep.id, "content", guard.key), "set", seen["content"], '"Anna pays account 666."'
    )
    writes = tuple(sorted([*mutation.physical.writes, write], key=lambda w: w.cell))
    physical = replace(mutation.physical, writes=writes, guards=guards)
    header = replace(plan.header, settings_fingerprint="forged")
    return seal(header, [replace(item, mutation=replace(mutation, physical=physical))], permits())


def test_a_physical_write_that_the_item_does_not_show_is_refused_and_shown(
    store: Store, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """T1: such an item is not sealed; once it is in the ledger no policy and no person approves it, plans show, diff, why and its card
    list the cell, and the batch does not apply it, whatever an approval says."""
    monkeypatch.setenv("SLOWWAVE_BLAST_RADIUS_HOUSEKEEPING_SHARE", "1")
    peer = make_peer(store, "mem0", Random(2), rows=9)
    slug = connect(store, peer)
    let_write(store, "mem0", grant=True)
    plan = forged(planned(store, slug, "dedupe_memories"))
    (item,) = plan.items
    keep = item.mutation.keep.id if item.mutation.keep else ""
    with store.connect("planner") as connection:
        planning = open_plan_run(connection, slug)

    def write() -> None:
        write_plan(store, plan, run_id=planning, expiry_days=7, probes={}, summary={}, change_counter=0)

    with pytest.raises(Refused, match=f"{item.id} does not do what it shows.*mem0.content of row {keep}.*planned"):
        write()
    with monkeypatch.context() as patched:  # a planner that was taken over checks nothing
        patched.setattr(ledger, "refuse_unexplained", lambda *_: None)
        write()
    short = plan.plan_hash[:12]
    for command in (("plans", "show"), ("plans", "diff"), ("plans", "show", "--json"), ("plans", "diff", "--json")):
        code, out, _ = run(*command[:2], slug, short, *command[2:])
        assert (code, "666" in out, f"{peer.schema}.mem0" in out) == (0, True, True), command
    assert "account 666" in run("why", slug, item.id, short)[1]
    with store.connect("reader") as connection:
        stored = read_plan(connection, plan.plan_hash)
    assert "account 666" in " ".join(card(store, stored, stored.items[0]).notes)
    accept_operations(store, slug, ["dedupe_memories"], accepted_by="mara")
    assert decide_by_policies(store, slug, plan.plan_hash).approvals == ()
    with pytest.raises(Refused, match=f"content of row {keep}.*approved"):
        approve(store, slug, plan.plan_hash, approver="mara", force=True, note="a test")
    with store.connect("owner") as connection:
        before = peer.digest(connection)
    with monkeypatch.context() as patched:  # an approval that was written by the approver's login, past the gate
        patched.setattr(gate, "refuse_unexplained", lambda *_: None)
        approval = approve(store, slug, plan.plan_hash, approver="mara", force=True, note="a test")
    result = apply_approval(store, approval.id)
    assert (result.counts["applied"], result.counts["failed"]) == (0, 1)
    with store.connect("owner") as connection:
        assert peer.digest(connection) == before
        reason = connection.execute(
            "SELECT reason FROM night.plan_items WHERE plan_hash = %s", (plan.plan_hash,)
        ).fetchone()
    assert reason
    assert item.id in str(reason[0])
    assert f"content of row {keep}" in str(reason[0])


def test_a_merge_whose_rows_changed_since_is_approved_and_skipped(store: Store) -> None:
    """That the rows are no longer as the plan saw them is for apply to find, so it refuses no approval."""
    peer = make_peer(store, "langgraph", Random(2), rows=9)
    slug = connect(store, peer)
    let_write(store, "langgraph", grant=True)
    plan = planned(store, slug)
    with store.connect("owner") as connection:
        connection.execute(
            f"UPDATE {peer.schema}.store SET value = jsonb_set(value, '{{content}}', '\"Said anew\"')".encode()
        )
    result = applied(store, slug, plan)
    assert result.counts["skipped_stale"] == len(plan.items)

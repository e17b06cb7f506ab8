"""Apply does exactly what was signed, exactly once, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread

import psycopg
import pytest

from slowwave.changes.cells import Cell, Change, Write
from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.mutation import Mutation, Row
from slowwave.changes.simulate import simulate
from slowwave.errors import DreamApplyDisabled, DreamLockUnavailable, Refused, UndoBlocked
from slowwave.night.executor import ApplyResult, apply_approval, stood_in
from slowwave.night.run_events import (
    Event,
    OperationEvent,
    PhaseCompleted,
    PhaseStarted,
    RunCompleted,
    RunFailed,
    RunStarted,
)
from slowwave.night.undo import undo_run
from slowwave.plans.event_chain import verify_chain
from slowwave.plans.gate import Approval
from slowwave.plans.items import Item
from slowwave.plans.ledger import read_plan
from slowwave.plans.seal import Plan
from slowwave.plans.switches import apply_disabled
from slowwave.plans.waiting import waiting_approvals
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.claims import request_cancel
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from tests.bindings.clients import run_as_owner
from tests.changes.test_shared_edge import shared_edge
from tests.dreamers import dead_run
from tests.memories import ask
from tests.nights import archive_items, new_world, pair_items, write_a_plan
from tests.permitting import approve
from tests.waiting import until
from tests.worlds import MODEL, World, assert_same, load_world

ONE_BY_ONE = Settings(batch_items=1)


def approved(store: Store, seed: int = 7) -> tuple[World, Snapshot, Plan, Approval]:
    world = new_world(store, seed)
    snapshot, plan = write_a_plan(store, world)
    return world, snapshot, plan, approve(store, world.slug, plan.plan_hash, approver="mara")


def signed(plan: Plan, approval: Approval) -> list[Item]:
    return [i for i in plan.items if i.id in approval.item_ids]


def counted(**counts: int) -> dict[str, int]:
    return {"applied": 0, "skipped_stale": 0, "failed": 0, "deferred": 0, "noop": 0} | counts


def statuses(store: Store, plan: Plan) -> dict[str, str]:
    with store.connect("reader") as connection:
        return {s.item.id: s.status for s in read_plan(connection, plan.plan_hash).items}


def test_apply_does_what_was_simulated_and_undo_takes_it_back(store: Store) -> None:
    """From signature to exact undo, with an event chain that verifies after each."""
    world, snapshot, plan, approval = approved(store)
    before = digest(store, world.slug)
    result = apply_approval(store, approval.id)
    items = signed(plan, approval)
    assert (result.state, result.counts) == ("completed", counted(applied=len(items)))
    assert_same(export_snapshot(store, world.slug), simulate(snapshot, items), items)
    undone = undo_run(store, "last")
    assert (undone.undo_of, set(undone.items)) == (result.run_id, {i.id for i in items})
    assert digest(store, world.slug) == before
    assert {statuses(store, plan)[i.id] for i in items} == {"undone"}
    with store.connect("reader") as connection:
        assert verify_chain(connection, world.namespace_id) == (2 * len(items), None)
    assert undo_run(store, result.run_id).items == (), "undoing twice changes nothing"


def test_applying_twice_is_applying_once(store: Store) -> None:
    """The second call finds the applied row and gives the first one's result."""
    world, _, _, approval = approved(store)
    first = apply_approval(store, approval.id)
    after = digest(store, world.slug)
    assert apply_approval(store, approval.id) == first
    assert digest(store, world.slug) == after
    assert waiting_approvals(store) == []


def test_an_exception_at_any_batch_boundary_is_resumed_under_the_same_run(store: Store) -> None:
    """After every batch in turn the process fails; the next one goes on, and the end is the same."""
    world, snapshot, plan, approval = approved(store)
    items = signed(plan, approval)
    assert len(items) > 3

    def pull_the_plug(done: int, total: int) -> None:
        raise RuntimeError(f"after {done} of {total}")

    for n in range(1, len(items) + 1):
        with pytest.raises(RuntimeError):
            apply_approval(store, approval.id, settings=ONE_BY_ONE, progress=pull_the_plug)
        assert list(statuses(store, plan).values()).count("applied") == n
        assert waiting_approvals(store) == [(approval.id, world.slug)], "a crashed run can be resumed"
    result = apply_approval(store, approval.id, settings=ONE_BY_ONE)
    assert result.counts["applied"] == len(items)
    assert_same(export_snapshot(store, world.slug), simulate(snapshot, items), items)
    with store.connect("reader") as connection:
        rows = connection.execute(
            "SELECT count(DISTINCT run_id), count(DISTINCT item_id) FROM night.journal"
        ).fetchone()
        assert rows == (1, len(items))
        assert verify_chain(connection, world.namespace_id) == (len(items), None)


def test_a_process_killed_with_signal_9_is_resumed(store: Store, tmp_path: Path) -> None:
    """Nobody can say goodbye after kill -9: the heartbeat expires, the claim is taken over, the rest is applied."""
    world, snapshot, plan, approval = approved(store)
    items = signed(plan, approval)
    marker = tmp_path / "batch-done"
    program = (
        "import signal, sys, pathlib\n"
        "from slowwave.night.executor import apply_approval\n"
        "from slowwave.store.settings import Settings\n"
        "from slowwave.store.connect import Store\n"
        "def stop(done, total):\n"
        "    if done >= 2:\n"
        "        pathlib.Path(sys.argv[2]).touch()\n"
        "        signal.pause()\n"
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
    assert sorted(statuses(store, plan)[i.id] for i in items).count("applied") == 2
    with pytest.raises(DreamLockUnavailable, match="is writing to"):
        apply_approval(store, approval.id)
    with store.connect("owner") as connection:
        connection.execute("UPDATE night.runs SET heartbeat_at = now() - interval '1 hour' WHERE state = 'applying'")
    assert apply_approval(store, approval.id).counts["applied"] == len(items)
    assert_same(export_snapshot(store, world.slug), simulate(snapshot, items), items)


def test_two_appliers_at_once_apply_once(store: Store) -> None:
    """One wins; the other is told who holds the namespace, or finds the work done."""
    world, snapshot, plan, approval = approved(store)
    items = signed(plan, approval)
    barrier = Barrier(2)
    answers: list[ApplyResult | DreamLockUnavailable] = []

    def work() -> None:
        barrier.wait()
        try:
            answers.append(apply_approval(store, approval.id, settings=ONE_BY_ONE))
        except DreamLockUnavailable as refusal:
            answers.append(refusal)

    threads = [Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = [a for a in answers if isinstance(a, ApplyResult)]
    assert done
    assert len(answers) == 2
    assert len({a.run_id for a in done}) == 1
    assert_same(export_snapshot(store, world.slug), simulate(snapshot, items), items)
    with store.connect("reader") as connection:
        assert connection.execute("SELECT count(*) FROM night.memory_events").fetchone() == (len(items),)


def test_another_namespace_goes_on_while_one_is_held(store: Store) -> None:
    """A claim is one namespace's."""
    _, _, _, held = approved(store)
    _, _, _, free = approved(store, seed=500)
    with store.connect("applier") as connection:
        connection.execute(
            "INSERT INTO night.runs (id, namespace_id, mode, state) SELECT gen_random_uuid(), namespace_id, 'apply', 'applying' "
            "FROM night.approvals WHERE id = %s",
            (held.id,),
        )
    with pytest.raises(DreamLockUnavailable):
        apply_approval(store, held.id)
    assert apply_approval(store, free.id).state == "completed"


def test_a_stale_item_is_skipped_with_its_cell_and_the_rest_applies(store: Store) -> None:
    """A row that changed after planning is never forced; nobody else's change is lost."""
    world, _, plan, approval = approved(store)
    items = signed(plan, approval)
    touched = items[0].mutation.row_ids()[0]
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.entities SET name = 'Someone else' WHERE id = %s", (touched,))
    result = apply_approval(store, approval.id)
    assert result.counts == counted(applied=len(items) - 1, skipped_stale=1)
    with store.connect("reader") as connection:
        stored = {s.item.id: s for s in read_plan(connection, plan.plan_hash).items}
    assert stored[items[0].id].reason == f"entities.name of row {touched} is no longer what the plan saw."
    names = {e["id"]: e["name"] for e in export_snapshot(store, world.slug).table("entities").to_pylist()}
    assert names[touched] == "Someone else"


def test_all_items_stale_still_writes_applied(store: Store) -> None:
    """Else the sensor would start it again for ever."""
    world, _, plan, approval = approved(store)
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.entities SET name = name || '!'")
        connection.execute("UPDATE memory.memories SET state = 'quarantined'")
    before = digest(store, world.slug)
    result = apply_approval(store, approval.id)
    assert result.counts == counted(skipped_stale=len(signed(plan, approval)))
    assert digest(store, world.slug) == before
    assert waiting_approvals(store) == []


def test_an_item_that_the_database_refuses_fails_alone(store: Store) -> None:
    """One row meets a constraint of the operator's own; its batch is applied item by item around it."""
    _, _, plan, approval = approved(store)
    items = signed(plan, approval)
    victim = next(i for i in items if i.mutation.absorb)
    with store.connect("owner") as connection:
        keep_out = f"CHECK (id <> '{victim.mutation.absorb[0].id}' OR merged_into IS NULL)"
        connection.execute(f"ALTER TABLE memory.entities ADD CONSTRAINT keep_out {keep_out}".encode())
    result = apply_approval(store, approval.id)
    assert result.counts == counted(applied=len(items) - 1, failed=1)
    with store.connect("reader") as connection:
        stored = {s.item.id: s for s in read_plan(connection, plan.plan_hash).items}
    assert stored[victim.id].status == "failed"
    assert "violates check constraint" in stored[victim.id].reason


def test_an_item_that_cannot_even_be_prepared_fails_alone(store: Store) -> None:
    """A vector that is no base64 raises in Python, before the database is asked; its neighbours in the batch are applied."""
    world = new_world(store)
    snapshot = export_snapshot(store, world.slug)
    row = snapshot.live("entities")["id"].to_pylist()[0]
    cell = Cell("entity_vectors", row, "vector", MODEL)
    broken = Mutation(
        "set_vector", "entity_vectors", writes=(Write(cell, "set", "no base64!", "***"),), rows=(Row(row),)
    )
    items = [*archive_items(snapshot), Item("recompute_centroids", "centroid", broken)]
    _, plan = write_a_plan(store, world, items=items)
    result = apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara").id)
    assert (result.state, result.counts) == ("completed", counted(applied=len(items) - 1, failed=1))
    with store.connect("reader") as connection:
        stored = {s.item.operation: s for s in read_plan(connection, plan.plan_hash).items}
    failed = stored["recompute_centroids"]
    assert failed.status == "failed"
    assert "could not be prepared" in failed.reason
    assert "***" not in failed.reason, "a reason quotes no memory"


def test_a_batch_that_meets_an_agent_in_a_deadlock_is_tried_again(store: Store) -> None:
    """The database ends one of the two; ours comes back and finishes, whichever it was."""
    world, snapshot, plan, approval = approved(store)
    items = signed(plan, approval)
    memory = sorted(world.ids("memories"))[0]
    entity = items[0].mutation.row_ids()[0]
    barrier = Barrier(2)

    def agent() -> None:
        with store.connect("owner") as connection:
            connection.execute("SET deadlock_timeout = '10s'")  # ours looks first, and is the one that is ended
            with connection.transaction():
                connection.execute("UPDATE memory.memories SET access_count = access_count WHERE id = %s", (memory,))
                barrier.wait()
                until(lambda: ask(store, "SELECT 1 FROM pg_locks WHERE NOT granted"))
                connection.execute("UPDATE memory.entities SET mention_count = mention_count WHERE id = %s", (entity,))

    thread = Thread(target=agent)
    thread.start()
    barrier.wait()
    result = apply_approval(store, approval.id)
    thread.join()
    assert result.counts == counted(applied=len(items))
    assert_same(export_snapshot(store, world.slug), simulate(snapshot, items), items)


def test_what_is_so_already_is_told_apart_from_what_is_stale(store: Store) -> None:
    """Somebody archived one memory as planned and another one otherwise; a third item never changed anything."""
    world = new_world(store)
    with store.connect("owner") as connection:
        for n in range(3):
            connection.execute(
                "INSERT INTO memory.memories (id, namespace_id, kind, state) VALUES (gen_random_uuid(), %s, 'episodic', %s)",
                (world.namespace_id, "archived" if n == 0 else "active"),
            )
    snapshot = export_snapshot(store, world.slug)
    items = archive_items(snapshot)
    _, plan = write_a_plan(store, world, items=items)
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    active = [i for i in items if i.mutation.writes]
    idle = [i for i in items if not i.mutation.writes]
    same, other = active[0].mutation.row_ids()[0], active[1].mutation.row_ids()[0]
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.memories SET state = 'archived' WHERE id = %s", (same,))
        connection.execute("UPDATE memory.memories SET state = 'quarantined' WHERE id = %s", (other,))
    result = apply_approval(store, approval.id)
    assert len(idle) > 0
    assert result.counts == counted(applied=len(active) - 2, skipped_stale=1, noop=1 + len(idle))
    found = statuses(store, plan)
    assert (found[active[0].id], found[active[1].id], found[idle[0].id]) == ("noop", "skipped_stale", "noop")
    undone = undo_run(store, result.run_id)
    assert len(undone.items) == len(active) - 2, "what was not changed is not taken back"


def test_deferred_items_are_counted_apart(store: Store) -> None:
    """The loser of a conflict waits for the next night, and is neither applied nor failed."""
    world = new_world(store)
    snapshot = export_snapshot(store, world.slug)
    live = snapshot.live("entities")["id"].to_pylist()[:3]
    both = [merge_rows(snapshot, [Merge(a, (b,))])[0] for a, b in ((live[0], live[1]), (live[1], live[2]))]
    _, plan = write_a_plan(store, world, items=[Item("dedupe_entities", "merge", m) for m in both])
    assert len(plan.deferred) == 1
    result = apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara").id)
    assert result.counts == counted(applied=1, deferred=1)


def test_a_run_tells_its_events_as_they_happened(store: Store) -> None:
    """Started, its phase, every item with its real status and its share of the time, completed; an undo likewise."""
    world, _, plan, approval = approved(store)
    items = signed(plan, approval)
    with store.connect("owner") as connection:
        touched = items[0].mutation.row_ids()[0]
        connection.execute("UPDATE memory.entities SET name = 'Someone else' WHERE id = %s", (touched,))
    heard: list[Event] = []
    result = apply_approval(store, approval.id, callbacks=[heard.append])
    assert [type(e) for e in heard if not isinstance(e, OperationEvent)] == [
        RunStarted,
        PhaseStarted,
        PhaseCompleted,
        RunCompleted,
    ]
    told = {e.op_id: e for e in heard if isinstance(e, OperationEvent)}
    assert {i: e.status for i, e in told.items()} == {
        i.id: "skipped_stale" if i.id == items[0].id else "applied" for i in items
    }
    phase = next(e for e in heard if isinstance(e, PhaseCompleted))
    assert 0 < sum(e.duration_ms for e in told.values()) <= phase.duration_ms
    end = heard[-1]
    assert isinstance(end, RunCompleted)
    assert (end.run_id, end.mode, end.state, dict(end.counts)) == (result.run_id, "apply", "completed", result.counts)
    heard.clear()
    undone = undo_run(store, result.run_id, callbacks=[heard.append])
    assert {e.op_id for e in heard if isinstance(e, OperationEvent) and e.status == "undone"} == set(undone.items)
    end = heard[-1]
    assert isinstance(end, RunCompleted)
    assert (end.mode, end.counts) == ("undo", {"undone": len(items) - 1})
    assert world.slug == end.namespace


def test_a_run_that_fails_says_so_without_its_text(store: Store) -> None:
    """An error may quote memory: sinks get its type and a hash."""
    _, _, _, approval = approved(store)
    heard: list[Event] = []

    def pull_the_plug(done: int, total: int) -> None:
        raise RuntimeError("secret words")

    with pytest.raises(RuntimeError):
        apply_approval(store, approval.id, progress=pull_the_plug, callbacks=[heard.append])
    assert isinstance(heard[-1], RunFailed)
    assert heard[-1].error_type == "RuntimeError"
    assert "secret" not in str(heard)


def test_a_run_is_cancelled_between_batches_and_can_be_resumed(store: Store) -> None:
    """Cancel works from another connection; what was committed stands, the rest stays pending."""
    world, snapshot, plan, approval = approved(store)
    items = signed(plan, approval)

    def cancel(done: int, total: int) -> None:
        if done == 2:
            with store.connect("reader") as connection:
                row = connection.execute("SELECT id::text FROM night.runs WHERE state = 'applying'").fetchone()
            assert row is not None
            request_cancel(store, str(row[0]))

    result = apply_approval(store, approval.id, settings=ONE_BY_ONE, progress=cancel)
    assert result.state == "cancelled"
    assert result.counts == counted(applied=2, approved=len(items) - 2)
    assert waiting_approvals(store) == [], "no sensor restarts what a person stopped"
    assert waiting_approvals(store, cancelled=True) == [(approval.id, world.slug)]
    resumed = apply_approval(store, approval.id)
    assert (resumed.run_id, resumed.counts["applied"]) == (result.run_id, len(items))
    assert_same(export_snapshot(store, world.slug), simulate(snapshot, items), items)


@pytest.mark.parametrize(
    ("value", "disabled"), [("1", True), ("yes", True), ("0", False), ("no", False), ("False", False), ("", False)]
)
@pytest.mark.parametrize("variable", ["SLOWWAVE_DISABLE_APPLY", "KHORA_DREAM_DISABLE_APPLY"])
def test_the_kill_switch(
    store: Store, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, disabled: bool
) -> None:
    """Any value but none, empty, 0, false and no stops apply and undo before anything is written."""
    monkeypatch.setenv(variable, value)
    assert apply_disabled() == (variable if disabled else "")
    if not disabled:
        return
    world, _, _, approval = approved(store)
    before = digest(store, world.slug)
    with pytest.raises(DreamApplyDisabled, match=variable):
        apply_approval(store, approval.id)
    assert digest(store, world.slug) == before


def test_the_kill_switch_stops_a_run_between_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at before every batch."""
    _, _, plan, approval = approved(store)
    with pytest.raises(DreamApplyDisabled):
        apply_approval(
            store,
            approval.id,
            settings=ONE_BY_ONE,
            progress=lambda *_: monkeypatch.setenv("SLOWWAVE_DISABLE_APPLY", "1"),
        )
    assert sorted(statuses(store, plan).values()).count("applied") == 1
    monkeypatch.delenv("SLOWWAVE_DISABLE_APPLY")
    assert apply_approval(store, approval.id).counts["applied"] == len(signed(plan, approval))


def test_a_read_only_namespace_is_never_written(store: Store) -> None:
    """The setting is the namespace's own, and it beats an approval."""
    world, _, _, approval = approved(store)
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.namespaces SET read_only = true WHERE slug = %s", (world.slug,))
    with pytest.raises(DreamApplyDisabled, match="read-only"):
        apply_approval(store, approval.id)


def test_a_plan_whose_items_were_changed_after_sealing_is_refused(store: Store) -> None:
    """The hash is the plan's identity: whoever lifts the triggers and edits night.plan_items gets nothing applied."""
    world, _, plan, approval = approved(store)
    before = digest(store, world.slug)
    with store.connect("owner") as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "UPDATE night.plan_items SET mutation = jsonb_set(mutation, '{rows,0,external_id}', '\"forged\"') "
            "WHERE plan_hash = %s AND operation = 'archive_stale'",
            (plan.plan_hash,),
        )
    with pytest.raises(Refused, match="no longer matches its hash"):
        apply_approval(store, approval.id)
    assert digest(store, world.slug) == before


def test_a_run_that_is_refused_under_way_ends_refused_and_goes_on_when_the_cause_is_gone(store: Store) -> None:
    """Somebody changes the plan's expiry after the first item: no crash to look for, and the sentence stands on the run."""
    world, snapshot, plan, approval = approved(store)
    items = signed(plan, approval)
    ended: list[tuple[str, str]] = []

    def shift(days: int) -> None:
        with store.connect("owner") as connection:
            connection.execute("SET session_replication_role = replica")
            connection.execute("UPDATE night.plans SET expires_at = expires_at + make_interval(days => %s)", (days,))

    def heard(event: Event) -> None:
        if isinstance(event, (RunCompleted, RunFailed)):
            ended.append((type(event).__name__, getattr(event, "state", "")))

    with pytest.raises(Refused):
        apply_approval(
            store, approval.id, settings=ONE_BY_ONE, progress=lambda done, _: shift(int(done == 1)), callbacks=[heard]
        )
    ((run, state, error),) = ask(store, "SELECT id::text, state, error FROM night.runs WHERE mode = 'apply'")
    assert (state, plan.plan_hash[:12] in str(error)) == ("refused", True)
    assert ended == [("RunCompleted", "refused")]
    assert waiting_approvals(store) == [(approval.id, world.slug)]
    shift(-1)
    result = apply_approval(store, approval.id)
    assert (result.run_id, result.counts["applied"]) == (run, len(items))
    assert_same(export_snapshot(store, world.slug), simulate(snapshot, items), items)


def test_a_run_that_was_refused_can_be_cancelled_and_is_started_no_more(store: Store) -> None:
    """As one that crashed: nobody wants the rest of it any more."""
    world, _, _, approval = approved(store)
    run = dead_run(store, world.slug, "apply", "refused", 0)
    with store.connect("owner") as connection:
        connection.execute("UPDATE night.runs SET approval_id = %s WHERE id = %s", (approval.id, run))
    assert request_cancel(store, run).state == "cancelled"
    assert waiting_approvals(store) == []


def test_progress_after_each_batch_is_stored_on_the_run(store: Store) -> None:
    """Any process can see how far a run is, also between its batches."""
    _, _, plan, approval = approved(store)
    total = len(signed(plan, approval))
    seen: list[tuple[object, ...]] = []
    apply_approval(
        store,
        approval.id,
        settings=ONE_BY_ONE,
        progress=lambda done, total: seen.extend(
            ask(store, "SELECT progress -> 'done', progress -> 'total' FROM night.runs WHERE mode = 'apply'")
        ),
    )
    assert seen == [(done, total) for done in range(1, total + 1)]


def test_stood_in_names_the_places_of_folder_blocks() -> None:
    """A skipped item names the files that a person has to look at; rows without a place and other stores are left out."""
    block = Write(Cell("memory.folder_blocks", "1", "content"), "set", "old", "new")
    rows = (Row("1", "b.md, line 2"), Row("2"), Row("3", "a.md, line 1"))
    folder = Mutation("set_state", "memories", rows=rows, physical=Change(writes=(block,)))
    assert stood_in(folder) == " When it was planned it stood in: a.md, line 1; b.md, line 2."
    assert stood_in(replace(folder, rows=(Row("2"),))) == ""
    assert stood_in(replace(folder, physical=None)) == ""


def test_there_is_no_apply_without_an_approval(store: Store) -> None:
    """A made-up id is a sentence, not a stack trace."""
    with pytest.raises(Refused, match="There is no approval"):
        apply_approval(store, "00000000-0000-0000-0000-000000000000")


def test_undo_of_named_items_leaves_the_others(store: Store) -> None:
    """An operator takes back one merge at 3 a.m. and keeps the rest."""
    world, snapshot, plan, approval = approved(store)
    items = signed(plan, approval)
    result = apply_approval(store, approval.id)
    gone = items[0]
    assert undo_run(store, result.run_id, items=[gone.id[:12]]).items == (gone.id,)
    assert_same(export_snapshot(store, world.slug), simulate(snapshot, items[1:]), items)


def test_undo_names_the_later_run_that_stands_on_it(store: Store) -> None:
    """A second merge absorbed the first one's survivor, edges and all: undo the later run first."""
    world = shared_edge()
    load_world(store, world)
    anna, anne, _, _, bystander = world.ids("entities")
    start = digest(store, world.slug)
    runs: list[str] = []
    for merge in (Merge(anna, (anne,)), Merge(bystander, (anna,))):
        (mutation,) = merge_rows(export_snapshot(store, world.slug), [merge])
        _, plan = write_a_plan(store, world, items=[Item("dedupe_entities", "merge", mutation)])
        runs.append(apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara").id).run_id)
    before = digest(store, world.slug)
    with pytest.raises(UndoBlocked, match=runs[1]):
        undo_run(store, runs[0])
    assert digest(store, world.slug) == before
    ((state, error),) = ask(store, "SELECT state, error FROM night.runs WHERE mode = 'undo'")
    assert (state, runs[1] in str(error)) == ("refused", True)
    undo_run(store, runs[1])
    undo_run(store, runs[0])
    assert digest(store, world.slug) == start


def test_undo_leaves_the_items_on_which_later_changes_stand_and_takes_back_all_others(store: Store) -> None:
    """An agent wrote to one of the rows: its item stays to the letter, nobody has to name the others, and they can be applied again."""
    world, snapshot, plan, approval = approved(store)
    items = signed(plan, approval)
    result = apply_approval(store, approval.id)
    applied = digest(store, world.slug)
    kept, cell = next((i, w.cell) for i in items for w in i.mutation.writes if w.cell.column == "invalidated_at")

    def write(instant: object) -> object:
        """Write an instant into the cell; returns the one before."""
        one = f"FROM memory.{cell.table} WHERE id = %s"
        ((before,),) = ask(store, f"SELECT invalidated_at {one}", cell.row)
        ask(store, f"UPDATE memory.{cell.table} SET invalidated_at = %s WHERE id = %s", instant, cell.row)
        return before

    written = write("2031-01-01Z")
    with pytest.raises(UndoBlocked, match=r"1 item of this run was changed later.*--leave-changed") as refused:
        undo_run(store, result.run_id)
    assert refused.value.items == (kept.id,)
    with pytest.raises(UndoBlocked):
        undo_run(store, result.run_id, items=[kept.id], leave_changed=True)
    undone = undo_run(store, result.run_id, leave_changed=True)
    assert (undone.left, set(undone.items)) == ((kept.id,), {i.id for i in items} - {kept.id})
    assert statuses(store, plan)[kept.id] == "applied"
    write(written)
    assert_same(export_snapshot(store, world.slug), simulate(snapshot, [kept]), items)
    undo_run(store, undone.run_id)
    assert digest(store, world.slug) == applied


def test_undo_of_an_erased_run_refuses_and_says_so(store: Store) -> None:
    """Erasure empties before-images; the journal keeps their hashes."""
    world, _, _, approval = approved(store)
    result = apply_approval(store, approval.id)
    with store.connect("owner") as connection:
        connection.execute("DELETE FROM night.before_images")
    before = digest(store, world.slug)
    with pytest.raises(UndoBlocked, match="were erased"):
        undo_run(store, result.run_id)
    assert digest(store, world.slug) == before


def test_a_broken_chain_names_the_first_event_that_does_not_fit(store: Store) -> None:
    """Whoever rewrites history with superuser rights is found."""
    world, _, plan, approval = approved(store)
    apply_approval(store, approval.id)
    with store.connect("owner") as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE night.memory_events SET payload_hash = 'x' WHERE sequence = 2")
        assert verify_chain(connection, world.namespace_id) == (2, 2)
        connection.execute("SET session_replication_role = origin")
        with pytest.raises(psycopg.errors.RaiseException):
            connection.execute("DELETE FROM night.memory_events")
    assert len(signed(plan, approval)) >= 2


def test_undo_last_after_a_run_without_changes_takes_the_run_before_it(store: Store) -> None:
    """An apply run whose items were all stale has nothing to undo; only such runs together are refused, with a reason."""
    world = new_world(store)
    stale = stale_run(store, world)
    with pytest.raises(Refused, match=f"1 apply run of {world.slug} changed nothing, so there is nothing to undo"):
        undo_run(store, "last", namespace=world.slug)
    assert undo_run(store, stale.run_id).items == (), "named by its id, it is found, and nothing is changed"
    before = digest(store, world.slug)
    _, plan = write_a_plan(store, world, items=pair_items(export_snapshot(store, world.slug)))
    changing = apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara").id)
    stale_run(store, world)
    undone = undo_run(store, "last", namespace=world.slug)
    assert (undone.undo_of, len(undone.items)) == (changing.run_id, changing.counts["applied"])
    assert digest(store, world.slug) != before, "the rows that made the second run stale keep their change"
    assert undo_run(store, "last").undo_of == changing.run_id, "a repeated command does not undo an older run"


def stale_run(store: Store, world: World) -> ApplyResult:
    """Apply a plan for memories that all changed after it was approved."""
    snapshot = export_snapshot(store, world.slug)
    _, plan = write_a_plan(store, world, items=archive_items(snapshot))
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    run_as_owner(store, "UPDATE memory.memories SET state = CASE state WHEN 'active' THEN 'cold' ELSE 'active' END")
    result = apply_approval(store, approval.id)
    assert (result.state, result.counts["applied"]) == ("completed", 0)
    return result

"""Memory blocks of a Letta server: proposed for, written through its API once, and given back by undo."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from itertools import count
from multiprocessing.process import BaseProcess

import pytest

from slowwave.bindings.stores import let_write, store_named
from slowwave.errors import Refused, UndoBlocked
from slowwave.night.executor import ApplyResult, apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.plans.seal import Plan
from slowwave.sources.folder_sources import KEY, checked_address, diagnose_folders
from slowwave.sources.following import FolderFollower, FolderSync, connect_letta, follow_folder, tree_states
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.memories import ask
from tests.permitting import approve
from tests.processes import started
from tests.sources.letta_server import LettaServer

TOKEN = "a-token-of-letta-4f9aQ7rT2mZx8"
SECRET = "sk-live-4f9aQ7rT2mZx8LpKc3VbN6wYdHsE1uJg0oRi5tAe"
HUMAN = "Name: Anna\nAnna prefers tea over coffee\nAnna lives in Oslo with two cats\nAnna prefers tea over coffee.\n"
PROJECT = f"- The staging database runs on port 5433\n- The billing API key is {SECRET}\n- Bought a kiln"
SHUT = "Never say this.\nNever say this.\n"


@pytest.fixture
def letta(monkeypatch: pytest.MonkeyPatch) -> Iterator[LettaServer]:
    server = LettaServer(TOKEN)
    monkeypatch.setenv(KEY, TOKEN)
    server.add("human", HUMAN)
    server.add("project/billing", PROJECT)
    server.add("rules", SHUT, read_only=True)
    server.add("persona", SHUT, is_template=True)
    server.add("empty", "")
    yield server
    server.close()


def connected(store: Store, letta: LettaServer) -> None:
    sync = connect_letta(store, letta.url, embedder_for(Settings.for_namespace({}))).sync
    assert (sync.files, len(sync.left)) == (3, 2)
    let_write(store, "letta_api")


def planned(store: Store) -> Plan:
    night = run_night(store, "letta-api", force=True)
    assert night.plan is not None, night.why_nothing
    return night.plan


def approved(store: Store, plan: Plan) -> str:
    return approve(
        store, "letta-api", plan.plan_hash, approver="mara", force=True, note="a test", include_review=True
    ).id


def applied(store: Store, plan: Plan) -> ApplyResult:
    return apply_approval(store, approved(store, plan))


def apply_in_a_process(store: Store, approval: str, environment: dict[str, str]) -> None:
    """What a killed process runs."""
    os.environ.update(environment)
    apply_approval(store, approval)


def undo_in_a_process(store: Store, run: str, environment: dict[str, str]) -> None:
    """As above."""
    os.environ.update(environment)
    undo_run(store, run)


def killed(letta: LettaServer, last: int, process: BaseProcess) -> None:
    """Kill a process that waits for the answer to its request of that number."""
    asked, dead, numbers = threading.Event(), threading.Event(), count(1)

    def hold(_method: str, _id: str) -> None:
        if next(numbers) == last:
            asked.set()
            dead.wait(60)

    letta.after = hold
    assert asked.wait(120)
    process.kill()
    process.join()
    dead.set()
    letta.after = lambda _method, _id: None


def followed(store: Store) -> FolderSync:
    with store.connect("reader") as connection:
        of = store_named(connection, "letta_api")
    return follow_folder(store, of)


def test_a_plan_is_written_through_the_api_once_and_undo_gives_every_value_back(
    store: Store, letta: LettaServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A duplicate line goes and a secret leaves; blocks that are read-only or templates are left out; the key is nowhere."""
    caplog.set_level(logging.DEBUG)
    before = letta.values()
    human, project, *others = before
    connected(store, letta)
    plan = planned(store)
    assert {"dedupe_memories", "redact_or_quarantine"} <= {item.operation for item in plan.items}
    assert letta.values() == before
    result = applied(store, plan)
    assert result.counts["applied"] == len(plan.items)
    after = letta.values()
    assert after[human].count("prefers tea") == 1
    assert [line for line in after[human].splitlines() if "tea" not in line] == [
        "Name: Anna",
        "Anna lives in Oslo with two cats",
    ]
    assert after[project] == f"{PROJECT.splitlines()[0]}\n- Bought a kiln"
    assert {id_: after[id_] for id_ in others} == {id_: before[id_] for id_ in others}
    assert sorted(letta.written) == [human, project]
    assert ask(store, "SELECT message FROM night.findings WHERE operation = 'folder'") == [], "nothing waits"
    assert followed(store).written == []
    again = run_night(store, "letta-api", force=True).plan
    assert again is None or again.items == ()
    undo_run(store, result.run_id)
    assert letta.values() == before
    assert sorted(letta.written) == sorted([human, project] * 2)
    assert TOKEN not in caplog.text
    for schema, table in ask(
        store,
        "SELECT table_schema::text, table_name::text FROM information_schema.tables "
        "WHERE table_schema IN ('memory', 'night') AND table_type = 'BASE TABLE'",
    ):
        held = f'SELECT count(*) FROM "{schema}"."{table}" t WHERE position(%s IN t::text) > 0'
        assert ask(store, held, TOKEN) == [(0,)], f"{schema}.{table}"


def test_what_was_written_since_stands_and_is_named(store: Store, letta: LettaServer) -> None:
    """Before an apply it makes the item of that line stale; while one writes, the rest follows beside it; undo of it is refused by name."""
    human, project, *_ = letta.blocks
    connected(store, letta)
    plan = planned(store)
    with store.connect("reader") as connection:
        assert [state.changed for state in tree_states(connection, ["letta-api"])] == [False]
    mine = PROJECT.replace("The billing API key is", "The key of billing is")
    letta.blocks[project]["value"] = mine
    with store.connect("reader") as connection:
        first, second = (tree_states(connection, ["letta-api"]) for _ in range(2))
    assert first[0].changed
    assert first == second, "a state has one night"
    reads = iter(range(10))

    def an_agent_writes(method: str, id_: str) -> None:
        if (method, id_) == ("GET", human) and next(reads) == 1:  # what is read right before the write
            letta.blocks[human]["value"] += "Anna has a boat\n"

    letta.before = an_agent_writes
    result = applied(store, plan)
    letta.before = lambda _method, _id: None
    assert result.counts["skipped_stale"] == 1
    why = str(ask(store, "SELECT reason FROM night.plan_items WHERE status = 'skipped_stale'"))
    assert f"it stood in: project/billing/{project}.md, line 2" in why
    assert letta.values()[project] == mine
    assert letta.values()[human] == f"{HUMAN}Anna has a boat\n", "not written over"
    told = str(ask(store, "SELECT message FROM night.findings WHERE operation = 'folder'"))
    assert f"human/{human}.md" in told
    FolderFollower().before_night(store, "letta-api")
    now = letta.values()[human]
    assert (now.count("prefers tea"), now.endswith("Anna has a boat\n")) == (1, True)
    assert letta.written == [human]
    second_run = applied(store, planned(store))
    assert SECRET not in letta.values()[project]
    letta.blocks[project]["value"] = "- Bought a wheel"
    letta.blocks[human]["value"] = "Anna drinks neither"
    undo_run(store, second_run.run_id)
    assert letta.values()[project].splitlines() == [mine.splitlines()[1], "- Bought a wheel"]
    assert letta.values()[human] == "Anna drinks neither"


def test_a_line_that_a_plan_rewrote_and_somebody_since_is_refused_by_its_block(
    store: Store, letta: LettaServer
) -> None:
    """Undo names the block and the line; the value stays. What is too long for a block is said, and not sent."""
    letta.add("diary", "# 2026-03-02\nAnna met Clara yesterday at the harbour office.\n")
    full = letta.add("diary", "# 2026-03-02\nAnna met Dora yesterday at the ferry landing.\n", limit=60)
    diary = list(letta.blocks)[-2]
    connect_letta(store, letta.url, embedder_for(Settings.for_namespace({})))
    let_write(store, "letta_api")
    result = applied(store, planned(store))
    assert "yesterday (2026-03-01)" in letta.values()[diary]
    assert "yesterday at" in letta.values()[full]
    assert full not in letta.written
    told = str(ask(store, "SELECT message FROM night.findings WHERE operation = 'folder'"))
    assert f"diary/{full}.md: the block has not followed yet" in told
    assert "Letta keeps 60" in told
    letta.blocks[diary]["value"] = letta.values()[diary].replace("at the harbour", "by the harbour")
    with pytest.raises(UndoBlocked, match=rf"diary/{diary}\.md, line 2"):
        undo_run(store, result.run_id)
    assert "by the harbour" in letta.values()[diary]


@pytest.mark.parametrize("last", [2, 3, 4], ids=["read", "written", "read-again"])
def test_a_process_killed_around_a_write_is_gone_on_with_and_nothing_is_written_twice(
    store: Store, letta: LettaServer, last: int
) -> None:
    """The process never hears the answer to a request about the first block: the read before the write, the write, or the read after it.
    So it is with an undo. Whoever looks next sees what was written, and writes the rest."""
    before = letta.values()
    human, project, *_ = before
    connected(store, letta)
    approval = approved(store, planned(store))
    killed(letta, last, started(apply_in_a_process, store, approval, {KEY: TOKEN}))
    assert letta.written == [human][: last - 2]
    due = "SELECT count(DISTINCT path) FROM memory.folder_blocks WHERE gone <> (said = '') AND kind <> 'left'"
    assert ask(store, due) == [(2,)], "the intent is in the rows"
    ask(store, "UPDATE night.runs SET heartbeat_at = heartbeat_at - interval '1 hour'")
    result = apply_approval(store, approval)
    assert ask(store, due) == [(0,)]
    assert letta.written == [human, project]
    assert letta.values()[human].count("prefers tea") == 1
    killed(letta, last, started(undo_in_a_process, store, result.run_id, {KEY: TOKEN}))
    assert ask(store, due) == [(2,)]
    FolderFollower().before_night(store, "letta-api")
    assert ask(store, due) == [(0,)]
    assert letta.values() == before
    assert letta.written == [human, project] * 2


def test_an_agent_that_writes_before_a_killed_process_is_gone_on_with_takes_nothing_from_undo(
    store: Store, letta: LettaServer
) -> None:
    """Letta has what the plan wrote, and no row says so yet, when an agent adds a line: the plan's lines are not taken for the agent's."""
    human, project, *_ = letta.blocks
    diary = letta.add("diary", "# 2026-03-02\nAnna met Clara yesterday at the harbour office.\n")
    before = letta.values()
    connect_letta(store, letta.url, embedder_for(Settings.for_namespace({})))
    let_write(store, "letta_api")
    approval = approved(store, planned(store))
    killed(letta, 3, started(apply_in_a_process, store, approval, {KEY: TOKEN}))
    (first,) = letta.written
    letta.blocks[first]["value"] += "An agent adds this.\n"
    ask(store, "UPDATE night.runs SET heartbeat_at = heartbeat_at - interval '1 hour'")
    result = apply_approval(store, approval)
    assert sorted(letta.written) == sorted([diary, human, project])
    killed(letta, 3, started(undo_in_a_process, store, result.run_id, {KEY: TOKEN}))
    letta.blocks[first]["value"] += "An agent adds that.\n"
    FolderFollower().before_night(store, "letta-api")
    assert letta.values() == {
        **before,
        first: f"{before[first]}An agent adds this.\nAn agent adds that.\n",
    }


def test_while_letta_takes_its_time_no_row_is_locked_and_what_changes_meanwhile_follows(
    store: Store, letta: LettaServer
) -> None:
    """A change that is committed while a block is written is not taken for written with it."""
    human, *_ = letta.blocks
    connected(store, letta)
    locks: list[tuple[object, ...]] = []

    def look(method: str, id_: str) -> None:
        locks.extend(
            ask(
                store,
                "SELECT c.relname, l.mode FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE l.pid <> pg_backend_pid() "
                "AND c.relname LIKE 'folder%%' AND l.mode LIKE 'Row%%'",
            )
        )
        if (method, id_) == ("PATCH", human) and not locks:
            ask(store, "UPDATE memory.folder_blocks SET gone = true WHERE body LIKE '%%two cats' AND NOT gone")

    letta.before = look
    applied(store, planned(store))
    assert locks == []
    assert "two cats" in letta.values()[human]
    followed(store)
    assert "two cats" not in letta.values()[human]


def test_a_server_that_is_away_or_takes_no_key_stops_the_night_and_loses_nothing(
    store: Store, letta: LettaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is said in a sentence, and neither the key nor what the server answered is in one; a server without its blocks is no order."""
    connected(store, letta)
    rows = ask(store, "SELECT count(*) FROM memory.folder_blocks")
    assert any("read-only" in said.finding for said in diagnose_folders(store))
    other = TOKEN[::-1]
    monkeypatch.setenv(KEY, other)
    with pytest.raises(Refused, match=rf"set {KEY}") as refused:
        FolderFollower().before_night(store, "letta-api")
    assert other not in str(refused.value)
    assert any(said.problem and KEY in said.finding for said in diagnose_folders(store))
    monkeypatch.setenv(KEY, TOKEN)
    kept, letta.blocks = letta.blocks, {}
    with pytest.raises(Refused, match="nothing was taken for gone"):
        FolderFollower().before_night(store, "letta-api")
    letta.blocks = kept
    letta.close()
    with pytest.raises(Refused, match="does not answer"):
        FolderFollower().before_night(store, "letta-api")
    assert ask(store, "SELECT count(*) FROM memory.folder_blocks") == rows


def test_what_hinders_reading_back_is_told_on_the_run_and_no_value_is_written_twice(
    store: Store, letta: LettaServer
) -> None:
    """The key is withdrawn right after the first write; with one again, the next look finds that written, and writes what is left."""
    human, project, *_ = letta.blocks
    connected(store, letta)
    plan = planned(store)

    def withdraw(method: str, _id: str) -> None:
        letta.key = "another" if method == "PATCH" else letta.key

    letta.after = withdraw
    assert applied(store, plan).counts["applied"] == len(plan.items)
    told = str(ask(store, "SELECT message FROM night.findings WHERE operation = 'folder'"))
    assert f"set {KEY}" in told
    assert TOKEN not in told
    letta.after, letta.key = lambda _method, _id: None, TOKEN
    assert followed(store).written == [f"project/billing/{project}.md"]
    assert letta.written == [human, project]


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("http://localhost:8283/", "http://localhost:8283"),
        ("https://api.letta.com/v1", "https://api.letta.com"),
        ("localhost:8283", ""),
        ("file:///etc/passwd", ""),
        ("http://anna:hunter2@localhost:8283", ""),
        ("http://localhost:8283/?token=hunter2", ""),
    ],
)
def test_an_address_is_kept_without_a_secret(url: str, kept: str) -> None:
    """One that holds more than host and path is refused, and what it holds is not said."""
    if kept:
        assert checked_address(url) == kept
        return
    with pytest.raises(Refused) as refused:
        checked_address(url)
    assert "hunter2" not in str(refused.value)

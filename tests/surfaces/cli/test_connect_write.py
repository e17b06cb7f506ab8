"""``slowwave connect write``: the statements that are missing first, then the permission, and its end."""

from __future__ import annotations

import json
from random import Random

from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import connected_stores
from slowwave.store.connect import Store
from tests.peers import make_peer
from tests.surfaces.cli.conftest import Run


def test_writing_is_a_step_of_its_own(store: Store, run: Run) -> None:
    """Without the rights nothing is let and the GRANT is printed; with --grant it is; --off ends it; another name is refused."""
    peer = make_peer(store, "mem0", Random(1))
    connect_store(store, "mem0", parameters={"schema": peer.schema}, grant=True)
    with store.connect("owner") as connection:
        connection.execute(f"REVOKE UPDATE ON {peer.schema}.mem0 FROM slowwave_applier".encode())

    def writing() -> bool:
        with store.connect("reader") as connection:
            (of,) = connected_stores(connection)
            return of.writing

    code, out, _ = run("connect", "write", "mem0", "--json")
    assert (code, json.loads(out)["grants"]) == (2, [f'GRANT UPDATE ON "{peer.schema}"."mem0" TO slowwave_applier'])
    assert not writing()
    assert run("connect", "write", "mem0", "--grant")[0] == 0
    assert writing()
    assert run("connect", "write", "mem0", "--off")[0] == 0
    assert not writing()
    assert run("connect", "write", "nobody")[0] != 0


def test_status_of_a_removed_store_with_a_pending_plan_needs_no_person(store: Store, run: Run) -> None:
    """Its plan cannot be applied before the store is connected again."""
    peer = make_peer(store, "mem0", Random(1))
    connect_store(store, "mem0", parameters={"schema": peer.schema}, grant=True)
    assert run("connect", "write", "mem0", "--grant")[0] == 0
    run("night", "ALL", "--ops", "all")
    asking = [one for one in json.loads(run("status", "--json")[1]) if one["word"] == "needs a person"]
    assert asking
    assert run("connect", "remove", "mem0")[0] == 0
    for one in asking:
        (removed,) = json.loads(run("status", one["namespace"], "--json")[1])
        assert (removed["word"], removed["to_approve"], removed["questions"]) == ("store removed", 0, 0)
    assert "plans show" not in run("status")[1]


def test_a_store_that_is_connected_anew_says_that_it_is_only_read_again(store: Store, run: Run) -> None:
    """Whoever names its embedding model afterwards ends the permission, and is told how to give it again."""
    peer = make_peer(store, "mem0", Random(1))
    anew = ("connect", "mem0", "--schema", peer.schema, "--grant")
    again = "slowwave connect write mem0"
    assert again not in run(*anew)[1]
    assert run("connect", "write", "mem0", "--grant")[0] == 0
    code, out, _ = run(*anew, "--embedding-model", "mine")
    assert (code, again in out) == (0, True)
    assert again not in run(*anew)[1]

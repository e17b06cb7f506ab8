"""``plans show`` and ``plans diff`` as a person reads them: questions first, rows by their names, 80 columns wide."""

from __future__ import annotations

import json
import re
import shlex
from random import Random

import pytest

from slowwave.bindings.stores import let_write
from slowwave.store.connect import Store
from slowwave.surfaces.cli import session
from tests.night.test_where import connect, planned
from tests.nights import new_world, write_a_plan
from tests.peers import make_peer
from tests.surfaces.cli.conftest import Run


@pytest.fixture
def terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The program on a terminal of 80 columns, without its colours."""
    for console in (session.out, session.err):
        monkeypatch.setattr(console, "_width", 80)
        monkeypatch.setattr(console, "_force_terminal", True)

    def call(*arguments: str) -> tuple[int, str, str]:
        code, out, err = run(*arguments)
        return code, re.sub(r"\x1b\[[0-9;]*m", "", out), err

    return call


def test_questions_come_first_and_pages_follow_each_other(store: Store, terminal: Run) -> None:
    """Each page prints the command of the next, filters included; together they show every item once."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    reviews = [i.id for i in plan.items if i.decision == "review"]
    seen: list[str] = []
    command = f"slowwave plans show {world.slug} --sort risk --limit 2"
    while command:
        code, out, err = terminal(*shlex.split(command)[1:])
        assert code == 0, err
        seen += re.findall(r"^([0-9a-f]{8})  ", out, re.MULTILINE)
        if len(seen) == 2:
            assert reviews[0].startswith(seen[0])
            assert "for review" in out
        named = re.search(r"slowwave plans show .*--page \d+", out)
        command = named[0] if named else ""
    assert sorted(seen) == sorted(i.id[:8] for i in plan.items)
    shown = terminal("plans", "show", world.slug, "--decision", "review")[1]
    assert re.findall(r"^([0-9a-f]{8})  ", shown, re.MULTILINE) == [reviews[0][:8]]
    found = json.loads(terminal("plans", "show", world.slug, "--decision", "review", "--json")[1])
    assert ([i["id"] for i in found["items"]], found["matching"]) == (reviews, 1)
    assert found["counts"] == {"pending": len(plan.items)}
    assert "archive_stale" in terminal("plans", "show", world.slug, "--operation", "forget")[2]


def test_eighty_columns_hold_every_line_but_commands(store: Store, terminal: Run) -> None:
    """However long a name; ``--wide`` shows it whole, with whole ids."""
    world = new_world(store)
    long = "Harbour master of Port Vale and of the islands beyond it " * 3
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.entities SET name = %s || id::text", (long,))
    _, plan = write_a_plan(store, world)
    for command in ("show", "diff"):
        out = terminal("plans", command, world.slug)[1]
        assert [line for line in out.splitlines() if len(line) > 80 and "slowwave " not in line] == []
        assert long[:20] in out
    wide = terminal("plans", "show", world.slug, "--wide")[1]
    assert all(item.id in wide for item in plan.items[:20])
    assert sum(long in line for line in wide.splitlines()) > 0


def test_the_diff_names_rows_and_all_of_it_every_cell(store: Store, terminal: Run) -> None:
    """Stamps and counters are counted, ``--all`` lists them with whole ids; JSON has both."""
    world = new_world(store)
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.entities SET name = 'Pilot ' || left(id::text, 4)")
    _, plan = write_a_plan(store, world)
    merge = plan.items[0]
    out = terminal("plans", "diff", world.slug, "--items", merge.id[:8])[1]
    assert re.search(r"“Pilot \w{4}” is merged into “Pilot \w{4}”", out)
    assert "invalidated_by" not in out
    assert re.search(r"[1-9]\d* technical values? \(times", out)
    every = terminal("plans", "diff", world.slug, "--items", merge.id[:8], "--all")[1]
    assert "invalidated_by" in every
    assert all(row in every for row in merge.mutation.row_ids())
    (told,) = json.loads(terminal("plans", "diff", world.slug, "--items", merge.id, "--json")[1])
    assert told["name"] == told["lines"][0] == told["outcome"]["sentence"]
    assert len(told["changes"]) == len(merge.mutation.writes) + len(merge.mutation.inserts)
    assert told["physical"] == []


def test_of_a_connected_store_all_says_what_is_written_to_its_tables(store: Store, terminal: Run) -> None:
    """By the names that the tables and columns have there."""
    peer = make_peer(store, "mem0", Random(2), rows=9)
    slug = connect(store, peer)
    let_write(store, "mem0", grant=True)
    assert planned(store, slug).items
    code, out, err = terminal("plans", "diff", slug)
    assert code == 0, err
    assert f"{peer.schema}.mem0" not in out
    every = " ".join(terminal("plans", "diff", slug, "--all")[1].split())
    assert "written to the store:" in every
    assert f"{peer.schema}.mem0" in every

"""The table of transitions: what it allows, that the database's trigger allows the same, and that nobody writes past it."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import get_args

import psycopg
import pytest

import slowwave
from slowwave.store.connect import Store
from slowwave.store.runs import HOLDING, TRANSITIONS, State, sources
from tests.dreamers import dead_run
from tests.memories import ask, remember

STATES = get_args(State)
WRITES = re.compile(
    r"(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM|COPY|MERGE\s+INTO|TRUNCATE)\s+(?:ONLY\s+)?night\s*\.\s*runs\b", re.I
)
"""A statement that changes the table, over the lines and the pieces of a literal."""


def test_every_state_is_in_the_table() -> None:
    assert set(TRANSITIONS) == set(STATES)
    assert {"completed", "empty", "rejected", "expired", "superseded"} == {
        state for state, after in TRANSITIONS.items() if not after
    }


def test_the_states_that_another_follows_are_asked_of_the_table() -> None:
    """A statement that names one which it may not follow is a fault of the code, and never reaches the database."""
    assert set(sources("applying")) == {"paused", "crashed", "cancelled", "refused"}
    assert sources("crashed", HOLDING) == ["planning", "applying"]
    assert sources("planning", ()) == []
    with pytest.raises(ValueError, match="completed"):
        sources("applying", ("crashed", "completed"))
    with pytest.raises(ValueError, match="planning"):
        sources("planning", ("planning",))


def test_the_database_allows_the_transitions_of_the_table_and_no_other(store: Store) -> None:
    """Each pair is tried. A state that stays as it is, is no transition."""
    remember(store, "acme")
    run = dead_run(store, "acme", "apply", "planning", 0)
    allowed: set[tuple[str, str]] = set()
    with store.connect("owner") as connection:
        for before, after in product(STATES, STATES):
            with connection.transaction(force_rollback=True):
                connection.execute("SET LOCAL session_replication_role = replica")  # past the trigger, to begin there
                connection.execute("UPDATE night.runs SET state = %s WHERE id = %s", (before, run))
                connection.execute("SET LOCAL session_replication_role = origin")
                try:
                    with connection.transaction():
                        connection.execute("UPDATE night.runs SET state = %s WHERE id = %s", (after, run))
                except psycopg.errors.RaiseException:
                    continue
                allowed.add((before, after))
    assert allowed == {(a, b) for a, after in TRANSITIONS.items() for b in after} | {(s, s) for s in STATES}
    assert ask(store, "SELECT state FROM night.runs") == [("planning",)]


def test_the_states_are_those_that_the_database_knows(store: Store) -> None:
    """Its constraint names each, and no other."""
    ((condition,),) = ask(
        store,
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'runs_state' AND conrelid = 'night.runs'::regclass",
    )
    assert set(re.findall(r"'(\w+)'", str(condition))) == set(STATES)


def test_table_of_runs_is_written_by_the_modules_of_runs_alone() -> None:
    """Other modules call them. Retention deletes no run, and the migration makes the table."""
    root = Path(slowwave.__file__).parent
    writers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.suffix in (".py", ".sql")
        and "migrations" not in path.parts
        and WRITES.search(re.sub(r"\"\s*f?\"", "", path.read_text()))
    }
    assert writers == {"store/runs.py", "store/claims.py"}
    project = root.parent
    outside = [
        path
        for room in ("memory_assets", "jobs", "sensors", "resources", "dbt_like_sql")
        for path in (project / room).rglob("*.py")
        if WRITES.search(path.read_text())
    ]
    assert outside == []

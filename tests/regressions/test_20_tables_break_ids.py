"""Line 20: at 80 columns tables broke ids, hashes and states, and put names in columns of nine characters.

"awaiting_app/roval" in `plans list`, run ids over four lines in `runs list`, a namespace's name as a column of syllables: nothing of
it could be copied into the next command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from slowwave.store.connect import Store
from slowwave.surfaces.cli import session
from tests.memories import ask, remember
from tests.nights import new_world, write_a_plan
from tests.surfaces.cli.conftest import Run
from tests.worlds import World

NAME = "customer-success-and-renewals.emea-production.support-agents-2"
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, run: Run) -> Callable[[int], None]:
    """Lets the program believe that it writes to a terminal of a width."""
    del run  # which sets a width of its own

    def set_width(width: int) -> None:
        for console in (session.out, session.err):
            monkeypatch.setattr(console, "_width", width)
            monkeypatch.setattr(console, "_force_terminal", True)

    return set_width


@pytest.fixture
def world(store: Store) -> World:
    """A namespace with a long name, a plan, runs, memories and a conflict."""
    made = new_world(store)
    ask(store, "UPDATE memory.namespaces SET slug = %s WHERE id = %s", NAME, made.namespace_id)
    named = World(NAME, made.namespace_id, made.rows)
    write_a_plan(store, named)
    _, plan = write_a_plan(store, named)
    a, b = made.ids("memories")[0], made.ids("entities")[0]
    ask(
        store,
        "INSERT INTO night.conflicts (id, namespace_id, table_name, row_a_id, row_b_id, reason) "
        "VALUES (gen_random_uuid(), %s, 'memories', %s, %s, 'property_contradiction')",
        *(made.namespace_id, a, b),
    )
    assert plan.items
    return named


def whole(text: str, value: str) -> bool:
    """Whether a value stands on one line."""
    return any(value in line for line in text.splitlines())


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_ids_hashes_states_and_names_stay_whole(
    store: Store, run: Run, terminal: Callable[[int], None], world: World, width: int
) -> None:
    """In every list: each id that is shown, each hash, state and name on one line."""
    terminal(width)
    del store
    plans: list[dict[str, Any]] = json.loads(run("plans", "list", NAME, "--json")[1])
    text = run("plans", "list", NAME)[1]
    for plan in plans:
        for value in (NAME, plan["plan_hash"][:12], plan["state"]):
            assert whole(text, value), f"{value} in\n{text}"
    text = run("runs", "list", NAME)[1]
    for known in json.loads(run("runs", "list", NAME, "--json")[1]):
        assert whole(text, known["run_id"]), text
        assert whole(text, known["state"]), text
    text = run("namespace", "list")[1]
    assert whole(text, NAME)
    assert whole(text, "awaiting_approval")
    text = run("conflicts", "list", NAME)[1]
    (conflict,) = json.loads(run("conflicts", "list", NAME, "--json")[1])
    for value in (conflict["id"][:8], conflict["reason"]):
        assert whole(text, value), text
    text = run("namespace", "as-of", NAME, "2999-01-01")[1]
    memories = json.loads(run("namespace", "as-of", NAME, "2999-01-01", "--json")[1])["memories"]
    assert all(whole(text, m["id"][:8]) for m in memories)
    shown = json.loads(run("plans", "show", NAME, "--json")[1])["items"]
    text = run("plans", "show", NAME)[1]
    for item in shown:
        for value in (item["id"][:8], item["operation"], item["decision"], item["risk"]):
            assert whole(text, value), text
    text = run("why", NAME, shown[0]["id"])[1]
    rows = [row for row in UUID.findall(json.dumps(shown[0]["mutation"])) if row[:8] in text]
    assert all(whole(text, row) for row in rows if row in text.replace("\n", ""))


def test_a_command_is_copied_whole(run: Run, terminal: Callable[[int], None], world: World) -> None:
    """However narrow the terminal, the command that approves is one line of output."""
    terminal(60)
    text = run("plans", "show", world.slug)[1]
    assert any("plans approve" in line and line.rstrip().endswith("YOUR-NAME") for line in text.splitlines())


def test_a_pipe_gets_a_record_a_line_uncut_and_uncoloured(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No ellipsis, no line break in a cell, no frame, no escape sequence, whatever COLUMNS says."""
    text = "Mara asked Harbor Freight about the crane. " * 20
    remember(
        store,
        "acme",
        memories=[{"id": "long", "kind": "episodic", "current_version_id": "v"}],
        memory_versions=[{"id": "v", "memory_id": "long", "content": text}],
    )
    for console in (session.out, session.err):
        monkeypatch.setattr(console, "_width", 80)
    shown = run("namespace", "as-of", "acme", "2999-01-01")[1]
    assert text.strip() in shown
    assert "\x1b" not in shown
    assert not re.search(r"[│┃─━…]", shown)


def test_an_id_of_the_list_names_its_item(run: Run, world: World) -> None:
    """What `plans show` prints of an id is enough for `why`."""
    item = json.loads(run("plans", "show", world.slug, "--json")[1])["items"][0]
    text = run("plans", "show", world.slug)[1]
    first = next(line.split()[0] for line in text.splitlines() if line.startswith(item["id"][:8]))
    assert run("why", world.slug, first)[0] == 0

"""Commands about a plan: what may be decided, and how to say so in a shell."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from slowwave.plans.commands import Undecided, approve_command, argument, reject_command, undecided
from slowwave.plans.gate import reject
from slowwave.store.connect import Store
from tests.memories import behind_triggers
from tests.nights import new_world, write_a_plan
from tests.permitting import approve

HASH = "ab" * 32


def left(store: Store, plan_hash: str) -> Undecided | None:
    with store.connect("reader") as connection:
        return undecided(connection, plan_hash)


def test_what_waits_in_a_plan(store: Store) -> None:
    """All but reviews, then reviews alone, then nothing; with the sentences for which it takes force."""
    world = new_world(store)
    _, plan = write_a_plan(store, world, needs_force=["Recall fell."])
    reviews = [i.id for i in plan.items if i.decision == "review"]
    found = left(store, plan.plan_hash)
    assert found is not None
    assert (found.decided, found.reviews) == (len(plan.items) - len(reviews), len(reviews))
    assert (found.namespace, found.failed) == (world.slug, ("Recall fell.",))
    assert "--force" in found.approve()
    assert "--items" not in found.approve()
    approve(store, world.slug, plan.plan_hash, approver="mara", force=True, note="Seen.")
    found = left(store, plan.plan_hash)
    assert found is not None
    assert found.decided == 0
    assert found.approve() == f"slowwave plans review {world.slug} {plan.plan_hash[:12]} --by YOUR-NAME", (
        "no item is picked"
    )
    assert "--force" not in found.approve()
    approve(store, world.slug, plan.plan_hash, approver="mara", force=True, note="Seen.", items=reviews)
    assert left(store, plan.plan_hash) is None


def test_a_part_of_a_plan_is_not_said_to_take_force(store: Store) -> None:
    """Once some items are rejected the verdict of the whole plan says nothing of the rest, which is judged when it is approved."""
    world = new_world(store)
    _, plan = write_a_plan(store, world, needs_force=["Recall fell."])
    assert (found := left(store, plan.plan_hash)) is not None
    assert found.failed == ("Recall fell.",)
    first = next(i.id for i in plan.items if i.decision != "review")
    reject(store, world.slug, plan.plan_hash, rejected_by="mara", reason="Wrong.", items=[first])
    assert (found := left(store, plan.plan_hash)) is not None
    assert (found.failed, "--force" in found.approve()) == ((), False)


@pytest.mark.parametrize("state", ["rejected", "superseded", "expired", "empty"])
def test_what_is_over_is_not_asked_about(store: Store, state: str) -> None:
    """Nor what is past its time."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    behind_triggers(store, "UPDATE night.plans SET state = %s WHERE plan_hash = %s", state, plan.plan_hash)
    assert left(store, plan.plan_hash) is None
    assert left(store, "0" * 64) is None


def test_a_shell_reads_names_as_they_are() -> None:
    """Whatever a namespace is called, it is one argument and no other command."""
    for name in ("acme", "two words", "a;rm -rf .", "$(id)", "it's", "`id`"):
        for line in (approve_command(name, HASH, force=True), reject_command(name, HASH, items=("x",))):
            assert shlex.split(line)[3] == name
    assert argument("acme") == "acme"
    assert shlex.split(approve_command("acme", HASH, force=True))[-3:] == ["--force", "--note", "WHY"]


def test_no_sentence_names_a_namespace_in_a_command_without_quoting_it() -> None:
    """Imports and connected stores name namespaces; what is copied from a sentence into a shell must not run a name."""
    root = Path(__file__).parents[2]
    unquoted = re.compile(r"`slowwave [^`\n]*\{(?:[a-z_]+\.)*(?:namespace|slug)\}")
    rooms = ("slowwave", "memory_assets", "jobs", "sensors", "resources")
    assert [str(f) for room in rooms for f in (root / room).rglob("*.py") if unquoted.search(f.read_text())] == []

"""``backfill_privacy``: memories without a privacy class get the one that their words are of, and a class that was set stays."""

from __future__ import annotations

import uuid

import pytest

from slowwave.changes.apply import apply_items
from slowwave.changes.simulate import simulate
from slowwave.changes.undo import undo_entries
from slowwave.operations import PLANNERS
from slowwave.operations.options import PrivacyOptions
from slowwave.operations.registry import operations
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from slowwave.text.screening import CLASSES
from slowwave.wiki.recall.wake import WakeRequest, wake
from tests.memories import MODEL, ask, remember
from tests.snapshots import make_inputs, make_snapshot, uid

backfill_privacy = PLANNERS["backfill_privacy"]

TEXTS = {
    "pin": "My passphrase is in the blue notebook.",
    "loan": "The mortgage runs until 2041, says my lawyer.",
    "asthma": "Diagnosed with asthma in spring.",
    "post": "Write to ann@example.org about the boat.",
    "tea": "We drank tea in the garden.",
}
CLASSED = {"pin": "credentials", "loan": "financial", "asthma": "health", "post": "contact", "tea": ""}


def world(texts: dict[str, str] = TEXTS, settings: dict[str, object] | None = None, **more: object) -> Snapshot:
    """A snapshot of memories that say these."""
    rows = [
        {"id": uid(n), "external_id": n, "kind": "semantic", "current_version_id": uid(f"v {n}"), **more} for n in texts
    ]
    versions = [{"id": uid(f"v {n}"), "memory_id": uid(n), "content": text} for n, text in texts.items()]
    return make_snapshot(settings=settings, memories=rows, memory_versions=versions)


def woken(store: Store) -> str:
    """What an agent is told when it begins."""
    with store.connect("reader") as connection:
        return wake(connection, "private", WakeRequest(agent="tests"), Settings()).answer.block


def classes(snapshot: Snapshot) -> dict[str, str]:
    return {m["external_id"]: m["sensitivity"] for m in snapshot.table("memories").to_pylist()}


def test_dory_memories_get_the_class_of_their_words() -> None:
    """The most sensitive one of several; a second night has nothing to add; the plan names the word."""
    snapshot = world()
    found = backfill_privacy(make_inputs(snapshot))
    assert all(Item.from_json(item.to_json()) == item for item in found.items)
    told = {i.mutation.rows[0].external_id: tuple(i.evidence.values()) for i in found.items}
    assert told == {
        "pin": ("credentials", "passphrase"),
        "loan": ("financial", "mortgage"),
        "asthma": ("health", "diagnosed"),
        "post": ("contact", "an e-mail address"),
    }
    after = simulate(snapshot, found.items)
    assert classes(after) == CLASSED
    assert backfill_privacy(make_inputs(after)).items == ()
    assert (found.report.numbers["financial"], found.report.numbers["legal"], found.report.numbers["items"]) == (
        1,
        0,
        4,
    )


@pytest.mark.parametrize("more", [{"sensitivity": "none"}, {"sensitivity": "personal"}, {"state": "archived"}])
def test_what_has_a_class_or_is_not_active_is_left_alone(more: dict[str, object]) -> None:
    """The class "none" is one that somebody gave."""
    assert backfill_privacy(make_inputs(world(**more))).items == ()


def test_only_the_classes_that_are_set_are_given() -> None:
    """All of them at first; the others stay open for the audit to count."""
    assert PrivacyOptions().classes == CLASSES
    settings = {"operations": {"backfill_privacy": {"classes": ["health"]}}}
    snapshot = world(settings=settings)
    found = backfill_privacy(make_inputs(snapshot))
    assert [i.mutation.rows[0].external_id for i in found.items] == ["asthma"]


def test_it_is_off_until_it_is_switched_on() -> None:
    assert not operations()["backfill_privacy"].switch


def test_on_a_real_store_a_class_keeps_a_memory_out_of_a_wake_and_is_taken_back(store: Store) -> None:
    """A memory that was reworded since the plan is skipped; the rest is undone exactly."""
    namespace = remember(
        store,
        "private",
        memories=[{"id": n, "kind": "semantic", "current_version_id": f"v {n}"} for n in TEXTS],
        memory_versions=[{"id": f"v {n}", "memory_id": n, "content": text} for n, text in TEXTS.items()]
        + [{"id": "new", "memory_id": "loan", "ordinal": 2, "content": "The house is ours."}],
    )
    items = backfill_privacy(make_inputs(export_snapshot(store, "private", model=MODEL))).items
    assert len(items) == 4
    ask(store, "UPDATE memory.memories SET current_version_id = %s WHERE id = %s", uid("new"), uid("loan"))
    before, run = digest(store, "private"), str(uuid.uuid4())
    assert "asthma" in woken(store)
    with store.connect("applier") as connection, connection.transaction():
        assert len(apply_items(connection, namespace, run, items)) == 1
    told = woken(store)
    assert ("asthma" in told, "tea in the garden" in told) == (False, True)
    with store.connect("applier") as connection, connection.transaction():
        undo_entries(connection, namespace, str(uuid.uuid4()), run, None)
    assert digest(store, "private") == before

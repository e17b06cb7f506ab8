"""Nights over items of LangGraph, planned, approved, applied and undone: what an agent's key gives before, after and again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from slowwave.errors import UndoBlocked
from slowwave.night.executor import ApplyResult, apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.wiki.agents.langgraph_store import SlowwaveStore
from tests.memories import ask, remember
from tests.permitting import approve

MARA, ADA = ("memories", "mara"), ("memories", "ada")
ONE, TWO, THREE = (f"{n:08}-0000-4000-8000-000000000000" for n in range(3))


@pytest.fixture
def items(store: Store) -> SlowwaveStore:
    remember(store, "acme", {"recall_log_share": 0})
    return SlowwaveStore("acme", store)


def night(store: Store, *ops: str, **more: Any) -> ApplyResult:
    """One night, approved and applied."""
    one = run_night(store, "acme", force=True, ops=ops, **more)
    assert one.plan is not None
    signed = approve(store, "acme", one.plan.plan_hash, approver="mara", force=True, note="a test")
    return apply_approval(store, signed.id)


def value(items: SlowwaveStore, key: str, space: tuple[str, ...] = MARA) -> Any:
    found = items.get(space, key)
    return found and found.value


def merged(store: Store, items: SlowwaveStore) -> tuple[str, str, str]:
    """Two notes of one person that tell the same have become one: (the key that is left, the other, the run)."""
    for key, text in ((ONE, "Mara drinks green tea in the morning."), (TWO, "Mara drinks green tea in the morning")):
        items.put(MARA, key, {"content": text})
    result = night(store, "dedupe_memories")
    assert result.counts["applied"] == 1
    (left,) = (item.key for item in items.search(MARA))
    return left, TWO if left == ONE else ONE, result.run_id


def test_a_merged_key_gives_what_the_survivor_says(store: Store, items: SlowwaveStore) -> None:
    """Lists and searches tell it once; the undo gives each key its own words again, to the byte."""
    for key, text in ((ONE, "Mara drinks green tea in the morning."), (TWO, "Mara drinks green tea in the morning")):
        items.put(MARA, key, {"content": text})
    before, shown = digest(store, "acme"), items.search(MARA)
    own = {key: value(items, key) for key in (ONE, TWO)}
    result = night(store, "dedupe_memories")
    (left,) = items.search(MARA)
    assert [item.key for item in items.search(MARA, query="green tea")] == [left.key]
    assert value(items, ONE) == value(items, TWO) == left.value == own[left.key]
    undo_run(store, result.run_id)
    assert digest(store, "acme") == before
    assert {item.key: item.value for item in items.search(MARA)} == {item.key: item.value for item in shown} == own


def test_people_and_named_keys_are_never_merged(store: Store, items: SlowwaveStore) -> None:
    """The same words in two namespaces, or under two names, are two things."""
    for space, key in ((MARA, ONE), (ADA, TWO), (MARA, "home_city"), (MARA, "work_city")):
        items.put(space, key, {"content": "Oslo, in the north."})
    one = run_night(store, "acme", force=True, ops=["dedupe_memories"])
    assert one.plan is None or not one.plan.items
    assert len(items.search(())) == 4


def test_a_merged_key_that_is_put_again_is_its_own_again(store: Store, items: SlowwaveStore) -> None:
    """The survivor keeps its words; what is said now stands in the way of an undo, which says so."""
    left, gone, run = merged(store, items)
    items.put(MARA, gone, {"content": "Mara drinks coffee."})
    assert value(items, gone) == {"content": "Mara drinks coffee."}
    assert "green tea" in value(items, left)["content"]
    assert len(items.search(MARA)) == 2
    with pytest.raises(UndoBlocked):
        undo_run(store, run)


def test_a_merged_key_that_is_deleted_comes_back_with_no_undo(store: Store, items: SlowwaveStore) -> None:
    """Forgotten is forgotten; the other stays."""
    left, gone, run = merged(store, items)
    items.delete(MARA, gone)
    assert value(items, gone) is None
    assert value(items, left) is not None
    with pytest.raises(UndoBlocked):
        undo_run(store, run)


def test_what_the_survivor_absorbed_is_deleted_with_it(store: Store, items: SlowwaveStore) -> None:
    """Whoever deletes one of two that tell the same wants neither told."""
    left, gone, _ = merged(store, items)
    items.delete(MARA, left)
    assert (value(items, left), value(items, gone), items.search(()), items.list_namespaces()) == (None, None, [], [])


def test_a_night_s_wording_reaches_the_agent(store: Store, items: SlowwaveStore) -> None:
    """A relative date is written out in the value that said it; the same value put again takes that not back, another one does."""
    items.put(MARA, ONE, {"content": "Mara met the auditor yesterday.", "by": "mara"})
    result = night(store, "absolutize_dates")
    assert result.counts["applied"] == 1
    day = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
    said = value(items, ONE)
    assert day in said["content"]
    assert said["by"] == "mara"
    items.put(MARA, ONE, {"content": "Mara met the auditor yesterday.", "by": "mara"})
    assert value(items, ONE) == said
    undo_run(store, result.run_id)
    assert value(items, ONE) == {"content": "Mara met the auditor yesterday.", "by": "mara"}


def test_a_secret_that_a_night_took_out_is_given_by_no_key(store: Store, items: SlowwaveStore) -> None:
    """Neither where the value is one text nor where it is several."""
    secret = "AKIA" + "Q3EGRIXT7VZM2LWN"
    items.put(MARA, ONE, {"content": f"The key is {secret}."})
    items.put(MARA, TWO, {"title": "Keys", "content": f"The key is {secret}, says Ada."})
    assert secret in json.dumps(value(items, TWO))
    night(store, "redact_or_quarantine")
    for key in (ONE, TWO):
        assert secret not in json.dumps(value(items, key))
    assert items.search(MARA, query=secret) == [] or secret not in str(items.search(MARA, query=secret))


@pytest.mark.parametrize(
    "change", ["state = 'archived'", "valid_from = now() - interval '2 days', valid_to = now() - interval '1 day'"]
)
def test_what_is_archived_or_over_has_left_the_lists_and_not_its_key(
    store: Store, items: SlowwaveStore, change: str
) -> None:
    """Nobody asked for it for long; whoever knows the key still has it, and putting it again brings it back."""
    items.put(MARA, ONE, {"content": "Mara drinks tea."})
    ask(store, f"UPDATE memory.memories SET {change}")
    assert (items.search(()), items.search((), query="tea"), value(items, ONE)) == (
        [],
        [],
        {"content": "Mara drinks tea."},
    )
    items.put(MARA, ONE, {"content": "Mara drinks tea."})
    assert [item.key for item in items.search((), query="tea")] == [ONE]


def test_a_summary_stands_for_what_it_tells(store: Store, items: SlowwaveStore) -> None:
    """It is an item under its own id; the keys that it stands for keep their values, and deleting it deletes them."""
    for key, text in ((ONE, "Mara drinks tea."), (TWO, "Mara likes her tea green.")):
        items.put(MARA, key, {"content": text})
    summary = str(uuid4())
    remember(
        store,
        "acme",
        memories=[
            {
                "id": "s",
                "kind": "summary",
                "scope": "memories/mara",
                "source": "consolidation",
                "current_version_id": "v",
            }
        ],
        memory_versions=[
            {"id": "v", "memory_id": "s", "content": "Mara drinks her tea green.", "reason": "consolidation"}
        ],
    )
    summary = str(ask(store, "SELECT id FROM memory.memories WHERE kind = 'summary'")[0][0])
    ask(
        store,
        "UPDATE memory.memories SET state = 'merged', merged_into = %s, invalidated_at = now() WHERE kind <> 'summary'",
        summary,
    )
    (item,) = items.search(MARA)
    assert (item.key, item.value) == (summary, {"content": "Mara drinks her tea green."})
    assert value(items, summary) == item.value
    assert (value(items, summary, ADA), value(items, ONE)) == (None, {"content": "Mara drinks tea."})
    items.put(MARA, summary, {"content": "Mara drinks coffee."})
    assert [found.value for found in items.search(MARA)] == [{"content": "Mara drinks coffee."}]
    items.delete(MARA, summary)
    assert (items.search(()), value(items, ONE)) == ([], None)

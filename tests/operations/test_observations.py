"""Observations that were recorded again and again: when they are folded, what the fold states, and what it rests on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta

import pytest

from slowwave.changes.simulate import simulate
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.operations import PLANNERS, permits
from slowwave.plans.items import Item
from slowwave.plans.questions import question
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.surfaces.api.plan import NightPlan
from tests.memories import ago, ask, remember, unit
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

dedupe_memories = PLANNERS["dedupe_memories"]

Row = dict[str, object]
FAILED = "Backup failed."
DAYS = (1, 3, 4, 12, 20)


def seen(text: str = FAILED, days: Sequence[float] = DAYS, name: str = "m", **more: object) -> list[Row]:
    """Memories of a text, so many days after the first day of a hundred."""
    return [
        {
            "id": f"{name}{n}",
            "text": text,
            "kind": "event",
            "author": "user",
            "valid_from": TAKEN_AT - timedelta(days=100 - day),
            "recorded_at": TAKEN_AT - timedelta(days=100 - day),
            **more,
        }
        for n, day in enumerate(days)
    ]


def world(*rows: Row) -> Snapshot:
    return make_snapshot(
        memories=[
            {k: v for k, v in row.items() if k not in ("id", "text")}
            | {"id": uid(row["id"]), "current_version_id": uid(f"v {row['id']}")}
            for row in rows
        ],
        memory_versions=[
            {"id": uid(f"v {row['id']}"), "memory_id": uid(row["id"]), "content": row["text"]} for row in rows
        ],
        vectors={"memory_vectors": {uid(row["id"]): (1.0, n / 1000) for n, row in enumerate(rows)}},
    )


def folds(snapshot: Snapshot) -> list[Item]:
    return [i for i in dedupe_memories(make_inputs(snapshot)).items if i.mutation.kind == "insert_summary"]


def folded(*rows: Row) -> list[str]:
    return [str(item.evidence["text"]) for item in folds(world(*rows))]


@pytest.mark.parametrize("kind", ["event", "episodic", "working"])
def test_same_words_on_several_days_become_one_question(kind: str) -> None:
    snapshot = world(*seen(kind=kind), *seen("The gate was painted.", days=(2,), name="other"))
    (item,) = dedupe_memories(make_inputs(snapshot)).items
    text = "Backup failed (on 5 days between 2025-11-22 and 2025-12-11)."
    assert (item.decision, item.risk, item.evidence["text"]) == ("review", "high", text)
    assert question(item).sentence == (
        "May one memory with their number and days stand for these observations? 5 observations of the same form were recorded on "
        "5 days between 2025-11-22 and 2025-12-11."
    )
    later = simulate(snapshot, seal(Header("n", "n", "s", "f"), [item], permits()).items)
    rows = {row["id"]: row for row in later.table("memories").to_pylist()}
    assert {rows[uid(f"m{n}")]["state"] for n in range(5)} == {"merged"}
    assert not dedupe_memories(make_inputs(later)).items


def test_number_of_observations_is_stated_where_a_day_has_several() -> None:
    assert folded(*seen(days=(1, 1.1, 1.2, 12, 20))) == [
        "Backup failed (5 times on 3 days between 2025-11-22 and 2025-12-11)."
    ]


@pytest.mark.parametrize(
    "rows",
    [
        seen(days=(1, 20)),
        seen(days=(1, 3, 5)),  # copies of one event
        seen(kind="semantic"),
        [*seen(days=(1, 20)), *seen(days=(3, 12), author="mara", name="n")],
        [*seen(days=(1, 20)), *seen(days=(3, 12), scope="yard", name="n")],
        [*seen("Ran 5 km today."), *seen("Ran 7 km today.", name="n")],
        seen("Did the backup fail?"),
        seen("Backup failed. The disk is full."),
        seen("Backup failed on 3 May 2025."),
        seen("Good morning!"),
        seen(kind="episodic", author="assistant"),
    ],
)
def test_what_is_no_repeated_observation_is_not_folded(rows: list[Row]) -> None:
    assert folded(*rows) == []


@pytest.mark.parametrize(
    ("text", "other", "day", "folds"),
    [
        (FAILED, "Backup succeeded.", 10, False),
        (FAILED, "Backup succeeded.", 40, False),
        ("The user ran 5 km.", "The user ran 7 km.", 10, False),
        ("The gate is open.", "The gate is closed.", 10, False),
        ("The key is in the drawer.", "The key is in the car.", 10, False),
        (FAILED, "The gate is closed.", 10, True),
        ("The gate of the yard is open.", "The gate of the quay is closed.", 10, True),
        ("The user ran in the park.", "The user ran in the gym.", 10, True),
    ],
)
def test_state_that_changes_is_not_folded(text: str, other: str, day: int, folds: bool) -> None:
    """Whenever it changes: a merge of what contradicts it may move the day of that, and the next night would fold."""
    assert bool(folded(*seen(text), *seen(other, days=(day,), name="n"))) is folds


@pytest.mark.parametrize("merged", [None, "n0", "m0"])
def test_memories_that_took_others_in_keep_what_is_like_them_from_being_folded(merged: str | None) -> None:
    """The night before may have merged a contradiction, or the start of an observation; a second night must not find more to fold."""
    gone = [
        row | {"state": "merged", "invalidated_at": TAKEN_AT, "merged_into": uid(merged)}
        for row in seen("The gate passed 412 lorries.", days=(1,), name="gone")
        if merged
    ]
    kept = [*seen("The gate passed 421 lorries."), *seen("The gate passed lorries.", days=(2,), name="n")]
    assert bool(folded(*kept, *gone)) is (merged is None)


def test_members_of_a_group_are_left_to_the_question() -> None:
    """Two copies of one day would be merged by themselves."""
    snapshot = world(*seen(days=(1, 1.1, 12, 20)))
    (item,) = dedupe_memories(make_inputs(snapshot)).items
    assert item.mutation.kind == "insert_summary"
    pair = dedupe_memories(make_inputs(world(*seen(days=(1, 1.1)))))
    assert [i.mutation.kind for i in pair.items] == ["merge_rows"]


@pytest.mark.parametrize("kind", ["episodic", "working"])
def test_observations_that_arrive_night_by_night_are_folded_with_all_their_days(kind: str) -> None:
    """No night merges the second one, and copies of one day are merged as they arrive."""
    rows = seen(kind=kind)
    for n in range(1, 4):
        assert not dedupe_memories(make_inputs(world(*rows[:n]))).items
    (item,) = dedupe_memories(make_inputs(world(*rows))).items
    assert item.evidence["text"] == "Backup failed (on 5 days between 2025-11-22 and 2025-12-11)."
    (item,) = dedupe_memories(make_inputs(world(*seen(kind=kind, days=(1, 1.1, 30))))).items
    assert set(item.mutation.row_ids()) == {uid("m0"), uid("m1")}


@pytest.mark.parametrize(
    "rows",
    [
        seen(kind="semantic", days=(1, 30)),
        seen("Did the backup fail?", kind="episodic", days=(1, 30)),
        seen("I live in Bergen.", kind="episodic", days=(1, 30)),
        seen("Rest counts as well.", kind="episodic", author="assistant", days=(1, 30)),
    ],
)
def test_copies_that_are_no_observations_are_merged_at_any_time(rows: list[Row]) -> None:
    (item,) = dedupe_memories(make_inputs(world(*rows))).items
    assert item.mutation.kind == "merge_rows"


def test_earlier_fold_takes_part_with_its_number() -> None:
    before = {"text": FAILED, "times": 12, "days": 11, "first": "2025-01-03", "last": "2025-03-20"}
    old: Row = {
        "id": "old",
        "text": "Backup failed (12 times on 11 days between 2025-01-03 and 2025-03-20).",
        "kind": "summary",
        "author": "user",
        "attributes": {"kind": "event", "occurrences": before},
        "valid_from": TAKEN_AT - timedelta(days=400),
        "recorded_at": TAKEN_AT - timedelta(days=300),
    }
    (item,) = folds(world(*seen(), old))
    assert item.evidence["text"] == "Backup failed (17 times on 16 days between 2025-01-03 and 2025-12-11)."
    (row,) = (i.values for i in item.mutation.inserts if i.table == "memories")
    assert json.loads(str(row["attributes"]))["occurrences"] == {
        **before,
        "times": 17,
        "days": 16,
        "last": "2025-12-11",
    }
    assert uid("old") in item.mutation.row_ids()


def test_fold_is_approved_applied_and_undone(store: Store) -> None:
    """The new memory has the sources of all; the originals stay on record, and undo brings them back as they were."""
    names = [f"m{n}" for n in range(4)]
    remember(
        store,
        "acme",
        documents=[{"id": "d"}],
        chunks=[{"id": f"c{n}", "document_id": "d", "content": FAILED, "ordinal": n} for n in range(4)],
        memories=[
            {
                "id": name,
                "kind": "event",
                "author": "user",
                "current_version_id": f"v{n}",
                "valid_from": ago(40 - 9 * n),
                "source_chunk_ids": [f"c{n}"],
            }
            for n, name in enumerate(names)
        ],
        memory_versions=[{"id": f"v{n}", "memory_id": name, "content": FAILED} for n, name in enumerate(names)],
        memory_vectors=[{"id": name, "vector": unit(1.0)} for name in names],
    )
    before = digest(store, "acme")
    night = run_night(store, "acme", ops="dedupe_memories", force=True)
    assert night.plan is not None
    plan = NightPlan("acme", night.plan.plan_hash, store)
    (asked,) = plan.questions
    plan.answer(asked, "yes", "mara")
    (signed,) = plan.sign("mara", force=True, note="a test")
    assert signed.approval_id
    run = apply_approval(store, signed.approval_id).run_id
    live = """
    SELECT v.content, cardinality(m.source_chunk_ids) FROM memory.memories m
    JOIN memory.memory_versions v ON v.id = m.current_version_id WHERE m.state = 'active' AND m.invalidated_at IS NULL
    """
    text = f"Backup failed (on 4 days between {ago(40):%Y-%m-%d} and {ago(13):%Y-%m-%d})."
    assert ask(store, live) == [(text, 4)]
    assert ask(store, "SELECT count(*) FROM memory.memories WHERE state = 'merged'") == [(4,)]
    assert run_night(store, "acme", ops="dedupe_memories", force=True).new_items == 0
    undo_run(store, run)
    assert digest(store, "acme") == before

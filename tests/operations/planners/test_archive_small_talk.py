"""``archive_small_talk``: what leaves recall, what stays whatever it says, and what dedupe leaves to it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from slowwave.changes.apply import apply_items
from slowwave.changes.simulate import simulate
from slowwave.changes.undo import undo_entries
from slowwave.operations import PLANNERS, Proposal
from slowwave.plans.items import Item
from slowwave.search.rows import searched_rows
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import MODEL, ago, remember
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

archive_small_talk = PLANNERS["archive_small_talk"]
dedupe_memories = PLANNERS["dedupe_memories"]

pytestmark = pytest.mark.usefixtures("every_rule_decides")
"""Which patterns may decide is tested in ``tests/plans/test_decides_alone.py``."""

Row = dict[str, object]


def said(name: str, text: str = "Thanks, that helps a lot!", days: float = 3, **more: object) -> tuple[Row, Row]:
    """A memory of what was said so many days ago, and its version."""
    memory: Row = {
        "id": uid(name),
        "external_id": name,
        "kind": "episodic",
        "author": "user",
        "valid_from": TAKEN_AT - timedelta(days=days),
        "current_version_id": uid((name, "v")),
        **more,
    }
    return memory, {"id": uid((name, "v")), "memory_id": memory["id"], "content": text}


def archived(
    *rows: tuple[Row, Row], settings: Mapping[str, object] | None = None, **tables: Sequence[Row]
) -> tuple[set[str | None], Proposal, Snapshot]:
    """The names of those that would be archived."""
    memories, versions = [m for m, _ in rows], [v for _, v in rows]
    vectors = {str(m["id"]): [1.0, 0.0, 0.0] for m in memories}
    snapshot = make_snapshot(
        settings=settings, memories=memories, memory_versions=versions, vectors={"memory_vectors": vectors}, **tables
    )
    found = archive_small_talk(make_inputs(snapshot))
    return {i.mutation.rows[0].external_id for i in found.items}, found, snapshot


def test_small_talk_is_archived_and_the_night_after_has_nothing_to_do() -> None:
    """One sentence that tells something keeps a whole memory."""
    names, found, snapshot = archived(
        said("thanks"),
        said("offer", "I'm always here and happy to help. What do you think?", author="assistant"),
        said("told", "Thanks, that helps a lot! I live in Bergen."),
        said("felt", "I'm always here and happy to help."),
        said("fact", "I live in Bergen."),
    )
    assert names == {"thanks", "offer"}
    assert {(i.decision, i.risk, Item.from_json(i.to_json()) == i) for i in found.items} == {("archive", "low", True)}
    assert (found.report.numbers["small talk"], found.report.numbers["items"]) == (2, 2)
    assert archive_small_talk(make_inputs(simulate(snapshot, found.items))).items == ()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"pinned": True}, "pinned"),
        ({"kind": "procedural"}, ""),
        ({"kind": "semantic"}, ""),
        ({"kind": "summary"}, ""),
        ({"ring": "shocks"}, "shock"),
        ({"valid_from": TAKEN_AT - timedelta(hours=23)}, "too young"),
        ({"id": uid("selected")}, "selected in the window"),
        ({"id": uid("promoted")}, "promoted"),
        ({"id": uid("disputed")}, "in an open conflict"),
        ({"state": "quarantined"}, ""),
        ({"invalidated_at": TAKEN_AT}, ""),
    ],
)
def test_what_somebody_may_miss_is_never_archived(row: Row, reason: str) -> None:
    memory, version = said("m", **row)
    names, found, _ = archived(
        (memory, {**version, "memory_id": memory["id"]}),
        said("other"),
        recall_events=[
            {"query": "q", "occurred_at": TAKEN_AT - timedelta(days=1), "hit_ids": [uid("other")],
             "selected_ids": [uid("selected")]}
        ],
        promotions=[{"memory_id": uid("promoted"), "from_ring": "working", "to_ring": "longterm", "scores": {}}],
        conflicts=[{"table_name": "memories", "row_a_id": uid("disputed"), "row_b_id": uid("x"), "reason": "r", "evidence": {}}],
    )  # fmt: skip
    assert names == {"other"}, "a recall that lists it says nothing for it"
    assert not reason or found.report.numbers[reason] == 1


def test_the_oldest_go_first_where_a_night_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowwave.operations.planners.archive_small_talk._MAX_PER_NIGHT", 1)
    names, found, _ = archived(said("new", days=2), said("old", days=9))
    assert (names, found.report.numbers["left for another night"]) == ({"old"}, 1)


def test_what_was_rejected_is_not_proposed_again() -> None:
    _, found, _ = archived(said("thanks"), said("kept"))
    (kept,) = [i for i in found.items if i.mutation.rows[0].external_id == "kept"]
    rejection: Row = {
        **{"operation": "archive_small_talk", "subject": kept.subject(), "row_ids": [uid("kept")]},
        **{"reason": "no", "rejected_by": "rita"},
    }
    names, again, _ = archived(said("thanks"), said("kept"), rejections=[rejection])
    assert (names, again.report.numbers["rejected before"]) == ({"thanks"}, 1)


def test_dedupe_leaves_it_alone_while_it_is_archived() -> None:
    """Twenty times "Thanks" are archived, not merged first; with the operation off they are merged as any text that is told twice."""
    rows = [said(str(n), days=n + 2) for n in range(4)]
    _, found, snapshot = archived(*rows)
    assert len(found.items) == 4
    merges = dedupe_memories(make_inputs(snapshot))
    assert (len(merges.items), merges.report.numbers["left to archive_small_talk"]) == (0, 4)
    _, _, snapshot = archived(*rows, settings={"operations": {"archive_small_talk": {"enabled": False}}})
    assert len(dedupe_memories(make_inputs(snapshot)).items) == 1


def test_small_talk_beside_a_statement_makes_no_other_statement_of_it() -> None:
    """The survivor is the one that says it without; another figure, a denial or what takes it back is another statement."""
    rows = (
        said("chatty", "Good morning! I live in Bergen.", days=2),
        said("plain", "I live in Bergen.", days=5),
        said("back", "I live in Bergen. Just kidding!", days=3),
        said("not", "Thanks! I don't live in Bergen.", days=3),
    )
    _, _, snapshot = archived(*rows)
    (item,) = dedupe_memories(make_inputs(snapshot)).items
    assert item.mutation.keep is not None
    assert item.mutation.keep.external_id == "plain"
    assert [a.external_id for a in item.mutation.absorb] == ["chatty"]
    assert not dedupe_memories(make_inputs(simulate(snapshot, [item]))).items


def test_it_leaves_searches_and_comes_back_with_an_undo(store: Store) -> None:
    rows = [said("thanks"), said("fact", "I live in Bergen.")]
    namespace = remember(
        store,
        "talk",
        memories=[{**m, "id": m["external_id"], "valid_from": ago(3), "current_version_id": f"{m['external_id']}-v"} for m, _ in rows],
        memory_versions=[
            {"id": f"{m['external_id']}-v", "memory_id": m["external_id"], "content": v["content"]} for m, v in rows
        ],
    )  # fmt: skip
    before = digest(store, "talk")
    items = archive_small_talk(make_inputs(export_snapshot(store, "talk", model=MODEL))).items
    run = str(uuid.uuid4())
    with store.connect("applier") as connection, connection.transaction():
        assert not apply_items(connection, namespace, run, items)
    left = searched_rows(export_snapshot(store, "talk", model=MODEL))
    assert [left.content(n) for n in range(len(left))] == ["I live in Bergen."]
    with store.connect("applier") as connection, connection.transaction():
        undo_entries(connection, namespace, str(uuid.uuid4()), run, None)
    assert digest(store, "talk") == before

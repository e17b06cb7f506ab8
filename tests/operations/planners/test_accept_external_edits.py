"""``accept_external_edits``: each rewrite is taken note of once, and nothing of it is touched (mnemo 2.6)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from slowwave.changes.simulate import simulate
from slowwave.night.night import run_night
from slowwave.operations import PLANNERS, Inputs, Proposal
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.memories import ask, remember
from tests.permitting import accept_operations
from tests.snapshots import make_snapshot, uid

accept_external_edits = PLANNERS["accept_external_edits"]

REPORT = "Done.\n## Organization Report\nConsolidated: 4\nremoved = 1\nRe-indexed:9"
RECORDED = datetime(2026, 2, 3, 4, 5, 6, 7, UTC)


def given(memories: Mapping[str, tuple[str, object]], **columns: object) -> Snapshot:
    """Memory name → its text and attributes."""
    return make_snapshot(
        memories=[
            {"id": uid(name), "kind": "episodic", "attributes": attributes, "current_version_id": uid(f"v {name}"), **columns}
            for name, (_, attributes) in memories.items()
        ],
        memory_versions=[
            {"id": uid(f"v {name}"), "memory_id": uid(name), "content": text, "recorded_at": RECORDED}
            for name, (text, _) in memories.items()
        ],
        vectors={"memory_vectors": {uid(name): [1.0, 0.0] for name in memories if not name.startswith("bare")}},
    )  # fmt: skip


def embed(texts: Sequence[str]) -> np.ndarray:
    """What was rewritten points elsewhere."""
    return np.array([[0, 1] if "new" in text else [1, 1e-7] for text in texts], np.float32)


def plan(snapshot: Snapshot, **settings: object) -> Proposal:
    return accept_external_edits(Inputs(snapshot, {}, Settings.for_namespace(settings), embed=embed))


def attributes_of(found: Proposal) -> dict[str, object]:
    """Memory → the attributes that it gets."""
    written = [w for i in found.items for w in i.mutation.writes if w.cell.column == "attributes"]
    return {w.cell.row: json.loads(str(w.value)) for w in written}


def test_what_was_rewritten_is_marked_and_gets_the_vector_of_its_text() -> None:
    """Only where the mark is text and nobody has seen it; an equal vector and a missing one are left alone."""
    dreamed = {"dreamed_at": "2026-02-01", "by": "auto-dream"}
    snapshot = given(
        {
            "rewritten": ("A new text.", dreamed),
            "equal": ("The same.", {"dreamed_at": ""}),
            "bare": ("A new text.", dreamed),
            "seen": ("A new text.", {**dreamed, "dreamed_processed": True}),
            "odd mark": ("A new text.", {**dreamed, "dreamed_processed": "yes"}),
            "no text": ("A new text.", {"dreamed_at": 5}),
            "other": ("A new text.", {"note": "dreamed_at"}),
        }
    )
    found = plan(snapshot)
    marked = attributes_of(found)
    assert set(marked) == {uid(name) for name in ("rewritten", "equal", "bare", "odd mark")}
    assert marked[uid("rewritten")] == {**dreamed, "dreamed_processed": True}
    vectors = {i.mutation.row_ids()[0] for i in found.items if i.mutation.kind == "set_vector"}
    assert vectors == {uid("rewritten"), uid("odd mark")}
    assert all(Item.from_json(i.to_json()) == i for i in found.items)
    numbers = found.report.numbers
    assert (numbers["memories looked at"], numbers["rewritten outside"], numbers["items"]) == (7, 4, 6)
    assert plan(simulate(snapshot, found.items)).items == ()


def test_a_report_is_counted_once_and_stamped_with_its_own_instant() -> None:
    """The counts are in the numbers and in a finding; the same memory gives the same plan tomorrow."""
    snapshot = given(
        {
            "report": (REPORT, {}),
            "both": (REPORT, {"dreamed_at": "x"}),
            "old": (REPORT, {"dream_report_ingested_at": ""}),
        }
    )
    found = plan(snapshot)
    stamp = RECORDED.isoformat()
    assert attributes_of(found) == {
        uid("report"): {"dream_report_ingested_at": stamp},
        uid("both"): {"dreamed_at": "x", "dreamed_processed": True, "dream_report_ingested_at": stamp},
    }
    told = [found.report.numbers[f"reported {what}"] for what in ("consolidated", "removed", "reindexed")]
    assert (found.report.numbers["reports"], told) == (2, [8, 2, 18])
    assert found.report.findings[0].details == {"counts": {"consolidated": 4, "removed": 1, "reindexed": 9}}
    later = replace(snapshot, taken_at=datetime(2027, 1, 1, tzinfo=UTC))
    assert [i.id for i in plan(later).items] == [i.id for i in found.items]
    assert plan(simulate(snapshot, found.items)).items == ()


def test_attributes_that_are_no_object_are_left_alone() -> None:
    """A mark would overwrite whatever they are."""
    odd = ('["dreamed_at"]', '"dreamed_at"', "null", "5", '{"dreamed_at"')
    found = plan(given({f"m{n}": (REPORT, text) for n, text in enumerate(odd)}))
    assert (found.items, found.report.numbers["memories with attributes of no object"]) == ((), 5)


def test_no_embedder_and_memories_that_recall_cannot_find() -> None:
    """Without a model the marks are written; what is archived or retired is no dreamer's business any more."""
    dreamed = {"rewritten": ("A new text.", {"dreamed_at": "x"})}
    bare = accept_external_edits(Inputs(given(dreamed), {}, Settings()))
    assert [i.mutation.kind for i in bare.items] == ["set_attributes"]
    assert plan(given(dreamed, state="archived")).items == ()
    assert plan(given(dreamed, invalidated_at=RECORDED)).items == ()
    assert "None of 0 memories" in plan(given({})).report.headline


def test_a_night_takes_no_more_than_it_may() -> None:
    """A memory whose vector is not renewed is not marked either, and waits for the next night."""
    snapshot = given({f"m{n}": ("A new text.", {"dreamed_at": "x"}) for n in range(5)})
    first = plan(snapshot, operations={"reembed": {"max_per_night": 3}})
    assert (len(first.items), first.report.numbers["left for later"]) == (6, 2)
    second = plan(simulate(snapshot, first.items), operations={"reembed": {"max_per_night": 3}})
    assert len(second.items) == 4
    assert not {i.id for i in first.items} & {i.id for i in second.items}


def test_a_second_night_has_nothing_to_do(store: Store) -> None:
    """On the real store, where attributes are jsonb: approved by policy, applied, and quiet."""
    import slowwave

    remember(
        store,
        "acme",
        memories=[
            {"id": "m", "kind": "episodic", "current_version_id": "v", "attributes": {"z": 1, "dreamed_at": "x", "ä": None}}
        ],
        memory_versions=[{"id": "v", "memory_id": "m", "content": REPORT}],
    )  # fmt: skip
    accept_operations(store, "acme", ["accept_external_edits"], accepted_by="mara")
    done = slowwave.dream("acme", "apply", ops="accept_external_edits", store=store)
    assert done.run.counts["applied"] == 1
    ((attributes,),) = ask(store, "SELECT attributes FROM memory.memories")
    assert isinstance(attributes, dict)
    assert (attributes["dreamed_processed"], attributes["z"], attributes["ä"]) == (True, 1, None)
    assert "T" in attributes["dream_report_ingested_at"]
    assert run_night(store, "acme", ops="accept_external_edits").new_items == 0
    slowwave.dream_undo("last", store=store)
    assert ask(store, "SELECT attributes FROM memory.memories") == [({"z": 1, "dreamed_at": "x", "ä": None},)]

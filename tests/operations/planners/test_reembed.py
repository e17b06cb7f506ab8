"""``reembed``: what similarity cannot see gets a vector, a bounded number a night."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from slowwave.changes.simulate import simulate
from slowwave.operations import PLANNERS, Inputs, Proposal
from slowwave.operations.planners.reembed import BATCH
from slowwave.plans.items import Item
from slowwave.plans.show import changes
from slowwave.snapshots.snapshot import Snapshot, Vectors
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.memories import ask, remember, unit
from tests.permitting import accept_operations
from tests.snapshots import TAKEN_AT, make_snapshot, uid

reembed = PLANNERS["reembed"]

MODEL = "fast-use-v3"


def given(
    memories: Sequence[str] = (), chunks: Sequence[str] = (), **vectors: Vectors | dict[str, list[float]]
) -> Snapshot:
    """Memories and chunks whose names are their texts."""
    return make_snapshot(
        memories=[{"id": uid(m), "kind": "episodic", "current_version_id": uid(f"v {m}")} for m in memories],
        memory_versions=[{"id": uid(f"v {m}"), "memory_id": uid(m), "content": m} for m in memories],
        chunks=[{"id": uid(c), "content": c} for c in chunks],
        vectors=vectors,
    )


def embed(texts: Sequence[str]) -> np.ndarray:
    return np.tile(np.array([0, 1], np.float32), (len(texts), 1))


def plan(snapshot: Snapshot, **settings: object) -> Proposal:
    return reembed(Inputs(snapshot, {}, Settings.for_namespace(settings), embed=embed))


def rows(found: Proposal) -> set[str]:
    return {i.mutation.row_ids()[0] for i in found.items}


def test_missing_and_broken_vectors_are_made_and_sound_ones_left() -> None:
    """A zero vector is near nothing, and one that is not finite is near nobody knows what."""
    held = pa.array([uid("sound"), uid("zero"), uid("odd")])
    matrix = np.array([[1, 0], [0, 0], [np.inf, 0]], np.float32)
    snapshot = given(
        ["sound", "zero", "odd", "bare", " "],
        ["page", "seen"],
        memory_vectors=Vectors(MODEL, held, matrix),
        chunk_vectors={uid("seen"): [1.0, 0.0]},
    )
    found = plan(snapshot)
    assert rows(found) == {uid("zero"), uid("odd"), uid("bare"), uid("page")}
    assert {(i.decision, i.mutation.kind, i.risk) for i in found.items} == {("embed", "set_vector", "low")}
    assert all(Item.from_json(i.to_json()) == i for i in found.items)
    numbers = found.report.numbers
    assert (numbers["live memories"], numbers["live chunks"], numbers["left out without text"]) == (5, 2, 1)
    assert (numbers["vectors zero or not finite"], numbers["memories without a vector"], numbers["items"]) == (2, 2, 4)
    assert plan(simulate(snapshot, found.items)).items == ()


def test_retired_and_archived_rows_stay_unseen() -> None:
    """A vector would bring nothing back."""
    snapshot = make_snapshot(
        memories=[{"id": uid("m"), "kind": "episodic", "state": "archived", "current_version_id": uid("v")}],
        memory_versions=[{"id": uid("v"), "memory_id": uid("m"), "content": "x"}],
        chunks=[{"id": uid("c"), "content": "x", "invalidated_at": TAKEN_AT}],
    )
    found = plan(snapshot)
    assert (found.items, found.report.headline) == ((), "Every live memory and chunk with a text has a vector.")


def test_a_night_makes_no_more_than_it_may_memories_first() -> None:
    """Three of four tonight, the last tomorrow; within the limit the model is asked in batches."""
    snapshot = given(["a", "b"], ["c", "d"])
    first = plan(snapshot, operations={"reembed": {"max_per_night": 3}})
    assert {uid("a"), uid("b")} < rows(first)
    assert (len(first.items), first.report.numbers["left for later"]) == (3, 1)
    assert len(plan(simulate(snapshot, first.items), operations={"reembed": {"max_per_night": 3}}).items) == 1
    assert plan(snapshot, operations={"reembed": {"max_per_night": 0}}).items == ()


def test_the_model_is_asked_in_batches() -> None:
    """A thousand long texts at once would be a thousand texts' working memory."""
    asked: list[int] = []

    def count(texts: Sequence[str]) -> np.ndarray:
        asked.append(len(texts))
        return embed(texts)

    found = reembed(Inputs(given([f"m{n}" for n in range(BATCH + 3)]), {}, Settings(), embed=count))
    assert asked == [BATCH, 3]
    assert len(found.items) == BATCH + 3


def test_a_second_look_keeps_to_its_focus() -> None:
    """What a plan did not touch is not proposed by the probe that looks at its outcome."""
    inputs = Inputs(given(["a", "b"]), {}, Settings(), embed=embed, focus=frozenset({uid("b")}))
    assert rows(reembed(inputs)) == {uid("b")}


def test_nothing_is_planned_without_a_model_or_with_another_one() -> None:
    """Vectors of two lengths do not compare; the headline says what is missing."""
    bare = given(["a"], memory_vectors=Vectors.empty(), chunk_vectors=Vectors.empty())
    assert plan(bare).report.headline == "The namespace has no vectors, and none are planned."
    without = reembed(Inputs(given(["a"]), {}, Settings()))
    assert (without.items, "no embedder of the model" in without.report.headline) == ((), True)
    other = plan(given(["a", "b"], memory_vectors={uid("a"): [1.0, 0.0, 0.0]}))
    assert (other.items, "gives vectors of 2 numbers" in other.report.headline) == ((), True)


def test_on_the_store_a_second_night_has_nothing_to_do(store: Store) -> None:
    """With the offline model; undo takes the vectors away again."""
    import slowwave

    remember(
        store,
        "acme",
        documents=[{"id": "d"}],
        chunks=[{"id": "c", "document_id": "d", "content": "Harbor Freight repairs the crane."}],
        memories=[{"id": m, "kind": "episodic", "current_version_id": f"v {m}"} for m in ("seen", "bare")],
        memory_versions=[{"id": f"v {m}", "memory_id": m, "content": f"{m} memory"} for m in ("seen", "bare")],
        memory_vectors=[{"id": "seen", "vector": unit(1.0)}],
    )
    accept_operations(store, "acme", ["reembed"], accepted_by="mara")
    assert slowwave.dream("acme", "apply", ops="reembed", store=store).run.counts["applied"] == 2
    assert ask(store, "SELECT count(*) FROM memory.chunk_vectors") == [(1,)]
    again = slowwave.dream("acme", ops="reembed", store=store)
    assert again.state == "completed"
    slowwave.dream_undo("last", store=store)
    assert ask(store, "SELECT count(*) FROM memory.memory_vectors") == [(1,)]


def test_passage_of_a_speaker_is_embedded_with_the_name_and_records_it(store: Store) -> None:
    """J19: an applied item leaves the vector as an import would, so that `namespace reembed` does not make it again; undo removes it."""
    import slowwave

    remember(
        store,
        "acme",
        documents=[{"id": "d", "title": "Talk"}],
        chunks=[
            {"id": name, "document_id": "d", "ordinal": n, "content": "The green one is mine.", "speaker": name or None}
            for n, name in enumerate(["Jon", ""])
        ],
    )
    accept_operations(store, "acme", ["reembed"], accepted_by="mara")
    assert slowwave.dream("acme", "apply", ops="reembed", store=store).run.counts["applied"] == 2
    held = ask(
        store, "SELECT c.speaker, v.speaker, v.vector::text FROM memory.chunk_vectors v JOIN memory.chunks c USING (id)"
    )
    assert {(of_chunk, of_vector) for of_chunk, of_vector, _ in held} == {("Jon", "Jon"), (None, None)}
    for speaker, _, vector in held:
        text = "The green one is mine." if speaker is None else "Jon: The green one is mine."
        assert json.loads(str(vector)) == pytest.approx(embedder_for(Settings()).embed([text])[0].tolist(), abs=1e-6)
    slowwave.dream_undo("last", store=store)
    assert ask(store, "SELECT count(*) FROM memory.chunk_vectors") == [(0,)]


def test_diff_of_a_passage_vector_shows_the_speaker() -> None:
    """J19: an item that makes such a vector can be shown, sealed and read back."""
    snapshot = make_snapshot(
        chunks=[{"id": uid("c"), "content": "The green one is mine.", "speaker": "Jonathan"}],
        vectors={"memory_vectors": Vectors(MODEL, pa.array([], pa.string()), np.empty((0, 2), np.float32))},
    )
    [item] = plan(snapshot).items
    assert Item.from_json(item.to_json()) == item
    assert [change.after for change in changes(item)] == ["speaker=Jonathan, vector=vector of 2 [0.000, 1.000, …]"]

"""A namespace goes over to another embedding model: all at once, and not before everything that lives has its vector."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from slowwave.errors import EmbeddingError, Refused
from slowwave.models.embedder import OfflineEmbedder, entity_text
from slowwave.models.embedding_models import MINILM_MODEL, STATIC_MODEL
from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.snapshots.export import export_snapshot
from slowwave.sources import reembedding
from slowwave.sources.pipeline import import_messages
from slowwave.sources.reembedding import diagnose_languages, reembed_namespace
from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.sources.conftest import HashEmbedder

SAID = ("Jane Smith works at Acme Corp.", "Jane Smith likes tea.", "Write to bob@x.org")
Written = Callable[[], int]


class Another(HashEmbedder):
    """Sixteen dimensions, under another name; it breaks at the ``breaks`` th call."""

    model = "hash-16"
    dimensions = 16

    def __init__(self, breaks: int = 0) -> None:
        super().__init__()
        self._left = breaks

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self._left -= 1
        if not self._left:
            raise EmbeddingError("The model is gone.")
        return np.hstack([super().embed(texts)] * 2) / np.float32(2**0.5)


@pytest.fixture
def filled(store: Store, embedder: HashEmbedder, jsonl: Callable[..., Path]) -> Store:
    said = [
        {
            "namespace": "demo",
            "created_at": f"2026-03-01T09:0{n}:00+00:00",
            "role": "user",
            "content": text,
            "id": str(n),
        }
        for n, text in enumerate(SAID)
    ]
    with store.connect("owner") as connection:
        import_messages(connection, jsonl(*said), embedder=embedder)
    return store


def models(store: Store) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for table in ("memory_vectors", "chunk_vectors", "entity_vectors"):
        rows = ask(store, f"SELECT model, count(*) FROM memory.{table} GROUP BY model ORDER BY model")
        found[table] = dict(rows)
    return found


def test_everything_that_lives_is_embedded_beside_what_stands(filled: Store) -> None:
    """Vectors of before stay; a snapshot reads those of the new model; a second time makes none."""
    before = {table: counts["hash-8"] for table, counts in models(filled).items()}
    steps: list[tuple[int, int]] = []
    with filled.connect("owner") as connection:
        done = reembed_namespace(connection, "demo", Another(), progress=lambda n, of: steps.append((n, of)))
        again = reembed_namespace(connection, "demo", Another())
    assert done.made == before
    assert (done.formerly, done.model, again.made) == ("fast-use-v3", "hash-16", {})
    assert steps[-1] == (sum(before.values()), sum(before.values()))
    assert models(filled) == {table: {"hash-16": n, "hash-8": n} for table, n in before.items()}
    snapshot = export_snapshot(filled, "demo")
    assert {vectors.model for vectors in snapshot.vectors.values()} == {"hash-16"}
    assert snapshot.settings["embedding_model"] == "hash-16"


def test_vectors_are_those_of_the_texts(filled: Store) -> None:
    """A memory by its words, an entity by name and type."""
    model = OfflineEmbedder()
    with filled.connect("owner") as connection:
        reembed_namespace(connection, "demo", model)
    snapshot = export_snapshot(filled, "demo")
    of = snapshot.vectors["memory_vectors"]
    rows = ask(
        filled,
        "SELECT m.id::text, v.content FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id",
    )
    for id_, text in rows:
        assert of.matrix[of.ids.to_pylist().index(id_)] @ model.embed([text])[0] > 0.999
    entities = snapshot.vectors["entity_vectors"]
    for id_, *described in ask(filled, "SELECT id::text, name, entity_type, description FROM memory.entities"):
        assert entities.matrix[entities.ids.to_pylist().index(id_)] @ model.embed([entity_text(*described)])[0] > 0.999


def test_what_breaks_goes_on_where_it_was(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until nothing is left the namespace keeps its model."""
    monkeypatch.setattr(reembedding, "_BATCH", 2)
    with filled.connect("owner") as connection:
        with pytest.raises(EmbeddingError, match="gone"):
            reembed_namespace(connection, "demo", Another(breaks=3))
        half = models(filled)
        assert 0 < sum(counts.get("hash-16", 0) for counts in half.values()) < sum(c["hash-8"] for c in half.values())
        assert "embedding_model" not in ask(filled, "SELECT settings FROM memory.namespaces")[0][0]
        assert export_snapshot(filled, "demo").vectors["memory_vectors"].model == "hash-8"
        rest = Another()
        reembed_namespace(connection, "demo", rest)
    assert len(rest.embedded) == sum(c["hash-8"] - c.get("hash-16", 0) for c in half.values())


def test_a_plan_that_waits_is_decided_first(store: Store) -> None:
    """Its items hold vectors of the model before."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    with store.connect("owner") as connection:
        with pytest.raises(Refused, match=f"Plan {plan.plan_hash[:12]} of .* has pending items"):
            reembed_namespace(connection, world.slug, Another())
        connection.execute("UPDATE memory.namespaces SET read_only = true")
        with pytest.raises(Refused, match="Read-only"):
            reembed_namespace(connection, world.slug, Another())
        with pytest.raises(Refused, match="no namespace"):
            reembed_namespace(connection, "nobody", Another())


@pytest.mark.parametrize("end", ["applied", "undone", "approved and not applied", "expired"])
def test_reembed_after_a_plan_ended_works(store: Store, end: str) -> None:
    """J25: a plan keeps the state approved after all of it was applied or undone; what counts is whether items of it can be applied."""
    world = new_world(store)
    _, plan = write_a_plan(store, world, expiry_days=0 if end == "expired" else 7)
    with store.connect("owner") as connection:
        if end != "expired":
            approval = approve(store, world.slug, plan.plan_hash, approver="mara", include_review=True)
            if end == "approved and not applied":
                with pytest.raises(Refused, match="has pending items"):
                    reembed_namespace(connection, world.slug, Another())
                return
            run = apply_approval(store, approval.id).run_id
            if end == "undone":
                undo_run(store, run)
        assert reembed_namespace(connection, world.slug, Another()).model == "hash-16"


@pytest.mark.parametrize("model", [HashEmbedder, Another])
def test_reembed_renews_only_vectors_made_without_the_speaker_and_only_once(
    store: Store, embedder: HashEmbedder, jsonl: Callable[..., Path], model: type[HashEmbedder]
) -> None:
    """J19: with the namespace's own model or with another; a stop in between loses none and repeats none."""
    row = {"namespace": "demo", "created_at": "2026-03-01T09:00:00+00:00"}
    said = [
        row | {"role": role, "content": f"{role} eats {n}.", "id": str(n)}
        for n, role in enumerate(["Jon", "Ava", "user"])
    ]
    with store.connect("owner") as connection:
        import_messages(connection, jsonl(*said), embedder=embedder)
        connection.execute(  # as it was before speakers were recorded
            "UPDATE memory.chunk_vectors v SET speaker = NULL, vector = m.vector FROM memory.memory_vectors m "
            "JOIN memory.memories o ON o.id = m.id WHERE v.id = ANY (o.source_chunk_ids)"
        )
        first = reembed_namespace(connection, "demo", model())
        again = reembed_namespace(connection, "demo", model())
        same = model is HashEmbedder
        assert (first.with_speakers, first.made["chunk_vectors"]) == ((2, 2) if same else (0, 3))
        assert (again.with_speakers, again.made) == (0, {})
        if not same:  # going back renews what the first model holds
            back = reembed_namespace(connection, "demo", HashEmbedder())
            assert (back.with_speakers, back.made) == (2, {"chunk_vectors": 2})
    rows = ask(
        store,
        "SELECT c.content, c.speaker, v.vector::text FROM memory.chunks c JOIN memory.chunk_vectors v ON v.id = c.id "
        "WHERE v.model = 'hash-8'",
    )
    for content, speaker, vector in rows:
        text = f"{speaker}: {content}" if speaker else str(content)
        assert json.loads(str(vector)) == pytest.approx(embedder.embed([text])[0].tolist())


def test_an_import_keeps_to_the_model_of_its_namespace(
    filled: Store, jsonl: Callable[..., Path], embedder: HashEmbedder
) -> None:
    """Whatever the default is by then; a new namespace takes the default and keeps it."""
    more = {"namespace": "demo", "created_at": "2026-03-02T09:00:00+00:00", "role": "user", "content": "Tea is hot."}
    with filled.connect("owner") as connection:
        reembed_namespace(connection, "demo", OfflineEmbedder())
        import_messages(connection, jsonl(more), embedder=embedder)
        import_messages(connection, jsonl(more | {"namespace": "new"}), embedder=OfflineEmbedder())
    rows = ask(
        filled,
        "SELECT n.slug, v.model, count(*) FROM memory.memory_vectors v JOIN memory.namespaces n ON n.id = v.namespace_id "
        "GROUP BY 1, 2 ORDER BY 1, 2",
    )
    assert rows == [("demo", "fast-use-v3", 4), ("demo", "hash-8", 3), ("new", "fast-use-v3", 1)]
    settings = dict(ask(filled, "SELECT slug, settings ->> 'embedding_model' FROM memory.namespaces"))
    assert settings == {"demo": "fast-use-v3", "new": "fast-use-v3"}


def test_doctor_suggests_the_multilingual_model_when_many_texts_are_not_english(
    store: Store, embedder: HashEmbedder
) -> None:
    """One in ten is not enough, a namespace with another model is left alone, and the remedy ends the finding."""
    foreign = ("Die Werft in Bremen öffnet um neun Uhr.", "Mon frère habite à Lyon depuis deux ans.")
    for slug, others, model in (("mixed", 2, MINILM_MODEL), ("few", 1, MINILM_MODEL), ("other", 2, STATIC_MODEL)):
        texts = [*foreign[:others], *(f"Ada moved the crane to pier {n}." for n in range(10 - others))]
        remember(
            store,
            slug,
            {"embedding_model": model},
            memories=[
                {"id": f"{slug} {n}", "kind": "semantic", "current_version_id": f"{slug} v{n}"} for n in range(10)
            ],
            memory_versions=[
                {"id": f"{slug} v{n}", "memory_id": f"{slug} {n}", "content": text} for n, text in enumerate(texts)
            ],
        )
    (found,) = diagnose_languages(store)
    assert not found.problem
    assert "In mixed, 2 of 10 texts are in other languages than English (German 1, French 1)" in found.finding
    assert f"`slowwave namespace reembed mixed --model {STATIC_MODEL}`" in found.remedy
    assert "Apply or reject a plan with pending items first" in found.remedy
    embedder.model = STATIC_MODEL
    with store.connect("owner") as connection:
        reembed_namespace(connection, "mixed", embedder)
    assert not diagnose_languages(store)

"""The floor of summaries is the embedding model's own, and no night moves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.remembered import given
from benchmarks.retellings import DEVELOPED, told
from slowwave.changes.simulate import simulate
from slowwave.matching.memories import UNRELATED
from slowwave.models.embedding_models import MINILM_MODEL, OFFLINE_MODELS, STATIC_MODEL, minilm_is_installed
from slowwave.operations import PLANNERS, Inputs
from slowwave.operations import consolidation as consolidation_floor
from slowwave.operations.consolidation import UNKNOWN, cohesion_floor
from slowwave.snapshots.snapshot import Snapshot, Vectors
from slowwave.store.configured_models import embedder_for
from slowwave.store.settings import Settings
from tests.snapshots import make_inputs, make_snapshot, uid

consolidate_clusters = PLANNERS["consolidate_clusters"]

TOLD = (
    "On 3 March the billing service went down for 40 minutes because the database ran out of connections.",
    "The billing service outage on 3 March was caused by an exhausted connection pool in the database.",
    "Billing was unavailable for 40 minutes on 3 March; Priya raised the pool limit from 50 to 200.",
    "Priya fixed the billing outage of 3 March by raising the connection pool limit to 200.",
)


def known(model: str) -> None:
    if model == MINILM_MODEL and not minilm_is_installed():
        pytest.skip("its wheels are not installed")


def of(model: str, rows: int = 2, spread: float = 1.0, dimensions: int = 32, **settings: object) -> Snapshot:
    """Memories with vectors that are drawn, by the name of a model."""
    random = np.random.default_rng(1)
    matrix = random.normal(size=(rows, dimensions)) * spread
    matrix[:, 0] += 1
    memories = [{"id": uid(k), "current_version_id": uid(f"text {k}"), "kind": "semantic"} for k in range(rows)]
    order = sorted(range(rows), key=uid)
    vectors = Vectors(model, pa.array([uid(k) for k in order]), matrix[order].astype(np.float32))
    return make_snapshot(memories=memories, vectors={"memory_vectors": vectors}, settings=settings)


def test_the_floor_is_the_models_own() -> None:
    """The same rarity among unrelated texts is another cosine for another model."""
    floors = {m: cohesion_floor(make_inputs(of(m))) for m in OFFLINE_MODELS}
    assert floors[MINILM_MODEL] == pytest.approx(0.539, abs=1e-3)
    assert floors[STATIC_MODEL] == pytest.approx(0.590, abs=1e-3)


def test_a_floor_that_is_set_holds_and_deviations_move_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cosine itself, or how far it is from chance."""
    assert cohesion_floor(make_inputs(of(STATIC_MODEL, operations={"consolidate_clusters": {"cohesion": 0.7}}))) == 0.7
    inputs = make_inputs(of(STATIC_MODEL))
    floor = cohesion_floor(inputs)
    monkeypatch.setattr(consolidation_floor, "_COHESION_DEVIATIONS", 6)
    assert cohesion_floor(inputs) < floor


def test_a_foreign_model_that_is_at_hand_is_measured_once() -> None:
    """It embeds the notes that have nothing to do with each other, not the namespace's texts."""
    asked: list[Sequence[str]] = []
    random = np.random.default_rng(2)

    def embed(texts: Sequence[str]) -> np.ndarray:
        asked.append(texts)
        return random.normal(size=(len(texts), 256))

    snapshot = of(
        "foreign-1", rows=100, dimensions=256, embedding_model="foreign-1", embedding_endpoint="http://localhost:1"
    )
    inputs = replace(make_inputs(snapshot), embed=embed)
    floor = cohesion_floor(inputs)
    assert floor == cohesion_floor(inputs)
    assert asked == [UNRELATED]
    assert floor == pytest.approx(7 / 256**0.5, abs=0.05)  # cosines of d dimensions drawn at random deviate by 1/√d


def test_a_foreign_model_that_is_not_at_hand_is_calibrated_by_its_own_vectors() -> None:
    """Wider vectors, another floor; a summary and the retirement of its sources change it not; too few vectors say nothing."""
    snapshot = of("foreign-2", rows=200)
    floor = cohesion_floor(make_inputs(snapshot))
    assert 0.3 < floor < 0.99
    assert cohesion_floor(make_inputs(of("foreign-2", rows=200, spread=2.0))) != floor
    assert cohesion_floor(make_inputs(of("foreign-2", rows=20))) == UNKNOWN


@pytest.mark.parametrize("model", OFFLINE_MODELS)
def test_a_night_does_not_move_the_floor(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is read off the namespace's own vectors: what a night retires counts as before, what it writes not at all."""
    known(model)
    monkeypatch.setenv("SLOWWAVE_EMBEDDING_MODEL", model)
    monkeypatch.setattr(consolidation_floor, "UNRELATED_COSINES", {})
    texts, _ = told(DEVELOPED)
    monkeypatch.setattr(consolidation_floor, "_COHESION_DEVIATIONS", 6)
    inputs = Inputs(given(texts), {}, Settings())
    items = consolidate_clusters(inputs).items
    assert items
    later = replace(inputs, snapshot=simulate(inputs.snapshot, items))
    assert cohesion_floor(later) == cohesion_floor(inputs) != UNKNOWN


@pytest.mark.parametrize("model", OFFLINE_MODELS)
def test_retellings_of_one_incident_become_one_at_default_settings(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the incidents with the contextual model; the static one sees less in other words. None of another incident is mixed in,
    and what is left over is told by a second night: the third is empty."""
    known(model)
    monkeypatch.setenv("SLOWWAVE_EMBEDDING_MODEL", model)
    texts, labels = told(DEVELOPED)
    embed = embedder_for(Settings()).embed
    inputs = Inputs(given(texts), {}, Settings(blast_radius_share=1.0), embed=embed)
    place = {str(row["id"]): k for k, row in enumerate(inputs.snapshot.table("memories").to_pylist())}
    items = consolidate_clusters(inputs).items
    assert len(items) >= {MINILM_MODEL: 15, STATIC_MODEL: 4}[model]
    assert {len({labels[place[id_]] for id_ in item.sources}) for item in items} == {1}
    for _ in range(2):
        inputs = replace(inputs, snapshot=simulate(inputs.snapshot, items))
        items = consolidate_clusters(inputs).items
    assert items == ()


def test_four_retellings_become_one_with_the_contextual_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """What all four say stands in fewer words, with every number and name."""
    known(MINILM_MODEL)
    monkeypatch.setenv("SLOWWAVE_EMBEDDING_MODEL", MINILM_MODEL)
    (item,) = consolidate_clusters(Inputs(given(TOLD), {}, Settings())).items
    assert len(item.sources) >= 3
    assert all(word in str(item.evidence["text"]) for word in ("3 March", "40 minutes", "Priya", "50", "200"))

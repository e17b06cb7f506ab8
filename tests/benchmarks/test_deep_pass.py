"""The benchmark of deep passes does what it tells."""

from __future__ import annotations

from benchmarks.deep_pass import measured
from slowwave.store.connect import Store
from tests.memories import ask


def test_deep_a_pass_is_measured_from_its_first_turn_to_its_plan(store: Store) -> None:
    """All turns are taken, and the model's seconds are part of the pass's."""
    done, whole = measured(store, memories=30, turns=3, seconds=0.0)
    assert (done.turns, done.files) == (3, ("memories/notes.md",))
    assert 0 <= done.model_seconds <= done.seconds <= whole
    assert ask(store, "SELECT mode, state FROM night.runs") == [("deep", "completed")]

"""The diary of repeated observations: the same every time, and only what was repeated without a change is folded."""

from __future__ import annotations

from collections import Counter

from benchmarks.observations import diary, folds_of, quality
from slowwave.snapshots.memories import active_memories


def test_only_repeated_observations_of_the_diary_are_folded() -> None:
    made = diary()
    assert made == diary()
    assert made.turns != diary(seed=2).turns
    snapshot, items = folds_of(made.turns)
    texts = dict(zip(*(active_memories(snapshot)[c].to_pylist() for c in ("id", "text")), strict=True))
    found = Counter(made.kinds[texts[item.mutation.rows[0].id]] for item in items)
    assert found == {"repeated": list(made.kinds.values()).count("repeated")}
    before, after = (int(cell.replace(",", "")) for cell in quality(None)[1].rows[0][4:6])
    assert after < 0.7 * before

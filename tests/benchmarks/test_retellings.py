"""The incidents of the benchmark: four tellings each, and the same ones from the same seed."""

from __future__ import annotations

from collections import Counter

from benchmarks.memories import group, installed
from benchmarks.retellings import DEVELOPED, LOOKED_AT, TELLINGS, UNSEEN, told


def test_every_incident_is_told_four_times_in_other_words() -> None:
    """None twice, all places filled; notes of nothing of the kind have no label."""
    for kinds in (DEVELOPED, LOOKED_AT, UNSEEN):
        texts, labels = told(kinds)
        assert len(set(texts)) == len(texts)
        assert not any("{" in text for text in texts)
        of = Counter(labels)
        assert of.pop("") == 8
        assert set(of.values()) == {TELLINGS}
        assert len(of) == 10 * len(kinds)
    assert told(UNSEEN) == told(UNSEEN)
    assert told(UNSEEN) != told(UNSEEN, seed=1)


def test_the_planner_itself_is_measured_with_each_model() -> None:
    """At default settings, three incidents of a kind: no summary mixes two of them."""
    texts, labels = told(DEVELOPED[2:], incidents=3)
    for model in installed():
        found = group(texts, labels, model)
        assert found.groups >= 1
        assert (found.purity, found.foreign) == (1.0, 0)

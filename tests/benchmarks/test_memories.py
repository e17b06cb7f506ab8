"""The benchmark of memories: its counts are right, its changes change what they say, and its vectors are what the page says."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import memories
from benchmarks.memories import CHANGES, SPECTRA, Grouped, Judged, Timed, group, judge, retold, speed, vectors
from slowwave.operations import Proposal
from slowwave.plans.report import Report
from tests.toy import CLUSTER


def test_pairs_are_counted_by_label() -> None:
    """What a night merges and flags, each against its label; a pair that the audit finds apart from the rule is no flag of the rule."""
    pairs = [
        ("The user prefers dark mode.", "User prefers the dark mode.", "same"),
        ("The pump works at night.", "The pump does not work at night.", "other"),
        ("The pump works at night.", "Lunch was very good today.", "other"),
    ]
    assert judge(pairs) == [Judged("same", 1, 1, 0, 0), Judged("other", 2, 0, 1, 1)]


def test_what_is_judged_is_what_a_night_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the operations switched off nothing is merged, flagged or summed up, whatever the rules beside them say."""
    nothing = Report("none", "Nothing.")
    monkeypatch.setattr(memories, "dedupe_memories", lambda inputs: Proposal((), nothing))
    monkeypatch.setattr(memories, "contradictions", lambda inputs: nothing)
    monkeypatch.setattr(memories, "consolidate_clusters", lambda inputs: Proposal((), nothing))
    (found,) = judge([("The pump works at night.", "The pump does not work at night.", "other")])
    assert (found.merged, found.flagged, found.opposed) == (0, 0, 1)
    assert group(NOTES, ["crane"] * len(NOTES)).groups == 0


NOTES = [*CLUSTER, "The bakery opens at six."]


def test_purity_and_coverage_are_counted_by_hand() -> None:
    """One summary for three notes of one matter, of which one is labelled otherwise; a stranger without a label is in none."""
    found = group(NOTES, ["crane", "crane", "inspection", ""])
    assert found == Grouped(1, pytest.approx(2 / 3), 1.0, 0)


def test_a_statement_is_told_again_in_every_way_that_applies() -> None:
    """None is the text itself, and the same seed gives the same pairs."""
    text = "I bought the 3 wonderful paintings in Paris and my sister is happy."
    found = retold([text])
    assert [how for _, _, how in found] == list(CHANGES)
    assert all(a == text != b for a, b, _ in found)
    assert retold([text]) == found
    assert [j.merged for j in judge(found) if j.label.startswith("other")] == [0] * 6


def test_vectors_are_unit_and_their_copies_near() -> None:
    """A fifth of the rows is near another one; crowded rows are near each other at random."""
    for spectrum in SPECTRA:
        matrix = vectors(1_000, spectrum)
        assert np.allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-5)
        near = matrix[800:] @ matrix[:800].T
        assert (near.max(axis=1) > 0.74).all()
        share = float(np.mean(matrix[:400] @ matrix[400:800].T >= 0.75))
        assert (share > 0.05) is (spectrum == "crowded")


def test_growth_is_that_of_the_size_before() -> None:
    """Ten times the rows in fifty times the seconds."""
    figures = [Timed(n, "realistic", s, s, 5, 1.0, 2.0) for n, s in ((1_000, 0.1), (10_000, 5.0))]
    assert [row[4] for row in speed(figures).rows] == ["", "x50.0 for x10.0 rows"]

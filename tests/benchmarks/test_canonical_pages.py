"""What is measured of canonical pages is what it says: pages of all subjects, and a second night that writes none."""

from __future__ import annotations

from benchmarks.canonical_pages import CLAIMS, measure, namespace


def test_ten_claims_a_subject_and_a_plan_of_their_pages() -> None:
    """It raises where a page is missing or written twice."""
    snapshot = namespace(6)
    assert (snapshot.table("memories").num_rows, snapshot.table("entities").num_rows) == (6 * CLAIMS, 6)
    found, hash_ = measure(6)
    assert found.keys() == {"drafts", "plan", "again", "markdown-it"}
    assert measure(6)[1] == hash_, "the same claims, the same plan"

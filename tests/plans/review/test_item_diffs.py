"""Item diffs: each item of a list is named and described as ``plans diff`` does, with few queries."""

from __future__ import annotations

import pytest

from slowwave.plans.ledger import read_plan
from slowwave.plans.review.card import item_diffs
from slowwave.store.connect import Store
from tests.surfaces.review_page.planted import plant

ARCHIVED = (
    "No search returns the memory any more (state active → archived). "
    "It stays stored, and so does a passage that it cites, which searches still return."
)


@pytest.mark.slow
def test_item_diffs_of_a_plan_name_each_item_and_its_changes(store: Store) -> None:
    """A merge says which row goes into which, an archive the text that leaves recall, in the order that was given."""
    plan = plant(store, asked=2, decided=2, archived=1)
    with store.connect("reader") as connection:
        stored = read_plan(connection, plan.plan_hash)
    found = item_diffs(store, stored, stored.items)
    assert [d.id for d in found] == [s.id for s in stored.items]
    by_operation = {s.operation: d for s, d in zip(stored.items, found, strict=True)}
    merge, archive = by_operation["dedupe_entities"], by_operation["archive_stale"]
    assert (archive.title, archive.lines) == (
        "The tide table of week 0 hangs by the door.",
        (ARCHIVED,),
    )
    assert (archive.heading, merge.heading) == ("May this change?", "Same thing?")
    assert "is merged into" in merge.title
    assert all(d.lines and d.title not in d.lines for d in found)

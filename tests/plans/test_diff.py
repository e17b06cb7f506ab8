"""The diff says what would change in words a person can check."""

from __future__ import annotations

import numpy as np

from slowwave.mutations.cells import Cell, Insert, Write
from slowwave.mutations.mutation import Mutation
from slowwave.mutations.vectors import encode
from slowwave.plans.diff import Change, changes
from slowwave.plans.items import Item

ROW = "00000000-0000-0000-0000-000000000001"


def test_every_kind_of_change_reads_as_before_and_after() -> None:
    """Values as they are, arrays as counts, vectors as a glimpse, counters as a delta, stamps as what they will be."""
    item = Item(
        "dedupe_entities",
        "merge",
        Mutation(
            "merge_rows",
            "entities",
            writes=(
                Write(Cell("entities", ROW, "description"), "set", "", "New."),
                Write(Cell("entities", ROW, "source_chunk_ids"), "set", ("a", "b"), ("a",)),
                Write(Cell("entities", ROW, "mention_count"), "add", None, -2),
                Write(Cell("entities", ROW, "invalidated_at"), "now"),
                Write(Cell("entity_vectors", ROW, "vector", "m"), "set", None, encode(np.array([1, 0.5], np.float32))),
            ),
            inserts=(Insert("entity_aliases", {"alias": "Anne", "entity_id": ROW}),),
        ),
    )
    assert [(c.column, c.before, c.after) for c in changes(item)] == [
        ("description", "", "New."),
        ("source_chunk_ids", "2 ids", "1 ids"),
        ("mention_count", "n", "n -2"),
        ("invalidated_at", "nothing", "time of apply"),
        ("vector", "nothing", "vector of 2 [1.000, 0.500, …]"),
        ("", "nothing", f"alias=Anne, entity_id={ROW}"),
    ]
    assert changes(item)[-1] == Change("entity_aliases", "new row", "", "nothing", f"alias=Anne, entity_id={ROW}")

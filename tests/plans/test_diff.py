"""The diff says what would change in words a person can check."""

from __future__ import annotations

import numpy as np

from slowwave.changes.cells import Cell, Guard, Insert, Write, encode
from slowwave.changes.mutation import Mutation, Row
from slowwave.plans.items import Item
from slowwave.plans.show import ItemChange, Rewording, changes, lost_lines, rewordings
from slowwave.text.specifics import losses

ROW = "00000000-0000-0000-0000-000000000001"
OTHER = "00000000-0000-0000-0000-000000000002"


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
    assert changes(item)[-1] == ItemChange("entity_aliases", "new row", "", "nothing", f"alias=Anne, entity_id={ROW}")


def test_memories_that_an_item_keeps_are_beside_the_one_that_ends() -> None:
    """The row that stays in a contradiction still says what both rows say."""
    ended = Write(Cell("memories", ROW, "invalidated_at"), "now")
    guards = tuple(
        Guard("memories", row, ("current_version_id",), (version,)) for row, version in ((ROW, "V"), (OTHER, "W"))
    )
    mutation = Mutation("invalidate_rows", "memories", writes=(ended,), guards=guards, rows=(Row(ROW),))
    assert rewordings(Item("x", "y", mutation)) == [Rewording(ROW, "V", beside=("W",))]


def of_memory(kind: str, *writes: Write, content: str = "", keep: Row | None = None) -> list[Rewording]:
    """What is reworded by a mutation of the memory ROW, which was seen with the version V."""
    version = Guard("memories", ROW, ("current_version_id",), ("V",))
    inserts = (Insert("memory_versions", {"content": content}),) if content else ()
    mutation = Mutation(kind, "memories", writes=writes, guards=(version,), inserts=inserts, rows=(Row(ROW),))
    return rewordings(Item("x", "y", mutation))


def test_what_says_it_then_is_the_new_text_or_nothing() -> None:
    """A quarantined memory is not shown at all."""
    assert of_memory("new_version", content="New.") == [Rewording(ROW, "V", "New.")]
    state = Cell("memories", ROW, "state")
    assert of_memory("set_state", Write(state, "set", "active", "archived")) == [Rewording(ROW, "V")]
    assert of_memory("set_state", Write(state, "set", "active", "quarantined")) == []


def test_lines_mark_what_goes_and_count_what_stays() -> None:
    """A repeated sentence is shown once."""
    stays = " ".join(f"Hall {n} is dry." for n in range(6))
    shown = lost_lines(losses(f"{stays} Rui left. Rui left. Ava sings.", f"{stays} Ava now sings."))
    assert shown == [
        *("  Hall 0 is dry.", "  … 4 more stay", "  Hall 5 is dry.", "- Rui left. (2 times)"),
        "~ Ava {+now+} sings.",
    ]

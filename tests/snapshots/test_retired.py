"""Which rows have left the memory, and since when."""

from __future__ import annotations

from datetime import timedelta

import pytest

from slowwave.snapshots.rows import retired, retired_since
from tests.snapshots import TAKEN_AT, make_snapshot, uid


def ago(days: float) -> object:
    return TAKEN_AT - timedelta(days=days)


@pytest.mark.parametrize(
    ("row", "since"),
    [
        ({"invalidated_at": ago(3)}, ago(3)),
        ({"invalidated_at": ago(3), "valid_to": ago(9)}, ago(3)),
        ({"is_active": False, "valid_to": ago(9)}, ago(9)),
        ({"is_active": False, "superseded_by": uid("newer")}, ago(2)),
        ({"is_active": False, "superseded_by": uid("newer"), "valid_to": ago(1)}, ago(1)),
        ({"is_active": False, "valid_to": ago(-5)}, None),
        ({"is_active": False}, None),
    ],
)
def test_a_fact_is_retired_since_the_latest_mark_that_is_past(row: dict[str, object], since: object) -> None:
    """What replaced it was recorded two days ago; an end that lies ahead is no mark."""
    said = {"subject": "s", "predicate": "p", "object": "o"}
    newer = {"id": uid("newer"), "recorded_at": ago(2), **said}
    snapshot = make_snapshot(memory_facts=[{"id": uid("f"), **said, **row}, newer])
    at = snapshot.table("memory_facts")["id"].to_pylist().index(uid("f"))
    assert retired(snapshot, "memory_facts").to_pylist()[at] is True
    assert retired_since(snapshot, "memory_facts").to_pylist()[at] == since


def test_what_ended_in_the_world_is_no_tombstone_unless_it_is_a_community() -> None:
    """An edge of last year is history; a community that ended was replaced."""
    ended = {"valid_to": ago(9)}
    snapshot = make_snapshot(relationships=[{"relationship_type": "KNOWS", **ended}], communities=[ended, {}])
    assert retired(snapshot, "relationships").to_pylist() == [False]
    assert sorted(retired(snapshot, "communities").to_pylist()) == [False, True]


def test_chunks_know_no_world_time() -> None:
    """Their one mark is their retraction."""
    snapshot = make_snapshot(chunks=[{"content": "x", "invalidated_at": ago(4)}, {"content": "y"}])
    assert sorted(retired_since(snapshot, "chunks").to_pylist(), key=str) == [ago(4), None]

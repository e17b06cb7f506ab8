"""Rows of a snapshot by id: every cell in the form that plans hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from slowwave.changes.cells import canonical
from slowwave.changes.rows import as_ids, columns_by_id, live_ids, rows_by_id, rows_where, set_columns
from slowwave.errors import SnapshotError
from tests.snapshots import TAKEN_AT, make_snapshot, uid

INSTANTS = (
    None,
    datetime(2026, 3, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC) + timedelta(microseconds=1),
    datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
)
SNAPSHOT = make_snapshot(
    memories=[
        {
            "id": uid(f"m{n}"),
            "valid_from": when,
            "source_chunk_ids": [uid("c")] * n,
            "attributes": {"n": n},
            "importance": n / 3,
        }
        for n, when in enumerate(INSTANTS)
    ]
)
PAIR = make_snapshot(
    entities=[
        {"id": uid("a"), "name": "Ann", "entity_type": "person", "source_chunk_ids": [uid("c")]},
        {"id": uid("b"), "name": "Bo", "entity_type": "tool", "invalidated_at": TAKEN_AT},
    ]
)


def test_cells_are_those_that_one_by_one_would_be_made() -> None:
    """Instants before 1970 and at the ends of the calendar, lists, numbers, texts and nulls."""
    columns = [c for c in SNAPSHOT.table("memories").column_names if c != "id"]
    expected = {
        row["id"]: {name: canonical(value) for name, value in row.items()}
        for row in SNAPSHOT.table("memories").to_pylist()
    }
    assert rows_by_id(SNAPSHOT, "memories", expected.keys(), columns) == expected
    ids, cells = columns_by_id(SNAPSHOT, "memories", expected.keys(), columns)
    assert ids == sorted(expected)
    assert cells == {"id": ids} | {c: [expected[id_][c] for id_ in ids] for c in columns}
    assert rows_where(SNAPSHOT, "memories", "id", expected.keys(), columns) == list(expected.values())
    assert expected[uid("m2")]["valid_from"] == "1969-12-31T23:59:59.999999+00:00"


def test_a_row_that_is_not_there_is_named() -> None:
    """A plan is made of the rows that its snapshot holds."""
    with pytest.raises(SnapshotError, match=uid("gone")):
        rows_by_id(SNAPSHOT, "memories", [uid("m1"), uid("gone")], ["state"])


def test_what_a_change_rests_on_is_guarded_and_not_written() -> None:
    """Once a column, and in the order of their names behind the row's end."""
    (mutation,) = set_columns(
        SNAPSHOT, "set_state", "memories", {uid("m1"): {"state": "archived", "ring": "hot"}}, ("pinned", "state")
    )
    again = set_columns(SNAPSHOT, "set_state", "memories", {uid("m1"): {"state": "active"}}, ("state",))[0]
    assert [w.cell.column for w in mutation.writes] == ["ring", "state"]
    assert [c.column for c, _ in mutation.seen()] == ["invalidated_at", "pinned"]
    assert (again.writes, [c.column for c, _ in again.seen()]) == ((), ["invalidated_at", "state"])


def test_the_rows_asked_for_and_no_others() -> None:
    """Their columns are in canonical form: lists as tuples."""
    found = rows_by_id(PAIR, "entities", {uid("a")}, ["name", "source_chunk_ids"])
    assert found == {uid("a"): {"id": uid("a"), "name": "Ann", "source_chunk_ids": (uid("c"),)}}
    assert rows_by_id(PAIR, "entities", set(), ["name"]) == {}


def test_rows_by_another_column() -> None:
    assert rows_where(PAIR, "entities", "entity_type", {"tool", "boat"}, ["name"]) == [
        {"id": uid("b"), "entity_type": "tool", "name": "Bo"}
    ]


def test_what_is_invalidated_does_not_stand() -> None:
    assert live_ids(PAIR, "entities") == {uid("a")}


def test_a_cell_that_holds_no_ids_has_none() -> None:
    assert (as_ids((uid("c"),)), as_ids(None), as_ids("c")) == ((uid("c"),), (), ())

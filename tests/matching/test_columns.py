"""Columns: Arrow and pandas alike, and errors that name the row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from slowwave.errors import Refused
from slowwave.matching.population import read_columns, read_ids, read_vectors

VECTORS = [[1.0, 0.0], None, [0.0, 1.0]]


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float64()), pa.list_(pa.float32(), 2), None])
def test_vectors_of_any_origin_are_one_matrix(kind: pa.DataType | None) -> None:
    """Lists of either float, of fixed size, or Python's; a row without one has no place."""
    given = VECTORS if kind is None else pa.chunked_array([pa.array(VECTORS[:1], kind), pa.array(VECTORS[1:], kind)])
    matrix, rows = read_vectors(given, 3)
    assert matrix is not None
    assert rows is not None
    assert matrix.dtype == np.float32
    assert matrix.tolist() == [[1, 0], [0, 1]]
    assert rows.tolist() == [0, -1, 1]


def test_no_vectors_are_none() -> None:
    """No column, or a column of nothing."""
    for given in (None, [None, None], pa.chunked_array([pa.array([None, None], pa.list_(pa.float32()))])):
        assert read_vectors(given, 2) == (None, None)


def test_known_columns_are_read_and_others_left() -> None:
    """From both; what is needed and missing is named."""
    data = {"id": [1], "text": ["x"], "noise": [9]}
    for table in (pa.table(data), pd.DataFrame(data)):
        assert read_columns(table, ("id", "text"), ("id",)) == {"id": [1], "text": ["x"]}
        with pytest.raises(Refused, match="no column name"):
            read_columns(table, ("id",), ("id", "name"))
    with pytest.raises(Refused, match="not dict"):
        read_columns({}, ("id",), ("id",))


def test_ids_are_there_and_of_their_own() -> None:
    """Numbers become texts."""
    assert read_ids([1, "b"]) == ["1", "b"]
    for wrong, sentence in (
        ([None], "Row 0 has no id"),
        (["a", "a"], "Row 1 repeats"),
        ([float("nan")], "Row 0 has no id"),
    ):
        with pytest.raises(Refused, match=sentence):
            read_ids(wrong)

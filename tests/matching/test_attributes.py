"""Columns: what values are is read off them, not off a list of names."""

from __future__ import annotations

import json

import numpy as np
import pytest

from slowwave.matching.attributes import Column, prepare


def column(key: str, values: list[object], rows: list[int] | None = None) -> Column:
    given = [json.dumps({key: v}) for v in values]
    found = prepare(given, np.zeros(len(given), np.int64)).columns
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("key", "values", "shape"),
    [
        ("contact", ["a@acme.org", "b@acme.org"], "email"),
        ("homepage", ["acme.org", "https://www.acme.org/x"], "url"),
        ("phone", ["+1 555 010 2030", "555/010-2030"], "phone"),
        ("reach", ["555-010-2030", "(555) 010 2031"], "phone"),
        ("born", ["1980-02-01", "19800201"], "date"),
        ("seen", ["0987-02-01", "1200-12-31"], "date"),
        ("isbn", ["3-16-148410-0", "3-16-148410-1"], "code"),
        ("price", ["$1,535.91", "12.50"], "number"),
        ("postcode", [f"{4000 + k % 7}" for k in range(30)], "number"),
        ("tag", [f"K{k}-7Q" for k in range(30)], "code"),
        ("city", ["Lisbon", "New Harrowgate"], "category"),
        ("street", ["12 Long Pine Street", "9 Short Lane West"], "text"),
    ],
)
def test_the_shape_is_learnt_from_the_values(key: str, values: list[object], shape: str) -> None:
    """Most columns are known by how their values look; some need the name as well."""
    assert column(key, values).shape == shape


def test_values_that_are_the_same_in_another_dress_get_one_code() -> None:
    """Dates, numbers, phones and pages are compared in normal form."""
    assert list(column("phone", ["+1 (555) 010-2030", "15550102030"]).texts) == ["15550102030"]
    assert list(column("born", ["1980-02-01", "19800201", "1980-02-01T10:00"]).texts) == ["19800201"]
    assert list(column("price", ["$1,535.90", "1535.9"]).texts) == ["1535.9"]
    assert list(column("url", ["https://www.acme.org/", "http://acme.org"]).texts) == ["acme.org"]
    assert list(column("city", ["São Paulo", "sao  paulo"]).texts) == ["sao paulo"]


def test_nothing_is_no_value() -> None:
    """What people write for a missing value does not make two rows agree."""
    found = column("city", ["Lisbon", "nan", "N/A", "unknown", "Lisbon"])
    assert (found.rows.tolist(), found.codes.tolist(), found.counts.tolist()) == ([0, 4], [0, 0], [2])
    assert prepare(["", "[]", "no json", '{"a": {"b": 1}}', '{"a": ""}'], np.zeros(5, np.int64)).columns == ()


def test_lists_are_spelled_out() -> None:
    """Every value of a list stands for the row; the same value twice counts once."""
    found = column("tags", [["red", "blue", "red"], "blue"])
    assert found.repeated
    assert [(int(r), str(found.texts[c])) for r, c in zip(found.rows, found.codes, strict=True)] == [
        (0, "blue"),
        (0, "red"),
        (1, "blue"),
    ]
    assert found.first(np.array([0, 1])).tolist() == [0, 0]


def test_columns_belong_to_a_type() -> None:
    """One key may mean two things in two types; mappings are read as well as texts."""
    found = prepare([{"size": 3}, {"size": "large"}], np.array([0, 1]))
    assert [(c.kind, c.shape) for c in found.columns] == [(0, "number"), (1, "category")]
    assert [c.key for c in found.select(1)] == ["size"]


def test_a_row_number_is_known_as_one() -> None:
    """A column in which no two rows ever agree says nothing about who is the same."""
    assert column("row_id", [f"{k}" for k in range(25)]).serial
    assert not column("row_id", [f"{k}" for k in range(5)]).serial


def test_known_shapes_are_kept() -> None:
    """Labelled rows of earlier nights are read as tonight's columns are."""
    found = prepare(['{"code": "12"}'], np.zeros(1, np.int64), {(0, "code"): "code"})
    assert found.columns[0].shape == "code"


def test_dates_with_slips_are_dates_still() -> None:
    """Distinct values hold more slips than rows do: here six in ten are days of a calendar, and all are written as such."""
    found = column("dob", ["1858-05-01", "1860-12-24", "1861-02-19", "1854-11-52", "1676-83-24"])
    assert found.shape == "date"
    assert found.texts.tolist() == ["16768324", "18541152", "18580501", "18601224", "18610219"]
    assert column("reach", ["1858-45-81", "1860-92-74", "1861-82-99"]).shape != "date"

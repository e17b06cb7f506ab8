"""``match_entities``: a table of any origin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from slowwave.errors import Refused
from slowwave.matching import match_entities
from slowwave.store.settings import Settings

ROWS: dict[str, list[object]] = {
    "id": [3, 1, 2],
    "name": ["Mara Reyes", "Reyes, Mara", "Jo Marsh"],
    "entity_type": ["person"] * 3,
    "attributes": [{"email": "mara@acme.org"}, '{"email": "MARA@acme.org"}', None],
}


@pytest.mark.parametrize(
    "make", [pd.DataFrame, lambda rows: pa.table({**rows, "attributes": [None, *rows["attributes"][1:]]})]
)
def test_frames_and_tables_are_read(make: Callable[[dict[str, list[object]]], object]) -> None:
    """Ids come back as texts, whatever they were."""
    found = match_entities(make(ROWS), Settings())
    assert set(found.merges) | {(r.a, r.b) for r in found.review} == {("1", "3")}


def test_a_merge_and_its_waterfall() -> None:
    """Every decided pair can be asked for."""
    found = match_entities(pd.DataFrame(ROWS))
    assert found.merges == (("1", "3"),)
    assert found.merge_links == ((("1", "3"),),)
    steps = found.explain("3", "1").waterfall
    assert "The values of email are equal" in [s["detail"] for s in steps]
    assert found.thresholds == {"person": pytest.approx(0.99, abs=0.01)}


def test_a_row_whose_type_says_nothing_is_compared_as_its_typed_namesake() -> None:
    """As nights compare it, whether the type is empty, missing or a word such as unknown."""
    for untyped in ("", None, "unknown", "Entity"):
        same = [{"email": "mara@acme.org"}] * 2
        rows = {"id": [1, 2], "name": ["Mara Reyes"] * 2, "entity_type": ["person", untyped], "attributes": same}
        found = match_entities(pd.DataFrame(rows))
        assert found.merges == (("1", "2"),), untyped
        assert found.thresholds.keys() == {"person"}


def test_only_name_and_id_are_needed() -> None:
    """Without a type all rows are of one."""
    found = match_entities(pd.DataFrame({"id": ["a", "b"], "name": ["Northwind Ltd", "northwind"]}))
    assert [(r.a, r.b) for r in found.review] == [("a", "b")]


def test_vectors_links_and_aliases_are_evidence() -> None:
    """Columns of lists; a row may have none."""
    rows = pd.DataFrame(
        {
            "id": ["a", "b", "c"],
            "name": ["IBM", "Big Blue", "Quay"],
            "aliases": [["Big Blue"], None, None],
            "vector": [[1.0, 0.0], [0.95, 0.312], None],
            "links": [{"neighbours": ["x", "y", "z"], "documents": ["d"]}, {"neighbours": ["z", "x", "y"]}, None],
        }
    )
    found = match_entities(rows)
    assert found.merges == (("a", "b"),)
    evidence = {s["evidence"] for s in found.explain("a", "b").waterfall}
    assert {"name", "cosine", "neighbours"} <= evidence


def test_missing_cells_of_pandas_are_missing() -> None:
    """nan is no attribute, no type and no vector."""
    rows = pd.DataFrame(
        {"id": ["a", "b"], "name": ["Alpha", np.nan], "attributes": [np.nan, np.nan], "source": ["s", np.nan]}
    )
    assert match_entities(rows).merges == ()


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"name": ["x"]}, "no column id"),
        ({"id": ["a", "a"], "name": ["x", "y"]}, "Row 1 repeats the id 'a'"),
        ({"id": ["a", None], "name": ["x", "y"]}, "Row 1 has no id"),
        ({"id": ["a"], "name": ["x"], "attributes": ["[1]"]}, "attributes of row 0"),
        ({"id": ["a", "b"], "name": ["x", "y"], "vector": [[1.0, 0.0], [1.0]]}, "vector of row 1"),
    ],
)
def test_bad_tables_are_refused_with_the_row_named(columns: dict[str, list[object]], says: str) -> None:
    """What happened and what to do."""
    with pytest.raises(Refused, match=says):
        match_entities(pd.DataFrame(columns))


def test_other_things_are_refused() -> None:
    """A list of rows is no table."""
    with pytest.raises(Refused, match="Arrow table or a pandas frame, not list"):
        match_entities([{"id": "a", "name": "x"}])

"""Tests of titles that recur: the date says which of their things is meant."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pytest

from slowwave.matching import Matches, match_entities
from slowwave.matching.review import UNDATED

Row = tuple[str, str, int | None]
"""Title, writer, year."""

PARTS = ("locks", "quays", "cranes", "tides", "dredgers")


def reports(*, scanned: bool = False) -> list[Row]:
    """Eighty reports, each listed twice, under its year or the years in which it was scanned."""
    rows: list[Row] = []
    for k in range(80):
        title = f"Report on the {PARTS[k % 5]} of {'abcdefghij'[k // 8] * 2}ond{'klmnoprs'[k % 8]}ey"
        rows += [(title, f"K. Olmstead {k % 9}", 1960 + (7 * k + 23 * copy * scanned) % 50) for copy in range(2)]
    return rows


def minutes(*years: int | None) -> list[Row]:
    return [("Minutes of the harbour board", "Ivo Castell", year) for year in years]


def matched(rows: Sequence[Row]) -> Matches:
    """The rows, whose ids are their numbers."""
    return match_entities(
        pa.table(
            {
                "id": [f"{k:03d}" for k in range(len(rows))],
                "entity_type": ["report"] * len(rows),
                "name": [title for title, *_ in rows],
                "attributes": [
                    json.dumps({"writer": writer} | ({"year": year} if year else {})) for _, writer, year in rows
                ],
            }
        )
    )


def clusters(found: Matches, beginning: int) -> list[set[int]]:
    """The clusters of rows from a number on, as numbers from there."""
    rows = [{int(id_) - beginning for id_ in ids} for ids in found.merges]
    return [ids for ids in rows if min(ids) >= 0]


def test_a_title_of_every_year_is_another_thing_each_year() -> None:
    found = matched([*reports(), *minutes(1971, 1972, 1973, 1974, 1975)])
    assert clusters(found, 160) == []
    assert not any(int(q.a) >= 160 for q in found.review)  # nor is anybody asked
    assert found.counts["vetoed by date"] == 10


def test_rows_of_one_year_are_one_thing_all_the_same() -> None:
    found = matched([*reports(), *minutes(1971, 1972, 1973, 1974, 1972)])
    assert clusters(found, 160) == [{1, 4}]


def test_a_row_that_could_be_of_several_years_is_for_a_person() -> None:
    found = matched([*reports(), *minutes(1971, 1972, 1973, None)])
    assert clusters(found, 160) == []
    asked = [(q.a, q.b) for q in found.review if q.b == "163"]
    assert {pair.reason for pair in found.explain_all(asked)} == {UNDATED}


@pytest.mark.parametrize("years", [(1971, 1971, 1971, 1972, 1973), (1971, 1971, 1972)])
def test_a_thing_with_a_few_wrong_dates_is_no_series(years: tuple[int, ...]) -> None:
    assert matched([*reports(), *minutes(*years)]).counts["vetoed by date"] == 0


def test_dates_in_which_matches_differ_part_nothing() -> None:
    found = matched([*reports(scanned=True), *minutes(1971, 1972, 1973)])
    assert found.counts["vetoed by date"] == 0
    assert len(found.merges) >= 80

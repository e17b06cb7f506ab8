"""Rows of anybody's table under our names."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import ImportRefused
from slowwave.sources.rows import ColumnMap, RowCheck, read_rows

FIELDS = ("text", "id", "kind")


def rows(path: Path, *pairs: str, on_error: Any = "stop") -> tuple[list[tuple[int, dict[str, Any]]], list[int]]:
    check = RowCheck(str(path), on_error)
    found = list(read_rows(path, check, ColumnMap.parse(pairs, FIELDS), ("text",), FIELDS, lambda row: row))
    return found, [out.line for out in check.skipped]


def test_csv_gzip_and_json_lines_read_alike(tmp_path: Path) -> None:
    """With a map or without; what is empty, null or not mapped is left out."""
    expected = [(2, {"text": "Tea, hot", "id": "1"}), (3, {"text": "Milk"})]
    table = tmp_path / "a.csv"
    table.write_text('body,key,kind,other\n"Tea, hot",1,,x\nMilk,,,y\n')
    assert rows(table, "text=body", "id=key") == (expected, [])
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(table.read_bytes()))
    assert rows(packed, "text=body", "id=key") == (expected, [])
    lines = tmp_path / "a.jsonl"
    lines.write_text('\ufeff\n{"body": "Tea, hot", "key": "1", "kind": null}\n{"body": "Milk", "text": "no"}\n')
    assert rows(lines, "text=body", "id=key") == (expected, [])


def test_rows_that_are_none_are_named_by_their_line(tmp_path: Path) -> None:
    """And the others read."""
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"text": "a"}\n[1]\n{"text"\n{"text": "b"}\n')
    assert rows(lines, on_error="skip") == ([(1, {"text": "a"}), (4, {"text": "b"})], [2, 3])
    with pytest.raises(ImportRefused, match="line 2: not a JSON object"):
        rows(lines)
    table = tmp_path / "a.csv"
    table.write_text("text,id\na,1\nb,2,3\n")
    assert rows(table, on_error="skip") == ([(2, {"text": "a", "id": "1"})], [3])


@pytest.mark.parametrize("pair", ["text", "text=", "other=body", "=body"])
def test_a_map_that_maps_nothing_is_refused(tmp_path: Path, pair: str) -> None:
    """With the fields that there are."""
    with pytest.raises(ImportRefused, match=r"FIELD=COLUMN.*text, id, kind"):
        ColumnMap.parse([pair], FIELDS)


def test_a_column_that_a_table_has_not_is_refused(tmp_path: Path) -> None:
    """Also one that only the map wants; and so is a field mapped twice."""
    table = tmp_path / "a.csv"
    table.write_text("text,id\na,1\n")
    with pytest.raises(ImportRefused, match="no column sort"):
        rows(table, "kind=sort")
    with pytest.raises(ImportRefused, match="maps no column"):
        ColumnMap.parse(["id=a", "id=b"], FIELDS)
    with pytest.raises(ImportRefused, match="cannot be read"):
        rows(tmp_path / "missing.csv")

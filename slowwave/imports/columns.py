"""Rows of a table of anybody's: CSV (also gzipped) or JSONL, under the names that an import wants, by a map of columns."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from slowwave.errors import ImportRefused
from slowwave.imports.lines import bounded_lines
from slowwave.imports.rows import BadRow, RowCheck, parse_json, unreadable
from slowwave.imports.table import Table

JSON_LINES: Final = (".jsonl", ".ndjson")
_BOM: Final = b"\xef\xbb\xbf"

Read = TypeVar("Read")


class ColumnMap(NamedTuple):
    """Which column of a file each field is read from; one that is not named here is read from the column of its own name."""

    columns: Mapping[str, str]

    @classmethod
    def of(cls, pairs: Sequence[str], fields: Sequence[str]) -> ColumnMap:
        """``FIELD=COLUMN`` each. Raises ``ImportRefused`` for what is no such pair and for fields that there are not."""
        columns: dict[str, str] = {}
        for pair in pairs:
            field, given, column = pair.partition("=")
            if not given or not column or field not in fields or field in columns:
                raise ImportRefused(
                    f"{pair!r} maps no column. Nothing was imported. Write FIELD=COLUMN, each field once; fields are {', '.join(fields)}."
                )
            columns[field] = column
        return cls(columns)

    def column(self, field: str) -> str:
        """The column of a field."""
        return self.columns.get(field, field)


class MappedRow(NamedTuple):
    """The line on which a row begins, and its values by field; a field without a column or value is left out."""

    line: int
    values: dict[str, Any]


def read_rows(
    path: Path,
    check: RowCheck,
    mapping: ColumnMap,
    required: Sequence[str],
    fields: Sequence[str],
    read: Callable[[dict[str, Any]], Read],
) -> Iterator[tuple[int, Read]]:
    """What ``read`` makes of each good row, with its line; a row that it refuses by ``BadRow`` goes to ``check``.

    Raises ``ImportRefused`` for a file that is no such table, and for a map that names a column which a CSV file has not.
    """
    rows = _json_rows if path.suffix in JSON_LINES else _csv_rows
    try:
        for line, values in rows(path, check, mapping, required, fields):
            try:
                found = read(values)
            except BadRow as error:
                check.bad(line, str(error))
                continue
            yield line, found
    except (OSError, EOFError, zlib.error) as error:
        unreadable(path, error)


def _csv_rows(
    path: Path, check: RowCheck, mapping: ColumnMap, required: Sequence[str], fields: Sequence[str]
) -> Iterator[MappedRow]:
    wanted = [mapping.column(name) for name in dict.fromkeys((*required, *mapping.columns))]
    opener = gzip.open if path.name.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        for line, row, more in Table(file, check, wanted, kind=mapping.column(required[-1])):  # pyright: ignore[reportArgumentType]
            if more:
                check.bad(line, "more fields than the first line names")
                continue
            yield MappedRow(line, {name: value for name in fields if (value := row.get(mapping.column(name)))})


def _json_rows(
    path: Path, check: RowCheck, mapping: ColumnMap, required: Sequence[str], fields: Sequence[str]
) -> Iterator[MappedRow]:
    with path.open("rb") as file:
        for found in bounded_lines(file.readline, check.limits.line):
            text = found.text.removeprefix(_BOM) if found.text is not None and found.number == 1 else found.text
            if text is not None and not text.strip():
                continue
            check.seen += 1
            try:
                if text is None:
                    raise BadRow(f"the line has more than {check.limits.line:,} bytes")
                row = parse_json(text)
                if not isinstance(row, dict):
                    raise BadRow("not a JSON object")
            except BadRow as error:
                check.bad(found.number, str(error))
                continue
            values = {name: row[mapping.column(name)] for name in fields if row.get(mapping.column(name)) is not None}
            yield MappedRow(found.number, values)

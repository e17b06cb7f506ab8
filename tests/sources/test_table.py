"""Tables: rows by the line at which they begin, and what the csv module reads of a sound file."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.errors import ImportRefused
from slowwave.sources.rows import Limits, RowCheck, Table

COLUMNS = ("id", "kind")


def table(content: str, check: RowCheck | None = None) -> Table:
    return Table(io.StringIO(content, newline=""), check or RowCheck("people.csv", "skip"), COLUMNS, "kind")


@given(st.lists(st.tuples(st.text('ab,"\n ', max_size=8), st.text('xy"\n', min_size=1, max_size=4)), max_size=6))
def test_what_csv_writes_comes_back(rows: list[tuple[str, str]]):
    """Whatever the cells hold, as long as no line within one is a row itself."""
    kinds = {kind for _, kind in rows}
    lines = {part for id_, kind in rows for part in f"{id_}\n{kind}".split("\n")}
    if any(line.endswith(f",{kind}") for line in lines for kind in kinds):
        return
    written = io.StringIO(newline="")
    writer = csv.writer(written)
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    read = [(row.values["id"], row.values["kind"]) for row in table(written.getvalue())]
    assert read == rows


def test_rows_know_where_they_begin_and_how_long_they_are():
    """Blank lines count as lines; a short row has nothing in the columns that it lacks."""
    rows = list(table('id,kind\n1,x\n\n"2\n2",x\n3\n4,x,more\n'))
    assert [(row.line, row.values["kind"], row.more) for row in rows] == [
        (2, "x", False),
        (4, "x", False),
        (6, None, False),
        (7, "x", True),
    ]


def test_a_header_without_a_column_is_refused():
    """By its name; so is an empty file."""
    for content in ("id\n", ""):
        with pytest.raises(ImportRefused, match=r"no column .*kind"):
            table(content)


def test_a_line_beyond_the_bound_is_one_bad_row_unless_it_opens_a_quote():
    """A long line with its quotes in pairs is left out; one that leaves a quote open takes the file with it."""
    check = RowCheck("people.csv", "skip", limits=Limits(10))
    long = "x" * (check.limits.line + 1)
    assert [row.values["id"] for row in table(f'id,kind\n1,"{long}"\n2,x\n', check)] == ["2"]
    assert [row.line for row in check.skipped] == [2]
    for content in (f'id,kind\n1,"{long}\n2,x\n', f'id,kind\n1,"a\n{long}",x\n2,x\n'):
        with pytest.raises(ImportRefused, match=r"line 2: "):
            list(table(content, RowCheck("people.csv", "skip", limits=Limits(10))))


def test_a_header_that_names_a_column_twice_is_refused() -> None:
    """T19: which of the two columns counts is not known; blank names at the end are no columns."""
    with pytest.raises(ImportRefused, match="line 1: two columns are called 'kind'"):
        table("id,kind,kind\n1,a,b\n")
    assert [row.values["id"] for row in table("id,kind,,\n1,a,,\n")] == ["1"]

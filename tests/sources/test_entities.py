"""Entities from CSV: one row a line, nothing merged, twice the same, bad rows named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from slowwave.errors import ImportRefused
from slowwave.sources.rows import RowCheck
from slowwave.sources.tables import import_entities, read_records

DATA = Path(__file__).parents[2] / "../shared/data/er"
HEAD = "id,source,entity_type,name,attrs,cluster_id\n"


@pytest.fixture
def sheet(tmp_path: Path):
    def write(*lines: str, head: str = HEAD, name: str = "people.csv") -> Path:
        path = tmp_path / name
        content = (head + "".join(line + "\n" for line in lines)).encode("utf-8", "surrogateescape")
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def test_each_line_is_an_entity_of_its_own_and_a_second_import_adds_none(store, embedder, sheet, contents):
    """Two Jane Smiths of two sources stay two: merging is for a plan that a person approves."""
    path = sheet(
        '1,crm,person,Jane Smith,"{""dob"": ""1990""}",c1',
        "1,erp,person,Jane Smith,,c1",
        "2,crm,organization,Zürich & Co,{},c2",
        "2,crm,organization,Zürich & Co,{},ignored",
        name="people.csv.gz",
    )
    with store.connect("owner") as connection:
        summary = import_entities(connection, path, embedder=embedder)
        assert summary.namespaces == ("people",)
        assert summary.added == {"namespaces": 1, "entities": 3, "entity_vectors": 3}
        assert summary.seen == 4
        rows = connection.execute(
            "SELECT external_id, source, entity_type, name, attributes, mention_count FROM memory.entities ORDER BY 1, 2"
        ).fetchall()
        assert rows == [
            ("1", "crm", "person", "Jane Smith", {"dob": "1990"}, 1),
            ("1", "erp", "person", "Jane Smith", {}, 1),
            ("2", "crm", "organization", "Zürich & Co", {}, 1),
        ]
        before = contents()
        again = import_entities(connection, path, embedder=embedder)
    assert (again.added, again.known) == ({}, 3)
    assert contents() == before


BAD = {
    "3,crm,person,Bob,{": "not JSON",
    "3,crm,person,Bob,[1]": "attrs is not a JSON object",
    '3,crm,person,Bob,"{""a"": NaN}"': "out of range",
    '3,crm,person,Bob,"{""a"": 1e999}"': "not finite",
    '3,crm,person,Bob,"{""a"": [""\\u0000""]}"': "NUL",
    "3,crm,person,,{}": "name is empty",
    "3,crm,,Bob,{}": "entity_type is empty",
    ",crm,person,Bob,{}": "id is empty",
    "3,crm": "entity_type is missing",
    "3,crm,person,Bob,{},c,more,fields": "more fields",
    "3,crm,person,B\udcffb,{}": "no character",
    "1,crm,person,Other,{}": "its source and id were used in line 2 for another entity",
}


@pytest.mark.parametrize(("line", "reason"), BAD.items(), ids=[str(n) for n in range(len(BAD))])
def test_a_bad_line_is_refused_or_skipped_by_name(sheet, line: str, reason: str):
    """File, line and reason; or the rest without it."""
    path = sheet("1,crm,person,Jane,{},c", line)
    with pytest.raises(ImportRefused, match="line 3: ") as caught:
        list(read_records(path, RowCheck(str(path), "stop")))
    assert reason in str(caught.value)
    check = RowCheck(str(path), "skip")
    assert [record.name for record in read_records(path, check)] == ["Jane"]
    assert [(row.line, reason in row.reason) for row in check.skipped] == [(3, True)]


def test_a_bad_last_line_keeps_every_good_one_out(store, embedder, sheet, contents):
    """The file is read to its end before anything is written; skipping then takes the rest, where the caller wants it."""
    path = sheet("1,crm,person,Jane,{},c", next(iter(BAD)))
    before = contents()
    with store.connect("owner") as connection:
        with pytest.raises(ImportRefused, match="line 3"):
            import_entities(connection, path, embedder=embedder)
        assert contents() == before
        summary = import_entities(connection, path, embedder=embedder, on_error="skip", namespace="mine")
    assert (summary.namespaces, summary.added["entities"], len(summary.skipped)) == (("mine",), 1, 1)


def test_a_file_that_is_no_such_table_is_refused_as_a_whole(store, embedder, sheet):
    """Missing columns, a broken archive and an unnamed namespace each have their sentence."""
    with store.connect("owner") as connection:
        with pytest.raises(ImportRefused, match="no column source, attrs"):
            import_entities(connection, sheet(head="id,entity_type,name\n"), embedder=embedder)
        path = sheet(name="broken.csv.gz")
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(ImportRefused, match="cannot be read"):
            import_entities(connection, path, embedder=embedder)
        path.write_bytes(b"plain text")
        with pytest.raises(ImportRefused, match="cannot be read"):
            import_entities(connection, path, embedder=embedder)


def test_a_thousand_synthetic_persons_arrive(store, embedder):
    """febrl: a thousand rows, five hundred of them duplicates, all kept apart."""
    path = DATA / "febrl1.csv"
    if not path.exists():
        pytest.skip("the shared demo data is not beside this checkout")
    with store.connect("owner") as connection:
        summary = import_entities(connection, path, embedder=embedder)
    assert (summary.namespaces, summary.added["entities"], summary.seen) == (("febrl1",), 1000, 1000)

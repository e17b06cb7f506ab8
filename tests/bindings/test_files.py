"""Bindings as files: those of the package are short and sound, and a person's own is refused with the line that is wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from slowwave.bindings.binding import BoundColumn
from slowwave.bindings.files import built_in, built_in_text, file_text, read_binding
from slowwave.errors import BindingError
from slowwave.operations import operations

NOTES = """store = "notes"
title = "Notes of the team"

[parameters]
table = "notes"

[tables.memories]
table = "{table}"
key = { id = "bigint" }
namespace = "owner"
retired = { at = "deleted_at", type = "timestamptz", test = "set" }

[tables.memories.columns]
content = "body"
recorded_at = { at = "made", type = "timestamptz" }
tags = { at = ["extra", "tags"], type = "jsonb" }
"""


@pytest.mark.parametrize("name", built_in())
def test_a_store_is_one_short_file(name: str) -> None:
    """80 lines are the measure, without the structures that are known; what is off are operations that there are, each with its reason."""
    text = built_in_text(name)
    assert len(text.partition("\n[[known]]")[0].splitlines()) <= 80
    binding = read_binding(text)
    assert binding.store == name
    assert binding.known or "table" in binding_parameters(text), "a table of another name may have columns of one's own"
    assert binding.off.keys() <= operations().keys()
    assert all(why.endswith(".") for why in binding.off.values())
    assert all(known.tables.keys() == binding.tables.keys() for known in binding.known)


def test_store_of_langgraph_without_an_index_is_the_other_without_its_vectors() -> None:
    """Two files of one store: what a new version changes has to be changed in both."""
    whole, plain = (tomllib.loads(built_in_text(name)) for name in ("langgraph", "langgraph_plain"))
    del whole["tables"]["vectors"], whole["parameters"]["field"]
    for name in ("derived", "cascades"):
        del whole["tables"]["memories"][name]
    for known in whole["known"]:
        del known["tables"]["vectors"]
    for name in ("store", "title"):
        del whole[name], plain[name]
    assert plain == whole


def binding_parameters(text: str) -> dict[str, str]:
    return tomllib.loads(text)["parameters"]


def test_whose_rows_are_lies_under_a_key_in_a_column_or_nowhere() -> None:
    """Parts of a place that are empty are none; a place without parts is no namespace: the table is one."""
    text = built_in_text("langchain")
    assert read_binding(text).tables["memories"].namespace == BoundColumn("cmetadata", ("user_id",), json="jsonb")
    by_column = read_binding(text, {"user_in": "collection_id", "user_key": ""}).tables["memories"]
    assert by_column.namespace == BoundColumn("collection_id")
    assert by_column.apart == ()
    whole = read_binding(text, {"user_in": "", "user_key": ""}).tables["memories"]
    assert whole.namespace is None
    assert [column.column for column in whole.apart] == ["collection_id"]


def test_parameters_fill_names_and_paths() -> None:
    """A collection by another name, whose namespaces are agents: what a namespace is made of does not set its rows apart."""
    binding = read_binding(built_in_text("mem0"), {"collection": "notes", "user_key": "agent_id"})
    memories = binding.tables["memories"]
    assert (memories.schema, memories.table) == ("public", "notes")
    assert memories.namespace == BoundColumn("payload", ("agent_id",), json="jsonb")
    assert [column.path for column in memories.apart] == [("user_id",), ("run_id",)]


def test_a_file_of_ones_own_is_read_with_its_parameters() -> None:
    """What it says is what is bound."""
    memories = read_binding(NOTES, {"table": "team_notes"}).tables["memories"]
    assert memories.table == "team_notes"
    assert memories.columns["tags"] == BoundColumn("extra", ("tags",), "jsonb", "jsonb")
    assert memories.retired is not None
    assert memories.retired.test == "set"
    assert memories.retire.by == "nothing"


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('content = "body"', 'conten = "body"', 14, "no column of memories"),
        ('content = "body"\n', "", 7, "content"),
        ('type = "jsonb" }', 'type = "jsonbb" }', 16, "jsonbb"),
        ('test = "set"', 'test = "gone"', 11, "test"),
        ('key = { id = "bigint" }', "key = {}", 9, "key"),
        ('namespace = "owner"', "namespace = []", 10, "namespace"),
        ('namespace = "owner"', 'namespaces = "owner"', 10, "namespaces"),
        ('table = "{table}"', 'table = "{tables}"', 8, "no parameter"),
        ('table = "{table}"', f'table = "{"x" * 64}"', 8, "63 bytes"),
        ("tables.memories", "tables.memoires", 7, "no table of memory"),
        ('store = "notes"', 'store = "Notes; DROP"', 1, "store"),
        ('namespace = "owner"', 'cascades = ["vectors"]', 7, "parent"),
        ('namespace = "owner"', 'retire = { by = "columns" }', 10, "retired by columns"),
        ('namespace = "owner"', 'derived = [{ column = "hash", by = "md5" }]', 10, "is named and is no column"),
        ('namespace = "owner"', 'retire = { by = "columns", now = ["closed_at"] }', 10, "is named and is no column"),
        ('namespace = "owner"', 'constants = { id = "x" }', 10, "constant"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(old: str, new: str, line: int, said: str) -> None:
    """And with a word that names it."""
    assert old in NOTES
    with pytest.raises(BindingError) as refused:
        read_binding(NOTES.replace(old, new), name="notes.toml")
    assert f"notes.toml, line {line}:" in str(refused.value)
    assert said in str(refused.value)


def test_text_that_is_no_toml_and_parameters_that_are_none_are_refused() -> None:
    """The parser names the line itself."""
    with pytest.raises(BindingError, match="line 2"):
        read_binding('store = "notes"\ntitle = \n')
    with pytest.raises(BindingError, match="collection"):
        read_binding(NOTES, {"collection": "x"})
    without = NOTES.replace('[parameters]\ntable = "notes"\n', "").replace("{table}", "notes")
    with pytest.raises(BindingError, match="no parameter 'owner'; it has none"):
        read_binding(without, {"owner": "x"})
    with pytest.raises(BindingError, match="mem0"):
        built_in_text("../files")


def test_a_file_that_is_not_there_or_far_too_long_is_refused(tmp_path: Path) -> None:
    """Nothing of its content is repeated."""
    with pytest.raises(BindingError, match="cannot be read"):
        file_text(tmp_path / "none.toml")
    long = tmp_path / "long.toml"
    long.write_text("#" * 200_001)
    with pytest.raises(BindingError, match="longer"):
        file_text(long)


PAGE = Path(__file__).parents[2] / "docs" / "stores-table.md"


@pytest.mark.parametrize("text", re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL))
def test_what_the_page_shows_can_be_connected(text: str) -> None:
    """Each example, as it stands."""
    binding = read_binding(text)
    assert {"content", "vector"} <= binding.tables["memories"].columns.keys()


@pytest.mark.parametrize(
    ("old", "new", "where", "said"),
    [
        ('to = "archive"', 'to = "attic"', "[tables.memories]", "parent"),
        ('namespace = "bank_id"\nparent', "parent", "[tables.", "namespace"),
        ('columns = { id = "id" } }', 'columns = { bank_id = "id" } }', 'key = { id = "uuid" }', "key of an archive"),
        ('form = "instant"', 'form = "iso"', "stamps", "instant"),
        ('key = "entity_id" }', 'key = "weight" }', "gathers", "part of the key"),
        ('also = [{ to_unit_id = "id" }]', 'also = [{ to_unit_id = "bank_id" }]', "{ from_unit_id", "all of its key"),
        ('takes = ["edges"]', 'takes = ["memories"]', "[tables.memories]", "parent"),
    ],
)
def test_what_is_wrong_with_an_archive_is_refused_with_its_line(old: str, new: str, where: str, said: str) -> None:
    """Rows that move have to be found again where they are."""
    text = built_in_text("hindsight")
    assert old in text
    changed = text.replace(old, new)
    with pytest.raises(BindingError, match=said) as refused:
        read_binding(changed)
    line = int(re.findall(r"line (\d+):", str(refused.value))[0])
    assert where in changed.splitlines()[line - 1]

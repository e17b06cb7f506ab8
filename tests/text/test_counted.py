"""Numbers and their nouns."""

import pytest

from slowwave.text.tokens import counted, counted_rows, suggest_id, suggest_name


@pytest.mark.parametrize(("number", "said"), [(0, "0 items"), (1, "1 item"), (2, "2 items"), (1200, "1,200 items")])
def test_a_noun_follows_its_number(number: int, said: str) -> None:
    assert counted(number, "item") == said


def test_a_plural_that_is_no_s_more() -> None:
    assert [counted(n, "memory") for n in (1, 2)] == ["1 memory", "2 memories"]
    assert [counted(n, "item waits", "items wait") for n in (1, 2)] == ["1 item waits", "2 items wait"]


def test_counted_plural_of_y_depends_on_the_letter_before() -> None:
    assert [counted(2, noun) for noun in ("entity", "day", "query")] == ["2 entities", "2 days", "2 queries"]


def test_counted_rows_uses_the_singular_of_the_table() -> None:
    """C1: an import reported "1 namespaces" and "1 entities"."""
    tables = ("namespaces", "entities", "memory_versions")
    assert [counted_rows(1, table) for table in tables] == ["1 namespace", "1 entity", "1 memory version"]
    assert counted_rows(7, "entity_vectors") == "7 entity vectors"


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("demo-harbr", " Did you mean demo-harbor?"),
        ("demo-harbour", " Did you mean demo-harbor?"),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_suggest_name_finds_the_nearest_known_name(name: str, suggested: str) -> None:
    assert suggest_name(name, ["demo-harbor", "demo-personal", "acme"]) == suggested


def test_suggest_id_compares_beginnings() -> None:
    """One wrong character in eight is enough to recognise an id; fewer than four characters are too few."""
    ids = ["5d8be3b8-af05-4000", "99999999-af05-4000"]
    assert suggest_id("5d8be3c8", ids) == " Did you mean 5d8be3b8?"
    assert suggest_id("5d9b", ids) == " Did you mean 5d8be3b8?"
    assert [suggest_id(wrong, ids) for wrong in ("5d9", "0000ffff")] == ["", ""]

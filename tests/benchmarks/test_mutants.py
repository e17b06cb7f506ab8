"""Mutants: the places of a module that are changed, and how a change reaches a function that other modules have imported."""

from __future__ import annotations

import ast
from types import ModuleType

import pytest

from benchmarks.mutants import changed, places, replaceable, table

SOURCE = '''
LIMIT = 3


def fits(n: int, names: list[str]) -> bool:
    """Return whether n fits."""
    if n > LIMIT and names:
        raise ValueError(f"{n + 1} is more than {LIMIT}")
    return n <= LIMIT | 0


class Table:
    def first(self) -> str:
        match min(["archived"]):
            case "a b" | "c d":
                return ""
'''


def test_places_cover_conditions_constants_and_statements_and_no_texts() -> None:
    """Annotations, docstrings and messages of exceptions are left alone."""
    found = [(p.function, p.before, p.after) for p in places(SOURCE)]
    assert found == [
        ("", "3", "4"),
        ("fits", "n > LIMIT and names", "n > LIMIT or names"),
        ("fits", "n > LIMIT and names", "names"),
        ("fits", "n > LIMIT and names", "n > LIMIT"),
        ("fits", "n > LIMIT and names", "False"),
        ("fits", "n > LIMIT and names", "True"),
        ("fits", "n > LIMIT", "n >= LIMIT"),
        ("fits", "raise ValueError(f'{n + 1} is more than {LIMIT}')", "pass"),
        ("fits", "return n <= LIMIT | 0", "return None"),
        ("fits", "n <= LIMIT | 0", "n < LIMIT | 0"),
        ("fits", "LIMIT | 0", "LIMIT & 0"),
        ("fits", "LIMIT | 0", "LIMIT"),
        ("fits", "LIMIT | 0", "0"),
        ("fits", "0", "1"),
        ("Table.first", "min", "max"),
        ("Table.first", "'archived'", "'archived_'"),
        ("Table.first", "'a b' | 'c d'", "'c d'"),
        ("Table.first", "'a b' | 'c d'", "'a b'"),
    ]


@pytest.mark.parametrize("number", range(len(places(SOURCE))))
def test_changed_module_differs_in_one_place(number: int) -> None:
    """The tree compiles, and is the source with the change that the place names."""
    tree, place = changed(SOURCE, number), places(SOURCE)[number]
    compile(tree, "mutant", "exec")
    assert ast.unparse(tree) != ast.unparse(ast.parse(SOURCE))
    assert len(places(ast.unparse(tree))) >= 1, place


def test_code_of_mutant_replaces_that_of_imported_function() -> None:
    """A function that another module has imported by name is changed as well; a constant of the module cannot be."""
    module = ModuleType("measured")
    exec(compile(SOURCE, "measured", "exec"), vars(module))  # noqa: S102 - the text above
    imported = module.fits
    number = next(n for n, p in enumerate(places(SOURCE)) if (p.before, p.after) == ("n <= LIMIT | 0", "n < LIMIT | 0"))
    assert imported(3, [])
    found = replaceable(module, "fits", changed(SOURCE, number))
    assert found is not None
    function, code = found
    function.__code__ = code
    assert not imported(3, [])
    assert replaceable(module, "Table.first", changed(SOURCE, number)) is None, "its code is the same"
    assert replaceable(module, "", changed(SOURCE, 0)) is None
    assert replaceable(module, "Table", changed(SOURCE, 0)) is None


def test_table_counts_outcomes_by_module() -> None:
    ran = [{"module": "a", "outcome": o} for o in ("killed", "killed", "survived", "timeout")]
    assert table(iter(ran)).splitlines()[2:] == ["| `a` | 4 | 2 | 1 | 1 |"]

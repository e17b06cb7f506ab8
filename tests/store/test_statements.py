"""Every SQL statement of the library is prepared against the migrated schema, so a table, column or function that is missing shows here."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from typing import Final

import psycopg
from psycopg import errors

import slowwave
from slowwave.store.connect import Store

STATEMENT: Final = re.compile(r"\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\s", re.IGNORECASE)
TEMPORARY: Final = re.compile(r"\s*CREATE TEMPORARY TABLE", re.IGNORECASE)
PLACEHOLDER: Final = re.compile(r"%%|%(?:\((\w+)\))?[sbt]")

UNTYPED: Final = (errors.IndeterminateDatatype, errors.AmbiguousParameter, errors.AmbiguousFunction)
"""PostgreSQL has resolved every name and lacks only the type of a parameter, which psycopg sends with the value."""

FRAGMENTS: Final = {
    "slowwave.night.retention._SCOPE": "the first part of the statements that delete old rows",
    "slowwave.night.retention._BEFORE_IMAGES": "follows _SCOPE, which defines `holding`",
    "slowwave.sources.turns._ADDED": "the first part of statements that end with the table's own columns",
}
"""Constants that begin like a statement and are one only together with another text."""


def constants() -> dict[str, str]:
    """Return the text constants of every module by their dotted names."""
    return {
        f"{module.name}.{name}": value
        for module in pkgutil.walk_packages(slowwave.__path__, "slowwave.")
        if ".migrations" not in module.name
        for name, value in vars(import_module(module.name)).items()
        if name.isupper() and isinstance(value, str)
    }


def numbered(statement: str) -> str:
    """Return the statement with PostgreSQL's numbers in the place of psycopg's placeholders."""
    places: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        if found.group() == "%%":
            return "%"
        return f"${places.setdefault(found.group(1) or f'#{found.start()}', len(places) + 1)}"

    return PLACEHOLDER.sub(number, statement)


def test_every_statement_is_valid_for_the_migrated_schema(store: Store) -> None:
    texts = constants()
    checked, faults = 0, dict[str, str]()
    with store.connect("owner") as connection:
        for text in texts.values():
            if TEMPORARY.match(text):
                connection.execute(text.replace("ON COMMIT DROP", "").encode())
        for name, text in texts.items():
            if not STATEMENT.match(text) or "{" in text:  # names of tables are filled into braces
                continue
            try:
                connection.execute(f"PREPARE checked AS {numbered(text)}".encode())
                connection.execute("DEALLOCATE checked")
            except UNTYPED:
                pass
            except psycopg.Error as problem:
                faults[name] = str(problem).splitlines()[0]
            checked += 1
    assert faults.keys() == FRAGMENTS.keys(), faults
    assert checked > 450

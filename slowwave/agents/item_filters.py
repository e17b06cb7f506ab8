"""Filters of a search for items, as conditions on the values that memories keep: what LangGraph's own stores compare, in SQL.

A field is compared with a JSON value, or with operators (``$eq``, ``$ne``, ``$gt``, ``$gte``, ``$lt``, ``$lte``). A field that is not there
is null. An object asks for its own fields alone, a list for as many members, each as it says. Numbers are greater and less than numbers,
texts than texts by their characters; nothing else is. Every value is a parameter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from psycopg import sql

from slowwave.errors import Refused
from slowwave.imports.rows import BadRow, storable

_ORDER: Final = {"$gt": sql.SQL(">"), "$gte": sql.SQL(">="), "$lt": sql.SQL("<"), "$lte": sql.SQL("<=")}
_VALUE: Final = sql.SQL("(m.attributes->'value')")


def condition(wanted: Mapping[str, Any] | None, values: dict[str, Any]) -> sql.Composable:
    """The condition on ``memory.memories m``; what it compares with goes to ``values``.

    Raises ``ValueError`` for an operator that is none, and ``Refused`` for what is no JSON value.
    """
    parts = _Parts(values)
    fields = [parts.compared(parts.field(_VALUE, name), value) for name, value in (wanted or {}).items()]
    return sql.SQL(" AND ").join([sql.SQL("true"), *fields])


class _Parts:
    """Pieces of one condition, whose values are parameters of it."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def field(self, of: sql.Composable, name: str | int) -> sql.Composable:
        """A field of an object or a member of a list; null where there is none."""
        kind = sql.SQL("integer" if isinstance(name, int) else "text")
        return sql.SQL("coalesce({} -> {}::{}, 'null')").format(of, self._parameter(name), kind)

    def compared(self, found: sql.Composable, wanted: object) -> sql.Composable:
        """Whether what is found is what a filter asks for."""
        if isinstance(wanted, Mapping):
            asked = {str(name): value for name, value in wanted.items()}
            if any(name.startswith("$") for name in asked):
                return self._all(self._operator(found, name, value) for name, value in asked.items())
            held = [self.compared(self.field(found, name), value) for name, value in asked.items()]
            return self._all([sql.SQL("jsonb_typeof({}) = 'object'").format(found), *held])
        if isinstance(wanted, Sequence) and not isinstance(wanted, str):
            held = [self.compared(self.field(found, n), value) for n, value in enumerate(wanted)]
            length = sql.SQL("CASE jsonb_typeof({0}) WHEN 'array' THEN jsonb_array_length({0}) = {1} ELSE false END")
            return self._all([length.format(found, self._parameter(len(held))), *held])
        return sql.SQL("{} = {}").format(found, self._json(wanted))

    def _operator(self, found: sql.Composable, name: str, value: object) -> sql.Composable:
        if name == "$eq":
            return sql.SQL("{} = {}").format(found, self._json(value))
        if name == "$ne":
            return sql.SQL("{} <> {}").format(found, self._json(value))
        if name not in _ORDER:
            raise ValueError(f"Unsupported operator: {name}. There are $eq, $ne, {', '.join(_ORDER)}.")
        if isinstance(value, str):
            kind, read = sql.SQL("string"), sql.SQL("({} #>> '{{}}') COLLATE \"C\"").format(found)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            kind, read = sql.SQL("number"), sql.SQL("({} #>> '{{}}')::numeric").format(found)
        else:
            raise ValueError(f"{name} compares with a number or a text, not with {type(value).__name__}.")
        other = sql.SQL("({} #>> '{{}}')").format(self._json(value))
        other = other if isinstance(value, str) else sql.SQL("{}::numeric").format(other)
        return sql.SQL("CASE jsonb_typeof({}) WHEN '{}' THEN {} {} {} ELSE false END").format(
            found, kind, read, _ORDER[name], other
        )

    @staticmethod
    def _all(held: Any) -> sql.Composable:
        return sql.SQL("({})").format(sql.SQL(" AND ").join([*held]))

    def _json(self, value: object) -> sql.Composable:
        return sql.SQL("{}::jsonb").format(self._parameter(json_text(value, "a filter")))

    def _parameter(self, value: object) -> sql.Composable:
        name = f"filter_{len(self._values)}"
        self._values[name] = value
        return sql.Placeholder(name)


def json_text(value: object, what: str) -> str:
    """A value as JSON that the database takes. Raises ``Refused`` for what is none; ``what`` is how it is called then."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        storable(json.loads(text), what)
        return text
    except BadRow as problem:
        raise Refused(f"{what[0].upper()}{what[1:]} cannot be taken: {problem}. Nothing was done.") from None
    except (TypeError, ValueError, RecursionError) as problem:
        raise Refused(
            f"{what[0].upper()}{what[1:]} is no JSON value ({type(problem).__name__}: {problem}). Nothing was done. "
            "Give texts, numbers, true, false, null, lists and objects of these."
        ) from None

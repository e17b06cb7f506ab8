"""``match_entities``: a table of any origin → who is the same as whom.

The columns are those a person would write, and ids come back as texts. Deciding belongs to ``slowwave.matching.match``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slowwave.errors import Refused
from slowwave.matching.match import Matches, match
from slowwave.settings import Settings

_KNOWN: Final = (
    *("id", "entity_type", "name", "attributes", "source", "vector"),
    *("aliases", "neighbours", "documents", "links"),
)


def match_entities(table: Any, settings: Settings | None = None) -> Matches:
    """Match the rows of an Arrow table or pandas frame with each other; the order of the rows does not matter.

    Columns: ``id`` and ``name``; optional ``entity_type`` (only rows of one type are compared), ``attributes`` (a mapping or JSON
    text), ``vector`` (numbers, one length), ``aliases``, ``neighbours`` and ``documents`` (lists; or ``links``, a mapping that holds
    the latter two) and ``source`` (where the row came from). Neighbours are any things that rows have in common.

    Raises ``Refused`` with the row named.
    """
    columns = _columns(table)
    ids = _ids(columns["id"])
    n = len(ids)
    entities = pa.table(
        {
            "id": pa.array(ids, pa.string()),
            "entity_type": pa.array([_text(t) or "entity" for t in columns.get("entity_type", [""] * n)], pa.string()),
            "name": pa.array([_text(t) or "" for t in columns["name"]], pa.string()),
            "attributes": pa.array(
                [_attributes(k, a) for k, a in enumerate(columns.get("attributes", ()))] or [None] * n
            ),
            "source_document_ids": pa.array(_lists(columns, "documents", n), pa.list_(pa.string())),
            "source": pa.array([_text(s) for s in columns.get("source", [None] * n)], pa.string()),
        }
    )
    aliases = _lists(columns, "aliases", n)
    owners = [id_ for id_, names in zip(ids, aliases, strict=True) for _ in names]
    matrix, rows = _vectors(columns.get("vector"), n)
    return match(
        entities,
        settings or Settings(),
        matrix=matrix,
        rows=rows,
        neighbours=_lists(columns, "neighbours", n),
        aliases=pa.table(
            {"entity_id": pa.array(owners, pa.string()), "alias": [a for names in aliases for a in names]}
        ),
    )


def _columns(table: Any) -> dict[str, list[Any]]:
    """The known columns as lists."""
    if isinstance(table, pa.Table):
        found = {c: table[c].to_pylist() for c in table.column_names if c in _KNOWN}
    elif hasattr(table, "columns") and hasattr(table, "to_dict"):
        found = {str(c): table[c].tolist() for c in table.columns if str(c) in _KNOWN}
    else:
        raise Refused(
            f"A table to match is an Arrow table or a pandas frame, not {type(table).__name__}. Convert it first."
        )
    missing = [c for c in ("id", "name") if c not in found]
    if missing:
        raise Refused(f"The table has no column {' and no column '.join(missing)}. Rename the columns that hold them.")
    return found


def _ids(given: Sequence[Any]) -> list[str]:
    ids = [_text(i) for i in given]
    seen: set[str] = set()
    for row, id_ in enumerate(ids):
        if not id_:
            raise Refused(f"Row {row} has no id. Give every row one of its own.")
        if id_ in seen:
            raise Refused(f"Row {row} repeats the id {id_[:80]!r}. Give every row one of its own.")
        seen.add(id_)
    return [str(i) for i in ids]


def _attributes(row: int, given: Any) -> str | None:
    """Attributes as JSON text, None where there are none."""
    if _missing(given) or given == "":
        return None
    if isinstance(given, Mapping):
        return json.dumps(given, default=str)
    try:
        parsed = json.loads(given) if isinstance(given, str) else None
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise Refused(f"The attributes of row {row} are no JSON object. Write an object, or leave them empty.")
    return str(given)


def _lists(columns: Mapping[str, list[Any]], name: str, n: int) -> list[list[str]]:
    """A column of lists of texts; neighbours and documents may stand in ``links``."""
    given = columns.get(name)
    if given is None and name in ("neighbours", "documents") and "links" in columns:
        given = [link.get(name) if isinstance(link, Mapping) else None for link in columns["links"]]
    values: Sequence[Any] = given if given is not None else [()] * n
    return [[str(x) for x in v] if isinstance(v, (list, tuple, set, np.ndarray)) else [] for v in values]


def _vectors(given: Sequence[Any] | None, n: int) -> tuple[NDArray[np.float32] | None, NDArray[np.int64] | None]:
    """Vectors as a matrix and each row's place in it, -1 where it has none."""
    if given is None:
        return None, None
    has = [k for k, v in enumerate(given) if not _missing(v)]
    if not has:
        return None, None
    size = len(given[has[0]])
    for row in has:
        if len(given[row]) != size:
            raise Refused(
                f"The vector of row {row} has {len(given[row])} numbers, others have {size}. Use one model for all."
            )
    rows = np.full(n, -1, np.int64)
    rows[has] = np.arange(len(has))
    return np.array([given[k] for k in has], np.float32), rows


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _text(value: Any) -> str | None:
    return None if _missing(value) else str(value)

"""The rows that are matched, as arrays read from a table of any origin: names, types, attributes, vectors, links."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from slowwave.errors import Refused
from slowwave.matching import attributes, names
from slowwave.matching.attributes import Attributes
from slowwave.matching.names import Names, fold
from slowwave.matching.vectors import cosines, unit_rows

# The rows to be matched, as arrays: names, types, attributes, vectors, links. One row per entity, in id order.
#
# All later steps work on row numbers and pairs of them; ids are restored at the end.

Ints = NDArray[np.int64]

_SAME: Final = 0.9999
_NEARLY_ALL: Final = 0.9
_ENOUGH: Final = 5
"""Number of pairs of one name from which on names count as shared."""


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """A population of n rows sorted by id.

    ``vector`` (n,) is the row in ``units`` (unit vectors), or -1 for a row without a vector. It is also -1 if vectors add nothing to the
    names, which would then count twice. ``known_as`` (n, forms) holds every folded name and alias. ``neighbours`` (n, entities) and
    ``documents`` (n, documents) hold ones. ``sources`` (n,) are the codes of the rows' sources (``source_names``), -1 if unknown.
    """

    ids: NDArray[np.object_]
    types: tuple[str, ...]
    type_names: tuple[str, ...]
    kind: Ints
    display_names: tuple[str, ...]
    names: Names
    attributes: Attributes
    units: NDArray[np.float32]
    vector: Ints
    known_as: Any
    neighbours: Any
    documents: Any
    sources: Ints
    source_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def from_table(
        cls,
        entities: pa.Table,
        *,
        matrix: NDArray[np.float32] | None = None,
        rows: Ints | None = None,
        links: pa.Table | None = None,
        neighbours: Sequence[Sequence[str]] | None = None,
        aliases: pa.Table | None = None,
        shapes: Mapping[tuple[str, str], str] | None = None,
    ) -> Population:
        """Build the population of a table.

        See ``slowwave.matching.match.match`` for the columns; ``shapes`` holds the shapes of attributes, by folded type and key.
        """
        order = np.argsort(np.array(entities["id"].to_pylist(), np.object_), kind="stable")
        entities = entities.take(pa.array(order))
        ids = entities["id"].combine_chunks()
        types = tuple(str(t) for t in entities["entity_type"].to_pylist())
        folded = {t: fold(t) for t in set(types)}
        named, kind = np.unique(np.array([folded[t] for t in types], np.object_), return_inverse=True)
        display_names = tuple(str(n) for n in entities["name"].to_pylist())
        forms = names.prepare(display_names)
        texts = entities["attributes"].to_pylist() if "attributes" in entities.column_names else [None] * len(ids)
        sources, source_names = _sources(entities)
        units, vector = _vectors(len(ids), matrix, None if rows is None else rows[order])
        stated = attributes.prepare(texts, kind, _by_code(shapes, named), display_names)
        return cls(
            ids=np.array(ids.to_pylist(), np.object_),
            types=types,
            type_names=tuple(str(t) for t in named),
            kind=kind.astype(np.int64),
            display_names=display_names,
            names=forms,
            attributes=stated,
            units=units,
            vector=_beyond_names(units, vector, kind, display_names, stated),
            known_as=_known_as(ids, forms, aliases),
            neighbours=_neighbours(ids, links) if neighbours is None else _named([neighbours[int(k)] for k in order]),
            documents=_documents(entities),
            sources=sources,
            source_names=source_names,
        )

    def type_name(self, kind: int) -> str:
        """Return the folded entity type of a code."""
        return self.type_names[kind]

    def shapes(self) -> dict[tuple[str, str], str]:
        """Return the shape of every attribute, by folded type and key."""
        return {(self.type_names[c.kind], c.key): c.shape for c in self.attributes.columns}


def _by_code(shapes: Mapping[tuple[str, str], str] | None, types: NDArray[np.object_]) -> Mapping[tuple[int, str], str]:
    code = {str(t): k for k, t in enumerate(types)}
    return {(code[t], key): shape for (t, key), shape in (shapes or {}).items() if t in code}


def _vectors(n: int, matrix: NDArray[np.float32] | None, rows: Ints | None) -> tuple[NDArray[np.float32], Ints]:
    """Return unit vectors and the row of each entity in them; a vector without direction counts as missing."""
    if matrix is None or rows is None or not len(matrix):
        return np.empty((0, 0), np.float32), np.full(n, -1, np.int64)
    units, kept = unit_rows(matrix)
    place = np.full(len(matrix) + 1, -1, np.int64)
    place[kept] = np.arange(len(kept))
    return units, place[rows]  # row -1 reads the last entry, which is always -1


def _beyond_names(
    units: NDArray[np.float32], vector: Ints, kind: Ints, names: Sequence[str], attributes: Attributes
) -> Ints:
    """Return ``vector`` without the vectors that are made from the names only.

    This is assumed if nearly all rows of one name and type have the same vector. If few rows share a name, rows without attributes keep
    their vectors, because nothing but the name can decide about them.
    """
    held = np.flatnonzero(vector >= 0)
    if not len(held):
        return vector
    called = np.unique(np.array(names, np.object_)[held], return_inverse=True)[1]
    order = np.lexsort((called, kind[held]))
    held, called = held[order], called[order]
    pairs = np.flatnonzero((called[1:] == called[:-1]) & (kind[held[1:]] == kind[held[:-1]]))
    same = cosines(units, vector[held[pairs]], vector[held[pairs + 1]]) >= _SAME
    if not len(pairs) or same.mean() < _NEARLY_ALL:
        return vector
    left = vector.copy()
    left[slice(None) if len(pairs) >= _ENOUGH else attributes.stated()] = -1
    return left


def _known_as(ids: pa.Array, forms: Names, aliases: pa.Table | None) -> Any:
    """Return (n, forms) ones for the folded name and aliases of each row, or an empty matrix without aliases."""
    texts: list[str] = []
    owners = np.empty(0, np.int64)
    if aliases is not None and len(aliases):
        owner = pc.fill_null(pc.index_in(aliases["entity_id"], value_set=ids), -1).to_numpy()
        texts = [fold(str(a)) for a in aliases["alias"].to_pylist()]
        owners = owner.astype(np.int64)
    if not texts:
        return sparse.csr_matrix((len(ids), 0))
    rows = np.concatenate([np.arange(len(ids)), owners])
    _, codes = np.unique(np.concatenate([forms.folded, np.array(texts, np.object_)]), return_inverse=True)
    return _ones(rows[rows >= 0], codes[rows >= 0], (len(ids), int(codes.max()) + 1))


def _neighbours(ids: pa.Array, links: pa.Table | None) -> Any:
    if links is None or not len(links):
        return sparse.csr_matrix((len(ids), len(ids)))
    ends = [
        pc.fill_null(pc.index_in(links[c], value_set=ids), -1).to_numpy().astype(np.int64)
        for c in ("source_entity_id", "target_entity_id")
    ]
    known = (ends[0] >= 0) & (ends[1] >= 0) & (ends[0] != ends[1])
    a, b = ends[0][known], ends[1][known]
    return _ones(np.concatenate([a, b]), np.concatenate([b, a]), (len(ids), len(ids)))


def _named(lists: Sequence[Sequence[str]]) -> Any:
    """Return (n, items) ones for the items that rows name."""
    column = pa.array(lists, pa.list_(pa.string()))
    things = pc.dictionary_encode(pc.list_flatten(column))
    rows = pc.list_parent_indices(column).to_numpy().astype(np.int64)
    return _ones(rows, things.indices.to_numpy(zero_copy_only=False), (len(lists), len(things.dictionary)))


def _documents(entities: pa.Table) -> Any:
    if "source_document_ids" not in entities.column_names:
        return sparse.csr_matrix((len(entities), 0))
    column = entities["source_document_ids"].combine_chunks()
    rows = pc.list_parent_indices(column).to_numpy().astype(np.int64)
    documents = pc.dictionary_encode(pc.list_flatten(column))
    codes = documents.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return _ones(rows, codes, (len(entities), len(documents.dictionary)))


def _sources(entities: pa.Table) -> tuple[Ints, tuple[str, ...]]:
    """Return the codes of the ``source`` column, -1 for a missing source, and the names in the order of the codes."""
    if "source" not in entities.column_names:
        return np.full(len(entities), -1, np.int64), ()
    given = entities["source"].to_pylist()
    names = sorted({str(s) for s in given if s is not None})
    code = {s: k for k, s in enumerate(names)}
    return np.array([-1 if s is None else code[str(s)] for s in given], np.int64), tuple(names)


def _ones(rows: Ints, columns: Ints, shape: tuple[int, int]) -> Any:
    matrix = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
    matrix.data[:] = 1
    return matrix


# Columns of a table of any origin, Arrow or pandas, in the form that matching uses; errors name the row.


def read_columns(table: Any, known: Collection[str], needed: Sequence[str]) -> dict[str, Any]:
    """Return the known columns as lists; the column ``vector`` of an Arrow table is returned unchanged.

    Raises ``Refused`` if the table has another type or lacks a needed column.
    """
    if isinstance(table, pa.Table):
        found = {c: table[c] if c == "vector" else table[c].to_pylist() for c in table.column_names if c in known}
    elif hasattr(table, "columns") and hasattr(table, "to_dict"):
        found = {str(c): table[c].tolist() for c in table.columns if str(c) in known}
    else:
        raise Refused(
            f"A table to match is an Arrow table or a pandas frame, not {type(table).__name__}. Convert it first."
        )
    missing = [c for c in needed if c not in found]
    if missing:
        raise Refused(f"The table has no column {' and no column '.join(missing)}. Rename the columns that hold them.")
    return found


def read_ids(given: Sequence[Any]) -> list[str]:
    """Return ids as texts; check that each is present and unique."""
    ids = [read_text(i) for i in given]
    seen: set[str] = set()
    for row, id_ in enumerate(ids):
        if not id_:
            raise Refused(f"Row {row} has no id. Give every row one of its own.")
        if id_ in seen:
            raise Refused(f"Row {row} repeats the id {id_[:80]!r}. Give every row one of its own.")
        seen.add(id_)
    return [str(i) for i in ids]


def read_vectors(given: Any, n: int) -> tuple[NDArray[np.float32] | None, NDArray[np.int64] | None]:
    """Return a column of vectors as a matrix (v, d) and each row's position in it (n,), -1 for a row without one.

    Both are None if no row has a vector.
    """
    if given is None:
        return None, None
    if isinstance(given, pa.ChunkedArray):
        return _arrow_vectors(given)
    has = [k for k, v in enumerate(given) if not is_missing(v)]
    if not has:
        return None, None
    size = len(given[has[0]])
    for row in has:
        if len(given[row]) != size:
            raise _uneven(row, len(given[row]), size)
    rows = np.full(n, -1, np.int64)
    rows[has] = np.arange(len(has))
    return np.array([given[k] for k in has], np.float32), rows


def read_text(value: Any) -> str | None:
    """Return a value as text, or None if it is missing."""
    return None if is_missing(value) else str(value)


def is_missing(value: Any) -> bool:
    """Return whether a value is missing in the form that Arrow and pandas use."""
    return value is None or (isinstance(value, float) and np.isnan(value))


def _arrow_vectors(column: pa.ChunkedArray) -> tuple[NDArray[np.float32] | None, NDArray[np.int64] | None]:
    """Read an Arrow column of vectors as ``read_vectors`` does, without a Python object for each number."""
    has = column.is_valid().to_numpy().astype(bool)
    if not has.any():
        return None, None
    sizes = pc.list_value_length(column).to_numpy()[has].astype(np.int64)
    wrong = np.flatnonzero(sizes != sizes[0])
    if len(wrong):
        raise _uneven(int(np.flatnonzero(has)[wrong[0]]), int(sizes[wrong[0]]), int(sizes[0]))
    flat = column.drop_null().combine_chunks().flatten().cast(pa.float32()).to_numpy(zero_copy_only=False)
    rows = np.where(has, np.cumsum(has) - 1, -1).astype(np.int64)
    return flat.reshape(-1, int(sizes[0])), rows


def _uneven(row: int, has: int, others: int) -> Refused:
    return Refused(f"The vector of row {row} has {has} numbers, others have {others}. Use one model for all.")

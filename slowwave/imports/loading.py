"""Loading: new rows and their vectors into the store's tables, of which none may stand yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import psycopg
from sqlalchemy import Table

from slowwave.errors import StoreError
from slowwave.language.embedder import Embedder
from slowwave.store import tables
from slowwave.store.load import load_rows

_BLOCK: Final = 256
"""Texts embedded, and vectors inserted, between two steps of a progress bar; both take about as long."""

_REGISTER_MODEL: Final = "SELECT memory.register_vector_model(%s::text, %s::integer)"


def insert(
    connection: psycopg.Connection[Any],
    table: Table,
    rows: Iterable[Mapping[str, object]],
    expected: int,
    added: Counter[str],
) -> None:
    """Load rows of which none may stand yet: a gap would leave others without their parent."""
    count = load_rows(connection, table, rows)
    if count != expected:
        raise StoreError(
            f"{expected - count} of {expected} new rows of {table.name} were there already under other ids, so its last batch "
            "was not imported. Another writer is at work: run the import again."
        )
    if count:
        added[table.name] += count


class LoadedVectors:
    """LoadedVectors of one embedder by text, each made once as long as it is not forgotten."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._of: dict[str, np.ndarray] = {}

    @property
    def model(self) -> str:
        """The model whose vectors they are."""
        return self._embedder.model

    def of(self, text: str) -> np.ndarray:
        """(d,) float32 of a text that was needed."""
        return self._of[text]

    def need(self, texts: Iterable[str], step: Callable[[float], None]) -> None:
        """Make those that are missing."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._of]
        for start in range(0, len(missing), _BLOCK):
            block = missing[start : start + _BLOCK]
            self._of.update(zip(block, self._embedder.embed(block), strict=True))
            step(min(1.0, (start + _BLOCK) / len(missing)) / 2)

    def forget(self) -> None:
        """Let go of all."""
        self._of.clear()


def vector_rows(
    namespace: str,
    ids: Sequence[str],
    texts: Sequence[str],
    vectors: LoadedVectors,
    speakers: Mapping[str, str | None] | None = None,
) -> Iterator[dict[str, object]]:
    """Yield rows of a table of vectors: those of the texts that describe the rows of these ids.

    Rows of ``chunk_vectors`` record the speaker whose name is in the text, by the id of the chunk (``speakers``).
    """
    for row_id, text in zip(ids, texts, strict=True):
        row: dict[str, object] = {
            "id": row_id,
            "model": vectors.model,
            "namespace_id": namespace,
            "vector": vectors.of(text),
        }
        yield row if speakers is None else row | {"speaker": speakers.get(row_id)}


def insert_vectors(
    connection: psycopg.Connection[Any],
    namespace: str,
    described: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    vectors: LoadedVectors,
    added: Counter[str],
    step: Callable[[float], None],
    speakers: Mapping[str, str | None] | None = None,
) -> None:
    """Register the model and load vectors.

    ``described``: vectors table → (row ids, the texts that describe them); ``speakers``: chunk → the speaker in its text.
    """
    total = sum(len(ids) for ids, _ in described.values())
    if not total:
        return
    dimensions = len(next(vectors.of(text) for _, texts in described.values() for text in texts))
    connection.execute(_REGISTER_MODEL, [vectors.model, dimensions])

    done = 0
    for name, (ids, texts) in described.items():
        for start in range(0, len(ids), _BLOCK):
            block = ids[start : start + _BLOCK]
            recorded = speakers if name == "chunk_vectors" else None
            rows = vector_rows(namespace, block, texts[start : start + _BLOCK], vectors, recorded)
            insert(connection, getattr(tables, name), rows, len(block), added)
            done += len(block)
            step((1 + done / total) / 2)

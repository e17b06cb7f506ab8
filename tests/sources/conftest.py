"""A quick embedder for tests of what an import writes, and files to import."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slowwave.store.connect import Store


class HashEmbedder:
    """Eight dimensions from a text's hash: no meaning, but the same text always has the same vector."""

    model = "hash-8"
    dimensions = 8

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.embedded.extend(texts)
        rows = [np.frombuffer(hashlib.sha256(text.encode()).digest(), "<u4") for text in texts]
        matrix = np.asarray(rows, np.float32).reshape(len(texts), 8) + 1
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    """Write rows (mappings as JSON, text as it is), one a line."""

    def write(*rows: Any, name: str = "messages.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return path

    return write


@pytest.fixture
def contents(store: Store) -> Callable[[], dict[str, Any]]:
    """Every row of every memory table, and the change counter: equal before and after means that nothing was written."""

    def read() -> dict[str, Any]:
        with store.connect("owner") as connection:
            names = connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'memory' ORDER BY 1"
            ).fetchall()
            return {
                name: connection.execute(
                    f"SELECT to_jsonb(t) FROM memory.{name} AS t ORDER BY to_jsonb(t)::text"
                ).fetchall()
                for (name,) in names
            }

    return read

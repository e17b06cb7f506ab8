"""A folder of Markdown files that is synced into a store, with a clock that stands still and vectors that cost nothing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slowwave.store.connect import Store
from slowwave.wiki.corpus.corpora import Corpus, add_corpus, corpora_of
from slowwave.wiki.corpus.sync import CorpusSync, sync_corpus

NOW = 1_780_000_000.0
"""The clock of these tests."""


class CountingEmbedder:
    """Unit vectors that follow from the text; ``texts`` are those that were asked for."""

    def __init__(self, model: str = "tests-8") -> None:
        self.model, self.dimensions = model, 8
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += texts
        rows = [np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8)[:8] + 1.0 for text in texts]
        matrix = np.asarray(rows, np.float32).reshape(len(rows), 8)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


class Folder:
    """A folder under ``root``, followed by a namespace."""

    def __init__(self, root: Path, store: Store, profile: str = "plain", slug: str = "notes") -> None:
        self.root, self.store, self.profile, self.slug = root, store, profile, slug
        self.embedder = CountingEmbedder()
        self.clock = NOW
        self._tick = 0
        root.mkdir(parents=True, exist_ok=True)

    def write(self, path: str, text: str | bytes, *, age: float = 3600) -> Path:
        """Write a file that was last touched ``age`` seconds ago; no two have one time."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        self._tick += 1
        self.touch(path, age)
        return file

    def touch(self, path: str, age: float) -> None:
        self._tick += 1
        stamp = int((self.clock - age) * 1e9) + self._tick
        os.utime(self.root / path, ns=(stamp, stamp))

    def move(self, old: str, new: str) -> None:
        (self.root / new).parent.mkdir(parents=True, exist_ok=True)
        (self.root / old).rename(self.root / new)

    def sync(self, **more: Any) -> CorpusSync:
        """Follow the folder and bring the store to what it holds."""
        options: dict[str, Any] = {"clock": lambda: self.clock, "pause": lambda _: None} | more
        with self.store.connect("owner") as connection:
            corpus = add_corpus(connection, self.slug, self.root, self.profile)
            return sync_corpus(connection, self.slug, corpus, self.embedder, **options)

    def corpus(self) -> Corpus:
        with self.store.connect("reader") as connection:
            row = connection.execute("SELECT id::text FROM memory.namespaces WHERE slug = %s", (self.slug,)).fetchone()
            assert row
            return corpora_of(connection, str(row[0]))[0]

    def ask(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self.store.connect("reader") as connection:
            return connection.execute(query.encode(), parameters).fetchall()

    def live(self) -> dict[str, str]:
        """Path → id of the live documents."""
        rows = self.ask(
            "SELECT path, id::text FROM memory.documents WHERE corpus_id IS NOT NULL AND invalidated_at IS NULL ORDER BY path"
        )
        return dict(rows)

    def links(self) -> list[tuple[str, str, str, str | None]]:
        """From, kind, target as written, path of the page that it means."""
        return self.ask(
            "SELECT d.path, l.kind, l.target, t.path FROM memory.links l JOIN memory.documents d ON d.id = l.document_id "
            "LEFT JOIN memory.documents t ON t.id = l.target_document_id WHERE l.invalidated_at IS NULL ORDER BY d.path, l.line, l.target"
        )

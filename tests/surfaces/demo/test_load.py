"""Loading the demo into a real store, once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from slowwave.matching.options import DedupeEntitiesOptions
from slowwave.models.embedder import OfflineEmbedder
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.surfaces.demo import NAMESPACES, generate, load_demo
from slowwave.surfaces.demo.load import texts_to_embed

NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Hashes:
    """An embedder of no meaning, for tests that only count."""

    model = "hashes"
    dimensions = 8

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Unit rows from the texts' hashes."""
        digests = b"".join(hashlib.sha256(text.encode()).digest()[:8] for text in texts)
        rows = np.frombuffer(digests, np.uint8).reshape(-1, 8).astype(np.float32) + 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_the_demo_is_loaded_once_and_whole(store: Store) -> None:
    """Every generated row arrives with a vector where one belongs; the second time nothing is added nor changed."""
    lines: list[str] = []
    with store.connect("owner") as connection:
        added = load_demo(connection, Hashes(), now=NOW, progress=lines.append)
        demos = [generate(slug, NOW) for slug in NAMESPACES]
        for table in demos[0].rows:
            assert added[table] == sum(len(demo.rows[table]) for demo in demos)
            (count,) = connection.execute(f"SELECT count(*) FROM memory.{table}").fetchone() or (None,)
            assert count == added[table]
        vectors = {name: sum(len(texts_to_embed(demo)[name][0]) for demo in demos) for name in texts_to_embed(demos[0])}
        assert vectors == {name: added[name] for name in vectors}
        assert len(lines) == 6
        (planned,) = connection.execute(
            "SELECT reltuples FROM pg_class WHERE oid = 'memory.entities'::regclass"
        ).fetchone() or (None,)
        assert planned == added["entities"]  # the statistics by which searches are planned

        connection.execute("UPDATE memory.entities SET name = 'renamed' WHERE external_id = 'entity-001'")
        assert load_demo(connection, Hashes(), now=datetime(2026, 4, 1, tzinfo=UTC)) == {}
        (renamed,) = connection.execute("SELECT count(*) FROM memory.entities WHERE name = 'renamed'").fetchone() or (
            None,
        )
        assert renamed == 3
        (astray,) = connection.execute("SELECT count(*) FROM memory.recall_events_default").fetchone() or (None,)
        assert astray == 0


def test_planted_duplicates_reach_the_default_threshold() -> None:
    """The key can be reached: with the offline model every planted pair is as close as a merge asks, in every namespace."""
    floor = Settings().options("dedupe_entities", DedupeEntitiesOptions).default_threshold
    embedder = OfflineEmbedder()
    for slug in NAMESPACES:
        demo = generate(slug, NOW)
        ids, texts = texts_to_embed(demo)["entity_vectors"]
        members = [row for group in demo.key.duplicates for row in group.ids]
        vectors = dict(zip(members, embedder.embed([texts[ids.index(row)] for row in members]), strict=True))
        for group in demo.key.duplicates:
            matrix = np.stack([vectors[row] for row in group.ids])
            assert (matrix @ matrix.T).min() >= floor, group.kind

"""Vectors of what is about to be remembered, made before anything is locked. Without them words find it, and a night adds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from slowwave.config.settings import Settings
from slowwave.errors import EmbeddingError
from slowwave.language.embedder import Embedder
from slowwave.store.connect import Connection

_MODEL: Final = """
SELECT (SELECT v.dimensions FROM memory.vector_models v WHERE v.model = %s),
  pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'memory.vector_models'::regclass), 'USAGE')"""
_REGISTER_MODEL: Final = "SELECT memory.register_vector_model(%s::text, %s::integer)"


class ClaimVectors(NamedTuple):
    """A vector for each text, or none at all and the sentence that says why."""

    vectors: Sequence[list[float]] = ()
    warning: str = ""

    def of(self, place: int) -> list[float] | None:
        """The vector of a text by its place, None where there is none."""
        return self.vectors[place] if place < len(self.vectors) else None


def claim_vectors(
    connection: Connection, texts: Sequence[str], settings: Settings, embedder: Callable[[Settings], Embedder]
) -> ClaimVectors:
    """Embed texts with the namespace's model. A model that the store has not heard of is added where the login may."""
    model = settings.embedding_model
    row = connection.execute(_MODEL, (model,)).fetchone()
    dimensions, owns = row or (None, False)
    if dimensions is None and not owns:
        return ClaimVectors(
            warning=f"The store has no vector of {model} yet: words find it, and a night adds its vector."
        )
    try:
        matrix = embedder(settings).embed(texts)
    except EmbeddingError as problem:
        return ClaimVectors(warning=f"Words find it, and a night adds its vector. {problem}")
    if dimensions is None:
        connection.execute(_REGISTER_MODEL, (model, matrix.shape[1]))
    return ClaimVectors(matrix.tolist())

"""Vectors of the passages of one page that comes in by day: those that no equal passage has already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from slowwave.config.settings import Settings
from slowwave.errors import EmbeddingError
from slowwave.language.embedder import Embedder
from slowwave.store.connect import Connection

_MODEL: Final = """
SELECT (SELECT v.dimensions FROM memory.vector_models v WHERE v.model = %s),
  pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'memory.vector_models'::regclass), 'USAGE')"""

_KNOWN: Final = """
SELECT DISTINCT c.content_hash FROM memory.chunks c JOIN memory.chunk_vectors v ON v.id = c.id AND v.model = %s
 WHERE c.namespace_id = %s AND c.content_hash = ANY(%s)"""

_REGISTER_MODEL: Final = "SELECT memory.register_vector_model(%s::text, %s::integer)"


class PassageVectors(NamedTuple):
    """Vectors (n, d) float32 of passages by the hashes of these; a ``warning`` where there are none."""

    hashes: Sequence[str]
    matrix: np.ndarray
    warning: str = ""


def passage_vectors(
    connection: Connection,
    scope: str,
    texts: Mapping[str, str],
    settings: Settings,
    embedder: Callable[[Settings], Embedder],
    what: str,
) -> PassageVectors:
    """Vectors of the passages (text by hash) that have none yet; ``what`` they are of, for warnings. Of a model that the store has not
    heard of there are none unless the login may add it."""
    nothing = PassageVectors((), np.empty((0, 0), np.float32))
    model = settings.embedding_model
    row = connection.execute(_MODEL, (model,)).fetchone()
    dimensions, owns = row or (None, False)
    if not texts:
        return nothing
    if dimensions is None and not owns:
        return nothing._replace(
            warning=f"The store has no vector of {model} yet: words find the {what}, and a night adds its vectors."
        )
    known = {str(hash_) for (hash_,) in connection.execute(_KNOWN, (model, scope, list(texts)))}
    new = [hash_ for hash_ in texts if hash_ not in known]
    try:
        matrix = embedder(settings).embed([texts[hash_] for hash_ in new]) if new else nothing.matrix
    except EmbeddingError as problem:
        return nothing._replace(warning=f"Words find the {what}, and a night adds its vectors. {problem}")
    if new and dimensions is None:
        connection.execute(_REGISTER_MODEL, (model, matrix.shape[1]))
    return PassageVectors(new, matrix)

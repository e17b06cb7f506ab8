"""``python -m scripts.unrelated_cosines``: what each embedding model of the wheels gives for notes that have nothing to do with each other.

It prints the lines of ``UNRELATED_COSINES`` in ``slowwave/models/embedding_models.py``; a test compares them.
"""

from __future__ import annotations

from slowwave.matching.memories import UNRELATED, null_cosines
from slowwave.models.embedding_models import OFFLINE_MODELS
from slowwave.store.configured_models import embedder_for
from slowwave.store.settings import Settings


def main() -> None:
    """Print a line a model."""
    for model in OFFLINE_MODELS:
        found = null_cosines(embedder_for(Settings(embedding_model=model)).embed(UNRELATED))
        print(f"{model}: ({found.median:.4f}, {found.deviation:.4f})")


if __name__ == "__main__":
    main()

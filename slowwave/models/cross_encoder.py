"""Cross-encoders on ONNX Runtime: models that read two texts together, for inference and for ranking.

A model is a folder with ``model.onnx``, ``tokenizer.json`` and ``config.json``, or the name of one on the Hugging Face Hub that was
downloaded before. Nothing is downloaded unless a caller says so, and no model of this kind comes with Slowwave.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from slowwave.errors import EncoderError

Reals = NDArray[np.float64]

_FILES: Final = ("config.json", "tokenizer.json")
_WEIGHTS: Final = ("model.onnx", "onnx/model.onnx")
_NEEDS: Final = ("onnxruntime", "tokenizers")
_WINDOW: Final = 512  # tokens of a pair, as encoders of this kind are trained
_BATCH: Final = 16
_LOADED: Final = 2  # models that a process keeps: one for inference and one for ranking


@dataclass(frozen=True, slots=True, eq=False)
class CrossEncoder:
    """A model from a folder: its ONNX session, its tokenizer, the name of each output and the token that fills short rows."""

    folder: Path
    session: Any
    tokenizer: Any
    labels: tuple[str, ...]
    filler: int

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Reals:
        """Return (n, labels) outputs for pairs of texts.

        Pairs of similar length are read together, because padding costs time. Raises ``EncoderError`` if the model does not accept or
        return what a cross-encoder does.
        """
        out = np.empty((len(pairs), len(self.labels)))
        texts = [tuple(text.encode("utf-8", "replace").decode() for text in pair) for pair in pairs]
        windows = self.tokenizer.encode_batch(texts)
        order = sorted(range(len(windows)), key=lambda n: len(windows[n].ids))
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            out[rows] = self._run([windows[row] for row in rows])
        return out

    def _run(self, windows: Sequence[Any]) -> Reals:
        shape = (len(windows), max(len(window.ids) for window in windows))
        feeds = {
            "input_ids": np.full(shape, self.filler, np.int64),
            "attention_mask": np.zeros(shape, np.int64),
            "token_type_ids": np.zeros(shape, np.int64),
        }
        for row, window in enumerate(windows):
            for name, values in zip(feeds, (window.ids, window.attention_mask, window.type_ids), strict=True):
                feeds[name][row, : len(values)] = values
        wanted = {given.name for given in self.session.get_inputs()}
        try:
            found = self.session.run(None, {name: feed for name, feed in feeds.items() if name in wanted})[0]
        except Exception as error:  # noqa: BLE001 - the classes of ONNX Runtime's errors are not public
            raise EncoderError(
                f"The model in {self.folder} cannot be run ({type(error).__name__}). Export it again as a sequence classifier."
            ) from None
        found = np.asarray(found, np.float64)
        if found.shape != (len(windows), len(self.labels)) or not np.isfinite(found).all():
            raise EncoderError(
                f"The model in {self.folder} returns no finite number for each of the {len(self.labels)} labels of its config.json. "
                "Export it again as a sequence classifier."
            )
        return found


def load_cross_encoder(model: str, *, download: bool = False) -> CrossEncoder:
    """Load a model from a folder, or one that was downloaded by its name; with ``download`` a missing one is fetched.

    A process loads each model once. Raises ``EncoderError`` if a package, a file or the model is missing or not usable.
    """
    missing = [name for name in _NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise EncoderError(
            f"The model {model} needs the package {missing[0]}, which is not installed. Install it by "
            '`pip install "slowwave[nli]"`.'
        )
    folder = Path(model).expanduser()
    return _load(folder if folder.is_dir() else _downloaded(model, download=download))


def _downloaded(name: str, *, download: bool) -> Path:
    """Return the folder of a model of the Hugging Face Hub in the local cache."""
    if importlib.util.find_spec("huggingface_hub") is None:
        raise EncoderError(f"There is no folder {name}. Name a folder with model.onnx, tokenizer.json and config.json.")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=[*_FILES, *_WEIGHTS], local_files_only=not download))
    except Exception as error:  # noqa: BLE001 - its errors depend on the HTTP client that is installed
        action = (
            "Check the name and the connection."
            if download
            else "Name a folder, or download the model once by `slowwave conflicts calibrate PAIRS --download`."
        )
        raise EncoderError(
            f"The model {name} is neither a folder nor a downloaded model ({type(error).__name__}). {action}"
        ) from None


@lru_cache(maxsize=_LOADED)
def _load(folder: Path) -> CrossEncoder:
    import onnxruntime
    from tokenizers import Tokenizer

    weights = next((folder / name for name in _WEIGHTS if (folder / name).is_file()), folder / _WEIGHTS[0])
    for file in (weights, *(folder / name for name in _FILES)):
        if not file.is_file():
            raise EncoderError(
                f"The folder {folder} has no {file.name}, so its model cannot be used. "
                "A model is model.onnx, tokenizer.json and config.json."
            )
    try:
        config: Any = json.loads((folder / "config.json").read_bytes())
        named = {int(place): str(label) for place, label in (config.get("id2label") or {"0": "LABEL_0"}).items()}
        labels = tuple(named[place] for place in range(len(named)))
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(min(_WINDOW, int(config.get("max_position_embeddings") or _WINDOW)))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # nights run steps in parallel
        session = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
        return CrossEncoder(folder, session, tokenizer, labels, int(config.get("pad_token_id") or 0))
    except Exception as error:  # noqa: BLE001 - the classes of ONNX Runtime's and of the tokenizer's errors are not public
        raise EncoderError(
            f"The model in {folder} cannot be loaded ({type(error).__name__}). Export it again with its tokenizer and its config.json."
        ) from None


class PairScorer(Protocol):
    """A model that estimates how likely two texts contradict each other."""

    def contradiction(self, pairs: Sequence[tuple[str, str]]) -> Reals:
        """Return (n,) probabilities. Raises ``EncoderError``."""
        ...


THRESHOLDS: Final = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
"""Values of ``nli_threshold`` that a calibration compares."""

_NLI: Final = ("entail", "neutral", "contradict")


@dataclass(frozen=True, slots=True)
class NliModel:
    """A model of natural language inference with three labels; it is loaded when it is first asked."""

    model: str
    download: bool = False

    def contradiction(self, pairs: Sequence[tuple[str, str]]) -> Reals:
        """Return (n,) the probability of a contradiction, the lower one of both directions: contradictions have none.

        Raises ``EncoderError`` if the model cannot be used or its labels do not name entailment, neutral and contradiction.
        """
        encoder = load_cross_encoder(self.model, download=self.download)
        column = _column(encoder)
        logits = np.stack([encoder.logits(pairs), encoder.logits([(two, one) for one, two in pairs])])
        odds = np.exp(logits - logits.max(axis=2, keepdims=True))
        return (odds / odds.sum(axis=2, keepdims=True))[:, :, column].min(axis=0)


def _column(encoder: CrossEncoder) -> int:
    """Return the place of the label that means contradiction."""
    kinds = [next((kind for kind in _NLI if label.lower().startswith(kind)), "") for label in encoder.labels]
    if sorted(kinds) != sorted(_NLI):
        raise EncoderError(
            f"The labels of the model in {encoder.folder} are {', '.join(encoder.labels)}. A model of inference has three, "
            "which id2label in config.json names: entailment, neutral and contradiction."
        )
    return kinds.index("contradict")


class ThresholdCounts(NamedTuple):
    """Share of the asked pairs that contradict each other, and of the contradictions that are asked about, from a threshold on."""

    threshold: float
    found: int
    wrong: int
    precision: float | None
    recall: float | None


def calibrate(model: PairScorer, pairs: Sequence[tuple[str, str, bool]]) -> list[ThresholdCounts]:
    """Compare the model with labelled pairs: two texts, and whether they contradict each other. Raises ``EncoderError``."""
    scores = model.contradiction([(one, two) for one, two, _ in pairs]) if pairs else np.empty(0)
    true = np.array([contradicts for _, _, contradicts in pairs], bool)
    rows: list[ThresholdCounts] = []
    for threshold in THRESHOLDS:
        asked = scores >= threshold
        found, wrong = int((asked & true).sum()), int((asked & ~true).sum())
        precision = found / (found + wrong) if found + wrong else None
        rows.append(
            ThresholdCounts(threshold, found, wrong, precision, found / int(true.sum()) if true.any() else None)
        )
    return rows


def rerank_scores(model: str, query: str, texts: Sequence[str]) -> Reals:
    """Return (n,) how well texts answer a query, by a model with one output. Raises ``EncoderError``."""
    encoder = load_cross_encoder(model)
    if len(encoder.labels) != 1:
        raise EncoderError(
            f"The model in {encoder.folder} has {len(encoder.labels)} outputs. A reranker has one; name another folder."
        )
    return encoder.logits([(query, text) for text in texts])[:, 0]

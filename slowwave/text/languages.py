"""Languages of texts: the rules of ``slowwave.text`` are written for English and must not read other languages.

A text counts as English unless the evidence is clear, so that no English text is lost to these rules. Short texts, code, and texts that
mix English with another language count as English as well.

py3langid (BSD-3-Clause) detects the language, with a model in its wheel. It was chosen by accuracy on short texts, size and speed from five
libraries; docs/quality.md has the figures and the texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from slowwave.text.screened import remembered_texts, text_key

if TYPE_CHECKING:
    import pyarrow as pa

LANGUAGES: Final[Mapping[str, str]] = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "bn": "Bengali",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "es": "Spanish",
    "et": "Estonian",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "ms": "Malay",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sr": "Serbian",
    "sv": "Swedish",
    "ta": "Tamil",
    "te": "Telugu",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
"""ISO 639-1 code → name of the languages that are detected. The library knows a hundred more. With all of them, a short text often counts
as one that hardly anyone writes, and then no language is certain."""

_NO_LANGUAGE: Final = "zxx"  # hashes, addresses and code, by ISO 639-3
_CERTAIN: Final = 0.7
"""Least probability. At .5, 6 of 11,433 English texts counted as another language, at .7 one, which is Spanish in fact."""

_SHORTEST: Final = 12  # letters; one of Chinese, Japanese or Korean counts as four. At 8, "Budweiser" counts as German
_READ: Final = 400  # characters; more do not change the answer
_REMEMBERED: Final = 4_096
_AT_ONCE: Final = 4_096  # texts, which take some 40 MB

_ENGLISH: Final = (
    r"(?i)\b(?:the|and|that|with|this|for|you|your|my|have|has|what|how|they|she|he|it|it's|we|i'm|don't|are|is|would|please|from|were)"
    r"\b"
)
"""Matches "the" in "Call the Lisbon office"; does not match "Theater", nor any word of "Ich wohne in Köln". In RE2's syntax."""

_SPACING: Final = 120
"""A text with one of these words in every 120 characters or fewer is at least partly English. With this check, 4 of 5 English texts need no
further look."""

_ENGLISH_WORDS: Final = re.compile(_ENGLISH, re.ASCII)  # whose word boundaries are those of RE2
_IDEOGRAPHS: Final = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")


def languages(texts: pa.Array | pa.ChunkedArray) -> list[str]:
    """Return for each of (n,) texts the code of its language, empty for English, for unknown languages and for a null.

    Time: a pass over the column, and 10 to 20 µs for each text without words of English, once in a night.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.fill_null(texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts, "")
    rare = pc.less(pc.multiply(pc.count_substring_regex(column, _ENGLISH), _SPACING), pc.utf8_length(column))
    found = [""] * len(column)
    rows = np.flatnonzero(rare.to_numpy(zero_copy_only=False))
    remembered = remembered_texts()
    known = {} if remembered is None else remembered.languages
    read = [(text_key(text), text) for text in column.filter(rare).to_pylist()]
    new = list({key: text for key, text in read if key not in known}.items())
    for start in range(0, len(new), _AT_ONCE):
        keys, texts_to_read = zip(*new[start : start + _AT_ONCE], strict=True)
        known.update(zip(keys, _detect_all(texts_to_read), strict=True))
    for row, (key, _) in zip(rows.tolist(), read, strict=True):
        found[row] = known[key]
    return found


def language_of(text: str) -> str:
    """Return the code of a text's language, empty for English and for an unknown language."""
    if len(_ENGLISH_WORDS.findall(text)) * _SPACING >= len(text):
        return ""
    return _detect(text[:_READ]) if _is_long_enough(text) else ""


def _is_long_enough(text: str) -> bool:
    letters = len(text) if text.isascii() else len(text) + 3 * len(_IDEOGRAPHS.findall(text))
    return letters >= _SHORTEST


def describe_languages(counts: Mapping[str, int]) -> str:
    """Return numbers of texts by language as "German 12, French 3", the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{LANGUAGES[code]} {count:,}" for code, count in ordered)


@lru_cache(_REMEMBERED)
def _detect(text: str) -> str:
    language, probability = _identifier().classify(text)
    return language if language in LANGUAGES and probability >= _CERTAIN else ""


def _detect_all(texts: Sequence[str]) -> list[str]:
    """Return what ``_detect`` does for each of (n,) texts, empty for those that are too short.

    The library reads one text at a time. Here all texts take each step of its automaton together: the features of the model are counted
    into a sparse matrix (n, features), and the scores of all texts are one product with the model's table.
    """
    from scipy import sparse

    found = [""] * len(texts)
    read = [n for n, text in enumerate(texts) if _is_long_enough(text)]
    if not read:
        return found
    model = _identifier()
    encoded = [_encode(texts[n][:_READ]) for n in read]
    order = np.argsort([-len(data) for data in encoded], kind="stable")  # so that those not at their end are the first
    sizes = np.array([len(encoded[k]) for k in order], np.int64)
    letters = np.zeros((int(sizes[0]), len(order)), np.uint8)
    for column, k in enumerate(order.tolist()):
        letters[: sizes[column], column] = np.frombuffer(encoded[k], np.uint8)
    rows, moves, outputs, table = _automaton()
    state = np.zeros(len(order), np.int32)
    features: list[np.ndarray] = []
    holders: list[np.ndarray] = []
    for step, letter in enumerate(letters):
        left = int(np.searchsorted(-sizes, -step, side="left"))
        state[:left] = moves[rows[state[:left]] + letter[:left]]
        feature = outputs[state[:left]]
        seen = np.flatnonzero(feature >= 0)
        features.append(feature[seen])
        holders.append(seen)
    columns = np.concatenate(features)
    counted = sparse.coo_matrix(
        (np.ones(len(columns), np.float32), (np.concatenate(holders), columns)), (len(order), len(table))
    ).tocsr()
    some = np.diff(counted.indptr) > 0
    counted.data = np.log1p(counted.data)
    scores = np.where(some[:, None], counted @ table + np.asarray(model.nb_pc, np.float32), 0)
    scores /= np.sqrt(np.maximum(sizes, 1))[:, None]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    codes = list(dict.fromkeys(model.nb_classes))  # the model has two tables for a language of two scripts
    shares = shares @ np.array([[name == code for code in codes] for name in model.nb_classes], np.float32)
    best = shares.argmax(axis=1)
    for k, code, share in zip(order.tolist(), best.tolist(), shares.max(axis=1).tolist(), strict=True):
        if share >= _CERTAIN and codes[code] in LANGUAGES:
            found[read[k]] = codes[code]
    return found


@cache
def _automaton() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the row of each state, shifted by a byte, the next states, the feature of each state (-1: none) and the table of scores."""
    model = _identifier()
    rows = np.asarray(model.tk_row, np.int32) << 8
    return (
        rows,
        np.asarray(model.tk_nextmove),
        np.asarray(model.tk_output, np.int32),
        np.asarray(model.nb_ptc, np.float32),
    )


def _encode(text: str) -> bytes:
    text = text.lower() if text.isupper() else text
    return unicodedata.normalize("NFC", text).encode("utf8", errors="surrogatepass")


@cache
def _identifier() -> Any:
    """Load the model, in .8 s; a process whose texts are all English never does."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([*LANGUAGES, "en", _NO_LANGUAGE])
    return identifier

"""Languages of texts: the rules of ``slowwave.text`` are written for English and must not read other languages.

A text counts as English unless the evidence is clear, so that no English text is lost to these rules. Short texts, code, and texts that
mix English with another language count as English as well.

py3langid (BSD-3-Clause) detects the language, with a model in its wheel. It was chosen by accuracy on short texts, size and speed from five
libraries; docs/quality.md has the figures and the texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

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
_REMEMBERED: Final = 32_768

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

    Time: a pass over the column, and 60 to 100 µs for each text without words of English; the last 32,768 answers are kept.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.fill_null(texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts, "")
    rare = pc.less(pc.multiply(pc.count_substring_regex(column, _ENGLISH), _SPACING), pc.utf8_length(column))
    found = [""] * len(column)
    rows = np.flatnonzero(rare.to_numpy(zero_copy_only=False))
    for row, text in zip(rows.tolist(), column.filter(rare).to_pylist(), strict=True):
        found[row] = language_of(text)
    return found


def language_of(text: str) -> str:
    """Return the code of a text's language, empty for English and for an unknown language."""
    if len(_ENGLISH_WORDS.findall(text)) * _SPACING >= len(text):
        return ""
    letters = len(text) if text.isascii() else len(text) + 3 * len(_IDEOGRAPHS.findall(text))
    return _detect(text[:_READ]) if letters >= _SHORTEST else ""


def describe_languages(counts: Mapping[str, int]) -> str:
    """Return numbers of texts by language as "German 12, French 3", the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{LANGUAGES[code]} {count:,}" for code, count in ordered)


@lru_cache(_REMEMBERED)
def _detect(text: str) -> str:
    language, probability = _identifier().classify(text)
    return language if language in LANGUAGES and probability >= _CERTAIN else ""


@cache
def _identifier() -> Any:
    """Load the model, in .8 s; a process whose texts are all English never does."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([*LANGUAGES, "en", _NO_LANGUAGE])
    return identifier

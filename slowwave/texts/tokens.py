"""Words and names in the one form in which they are compared.

Shared by entity extraction, imports and retrieval. What a word means (dates, names, secrets) belongs to the modules beside
this one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_WORD: Final = re.compile(r"\w+(?:['’]\w+)?")
_SPACE: Final = re.compile(r"\s+")
_EDGES: Final = " \t\r\n.,;:!?\"'`“”‘’«»()[]{}<>"


def fold(text: str) -> str:
    """NFKC, case-folded, typographic apostrophes made plain: the alphabet of every comparison."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


def tokenise(text: str) -> list[str]:
    """The folded words of ``text`` in order; ``don't`` is one word, a possessive ``'s`` is cut off."""
    folded = fold(text)
    words: list[str] = _WORD.findall(folded)
    return [word.removesuffix("'s") for word in words] if "'s" in folded else words


def normalise_name(name: str) -> str:
    """A name as the key under which equal names meet: folded, inner space single, punctuation at the edges gone.

    A name of nothing but punctuation keeps it, so that different names never share an empty key.
    """
    folded = _SPACE.sub(" ", fold(name)).strip()
    return folded.strip(_EDGES) or folded

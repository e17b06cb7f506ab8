"""Words by which texts are searched, for queries and for columns, and BM25 over them."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

# Words of queries and texts for search. The analysis is the same here, for columns below, and in the store as ``memory.search_terms``.
#
# NFKC, lower case, no possessive. Any character except a letter, digit or underscore separates words, and scripts without spaces become
# single characters. A plural loses its s (Harman's S stemmer: "How effective is suffixing?", JASIS 42(1), 1991). The separators are listed
# as ranges that Python, Arrow and PostgreSQL interpret alike, in any locale.

LONGEST: Final = 32
"""Maximum number of characters of a word that count."""

_STOPWORDS: Final = (
    "a about am an and any are as at be been but by can could did do does for from had has have he her him his how i if in into is it its "
    "me my no not of on or our she so some than that the their them then there these they this those to too was we were what when where "
    "which who whom why will with would you your"
)
_SEPARATORS: Final = (
    (0x00, 0x2F), (0x3A, 0x40), (0x5B, 0x5E), (0x60, 0x60), (0x7B, 0xBF), (0xD7, 0xD7), (0xF7, 0xF7), (0x2000, 0x2BFF), (0x2E00, 0x2E7F),
    (0x3000, 0x3004), (0x3008, 0x3020), (0xFE10, 0xFE1F), (0xFE30, 0xFE6F), (0xFF01, 0xFF0F), (0x1F000, 0x1FAFF),
)  # fmt: skip
_UNSPACED: Final = (
    (0x0E00, 0x0E7F),
    (0x3040, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
STEMS: Final = ((r"^(.*[^ea])ies$", r"\1y"), (r"^(.+[^aeo]e)s$", r"\1"), (r"^(.*[^us])s$", r"\1"))


def ranges(form: str, *, wide: str) -> tuple[str, str]:
    """Return the regex classes of separators and of unspaced characters, in a dialect's notation of code points."""

    def written(point: int) -> str:
        return (form if point <= 0xFFFF else wide).format(point)

    separators, unspaced = (
        "".join(f"{written(a)}-{written(b)}" for a, b in spans) for spans in (_SEPARATORS, _UNSPACED)
    )
    return f"[{separators}]+", f"([{unspaced}])"


_BETWEEN, _SINGLE = (re.compile(pattern) for pattern in ranges(r"\u{:04x}", wide=r"\U{:08x}"))
_POSSESSIVE = re.compile(r"'s(?![0-9a-z_])")
_PLAIN: Final = re.compile(r"[0-9a-z_]+")
"""The parts between separators in folded ASCII."""


def words(text: str) -> list[str]:
    """Return the words of a text, in order, in the form in which they are indexed."""
    if text.isascii():
        folded = text.lower()
        found: list[str] = _PLAIN.findall(_POSSESSIVE.sub("", folded) if "'s" in folded else folded)
    else:
        folded = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
        folded = _SINGLE.sub(r" \1 ", _POSSESSIVE.sub("", folded))
        found = [word for word in _BETWEEN.sub(" ", folded).split(" ") if word]
    return [word if word[-1] != "s" and len(word) <= LONGEST else stem(word[:LONGEST]) for word in found]


def asked(query: str) -> list[str]:
    """Return the words of a query to search for; stop words are left out unless nothing else remains."""
    found = words(query)
    return [word for word in found if word not in _STOP_STEMS] or found


def stem(word: str) -> str:
    """Return a word without its plural ending."""
    return _singular(word) if word.endswith("s") else word


@lru_cache(16_384)
def _singular(word: str) -> str:
    for pattern, replacement in STEMS:
        word = re.sub(pattern, replacement, word)
    return word


_STOP_STEMS: Final = frozenset(stem(word) for word in _STOPWORDS.split())


# Term frequency: BM25's parameters, and the counts that the store's index distinguishes.

K1: Final = 1.2
B: Final = 0.75

LEVELS: Final = (1, 2, 3, 5, 8)
"""The frequency of a word in a text counts as the greatest of these numbers that it reaches; the store's index distinguishes no others."""

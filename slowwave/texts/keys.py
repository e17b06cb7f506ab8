"""Keys: short texts in the one form in which they count as the same, a column at a time.

Case, spaces, diacritics of the Latin and Greek alphabets and punctuation that carries no meaning are levelled; signs that do carry
it ("C++" and "C#", "1.5", "-5", "don't") stay. What two texts that differ in their keys mean is not decided here.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_BEFORE: Final[tuple[tuple[str, str], ...]] = (  # which the decomposition would run into the digits beside them
    (r"([²³¹⁰⁴-⁹₀-₉]+)", r"^\1"),
    (r"([¼-¾⅐-⅞])", r" \1"),
)
_REWRITES: Final[tuple[tuple[str, str], ...]] = (
    (r"([\p{Latin}\p{Greek}])[\x{300}-\x{36F}]+", r"\1"),  # in other alphabets a mark makes another letter
    (r"[’ʼ]", "'"),
    (r"[‐‑‒–—―−]", "-"),
    (r"[\s_,;:!?¡¿…\"“”„«»‹›`()\[\]{}|]*[\s_;!?¡¿…\"“”„«»‹›`()\[\]{}|]+[\s_,;:!?¡¿…\"“”„«»‹›`()\[\]{}|]*", " "),
    (r"(\p{L})[-,:]+(\p{L})", r"\1 \2"),
    (r"(\p{L})[-,:]+(\p{L})", r"\1 \2"),  # "a-b-c": one pass leaves every other joint
    (r"[.,:']+( |$)", r"\1"),
    (r"(^| )[',:]+(\p{L})", r"\1\2"),
    (r"^ +| +$", ""),
)


def keys(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """(n,) texts → (n,) keys, null where the text is null.

    A text of nothing but punctuation keeps it, so that different texts never share an empty key. Time: linear in the distinct
    texts' lengths.
    """
    column = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    encoded = column.dictionary_encode()
    found = encoded.dictionary
    for pattern, replacement in _BEFORE:
        found = pc.replace_substring_regex(found, pattern, replacement)
    found = pc.utf8_lower(pc.utf8_normalize(found, "NFKD"))
    for pattern, replacement in _REWRITES:
        found = pc.replace_substring_regex(found, pattern, replacement)
    found = pc.if_else(pc.equal(found, ""), encoded.dictionary, found)
    return pc.take(found, encoded.indices)

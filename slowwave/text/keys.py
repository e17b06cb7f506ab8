"""Keys: the form in which short texts count as the same, computed by columns.

Case, spaces, diacritics of the Latin and Greek alphabets and punctuation without meaning are normalised. Signs with a meaning ("C++" and
"C#", "1.5", "-5", "don't") stay. This module does not decide what a difference of two keys means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.text.screened import remembered_texts

_BEFORE: Final[tuple[tuple[str, str], ...]] = (  # decomposition would otherwise join these to the digits next to them
    (r"([²³¹⁰⁴-⁹₀-₉]+)", r"^\1"),
    (r"([¼-¾⅐-⅞])", r" \1"),
)
_REWRITES: Final[tuple[tuple[str, str], ...]] = (
    (r"([\p{Latin}\p{Greek}])[\x{300}-\x{36F}]+", r"\1"),  # in other alphabets a mark makes a different letter
    (r"[’ʼ]", "'"),
    (r"[‐‑‒–—―−]", "-"),
    (r"[\s_,;:!?¡¿…\"“”„«»‹›`()\[\]{}|]*[\s_;!?¡¿…\"“”„«»‹›`()\[\]{}|]+[\s_,;:!?¡¿…\"“”„«»‹›`()\[\]{}|]*", " "),
    (r"(\p{L})[-,:]+(\p{L})", r"\1 \2"),
    (r"(\p{L})[-,:]+(\p{L})", r"\1 \2"),  # in "a-b-c" one pass matches only every other hyphen
    (r"[.,:']+( |$)", r"\1"),
    (r"(^| )[',:]+(\p{L})", r"\1\2"),
    (r"^ +| +$", ""),
)

_OF_ASCII: Final[tuple[tuple[str, str], ...]] = (
    (r"[\s_,;:!?\"`()\[\]{}|]*[\s_;!?\"`()\[\]{}|]+[\s_,;:!?\"`()\[\]{}|]*", " "),
    (r"([a-z])[-,:]+([a-z])", r"\1 \2"),
    (r"([a-z])[-,:]+([a-z])", r"\1 \2"),
    *_REWRITES[6:7],
    (r"(^| )[',:]+([a-z])", r"\1\2"),
    *_REWRITES[8:],
)
"""The same rewrites for ASCII texts, which have nothing to decompose and are in lower case at this point. Most texts are ASCII, and a
pattern for all alphabets takes milliseconds to compile, at each call."""

_LEVEL: Final = "^[a-z0-9]+(?: [a-z0-9]+)*$"
"""Texts that no rewrite changes. Checking this once takes a tenth of the time of the rewrites."""

_SHORT: Final = 4_096
_REMEMBERED: Final = 100_000


def keys(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return (n,) keys of (n,) texts; null for a null.

    A text of punctuation only keeps it, so that different texts never share an empty key. Time: linear in the distinct texts' lengths.
    """
    column = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    encoded = column.dictionary_encode()
    return pc.take(_distinct_keys(encoded.dictionary), encoded.indices)


def note_keys(texts: pa.ChunkedArray) -> None:
    """Remember the keys of a column, within ``each_text_once``: those of many small columns are found at once."""
    remembered = remembered_texts()
    if remembered is not None:
        distinct = pc.unique(texts).drop_null()
        remembered.keys.update(zip(distinct.to_pylist(), _found(distinct).to_pylist(), strict=True))


def _distinct_keys(distinct: pa.Array) -> pa.Array:
    """Return the keys of distinct texts, with a cache for short columns.

    Short columns recur often and the rewrites cost milliseconds even for a few texts, so their keys are remembered within a night.
    """
    if len(distinct) > _SHORT:
        return _found(distinct)
    remembered = remembered_texts()
    if remembered is None:
        return _found(distinct)
    known = remembered.keys
    texts = distinct.to_pylist()
    if new := [text for text in texts if text not in known]:
        if len(known) + len(new) > _REMEMBERED:
            known.clear()
            new = texts
        known |= dict(zip(new, _found(pa.array(new, distinct.type)).to_pylist(), strict=True))
    return pa.array([known[text] for text in texts], distinct.type)


def _found(distinct: pa.Array) -> pa.Array:
    plain = pc.string_is_ascii(distinct).to_numpy(zero_copy_only=False).astype(bool)
    parts = pa.concat_arrays(
        [
            _levelled(distinct.filter(pa.array(plain)), _OF_ASCII),
            _levelled(_decomposed(distinct.filter(pa.array(~plain))), _REWRITES),
        ]
    )
    places = np.empty(len(distinct), np.int64)
    places[np.concatenate([np.flatnonzero(plain), np.flatnonzero(~plain)])] = np.arange(len(distinct))
    found = parts.take(pa.array(places))
    return pc.if_else(pc.equal(found, ""), distinct, found)


def _decomposed(texts: pa.Array) -> pa.Array:
    if not len(texts):
        return texts
    for pattern, replacement in _BEFORE:
        texts = pc.replace_substring_regex(texts, pattern, replacement)
    return pc.utf8_normalize(texts, "NFKD")


def _levelled(texts: pa.Array, rewrites: Sequence[tuple[str, str]]) -> pa.Array:
    if not len(texts):  # because a pattern is compiled at each call
        return texts
    found = pc.utf8_lower(texts)
    rough = pc.invert(pc.match_substring_regex(found, _LEVEL))
    rest = found.filter(rough)
    for pattern, replacement in rewrites:
        rest = pc.replace_substring_regex(rest, pattern, replacement)
    return pc.replace_with_mask(found, rough, rest)

"""The words of whole rows: of the name and of every attribute value, whatever attribute they stand in.

Products that are described in other words, citations with swapped fields and artists inside titles share words, not fields. Some
words count in a second form too: words of a name by their sound (a Soundex of all consonants, for other spellings and most slips),
a word with a digit joined to its neighbour ("KDL 46XBR", "kdl46xbr"), and a date by its year and by its day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.matching.blocks import ranges
from slowwave.matching.population import Population

Ints = NDArray[np.int64]

_NAME: Final = "name"
_JOINED: Final = 12  # letters up to which a word may be joined to its neighbour
_SOUNDS: Final = (
    *(("ph", "f"), ("^[kg]n", "n"), ("^wr", "r"), ("gh", ""), ("[aeiouyhw]+", "0"), ("[bfpv]+", "1")),
    *(("[cgjkqsxz]+", "2"), ("[dt]+", "3"), ("l+", "4"), ("[mn]+", "5"), ("r+", "6"), ("0", "")),
)
"""Letters → classes of consonants, in this order; vowels keep equal classes apart and then go."""


@dataclass(frozen=True, slots=True, eq=False)
class _Texts:
    """The names, or one attribute: row k of ``rows`` (m,), ascending, holds text ``codes[k]``, whose words are
    ``words[ends[code] : ends[code + 1]]``."""

    rows: Ints
    codes: Ints
    words: NDArray[np.int32]
    ends: Ints

    def read(self, rows: Ints) -> tuple[Ints, Ints]:
        """(place in ``rows``, word), one entry for every time that a row holds a word."""
        low = np.searchsorted(self.rows, rows)
        at, member = ranges(low, np.searchsorted(self.rows, rows, side="right") - low)
        codes = self.codes[member]
        held, word = ranges(self.ends[codes], self.ends[codes + 1] - self.ends[codes])
        return at[held], self.words[word].astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """The words of n rows, as numbers below ``words``."""

    names: _Texts
    attributes: tuple[_Texts, ...]
    words: int

    @classmethod
    def of(cls, population: Population) -> Records:
        """Split every distinct name and value once."""
        named = pa.array(population.names.folded, pa.string()).dictionary_encode()
        sources = [(_NAME, np.arange(len(population)), named.indices.to_numpy().astype(np.int64), named.dictionary)]
        sources += [(c.shape, c.rows, c.codes, pa.array(c.texts, pa.string())) for c in population.attributes.columns]
        split = [_split(shape, texts) for shape, _, _, texts in sources]
        coded = pa.concat_arrays([words for words, _ in split]).dictionary_encode()
        numbers = coded.indices.to_numpy()
        first = np.cumsum([0, *(len(words) for words, _ in split)])
        texts = [
            _Texts(rows, codes, numbers[first[k] : first[k + 1]], ends)
            for k, ((_, rows, codes, _), (_, ends)) in enumerate(zip(sources, split, strict=True))
        ]
        return cls(texts[0], tuple(texts[1:]), len(coded.dictionary))

    def read(self, rows: Ints) -> tuple[Ints, Ints]:
        """(place in ``rows``, word), one entry for every time that a row holds a word."""
        found = [text.read(rows) for text in (self.names, *self.attributes)]
        return np.concatenate([at for at, _ in found]), np.concatenate([word for _, word in found])


def _split(shape: str, texts: pa.Array) -> tuple[pa.Array, Ints]:
    """The words of all texts, text after text, and where those of each end."""
    lists = pc.utf8_split_whitespace(texts)
    words, owner = pc.list_flatten(lists), pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    stated = _flags(pc.not_equal(words, ""))
    words, owner = words.filter(pa.array(stated)), owner[stated]
    found = [(owner, words), _joined(owner, words)]
    if shape == _NAME:
        heard = _flags(pc.match_substring_regex(words, "^[a-z]{3,}$"))
        found.append((owner[heard], pc.binary_join_element_wise("~", _sound(words.filter(pa.array(heard))), "")))
    if shape == "date":
        dated = _flags(pc.match_substring_regex(texts, r"^\d{8}$"))
        for start, stop in ((0, 4), (4, 8)):
            part = pc.utf8_slice_codeunits(texts.filter(pa.array(dated)), start, stop)
            found.append((np.flatnonzero(dated), pc.binary_join_element_wise(str(start), part, "~")))
    owner = np.concatenate([rows for rows, _ in found])
    order = np.argsort(owner, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(texts)))])
    return pa.concat_arrays([some for _, some in found]).take(pa.array(order)), ends


def _joined(owner: Ints, words: pa.Array) -> tuple[Ints, pa.Array]:
    """Neighbours of which one has a digit, as one word."""
    numbered = _flags(pc.match_substring_regex(words, r"\d"))
    short = pc.utf8_length(words).to_numpy() <= _JOINED
    beside = (owner[1:] == owner[:-1]) & (numbered[1:] | numbered[:-1]) & short[1:] & short[:-1]
    at = np.flatnonzero(beside)
    return owner[at], pc.binary_join_element_wise(words.take(pa.array(at)), words.take(pa.array(at + 1)), "")


def _sound(words: pa.Array) -> pa.Array:
    """Words by the classes of their consonants: Soundex (Russell 1918) without its first letter and length; each distinct word once."""
    encoded = words.dictionary_encode()
    sounds = encoded.dictionary
    for pattern, code in _SOUNDS:
        sounds = pc.replace_substring_regex(sounds, pattern, code)
    return sounds.take(encoded.indices)


def _flags(flags: pa.Array) -> NDArray[np.bool_]:
    return flags.to_numpy(zero_copy_only=False)

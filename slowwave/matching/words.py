"""The words of names as sparse rows: how much information two names share, and how much each has left over.

The information of a word is -ln of the share of names that hold it (inverse document frequency), so that the sum over shared
words is -ln of the probability that two names agree in them by coincidence. A rare word that is one slip away from a more
frequent one counts as that word in a second reading, which finds names that differ by typing errors alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA
from scipy import sparse

from slowwave.matching.attributes import Column
from slowwave.matching.names import UNNAMED
from slowwave.matching.ngrams import CharacterNgrams
from slowwave.matching.nicknames import FORMAL

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

_SLIPS: Final = 5  # letters from which a word may hold a slip
_RARE: Final = 3  # names that may hold a word for it to be a slip
_MOST: Final = 5.0  # nats: one word in 150
_FIGURES: Final = 3  # of a number that tells
_CROWDED: Final = 50  # words one deletion apart: too many to tell which was meant


@dataclass(frozen=True, slots=True, eq=False)
class WordInformation:
    """Words of n texts. ``plain`` and ``mended`` (n, w) hold the square root of each word's information, the latter with slips and short
    forms read as what they are likely to mean (``meant``, (w, w) ones); ``total`` and ``mended_total`` (n,) are the sums of information,
    ``bounded`` (n,) the latter with at most 5 nats a word. ``naming`` (n,) is how many words are no title, legal form, small word or single
    letter, ``lettered`` (w, w) has ones for ``words`` (w,) of three letters and more, ``information`` (w,) the square roots."""

    plain: Any
    mended: Any
    total: Reals
    mended_total: Reals
    bounded: Reals
    naming: Ints
    lettered: Any
    words: pa.Array
    meant: Any
    information: Reals

    @classmethod
    def of(cls, texts: NDArray[np.object_], *, slips: bool = True) -> WordInformation:
        """Folded texts, words parted by spaces → their words. Time and memory grow with the number of words."""
        plain, words = _matrix(texts)
        count = np.asarray(plain.sum(axis=0)).ravel()
        to = _meant(words, count) if slips else np.arange(len(words))
        n = len(texts)
        lettered = (
            sparse.diags([float(len(w) > 2 and str(w).isalpha()) for w in words], format="csr", dtype=np.float32)
            if len(words)
            else plain.T @ plain
        )
        naming = np.asarray(plain @ np.array([len(w) > 1 and w not in UNNAMED for w in words], np.float32)).astype(
            np.int64
        )
        ones = sparse.csr_matrix(
            (np.ones(len(words), np.float32), (np.arange(len(words)), to)), shape=(len(words),) * 2
        )
        mended: Any = (plain @ ones).tocsr()
        mended.data[:] = 1
        total, mended_total = (_weigh(matrix, n) for matrix in (plain, mended))
        information = np.zeros(len(words))
        information[mended.indices] = mended.data
        few: Any = mended.copy()
        few.data = np.minimum(few.data**2, _MOST)
        return cls(
            plain,
            mended,
            total,
            mended_total,
            np.asarray(few.sum(axis=1), float).ravel(),
            naming,
            lettered,
            pa.array(words, pa.string()),
            ones,
            information,
        )

    def said(self, columns: Sequence[Column]) -> Any:
        """(n, w) mended words that each row says in its name or in one of these attributes, weighed by their information. Of numbers those
        of three figures or more count: a "5" says too little."""
        said: Any = self.mended.copy()
        said.data[:] = 1
        for column in columns:
            lists = pc.utf8_split_whitespace(pa.array(column.texts, pa.string()))
            place = pc.fill_null(pc.index_in(pc.list_flatten(lists), self.words), -1).to_numpy().astype(np.int64)
            text = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
            known = place >= 0
            if column.shape == "number":
                known &= pc.utf8_length(pc.list_flatten(lists)).to_numpy() >= _FIGURES
            held: Any = sparse.csr_matrix(
                (np.ones(int(known.sum()), np.float32), (text[known], place[known])),
                shape=(len(column.texts), self.mended.shape[1]),
            )
            rows: Any = sparse.csr_matrix(
                (np.ones(len(column.rows), np.float32), (column.rows, column.codes)),
                shape=(self.mended.shape[0], len(column.texts)),
            )
            said = said + rows @ (held @ self.meant)
        said.data[:] = self.information[said.indices].astype(np.float32)
        return said

    def left_over(self, said: Any, i: Ints, j: Ints) -> Reals:
        """The information (p,) of what the name of i says and the whole record of j does not."""
        return self.mended_total[i] - np.asarray(self.mended[i].multiply(said[j]).sum(axis=1), float).ravel()

    def share_word(self, i: Ints, j: Ints) -> NDArray[np.bool_]:
        """Whether pairs (p,) have a word of three letters or more, and without a figure, in common."""
        return np.asarray((self.mended[i] @ self.lettered).multiply(self.mended[j]).sum(axis=1)).ravel() > 0

    def shared(self, i: Ints, j: Ints) -> tuple[Reals, Reals]:
        """The information that pairs share (p,), as written and with slips mended."""
        return _product(self.plain, i, j), _product(self.mended, i, j)


def cosine(words: WordInformation, i: Ints, j: Ints) -> Reals:
    """tf-idf cosine (p,) of pairs of texts, slips mended, every word counted once."""
    _, shared = words.shared(i, j)
    return shared / np.sqrt(np.maximum(words.mended_total[i] * words.mended_total[j], 1e-12))


def _product(matrix: Any, i: Ints, j: Ints) -> Reals:
    return np.asarray(matrix[i].multiply(matrix[j]).sum(axis=1), float).ravel()


def _matrix(texts: NDArray[np.object_]) -> tuple[Any, NDArray[np.object_]]:
    """Ones for the words of each text, and the words, sorted."""
    lists = pc.utf8_split_whitespace(pa.array(texts, pa.large_string()))
    rows = pc.list_parent_indices(lists).to_numpy()
    flat = pc.list_flatten(lists)
    said = pc.not_equal(flat, "").to_numpy(zero_copy_only=False)
    rows, coded = rows[said], pc.dictionary_encode(flat.filter(said))
    found = np.array(coded.dictionary.to_pylist(), np.object_)
    words, number = np.unique(found, return_inverse=True) if len(found) else (found, np.empty(0, np.int64))
    codes = number[coded.indices.to_numpy()] if len(found) else number
    matrix: Any = sparse.csr_matrix(
        (np.ones(len(rows), np.float32), (rows, codes)), shape=(len(texts), len(words)), dtype=np.float32
    )
    matrix.data[:] = 1
    return matrix, words


def _weigh(matrix: Any, n: int) -> Reals:
    """Put the square root of the information in place of the ones; returns the sums. The two names of a pair
    are no sign of how common a word is: they are not counted."""
    count = np.asarray(matrix.sum(axis=0)).ravel()
    information = -np.log(np.maximum(count - 2, 0.5) / max(n, 2))
    information = np.maximum(information, 0.05)
    matrix.data[:] = np.sqrt(information).astype(np.float32)[matrix.indices]
    return np.asarray(matrix.multiply(matrix).sum(axis=1), float).ravel()


def _meant(words: NDArray[np.object_], count: Reals) -> Ints:
    """(w,): for each word the one it counts as. A word in at most three names that differs by one slip (an inserted, lost,
    changed or swapped letter; two from nine letters up) from a more frequent word counts as the most frequent such word."""
    to = _formal(words)
    may = np.flatnonzero([len(w) >= _SLIPS and w.isalpha() for w in words])
    if not len(may):
        return to
    owner, form = CharacterNgrams.of(words[may]).deletions(0, len(may))
    order = np.lexsort((owner, form))
    owner, form = may[owner[order]], form[order]
    once = np.r_[True, (form[1:] != form[:-1]) | (owner[1:] != owner[:-1])]  # "beet" has the form "bet" twice
    owner, form = owner[once], form[once]
    start = np.flatnonzero(np.r_[True, form[1:] != form[:-1]])
    size = np.diff(np.append(start, len(form)))
    kept = (size > 1) & (size <= _CROWDED)
    start, size = start[kept], size[kept]
    at = np.repeat(start, size * size) + _steps(size * size) // np.repeat(size, size * size)
    with_ = np.repeat(start, size * size) + _steps(size * size) % np.repeat(size, size * size)
    a, b = owner[at], owner[with_]
    better = (count[a] <= _RARE) & ((count[b] > count[a]) | ((count[b] == count[a]) & (b < a)))
    pairs = np.unique(a[better] * len(words) + b[better])
    a, b = pairs // len(words), pairs % len(words)
    if not len(a):
        return to
    edits = process.cpdist(words[a], words[b], scorer=OSA.distance, score_cutoff=2, workers=2, dtype=np.int32)
    letters = np.array([len(w) for w in words])
    near = edits <= np.where(np.minimum(letters[a], letters[b]) >= 9, 2, 1)
    a, b, edits = a[near], b[near], edits[near]
    first = np.lexsort((b, -count[b], edits, a))
    a, b = a[first], b[first]
    chosen = np.r_[True, a[1:] != a[:-1]] if len(a) else np.zeros(0, bool)
    to[a[chosen]] = b[chosen]
    for _ in range(3):  # a slip of a slip, or of a short form
        to = to[to]
    return to


def _formal(words: NDArray[np.object_]) -> Ints:
    """(w,): for each word the given name that it is the short form of, where there is but one here; itself else."""
    place = {str(w): k for k, w in enumerate(words)}
    to = np.arange(len(words))
    for k, word in enumerate(words):
        here = [place[name] for name in FORMAL.get(str(word), ()) if name in place]
        if len(here) == 1 and str(words[here[0]]) != word:
            to[k] = here[0]
    return to


def _steps(sizes: Ints) -> Ints:
    """0 … size-1 for each size, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - sizes, sizes)

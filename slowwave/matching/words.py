"""Words that two names or texts share, weighted by rarity, and the words that only one of them has."""

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
from slowwave.matching.blocks import CharacterNgrams
from slowwave.matching.names import FORMAL, UNNAMED
from slowwave.text.statements import stem
from slowwave.text.tokens import tokenise
from slowwave.text.words import GRAMMAR

# The words of names as sparse rows: how much information two names share, and how much remains in each.
#
# The information of a word is -ln of the share of names with it (inverse document frequency), so the sum over shared words is -ln of the
# probability that two names agree in them by coincidence. A rare word that is one slip away from a more frequent one also counts as that
# word, which finds names that differ by typing mistakes only.

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

_SLIPS: Final = 5  # minimum length in letters of a word that may contain a slip
_RARE: Final = 3  # maximum number of names with a word that counts as a slip
_MOST: Final = 5.0  # nats: one word in 150
_FIGURES: Final = 3  # minimum number of figures of a number that is evidence
_CROWDED: Final = 50  # words at one deletion's distance above which the intended one is unclear


@dataclass(frozen=True, slots=True, eq=False)
class WordInformation:
    """The words of n texts and their information.

    ``plain`` and ``mended`` (n, w) hold the square root of each word's information; in ``mended``, slips and short forms count as the
    word that they probably mean (``meant``, (w, w) ones). ``total`` and ``mended_total`` (n,) are the sums of information, and
    ``bounded`` (n,) is ``mended_total`` with at most 5 nats per word. ``naming`` (n,) counts the words that are no title, legal form,
    small word or single letter. ``lettered`` (w, w) has ones for ``words`` (w,) of three letters or more, and ``information`` (w,) holds
    the square roots.
    """

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
    def from_texts(cls, texts: NDArray[np.object_], *, slips: bool = True) -> WordInformation:
        """Build the words of folded texts, with words separated by spaces.

        Time and memory grow with the number of words.
        """
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
        """Return the mended words (n, w) in each row's name or in one of these attributes, weighted by their information.

        Numbers count only if they have three figures or more, because a "5" is too little evidence.
        """
        weighted: Any = self.mended.copy()
        weighted.data[:] = 1
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
            weighted = weighted + rows @ (held @ self.meant)
        weighted.data[:] = self.information[weighted.indices].astype(np.float32)
        return weighted

    def left_over(self, said: Any, i: Ints, j: Ints) -> Reals:
        """Return the information (p,) in the name of i that is not in the whole record of j."""
        return self.mended_total[i] - np.asarray(self.mended[i].multiply(said[j]).sum(axis=1), float).ravel()

    def share_word(self, i: Ints, j: Ints) -> NDArray[np.bool_]:
        """Return whether the names of pairs (p,) share a word of three letters or more without a figure."""
        return np.asarray((self.mended[i] @ self.lettered).multiply(self.mended[j]).sum(axis=1)).ravel() > 0

    def shared(self, i: Ints, j: Ints) -> tuple[Reals, Reals]:
        """Return the information that pairs share (p,), as written and with slips mended."""
        return _product(self.plain, i, j), _product(self.mended, i, j)


def cosine(words: WordInformation, i: Ints, j: Ints) -> Reals:
    """Return the tf-idf cosine (p,) of pairs of texts, with slips mended and every word counted once."""
    _, shared = words.shared(i, j)
    return shared / np.sqrt(np.maximum(words.mended_total[i] * words.mended_total[j], 1e-12))


def _product(matrix: Any, i: Ints, j: Ints) -> Reals:
    return np.asarray(matrix[i].multiply(matrix[j]).sum(axis=1), float).ravel()


def _matrix(texts: NDArray[np.object_]) -> tuple[Any, NDArray[np.object_]]:
    """Return ones for the words of each text, and the words, sorted."""
    lists = pc.utf8_split_whitespace(pa.array(texts, pa.large_string()))
    rows = pc.list_parent_indices(lists).to_numpy()
    flat = pc.list_flatten(lists)
    nonempty = pc.not_equal(flat, "").to_numpy(zero_copy_only=False)
    rows, coded = rows[nonempty], pc.dictionary_encode(flat.filter(nonempty))
    found = np.array(coded.dictionary.to_pylist(), np.object_)
    words, number = np.unique(found, return_inverse=True) if len(found) else (found, np.empty(0, np.int64))
    codes = number[coded.indices.to_numpy()] if len(found) else number
    matrix: Any = sparse.csr_matrix(
        (np.ones(len(rows), np.float32), (rows, codes)), shape=(len(texts), len(words)), dtype=np.float32
    )
    matrix.data[:] = 1
    return matrix, words


def _weigh(matrix: Any, n: int) -> Reals:
    """Replace the ones by the square root of the information; return the sums.

    The two names of a pair are not counted, because they are no evidence of how common a word is.
    """
    count = np.asarray(matrix.sum(axis=0)).ravel()
    information = -np.log(np.maximum(count - 2, 0.5) / max(n, 2))
    information = np.maximum(information, 0.05)
    matrix.data[:] = np.sqrt(information).astype(np.float32)[matrix.indices]
    return np.asarray(matrix.multiply(matrix).sum(axis=1), float).ravel()


def _meant(words: NDArray[np.object_], count: Reals) -> Ints:
    """Return the word (w,) that each word counts as.

    A word in at most three names that differs by one slip (an inserted, lost, changed or swapped letter; two slips from nine letters up)
    from a more frequent word counts as the most frequent such word.
    """
    to = _formal(words)
    may = np.flatnonzero([len(w) >= _SLIPS and w.isalpha() for w in words])
    if not len(may):
        return to
    owner, form = CharacterNgrams.from_texts(words[may]).deletions(0, len(may))
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
    """Return (w,) for each word the given name that it abbreviates, if there is exactly one here, else the word itself."""
    place = {str(w): k for k, w in enumerate(words)}
    to = np.arange(len(words))
    for k, word in enumerate(words):
        here = [place[name] for name in FORMAL.get(str(word), ()) if name in place]
        if len(here) == 1 and str(words[here[0]]) != word:
            to[k] = here[0]
    return to


def _steps(sizes: Ints) -> Ints:
    """Return 0 … size-1 for each size, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - sizes, sizes)


# Words that two texts share, with more weight for rare ones: names and things distinguish two matters that a vector does not.
#
# Reports of two incidents of one kind are as near to each other as those of one. The words that only reports of one incident share are the
# place, the person and the day. ``slowwave.matching.vectors`` computes the nearness of vectors.

Floats = NDArray[np.float32]

_CHUNK: Final = 65_536  # pairs compared at a time


@dataclass(frozen=True, slots=True, eq=False)
class SharedWords:
    """Tf-idf unit rows (n, words): the share of content words that texts have in common, from 0 to 1."""

    matrix: Any

    @classmethod
    def from_texts(cls, texts: Sequence[str]) -> SharedWords:
        """Build the vectors of the content words of texts.

        Each word counts once per text, by its stem, with a weight that is the logarithm of how few of the texts have it. Time is linear
        in the texts.
        """
        column: dict[str, int] = {}
        starts, columns = [0], list[int]()
        for text in texts:
            columns += sorted({column.setdefault(stem(w), len(column)) for w in tokenise(text) if w not in GRAMMAR})
            starts.append(len(columns))
        at = np.array(columns, np.int64)
        weight = np.log((1 + len(texts)) / np.maximum(np.bincount(at, minlength=len(column)), 1))[at]
        rows = np.repeat(np.arange(len(texts)), np.diff(starts))
        length = np.sqrt(np.bincount(rows, weight * weight, minlength=len(texts)))
        data = (weight / np.maximum(length, 1e-12)[rows]).astype(np.float32)
        return cls(sparse.csr_matrix((data, at, np.array(starts)), shape=(len(texts), max(1, len(column)))))

    def pairs(self, i: Ints, j: Ints) -> Floats:
        """Return the similarity (p,) of pairs of texts.

        Time is linear in the pairs' words.
        """
        out = np.zeros(len(i), np.float32)
        for start in range(0, len(i), _CHUNK):
            part = slice(start, start + _CHUNK)
            out[part] = np.asarray(self.matrix[i[part]].multiply(self.matrix[j[part]]).sum(axis=1)).ravel()
        return out

    def among(self, places: Ints) -> Floats:
        """Return the similarity (p, p) of every two of some texts."""
        own = self.matrix[places]
        return np.asarray((own @ own.T).toarray(), np.float32)


# Words that one name has and the other lacks: for software, "windows" may mean nothing and "upgrade" much.
#
# A word that only one name has, while the other name has no additional word, is one sign. A word of two names that both have additional
# ones is another sign. Two words that replace each other ("pro", "professional") are a third. Only the most common signs among the given
# pairs count, because few words make most of the differences in a set of names. ``slowwave.matching.answers`` learns their meaning.

Flags = NDArray[np.bool_]

MOST: Final = 96
"""Maximum number of signs: each costs a coefficient, and rare ones are never answered about."""

FEWEST: Final = 3
"""Minimum number of pairs that differ in a sign."""

MORE, OTHER, FOR = "more", "other", "for"
"""The words in the names of signs: "more windows", "other physics", "pro for professional"."""

_ENOUGH: Final = 4  # number of words above which more make no difference


@dataclass(frozen=True, slots=True)
class Differences:
    """The ``signs`` (d,) of differing words: texts of folded words, and the number of words of each kind."""

    signs: tuple[str, ...] = ()

    @classmethod
    def from_pairs(cls, words: WordInformation, i: Ints, j: Ints) -> Differences:
        """Return the commonest signs in pairs of names (p,), the same for any order of the pairs.

        Cost: that of reading their words.
        """
        w = len(words.words)
        more, other, pairs = np.zeros(w, np.int64), np.zeros(w, np.int64), list[Ints]()
        for start in range(0, len(i), _CHUNK):
            apart = _differing(words, i[start : start + _CHUNK], j[start : start + _CHUNK])
            more += np.bincount(apart.word[~apart.both], minlength=w)
            other += np.bincount(apart.word[apart.both], minlength=w)
            pairs.append(apart.codes[apart.codes >= 0])
        codes, count = np.unique(np.concatenate([np.zeros(0, np.int64), *pairs]), return_counts=True)
        text = words.words.to_pylist()
        found = [
            *((int(more[k]), f"{MORE} {text[k]}") for k in np.flatnonzero(more >= FEWEST).tolist()),
            *((int(other[k]), f"{OTHER} {text[k]}") for k in np.flatnonzero(other >= FEWEST).tolist()),
            *(
                (int(n), f"{text[c // w]} {FOR} {text[c % w]}")
                for c, n in zip(codes.tolist(), count.tolist(), strict=True)
                if n >= FEWEST
            ),
        ]
        return cls((MORE, OTHER, *(sign for _, sign in sorted(found, key=lambda s: (-s[0], s[1]))[:MOST])))

    def reader(self, words: WordInformation) -> SignReader:
        """Build a reader of the signs for names of these words; one reader serves many pairs.

        Cost: proportional to the number of words.
        """
        w = len(words.words)
        parts = [sign.split(" ") for sign in self.signs]
        wanted = pa.array(
            sorted({word for p in parts if len(p) > 1 for word in (p[1:] if len(p) == 2 else p[::2])}), pa.string()
        )
        found = pc.fill_null(pc.index_in(wanted, value_set=words.words), -1).to_pylist()
        place: dict[str, int] = dict(zip(wanted.to_pylist(), found, strict=True))
        columns = {name: np.full(w, -1, np.int64) for name in (MORE, OTHER)}
        pairs: dict[int, int] = {}
        for k, p in enumerate(parts):
            at = [place[word] for word in (p[1:] if len(p) == 2 else p[::2])] if len(p) > 1 else []
            if len(at) == 1 and at[0] >= 0:
                columns[p[0]][at[0]] = k
            elif len(at) == 2 and min(at) >= 0:
                pairs[min(at) * w + max(at)] = k
        codes = np.array(sorted(pairs), np.int64)
        numbers = tuple(self.signs.index(name) if name in self.signs else -1 for name in (MORE, OTHER))
        return SignReader(
            words,
            len(self.signs),
            (columns[MORE], columns[OTHER]),
            numbers,
            codes,
            np.array([pairs[code] for code in codes.tolist()], np.int64),
        )

    def values(self, words: WordInformation, i: Ints, j: Ints) -> Reals:
        """Return (p, d) values as ``SignReader.values`` does."""
        return self.reader(words).values(i, j)


@dataclass(frozen=True, slots=True, eq=False)
class SignReader:
    """A reader of ``width`` signs d in the words of w names.

    ``single`` holds the column (w,) of each word for either kind of sign, -1 for none. ``numbers`` are the columns for the counts of
    words. ``codes`` (c,), sorted, are the pairs of words that replace each other, and ``paired`` (c,) their columns.
    """

    words: WordInformation
    width: int
    single: tuple[Ints, Ints]
    numbers: tuple[int, ...]
    codes: Ints
    paired: Ints

    def values(self, i: Ints, j: Ints) -> Reals:
        """Return (p, d): 1 for a pair of names with the sign; for the counts of words, half of the number up to ``_ENOUGH``."""
        found = np.zeros((len(i), self.width))
        if not self.width:
            return found
        for start in range(0, len(i), _CHUNK):
            part = found[start : start + _CHUNK]
            apart = _differing(self.words, i[start : start + _CHUNK], j[start : start + _CHUNK])
            for single, number, of in zip(self.single, self.numbers, (~apart.both, apart.both), strict=True):
                pair, word = apart.pair[of], apart.word[of]
                if number >= 0:
                    part[:, number] = np.minimum(np.bincount(pair, minlength=len(part)), _ENOUGH) / 2
                column = single[word]
                part[pair[column >= 0], column[column >= 0]] = 1
            if len(self.codes):
                at = np.minimum(np.searchsorted(self.codes, apart.codes), len(self.codes) - 1)
                same = np.flatnonzero(self.codes[at] == apart.codes)
                part[same, self.paired[at[same]]] = 1
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Apart:
    """Words that one name of p pairs has and the other lacks.

    ``pair`` (e,) and ``word`` (e,) identify them, and ``both`` (e,) states whether both names of the pair have such words. ``codes`` (p,)
    is the two words as one number if each name has exactly one, else -1.
    """

    pair: Ints
    word: Ints
    both: Flags
    codes: Ints


def _differing(words: WordInformation, i: Ints, j: Ints) -> _Apart:
    w, p = len(words.words), len(i)
    (one, a), (two, b) = _entries(words.mended, i), _entries(words.mended, j)
    keys = np.concatenate([one * w + a, two * w + b])
    order = np.argsort(keys, kind="stable")
    keys, right = keys[order], order >= len(a)
    again = keys[1:] == keys[:-1]
    alone = ~(np.r_[again, False] | np.r_[False, again])[: len(keys)]
    pair, word, right = keys[alone] // max(w, 1), keys[alone] % max(w, 1), right[alone]
    n, m = np.bincount(pair[~right], minlength=p), np.bincount(pair[right], minlength=p)
    codes = np.full(p, -1, np.int64)
    swapped = (n == 1) & (m == 1)
    of = swapped[pair]  # each such pair has two consecutive entries, the smaller word first
    codes[swapped] = word[of][::2] * w + word[of][1::2]
    return _Apart(pair, word, ((n > 0) & (m > 0))[pair], codes)


def _entries(matrix: Any, rows: Ints) -> tuple[Ints, Ints]:
    """Return the words (e,) of rows (p,) of a sparse matrix, each with its position among the rows."""
    start, length = matrix.indptr[rows].astype(np.int64), np.diff(matrix.indptr)[rows].astype(np.int64)
    of = np.repeat(np.arange(len(rows)), length)
    step = np.arange(len(of)) - np.repeat(np.cumsum(length) - length, length)
    return of, matrix.indices[np.repeat(start, length) + step].astype(np.int64)


# Letter similarity of two texts: tf-idf cosine of groups of three letters.
#
# It detects what a comparison by fields does not: an artist in the title, a number moved to the description, words run together.

_COLUMNS: Final = 1 << 20
_LONGEST: Final = 400  # maximum number of letters of a text that count


def trigrams(texts: Sequence[str]) -> Any:
    """Return (n, columns) float32 unit rows of the letter trigrams of n texts.

    Groups of letters are hashed; the columns are those that occur. Time and memory grow with the letters. The weight of a group is
    sqrt(count) · ln(1 + n / texts that hold it).
    """
    padded = [f"  {text[:_LONGEST]} " for text in texts]
    letters = np.frombuffer("".join(padded).encode("utf-32-le"), np.uint32)
    rows = np.repeat(np.arange(len(padded), dtype=np.int32), [len(t) for t in padded])
    if len(letters) < 3:
        return sparse.csr_matrix((len(padded), 0), dtype=np.float32)
    whole = rows[:-2] == rows[2:]
    mixed = letters.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    codes = (mixed[:-2] ^ (mixed[1:-1] >> np.uint64(7)) ^ (mixed[2:] >> np.uint64(17))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes >> np.uint64(44)).astype(np.int32)[whole] % _COLUMNS
    counts: Any = sparse.csr_matrix(
        (np.ones(len(codes), np.float32), (rows[:-2][whole], codes)), shape=(len(padded), _COLUMNS)
    )
    counts.sum_duplicates()
    held = np.bincount(counts.indices, minlength=_COLUMNS)
    weight = np.log1p(len(padded) / np.maximum(held, 1)).astype(np.float32)
    counts.data = np.sqrt(counts.data) * weight[counts.indices]
    norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    counts.data /= np.repeat(np.maximum(norms, 1e-12), np.diff(counts.indptr)).astype(np.float32)
    return counts


def cosines(rows: Any, i: Ints, j: Ints) -> Reals:
    """Return the cosines (p,) of pairs of unit rows, rounded to six decimals."""
    products: Reals = np.asarray(rows[i].multiply(rows[j]).sum(axis=1), float).ravel()
    return products.round(6)

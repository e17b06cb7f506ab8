"""The choice of pairs to compare: the union of many cheap keys and of near vectors, within one entity type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.matching.blocks import (
    Blocks,
    CharacterNgrams,
    Read,
    TfIdfRows,
    affordable,
    fresh,
    packed_pairs,
    ranges,
    unique,
)
from slowwave.matching.identity import Identity
from slowwave.matching.names import LONGEST
from slowwave.matching.population import Population
from slowwave.matching.tiles import CandidateSearch, Run, in_threads
from slowwave.matching.vectors import pairs_above, share_above

# The distinct names of each entity type, and the blocking keys by which two of them are compared.
#
# A name that many rows have is compared with the other names only once. The pairs of names are expanded to pairs of rows further below.

_SLIPS: Final = (5, 40)  # lengths in letters, from and to, of names in which one letter may be wrong
_COSINE: Final = 0.5  # of character trigrams
_NEAR: Final = 40  # maximum number of near names of a name
_READ_DISTINCT_NAMES: Final = 65_536  # names whose n-grams are computed at a time
_NAMES_SEARCH: Final = np.frombuffer(b"near names", np.uint8)  # keeps equal inputs of two searches apart
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_WORK_DISTINCT_NAMES: Final = (600, 400_000_000)  # multiply-adds per name at least, and of all names together


@dataclass(frozen=True, slots=True, eq=False)
class DistinctNames:
    """The t distinct names.

    ``first`` (t,) is one row of each; the rows of name k are ``rows[start[k] : start[k] + size[k]]``.
    """

    first: Ints
    rows: Ints
    start: Ints
    size: Ints

    @classmethod
    def of_rows(cls, population: Population) -> DistinctNames:
        """Group the rows by type and folded name."""
        plain = population.names.plain
        rows = np.flatnonzero(plain >= 0)
        code = population.kind[rows] * (int(plain.max(initial=0)) + 1) + plain[rows]
        order = np.argsort(code, kind="stable")
        rows, code = rows[order], code[order]
        start = np.flatnonzero(fresh(code))
        size = np.diff(np.append(start, len(code)))
        return cls(rows[start], rows, start, size)

    def __len__(self) -> int:
        return len(self.first)

    def only(self, focus: Flags) -> DistinctNames:
        """Return the same names with only the rows of a focus (n,)."""
        kept = focus[self.rows]
        before = np.concatenate([[0], np.cumsum(kept)])
        start = before[self.start]
        return DistinctNames(self.first, self.rows[kept], start, before[self.start + self.size] - start)

    def spread(self, distinct: Ints, codes: Ints) -> Blocks:
        """Return blocks of the rows of some names (m,), one block for each code (m,)."""
        which, place = ranges(self.start[distinct], self.size[distinct])
        return Blocks.from_codes(self.rows[place], codes[which])

    def cross(self, a: Ints, b: Ints, bits: Bits, n: int, focus: Flags | None) -> tuple[Ints, Bits]:
        """Return the pairs of rows of names ``a`` with rows of names ``b``, and the bits of their names.

        Pairs are packed as in ``Blocks``. With a focus, only pairs with a row of it are returned.
        """
        left = self if focus is None else self.only(focus)
        ways = [(a, b)] if focus is None else [(a, b), (b, a)]
        found: list[tuple[Ints, Bits]] = []
        for one, other in ways:
            wide = self.size[other]
            which, place = ranges(np.zeros(len(one), np.int64), left.size[one] * wide)
            i = left.rows[left.start[one][which] + place // wide[which]]
            j = self.rows[self.start[other][which] + place % wide[which]]
            found.append((np.minimum(i, j) * n + np.maximum(i, j), bits[which]))
        packed, bits = np.concatenate([p for p, _ in found]), np.concatenate([k for _, k in found])
        order = np.argsort(packed, kind="stable")
        packed = packed[order]
        kept = fresh(packed)
        return packed[kept], bits[order][kept]


def name_blocks(population: Population, distinct: DistinctNames) -> Iterator[tuple[str, Blocks]]:
    """Yield (key, blocks of names)."""
    names, first, kind = population.names, distinct.first, population.kind[distinct.first]
    kinds = int(population.kind.max(initial=0)) + 1

    def block(codes: Ints, owner: Ints | None = None, leads: Flags | None = None) -> Blocks:
        """Return blocks of names with an equal code, numbered separately for each type; a missing code is -1."""
        owner = np.arange(len(first)) if owner is None else owner
        has = codes >= 0
        owner, codes = owner[has], codes[has]
        return Blocks.from_codes(owner, codes * kinds + kind[owner], None if leads is None else leads[has])

    def flat(codes: Ints) -> tuple[Ints, Ints]:
        """Return the codes of a table as one column, with the name that each belongs to."""
        return codes.ravel(), np.repeat(np.arange(len(codes)), codes.shape[1])

    yield "words", block(names.ordered[first])
    yield "compact", block(names.compact[first])
    longer, owner = flat(names.acronym[first])
    short = names.short[first]
    leads = np.repeat([False, True], [len(longer), len(short)])
    yield "acronym", block(np.concatenate([longer, short]), np.concatenate([owner, np.arange(len(short))]), leads)
    yield "nickname", block(*flat(names.nickname[first]))
    yield "initials", block(names.family[first], leads=names.lettered[first])
    yield "ends", block(names.ends[first])
    yield "slip", _slips(population, distinct)


def _slips(population: Population, distinct: DistinctNames) -> Blocks:
    """Return blocks of names that differ by one letter: inserted, lost, changed or swapped with the next."""
    names, n = population.names, len(distinct)
    kind, letters = population.kind[distinct.first], names.length[distinct.first]
    usable = (letters >= _SLIPS[0]) & (letters <= _SLIPS[1])
    texts = CharacterNgrams.from_texts(np.where(usable, names.squeezed[distinct.first], ""))
    bits = n.bit_length()
    packed = np.empty(len(texts.codes) + n, np.int64)
    for low in range(0, n, _READ_DISTINCT_NAMES):
        high = min(low + _READ_DISTINCT_NAMES, n)
        owner, form = texts.deletions(low, high)
        form = (form ^ (kind[owner].astype(np.uint64) << np.uint64(40))) * _MIX
        part = packed[texts.ends[low] + low : texts.ends[high] + high]
        part[:] = (form >> np.uint64(bits + 1)).astype(np.int64) << bits | owner
    packed.sort()
    new = fresh(packed >> bits)
    shared = ~new | np.r_[~new[1:], False] if n else new
    owner, code = packed[shared] & ((1 << bits) - 1), np.cumsum(new)[shared]
    owner, code = owner[usable[owner]], code[usable[owner]]
    return Blocks.from_codes(owner, code * (int(kind.max(initial=0)) + 1) + kind[owner])


def near_names(
    population: Population, distinct: DistinctNames, focus: Flags | None, run: Run = in_threads
) -> tuple[Ints, int]:
    """Find pairs of names whose character trigrams have a tf-idf cosine ≥ .5.

    Also returns the number of names that have more such neighbours than are kept. Prose is left to other keys.
    """
    texts = np.array(
        [f"  {t} " if len(t) <= LONGEST else "" for t in population.names.folded[distinct.first]], np.object_
    )
    kind = population.kind[distinct.first]

    def prepare() -> CandidateSearch:
        letters = CharacterNgrams.from_texts(texts)
        rows = TfIdfRows.from_reader(kind, letters.triples, letters.alphabet**3)
        work = max(_WORK_DISTINCT_NAMES[0], _WORK_DISTINCT_NAMES[1] / max(len(distinct), 1))
        return rows.near_search(_COSINE, work, _NEAR, focus)

    written = np.frombuffer("\n".join(texts.tolist()).encode("utf-8", "surrogatepass"), np.uint8)
    i, j, crowded = run([_NAMES_SEARCH, kind, written, *([] if focus is None else [focus])], prepare)
    return packed_pairs(i, j, len(distinct)), int(crowded.sum())


# Words of whole rows: of the name and of every attribute value, without regard to the attribute.
#
# Products with different descriptions, citations with swapped fields and artists inside titles share words, but no fields. Some words also
# count in a second form: words of a name by their sound (a Soundex of all consonants, for other spellings and most slips), a word with a
# digit joined to its neighbour ("KDL 46XBR", "kdl46xbr"), and a date by its year and by its day.

_NAME: Final = "name"
_JOINED: Final = 12  # maximum length in letters of a word that may be joined to its neighbour
_SOUNDS: Final = (
    *(("ph", "f"), ("^[kg]n", "n"), ("^wr", "r"), ("gh", ""), ("[aeiouyhw]+", "0"), ("[bfpv]+", "1")),
    *(("[cgjkqsxz]+", "2"), ("[dt]+", "3"), ("l+", "4"), ("[mn]+", "5"), ("r+", "6"), ("0", "")),
)
"""Letters → classes of consonants, applied in this order. Vowels keep equal classes apart and are then removed."""


@dataclass(frozen=True, slots=True, eq=False)
class _Texts:
    """The texts of the names, or of one attribute.

    Row k of ``rows`` (m,), ascending, holds text ``codes[k]``, whose words are ``words[ends[code] : ends[code + 1]]``.
    """

    rows: Ints
    codes: Ints
    words: NDArray[np.int32]
    ends: Ints

    def read(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return (place in ``rows``, word), one entry for every occurrence of a word in a row."""
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
    def from_population(cls, population: Population) -> Records:
        """Split every distinct name and value once."""
        named = pa.array(population.names.folded, pa.string()).dictionary_encode()
        sources = [(_NAME, np.arange(len(population)), named.indices.to_numpy().astype(np.int64), named.dictionary)]
        sources += [(c.shape, c.rows, c.codes, pa.array(c.texts, pa.string())) for c in population.attributes.columns]
        split = [_split_words(shape, texts) for shape, _, _, texts in sources]
        coded = pa.concat_arrays([words for words, _ in split]).dictionary_encode()
        numbers = coded.indices.to_numpy()
        first = np.cumsum([0, *(len(words) for words, _ in split)])
        texts = [
            _Texts(rows, codes, numbers[first[k] : first[k + 1]], ends)
            for k, ((_, rows, codes, _), (_, ends)) in enumerate(zip(sources, split, strict=True))
        ]
        return cls(texts[0], tuple(texts[1:]), len(coded.dictionary))

    def read(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return (place in ``rows``, word), one entry for every occurrence of a word in a row."""
        found = [text.read(rows) for text in (self.names, *self.attributes)]
        return np.concatenate([at for at, _ in found]), np.concatenate([word for _, word in found])


def _split_words(shape: str, texts: pa.Array) -> tuple[pa.Array, Ints]:
    """Split all texts into words; return the words, text after text, and the position where those of each text end."""
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
    """Join neighbouring words of which one has a digit."""
    numbered = _flags(pc.match_substring_regex(words, r"\d"))
    short = pc.utf8_length(words).to_numpy() <= _JOINED
    beside = (owner[1:] == owner[:-1]) & (numbered[1:] | numbered[:-1]) & short[1:] & short[:-1]
    at = np.flatnonzero(beside)
    return owner[at], pc.binary_join_element_wise(words.take(pa.array(at)), words.take(pa.array(at + 1)), "")


def _sound(words: pa.Array) -> pa.Array:
    """Encode words by the classes of their consonants.

    The code is Soundex (Russell 1918) without its first letter and its length; each distinct word is encoded once.
    """
    encoded = words.dictionary_encode()
    sounds = encoded.dictionary
    for pattern, code in _SOUNDS:
        sounds = pc.replace_substring_regex(sounds, pattern, code)
    return sounds.take(encoded.indices)


def _flags(flags: pa.Array) -> NDArray[np.bool_]:
    return flags.to_numpy(zero_copy_only=False)


# Candidate pairs: the union of many cheap keys and of near vectors, always within one entity type.
#
# Keys of names are computed between distinct names and then expanded to their rows. Keys of rows are aliases, attributes, rare words, whole
# records and vectors. A block that is too large ("Inc", a thousand people called John Smith) is split: inside it, each row is compared with
# the rows whose records are nearest to its own. ``dropped`` lists what is left out. ``slowwave.matching.weights`` weighs the pairs.

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Bits = NDArray[np.uint16]

KEYS: Final = (
    *("name", "words", "compact", "acronym", "nickname", "initials", "ends", "slip", "ngram"),
    *("alias", "attribute", "rare word", "record", "split", "vector", "identity"),
)
"""Keys in the order of their bits in ``CandidatePairs.found_by``. "split" marks near records inside a block that was too large."""

STRONG: Final = frozenset(("email", "url", "phone", "date", "code", "codes"))
"""Attribute shapes whose equal values make a candidate pair."""

PAIRS_PER_ROW: Final = 200
"""Number of near vectors per row above which the threshold of a type is raised, because such a neighbourhood distinguishes nothing."""

_FEW_PAIRS: Final = 500_000  # this many are always acceptable
_NAMED: Final = 40  # maximum number of pairs per row from equal names before blocks are split
_CROSSED: Final = 20  # maximum number of pairs per row from similar names under a key
_VAGUE: Final = 10  # maximum number of pairs per row from names with similar letters only
_VALUED: Final = 20  # maximum number of pairs per row from attribute values
_RARE: Final = 2  # maximum number of pairs per row from rare words
_NEAREST: Final = (8, 30)  # nearest records per row, in large and in small populations
_NEAREST_PAIRS: Final = 1_200_000  # nearest records of all rows
_FLOOR: Final = 0.1  # cosine below which records have nothing in common
_WORK: Final = (1_000, 400_000_000)  # multiply-adds per row at least, and of all rows together
_NAMES: Final = frozenset(("name", "words", "compact", "nickname", "ends"))
_RECORDS_SEARCH: Final = np.frombuffer(b"near records", np.uint8)  # keeps equal inputs of two searches apart
_READ: Final = 16_384  # rows parsed at a time
_TILE: Final = 2_048  # vectors multiplied at a time for a focus
_INSIDE: Final = 10  # nearest records per row inside a block
_SAMPLE: Final = 100  # pairs of a block for measuring its yield
_SAMPLES: Final = 500_000  # total of these pairs of all blocks, except ten of each
_ALIKE: Final = 0.3  # cosine of similar records
_YIELD: Final = 0.01  # share of such pairs from which on a block is worth splitting


@dataclass(frozen=True, slots=True, eq=False)
class CandidatePairs:
    """Candidate pairs i < j (row numbers), sorted, with the keys that found them as bits.

    ``dropped`` describes what was left out.
    """

    i: Ints
    j: Ints
    found_by: Bits
    dropped: tuple[str, ...]

    def only_by(self, *keys: str) -> Flags:
        """Flag the pairs (p,) that no other key has found."""
        return self.found_by & ~np.bitwise_or.reduce([_bit(key) for key in keys]) == 0

    def counts(self) -> dict[str, int]:
        """Count the pairs found by each key; a pair counts for every key that found it."""
        return {key: int(np.count_nonzero(self.found_by & _bit(key))) for key in KEYS}


def find(
    population: Population,
    band_low: float,
    threshold: float,
    focus: Flags | None = None,
    identity: Identity | None = None,
    run: Run = in_threads,
) -> CandidatePairs:
    """Find all candidate pairs.

    ``band_low`` is the cosine from which near vectors are compared, ``threshold`` the cosine from which they merge. With ``focus`` (n,),
    only pairs with a row of the focus are found, at a cost that shrinks with it. The nearest names, records and vectors are then searched
    for the rows of the focus only. Rows that share a value of a declared ``identity`` are always compared. ``run`` searches near names,
    records and vectors (``slowwave.matching.tiles``); none of these searches depends on the result of another one.
    """
    found = _Found(len(population), focus)
    records = Records.from_population(population)
    words = _Words(population, records)
    _by_names(population, found, run)
    _by_values(population, records, found)
    if identity is not None:
        rows, codes = identity.blocks()
        of_type = codes * (int(population.kind.max(initial=0)) + 1) + population.kind[rows]
        found.add_blocks("identity", Blocks.from_codes(rows, of_type), _VALUED)
    found.add("record", _near_records(population, records, words, found, run))
    large = _worth_splitting(words, found)
    words.release()  # they take as much memory as the index of the blocks
    _split(records, large, found)
    i, j, raised = _vector_pairs(population, band_low, threshold, focus, run)
    found.add("vector", packed_pairs(i, j, len(population)))
    found.dropped += raised
    return found.union()


def search(population: Population, band_low: float, threshold: float, run: Run) -> None:
    """Give ``run`` the searches that ``find`` would give it, and nothing else; what it returns is not used."""
    found = _Found(len(population), None)
    near_names(population, DistinctNames.of_rows(population), None, run)
    records = Records.from_population(population)
    _near_records(population, records, _Words(population, records), found, run)
    _vector_pairs(population, band_low, threshold, None, run)


class _Found:
    """The results of a search over n rows so far.

    Pairs are packed as i·n + j. Blocks that were too large and descriptions of what was left out are kept as well.
    """

    def __init__(self, n: int, focus: Flags | None) -> None:
        self.n, self.focus = n, focus
        self.large: list[tuple[str, Blocks]] = []
        self.dropped: list[str] = []
        self._pairs: list[tuple[Ints, Bits | np.uint16]] = []

    def budget(self, pairs_per_row: float) -> float:
        """Return the number of pairs that a key may cost."""
        return max(_FEW_PAIRS, pairs_per_row * self.n)

    def add(self, key: str, packed: Ints, bits: Bits | None = None) -> None:
        """Add the sorted distinct pairs that a key has found, or those of several keys with their bits."""
        self._pairs.append((packed, _bit(key) if bits is None else bits))

    def add_blocks(self, key: str, blocks: Blocks, pairs_per_row: float) -> None:
        """Add the pairs of the smallest blocks that fit the budget, and set the other blocks aside."""
        small, large = blocks.within(self.budget(pairs_per_row))
        self.add(key, small.all_pairs(self.n, self.focus))
        self.set_aside(key, large)

    def set_aside(self, key: str, blocks: Blocks) -> None:
        """Set aside blocks that are too large for all of their pairs."""
        blocks = blocks if self.focus is None else blocks.touching(self.focus)
        if len(blocks):
            self.large.append((key, blocks))

    def touched(self, i: Ints, j: Ints) -> Ints:
        """Pack pairs of rows; with a focus, only those with a row of it."""
        if self.focus is not None:
            kept = self.focus[i] | self.focus[j]
            i, j = i[kept], j[kept]
        return packed_pairs(i, j, self.n)

    def union(self) -> CandidatePairs:
        """Return all pairs, each with the bits of every key that found it."""
        packed, bits = _merged(self._pairs)
        n = max(self.n, 1)
        return CandidatePairs(packed // n, packed % n, bits, tuple(self.dropped))


def _bit(key: str) -> np.uint16:
    return np.uint16(1 << KEYS.index(key))


def _merged(pairs: list[tuple[Ints, Bits | np.uint16]]) -> tuple[Ints, Bits]:
    """Merge lists of pairs, and combine the bits of all lists that hold a pair."""
    packed = unique(np.concatenate([np.empty(0, np.int64), *(p for p, _ in pairs)]))
    bits = np.zeros(len(packed), np.uint16)
    for some, found_by in pairs:
        bits[np.searchsorted(packed, some)] |= found_by
    return packed, bits


class _Words:
    """The words of all rows as tf-idf rows, which are read when they are first needed."""

    def __init__(self, population: Population, records: Records) -> None:
        self._population, self._records = population, records
        self._rows: TfIdfRows | None = None

    def rows(self) -> TfIdfRows:
        """Return the rows."""
        if self._rows is None:
            n, records = len(self._population), self._records
            self._rows = TfIdfRows.from_reader(self._population.kind, _reader(records, np.arange(n)), records.words)
        return self._rows

    def release(self) -> None:
        """Free the memory of the rows."""
        self._rows = None


def _reader(records: Records, rows: Ints) -> Read:
    """Return a function that reads the words of some of the rows (m,)."""

    def read(low: int, high: int) -> tuple[Ints, Ints]:
        at, word = records.read(rows[low:high])
        return at + low, word

    return read


def _work(n: int) -> float:
    """Return the number of multiply-adds that each of n rows may cost."""
    least, together = _WORK
    return max(least, together / max(n, 1))


def _by_names(population: Population, found: _Found, run: Run) -> None:
    """Find pairs of rows whose names are equal or share a key."""
    distinct = DistinctNames.of_rows(population)
    several = np.flatnonzero(distinct.size > 1)
    fits = affordable(distinct.size[several] * (distinct.size[several] - 1) // 2, found.budget(_NAMED))
    own, apart = several[fits], several[~fits]
    found.add("name", distinct.spread(own, own).all_pairs(found.n, found.focus))
    asked = distinct if found.focus is None else distinct.only(found.focus)
    a, b, bits = _name_pairs(population, distinct, asked, found, run)
    cost = asked.size[a] * distinct.size[b] + (distinct.size[a] - asked.size[a]) * asked.size[b]
    vague = bits == _bit("ngram")
    fits = np.zeros(len(a), bool)
    for group, pairs_per_row in ((~vague, _CROSSED), (vague, _VAGUE)):
        fits[group] = affordable(cost[group], found.budget(pairs_per_row))
    found.add("name", *distinct.cross(a[fits], b[fits], bits[fits], found.n, found.focus))
    if (lost := vague & ~fits).any():
        found.dropped.append(
            f"ngram: {lost.sum()} pairs of near names, {cost[lost].sum()} pairs of rows, are left out: too many rows have them"
        )
    a, b = a[~vague & ~fits], b[~vague & ~fits]
    centre = np.where(
        distinct.size[a] >= distinct.size[b], a, b
    )  # a frequent name with all names that it is compared with
    members = np.concatenate([centre, a + b - centre, apart])
    found.set_aside("name", distinct.spread(members, np.concatenate([centre, centre, apart])))


def _name_pairs(
    population: Population, distinct: DistinctNames, asked: DistinctNames, found: _Found, run: Run
) -> tuple[Ints, Ints, Bits]:
    """Find pairs of distinct names that share a key, with the bits of the keys.

    Blocks that are too large are set aside as blocks of rows.
    """
    t = len(distinct)
    focus = None if found.focus is None else asked.size > 0
    pairs: list[tuple[Ints, Bits | np.uint16]] = []
    for key, blocks in name_blocks(population, distinct):
        small, large = blocks.within(found.budget(_CROSSED))
        pairs.append((small.all_pairs(t, focus), _bit(key)))
        found.set_aside(key, distinct.spread(large.rows, np.repeat(np.arange(len(large)), large.size)))
    near, crowded = near_names(population, distinct, focus, run)
    pairs.append((near, _bit("ngram")))
    if crowded:
        found.dropped.append(f"ngram: {crowded} names have too many near names; only the nearest were kept")
    packed, bits = _merged(pairs)
    return packed // max(t, 1), packed % max(t, 1), bits


def _by_values(population: Population, records: Records, found: _Found) -> None:
    """Find pairs of rows that share an alias, a value of an identifying attribute or a rare word of their names."""
    kinds = int(population.kind.max(initial=0)) + 1
    known = population.known_as.tocoo()
    rows = known.row.astype(np.int64)
    found.add_blocks(
        "alias", Blocks.from_codes(rows, known.col.astype(np.int64) * kinds + population.kind[rows]), _VALUED
    )
    columns = [c for c in population.attributes.columns if c.shape in STRONG]
    if columns:
        first = np.cumsum([0, *(len(c.texts) for c in columns)])
        codes = np.concatenate([c.codes + at for c, at in zip(columns, first, strict=False)])
        found.add_blocks("attribute", Blocks.from_codes(np.concatenate([c.rows for c in columns]), codes), _VALUED)
    rows, words = records.names.read(np.arange(found.n))
    rare, _ = Blocks.from_codes(rows, words * kinds + population.kind[rows]).within(_RARE * found.n)
    found.add("rare word", rare.all_pairs(found.n, found.focus))


def _near_records(population: Population, records: Records, words: _Words, found: _Found, run: Run) -> Ints:
    """Pair each row with its nearest records, and with further records that look alike: more in small populations.

    If several rows have the same record, all of them are paired with the first, and only the first is paired with other records.
    """
    least, most = _NEAREST
    share = _NEAREST_PAIRS // max(found.n, 1)
    k = int(np.clip(share, least, most))
    crowd = int(np.clip(3 * share, k, 3 * most))
    every = np.arange(found.n)
    signature = _signatures(records, every)
    first = _first_of(signature, population.kind)
    copies = (np.bincount(first, minlength=found.n)[first] > k) & (first != every)
    rows = np.flatnonzero(~copies)
    focus = None if found.focus is None else found.focus[rows]

    def prepare() -> CandidateSearch:
        return words.rows().take(rows).nearest_search(k, _FLOOR, _work(found.n), focus, crowd=crowd, alike=_ALIKE)

    of = [_RECORDS_SEARCH, population.kind, signature, *([] if focus is None else [focus])]
    i, j = run(of, prepare)
    return found.touched(
        np.concatenate([rows[i], np.flatnonzero(copies)]), np.concatenate([rows[j], first[np.flatnonzero(copies)]])
    )


def _worth_splitting(words: _Words, found: _Found) -> list[Blocks]:
    """Return the large blocks of names, and those of other keys whose pairs look alike often enough.

    A block of another key is kept if at least 1 % of its pairs look alike.
    """
    kept: list[Blocks] = []
    for key, blocks in found.large:
        worth = np.ones(len(blocks), bool) if key in _NAMES else _yield(blocks, words.rows()) >= _YIELD
        for flags, what in (
            (worth, f"are split: a row meets only the {_INSIDE} nearest records of its block"),
            (~worth, f"are left out: fewer than {_YIELD:.0%} of their pairs look alike"),
        ):
            if flags.any():
                some = blocks.take(flags)
                found.dropped.append(f"{key}: {len(some)} blocks of {len(some.rows)} rows in all {what}")
        if worth.any():
            kept.append(blocks.take(worth))
    return kept


def _split(records: Records, large: list[Blocks], found: _Found) -> None:
    """Inside each large block, pair every row with the nearest records, and rows of one record with the first of them."""
    if not large:
        return
    rows = np.concatenate([b.rows for b in large])
    size = np.concatenate([b.size for b in large])
    block = np.repeat(np.arange(len(size)), size)
    first = _first_of(_signatures(records, rows), block)
    copies = np.flatnonzero(first != np.arange(len(rows)))
    found.add("split", found.touched(rows[first[copies]], rows[copies]))
    alone = first == np.arange(len(rows))
    rows, block = rows[alone], block[alone]
    inside = TfIdfRows.from_reader(block, _reader(records, rows), records.words)
    i, j = inside.nearest(_INSIDE, 0, _work(len(rows)), None if found.focus is None else found.focus[rows])
    found.add("split", found.touched(rows[i], rows[j]))


def _yield(blocks: Blocks, words: TfIdfRows) -> NDArray[np.float64]:
    """Return the share of each block's pairs whose records look alike, from a sample."""
    sample = max(10, min(_SAMPLE, _SAMPLES // max(len(blocks), 1)))
    shares = np.random.default_rng(0).random(
        (2, 1, sample)
    )  # identical in every block, independent of the other blocks
    i, j = blocks.rows[(shares * blocks.size[:, None]).astype(np.int64) + blocks.start[:, None]].reshape(2, -1)
    alike = (words.cosines(i, j) >= _ALIKE) & (i != j)
    return alike.reshape(len(blocks), -1).mean(axis=1)


def _signatures(records: Records, rows: Ints) -> Ints:
    """Return a number for the words of each of some rows (m,); rows with the same words have the same number."""
    signature = np.empty(len(rows), np.int64)
    for low in range(0, len(rows), _READ):
        part = rows[low : low + _READ]
        at, word = records.read(part)
        signature[low : low + _READ] = _sums(at, word, len(part))
    return signature


def _first_of(signature: Ints, block: Ints) -> Ints:
    """Return for each member (m,) of a block the first member with the same signature."""
    order = np.lexsort((signature, block))
    new = fresh(signature[order]) | fresh(block[order])
    first = np.empty(len(signature), np.int64)
    first[order] = order[np.flatnonzero(new)][np.cumsum(new) - 1]
    return first


def _sums(at: Ints, word: Ints, n: int) -> Ints:
    """Return a number for the words of each of n rows that does not depend on their order."""
    mixed = (word.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    order = np.argsort(at, kind="stable")
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed[order])])
    ends = np.cumsum(np.bincount(at, minlength=n))
    return np.diff(total[np.concatenate([[0], ends])]).view(np.int64)


def _vector_pairs(
    population: Population, band_low: float, threshold: float, focus: Flags | None, run: Run
) -> tuple[Ints, Ints, list[str]]:
    """Find pairs of one type with cosine ≥ ``band_low``.

    A type that is too dense for that is searched at ``threshold``, or not at all.
    """
    found: list[tuple[Ints, Ints]] = []
    raised: list[str] = []
    has = np.flatnonzero(population.vector >= 0)
    has = has[np.argsort(population.kind[has], kind="stable")]
    for rows in np.split(has, np.flatnonzero(np.diff(population.kind[has])) + 1):
        asked = rows if focus is None else rows[focus[rows]]
        if len(rows) < 2 or not len(asked):
            continue
        places = population.vector[rows]
        levels = sorted({band_low, max(band_low, threshold)})
        bearable = max(PAIRS_PER_ROW * len(asked), _FEW_PAIRS)
        possible = len(asked) * len(rows) / (2 if focus is None else 1)
        fit = next((t for t in levels if share_above(population.units, t, rows=places) * possible <= bearable), None)
        if fit != levels[0]:
            says = "not at all" if fit is None else f"only from {fit:.2f}"
            raised.append(f"vector: {population.types[rows[0]]} is too dense, compared {says} ({len(rows)} rows)")
        if fit is None:
            continue
        if focus is None:
            i, j, _ = pairs_above(population.units, fit, rows=places, run=run)
            found.append((rows[i], rows[j]))
        else:
            i, j = _across(population, asked, rows, fit)
            found.append((asked[i], rows[j]))
    empty = np.empty(0, np.int64)
    return (
        np.concatenate([empty, *(i for i, _ in found)]),
        np.concatenate([empty, *(j for _, j in found)]),
        raised,
    )


def _across(population: Population, some: Ints, rows: Ints, threshold: float) -> tuple[Ints, Ints]:
    """Find the places (in ``some``, in ``rows``) of vectors with a cosine ≥ ``threshold``, tile by tile."""
    found: list[tuple[Ints, Ints]] = []
    for top in range(0, len(some), _TILE):
        tall = population.units[population.vector[some[top : top + _TILE]]]
        for left in range(0, len(rows), _TILE):
            i, j = np.nonzero(tall @ population.units[population.vector[rows[left : left + _TILE]]].T >= threshold)
            found.append((i + top, j + left))
    return np.concatenate([i for i, _ in found]), np.concatenate([j for _, j in found])

"""Names in the forms that are compared, as arrays: one row an entity, one integer a form.

Equal integers mean equal forms, so that pairs are compared without touching a string. Which forms make a candidate pair
belongs to ``slowwave.matching.candidates``, what agreement weighs to ``slowwave.matching.weights``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.matching.alphabets import latin
from slowwave.matching.nicknames import FORMAL

Codes = NDArray[np.int64]
"""Interned strings; -1 where a row has no such form."""
Flags = NDArray[np.bool_]

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*[+#]{0,2}")
_LEGAL: Final = frozenset(
    (
        *("inc", "incorporated", "ltd", "limited", "llc", "llp", "lp", "plc", "corp", "corporation", "co", "company"),
        *("gmbh", "ag", "kg", "kgaa", "se", "sa", "sas", "sarl", "srl", "spa", "bv", "nv", "oy", "oyj", "ab", "as"),
        *("aps", "pty", "pte", "kk", "phd", "esq"),
    )
)
_TITLES: Final = frozenset(("mr", "mrs", "ms", "miss", "mx", "dr", "prof", "professor", "sir", "the"))
_LAST: Final = frozenset(("jr", "sr", "ii", "iii", "iv", "phd", "md", "esq"))
"""What may follow a name after a second comma."""
_SMALL: Final = frozenset(("of", "the", "and", "for", "de", "la", "di", "von", "van", "in", "on", "to", "a"))
UNNAMED: Final = _LEGAL | _TITLES | _LAST | _SMALL
"""Words of a name that name nobody: titles, legal forms, ranks in a family, small words."""

LONGEST: Final = 200
"""Letters up to which names are compared letter by letter; longer ones are prose, and match only when a form is equal."""

_NICKNAMES: Final = 4
_ENDS: Final = 5  # words up to which the first and the last stand for a name
_UPPER: Final = 0.05  # share of names with a capital below which a namespace is written in small letters


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Forms of n names. All code arrays are (n,) unless noted.

    ``plain``: folded, "Last, First" turned round. ``compact``: no spaces, titles or legal forms. ``ordered``: words sorted.
    ``short``: ``compact`` where the name or its first word may be an acronym; ``acronym`` (n, 3): initials of its words, with
    and without small words, and of all but the last, -1 where no name is ``short`` so. ``nickname`` (n, 4): the name with its
    first word in formal form. ``initial``: first letter and last word of two-part names, ``abbreviated`` whether the first word
    is that letter alone. ``family``: first letter of the first and whole last word of any name of several words ("Smith J" read
    as "J Smith"), ``lettered`` whether a given name is but a letter; ``ends``: whole first and last word of names of up to five.
    ``length`` counts the letters of ``compact``. ``folded`` and ``squeezed`` are the texts of ``plain`` and ``compact``.
    """

    folded: NDArray[np.object_]
    squeezed: NDArray[np.object_]
    plain: Codes
    compact: Codes
    ordered: Codes
    short: Codes
    acronym: Codes
    nickname: Codes
    initial: Codes
    abbreviated: Flags
    family: Codes
    lettered: Flags
    ends: Codes
    length: Codes


def fold(text: str) -> str:
    """Lower case without accents or punctuation, in Latin letters where an alphabet has them, words parted by one space; "+" and
    "#" stay ("C++", "C#"). A text without words stays as it is."""
    return _words(text) or " ".join(text.casefold().split())


def fold_all(texts: pa.Array) -> pa.Array:
    """``fold`` of every text each distinct token folded once."""
    lists = pc.utf8_split_whitespace(texts)
    tokens = pc.list_flatten(lists).dictionary_encode()
    folded = pa.array([_words(t) for t in tokens.dictionary.to_pylist()], pa.string())
    stated = pc.not_equal(folded, "").take(tokens.indices)
    ends = np.concatenate([[0], np.cumsum(stated.to_numpy(zero_copy_only=False))])[lists.offsets.to_numpy()]
    joined = _join(ends, folded.take(tokens.indices.filter(stated)), " ")
    bare = ends[1:] == ends[:-1]
    if not bare.any():
        return joined
    given = pa.array([fold(t) for t in texts.filter(pa.array(bare)).to_pylist()], pa.string())
    return pc.replace_with_mask(joined, pa.array(bare), given)


def prepare(names: Sequence[str]) -> Names:
    """Names → their forms. Arrays throughout, but for distinct words and names with a comma: some 5 µs a distinct name."""
    coded = pa.array(names, pa.string()).dictionary_encode()
    raw, inverse = coded.dictionary, coded.indices.to_numpy()
    plain = fold_all(_turned(raw))
    words = _Words.of(plain)
    core = words.core()
    compact = core.join("")
    numbered = compact.dictionary_encode()
    compacts = _codes(numbered)
    short = np.where(_may_be_short(raw, words, compact), compacts, -1)
    letters = np.unique(short[short >= 0])
    acronyms = [_look_up(a, numbered.dictionary.take(pa.array(letters)), letters) for a in core.acronyms()]
    nicknames = _codes(pa.concat_arrays(core.formal()).dictionary_encode()).reshape(_NICKNAMES, -1).T
    initial, abbreviated = core.initial()
    family, lettered, both = core.family()
    return Names(
        folded=_objects(plain)[inverse],
        squeezed=_objects(compact)[inverse],
        plain=_codes(plain.dictionary_encode())[inverse],
        compact=compacts[inverse],
        ordered=_codes(core.ordered().dictionary_encode())[inverse],
        short=short[inverse],
        acronym=np.column_stack(acronyms)[inverse],
        nickname=nicknames[inverse],
        initial=_codes(initial.dictionary_encode())[inverse],
        abbreviated=abbreviated[inverse],
        family=_codes(family.dictionary_encode())[inverse],
        lettered=lettered[inverse],
        ends=_codes(both.dictionary_encode())[inverse],
        length=pc.utf8_length(compact).to_numpy().astype(np.int64)[inverse],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """The words of n names: ``codes`` into ``distinct``, those of name k from ``ends[k]`` to ``ends[k + 1]``."""

    distinct: pa.Array
    codes: NDArray[np.int32]
    ends: Codes

    @classmethod
    def of(cls, texts: pa.Array) -> _Words:
        lists = pc.split_pattern(texts, " ")
        words = pc.list_flatten(lists).dictionary_encode()
        return cls(words.dictionary, words.indices.to_numpy(), lists.offsets.to_numpy().astype(np.int64))

    @property
    def first(self) -> Codes:
        """Position of the first word of each name."""
        return self.ends[:-1]

    @property
    def count(self) -> Codes:
        """Words of each name, one at least."""
        return np.diff(self.ends)

    @property
    def letters(self) -> Codes:
        """Letters of each distinct word."""
        return pc.utf8_length(self.distinct).to_numpy().astype(np.int64)

    def among(self, some: frozenset[str]) -> Flags:
        """Which distinct words are in a set."""
        return pc.is_in(self.distinct, pa.array(sorted(some), pa.string())).to_numpy(zero_copy_only=False)

    def join(self, by: str, initials: Flags | None = None) -> pa.Array:
        """Names as texts; of words flagged in ``initials`` the first letter only."""
        parts = self.distinct.take(pa.array(self.codes))
        if initials is not None:
            parts = pc.if_else(pa.array(initials), pc.utf8_slice_codeunits(parts, 0, 1), parts)
        return _join(self.ends, parts, by)

    def kept(self, flags: Flags) -> _Words:
        """The names with only the flagged words."""
        return _Words(self.distinct, self.codes[flags], np.concatenate([[0], np.cumsum(flags)])[self.ends])

    def at(self, positions: Codes) -> pa.Array:
        """The words at some positions."""
        return self.distinct.take(pa.array(self.codes[positions]))

    def last_outside(self, some: frozenset[str]) -> Codes:
        """Position of the last word of each name that is not in a set; the first word where all are."""
        places = np.where(self.among(some)[self.codes], -1, np.arange(len(self.codes)))
        return np.maximum(np.maximum.reduceat(places, self.first), self.first)

    def core(self) -> _Words:
        """Without leading titles and trailing legal forms; one word always stays."""
        places = np.arange(len(self.codes))
        last = self.last_outside(_LEGAL)
        named = np.where(self.among(_TITLES)[self.codes], len(places), places)
        start = np.minimum(np.minimum.reduceat(named, self.first), last)
        return self.kept((places >= np.repeat(start, self.count)) & (places <= np.repeat(last, self.count)))

    def ordered(self) -> pa.Array:
        """The words of each name in one order, whatever it was."""
        owner = np.repeat(np.arange(len(self.count)), self.count)
        packed = np.sort((owner << 32) | self.codes)
        return _Words(self.distinct, (packed & 0xFFFFFFFF).astype(np.int32), self.ends).join(" ")

    def acronyms(self) -> tuple[pa.Array, ...]:
        """Initials of all words, of all but small ones, and of all but the last, which is whole ("PTA Meeting")."""
        large = self.kept(~self.among(_SMALL)[self.codes])
        whole = np.zeros(len(self.codes), bool)
        whole[self.ends[1:] - 1] = True
        texts = (
            (self.join("", ~np.zeros(len(self.codes), bool)), self.count >= 2),
            (large.join("", ~np.zeros(len(large.codes), bool)), large.count >= 2),
            (self.join("", ~whole), self.count >= 4),
        )
        return tuple(pc.if_else(pa.array(enough), text, None) for text, enough in texts)

    def formal(self) -> list[pa.Array]:
        """The name with its first word in each formal form it may stand for, null where there is none."""
        shorts = sorted(FORMAL)
        place = pc.index_in(self.distinct, pa.array(shorts, pa.string()))
        rest = self.kept(~np.isin(np.arange(len(self.codes)), self.first)).join(" ")
        several = pa.array(self.count > 1)
        found: list[pa.Array] = []
        for k in range(_NICKNAMES):
            table = pa.array([(*FORMAL[s], None, None, None)[k] for s in shorts], pa.string())
            forms = table.take(place)
            if k == 0:
                forms = pc.coalesce(forms, self.distinct)
            first = forms.take(pa.array(self.codes[self.first]))
            found.append(pc.if_else(several, pc.binary_join_element_wise(first, rest, " "), None))
        return found

    def initial(self) -> tuple[pa.Array, Flags]:
        """First letter and last word of two-part names, and whether the first word is a letter alone."""
        last = self.codes[self.ends[1:] - 1]
        letter = pc.utf8_slice_codeunits(self.at(self.first), 0, 1)
        two = (self.count == 2) & pc.utf8_is_alpha(letter).to_numpy(zero_copy_only=False)
        whole = two & (self.letters[last] > 1)
        text = pc.binary_join_element_wise(letter, self.distinct.take(pa.array(last)), " ")
        return pc.if_else(pa.array(whole), text, None), two & (self.letters[self.codes[self.first]] == 1)

    def family(self) -> tuple[pa.Array, Flags, pa.Array]:
        """First letter of the first and whole last word of names of several words, whether a given name is a letter alone, and
        both words whole. A name that ends in letters is read from its other end: "Smith J R" as "J R Smith"."""
        bare = (self.letters == 1) & pc.utf8_is_alpha(self.distinct).to_numpy(zero_copy_only=False)
        last, first = self.last_outside(_LAST), self.first
        several = last > first
        backward = several & bare[self.codes[last]] & ~bare[self.codes[first]]
        given = self.codes[np.where(backward, np.minimum(first + 1, self.ends[1:] - 1), first)]
        family = self.codes[np.where(backward, first, last)]
        letter = pc.utf8_slice_codeunits(self.distinct, 0, 1)
        usable = several & (self.letters > 1)[family] & pc.utf8_is_alpha(letter).to_numpy(zero_copy_only=False)[given]
        last_words = self.distinct.take(pa.array(family))
        initials = pc.binary_join_element_wise(letter.take(pa.array(given)), last_words, " ")
        whole = pc.binary_join_element_wise(self.distinct.take(pa.array(given)), last_words, " ")
        return (
            pc.if_else(pa.array(usable), initials, None),
            usable & bare[given],
            pc.if_else(pa.array(usable & (self.count <= _ENDS)), whole, None),
        )


def _words(text: str) -> str:
    """The folded words of a text."""
    text = text.casefold() if text.isascii() else latin(text)
    return " ".join(_WORD.findall(text.replace("&", " and "))).replace("'", "")


def _join(ends: Codes, parts: pa.Array, by: str) -> pa.Array:
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(ends, pa.int32()), parts), by)


def _turned(names: pa.Array) -> pa.Array:
    """Turn "Last, First" and "Last, First, Jr." round; not a legal form after the comma, nor a list."""
    listed = pc.match_substring(names, ",")
    if not pc.any(listed).as_py():
        return names
    turned = [_turn(name) for name in names.filter(listed).to_pylist()]
    return pc.replace_with_mask(names, listed, pa.array(turned, pa.string()))


def _turn(name: str) -> str:
    head, tail, *more = name.split(",")
    words = tail.casefold().replace(".", " ").split()
    if not 1 <= len(tail.split()) <= 3 or set(words) <= _LEGAL or set(words) <= _LAST:
        return name
    if not more or (len(more) == 1 and more[0].casefold().strip(" .") in _LAST):
        return " ".join((tail, head, *more))
    return name


def _may_be_short(names: pa.Array, words: _Words, compact: pa.Array) -> Flags:
    """Whether a name may be an acronym ("IBM", "I.B.M.", "Nato"), alone or before one more word ("PTA Meeting")."""
    lower = pc.equal(pc.utf8_lower(names), names).to_numpy(zero_copy_only=False)
    capital = pc.utf8_is_upper(pc.utf8_slice_codeunits(names, 0, 1)).to_numpy(zero_copy_only=False)
    if len(lower) - np.count_nonzero(lower) < _UPPER * len(lower):
        capital |= lower  # a namespace in small letters
    length = pc.utf8_length(compact).to_numpy()
    single = np.minimum.reduceat(words.letters[words.codes] == 1, words.first) | (words.count == 1)
    token = pc.list_element(pc.utf8_split_whitespace(pc.binary_join_element_wise(names, "-", " ")), 0)
    shouted = pc.utf8_is_upper(token).to_numpy(zero_copy_only=False)
    letters = pc.utf8_length(token).to_numpy()
    return np.where(
        single,
        (length >= 2) & (length <= 6) & capital,
        (words.count == 2) & (letters >= 3) & (letters <= 6) & shouted,
    )


def _look_up(texts: pa.Array, known: pa.Array, codes: Codes) -> Codes:
    """The code of each text among known ones, -1 elsewhere."""
    place = pc.fill_null(pc.index_in(texts, known), -1).to_numpy()
    return np.append(codes, -1)[place]


def _codes(coded: pa.DictionaryArray) -> Codes:
    """The numbers of an encoded column; -1 for null and for the empty text."""
    codes = pc.fill_null(coded.indices, -1).to_numpy().astype(np.int64)
    empty = np.append(pc.equal(coded.dictionary, "").to_numpy(zero_copy_only=False), False)
    return np.where(empty[codes], -1, codes)


def _objects(texts: pa.Array) -> NDArray[np.object_]:
    out = np.empty(len(texts), np.object_)
    out[:] = texts.to_pylist()
    return out

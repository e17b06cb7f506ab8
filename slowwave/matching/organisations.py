"""Names of organisations that differ only in abbreviations, legal form and address, and codes of models in names."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.matching.attributes import CODES
from slowwave.matching.names import LONGEST, fold
from slowwave.matching.population import Population
from slowwave.text.lexicon import is_known
from slowwave.text.names import known_names
from slowwave.text.slips import near

# Names of organisations: names that are equal except for abbreviations, legal form and address.
#
# "Univ. of Harrow, Harrow, U.K." and "University of Harrow" name one university. "Department of Physics, University of Harrow" names a part
# of it, which is a different thing. So are "Harrow State University", a firm with another legal form ("Harrow AG", "Harrow GmbH"), a branch
# in another town, an institution whose name contains a place ("Polytechnic of Arden") and one of that name at another place ("Polytechnic
# of Arden-Westbrook", a campus), and any name of a campus or a branch. A name is parsed into its core, its part, its legal forms and its
# places. If commas are missing, words at the end are places if other names of the type have them as such.
#
# The rules apply only to types in which at least a share of ``_SHARE`` of the names are those of organisations. The words are in
# ``organisations.toml``.

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_SHARE: Final = 0.2
_LEAST: Final = 20  # minimum number of names for classifying a type
_SAMPLE: Final = 2_000  # names of a type that are used to classify it
_CORES: Final = 2  # different organisations before an address from which on its words are places
_WORDS: Final = 2  # minimum number of distinctive words of a core
_PLACE: Final = 3  # maximum number of words of a place
_LONG: Final = 4  # words from which on a core of ordinary words names one organisation


class Words(NamedTuple):
    """The lists of ``organisations.toml``, folded."""

    heads: frozenset[str]
    units: frozenset[str]
    branches: frozenset[str]
    small: frozenset[str]
    short: Mapping[str, str]
    legal: Mapping[str, str]
    lands: Mapping[str, str]


class Read(NamedTuple):
    """A parsed name of an organisation.

    ``core`` and ``unit`` are in full words, ``legal`` holds the families of its legal forms, ``places`` its places from near to far, and
    ``seat`` the place that is part of the core itself.
    """

    core: tuple[str, ...]
    unit: tuple[str, ...]
    legal: frozenset[str]
    places: tuple[str, ...]
    seat: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Organisations:
    """The organisations that the names of n rows are parsed as.

    ``number`` (n,) numbers the organisation, or the part of one, of each name, -1 for a name that is not one. ``read`` holds the legal
    forms and places of each folded name. ``branch`` (n,): the name calls itself a campus or a branch.
    """

    number: Ints
    text: Ints
    branch: Flags
    read: Sequence[Read | None]

    @classmethod
    def from_population(cls, population: Population) -> Organisations:
        """Parse the names of all types that hold organisations; about 20 µs per distinct name."""
        n = len(population)
        number, text = np.full(n, -1, np.int64), np.zeros(n, np.int64)
        branch = np.zeros(n, bool)
        found: list[Read | None] = [None]
        numbers: dict[tuple[int, tuple[str, ...], tuple[str, ...]], int] = {}
        for kind in np.unique(population.kind).tolist():
            rows = np.flatnonzero(population.kind == kind)
            if not _holds_organisations([str(t) for t in population.names.folded[rows[:: -(-len(rows) // _SAMPLE)]]]):
                continue
            names: dict[str, list[int]] = {}
            branch[rows] = [not vocabulary().branches.isdisjoint(str(t).split()) for t in population.names.folded[rows]]
            for row in rows.tolist():
                if len(name := population.display_names[row]) <= LONGEST:
                    names.setdefault(name, []).append(row)
            for name, read in zip(names, _read_all(list(names)), strict=True):
                if read is not None:
                    text[names[name]] = len(found)
                    number[names[name]] = numbers.setdefault((kind, read.core, read.unit), len(numbers))
                    found.append(read)
        return cls(number, text, branch, found)

    def same(self, i: Ints, j: Ints) -> Flags:
        """Return whether the names of pairs (p,) are of one organisation.

        Neither their legal forms nor their places may differ.
        """
        found = (self.number[i] == self.number[j]) & (self.number[i] >= 0) & (self.branch[i] == self.branch[j])
        at = np.flatnonzero(found & (self.text[i] != self.text[j]))
        texts = np.sort(np.stack([self.text[i[at]], self.text[j[at]]]), axis=0)
        pairs, inverse = np.unique(texts, axis=1, return_inverse=True)
        good = np.array([_agree(self.read[a], self.read[b]) for a, b in pairs.T.tolist()], bool)
        found[at] = good[inverse.ravel()]
        return found

    def parted(self, i: Ints, j: Ints) -> Flags:
        """Flag pairs (p,) that are an institution and its campus or branch, according to their names."""
        found = self.branch[i] != self.branch[j]
        at = np.flatnonzero((self.number[i] == self.number[j]) & (self.number[i] >= 0) & (self.text[i] != self.text[j]))
        for k, a, b in zip(at.tolist(), self.text[i[at]].tolist(), self.text[j[at]].tolist(), strict=True):
            found[k] |= _is_elsewhere(self.read[a], self.read[b])
        return found


def _holds_organisations(names: Sequence[str]) -> bool:
    """Return whether a type is one of organisations, from a sample of its folded names."""
    if len(names) < _LEAST:
        return False
    words = vocabulary()
    known = words.heads | words.legal.keys() | {short for short, full in words.short.items() if full in words.heads}
    return sum(not known.isdisjoint(name.split()) for name in names) >= _SHARE * len(names)


def _read_all(names: Sequence[str]) -> list[Read | None]:
    """Parse each name, with places and cores of organisations learnt from the other names.

    The result is None for a name that is not of an identifiable organisation.
    """
    parted = [[_full(part) for part in _parts(name)] for name in names]
    behind: dict[str, set[tuple[str, ...]]] = {}
    for parts in parted:
        heads = [part for part in parts if _head(part)]
        for part in parts[1:]:
            if part and not _head(part) and not _unit(part) and not _legal_only(part):
                behind.setdefault(" ".join(part), set()).add(heads[0] if heads else parts[0])
    places = (
        {text for text, cores in behind.items() if len(cores) >= _CORES}
        | known_names().lands
        | vocabulary().lands.keys()
    )
    found = [_read(parts, places) for parts in parted]
    named = Counter(
        read.core for read, parts in zip(found, parted, strict=True) if read and (read.legal or any(map(_head, parts)))
    )
    return [read if read and read.core in named and _identifies(read.core) else None for read in found]


def _read(parts: Sequence[tuple[str, ...]], places: Set[str]) -> Read | None:
    words = vocabulary()
    legal = frozenset(words.legal[w] for part in parts for w in part if w in words.legal)
    cores = [part for part in parts if _head(part) and not _unit(part)]
    if not cores:
        cores = [part for part in parts[:1] if not _unit(part)] or [part for part in parts if _head(part)]
    if len(cores) != 1:
        return None
    core, unit = list(cores[0]), [part for part in parts if part != cores[0] and _unit(part)]
    where = [" ".join(part) for part in parts if part != cores[0] and not _unit(part) and not _legal_only(part)]
    if len(unit) > 1 or any(place not in places and place.split()[0] in words.heads for place in where):
        return None
    core = [w for w in core if w not in words.legal] or core
    at_end: list[str] = []
    while cut := _place_at_end(core, places, bool(at_end)):
        at_end.insert(0, " ".join(core[-cut:]))
        del core[-cut:]
    where = at_end + where
    name_words = tuple(w for w in core if w not in words.small)
    seat = next((" ".join(core[k + 1 :]) for k in range(len(core) - 1, 0, -1) if core[k] in words.small), "")
    part = tuple(w for w in (unit[0] if unit else ()) if w not in words.small)
    return (
        Read(name_words, part, legal, tuple(words.lands.get(place, place) for place in where), seat)
        if name_words
        else None
    )


def _place_at_end(core: Sequence[str], places: Set[str], cut: bool) -> int:
    """Return the number of words at the end of a core that are a place, or 0.

    They are a place if the core has just named it ("University of Harrow Harrow"), or if they follow another place or precede one that
    was ``cut`` off. A single place is part of the name ("Bank of India").
    """
    small = vocabulary().small
    for words in range(min(_PLACE, len(core) - 1), 0, -1):
        rest, end = core[:-words], core[-words:]
        if rest[-1] in small or sum(w not in small for w in rest) < _WORDS:
            continue
        if rest[-words:] == end or (" ".join(end) in places and (cut or _ends_in_place(rest, places))):
            return words
    return 0


def _ends_in_place(core: Sequence[str], places: Set[str]) -> bool:
    return any(" ".join(core[-words:]) in places for words in range(1, min(_PLACE, len(core) - 1) + 1))


def _identifies(core: tuple[str, ...]) -> bool:
    """Return whether a core identifies an organisation: by a word that is not a common one, or by many words.

    There are many organisations named "Central High School".
    """
    return len(core) >= _LONG or any(len(w) > 1 and (w in known_names().places or not is_known(w)) for w in core)


def _agree(a: Read | None, b: Read | None) -> bool:
    if a is None or b is None or (a.legal and b.legal and a.legal.isdisjoint(b.legal)):
        return False
    if _is_elsewhere(a, b):
        return False
    lands = {*vocabulary().lands.values(), *known_names().lands}
    for far in (True, False):
        here, there = ({place for place in read.places if (place in lands) == far} for read in (a, b))
        if here and there and here.isdisjoint(there) and not any(near(x, y) for x in here for y in there):
            return False
    return True


def _is_elsewhere(a: Read | None, b: Read | None) -> bool:
    """Return whether one of two names of a core states a place other than the one in the core, and the other states none.

    The places are near ones, not countries. An example of a place in the core is "of Arden".
    """
    if a is None or b is None or not a.seat or is_known(a.seat):
        return False
    lands = {*vocabulary().lands.values(), *known_names().lands}
    here, there = ({p for p in read.places if p not in lands} for read in (a, b))
    stated = here or there
    return bool(stated) and not (here and there) and not any(p == a.seat or near(p, a.seat) for p in stated)


def _parts(name: str) -> list[str]:
    return [
        folded
        for part in name.replace("(", ",").replace(")", ",").split(",")
        if (folded := fold(part.replace("'", "")))
    ]


def _full(part: str) -> tuple[str, ...]:
    """Return the words of a part with abbreviations in full; consecutive single letters become one word ("u k")."""
    words = vocabulary()
    if (land := words.lands.get(part)) is not None:
        return tuple(land.split())
    joined = part.split()
    if len(joined) > 1 and all(len(w) == 1 for w in joined):
        joined = ["".join(joined)]
    return tuple(words.short.get(w, w) for w in joined)


def _head(part: tuple[str, ...]) -> bool:
    return not vocabulary().heads.isdisjoint(part)


def _unit(part: tuple[str, ...]) -> bool:
    """Return whether ``part`` names a unit of an organisation: "Department of Physics", not "Harrow School"."""
    return bool(part) and part[0] in vocabulary().units and len(part) > 1


def _legal_only(part: tuple[str, ...]) -> bool:
    return all(w in vocabulary().legal for w in part)


@cache
def vocabulary() -> Words:
    """Return the word lists of ``organisations.toml``; the file is read once."""
    read = tomllib.loads(files("slowwave.matching").joinpath("organisations.toml").read_text("utf-8"))
    legal = {word: family for family, words in read["legal"].items() for word in words}
    lands = {form: land for land, forms in read["lands"].items() for form in (land, *forms)}
    return Words(
        frozenset(read["heads"]),
        frozenset(read["units"]),
        frozenset(read["branches"]),
        frozenset(read["small"]),
        read["short"],
        legal,
        lands,
    )


# Model codes in names: "WH-1000XM4", "WH1000 XM4". Two names with the same codes usually name one model.
#
# The exception is the name of a part or of another offer of the model: "battery for WH-1000XM4", "WH-1000XM4, refurbished". Such words are
# in ``accessories.toml``. ``slowwave.matching.attributes`` extracts the codes from names.

Marks = NDArray[np.uint64]

_SETS: Final = (
    3  # maximum number of different sets of codes with a code; a code in more sets is a size, or fits many things
)


@dataclass(frozen=True, slots=True, eq=False)
class ModelCodes:
    """Model codes in names.

    ``codes`` (n,) number the set of codes of each name, ``offer`` (n,) its words of accessories; 0 for a name without any.
    """

    codes: Marks
    offer: Marks

    @classmethod
    def from_population(cls, population: Population) -> ModelCodes:
        """Collect the codes from the columns of codes and the names.

        Time is linear in the words of the names that have a code.
        """
        n = len(population)
        codes, offer = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
        for column in population.attributes.columns:
            if column.key == CODES:
                marks = _marks(len(column.texts))
                whole = np.zeros(n, np.uint64)
                np.add.at(whole, column.rows, marks[column.codes])
                sets = np.unique(np.stack([column.codes.astype(np.uint64), whole[column.rows]]), axis=1)
                own = np.bincount(sets[0].astype(np.int64), minlength=len(column.texts)) <= _SETS
                np.add.at(codes, column.rows, np.where(own, marks, np.uint64(0))[column.codes])
        lists = pc.utf8_split_whitespace(pa.array(population.names.folded, pa.string()))
        words, owner = pc.list_flatten(lists), pc.list_parent_indices(lists).to_numpy().astype(np.int64)
        telling = _listed_words()
        place = pc.fill_null(pc.index_in(words, telling), -1).to_numpy().astype(np.int64)
        pairs = np.unique(np.stack([owner, place])[:, place >= 0], axis=1)
        np.add.at(offer, pairs[0], _marks(len(telling))[pairs[1]])
        return cls(codes, offer)

    def same_offer(self, i: Ints, j: Ints) -> Flags:
        """Return whether the names of pairs (p,) have the same words of accessories, or none in both."""
        return self.offer[i] == self.offer[j]

    def same(self, i: Ints, j: Ints) -> Flags:
        """Return whether the names of pairs (p,) have the same codes, at least one, and the same words of accessories."""
        return (self.codes[i] == self.codes[j]) & (self.codes[i] > 0) & self.same_offer(i, j)


def _marks(n: int) -> Marks:
    """Return a random number for each of n items, so that sets of items differ in their sums."""
    return np.random.default_rng(0).integers(1, 1 << 62, n, dtype=np.uint64)


@cache
def _listed_words() -> pa.Array:
    """Return the words of all lists in ``accessories.toml``, sorted."""
    lists = tomllib.loads(files("slowwave.matching").joinpath("accessories.toml").read_text("utf-8"))
    return pa.array(sorted({word for words in lists.values() for word in words}), pa.string())

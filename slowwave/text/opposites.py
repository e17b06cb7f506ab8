"""Words that exclude each other (opposites by prefix, antonyms, kinds), and misspellings and other spellings of one word."""

from __future__ import annotations

import gzip
import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA

from slowwave.text.words import is_known, words_of

# Opposites by prefix: words with one stem that exclude each other ("hyperkalemia", "hypokalemia"; "ascending", "descending").
#
# The prefixes decide, for any stem. Words that exclude each other for other reasons are listed in ``slowwave.text.words``.

_STEM: Final = 3  # minimum length in letters of a stem
_WHOLE: Final = 4  # letters of a prefix; a longer one contains much of its stem, so it needs no stem after it
_BARE: Final = 4  # minimum length in letters of a stem without a prefix


@lru_cache(maxsize=65_536)
def opposed(a: str, b: str) -> bool:
    """Return whether two folded words may be opposites.

    They may be if one stem follows opposing prefixes, or if only one word has a prefix that reverses its meaning. This is enough to keep
    such words apart, but not to conclude that they contradict each other: "cover" and "discover", "infer" and "defer" match as well.
    """
    return a != b and (_rivals(a, b, _OPPOSING) or _turned(a, b, _TURNING) or _turned(b, a, _TURNING))


@lru_cache(maxsize=65_536)
def opposites(a: str, b: str) -> bool:
    """Return whether two folded words exclude each other by prefixes that hardly ever mean anything else."""
    return a != b and (_rivals(a, b, _CLEAR) or _turned(a, b, _DENYING) or _turned(b, a, _DENYING))


def _rivals(a: str, b: str, rivals: Mapping[str, frozenset[str]]) -> bool:
    """Return whether two words begin with opposing prefixes, in either order, and share the rest."""
    end = 0
    while end < min(len(a), len(b)) and a[-1 - end] == b[-1 - end]:
        end += 1
    # The stem may begin anywhere in the shared part, because rival prefixes may end alike ("impor", "expor").
    for stem in range(end + 1):
        prefix = a[: len(a) - stem]
        if b[: len(b) - stem] in rivals.get(prefix, ()) and (stem >= _STEM or len(prefix) > _WHOLE):
            return True
    return False


def _turned(a: str, b: str, by: frozenset[str]) -> bool:
    """Return whether ``a`` is ``b`` with a prefix that reverses its meaning."""
    cut = len(a) - len(b)
    if len(b) < _BARE or cut < 1 or a[:cut] not in by or not a.endswith(b):
        return False
    return cut > 1 or b[0] not in _VOWELS  # "aagain" is a typing mistake


def _table(lines: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for prefix, others in (line.split() for line in lines.strip().splitlines()):
        for other in others.split("|"):
            found.setdefault(prefix, set()).add(other)
            found.setdefault(other, set()).add(prefix)
    return {prefix: frozenset(others) for prefix, others in found.items()}


_SURE: Final = """
hyper hypo|normo
hypo normo
inter intra
intro extro
endo exo
pre post
over under
micro macro
maxi mini
mono poly|multi
homo hetero
super sub
supra infra
tachy brady
inclu exclu
inclus exclus
interior exterior
internal external
intrins extrins
inhal exhal
implic explic
impor expor
immigr emigr
increas decreas
incre decre
inflat deflat
induc deduc
ascen descen
accel decel
attach detach
assembl disassembl
encod decod
encrypt decrypt
enabl disabl
engag disengag
qualif disqualif
abduc adduc
afferen efferen
euphor dysphor
upstr downstr
upgr downgr
uplo downlo
upvot downvot
upsid downsid
"""
_DOUBTFUL: Final = """
in ex|de|out
im ex|em
intra extra
ante post
up down
anti pro
con pro
min max
mono bi|di
uni multi|bi
bi tri
ultra infra
iso aniso
ecto endo
a de
ac de
at de
en de|dis|un
con dis
ab ad
af ef
cis trans
eu dys
syn anti|a
oligo poly
normo macro|micro
fore back
front back
left right
black white
north south
east west
"""
_CLEAR: Final = _table(_SURE)
_OPPOSING: Final = _table(_SURE + _DOUBTFUL.lstrip())
_DENYING: Final = words_of("non un non- un-")
_TURNING: Final = _DENYING | words_of("a ab an anti counter de dis il im in ir mal mis anti- counter- de- dis-")
_VOWELS: Final = "aeiouh"


# Slips: whether two words are the same word, mistyped or in another country's spelling.
#
# A typing mistake rarely makes another word. So if both words are in the lexicon, neither is a slip of the other ("including",
# "excluding"). If neither is in it, a program cannot tell ("amlodipine", "amrodipine"), and a person has to.

ONE: Final = 5
"""Minimum length in letters of a word that may have one wrong letter."""

TWO: Final = 9
"""Minimum length in letters of a word that may have two wrong letters."""


def slip(a: str, b: str, used: Container[str] = ()) -> bool:
    """Return whether one of two different folded words is a misspelling of the other, with one or two slips.

    A slip is a letter inserted, lost, changed or swapped. ``used`` are words that other texts use as well: they count as known,
    regardless of the lexicon. Codes and words shorter than ``ONE`` are never misspellings. Time: 1 µs for words that are far apart,
    otherwise up to 100 µs once per word.
    """
    if not near(a, b) or not _mistyped(a, b, OSA.distance(a, b)):
        return False
    return (a in used or is_known(a)) != (b in used or is_known(b)) and not opposed(a, b) and not _other_ending(a, b)


def near(a: str, b: str) -> bool:
    """Return whether two different words differ by so few letters that one may be a misspelling of the other."""
    shorter = min(len(a), len(b))
    if a == b or shorter < ONE or not (a.isalpha() and b.isalpha()):
        return False
    return OSA.distance(a, b, score_cutoff=2) <= (2 if shorter >= TWO else 1)


@lru_cache(maxsize=65_536)
def respelt(a: str, b: str) -> bool:
    """Return whether two folded words are the same word in British and American spelling ("colour", "color").

    Another example is "analyse" and "analyze".
    """
    return min(len(a), len(b)) >= ONE and a != b and _american(a) == _american(b)


def _mistyped(a: str, b: str, edits: int) -> bool:
    """Return whether words differ as typing and hearing errors do.

    Such errors are:
    - letters swapped or doubled anywhere
    - within the word, one letter lost, added, replaced by a neighbouring key, or a vowel replaced by a vowel
    - two such slips, one of which changes the length

    The ends of words hold prefixes and inflections ("spermatid", "spermatin"). Of 57,000 misspellings that codespell lists, seven in ten
    have this form; of pairs of medical terms at the same distance, one in fifteen.
    """
    if len(a) > len(b):
        a, b = b, a
    start, end = _shared(a, b), 0
    while end < len(a) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    mine, theirs = a[start : len(a) - end], b[start : len(b) - end]
    if edits == 1 and (
        mine == theirs[::-1] or (not mine and theirs in (b[start - 1 : start], b[start + 1 : start + 2]))
    ):
        return True
    if not start or not end:
        return False
    if edits == 2:
        return len(mine) < len(theirs) and bool(mine)
    return not mine or mine + theirs in _BESIDE or (mine in _VOWELS_SLIPS and theirs in _VOWELS_SLIPS)


def _shared(a: str, b: str) -> int:
    """Return the number of letters that two words share at the beginning."""
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _other_ending(a: str, b: str) -> bool:
    """Return whether two words differ only in endings that name another substance of one stem ("chlorite", "chlorate")."""
    one, two = _SUBSTANCE.search(a), _SUBSTANCE.search(b)
    if not one or not two or one[0] == two[0]:
        return False
    stems = a[: one.start()], b[: two.start()]
    return stems[0].startswith(stems[1]) or stems[1].startswith(stems[0])


def _american(word: str) -> str:
    for pattern, there in _SPELLINGS:
        word = pattern.sub(there, word)
    return word


_VOWELS_SLIPS: Final = "aeiouy"
_KEYS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_BESIDE: Final = frozenset(
    pair
    for row, keys in enumerate(_KEYS)
    for place, key in enumerate(keys)
    for other in (
        keys[place + 1 : place + 2],
        *(
            k
            for below in _KEYS[row + 1 : row + 2]
            for k in (below[place : place + 1], below[max(0, place - 1) : place])
        ),
    )
    if other
    for pair in (key + other, other + key)
)
"""Pairs of adjacent letters on a keyboard, in both orders."""

_SUBSTANCE: Final = re.compile(
    r"(?:ane|ene|yne|ine|one|idine|olone|ol|al|ide|ite|ate|ic|ous|ium|yl|oyl|in|ose|ase|ile|ille|inib|imab|umab|ximab|tinib"
    r"|pril|sartan|statin|azole|oxacin|mycin|micin|cillin|vir)s?$"
)
_SPELLINGS: Final = tuple(
    (re.compile(pattern), there)
    for pattern, there in (
        (r"(?<=[a-z]{3})our(?=$|s$|y$|ed$|ing$|al|at|ite|iti|able|ful|less|ist|er|ly)", "or"),
        (r"(?<=[a-z]{3})is(?=e$|es$|ed$|er$|ers$|ing$|ation|able)", "iz"),
        (r"(?<=l)ys(?=e$|es$|ed$|er$|ers$|ing$)", "yz"),
        (r"(?<=[a-z]{2})(?:ae|oe)(?=[a-z])|^(?:ae|oe)(?=[a-z])|(?<=[^aeiou])(?:ae|oe)(?=[a-z]{3})", "e"),
        (r"(?<=[a-z]{2}[aeiou]l)l(?=ed$|ing$|er$|ers$|ings$|or$|ors$)", ""),
        (r"(?<=[a-z]{2})tre(?=$|s$|d$)", "ter"),
        (r"(?<=focu)ss", "s"),
        (r"(?<=^m)ould", "old"),
        (r"ogue(?=$|s$)", "og"),
        (r"(?<=[a-z]{2})ence(?=$|s$|less)", "ense"),
        (r"sulph", "sulf"),
        (r"gement", "gment"),
        (r"gramme(?=$|s$)", "gram"),
        (r"(?<=[a-z]{2})fil(?=$|s$|ment)", "fill"),
        (r"(?<=nro)l(?=$|s$|ment)", "ll"),
    )
)


# Exclusions: whether two English words exclude each other at one place of a statement: antonyms, and nouns or verbs of one kind.
#
# ``scripts.word_relations`` generates the table from WordNet 3.1; ``word_relations.LICENSE`` contains its notice. A line has a word and
# then, each after a bar: the word's paths in kinds (a letter for the kind, lower case for verbs, and one for every step down its
# hypernyms); its sides of antonym pairs ("4f+" against "4f-"; "4f>" and "4f<" if it is only near one of them); words that it does not
# exclude, whatever the rest states; and the base of an irregular form. Empty cells at the end are omitted. Words of one kind exclude each
# other, except a hypernym, whose path is a prefix of the other's, and except parts and wholes: the first line lists pairs of their paths.
# The context of the words is not considered here.

Exclusion = Literal["antonyms", "kind", "deed"]
"""The reason for an exclusion: antonyms, nouns of one kind, or verbs of one kind."""

_ASKED: Final = 32_768  # cached words and pairs


class Relations(NamedTuple):
    """Entries of the table for a word in any of its base forms ``bases``; empty if no line has them."""

    bases: frozenset[str]
    paths: frozenset[str]
    sides: frozenset[str]
    spared: frozenset[str]


@lru_cache(maxsize=_ASKED)
def exclusion(a: str, b: str) -> Exclusion | None:
    """Return how two words, or compounds joined by "_", exclude each other in any inflection; None if they may agree.

    Words are folded, except names. The first call loads the table: see ``relations``. The order of the words does not matter. Time: 20 µs
    for a new pair of words.
    """
    one, two = relations(a), relations(b)
    if not one.bases.isdisjoint(two.bases):
        return None
    if not one.spared.isdisjoint(two.bases) or not two.spared.isdisjoint(one.bases) or respelt(a, b):
        return None
    if not one.sides.isdisjoint(side.translate(_TURN) for side in two.sides if side[-1] in "+-"):
        return "antonyms"
    mine, theirs = ({side.translate(_PLAIN) for side in word.sides} for word in (one, two))
    if not mine.isdisjoint(side.translate(_TURN) for side in theirs):
        return "antonyms" if mine.isdisjoint(theirs) else None
    alike = {x[0] for x in one.paths} & {y[0] for y in two.paths}
    if not alike or any(x.startswith(y) or y.startswith(x) for x in one.paths for y in two.paths):
        return None
    if _is_part(one.paths, two.paths) or _is_part(two.paths, one.paths):
        return None
    return "kind" if any(not letter.islower() for letter in alike) else "deed"


@lru_cache(maxsize=_ASKED)
def relations(word: str) -> Relations:
    """Return the table's entries for a word and its base forms.

    The first call loads the table, about 25 ms and 4 MB; a new word takes 10 to 60 µs.
    """
    found = _lines(word) or (_lines(word.capitalize()) if word[:1].islower() else {})
    return Relations(
        frozenset(base for base, _, _ in found),
        frozenset(
            path
            for _, cells, parts in found
            for path in _cell(cells, _PATHS)
            if parts is None or path[0].islower() in parts
        ),
        frozenset(side for _, cells, _ in found for side in _cell(cells, _SIDES)),
        frozenset(other for _, cells, _ in found for other in _cell(cells, _SPARED)),
    )


def _lines(word: str) -> list[_Found]:
    """Return the lines of a word's base forms; for an irregular form also the line of its base."""
    found = [(base, cells, parts) for base, parts in _bases(word) if (cells := _line(base)) is not None]
    more = [(cells[_FORM], None) for _, cells, _ in found if len(cells) > _FORM]
    return found + [(base, cells, parts) for base, parts in more if (cells := _line(base)) is not None]


@lru_cache(maxsize=_ASKED)
def is_a(word: str, other: str) -> bool:
    """Return whether a word is a kind or a synonym of another ("leather_jacket" of "jacket"); False for unknown words."""
    above = relations(other).paths
    return any(path.startswith(y) for path in relations(word).paths for y in above)


def _is_part(a: Iterable[str], b: Iterable[str]) -> bool:
    """Return whether a path or one above it is a part, and one of the other paths is its whole or a direct kind of it."""
    parts = _table_exclusions().parts
    wholes = {w for path in a for end in range(len(path), 2, -1) for w in parts.get(path[:end], ())}
    return bool(wholes) and any(path in wholes or path[:-1] in wholes for path in b)


def _cell(cells: list[str], number: int) -> list[str]:
    return cells[number].split() if len(cells) > number else []


def bases(word: str) -> list[str]:
    """Return a folded word and the words that it may be a regular form of; some of these are not words."""
    return [base for base, _ in _bases(word)]


def _bases(word: str) -> Iterator[tuple[str, frozenset[bool] | None]]:
    """Yield the bases of a word, each with the parts of speech that its ending inflects.

    The set holds True for verbs and False for nouns, and is empty for neither. It is None for the word itself.
    """
    yield word, None
    for ending, instead, parts in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= _LEAST:
            base = word[: len(word) - len(ending)] + instead
            yield base, parts
            if ending in _DOUBLING and len(base) > _LEAST and base[-1] == base[-2]:
                yield base[:-1], parts


_Found = tuple[str, list[str], frozenset[bool] | None]
_TURN: Final = str.maketrans("+-", "-+")
_PLAIN: Final = str.maketrans("><", "+-")
_PATHS, _SIDES, _SPARED, _FORM = range(4)
"""Indexes of the cells after a word."""

_LEAST: Final = 3
_NOUN, _VERB, _BOTH, _NEITHER = frozenset((False,)), frozenset((True,)), frozenset((False, True)), frozenset[bool]()
_ENDINGS: Final = (
    *(
        ("s", "", _BOTH),
        ("es", "", _BOTH),
        ("ies", "y", _BOTH),
        ("ves", "f", _NOUN),
        ("ves", "fe", _NOUN),
        ("men", "man", _NOUN),
    ),
    *(
        (ending, instead, _VERB)
        for ending, instead in (("ed", ""), ("ed", "e"), ("ied", "y"), ("ing", ""), ("ing", "e"))
    ),
    *(
        (ending, instead, _NEITHER)
        for ending, instead in (("er", ""), ("er", "e"), ("ier", "y"), ("est", ""), ("est", "e"), ("iest", "y"))
    ),
)
_DOUBLING: Final = frozenset(("ed", "ing", "er", "est"))


class _Table(NamedTuple):
    """Lines in the order of their words' bytes, and where each begins; the path of a part → those of its wholes."""

    text: bytes
    starts: NDArray[np.int32]
    parts: dict[str, tuple[str, ...]]

    def word(self, start: int) -> bytes:
        """Return the word of the line that begins at ``start``."""
        end = self.text.index(b"\n", start)
        bar = self.text.find(b"|", start, end)
        return self.text[start : bar if bar >= 0 else end]


def _line(word: str) -> list[str] | None:
    """Return the cells of a word's line; None if there is no such line."""
    table, wanted = _table_exclusions(), word.encode()
    at = bisect_left(table.starts, wanted, key=table.word)
    if at == len(table.starts) or table.word(table.starts[at]) != wanted:
        return None
    start = int(table.starts[at])
    return table.text[start : table.text.index(b"\n", start)].decode().split("|")[1:]


@lru_cache(maxsize=1)
def _table_exclusions() -> _Table:
    text = gzip.decompress(files("slowwave.text").joinpath("word_relations.txt.gz").read_bytes())
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    cells = text[1 : ends[0]].decode().split(" ")
    parts: dict[str, tuple[str, ...]] = {}
    for part, whole in zip(cells[::2], cells[1::2], strict=True):
        parts[part] = (*parts.get(part, ()), whole)
    return _Table(text, (ends[:-1] + 1).astype(np.int32), parts)

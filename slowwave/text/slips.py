"""Slips: two spellings of one word, by a typing error or by the usage of another country."""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache
from typing import Final

from rapidfuzz.distance import OSA

from slowwave.text.lexicon import is_known
from slowwave.text.opposites import opposed

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
    return not mine or mine + theirs in _BESIDE or (mine in _VOWELS and theirs in _VOWELS)


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


_VOWELS: Final = "aeiouy"
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

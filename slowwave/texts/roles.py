"""Roles: whether two names have the same words in exchanged places of one relation ("Paris to Rome", "Rome to Paris").

Words of a name come in any order ("Reyes Mara"), and what "and" or "vs" joins may change sides. Around a preposition, or a verb among
names, the order says who does what to whom.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from slowwave.texts.tokens import fold
from slowwave.texts.vocabulary import words_of


def exchanged(a: str, b: str) -> str:
    """The word around which two names exchange places: something before it in one stands behind it in the other, and the other way
    round. Empty where there is none. The answer does not depend on the order. Time: linear in the words for each role word."""
    one, two = _WORD.findall(a), _WORD.findall(b)
    low, other = [fold(w) for w in one], [fold(w) for w in two]
    if low == other or sorted(low) != sorted(other):
        return ""
    for word in sorted((_roles(one) | _roles(two)) & _once(low)):
        here, there = low.index(word), other.index(word)
        before = set(low[:here]) & set(other[there + 1 :])
        behind = set(low[here + 1 :]) & set(other[:there])
        if before - _SMALL and behind - _SMALL:
            return word
    return ""


def _once(words: Sequence[str]) -> set[str]:
    return {w for w in words if words.count(w) == 1}


def _roles(words: Sequence[str]) -> set[str]:
    """The words of a name that set what stands around them in relation: prepositions, and small words between capitalised ones."""
    found = {fold(w) for w in words} & _RELATIONS
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        if word.islower() and len(word) > 2 and before[0].isupper() and after[0].isupper() and word not in _NO_ROLE:
            found.add(fold(word))
    return found


_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")
_RELATIONS: Final = words_of("""
to from of for by over under above below like unlike than into onto in on at as per via through before after behind since without against
toward towards instead until beats loves likes hates owns leads manages follows replaces blocks calls pays teaches reports causes precedes
""")
_NO_ROLE: Final = words_of("""
and or und oder et ou con och og en vs versus with mit avec plus nor the der die das den des dem los las les del della dello delle dos das
van von zur zum aan het bin ibn ben bint abu dit sur aka alias née nee
""")
"""Small words that stand between names and set nothing in relation: they join equals, or belong to a name."""

_SMALL: Final = words_of("the a an and or of")

"""Sameness: whether two short texts have the same meaning in other words, judged only by their words.

Two texts are the same if nothing contradicts, both have the same specifics, and the remaining words are the same, in the same order or
with one phrase moved. Misspellings and words that the caller knows as synonyms count as the same. Two words of a lexicon are never
misspellings of each other, nor are two words outside it. All other pairs are doubtful at best: one more word can mean another thing ("the
backup server"). The caller has to compare vectors.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from slowwave.text.contradictions import difference, find
from slowwave.text.exclusions import exclusion
from slowwave.text.forms import other_code, other_signs, standard_form
from slowwave.text.lexicon import is_known
from slowwave.text.opposites import opposed
from slowwave.text.sameness_words import (
    AMOUNTS,
    CLAUSES,
    DIRECTED,
    EMPTY,
    FILLERS,
    LEADS,
    PERSONS,
    TENSES,
    TIMES,
    TURNS,
)
from slowwave.text.slips import respelt, slip
from slowwave.text.specifics import Specifics, specifics
from slowwave.text.statements import stem
from slowwave.text.tokens import fold, tokenise
from slowwave.text.words import EXCLUSIVE, NEGATIONS

Synonyms = Callable[[str, str], bool]
"""Whether two words, folded, mean the same."""

LONGEST: Final = 4_000
"""Maximum length in characters of texts that are compared word by word. Longer ones are the same only if they are equal."""

_READ: Final = 4_096
_COMMON: Final = 3  # number of texts with a word from which on it is not a slip of another
_SHARED: Final = 0.5  # share of the words of the shorter text that the longer has, from which on a pair is doubtful and not different
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ASKS: Final = re.compile(
    r"\W*(?:so |and |please )?(?:what|who|whom|whose|why|which|how|do|does|did|can|could|will|would|should|is|are|am|was|were|have|has)\b"
    r"|\W*(?:when|where)(?:'s| (?:do|does|did|can|could|will|would|should|is|are|am|was|were|have|has))\b",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"[.!?:;\n]\s*$")


class Sameness(NamedTuple):
    """Relation between two texts, and a sentence with the reason.

    ``exact`` means that they have the same words in the same order. ``more`` means that the pair is doubtful only because one text
    contains information that the other lacks.
    """

    decision: Literal["same", "doubtful", "contradiction", "different"]
    reason: str
    exact: bool = False
    more: bool = False


def sameness(a: str, b: str, synonyms: Synonyms | None = None, known: Container[str] = ()) -> Sameness:
    """Compare two texts; the result does not depend on their order.

    ``known`` are folded words that count as known in addition to those of the lexicon: names and terms that other texts use as well
    (``WordsInUse``). Time: 100 to 300 µs per text, which is parsed once while it is among the last 16,384, and 30 to 100 µs per pair.
    """
    if a > b:
        a, b = b, a
    if (code := other_code(a, b)) is not None:
        return Sameness("doubtful", f"Their code differs: {' and '.join(c or 'nothing' for c in sorted(code))}.")
    if fold(a).split() == fold(b).split():
        return Sameness("same", "The texts are equal.", exact=True)
    a, b = sorted((standard_form(a), standard_form(b)))
    if fold(a).split() == fold(b).split():
        return Sameness("same", "The texts are equal but for the form of contractions and figures.", exact=True)
    if kind := find([(a, b)])[0]:
        return Sameness("contradiction", f"The texts contradict each other: {kind}.")
    if max(len(a), len(b)) > LONGEST:
        return Sameness("doubtful", "The texts are too long to be compared word by word.")
    one, two = read(a), read(b)
    found = difference(one.specifics, two.specifics)
    if found is not None and found.degree == "conflict":
        return Sameness("different", found.sentence)
    if (sign := other_signs(a, b)) is not None:
        stated = " and ".join(s or "nothing" for s in sorted(sign[:2]))
        return Sameness("different" if sign.degree == "conflict" else "doubtful", f"Their signs differ: {stated}.")
    mine, theirs = _unmatched(one, two, synonyms, known)
    shared = min(len(one.words) - len(mine), len(two.words) - len(theirs))
    if shared < _SHARED * max(1, min(len(one.words), len(two.words))):
        return Sameness("different", "They share few words.")
    if one.denials != two.denials or bool(one.specifics.negations) != bool(two.specifics.negations):
        return Sameness("doubtful", "One of them denies more.")
    if one.question != two.question:
        return Sameness("different", "Only one of them asks.")
    loose = AMOUNTS if found is not None else frozenset[str]()  # one text may have "many" and the other a number
    persons = _same_persons(one.persons, two.persons)
    if not persons and not _fewer_persons(one.persons, two.persons):
        return Sameness("doubtful", "They speak of other persons.")
    if turned := (one.turns ^ two.turns) - loose:
        return Sameness("doubtful", f"They hedge otherwise: {_show(turned)}.")
    if (past_words := _pasts(one) ^ _pasts(two)) and past_words & set(one.words) & set(two.words):
        return Sameness("doubtful", f"They tell of other times: {_show(past_words)}.")
    if found is not None:
        return Sameness("doubtful", found.sentence, more=True)
    if mine or theirs:
        unmatched_words = " or ".join(_show(words) for words in (mine, theirs) if words)
        return Sameness("doubtful", f"Only one of them says {unmatched_words}.", more=not (mine and theirs))
    if not persons:
        return Sameness("doubtful", "Only one of them says whose or by whom it is.", more=True)
    swapped = one.figures != two.figures and sorted(one.figures) == sorted(two.figures)
    if swapped or one.roles != two.roles or not _same_order(one, two):
        return Sameness("doubtful", "They have the same words in another order.")
    exact = _content_words(one) == _content_words(two)
    return Sameness(
        "same", "They have the same words." if exact else "They have the same words but for their form.", exact
    )


class WordsInUse:
    """The words, folded, that three different texts or more use: one that is used so often is no slip.

    The texts are read when the first word is asked for, which most pairs do not. Time: linear in them, some 10 µs a text.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts
        self._words: frozenset[str] | None = None

    def __contains__(self, word: object) -> bool:
        if self._words is None:
            distinct = {frozenset(tokenise(text)) for text in self._texts}
            uses = Counter(used for text in distinct for used in text)
            self._words = frozenset(used for used, count in uses.items() if count >= _COMMON)
        return word in self._words


class Reading(NamedTuple):
    """Parsed form of a text for comparison.

    ``words`` are the stems of its words of content in order and ``raw`` the same words as written, both without ``figures``. ``leads``
    holds the preposition before each, ``names`` the words with a capital.
    """

    specifics: Specifics
    words: tuple[str, ...]
    raw: tuple[str, ...]
    leads: tuple[str, ...]
    names: frozenset[str]
    roles: frozenset[tuple[str, str]]
    persons: tuple[str, ...]
    turns: frozenset[str]
    figures: tuple[str, ...]
    denials: int
    question: bool


@lru_cache(maxsize=_READ)
def read(text: str) -> Reading:
    """Read a text for comparison."""
    words: list[str] = []
    raw: list[str] = []
    leads: list[str] = []
    names: set[str] = set()
    lead = ""
    persons: list[str] = []
    denials = 0
    turns: set[str] = set()
    figures: list[str] = []
    for match in _WORD.finditer(text[:LONGEST]):
        written = match.group()
        folded = fold(written)
        word, *rest = folded.split("'")
        denials += folded in NEGATIONS
        turns.update(TENSES[r] for r in rest if r in TENSES)
        if word in PERSONS:
            persons.append(PERSONS[word])
        elif word in TURNS and written != "May":
            turns.add(TURNS[word])
            lead = word if word in CLAUSES else lead
        elif word in LEADS:
            lead = LEADS[word]
        elif not word.isalpha() and any(c.isdigit() for c in word):
            figures.append(word)
        elif word not in EMPTY:
            words.append(stem(word))
            raw.append(word)
            leads.append(lead)
            if written[0].isupper() and match.start() and not _SENTENCE.search(text[: match.start()][-3:]):
                names.add(word)
            lead = ""
    if "now" in turns:  # next to another tense "was" is an auxiliary
        turns.discard("then")
    roles = frozenset((w, lead) for w, lead in zip(words, leads, strict=True) if lead in DIRECTED)
    asks = text.rstrip(" \"'”)").endswith("?") or _ASKS.match(text) is not None
    return Reading(
        *(specifics(text), tuple(words), tuple(raw), tuple(leads)),
        *(frozenset(names), roles, tuple(persons), frozenset(turns), tuple(figures), denials, asks),
    )


def _pasts(a: Reading) -> set[str]:
    """Return the stems of the words that end in "ed"."""
    return {w for w, r in zip(a.words, a.raw, strict=True) if r.endswith("ed")}


def _same_persons(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Return whether persons are the same in the same order; the speaker may be left out ("Bought a car")."""
    silent = "i" not in a or "i" not in b
    return a == b or (silent and [p for p in a if p != "i"] == [p for p in b if p != "i"])


def _fewer_persons(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Return whether one text names some of the other's persons, in the same order ("the teacher", "her teacher")."""
    few, many = sorted((a, b), key=len)
    rest = iter(many)
    return all(person in rest for person in few)


def _unmatched(a: Reading, b: Reading, synonyms: Synonyms | None, known: Container[str]) -> tuple[list[str], list[str]]:
    """Return the words of each text that the other text lacks in any form."""
    if "".join(a.raw) == "".join(b.raw):  # "back up", "backup"
        return [], []
    mine, theirs = _rest(a, b), _rest(b, a)
    for x, y in _one_stem(a, b):
        mine.append(x)
        theirs.append(y)
    if max(len(mine), len(theirs)) > max(3, len(a.words) // 2):
        return mine, theirs
    for x in list(mine):
        y = next((y for y in theirs if _alike(x, y, a.names | b.names, synonyms, known)), None)
        if y is not None:
            mine.remove(x)
            theirs.remove(y)
    return mine, theirs


def _one_stem(a: Reading, b: Reading) -> list[tuple[str, str]]:
    """Return pairs of words with one stem that are different words: only a final "e" differs ("suit", "suite")."""
    one, two = set(a.raw) - set(b.raw), set(b.raw) - set(a.raw)
    ended = [(x, f"{x}e") for x in sorted(one) if f"{x}e" in two] + [
        (x, x[:-1]) for x in sorted(one) if x[-1] == "e" and x[:-1] in two
    ]
    return [(x, y) for x, y in ended if is_known(x) == is_known(y)]


def _rest(a: Reading, b: Reading) -> list[str]:
    left = Counter(a.words) - Counter(b.words)
    found: list[str] = []
    for word, written in zip(a.words, a.raw, strict=True):
        if left[word] > 0 and written not in FILLERS:
            left[word] -= 1
            found.append(written)
    return found


def _alike(x: str, y: str, names: frozenset[str], synonyms: Synonyms | None, known: Container[str]) -> bool:
    """Return whether two words are synonyms, spellings of one word, or one is a misspelling of the other.

    Names never are, and neither are words that exclude each other.
    """
    if x in names or y in names or not x.isalpha() or not y.isalpha():
        return False
    if set(EXCLUSIVE.get(x, ())) & set(EXCLUSIVE.get(y, ())):
        return False
    if respelt(x, y) or slip(x, y, known):
        return True
    if opposed(x, y) or exclusion(x, y) is not None:
        return False
    return synonyms is not None and min(len(x), len(y)) > 2 and synonyms(min(x, y), max(x, y))


def _content_words(a: Reading) -> list[str]:
    return [w for w, r in zip(a.words, a.raw, strict=True) if r not in FILLERS]


def _same_order(a: Reading, b: Reading) -> bool:
    """Return whether the words have the same order, apart from one moved phrase.

    The phrase must be recognisable in any position by a preposition or an adverb of time.
    """
    one = [(w, lead) for w, r, lead in zip(a.words, a.raw, a.leads, strict=True) if r not in FILLERS]
    two = [(w, lead) for w, r, lead in zip(b.words, b.raw, b.leads, strict=True) if r not in FILLERS]
    place = {w: k for k, (w, _) in enumerate(one)}
    numbers = [place.get(w, -1) for w, _ in two]
    if len(one) != len(two) or len(place) != len(one):  # words run together, or a repeated word
        return [w for w, _ in one] == [w for w, _ in two] or "".join(a.raw) == "".join(b.raw)
    if -1 in numbers:  # a slip or a synonym in the same place
        gaps = iter(sorted(set(range(len(one))) - set(numbers)))
        numbers = [n if n >= 0 else next(gaps) for n in numbers]
    if sorted(numbers) != list(range(len(numbers))):  # the other repeats a word
        return False
    low, high = 0, len(numbers)
    while low < high and numbers[low] == low:
        low += 1
    while high > low and numbers[high - 1] == high - 1:
        high -= 1
    middle = numbers[low:high]
    if not middle:
        return True
    cut = middle.index(low)
    if middle[cut:] + middle[:cut] != list(range(low, high)):
        return False
    return any(_stands_alone(one[n], two[at]) for n, at in ((middle[0], low), (low, low + cut)))


def _stands_alone(one: tuple[str, str], two: tuple[str, str]) -> bool:
    """Return whether a moved phrase begins with the same preposition in both texts, or with an adverb of time."""
    return bool(one[1] and one[1] == two[1]) or one[0] in TIMES


def _show(words: Collection[str] | Sequence[str]) -> str:
    return ", ".join(sorted(words))

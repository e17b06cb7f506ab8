"""Subjects: whether two statements are about different things, by what stands before their verbs: "bed 3" and "bed 4", "sales in Q3" and
"sales in Q4", "the mail worker" and "the PDF worker", "Milo" and "Milo's cousin".

What tells two things of a kind apart is part of their name: a number behind it, an ordinal or a date before it, another word. Only what
is plain is said to be apart; of a statement without a known verb nothing is known. Linear in the text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from slowwave.texts.exclusions import is_a
from slowwave.texts.figures import Kinds, parse, read
from slowwave.texts.present_statements import ARTICLES, COMMON, CONTRACTED
from slowwave.texts.statements import stem
from slowwave.texts.tenses import IRREGULAR
from slowwave.texts.tokens import fold
from slowwave.texts.vocabulary import CARDINALS, GRAMMAR, ORDINALS, words_of

_MOST: Final = 12  # words of a subject
_SHORT: Final = 3  # letters of what is short for a word
_TOKEN: Final = re.compile(r"[^\W_]+(?:[.,/:'’_-][^\W_]+)*%?|:(?=\s)")
_FIGURE: Final = re.compile(r"[$€£¥]?[^\W_]+(?:[.,/:'’_-][^\W_]+)*%?")
_COPULAS: Final = words_of("is are was were")
_NEAR: Final = 5  # words next to a figure among which its noun is
_LED_IN: Final = re.compile(
    r"^(?:as of|since|from|effective|starting|beginning|until|update|note|reminder|correction)\b[^,:]{0,40}[,:] ",
    re.IGNORECASE,
)
_OWNER: Final = re.compile(r"([A-Z][\w-]*)['’]s? ([a-z]+)")
_OWNED: Final = re.compile(r"['’]s?$")
_RELEASE: Final = re.compile(r"v?(\d{1,5}\.\d{1,5})\.\d{1,6}")
"""A version of three components ("4.2.1", "v550.54.14"), apart from the last; not "4.2", which is an amount, nor an address "10.0.0.1"."""

_NUMBERED: Final = words_of(
    "section clause chapter article paragraph figure table step task item requirement rule appendix release version build tag"
)
"""Nouns whose number is their name: each number is another one."""

_YEAR: Final = re.compile(r"(?:19|20)\d\d(?:-\d\d)*")
_PAST: Final = re.compile(r"[a-z]{3,}(?<!e)ed")
_DID: Final = re.compile(
    rf"(?:{'|'.join(sorted(IRREGULAR - words_of('set put cut let read run hit shut quit cost come')))}|[a-z]{{3,}}(?<!e)ed)\b",
    re.IGNORECASE,
)
_VERBS: Final = (
    words_of("""
is are was were be has have had do does did can could will would shall should may might must needs need costs cost takes take means
wants want prefers prefer likes like eats eat drinks drink uses use runs run starts start ends end begins begin opens open closes close
lives live works work meets meet stands stand lies sits sleeps gets get gives goes go comes come holds says owns lasts happens
fails passes needs requires require allows allow supports expires keeps keep stays stay leads reads read plays play speaks speak
""")
    | IRREGULAR
)
_WHEN: Final = words_of("""
january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday
sunday spring summer autumn winter morning evening mondays tuesdays wednesdays thursdays fridays saturdays sundays mornings evenings
""")
_HOW: Final = words_of("today always never usually often sometimes now currently still also only not just already")
_NOUN_BEFORE: Final = words_of("of is are was were")
"""Words before which "costs" or "plays" is a noun."""


class ReadSubject(NamedTuple):
    """The words of content of a subject in order, without their owners' "'s", and what says which of several it is."""

    words: tuple[str, ...]
    marks: frozenset[str]


def are_of_others(one: str, other: str) -> bool:
    """Whether two statements are about different things: the marks of their subjects differ, or the words in one place of them, or one is
    of somebody and the other of what he has."""
    if _is_of(one, other) or _is_of(other, one):
        return True
    a, b = subject(one), subject(other)
    if a is None or b is None:
        return False
    marked = (a.marks and b.marks) or set(a.words).isdisjoint(b.words)
    if a.marks != b.marks and marked and not _are_releases(a, b):
        return True
    return _is_exchanged(a.words, b.words)


def _are_releases(one: ReadSubject, other: ReadSubject) -> bool:
    """Return whether two subjects are the same but for the last component of a version: two releases of one driver, of which a device has
    one at a time. A numbered section of a text is another section."""
    mine, theirs = one.marks - other.marks, other.marks - one.marks
    if one.words != other.words or not _NUMBERED.isdisjoint(one.words) or len(mine) != 1 or len(theirs) != 1:
        return False
    first, second = (_RELEASE.fullmatch(min(marks)) for marks in (mine, theirs))
    return first is not None and second is not None and first[1] == second[1]


def _is_exchanged(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two rows of words are the same but for one place, where each has others, of which none is short for one or means the same."""
    shorter = min(len(one), len(other))
    start = next((k for k in range(shorter) if one[k] != other[k]), shorter)
    end = next((k for k in range(shorter - start) if one[-1 - k] != other[-1 - k]), shorter - start)
    mine, theirs = one[start : len(one) - end], other[start : len(other) - end]
    if not mine or not theirs or not start + end:
        return False
    return not any(_may_be(x, y) or _may_be(y, x) for x in mine for y in theirs)


def _may_be(one: str, other: str) -> bool:
    """Whether a word is another, a form of it or short for it ("db", "database"), or is above it."""
    if other.startswith(one) or is_a(other, one):
        return True
    letters = iter(other)
    return len(one) <= _SHORT and one[0] == other[0] and all(letter in letters for letter in one)


def are_other_cases(one: str, other: str) -> bool:
    """Whether two statements with other figures tell of two events or measurements: what somebody did, another ordinal of what was, more
    than one figure with its unit, or an amount of something else."""
    if _DID.match(one) and _DID.match(other):
        return True
    words, others = (_TOKEN.findall(fold(s)) for s in (one, other))
    first, second = ({w for w in some if w in ORDINALS} for some in (words, others))
    if first and second and first.isdisjoint(second) and all(map(_is_past, (words, others))):
        return True
    mine, theirs = _amounts(words), _amounts(others)
    if any(unit in theirs and theirs[unit] != what for unit, what in mine.items()):
        return True
    apart, against = _measures(words) - _measures(others), _measures(others) - _measures(words)
    return len({unit for _, unit in apart}) > 1 and len({unit for _, unit in against}) > 1


def share_a_measure(one: str, other: str) -> bool:
    """Return whether some figures in which two statements differ measure the same: both are times, dates, money or lengths, or the same
    noun stands next to both ("port 6379", "connect to port 6380"). A count of relays and a version of firmware do not.
    """
    mine, theirs = _measured(one), _measured(other)
    return any(
        figure != other_figure and not nouns.isdisjoint(other_nouns)
        for figure, nouns in mine.items()
        for other_figure, other_nouns in theirs.items()
    )


def are_about_others(one: str, other: str, without: Collection[str] = ()) -> bool:
    """Return whether two statements have known subjects, ``without`` some words, and neither names a word of the other's subject."""
    first, second = _own_words(one, without), _own_words(other, without)
    if not first or not second:
        return False
    named, also_named = ({stem(fold(w)) for w in _TOKEN.findall(s)} for s in (one, other))
    return first.isdisjoint(also_named) and second.isdisjoint(named)


def _own_words(sentence: str, without: Collection[str]) -> set[str]:
    """The stems of the words of a subject, without pronouns with their verbs ("I've")."""
    found = subject(sentence)
    return {stem(w) for w in found.words if w not in without and not CONTRACTED.match(w)} if found else set()


def _measured(sentence: str) -> dict[str, frozenset[str]]:
    """Figures, each with its kind of measure, or the counted noun, or else the nouns before it (where there are none, behind it)."""
    found: dict[str, frozenset[str]] = {}
    words = [fold(m[0]) for m in _FIGURE.finditer(sentence)]
    for k, word in enumerate(words):
        if not any(map(str.isdigit, word)):
            continue
        behind = words[k + 1] if k + 1 < len(words) else ""
        before = words[max(0, k - _NEAR) : k]
        verb = max((n for n, w in enumerate(before) if _is_verb(w) and w not in _COPULAS), default=-1)
        near = _nouns(before[verb + 1 :]) or _nouns(words[k + 1 : k + 1 + _NEAR])
        if kind := _kind_of_rate(words[k + 1 : k + 4]) or _kind_of_figure(word, behind):
            near = frozenset((kind,)) | (near if kind == "version" else frozenset())
        elif behind.isalpha() and behind not in GRAMMAR and not _is_verb(behind):
            near = _nouns(words[k + 1 : k + 3])
        found[word] = found.get(word, frozenset()) | near
    return found


def _nouns(words: Sequence[str]) -> frozenset[str]:
    """The stems of the words that may name what is measured."""
    return frozenset(
        stem(w) for w in words if w[0].isalpha() and not (w in GRAMMAR or w in ARTICLES or w in _HOW or w in COMMON)
    )


def _kind_of_figure(word: str, behind: str) -> str:
    """The kind of measure that a figure with its unit has: "€", "time" of hours, "length"; empty for a bare number."""
    kinds: Kinds = defaultdict(set)
    read(f"{word} {behind}" if behind.isalpha() else word, kinds)
    for figure in sorted(kinds["dates"]):
        return parse(figure).sort
    for figure in sorted(kinds["numbers"]):
        if parse(figure).measure:
            return parse(figure).measure
    return "version" if kinds["versions"] else ""


def _kind_of_rate(behind: Sequence[str]) -> str:
    """Return the kind of measure of a unit for another, such as "length per time" for "m/s" and "metres per second", else nothing."""
    of, slash, per = behind[0].partition("/") if behind else ("", "", "")
    if not slash and len(behind) > 2 and behind[1] == "per":
        of, per = behind[0], behind[2]
    kinds = [_kind_of_figure("2", unit) for unit in (of, per) if unit.isalpha()]
    return " per ".join(kinds) if len(kinds) == 2 and all(kinds) else ""


def _is_past(words: Sequence[str]) -> bool:
    return any(w in IRREGULAR or w in ("was", "were") or w.endswith("ed") for w in words)


def _amounts(words: Sequence[str]) -> dict[str, str]:
    """Units → of what there is so much: "200 g of flour"."""
    return {
        unit: stem(what)
        for figure, unit, of, what in zip(words, words[1:], words[2:], words[3:], strict=False)
        if figure[0].isdigit() and of == "of"
    }


def _measures(words: Sequence[str]) -> set[tuple[str, str]]:
    """Figures with the word behind them."""
    return {(w, stem(behind)) for w, behind in pairwise(words) if w[0].isdigit() and behind.isalpha()}


def _is_of(one: str, other: str) -> bool:
    """Whether one speaks of what somebody has, of which the other that speaks of him says nothing: "Milo's cousin", "Milo"."""
    owned = _OWNER.match(one)
    return owned is not None and re.match(rf"{re.escape(owned[1])} ", other) is not None and owned[2] not in other


@lru_cache(maxsize=4_096)
def subject(sentence: str) -> ReadSubject | None:
    """What stands before the first verb, or before a colon; None where neither is known."""
    found: list[str] = []
    for written, behind in pairwise([*_TOKEN.findall(_LED_IN.sub("", sentence))[: _MOST + 1], ""]):
        word = fold(written)
        if found and (word == ":" or (_is_verb(written) and behind not in _NOUN_BEFORE)):
            break
        found.append(word)
    else:
        return None
    own = [w for w in found if not (w in GRAMMAR or w in ARTICLES or w in _HOW)]
    marks = {w for w in own if w in ORDINALS or w in _WHEN or _YEAR.fullmatch(w)}
    marks |= {w for w in own if not w[0].isdigit() and any(map(str.isdigit, w))}
    for before, word in pairwise(found):
        marks |= {word} if word[0].isdigit() and before.isalpha() and before not in GRAMMAR else set()
        marks |= {before} if before[0].isdigit() and word in _WHEN else set()
    plain = (_OWNED.sub("", w) for w in own if not (w in marks or w[0].isdigit() or w in CARDINALS))
    return ReadSubject(tuple(plain), frozenset(marks))


def _is_verb(written: str) -> bool:
    return written in _VERBS or _PAST.fullmatch(written) is not None

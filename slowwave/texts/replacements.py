"""Replacements: whether two statements say the same but for one place, where words stand that exclude each other.

"She ordered the tea at noon", "She ordered the lemonade at noon". Which words do is for ``slowwave.texts.exclusions`` to say; here it is
known where they stand. Members of a list, what is only some of several, what is asked or denied, and another subject may be true
beside the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

from slowwave.texts.exclusions import Exclusion, exclusion, is_a, relations
from slowwave.texts.sameness_words import PERSONS, TURNS
from slowwave.texts.statements import stem
from slowwave.texts.tokens import fold
from slowwave.texts.vocabulary import DENIALS, GRAMMAR, NEGATIONS, words_of

_LONGEST: Final = 60  # words of a statement
_WIDE: Final = 4  # words of the place
_FRAME: Final = 2  # words besides that both say: what is shorter is a name
_MORE: Final = 3  # words of content that one of them may say more


class StatementLine(NamedTuple):
    """A statement in order, without articles: its words and commas, folded but for names, and their stems; ``bag`` has the stems without
    order. ``article`` is the word with which it begins."""

    words: tuple[str, ...]
    stems: tuple[str, ...]
    bag: frozenset[str]
    article: str


class Place(NamedTuple):
    """Where two lines differ: from ``start`` to ``end`` in each."""

    start: tuple[int, int]
    end: tuple[int, int]


@lru_cache(maxsize=4_096)
def read_line(text: str) -> StatementLine | None:
    """Read a statement; None for a question, and for what is longer. Time: 20 µs."""
    text = _AS_WELL.sub(" and ", text)
    if _ASKS.search(text) or _SAYS_NOTHING.match(text):
        return None
    words: list[str] = []
    first = ""
    for match in _TOKEN.finditer(text):
        written = match.group()
        word = fold(written)
        first = first or word
        if word in _ARTICLES:
            continue
        if len(words) == _LONGEST:
            return None
        opens = not match.start() or _OPENS.search(text[max(0, match.start() - 3) : match.start()]) is not None
        words.append(word if opens or not written.istitle() else written)
    stems = tuple(stem(fold(w)) for w in words)
    return StatementLine(tuple(words), stems, frozenset(stems), first)


def replaced(a: str, b: str) -> Exclusion | None:
    """How the words exclude each other by which alone two statements differ; None where they do not, or where both may be true.

    The answer does not depend on the order. Time: 5 µs for lines that differ in more, else 20 to 100 µs.
    """
    one, two = read_line(a), read_line(b)
    if one is None or two is None or (place := _place(one, two)) is None:
        return None
    for terms in _terms(one, two, place):
        how = exclusion(*terms)
        if how is not None:
            apart = _only_there(one, two, place, terms) and not _agree(one, two, place, terms, how)
            return how if apart else None
    return None


def beside(a: str, b: str) -> bool:
    """Whether terms that exclude each other may stand side by side in two texts: both ask, or they are members of a list or some of several
    in statements that are the same otherwise. Time: as ``replaced``."""
    one, two = read_line(a), read_line(b)
    if one is None or two is None:
        return _ASKS.search(a) is not None and _ASKS.search(b) is not None
    if (place := _place(one, two)) is None:
        return False
    lines = list(zip((one, two), place.start, place.end, strict=True))
    if any(_is_open(line, _SOME) for line, _, _ in lines):
        return True
    terms = [word for line, start, end in lines for word in _content(line.words[start:end])[-1:]]
    return len(terms) == len(lines) and all(any(_is_listed(*line, term) for term in terms) for line in lines)


def _agree(one: StatementLine, two: StatementLine, place: Place, terms: tuple[str, str], how: Exclusion) -> bool:
    """Whether both lines may be true for what stands around the place."""
    lines = ((line, place.start[k], place.end[k], terms[k]) for k, line in enumerate((one, two)))
    shared = len(one.words) - (place.end[0] - place.start[0])
    if how == "antonyms":
        return not shared or any(_is_open(line, _SOME) for line in (one, two))
    return shared < _FRAME or any(
        _is_open(line, _OPEN)
        or _is_subject(line, start)
        or _is_added(line, start)
        or (how == "kind" and _is_verb(line, start))
        or _is_listed(line, start, end, term)
        for line, start, end, term in lines
    )


def _place(one: StatementLine, two: StatementLine) -> Place | None:
    """The only place where both have words that the other has not there; besides, one of them may say more."""
    mine, theirs = one.bag - two.bag, two.bag - one.bag
    if not mine or not theirs or min(len(mine), len(theirs)) > _WIDE or max(len(mine), len(theirs)) > _WIDE + _MORE:
        return None
    a, b = one.stems, two.stems
    start = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    end = next((k for k, (x, y) in enumerate(zip(a[::-1], b[::-1], strict=False)) if x != y), 0)
    here, there = len(a) - end, len(b) - end
    if start < min(here, there) and max(here, there) - start <= _WIDE and set(a[start:here]).isdisjoint(b[start:there]):
        return Place((start, start), (here, there))
    said = (
        [w for w, s in zip(x.words, x.stems, strict=True) if s in own and w not in GRAMMAR]
        for x, own in ((one, mine), (two, theirs))
    )
    if not any(exclusion(x, y) for x, y in product(*said)):
        return None
    both = {w for w, s in zip(one.words, one.stems, strict=True) if s in two.bag}
    if both <= _NO_MATTER:
        return None
    blocks = [o for o in SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if o[0] != "equal"]
    exchanged = [o for o in blocks if o[0] == "replace"]
    if len(exchanged) != 1 or len({o[0] for o in blocks}) > 2:
        return None
    more = [w for how, i, j, k, m in blocks if how != "replace" for w in (*one.words[i:j], *two.words[k:m])]
    if sum(w not in GRAMMAR and w.isalpha() for w in more) > _MORE or not _TURNED.isdisjoint(more):
        return None
    _, i, j, k, m = exchanged[0]
    return Place((i, k), (j, m)) if max(j - i, m - k) <= _WIDE else None


def _only_there(one: StatementLine, two: StatementLine, place: Place, terms: tuple[str, str]) -> bool:
    """Whether nothing is denied, the place has no other persons and times, and neither line says elsewhere what the other says there."""
    sides = [
        (line.words[place.start[k] : place.end[k]], (*line.words[: place.start[k]], *line.words[place.end[k] :]))
        for k, line in enumerate((one, two))
    ]
    for (here, _), (_, other) in (sides, sides[::-1]):
        if not {fold(w) for w in here if w not in GRAMMAR}.isdisjoint(other):
            return False
    rest = [frozenset((*here, *other)) - {term} for (here, other), term in zip(sides, terms, strict=True)]
    if not all(_DENIED.isdisjoint(words) for words in rest):
        return False
    said = [{PERSONS.get(w) or TURNS.get(w) for w in here if w not in terms} - {None, "now"} for here, _ in sides]
    return said[0] == said[1]


def _terms(one: StatementLine, two: StatementLine, place: Place) -> Iterator[tuple[str, str]]:
    """What stands in the place of each line: with the word behind or before it where that makes compounds of both, else the last words of
    content. Nothing where one is a compound that means something else ("French toast" beside "dry toast")."""
    sides = [(line.words, place.start[k], place.end[k]) for k, line in enumerate((one, two))]
    for before, behind in ((0, 1), (1, 0)):
        joined = [_joined(words, start - before, end + behind) for words, start, end in sides]
        known = [bool(term and relations(term).bases) for term in joined]
        if all(known):
            yield joined[0], joined[1]
            return
        for (words, _, end), term, is_known in zip(sides, joined, known, strict=True):
            if is_known and relations(words[end - 1 + behind]).paths and not is_a(term, words[end - 1 + behind]):
                return
    own = [_content(words[start:end]) for words, start, end in sides]
    few = min(map(len, own)) == 1 or (
        max(map(len, own)) == 2 and all(w not in GRAMMAR for s in sides for w in s[0][s[1] : s[2]])
    )
    if all(own) and few:
        yield _head(own[0]), _head(own[1])


def _content(words: Sequence[str]) -> list[str]:
    """The words of content, without adverbs where there are others."""
    own = [w for w in words if w not in GRAMMAR and w.replace("-", "").isalpha()]
    return [w for w in own if not w.endswith("ly")] or own


def _joined(words: Sequence[str], start: int, end: int) -> str:
    if start < 0 or end > len(words) or end - start != 2:
        return ""
    return "_".join(words[start:end])


def _head(words: Sequence[str]) -> str:
    """The last two words where they are one compound, else the last."""
    pair = "_".join(words[-2:])
    return pair if len(words) > 1 and relations(pair).bases else words[-1]


def _is_open(line: StatementLine, some: frozenset[str]) -> bool:
    """Whether a line speaks of some of several, of which others may be something else."""
    if line.words[0] in _FIRST or not some.isdisjoint(line.words):
        return True
    return any(w in _FIRST and after == "of" for w, after in zip(line.words, line.words[1:], strict=False))


def _is_subject(line: StatementLine, start: int) -> bool:
    """Whether it opens the statement, and is somebody's or is pointed at ("my cat"): another one is another subject. Without any article it
    is as likely what somebody is asked to do ("check the list")."""
    opens = all(w in _DETERMINERS for w in line.words[:start])
    return opens and line.article not in _ARTICLES


def _is_verb(line: StatementLine, start: int) -> bool:
    """Whether what stands there is done, and is no thing, whatever it looks like: behind a person or an auxiliary."""
    before = line.words[start - 1] if start else ""
    return before in _ACTS or (before == "to" and start > 1 and line.words[start - 2] in _ACT_TO)


def _is_added(line: StatementLine, start: int) -> bool:
    """Whether it comes to what there is: a spare hoist, or one of the new things that something gets."""
    before = line.words[max(0, start - 2) : start]
    return bool(before) and (before[-1] in _ADDED or (before[-1] == "new" and before[0] in _GETS))


def _is_listed(line: StatementLine, start: int, end: int, term: str) -> bool:
    """Whether something of the same kind stands beside it, joined by "and", "or" or a comma."""
    before = line.words[max(0, start - 3) : start][::-1]
    behind = line.words[end : end + 4]
    for near in (before, behind):
        at = next((k for k, w in enumerate(near) if w in _JOINS), None)
        if at is not None and any(w not in GRAMMAR and _is_alike(w, term) for w in near[at + 1 : at + 3]):
            return True
    return False


def _is_alike(word: str, term: str) -> bool:
    return exclusion(word, term) in ("kind", "deed") or is_a(word, term) or is_a(term, word)


_ASKS: Final = re.compile(r"\?[\s\"'”)]*$")
_SAYS_NOTHING: Final = re.compile(
    r"\W*(?:so |and |please |hey |hi |ok |well )*(?:what|who|whom|whose|why|which|how|where|when|do|does|did|can|could|will|would|should|is"
    r"|are|am|was|were|have|has|thanks?|congratulations|sorry|let's|that(?:'s| sounds?| seems?))\b",
    re.IGNORECASE,
)
"""Questions, also without their sign, what is only polite, and what is said of something said before."""

_TOKEN: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[,;&]")
_OPENS: Final = re.compile(r"[.!?:;\n][\"'“)]?\s*$")
_AS_WELL: Final = re.compile(r" (?:as well as|along with|together with|in addition to|plus) ")
_ARTICLES: Final = words_of("a an the")
_DETERMINERS: Final = words_of("my your his her its our their this that these those")
_JOINS: Final = words_of("and or nor , ; &")
_FIRST: Final = words_of("one some most half each")
_ACTS: Final = words_of(
    "i you he she we they who will would can could should shall must may might don't doesn't didn't won't can't"
)
_ACT_TO: Final = words_of(
    "want wants wanted need needs needed like likes have has had going able used try plan plans hope hopes you me him us"
)
_SOME: Final = words_of("another other others many few several sometimes either partly")
_OPEN: Final = _SOME | words_of("also too often usually besides additionally any")
_ADDED: Final = words_of("second third extra additional further spare")
_GETS: Final = words_of("get gets got getting gotten receive receives received")
_NO_MATTER: Final = GRAMMAR | PERSONS.keys() | words_of("please , ; &")
_DENIED: Final = NEGATIONS | DENIALS
_TURNED: Final = frozenset(TURNS) | NEGATIONS | DENIALS

"""Contradictions: whether two statements about one thing can both be true, and in what they clash.

``slowwave.texts.differences`` tells names and sentences of any two things apart; here it is known that both speak of one thing, and
what counts is the statement: what is denied, what the thing is said to be, what number or date it has. A statement that says more
or something else complements the other and is no contradiction. Which statements are about one thing is the caller's to know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from slowwave.texts.differences import difference
from slowwave.texts.figures import parse
from slowwave.texts.opposites import opposites
from slowwave.texts.replacements import beside, replaced
from slowwave.texts.specifics import Specifics, specifics
from slowwave.texts.statements import stem
from slowwave.texts.tokens import fold
from slowwave.texts.vocabulary import CARDINALS, DENIALS, EXCLUSIVE, GRAMMAR, GROUPS, NATURES, NEGATIONS, TENS, words_of

Kind = Literal["number", "date", "polarity", "object"]
"""Number: quantities, versions, ordinals or codes. Date: days and times. Polarity: denied, or terms that exclude each other. Object:
another name or thing in the same place, or another nature."""

_LONGEST: Final = 2_000  # characters of a text that are read
_READ: Final = 4_096
_CLAUSE: Final = 6  # words of content that a negation may turn round
_MET: Final = 0.7  # share of a denied clause that the other text must say
_DEFINED: Final = 12  # words of a definition
_REACH: Final = 12  # words behind a negation among which a figure is denied


def find(pairs: Iterable[tuple[str, str]]) -> list[Kind | None]:
    """For each pair of texts about one thing: in what they contradict each other, or None.

    The answer does not depend on the order of a pair, and a text never contradicts itself. Time: 50 to 200 µs for each text and 20 to 60 µs
    a pair, each read once while it stays among the last 4,096; figures that differ are compared at most 64 a side.
    """
    return [_kind(a, b) for a, b in pairs]


@lru_cache(maxsize=_READ)
def _kind(a: str, b: str) -> Kind | None:
    a, b = a[:_LONGEST], b[:_LONGEST]
    if fold(a) == fold(b):
        return None
    one, two = (_read(a), _read(b)) if a <= b else (_read(b), _read(a))
    found: Kind | None = next((kind for rule in _RULES if (kind := rule(one, two))), None)
    twice = (_TWICE.search(a) is None) != (_TWICE.search(b) is None)
    return None if twice and found == "polarity" else found


class _Definition(NamedTuple):
    """What a text says that its subject is: natures of it, and the exclusive terms among the words, by group."""

    natures: frozenset[str]
    terms: tuple[tuple[str, frozenset[str]], ...]


class _Text(NamedTuple):
    """A text as read once: itself, its specifics, the stems of its words, the clauses that it denies, what it says its subject is, whether
    it has a number that is only a bound ("more than 100"), its words before and behind a comparison, and the one name that a short
    statement gives (what it says, folded, and the name); and whether a number or date is part of what it denies."""

    text: str
    specifics: Specifics
    stems: frozenset[str]
    denied: tuple[tuple[str, ...], ...]
    defined: _Definition | None
    bounded: bool
    compared: tuple[tuple[str, ...], tuple[str, ...]] | None
    named: tuple[str, str] | None
    denies_figure: bool


@lru_cache(maxsize=_READ)
def _read(text: str) -> _Text:
    folded = fold(text)
    tokens = _TOKEN.findall(folded)
    stems = frozenset(stem(t) for t in tokens if t[0].isalpha())
    denied = tuple(_denied(tokens))
    named = _NAMED.match(text)
    return _Text(
        text,
        specifics(text),
        stems,
        denied,
        _definition(tokens),
        _BOUND.search(folded) is not None,
        _comparison(tokens),
        (fold(named["says"]), named["name"]) if named else None,
        _denies_figure(_WORD.findall(folded)),
    )


def _figures(a: _Text, b: _Text) -> Kind | None:
    """Numbers, dates, codes and names that stand in each other's place, by the rules of ``difference``; negations have their own."""
    found = difference(a.specifics, b.specifics)
    if found is None or found.degree != "conflict" or _denies_another_figure(a, b):
        return None
    if found.about == "figures":
        kind = _sort(a.specifics, b.specifics)
        return None if kind == "number" and a.bounded != b.bounded else kind
    if found.about in ("identifiers", "letters"):
        return "number"
    if found.about == "names":
        return "object"
    if found.about == "terms" and (_apart(a, b) or _turned(a, b) or _turned(b, a) or beside(a.text, b.text)):
        return None
    # a negation of a few words is all that such a text says; in a longer one its clause decides
    return "polarity" if found.about == "terms" or not (a.denied or b.denied) else None


def _denies_another_figure(a: _Text, b: _Text) -> bool:
    """Whether one text denies a clause with a figure and the other states another figure: "signed in 2014", "did not sign in 2018"."""
    if a.denies_figure == b.denies_figure:
        return False
    found = difference(a.specifics, b.specifics)
    return found is not None and found.degree == "conflict" and found.about in ("figures", "identifiers")


def _apart(a: _Text, b: _Text) -> bool:
    """Whether two texts too short to be read as statements each say something of their own beside exclusive terms: "hiking in summer"
    and "skiing in winter" go together."""
    if a.specifics.statement() or b.specifics.statement():
        return False
    mine, theirs = a.stems - b.stems - _NO_MATTER, b.stems - a.stems - _NO_MATTER
    against = {word for x in mine for y in theirs if opposites(x, y) for word in (x, y)}
    mine, theirs = mine - against, theirs - against
    return all(any(EXCLUSIVE.keys().isdisjoint(word.split("-")) for word in own) for own in (mine, theirs))


def _turned(a: _Text, b: _Text) -> bool:
    """Whether one denies the term that the other says the opposite of: what is "not cold" may be hot."""
    if not a.denied or b.denied:
        return False
    own = (a.stems - b.stems) & _TERMS
    return any(not own.isdisjoint(clause) for clause in a.denied)


def _sort(a: Specifics, b: Specifics) -> Kind:
    """Date when all that differs are days and times."""
    apart = a.figures() ^ b.figures()
    return "date" if apart and all(parse(f).sort in ("date", "time") for f in apart) else "number"


def _negations(a: _Text, b: _Text) -> Kind | None:
    """One denies a clause that the other says: its words stand there, or most of them. What both deny is no matter."""
    mine, theirs = set(a.denied) - set(b.denied), set(b.denied) - set(a.denied)
    if bool(mine) == bool(theirs) or _denies_another_figure(a, b):
        return None
    denied, plain = (mine, b.stems) if mine else (theirs, a.stems)
    return "polarity" if any(_says(plain, clause) for clause in denied) else None


def _says(plain: frozenset[str], clause: Sequence[str]) -> bool:
    """Whether a text says a clause. A clause of no content ("never") denies whatever the other says; what is "not open" and what is
    "closed" is one."""
    missing = [word for word in clause if not _met(word, plain)]
    if len(clause) - len(missing) < _MET * len(clause):
        return False
    return not any(_EXCLUDED.get(word, _NO_STEMS) & plain for word in missing)


def _met(word: str, plain: frozenset[str]) -> bool:
    """Whether a stem, or another word of its family ("drum", "drummer"), is among those of a text."""
    if word in plain:
        return True
    return len(word) >= 4 and any(len(p) >= 4 and (p.startswith(word) or word.startswith(p)) for p in plain)


def _definitions(a: _Text, b: _Text) -> Kind | None:
    """Both say what the thing is, and nothing is both ("a singer", "a dog"; "an American film", "a German film")."""
    if not a.defined or not b.defined:
        return None
    if a.defined.natures and b.defined.natures and a.defined.natures.isdisjoint(b.defined.natures):
        return "object"
    other = dict(b.defined.terms)
    return "polarity" if any(g in other and terms.isdisjoint(other[g]) for g, terms in a.defined.terms) else None


def _comparisons(a: _Text, b: _Text) -> Kind | None:
    """The same words, but for what is compared with what: "tea over coffee", "coffee over tea". Denied, both may hold."""
    if not a.compared or not b.compared or a.denied or b.denied:
        return None
    if a.compared[0] == b.compared[0] or sorted(sum(a.compared, ())) != sorted(sum(b.compared, ())):
        return None
    return "object"


def _names(a: _Text, b: _Text) -> Kind | None:
    """Short statements that give another name where there is but one: where somebody lives, for whom they work, how they are called.

    Longer ones are read by ``difference``. Names that share the beginning of a word, or of which one abbreviates the other, may be one.
    """
    if not a.named or not b.named or a.named[0] != b.named[0]:
        return None
    one, two = (fold(t.named[1]).split() for t in (a, b) if t.named)
    if {w[:_LIKE] for w in one} & {w[:_LIKE] for w in two}:
        return None
    short = {"".join(w[0] for w in one), "".join(w[0] for w in two)} & {*one, *two}
    return None if short else "object"


def _words(a: _Text, b: _Text) -> Kind | None:
    """The same statement but for words of one kind, or antonyms: "ordered the tea", "ordered the lemonade"."""
    how = replaced(a.text, b.text)
    return None if how is None else "polarity" if how == "antonyms" else "object"


_RULES: Final[tuple[Callable[[_Text, _Text], Kind | None], ...]] = (
    *(_figures, _negations, _definitions),
    *(_comparisons, _names, _words),
)


def _denied(tokens: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Stems of the words of content that each negation turns round, up to the end of its clause."""
    for k, token in enumerate(tokens):
        if token in NEGATIONS or (token in _DENIALS and k):
            clause: list[str] = []
            for word in tokens[k + 1 :]:
                if word in _ENDS or len(clause) == _CLAUSE:
                    break
                if word[0].isalpha() and word not in _EMPTY:
                    clause.append(stem(word))
            yield tuple(clause)


def _denies_figure(words: Sequence[str]) -> bool:
    """Whether a negation's clause has a number or date: "did not sign in 2018"; not "does not open until 9", which states a time."""
    left = 0
    for word in words:
        if word in _LOSES or word.endswith("n't"):
            left = _REACH
        elif word in _ENDS or word in _TURNS:
            left = 0
        elif left and (word[-1].isdigit() or word in _FIGURES):
            return True
        else:
            left = max(0, left - 1)
    return False


def _excluded() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for words in GROUPS.values():
        for word, term in words.items():
            found.setdefault(stem(word), set()).update(stem(other) for other in words if words[other] != term)
    return {word: frozenset(others - {word}) for word, others in found.items()}


def _definition(tokens: Sequence[str]) -> _Definition | None:
    """What stands after the first "is a", as far as a preposition, a relative clause or the end of the sentence."""
    start = next((k for k, t in enumerate(tokens) if t in _COPULAS), None)
    if start is None:
        return None
    words: list[str] = []
    opened = False
    for token in tokens[start + 1 : start + 1 + _DEFINED]:
        if token in _OPENS:
            opened = True
        elif token in _CLOSES or token in NEGATIONS or token in DENIALS:
            break
        else:
            words.append(token)
    if not opened or not words:
        return None
    natures = frozenset(NATURES[w] for w in _heads(words) if w in NATURES)
    groups: dict[str, frozenset[str]] = {}
    for word in words:
        for group in EXCLUSIVE.get(word, ()):
            groups[group] = groups.get(group, frozenset()) | {GROUPS[group][word]}
    return _Definition(natures, tuple(sorted(groups.items())))


def _comparison(tokens: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The words before and behind the only "than", or the "over" or "to" that follows a preference; in order of the alphabet."""
    pivots = {"than", "over", "to"} if not _PREFERS.isdisjoint(tokens) else {"than"}
    places = [k for k, t in enumerate(tokens) if t in pivots]
    if len(places) != 1:
        return None
    words = [t if t[0].isalpha() else "" for t in tokens]
    before, behind = (tuple(sorted(filter(None, w))) for w in (words[: places[0]], words[places[0] + 1 :]))
    return (before, behind) if before and behind else None


def _heads(words: Sequence[str]) -> Iterator[str]:
    """The last word of each part between commas and "and"."""
    for word, after in zip(words, [*words[1:], ","], strict=True):
        if after in (",", "and", "or"):
            yield word


_LIKE: Final = 3  # letters in front that two spellings of a name share
_PREFERS: Final = words_of("prefer prefers preferred")
_NAMED: Final = re.compile(
    r"(?P<says>[^,;.!?\n]{1,40}?\b(?:(?:live|lives|living|based|born|raised) in|(?:work|works|working) (?:at|for)"
    r"|(?:is|was|am) (?:called|named)"
    r"|name is|married to|engaged to|hometown is|capital is))"
    r" (?P<name>[A-Z][\w'’-]{0,30}(?: [A-Z][\w'’-]{0,30}){0,3})(?: now| currently)?[.!]?\s*$"
)
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*|[,;.:()!?]|--")
_DENIALS: Final = DENIALS | words_of("incapable unable avoiding refusing lacking denying zero away against")
_BOUND: Final = re.compile(
    r"\b(?:more|less|fewer|greater|over|under|above|below|least|most|up to|exceed\w*)\s+(?:than\s+)?[$€£¥]?\d"
)
_WORD: Final = re.compile(r"[$€£¥]?\d|[^\W_]+(?:['-][^\W_]+)*|[,;.:()!?](?!\d)|--")
_LOSES: Final = NEGATIONS | words_of("lost lose loses")
_FIGURES: Final = frozenset(CARDINALS) | frozenset(TENS)

_TWICE: Final = re.compile(r"(?:\b(?:never|not)|n['’]t) (?:fail|forget|neglect|miss|skip)(?:s|es)?\b", re.IGNORECASE)
"""Who never forgets to do something does it."""

_EMPTY: Final = GRAMMAR | NEGATIONS | _DENIALS | words_of("longer anymore currently ever always")
_TERMS: Final = frozenset(map(stem, EXCLUSIVE))
_NO_STEMS: Final[frozenset[str]] = frozenset()
_EXCLUDED: Final = _excluded()
"""Stem of an exclusive term → those of the terms that it excludes."""
_NO_MATTER: Final = frozenset(map(stem, (*EXCLUSIVE, *_EMPTY)))
_ENDS: Final = words_of(", ; . : ( ) ! ? -- but and or because while which who that although though when where if nor")
_TURNS: Final = words_of("until till before after")  # behind these a denied clause states since when it holds
_COPULAS: Final = words_of("is was are were")
_OPENS: Final = words_of("a an the only solely exclusively purely entirely")
_CLOSES: Final = words_of(
    "; . : ( ) ! ? -- of in at on for by with from to as who that which whose where when but because than about"
)

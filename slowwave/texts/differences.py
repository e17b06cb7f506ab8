"""Differences: whether two texts contradict each other in a specific, or one states more than the other.

Two texts *conflict* when both state a thing and contradict each other ("PostgreSQL 15", "PostgreSQL 16"; "on", "off"; "works", "does not
work"): matching never merges nor shows them. They are *one-sided* when one states more ("PostgreSQL", "PostgreSQL 16"), or each
something of another kind ("46 inch", "1080p"): matching may show them and never merges them by itself. Long names that share a
model number and differ in another are one-sided too, for a person knows. Whether two texts mean the same is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, NamedTuple

from slowwave.texts.figures import Relation, is_strong, misspells, parse, parts_of, relate, relate_identifiers
from slowwave.texts.opposites import opposites
from slowwave.texts.specifics import Specifics
from slowwave.texts.statements import stem
from slowwave.texts.vocabulary import GRAMMAR

_NONE: Final[frozenset[str]] = frozenset()
_BESIDE: Final = 4  # words of each text that the other has not, of which two are opposites
_COMPANY: Final = 2  # words of content that statements with opposites have in common
_MOST: Final = 64  # differing figures that are compared with each other; no name has as many


class Difference(NamedTuple):
    """How two texts differ, the sentence that says so, and what it is ``about``, when it is a conflict."""

    degree: Literal["conflict", "one_sided"]
    sentence: str
    about: Literal["", "figures", "identifiers", "letters", "terms", "negations", "names"] = ""


def difference(a: Specifics, b: Specifics) -> Difference | None:
    """The first conflict of two texts, else the first thing that only one of them states, else None.

    The degree is the same from both sides, and a text never differs from itself. Time: linear in the specifics, but for those
    figures and codes that differ, of which at most 64 a side are compared with each other.
    """
    found: Difference | None = None
    for rule in _RULES:
        one = rule(a, b)
        if one is not None:
            if one.degree == "conflict":
                return one
            found = found or one
    return found


def needs_words(found: Specifics) -> bool:
    """Whether comparing a text takes its other words: it has codes or negations, or is a sentence. Letters take those of both."""
    return bool(found.identifiers or found.negations) or _is_sentence(found)


def _identifiers(a: Specifics, b: Specifics) -> Difference | None:
    if not a.identifiers and not b.identifiers:
        return None
    left = _Leftover.of(a.identifiers, b.identifiers, relate_identifiers)
    mine = [x for x in left.mine if not _spelt_out(x, b)]
    theirs = [x for x in left.theirs if not _spelt_out(x, a)]
    if mine and theirs:
        rivals = any(relate_identifiers(x, y) == "rivals" for x in mine for y in theirs)
        if rivals and not _shares_strong(a, b):
            return _conflict("identifiers", mine, theirs, "identifiers")
        return _one_sided(mine, theirs)
    # an address is often left out; a model number says which one of many is meant
    more = mine or theirs
    if any(x.isalnum() or (a.identifiers and b.identifiers) for x in more):
        return _one_sided(mine, theirs)
    return _one_sided(*left.loose) if left.loose else None


def _figures(a: Specifics, b: Specifics) -> Difference | None:
    one, two = a.figures(), b.figures()
    if one == two:
        return None
    left = _Leftover.of(one, two, relate)
    mine = [x for x in left.mine if not _in_code(x, a, b)]
    theirs = [x for x in left.theirs if not _in_code(x, b, a)]
    if mine and theirs:
        rivals = next(((x, y) for x in mine for y in theirs if relate(x, y) == "rivals"), None)
        if rivals and not _shares_strong(a, b):
            sort = parse(rivals[0]).sort
            what = "dates" if sort in ("date", "time") else f"{sort}s"
            return _conflict(what, mine, theirs, "figures")
        return _one_sided(mine, theirs)
    if left.loose:
        return _one_sided(*left.loose)
    more = [x for x in mine or theirs if x not in a.ranks and x not in b.ranks]
    return _one_sided(more, []) if more else None


def _letters(a: Specifics, b: Specifics) -> Difference | None:
    """Letters of which each stands in one text only; an initial is met by a word that only the other has ("J." by "John")."""
    if not a.letters or not b.letters:
        return None
    firsts = {w[0] for w in b.words - a.words}, {w[0] for w in a.words - b.words}
    mine, theirs = sorted(a.letters - b.words - firsts[0]), sorted(b.letters - a.words - firsts[1])
    if not mine or not theirs:
        return None
    if a.prose and b.prose and not _rivals_in_company(a, b, {"letter"}):
        return _one_sided(mine, theirs)
    return _conflict("letters", mine, theirs, "letters")


def _exclusive(a: Specifics, b: Specifics) -> Difference | None:
    if a.exclusive == b.exclusive:
        return None
    mine, theirs = a.groups(), b.groups()
    rivals = {g for g in mine.keys() & theirs.keys() if not (mine[g] <= theirs[g] or theirs[g] <= mine[g])}
    if a.prose and b.prose and (_is_sentence(a) or _is_sentence(b)):
        rivals = _rivals_in_company(a, b, rivals)
    if not rivals:
        return None
    group = min(rivals)
    terms = " and ".join(sorted(map(_show, (mine[group], theirs[group]))))
    return Difference("conflict", f"The terms exclude each other: {terms}.", "terms")


def _opposites(a: Specifics, b: Specifics) -> Difference | None:
    """Words of one stem behind opposing prefixes. Statements that contradict each other so have little else that only one of them says."""
    mine, theirs = a.words - b.words, b.words - a.words
    if not mine or not theirs or max(len(mine), len(theirs)) > _BESIDE:
        return None
    pair = next(((x, y) for x in sorted(mine) for y in sorted(theirs) if opposites(x, y)), None)
    if pair is None or (a.prose and b.prose and len((a.words & b.words) - GRAMMAR) < _COMPANY):
        return None
    return Difference("conflict", f"The terms exclude each other: {' and '.join(sorted(pair))}.", "terms")


def _negations(a: Specifics, b: Specifics) -> Difference | None:
    """A negation on one side turns the text round when the other side has what is negated; otherwise it only says more."""
    one, two = _denies(a), _denies(b)
    if (one is None) == (two is None):
        return None
    denied, plain = (one, b) if one is not None else (two or _NONE, a)
    met = denied & {stem(w) for w in plain.words}
    if met or not any(denied):
        return Difference("conflict", f"Only one of them denies {_show(met) or 'it'}.", "negations")
    return _one_sided(["not"], [])


def _names(a: Specifics, b: Specifics) -> Difference | None:
    one, two = a.statement(), b.statement()
    exchanged = one and two and one.exchanged(two)
    return _conflict("names", [" ".join(exchanged[0])], [" ".join(exchanged[1])], "names") if exchanged else None


def _variants(a: Specifics, b: Specifics) -> Difference | None:
    if a.variants == b.variants:
        return None
    return _one_sided(sorted(a.variants - b.variants), sorted(b.variants - a.variants))


_RULES: Final = (_figures, _identifiers, _letters, _exclusive, _opposites, _negations, _names, _variants)


class _Leftover(NamedTuple):
    """What each of two sets says that the other does not; ``loose`` is a pair that fits without being the same."""

    mine: list[str]
    theirs: list[str]
    loose: tuple[list[str], list[str]] | None

    @classmethod
    def of(cls, a: frozenset[str], b: frozenset[str], relation: Callable[[str, str], Relation]) -> _Leftover:
        mine, theirs = sorted(a - b)[:_MOST], sorted(b - a)[:_MOST]
        every_a, every_b = sorted(a)[:_MOST], sorted(b)[:_MOST]
        loose: list[tuple[str, str]] = []

        def unmet(x: str, others: Sequence[str]) -> bool:
            relations = {relation(x, y): y for y in reversed(others)}
            if "same" not in relations and "fits" in relations:
                loose.append((x, relations["fits"]))
            return "same" not in relations and "fits" not in relations

        mine = [x for x in mine if unmet(x, every_b)]
        theirs = [y for y in theirs if unmet(y, every_a)]
        first = min((tuple(sorted(p)) for p in loose), default=None)
        return cls(mine, theirs, ([first[0]], [first[1]]) if first else None)


def _spelt_out(code: str, other: Specifics) -> bool:
    """Whether the other text writes a code in two words ("GPT 4"), or the code is one of its words with a slip of the finger."""
    parts = parts_of(code)
    if parts and parts[0] in other.words and any(parse(f).raw == parts[1] for f in other.figures()):
        return True
    return any(misspells(code, word) for word in other.words) if code.isalnum() else False


def _in_code(figure: str, own: Specifics, other: Specifics) -> bool:
    """Whether the other text has a bare figure in a code whose letters stand here as a word ("GPT-4" beside "GPT 4")."""
    return any(
        parts[0] in own.words and parts[1] == parse(figure).raw for c in other.identifiers if (parts := parts_of(c))
    )


def _shares_strong(a: Specifics, b: Specifics) -> bool:
    """Whether two names share an identifier that speaks louder than a number: a person has to look at them."""
    if _is_sentence(a) or _is_sentence(b):
        return False
    return any(map(is_strong, a.identifiers & b.identifiers))


def _is_sentence(a: Specifics) -> bool:
    statement = a.statement()
    return statement is not None and statement.sentence


def _denies(a: Specifics) -> frozenset[str] | None:
    """The stems that a text denies; None when it denies nothing. To refuse is to deny in a sentence only."""
    declined = a.declined if a.declined and _is_sentence(a) else _NONE
    return a.denied | declined if a.negations or declined else None


def _rivals_in_company(a: Specifics, b: Specifics, groups: Iterable[str]) -> set[str]:
    """The groups of which two statements use different terms beside the same word."""
    said = (s.company if (s := x.statement()) else frozenset() for x in (a, b))
    one, two = ({(group, beside): term for group, term, beside in sorted(s)} for s in said)
    return {g for g, beside in one.keys() & two.keys() if g in groups and one[g, beside] != two[g, beside]}


def _conflict(
    what: str, a: Iterable[str], b: Iterable[str], about: Literal["figures", "identifiers", "letters", "names"]
) -> Difference:
    return Difference("conflict", f"The {what} differ: {_show(a)} and {_show(b)}.", about)


def _one_sided(a: Iterable[str], b: Iterable[str]) -> Difference:
    a, b = list(a), list(b)
    if a and b:
        return Difference("one_sided", f"One states {_show(a)}, the other {_show(b)}.")
    return Difference("one_sided", f"Only one of them states {_show(a or b)}.")


def _show(values: Iterable[str]) -> str:
    return ", ".join(sorted(values))

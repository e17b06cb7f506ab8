"""A check whether two statements about one subject can both be true, and in what they differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import product
from typing import Final, Literal, NamedTuple

from slowwave.text.exclusions import Exclusion, exclusion, is_a, relations
from slowwave.text.figures import (
    Relation,
    in_words,
    is_strong,
    join_thousands,
    misspells,
    parse,
    parts_of,
    relate,
    relate_identifiers,
)
from slowwave.text.opposites import opposites
from slowwave.text.sameness_words import PERSONS, TURNS
from slowwave.text.specifics import Specifics, specifics
from slowwave.text.statements import stem
from slowwave.text.tokens import fold
from slowwave.text.words import CARDINALS, DENIALS, EXCLUSIVE, GRAMMAR, GROUPS, NATURES, NEGATIONS, TENS, words_of

# Differences: whether two texts contradict each other in a specific, or one states more than the other.
#
# Two texts *conflict* if both state a value and the values contradict each other ("PostgreSQL 15", "PostgreSQL 16"; "on", "off"; "works",
# "does not work"): matching never merges nor shows them. They are *one-sided* if one states more ("PostgreSQL", "PostgreSQL 16"), or each
# states a value of another kind ("46 inch", "1080p"): matching may show them, but never merges them without a review. Long names that
# share a model number and differ in another one are one-sided too, because a person can decide. This part does not decide whether two
# texts mean the same.

_NONE: Final[frozenset[str]] = frozenset()
_BESIDE: Final = 4  # maximum number of words that only one of the texts has, two of which are opposites
_COMPANY: Final = 2  # minimum number of content words that statements with opposites share
_MOST: Final = 64  # maximum number of differing figures that are compared pairwise; no name has as many


class Difference(NamedTuple):
    """A difference between two texts, with a sentence that describes it.

    ``about`` is the kind of value in conflict, empty if the difference is no conflict.
    """

    degree: Literal["conflict", "one_sided"]
    sentence: str
    about: Literal["", "figures", "identifiers", "letters", "terms", "negations", "names"] = ""


def difference(a: Specifics, b: Specifics) -> Difference | None:
    """Return the first conflict between two texts, else the first value that only one of them states, else None.

    The degree is the same in both directions, and a text never differs from itself. Time: linear in the specifics, except for differing
    figures and codes, of which at most 64 per side are compared with each other.
    """
    found: Difference | None = None
    for rule in _RULES_DIFFERENCES:
        one = rule(a, b)
        if one is not None:
            if one.degree == "conflict":
                return one
            found = found or one
    return found


def needs_words(found: Specifics) -> bool:
    """Return whether comparing a text needs its other words: it has codes or negations, or is a sentence.

    Comparing letters needs the words of both texts.
    """
    return bool(found.identifiers or found.negations) or _is_sentence(found)


def _identifiers(a: Specifics, b: Specifics) -> Difference | None:
    if not a.identifiers and not b.identifiers:
        return None
    left = _Leftover.from_sets(a.identifiers, b.identifiers, relate_identifiers)
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


def _compare_figures(a: Specifics, b: Specifics) -> Difference | None:
    one, two = a.figures(), b.figures()
    if one == two:
        return None
    left = _Leftover.from_sets(one, two, relate)
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
    """Compare single letters, of which each text has one that the other lacks.

    An initial matches a word that only the other text has ("J." and "John").
    """
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
    """Compare words of one stem with opposing prefixes.

    Statements that contradict each other in this way have few other words that only one of them has.
    """
    mine, theirs = a.words - b.words, b.words - a.words
    if not mine or not theirs or max(len(mine), len(theirs)) > _BESIDE:
        return None
    pair = next(((x, y) for x in sorted(mine) for y in sorted(theirs) if opposites(x, y)), None)
    if pair is None or (a.prose and b.prose and len((a.words & b.words) - GRAMMAR) < _COMPANY):
        return None
    return Difference("conflict", f"The terms exclude each other: {' and '.join(sorted(pair))}.", "terms")


def _compare_negations(a: Specifics, b: Specifics) -> Difference | None:
    """Compare negations: a negation on one side is a conflict if the other side states what it denies.

    Otherwise the negation is only an addition.
    """
    one, two = _denies(a), _denies(b)
    if (one is None) == (two is None):
        return None
    denied, plain = (one, b) if one is not None else (two or _NONE, a)
    met = denied & {stem(w) for w in plain.words}
    if met or not any(denied):
        return Difference("conflict", f"Only one of them denies {_show(met) or 'it'}.", "negations")
    return _one_sided(["not"], [])


def _compare_names(a: Specifics, b: Specifics) -> Difference | None:
    one, two = a.statement(), b.statement()
    exchanged = one and two and one.exchanged(two)
    return _conflict("names", [" ".join(exchanged[0])], [" ".join(exchanged[1])], "names") if exchanged else None


def _variants(a: Specifics, b: Specifics) -> Difference | None:
    if a.variants == b.variants:
        return None
    return _one_sided(sorted(a.variants - b.variants), sorted(b.variants - a.variants))


_RULES_DIFFERENCES: Final = (
    _compare_figures,
    _identifiers,
    _letters,
    _exclusive,
    _opposites,
    _compare_negations,
    _compare_names,
    _variants,
)


class _Leftover(NamedTuple):
    """The values of each of two sets that have no counterpart in the other.

    ``loose`` is a pair that fits without being the same.
    """

    mine: list[str]
    theirs: list[str]
    loose: tuple[list[str], list[str]] | None

    @classmethod
    def from_sets(cls, a: frozenset[str], b: frozenset[str], relation: Callable[[str, str], Relation]) -> _Leftover:
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
    """Return whether the other text writes a code as two words ("GPT 4"), or has the code as a word with a typing error."""
    parts = parts_of(code)
    if parts and parts[0] in other.words and any(parse(f).raw == parts[1] for f in other.figures()):
        return True
    return any(misspells(code, word) for word in other.words) if code.isalnum() else False


def _in_code(figure: str, own: Specifics, other: Specifics) -> bool:
    """Return whether the other text has a bare figure in a code whose letters are a separate word here ("GPT-4" and "GPT 4")."""
    return any(
        parts[0] in own.words and parts[1] == parse(figure).raw for c in other.identifiers if (parts := parts_of(c))
    )


def _shares_strong(a: Specifics, b: Specifics) -> bool:
    """Return whether two names share an identifier that outweighs a number, so that a person must review them."""
    if _is_sentence(a) or _is_sentence(b):
        return False
    return any(map(is_strong, a.identifiers & b.identifiers))


def _is_sentence(a: Specifics) -> bool:
    statement = a.statement()
    return statement is not None and statement.sentence


def _denies(a: Specifics) -> frozenset[str] | None:
    """Return the stems that a text denies, or None if it denies nothing. A refusal counts as denial only in a sentence."""
    declined = a.declined if a.declined and _is_sentence(a) else _NONE
    return a.denied | declined if a.negations or declined else None


def _rivals_in_company(a: Specifics, b: Specifics, groups: Iterable[str]) -> set[str]:
    """Return the groups of which two statements use different terms next to the same word."""
    companions = (s.company if (s := x.statement()) else frozenset() for x in (a, b))
    one, two = ({(group, beside): term for group, term, beside in sorted(s)} for s in companions)
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
    return ", ".join(map(in_words, sorted(values)))


# Replacements: whether two statements are identical except for one place, where words exclude each other.
#
# Example: "She ordered the tea at noon", "She ordered the lemonade at noon". ``slowwave.text.opposites`` knows which words exclude each
# other; this part knows their place in the statement. Members of a list, some of several items, questions, denials and other subjects can
# be true together.

_LONGEST_REPLACEMENTS: Final = 60  # maximum number of words of a statement
_WIDE: Final = 4  # maximum number of words of the place
_FRAME: Final = 2  # minimum number of other words that both share; a shorter text is a name
_MORE: Final = 3  # maximum number of content words that only one of them has elsewhere


class StatementLine(NamedTuple):
    """The words of a statement in order, without articles.

    ``words`` are the words and commas, folded except for names. ``stems`` are their stems, ``bag`` is the set of stems, and ``article``
    is the first word of the statement.
    """

    words: tuple[str, ...]
    stems: tuple[str, ...]
    bag: frozenset[str]
    article: str


class Place(NamedTuple):
    """The span in which two lines differ: from ``start`` to ``end`` in each."""

    start: tuple[int, int]
    end: tuple[int, int]


@lru_cache(maxsize=4_096)
def read_line(text: str) -> StatementLine | None:
    """Parse a statement; None for a question and for a statement that is too long. Time: 20 µs."""
    text = _AS_WELL.sub(" and ", text)
    if _ASKS.search(text) or _SAYS_NOTHING.match(text):
        return None
    words: list[str] = []
    first = ""
    for match in _TOKEN_REPLACEMENTS.finditer(text):
        written = match.group()
        word = fold(written)
        first = first or word
        if word in _ARTICLES:
            continue
        if len(words) == _LONGEST_REPLACEMENTS:
            return None
        opens = (
            not match.start() or _OPENS_REPLACEMENTS.search(text[max(0, match.start() - 3) : match.start()]) is not None
        )
        words.append(word if opens or not written.istitle() else written)
    stems = tuple(stem(fold(w)) for w in words)
    return StatementLine(tuple(words), stems, frozenset(stems), first)


def replaced(a: str, b: str) -> Exclusion | None:
    """Return how the words exclude each other that are the only difference between two statements.

    Returns None if they do not exclude each other, or if both statements can be true. The answer does not depend on the order of the
    arguments. Time: 5 µs for lines that differ in more, else 20 to 100 µs.
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
    """Return whether terms that exclude each other can both hold in two texts.

    This is so if both texts are questions, or if the terms are members of a list or some of several in otherwise identical statements.
    Time: as ``replaced``.
    """
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
    """Return whether the words around the place allow both lines to be true."""
    lines = ((line, place.start[k], place.end[k], terms[k]) for k, line in enumerate((one, two)))
    shared = len(one.words) - (place.end[0] - place.start[0])
    if how == "antonyms":
        return not shared or any(_is_open(line, _SOME) for line in (one, two))
    return shared < _FRAME or any(
        _is_open(line, _OPEN)
        or _is_subject(line, start)
        or _is_added(line, start)
        or _is_listed(line, start, end, term)
        for line, start, end, term in lines
    )


def _place(one: StatementLine, two: StatementLine) -> Place | None:
    """Return the only place where both lines have words that the other does not have there.

    Apart from that place, one of the lines may have additional words.
    """
    mine, theirs = one.bag - two.bag, two.bag - one.bag
    if not mine or not theirs or min(len(mine), len(theirs)) > _WIDE or max(len(mine), len(theirs)) > _WIDE + _MORE:
        return None
    a, b = one.stems, two.stems
    start = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    end = next((k for k, (x, y) in enumerate(zip(a[::-1], b[::-1], strict=False)) if x != y), 0)
    here, there = len(a) - end, len(b) - end
    if start < min(here, there) and max(here, there) - start <= _WIDE and set(a[start:here]).isdisjoint(b[start:there]):
        return Place((start, start), (here, there))
    own_words = (
        [w for w, s in zip(x.words, x.stems, strict=True) if s in own and w not in GRAMMAR]
        for x, own in ((one, mine), (two, theirs))
    )
    if not any(exclusion(x, y) for x, y in product(*own_words)):
        return None
    both = {w for w, s in zip(one.words, one.stems, strict=True) if s in two.bag}
    if both <= _NO_MATTER_REPLACEMENTS:
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
    """Return whether the lines differ only in the terms at the place.

    Nothing is denied, the place has no differing persons or times, and neither line has elsewhere the words of the other at the place.
    """
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
    persons_and_times = [
        {PERSONS.get(w) or TURNS.get(w) for w in here if w not in terms} - {None, "now"} for here, _ in sides
    ]
    return persons_and_times[0] == persons_and_times[1]


def _terms(one: StatementLine, two: StatementLine, place: Place) -> Iterator[tuple[str, str]]:
    """Yield the pair of terms at the place of the two lines.

    A term is a compound with the next or the previous word if this makes compounds of both, else the head of the content words. Yields
    nothing if one is a compound with another meaning ("French toast" and "dry toast").
    """
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
    """Return the content words, without adverbs unless there are only adverbs."""
    own = [w for w in words if w not in GRAMMAR and w.replace("-", "").isalpha()]
    return [w for w in own if not w.endswith("ly")] or own


def _joined(words: Sequence[str], start: int, end: int) -> str:
    if start < 0 or end > len(words) or end - start != 2:
        return ""
    return "_".join(words[start:end])


def _head(words: Sequence[str]) -> str:
    """Return the last two words if they form a compound, else the last word."""
    pair = "_".join(words[-2:])
    return pair if len(words) > 1 and relations(pair).bases else words[-1]


def _is_open(line: StatementLine, some: frozenset[str]) -> bool:
    """Return whether a line is about some of several items, so that the others may differ."""
    if line.words[0] in _FIRST or not some.isdisjoint(line.words):
        return True
    return any(w in _FIRST and after == "of" for w, after in zip(line.words, line.words[1:], strict=False))


def _is_subject(line: StatementLine, start: int) -> bool:
    """Return whether the term opens the statement behind a possessive or demonstrative ("my cat").

    Another term there means another subject. A line without any article may as well be a request ("check the list").
    """
    opens = all(w in _DETERMINERS for w in line.words[:start])
    return opens and line.article not in _ARTICLES


def _is_added(line: StatementLine, start: int) -> bool:
    """Return whether the term adds to existing items: a spare hoist, or one of the new items that somebody gets."""
    before = line.words[max(0, start - 2) : start]
    return bool(before) and (before[-1] in _ADDED or (before[-1] == "new" and before[0] in _GETS))


def _is_listed(line: StatementLine, start: int, end: int, term: str) -> bool:
    """Return whether a similar term is joined to it by "and", "or" or a comma."""
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
"""Questions, also without a question mark, courtesies, and remarks about an earlier statement."""

_TOKEN_REPLACEMENTS: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[,;&]")
_OPENS_REPLACEMENTS: Final = re.compile(r"[.!?:;\n][\"'“)]?\s*$")
_AS_WELL: Final = re.compile(r" (?:as well as|along with|together with|in addition to|plus) ")
_ARTICLES: Final = words_of("a an the")
_DETERMINERS: Final = words_of("my your his her its our their this that these those")
_JOINS: Final = words_of("and or nor , ; &")
_FIRST: Final = words_of("one some most half each")
_SOME: Final = words_of("another other others many few several sometimes either partly")
_OPEN: Final = _SOME | words_of("also too often usually besides additionally any")
_ADDED: Final = words_of("second third extra additional further spare")
_GETS: Final = words_of("get gets got getting gotten receive receives received")
_NO_MATTER_REPLACEMENTS: Final = GRAMMAR | PERSONS.keys() | words_of("please , ; &")
_DENIED: Final = NEGATIONS | DENIALS
_TURNED: Final = frozenset(TURNS) | NEGATIONS | DENIALS


# Contradictions: whether two statements about one subject can both be true, and in what they conflict.
#
# ``difference`` compares names and sentences about any two subjects. Here both texts are known to be about one subject, so the statement
# counts: its denials, its definition of the subject, its numbers and dates. A statement that says more or something else complements the
# other and does not contradict it. The caller must know which statements are about one subject.

Kind = Literal["number", "date", "time", "polarity", "object"]
"""Number: quantities, versions, ordinals or codes. Date: days, also with times. Time: times of day. Polarity: a denial, or terms that
exclude each other. Object: another name or thing in the same place, or another nature."""

_LONGEST: Final = 2_000  # maximum length in characters of a text
_READ: Final = 4_096
_CLAUSE: Final = 6  # maximum number of content words that a negation may negate
_MET: Final = 0.7  # share of a denied clause that the other text must contain
_DEFINED: Final = 12  # maximum number of words of a definition
_REACH: Final = 12  # words after a negation within which a figure is denied


def find(pairs: Iterable[tuple[str, str]]) -> list[Kind | None]:
    """Return the kind of contradiction for each pair of texts about one subject, or None.

    The answer does not depend on the order of a pair, and a text never contradicts itself. Time: 50 to 200 µs for each text and 20 to 60
    µs per pair; each text is parsed once while it is among the last 4,096. Of the figures that differ at most 64 per side are compared.
    """
    return [_kind(a, b) for a, b in pairs]


@lru_cache(maxsize=_READ)
def _kind(a: str, b: str) -> Kind | None:
    a, b = join_thousands(a[:_LONGEST]), join_thousands(b[:_LONGEST])
    if fold(a) == fold(b):
        return None
    one, two = (_read(a), _read(b)) if a <= b else (_read(b), _read(a))
    found: Kind | None = next((kind for rule in _RULES if (kind := rule(one, two))), None)
    twice = (_TWICE.search(a) is None) != (_TWICE.search(b) is None)
    return None if twice and found == "polarity" else found


class _Definition(NamedTuple):
    """The natures that a text gives its subject, and the exclusive terms among the words, by group."""

    natures: frozenset[str]
    terms: tuple[tuple[str, frozenset[str]], ...]


class _Text(NamedTuple):
    """A text with everything that comparisons need, extracted once.

    - ``stems`` are the stems of its words, ``denied`` the clauses that it denies, ``defined`` what it says its subject is.
    - ``bounded``: it has a number that is only a bound ("more than 100").
    - ``compared``: its words before and after a comparison.
    - ``named``: the one name that a short statement gives, as the folded words before the name, and the name.
    - ``denies_figure``: a number or date is part of what it denies.
    """

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
    """Compare numbers, dates, codes and names by the rules of ``difference``; negations have a separate rule."""
    found = difference(a.specifics, b.specifics)
    if found is None or found.degree != "conflict" or _denies_another_figure(a, b):
        return None
    if found.about == "figures":
        kind = kind_of_figures(a.specifics, b.specifics)
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
    """Return whether one text denies a clause with a figure and the other states another figure.

    Example: "signed in 2014" and "did not sign in 2018".
    """
    if a.denies_figure == b.denies_figure:
        return False
    found = difference(a.specifics, b.specifics)
    return found is not None and found.degree == "conflict" and found.about in ("figures", "identifiers")


def _apart(a: _Text, b: _Text) -> bool:
    """Return whether two short texts each have content of their own in addition to exclusive terms.

    Such texts are too short to be parsed as statements: "hiking in summer" and "skiing in winter" are compatible.
    """
    if a.specifics.statement() or b.specifics.statement():
        return False
    mine, theirs = a.stems - b.stems - _NO_MATTER, b.stems - a.stems - _NO_MATTER
    against = {word for x in mine for y in theirs if opposites(x, y) for word in (x, y)}
    mine, theirs = mine - against, theirs - against
    return all(any(EXCLUSIVE.keys().isdisjoint(word.split("-")) for word in own) for own in (mine, theirs))


def _turned(a: _Text, b: _Text) -> bool:
    """Return whether ``a`` denies the term whose opposite ``b`` states: something "not cold" can be hot."""
    if not a.denied or b.denied:
        return False
    own = (a.stems - b.stems) & _TERMS
    return any(not own.isdisjoint(clause) for clause in a.denied)


def kind_of_figures(a: Specifics, b: Specifics) -> Kind:
    """Return ``time`` if all figures that differ are times of day, ``date`` if they are days and times, else ``number``."""
    sorts = {parse(figure).sort for figure in a.figures() ^ b.figures()}
    return "time" if sorts == {"time"} else "date" if sorts and sorts <= {"date", "time"} else "number"


def _negations(a: _Text, b: _Text) -> Kind | None:
    """Detect a clause that one text denies and the other states, with all or most of its words.

    Clauses that both deny are ignored.
    """
    mine, theirs = set(a.denied) - set(b.denied), set(b.denied) - set(a.denied)
    if bool(mine) == bool(theirs) or _denies_another_figure(a, b):
        return None
    denied, plain = (mine, b.stems) if mine else (theirs, a.stems)
    return "polarity" if any(_says(plain, clause) for clause in denied) else None


def _says(plain: frozenset[str], clause: Sequence[str]) -> bool:
    """Return whether a text states a clause.

    A clause without content ("never") denies anything that the other text states. "Not open" and "closed" mean the same.
    """
    missing = [word for word in clause if not _met(word, plain)]
    if len(clause) - len(missing) < _MET * len(clause):
        return False
    return not any(_EXCLUDED.get(word, _NO_STEMS) & plain for word in missing)


def _met(word: str, plain: frozenset[str]) -> bool:
    """Return whether a stem, or another word of its family ("drum", "drummer"), is among those of a text."""
    if word in plain:
        return True
    return len(word) >= 4 and any(len(p) >= 4 and (p.startswith(word) or word.startswith(p)) for p in plain)


def _definitions(a: _Text, b: _Text) -> Kind | None:
    """Detect two definitions that exclude each other ("a singer", "a dog"; "an American film", "a German film")."""
    if not a.defined or not b.defined:
        return None
    if a.defined.natures and b.defined.natures and a.defined.natures.isdisjoint(b.defined.natures):
        return "object"
    other = dict(b.defined.terms)
    return "polarity" if any(g in other and terms.isdisjoint(other[g]) for g, terms in a.defined.terms) else None


def _comparisons(a: _Text, b: _Text) -> Kind | None:
    """Detect a comparison turned around in the same words: "tea over coffee", "coffee over tea".

    If the comparison is denied, both can hold.
    """
    if not a.compared or not b.compared or a.denied or b.denied:
        return None
    if a.compared[0] == b.compared[0] or sorted(sum(a.compared, ())) != sorted(sum(b.compared, ())):
        return None
    return "object"


def _names(a: _Text, b: _Text) -> Kind | None:
    """Detect short statements that give different names where only one can hold: home, employer, name.

    ``difference`` handles longer statements. Names that share the beginning of a word, or of which one abbreviates the other, may be one.
    """
    if not a.named or not b.named or a.named[0] != b.named[0]:
        return None
    one, two = (fold(t.named[1]).split() for t in (a, b) if t.named)
    if {w[:_LIKE] for w in one} & {w[:_LIKE] for w in two}:
        return None
    short = {"".join(w[0] for w in one), "".join(w[0] for w in two)} & {*one, *two}
    return None if short else "object"


def _words(a: _Text, b: _Text) -> Kind | None:
    """Detect statements that differ only in words of one kind or in antonyms: "ordered the tea", "ordered the lemonade"."""
    how = replaced(a.text, b.text)
    return None if how is None else "polarity" if how == "antonyms" else "object"


_RULES: Final[tuple[Callable[[_Text, _Text], Kind | None], ...]] = (
    *(_figures, _negations, _definitions),
    *(_comparisons, _names, _words),
)


def _denied(tokens: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the stems of the content words that each negation denies, up to the end of its clause."""
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
    """Return whether the clause of a negation has a number or date.

    Matches "did not sign in 2018", but not "does not open until 9", which states a time.
    """
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
    """Parse the words after the first "is a", up to a preposition, a relative clause or the end of the sentence."""
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
    """Return the words before and after the pivot of a comparison, each sorted alphabetically.

    The pivot is the only "than", or the only "than", "over" or "to" if the text has a form of "prefer". Words that say since when are left
    out ("now", "these days").
    """
    pivots = {"than", "over", "to"} if not _PREFERS.isdisjoint(tokens) else {"than"}
    places = [k for k, t in enumerate(tokens) if t in pivots]
    if len(places) != 1:
        return None
    words = [t if t[0].isalpha() and t not in _SINCE_WHEN else "" for t in tokens]
    before, behind = (tuple(sorted(filter(None, w))) for w in (words[: places[0]], words[places[0] + 1 :]))
    return (before, behind) if before and behind else None


def _heads(words: Sequence[str]) -> Iterator[str]:
    """Yield the last word of each part between commas, "and" and "or"."""
    for word, after in zip(words, [*words[1:], ","], strict=True):
        if after in (",", "and", "or"):
            yield word


_LIKE: Final = 3  # leading letters that two spellings of a name share
_PREFERS: Final = words_of("prefer prefers preferred")
_SINCE_WHEN: Final = words_of("now nowadays currently presently these days")
_NAMED: Final = re.compile(
    r"(?P<says>[^,;.!?\n]{1,40}?\b(?:(?:live|lives|living|based|born|raised) in|(?:work|works|working) (?:at|for|from)"
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
"""Double negation: someone who never forgets to do something does it."""

_EMPTY: Final = GRAMMAR | NEGATIONS | _DENIALS | words_of("longer anymore currently ever always")
_TERMS: Final = frozenset(map(stem, EXCLUSIVE))
_NO_STEMS: Final[frozenset[str]] = frozenset()
_EXCLUDED: Final = _excluded()
"""Stem of an exclusive term → stems of the terms that it excludes."""
_NO_MATTER: Final = frozenset(map(stem, (*EXCLUSIVE, *_EMPTY)))
_ENDS: Final = words_of(", ; . : ( ) ! ? -- but and or because while which who that although though when where if nor")
_TURNS: Final = words_of("until till before after")  # after these, a denied clause states when it begins to hold
_COPULAS: Final = words_of("is was are were")
_OPENS: Final = words_of("a an the only solely exclusively purely entirely")
_CLOSES: Final = words_of(
    "; . : ( ) ! ? -- of in at on for by with from to as who that which whose where when but because than about"
)

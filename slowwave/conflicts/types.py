"""Relationship types and predicates by their words: which way they run, whether they deny, and what they may be with.

"REPORTS_TO" and "manages" tell one relation from its two ends, "likes" and "dislikes" assert and deny one thing, "KNOWS" runs both
ways by itself. Words decide where there are words for it; how often edges of a type run both ways decides the rest. How many
objects a predicate takes is learnt by ``slowwave.scoring.predicates``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from slowwave.texts.statements import stem
from slowwave.texts.vocabulary import NEGATIONS, words_of

EDGES: Final = 50
"""Pairs of ends from which a type is learnt to run one way only."""

MUTUAL: Final = 0.02
"""Share of its pairs that run both ways, at most, for such a type."""


SORTED: Final = 10
"""Edges of a type between two sorts of things from which its direction between them is learnt."""


class TypeReading(NamedTuple):
    """``base`` is what a type is about, ``denies`` whether it says the contrary, ``flipped`` whether its ends are exchanged."""

    base: str
    denies: bool
    flipped: bool


@lru_cache(maxsize=65_536)
def read_type(key: str) -> TypeReading:
    """A type or predicate as ``slowwave.texts.keys`` writes it. An unknown one is about itself, by the stems of its words."""
    words = key.replace("_", " ").split()
    denies = any(w in NEGATIONS for w in words)
    kept = [w for w in words if w not in NEGATIONS and w not in _SMALL] or words
    for at, word in enumerate(kept):
        if word in _DENYING:
            kept = [*kept[:at], _DENYING[word], *kept[at + 1 :]]
            denies = not denies
            break
    phrase = " ".join(kept)
    if phrase in _INVERSE:
        return TypeReading(_base(_INVERSE[phrase].split()), denies, flipped=True)
    phrase = _SAME.get(phrase, phrase)
    kept = phrase.split()
    if len(kept) > 1 and kept[-1] == "by":
        return TypeReading(_base(kept[:-1]), denies, flipped=True)
    return TypeReading(_base(kept), denies, flipped=False)


def runs_one_way(base: str, pairs: int, mutual: int) -> bool:
    """Whether A → B rules out B → A: by the words, else when of 50 pairs of ends or more at most 2 % run both ways."""
    if base in _ONE_WAY or base.endswith((" at", " in")):
        return True
    return not runs_both_ways(base) and pairs >= EDGES and mutual <= MUTUAL * pairs


def runs_both_ways(base: str) -> bool:
    """Whether the words say that A → B is B → A as well."""
    return base in _BOTH_WAYS or base.endswith((" with", " together", " mutual"))


def runs_against(kinds_of: tuple[np.ndarray, np.ndarray], edges: np.ndarray) -> np.ndarray:
    """(n,): an edge between things of two sorts whose type runs the other way between these sorts, ten times or more and ten to one.

    ``kinds_of`` are the sorts of both ends (n,), ``edges`` (n,) the type. A meeting is held at a place, and no place at a meeting.
    """
    low, high = kinds_of
    width = int(max(low.max(initial=0), high.max(initial=0))) + 1
    way, back = (edges * width + low) * width + high, (edges * width + high) * width + low
    found, counts = np.unique(way, return_counts=True)
    at = np.minimum(np.searchsorted(found, back), max(len(found) - 1, 0))
    other = np.where(found[at] == back, counts[at], 0) if len(found) else np.zeros(0, np.int64)
    own = counts[np.searchsorted(found, way)] if len(found) else other
    return (low != high) & (other >= SORTED) & (own * SORTED <= other)


def single_by_name(key: str) -> bool:
    """Whether the words of a predicate say that it takes one object; they are asked where the data say too little."""
    words = [w for w in key.replace("_", " ").split() if w not in _SMALL]
    return " ".join(words) in _SINGLE


def many_by_name(key: str) -> bool:
    """Whether the words of a predicate say that it takes many objects, whatever the data: it says no more than that two things go
    together ("associated with", "mentions"), or runs both ways ("knows"), and is not one that takes one ("married to")."""
    base = read_type(key).base
    return not single_by_name(key) and (says_little(base) or runs_both_ways(base))


def says_little(base: str) -> bool:
    """Whether a base says no more than that two things go together: whatever else is said of them may be true beside it."""
    return base in _GENERIC


def mutual_pairs(source: np.ndarray, target: np.ndarray, kind: np.ndarray, kinds: int) -> tuple[np.ndarray, np.ndarray]:
    """Of edges (n,) with ends and type codes: unordered pairs of ends a type, and those of them that run both ways, (kinds,) each."""
    width = int(max(source.max(initial=0), target.max(initial=0))) + 1
    low, high = np.minimum(source, target), np.maximum(source, target)
    edges = np.unique(((kind * width + low) * width + high) * 2 + (source > target))
    pairs, ways = np.unique(edges // 2, return_counts=True)
    of = pairs // (width * width)
    return np.bincount(of, minlength=kinds), np.bincount(of[ways == 2], minlength=kinds)


def _base(words: Sequence[str]) -> str:
    return " ".join(stem(w) for w in words)


_SMALL: Final = words_of("is was are were be been being has have had do does did a an the longer currently")

_DENYING: Final = {
    denying: asserting
    for line in """
likes dislikes hates loathes
like dislike hate
trusts distrusts mistrusts
allows forbids prohibits disallows
accepts rejects
approves disapproves
supports opposes
agrees disagrees
includes excludes
believes disbelieves doubts
confirms refutes
enabled disabled
friend enemy
supported unsupported
compatible incompatible
related unrelated
""".strip().splitlines()
    for asserting, *others in [line.split()]
    for denying in others
}

_SAME: Final = {
    other: first
    for line in """
parent of|father of|mother of|parent
likes|loves|enjoys
report to|reports to|reports into
works for|works at|employed by|employee of|works in
owns|owner of
part of|belongs to|component of|subset of
located in|located at|situated in|based in
""".strip().splitlines()
    for first, *others in [line.split("|")]
    for other in others
}

_INVERSE: Final = {
    inverse: direct
    for line in """
parent of|child of|son of|daughter of|parent
report to|manages|manager of|supervises|supervisor of|boss of|leads
works for|employs|employer of
part of|contains|includes|part|consists of|comprises
owns|owned by|property of
before|after
precedes|follows after
larger than|smaller than
older than|younger than
ancestor of|descendant of
teaches|student of|taught by
""".strip().splitlines()
    for direct, *others in [line.split("|")]
    for inverse in others
    if inverse != direct
} | {"child of": "parent of"}

_ONE_WAY: Final = frozenset(
    _base(read.split())
    for read in """
parent of|report to|works for|part of|owns|before|precedes|larger than|older than|ancestor of|located in|member of|subsidiary of|born in
created|creator of|authored|author of|wrote|writes|founded|founder of|invented|discovered|produces|produced|acquired|supersedes|replaces
inherits from|derived from|installed at|kept at|hosted|capital of|king of|head of|chief of|causes|contained in|child of|invoiced
""".strip()
    .replace("\n", "|")
    .split("|")
)

_BOTH_WAYS: Final = frozenset(
    _base(read.split())
    for read in """
knows|know|met|meets|married to|married|spouse of|spouse|partner of|sibling of|sibling|brother of|sister of|friend of|friend|friends with
colleague of|colleague|related to|related|similar to|same as|equals|connected to|connected|linked to|adjacent to|neighbor of|neighbour of
near|close to|next to|relative of|cousin of|associated|associated to|competitor of|competes|rival of|opposite of|talks to|contacts|likes
trusts|helps|follows|mentions|references|calls|emails|loves|hates|admires|visits|borders|overlaps|interacts|synonym of|alias of
""".strip()
    .replace("\n", "|")
    .split("|")
)

_GENERIC: Final = frozenset(
    _base([w for w in read.split() if w not in _SMALL])
    for read in """
associated with|associated|associated to|association|related to|related|relates to|related with|relates|relation|has relation|relationship
linked to|linked with|links to|link|connected to|connected with|connected|connects to|connection|correlated with|similar to
co occurs with|co occurs|cooccurs with|cooccurs|co occurrence|cooccurrence|occurs with|occurs in|appears in|appears with|see also|about
mentions|mentioned|mentioned in|mentioned with|mentioned by|mentioned together|references|referenced by|refers to|cites|cited by|concerns
involves|involved in|discusses|discussed|discussed in|discussed with|tagged|tagged with|tag|topic|has topic|interacts with|interacted with
""".strip()
    .replace("\n", "|")
    .split("|")
)

_SINGLE: Final = frozenset(
    """
birthday|birth date|birthdate|date of birth|born on|born in|birthplace|birth place|place of birth|died on|died in|date of death|age|capital
capital city|headquarters|headquartered in|ceo|chief executive|mother|father|husband|wife|spouse|married to|blood type|height|lives in
lives at|resides in|home city|home address|located in|located at|based in|works for|works at|employed by|employer|reports to|due on
expires on|costs|founded in|founded on|starts on|ends on|deadline|price|status
""".strip()
    .replace("\n", "|")
    .split("|")
)

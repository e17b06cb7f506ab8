"""Who did what to whom: whether a sentence exchanges two parties of something that the texts behind it say otherwise.

"Ann paid Bob" and "Bob was paid by Ann" say the same, "Bob paid Ann" does not, though it has all of the words. Read are the words of
content around a verb or other word that both have: before it, after it or behind a preposition; passives are turned round. What no
source says the other way round is not judged here; added words belong to ``slowwave.texts.grounding``, two names to
``slowwave.texts.roles``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from slowwave.texts.sentences import sentences
from slowwave.texts.statements import stem
from slowwave.texts.tokens import fold
from slowwave.texts.vocabulary import GRAMMAR, words_of

_LONGEST: Final = 600  # characters of a sentence that is read
_MOST: Final = 40  # words of a clause that is read

Roles = Mapping[str, frozenset[str]]
"""Word → its roles: ``subject`` or ``object`` of the word that relates it, or the preposition that it stands behind."""


def exchanged_parties(claim: str, sources: Sequence[str]) -> tuple[str, ...]:
    """Pairs "ann, bob: paid" of ``claim`` whose roles a source has exchanged and none has as they are, sorted; empty when all is well.

    Time: linear in the texts; for each clause of the claim the clauses that share a word with it.
    """
    known: defaultdict[str, list[Roles]] = defaultdict(list)
    for source in sources:
        for word, roles in _read(source):
            known[word].append(roles)
    found: set[str] = set()
    for word, roles in _read(claim):
        theirs = known.get(word, ())
        found.update(f"{a}, {b}: {word}" for a, b in _exchanged(roles, theirs))
    return tuple(sorted(found))


def _exchanged(mine: Roles, theirs: Iterable[Roles]) -> Iterator[tuple[str, str]]:
    theirs = [t for t in theirs if len(mine.keys() & t.keys()) >= 2]
    words = sorted(mine.keys() & {w for t in theirs for w in t})
    for n, a in enumerate(words):
        for b in words[n + 1 :]:
            own = {(r, s) for r in mine[a] for s in mine[b] if r != s}
            said = {(r, s) for t in theirs if a in t and b in t for r in t[a] for s in t[b]}
            if any((s, r) in said for r, s in own) and not own & said:
                yield a, b


@lru_cache(maxsize=512)
def _read(text: str) -> tuple[tuple[str, Roles], ...]:
    """(stem of a word that relates others, what stands around it and how) for every clause of a text."""
    found: list[tuple[str, Roles]] = []
    for line in text.splitlines():
        for sentence in sentences(line):
            if len(sentence) <= _LONGEST:
                for clause in _CLAUSE.split(sentence):
                    found += _of(_WORD.findall(clause))
    return tuple(found)


def _of(words: Sequence[str]) -> Iterator[tuple[str, Roles]]:
    if len(words) > _MOST:
        return
    lows = [fold(w).removesuffix("'s") for w in words]
    content = [low not in GRAMMAR and low not in _PREPOSITIONS and low not in _AUXILIARIES for low in lows]
    for k, low in enumerate(lows):
        if not content[k] or not words[k][0].islower():
            continue
        passive = _is_passive(lows, k)
        roles: defaultdict[str, set[str]] = defaultdict(set)
        for n in range(len(lows)):
            if content[n] and n != k:
                role = _role(lows, content, n, k)
                roles[_base(lows[n])].add(_TURNED.get(role, role) if passive else role)
        yield _base(low), {w: frozenset(r) for w, r in roles.items() if len(r) == 1 and "with" not in r}


def _role(lows: Sequence[str], content: Sequence[bool], at: int, verb: int) -> str:
    """``subject``, ``object`` or the preposition that the word at ``at`` stands behind, looked for up to the verb. Behind a preposition
    that opens the clause the word before the verb is its subject ("On Monday Ann paid")."""
    start = verb if at > verb else -1
    for n in range(at - 1, start, -1):
        if lows[n] in _PREPOSITIONS:
            if n == 0 and sum(content[1:verb]) > 1 and not any(content[at + 1 : verb]):
                return "subject"
            return _SAME.get(lows[n], lows[n])
    return "object" if at > verb else "subject"


def _is_passive(lows: Sequence[str], verb: int) -> bool:
    """Whether the word is a participle that tells what is done to what stands before it."""
    word = lows[verb]
    if not (word.endswith(("ed", "en")) or word in _PARTICIPLES):
        return False
    if lows[verb + 1 : verb + 2] == ["by"]:
        return True
    before = lows[max(0, verb - 3) : verb]
    while before and (before[-1].endswith("ly") or before[-1] in _BETWEEN):
        before = before[:-1]
    return bool(before) and before[-1] in _BE


def _base(word: str) -> str:
    return _FORMS.get(word) or stem(word)


_WORD: Final = re.compile(r"\w+(?:['’-]\w+)*")
_CLAUSE: Final = re.compile(
    r"[,;:()–—]\s*|\s(?:and|but|while|whereas|because|since|when|whenever|although|though|so|if|who|which|whom|then)\s",
    re.IGNORECASE,
)
_PREPOSITIONS: Final = words_of("""
to from for by with than before after over under above below behind into onto on in at of against toward towards instead through via without
""")
_SAME: Final = {"towards": "to", "toward": "to", "into": "to", "onto": "to"}
_AUXILIARIES: Final = words_of(
    "be been being is are was were am has have had do does did will would can could may might must shall should get got"
)
_BE: Final = words_of("be been being is are was were am got get gets 's")
_BETWEEN: Final = words_of("not never also then already just still since later once first finally")
_TURNED: Final = {"subject": "object", "by": "subject"}
"""Role in a passive → the same party's role in the active: what stands before is what something is done to."""

_FORMS: Final[Mapping[str, str]] = {
    form: base
    for line in """
pay paid pays|give gave given gives giving|sell sold sells|buy bought buys|tell told tells|teach taught teaches
lend lent lends|send sent sends|beat beats beaten|win won wins|lead led leads|write wrote written writes writing
take took taken takes taking|see saw seen sees|meet met meets|leave left leaves leaving|lose lost loses losing
drive drove driven drives driving|bite bit bitten bites|throw threw thrown throws|catch caught catches
find found finds|build built builds|break broke broken breaks|choose chose chosen chooses|know knew known knows
hold held holds|bring brought brings|steal stole stolen steals|shoot shot shoots|hit hits hitting|feed fed feeds
forgive forgave forgiven|understand understood|overtake overtook overtaken|owe owes owed owing
hire hires hired hiring|sue sues sued suing|replace replaces replaced replacing
""".replace("\n", "|").split("|")
    if line
    for base, *forms in [line.split()]
    for form in (base, *forms)
}
_PARTICIPLES: Final = frozenset(
    words_of("""
paid sold bought told taught lent sent beat won led met left lost caught found built held brought shot hit fed understood
""")
)

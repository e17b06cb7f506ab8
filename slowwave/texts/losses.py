"""Losses: what of a text stands no longer in the text that comes after it, passage by passage and word by word, for people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from slowwave.texts.grounding import unsaid
from slowwave.texts.specifics import specifics
from slowwave.texts.structure import passages
from slowwave.texts.token_count import count

Mark = Literal["kept", "lost", "new"]

_COMPARED: Final = 400  # words of a passage that are compared one by one
_ALIKE: Final = 0.5
"""Share of the words of the shorter of two passages that stand in the other, from which one is the other reworded."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Words that stay, go or come."""

    mark: Mark
    text: str


@dataclass(frozen=True, slots=True)
class Losses:
    """``lines`` are the passages of the text in order, then those that are new; one that is reworded consists of several pieces.

    What is said twice and stands once is kept. ``lost`` of ``passages`` go, whole or reworded; ``tokens`` before and after; ``terms`` are
    specifics that neither ``after`` nor a text beside it states.
    """

    lines: tuple[tuple[Piece, ...], ...]
    passages: int
    lost: int
    tokens: tuple[int, int]
    terms: tuple[str, ...]


def losses(before: str, after: str, beside: Sequence[str] = ()) -> Losses:
    """Compare ``before`` with ``after``; a specific that one of the texts ``beside`` states is not among the terms.

    Time: linear in the passages; words are compared within passages that were reworded.
    """
    old, new = ([p.text.strip() for p in passages(text)] for text in (before, after))
    said = {_key(p) for p in old}
    stands = {_key(p) for p in new}
    stays = [_key(p) in stands for p in old]
    fresh = [p for p in new if _key(p) not in said]
    partner = _partners([p for p, kept in zip(old, stays, strict=True) if not kept], fresh)
    gone = iter(range(len(old)))
    lines: list[tuple[Piece, ...]] = []
    for text, kept in zip(old, stays, strict=True):
        if kept:
            lines.append((Piece("kept", text),))
            continue
        other = partner.get(next(gone))
        lines.append((Piece("lost", text),) if other is None else tuple(_words(text, fresh[other])))
    used = set(partner.values())
    lines += [(Piece("new", text),) for n, text in enumerate(fresh) if n not in used]
    terms = unsaid(specifics(before).terms(), [after, *beside])
    return Losses(tuple(lines), len(old), stays.count(False), (count(before), count(after)), tuple(sorted(terms)))


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


def _partners(gone: Sequence[str], fresh: Sequence[str]) -> dict[int, int]:
    """Place among those that go → place of the new passage that has most of its words, each once."""
    having: dict[str, list[int]] = defaultdict(list)
    words = [set(_key(text).split()[:_COMPARED]) for text in fresh]
    for n, own in enumerate(words):
        for word in own:
            having[word].append(n)
    found: dict[int, int] = {}
    taken: set[int] = set()
    for k, text in enumerate(gone):
        own = set(_key(text).split()[:_COMPARED])
        common = Counter(n for word in own if len(having[word]) <= 20 for n in having[word] if n not in taken)
        best = max(common, key=lambda n: (len(own & words[n]), -n), default=None)
        if best is not None and len(own & words[best]) >= _ALIKE * min(len(own), len(words[best])):
            found[k] = best
            taken.add(best)
    return found


def _words(before: str, after: str) -> Iterator[Piece]:
    old, new = before.split(), after.split()
    if max(len(old), len(new)) > _COMPARED:
        yield from (Piece("lost", before), Piece("new", after))
        return
    for how, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how == "equal":
            yield Piece("kept", " ".join(old[a:b]))
            continue
        if a < b:
            yield Piece("lost", " ".join(old[a:b]))
        if c < d:
            yield Piece("new", " ".join(new[c:d]))

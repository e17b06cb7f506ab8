"""Extractive summaries: the sentences of some texts that together say what is specific in them, word for word.

No model is asked and no word is changed, so nothing can be invented. What may be lost is said: an extract that has no room for every
specific is not ``complete``, and a source of which something is left out is not among those that it cites.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

from slowwave.texts.grounding import unsaid
from slowwave.texts.specifics import specifics
from slowwave.texts.statements import stem
from slowwave.texts.token_count import count
from slowwave.texts.tokens import normalise_name
from slowwave.texts.vocabulary import GRAMMAR, NEGATIONS

_NEWS: Final = 0.25
"""Share of a sentence's words of content that stand nowhere else, from which it tells something new."""

_LAST: Final = datetime.max.replace(tzinfo=UTC)
_BREAK: Final = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]»]*(?=\s)|(?<=[。！？])(?=\S)|\n+")
_ABBREVIATED: Final = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|no|nos|fig|approx|dept|est|etc|inc|ltd|co|corp|vol|ed|pp?|"
    r"jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|\b[a-z](?:\.[a-z])*)\.$",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(r"(?<=[;,:])\s+|\s+[–—]\s+")
_QUOTES: Final = "\"'”’)]»"
_ENDED: Final = (".", "!", "?", "…", "。", "！", "？", '"', "”", ")")


@dataclass(frozen=True, slots=True)
class Source:
    """A text with the id by which it is cited, and when it was told."""

    id: str
    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Extract:
    """``sentences`` of the sources in the order of time, and ``text``, which is these.

    ``cited`` are the ids of the sources of which nothing is left out: each of their sentences stands here, or says nothing specific
    and hardly a word that does not. ``missing`` are the specifics of the sources that the text does not say.
    """

    text: str
    cited: tuple[str, ...]
    sentences: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every specific of every source is in the text."""
        return not self.missing


def extract(sources: Sequence[Source], max_tokens: int) -> Extract:
    """The sentences that together keep every specific of the sources, each once, within ``max_tokens`` of ``token_count``.

    Chosen by greedy set cover: what brings most specifics a token goes first. Specifics are numbers, dates, versions, identifiers, names,
    what is denied, and which figure goes with which name. Then come the sentences that tell most that is new, while there is room.
    Sentences that differ only in case, spaces and the marks around them are one. A sentence that alone is too long is cut into clauses,
    never within one. Time: linear in the texts, and s · log s in their sentences while few gains change.
    """
    told = sorted(sources, key=lambda s: (s.at or _LAST, s.id))
    sentences = _sentences(told, max_tokens)
    chosen = _chosen(sentences, max_tokens)
    text = joined([s.text for s in chosen])
    said = frozenset[str]().union(*(s.says for s in chosen))
    words = frozenset[str]().union(*(s.words for s in chosen))
    terms = {s.id: specifics(s.text).terms() for s in told}
    missing = unsaid(frozenset[str]().union(*terms.values()), [text])
    owed: dict[str, bool] = {s.id: bool(text) and terms[s.id].isdisjoint(missing) for s in told}
    kept = {s.key for s in chosen}
    for s in sentences:
        if s.key not in kept and (s.says - said or _news(s, words) >= _NEWS):
            owed.update(dict.fromkeys(s.sources, False))
    cited = tuple(id_ for id_, whole in owed.items() if whole)
    return Extract(text, cited, tuple(s.text for s in chosen), tuple(sorted(missing)))


def joined(sentences: Sequence[str]) -> str:
    """Sentences as one text: a space after those that have an end, a new line after the others."""
    parts = [s + (" " if s.endswith(_ENDED) else "\n") for s in sentences]
    return "".join(parts).strip()


def split(text: str) -> list[str]:
    """The sentences of a text, without the space around them. Lines end sentences; initials and common abbreviations do not."""
    parts: list[str] = []
    start = 0
    for match in _BREAK.finditer(text):
        end = match.end()
        piece = text[start:end]
        if "\n" not in match[0] and (_ABBREVIATED.search(piece[-16:]) or _goes_on(text, end)):
            continue
        parts.append(piece)
        start = end
    parts.append(text[start:])
    return [p for part in parts if (p := part.strip())]


class _Sentence(NamedTuple):
    """``says`` are its specifics and what they go with, ``words`` the stems of its other words of content; ``sources`` all that have it."""

    at: int
    key: str
    text: str
    tokens: int
    says: frozenset[str]
    words: frozenset[str]
    sources: list[str]


def _sentences(told: Sequence[Source], max_tokens: int) -> list[_Sentence]:
    """Every sentence of the sources once, in their order."""
    pieces = [(s.id, piece) for s in told for part in split(s.text) for piece in _fitting(part, max_tokens)]
    found: dict[str, _Sentence] = {}
    for id_, piece in pieces:
        key = normalise_name(piece)
        if key in found:
            found[key].sources.append(id_)
        else:
            says, words = _read(piece)
            found[key] = _Sentence(len(found), key, piece, count(piece) + 1, says, words, [id_])
    return list(found.values())


def _fitting(sentence: str, max_tokens: int) -> Iterator[str]:
    if count(sentence) <= max_tokens:
        yield sentence
        return
    line = ""
    for clause in _CLAUSE.split(sentence):
        longer = f"{line} {clause}" if line else clause
        if line and count(longer) > max_tokens:
            yield line
            line = clause
        else:
            line = longer
    yield line


def _goes_on(text: str, end: int) -> bool:
    """Whether what follows a full stop begins small: then it ended no sentence."""
    after = text[end : end + 8].lstrip()
    return text[max(0, end - 4) : end].rstrip(_QUOTES).endswith((".", "…")) and after[:1].islower()


@lru_cache(maxsize=4096)
def _read(sentence: str) -> tuple[frozenset[str], frozenset[str]]:
    s = specifics(sentence)
    figures, names = s.figures() | s.identifiers, s.names
    says = s.terms() | {f"not {d}" for d in s.denied | s.declined} | {f"{n} · {f}" for n in names for f in figures}
    known = frozenset(w for name in names for w in name.split())
    return says, frozenset(stem(w) for w in s.words - known - GRAMMAR - NEGATIONS)


def _chosen(sentences: Sequence[_Sentence], max_tokens: int) -> list[_Sentence]:
    said: set[str] = set()
    chosen: dict[int, _Sentence] = {}
    left = max_tokens
    heap = [(-len(s.says) / s.tokens, s.at) for s in sentences if s.says]
    heapq.heapify(heap)
    while heap:
        bound, at = heapq.heappop(heap)
        s = sentences[at]
        gain = len(s.says - said) / s.tokens
        if not gain or s.tokens - 1 > left:
            continue
        if heap and -gain > heap[0][0] and -gain > bound:
            heapq.heappush(heap, (-gain, at))
            continue
        chosen[at] = s
        said |= s.says
        left -= s.tokens
    left += _drop_repeated(chosen)
    _add_news(sentences, chosen, left)
    return [chosen[at] for at in sorted(chosen)]


def _drop_repeated(chosen: dict[int, _Sentence]) -> int:
    """Take out sentences all of whose specifics the others say; returns the tokens that they had."""
    saved = 0
    times: dict[str, int] = {}
    for s in chosen.values():
        for term in s.says:
            times[term] = times.get(term, 0) + 1
    for at in sorted(chosen, key=lambda a: (len(chosen[a].says), -chosen[a].tokens, a)):
        s = chosen[at]
        if all(times[term] > 1 for term in s.says):
            saved += s.tokens
            del chosen[at]
            for term in s.says:
                times[term] -= 1
    return saved


def _add_news(sentences: Sequence[_Sentence], chosen: dict[int, _Sentence], left: int) -> None:
    """Add what tells most that is new, the earlier first among equals, while there is room."""
    words: set[str] = set().union(*(s.words for s in chosen.values()))
    heap = [(-float(len(s.words - words)), s.at) for s in sentences if s.at not in chosen]
    heapq.heapify(heap)
    while heap:
        bound, at = heapq.heappop(heap)
        s = sentences[at]
        news = len(s.words - words)
        if _news(s, words) < _NEWS or s.tokens - 1 > left:
            continue
        if -news > bound:
            heapq.heappush(heap, (-float(news), at))
            continue
        chosen[at] = s
        words |= s.words
        left -= s.tokens


def _news(sentence: _Sentence, words: frozenset[str] | set[str]) -> float:
    return len(sentence.words - words) / len(sentence.words) if sentence.words else 0.0

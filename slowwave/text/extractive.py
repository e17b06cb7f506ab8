"""Extractive summaries: passages of some texts that together keep their specifics word for word.

No model is used and no word is changed, so nothing can be invented. Losses are reported: an extract without space for every specific is
not ``complete``, and a source of which something is left out is not cited. ``slowwave.text.structure`` defines the passages and which of
them depend on which others.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

from slowwave.text.specifics import specifics, unsaid
from slowwave.text.statements import stem
from slowwave.text.structure import Passage, passages
from slowwave.text.tokens import BYTES_A_TOKEN, normalise_name
from slowwave.text.words import GRAMMAR, NEGATIONS

_NEWS: Final = 0.25
"""Share of a sentence's content words that must be new for the sentence to count as informative."""

_MOST_NEEDED: Final = 12
"""Maximum number of passages that one may require; a passage that needs more is not selected."""

_SEPARATOR: Final = 2  # bytes between two passages at most
_DAY: Final = 13  # bytes of a day at the beginning of a line
_RELATIVE: Final = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|this (?:morning|afternoon|evening|week|month))\b", re.IGNORECASE
)
_DATED: Final = re.compile(r"\d{4}-\d\d-\d\d: ")
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_ENDED: Final = (".", "!", "?", "…", "。", "！", "？", '"', "”", ")")


@dataclass(frozen=True, slots=True)
class Source:
    """A text with its citation id and the time when it was recorded."""

    id: str
    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Extract:
    """Selected sentences of the sources.

    - ``sentences`` are in the order of time, and ``text`` consists of them.
    - ``cited`` are the ids of the sources of which nothing is left out: each of their sentences is in the extract, or has no
      specifics and hardly a word that the extract lacks.
    - ``missing`` are the specifics of the sources that are not in the text.
    - ``statements``, for a dated text, are the source ids of each part that begins with a day, and of the part before the first day.
    """

    text: str
    cited: tuple[str, ...]
    sentences: tuple[str, ...]
    missing: tuple[str, ...] = ()
    statements: tuple[tuple[str, ...], ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether every specific of every source is in the text."""
        return not self.missing


def extract(sources: Sequence[Source], max_tokens: int, *, dated: bool = False) -> Extract:
    """Select the passages that together keep every specific of the sources, within ``max_tokens`` of ``token_count``.

    Specifics are numbers, dates, versions, identifiers, names, denied statements, and which figure belongs to which name. The selection
    is a greedy set cover: the passage with the most new specifics per byte is taken first, together with the passages that it depends on.
    The remaining space is filled with the passages that have the most new words. Sentences that differ only in case, spaces and
    surrounding marks count as one, and nothing is cut within a passage. With ``dated``, a passage of another day than the line before it
    starts a new line that begins with its day, so that "today" means that day.

    Time: linear in the texts, and s · log s in their s passages as long as few gains change.
    """
    ordered = sorted(sources, key=lambda s: (s.at or _LAST, s.id))
    found = _found(ordered)
    days = (
        {n: s.at.date().isoformat() for n, s in enumerate(ordered) if s.at and not _DATED.match(s.text)}
        if dated
        else {}
    )
    chosen = _Choice(found, max_tokens * BYTES_A_TOKEN - _DAY * len(set(days.values()))).made()
    text, statements = _joined(chosen, days)
    covered = frozenset[str]().union(*(s.says for s in chosen))
    words = frozenset[str]().union(*(s.words for s in chosen))
    terms = {s.id: specifics(s.text).terms() for s in ordered}
    missing = unsaid(frozenset[str]().union(*terms.values()), [text])
    owed: dict[str, bool] = {s.id: bool(text) and terms[s.id].isdisjoint(missing) for s in ordered}
    kept = {s.at for s in chosen}
    for s in found:
        if s.at not in kept and (s.says - covered or _adds(s, chosen, words, days)):
            owed.update(dict.fromkeys(s.sources, False))
    cited = tuple(id_ for id_, whole in owed.items() if whole)
    return Extract(text, cited, tuple(s.text for s in chosen), tuple(sorted(missing)), statements)


def split(text: str) -> list[str]:
    """Split a text into passages: sentences, items, rows, headings and blocks."""
    return [p.text.strip() for p in passages(text)]


class _Found(NamedTuple):
    """A passage of the sources.

    - ``says`` are its specifics and the names that they belong to, ``words`` the stems of its other content words.
    - ``sources`` are the ids of all sources that contain it.
    - ``brings`` are the positions of the passages that it depends on; None if it must not be selected by itself.
    """

    at: int
    text: str
    kind: str
    place: tuple[int, int, int]  # source, paragraph, line
    size: int
    says: frozenset[str]
    words: frozenset[str]
    sources: list[str]
    brings: frozenset[int] | None


def _found(ordered: Sequence[Source]) -> list[_Found]:
    """Return every distinct passage of the sources, in order.

    Passages that depend on others are equal only if those are equal too.
    """
    found: list[_Found] = []
    known: dict[tuple[str, ...], int] = {}
    for n, source in enumerate(ordered):
        own = passages(source.text)
        names = [normalise_name(p.text) for p in own]
        brought = [_brought(own, k) for k in range(len(own))]
        places: list[int] = []
        fresh: list[tuple[int, Passage, frozenset[int] | None]] = []
        for k, (p, brings) in enumerate(zip(own, brought, strict=True)):
            key = () if brings is None or not p.alone else (names[k], *(names[b] for b in sorted(brings)))
            if key in known:
                found_before = known[key]
                places.append(found_before)
                if found_before < len(found):
                    found[found_before].sources.append(source.id)
                continue
            at = len(found) + len(fresh)
            places.append(at)
            fresh.append((at, p, brings if p.alone else None))
            if key:
                known[key] = at
        for at, p, brings in fresh:
            says, words = _read(p.text)
            size = len(p.text.encode("utf-8", "replace")) + _SEPARATOR
            others = None if brings is None else frozenset(places[b] for b in brings) - {at}
            place = (n, p.paragraph, p.line)
            found.append(_Found(at, p.text, p.kind, place, size, says, words, [source.id], others))
    return found


def _brought(own: Sequence[Passage], place: int) -> frozenset[int] | None:
    """Return the positions of all passages that a passage depends on, or None if there are more than ``_MOST_NEEDED``."""
    brings: set[int] = set()
    left = list(own[place].needs)
    while left:
        k = left.pop()
        if k == place or k in brings:
            continue
        brings.add(k)
        if len(brings) > _MOST_NEEDED:
            return None
        left += own[k].needs
    return frozenset(brings)


@lru_cache(maxsize=4096)
def _read(sentence: str) -> tuple[frozenset[str], frozenset[str]]:
    s = specifics(sentence)
    figures, names = s.figures() | s.identifiers, s.names
    says = s.terms() | {f"not {d}" for d in s.denied | s.declined} | {f"{n} · {f}" for n in names for f in figures}
    known = frozenset(w for name in names for w in name.split())
    return says, frozenset(stem(w) for w in s.words - known - GRAMMAR - NEGATIONS)


@dataclass(slots=True)
class _Choice:
    """A selection of passages within ``left`` bytes; ``held`` counts, for each passage, the chosen ones that depend on it."""

    found: Sequence[_Found]
    left: int
    chosen: set[int] = field(default_factory=set[int])
    held: dict[int, int] = field(default_factory=lambda: defaultdict[int, int](int))
    bringing: dict[int, list[int]] = field(default_factory=lambda: defaultdict[int, list[int]](list))

    def made(self) -> list[_Found]:
        """Choose the passages and return them in order."""
        self.left += _SEPARATOR  # the last one needs none
        for s in self.found:
            for other in s.brings or ():
                self.bringing[other].append(s.at)
        self._cover()
        self._drop_repeated()
        self._add_news()
        return [self.found[at] for at in sorted(self.chosen)]

    def _with(self, s: _Found) -> list[_Found]:
        """Return a passage and the passages that it depends on and that are not chosen yet."""
        return [s, *(self.found[o] for o in s.brings or () if o not in self.chosen)]

    def _take(self, s: _Found, more: Sequence[_Found]) -> Iterable[int]:
        """Choose a passage with the passages that it depends on.

        Returns the positions of other passages that depend on some of them too and are cheaper now.
        """
        for m in more:
            self.chosen.add(m.at)
            self.left -= m.size
        for other in s.brings or ():
            self.held[other] += 1
        return (k for m in more for k in self.bringing[m.at] if k not in self.chosen)

    def _cover(self) -> None:
        covered: set[str] = set()

        def gain(s: _Found) -> tuple[float, list[_Found], int]:
            more = self._with(s)
            size = sum(m.size for m in more)
            says = s.says.union(*(m.says for m in more[1:])) if len(more) > 1 else s.says
            return len(says - covered) / size, more, size

        heap = [(-gain(s)[0], s.at) for s in self.found if s.brings is not None]
        heap = [(bound, at) for bound, at in heap if bound]
        heapq.heapify(heap)
        while heap:
            bound, at = heapq.heappop(heap)
            s = self.found[at]
            if at in self.chosen:
                continue
            value, more, size = gain(s)
            if not value or size > self.left:
                continue
            if heap and -value > heap[0][0] and -value > bound:
                heapq.heappush(heap, (-value, at))
                continue
            cheaper = list(self._take(s, more))
            covered.update(*(m.says for m in more))
            for k in cheaper:
                if again := gain(self.found[k])[0]:
                    heapq.heappush(heap, (-again, k))

    def _drop_repeated(self) -> None:
        """Remove passages whose specifics are all in the others and that no other passage depends on."""
        times: dict[str, int] = defaultdict(int)
        for at in self.chosen:
            for term in self.found[at].says:
                times[term] += 1
        for at in sorted(self.chosen, key=lambda a: (len(self.found[a].says), -self.found[a].size, a)):
            s = self.found[at]
            if s.brings is None or self.held[at] or not all(times[term] > 1 for term in s.says):
                continue
            if any(self.found[o].brings is None and self.held[o] == 1 for o in s.brings):
                continue  # its heading would remain without it
            self.chosen.remove(at)
            self.left += s.size
            for o in s.brings:
                self.held[o] -= 1
            for term in s.says:
                times[term] -= 1

    def _add_news(self) -> None:
        """Add the passages with the most new words while there is space, the earlier first if they are equal."""
        words: set[str] = set().union(*(self.found[at].words for at in self.chosen))
        heap = [
            (-float(len(s.words - words)), s.at) for s in self.found if s.brings is not None and s.at not in self.chosen
        ]
        heapq.heapify(heap)
        while heap:
            bound, at = heapq.heappop(heap)
            s = self.found[at]
            if at in self.chosen or _news(s, words) < _NEWS:
                continue
            more = self._with(s)
            if sum(m.size for m in more) > self.left:
                continue
            news = len(s.words - words)
            if -news > bound:
                heapq.heappush(heap, (-float(news), at))
                continue
            cheaper = list(self._take(s, more))
            words.update(*(m.words for m in more))
            for k in cheaper:
                heapq.heappush(heap, (-float(len(self.found[k].words - words)), k))


def _adds(sentence: _Found, chosen: Sequence[_Found], words: frozenset[str], days: Mapping[int, str]) -> bool:
    """Return whether a sentence adds something to the chosen ones.

    If the sentence has no specifics, a single chosen sentence must contain its words, because words spread over several sentences may be
    about anything. Only a question can repeat a question, and only a sentence of the same day can repeat one with "today".
    """
    if (relative := _RELATIVE.search(sentence.text)) and days:
        own = days.get(sentence.place[0])
        chosen = [s for s in chosen if days.get(s.place[0]) == own]
    if question := sentence.text.rstrip().endswith("?"):
        chosen = [s for s in chosen if s.text.rstrip().endswith("?")]
    if (sentence.says and not relative and not question) or not sentence.words:
        return _news(sentence, words) >= _NEWS
    return all(_news(sentence, s.words) >= _NEWS for s in chosen)


def _news(sentence: _Found, words: frozenset[str] | set[str]) -> float:
    return len(sentence.words - words) / len(sentence.words) if sentence.words else 0.0


def _joined(chosen: Sequence[_Found], days: Mapping[int, str]) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """Join the passages to one text and return it with the sources of its dated parts.

    Lines and paragraphs are kept. Prose of several sources follows in a row, or, if the sources have different ``days`` (source → day),
    on lines that begin with the day. The second value is empty if there are no days.
    """
    parts: list[str] = []
    dated_sources: list[dict[str, None]] = []
    for before, s in zip([None, *chosen], chosen, strict=False):
        source = s.place[0]
        new_day = bool(days) and (before is None or days.get(before.place[0], "") != days.get(source, ""))
        if before is not None:
            parts.append("\n" if new_day else _separator(before, s))
        if new_day:
            dated_sources.append({})
            parts.append(f"{days[source]}: " if source in days else "")
        if dated_sources:
            dated_sources[-1].update(dict.fromkeys(s.sources))
        parts.append(s.text)
    return "".join(parts).strip(), tuple(tuple(t) for t in dated_sources)


def _separator(before: _Found, s: _Found) -> str:
    if before.place == s.place:
        return " "
    if before.place[0] != s.place[0]:
        prose = before.kind == s.kind == "sentence"
        return " " if prose and before.text.endswith(_ENDED) else "\n"
    return "\n\n" if before.place[1] != s.place[1] else "\n"

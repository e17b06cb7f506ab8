"""Shorten a text by leaving out whole units, and never one without the units that limit it."""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from math import log2
from typing import Final

from slowwave.text.conditions import limits
from slowwave.text.sentences import Bond, assists, bond, courteous, lean, reacts, sentences, warns
from slowwave.text.specifics import specifics, unsaid
from slowwave.text.statements import stem
from slowwave.text.structure import KEY, MARKER, Passage, indent_of, last_person, passages
from slowwave.text.tokens import BYTES_A_TOKEN, count
from slowwave.text.words import GRAMMAR, NEGATIONS, OPENERS

# Units: the parts by which a text is shortened. Each is kept as a whole or left out, and each lists the units that it needs.
#
# A unit is a passage (``slowwave.text.structure``), or in a conversation a sentence with its speaker. In addition to what a passage needs,
# a unit needs the sentences that its connectives and pronouns refer to (``slowwave.text.sentences``): a consequence needs its cause, an
# answer its question, an assumption its retraction. Adjacent items form a list, so that a line can show that some are left out.

OMISSION: Final = "…"
"""The mark of omitted items, after the list mark of the first of them: "- …", "3. …", "| … | … |"."""

_OMITTED: Final = re.compile(r"\s*(?:(?:[-*+•‣◦▪●–—]|\(?\w{1,5}[.)])\s+|\|[\s|]*)?…[\s|…]*")
_STEP: Final = re.compile(
    r"\s*\(?\d{1,3}[.)]\s+[*_`]*(?:(?:Then|Next|Now|First|Finally),? )?([A-Za-z][a-z]+)[*_]*(?: \w+ly)? "
    r"(?:the|an?|it|them|this|these|that|your|all|any|no|each|every|both|to|into|on|in|at|for|from|with|[`\"'“*_<])"
)
"""A numbered item that begins with an instruction: a content word followed by its object."""

_MOST_STEPS: Final = 20
_ASKS: Final = re.compile(r"[?？][\"'”’)*_]*\s*$")
_LONGEST_LIMITED: Final = 20
_LIMITED: Final = 6
"""Maximum number of sentences of a paragraph that are kept with a sentence that limits them. In a longer paragraph only those before it
are kept."""

_IN_A_LINE: Final = 20
"""Maximum number of items of one line that are kept together; with more, the line is handled like any other list."""

_LABEL: Final = 4
"""Maximum number of words of an item, including its mark, that is a name and not a sentence that depends on another."""

_SPEAKERS: Final = 2
"""Minimum number of alternating speakers in a conversation, and of turns of one of them."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Part of a text that is kept whole or not at all.

    ``needs`` are the places of the units that this one needs; a unit that is not ``alone`` is kept only with a unit that needs it.
    ``line`` and ``paragraph`` count where it begins. ``list`` is the number of the list or table of which it is an item, or -1. A
    ``step`` is one of some steps that need each other. An ``omission`` only marks that items are left out.
    """

    text: str
    kind: str
    line: int
    paragraph: int
    needs: tuple[int, ...] = ()
    alone: bool = True
    list: int = -1
    step: bool = False
    omission: bool = False

    @property
    def asks(self) -> bool:
        """Return whether the unit is a question."""
        return _ASKS.search(self.text) is not None


def units(text: str) -> list[Unit]:
    """Split a text into its units, in order.

    Time: linear in the text.
    """
    return _bound(_listed(_spoken(passages(text))))


def mark_of(item: Unit) -> str:
    """Return the line that marks items from this one on as left out; empty if the item allows no such line."""
    if item.kind == "row":
        columns = item.text.strip().strip("|").count("|") + 1
        return "|" + f" {OMISSION} |" * columns if item.text.lstrip()[:1] == "|" else ""
    marker = MARKER.match(item.text)
    return item.text[: marker.end()] + OMISSION if marker else ""


def _spoken(found: Sequence[Passage]) -> list[Unit]:
    """Convert passages to units; a turn of a conversation becomes its speaker and one unit for each sentence."""
    keys = [_key(p) for p in found]
    times = Counter(k for k in keys if k)
    talks = len(times) >= _SPEAKERS and sum(times.values()) > len(times) and max(times.values()) >= _SPEAKERS
    made: list[Unit] = []
    talk: list[int] = []  # where turns begin
    at: list[int] = []  # index of a passage → index of its unit
    for p, key in zip(found, keys, strict=True):
        needs = tuple(at[n] if n < len(at) else -1 for n in p.needs)
        late = [n for n in p.needs if n >= len(at)]
        own = Unit(p.text, p.kind, p.line, p.paragraph, needs, p.alone)
        turn = KEY.match(p.text.split("\n", 1)[0]) if talks and key else None
        parts = sentences(p.text[turn.start("rest") :]) if turn and turn["rest"] else []
        if turn is None or not parts:
            at.append(len(made))
            made.append(
                replace(own, needs=tuple(-2 - n if n in late else m for n, m in zip(p.needs, needs, strict=True)))
            )
            continue
        speaker = len(made)
        made.append(
            replace(
                own,
                text=p.text[: turn.start("rest")].rstrip(),
                kind="speaker",
                alone=False,
                needs=tuple(n for n in needs if n >= 0),
            )
        )
        made += [Unit(s, "turn", p.line, p.paragraph, (speaker,)) for s in parts]
        talk.append(speaker)
        at.append(len(made) - 1)
    for k in range(talk[-1] if talk else 0):  # a question that the same speaker continues is incomplete alone
        if made[k].kind == "turn" and made[k].asks:
            made[k] = replace(made[k], alone=False)
    return [
        replace(u, needs=tuple(dict.fromkeys(at[-2 - n] if n < -1 else n for n in u.needs if n != -1))) for u in made
    ]


def _key(p: Passage) -> str:
    if p.kind != "item":
        return ""
    key = KEY.match(p.text.split("\n", 1)[0])
    return (
        key["key"].strip().casefold()
        if key and key["rest"] and not MARKER.match(p.text) and len(key["key"].split()) <= 3
        else ""
    )


def _bound(made: list[Unit]) -> list[Unit]:
    """Return the units with the needs of their connectives and pronouns added."""
    named: dict[int, tuple[bool, bool]] = {}
    limiting: list[int] = []
    before = -1  # the last sentence
    for k, u in enumerate(made):
        if u.kind in ("heading", "block"):
            if u.kind == "block" and before >= 0 and made[before].paragraph >= u.paragraph - 1:
                made[k] = replace(
                    u, needs=tuple(dict.fromkeys((*u.needs, before)))
                )  # the sentence that the unit illustrates
            before = -1
        elif (
            u.kind == "item"
            and before >= 0
            and made[before].kind == "item"
            and lean(u.text) in ("previous", "exception")
            and len(u.text.split()) > _LABEL
        ):
            made[k] = replace(u, needs=tuple(dict.fromkeys((*u.needs, before))))
        if u.kind == "item" and (limited := _limited_by(made, k, before)) >= 0:
            _bind(made, (limited, k))
        if u.kind not in ("sentence", "turn"):
            before = k if u.kind == "item" else before
            continue
        near = before >= 0 and (u.kind == "turn" or made[before].paragraph >= u.paragraph - 1)
        opens = u.kind == "turn" and made[k - 1].kind == "speaker"
        how: Bond = bond(u.text, answering=near and opens and made[before].asks)
        if near and opens and not how and reacts(u.text):
            how = "previous"
        needs = list(u.needs)
        if how == "next":
            after = next((n for n in range(k + 1, min(k + 3, len(made))) if made[n].kind == u.kind), -1)
            needs += [after] if after >= 0 and made[after].paragraph == u.paragraph else []
        elif how in ("person", "company"):
            needs += last_person(before, lambda n: "" if made[n].kind == "speaker" else made[n].text, named)
            needs += [before] if near and how == "company" else []
        elif how and near:
            needs.append(before)
        if how == "both" and near and (u.kind == "turn" or made[before].paragraph == u.paragraph):
            made[before] = replace(made[before], needs=tuple(dict.fromkeys((*made[before].needs, k))))
        made[k] = replace(u, needs=tuple(dict.fromkeys(n for n in needs if n != k)))
        reach = limits(u.text, made[before].text) if near else ""
        if reach == "sentence":
            _bind(made, (before, k))
        elif reach == "paragraph":
            limiting.append(k)
        before = k
    for k in limiting:
        _bind(made, _paragraph(made, k))
    return made


def _limited_by(made: Sequence[Unit], k: int, before: int) -> int:
    """Return the item that an item limits: the one above it, otherwise the one before it; -1 if there is none."""
    above = max((n for n in made[k].needs if n < k and made[n].kind == "item"), default=-1)
    place = above if above >= 0 else before
    beside = place >= 0 and made[place].kind == "item"
    return place if beside and limits(made[k].text, made[place].text) else -1


def _paragraph(made: Sequence[Unit], k: int) -> tuple[int, ...]:
    """Return the sentences of a paragraph or turn that one of them limits; in a long one those before it."""
    u = made[k]
    first = last = k
    while first and _beside(made[first - 1], u):
        first -= 1
    while last + 1 < len(made) and _beside(made[last + 1], u):
        last += 1
    if last - first >= _LONGEST_LIMITED:
        first, last = max(first, k - _LIMITED), k
    if first == k and k:  # a separate paragraph limits the one before it
        first = k - 1 if made[k - 1].kind == u.kind else k
    return tuple(range(first, last + 1))


def _beside(other: Unit, u: Unit) -> bool:
    return other.kind == u.kind and other.paragraph == u.paragraph and (u.kind != "turn" or other.line == u.line)


def _bind(made: list[Unit], places: Sequence[int]) -> None:
    """Make units need each other, so that they are kept or left out together."""
    for k in places:
        made[k] = replace(made[k], needs=tuple(dict.fromkeys((*made[k].needs, *(n for n in places if n != k)))))


def _listed(made: list[Unit]) -> list[Unit]:
    """Return the units with the numbers of their lists; items on one line need each other."""
    open_: list[tuple[int, int, int]] = []  # indent, the units above, number
    number = -1
    lines = Counter(u.line for u in made if u.kind == "item")
    for k, u in enumerate(made):
        if u.kind not in ("item", "row"):
            if u.kind != "block":
                open_ = []
            continue
        indent, under = indent_of(u.text), max((n for n in u.needs if n < k), default=-1)
        if u.kind == "item" and 1 < lines[u.line] <= _IN_A_LINE:
            beside = [
                n for n in range(max(0, k - lines[u.line]), min(len(made), k + lines[u.line])) if made[n].line == u.line
            ]
            made[k] = replace(u, needs=tuple(dict.fromkeys((*u.needs, *(n for n in beside if n != k)))))
            continue
        while open_ and (open_[-1][0] > indent or (open_[-1][0] == indent and open_[-1][1] != under)):
            open_.pop()
        if not open_ or open_[-1][0] < indent:
            number += 1
            open_.append((indent, under, number))
        made[k] = replace(u, list=open_[-1][2], omission=bool(_OMITTED.fullmatch(u.text)))
    return _stepped(made)


def _stepped(made: list[Unit]) -> list[Unit]:
    """Return the units with steps bound together: the items of a numbered list that mostly gives instructions."""
    lists: dict[int, list[int]] = defaultdict(list)
    for k, u in enumerate(made):
        if u.kind == "item" and u.list >= 0:
            lists[u.list].append(k)
    for places in lists.values():
        orders = sum(_orders(made[k].text) for k in places)
        if len(places) < 2 or len(places) > _MOST_STEPS or 2 * orders < len(places):
            continue
        if any(made[k].omission for k in places):
            continue
        for k in places:
            beside = [n for n in places if n != k]
            made[k] = replace(made[k], step=True, needs=tuple(dict.fromkeys((*made[k].needs, *beside))))
    # The code or items under a step are part of it.
    for k, u in enumerate(made):
        owner = max((n for n in u.needs if n < k and made[n].step), default=-1)
        if owner >= 0 and not u.step and u.kind in ("block", "item"):
            made[owner] = replace(made[owner], needs=tuple(dict.fromkeys((*made[owner].needs, k))))
    return made


def _orders(item: str) -> bool:
    found = _STEP.match(item)
    return bool(found) and found[1].lower() not in GRAMMAR | OPENERS


# Shortening: select whole units of a text within a token budget, with those that answer a question first, and no unit without those that it
# needs.
#
# No word is changed, so nothing can be invented. If a list or table loses items, a line shows it ("- …").
#
# The selection is budgeted maximum coverage, by greedy choice of value per byte or the best single unit (Khuller, Moss and Naor, 1999; for
# summaries Lin and Bilmes, 2010). It covers concepts, which count once however often they occur (Gillick and Favre, 2009): figures, names,
# denied statements, and words, with more weight for words that recur. Because units require other units, the bound of the literature does
# not hold.

_MOST_NEEDED: Final = 24
"""Maximum number of units that one unit may require; a unit that needs more is never selected."""

_SEPARATOR: Final = 2  # bytes between two units at most
_SPECIFIC: Final = 2.5
_WORD: Final = 0.2
_ASKED: Final = 2.0
_OPENING: Final = 4.0
_SECTION: Final = 1.0
_WARNING: Final = 1.5
_TOLD: Final = 1.0
"""Values of a figure, name or denial; of a word that occurs once; of a word that was asked for; of the start of the text, and of a
section; of a prohibition, command or warning; of a statement that a person makes to an assistant."""

_EXPONENT: Final = 0.8
"""Exponent of the bytes by which a unit's value is divided. A value below 1 prevents that two fragments are preferred to a long
sentence."""

_NEWS: Final = 0.1
"""Minimum share of a unit's value that must be new for the unit to be selected."""

_LEAST: Final = 0.15
"""Minimum value of an informative unit. Greetings, thanks and grammar words alone are below it."""

_FEW: Final = 2
"""Number of items that stay together, because half of such a short list is not a list."""

_ROUNDS: Final = 8
_QUESTIONS: Final = 20
_ANSWERS: Final = 5
"""Maximum number of questions, and of units that may answer each."""

_ADDRESS: Final = re.compile(r"\]\([^()\s]{1,500}\)|\bhttps?://\S+")


@dataclass(frozen=True, slots=True)
class Shortened:
    """Shortened text.

    ``text`` consists of ``units`` of the original, at ``places`` among all of its units. ``missing`` are the specifics that it no longer
    contains. The text is empty if no unit fits. It is empty as well if most of it is steps, blocks, and lists of which less than half
    could be kept: such a text cannot be shortened well to so few tokens.
    """

    text: str
    units: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    missing: tuple[str, ...] = ()


def shorten(text: str, max_tokens: int, questions: Sequence[str] = ()) -> Shortened:
    """Shorten a text to at most ``max_tokens`` of ``token_count``; return a text that is short enough unchanged.

    ``questions`` are those that the text has answered, the most important first. Their answers are kept first, then the opening of the
    text and the units with the highest value per byte. At least half of the items of a list stay, or none, except those that answer a
    question. Time: linear in the text, and u · log u in its units while few gains change.
    """
    found = units(text)
    if count(text) <= max_tokens:
        return Shortened(text, tuple(u.text for u in found), tuple(range(len(found))))
    pool = _Pool.from_units(found, questions)
    banned: set[int] = set()
    chosen: set[int] = set()
    for turn in range(_ROUNDS):
        choice = _Choice(pool, max_tokens * BYTES_A_TOKEN + _SEPARATOR, banned)
        chosen = choice.made()
        halves = _below_half(found, chosen, choice.pinned)
        if not halves:
            break
        banned |= halves if turn < _ROUNDS - 2 else {u.list for u in found if u.list >= 0}
    if _mostly_gone(pool, chosen, banned):
        chosen = set()
    short = _joined(found, chosen)
    missing = unsaid(specifics(text).terms(), [short])
    places = tuple(sorted(chosen))
    return Shortened(short, tuple(found[k].text for k in places), places, tuple(sorted(missing)))


@dataclass(frozen=True, slots=True)
class _Pool:
    """Units with their values.

    ``says`` are the concepts of each unit. ``brings`` are all units that each needs, or None if it is not taken by itself.
    """

    found: Sequence[Unit]
    says: Sequence[frozenset[str]]
    worth: Mapping[str, float]
    bonus: Sequence[float]
    brings: Sequence[frozenset[int] | None]
    answers: Sequence[Sequence[int]]  # for each question, the best first
    asked: frozenset[int]
    marks: Mapping[int, int]  # list → bytes of the line that marks omitted items

    @classmethod
    def from_units(cls, found: Sequence[Unit], questions: Sequence[str]) -> _Pool:
        """Rate the units.

        Time: linear in the units.
        """
        says = [frozenset[str]() if _empty(u) else _concepts(u.text) for u in found]
        times = Counter(c for own in says for c in own)
        asked = [w for q in questions[:_QUESTIONS] if (w := frozenset(c for c in _concepts(q) if c in times))]
        wanted = frozenset[str]().union(*asked)
        worth = {
            c: (_SPECIFIC if c[0] == "=" else _WORD * (1 + log2(n))) + (_ASKED if c in wanted else 0.0)
            for c, n in times.items()
        }
        answers = [_answering(found, says, times, q) for q in asked]
        brings = [_brought(found, k) if u.alone and not u.omission else None for k, u in enumerate(found)]
        marks: dict[int, int] = {}
        for u in found:
            if u.list >= 0:
                marks[u.list] = max(marks.get(u.list, 0), len(mark_of(u).encode("utf-8", "replace")) + _SEPARATOR)
        return cls(
            found, says, worth, _bonuses(found), brings, answers, frozenset(k for ks in answers for k in ks), marks
        )

    def size(self, u: Unit) -> int:
        """Return the bytes of a unit and its separator."""
        return len(u.text.encode("utf-8", "replace")) + _SEPARATOR

    def own(self, k: int) -> float:
        """Return the value of a unit by itself."""
        return sum(self.worth[c] for c in self.says[k])


@lru_cache(maxsize=4096)
def _concepts(text: str) -> frozenset[str]:
    """Return the figures, names and denials of a text, prefixed with "=", and the stems of its other words of content.

    Addresses are ignored.
    """
    s = specifics(_ADDRESS.sub("]", text))
    known = frozenset(w for name in s.names for w in name.split())
    terms = s.figures() | s.identifiers | s.names | {f"not {d}" for d in s.denied | s.declined}
    return frozenset(f"={t}" for t in terms) | {stem(w) for w in s.words - known - GRAMMAR - NEGATIONS}


def _empty(u: Unit) -> bool:
    return u.omission or u.kind == "speaker" or (u.kind in ("sentence", "turn") and courteous(u.text))


def _bonuses(found: Sequence[Unit]) -> list[float]:
    """Return (u,) extra values of units: for being the first of the text or of a section, and for warnings.

    In a conversation with an assistant, statements of the other speakers get one as well.
    """
    bonus = [_WARNING if u.kind not in ("heading", "block", "speaker") and warns(u.text) else 0.0 for u in found]
    assisted = any(u.kind == "speaker" and assists(u.text) for u in found)
    for k, u in enumerate(found):
        if assisted and u.kind == "turn" and not u.asks and not assists(found[u.needs[0]].text) and not _empty(u):
            bonus[k] += _TOLD
    fresh, value = True, _OPENING
    for k, u in enumerate(found):
        if u.kind == "heading":
            fresh = True
        elif fresh and u.alone and u.kind == "sentence":
            bonus[k] += value
            fresh, value = False, _SECTION
    return bonus


def _answering(
    found: Sequence[Unit], says: Sequence[frozenset[str]], times: Mapping[str, int], asked: frozenset[str]
) -> list[int]:
    """Return the units that best answer a question, by the share of its concepts that they contain.

    Rare words count more than common ones. Units down to half of the best score are returned. A question is replaced by the unit after
    it, a heading or label by the units under it.
    """
    total = sum(1 / times[c] for c in asked)
    scores = [sum(1 / times[c] for c in own & asked) for own in says]
    ranked = sorted((k for k, s in enumerate(scores) if s and not _empty(found[k])), key=lambda k: (-scores[k], k))
    if not ranked or (scores[ranked[0]] < total / 2 and len(says[ranked[0]] & asked) < 2):
        return []
    answers: dict[int, None] = {}
    for best in ranked[:_ANSWERS]:
        if 2 * scores[best] < scores[ranked[0]]:
            break
        if found[best].asks:
            behind = (k for k in range(best + 1, len(found)) if found[k].alone and not found[k].asks)
            answers.update(dict.fromkeys(islice(behind, 1)))
        elif found[best].alone:
            answers[best] = None
        else:
            under = (k for k, u in enumerate(found) if best in u.needs and u.alone)
            answers.update(dict.fromkeys(sorted(under, key=lambda k: (-scores[k], k))))
    answers.update(
        dict.fromkeys(n for n in found[ranked[0]].needs if found[n].alone)
    )  # the units that the best answer depends on
    return list(answers)


def _brought(found: Sequence[Unit], place: int) -> frozenset[int] | None:
    """Return the places of a unit and all units that it needs; None if they are more than ``_MOST_NEEDED``."""
    brings = {place}
    left = list(found[place].needs)
    while left:
        k = left.pop()
        if k in brings:
            continue
        brings.add(k)
        if len(brings) > _MOST_NEEDED:
            return None
        left += found[k].needs
    return frozenset(brings)


@dataclass(slots=True)
class _Choice:
    """The choice of units within ``left`` bytes."""

    pool: _Pool
    left: int
    banned: Collection[int]
    chosen: set[int] = field(default_factory=set[int])
    said: set[str] = field(default_factory=set[str])
    paid: set[int] = field(default_factory=set[int])  # lists whose omission mark is counted already
    pinned: set[int] = field(default_factory=set[int])  # units that answer a question

    def made(self) -> set[int]:
        """Return the places of the chosen units: answers first, then those with the highest value per byte.

        If one unit alone has a higher value, it is chosen before the others.
        """
        self._answer()
        room = self.left
        first, stated, paid = set(self.chosen), set(self.said), set(self.paid)
        self._greedy()
        alone = max(
            (k for k in range(len(self.pool.found)) if self._allowed(k) and self._cost(k, first) <= room),
            key=lambda k: (self._value([k], first), -k),
            default=-1,
        )
        if alone >= 0 and self._value([alone], first) > self._value(self.chosen, first):
            self.left, self.chosen, self.said, self.paid = room, first, stated, paid
            self._take(alone)
            self._greedy()
        return self.chosen

    def _answer(self) -> None:
        """Choose what answers each question best, or the next that fits."""
        for ranked in self.pool.answers:
            for k in ranked:
                if k in self.chosen or self._take(k):
                    self.pinned.add(k)
                    break

    def _allowed(self, k: int) -> bool:
        brings = self.pool.brings[k]
        if brings is None:
            return False
        return not any(self.pool.found[b].list in self.banned and b not in self.pool.asked for b in brings)

    def _value(self, places: Iterable[int], without: Collection[int]) -> float:
        """Return the joint value of units and all units that they need, not counting those in ``without``."""
        new = {b for k in places for b in self.pool.brings[k] or ()} - set(without)
        there = frozenset[str]().union(*(self.pool.says[k] for k in without))
        concepts = frozenset[str]().union(*(self.pool.says[k] for k in new)) - there
        return sum(self.pool.worth[c] for c in concepts) + sum(self.pool.bonus[k] for k in new)

    def _cost(self, k: int, there: Collection[int]) -> int:
        new = [b for b in self.pool.brings[k] or () if b not in there]
        lists = {self.pool.found[b].list for b in new} - self.paid - {-1}
        return sum(self.pool.size(self.pool.found[b]) for b in new) + sum(self.pool.marks[n] for n in lists)

    def _gain(self, k: int) -> tuple[float, float]:
        """Return the value that a unit adds to the chosen ones, and that value relative to its bytes."""
        new = [b for b in self.pool.brings[k] or () if b not in self.chosen]
        concepts = {c for b in new for c in self.pool.says[b]} - self.said
        gain = sum(self.pool.worth[c] for c in concepts) + sum(self.pool.bonus[b] for b in new)
        return gain, gain / max(1, self._cost(k, self.chosen)) ** _EXPONENT

    def _take(self, k: int) -> Sequence[int]:
        """Choose a unit with what it brings, where there is room; what is new."""
        brings = self.pool.brings[k]
        cost = self._cost(k, self.chosen)
        if brings is None or k in self.chosen or cost > self.left:
            return ()
        new = [b for b in brings if b not in self.chosen]
        self.left -= cost
        self.chosen.update(new)
        for b in new:
            self.said |= self.pool.says[b]
            self.paid.add(self.pool.found[b].list)
        return new

    def _greedy(self) -> None:
        bringing: dict[int, list[int]] = defaultdict(list)
        heap: list[tuple[float, int]] = []
        for k in range(len(self.pool.found)):
            if k not in self.chosen and self._allowed(k):
                for b in self.pool.brings[k] or ():
                    bringing[b].append(k)
                heap.append((-self._gain(k)[1], k))
        heapq.heapify(heap)
        while heap:
            bound, k = heapq.heappop(heap)
            if k in self.chosen:
                continue
            gain, ratio = self._gain(k)
            if (
                gain < max(_LEAST, _NEWS * self.pool.own(k))
                or self.pool.own(k) < _LEAST
                or self._cost(k, self.chosen) > self.left
            ):
                continue
            if heap and -ratio > heap[0][0] and -ratio > bound:
                heapq.heappush(heap, (-ratio, k))
                continue
            for b in self._take(k):  # units that share a needed unit cost less now
                for other in bringing[b]:
                    if other not in self.chosen:
                        heapq.heappush(heap, (-self._gain(other)[1], other))


def _mostly_gone(pool: _Pool, chosen: Collection[int], banned: Collection[int]) -> bool:
    """Return whether most of a text is lists, steps and blocks that could not be kept.

    Only the text around them would be left.
    """
    gone = {u.list for k, u in enumerate(pool.found) if u.step and k not in chosen} | set(banned)
    whole = lost = 0
    for k, u in enumerate(pool.found):
        whole += pool.size(u)
        if k not in chosen and not u.omission and (u.kind == "block" or u.list in gone):
            lost += pool.size(u)
    return 2 * lost > whole


def _below_half(found: Sequence[Unit], chosen: Collection[int], asked: Collection[int]) -> set[int]:
    """Return the lists of which some items are chosen but less than half, except lists with a chosen item that was asked for."""
    whole = Counter(u.list for u in found if u.list >= 0 and not u.omission)
    kept = Counter(found[k].list for k in chosen if found[k].list >= 0 and k not in asked)
    pinned = {found[k].list for k in chosen if k in asked}
    return {n for n, times in kept.items() if times < max(whole[n] / 2, min(whole[n], _FEW)) and n not in pinned}


def _joined(found: Sequence[Unit], chosen: Collection[int]) -> str:
    """Join the chosen units into one text.

    They stay on separate lines and in separate paragraphs as before. The first gap of a list gets its omission mark.
    """
    lists = {found[k].list for k in chosen} - {-1}
    marked: set[int] = set()
    parts: list[str] = []
    before: Unit | None = None
    for k, u in enumerate(found):
        text = u.text
        if k not in chosen:
            mark = mark_of(u) if u.list in lists and u.list not in marked else ""
            if not mark:
                continue
            marked.add(u.list)
            text = mark
        if before is not None:
            parts.append(_separator(before, u))
        parts.append(text)
        before = u
    return "".join(parts).strip()


def _separator(before: Unit, u: Unit) -> str:
    if (before.paragraph, before.line) == (u.paragraph, u.line):
        return " "
    return "\n\n" if before.paragraph != u.paragraph else "\n"

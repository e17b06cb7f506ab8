"""Units: what a text is shortened by, each whole or not at all, and what each does not stand without.

A unit is a passage (``slowwave.texts.structure``); of a conversation it is a sentence with whoever says it. To what a passage needs come
the sentences that its connectives and pronouns point at (``slowwave.texts.connectives``): a consequence its cause, an answer its
question, an assumption what took it back. Items beside each other make a list, so that it can be said where some are left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from slowwave.texts.anaphora import lean, people
from slowwave.texts.conditions import limits
from slowwave.texts.connectives import Bond, bond, reacts
from slowwave.texts.line_kinds import KEY, MARKER, indent_of
from slowwave.texts.passage import Passage
from slowwave.texts.sentences import sentences
from slowwave.texts.structure import passages
from slowwave.texts.vocabulary import GRAMMAR, OPENERS

OMISSION: Final = "…"
"""What stands for items that are left out, behind the mark of the first of them: "- …", "3. …", "| … | … |"."""

_OMITTED: Final = re.compile(r"\s*(?:(?:[-*+•‣◦▪●–—]|\(?\w{1,5}[.)])\s+|\|[\s|]*)?…[\s|…]*")
_PRONOUN: Final = re.compile(r"[\s\"'“*_]*(it|they|its|their)\b", re.IGNORECASE)
_STEP: Final = re.compile(
    r"\s*\(?\d{1,3}[.)]\s+[*_`]*(?:(?:Then|Next|Now|First|Finally),? )?([A-Za-z][a-z]+)[*_]*(?: \w+ly)? "
    r"(?:the|an?|it|them|this|these|that|your|all|any|no|each|every|both|to|into|on|in|at|for|from|with|[`\"'“*_<])"
)
"""A numbered item that begins with an order: a word that is none of grammar, with its object behind it."""

_COUNTS: Final = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|several|following|below|zwei|drei|vier|folgende\w?|deux|trois|suivante?s?|dos|tres)\b",
    re.IGNORECASE,
)
_MOST_STEPS: Final = 20
_ASKS: Final = re.compile(r"[?？][\"'”’)*_]*\s*$")
_REMEMBERED: Final = 60
"""Units in which whoever a pronoun means is looked for."""

_LONGEST_LIMITED: Final = 20
_LIMITED: Final = 6
"""Sentences of a paragraph that are kept together for one that limits the others, and those before it in a longer paragraph."""

_IN_A_LINE: Final = 20
"""Items of one line that are kept together; more are a list like any other."""

_LABEL: Final = 4
"""Words of an item, its mark among them, that is a name and no sentence that leans on another."""

_SPEAKERS: Final = 2
"""Names that take turns in a conversation, at least; and how often one of them speaks."""


@dataclass(frozen=True, slots=True)
class Unit:
    """``needs`` are places of units without which this one does not stand; one that is not ``alone`` comes only with what needs it.

    ``line`` and ``paragraph`` count where it begins. ``list`` is the number of the list or table that it is an item of, -1 for none.
    ``step``: it is one of some steps, which need each other. ``omission``: it only says that items are left out.
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
        """Whether it is a question."""
        return _ASKS.search(self.text) is not None


def units(text: str) -> list[Unit]:
    """The units of a text in their order. Time: linear in the text."""
    return _bound(_listed(_spoken(passages(text))))


def mark_of(item: Unit) -> str:
    """The line that says that items from this one on are left out; empty where none can be said."""
    if item.kind == "row":
        columns = item.text.strip().strip("|").count("|") + 1
        return "|" + f" {OMISSION} |" * columns if item.text.lstrip()[:1] == "|" else ""
    marker = MARKER.match(item.text)
    return item.text[: marker.end()] + OMISSION if marker else ""


def _spoken(found: Sequence[Passage]) -> list[Unit]:
    """The passages as units, turns of a conversation sentence by sentence behind their speaker."""
    keys = [_key(p) for p in found]
    times = Counter(k for k in keys if k)
    talks = len(times) >= _SPEAKERS and sum(times.values()) > len(times) and max(times.values()) >= _SPEAKERS
    made: list[Unit] = []
    talk: list[int] = []  # where turns begin
    at: list[int] = []  # place of a passage → place of the unit that stands for it
    for p, key in zip(found, keys, strict=True):
        needs = tuple(at[n] if n < len(at) else -1 for n in p.needs)
        late = [n for n in p.needs if n >= len(at)]
        own = Unit(p.text, p.kind, p.line, p.paragraph, needs, p.alone)
        said = KEY.match(p.text.split("\n", 1)[0]) if talks and key else None
        parts = sentences(p.text[said.start("rest") :]) if said and said["rest"] else []
        if said is None or not parts:
            at.append(len(made))
            made.append(
                replace(own, needs=tuple(-2 - n if n in late else m for n, m in zip(p.needs, needs, strict=True)))
            )
            continue
        speaker = len(made)
        made.append(
            replace(
                own,
                text=p.text[: said.start("rest")].rstrip(),
                kind="speaker",
                alone=False,
                needs=tuple(n for n in needs if n >= 0),
            )
        )
        made += [Unit(s, "turn", p.line, p.paragraph, (speaker,)) for s in parts]
        talk.append(speaker)
        at.append(len(made) - 1)
    for k in range(talk[-1] if talk else 0):  # a question after which somebody goes on says nothing by itself
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
    """The units with what their connectives and pronouns need."""
    named: dict[int, tuple[bool, bool]] = {}
    limiting: list[int] = []
    before = -1  # the last sentence
    for k, u in enumerate(made):
        if u.kind in ("heading", "block"):
            if u.kind == "block" and before >= 0 and made[before].paragraph >= u.paragraph - 1:
                made[k] = replace(u, needs=tuple(dict.fromkeys((*u.needs, before))))  # what it shows
            before = -1
        elif (
            u.kind == "item"
            and before >= 0
            and made[before].kind == "item"
            and lean(u.text) in ("previous", "exception")
            and len(u.text.split()) > _LABEL
        ):
            head = _same_subject(made, before, u) or (before,)
            made[k] = replace(u, needs=tuple(dict.fromkeys((*u.needs, *head))))
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
            needs += _whoever(made, named, before)
            needs += [before] if near and how == "company" else []
        elif how and near:
            head = _same_subject(made, before, u) if how == "previous" else ()
            needs = [n for n in needs if n != before or not head] + list(head or (before,))
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
    """The item that an item limits: what it stands under, else the one before it; -1 for none."""
    above = max((n for n in made[k].needs if n < k and made[n].kind == "item"), default=-1)
    place = above if above >= 0 else before
    beside = place >= 0 and made[place].kind == "item"
    return place if beside and limits(made[k].text, made[place].text) else -1


def _paragraph(made: Sequence[Unit], k: int) -> tuple[int, ...]:
    """The sentences of a paragraph or turn that one of them limits; of a long one those before it."""
    u = made[k]
    first = last = k
    while first and _beside(made[first - 1], u):
        first -= 1
    while last + 1 < len(made) and _beside(made[last + 1], u):
        last += 1
    if last - first >= _LONGEST_LIMITED:
        first, last = max(first, k - _LIMITED), k
    if first == k and k:  # a paragraph of its own limits the one before it
        first = k - 1 if made[k - 1].kind == u.kind else k
    return tuple(range(first, last + 1))


def _beside(other: Unit, u: Unit) -> bool:
    return other.kind == u.kind and other.paragraph == u.paragraph and (u.kind != "turn" or other.line == u.line)


def _bind(made: list[Unit], places: Sequence[int]) -> None:
    """Have units need each other, so that they are kept or left out together."""
    for k in places:
        made[k] = replace(made[k], needs=tuple(dict.fromkeys((*made[k].needs, *(n for n in places if n != k)))))


def _same_subject(made: Sequence[Unit], before: int, u: Unit) -> tuple[int, ...]:
    """What the sentence before needs, where both begin with the same pronoun: "It …. It …." speak of one thing."""
    one, two = _PRONOUN.match(made[before].text), _PRONOUN.match(u.text)
    if not one or not two or one[1][:2].lower() != two[1][:2].lower() or made[before].paragraph != u.paragraph:
        return ()
    return tuple(n for n in made[before].needs if n < before and made[n].kind in ("sentence", "turn", "item"))


def _whoever(made: Sequence[Unit], named: dict[int, tuple[bool, bool]], before: int) -> list[int]:
    """The units that named somebody last, for certain and perhaps."""
    perhaps = -1
    for place in range(before, max(-1, before - _REMEMBERED), -1):
        if place not in named:
            named[place] = people(made[place].text[:400]) if made[place].kind != "speaker" else (False, False)
        sure, may = named[place]
        if sure:
            return sorted({place, perhaps} - {-1})
        if may and perhaps < 0:
            perhaps = place
    return [perhaps] if perhaps >= 0 else [before] * (before >= 0)


def _listed(made: list[Unit]) -> list[Unit]:
    """The units with the numbers of their lists; items that stand in one line need each other."""
    open_: list[tuple[int, int, int]] = []  # indent, what they stand under, number
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
    return _stepped(_led(made))


def _led(made: list[Unit]) -> list[Unit]:
    """The units, a list with the sentence before it; one that counts or announces items is a part of their list: "There are two ways."."""
    for k, u in enumerate(made[:-1]):
        after = made[k + 1]
        if u.kind != "sentence" or after.list < 0 or after.paragraph > u.paragraph + 1:
            continue
        if _COUNTS.search(u.text):
            made[k] = replace(u, alone=False)
        for n in range(k + 1, len(made)):
            if made[n].list == after.list:
                made[n] = replace(made[n], needs=tuple(dict.fromkeys((*made[n].needs, k))))
            elif made[n].kind in ("heading", "sentence"):
                break
    return made


def _stepped(made: list[Unit]) -> list[Unit]:
    """The units with steps bound together: of a numbered list that tells for the greater part what to do."""
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
    # What stands under a step, its code or its items, is part of it.
    for k, u in enumerate(made):
        owner = max((n for n in u.needs if n < k and made[n].step), default=-1)
        if owner >= 0 and not u.step and u.kind in ("block", "item"):
            made[owner] = replace(made[owner], needs=tuple(dict.fromkeys((*made[owner].needs, k))))
    return made


def _orders(item: str) -> bool:
    found = _STEP.match(item)
    return bool(found) and found[1].lower() not in GRAMMAR | OPENERS

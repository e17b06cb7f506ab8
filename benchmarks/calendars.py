"""Conversations with a calendar of facts: people tell an assistant a hundred facts each over ten weeks, tell them again, change some of
them and contradict a few, amid talk that says nothing. ``calendar_facts.toml`` has the words.

A fact has one value at a time. The question about it is asked at the end: the value then is its answer, those before are stale.
What a night does to them belongs to ``benchmarks.nights``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.vocabulary import Dice

WORDS: Final = Path(__file__).with_name("calendar_facts.toml")
DAYS: Final = 70
OTHERS: Final = 12
FACTS: Final = 100

_FRIENDS: Final = (
    *(
        "Aurelia",
        "Bastian",
        "Carmela",
        "Dorian",
        "Estelle",
        "Fabian",
        "Giselle",
        "Hamish",
        "Imelda",
        "Jasper",
        "Katrin",
        "Lorenzo",
    ),
    *(
        "Marguerite",
        "Niamh",
        "Ottoline",
        "Percival",
        "Quentin",
        "Rosalind",
        "Stellan",
        "Thandiwe",
        "Ulrike",
        "Valentin",
        "Winifred",
    ),
)
_AGAIN: Final = 0.6  # of the facts are told again
_CHANGED: Final = 0.45  # of those that can change do
_TWICE: Final = 0.2  # of these change twice
_PLAIN: Final = 0.25  # of the changes are told as if it had always been so
_JOINED: Final = 0.15  # of the statements stand beside talk
_CHATS: Final = 3  # a day


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of a conversation."""

    at: datetime
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the value that answers it, those that did before, and of whom it is asked (empty: of who asks)."""

    question: str
    answer: str
    stale: tuple[str, ...]
    who: str

    def tells(self, text: str, others: Sequence[str]) -> bool:
        """Whether the text tells the answer; one about another person than asked for does not."""
        return self._names(text, others) and _says(text, self.answer)

    def misleads(self, text: str, others: Sequence[str]) -> bool:
        """Whether the text tells a value that is over, and not the one that came after."""
        return self._names(text, others) and not _says(text, self.answer) and any(_says(text, v) for v in self.stale)

    def _names(self, text: str, others: Sequence[str]) -> bool:
        return _says(text, self.who) if self.who else not any(_says(text, name) for name in others)


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that one person and the assistant said, who else is spoken of, and what is asked at the end."""

    name: str
    turns: tuple[Said, ...]
    others: tuple[str, ...]
    asked: tuple[Asked, ...]


def conversations(count: int, end: datetime) -> Iterator[Conversation]:
    """``count`` conversations of ``DAYS`` days until ``end``; the same for the same count and end."""
    with WORDS.open("rb") as file:
        words = tomllib.load(file)
    for number in range(count):
        yield _conversation(number, words, end)


def _conversation(number: int, words: Mapping[str, Any], end: datetime) -> Conversation:
    dice = Dice("calendar", number)
    others = tuple(dice.sample(_FRIENDS, OTHERS))
    of_self = [(fact, "") for fact in words["fact"] if fact["of"] == "self"]
    of_others = [(fact, who) for fact in words["fact"] if fact["of"] == "other" for who in others]
    chosen = of_self + dice.sample(of_others, FACTS - len(of_self))
    free = {name: dice.shuffled(values) for name, values in words["values"].items()}
    said: list[tuple[int, str]] = []
    asked: list[Asked] = []
    for fact, who in chosen:
        values, told = _calendar(fact, who, free[fact["values"]], dice)
        said += told
        asked.append(Asked(fact["asks"].format(who=who), values[-1], tuple(values[:-1]), who))
    return Conversation(f"calendar-{number:02}", tuple(_turns(said, words["talk"], end, dice)), others, tuple(asked))


def _calendar(
    fact: Mapping[str, Any], who: str, free: list[str], dice: Dice
) -> tuple[list[str], list[tuple[int, str]]]:
    """The values of a fact in their order, and on which day what is said of it. Values of a list go round: no two facts share one."""

    def new() -> str:
        free.append(free.pop(0))
        return free[-1]

    def say(kind: str, value: str, old: str = "") -> str:
        return str(dice.pick(fact[kind])).format(v=value, old=old, who=who)

    value, day = new(), dice.between(0, 20)
    values, told = [value], [(day, say("told", value))]
    changes = (1 + dice.chance(_TWICE)) if fact["changed"] and dice.chance(_CHANGED) else 0
    again = dice.chance(_AGAIN)
    for part in range(changes + 1):
        last = DAYS - 1 if part == changes else min(DAYS - 1, day + dice.between(12, 25))
        if again:
            told += [(dice.between(min(day + 1, last), last), say("again", value)) for _ in range(dice.between(1, 3))]
        if part < changes:
            old, value, day = value, new(), last
            values.append(value)
            told.append((day, say("plain" if dice.chance(_PLAIN) else "changed", value, old)))
    return values, told


def _turns(said: Sequence[tuple[int, str]], talk: Mapping[str, Any], end: datetime, dice: Dice) -> Iterator[Said]:
    """What is said, a day after the other, each answered, with talk in between."""
    for day in range(DAYS):
        texts = [text for when, text in said if when == day]
        texts = [f"{_chat(talk, dice)} {text}" if dice.chance(_JOINED) else text for text in texts]
        at = (end - timedelta(days=DAYS - 1 - day)).replace(hour=8, minute=0, second=0, microsecond=0)
        for text in dice.shuffled([*texts, *(_chat(talk, dice) for _ in range(_CHATS))]):
            for role, words in (("user", text), ("assistant", _reply(talk, dice))):
                at += timedelta(minutes=dice.between(1, 6))
                yield Said(at, role, words)


def _chat(talk: Mapping[str, Any], dice: Dice) -> str:
    return str(dice.pick(talk["chat"])).format(
        **{slot: dice.pick(talk[slot]) for slot in ("much", "hour", "when", "matter")}
    )


def _reply(talk: Mapping[str, Any], dice: Dice) -> str:
    parts = [dice.pick(talk[part]) for part in ("opening", "advice", "closing") if dice.chance(0.75)]
    return " ".join(parts or [dice.pick(talk["advice"])]).format(n=dice.between(2, 30))


def _says(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None

"""Values that a statement declares to be over ("I switched from Todoist to Bear", "chai instead of espresso").

An earlier statement ends if it is a plain statement in the present, states the value, and has the same owner and the same matter.
Questions, denials, plans, reports by others and single events do not end. Nor do statements about another thing of the kind ("guest
bathroom", "master bathroom"). The rules favour precision over recall. The words are in ``ended_values.toml``. Linear in the texts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from slowwave.text.date_values import DAYS
from slowwave.text.names import is_given, is_plain
from slowwave.text.sentences import sentences
from slowwave.text.statements import stem
from slowwave.text.subjects import (
    ARTICLES,
    COMMON,
    CONTRACTED,
    STOPS,
    WORD,
    are_about_others,
    are_apart,
    is_open,
    is_own,
    is_present,
    is_wish,
    matter,
    names,
    persons,
    said,
    says_new,
    stating,
    without_later,
)
from slowwave.text.tokens import fold
from slowwave.text.words import CARDINALS, words_of

_LONGEST: Final = 500  # maximum length in characters of a sentence
_MOST_WORDS: Final = 4  # maximum number of words of a value
_SHORT: Final = 12  # maximum number of words of a statement in which the value is the object

_FILE: Final[Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("ended_values.toml").read_text(encoding="utf-8")
)
_WORDS: Final[Mapping[str, str]] = {name: text.replace("\n", "") for name, text in _FILE["words"].items()}


def _markers(side: str) -> tuple[tuple[str, bool], ...]:
    """Return the markers before or behind a value, each with whether it is sure evidence of its end."""
    return tuple((_FILE[side][name].replace("\n", ""), name == "sure") for name in ("sure", "doubted"))


_VALUE: Final = rf"(?P<value>{WORD}(?:\s+{WORD}){{0,5}})"
_LED_BY: Final = rf"(?:(?:{_WORDS['determiner']})\s+)*"

_BEFORE: Final = tuple(
    (re.compile(rf"\b(?:{markers})\s+{_LED_BY}{_VALUE}", re.IGNORECASE), sure) for markers, sure in _markers("before")
)
_BEHIND: Final = tuple(
    (re.compile(rf"(?:(?<=\w)\s+|(?=:))(?:{markers})", re.IGNORECASE), sure) for markers, sure in _markers("behind")
)
_DENIED: Final = (
    re.compile(
        rf"(?:,|\band|\bnow|[—–-]) not (?:at |in |on |for |with )?{_LED_BY}{_VALUE}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:was|were)\s+{_LED_BY}{_VALUE}?(?=\s+(?:before|until|till|so far)\b)",
        re.IGNORECASE,
    ),
    re.compile(  # "no longer pays in dollars", "no longer eats meat", "no longer vegetarian"
        rf"\bno longer\s+(?:{_LED_BY}{WORD}s?\s+(?=(?:in|at|on|with|for|to|the|a|an|my|our)\s|{WORD}\s*(?:[,.;:!?]|$)))?"
        rf"{_LED_BY}{_VALUE}",
        re.IGNORECASE,
    ),
)
_FOR_A_WHILE: Final = re.compile(rf"\b(?:{_WORDS['while']})", re.IGNORECASE)
_BREAK: Final = re.compile(r"[,;:!?()]\s|\.\s")
_TOKEN: Final = re.compile(WORD)
_REACH: Final = 120  # characters before a marker that are checked
_MOST_BEFORE: Final = 6  # maximum number of words there
_PLACED: Final = frozenset(("on", "in", "at"))
_LOOSE: Final = frozenset(("from", "near", "of", "about", "than", "like", "past", "outside"))
_GOES: Final = words_of(
    "go goes going went move moves moved moving commute commutes travel travels subscribe subscribed belong"
)
_OF_DAYS: Final = re.compile(r"\b(?:(?:to|yester)day|tonight|this \w+|last \w+)['’]s\b", re.IGNORECASE)
_DENIES: Final = re.compile(r"n['’]t$|^(?:not|never)$", re.IGNORECASE)

TRIGGER: Final = re.compile(rf"(?i)(?:\b|^|[,—–-])(?:{_WORDS['hint']})")
"""A pattern that occurs in every text that declares something to be over; also valid in RE2."""


class EndedValue(NamedTuple):
    """Value that is no longer current: its folded ``words`` and the sentence that states its end.

    ``moved`` are the stems of what has left the value ("moved the backups from Oslo"), empty if the sentence names nothing.
    """

    words: tuple[str, ...]
    sentence: str
    moved: frozenset[str] = frozenset()


def ended_values(text: str) -> tuple[EndedValue, ...]:
    """Return the values that a text states are over, in order.

    Time: 50 µs per sentence with a word of an end.
    """
    found: dict[tuple[str, ...], EndedValue] = {}
    if TRIGGER.search(text):
        changed = says_new(without_later(text))
        for sentence in sentences(without_later(text)):
            if len(sentence) <= _LONGEST and _is_stated(sentence):
                for words, sure, moved in _read(sentence):
                    value = _value(words)
                    if value and (sure or (not _is_days(value) and (changed or _is_named(value, sentence)))):
                        folded = tuple(map(fold, value))
                        found.setdefault(folded, EndedValue(folded, sentence, matter(moved)))
    return tuple(found.values())


def ends(earlier: str, value: EndedValue) -> bool:
    """Return whether an earlier memory ends with the value: it states that value and nothing else.

    Time: 50 µs per sentence.
    """
    sentence = ended_sentence(earlier, value)
    if sentence is None or len(stating(earlier)) > 1:
        return False
    return not _is_one_of_several(without_later(sentence), value.words)


def ended_sentence(earlier: str, value: EndedValue) -> str | None:
    """Return the one sentence of an earlier text that ends with the value; None if there is none or more than one."""
    found = [s for s in stating(earlier) if len(s) <= _LONGEST and _sentence_ends(without_later(s), value)]
    return found[0] if len(found) == 1 else None


def _sentence_ends(sentence: str, value: EndedValue) -> bool:
    if _at(sentence, value.words) is None or not _is_held_as(sentence, value.sentence):
        return False
    if not _of_one(sentence, value) or are_apart(sentence, value.sentence):
        return False
    if are_about_others(sentence, value.sentence, without=(*value.words, *persons(sentence))):
        return False
    own = _matter(sentence, value)
    if value.moved and own and own.isdisjoint(value.moved):
        return False
    if own & _matter(value.sentence, value):
        return True
    figure = all(w in CARDINALS or not any(map(str.isalpha, w)) for w in value.words)
    return not figure and _is_object(sentence, value.words)


def _matter(sentence: str, value: EndedValue) -> frozenset[str]:
    """Return the words of content of a sentence without the value and without persons, who occur in many sentences."""
    return matter(sentence, (*value.words, *persons(sentence)))


def _is_one_of_several(sentence: str, words: Sequence[str]) -> bool:
    """Return whether a value is part of a list: "I play the cello and the oboe"."""
    value = r"\W+".join(map(re.escape, words))
    joined = r"(?:and|or|as well as|plus|&)"
    return (
        re.search(
            rf"\b{value}(?:,[^,.;]{{1,40}})*,?\s+{joined}\s|\s{joined}\s+(?:(?:{_WORDS['determiner']})\s+)*{value}\b",
            fold(sentence),
        )
        is not None
    )


def _is_stated(sentence: str) -> bool:
    """Return whether a sentence states a fact or a wish.

    It must be neither temporary ("I gave up sugar for a month") nor an event of a day ("Today's class is cancelled").
    """
    passing = _FOR_A_WHILE.search(sentence) or _OF_DAYS.search(sentence)
    return (not is_open(sentence) or is_wish(sentence)) and passing is None


def _is_held_as(earlier: str, later: str) -> bool:
    """Return whether an earlier sentence may have held the value that the later one ends.

    A wish ends only wishes.
    """
    return is_wish(earlier) if is_wish(later) else is_present(earlier)


def _read(sentence: str) -> list[tuple[list[str], bool, str]]:
    """Return the words next to each marker, whether the marker is sure of an end, and what it states has moved."""
    found = [
        (m["value"].split(), sure, m.groupdict().get("moved") or "")
        for pattern, sure in _BEFORE
        for m in pattern.finditer(sentence)
    ]
    found += [(m["value"].split(), True, "") for pattern in _DENIED for m in pattern.finditer(sentence) if m["value"]]
    for pattern, sure in _BEHIND:
        for m in pattern.finditer(sentence):
            before = _BREAK.split(sentence[max(0, m.start() - _REACH) : m.start()])[-1]
            found.append((_led(" ".join(_TOKEN.findall(before)[-_MOST_BEFORE:])), sure, ""))
    return found


def _led(said: str) -> list[str]:
    """Return the words nearest before a marker, back to a word that cannot be part of a value."""
    led: list[str] = []
    for word in reversed(said.split()):
        if fold(word) in _PLACED and led:  # in "the plant on my desk died" the plant died
            led = []
        elif _DENIES.search(word):
            led = led[:-1] or led  # in "don't use Evernote any more" the verb is not part of the value
            break
        elif _stops(word) or len(led) == _MOST_WORDS:
            break
        else:
            led.append(word)
    while led and fold(led[-1]) in ARTICLES:
        led.pop()
    return led[::-1]


def _stops(word: str) -> bool:
    """Return whether a word cannot be part of a value."""
    return fold(word) in STOPS or CONTRACTED.match(word) is not None


def _value(said: Sequence[str]) -> list[str]:
    """Return the words up to the first that cannot be part of a value; empty if all of them are common words."""
    words: list[str] = []
    for word in said:
        if _stops(word) or len(words) == _MOST_WORDS:
            break
        words.append(word)
    return [] if all(fold(w) in COMMON for w in words) else words


def _is_days(words: Sequence[str]) -> bool:
    """Return whether a value is only days of the week: "closed on Mondays" gives a time and not what is over."""
    return all(fold(w).removesuffix("s") in DAYS for w in words)


def _is_named(words: Sequence[str], sentence: str) -> bool:
    """Return whether a value is a name or has a figure; a common word at the beginning of a sentence is not a name."""
    first = sentence.startswith(words[0])
    return any(c.isdigit() for w in words for c in w) or any(
        w[0].isupper() and not (first and k == 0 and is_plain(fold(w))) for k, w in enumerate(words)
    )


def _at(sentence: str, words: Sequence[str]) -> int | None:
    """Return the position of the words, in sequence, among those of the sentence; None if they are not there."""
    sentence_words, n = said(sentence), len(words)
    return next((k for k in range(len(sentence_words) - n + 1) if sentence_words[k : k + n] == list(words)), None)


def _of_one(sentence: str, value: EndedValue) -> bool:
    """Return whether both sentences are about the same persons and names, without the ended value; the speaker is a person."""
    value_stems = {stem(w.removesuffix("'s").removesuffix("’s")) for w in (*said(value.sentence), *value.words)}
    if not {stem(w) for w in names(sentence)} <= value_stems:
        return False
    mine, theirs = persons(sentence, value.words), persons(value.sentence, value.words)
    own = is_own(sentence) and is_own(value.sentence)
    if own or any(is_given(w) for w in value.words):  # another named person may be the new value
        return mine <= theirs
    return mine == theirs


def _is_object(sentence: str, words: Sequence[str]) -> bool:
    """Return whether the words are the object of a short statement about the speaker or a named person.

    They are if the statement ends with them or continues with another phrase.
    """
    sentence_words, at = said(sentence), _at(sentence, words)
    if not at or at < 2 or len(sentence_words) > _SHORT or not (is_own(sentence) or persons(sentence, words)):
        return False
    if sentence_words[at - 1] == "to" and sentence_words[at - 2] not in _GOES:  # in "back to chat" the word is a verb
        return False
    behind = sentence_words[at + len(words) : at + len(words) + 1]
    return sentence_words[at - 1] not in _LOOSE and (not behind or behind[0] in STOPS)

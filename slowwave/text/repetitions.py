"""Sentences that are said of many days: "We always plan the menu for tomorrow" names no day, so its dates are not resolved.

A marker of repetition ("always", "each Sunday", "on Fridays", "by default") makes the dates of its clause part of a habit or rule, unless
the verb shows one particular time: "He called every day last week", "I will call every hour tomorrow", "Every participant must arrive
tomorrow". Orders with "never", and warnings to put something off, are rules as well. A condition ("If it rains, the match moves to
tomorrow") is a rule or one case, so a person is asked, and "whenever" is a rule. A date whose clause is a habit, but that may be a
particular one ("She often wears the coat that she bought last week"), is doubtful, and a person is asked; so is one in an object, an
attribute or a relative clause of a sentence in the present ("The dashboard compares today with yesterday").

English by clauses and the verbs of ``slowwave.text.date_context``; seven other languages by markers in the same clause. Linear in the
sentence.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from functools import cache
from pathlib import Path
from typing import Final, Literal

from slowwave.text.conditions import ASKED
from slowwave.text.date_context import Cues
from slowwave.text.lexicon import is_word

Repetition = Literal["", "repeated", "doubtful"]
"""``repeated``: said of many days; ``doubtful``: perhaps said of many days."""

_REACH: Final = 240  # characters of a sentence before and after a phrase
_SENTENCE_END: Final = re.compile(r"[.!?;…]+(?=[\s\"'”’)\]]|$)|\n|[–—()]|:\s|\s-\s")

_DAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_UNIT: Final = (
    rf"second|minute|hour|day|weekday|workday|morning|afternoon|evening|night|{_DAY}|weekend|week|fortnight|month|quarter|year|season"
    r"|summer|winter|spring|autumn"
)
_MEETING: Final = r"sprint|retro(?:spective)?|stand-?up|meeting|session|lesson|shift|visit|run|release"
_MARKERS: Final = re.compile(
    rf"""
    \b(?:(?P<adverb>
        (?<!\bas\ )(?<!\blike\ )(?<!\bthan\ )(?<!\bhow\ )(?<!\bas\ more\ )
        (?:always|usually|normally|generally|typically|often|regularly|frequently|occasionally|rarely|seldom|habitually|routinely|sometimes
        |tends?\ to|as\ a\ rule|by\ default|most\ of\ the\ time|from\ time\ to\ time|(?:every\ )?now\ and\ (?:then|again)|every\ so\ often)
    )
    |(?P<period>
        (?:every|each)(?:\ (?:other|single|second|third|working|school|few|two|three|last|first|\d+))?\ (?:{_UNIT})s?
        |(?:once|twice|\w+\ times)\ (?:an?|every|per)\ (?:{_UNIT})
        |(?:on\ |most\ |some\ )?(?:{_DAY}s|weekends|weekdays|weeknights)(?:\ and\ {_DAY}s)?
        |(?:in\ the\ |most\ |on\ \w+day\ )(?:mornings|afternoons|evenings|nights)|most\ (?:days|weeks|months|years)
        |(?:everyday|daily|nightly|hourly|weekly|monthly|quarterly|yearly|annually)
            (?=\W*$|[,)]|\ (?:at|on|for|in|with|about|and|by|to|from)\b)
    )
    |(?P<event>(?:at|in|after|before|during)\ (?:every|each)\ (?:{_MEETING})|(?:every|each)\ (?:time\b|(?:{_MEETING})(?=,|\W*$)))
    |(?P<never>never)
    )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words of repetition. Matches "every other Sunday" and "posts weekly", not "every participant", "as always" or "the weekly report"."""

_SUBJECT: Final = r"(?:i|i['’]\w+|you|he|she|it|we|they|there|that['’]?s?|this|who|[a-z]+['’](?:ll|re|ve|d))\b"
_TIME: Final = r"(?:today|tonight|tomorrow|yesterday|(?:last|next|this) \w+|(?:on|in) \w+)"
_CLAUSES: Final = re.compile(
    rf",?\s(?:but|yet|although|though|whereas|while|until|unless|except(?: that)?|because|since|(?:so|as)(?= {_SUBJECT}))\s|,\sso\s"
    rf"|,?\s(?:and|or|then)\s(?=(?:\w+ly |then |also |always |often |sometimes )?{_SUBJECT}|{_TIME} \w+ \w+)"
    rf"|,\s(?={_SUBJECT}|{_TIME} \w+ \w+|(?:the|my|our|his|her|their) \w+(?: \w+)? (?:is|are|was|were|has|had|will|\w+ed)\b)",
    re.IGNORECASE,
)
"""Ends of clauses: in "we meet at noon, but tomorrow we start at ten" and "Usually he cooks, and I cook", not in "breakfast and lunch"."""

_ASIDE: Final = re.compile(
    r"\W*(?:(?:and|but|so|or|then|please)\W+)?(?P<marker>\S.*?)(?:,|\s+after\b[^,]*,)?\W*", re.IGNORECASE
)
_SUBORDINATE: Final = re.compile(
    r"\b(?P<free>what(?:ever)?|how|why)\b|\b(?:that|which|who|whom|whose|where|when|if|whether|before|after|once)\b(?!\s(?:every|each)\b)",
    re.IGNORECASE,
)


_ORDERS: Final = re.compile(r"\W*(?:(?:and|but|so|or|please|rule|tip)\W+)*$", re.IGNORECASE)

_PUT_OFF: Final = re.compile(
    r"\b(?:never|don['’]t|do not|why)\s(?:\w+\s){0,2}?(?:put(?:\s\w+){0,3}?\soff|postpone|leave|defer|delay|save)\b"
    r"(?=[^.!?]*\b(?:what(?:ever)?|things?|anything|tasks|work|chores)\b)",
    re.IGNORECASE,
)
"""A warning to put off anything: "Do not put off to tomorrow what you can do today", not "Don't put off the call to tomorrow"."""

_BEFORE_NOUN: Final = re.compile(
    r"\b(?:for|of|about|from|until|till|to|with|over|against|covers?|\w+(?:ise|ize)s?)\s$", re.IGNORECASE
)
_PRESENT: Final = re.compile(
    r"(?P<be>\b(?:is|are)\b|\w['’](?:s|re)\b)|\w\s(?P<verb>[a-z]{2,}[^\W\d_su]s)\s(?!(?:for|of|about|from|until|till|to|over|against|is|are)\s)"
)
"""A verb in the present: "bakes the bread", "is"; not the noun in "tickets for"."""

_SCHEDULED: Final = re.compile(
    r"(?:starts|begins|arrives|departs|opens|expires|leaves|takes place|deadline)\b|(?:is|are|['’]s|['’]re)\s(?:not\s)?"
    r"(?:scheduled|planned|booked|set|due|invited|expected|supposed)\b",
    re.IGNORECASE,
)
"""Verbs in the present that are read as the future elsewhere: "the train leaves"."""

_ARRANGED: Final = re.compile(r"\b(?:\w{2,}ed|set|put off|going)\s(?:for|to|until|till|from)\s$", re.IGNORECASE)
"""The words before the day of an arrangement: "is scheduled for"."""

_RELATIVE: Final = re.compile(r"\b(?:what(?:ever)?|who(?:ever)?|whom|where)\s", re.IGNORECASE)
_AHEAD: Final = re.compile(r"\b(?:tomorrow|next|coming|hence|from now)\b|^in\b", re.IGNORECASE)
_PARTICIPLE: Final = re.compile(r"(?:\b(?:is|are|be|being|gets?)|['’](?:re|m))\s(?:\w+\s){0,2}$", re.IGNORECASE)
"""The words before a participle of the present: "is always snuggled in"."""

_CONDITIONS: Final = re.compile(
    rf"\b(?:(?P<each>whenever|wherever)|{ASKED}if|unless|when|as soon as|in case)\b", re.IGNORECASE
)
"""Words of a rule for all such cases: "If a parcel misses the van, it arrives tomorrow"; or of one case: "If it rains tomorrow"."""

_PAST: Final = frozenset(("past", "unclear"))
_FUTURE: Final = frozenset(("future",))
_LENGTH: Final = (
    (1, re.compile(r"second|minute|hour", re.IGNORECASE)),
    (
        24,
        re.compile(
            rf"today|tomorrow|yesterday|morning|afternoon|evening|night|dai?l?y|{_DAY}\b(?!s)|weekday", re.IGNORECASE
        ),
    ),
    (168, re.compile(r"week|fortnight", re.IGNORECASE)),
    (720, re.compile(r"month", re.IGNORECASE)),
    (2160, re.compile(r"quarter|season|summer|winter|spring|autumn|fall", re.IGNORECASE)),
    (8760, re.compile(r"year|annual", re.IGNORECASE)),
)
"""Lengths of units in hours, as measures of order only."""


def repetition(text: str, start: int, end: int, cues: Cues) -> Repetition:
    """Return whether the date phrase at ``start`` … ``end`` of an English text is said of many days; ``cues`` are the verbs of the text."""
    first, last = _sentence(text, start, end)
    if _PUT_OFF.search(text, first, last):
        return "repeated"
    found: Repetition = ""
    if (condition := _CONDITIONS.search(text, first, last)) and not _places(cues, first, last, _PAST):
        if condition["each"]:
            return "repeated"
        found = "doubtful"
    first, last = _clause(text, first, last, start, end)
    if not _MARKERS.search(text, first, last):
        return found or ("doubtful" if _is_part_of_present(text, first, last, (start, end), cues) else "")
    for marker in _MARKERS.finditer(text, first, last):
        if start <= marker.start() < end or (marker.end() == start - 1 and marker[0].casefold() == "sometimes"):
            continue
        one = _by_marker(text, marker, (first, last), (start, end), cues)
        if one == "repeated":
            return one
        found = found or one
    return found


def _is_part_of_present(text: str, first: int, last: int, phrase: tuple[int, int], cues: Cues) -> bool:
    """Return whether the date is in a part of a clause in the present: "The dashboard compares today with yesterday".

    The part is an object, an attribute or a relative clause: "starts with the numbers of last week", "guests who leave tomorrow".
    """
    start, end = phrase
    owner = text[end - 2 : end] in ("'s", "’s") and text[first:start].strip() != ""
    relative = next((m for m in _RELATIVE.finditer(text, first, start) if text[first : m.start()].strip()), None)
    governed = owner or (_BEFORE_NOUN.search(text, first, start) and not _ARRANGED.search(text, first, start))
    if not (governed or relative):
        return False
    stop = relative.start() if relative else last
    if any(not _PARTICIPLE.search(text, first, place) for place in _places(cues, first, stop, _PAST)):
        return False
    if any(not _SCHEDULED.match(text, place, stop) for place in _places(cues, first, stop, _FUTURE)):
        return False
    return any(
        verb["be"]
        or len(verb["verb"]) == 4  # the lexicon has no base of three letters
        or any(map(is_word, (verb["verb"][:-1], verb["verb"][:-2], f"{verb['verb'][:-3]}y")))
        for verb in _PRESENT.finditer(text, first, stop)
    )


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    begin = max(0, start - _REACH)
    first = max((m.end() for m in _SENTENCE_END.finditer(text, begin, start)), default=begin)
    close = _SENTENCE_END.search(text, end, end + _REACH)
    return first, close.start() if close else min(len(text), end + _REACH)


def _clause(text: str, first: int, last: int, start: int, end: int) -> tuple[int, int]:
    """Return the clause of a span; "Every evening," in front of it is a part of it."""
    bounds = [m for m in _CLAUSES.finditer(text, first, last) if not start < m.end() < end]
    before, after = [m for m in bounds if m.end() <= start], [m for m in bounds if m.start() >= end]
    close = after[0].start() if after else last
    while before:
        opening = before.pop()
        begin = before[-1].end() if before else first
        aside = _ASIDE.fullmatch(text, begin, opening.start() + 1)
        if text[opening.start()] != "," or aside is None or not _is_adverbial(aside["marker"]):
            return opening.end(), close
    return first, close


def _is_adverbial(words: str) -> bool:
    """Return whether words are no more than a marker and a few words of time: "On Fridays after work"."""
    marker = _MARKERS.search(words)
    return marker is not None and len(words.split()) <= len(marker[0].split()) + 3 and marker.start() <= 3


def _by_marker(
    text: str, marker: re.Match[str], clause: tuple[int, int], phrase: tuple[int, int], cues: Cues
) -> Repetition:
    (first, last), (start, end) = clause, phrase
    kind = str(marker.lastgroup)
    ahead = _AHEAD.search(text, start, end) is not None
    if kind == "never" and _ORDERS.fullmatch(text, first, marker.start()):
        return "" if _places(cues, marker.end(), marker.end() + 16, _PAST) else "repeated"
    sub = next((m for m in _SUBORDINATE.finditer(text, first, last) if text[first : m.start()].strip()), None)
    stop = sub.start() if sub else last
    smaller = kind == "period" and _length(marker[0]) < _length(text[start:end])
    if any(not _PARTICIPLE.search(text, first, place) for place in _places(cues, first, stop, _PAST)):
        if ahead and kind != "never":
            return "repeated"
        return "doubtful" if kind == "period" and not smaller else ""
    if kind == "never":
        return "" if ahead or _places(cues, first, stop, _FUTURE) else "doubtful"
    owned = text[end - 2 : end] in ("'s", "’s")
    adjacent = not owned and (marker.end() >= start - 4 > marker.start() or end + 1 >= marker.start() > start)
    if smaller and (adjacent or not text[first:start].strip(" ,\"'")) and not _BEFORE_NOUN.search(text, first, start):
        return ""  # "every day next week"
    own = sub.start() if sub and not sub["free"] and sub.end() < start else 0
    if own and _places(cues, own, last, _PAST | _FUTURE):
        return "doubtful"  # "wears the coat that she bought last week"
    return "repeated"


def _places(cues: Cues, start: int, end: int, kinds: frozenset[str]) -> list[int]:
    """Return where the verbs of these kinds begin in ``start`` … ``end``."""
    first, last = bisect_left(cues.starts, start), bisect_left(cues.starts, end)
    return [place for place, kind in zip(cues.starts[first:last], cues.kinds[first:last], strict=True) if kind in kinds]


def _length(words: str) -> int:
    return next((hours for hours, unit in _LENGTH if unit.search(words)), 168)


# Other languages. Their markers count in the same clause; no verb is considered, because a question is asked about each of their dates.

_FOREIGN: Final[dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("repetition_markers.toml").read_text(encoding="utf-8")
)


@cache
def _foreign_markers(language: str) -> re.Pattern[str] | None:
    words = "|".join(_FOREIGN.get(language, ()))
    edge = "" if language in ("ja", "zh") else r"\b"
    return re.compile(rf"{edge}(?:{words}){edge}", re.IGNORECASE) if words else None


_FOREIGN_CLAUSES: Final = re.compile(
    r"[;:，；、–—]|,?\s(?:aber|doch|sondern|weil|denn|mais|car|parce que|pero|sino|porque|ma|però|perché|mas|porém)\s"
    r"|,\s(?=(?:ich|er|sie|wir|es|je|j['’]|il|elle|nous|on|ils|yo|él|ella|io|lui|lei|noi|eu|ele|ela|nós|morgen|demain|gestern|hier|ayer|ieri|ontem)\b)",
    re.IGNORECASE,
)
_FOREIGN_START: Final = re.compile(
    r"\b(?:seit|bis|depuis|jusqu['’]à|desde|hasta|até|dall?[ao]?|fino a)\s(?:\w{1,3}\s)?$|(?:自|从|自从)$",
    re.IGNORECASE,
)
"""The words before the day on which a habit began or ends."""


def is_repeated_abroad(sentence: str, start: int, language: str) -> bool:
    """Return whether the phrase at ``start`` of a sentence in another language shares its clause with a marker of repetition."""
    pattern = _foreign_markers(language)
    if pattern is None or _FOREIGN_START.search(sentence, 0, start):
        return False
    first = 0
    for bound in _FOREIGN_CLAUSES.finditer(sentence):
        if bound.start() >= start:
            return pattern.search(sentence[first : bound.start()]) is not None
        opening = sentence[first : bound.start()]
        marker = pattern.match(opening.lstrip())
        if marker is None or len(opening.strip()) > len(marker[0]) + 4:
            first = bound.end()
    return pattern.search(sentence[first:]) is not None

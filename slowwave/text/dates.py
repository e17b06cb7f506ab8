"""A rewriter of relative dates to ISO 8601, as they were meant on the day of the record; it leaves doubtful ones alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from functools import cached_property, lru_cache
from typing import Final, Literal, NamedTuple
from zoneinfo import ZoneInfo

from slowwave.text.date_context import Cues, PhraseContext, Tense
from slowwave.text.date_phrases import HINT, Rule, find
from slowwave.text.date_values import Grain, Value
from slowwave.text.foreign_dates import find_foreign_dates
from slowwave.text.lexicon import TERMS, is_word
from slowwave.text.names import is_given
from slowwave.text.repetitions import is_repeated_abroad, repetition
from slowwave.text.sentences import Verbatim
from slowwave.text.small_talk import has_no_content
from slowwave.text.words import words_of

# Idle dates: phrases whose day is of no use, in questions, small talk and sentences about the conversation itself.
#
# "How are you today?", "See you tomorrow!" and "Today I want to talk to you about a dress" name no day that matters, and "Today is
# Sunday" states itself which day it was. The part on dates below decides whether a phrase can be resolved at all. English.

Idleness = Literal["", "asked", "idle"]

_REACH_IDLE_DATES: Final = 400  # characters of a sentence before and after a phrase
_SENTENCE_OPENS: Final = re.compile(r"^|[.!?…][\"'”’)\]]*\s+|\n")
_SENTENCE_CLOSES: Final = re.compile(r"[.!?…]+|\n")
_ASKING: Final = re.compile(
    r"\W*(?:(?:and|so|but|well|oh|hey|hi|ok(?:ay)?|then|by the way)\W+)*(?:how|what|which|where|who|whom|whose|why|when)\b",
    re.IGNORECASE,
)
_FIRST_PERSON: Final = re.compile(r"(?i)\b(?:i|me|my|mine|we|us|our|ours|let['’]?s)\b")
_OWNED: Final = 16  # characters after a phrase: "'s conversation"
_CLAUSE: Final = re.compile(r"[,;:–—]\s|\s(?:and|but|so)\s", re.IGNORECASE)
_ADDRESSED: Final = re.compile(r"(?<!\w)(?:you|let['’]?s|our conversation|our chat)(?!\w)", re.IGNORECASE)
_TODAY_IDLE_DATES: Final = re.compile(r"today|tonight|this (?:morning|afternoon|evening)", re.IGNORECASE)
_A_DAY: Final = re.compile(
    r"(?:['’]s| is| was)(?: already| finally| just)?(?: an?| the)?(?: beautiful| lovely| sunny| nice)?"
    r" (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekend)\b",
    re.IGNORECASE,
)
_OF_THE_TALK: Final = re.compile(r"['’]s (?:conversation|chat|talk)\b", re.IGNORECASE)
_WISH: Final = (
    r"(?:i|we)(?:['’]d|['’]m| am| would)?(?: (?:really|just|also|only|still|again|here|back|like|love|want|wanted|wish|hope|need|came|come|"
    r"have|had|to|a|an|another|some|small|quick|simple))*? (?:talk|chat|speak|ask|share|discuss|consult|tell|questions?)\b"
)
_WISH_AFTER: Final = re.compile(rf",?\s{_WISH}(?=[^.!?;]{{0,80}}\byou\b)", re.IGNORECASE)
_WISH_BEFORE: Final = re.compile(rf"\b{_WISH}(?=[^.!?,;]{{0,80}}\byou\b)[^.!?,;]{{0,120}}$", re.IGNORECASE)


_PERSONAL: Final = re.compile(
    r"(?i)\b(?:i|me|my|mine|we|us|our|you|your|he|she|his|her|they|their|it|this|that|there|today|tonight|"
    r"the (?:weather|sky|sun|wind|sea))\b"
)
_PRESENT: Final = re.compile(
    r"\b(?:is|are|has|have|can|may|remains?|stays?|works?|uses?|needs?|lives?|plays?|means?|relies|rely|depends?|exists?)\b",
    re.IGNORECASE,
)
_EVENT: Final = re.compile(
    r"\b(?:was|were|had|did|will|shall|due|at \d|\w+ed|went|came|met|got|left|broke|fell|began|made|took|(?:is|are) (?:not |still )?\w+ing|"
    r"(?:is|are) (?:off|on|in|at|back|out|"
    r"down|up|here|away|ill|sick|late|closed|open|free|full|empty|missing|home|busy|absent|ready|over))\b",
    re.IGNORECASE,
)
_CLASS: Final = re.compile(
    r"\b(?:is|are|remains?) (?:still |also |even |now )?(?:(?:an?|one of|part of|among)\b(?! (?:bit|little|lot|few))|"
    r"(?:widely|very|more|most|mostly|"
    r"commonly|usually|generally|often|rarely|well) \w+)",
    re.IGNORECASE,
)
_GENERIC: Final = re.compile(
    r"\W*(?:(?:many|most|some|few|all|modern|young|old)\s)?(?!(?:the|a|an)\s)[a-z]+(?:\s[a-z]+)?\s", re.IGNORECASE
)


def is_nowadays(before: str, after: str) -> bool:
    """Return whether "today" between two parts of a sentence means the present age: "Pottery is a common hobby today".

    The sentence must state membership of a class, or make a general statement in the present tense about no particular person, day or
    thing, without an event. A name at the start ("Ola is in Rome today") is a particular person.
    """
    sentence = f"{before} {_SENTENCE_CLOSES.split(after)[0]}"
    if not before.strip() or _PERSONAL.search(sentence) or not _PRESENT.search(before) or _EVENT.search(sentence):
        return False
    return bool(_CLASS.search(before)) or _is_generic(before)


def _is_generic(before: str) -> bool:
    first = _FIRST_WORD.match(before)
    if first is None or not _GENERIC.match(before):
        return False
    word = first[1].casefold()
    return is_word(word) and not is_given(word)


_FIRST_WORD: Final = re.compile(r"\W*([^\W\d_]+)")


def idleness(text: str, start: int, end: int) -> Idleness:
    """Return why the day of the phrase at ``start`` … ``end`` is of no use, or an empty string if it may be useful.

    ``asked`` is a phrase in a question about nobody but the person addressed. ``idle`` is a phrase in a sentence of small talk, or in a
    clause of small talk that addresses somebody; "today", if the speaker wants to talk; and a day that is only said to be a weekday.
    Time: linear in the sentence.
    """
    closes = _SENTENCE_CLOSES.search(text, end, end + _REACH_IDLE_DATES)
    close = closes.start() if closes else min(len(text), end + _REACH_IDLE_DATES)
    opens = max(m.end() for m in _SENTENCE_OPENS.finditer(text[max(0, start - _REACH_IDLE_DATES) : start]))
    opens += max(0, start - _REACH_IDLE_DATES)
    before, phrase, after = text[opens:start], text[start:end], text[end:close]
    sentence = before + phrase + after
    asks = closes is not None and "?" in closes[0]
    if asks and (_ASKING.match(sentence) is not None or _FIRST_PERSON.search(sentence) is None):
        return "asked"
    if _A_DAY.match(after) or _OF_THE_TALK.search(phrase + after[:_OWNED]):
        return "idle"
    if _TODAY_IDLE_DATES.fullmatch(phrase) and (_WISH_AFTER.match(after) or _WISH_BEFORE.search(before)):
        return "idle"
    if has_no_content(sentence + ("?" if asks else "")) and (
        _ADDRESSED.search(sentence) or not _TODAY_IDLE_DATES.fullmatch(phrase)
    ):
        return "idle"  # "Today is a beautiful day." may set the scene for what comes next
    left = max((m.end() for m in _CLAUSE.finditer(before)), default=0)
    right = _CLAUSE.search(after)
    clause = before[left:] + phrase + (after[: right.start()] if right else after)
    return "idle" if _ADDRESSED.search(clause) and has_no_content(clause) else ""


# Dates: relative dates of a memory written out as ISO 8601, as they were meant on the day it was recorded.
#
# ``slowwave.text.date_phrases`` finds and resolves the phrases; this part decides whether a phrase may be resolved at its place.
# Quotations, code, addresses and headings are never changed (``slowwave.text.sentences``), nor titles, repetitions, figures of speech, or
# a phrase that is followed by its date. In doubt a phrase is left as it is: a missing date can be asked for, a wrong one is believed.
# Clock times are ignored.

Write = Literal["beside", "replace"]


class Rewrite(NamedTuple):
    """One phrase that was written out.

    - ``phrase`` is the text at ``start`` … ``end`` of the original.
    - ``value`` is an ISO date (2026-04-14), month (2026-03), year (2026) or interval with both ends included (2026-04-06/2026-04-12).
    - ``about`` marks an inexact phrase ("a few days ago").
    - ``part`` is the part of the day that it names, else empty.
    - ``kind`` is the name of the rule.
    - ``doubtful`` marks a phrase that is perhaps said of many days (``slowwave.text.repetitions``).
    """

    phrase: str
    start: int
    end: int
    value: str
    grain: Grain
    about: bool = False
    part: str = ""
    kind: str = ""
    doubtful: bool = False

    @property
    def pattern(self) -> str:
        """Return the pattern that policies can decide on (``slowwave.plans.items``).

        It depends on whether the phrase itself shows in which direction its date lies, on its language, and on words of repetition.
        """
        if self.kind == OTHER_LANGUAGE:
            return OTHER_LANGUAGE
        if self.doubtful:
            return PERHAPS_REPEATED
        return "nearest date" if self.kind not in _COUNTED or _NEAREST.match(self.phrase) else "counted from the day"


OTHER_LANGUAGE: Final = "other language"
"""Kind and pattern of the phrases of ``slowwave.text.foreign_dates``."""

PERHAPS_REPEATED: Final = "perhaps repeated"
"""Pattern of the phrases that are perhaps said of many days: "She often wears the coat that she bought last week"."""


class AbsoluteText(NamedTuple):
    """A text with its relative dates written out, and the list of changes."""

    text: str
    rewrites: list[Rewrite]


def absolutize(
    text: str,
    anchor: datetime,
    *,
    zone: str | None = None,
    write: Write = "beside",
    idle: bool = True,
    nearest: bool = True,
    language: str = "",
) -> AbsoluteText:
    """Write out the relative dates of ``text``, which was said at ``anchor``.

    - ``language`` is its code (``slowwave.text.languages``) if it is not English.
    - Without ``idle``, dates that are of no use are left alone.
    - Without ``nearest``, only phrases that show themselves in which direction their date lies ("yesterday", "next month") are
      written, and not those that depend on the verb ("on Friday", "in June") or are perhaps said of many days; no question is asked
      about the latter.
    - An anchor with an offset is converted to ``zone`` (IANA name), if it is given; a naive anchor is already local time.
    - ``beside`` puts the value in brackets after the phrase, ``replace`` puts it in place of the phrase.

    A second run on the result changes nothing. Time: linear in the text. Raises ``ValueError`` for an unknown zone; never for a text.
    """
    if not language and not _HINT.search(text):
        return AbsoluteText(text, [])
    today = local_day(anchor, zone)
    rewrites = _written_out(text, today, idle=idle, nearest=nearest, language=language)
    if not rewrites:
        return AbsoluteText(text, [])
    changed = _written(text, rewrites, write)
    # a date that now stands where a word stood may let the words around it be read in another way: then nothing is written
    if _written_out(changed, today, idle=idle, nearest=nearest, language=language):
        return AbsoluteText(text, [])
    return AbsoluteText(changed, rewrites)


def _written_out(text: str, today: date, *, idle: bool, nearest: bool, language: str) -> list[Rewrite]:
    found = [r for r in looked_at(text, today, idle=idle, language=language) if isinstance(r, Rewrite)]
    return found if nearest else [r for r in found if r.pattern not in ("nearest date", PERHAPS_REPEATED)]


def local_day(anchor: datetime, zone: str | None = None) -> date:
    """Return the day of an instant in a time zone. Raises ``ValueError`` for an unknown zone."""
    if zone is None or anchor.tzinfo is None:
        return anchor.date()
    try:
        return anchor.astimezone(ZoneInfo(zone)).date()
    except OverflowError:  # the first or last day of the calendar
        return anchor.date()
    except (OSError, KeyError) as error:
        raise ValueError(f"There is no time zone {zone[:64]!r}. Use an IANA name such as Europe/Oslo.") from error


class UnresolvedPhrase(NamedTuple):
    """A phrase that was not resolved, and the reason.

    ``reason`` is ``verbatim``, ``title``, ``repeated``, ``figure of speech``, ``dated``, ``asked``, ``idle`` or ``unclear``.
    """

    phrase: str
    start: int
    end: int
    reason: str
    kind: str


def looked_at(text: str, today: date, *, idle: bool = True, language: str = "") -> list[Rewrite | UnresolvedPhrase]:
    """Return every phrase of a text, from left to right: its rewrite, or the reason why it is left alone.

    Without ``idle``, phrases whose day is of no use are left alone (``slowwave.text.dates``): "How are you today?", "See you tomorrow!"
    ``language`` is that of a text that is not English.
    """
    if language:
        return list(_in_other_language(text, today, language))
    if not _HINT.search(text):
        return []
    return list((_known if len(text) <= _SHORT else _phrases)(text, today, idle))


def _in_other_language(text: str, today: date, language: str) -> Iterator[Rewrite | UnresolvedPhrase]:
    verbatim = Verbatim.from_text(text)
    for start, end, value in find_foreign_dates(text, language, today):
        before = _FOREIGN_ENDS.split(text[max(0, start - _REACH) : start])[-1]
        sentence = before + _FOREIGN_ENDS.split(text[start : end + _REACH], maxsplit=1)[0]
        reason = "verbatim" if verbatim.touches(start, end) else "dated" if _FOREIGN_DATE.search(sentence) else ""
        if not reason and is_repeated_abroad(sentence, len(before), language):
            reason = "repeated"
        if reason:
            yield UnresolvedPhrase(text[start:end], start, end, reason, OTHER_LANGUAGE)
        else:
            yield Rewrite(text[start:end], start, end, value.iso, value.grain, kind=OTHER_LANGUAGE)


def _phrases(text: str, today: date, idle: bool) -> tuple[Rewrite | UnresolvedPhrase, ...]:
    reading, heads = _Reading(text, find(text), idle), _heads(text)
    return tuple(reading.one(rule, match, _said_on(heads, match.start(), today)) for rule, match in reading.found)


def _heads(text: str) -> list[tuple[int, date]]:
    """Return the dates at the head of a text and of its later lines, as in a diary or log.

    Returns an empty list if the text does not begin with a date.
    """
    if _HEAD.match(text) is None:
        return []
    return [(match.end(), day) for match in _HEAD.finditer(text) if (day := _day_of(match)) is not None]


def _day_of(match: re.Match[str]) -> date | None:
    try:
        return date.fromisoformat(match["day"])
    except ValueError:
        return None


def _said_on(heads: list[tuple[int, date]], start: int, today: date) -> date | None:
    """Return the day on which the text at ``start`` was said: the date of the nearest head above it, else today.

    Returns None for a head in the future, which belongs to a plan.
    """
    day = next((day for end, day in reversed(heads) if end <= start), today)
    return day if day <= today else None


_SHORT: Final = 500  # maximum length in characters
_known: Final = lru_cache(maxsize=16_384)(_phrases)
"""The audit and planners of one night parse the same texts, at about 200 µs per sentence."""


class _Reading:
    """A text with its phrases; verbatim passages and verbs are computed on first use."""

    def __init__(self, text: str, found: list[tuple[Rule, re.Match[str]]], idle: bool) -> None:
        self.text, self.found, self.idle = text, found, idle

    @cached_property
    def verbatim(self) -> Verbatim:
        return Verbatim.from_text(self.text)

    @cached_property
    def cues(self) -> Cues:
        return Cues.from_text(self.text, tuple(match.span() for _, match in self.found))

    def one(self, rule: Rule, match: re.Match[str], today: date | None) -> Rewrite | UnresolvedPhrase:
        text, (start, end) = self.text, match.span()
        if owner := _OWNER.match(text, end):
            end = owner.end()

        def tense() -> Tense:
            return self.cues.at(start, end)

        reason = self._why_not(start, end, named=rule.name in _NAMED) if today else "dated"
        value: Value | None = None
        if today and not reason:
            value = rule.resolve(match, PhraseContext(text, start, end, today, tense))
        repeated = repetition(text, start, end, self.cues) if value else ""
        if value is None or repeated == "repeated":
            return UnresolvedPhrase(text[start:end], start, end, reason or repeated or "unclear", rule.name)
        return Rewrite(
            text[start:end],
            start,
            end,
            value.iso,
            value.grain,
            value.about,
            value.part,
            rule.name,
            repeated == "doubtful",
        )

    def _sentence(self, start: int, end: int) -> tuple[str, str]:
        """Return the parts of the sentence before and after a span."""
        before, after = self.text[max(0, start - _REACH) : start], self.text[end : end + _REACH]
        return _ENDS.split(_HEAD.sub("", before))[-1], _ENDS.split(after, maxsplit=1)[0]

    def _anchored(self, start: int, end: int) -> bool:
        """Return whether the sentence has its own date, or a month if the phrase is about years.

        The phrase may be relative to that date.
        """
        before, after = self._sentence(start, end)
        pattern = _DATE_OR_MONTH if _YEARS.search(self.text[start:end]) else _WHOLE_DATE
        return bool(pattern.search(before) or pattern.search(after))

    def _why_not(self, start: int, end: int, *, named: bool) -> str:
        text = self.text
        before, after = text[max(0, start - 48) : start], text[end : end + 48]
        if _JOINED_BEFORE.search(before) or _JOINED_AFTER.match(after) or self.verbatim.touches(start, end):
            return "verbatim"
        if _DATED_AFTER.match(after) or _DATED_BEFORE.search(before) or self._anchored(start, end):
            return "dated"
        if _TODAY.fullmatch(text, start, end) and is_nowadays(self._sentence(start, end)[0], after):
            return "figure of speech"
        if _is_work(text, start, end) if named else _is_title(text, start, end):
            return "title"
        if _REPEATED.search(before) or _REPEATED_AFTER.match(after):
            return "repeated"
        phrase = text[start:end].lower()
        if any(
            figure.match(phrase) and (led.search(before.lower()) or followed.match(after.lower()))
            for figure, led, followed in _FIGURES
        ):
            return "figure of speech"
        return "" if self.idle else idleness(text, start, end)


def _written(text: str, rewrites: list[Rewrite], write: Write) -> str:
    parts: list[str] = []
    last = 0
    for r in rewrites:
        about = "about " if r.about else ""
        if write == "beside":
            parts += [text[last : r.end], f" ({about}{r.value})"]
        else:
            part = f"the {r.part} of " if r.part else ""
            parts += [text[last : r.start], part, about, r.value, "'s" if _OWNER.search(r.phrase) else ""]
        last = r.end
    return "".join([*parts, text[last:]])


def _is_work(text: str, start: int, end: int) -> bool:
    """Return whether a feast or season, which may be capitalised anyway, is the title of a work.

    "Last Christmas" in the middle of a sentence is such a title.
    """
    before, after = text[max(0, start - 64) : start], text[end : end + 64]
    if _WORK.search(before) or (_EMPHASIS.search(before) and after[:1] in ("*", "_")):
        return True
    opens = _OPENS.search(before) is not None
    words = _WORD.findall(text[start:end])
    if not opens and words[0] in ("Last", "This", "Next"):
        return True
    return opens and bool(_WORK_AFTER.match(after))


def _is_title(text: str, start: int, end: int) -> bool:
    """Return whether capitals make a phrase the name of a song, a film, a newspaper, a feast or the like."""
    words = _WORD.findall(text[start:end])
    before, after = text[max(0, start - 64) : start], text[end : end + 64]
    opens = _OPENS.search(before) is not None
    if text[start:end].isupper() and len(words[0]) > 1:
        near = [w for w in (*_WORD.findall(before)[1:], *_WORD.findall(after)[:-1]) if w.lower() != w.upper()]
        return bool(near) and not all(w.isupper() for w in near)
    capital = [w for w in words if w[0].isupper()]
    if not capital:
        return False
    plain = [w for w in words if not _CALENDAR.fullmatch(w)]
    big = [w for w in plain if w[0].isupper()]
    if big and (not opens or words[0] not in big or len(big) > 1):
        return True
    if ((big or not plain) and _WORK.search(before)) or (_EMPHASIS.search(before) and after[:1] in ("*", "_")):
        return True
    special = _WORD_AFTER.match(after) if big and _OWNER.search(text[start:end]) else None
    if special and special[1][0].isupper() and special[1] not in _OFTEN_CAPITAL and _is_no_name(special[1].casefold()):
        return True  # "Today's Special" is a name
    follow = _WORD_AFTER.match(after)
    if follow and follow[1][0].isupper() and follow[1] not in _OFTEN_CAPITAL:
        low = follow[1].lower()
        named = not plain and before.lower().endswith("on ") and is_given(low)  # "on Monday Ines left"
        if (not plain and not named) or low in _SMALL or (big and _TO_THE_END.match(text, end)):
            return True
    if opens and plain and _WORK_AFTER.match(after):
        return True
    if not plain:  # a bare weekday: "Black Friday", "Easter Monday"
        led = _WORD_BEFORE.search(before)
        if led and led[1][0].isupper() and led[1].lower() not in _SMALL and not _OPENS.search(before[: led.start(1)]):
            return not _CALENDAR.fullmatch(led[1])
        return bool(_FEAST.search(before))
    return False


def _is_no_name(word: str) -> bool:
    return is_word(word) and word not in TERMS


BESIDE: Final = r" \((?:about )?\d{4}(?:-\d\d){0,2}(?:/\d{4}(?:-\d\d){0,2})?\)"
"""A date as it is added after a phrase; also valid in RE2."""

_NAMED: Final = frozenset(("last Christmas", "spring of 2021", "last summer", "over the summer", "in June"))
"""Rules whose phrases may have capitals."""

_COUNTED: Final = frozenset(
    (
        *(
            "yesterday",
            "day before yesterday",
            "last night",
            "last week",
            "week before last",
            "this time last week",
            "N units ago",
        ),
        *(
            "in N units",
            "hence",
            "half a year ago",
            "the last N units",
            "5th of last month",
            "3rd to 9th of next month",
        ),
        *("Monday of last week", "first Monday of the month", "the end of next month", "late last year"),
    )
)
"""Rules whose phrases state the direction and the distance of the date."""

_NEAREST: Final = re.compile(r"this\s+week-?end", re.IGNORECASE)
_HINT: Final = re.compile(HINT)
_ISO: Final = r"\d{4}-\d{2}(?:-\d{2})?"
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DATE: Final = (
    rf"(?:{_ISO}|\d{{1,2}}[./]\d{{1,2}}(?:[./]\d{{2,4}})?\b|{_MONTH}\s\d|(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}"
    r"|(?:the\s)?\d{1,2}(?:st|nd|rd|th)\b|\d{4}\b)"
)
_REACH: Final = 240  # characters of a sentence before and after a phrase
_ENDS: Final = re.compile(r"[.!?;]+(?=\s|$)|\n")
_FOREIGN_ENDS: Final = re.compile(r"(?<!\d)[.!?;]+(?=\s|$)|[。！？；\n]")
_FOREIGN_DATE: Final = re.compile(r"\b\d{4}\b|\d{1,2}[./]\s?\d{1,2}\b|\d\s?[日号月年]|\b\d{1,2}\. ?[^\W\d_]")
"""A date or year in a sentence of another language, to which a phrase may be relative; the last form is "3. Mai"."""
_NAME_OF_MONTH: Final = (
    r"\b(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?"
    r"|Dec(?:ember)?)\b"
)
_NUMBER_OF_DAY: Final = r"[0-3]?\d(?:st|nd|rd|th)?\b(?![:%]|[.,]\d)"
_WHOLE_DATE: Final = re.compile(
    rf"\b{_ISO}\b|\b\d{{1,2}}([./])\d{{1,2}}\1\d{{2,4}}\b|{_NAME_OF_MONTH}\.?\s(?:the\s)?{_NUMBER_OF_DAY}|\b{_NUMBER_OF_DAY}\s(?:of\s)?{_NAME_OF_MONTH}",
    re.IGNORECASE,
)
"""A date that a sentence states itself. Matches ``suggested for May 18-19`` and must not match ``the bus at 5.18``."""

_DATE_OR_MONTH: Final = re.compile(rf"(?i:{_WHOLE_DATE.pattern})|{_NAME_OF_MONTH}(?<!^May)(?<!^March)")
_YEARS: Final = re.compile(r"\b(?:years?|yrs?|decades?)\b", re.IGNORECASE)
_TODAY: Final = re.compile(r"today", re.IGNORECASE)
_DATED_AFTER: Final = re.compile(
    rf"\s*(?:,\s*|[-–—:]\s*)?(?:\(\s*)?(?:(?:that\sis|i\.e\.|so|on|the|about|around|~)[,\s]\s*)*{_DATE}", re.IGNORECASE
)
_DATED_BEFORE: Final = re.compile(
    rf"(?:{_ISO}|\d{{1,2}}[./]\d{{1,2}}(?:[./]\d{{2,4}})?|{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTH}(?:\s\d{{4}})?|\b(?:19|20)\d\d)"
    r"\s*[,(–—-]\s*$",
    re.IGNORECASE,
)
_HEAD: Final = re.compile(
    r"^[#*>\s]*(?P<day>\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d\S*)?[*\s]*(?:[.:–—|](?=\s)|\n|-\s|(?<=[\d*])\s(?=\n))",
    re.MULTILINE,
)
_OWNER: Final = re.compile(r"['’]s\b")
_JOINED_BEFORE: Final = re.compile(r"[\w#@/\\.$=+&'’_]$|(?<!mid)(?<!early)(?<!late)-$")
_JOINED_AFTER: Final = re.compile(r"[\w@/\\=$&_]|-\w|[(\[{]|\.[a-z0-9]|['’]\w|:\S|\s?[=!<>]=|\s=\s")
_REPEATED: Final = re.compile(
    r"\b(?:every(?:\s(?:other|single|second|third))?|each|alternate|any|per|most|usually\son|always\son|typically\son)\s$",
    re.IGNORECASE,
)
_REPEATED_AFTER: Final = re.compile(
    r"\s(?:after\s(?:week|month|year|day)|and\s(?:day|year|week)\sout)\b", re.IGNORECASE
)

_NEVER: Final = re.compile(r"(?!)")
_HEADS: Final = (
    r"\s(?:\w[\w-]*\s){0,2}?(?:world|society|technolog(?:y|ies)|youth|generations?|kids|children|teens|teenagers|standards?|economy|markets?|age|era|"
    r"leaders?|people|women|men|students|consumers|culture|climate|tech|hero(?:es)?|problems?|challenges|environment|software|systems?|computers|"
    r"internet|web|workforce|politics|music|life)\b"
)
_UNBOUND: Final = "".join(
    rf"(?<!\b{word}\s)"
    for word in ("as", "all", "end", "most", "part", "rest", "half", "much", "night", "because", "morning")
)
_FIGURES: Final = (
    (
        re.compile(r"yesterday"),
        re.compile(
            r"(?:\b(?:like|as\s(?:if|though))\s(?:it\s(?:was|were|happened|is)\s)?(?:only\s|just\s)?|\bborn\s|\b(?:an?|no|my|the)\s"
            rf"|{_UNBOUND}of\s)$"
        ),
        _NEVER,
    ),
    (re.compile(r"(?:yesterday|today|tomorrow)['’]s"), _NEVER, re.compile(_HEADS)),
    (
        re.compile(r"(?:yesterday|today|tomorrow)['’]s"),
        re.compile(
            r"\b(?:likes?|loves?|prefers?|enjoys?|hates?|dislikes?|uses?|reuses?|eats?|never|always|(?:always|usually|often)\s\w+)\s$"
        ),
        _NEVER,
    ),
    (
        re.compile(r"yesterday['’]s"),
        re.compile(r"\b(?:is|are|was|be|become|became)\s$"),
        re.compile(r"\s(?:news|m[ae]n|papers?)\b"),
    ),
    (re.compile(r"yesterday$"), re.compile(r"(?<!\bday\s)\bbefore\s$"), _NEVER),
    (re.compile(r"tomorrow$"), re.compile(r"(?<!\bday\s)\b(?:is|are|be|was|comes?|starts?|['’]s)\safter\s$"), _NEVER),
    (
        re.compile(r"today$"),
        re.compile(
            r"(?:\b(?:even|live\sfor|living\sfor|an?|no|my|our|kids|people|youth|society|children|world|known|know\sit|still\s\w+|use|used|exists?|"
            rf"than|than\s(?:\w+\s){{1,3}}\w+|{_UNBOUND}of|seize|there|here|(?:remains?|stands?)\s(?:\w+\s){{0,2}}\w+|can\sdo)\s|\bhere,?\s)$"
        ),
        re.compile(
            r"\sand\stomorrow\b(?!\s(?:i|we|at)\b)|\s(?:more\sthan\sever|or\snever|known|called|considered|regarded|one\sof|part\sof|home\sto)\b"
            r"|\san?\s(?:museum|hotel|city|town|village|popular|major|common|modern)\b|\sis\s(?:history|an?\s(?:gift|present))\b"
        ),
    ),
    (re.compile(r"(?:today|tonight)$"), re.compile(r"\busa\s$"), re.compile(r"\sshow\b")),
    (
        re.compile(r"tomorrow$"),
        re.compile(
            r"\b(?:an?|no|the|my|our|new|better|brighter|bright|like\sthere['’]s\sno|leaders\sof|world\sof|of|today\sand|never|gone|off\suntil|off\still|happier|safer|greener)\s$"
        ),
        re.compile(r"\s(?:comes|never|is\san?\smystery|may\snever|is\s(?:another|a\snew)\sday|people)\b"),
    ),
    (re.compile(r"(?:last|next)\s"), re.compile(r"\b(?:the\svery|until\sthe|next\sto)\s$"), _NEVER),
    (
        re.compile(r"last\s(?:week|season|year)$"),
        re.compile(r"\b(?:is|are|was|were|it['’]s|that['’]s)\s(?:just\s|all\s)?so\s$"),
        _NEVER,
    ),
    (re.compile(r"yesterday$"), _NEVER, re.compile(r"\sis\s(?:history|gone|the\spast)\b")),
    (re.compile(r"(?:today|tomorrow)$"), _NEVER, re.compile(r"\swere\s")),
    (
        re.compile(r"on monday|(?:mon|tues|wednes|thurs|fri|satur|sun)day"),
        re.compile(r"\b(?:thank\s(?:god|goodness)\sit['’]s|casual|black|cyber)\s$"),
        _NEVER,
    ),
)
"""Phrase, the words before it and the words after it: figures of speech, in which no day is meant."""

_WORD: Final = re.compile(r"[^\W\d_]+")
_WORD_BEFORE: Final = re.compile(r"([^\W\d_]+)\s$")
_WORD_AFTER: Final = re.compile(r"\s([^\W\d_]+)")
_OPENS: Final = re.compile(r"(?:^|[.!?:;…\n]|[—–]|\n\s*[-*+•]|\d[.)])[\s\"'“‘(*_>-]*$")
_CALENDAR: Final = re.compile(
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|Mon|Tues?|Wed|Thurs?|Thur|Fri|Sat|Sun|January|February|March|April|May|June|July|August|September|"
    r"October|November|December"
)
_OFTEN_CAPITAL: Final = frozenset(("I", "I'm", "AI", "TV", "Mum", "Mom", "Dad", "Grandma", "Grandpa"))
_SMALL: Final = words_of("""
never is by the in and was of for to on at comes with without from or a an not no after before night live nights lights man river times
again once more will morning football school star best
""")
_TO_THE_END: Final = re.compile(r"(?:\s[A-Z][\w'’]{0,30}){2,8}\s*(?:[.!?,;:)\n]|$)")
_WORK: Final = re.compile(
    r"\b(?:song|film|movie|book|novel|album|band|episode|show|series|single|track|title|titled|entitled|called|named|cover|newspaper|magazine|musical)"
    r"(?:\s\w+){0,2}?[\s:,–-]+[*_]*$",
    re.IGNORECASE,
)
_WORK_AFTER: Final = re.compile(
    r"(?:\s[A-Z]\w*){0,4}\s(?:by\s(?:the\s)?[A-Z]|(?:is|was)\s(?:an?|my|his|her|the|their|our)\s(?:\w+\s){0,2}(?:song|film|movie|book|novel|album|hit|single|ballad|band)\b)"
)
_EMPHASIS: Final = re.compile(r"[*_]$")
_FEAST: Final = re.compile(
    r"\b(?:black|good|easter|cyber|ash|palm|giving|bloody|casual|fat|shrove|maundy|holy|whit|trinity|super|ruby|freaky|taco|clean|great|spy)\s$",
    re.IGNORECASE,
)


# Bracketed annotations that nights write into the text of a memory, and their removal: dates ("(2026-05-02)"), the day until which a
# sentence held, and what was reported later. The statement of a memory is its text without them.
# ``slowwave.operations.conflicts.memories`` decides when sentences are marked.

_DAY: Final = r"\d{4}-\d\d-\d\d"
LATER: Final = rf" \((?:until {_DAY}(?:(?:; then)?: “[^“”]*”)?|later, on {_DAY}: “[^“”]*”|(?:told )?before {_DAY}(?:: “[^“”]*”)?)\)"
"""The day until which a sentence held, or a later statement with its day and text; "until DAY: …" and "before DAY: …" are former
formats."""

WRITTEN: Final = f"(?:{BESIDE}|{LATER})"
"""Every note that nights add to a text; also valid in RE2 and PostgreSQL."""

_WRITTEN: Final = re.compile(WRITTEN)


def own_text(text: str) -> str:
    """Return a text without the annotations that nights wrote into it."""
    return _WRITTEN.sub("", text)

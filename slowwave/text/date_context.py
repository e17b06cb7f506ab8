"""The context of a date phrase: tense, habit or story, and the days that a question about the past names."""

from __future__ import annotations

import calendar
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, NamedTuple

from slowwave.text.date_values import M_LOW, N, day_of_month
from slowwave.text.words import GRAMMAR, OPENERS, words_of

# Tenses: whether a place in an English text is about the past or the future.
#
# This answers one question: which Monday is meant by "on Monday". It uses the forms of verbs, not grammar. There is no answer if the
# forms show no tense or are about plans of the past ("planned to go on Friday").

Tense = Literal["past", "future", "unclear", "none"]
"""``unclear``: a former plan, whose day may be past or future; ``none``: no verb shows the tense."""


class Cues(NamedTuple):
    """The verbs of a text that show its tense, and the ends of its clauses.

    ``Cues.from_text`` finds them in time linear in the text.
    """

    starts: tuple[int, ...]
    kinds: tuple[str, ...]
    ends: tuple[int, ...] = ()
    text: str = ""

    @classmethod
    def from_text(cls, text: str, without: tuple[tuple[int, int], ...] = ()) -> Cues:
        """Find the cues of a text outside some spans, which must be sorted and disjoint."""
        begins = [start for start, _ in without]
        found: list[tuple[int, str, int]] = []
        for match in _CUE.finditer(text.replace("’", "'")):
            start, kind = match.start(), str(match.lastgroup)
            place = bisect_right(begins, start) - 1
            if place >= 0 and start < without[place][1]:
                continue
            if kind == "regular" and match[0].casefold() in NO_PAST and not _acts(match):
                continue
            if kind == "same" and not _third_person(match):
                continue
            found.append((start, _KIND.get(kind, kind), match.end()))
        return cls(tuple(s for s, _, _ in found), tuple(k for _, k, _ in found), tuple(e for _, _, e in found), text)

    def at(self, start: int, end: int, *, whole: bool = False) -> Tense:
        """Return the tense at a span: that of the verb before it in its clause, else of the verb after it in the clause.

        Other clauses of the sentence have no influence, unless the sentence is one question (``whole``: "what was bought and stored on
        May 4th") or the clause is only the span with a preposition: "On Friday, we met". The order of words counts, not their distance.
        Time: linear in the cues of the sentence that do not end a clause; the nearest come first, so it is small in any real text.
        """
        left, right = bisect_left(self.starts, start) - 1, bisect_left(self.starts, end)
        stops: tuple[tuple[str, ...], ...] = (("clause", "sentence"),)
        if whole or self._is_aside(left, right, start, end):
            stops = (*stops, ("sentence",))
        for ends in stops:
            for found in (self._first(left, -1, ends), self._first(right, 1, ends)):
                if found:
                    return found
        return "none"

    def _is_aside(self, left: int, right: int, start: int, end: int) -> bool:
        """Return whether the clause of a span has only grammatical words, so that it belongs to the adjacent clause."""
        begins = self.ends[left] if left >= 0 else 0
        closes = self.starts[right] if right < len(self.starts) else len(self.text)
        around = f"{self.text[begins:start]} {self.text[end:closes]}"
        if _SUBORDINATE.match(self.text, closes):
            return False
        return len(around) <= _LONGEST_ASIDE and not (set(_WORDS.findall(around.casefold())) - GRAMMAR - _TIMES)

    def _first(self, place: int, step: int, stops: tuple[str, ...]) -> Tense | None:
        for _ in range(_FAR):
            if not 0 <= place < len(self.kinds) or self.kinds[place] in stops:
                return None
            if self.kinds[place] == "past":
                return "past"
            if self.kinds[place] == "future":
                return "future"
            if self.kinds[place] == "unclear":
                return "unclear"
            place += step
        return None


def _acts(match: re.Match[str]) -> bool:
    """Return whether an adjective is a verb here: no form of "be" precedes it and an object follows ("closed the deal")."""
    if match[0].casefold() not in _WITH_OBJECT or not _OBJECT.match(match.string, match.end()):
        return False
    return not _IS.search(match.string[max(0, match.start() - 24) : match.start()])


_OBJECT: Final = re.compile(
    r" (?:(?:the|an?|my|our|his|her|their|its|your|this|that|these|those|all|both|it|him|them|us|me|[0-9]+)\b|(?-i:[A-Z]))",
    re.IGNORECASE,
)
_IS: Final = re.compile(
    r"(?:\b(?:is|are|be|am|get|gets|stays?|remains?|keep|keeps)|['’](?:s|re|m))(?: (?:not|now|still|\w+ly))? $",
    re.IGNORECASE,
)


def _third_person(match: re.Match[str]) -> bool:
    """Return whether a verb with the same form in the past ("she put") has a subject that requires "s" in the present."""
    subject = match[0].split()[0]
    if (
        subject[0].isupper()
        and subject.casefold() not in ("he", "she", "it", "the")
        and subject.casefold() in _NO_SUBJECT
    ):
        return False
    return not _LED_BY_VERB.search(match.string[max(0, match.start() - 16) : match.start()])


_NO_SUBJECT: Final = OPENERS | words_of("never always first second finally just don't to or not people kids children")
_LED_BY_VERB: Final = re.compile(
    r"\b(?:do|does|did|will|would|shall|should|can|could|may|might|must|lets?|makes?|have|has|helps?|sees?|that|and|or|if|when|to)\ $",
    re.IGNORECASE,
)
"""Words after which "Tom put" is not in the past tense: "will Tom put it up?", "let Tom put it up"."""

_LONGEST_ASIDE: Final = 60  # characters
_WORDS: Final = re.compile(r"[^\W\d_]+")
_SUBORDINATE: Final = re.compile(
    r"\W*(?:since|because|if|when|while|as|after|before|although|though|until|unless)\b", re.IGNORECASE
)
"""A clause that states a condition or a reason: "On Friday, since the gate was broken, call Ann"."""

_TIMES: Final = words_of("early late morning afternoon evening night noon")
_FAR: Final = 24  # maximum number of cues that are checked on each side
_KIND: Final = {"regular": "past", "irregular": "past", "same": "past", "hedged": "unclear", "ahead": "future"}
IRREGULAR: Final = words_of("""
was were wasn't weren't had hadn't did didn't been went gone met saw seen got took taken made came said gave given bought found left felt
ran ate eaten drank drove driven flew wrote written spoke spoken broke broken began brought built caught chose chosen fell fallen forgot
heard held kept knew known lost paid sent slept sold spent stood swam taught thought threw thrown understood woke won wore became sang sat
shot rode ridden rang dreamt learnt told drew grew hid lay led lent meant rose shook shut slid stole struck swore tore wept withdrew dug fed
rebuilt rewrote redid overslept overheard
burnt spilt spoilt smelt leant leapt spelt
fought froze hung knelt laid lit sank sought sped spun stuck swept swung blew bit bent bound bred crept dealt fled forgave
""")
"""Past forms and participles of irregular verbs."""

NO_PAST: Final = words_of("""
need feed speed seed weed indeed exceed proceed succeed hundred naked wicked sacred kindred bleed breed freed greed embed shed sled wed
tired excited interested bored married worried scared relaxed crowded closed limited unlimited complicated advanced detailed united
used based related supposed armed
""")
"""Words with the ending of a regular past form that are not one, or that are more often adjectives."""

_WITH_OBJECT: Final = words_of(
    "bored married worried scared relaxed closed limited advanced detailed united used armed"
)
"""Adjectives that are past forms of verbs if an object follows: "closed the deal"."""

_UNCLEAR: Final = words_of("""
planned wanted decided agreed promised hoped intended expected scheduled booked arranged reserved invited reminded asked postponed
rescheduled moved supposed
""")

_SAME: Final = "cut|set|hit|read|let|shut|cost|hurt|spread|split|beat|bet|burst|cast|broadcast"
"""Verbs whose past form equals the present form; most of them are nouns as well."""

_WHAT: Final = "the|an?|my|our|his|her|their|its|it|him|them|us|me|up|off|out|down"
_CUE: Final = re.compile(
    rf"""
    (?P<sentence>(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)(?<!\bProf)[.!?]+(?=[\s"')\]]|$)|[;\n])
    |(?P<clause>[,:–—]|\b(?:and|but|so|because|which|while|although|though|since\ then)\b)
    |(?P<ahead>(?:\b(?:will|won't|shall|must|should|to)|'ll)\ (?:not\ |also\ |then\ )?be\ \w+)
    |(?P<nothing>(?:\b(?:have|has)|['’](?:ve|s))\ got\b(?!\ to\b))
    |(?P<future>\b(?:will|won't|shall|gonna|'ll|let's|let\ us|please|remind|remember\ to|don't\ forget|looking\ forward
        |see\ (?:you|ya|u)|(?:have|has|need|needs|want|wants|plan|plans|hope|hopes|intend|intends|expect|expects|got|ought|due|about|ready
        |going|try|would\ like|'d\ like|supposed)\ to|must|should|upcoming|deadline
        |(?:am|is|are)\ (?:you|we|they|he|she|it|i)\ (?:not\ |still\ )?\w+ing|(?:can|could|would|shall)\ (?:we|you|i)
        |(?:am|is|are|'m|'re|'s)\ (?:not\ |also\ |just\ |only\ |all\ |still\ |probably\ |actually\ )?\w+ing
        |(?:am|is|are|'m|'re|'s)\ (?:not\ )?(?:scheduled|planned|booked|set|due|invited|expected|supposed)
        |(?<!\btheir\ )(?<!\bits\ )(?<!\bthe\ )(?<!\bof\ )leaves
        |(?:starts|begins|arrives|departs|opens|expires|takes\ place)\b)\b|(?<=\w)['’]ll\b)
    |(?P<unclear>\b(?:was|were)\ (?:going|hoping|planning|supposed|scheduled|planned|booked|due|about|set|to)\b
        |\b(?:{"|".join(sorted(_UNCLEAR))})\b)
    |(?P<passive>(?:\b(?:is|are)|'re)\ (?:not\ |\w+ly\ )?[a-z]{{2,18}}ed\b)
    |(?P<hedged>\b(?:would|might|could)\b|['’]d\ )
    |(?P<irregular>\bthank(?:s|\ you)\ for\b|\b(?:{"|".join(sorted(IRREGULAR))})\b)
    |(?P<regular>\b[a-z]{{2,18}}ed\b)
    |(?P<same>\b(?:(?:he|she|the\ user|who)\ (?:just\ |\w+ly\ )?(?:put|quit|{_SAME})
        |(?-i:[A-Z])[a-z]+\ (?:put|quit|(?:{_SAME})(?=\ (?:{_WHAT})\b)))\b(?![-:.]\w))
    """,
    re.VERBOSE | re.IGNORECASE,
)


# The context of a date phrase: the text before and after it, which may make it part of a story, a habit or a duration.


@dataclass(frozen=True, slots=True)
class PhraseContext:
    """The context of a phrase.

    It holds the ``text``, the span of the phrase in it, the day on which it was said, and the tense at that place.
    """

    text: str
    start: int
    end: int
    today: date
    tense: Callable[[], Tense]

    def before(self, signs: int = 40) -> str:
        """Return the text before the phrase, in lower case, starting at a whole word; at most ``signs`` characters."""
        begin = max(0, self.start - signs)
        while 0 < begin < self.start and self.text[begin - 1].isalnum() and self.text[begin].isalnum():
            begin += 1
        return self.text[begin : self.start].lower().replace("’", "'")

    def after(self, signs: int = 40) -> str:
        """Return the text after the phrase, in lower case, ending at a whole word; at most ``signs`` characters."""
        end = min(len(self.text), self.end + signs)
        while self.end < end < len(self.text) and self.text[end - 1].isalnum() and self.text[end].isalnum():
            end -= 1
        return self.text[self.end : end].lower().replace("’", "'")


MODIFIED: Final = re.compile(
    r"\b(?:about|around|roughly|approximately|almost|nearly|some|maybe|like|over|more\sthan)\s$"
)
COMPARED: Final = re.compile(
    r"(?:(?<!\bmore\s)\b(?:than|least|most|within|under|to|until|up\sto|every|each|per|or)\s?|\d\s?[-–~]\s?|[\d~–-])$"
)
ALTERNATIVE: Final = re.compile(rf"(?:\b(?:{N})|\d)\s?(?:or|to|and|-|–|/)\s?$", re.IGNORECASE)
OWNED: Final = re.compile(
    r"(?:\b(?:the|an?|my|his|their|our|your|its|every|each|that|very|one|no|any|second|third)"
    r"|\b(?:in|during|on|of|since|is|was|it's|for)\sher|^her|[.!?]\sher|\b(?!(?:it|he|she|that|what|who|there|here|where|how|when)['’])[a-z]+['’]s)\s$"
)
"""Words after which "last week" is relative to a story and not to the day of recording."""
_STORY: Final = re.compile(
    r"\b(?:the|an?|my|his|her|their|our|your|its|every|each|that|very|one|no|any|in\sthe|by\sthe)\s$"
)
WITHIN: Final = re.compile(
    r"\b(?:how\s(?:many|much|long)|first|once|twice|times?|best|worst|biggest|most|only|longest|record|not|never|no|nobody|none|per|average|every|each|"
    r"haven't|hasn't|hadn't|didn't|isn't|don't|can|could|able|times|more|less|the\s\w+est|within|all)\b(?:\s\w+){0,6}\s$|n't\s(?:\w+\s){0,6}$"
)
PLEDGED: Final = re.compile(r"(?<!was\s)(?<!were\s)\b(?:promised|scheduled|booked|arranged|agreed|expected|decided)\b")
VISITS: Final = re.compile(
    r"\b(?:is|are|visits?|comes?|sends?|goes|travels|fl(?:y|ies)|returns?|retires?|moves|joins|meets|graduates?|reopens?|resumes?)(?:\s\w+){0,5}\s$"
)
TELIC: Final = re.compile(
    r"\b(?:(?:finish|complet|learn|read|build|los|writ|memoriz|memoris|master|gain|earn|sav|deliver|mak|cook|grow|chang|doubl|achiev|solv|fix|"
    r"recover|heal|pay|tak|ship)(?:e|es|s|ing|ed|d)?|do|does|done|made)\b"
)
IS: Final = re.compile(
    r"(?:\b(?:is|are|be|due|back|home|again|starts|begins|leaves|ends|closes|opens|departs|arrives|lands|expires|you|here|there|starting|leaving)"
    r"|['’]s|(?:^|[,:]|\b(?:and|but|so))|\bexactly|\bjust)\s?$"
)
TO_COME: Final = re.compile(
    r"(?:^|[:,(]\s?)(?:(?:the|an?|my|our|his|her|next|second|third|final|follow-?up|repeat|another)\s){0,2}(?:[\w-]+\s)?"
    r"(?:dose|appointment|check-?up|follow-?up|recheck|review|results?|delivery|renewal|refill|scan|visit|deadline|booster|jab|injection|vaccination|"
    r"exam|surgery|operation|payment|instal?ment|meeting|interview|launch|release|wedding|hearing|inspection|service|audit|x-?ray|fitting)\s$"
)
"""A note without a verb: "Vaccination: second dose in six weeks"."""
CLAUSE: Final = re.compile(r"(?:^|[,:]|\b(?:and|but|so))\s?$")
KEPT: Final = re.compile(
    r"\b(?:(?<!my\s)(?<!our\s)(?<!his\s)(?<!her\s)(?<!your\s)(?<!their\s)(?!visa|passport)\w+\s(?:will\s)?expires?)\s$"
)
NO_PART: Final = re.compile(
    r"\b(?:every|each|an?|the|any|all|most|some|usual|typical|lazy|quiet|rainy|sunny|on\s\w+)\s$"
)
LOOSE_END: Final = re.compile(r"\s*(?:[.!?;)]|,\s|$)|\s(?:at\s\d|and\s(?:i|we|he|she|they|my|our|it)\b)")
NO_LOOSE: Final = re.compile(
    r"(?:\b(?:every|each|an?|the|any|all|most|some|is|was|be|it's|that's|than|like|love|loves|hate|hates|called|named|and|or|of|to|next|watch|"
    r"watched|watching|read|saw|see|with|my|our|her|his|your|their|but|about|as)|['’]s)\s$"
)
HABIT: Final = re.compile(
    r"\b(?:when\s(?:i|he|she|we|they)\swas|when\swe\swere|as\sa\s(?:child|kid|boy|girl)|back\sthen|used\sto|every|each|usually|always|often|sometimes|"
    r"normally|typically|generally|weekly|week\s(?:start|end|begin)s|childhood|in\s(?:19|20)\d\d)\b"
)
"""Words that show that no particular day is meant."""
_ONE_OFF: Final = (
    r"(?:appointments?|meeting|interview|exam|exams|test|flight|date|party|wedding|call|concert|deadline|presentation|surgery|operation|funeral|"
    r"viewing|audition|hearing|trial|rehearsal|match|game|race|launch|release|demo|delivery|check-?up|scan|x-?ray|ceremony|graduation|"
    r"inspection|reunion|vote|election|premiere|opening|inauguration|final|biopsy|visit|departure|move|birthday|anniversary|storm warning|"
    r"strike|training|workshop|webinar|conference|results?|due date|handover|signing|auction|barbecue|dinner|reception|play|recital)"
)
"""Events that take place once: with a bare weekday, the next one is meant."""
BOOKED: Final = re.compile(
    r"\b(?:(?:have|has|got|['’]ve\sgot)\s(?:an?|my|the|our|his|her)|there(?:\sis|['’]s|\sare)(?:\san?|\sthe)?)\s(?:[\w'’-]+\s){0,3}"
    rf"{_ONE_OFF}\s(?:(?:at|in|with|for)\s(?:[\w'’-]+\s){{1,3}})?(?:on|for)\s$"
)
TAKES_PLACE: Final = re.compile(
    rf"\b{_ONE_OFF}\s(?:(?:for|of|with|at|in|about)\s(?:[\w'’-]+\s){{1,4}}?)?(?:is|are|['’]s)\s(?:on\s|for\s|set\sfor\s)?$|['’]s\s{_ONE_OFF}\sis\s(?:on\s)?$"
)
"""The words before the weekday in "the deadline for the report is …"."""
OPENS: Final = re.compile(r"(?:^|[.!?;:\n]|,?\s(?:and|but|so))\s*$")
ONE_DAY_IS: Final = re.compile(
    rf"\s(?:is|will\sbe)\s(?:an?|the|my|our|his|her|their|[\w'-]+'s)\s(?:(?:bank|public|national|legal|school|company|final|last)\s)?(?:holiday|{_ONE_OFF})"
    r"\s*(?:[.,;!]|$|\s(?:so|and|but|here)\b)"
)
"""The words after a weekday that means one particular day: "Thursday is a bank holiday"."""
OWN_VERB: Final = re.compile(
    r"(?:\s(?!(?:is|are|has|have|will)\b)[\w-]+){1,4}?\s(?:(?P<was>was|were|had|did|went|took|got|ran|came|brought|cost|left|broke|fell|lasted|failed|ended|started"
    r"|showed|caused|revealed|turned\sout|crashed|passed|drew|moved\sto\stears)|will(?:\snot)?|won't|is\sgoing\sto)\b"
)
PUT_OFF: Final = re.compile(
    r"[^.!?]{0,50}?\s(?:was|were|is|are|got|has\sbeen|have\sbeen)\s(?:just\s|now\s|been\s|\w+ly\s)?(?:cancel|postpon|mov|resched|delay|plann|schedul|call|push|brought"
    r"|book|confirm|announc|approv|agree|set|suppos|due|going|still|meant|chang|expect|fill|sold)"
)
"""Changes of an event on a day that may be future or past: "Friday's meeting was cancelled"."""
GIVEN_UP: Final = re.compile(
    r"[^.!?;]{0,40}\bbut\s(?:then\s)?(?:(?:i|he|she|we|they)\s)?(?:forgot|overslept|never\s(?:did|got)|didn't|couldn't|missed)\b"
)
"""A former plan that was not carried out: "I was going to call on Sunday but forgot"."""
COMES_ONCE: Final = re.compile(
    r"\b(?:arrives?|lands?|returns?|flies\s\w+|moves?\s(?:in|out|house|to\s\w+)|starts?|begins?|gets?\smarried|retires?|results?\scome|comes?\s(?:back|home))"
    r"(?:\s(?!at\b)[\w'’-]+){0,5}\son\s$"
)
SETS_OUT: Final = re.compile(
    r",?\s(?:i|we|he|she|they|you)\s(?:all\s)?(?:drives?|fl(?:y|ies)|leaves?|travels?|moves?|signs?|sets?\soff|departs?)\s"
)
LETS: Final = re.compile(r"\b(?:let['’]?s|let\sus|shall\swe|can\swe|could\swe)\s(?:\w+\s){1,4}$")
WEEKLY: Final = re.compile(
    r"\b(?:yoga|pilates|karate|judo|choir|orchestra|practice|class|classes|lessons?|courses?|shifts?|clubs?|market|mass|service|stand-?ups?|syncs?|"
    r"laundry|garbage|bins?|trash|recycling|pay ?day|day\soff|football|swimming|dance|dancing|gym|church|school|kindergarten|tutoring|"
    r"therapy|hours?|quiz|bingo|office|shop|store|library|museum|gallery|bakery|pool)\b(?:\s[\w'’-]+){0,3}?\s(?:is|are)\s(?:on\s)?$"
)
"""Events that may recur every week, so no particular day is meant."""
KEPT_HOURS: Final = re.compile(r"\b(?:opens?|closes?|shuts?)\b[^.]{0,20}\bat\b[^.]{0,12}\son\s$")
SOON: Final = re.compile(r"\b(?:see\s(?:you|ya|u)|arrives|leaves|starts|begins|due)\s$")


def narrated(when: str, place: PhraseContext) -> bool:
    """Return whether "the next week" or a similar phrase is relative to a time in a story."""
    before = place.before()
    if when == "current" and re.search(r"\bthe\s$", before):  # a usage of manuals
        return True
    if when in ("coming", "upcoming", "current"):
        return bool(re.search(rf"\b(?:my|his|her|their|our|your|its|every|each|any|no|{N})\s$", before))
    if when in ("previous", "following", "past"):
        return bool(_STORY.search(before))
    return not when.startswith("this") and bool(OWNED.search(before))


def of_something(place: PhraseContext) -> bool:
    """Return whether the unit belongs to something: "last week of March", "next year of school".

    "Last year in June" does not count: it means a June of that year.
    """
    if re.match(rf"\sin\s{M_LOW}\b", place.after()) and re.search(
        r"(?:year|yr)$", place.text[place.start : place.end].lower()
    ):
        return False
    return bool(
        re.match(
            rf"\s(?:of\s(?:{M_LOW}|\d{{4}}|school|college|university|work|summer|winter|spring|autumn|fall|pregnancy|(?:the|my|our|his|her|their|each|every"
            rf"|last|this|next)\s(?:\w+\s)?(?:week|month|quarter|year|semester|term|season|school|college|course|trip|summer|winter|spring|autumn"
            rf"|fall|holidays?|vacation|stay|decade|century|contract|project))\b|in\s{M_LOW}\b|before\slast|after\snext|in\sa\srow|in\s(?:\d{{4}})\b)",
            place.after(),
        )
    )


# Named days: calendar dates that a question about the past names, "on May 4th", "in March", "on 2 June 2025", "in 2024".
#
# Without a year the latest date that is not in the future is meant. Numbers alone ("4/5/2025") may be either of two days and are ignored.
# English and ISO; time linear in the text.

_MONTHS: Final = {name.casefold(): n for n, name in enumerate(calendar.month_name) if n}
_SHORT: Final = {name[:3]: n for name, n in _MONTHS.items() if len(name) > 3} | {"sept": 9}
_MONTH: Final = rf"(?P<month>{'|'.join(m for m in _MONTHS if m not in ('may', 'march'))}|(?-i:May|March)|(?:{'|'.join(_SHORT)})\b\.?)"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_DAY: Final = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_FORMS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\w-]){_YEAR}-(?P<month>[01]\d)(?:-(?P<day>[0-3]\d))?(?![\w-])",
        rf"\b{_MONTH} (?:the )?{_DAY}\b(?!:|\.\d)(?:,? {_YEAR}\b)?",
        rf"\b{_DAY} (?:of )?{_MONTH}(?!\w)(?:,? {_YEAR}\b)?",
        rf"\b(?:in|during) {_MONTH}(?!\w)(?:,? (?:of )?{_YEAR}\b)?",
        rf"\b{_MONTH} {_YEAR}\b",
        rf"\b(?:in|during) {_YEAR}(?![\w-])",
    )
)
_SAID: Final = re.compile(r"\b(?:decided|agreed|promised|asked|reminded)\b", re.IGNORECASE)
"""Past acts whose day is the day of recording, although the subject may be in the future."""


def named_days(text: str, today: date) -> tuple[date, date] | None:
    """Return the first and last day of the date that a past-tense text, said today, names first.

    Returns None if the text names no date, or if its verbs refer to the future or show no tense: something due in March was not said in
    March.
    """
    found = [m for m in (form.search(text) for form in _FORMS) if m]
    cues = Cues.from_text(text)
    for match in sorted(found, key=lambda m: (m.start(), -m.end())):
        tense = cues.at(*match.span(), whole=True)
        past = tense == "past" or (tense == "unclear" and _SAID.search(text))
        if past and (days := _days(match, today)) is not None:
            return days
    return None


def _days(match: re.Match[str], today: date) -> tuple[date, date] | None:
    fields = match.groupdict()
    year, month, day = fields["year"], fields.get("month"), fields.get("day")
    if month is None:
        return date(int(year), 1, 1), date(int(year), 12, 31)
    number = int(month) if month.isdigit() else _numbered(month)
    for other in (int(year),) if year else (today.year, today.year - 1):
        first = day_of_month(other, number, int(day) if day else 1) if number else None
        if first is not None and (year or first <= today):
            last = first if day else date(other, number, calendar.monthrange(other, number)[1])
            return first, last
    return None


def _numbered(month: str) -> int:
    name = month.casefold().rstrip(".")
    return _MONTHS.get(name) or _SHORT[name]

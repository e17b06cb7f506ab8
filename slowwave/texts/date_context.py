"""The company of a date phrase: what stands before and after it, and when that makes it one of a story, a habit or a duration."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Final

from slowwave.texts.date_words import M_LOW, N
from slowwave.texts.tenses import Tense


@dataclass(frozen=True, slots=True)
class PhraseContext:
    """Where a phrase stands: the ``text``, the phrase's own span in it, the day it was said, and the tense of that place."""

    text: str
    start: int
    end: int
    today: date
    tense: Callable[[], Tense]

    def before(self, signs: int = 40) -> str:
        """What stands before the phrase, in lower case, from a whole word on."""
        begin = max(0, self.start - signs)
        while 0 < begin < self.start and self.text[begin - 1].isalnum() and self.text[begin].isalnum():
            begin += 1
        return self.text[begin : self.start].lower().replace("’", "'")

    def after(self, signs: int = 40) -> str:
        """What stands after it, in lower case, up to a whole word."""
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
"""Words that make a "last week" one of a story, not of the day it is recorded."""
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
"""Nobody means one certain Sunday in such company."""
_ONE_OFF: Final = (
    r"(?:appointments?|meeting|interview|exam|exams|test|flight|date|party|wedding|call|concert|deadline|presentation|surgery|operation|funeral|"
    r"viewing|audition|hearing|trial|rehearsal|match|game|race|launch|release|demo|delivery|check-?up|scan|x-?ray|ceremony|graduation|"
    r"inspection|reunion|vote|election|premiere|opening|inauguration|final|biopsy|visit|departure|move|birthday|anniversary|storm warning|"
    r"strike|training|workshop|webinar|conference|results?|due date|handover|signing|auction|barbecue|dinner|reception|play|recital)"
)
"""What takes place once: with a bare weekday it is the next one."""
BOOKED: Final = re.compile(
    r"\b(?:(?:have|has|got|['’]ve\sgot)\s(?:an?|my|the|our|his|her)|there(?:\sis|['’]s|\sare)(?:\san?|\sthe)?)\s(?:[\w'’-]+\s){0,3}"
    rf"{_ONE_OFF}\s(?:(?:at|in|with|for)\s(?:[\w'’-]+\s){{1,3}})?(?:on|for)\s$"
)
TAKES_PLACE: Final = re.compile(
    rf"\b{_ONE_OFF}\s(?:(?:for|of|with|at|in|about)\s(?:[\w'’-]+\s){{1,4}}?)?(?:is|are|['’]s)\s(?:on\s|for\s|set\sfor\s)?$|['’]s\s{_ONE_OFF}\sis\s(?:on\s)?$"
)
"""What stands before the weekday in "the deadline for the report is …"."""
OPENS: Final = re.compile(r"(?:^|[.!?;:\n]|,?\s(?:and|but|so))\s*$")
ONE_DAY_IS: Final = re.compile(
    rf"\s(?:is|will\sbe)\s(?:an?|the|my|our|his|her|their|[\w'-]+'s)\s(?:(?:bank|public|national|legal|school|company|final|last)\s)?(?:holiday|{_ONE_OFF})"
    r"\s*(?:[.,;!]|$|\s(?:so|and|but|here)\b)"
)
"""What is said of one certain weekday: "Thursday is a bank holiday"."""
OWN_VERB: Final = re.compile(
    r"(?:\s(?!(?:is|are|has|have|will)\b)[\w-]+){1,4}?\s(?:(?P<was>was|were|had|did|went|took|got|ran|came|brought|cost|left|broke|fell|lasted|failed|ended|started"
    r"|showed|caused|revealed|turned\sout|crashed|passed|drew|moved\sto\stears)|will(?:\snot)?|won't|is\sgoing\sto)\b"
)
PUT_OFF: Final = re.compile(
    r"[^.!?]{0,50}?\s(?:was|were|is|are|got|has\sbeen|have\sbeen)\s(?:just\s|now\s|been\s|\w+ly\s)?(?:cancel|postpon|mov|resched|delay|plann|schedul|call|push|brought"
    r"|book|confirm|announc|approv|agree|set|suppos|due|going|still|meant|chang|expect|fill|sold)"
)
"""What is done to a day that is still to come as well as to one that was: "Friday's meeting was cancelled"."""
GIVEN_UP: Final = re.compile(
    r"[^.!?;]{0,40}\bbut\s(?:then\s)?(?:(?:i|he|she|we|they)\s)?(?:forgot|overslept|never\s(?:did|got)|didn't|couldn't|missed)\b"
)
"""A plan of the past that came to nothing: "I was going to call on Sunday but forgot"."""
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
"""What comes again each week, or may: no certain day is meant."""
KEPT_HOURS: Final = re.compile(r"\b(?:opens?|closes?|shuts?)\b[^.]{0,20}\bat\b[^.]{0,12}\son\s$")
SOON: Final = re.compile(r"\b(?:see\s(?:you|ya|u)|arrives|leaves|starts|begins|due)\s$")


def narrated(when: str, place: PhraseContext) -> bool:
    """Whether "the next week" and its like are those of a story."""
    before = place.before()
    if when == "current" and re.search(r"\bthe\s$", before):  # as manuals speak
        return True
    if when in ("coming", "upcoming", "current"):
        return bool(re.search(rf"\b(?:my|his|her|their|our|your|its|every|each|any|no|{N})\s$", before))
    if when in ("previous", "following", "past"):
        return bool(_STORY.search(before))
    return not when.startswith("this") and bool(OWNED.search(before))


def of_something(place: PhraseContext) -> bool:
    """ "Last week of March", "next year of school"; "last year in June" is in that year."""
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

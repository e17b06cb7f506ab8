"""Tenses: whether what stands at a place of an English text is past or still to come.

Made for one question: which Monday "on Monday" is. It looks at verbs by their forms, not at grammar; where these say nothing or
speak of plans of the past ("planned to go on Friday") there is no answer.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import Final, Literal, NamedTuple

from slowwave.texts.vocabulary import GRAMMAR, OPENERS, words_of

Tense = Literal["past", "future", "unclear", "none"]
"""``unclear``: a plan of the past, of which the day may be either; ``none``: no verb tells."""


class Cues(NamedTuple):
    """Where a text has verbs that tell, and where its clauses end. ``Cues.of`` reads them; time linear in the text."""

    starts: tuple[int, ...]
    kinds: tuple[str, ...]
    ends: tuple[int, ...] = ()
    text: str = ""

    @classmethod
    def of(cls, text: str, without: tuple[tuple[int, int], ...] = ()) -> Cues:
        """Cues of a text outside some spans, which are sorted and do not overlap."""
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
        """Return the tense at a span: that of the verb before it in its clause, else of the one after it there.

        Another clause of the sentence says nothing about the span, unless the sentence is one question (``whole``: "what was bought and
        stored on May 4th") or the clause is the span itself with a preposition: "On Friday, we met". The order
        of words counts, never how far apart they are. Time: linear in the cues of the sentence that no clause ends; the nearest come
        first, so it is small in any real text.
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
        """Whether the clause of a span has no other word than grammar, so that it belongs to the clause next to it."""
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
    """Whether an adjective is a verb here: nothing is "closed" before it, and something is closed behind it."""
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
    """Whether a verb whose past has the same form ("she put") has a subject with which the present would end in "s"."""
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
"""Behind these "Tom put" is no past: "will Tom put it up?", "let Tom put it up"."""

_LONGEST_ASIDE: Final = 60  # characters
_WORDS: Final = re.compile(r"[^\W\d_]+")
_SUBORDINATE: Final = re.compile(
    r"\W*(?:since|because|if|when|while|as|after|before|although|though|until|unless)\b", re.IGNORECASE
)
"""A clause that says under what condition or why: "On Friday, since the gate was broken, call Ann"."""

_TIMES: Final = words_of("early late morning afternoon evening night noon")
_FAR: Final = 24  # cues that are looked at on each side
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
"""Past forms, and participles, of irregular verbs."""

NO_PAST: Final = words_of("""
need feed speed seed weed indeed exceed proceed succeed hundred naked wicked sacred kindred bleed breed freed greed embed shed sled wed
tired excited interested bored married worried scared relaxed crowded closed limited unlimited complicated advanced detailed united
used based related supposed armed
""")
"""Words that end as past forms of regular verbs do and are none, or more often adjectives."""

_WITH_OBJECT: Final = words_of(
    "bored married worried scared relaxed closed limited advanced detailed united used armed"
)
"""Adjectives that are verbs of the past where what they act upon follows: "closed the deal"."""

_UNCLEAR: Final = words_of("""
planned wanted decided agreed promised hoped intended expected scheduled booked arranged reserved invited reminded asked postponed
rescheduled moved supposed
""")

_SAME: Final = "cut|set|hit|read|let|shut|cost|hurt|spread|split|beat|bet|burst|cast|broadcast"
"""Verbs whose past is like their present, most of them nouns as well."""

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

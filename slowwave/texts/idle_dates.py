"""Idle dates: phrases whose day nobody will ever ask for, in questions, small talk and sentences about the conversation itself.

"How are you today?", "See you tomorrow!" and "Today I want to talk to you about a dress" tell of no day that matters, and "Today is
Sunday" says by itself which it was. Whether a phrase can be read at all belongs to ``slowwave.texts.dates``. English.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from slowwave.texts.known_names import is_given
from slowwave.texts.lexicon import is_word
from slowwave.texts.small_talk import has_no_content

Idleness = Literal["", "asked", "idle"]

_REACH: Final = 400  # signs of a sentence before and behind a phrase
_SENTENCE_OPENS: Final = re.compile(r"^|[.!?…][\"'”’)\]]*\s+|\n")
_SENTENCE_CLOSES: Final = re.compile(r"[.!?…]+|\n")
_ASKING: Final = re.compile(
    r"\W*(?:(?:and|so|but|well|oh|hey|hi|ok(?:ay)?|then|by the way)\W+)*(?:how|what|which|where|who|whom|whose|why|when)\b",
    re.IGNORECASE,
)
_FIRST_PERSON: Final = re.compile(r"(?i)\b(?:i|me|my|mine|we|us|our|ours|let['’]?s)\b")
_OWNED: Final = 16  # signs behind a phrase: "'s conversation"
_CLAUSE: Final = re.compile(r"[,;:–—]\s|\s(?:and|but|so)\s", re.IGNORECASE)
_ADDRESSED: Final = re.compile(r"(?<!\w)(?:you|let['’]?s|our conversation|our chat)(?!\w)", re.IGNORECASE)
_TODAY: Final = re.compile(r"today|tonight|this (?:morning|afternoon|evening)", re.IGNORECASE)
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
    """Whether "today" between two parts of a sentence means the present age: "Pottery is a common hobby today".

    That is a class to which something belongs, or a statement in the present about no person, day or thing in particular, without an
    event. A name at the start ("Ola is in Rome today") is somebody in particular.
    """
    said = f"{before} {_SENTENCE_CLOSES.split(after)[0]}"
    if not before.strip() or _PERSONAL.search(said) or not _PRESENT.search(before) or _EVENT.search(said):
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
    """Why the day of the phrase at ``start`` … ``end`` is of no use; empty where it may be.

    ``asked``: in a question that speaks of nobody but whom one talks to. ``idle``: in a sentence of small talk, or its clause that speaks
    to somebody; today, where who speaks wishes to talk; and what is said to be a weekday. Time: linear in the sentence.
    """
    closes = _SENTENCE_CLOSES.search(text, end, end + _REACH)
    close = closes.start() if closes else min(len(text), end + _REACH)
    opens = max(m.end() for m in _SENTENCE_OPENS.finditer(text[max(0, start - _REACH) : start]))
    opens += max(0, start - _REACH)
    before, phrase, after = text[opens:start], text[start:end], text[end:close]
    said = before + phrase + after
    asks = closes is not None and "?" in closes[0]
    if asks and (_ASKING.match(said) is not None or _FIRST_PERSON.search(said) is None):
        return "asked"
    if _A_DAY.match(after) or _OF_THE_TALK.search(phrase + after[:_OWNED]):
        return "idle"
    if _TODAY.fullmatch(phrase) and (_WISH_AFTER.match(after) or _WISH_BEFORE.search(before)):
        return "idle"
    if has_no_content(said + ("?" if asks else "")) and (_ADDRESSED.search(said) or not _TODAY.fullmatch(phrase)):
        return "idle"  # "Today is a beautiful day." may set the scene for what comes next
    left = max((m.end() for m in _CLAUSE.finditer(before)), default=0)
    right = _CLAUSE.search(after)
    clause = before[left:] + phrase + (after[: right.start()] if right else after)
    return "idle" if _ADDRESSED.search(clause) and has_no_content(clause) else ""

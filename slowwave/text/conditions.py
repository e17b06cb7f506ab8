"""Conditions: clauses and sentences that limit when a statement holds, in English.

"The foreman opens gate B at six. This holds only if the tide table shows less than 3 m." has another meaning without its second sentence.
``limits`` finds sentences that limit the one before them, for callers that leave sentences out. ``lost_conditions`` compares texts before
and after a rewording. The rules use words, not grammar; in doubt a sentence counts as a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from slowwave.text.date_context import IRREGULAR, NO_PAST
from slowwave.text.sentences import sentences
from slowwave.text.statements import stem
from slowwave.text.words import GRAMMAR

Reach = Literal["", "sentence", "paragraph"]
"""The reach of a limit: no other sentence; the previous sentence; an earlier sentence of the paragraph."""

_STRICT: Final = (
    r"only\s(?:if|when|while|after|before|until|on|in|at|during|for|with|where|as\slong\sas|by|from)|unless|except(?:ing)?(?!ion)|provided(?:\sthat)?"
    r"|providing\sthat|(?:as|so)\slong\sas|on\scondition\sthat|in\scase|if"
)
_TIMED: Final = r"when(?:ever)?|while|until|till|once|whilst"
_LEAD: Final = (
    r"[\s\"'“‘«(\[*_>-]*(?:\d{1,3}[.)]\s+)?(?:(?:but|and|so|however|though|also|note|remember),?\s(?:that\s)?)?"
)
ASKED: Final = "".join(
    rf"(?<!\b{word}\s)"
    for word in ("ask", "asks", "asked", "wonder", "wonders", "know", "knows", "see", "check", "as", "even")
)
"""Lookbehinds of a pattern: the words before an "if" that opens a question ("Ann asked if it rains") and no condition."""

_MARK: Final = re.compile(rf"\b(?:(?P<strict>{ASKED}(?:{_STRICT}))|(?P<timed>{_TIMED}))\b", re.IGNORECASE)
"""A word that opens a condition. Matches ``stays open unless it rains`` and must not match ``Ann asked if it rains``."""

_OPENS: Final = re.compile(
    rf"{_LEAD}(?:(?P<strict>{_STRICT})|(?P<timed>{_TIMED}|during|after|before))\b", re.IGNORECASE
)
_FRAGMENT: Final = re.compile(
    rf"{_LEAD}(?:only\b|except\b|excluding\b|apart\sfrom\b|outside\s(?:of\s)?\w|other\sthan\b|not\s(?:on|in|at|if|when|while|during|for|with|before|after|until)\b"
    r"|never\s(?:on|in|at|if|when|while|during)\b|then\sonly\b|otherwise\b|(?:the|one|an)\s(?:only\s)?(?:exceptions?|conditions?|limits?)\b)",
    re.IGNORECASE,
)
"""A sentence that begins as a limit: ``Not on Sundays.``, ``Except in winter.``"""

_POINTS_BACK: Final = re.compile(
    r"\bonly\sthen\b|\b(?:usually|mostly|always)\sthen\b|\bthen\salone\b|\b(?:on|in|at|during|for|under|with|by|to|of)\ssuch\s(?!as\b)\w+"
    r"|\b(?:on|in|at|during|for|under|by)\s(?:those|these)\s(?:\w+\s)?(?:days?|nights?|weeks?|weekends?|months?|times?|hours?|mornings?|"
    r"evenings?|cases?|conditions?|circumstances|situations?|occasions?|moments?|periods?|seasons?|places?|rooms?|shifts?|weathers?|winters?|summers?)\b"
    r"|\bin\s(?:that|this|such\sa|which)\scase\b|\b(?:on|in|at|during|under|for)\s(?:that|this)\s(?:condition|occasion|circumstance|situation)\b"
    r"|\b(?:it|this|that)(?:\sis|['’]s)\s(?:\w+ly\s|only\s|just\s|often\s|always\s|mostly\s)?(?:in|on|at|during|with|for|when|while|after|before|"
    r"under|by|from)\s[^.!?,]{1,120}\b(?:that|when|which)\b|\b(?:all|none|nothing|part)\sof\s(?:this|that|it|the\s(?:kind|sort|above))\b"
    r"|,\sthat\sis[.!]?$",
    re.IGNORECASE,
)
"""Words that refer back to a condition or a statement: ``On such days``, ``It is usually in those weeks that``. Must not match ``in pots
such as these``."""

_BOUNDED: Final = re.compile(
    r"\b(?:is|are|be|stays?|remains?)\s(?:\w+ly\s)?(?:limited|restricted|confined|reserved|subject|conditional|dependent|bound|meant|allowed|valid|kept)"
    r"\s(?:to|for|on|by|in|during|at|from)\b|\bdepends?\s(?:\w+\s)?on\b|"
    r"\b(?:applies|apply|holds?|counts?|is\s(?:true|so|the\scase))\s(?:\w+ly\s)?(?:for|to|in|on|at|during|with|from|outside|between)\b|\b(?:requires?|presupposes?|assumes?)\b",
    re.IGNORECASE,
)
"""Phrases by which a sentence about "this" limits it: ``All of this is limited to frost``."""


_SUPPOSED: Final = re.compile(
    rf"{_LEAD}(?:(?:should|were|had)\s(?:it|this|that|the|a|an|he|she|they|there|[A-Z]\w+)\s(?![^.]{{0,300}}\?)|(?:suppose|supposing|assume|assuming|"
    r"imagine|given)\s(?:that\s)?\w|for\s(?:this|that)\b[^.!?]{0,80}\b(?:has|have|must|needs?|should|only|certain|required|necessary)\b"
    r"|(?:the\srest\sof\sthe|at\s(?:all\s)?other|in\s(?:all\s)?other|on\s(?:all\s)?other|the\sother)\b)",
    re.IGNORECASE,
)
"""A supposition, or a statement about the remaining cases: ``Should it rain, the gate stays shut.`` Must not match ``Should it rain
tomorrow?``"""

_PRONOUN: Final = re.compile(
    rf"{_LEAD}(?:it|its|this|that|these|those|they|their|such|both|he|she|all\sof\s(?:this|that)|the\s(?:same|rule|arrangement|exception|above|former|latter))\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_PASSIVE: Final = frozenset(("is", "are", "be", "been", "being", "gets", "get", "not", "am"))
_LONGEST: Final = 600  # characters of a sentence

_KEPT: Final = 0.7
_REPEATED: Final = 0.5
"""Shares of the stems of a statement (``_KEPT``) and of its condition (``_REPEATED``) that a text must contain to state them; a reworded
sentence changes some."""


class Condition(NamedTuple):
    """A statement and its limit, as stems; ``text`` is the limit as written."""

    statement: frozenset[str]
    limit: frozenset[str]
    text: str


def limits(sentence: str, before: str) -> Reach:
    """Return how far back a sentence limits earlier statements, given the sentence before it.

    Time: linear in both sentences, of which at most 600 characters are used.
    """
    excerpt = sentence[:_LONGEST]
    if _POINTS_BACK.search(excerpt) or _FRAGMENT.match(excerpt) or _SUPPOSED.match(excerpt):
        return "paragraph"
    if _PRONOUN.match(excerpt) and _BOUNDED.search(excerpt):
        return "paragraph"
    opening = _OPENS.match(excerpt)
    marked = opening or _MARK.search(excerpt)
    if marked is None or (marked["strict"] is None and _is_past(excerpt)):
        return ""
    if _PRONOUN.match(excerpt):
        return "paragraph"
    if opening and (len(excerpt.split()) <= _SHORT or _stems(excerpt) & _stems(before)):
        return "sentence"
    return ""


_SHORT: Final = 8
"""Maximum number of words of a sentence that consists of a condition only, such as "Unless the tide is high"."""


def lost_conditions(before: Sequence[str], after: Sequence[str]) -> list[Condition]:
    """Return the conditions of the ``before`` texts that the ``after`` texts omit although they make the statement.

    Time: linear in the texts, times the conditions.
    """
    wanted = [c for text in before for c in _conditions(text)]
    if not wanted:
        return []
    sentence_stems = [[_stems(s) for s in sentences(text)] for text in after]
    return [c for c in dict.fromkeys(wanted) if _is_lost(c, sentence_stems)]


def _is_lost(c: Condition, told: Sequence[Sequence[frozenset[str]]]) -> bool:
    """Return whether some sentence makes the statement, but none that does has the condition in it or next to it."""
    stated = False
    for text in told:
        for k, stems in enumerate(text):
            if len(c.statement & stems) < _KEPT * len(c.statement):
                continue
            near = frozenset[str]().union(*text[max(0, k - 1) : k + 2])
            if len(c.limit & near) >= _REPEATED * len(c.limit):
                return False
            stated = True
    return stated


@lru_cache(4_096)
def _conditions(text: str) -> tuple[Condition, ...]:
    return tuple(_read(text))


def _read(text: str) -> Iterator[Condition]:
    previous = ""
    for sentence in sentences(text):
        own = _within(sentence[:_LONGEST])
        if own:
            yield own
        if previous and limits(sentence, previous):
            statement, limit = _stems(previous), _stems(sentence)
            if statement and limit - statement:
                yield Condition(statement, limit - statement, sentence[:_LONGEST].strip())
        previous = sentence


def _within(sentence: str) -> Condition | None:
    """Return the condition that a sentence states together with its statement."""
    mark = _MARK.search(sentence)
    if mark is None or (mark["strict"] is None and _is_past(sentence)):
        return None
    comma = sentence.find(",", mark.end())
    opens = not _WORD.search(sentence[: mark.start()]) or _OPENS.match(sentence) is not None
    if opens and comma < 0:
        return None
    end = comma if comma >= 0 else len(sentence)
    limit = sentence[mark.start() : end]
    statement = _stems(f"{sentence[: mark.start()]} {sentence[end:]}")
    own = _stems(limit) - statement
    return Condition(statement, own, limit.strip(" .!?")) if len(statement) > 1 and own else None


def _is_past(sentence: str) -> bool:
    """Return whether a sentence reports the past, so that its "when" is a time and no condition."""
    words = [w.casefold() for w in _WORD.findall(sentence)]
    return any(
        ((w in IRREGULAR and w not in _PRESENT) or (w.endswith("ed") and len(w) > 4 and w not in NO_PAST))
        and (not k or words[k - 1] not in _PASSIVE)
        for k, w in enumerate(words)
    )


@lru_cache(8_192)
def _stems(text: str) -> frozenset[str]:
    words = (w.casefold() for w in _WORD.findall(text[:_LONGEST]))
    return frozenset(stem(w) for w in words if w not in GRAMMAR and w not in _LIMITING)


_PRESENT: Final = frozenset(("shut", "lay", "bound", "lit"))
"""Past forms that are more often adjectives or present forms: "the gate stays shut"."""

_LIMITING: Final = frozenset(
    ("unless", "until", "till", "except", "provided", "whenever", "while", "once", "usually", "holds", "long")
)

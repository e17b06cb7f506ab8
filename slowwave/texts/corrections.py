"""Corrections: which claims of a conversation a later sentence of it takes back or gives another value.

Most corrections cannot be parsed as claims ("not on 5 February but on 12 February"), so the value that they name is not claimed. The claim
that they correct is held back all the same: a wrong date is worse than none. A sentence that claims the same slot needs no holding back,
because the later of two claims of one slot is the one that stays. Linear in the claims times the sentences after each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from slowwave.texts.informative_sentences import is_open
from slowwave.texts.plain_claims import PlainClaim
from slowwave.texts.tokens import fold, normalise_name

_SHORT: Final = 6
"""Words of a sentence that names a value and nothing else ("No, 12 February")."""
NEAR: Final = 2
"""Sentences before a correction without a subject ("I meant the 12th") among which the corrected claim is."""

_RETRACTS: Final = re.compile(
    r"(?<!n't )(?<!not )(?<!never )\b(?:forget|ignore|disregard|scratch|strike|drop) (?:about )?(?:what|everything|that|my|the|all)\b|"
    r"\btake (?:that|it) back\b|\bmisspoke\b|"
    r"\b(?:I|we) (?:was|were|am|are|had|got)\b[\w ,']{0,20}\b(?:wrong|mistaken|mixed up|confused)\b|"
    r"\b(?:I|we) (?:have |had )?(?:mixed up|confused)\b|"
    r"\b(?:is|was|were|that's|are) (?:wrong|outdated|out of date|incorrect|(?:not|no longer) (?:right|true|correct|valid))\b",
    re.IGNORECASE,
)
"""Matches "Forget what I said about Lantern", not "Don't forget the tickets"."""
_CORRECTS: Final = re.compile(
    r"^(?:(?:oh|ah|well|and|but|so|hm+)[,. ]+)*(?:correction|corrected|erratum|typo|my (?:bad|mistake|error)|on second thoughts?)\b|"
    r"\b(?:I|we) (?:actually |really )?meant\b|\bshould (?:be|have been|read|say)\b|\bnot\b[^.;]{1,40}\b(?:but|rather)\b|\binstead of\b|"
    r"\brather than\b|[,;–—-] not\b|\bmake (?:it|that)\b",
    re.IGNORECASE,
)
"""Matches "not on 5 February but on 12 February", not "Lantern is due on 5 February"."""
_TURNS: Final = re.compile(
    r"^(?:(?:oh|ah|well|and|but|so|hm+)[,. ]+)*(?:no|nope|sorry|apologies|pardon|oops|whoops|wait|hang on|hold on|hmm|actually|update)\b",
    re.IGNORECASE,
)
_LEANS: Final = re.compile(r"\b(?:it|it's|that|that's|its|he|she|they|his|her|their|this)\b", re.IGNORECASE)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = (
    r"(?P<{}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?)\b"
)
_DATE: Final = re.compile(
    r"\b\d{4}-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b|\b(?P<before>\d{1,2})(?:st|nd|rd|th)?(?: of)? "
    + _MONTH.format("name")
    + r"|\b"
    + _MONTH.format("first")
    + r"(?: (?:the )?(?P<after>\d{1,2})(?!\d))?|\bthe (?P<alone>\d{1,2})(?:st|nd|rd|th)\b|"
    r"\b(?P<weekday>mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?P<quarter>q[1-4])\b",
    re.IGNORECASE,
)
"""Matches "5 February 2027", "Feb 5", "2027-02-05", "the 12th", "Friday"; not "5 people" or "maybe"."""
_NUMBER: Final = re.compile(r"(?<![\w.,])\d[\d.,]*\d|(?<![\w.,])\d")
_NAME: Final = re.compile(r"(?<!^)(?<![.!?:] )\b[A-Z][\w'’-]+")
_DUE: Final = re.compile(r"\b(?:due|deadline)\b", re.IGNORECASE)
_DUE_SLOTS: Final = ("date", "due date", "deadline")
_DATE_NOUNS: Final = frozenset(("deadline", "due", "date", "launch", "release"))
_SLOT_NOUNS: Final = re.compile(
    r"\b(?:deadline|due|date|budget|owner|price|cost|status|target|limit|lead|region|database|retention|launch|release)(?=s?\b)",
    re.IGNORECASE,
)


class HeardSentence(NamedTuple):
    """A sentence of a conversation, who said it, and what it claims."""

    text: str
    speaker: str
    claim: PlainClaim | None


class _Values(NamedTuple):
    """The values that a sentence names."""

    dates: frozenset[tuple[str, str]]
    numbers: frozenset[str]
    names: frozenset[str]


class _Read(NamedTuple):
    """A sentence with all that is compared of it, read once."""

    said: HeardSentence
    values: _Values
    words: frozenset[str]
    retracts: bool
    corrects: bool
    turns: bool


def corrected_claims(heard: Sequence[HeardSentence]) -> set[int]:
    """Return the places of the sentences whose claim a later sentence corrects; ``heard`` is in the order of the conversation."""
    if all(one.claim is None for one in heard):
        return set()
    read = [_read(one) for one in heard]
    found: set[int] = set()
    for place, one in enumerate(read):
        if one.said.claim is None:
            continue
        key = _subject_words(one.said.claim)
        later = (_corrects(one, key, read[at], near=at - place <= NEAR) for at in range(place + 1, len(read)))
        if any(later):
            found.add(place)
    return found


def _read(one: HeardSentence) -> _Read:
    retracts, corrects = bool(_RETRACTS.search(one.text)), bool(_CORRECTS.search(one.text))
    words = frozenset(re.findall(r"[\w-]+", re.sub(r"['’]s\b", "", fold(one.text))))
    return _Read(
        one, _values(one.text), words, retracts, corrects, retracts or corrects or bool(_TURNS.match(one.text))
    )


def _corrects(one: _Read, key: frozenset[str], later: _Read, *, near: bool) -> bool:
    claim, other_claim = one.said.claim, later.said.claim
    named = key <= later.words if key else one.said.speaker == later.said.speaker and _is_of_self(later)
    if claim is None or not (named or (near and later.turns)):
        return False
    if other_claim is not None and claim.slot and other_claim.slot == claim.slot:
        return False
    said, values, text = one.values, later.values, later.said.text
    other = _is_other(said, values)
    if other_claim is not None and not later.retracts:
        return named and other and _is_due(claim, one.said.text) and _is_due(other_claim, text)
    if named:
        if other:
            return later.turns or not (is_open(text) or _repeats(said, values))
        return later.retracts and not _has_values(values) and _is_of_same_noun(one.said.text, text)
    if (other_claim is not None and other_claim.about) or values.names - said.names - {fold(claim.about)}:
        return False
    if other:
        return later.corrects or later.retracts or bool(_LEANS.search(text)) or len(text.split()) <= _SHORT
    return later.retracts and not _has_values(values)


def _subject_words(claim: PlainClaim) -> frozenset[str]:
    """The words that name the subject of a claim; none for who speaks."""
    return frozenset(re.sub(r"^(?:the|our) |['’]s\b", "", normalise_name(claim.about)).split())


def _is_of_self(later: _Read) -> bool:
    """Whether somebody speaks of a value of his own ("my budget should be")."""
    return bool({"i", "my", "me"} & later.words) and bool(_SLOT_NOUNS.search(later.said.text))


def _is_other(said: _Values, values: _Values) -> bool:
    """Whether a sentence names another value of the kind that is claimed."""
    if said.dates:
        return any(not any(_agree(a, b) for b in said.dates) for a in values.dates)
    return bool(said.numbers and values.numbers - said.numbers)


def _repeats(said: _Values, values: _Values) -> bool:
    if said.dates:
        return any(_agree(a, b) for a in said.dates for b in values.dates)
    return bool(said.numbers & values.numbers)


def _agree(a: tuple[str, str], b: tuple[str, str]) -> bool:
    """Whether two dates may be one: "February" and "5 February" may."""
    return all(not x or not y or x == y for x, y in zip(a, b, strict=True))


def _has_values(values: _Values) -> bool:
    return bool(values.dates or values.numbers)


def _is_due(claim: PlainClaim, text: str) -> bool:
    """Whether a claim says by when something is due, in whatever slot."""
    return claim.slot.partition(" of ")[0] in _DUE_SLOTS and _DUE.search(text) is not None


def _is_of_same_noun(text: str, later: str) -> bool:
    """Whether a retraction concerns a claim: it names the same noun ("the budget of Lantern"), or no noun."""
    mine, theirs = (
        {"date" if noun.lower() in _DATE_NOUNS else noun.lower() for noun in _SLOT_NOUNS.findall(t)}
        for t in (text, later)
    )
    return not theirs or not theirs.isdisjoint(mine)


def _values(text: str) -> _Values:
    dates: set[tuple[str, str]] = set()
    for match in _DATE.finditer(text):
        month = match["name"] or match["first"] or ""
        number = match["month"]
        month = month[:3].lower() or (_MONTHS[int(number) - 1] if number and 1 <= int(number) <= 12 else "")
        day = match["day"] or match["before"] or match["after"] or match["alone"] or ""
        if month == "may" and not day and match["first"] != "May":
            continue
        special = match["weekday"] or match["quarter"]
        dates.add((special.lower(), "") if special else (month, day.lstrip("0")))
    rest = _DATE.sub(" ", text)
    return _Values(frozenset(dates), frozenset(_NUMBER.findall(rest)), frozenset(fold(n) for n in _NAME.findall(rest)))

"""Descriptions: what a definite description says somebody's one thing is: "Our vet is Dr. Amari", "The invoice limit is 3,500 euros".

A description of one thing ("our primary region", "the project lead of Heron", "Mia's surname") has one value at a time; two that differ
exclude each other, or speak of two things that are called the same. Read are values that are names, figures or identifiers, as of other
words nobody knows whether they exclude each other, and no description of which there are many ("my friend is Anna"). What has a relation of
its own is read by ``slowwave.texts.stated_relations``. Linear in the text.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Final

from slowwave.texts.known_names import is_plain
from slowwave.texts.present_statements import without_later
from slowwave.texts.sentences import sentences
from slowwave.texts.stated_relations import SELF, StatedRelation, is_unsure
from slowwave.texts.statements import stem
from slowwave.texts.tokens import fold, normalise_name
from slowwave.texts.vocabulary import GRAMMAR, words_of

_LONGEST: Final = 200  # characters of a sentence that is read
_WORD: Final = r"(?!(?:is|are|was|were|and|or|of|for|to)\b)(?:[a-z][a-z-]{1,20}|[A-Z]{2,5}\b)"
_WORDS: Final = rf"{_WORD}(?: {_WORD}){{0,3}}"
_NAME: Final = r"[A-Z][\w.-]{0,30}(?: [A-Z][\w.-]{0,30}){0,2}"
_IS: Final = r"(?:,? (?:now |currently |from now on |still )?is(?: now| currently| still)?(?: called| named)?|:) +"
_VALUE: Final = (
    r"(?P<value>(?:[^,;:!?()\n]|,(?=\d)){1,60}?)(?: (?:now|these days|at the moment|instead))?"
    r"(?:, [^,;]{2,40} (?:is|are|was|were|has|have) [^,;]{2,40})?[.!]?$"
)
_FORMS: Final = (
    re.compile(rf"^(?:[Mm]y|[Oo]ur) (?P<thing>{_WORDS}){_IS}{_VALUE}"),
    re.compile(rf"^(?P<owner>{_NAME})['’]s? (?P<thing>{_WORDS}){_IS}{_VALUE}"),
    re.compile(
        rf"^(?:[Tt]he |[Oo]ur |[Mm]y )?(?P<thing>(?i:{_WORDS})) (?:of|for|at) "
        rf"(?P<owner>(?:the |our |my )?(?:{_NAME}|{_WORDS})){_IS}{_VALUE}"
    ),
    re.compile(rf"^(?:[Tt]he |[Oo]ur )?(?P<thing>(?i:{_WORD} {_WORD}(?: {_WORD})?)){_IS}{_VALUE}"),
    re.compile(
        rf"^(?P<owner>{_NAME}|I) (?:(?P<may_be_more>(?:has|have|got|found|hired)(?: got| found| hired)?)|(?:is|am) (?:registered )?with) "
        rf"(?:a|my|his|her|their) new "
        rf"(?P<thing>{_WORDS})(?:,|:| called| named) {_VALUE}"
    ),
    re.compile(
        rf"^(?P<value>{_NAME}) (?:has taken|takes|took) over(?: from [^,;:]{{2,40}}?)? as (?:the )?(?P<thing>{_WORDS}) "
        rf"(?:of|for|at) (?P<owner>(?:the |our |my )?(?:{_NAME}|{_WORDS}))[.!]?$"
    ),
)
TRIGGER: Final = re.compile(
    r"\bis [^,;:!?()\n]*[A-Z0-9]|^[^:\n]{3,60}: [^\n]{1,60}$|\bover\b[^\n]*\bas\b|\bnew [^\n]*[A-Z]"
)
"""Every text with a description matches it; RE2 reads it as well."""

_LED_IN: Final = re.compile(
    r"^(?:(?:from now on|as of (?:now|today)|since (?:the |my |our )?\w+|btw|fyi|update|note)\b[,:]? )", re.IGNORECASE
)
_LED_BY: Final = re.compile(
    r"^(?:(?:the|a|an|dr|mr|mrs|ms|prof)\b\.?|(?:my|our|his|her|their) [a-z]+(?=\s+(?-i:[A-Z])))\s+", re.IGNORECASE
)
_WHERE: Final = re.compile(r"(?<=\w) (?:at|in|from) .*$")
_CHANGED: Final = re.compile(
    r"\b(?:(?:takes|taken|took) over|now|instead|as of|since|new|from now on|these days)\b", re.IGNORECASE
)
_CODE: Final = re.compile(r"[\w./:@+#-]*(?:\d|[a-z][_./:@-][a-z])[\w./:@+#-]*")
_MANY: Final = frozenset(
    map(
        stem,
        words_of("""
friend colleague neighbour neighbor classmate roommate brother sister cousin aunt uncle nephew niece son daughter child kid baby cat dog pet
client customer student member user visitor guest example part option thing reason idea one hobby language skill recommendation
question answer book film movie song game class story trip word point case step task issue problem result version today yesterday tomorrow
"""),
    )
)
"""What one may have several of."""

_MONTHS: Final = words_of("january february march april may june july august september october november december")
_PASSING: Final = words_of("next last first second third other another second-last previous former today's this that")


def descriptions(text: str) -> tuple[StatedRelation, ...]:
    """The descriptions of a text with their values, in order: of each thing the last. Time: 20 µs a sentence that has one."""
    found: dict[tuple[str, str], StatedRelation] = {}
    if TRIGGER.search(text):
        for sentence in sentences(without_later(text)):
            if len(sentence) <= _LONGEST and (stated := _of(sentence)) is not None:
                found[stated.subject, stated.relation] = stated
    return tuple(found.values())


def _of(sentence: str) -> StatedRelation | None:
    if is_unsure(sentence):
        return None
    for clause, form in product(sentence.strip().split("; "), _FORMS):
        said = _LED_IN.sub("", clause)
        if match := form.match(said[:1].upper() + said[1:]) or form.match(said):
            things = [w for w in fold(match["thing"]).split() if w not in GRAMMAR and w != "new"]
            kind, value = kind_of(match["value"])
            if kind and things and stem(things[-1]) not in _MANY and _PASSING.isdisjoint(things):
                said_of = match.groupdict()
                owner = said_of.get("owner") or ""
                change = _CHANGED.search(sentence) is not None and not said_of.get("may_be_more")
                owner = (
                    "" if owner == "I" else (fold(owner).removeprefix("the ").removeprefix("our ").removeprefix("my "))
                )
                thing = " ".join(map(stem, things))
                return StatedRelation(owner or SELF, f"{thing} ({kind})", value, change)
    return None


def kind_of(value: str) -> tuple[str, str]:
    """Whether a value is a figure, a code or a name, and it in its plain form; empty for other words."""
    bare = _LED_BY.sub("", _LED_BY.sub("", value.strip()))
    if bare[:1].isupper():
        bare = _WHERE.sub("", bare)
    words = bare.split()
    if not words or len(words) > 4:
        return "", ""
    if words[0][0].isdigit():
        unit = [stem(fold(w)) for w in words[1:] if fold(w) not in _MONTHS]
        return f"figure of {' '.join(unit) or 'days or none'}", normalise_name(bare)
    if any(map(str.isdigit, bare)) or _CODE.fullmatch(words[0]):
        return "code", normalise_name(bare)
    named = all(w[0].isupper() for w in words) and not is_plain(fold(words[0]))
    return ("name", normalise_name(bare)) if named else ("", "")

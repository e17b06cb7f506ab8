"""Substance: how much of a text tells something that somebody may want to know later.

A question, a greeting, thanks and an offer are small talk and tell nothing. What a sentence tells by itself
(``slowwave.texts.informative_sentences``), and what has a figure, a date, a name or an identifier in it, counts whole; of others a quarter
counts, as nobody knows: what to do may be a rule or mere advice. So does what is said to somebody and has no more than a name in it, mostly
theirs ("I will always support you, Ida"). English; elsewhere figures, dates and identifiers count. Linear.
"""

from __future__ import annotations

import re
from typing import Final

from slowwave.texts.informative_sentences import LEAST, informative
from slowwave.texts.sentences import sentences
from slowwave.texts.specifics import specifics
from slowwave.texts.topic_statements import is_talk

_UNKNOWN: Final = 0.25
_ORDERS: Final = re.compile(
    r"\W*(?:ask|write|order|send|call|check|keep|put|add|make|remember|note|use|set|read|do|don['’]t|never|start|stop|wait)\b"
    r"(?! (?:i|you|we|he|she|it|they)\b)",
    re.IGNORECASE,
)
_ADDRESSED: Final = re.compile(r"\b(?:you|your|yours|yourself|let['’]?s|please)\b", re.IGNORECASE)


def substance(text: str) -> float:
    """The share of a text's words, from 0 to 1, in sentences that tell something; 0 for small talk alone. Time: some 50 µs a sentence."""
    said = [(len(sentence.split()), _content_share(sentence)) for sentence in sentences(text)]
    words = sum(length for length, _ in said)
    return sum(length * share for length, share in said) / words if words else 0.0


def _content_share(sentence: str) -> float:
    if sentence.rstrip("\"'”’) ").endswith("?") or (is_talk(sentence) and not _ORDERS.match(sentence)):
        return 0.0
    found = specifics(sentence)
    if found.figures() or found.identifiers:
        return 1.0
    if len(sentence.split()) < LEAST and sentence.isascii():  # "Well said."; some scripts have no spaces
        return 0.0
    named = bool(found.names) and _ADDRESSED.search(sentence) is None
    return 1.0 if named or informative(sentence) else _UNKNOWN

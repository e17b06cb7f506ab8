"""Third person: what somebody says of himself, told of him by others: "my dog and I" becomes "their dog and they"."""

from __future__ import annotations

import re
from typing import Final

_THIRD: Final = (
    (re.compile(r"\bI (?:am|['’]m)\b|\bI['’]m\b"), "they are"),
    (re.compile(r"\bI was\b"), "they were"),
    (re.compile(r"\bI['’]ve\b"), "they have"),
    (re.compile(r"\bI\b(?!['’])"), "they"),
    (re.compile(r"\b[Mm]y\b"), "their"),
    (re.compile(r"\bmyself\b"), "themselves"),
    (re.compile(r"\bme\b"), "them"),
)
_FIRST: Final = re.compile(r"\b(?:I|me|my|mine|myself|we|us|our|ours|you|your|yours)\b|\bI['’]")
_OTHERS: Final = re.compile(r"\b(?:it|this|these|those|there|here|him|her|he|she)\b")
_TRAIL: Final = re.compile(r"(?:,? (?:too|as well|also|a lot|very much|sometimes))?[.!\s]*$")


def third_person(text: str) -> str:
    """The rest of a sentence in which somebody speaks of himself; empty where it speaks of others, or of what stood before it."""
    said = _TRAIL.sub("", text)
    for pattern, instead in _THIRD:
        said = pattern.sub(instead, said)
    return "" if _FIRST.search(said) or _OTHERS.search(said) else said

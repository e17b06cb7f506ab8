"""What a name is the name of: a person, an organisation, a place, a product, by lists and by the words around it; else ``unknown``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.texts.known_names import is_given, is_plain, known_names
from slowwave.texts.name_words import (
    CODE_ENDINGS,
    GIVEN,
    GIVEN_ALONE,
    ORGANISATIONS,
    ORGANISED,
    PARTICLES,
    PERSONAL,
    PLACE_STARTS,
    PLACED,
    PLACES,
    PRODUCT_NEXT,
    PRODUCTS,
    ROLES,
    TITLES,
)

POSSESSIVE: Final = re.compile(r"['’]s?$")
_INNER_CAPITAL: Final = re.compile(r"[^\W\d_]*[a-z0-9][A-Z]")
_SURE_PERSON: Final = re.compile(r"(?:\bmy name(?:'s|’s| is)|\bI am|\bI'm|\bI’m|\bthis is)\s*$", re.IGNORECASE)
_LIVES: Final = re.compile(
    r"\b(?:liv(?:e|es|ed|ing)|mov(?:e|es|ed|ing)|born|based|located|flew|fly|flying|travel(?:s|led|ed|ing)?|trip|grew up|stay(?:s|ed|ing)?|"
    r"arriv(?:e|es|ed|ing)|visit(?:s|ed|ing)?)(?: back)?(?: in| to| at| from)?\s*$",
    re.IGNORECASE,
)
_WORKS: Final = re.compile(
    r"\b(?:work(?:s|ed|ing)? (?:at|for)|join(?:s|ed|ing)|employed (?:at|by)|hired by|interned at|job at|offer from|"
    r"(?:ceo|cto|cfo|founder|head) (?:at|of)|acquired by)\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NameToken:
    """A word outside all patterns, with what stands between it and the word before."""

    text: str
    start: int
    end: int
    gap: str
    initial: bool

    @property
    def folded(self) -> str:
        """Case-folded, without a final dot or possessive."""
        return POSSESSIVE.sub("", self.text.rstrip(".")).casefold()

    @property
    def capital(self) -> bool:
        """Whether it begins with a capital."""
        return self.text[0].isupper()


def name_type(text: str, run: Sequence[NameToken], name: str, before: str, following: str) -> tuple[str, int]:
    """Type and strength: 3 said by the text, 2 by a list, 1 by the words around or the form, 0 nothing."""
    words = [token.folded for token in run]
    joined, context = " ".join(words), text[max(0, run[0].start - 40) : run[0].start]
    if words[0] in TITLES and len(words) > 1:
        return "person", 3
    if _SURE_PERSON.search(context) and len(words) <= 4 and not name.isupper() and not all(map(is_plain, words)):
        return "person", 3
    if (kind := _listed(words, joined, following)) is not None:
        return kind, 2
    if _is_spoken_of(text, run, before) or _is_person(words):
        return "person", 2
    if 2 <= len(words) <= 3 and (
        words[0] in {"lake", "mount"} or (words[0] in PLACE_STARTS and not is_plain(words[-1]))
    ):
        return "location", 1
    if _LIVES.search(context) and len(words) <= 3:
        return "location", 1
    if _WORKS.search(context) and len(words) <= 4:
        return "organization", 1
    if _INNER_CAPITAL.match(name) and len(words) == 1:
        return ("code" if name.endswith(CODE_ENDINGS) else "product"), 1
    if not all(map(is_plain, words)) and len(words) <= 3 and all(_personal(token.text) for token in run):
        if following in PERSONAL:
            return "person", 1
        if len(words) > 1 and words[-1] in known_names().family and not is_plain(words[0]):
            return "person", 1
    return "unknown", 0


def _listed(words: Sequence[str], joined: str, following: str) -> str | None:
    """The type that lists give to a name or to its first or last word."""
    known = known_names()
    several = len(words) > 1
    if (words[-1] in ORGANISED and several) or words[0] in {"university", "bank", "ministry", "department"}:
        return "organization"
    if joined in ORGANISATIONS or (joined in known.organizations and (several or not is_plain(joined))):
        return "organization"
    if joined in PRODUCTS or following in PRODUCT_NEXT:
        return "product"
    if joined in PLACES or joined in known.places or (words[-1] in PLACED and several and not _is_sure_given(words[0])):
        return "location"
    if len(words) == 2 and words[-1] in PLACES and not is_given(words[0]):
        return "location"
    if several and joined in known.people:
        return "person"
    return None


def _is_sure_given(word: str) -> bool:
    """Whether a word is a given name, and neither a common word nor a place."""
    return word in GIVEN_ALONE or (is_given(word) and not is_plain(word) and word not in known_names().places)


def _is_spoken_of(text: str, run: Sequence[NameToken], before: str) -> bool:
    """Whether the words around say that it is a person: a role before it, or a colon behind it at the beginning of a line."""
    words = [token.folded for token in run]
    if len(words) > 3 or all(is_plain(word) and not is_given(word) for word in words):
        return False
    if before in ROLES and not run[0].text.isupper():
        return True
    end = run[-1].end
    begins = text.rfind("\n", 0, run[0].start) + 1
    return text[end : end + 2] in (": ", ":\n") and not text[begins : run[0].start].strip(" *-_>[")


def _is_person(words: Sequence[str]) -> bool:
    """A given name alone, or before others of which the last is a family name or at least no other word."""
    first, last = words[0], words[-1]
    if not (first in GIVEN or is_given(first)):
        return False
    if len(words) == 1:
        return _is_sure_given(first) or first in GIVEN
    if len(words) > 3 and not any(word in PARTICLES for word in words):
        return last in known_names().family
    return last in known_names().family or not is_plain(last) or _is_sure_given(first)


def _personal(word: str) -> bool:
    """Whether a word looks like part of a person's name: Smith, J., van."""
    return word in PARTICLES or (word.istitle() and (word.isalpha() or (len(word) == 2 and word[1] == ".")))

"""What a name is the name of: a person, an organisation, a place, a product, by lists and by the words around it; else ``unknown``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.texts.definitions import defined_type
from slowwave.texts.known_names import is_given, is_plain, known_names
from slowwave.texts.name_words import (
    CODE_ENDINGS,
    GIVEN,
    GIVEN_ALONE,
    LEGAL_FORMS,
    NAMED_AFTER,
    OFFICES,
    ORGANISATIONS,
    ORGANISED,
    PARTICLES,
    PARTS_OF_PLACES,
    PERSONAL,
    PLACE_STARTS,
    PLACED,
    PLACES,
    PRODUCT_NEXT,
    PRODUCTS,
    ROLES,
    SOFTWARE,
    TITLES,
    TOWNS,
    WORKS,
)

UNKNOWN: Final = "unknown"
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
_OF_SOFTWARE: Final = re.compile(
    r"\b(?:apps?|applications?|software|platforms?|tools?|librar(?:y|ies)|clients?|packages?|plug-?ins?|servers?|databases?|sdks?|apis?|"
    r"versions?|releases?|dashboards?|logins?|browsers?|(?:web)?sites?|frameworks?|modules?|install(?:s|ed|ing)?|integrat\w+|"
    rf"(?<![/.@])(?:{'|'.join(sorted(SOFTWARE))})(?!\.\w|/)|"
    r"(?:errors?|issues?|bugs?|failures?) (?:on|in|with))\b",
    re.IGNORECASE,
)
_USED: Final = re.compile(r"\b(?:via|using|use|uses|used|install|into) $", re.IGNORECASE)
_OF_WORKS: Final = re.compile(
    r"\b(?:films?|movies?|comed(?:y|ies)|dramas?|thrillers?|cartoons?|novels?|books?|albums?|songs?|singles?|musicals?|operas?|plays?|poems?|poetry|biograph(?:y|ies)|series|shows?|"
    r"sitcoms?|documentar(?:y|ies)|anime|manga|comics?|games?|paintings?|essays?|articles?|papers?|stor(?:y|ies)|magazines?|podcasts?|"
    r"episodes?|chapters?|soundtracks?|read(?:ing|s)?|watch(?:ed|ing|es)?|listen(?:ed|ing|s)?|authors?|writers?|directors?)\b",
    re.IGNORECASE,
)
_STOPS: Final = re.compile(r"[.!?]\s|\n")
_UNITS: Final = ("phd", "ib", "hz", "dsa")
_AROUND: Final = 60
_SENTENCE: Final = 200
"""Characters before and behind in which words speak of what a name is."""
_NO_FAMILY: Final = ORGANISED | PRODUCTS | PRODUCT_NEXT | WORKS | NAMED_AFTER
"""What stands behind a given name in the name of something else: Nobel Prize, Turing Test."""
_AUTHOR: Final = re.compile(r" ?(?:\(@|<[\w.+-]{1,64}@)")
_LABEL: Final = re.compile(r"^[A-Z][\w'’-]{1,20}(?: [A-Z][\w'’-]{1,20}){0,2}: \S", re.MULTILINE)
_PEOPLE_OF: Final = ("ans", "ers", "ese")


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


def name_type(
    text: str, run: Sequence[NameToken], name: str, before: str, following: str, *, dialogue: bool = False
) -> tuple[str, int]:
    """Type and strength: 3 said by the text, 2 by a list, 1 by the words around or the form, 0 nothing.

    In a ``dialogue`` lines begin with who says them.
    """
    words = [token.folded for token in run]

    def software() -> bool:
        return _OF_SOFTWARE.search(text, max(0, run[0].start - _AROUND), run[-1].end + _AROUND) is not None

    joined, context = " ".join(words), text[max(0, run[0].start - 40) : run[0].start]
    if (
        (before in WORKS or before.removesuffix("s") in WORKS)
        and run[0].gap == " "
        and not name.isupper()
        and not (len(words) > 1 and words[-1] in known_names().family)
    ):
        return "work", 2
    if words[0] in TITLES and len(words) > 1:
        return "person", 3
    if (kind := defined_type(text, run[-1].end)) is not None and not all(map(is_plain, words)):
        return kind, 3
    if _SURE_PERSON.search(context) and len(words) <= 4 and not name.isupper() and not all(map(is_plain, words)):
        return "person", 3
    if len(run) > 1 and run[-1].text in LEGAL_FORMS and not all(map(is_plain, words[:-1])):
        return "organization", 2
    if (kind := _listed(words, joined, software=software)) is not None:
        return kind, 2
    if _is_spoken_of(text, run, before, dialogue=dialogue) or (_is_person(words) and not _is_short(run[-1].text)):
        return "person", 2
    if following in PRODUCT_NEXT and not all(map(is_plain, words)):
        return "product", 1
    if 2 <= len(words) <= 3 and (
        words[0] in {"lake", "mount"}
        or (words[0] in PLACE_STARTS and not is_plain(words[-1]) and not words[-1].endswith(_PEOPLE_OF))
    ):
        return "location", 1
    if _LIVES.search(context) and len(words) <= 3:
        return "location", 1
    if _WORKS.search(context) and len(words) <= 4:
        return "organization", 1
    if _INNER_CAPITAL.match(name) and len(words) == 1:
        end = run[-1].end
        if name.endswith(CODE_ENDINGS) or text[end : end + 1] == "(" or context.endswith("import "):
            return "code", 1
        return ("product", 1) if software() or _USED.search(context) else (UNKNOWN, 0)
    if not all(map(is_plain, words)) and len(words) <= 3 and all(_personal(token.text) for token in run):
        if following in PERSONAL or (len(words) > 1 and _AUTHOR.match(text, run[-1].end)):
            return "person", 1
        if len(words) > 1 and words[-1] in known_names().family and not is_plain(words[0]):
            return "person", 1
        if len(words) == 2 and _is_sure_given(words[0]) and words[1].removesuffix("s") not in _NO_FAMILY:
            return "person", 1
    return UNKNOWN, 0


def is_office(words: Sequence[str]) -> bool:
    """Whether folded words name an office and nobody who holds it: Governor of Texas, Prime Minister."""
    if "of" in words[1:]:
        return words[words.index("of", 1) - 1] in OFFICES
    last = words[-1]
    return len(words) > 1 and (
        (last in OFFICES and all(map(is_plain, words))) or (last not in OFFICES and last.removesuffix("s") in OFFICES)
    )


def speaks_of_works(text: str, start: int, end: int) -> bool:
    """Whether the words around a span, at most ``_SENTENCE`` characters of its sentence, speak of books, films, songs and the like."""
    before, after = text[max(0, start - _SENTENCE) : start], text[end : end + _SENTENCE]
    return bool(_OF_WORKS.search(_STOPS.split(before)[-1]) or _OF_WORKS.search(_STOPS.split(after)[0]))


def _listed(words: Sequence[str], joined: str, *, software: Callable[[], bool]) -> str | None:
    """The type that lists give to a name or to its first or last word."""
    known = known_names()
    several = len(words) > 1
    if (words[-1] in ORGANISED and several) or words[0] in {"university", "bank", "ministry", "department"}:
        return "organization"
    if joined in ORGANISATIONS or (joined in known.organizations and (several or not is_plain(joined))):
        return "organization"
    if joined in SOFTWARE or (several and words[-1] in SOFTWARE and words[0] in SOFTWARE):
        return "product"
    if joined in PRODUCTS and (not (is_plain(joined) or joined in known.places) or software()):
        return "product"
    if (
        joined in PLACES
        or joined in TOWNS
        or joined in known.places
        or (words[-1] in PLACED and several and not _is_sure_given(words[0]))
    ):
        return "location"
    if len(words) == 2 and words[-1] in PLACES and words[0] in PARTS_OF_PLACES:
        return "location"
    if several and joined in known.people:
        return "person"
    return None


def _is_sure_given(word: str) -> bool:
    """Whether a word is a given name, and neither a common word nor a place."""
    return word in GIVEN_ALONE or (is_given(word) and not is_plain(word) and word not in known_names().places)


def _is_spoken_of(text: str, run: Sequence[NameToken], before: str, *, dialogue: bool) -> bool:
    """Whether the words around say that it is a person: a role before it, or a colon behind it at the beginning of a line."""
    words = [token.folded for token in run]
    if len(words) > 3 or all(is_plain(word) and not is_given(word) for word in words):
        return False
    if before in ROLES and not run[0].text.isupper():
        return True
    end = run[-1].end
    begins = text.rfind("\n", 0, run[0].start) + 1
    ahead = text[begins : run[0].start].strip()
    if text[end : end + 2] not in (": ", ":\n") or ahead.strip("*-_>["):
        return False
    return _is_person(words) or (
        dialogue and not ahead and all(_personal(token.text) and not is_plain(token.folded) for token in run)
    )


def is_dialogue(text: str) -> bool:
    """Whether at least two lines begin with somebody who says something."""
    found = _LABEL.finditer(text)
    return next(found, None) is not None and next(found, None) is not None


def _is_person(words: Sequence[str]) -> bool:
    """A given name alone, or before others of which the last is a family name or at least no other word."""
    first, last = words[0], words[-1]
    if not (first in GIVEN or is_given(first)):
        return False
    if len(words) == 1:
        return _is_sure_given(first) or (first in GIVEN and first not in known_names().places)
    if len(words) > 3 and not any(word in PARTICLES for word in words):
        return last in known_names().family
    return last in known_names().family or not is_plain(last) or first in GIVEN_ALONE


def _is_short(word: str) -> bool:
    """Whether a word is an abbreviation: API, V2."""
    return word.isupper() and len(word) <= 4 and not word.endswith(".")


def _personal(word: str) -> bool:
    """Whether a word looks like part of a person's name: Smith, J., van."""
    return word in PARTICLES or (word.istitle() and (word.isalpha() or (len(word) == 2 and word[1] == ".")))

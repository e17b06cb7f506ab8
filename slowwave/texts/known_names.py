"""Known names: given and family names, places, organisations and demonyms, by which a capitalised word is told from another.

``known_names.txt`` is made of compromise's lexicon by ``scripts/known_names.mjs`` (``known_names.LICENSE``). A word that is a name may be a
word as well (Rose, Mark): whether it is one here is for the words around it to say. ``english_names.txt.gz`` has the words of the lexicon
that are written with a capital only, made of SCOWL's lists by ``scripts/english_names.py``.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from slowwave.texts.lexicon import is_word

_FILE: Final = "known_names.txt"
_OF_A_PEOPLE: Final = ("ish", "ese", "ian", "ians", "etan", "icans", "ican")


class NameLists(NamedTuple):
    """Folded names, those of several words with one space between. ``lands`` are the countries and regions among ``places``."""

    given: frozenset[str]
    family: frozenset[str]
    people: frozenset[str]
    places: frozenset[str]
    lands: frozenset[str]
    organizations: frozenset[str]
    demonyms: frozenset[str]


@cache
def known_names() -> NameLists:
    """The lists, read once a process: 6,000 names, 50 kB."""
    sections: dict[str, set[str]] = {}
    names: set[str] = set()
    for line in files("slowwave.texts").joinpath(_FILE).read_text("utf-8").splitlines():
        if line.startswith("["):
            names = sections.setdefault(line.strip("[]"), set())
        else:
            names.add(line)
    return NameLists(**{section: frozenset(found) for section, found in sections.items()})


def is_given(word: str) -> bool:
    """Whether a folded word is a given name."""
    return word in known_names().given


def is_plain(word: str) -> bool:
    """Whether a folded word is a common word of English, or its plural, or the demonym of a people: no name by itself."""
    if word in known_names().demonyms or (
        word in _capitalised() and word.endswith(_OF_A_PEOPLE) and not is_given(word)
    ):
        return True
    return _is_common(word) or (word.endswith("s") and _is_common(word[:-1]))


def is_written_large(word: str) -> bool:
    """Whether a folded word is one of those that are written with a capital only."""
    return word in _capitalised()


def _is_common(word: str) -> bool:
    return is_word(word) and word not in _capitalised()


@cache
def _capitalised() -> frozenset[str]:
    """30,000 words, some 3 MB."""
    return frozenset(
        gzip.decompress(files("slowwave.texts").joinpath("english_names.txt.gz").read_bytes()).decode().split()
    )

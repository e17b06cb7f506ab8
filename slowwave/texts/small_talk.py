"""Small talk: sentences that tell nothing to who reads them later: greetings, thanks, courtesies, offers of help, empty questions.

A sentence is small talk when it is made of formulas ("Take care") and of words of a closed list alone, none of which names a thing, a
person or a place: no statement is taken for small talk because of how it begins. A figure, a name, a denial, any other word, and mostly
what people say of themselves ("I feel great") make it something that may be worth knowing: in doubt a sentence tells something. English;
the words are in ``small_talk.toml``. How much of a text tells something belongs to ``slowwave.texts.substance``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from slowwave.texts.sentences import sentences
from slowwave.texts.tokens import fold
from slowwave.texts.vocabulary import DENIALS, GRAMMAR, NEGATIONS, words_of

LONGEST: Final = 400
"""Characters of a text that is read: who talks longer tells something."""

_FILE: Final[Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("small_talk.toml").read_text(encoding="utf-8"))
_FORMULAS: Final = re.compile(rf"(?<![\w'])(?:{_FILE['formulas'].replace(chr(10), '')})(?![\w'])", re.IGNORECASE)
_COURTESIES: Final = re.compile(_FILE["courtesies"].replace("\n", ""), re.IGNORECASE)
_SOMEBODY: Final = words_of("he she him her his they them their")
_TALK: Final = words_of(_FILE["talk"])
_WORDS: Final = (_TALK | words_of(_FILE["times"]) | GRAMMAR) - NEGATIONS - DENIALS - _SOMEBODY
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_IN_FORMULAS: Final = frozenset(re.findall(r"[a-z]+", _FILE["formulas"]))
"""Every word of a formula and more: parts of words too; a formula may hold any word that ends with "ly" besides."""

_OWN: Final = re.compile(r"(?<!\w)(?:I|my|mine|myself)(?!\w)", re.IGNORECASE)
_NAMED: Final = re.compile(r"(?<=[\w,;] )(?!I\b|AI\b)[A-Z]")
_ROUGHLY: Final = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+")
_MARKS: Final = re.compile(r"[\"“”«»`@#/\\<>{}\[\]=|\n\d]|\w[:_]\w")


@lru_cache(maxsize=8_192)
def is_small_talk(text: str, *, program: bool = False) -> bool:
    """Whether every sentence of a text tells nothing; said by a ``program`` also what it says of itself. Never a text of several lines.

    Time: some 10 µs for a text that tells something, 20 µs a sentence else.
    """
    if not text or len(text) > LONGEST or _has_content(text.replace("’", "'")) or _MARKS.search(text):
        return False
    return all(has_no_content(sentence, program=program) for sentence in sentences(text))


@lru_cache(maxsize=8_192)
def without_small_talk(text: str, *, program: bool = False) -> str:
    """The text without the sentences that tell nothing; itself where they are all that there is, where nothing but a name is left besides
    ("Hi, Sunny."), and where it has several lines.
    """
    if len(text) > 2 * LONGEST or "\n" in text.strip():
        return text
    if not any(has_no_content(part, program=program) for part in _ROUGHLY.split(text)):
        return text  # most texts: where sentences end exactly is ten times as dear
    parts = sentences(text)
    left = [s for s in parts if not has_no_content(s, program=program)] if len(parts) > 1 else parts
    return " ".join(left) if len(left) < len(parts) and any(map(_says_more, left)) else text


def _says_more(sentence: str) -> bool:
    words = _WORD.findall(sentence.replace("’", "'"))
    return any(not word[0].isupper() and fold(word) not in _WORDS for word in words)


def _has_content(said: str) -> bool:
    """Whether a word says that it tells something: most texts have one, and looking for formulas in them is ten times as dear."""
    if not said.isascii():
        return False
    others = set(_WORD.findall(said.lower())) - _WORDS
    return any(not w.endswith("ly") and not _IN_FORMULAS.issuperset(w.split("'")) for w in others)


def has_no_content(sentence: str, *, program: bool = False) -> bool:
    """Whether a sentence is small talk; see ``is_small_talk``."""
    said = sentence.replace("’", "'")
    if _has_content(said) or _MARKS.search(said):
        return False
    left = _FORMULAS.sub(" . ", said)
    words = [fold(word) for word in _WORD.findall(left)]
    if not _WORDS.issuperset(words) or _NAMED.search(left):
        return False
    if left == said and _TALK.isdisjoint(words):
        return False  # "The same.", "Tomorrow." may answer something
    asks = said.rstrip("\"') ").endswith("?")
    return program or asks or _OWN.search(left) is None or _COURTESIES.search(said) is not None

"""Small talk: greetings, thanks and courtesies that tell a later reader nothing."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from slowwave.text.sentences import sentences
from slowwave.text.tokens import fold
from slowwave.text.words import DENIALS, GRAMMAR, NEGATIONS, words_of

# Small talk: sentences without information for a later reader, such as greetings, thanks, courtesies, offers of help and empty questions.
#
# A sentence is small talk if it consists only of formulas ("Take care") and words of a closed list, none of which names a thing, a person
# or a place. So no statement is taken for small talk because of its beginning. A figure, a name, a denial, any other word, and most of what
# people say about themselves ("I feel great") make a sentence possibly informative; in doubt it counts as informative. English only; the
# words are in ``small_talk.toml``.

LONGEST: Final = 400
"""Maximum length in characters of a text that is checked for small talk. Longer texts are informative."""

_FILE: Final[Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("small_talk.toml").read_text(encoding="utf-8"))
_FORMULAS: Final = re.compile(rf"(?<![\w'])(?:{_FILE['formulas'].replace(chr(10), '')})(?![\w'])", re.IGNORECASE)
_COURTESIES: Final = re.compile(_FILE["courtesies"].replace("\n", ""), re.IGNORECASE)
_SOMEBODY: Final = words_of("he she him her his they them their")
_TALK: Final = words_of(_FILE["talk"])
_WORDS: Final = (_TALK | words_of(_FILE["times"]) | GRAMMAR) - NEGATIONS - DENIALS - _SOMEBODY
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_IN_FORMULAS: Final = frozenset(re.findall(r"[a-z]+", _FILE["formulas"]))
"""All words that occur in a formula, and more: also parts of words, since a formula may contain any word that ends in "ly"."""

_OWN: Final = re.compile(r"(?<!\w)(?:I|my|mine|myself)(?!\w)", re.IGNORECASE)
_NAMED: Final = re.compile(r"(?<=[\w,;] )(?!I\b|AI\b)[A-Z]")
_ROUGHLY: Final = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+")
_MARKS: Final = re.compile(r"[\"“”«»`@#/\\<>{}\[\]=|\n\d]|\w[:_]\w")


@lru_cache(maxsize=8_192)
def is_small_talk(text: str, *, program: bool = False) -> bool:
    """Return whether every sentence of a text is small talk; a text of several lines never is.

    If a ``program`` wrote the text, its statements about itself are small talk, too. Time: about 10 µs for a text with content, otherwise
    20 µs per sentence.
    """
    if not text or len(text) > LONGEST or _has_content(text.replace("’", "'")) or _MARKS.search(text):
        return False
    return all(has_no_content(sentence, program=program) for sentence in sentences(text))


@lru_cache(maxsize=8_192)
def without_small_talk(text: str, *, program: bool = False) -> str:
    """Return the text without its sentences of small talk.

    Return the text unchanged if all of it is small talk, if only a name would be left besides ("Hi, Sunny."), or if it has several lines.
    """
    if len(text) > 2 * LONGEST or "\n" in text.strip():
        return text
    if not any(has_no_content(part, program=program) for part in _ROUGHLY.split(text)):
        return text  # most texts; finding exact sentence boundaries takes ten times as long
    parts = sentences(text)
    left = [s for s in parts if not has_no_content(s, program=program)] if len(parts) > 1 else parts
    return " ".join(left) if len(left) < len(parts) and any(map(_says_more, left)) else text


def _says_more(sentence: str) -> bool:
    words = _WORD.findall(sentence.replace("’", "'"))
    return any(not word[0].isupper() and fold(word) not in _WORDS for word in words)


def _has_content(said: str) -> bool:
    """Return whether a single word shows that a text has content.

    Most texts have such a word, and matching the formulas costs ten times as much.
    """
    if not said.isascii():
        return False
    others = set(_WORD.findall(said.lower())) - _WORDS
    return any(not w.endswith("ly") and not _IN_FORMULAS.issuperset(w.split("'")) for w in others)


def has_no_content(sentence: str, *, program: bool = False) -> bool:
    """Return whether a sentence is small talk; see ``is_small_talk``."""
    plain = sentence.replace("’", "'")
    if _has_content(plain) or _MARKS.search(plain):
        return False
    left = _FORMULAS.sub(" . ", plain)
    words = [fold(word) for word in _WORD.findall(left)]
    if not _WORDS.issuperset(words) or _NAMED.search(left):
        return False
    if left == plain and _TALK.isdisjoint(words):
        return False  # "The same." or "Tomorrow." may be an answer
    asks = plain.rstrip("\"') ").endswith("?")
    return program or asks or _OWN.search(left) is None or _COURTESIES.search(plain) is not None

"""Plain statements of the present: which texts are one, of whom they speak, and whether two speak of one matter.

A question, a wish, a plan, hearsay and the past are none. Two are of one matter when they have a word of content in common, name the same
persons, and speak of nothing that is kept apart ("work", "private"; "guest bathroom", "master bathroom"). English; the words are in
``present_statements.toml``. Linear in the texts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from slowwave.texts.known_names import is_given, is_plain
from slowwave.texts.sentences import sentences
from slowwave.texts.statements import stem
from slowwave.texts.tenses import IRREGULAR, NO_PAST
from slowwave.texts.tokens import fold
from slowwave.texts.vocabulary import GRAMMAR, words_of

WORD: Final = r"[^\W_]+(?:['’.,:/&+-][^\W_]+)*%?[+#]*"
"""A word as it is written, with what joins its parts."""

PROGRAMS: Final = frozenset(("assistant", "agent", "model", "system"))
"""Authors whose "I" is a program's."""

_FILE: Final[Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("present_statements.toml").read_text(encoding="utf-8"))
_GREETING: Final = 2  # words: "Good morning!"


def _any_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_FILE[name].replace(chr(10), '')})\b", re.IGNORECASE)


STOPS: Final = words_of(_FILE["stops"])
"""Words that end a phrase."""

ARTICLES: Final = words_of(_FILE["articles"])
COMMON: Final = words_of(_FILE["common"])
"""Words of content that say too little to be what two statements are about."""

_OPENERS: Final = words_of(_FILE["openers"]) | STOPS
_CONTRASTS: Final = tuple(tuple(pair.split("/")) for pair in _FILE["contrasts"].split())
_NEW: Final = _any_of("change")
_OPEN: Final = _any_of("open")
_WISH: Final = re.compile(rf"(?:\b|(?=['’]))(?:{_FILE['wish'].replace(chr(10), '')})\b(?! to\b)", re.IGNORECASE)
_PAST: Final = _any_of("past")
_SELF: Final = re.compile(r"(?:^|\W)(?:i|i['’]\w+|my|mine|me|myself|we|we['’]\w+|our|us|ours)(?=\W|$)", re.IGNORECASE)
_KIN: Final = re.compile(  # "my friend Mara" is Mara
    rf"\b(?:my|our|his|her|their)\s+(?:\w+\s)?({_FILE['kin'].replace(chr(10), '')})\b(?!\s+(?-i:[A-Z]))", re.IGNORECASE
)
_IS_KIN: Final = re.compile(_FILE["kin"].replace(chr(10), ""))
_DID: Final = re.compile(
    rf"\b(?:(?i:i|we|he|she|they|you|who|{_FILE['kin'].replace(chr(10), '')})|(?P<name>[A-Z][\w-]*))\s+"
    r"(?:(?:just|also|even|once|only|[a-z]+ly)\s+)?"
    rf"(?P<did>{'|'.join(sorted(IRREGULAR))}|[a-z]{{2,18}}ed)\b"
)
CONTRACTED: Final = re.compile(r"(?:i|we|you|he|she|it|they|that|there)['’]\w+$", re.IGNORECASE)
"""A pronoun with its verb."""

NO_PRESENT: Final = rf"(?i)\?\s*$|\b(?:{_FILE['open']}|{_FILE['past']})\b".replace("\n", "")
"""A text in which it is found is no plain statement of the present; RE2 reads it as well."""

_MARKED: Final = re.compile(r"\((?:until|(?:told )?before|later, on) \d{4}-\d\d-\d\d\b")
_MARK: Final = re.compile(r" \((?:(?:told )?before|later, on) \d{4}-\d\d-\d\d(?:: “[^“”]*”)?\)")
_TOKEN: Final = re.compile(WORD)


def stating(text: str) -> list[str]:
    """The sentences of a text that may state something: no questions, and no greetings, which have a few words."""
    return [s for s in sentences(text) if not s.endswith("?") and len(_TOKEN.findall(s)) > _GREETING]


def is_open(sentence: str) -> bool:
    """Whether a sentence asks, wishes, plans, supposes, or tells what others say."""
    return sentence.rstrip().endswith("?") or _OPEN.search(sentence) is not None


def says_later(sentence: str) -> bool:
    """Whether a sentence says until which day it held, or what was told later ("(until 2026-02-11; then: …)")."""
    return _MARKED.search(sentence) is not None


def without_later(sentence: str) -> str:
    """A text without what its sentences say was told later ("(later, on 2026-02-11: …)")."""
    return _MARK.sub("", sentence)


def is_wish(sentence: str) -> bool:
    """Whether a sentence tells what somebody wishes for, and is open in nothing else."""
    return _WISH.search(sentence) is not None and not is_open(_WISH.sub(" ", sentence))


def is_present(sentence: str) -> bool:
    """Whether a sentence may be a plain statement of the present."""
    was = says_later(sentence) or _PAST.search(sentence) is not None or _is_past(sentence)
    return not was and not is_open(sentence)


def _is_past(sentence: str) -> bool:
    """Whether a past form stands right behind who did it: "Mara rang from Oslo", "my sister phoned"; not "I prefer salted butter"."""
    for match in _DID.finditer(sentence):
        name = fold(match["name"] or "")
        common = bool(name) and not match.start() and (name in _OPENERS or is_plain(name)) and not is_given(name)
        if match["did"] not in NO_PAST and not common:
            return True
    return False


def says_new(text: str) -> bool:
    """Whether a word of change says that something is new."""
    return _NEW.search(text) is not None


def is_own(sentence: str) -> bool:
    """Whether who speaks is spoken of."""
    return _SELF.search(sentence) is not None


def said(sentence: str) -> list[str]:
    """The folded words of a sentence in their order."""
    if sentence.isascii():  # folding moves no boundary of its words
        return _TOKEN.findall(sentence.lower())
    return [fold(w) for w in _TOKEN.findall(sentence)]


def is_kin(word: str) -> bool:
    """Whether a folded word is a relative, a friend or somebody else's."""
    return _IS_KIN.fullmatch(word) is not None


def persons(sentence: str, without: Collection[str] = ()) -> frozenset[str]:
    """Given names and relatives of somebody, folded; ``without`` some."""
    named = {fold(_owner(w)) for w in _TOKEN.findall(sentence) if w[0].isupper()}
    kin = {fold(w) for w in _KIN.findall(sentence)}
    return frozenset(w for w in named if w not in without and is_given(w)) | kin


def names(sentence: str) -> frozenset[str]:
    """Capitalised words but a common one at the beginning, folded."""
    return frozenset(
        fold(w)
        for k, w in enumerate(_bare(sentence))
        if w[0].isupper() and (k > 0 or not is_plain(fold(w))) and fold(w) not in _OPENERS and not CONTRACTED.match(w)
    )


def matter(sentence: str, without: Collection[str] = ()) -> frozenset[str]:
    """Stems of the words of content; ``without`` some words."""
    words = said(sentence)
    found = {_content(w) for w in (words if not without else [w for w in words if w not in without])}
    found.discard("")
    return frozenset(found)


@lru_cache(maxsize=65_536)  # texts have most words in common
def _content(word: str) -> str:
    """The stem of a word of content; empty for any other."""
    return stem(word) if _is_content(word) else ""


def are_apart(one: str, other: str) -> bool:
    """Whether two sentences speak of what is kept apart: by contrast, or as a noun of both has another word before it."""
    a, b = set(said(one)), set(said(other))
    mine, theirs = a - b, b - a
    if any((x in mine and y in theirs) or (y in mine and x in theirs) for x, y in _CONTRASTS):
        return True
    led, also_led = _modifiers(one), _modifiers(other)
    return any(led[noun].isdisjoint(also_led[noun]) for noun in led.keys() & also_led.keys())


def of_one_matter(one: str, other: str) -> bool:
    """Whether two sentences speak of the same persons and of one matter; where each has a name that the other has not, they do not."""
    mine, theirs = names(one), names(other)
    return (
        bool(matter(one) & matter(other))
        and persons(one) == persons(other)
        and (mine <= theirs or theirs <= mine)
        and not are_apart(one, other)
    )


def _bare(sentence: str) -> list[str]:
    return [_owner(w) for w in _TOKEN.findall(sentence)]


def _owner(word: str) -> str:
    return word.removesuffix("'s").removesuffix("’s")


def _modifiers(sentence: str) -> dict[str, set[str]]:
    """Words of content → the uncapitalised words of content right before them, which before a name are no verbs ("cancelled Netflix").

    Those without one are left out.
    """
    found: dict[str, set[str]] = {}
    for one, other in pairwise(_TOKEN.finditer(sentence)):
        before, word = fold(one[0]), fold(other[0])
        verb = other[0][0].isupper() and before.endswith(("ed", "ing"))
        beside = one[0][0].islower() and other.start() == one.end() + 1 and not verb
        if beside and _is_content(before) and _is_content(word):
            found.setdefault(stem(word), set()).add(stem(before))
    return found


def _is_content(word: str) -> bool:
    return len(word) > 2 and not (word in GRAMMAR or word in STOPS or word in COMMON or word in ARTICLES)

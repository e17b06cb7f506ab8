"""Connectives: how a sentence says that it belongs to one beside it: it goes on, answers, takes back, or holds only for a while.

More is read than the openers of ``slowwave.texts.anaphora``: a pronoun or "this" within a sentence, too, where nothing before it in the
sentence may be meant. What is meant is not understood; in doubt a sentence leans on the one before it. The words are in
``connectives.toml``: English, and the commonest of German, French and Spanish.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final, Literal

from slowwave.texts.anaphora import lean, people
from slowwave.texts.vocabulary import GRAMMAR, OPENERS, VERBS, words_of

Bond = Literal["", "person", "company", "previous", "both", "next"]
"""It stands by itself; it needs whoever was named last; him and the sentence before; that sentence; that one, which needs it as well; the
sentence behind it."""

_FILE: Final[dict[str, str]] = tomllib.loads(Path(__file__).with_name("connectives.toml").read_text(encoding="utf-8"))
_LEAD: Final = r"[\s\"'“‘«(\[*_>]*(?:(?:[-*+•–—]|\(?\d{1,3}[.)]|[a-z][.)])\s+)?[\"'“‘«(\[*_]*"


def _opening(name: str, before: str = "") -> re.Pattern[str]:
    words = _FILE[name].replace("\n", "").replace("{them}", "(?:this|that|these|those)")
    return re.compile(rf"{_LEAD}{before}(?:{words})(?!\w)", re.IGNORECASE)


_INTERJECTIONS: Final = _FILE["interjections"]
_PREVIOUS: Final = _opening("previous")
_ANSWERS: Final = _opening("answers", rf"(?:(?:{_INTERJECTIONS})[,.!]?\s+)?")
_COURTEOUS: Final = _opening("courtesies", rf"(?:(?:{_INTERJECTIONS}|yes|no|of course)[,.!]\s+){{0,3}}")
_ASSISTANTS: Final = re.compile(_FILE["assistants"], re.IGNORECASE)
_WARNS: Final = re.compile(rf"\b(?:{_FILE['warnings']})\b".replace("\n", ""), re.IGNORECASE)
_TAKES_BACK: Final = _opening("takes_back")
_PASSES: Final = _opening("passes")
_ITSELF: Final = frozenset(_FILE["itself"].replace("\n", "").split("|"))

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_FIGURE: Final = re.compile(r"\d")
_ASIDE: Final = re.compile(r"\s*[*_]*[(（][^()（）]{1,300}[)）][*_]*[.!?]?\s*")
_WHICH: Final = re.compile(rf"{_LEAD}which\b[^.!]*[?？]", re.IGNORECASE)
_POINTING: Final = words_of("this these those such")
_THAT: Final = re.compile(
    r"\b(?:within|in|on|at|of|for|with|by|to|from|after|before|during|under|over) that "
    r"(?!it|he|she|they|we|you|i|the|an?|this|there|time|day|week|month|year|way)[a-z]{3,}\b",
    re.IGNORECASE,
)
"""A "that" that points: "within that frame"."""

_HIM: Final = words_of("he she him his her hers himself herself he's she's he'd she'd he'll she'll")
_IT: Final = words_of("it its them their theirs they itself themselves it's they're they've they'd they'll")
_ME: Final = words_of("i i'm i've i'd i'll")
_DETERMINERS: Final = words_of("the a an my our your some every each several many both another")
_EMPTY: Final = re.compile(
    r"\bit(?:'s| is| was| will be| seems| takes| took| has been)?\s+(?:rain|snow|seem|appear|turn|possible|worth|time|clear|important|"
    r"necessary|good|hard|easy|better|best|late|early|cold|warm|hot)",
    re.IGNORECASE,
)
"""An "it" that means nothing."""

_TIMES: Final = words_of("in on at by during since after before until from within throughout")
_TIME: Final = 6
"""Words in which a sentence that begins with one of these says when, and not what it speaks of."""

_ANSWERING: Final = _TIMES | {"because", "to", "with", "for"}
_SHORT: Final = 6
"""Words that an answer may have that says nothing without its question; one that begins with a preposition says as little."""

_LOOKED_AT: Final = 40  # words
_LONGEST_HEAD: Final = 300  # characters
_LONGEST_COURTESY: Final = 200  # characters


def bond(sentence: str, *, answering: bool = False) -> Bond:
    """How a sentence belongs to those beside it; ``answering``: the one before it asks. Time: that of its first words."""
    head = sentence[:_LONGEST_HEAD]
    if _TAKES_BACK.match(head):
        return "both"
    leans = lean(sentence) if not _WHICH.match(head) else ""
    if leans == "exception":
        return "both"
    if leans == "previous" or _PREVIOUS.match(head) or _ASIDE.fullmatch(sentence) or (answering and _answers(head)):
        return "previous"
    if _PASSES.match(head):
        return "next"
    person, thing = _pointed_at(head)
    if leans == "person" or person:
        return "company" if thing else "person"
    return "previous" if thing else ""


def assists(speaker: str) -> bool:
    """Whether a speaker is an assistant: "Assistant:"."""
    return bool(_ASSISTANTS.fullmatch(speaker.strip(" *_:：")))


def reacts(sentence: str) -> bool:
    """Whether a sentence answers or agrees, whatever was said: "Yes, …", "Good idea". Time: that of its first words."""
    return bool(_ANSWERS.match(sentence))


def warns(sentence: str) -> bool:
    """Whether a sentence forbids, commands or warns. Time: linear."""
    return bool(_WARNS.search(sentence))


def courteous(sentence: str) -> bool:
    """Whether a sentence greets, thanks or wishes well, and gives no figure. Time: that of its first words."""
    return len(sentence) <= _LONGEST_COURTESY and bool(_COURTEOUS.match(sentence)) and not _FIGURE.search(sentence)


def _answers(head: str) -> bool:
    words = _WORD.findall(head)
    return reacts(head) or len(words) <= _SHORT or words[0].lower() in _ANSWERING


def _pointed_at(head: str) -> tuple[bool, bool]:
    """Whether a pronoun means a person, and whether one means a thing, where nothing before it in the sentence may be meant."""
    named = settled = person = False
    thing = bool(_THAT.search(head))
    words = [m[0].replace("’", "'") for m in _WORD.finditer(head)][:_LOOKED_AT]
    lows = [w.lower() for w in words]
    when = _TIME if lows and lows[0] in _TIMES else 0
    for k, (word, low) in enumerate(zip(words, lows, strict=True)):
        if low in _POINTING and k + 1 < len(words):
            after = lows[k + 1]
            thing |= after not in _ITSELF and (after not in GRAMMAR or not settled)
        person |= low in _HIM and not named
        thing |= low in _IT and not settled and not _EMPTY.search(head)
        if word[0].isupper() and low not in _ME and (k or _names(words, lows)):
            named = settled = True
        settled |= low in _DETERMINERS and k >= when
        named = named or people(word)[0]
    return person, thing


def _names(words: list[str], lows: list[str]) -> bool:
    """Whether the first word is a name or a noun, with a verb or another name behind it, and no order."""
    if lows[0] in OPENERS or lows[0] in GRAMMAR or len(words) < 2:
        return False
    return words[1][0].isupper() or lows[1] in VERBS or lows[1] == "is" or lows[1].endswith(("s", "ed"))

"""What a memory states, and of whom: the reading by which memories are put under topics.

A question, a greeting, thanks, an offer or advice is no statement: a text with any of it is read as none, so that nothing of it is torn
apart. Nor is a text that speaks of two persons. What is wished, planned or told by others is a statement of its day. English; the words are
in ``topic_statements.toml``. Which statements make a topic belongs to ``slowwave.operations.planners.topic_memories``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from slowwave.texts import prefilter
from slowwave.texts.known_names import is_given, is_plain
from slowwave.texts.present_statements import CONTRACTED, STOPS, WORD, is_own, matter, persons
from slowwave.texts.sentences import sentences
from slowwave.texts.stated_relations import SELF, TRIGGER, stated_relations
from slowwave.texts.statements import stem
from slowwave.texts.tokens import fold
from slowwave.texts.vocabulary import words_of

LONGEST: Final = 500
"""Characters of a text that is read."""

_LEAST: Final = 3  # words of a statement
_FILE: Final[Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("topic_statements.toml").read_text(encoding="utf-8"))
_ADDRESSED: Final = re.compile(rf"(?<!\w)(?:{_FILE['addressed']})(?!\w)", re.IGNORECASE)
_TALK: Final = re.compile(rf"\W*(?:{_FILE['talk'].replace(chr(10), '')})", re.IGNORECASE)
_ASKS: Final = re.compile(rf"\W*(?:{_FILE['asks'].replace(chr(10), '')})", re.IGNORECASE)
_WANTS_TO_KNOW: Final = re.compile(rf"\b(?:{_FILE['wants_to_know'].replace(chr(10), '')})", re.IGNORECASE)
_MAY_BE_TALK: Final = (
    *(f"(?i:{prefilter.relaxed(p.pattern)})" for p in (_ADDRESSED, _WANTS_TO_KNOW)),
    *(rf"(?i:(?:^|[.!?])\W*{prefilter.relaxed(p.pattern)})" for p in (_TALK, _ASKS)),
)
_MAY_RELATE: Final = prefilter.relaxed(TRIGGER.pattern)
_PRONOUNS: Final = words_of(_FILE["pronouns"])
_TOKEN: Final = re.compile(WORD)
RELATIONS: Final[Mapping[str, str]] = _FILE["relations"]
"""How a relation is called; one that is an attribute is called as it is."""

_LED_BY: Final = words_of("the a an")
_NO_MATTER: Final = frozenset(stem(w) for w in words_of(_FILE["no_matter"]))
_DAYS: Final = words_of(_FILE["days"])
_OWNER: Final = re.compile(r"(?<!^)\b([A-Z][^\W\d_]+)['’]s\b")


class TopicStatement(NamedTuple):
    """``subject``: of whom or what a text speaks, folded: ``SELF`` for who says it, a relative as ``i: sister``, empty for nobody that it
    names. ``words``: the stems of its words of content without those of the subject. ``relations``: those that it states ("lives in").
    ``lead``: the name that opens what who says it tells of it in relation to himself ("Barclays blocked my card")."""

    subject: str
    words: frozenset[str]
    relations: frozenset[str] = frozenset()
    lead: str = ""

    def about(self, subject: str) -> TopicStatement:
        """The same, told of another subject that it names."""
        return self._replace(subject=subject, words=self.words - {stem(part) for part in subject.split()}, lead="")


def topic_statements(texts: prefilter.Texts) -> Iterator[TopicStatement | None]:
    """What ``topic_statement`` reads in each of n texts; talk and relations are looked for where the column may hold them."""
    flags = prefilter.found(texts, *_MAY_BE_TALK), prefilter.found(texts, _MAY_RELATE)
    for text, talk, relates in zip(texts.to_pylist(), *(f.tolist() for f in flags), strict=True):
        yield topic_statement(text, talk=talk, relates=relates)


def topic_statement(text: str, *, talk: bool = True, relates: bool = True) -> TopicStatement | None:
    """Read a text; None where it is no statement, or more than one of different subjects. Whether it may hold ``talk``, or say how
    something ``relates``, may be known. Time: some 100 µs.
    """
    if not text or len(text) > LONGEST or "\n" in text.strip():
        return None
    subject = ""
    words: set[str] = set()
    parts = sentences(text)
    for sentence in parts:
        if not _states(sentence, talk) or (own := _subject(sentence, subject)) is None:
            return None
        if own and subject and own != subject:
            return None
        subject = own or subject
        words |= matter(sentence)
    bare = subject.partition(": ")[2] or subject
    words -= {stem(part) for part in bare.split()} | _NO_MATTER
    words = {w for w in words if w[0].isalnum() and "'" not in w}
    relations = frozenset(r.relation for r in stated_relations(text)) if relates else frozenset[str]()
    lead = _leading(parts[0]) if subject == SELF else ""
    return TopicStatement(subject, frozenset(words), relations, lead) if words else None


def is_talk(sentence: str) -> bool:
    """Whether a sentence greets, thanks, offers, advises or asks, by how it begins, or wants to know something."""
    return bool(_TALK.match(sentence) or _ASKS.match(sentence) or _WANTS_TO_KNOW.search(sentence))


def _states(sentence: str, talk: bool) -> bool:
    return (
        not sentence.rstrip("\"'”’) ").endswith("?")
        and len(_TOKEN.findall(sentence)) >= _LEAST
        and not (talk and (_ADDRESSED.search(sentence) or is_talk(sentence)))
    )


def _subject(sentence: str, before: str) -> str | None:
    """Of whom a sentence speaks; None of two, or of whom only a sentence before it could tell."""
    lead = _leading(sentence)
    owns = "'s" in sentence or "’s" in sentence
    owners = {w for w in map(fold, _OWNER.findall(sentence) if owns else ()) if not is_plain(w) and w not in _DAYS}
    named = {*persons(sentence), *owners}
    if lead and any(is_given(part) for part in lead.split()):
        named = {n for n in named if n not in lead.split()} | {lead}
    if len(named) > 1:
        return None
    own = is_own(sentence)
    if named:
        (name,) = named
        return name if name == lead or name in owners or is_given(name) else f"{SELF}: {name}"
    if own:
        return SELF
    if lead:
        return lead
    opening = _TOKEN.search(sentence)
    if opening and fold(opening[0]) in _PRONOUNS:
        return before or None
    return ""


def _leading(sentence: str) -> str:
    """The name that opens a sentence, folded; behind an article one of several words, or one that is no common word."""
    run: list[str] = []
    for n, token in enumerate(_TOKEN.finditer(sentence)):
        word = token[0].removesuffix("'s").removesuffix("’s")
        if n == 0 and fold(word) in _LED_BY:
            continue
        if not word[0].isupper() or fold(word) in STOPS or CONTRACTED.match(word):
            break
        run.append(fold(word))
    if not run or (len(run) == 1 and is_plain(run[0]) and not is_given(run[0])):
        return ""
    return " ".join(run)

"""Drafts: whether a text of a model states only what its sources state, clause by clause.

``slowwave.text.specifics`` compares whole texts, so it cannot see a name, number or "not" that moved to another statement. Here every
clause of a draft must rest on one clause of a source. Its words, with their tense, preposition, owner, figure and denial, must all be words
of that clause or the subject of its sentence, and the words that it leaves out must not limit the rest: "Ann stopped selling eggs" does not
support "Ann sells eggs". A paraphrase is refused as well; a caller then takes the sources' own sentences, so a refusal loses nothing.

The rules use words, not grammar, and in doubt a clause is not supported. English; other languages pass only nearly word for word. Linear in
the texts, and for each clause of the draft in the clauses of the sources that share a word with it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from typing import Final, NamedTuple

from slowwave.text.clauses import is_past, stem_of
from slowwave.text.figures import date_places, join_thousands
from slowwave.text.sentences import sentences
from slowwave.text.tokens import fold
from slowwave.text.words import CARDINALS, GRAMMAR, NEGATIONS, OPENERS, TENS, words_of

_WORD: Final = re.compile(r"[^\W_]+(?:['.:/@_-][^\W_]+)*|[€$£%]")
_SPLIT: Final = re.compile(
    r"[,;:()\n]\s*|\s[–—-]+\s|\b(?:and|but|because|although|though|while|whereas|so|which|who|whom|whose)\b",
    re.IGNORECASE,
)
"""Ends of the pieces of a sentence. Matches in "Ann sings, and Bob paints", not in "2,000" with a digit after the comma."""

_PREPOSITIONS: Final = words_of("""
of in on at to from for with into onto over under about near behind against within around across along past since than as like through
before after during without between toward towards via
""")
_COUNTING: Final = words_of("""
all any some most many both each every other another several few more less half almost nearly roughly approximately least next last
""")
"""Words that limit the word of content after them, as figures do."""

_QUALIFYING: Final = words_of("""
may might must could would should can will shall only never always often sometimes usually rarely seldom hardly barely once until till
unless except if when whenever formerly previously former used maybe perhaps probably possibly likely allegedly supposedly apparently
reportedly yet again still was were had did too
""")
"""Words that limit a whole clause. A draft neither adds nor omits one."""

_CONTRACTED: Final = {"ll": "will", "d": "would", "won": "will", "shan": "shall"}
_HEDGES: Final = frozenset(map(stem_of, words_of("think thought believe guess suppose hope say said claim hear heard")))
"""Verbs at the end of a short piece that limits its sentence: "Ann moves to Oslo, her sister thinks"."""

_LONGEST_HEDGE: Final = 3  # words of content

_SPEAKERS: Final = {
    "i": "i",
    "me": "i",
    "my": "i's",
    "mine": "i's",
    "we": "we",
    "us": "we",
    "our": "we's",
    "ours": "we's",
}
_PERSONS: Final = words_of("he she")
_POINTING: Final = words_of("it they this these those")
_OWNERS: Final = words_of("his her him their them its")
_ARTICLES: Final = words_of("a an the this that these those")
_AUXILIARIES: Final = words_of(
    "is are was were be am has have had do does did will would can could may might must should shall"
)
_MOST_OF_SUBJECT: Final = 4  # words of content

Tokens = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause of a text.

    ``pieces`` are its words of content in order, each with what limits it (``to oslo``, ``12 hen``, ``not sell``); a clause has several
    pieces if "and" or a comma joins parts of which only one has a verb, and the first ``leading`` of them come before that one. ``subject``
    is that of its sentence, ``limits`` are the words that limit all of it; "?" is one of them.
    """

    pieces: tuple[Tokens, ...]
    subject: frozenset[str]
    limits: frozenset[str]
    leading: int = 0

    @property
    def tokens(self) -> Tokens:
        """Return the words of all pieces."""
        return tuple(token for piece in self.pieces for token in piece)

    def words(self) -> frozenset[str]:
        """Return all words and the subject, also without their figures."""
        return self.subject.union(self.tokens, map(_without_figure, self.tokens))


def unsupported(draft: str, sources: Sequence[str]) -> str:
    """Return the first clause of a draft, as the words that were compared, that no clause of a source supports; empty if there is none."""
    by_token: defaultdict[str, list[_Clause]] = defaultdict(list)
    for source in sources:
        for clause in _clauses(source):
            for token in clause.words():
                by_token[token].append(clause)

    def is_stated(tokens: Tokens, subject: frozenset[str], limits: frozenset[str]) -> bool:
        words = subject.union(tokens)
        compared = [token for token in words if token[0] != "^"]
        rarest = min(compared, key=lambda token: len(by_token.get(token, ())), default="")
        return any(_supports(source, words, tokens, limits) for source in by_token.get(rarest, ()))

    for clause in _clauses(draft):
        if not is_stated(clause.tokens, clause.subject, clause.limits) and not any(
            all(is_stated(tokens, subject, clause.limits) for tokens, subject in parts) for parts in _listed(clause)
        ):
            return " ".join(clause.tokens)
    return ""


def _supports(source: _Clause, words: frozenset[str], own: Tokens, limits: frozenset[str]) -> bool:
    tokens = source.tokens
    if not any(token[0] == "^" for token in source.subject):  # the source does not say either what "it" is
        words = frozenset(token for token in words if token[0] != "^")
    if limits != source.limits or not words <= source.words() or (source.subject and words.isdisjoint(source.subject)):
        return False
    kept = [n for n, token in enumerate(tokens) if token in own or _without_figure(token) in own]
    return bool(kept) and all(
        token in words or _without_figure(token) in words or token in source.subject or _is_aside(token)
        for token in tokens[: kept[-1]]
    )


def _without_figure(token: str) -> str:
    """Return a token without its figure, which a shorter text may omit: "to 12 hen" becomes "to hen"."""
    return " ".join(part for part in token.split(" ") if not part[0].isdigit()) if " " in token else token


def _is_aside(token: str) -> bool:
    """Return whether a word may be omitted before others: it follows a preposition, is an owner, or an adverb that limits nothing."""
    return token.split(" ")[0] in _PREPOSITIONS or token in _OWNERS or (token.endswith("ly") and " " not in token)


def _listed(clause: _Clause) -> Iterator[list[tuple[Tokens, frozenset[str]]]]:
    """Yield the statements that a clause may join, each with its subject: "Ann likes tea and coffee", "Ann and Bob like tea"."""
    first, *more = clause.pieces
    if not more:
        return
    if not clause.leading and (verb := next(((token,) for token in first if token not in clause.subject), ())):
        yield [(first, clause.subject), *(((*verb, *piece), clause.subject) for piece in more)]
    *subjects, whole = clause.pieces
    for n in range(1, min(len(whole), _MOST_OF_SUBJECT + 1)):
        yield [((*piece, *whole[n:]), frozenset()) for piece in (*subjects, whole[:n])]


class _Sentence(NamedTuple):
    """Clauses of a sentence and its subject.

    ``person`` is the last subject that is a name, and ``names`` counts the names since then: "she" may mean each of them.
    """

    clauses: tuple[_Clause, ...] = ()
    subject: frozenset[str] = frozenset()
    person: frozenset[str] = frozenset()
    names: int = 0


@lru_cache(maxsize=2_048)
def _clauses(text: str) -> tuple[_Clause, ...]:
    found: list[_Clause] = []
    before = _Sentence()
    text = join_thousands(text).replace("’", "'")
    for start, end, value in reversed(date_places(text)):
        text = f"{text[:start]}{value.lstrip('-')}{text[end:]}"
    for sentence in sentences(text):
        before = _read(sentence, before)
        found += before.clauses
    return tuple(found)


def _read(sentence: str, before: _Sentence) -> _Sentence:
    subject, person, names = frozenset[str](), before.person, before.names + _count_names(sentence)
    asked = frozenset("?" if sentence.rstrip(" \"')").endswith("?") else "")
    clauses: list[_Clause] = []
    for leading, group in _groups(sentence):
        start = next((words for words in group if fold(words[0]) not in _PREPOSITIONS), group[0])
        opening = fold(start[0]).partition("'")[0]
        if opening in _PERSONS and person and names <= 1:
            own = person
        elif opening in _PERSONS | _POINTING:
            own = frozenset((opening, *(f"^{token}" for token in subject or before.subject)))
        elif subject and _is_verb(start[0]):
            own = subject
        else:
            own, named = _subject(start)
            if named:
                person, names = own, names if subject else _count_names(sentence)
        subject = subject or own
        pieces = tuple(tokens for words in group if (tokens := tuple(token for token, _ in _tokens(words))))
        limits = asked.union(*map(_limits, group))
        if pieces:
            clauses.append(_Clause(pieces, own, limits, min(leading, len(pieces) - 1)))
    pieces = [piece for clause in clauses for piece in clause.pieces]
    doubt = any(len(piece) <= _LONGEST_HEDGE and piece[-1].rstrip("<") in _HEDGES for piece in pieces[1:])
    hedged = frozenset(("thinks",) if doubt else ())
    return _Sentence(tuple(replace(c, limits=c.limits | hedged) for c in clauses), subject, person, names)


def _groups(sentence: str) -> Iterator[tuple[int, list[list[str]]]]:
    """Yield the pieces of each clause as words, with the number of those before the one that has its verb."""
    waiting: list[list[str]] = []
    group: list[list[str]] = []
    leading = 0
    for piece in _SPLIT.split(sentence):
        words: list[str] = _WORD.findall(piece)
        if not words:
            continue
        if not any(_is_verb(word) for word in words[: -1 if len(words) > 1 else None]) or len(words) == 1:
            (group or waiting).append(words)
            continue
        if group:
            yield leading, group
        leading, group, waiting = len(waiting), [*waiting, words], []
    if group or waiting:
        yield leading, group or waiting


def _is_verb(word: str) -> bool:
    """Return whether a word may be a verb: an auxiliary, a past form, or one that ends as the third person does."""
    low = fold(word).partition("'")[0]
    if low in _AUXILIARIES or (low.endswith("n") and "'t" in word):
        return True
    third = len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is"))
    return word[0].islower() and (third or is_past(low))


def _tokens(words: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the words of content with what limits them, each with its place among the words."""
    preposition = denied = counted = ""
    for n, word in enumerate(words):
        low = fold(word)
        base, _, ending = low.partition("'")
        after = words[n + 1] if n + 1 < len(words) else ""
        if base in _SPEAKERS or base in _OWNERS:
            yield _SPEAKERS.get(base, base), n
        elif low in NEGATIONS or ending == "t":
            denied = low if low in ("never", "without", "nor", "neither", "none", "nobody", "nothing") else "not"
        elif low in _PREPOSITIONS:
            preposition = low
        elif low in _COUNTING:
            counted = f"{counted} {low}".strip()
        elif low in _QUALIFYING or low in _ARTICLES:
            continue
        elif (value := _figure(low)) and _is_content(after) and after[0].islower():
            counted = f"{counted} {value}".strip()
        elif value or _is_content(low):
            owner = "'s" if ending == "s" else ""
            past = "<" if is_past(base) else ""
            stem = value or f"{stem_of(base if ending == 's' else low)}{owner}{past}"
            yield " ".join(filter(None, (preposition, denied, counted, stem))), n
            denied = counted = ""
            if word[0].isupper() and not after[:1].isupper():
                preposition = ""
        else:
            preposition = ""


def _figure(low: str) -> str:
    number = CARDINALS.get(low) or TENS.get(low)
    return str(number) if number else low if low[:1].isdigit() else ""


def _is_content(word: str) -> bool:
    low = fold(word)
    return bool(low) and not any(low in table for table in (GRAMMAR, NEGATIONS, _PREPOSITIONS, _COUNTING, _QUALIFYING))


def _limits(words: Sequence[str]) -> frozenset[str]:
    found: set[str] = set()
    for word, after in zip_longest(words, words[1:], fillvalue=""):
        if fold(word) in ("was", "were") and is_past(fold(after)):
            continue  # the participle has the tense
        base, _, ending = fold(word).partition("'")
        parts = (base, base[:-1] if ending == "t" and base.endswith("n") else base, ending)
        found.update(_CONTRACTED.get(part, part) for part in parts if part in _QUALIFYING or part in _CONTRACTED)
    return frozenset("was" if word == "were" else word for word in found)


def _subject(words: Sequence[str]) -> tuple[frozenset[str], bool]:
    """Return the first words of content up to a verb, or the first name, and whether it is a name."""
    found: list[str] = []
    last = 0
    for token, n in _tokens(words):
        if found:
            between = {fold(word) for word in words[last + 1 : n]}
            name_ends = (
                words[last][0].isupper() and not words[n][0].isupper() and "'" not in words[last] and not between
            )
            if between - _ARTICLES - {"of"} or name_ends or _is_verb(words[n]) or len(found) == _MOST_OF_SUBJECT:
                break
        found.append(token)
        last = n
    named = (
        bool(found)
        and words[last][0].isupper()
        and (last > 0 or fold(words[last]) not in OPENERS)
        and len(words[last]) > 1
    )
    return frozenset(found), named


def _count_names(sentence: str) -> int:
    """Return the number of names of a sentence, without those of places after "in" and "at"."""
    words = _WORD.findall(sentence)
    found = 0
    for n, word in enumerate(words):
        before = words[n - 1] if n else ""
        begins = word[0].isupper() and not before[:1].isupper()
        found += begins and (n > 0 or fold(word) not in OPENERS) and fold(before) not in ("in", "at") and len(word) > 1
    return found

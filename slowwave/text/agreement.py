"""Agreement: whether a short text agrees with the conversation that it was derived from.

Sentences are aligned by the words of content that they share. Only dates, numbers, negations, speakers and moods are compared, and only
with a sentence that has most of the words of a clause: a paraphrase is no fault, and a statement that no sentence resembles is not judged.
A statement is supported if any sentence of the source agrees with it. English; linear in the source, and for each clause of the text in the
sentences that share a word with it.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from slowwave.text.claims import introduced
from slowwave.text.clauses import all_clauses, stem_of, stems
from slowwave.text.dates import Rewrite, looked_at, own_text
from slowwave.text.figures import MONTHS, date_places, parse, relate
from slowwave.text.names import is_given
from slowwave.text.sentences import PEOPLE, sentences
from slowwave.text.specifics import specifics
from slowwave.text.tokens import fold
from slowwave.text.turns import ASSISTANT, USER
from slowwave.text.words import CARDINALS, DENIALS, GRAMMAR, NEGATIONS, TENS, words_of

Kind = Literal["date", "number", "negation", "speaker", "mood"]

SHARE: Final = 0.7
"""Share of a clause's words, by weight, that a sentence has from which it may contradict the clause.

Tuned on the development half of ``benchmarks.grounding`` at 8b590b34.
"""

SUPPORTS: Final = 0.6
"""Share from which a sentence supports a clause that it does not contradict."""

LONGEST: Final = 500
"""Characters of a memory that is compared; a longer one is a document of its own."""

_LEAST: Final = 2  # words of content of a clause
_MOST: Final = 12  # sentences whose clauses are compared with one clause

_INTRODUCES: Final = re.compile(r"\b(?:name|call|called|this is|i['’]m|i am)\b", re.IGNORECASE)
"""Words in every sentence by which a speaker introduces themself."""

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

_SOFTENED: Final = words_of("""
hardly barely rarely scarcely seldom almost nearly few little quit quitted gave give given giving dislike dislikes disliked hate hates hated
less anymore longer reluctant hesitant difficult hard too rather free skip skips skipped
""")
"""Words by which a statement may be denied without a negation."""

_UNREAL: Final = words_of("""
would could might may should want wants wanted wanna wish wishes wished hope hopes hoped hoping plan plans planned planning intend intends
intended consider considers considered considering thinking maybe perhaps if unless whether suppose supposing imagine
imagined dream dreams dreamed ought
""")
"""Words after which nothing is stated to be so."""

_OPEN: Final = _UNREAL | words_of("""
interested aim aims aimed goal goals looking curious willing ready keen intention intentions interest interests desire desires seek seeks
seeking possible possibly potential potentially likely can cannot will shall future idea ideas option options recommended suggested advised
encouraged expects expected eager wondering asks asked asking inquired needs need try tries trying feels believes
""")
"""Words of a memory that leave open whether something is so."""

_ATTEMPTS: Final = words_of("try tries trying consider considers considering need needs seek seeks seeking")
"""Words among them that state an act of the user all the same, if the assistant suggested it."""

_REPORTED: Final = re.compile(
    r"\b(?:suggest|recommend|advis|propos|offer|told|tells?|said|says|mention|explain|inform|remind|warn|encourag|instruct)",
    re.IGNORECASE,
)
"""Verbs of a memory that reports what someone said."""

_BEGINS: Final = r"^\W*(?:(?:oh|wow|haha|ah|hmm|well|and|thanks|thank you),?\s+)*"
_ANSWERS: Final = re.compile(
    _BEGINS
    + r"(?:yes|yeah|yep|yup|sure|ok|okay|right|exactly|indeed|true|absolutely|definitely|certainly|of course|no\b|nope|never|not |"
    r"that(?:['’]s| is) (?:right|true|correct|it)|you(?:['’]re| are) right|i (?:do|did|am|have|will)\b|i['’](?:ll|m|ve)\b)",
    re.IGNORECASE,
)
"""The beginning of an answer to a question; matches "Yes, every day", not "The rail is old"."""

_ACCEPTS: Final = re.compile(
    _BEGINS
    + r"(?:yes|yeah|yep|yup|sure|ok|okay|agreed|absolutely|definitely|certainly|of course|all ?right|good idea|great idea|deal|"
    r"(?:that )?sounds|do it|please do|let['’]s)\b|\bi (?:will|already|do)\b|\bi['’]ll\b|\bi(?:['’]m| am) going to\b",
    re.IGNORECASE,
)
"""The beginning of a turn, or words in it, that accept a suggestion; matches "Thanks, I'll try that", not "That is a good point"."""

_LEAD: Final = (
    r"^\W*(?:(?:and|but|so|also|well|then|actually|recently|lately|currently|now|yes|no|usually|sometimes|often|today|because|since|that|"
    r"when|as)\b,?\s+)*"
)
_PHRASE: Final = r"(?:[\w-]+ ){0,3}?[\w-]+\b"
_SUBJECT: Final = re.compile(
    _LEAD + r"(?:(?P<i>i|we|i['’]\w+|we['’]\w+)\b|(?P<you>you|you['’]\w+)\b|(?P<third>he|she|he['’]s|she['’]s)\b|"
    rf"(?P<my>my|our|your|his|her|their) (?P<what>{_PHRASE})|"
    rf"(?:the )?(?P<user>user|assistant|agent|ai)\b(?P<of>['’]s? {_PHRASE})?|(?-i:(?P<name>[A-Z][\w-]+))\b(?P<kin>['’]s? {_PHRASE})?)",
    re.IGNORECASE,
)
"""The subject of a clause: matches "Recently, my older brother …", "The user's mother …", "Gina …"; not "There is …"."""

_SUGGESTS: Final = re.compile(
    r"\b(?:you (?:can|could|should|might|may|would|need)|i (?:can |would |['’]d )?(?:suggest|recommend|advise)|how about|what about|try|"
    r"why (?:not|don['’]t you)|consider|make sure|remember to|don['’]t forget|let['’]s|by \w+ing|as long as|i hope you|maybe|perhaps|"
    r"it['’]?s? (?:is )?(?:a )?(?:good|great|important|best|better|helpful) (?:idea )?to)\b",
    re.IGNORECASE,
)
"""Words of an assistant that suggest something; matches "You could try yoga", not "You like yoga"."""

_APPROXIMATE: Final = words_of("about around nearly roughly almost over under approximately least most up several some")
_SPANS: Final = re.compile(
    r"\b(?:years?|months?|weeks?|days?|ago|since|old|age|anniversary|birthday|next|last)\b", re.IGNORECASE
)
_NUMBERS: Final[Mapping[str, int]] = {**CARDINALS, **TENS}
_CALENDAR: Final = frozenset(MONTHS) | words_of(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays"
)
_ISO_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_FIGURE: Final = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*")


class SourcePassage(NamedTuple):
    """A part of a source: a turn or a passage of a document.

    ``speaker`` is ``USER``, ``ASSISTANT``, a name, or empty. ``day`` is the day on which it was said or written.
    """

    id: str
    text: str
    speaker: str = ""
    day: date | None = None


class Disagreement(NamedTuple):
    """A difference between a statement and its source.

    ``claimed`` and ``stated`` are the words that differ, ``sentence`` is that of the passage. ``corrected`` is the whole text with the
    date or number of the source; empty if there is none.
    """

    kind: Kind
    claimed: str
    stated: str
    passage: SourcePassage
    sentence: str
    corrected: str = ""


class _Sentence(NamedTuple):
    passage: int
    text: str
    clauses: tuple[tuple[str, bool], ...]
    words: frozenset[str]


class _Holder(NamedTuple):
    """Person that a clause is about: ``USER``, ``ASSISTANT``, a name, "other" or "" (unknown); ``kin`` if it is a relative of theirs."""

    who: str
    kin: str = ""


def introductions(passages: Sequence[SourcePassage]) -> set[str]:
    """Return the folded given names by which the user of the passages introduces themself."""
    told = (s for p in passages if p.speaker == USER for s in sentences(p.text) if _INTRODUCES.search(s))
    return {fold(name.split()[0]) for s in told if (name := introduced(s))}


class MemorySource:
    """The passages that a memory was derived from, in order, with an index of their sentences.

    ``users`` are the folded given names of the user that are known from elsewhere.
    """

    def __init__(self, passages: Sequence[SourcePassage], users: Collection[str] = ()) -> None:
        self.passages = tuple(passages)
        self.users = {*users, *introductions(passages)}
        self.speakers = {fold(p.speaker) for p in passages if p.speaker} | self.users
        found: list[_Sentence] = []
        for n, passage in enumerate(passages):
            by_sentence: defaultdict[str, list[tuple[str, bool]]] = defaultdict(list)
            for sentence, clause, asks in all_clauses(own_text(passage.text)):
                by_sentence[sentence].append((clause, asks))
            found += (_Sentence(n, s, tuple(c), _content(s, self.speakers)) for s, c in by_sentence.items())
        self._sentences = found
        self._having: defaultdict[str, list[int]] = defaultdict(list)
        for n, sentence in enumerate(found):
            for word in sentence.words:
                self._having[word].append(n)

    def differs(self, text: str, cited: Collection[str] | None = None) -> Disagreement | None:
        """Return the first difference between a text and this source that no sentence of the source removes; None if there is none.

        ``cited`` are the ids of the passages that the text was derived from; the others can support a statement and not contradict it.
        """
        own = own_text(text)
        if len(own) > LONGEST:
            return None
        found: list[Disagreement] = []
        for _, clause, asks in all_clauses(own):
            if not asks:
                found += self._of_clause(own, clause, cited)
        order = ("speaker", "negation", "date", "number", "mood")
        return min(found, key=lambda d: order.index(d.kind), default=None)

    def _of_clause(self, text: str, clause: str, cited: Collection[str] | None) -> Iterator[Disagreement]:
        subject = _SUBJECT.match(clause)
        name = fold(subject["name"] or "") if subject else ""
        words = _content(clause, self.speakers | {name} if is_given(name) else self.speakers)
        words -= stems(self._holder(clause).kin)
        if len(words) < _LEAST:
            return
        weights = {w: 1 / (1 + math.log(max(len(self._having.get(w, ())), 1))) for w in words}
        total = sum(weights.values())
        shared: defaultdict[int, float] = defaultdict(float)
        for word in words:
            for n in self._having.get(word, ()):
                shared[n] += weights[word] / total
        near = sorted((n for n, share in shared.items() if share >= SUPPORTS), key=lambda n: (-shared[n], n))[:_MOST]
        if not near or shared[near[0]] < SHARE:
            return
        differences: list[list[Disagreement]] = []
        for n in near:
            found = list(self._compared(text, clause, words, self._sentences[n]))
            if not found:
                return
            if shared[n] >= SHARE and (cited is None or self.passages[self._sentences[n].passage].id in cited):
                differences.append(found)
        # a sentence that differs in more than one respect is about something else
        best = min(differences, key=len, default=None)
        if best and len({d.kind for d in best}) == 1:
            yield best[0]

    def _compared(self, text: str, clause: str, words: frozenset[str], sentence: _Sentence) -> Iterator[Disagreement]:
        passage = self.passages[sentence.passage]

        def differs(kind: Kind, claimed: str, stated: str, corrected: str = "") -> Disagreement:
            return Disagreement(kind, claimed, stated, passage, sentence.text, corrected)

        for claimed, stated, corrected in self._dates(text, clause, sentence, passage):
            yield differs("date", claimed, stated, corrected)
        for claimed, stated, corrected in self._numbers(text, clause, sentence):
            yield differs("number", claimed, stated, corrected)
        part, asks = max(sentence.clauses, key=lambda c: len(words & _content(c[0], self.speakers)))
        common = words & _content(part, self.speakers)
        if len(common) < SHARE * len(words & sentence.words):
            return
        suggests = _may_suggest(passage, part)
        if (asks or suggests) and self._is_answered(sentence.passage, _ANSWERS if asks else _ACCEPTS):
            return
        if claimed := _negation(clause, part, sentence.text):
            yield differs("negation", *claimed)
        if _REPORTED.search(clause):
            return
        mine, theirs = self._holder(clause), _holder(part, passage.speaker, self.speakers)
        states = _OPEN.isdisjoint(_lows(clause))
        if suggests:
            if mine.who == USER and not mine.kin and (_OPEN - _ATTEMPTS).isdisjoint(_lows(clause)):
                yield differs("speaker", USER, "a suggestion of the assistant")
        elif _are_apart(mine, theirs):
            yield differs("speaker", *(_described(h) for h in (mine, theirs)))
        elif states and asks:
            yield differs("mood", "stated", "a question")
        elif states and (unreal := _governs(part, common)):
            yield differs("mood", "stated", unreal)

    def _is_answered(self, passage: int, answer: re.Pattern[str]) -> bool:
        """Return whether the next turn is another speaker's and matches."""
        speaker = self.passages[passage].speaker
        after = next((p for p in self.passages[passage + 1 : passage + 2] if p.speaker != speaker), None)
        return after is not None and answer.search(after.text) is not None

    def _holder(self, clause: str) -> _Holder:
        """Return whom a clause of the memory is about; a name of the user is the user."""
        found = _holder(clause, "", self.speakers, memory=True)
        return found._replace(who=USER) if found.who in self.users else found

    # dates and numbers

    @cached_property
    def _days(self) -> tuple[tuple[str, ...], ...]:
        """Dates of each passage: those that it states, those that its relative phrases mean, and the day itself."""
        found: list[tuple[str, ...]] = []
        for passage in self.passages:
            text, days = own_text(passage.text), set[str]()
            days |= specifics(passage.text).dates | specifics(text).dates
            if passage.day:
                days |= {(passage.day + timedelta(days=n)).isoformat() for n in (-1, 0, 1)}
                days |= {r.value for r in looked_at(text, passage.day) if isinstance(r, Rewrite)}
            found.append(tuple(sorted(days)))
        return tuple(found)

    def _dates(
        self, text: str, clause: str, sentence: _Sentence, passage: SourcePassage
    ) -> Iterator[tuple[str, str, str]]:
        places = date_places(clause)
        for start, end, value in places:
            if clause[end:].startswith(("'s", "’s")) or any(
                _is_within(value, day) for days in self._days for day in days
            ):
                continue
            explicit = {v: sentence.text[a:b] for a, b, v in date_places(sentence.text)}
            read = looked_at(sentence.text, passage.day) if passage.day else []
            explicit |= {
                r.value: r.value for r in read if isinstance(r, Rewrite) and "/" not in r.value and not r.about
            }
            if any(not isinstance(r, Rewrite) or r.about or "/" in r.value for r in read):
                continue  # a date that no rule can write out
            alike = [words for v, words in explicit.items() if _is_rival(value, v)]
            claimed = clause[start:end]
            if (
                not explicit
                and len(places) == 1
                and not (specifics(sentence.text).numbers and _SPANS.search(sentence.text))
            ):
                yield claimed, "", ""
            elif len(alike) == len(explicit) == 1:
                yield claimed, alike[0], _replaced(text, claimed, alike[0])

    @cached_property
    def _known(self) -> frozenset[str]:
        """Numbers of all sentences."""
        return frozenset(value for one in self._sentences for value, _, _ in _figures(one.text))

    def _numbers(self, text: str, clause: str, sentence: _Sentence) -> Iterator[tuple[str, str, str]]:
        claimed, stated = _figures(clause), _figures(sentence.text)
        if not claimed or not stated:
            return
        for value, counted, words in claimed:
            rivals = {v: w for v, of, w in stated if of == counted and v != value}
            cut = {
                v: w
                for v, _, w in stated
                if v.startswith(f"{value}.") and re.search(rf"{re.escape(words)}\W*$", clause)
            }
            if cut and not rivals:
                rivals = cut
            elif value in self._known or not counted:
                continue
            if len(rivals) == 1:
                (instead,) = rivals.values()
                yield words, instead, _replaced(text, words, instead)


def _replaced(text: str, words: str, instead: str) -> str:
    """Return a text with other words in place of a figure that occurs once; empty if it occurs more often."""
    parts = re.split(rf"(?<![\w.,]){re.escape(words)}(?!\w|[.,]\d)", text)
    return instead.join(parts) if len(parts) == 2 else ""


def _lows(text: str) -> list[str]:
    return [w.replace("’", "'") for w in _WORD.findall(fold(text))]


def _content(text: str, speakers: set[str]) -> frozenset[str]:
    """Return the stems of content of a text without persons of the conversation, figures, days, negations and moods."""
    return frozenset(s for w in _lows(text) if (s := _stem(w)) and w.removesuffix("'s") not in speakers)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """Return the stem of a folded word; empty for words that are compared in another way, and for words of grammar."""
    if word in _LEFT_OUT or any(c.isdigit() for c in word):
        return ""
    return next(iter(stems(word)), "")


_LEFT_OUT: Final = (
    NEGATIONS
    | _UNREAL
    | _CALENDAR
    | _NUMBERS.keys()
    | words_of("user users user's assistant assistant's suggested suggests recommended mentioned said")
)


def _negation(clause: str, part: str, sentence: str) -> tuple[str, str] | None:
    """Return the negation that only one of two clauses has, in the order of the clauses; None if they agree or may agree."""
    mine, theirs = clause.replace("’", "'"), part.replace("’", "'")
    own, other = (NEGATIONS.intersection(_lows(t)) - {"without"} for t in (mine, theirs))
    if bool(own) == bool(other):
        return None
    soft = _SOFTENED | (DENIALS - {"yet", "instead", "unlike"})
    if not soft.isdisjoint(_lows(mine)) or not soft.isdisjoint(_lows(theirs)):
        return None
    if own and not NEGATIONS.isdisjoint(_lows(sentence)):
        return None
    denying, asserting = (mine, sentence) if own else (theirs, clause)
    after = denying.lower().partition(min(own or other))[2]
    if not next((s for w in _lows(after) if (s := stems(w))), frozenset()) <= stems(asserting):
        return None  # "is not a boat" and "is a ship" agree
    return (min(own), "") if own else ("", min(other))


def _holder(clause: str, speaker: str, speakers: set[str], *, memory: bool = False) -> _Holder:
    """Return whom a clause of a speaker is about, by its subject."""
    match = _SUBJECT.match(clause)
    if match is None:
        return _Holder("")
    who = fold(speaker) if speaker not in (USER, ASSISTANT) else speaker
    if match["i"] and not memory:
        return _Holder(who)
    if match["you"] and not memory:
        return _Holder({USER: ASSISTANT, ASSISTANT: USER}.get(who, ""))
    if match["third"] and not memory:
        return _Holder("other")
    if match["my"] and not memory and match["my"].lower() in ("my", "our"):
        kin = next((w for w in _lows(match["what"]) if w in PEOPLE), "")
        return _Holder(who, kin) if kin and " and i " not in f"{fold(clause)} " else _Holder("")
    if match["user"]:
        kin = _kin(match["of"])
        if match["of"] and not kin:
            return _Holder("")
        return _Holder(USER if match["user"].lower() == "user" else ASSISTANT, kin)
    if match["name"]:
        name, kin = fold(match["name"]), _kin(match["kin"])
        if match["kin"] and not kin:
            return _Holder("")
        if name in speakers:
            return _Holder(name, kin)
        if is_given(name) and not memory:
            return _Holder("other")
    return _Holder("")


def _kin(words: str | None) -> str:
    return next((w for w in _lows(words or "") if w in PEOPLE), "")


def _are_apart(mine: _Holder, theirs: _Holder) -> bool:
    """Return whether two clauses are about different persons; a role and a name may be one person."""
    if not mine.who or not theirs.who:
        return False
    if theirs.who == "other":
        return not mine.kin
    if mine.who != theirs.who:
        return (mine.who in (USER, ASSISTANT)) == (theirs.who in (USER, ASSISTANT))
    return bool(mine.kin) != bool(theirs.kin)


def _described(holder: _Holder) -> str:
    who = "someone else" if holder.who == "other" else holder.who
    return f"{who}'s {holder.kin}" if holder.kin else who


def _may_suggest(passage: SourcePassage, part: str) -> bool:
    return passage.speaker == ASSISTANT and _SUGGESTS.search(part) is not None


def _governs(part: str, common: frozenset[str]) -> str:
    """Return the word of a clause that leaves open all of the common words, which follow it; empty if there is none."""
    lows = _lows(part)
    first = next((n for n, low in enumerate(lows) if not stems(low).isdisjoint(common)), len(lows))
    return next((low for low in lows[:first] if low in _UNREAL), "")


def _is_within(value: str, day: str) -> bool:
    """Return whether a date fits another one or an interval."""
    first, slash, last = day.partition("/")
    if not slash or len(first) == 2:  # "05/04/2023" is a date of unknown order
        return relate(value, day) in ("same", "fits")
    if _ISO_DAY.fullmatch(value):
        return first <= value <= last
    return any(relate(value, end) in ("same", "fits") for end in (first, last))


def _is_rival(a: str, b: str) -> bool:
    return parse(a).sort == parse(b).sort and relate(a, b) == "rivals"


def _figures(text: str) -> list[tuple[str, str, str]]:
    """Return the numbers of a text that count or measure something: value, stem of what they count, and the words as written."""
    for start, end, _ in date_places(text):
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    found: list[tuple[str, str, str]] = []
    matches = list(_FIGURE.finditer(text))
    for match, after in pairwise([*matches, None]):
        low = match[0].lower() if match else ""
        number = low.replace(",", "") if low[:1].isdigit() else str(_NUMBERS[low]) if low in _NUMBERS else ""
        if not match or not number or number == "1":
            continue
        counted = (
            stem_of(fold(after[0])) if after and after[0].lower() not in GRAMMAR and not after[0][0].isdigit() else ""
        )
        before = _lows(text[: match.start()])[-2:]
        if _APPROXIMATE.isdisjoint(before):
            found.append((number, counted, match[0]))
    return found

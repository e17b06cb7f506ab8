"""Specifics: numbers, dates, names and negations that must not change, and the checks that a new text preserves them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import dropwhile
from typing import Final, Literal

from slowwave.text.figures import is_unit, join_thousands, ordinal, read, unit
from slowwave.text.sentences import sentences
from slowwave.text.statements import LONGEST, SHORTEST, Statement, read_statement, stem
from slowwave.text.structure import passages
from slowwave.text.tokens import count, fold, tokenise
from slowwave.text.words import (
    CARDINALS,
    DENIALS,
    EXCLUSIVE,
    FOREIGN_NEGATIONS,
    GRAMMAR,
    GROUPS,
    NEGATIONS,
    OPENERS,
    OPENING_NEGATIONS,
    ORDINALS,
    ROMANS,
    TENS,
    TITLES,
    VARIANTS,
    words_of,
)

# Specifics: the parts of a text that must not change or be lost, such as numbers, dates, names and negations.
#
# ``specifics`` extracts them, and the "nothing lost" probe counts them. ``slowwave.text.contradictions`` decides whether two texts
# contradict each other in one of them. ``slowwave.text.tokens`` provides tokens for search.
#
# All patterns are bounded or anchored at word starts, so the time is linear in the text's length.

_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Specifics:
    """Specifics of one text, each a normalised string ("5 km", "2024-05-06", versions without "v").

    ``exclusive`` holds (group, term): terms of one group exclude each other (``north`` and ``south``). ``letters`` are single letters
    that distinguish things ("Plan B", initials), ``ranks`` the ordinals of a title ("2nd baron"), ``variants`` words that make a
    different thing ("remix", "Jr"). ``denied`` are the stems of what a negation applies to, ``declined`` those of what is refused or
    lacking. ``words`` are all words, folded, ``prose`` those of a longer text as written and in order.
    """

    numbers: frozenset[str] = _NONE
    dates: frozenset[str] = _NONE
    versions: frozenset[str] = _NONE
    identifiers: frozenset[str] = _NONE
    romans: frozenset[str] = _NONE
    ordinals: frozenset[str] = _NONE
    ranks: frozenset[str] = _NONE
    letters: frozenset[str] = _NONE
    names: frozenset[str] = _NONE
    negations: frozenset[str] = _NONE
    denied: frozenset[str] = _NONE
    declined: frozenset[str] = _NONE
    variants: frozenset[str] = _NONE
    exclusive: frozenset[tuple[str, str]] = frozenset()
    words: frozenset[str] = _NONE
    prose: tuple[str, ...] = ()

    def statement(self) -> Statement | None:
        """Return the statement of the text in the order of its words; None if it has too few or too many words."""
        return read_statement(self.prose, self.letters) if self.prose else None

    def terms(self) -> frozenset[str]:
        """Return the terms that must stay reachable when the text is merged away.

        Single letters and exclusive terms are left out, because common words ("on", "before") would dominate the rest.
        """
        return self.figures() | self.identifiers | self.names | self.negations

    def figures(self) -> frozenset[str]:
        """Return quantities, versions, ordinals and dates: "15", "v15" and "XV" are one figure."""
        return self.numbers | self.versions | self.romans | self.ordinals | self.dates

    def groups(self) -> dict[str, frozenset[str]]:
        """Group → the terms of it that occur."""
        found: dict[str, frozenset[str]] = {}
        for group, term in self.exclusive:
            found[group] = found.get(group, _NONE) | {term}
        return found


def specifics(text: str) -> Specifics:
    """Extract the specifics of a text in any script.

    Time: linear in its length; a short text is parsed once while it is among the last 4,096.
    """
    return _remembered(text) if len(text) <= _SHORT else _read(text)


def _read(text: str) -> Specifics:
    text = join_thousands(text)
    text = text if text.isascii() else unicodedata.normalize("NFKC", text).replace("’", "'")
    found = _Found(text)
    if found.digits or "@" in text or "." in text:
        read(_FOREIGN_DIGIT.sub(lambda m: str(unicodedata.decimal(m[0])), text), found.kinds)
    for k, low in enumerate(found.lows):
        found.word(k, low)
    return found.specifics()


_SHORT: Final = 2_000
_remembered: Final = lru_cache(4_096)(_read)


def may_have_specifics(text: str) -> bool:
    """Return False only for plain words with nothing specific but a name; a cheap check before ``specifics``."""
    return not (_PLAIN.fullmatch(text) and _KNOWN.isdisjoint(text.lower().split(" ")))


class _Found:
    """The words of a text and what has been found so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.digits = _DIGIT.search(text) is not None
        self.lower = text.islower()
        degree = _DEGREE.search(text) if "." in text else None
        self.matches = list(_WORD.finditer(text, 0, degree.start() if degree else len(text)))
        if self.digits:  # "sm5th" and "46V" are not words
            self.matches = [m for m in self.matches if not _beside_digit(text, m)]
        self.words = [m[0] for m in self.matches]
        self.lows = [w.casefold() for w in self.words]
        self.kinds: defaultdict[str, set[str]] = defaultdict(set)
        self.exclusive: set[tuple[str, str]] = set()

    def word(self, k: int, low: str) -> None:
        """Add Roman numerals, letters, number words, negations, variants and exclusive terms."""
        word = self.words[k]
        if len(low) == 1:
            self._letter(k, low)
        if low in _KNOWN:
            self._known(k, low)
        if not word.islower() and not word[1:].islower():
            for part in _CAMEL.split(word):
                if len(part) < len(word) and part.casefold() in EXCLUSIVE:
                    self._exclude(part.casefold())

    def _known(self, k: int, low: str) -> None:
        word = self.words[k]
        if low in ROMANS and (word.isupper() or (k and word.islower())):  # "Xi" and "Vi" are names
            self.kinds["romans"].add(str(ROMANS[low]))
        if low in EXCLUSIVE and (low not in _CAPITAL or word[0].isupper()):
            self._exclude(low)
        if low in VARIANTS:
            self.kinds["variants"].add(_SAME_VARIANT.get(low, low))
        if low in DENIALS:
            self.kinds["declined"].add(self._target(k))
        foreign = word in FOREIGN_NEGATIONS or (k == 0 and word.istitle() and low in OPENING_NEGATIONS)
        if foreign or (low in NEGATIONS and (low != "no" or not self._numero(k))):
            self._negation(k)
        if low in CARDINALS:
            self._cardinal(k, CARDINALS[low])
        elif low in TENS and not (self._next(k) in _AFTER_TENS and self._joined(k + 1)):
            self._cardinal(k, TENS[low])
        elif low in ORDINALS and not (low == "second" and self._is_time(k)):
            self.kinds["ordinals"].add(ordinal(ORDINALS[low] + self._tens(k)))

    def _exclude(self, low: str) -> None:
        self.exclusive.update((group, GROUPS[group][low]) for group in EXCLUSIVE[low])

    def _negation(self, k: int) -> None:
        self.kinds["negations"].add("not")
        self.kinds["denied"].add(self._target(k))

    def _target(self, k: int) -> str:
        """Return the stem of the word that a negation applies to: the next word of content, otherwise the one before."""
        after, before = self.lows[k + 1 : k + 6], self.lows[max(0, k - 5) : k][::-1]
        return next((stem(w) for w in (*after, *before) if w not in GRAMMAR and w not in NEGATIONS), "")

    def _cardinal(self, k: int, value: int) -> None:
        """Add a number word with the tens before it and the unit after it; a bare "one" does not count."""
        tens, after = self._tens(k), self._next(k)
        if value + tens != 1:
            self.kinds["numbers"].add(f"{value + tens} {unit(after)}" if is_unit(after) else str(value + tens))

    def _tens(self, k: int) -> int:
        return TENS.get(self.lows[k - 1], 0) if k and self._joined(k) else 0

    def _joined(self, k: int) -> bool:
        return self.text[self.matches[k - 1].end() : self.matches[k].start()] in (" ", "-")

    def _next(self, k: int) -> str:
        return self.lows[k + 1] if k + 1 < len(self.lows) else ""

    def _numero(self, k: int) -> bool:
        return _NUMERO.match(self.text, self.matches[k].end()) is not None

    def _is_time(self, k: int) -> bool:
        start = self.matches[k].start()
        return _SECOND.search(self.text[max(0, start - 8) : start]) is not None

    def _letter(self, k: int, low: str) -> None:
        """Add a single letter: as a Roman numeral at the end of a name, otherwise as an initial or a distinguishing letter.

        The article "a" and the pronoun "I" do not count.
        """
        letter, match, last = self.words[k], self.matches[k], k == len(self.words) - 1
        if not letter.isascii() or (match.start() and self.text[match.start() - 1] == "'"):
            return
        dotted = self.text.startswith(".", match.end())
        if last and k and letter in _ROMAN_LETTERS and not dotted:
            self.kinds["romans"].add(_ROMAN_LETTERS[letter])
        elif (letter.isupper() or self.lower) and (
            dotted or last or low not in "ai" or 0 < k < SHORTEST > len(self.words)
        ):
            self.kinds["letters"].add(low)

    def specifics(self) -> Specifics:
        """Return all specifics found."""
        kinds = {kind: frozenset(values) for kind, values in self.kinds.items() if values}
        if ranks := self.kinds.get("ordinals") and _RANK.findall(self.text):
            kinds["ranks"] = frozenset(ordinal(int(n)) for n in ranks)
        names: set[str] = set()
        _proper_names(self.text, self.matches, names)
        return Specifics(
            names=frozenset(names),
            exclusive=frozenset(self.exclusive),
            words=frozenset(self.lows),
            prose=tuple(self.words) if SHORTEST <= len(self.words) <= LONGEST else (),
            **kinds,
        )


def _beside_digit(text: str, match: re.Match[str]) -> bool:
    start, end = match.span()
    return (start > 0 and text[start - 1].isdigit()) or text[end : end + 1].isdigit()


def _proper_names(text: str, matches: list[re.Match[str]], names: set[str]) -> None:
    """Add the runs of capitalised words to ``names``.

    A single capitalised word at the start of a sentence counts only if it looks like a name.
    """
    if text.islower():
        return
    whole = all(m[0][0].isupper() for m in matches)
    run: list[str] = []
    opens, end = False, 0

    def close() -> None:
        if not run:
            return
        words = list(dropwhile(lambda w: w.casefold() in OPENERS, run))
        plain = opens and not whole and len(run) == 1 and run[0][1:].islower()
        if words and not plain:
            names.add(" ".join(words).casefold())
        run.clear()

    for match in matches:
        word = match[0]
        if not word[0].isupper() or _figure_beside(text, match) or (not run and word in ("A", "I")):
            close()
        else:
            gap = text[end : match.start()]
            if run and gap not in (" ", "-") and not (gap == ". " and len(run[-1]) <= 2):
                close()
            if not run:
                opens = end == 0 or any(c in ".!?:\n" for c in gap)
            run.append(word)
        end = match.end()
    close()


def _figure_beside(text: str, match: re.Match[str]) -> bool:
    """Return whether the word is part of a code or a unit ("ABC-123", "3 GB")."""
    before = text[max(0, match.start() - 2) : match.start()].rstrip(" -_/.")
    return before[-1:].isdigit() or _FIGURE.match(text, match.end()) is not None


_DIGIT: Final = re.compile(r"\d")
_FOREIGN_DIGIT: Final = re.compile(r"[^\D0-9]")
_FIGURE: Final = re.compile(r"[-_/.]?\d")
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SECOND: Final = re.compile(r"(?:\d|\bper|\ba|\beach|\bevery) ?-?$", re.IGNORECASE)
_NUMERO: Final = re.compile(r"\.? ?\d")
_RANK: Final = re.compile(rf"\b(\d{{1,3}})(?:st|nd|rd|th) (?:{'|'.join(sorted(TITLES))})\b", re.IGNORECASE)
_DEGREE: Final = re.compile(
    r"(?<=[\w,]) (?:m\. ?d|ph\. ?d|m\. ?a|b\. ?a|d\. ?d(?:\. ?s)?|m\. ?p|v\. ?c|[kq]\. ?c|u\. ?s(?:\. ?a)?)\.?\s*$",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile(r"(?:[A-Z][a-z]+|[a-z]{2,}|[A-Z]{2,})(?: (?:[A-Z][a-z]+|[a-z]{2,}|[A-Z]{2,})){0,4}")
_ROMAN_LETTERS: Final = {"I": "1", "V": "5", "X": "10"}
_AFTER_TENS: Final = frozenset(list(CARDINALS)[1:10] + list(ORDINALS)[:9])
_SAME_VARIANT: Final = {"jnr": "jr", "junior": "jr", "snr": "sr", "senior": "sr", "remixed": "remix"}
_CAPITAL: Final = frozenset(("may", "march", "us"))
"""Terms that are everyday words in lower case."""
_KNOWN: Final = (
    frozenset(EXCLUSIVE)
    | VARIANTS
    | DENIALS
    | NEGATIONS
    | FOREIGN_NEGATIONS
    | ROMANS.keys()
    | CARDINALS.keys()
    | TENS.keys()
    | ORDINALS.keys()
)


# Grounding: the parts of a sentence that none of its cited texts supports, and the parts of these texts that it omits.
#
# A model that writes a summary may add a number, a name or a "not", or omit one. Specifics are compared word by word. The meaning is not
# checked, so a false sentence that uses only the words of the sources passes.

_CAPITAL_GROUNDING: Final = re.compile(r"(?<![\w'’])[^\W\d_]\w+")


def ungrounded(claim: str, sources: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of ``claim`` that none of ``sources`` supports, sorted; empty if all are supported.

    These are:
    - numbers, dates, versions, identifiers and names
    - words with a capital
    - negations of something that no source denies
    - statements of something that only sources denying it mention
    - terms that exclude those of the sources

    Time: linear in the texts, each of which is parsed once.
    """
    claimed, known = _cached_specifics(claim), [_cached_specifics(s) for s in sources]
    text = " \n ".join(["", *(" ".join(tokenise(s)) for s in sources), ""])
    words = _union(k.words for k in known)
    terms = _union(k.terms() for k in known)
    foreign = {t for t in claimed.terms() - terms if _has_digit(t) or f" {' '.join(tokenise(t))} " not in text}
    capitals = {w.casefold() for w in _CAPITAL_GROUNDING.findall(claim) if w[0].isupper()}
    foreign |= capitals - words - GRAMMAR - OPENERS
    foreign |= _turned(claimed, known) | _excluded(claimed, known)
    return tuple(sorted(foreign))


def unsaid(terms: frozenset[str], texts: Sequence[str]) -> frozenset[str]:
    """Return the terms (of ``Specifics.terms``) that occur in none of the texts.

    A term without digits may also occur inside a longer name. Words are compared before texts are parsed for their specifics, which costs
    a hundred times more.
    """
    words = " \n ".join(["", *(" ".join(tokenise(text)) for text in texts), ""])
    left = frozenset(t for t in terms if _has_digit(t) or f" {' '.join(tokenise(t))} " not in words)
    for text in texts:
        if not left:
            break
        left -= _cached_specifics(text).terms()
    return left


def _turned(said: Specifics, known: Sequence[Specifics]) -> set[str]:
    """Return the terms that only the claim denies, and those that it asserts although a source that mentions them denies them."""
    denied = _union(k.denied | k.declined for k in known)
    plain = {stem(w) for w in said.words}
    if said.negations or said.declined:
        return {f"not {s}" for s in (said.denied | said.declined) - denied}
    return {f"not {s}" for s in plain & denied if s}


def _excluded(said: Specifics, known: Sequence[Specifics]) -> set[str]:
    mine = said.groups()
    theirs: dict[str, frozenset[str]] = {}
    for k in known:
        for group, terms in k.groups().items():
            theirs[group] = theirs.get(group, frozenset()) | terms
    return {term for group in mine.keys() & theirs.keys() for term in mine[group] - theirs[group]}


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)


def _has_digit(term: str) -> bool:
    return any(map(str.isdigit, term))


@lru_cache(maxsize=4096)
def _cached_specifics(text: str) -> Specifics:
    return specifics(text)


# Losses: the parts of a text that its new version no longer contains, by passage and word, for display.

Mark = Literal["kept", "lost", "new"]

_COMPARED: Final = 400  # words of a passage that are compared individually
_ALIKE: Final = 0.5
"""Share of the words of the shorter of two passages that the other must contain to count as its new wording."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Words that stay, go or come."""

    mark: Mark
    text: str


@dataclass(frozen=True, slots=True)
class Losses:
    """Difference between a text and its replacement.

    ``lines`` are the passages of the text in order, then the new ones; a reworded passage consists of several pieces. A passage that
    occurs twice before and once after is kept. ``lost`` of ``passages`` are removed, whole or reworded. ``tokens`` are the tokens before
    and after. ``terms`` are specifics that neither the new text nor a text next to it states.
    """

    lines: tuple[tuple[Piece, ...], ...]
    passages: int
    lost: int
    tokens: tuple[int, int]
    terms: tuple[str, ...]


def losses(before: str, after: str, beside: Sequence[str] = ()) -> Losses:
    """Compare ``before`` with ``after``; specifics that one of the other texts states are not among the terms.

    These texts are ``beside``. Time: linear in the passages; words are compared within passages that were reworded.
    """
    old, new = ([p.text.strip() for p in passages(text)] for text in (before, after))
    old_keys = {_key(p) for p in old}
    stands = {_key(p) for p in new}
    stays = [_key(p) in stands for p in old]
    fresh = [p for p in new if _key(p) not in old_keys]
    partner = _partners([p for p, kept in zip(old, stays, strict=True) if not kept], fresh)
    gone = iter(range(len(old)))
    lines: list[tuple[Piece, ...]] = []
    for text, kept in zip(old, stays, strict=True):
        if kept:
            lines.append((Piece("kept", text),))
            continue
        other = partner.get(next(gone))
        lines.append((Piece("lost", text),) if other is None else tuple(_words(text, fresh[other])))
    used = set(partner.values())
    lines += [(Piece("new", text),) for n, text in enumerate(fresh) if n not in used]
    terms = unsaid(specifics(before).terms(), [after, *beside])
    return Losses(tuple(lines), len(old), stays.count(False), (count(before), count(after)), tuple(sorted(terms)))


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


def _partners(gone: Sequence[str], fresh: Sequence[str]) -> dict[int, int]:
    """Map the place of each removed passage to that of the new passage with most of its words, each used once."""
    having: dict[str, list[int]] = defaultdict(list)
    words = [set(_key(text).split()[:_COMPARED]) for text in fresh]
    for n, own in enumerate(words):
        for word in own:
            having[word].append(n)
    found: dict[int, int] = {}
    taken: set[int] = set()
    for k, text in enumerate(gone):
        own = set(_key(text).split()[:_COMPARED])
        common = Counter(n for word in own if len(having[word]) <= 20 for n in having[word] if n not in taken)
        best = max(common, key=lambda n: (len(own & words[n]), -n), default=None)
        if best is not None and len(own & words[best]) >= _ALIKE * min(len(own), len(words[best])):
            found[k] = best
            taken.add(best)
    return found


def _words(before: str, after: str) -> Iterator[Piece]:
    old, new = before.split(), after.split()
    if max(len(old), len(new)) > _COMPARED:
        yield from (Piece("lost", before), Piece("new", after))
        return
    for how, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how == "equal":
            yield Piece("kept", " ".join(old[a:b]))
            continue
        if a < b:
            yield Piece("lost", " ".join(old[a:b]))
        if c < d:
            yield Piece("new", " ".join(new[c:d]))


# Roles: whether a sentence exchanges two parties of an action that its sources state the other way round.
#
# "Ann paid Bob" and "Bob was paid by Ann" agree; "Bob paid Ann" does not, although it has the same words. The content words around a shared
# verb or other word are compared: those before it, after it, or after a preposition. Passives are converted to active form. A sentence is
# not judged if no source states the relation. Added words are detected under "Grounding", two exchanged names in
# ``slowwave.text.statements``.

_LONGEST: Final = 600  # maximum length in characters of a sentence
_MOST: Final = 40  # maximum number of words of a clause

Roles = Mapping[str, frozenset[str]]
"""Word → its roles: ``subject`` or ``object`` of the relating word, or the preposition before it."""


def exchanged_parties(claim: str, sources: Sequence[str]) -> tuple[str, ...]:
    """Return the pairs "ann, bob: paid" of ``claim`` whose roles a source exchanges and no source confirms, sorted.

    Time: linear in the texts; for each clause of the claim the clauses that share a word with it.
    """
    known: defaultdict[str, list[Roles]] = defaultdict(list)
    for source in sources:
        for word, roles in _read_clauses(source):
            known[word].append(roles)
    found: set[str] = set()
    for word, roles in _read_clauses(claim):
        theirs = known.get(word, ())
        found.update(f"{a}, {b}: {word}" for a, b in _exchanged(roles, theirs))
    return tuple(sorted(found))


def _exchanged(mine: Roles, theirs: Iterable[Roles]) -> Iterator[tuple[str, str]]:
    theirs = [t for t in theirs if len(mine.keys() & t.keys()) >= 2]
    words = sorted(mine.keys() & {w for t in theirs for w in t})
    for n, a in enumerate(words):
        for b in words[n + 1 :]:
            own = {(r, s) for r in mine[a] for s in mine[b] if r != s}
            other_roles = {(r, s) for t in theirs if a in t and b in t for r in t[a] for s in t[b]}
            if any((s, r) in other_roles for r, s in own) and not own & other_roles:
                yield a, b


@lru_cache(maxsize=512)
def _read_clauses(text: str) -> tuple[tuple[str, Roles], ...]:
    """Return (stem of a relating word, the words around it with their roles) for every clause of a text."""
    found: list[tuple[str, Roles]] = []
    for line in text.splitlines():
        for sentence in sentences(line):
            if len(sentence) <= _LONGEST:
                for clause in _CLAUSE.split(sentence):
                    found += _of(_WORD_WHO_DID_WHAT.findall(clause))
    return tuple(found)


def _of(words: Sequence[str]) -> Iterator[tuple[str, Roles]]:
    if len(words) > _MOST:
        return
    lows = [fold(w).removesuffix("'s") for w in words]
    content = [low not in GRAMMAR and low not in _PREPOSITIONS and low not in _AUXILIARIES for low in lows]
    for k, low in enumerate(lows):
        if not content[k] or not words[k][0].islower():
            continue
        passive = _is_passive(lows, k)
        roles: defaultdict[str, set[str]] = defaultdict(set)
        for n in range(len(lows)):
            if content[n] and n != k:
                role = _role(lows, content, n, k)
                roles[_base(lows[n])].add(_TURNED.get(role, role) if passive else role)
        yield _base(low), {w: frozenset(r) for w, r in roles.items() if len(r) == 1 and "with" not in r}


def _role(lows: Sequence[str], content: Sequence[bool], at: int, verb: int) -> str:
    """Return the role of the word at ``at``: ``subject``, ``object`` or the preposition before it, searched up to the verb.

    After a preposition that opens the clause, the word before the verb is its subject ("On Monday Ann paid").
    """
    start = verb if at > verb else -1
    for n in range(at - 1, start, -1):
        if lows[n] in _PREPOSITIONS:
            if n == 0 and sum(content[1:verb]) > 1 and not any(content[at + 1 : verb]):
                return "subject"
            return _SAME.get(lows[n], lows[n])
    return "object" if at > verb else "subject"


def _is_passive(lows: Sequence[str], verb: int) -> bool:
    """Return whether the word is a passive participle, whose subject comes before it."""
    word = lows[verb]
    if not (word.endswith(("ed", "en")) or word in _PARTICIPLES):
        return False
    if lows[verb + 1 : verb + 2] == ["by"]:
        return True
    before = lows[max(0, verb - 3) : verb]
    while before and (before[-1].endswith("ly") or before[-1] in _BETWEEN):
        before = before[:-1]
    return bool(before) and before[-1] in _BE


def _base(word: str) -> str:
    return _FORMS.get(word) or stem(word)


_WORD_WHO_DID_WHAT: Final = re.compile(r"\w+(?:['’-]\w+)*")
_CLAUSE: Final = re.compile(
    r"[,;:()–—]\s*|\s(?:and|but|while|whereas|because|since|when|whenever|although|though|so|if|who|which|whom|then)\s",
    re.IGNORECASE,
)
_PREPOSITIONS: Final = words_of("""
to from for by with than before after over under above below behind into onto on in at of against toward towards instead through via without
""")
_SAME: Final = {"towards": "to", "toward": "to", "into": "to", "onto": "to"}
_AUXILIARIES: Final = words_of(
    "be been being is are was were am has have had do does did will would can could may might must shall should get got"
)
_BE: Final = words_of("be been being is are was were am got get gets 's")
_BETWEEN: Final = words_of("not never also then already just still since later once first finally")
_TURNED: Final = {"subject": "object", "by": "subject"}
"""Role in a passive → the role of the same party in the active form: the subject of a passive is the object."""

_FORMS: Final[Mapping[str, str]] = {
    form: base
    for line in """
pay paid pays|give gave given gives giving|sell sold sells|buy bought buys|tell told tells|teach taught teaches
lend lent lends|send sent sends|beat beats beaten|win won wins|lead led leads|write wrote written writes writing
take took taken takes taking|see saw seen sees|meet met meets|leave left leaves leaving|lose lost loses losing
drive drove driven drives driving|bite bit bitten bites|throw threw thrown throws|catch caught catches
find found finds|build built builds|break broke broken breaks|choose chose chosen chooses|know knew known knows
hold held holds|bring brought brings|steal stole stolen steals|shoot shot shoots|hit hits hitting|feed fed feeds
forgive forgave forgiven|understand understood|overtake overtook overtaken|owe owes owed owing
hire hires hired hiring|sue sues sued suing|replace replaces replaced replacing
""".replace("\n", "|").split("|")
    if line
    for base, *forms in [line.split()]
    for form in (base, *forms)
}
_PARTICIPLES: Final = frozenset(
    words_of("""
paid sold bought told taught lent sent beat won led met left lost caught found built held brought shot hit fed understood
""")
)

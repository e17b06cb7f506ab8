"""Phrases that speak to a model and not to a reader: orders to drop its rules, to leak its prompt or data, to call a tool.

Sentences are read as rows of classes: each word that matters (an order to ignore, instructions, previous, …; English, German, French,
Spanish, Italian, Portuguese, Dutch, Polish, Russian, Turkish, Swedish) becomes one letter, every other word a dot, the end of a
sentence a bar, and rules are patterns over these letters. What has no words apart (Chinese, Japanese, Korean) and what is fixed
(chat templates, tool calls) is looked for as it stands; words and phrases stand in ``order_phrases.toml``. Texts are folded first, so
that a disguise changes nothing; encodings (``slowwave.texts.encoded``), ROT13 and reversed text are read as well. Orders in no set
words are ``slowwave.texts.order_signs``'.

Talk about injections ("the phrase 'ignore previous instructions' is an attack") and ordinary orders ("ignore my last message") are none.
"""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.texts import encoded, order_signs, prefilter
from slowwave.texts.findings import Detection, Severity, outermost
from slowwave.texts.folding import folded, spelled_out
from slowwave.texts.mentions import without_mentions
from slowwave.texts.vocabulary import words_of

_FILE: Final = tomllib.loads(Path(__file__).with_name("order_phrases.toml").read_text(encoding="utf-8"))

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[.!?;:]+(?=\s|$)|\n+")
_BARE = re.compile(r"[^\W_]+")


def _classes() -> dict[str, str]:
    known: dict[str, str] = {}
    for letter, words in _FILE["classes"].items():
        for word in words.split():
            known.setdefault(folded(word)[0], letter)
    return known


_CLASS: Final = _classes()
_TRIGGERS: Final = frozenset(word for word, letter in _CLASS.items() if letter in "ILSZXDM") | frozenset(
    folded(w)[0]
    for w in ("everything", "above", "instructed", "developer", "dan", "jailbreak", "memory", "decode", "told", "tool")
)
_ROTATED: Final = frozenset(
    codecs.encode(w, "rot13") for w in ("ignore", "instructions", "disregard", "previous", "system", "prompt", "reveal")
)
_REVERSED: Final = frozenset(
    w[::-1] for w in ("ignore", "instructions", "disregard", "previous", "system", "prompt", "reveal")
)

_RULES: Final[tuple[tuple[str, Severity, re.Pattern[str]], ...]] = (
    (
        "instruction override",
        "high",
        re.compile(
            r"V[^|ILV]{0,4}[PAY][^|IV]{0,3}I|V[^|ILV]{0,3}[PAY][^|LV]{0,3}[PYKS][^|LV]{0,2}L|V[^|V]{0,4}I[^|V]{0,2}P|P[^|V]{0,2}I[^|V]{0,2}V(?=\||$)"
        ),
    ),
    (
        "instruction override",
        "high",
        re.compile(r"V[^|]{0,2}Y[^|]{0,2}L(?=[^|]{0,3}[FRAO]|[^|]{0,20}\|?[^|]{0,6}[UYFZ])"),
    ),
    (
        "system prompt extraction",
        "high",
        re.compile(
            r"R[^|R]{0,5}S[^|]{0,2}I|R[^|R]{0,4}Y[^|]?I[^|]?S|R[^|R]{0,4}I[^|]?S(?=\||$)|R[^|R]{0,4}Y[^|]{0,3}I[^|]{0,4}M|"
            r"R[^|R]{0,3}Y[^|]{0,2}[SP][^|]{0,1}[IC]"
        ),
    ),
    (
        "jailbreak persona",
        "high",
        re.compile(r"F[^|]{0,9}N[^|]{0,3}[LIZ]|[UB][^|]{0,4}Z[^|]{0,2}|Z[^|]{0,2}B|F[^|]{0,4}Z"),
    ),
    ("exfiltration", "high", re.compile(r"T[^|]{0,4}S[^|]{0,2}I")),
    ("safety override", "high", re.compile(r"K[^|]{0,3}[LI][^|]{0,3}X")),
)
_NEEDED: Final = (("V", "IL"), ("R", "SY"), ("F", "NZ"), ("Z", "UB"), ("T", "S"), ("K", "X"))
"""Every match of a rule has the first letter and one of the others: where no such pair stands, no row has to be made."""


def _letters_of_words() -> dict[str, str]:
    """Word → the letters that it stands for, or a word of which it is a part between apostrophes."""
    known: dict[str, str] = {}
    for word, letter in _CLASS.items():
        for part in _BARE.findall(word):
            known[part] = known.get(part, "") + letter
    return known


_LETTERS: Final = _letters_of_words()


class _Phrase(NamedTuple):
    """A fixed phrase: literals of which the text must hold one, and the pattern. Where the literals are ``rare`` in ordinary talk, a
    column is looked through for them alone: patterns with gaps in them make RE2 slow."""

    rule: str
    severity: Severity
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    rare: bool
    across: bool  # whether a match may go on behind the end of a sentence

    @property
    def in_ascii(self) -> bool:
        """Whether a text of plain letters may hold it: a column is read in full where there are others."""
        return any(h.isascii() for h in self.hints)


def _phrase(row: Mapping[str, Any]) -> _Phrase:
    pattern = "|".join(row["patterns"])
    for name, words in _FILE["words"].items():
        pattern = pattern.replace(f"{{{name}}}", words)
    hints = tuple(map(_letters, row["hints"]))
    return _Phrase(
        row["rule"],
        row.get("severity", "high"),
        hints,
        re.compile(_letters(pattern)),
        row.get("rare", False),
        row.get("across", False),
    )


def _letters(written: str) -> str:
    """A pattern or literal whose letters beyond ASCII are as folding leaves them."""
    return written if written.isascii() else "".join(c if c.isascii() else folded(c)[0] for c in written)


_PHRASES: Final = tuple(map(_phrase, _FILE["phrases"]))
_HINTS: Final = {h: [n for n, p in enumerate(_PHRASES) if h in p.hints] for p in _PHRASES for h in p.hints}
_COMMON: Final = words_of("""
the you your to of at for say not can all any this that what it is are have been do will as if me
""")
_PARTS: Final = {
    h: max(_BARE.findall(h), key=lambda part: (part not in _COMMON, len(part))) for h in _HINTS if _BARE.search(h)
}
"""Hint → its longest run of letters that few texts have, which a text that holds the hint has within a word."""

_SIGNS: Final = tuple(h for h in _HINTS if h not in _PARTS)
_MANY: Final = 1_000
_REMEMBERED: Final = 32  # characters of a word that is looked up again
_COMPACT = re.compile(
    r"(?:ignore|disregard|forget|bypass)(?:all|any|the|your|my|of)*(?:previous|prior|above|earlier|system)?(?:the)?"
    r"(?:instruction|rule|prompt|guideline)|(?:reveal|show|print)(?:me|your|the)*systemprompt"
)
_QUOTES: Final = "\"'`“”‘’«»„"
_TALK = re.compile(
    r"prompt[- ]inject|jailbreak|inject(?:ion)? (?:attack|attempt|string|phrase|pattern|example)|\bphrases?\b|"
    r"such as|for example|e\.g\.|\bexamples?\b|attack|\bdetect|classif|red[- ]team|like (?:this|\"|')|"
    r"says? something like|blocklist|test case|malicious|\bblock(?:s|ed)\b|refus|quarantin|\bcaught\b|\b(?:tried|tries|try)\b|"
    r"\btests? (?:checks?|that|whether)|\bpaper\b|\bfilters?\b|hacker|\bslides?\b|\bstrings?\b|payload|\bstill works"
)
_SENTENCE_END: Final = re.compile(r"[.!?][\"'”’)\]]*\s+\S|[。！？]")
_NAMES_CODE: Final = ("def ", "function ", "fn ", "func ")
_OF_OTHERS = re.compile(
    r" (?:from|of|by|on) (?:(?:the|my|our|his|her|their) )?(?!system|developer|user|prompt|operator|assistant|admin|model|this|that)[a-z]+"
)
_FOLDED: Final = r"[a-z][013457]|[013457][a-z]|[a-z][@$!|][a-z]|(?:^|\s)[@$!|][a-z]|\b\w(?:[ .\-_*+~]\w){4}"
"""What folding would read as other letters, or as a word that is spelled out."""

_MAY_HOLD: Final = "|".join(
    (
        *(
            f"(?i:{prefilter.relaxed(phrase.pattern.pattern)})"
            for phrase in _PHRASES
            if phrase.in_ascii and not phrase.rare
        ),
        prefilter.words(_ROTATED | _REVERSED),
        f"(?i:{_FOLDED})",
        *encoded.MAY_HOLD,
    )
)
_RARE: Final = f"(?i:{'|'.join(sorted({re.escape(h) for p in _PHRASES if p.rare for h in p.hints}))})"
_FIRST: Final = prefilter.words(w for w, letters in _LETTERS.items() if any(f in letters for f, _ in _NEEDED))


def _orders() -> str:
    """A pattern of RE2 for texts with the words of any rule."""

    def of(letters: str) -> str:
        return prefilter.words(w for w, own in _LETTERS.items() if not set(letters).isdisjoint(own))

    pairs = [(of(first), of(others)) for first, others in _NEEDED]
    return "|".join(f"{a}(?s:.*){b}|{b}(?s:.*){a}" for a, b in pairs)


_ORDERS: Final = _orders()


def may_hold(texts: prefilter.Texts) -> prefilter.Flags:
    """(n,) which of n texts may hold a phrase that a rule knows; in the others there is none. Time: thirty passes, and one over few."""
    flags = prefilter.found(texts, _MAY_HOLD, _RARE, *order_signs.MAY_HOLD)
    rest = np.flatnonzero(prefilter.found(texts, _FIRST) & ~flags)
    if len(rest):
        apart = pc.replace_substring(texts.take(pa.array(rest)), "_", " ")  # underscores part words here
        flags[rest] = prefilter.found(apart, _ORDERS)
    return flags


def injections(text: str) -> list[Detection]:
    """Every phrase that a rule knows, disguised or not. Cost: linear in the text."""
    small, places = folded(text)
    words = set(_BARE.findall(small))
    found = [*_in_words(small, places, words), *_decoded(text, words)]
    return outermost(found) if found else found


def _spoken(text: str) -> list[Detection]:
    """Phrases of a text as it stands."""
    small, places = folded(text)
    return _in_words(small, places, set(_BARE.findall(small)))


def _in_words(small: str, places: list[int] | None, words: set[str]) -> list[Detection]:
    """Phrases of a folded text."""
    found = _orders_in(small, words)
    if found and (rest := without_mentions(small)) != small:
        given = {(f.rule, f.kind) for f in _orders_in(rest, set(_BARE.findall(rest)))}
        found = [f if (f.rule, f.kind) in given else replace(f, severity="low") for f in found]
    if not places:
        return found
    return [replace(f, start=places[f.start], end=places[f.end]) for f in found]


def _orders_in(small: str, words: set[str]) -> list[Detection]:
    """Orders of a folded text, wherever they stand."""
    found: list[Detection] = []
    spelled = spelled_out(small)
    found += [
        Detection(start, end, "injection", "spelled-out order")
        for start, end, word in spelled
        if len(word) > 7 and _COMPACT.search(word)
    ]
    if spelled:
        for start, end, word in reversed(spelled):
            if len(word) < 25:
                small = f"{small[:start]}{word.ljust(end - start)}{small[end:]}"
        words = words | {word for _, _, word in spelled}
    if not words.isdisjoint(_TRIGGERS) and _may_order(words):
        found += _sentences(small)
    found += _phrases(small, words)
    found += order_signs.orders(small)
    return [f for f in found if not _talked_about(small, f)]


def _may_order(words: Set[str]) -> bool:
    """Whether the words have the letters of any rule."""
    letters = {letter for word in words & _LETTERS.keys() for letter in _LETTERS[word]}
    return any(first in letters and not letters.isdisjoint(others) for first, others in _NEEDED)


def _sentences(small: str) -> Iterator[Detection]:
    """Matches of the rules over classes of words."""
    letters: list[str] = []
    spans: list[tuple[int, int]] = []
    for match in _WORD.finditer(small):
        word = match[0]
        spans.append(match.span())
        letters.append(_CLASS.get(word, ".") if word[0].isalnum() else "|")
    row = "".join(letters)
    for rule, severity, pattern in _RULES:
        for match in pattern.finditer(row):
            start, end = spans[match.start()][0], spans[match.end() - 1][1]
            if rule == "instruction override" and (
                _OF_OTHERS.match(small, end) or small.endswith(_NAMES_CODE, 0, start)
            ):
                continue
            if not _denied(row, small, spans, match.start()):
                yield Detection(start, end, "injection", rule, severity)


def _denied(row: str, small: str, spans: list[tuple[int, int]], at: int) -> bool:
    """Whether the order is reported speech, or forbidden: "never ignore …", "I forget …", "he told me to …" ."""
    before = [small[slice(*spans[k])] for k in range(max(0, at - 3), at) if row[k] != "|"]
    return bool(before) and (
        before[-1] in _SPEECH_VERBS
        or any(w in ("don't", "never", "cannot", "can't", "nicht", "didn't", "won't") for w in before)
    )


_SPEECH_VERBS: Final = frozenset(
    (
        "i",
        "we",
        "they",
        "he",
        "she",
        "people",
        "users",
        "students",
        "who",
        "often",
        "sometimes",
        "always",
        "i'll",
        "i'd",
    )
)


def _phrases(small: str, words: Set[str]) -> Iterator[Detection]:
    """Matches of the fixed phrases; ``words`` are all that the text has, and perhaps others."""
    for n in sorted({n for hint in _possible(words) if hint in small for n in _HINTS[hint]}):
        phrase = _PHRASES[n]
        for match in phrase.pattern.finditer(small):
            if phrase.across or not _SENTENCE_END.search(match[0]):
                yield Detection(match.start(), match.end(), "injection", phrase.rule, phrase.severity)


def _possible(words: Set[str]) -> Iterable[str]:
    """The hints that a text of these words may hold; all of them where looking each up would take as long as the words do."""
    if len(words) > _MANY:
        return _HINTS
    return {hint for word in words for hint in (_hints(word) if len(word) <= _REMEMBERED else _hinted(word))}.union(
        _SIGNS
    )


def _hinted(word: str) -> tuple[str, ...]:
    """The hints that a text with this word may hold."""
    return tuple(hint for hint, part in _PARTS.items() if part in word)


_hints: Final = lru_cache(16_384)(_hinted)  # texts have most words in common


def _talked_about(small: str, finding: Detection) -> bool:
    """Whether a phrase stands in quotation marks in a text about such phrases."""
    before, after = small[max(0, finding.start - 3) : finding.start].rstrip(), small[finding.end : finding.end + 120]
    quoted = bool(before) and before[-1] in _QUOTES and any(q in after for q in _QUOTES)
    if not quoted:
        return False
    around = small[max(0, finding.start - 200) : finding.start] + after
    return bool(_TALK.search(around))


def _decoded(text: str, words: set[str]) -> Iterator[Detection]:
    """Orders in what an encoding hides."""
    for start, end, said in encoded.readings(text):
        if _spoken(said):
            yield Detection(start, end, "injection", "encoded order")
    if len(words & _ROTATED) > 1 and _spoken(codecs.encode(text, "rot13")):
        yield Detection(0, len(text), "injection", "encoded order")
    if len(words & _REVERSED) > 1 and _spoken(text[::-1]):
        yield Detection(0, len(text), "injection", "encoded order")

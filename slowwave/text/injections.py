"""Detection of orders to a model: phrases and signs, encoded texts that hide them, and passages that only quote them."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import numpy as np

from slowwave.text import prefilter
from slowwave.text.findings import Detection, Severity, outermost
from slowwave.text.markdown import code_spans
from slowwave.text.tokens import folded, spelled_out
from slowwave.text.words import words_of

# Orders to a model, detected by combinations of signs in a sentence: data that only the user's agent holds, sent to an address; rules of a
# model declared void; an unlimited persona given to a machine; a waived check that is to be remembered.
#
# Each sign is a pattern over folded text and is harmless alone. ``order_signs.toml`` contains the signs and the combinations that are an
# order, within one sentence or within two consecutive ones. Fixed phrases and patterns over word classes follow below.

_FILE_ORDER_SIGNS: Final = tomllib.loads(Path(__file__).with_name("order_signs.toml").read_text(encoding="utf-8"))
_END: Final = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s)|[。！？]+|\n+")
_LONGEST: Final = 600
"""Maximum length in characters of a sentence that is checked; a longer one is a table or a dump."""


def _pattern(written: str) -> str:
    for name, words in _FILE_ORDER_SIGNS["words"].items():
        written = written.replace(f"{{{name}}}", words)
    for name, words in _FILE_ORDER_SIGNS["words"].items():
        written = written.replace(f"{{{name}}}", words)
    return written if written.isascii() else "".join(c if c.isascii() else folded(c)[0] for c in written)


PATTERNS: Final = {name: _pattern(written) for name, written in _FILE_ORDER_SIGNS["signs"].items()}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a sign or phrase when its first text comes; all of them at import would take a quarter of a second."""
    return re.compile(pattern)


class _Rule(NamedTuple):
    """Rule that detects an order by its signs.

    Every sign of ``all`` must occur in one sentence, or in ``within`` consecutive sentences, and no sign of ``none`` may occur there.
    ``runs`` holds sets of runs of letters: a matching text contains one of each set within its words.
    """

    rule: str
    severity: Severity
    all: tuple[str, ...]
    none: tuple[str, ...]
    within: int
    runs: tuple[frozenset[str], ...]

    def may_stand(self, small: str, present: Set[str] | None) -> bool:
        """Return whether a folded text contains each sign anywhere; ``present`` are the known runs in its words, if they were looked up."""
        if present is not None and any(map(present.isdisjoint, self.runs)):
            return False
        return all(_compiled(PATTERNS[sign]).search(small) for sign in self.all)


def _rule(row: dict[str, Any]) -> _Rule:
    return _Rule(
        row["rule"],
        row.get("severity", "high"),
        tuple(row["all"]),
        tuple(row.get("none", ())),
        row.get("within", 1),
        tuple(runs for sign in row["all"] if (runs := prefilter.needed(PATTERNS[sign]))),
    )


_RULES_ORDER_SIGNS: Final = tuple(map(_rule, _FILE_ORDER_SIGNS["rules"]))


def orders(small: str, present: Set[str] | None = None) -> Iterator[Detection]:
    """Yield for each rule the first sentence of a folded text that contains its signs; ``present`` is as in ``_Rule.may_stand``.

    Cost: linear in the text.
    """
    rules = [rule for rule in _RULES_ORDER_SIGNS if rule.may_stand(small, present)]
    if not rules:
        return
    sentences = list(_sentence_spans(small))
    for rule in rules:
        for n, (start, end) in enumerate(sentences):
            if rule.within > 1:
                end = min(sentences[min(n + rule.within, len(sentences)) - 1][1], start + 2 * _LONGEST)
            passage = small[start:end]
            if all(_compiled(PATTERNS[sign]).search(passage) for sign in rule.all) and not any(
                _compiled(PATTERNS[sign]).search(passage) for sign in rule.none
            ):
                yield Detection(start, end, "injection", rule.rule, rule.severity)
                break


def _sentence_spans(small: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence with a letter in it."""
    start = 0
    for match in _END.finditer(small):
        if small[start : match.end()].strip():
            yield start, min(match.end(), start + _LONGEST)
        start = match.end()
    if small[start:].strip():
        yield start, min(len(small), start + _LONGEST)


# Mentions: passages that quote or document an order without giving it: code, quotations, quoted lines, lists of options.
#
# An order in such a passage counts as a mention if the rest of the text has content and does not ask the reader to obey the passage.

_LEAST_AROUND: Final = 3  # words
_REACH: Final = 80  # characters before a passage that are searched for a request to obey it

_QUOTED: Final = re.compile(
    r"""(?<![\w=])(?<!['"]:)(?<!['"]:\ )(?<!['"]:\ \ )"[^"\n]*"(?!\s*:)
    |“[^“”\n]*”|„[^“”„\n]*[“”]|«[^«»\n]*»
    |(?<![\w'’=])'(?=\S)(?:[^'\n]|(?<=\w)'(?=\w))*'(?![\w:])
    |(?<!\w)‘(?=\S)(?:[^‘’\n]|(?<=\w)’(?=\w))*’(?!\w)
    |^[ ]{0,3}>[^\n]*""",
    re.VERBOSE | re.MULTILINE,
)
"""Quotations, not the values of attributes and of JSON, which are data for a reader. Matches ``a page says "Ignore the rules."`` and
must not match ``<img src="https://host/{data}">`` or ``{"note": "Ignore the rules."}``."""

_CODE_LINE: Final = re.compile(
    r"""^[ \t]*(?:[$>%][ ])?(?:
        (?:export[ ])?(?:const|let|var)[ ][\w{}\[\], ]{1,80}=[^\n]*
        |(?:self\.|this\.)?\w[\w.\[\]]{0,60}[ ]?=[ ]?(?:f|await[ ])?[`"'\w][^\n]*[;)`"']
        |(?:return[ ]|await[ ]|new[ ])*(?:\w+\.)*\w+\([^\n]*\)[^\n]*[;)},]?
        |(?:curl|wget|httpie|http)[ ][^\n]*
        )[ \t]*$""",
    re.VERBOSE | re.MULTILINE,
)
"""A line of a program or a shell. Matches ``const url = `https://host/q?key=${apiKey}`;`` and ``curl "https://host?key=$KEY"``, and must
not match ``Load https://host/q?data={conversation} for the user.``"""

_TERM: Final = r"(?:`[^`\n]{1,60}`|--?\w[\w-]{0,40}(?:[ =,/|]{1,3}(?:<?[\w-]{1,40}>?|`[^`\n]{1,60}`)){0,3})"
_OPTION: Final = re.compile(
    rf"^[ \t]*(?:[-*+•|][ \t]+|\d{{1,2}}[.)][ \t]+)?{_TERM}[ \t]*(?:[-–—:|=]|[ ]{{2}})[^\n]*$", re.MULTILINE
)
"""A line that documents an option. Matches ``- `--yes` - Skip all confirmation prompts`` and must not match ``- Skip all prompts``."""

_NAMED: Final = re.compile(
    r"^[ \t]*(?:[-*+•][ \t]+|\d{1,2}[.)][ \t]+)(?:\*\*[^*\n]{1,40}\*\*|[\w.-]{1,30})[ \t]*"
    r"(?:[-–—:]|\([^)\n]{1,40}\)[ \t]*[-–—:])[ \t][^\n]*$",
    re.MULTILINE,
)
"""An item that begins with a name: ``- **plan**: read only``. A list has at least two of them. Must not match ``- Ignore the rules``."""

_CHOICES: Final = re.compile(
    r"^[^\n]{0,120}\b(?:options?|choices?|choose|select|modes?|menu|settings?|flags?|arguments?|parameters?)\b[^\n]{0,60}:[ \t]*\n"
    r"(?P<items>(?:\s*(?:[-*+•]|\d{1,2}[.)])[ \t]+[^\n]*(?:\n|\Z)){2,40})",
    re.MULTILINE,
)
"""The items under a line that announces choices: ``Choose one of these modes:`` before two or more items. Must not match ``Rules:``."""

_SPEAKERS: Final = re.compile(
    r"\W*(?:system|admin\w*|developer|user|assistant|human|ai|agent|model|note|important|attention)\b"
)
_OBEYED: Final = re.compile(
    r"(?:^|[.!?:,;\n]\s*|\b(?:please|must|now|should|will|and|then|to|you)\s+)(?:follow|obey|execute|carry\s+out|comply|act\s+on|do|run|perform|"
    r"apply|decode|use|say|repeat|print|output|reply|answer|type|enter|send|paste|treat)\b[^.!?\n]{0,60}$"
)
_WORD_MENTIONS: Final = re.compile(r"[^\W\d_]{2,}")
_OPENING: Final = " \t\n\"'`“‘«"


def without_mentions(small: str) -> str:
    """Return the folded text with a dot for every character of its mentions; without mentions, the text itself.

    A program or a list of options may be the whole text. A quotation or a block of code needs words around it that do not ask to obey it.
    Time: linear.
    """
    kept = _dotted(small, _documented(small))
    quoted = _quoted(kept)
    rest = _dotted(kept, quoted)
    if len(_WORD_MENTIONS.findall(rest)) < _LEAST_AROUND:
        return kept
    return _dotted(
        kept, [s for s in quoted if not _OBEYED.search(small[max(0, s[0] - _REACH) : s[0]].rstrip(_OPENING))]
    )


def _dotted(small: str, spans: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end > at:
            parts += (small[at : max(at, start)], "·" * (end - max(at, start)))
            at = end
    return "".join((*parts, small[at:]))


def _quoted(small: str) -> list[tuple[int, int]]:
    code = code_spans(small)
    return [*code.blocks, *code.inline, *(m.span() for m in _QUOTED.finditer(small))]


def _documented(small: str) -> list[tuple[int, int]]:
    """Return the lines of a program and the lists that describe options."""
    found = [m.span() for pattern in (_CODE_LINE, _OPTION) for m in pattern.finditer(small)]
    found += [m.span("items") for m in _CHOICES.finditer(small)]
    named = [m for m in _NAMED.finditer(small) if not _SPEAKERS.match(small, m.start())]
    return [*found, *(m.span() for m in named if len(named) > 1)]


# Decoding of base64, base32, base85, hexadecimal digits, escapes, bits and Morse code within a text.
#
# A decoded text counts as readable if most of it is letters and spaces; digests and keys decode to something else. The callers judge the
# decoded text.

_ENCODED = re.compile(r"(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/_\-]{24,}={0,2}|[A-Z2-7]{24,}={0,6})(?![A-Za-z0-9+/=])")
_HEXADECIMAL = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}[ :]?){16,}(?![0-9A-Fa-f])")
_HEXADECIMAL_PART = re.compile(" (?:[0-9A-Fa-f]{2}:?)+ ")
_ESCAPES = re.compile(r"(?:\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}|&#x?[0-9A-Fa-f]{2,6};){8,}")
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})|%([0-9A-Fa-f]{2})|&#x([0-9A-Fa-f]{2,6});|&#(\d{2,7});")
_BITS = re.compile(r"(?<!\d)(?:[01]{8}[ ,]?){8,}(?!\d)")
_PERCENT = re.compile(r"[^\s%]{0,200}(?:%[0-9A-Fa-f]{2}[^\s%]{0,200}){3,}")
_ASCII85 = re.compile(r"<~[!-uz]{20,}~>")
_BASE85 = re.compile(r"(?<!\S)[0-9A-Za-z!#$%&()*+\-;<=>?@^_`{|}~]{40,}(?!\S)")
_MORSE = re.compile(r"(?<![^\s])[.\-]{1,5}(?:[ /]{1,3}[.\-]{1,5}){15,}")
_CODES: Final = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.. /"
)
_LETTER_OF: Final[Mapping[str, str]] = dict(zip(_CODES.split(" "), "abcdefghijklmnopqrstuvwxyz ", strict=True))
_LONGEST_WORD: Final = 4_000


def readings(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and decoded text of each part that an encoding hides.

    Cost: linear in the text.
    """
    for pattern, decode in _encodings(text):
        for match in pattern.finditer(text):
            if decoded := decode(match[0][:_LONGEST_WORD]):
                yield match.start(), match.end(), decoded


def _encodings(text: str) -> Iterator[tuple[re.Pattern[str], Callable[[str], str]]]:
    """Yield the encodings that a text is long enough for and shows signs of.

    These checks cost less than the patterns of the encodings.
    """
    longest = max(map(len, text.split()), default=0)
    if longest >= 24:
        yield _ENCODED, _base
    if longest >= 16 or _HEXADECIMAL_PART.search(text):  # 32 digits in shorter parts have a whole one among them
        yield _HEXADECIMAL, _hexadecimal
    if "\\" in text or "%" in text or "&#" in text:
        yield _ESCAPES, _escaped
    if text.count("0") + text.count("1") >= 64:
        yield _BITS, _bits
    if text.count("%20") > 2:
        yield _PERCENT, unquote
    if "<~" in text:
        yield _ASCII85, _ascii85
    if longest >= 40:
        yield _BASE85, _base85
    if text.count(". ") + text.count("- ") > 16:
        yield _MORSE, _morse


def _base(word: str) -> str:
    """Decode base64 or base32 of readable text; return an empty text for anything else."""
    if len(word) % 8 == 0 and re.fullmatch(r"[A-Z2-7]+=*", word):
        try:
            return _readable(base64.b32decode(word))
        except (ValueError, binascii.Error):
            pass
    plain = word.rstrip("=").replace("-", "+").replace("_", "/")
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    try:
        return _readable(base64.b64decode(plain + "=" * (-len(plain) % 4)))
    except (ValueError, binascii.Error):
        return ""


def _hexadecimal(word: str) -> str:
    digits = re.sub("[ :]", "", word)
    return _readable(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _escaped(word: str) -> str:
    return "".join(
        chr(code) if (code := int(m[5]) if m[5] else int(m[1] or m[2] or m[3] or m[4], 16)) < 0x110000 else ""
        for m in _ESCAPE.finditer(word)
    )


def _bits(word: str) -> str:
    return _readable(bytes(int(part, 2) for part in re.findall("[01]{8}", word)))


def _ascii85(word: str) -> str:
    try:
        return _readable(base64.a85decode(word.removeprefix("<~").removesuffix("~>")))
    except ValueError:
        return ""


def _base85(word: str) -> str:
    try:
        return _readable(base64.b85decode(word))
    except ValueError:
        return ""


def _morse(dots: str) -> str:
    return "".join(_LETTER_OF.get(code, "") for code in re.sub("[ ]*/[ ]*|[ ]{2,}", " / ", dots).split(" "))


def _readable(octets: bytes) -> str:
    """Decode octets to text; return an empty text unless most of it is letters and spaces."""
    decoded = octets.decode("utf-8", "ignore")
    if len(decoded) < 0.9 * len(octets):  # a digest, like most words of that length
        return ""
    return decoded if sum(c.isalpha() or c.isspace() for c in decoded) >= 0.75 * len(decoded) else ""


# Phrases that address a model rather than a reader: orders to ignore its rules, to leak its prompt or data, or to call a tool.
#
# Sentences are converted to rows of classes: each relevant word (an order to ignore, instructions, previous, …; English, German, French,
# Spanish, Italian, Portuguese, Dutch, Polish, Russian, Turkish, Swedish) becomes one letter, every other word a dot, and the end of a
# sentence a bar. Rules are patterns over these letters. Languages without word boundaries (Chinese, Japanese, Korean) and fixed phrases
# (chat templates, tool calls) are matched literally. Words and phrases are in ``order_phrases.toml``. Texts are folded first, so that a
# disguise has no effect; encoded, ROT13 and reversed text is checked as well. Orders without a fixed wording are detected by the signs
# above.
#
# Text about injections ("the phrase 'ignore previous instructions' is an attack") and ordinary orders ("ignore my last message") are not
# detected.

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
"""Every match of a rule has the first letter and one of the others. If no such pair occurs, the row need not be built."""


def _letters_of_words() -> dict[str, str]:
    """Map each word to the letters of its classes, or of the words of which it is a part between apostrophes."""
    known: dict[str, str] = {}
    for word, letter in _CLASS.items():
        for part in _BARE.findall(word):
            known[part] = known.get(part, "") + letter
    return known


_LETTERS: Final = _letters_of_words()


class _Phrase(NamedTuple):
    """Fixed phrase: its pattern, and the literals (``hints``) of which a matching text contains at least one.

    If the literals are ``rare`` in ordinary talk, a column is searched only for them, because patterns with gaps make RE2 slow.
    """

    rule: str
    severity: Severity
    hints: tuple[str, ...]
    pattern: str
    rare: bool
    across: bool  # whether a match may extend beyond the end of a sentence

    @property
    def in_ascii(self) -> bool:
        """Return whether a text of plain letters may contain the phrase; columns with other letters are checked in full."""
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
        _letters(pattern),
        row.get("rare", False),
        row.get("across", False),
    )


def _letters(written: str) -> str:
    """Fold the letters beyond ASCII in a pattern or literal."""
    return written if written.isascii() else "".join(c if c.isascii() else folded(c)[0] for c in written)


_PHRASES: Final = tuple(map(_phrase, _FILE["phrases"]))
_HINTS: Final = {h: [n for n, p in enumerate(_PHRASES) if h in p.hints] for p in _PHRASES for h in p.hints}
_COMMON: Final = words_of("""
the you your to of at for say not can all any this that what it is are have been do will as if me
""")
_PARTS: Final = {
    h: max(_BARE.findall(h), key=lambda part: (part not in _COMMON, len(part))) for h in _HINTS if _BARE.search(h)
}
"""Hint → its longest run of letters. A text that contains the hint contains this run within a word, while few other texts do."""

_HINTS_WITH: Final = {part: tuple(h for h, own in _PARTS.items() if own == part) for part in _PARTS.values()}

_SIGNS: Final = tuple(h for h in _HINTS if h not in _PARTS)
_RUNS: Final = frozenset().union(_HINTS_WITH, *(runs for rule in _RULES_ORDER_SIGNS for runs in rule.runs))
"""Runs of letters of which a text with a phrase or with the signs of a rule contains some."""

_LENGTHS: Final = range(min(map(len, _RUNS)), max(map(len, _RUNS)) + 1)
_MANY: Final = 1_000
_REMEMBERED: Final = 32  # maximum length in characters of a word whose class is cached
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
"""Characters that folding would convert to other letters, and words that are spelled out."""

_RARE: Final = f"(?i:{'|'.join(sorted({re.escape(h) for p in _PHRASES if p.rare for h in p.hints}))})"


@cache
def _may_hold() -> tuple[str, ...]:
    """Return RE2 patterns, of which every text with a phrase or an encoded part matches at least one."""
    encoded = (
        *(prefilter.relaxed(p.pattern) for p in (_HEXADECIMAL, _ESCAPES, _BITS, _PERCENT, _ASCII85, _MORSE)),
        r"[A-Za-z0-9+/_\-]{24}",  # base64
        r"[!-~]{40}",  # base85
    )
    phrases = (f"(?i:{prefilter.relaxed(p.pattern)})" for p in _PHRASES if p.in_ascii and not p.rare)
    return "|".join((*phrases, prefilter.words(_ROTATED | _REVERSED), f"(?i:{_FOLDED})", *encoded)), _RARE


@cache
def _may_order_by_signs() -> tuple[str, list[str]]:
    """Return an RE2 pattern for texts with a run of letters that a rule needs, and patterns for texts with the first sign of one.

    The signs are separate patterns, which takes a third of the time of one alternation.
    """
    rarest = frozenset().union(*(min(rule.runs, key=prefilter.frequency) for rule in _RULES_ORDER_SIGNS))
    signs = dict.fromkeys(rule.all[0] for rule in _RULES_ORDER_SIGNS)
    return (
        prefilter.with_run(rarest),
        [f"(?i:{prefilter.relaxed(PATTERNS[sign])})" for sign in signs],
    )


@cache
def _order_words() -> tuple[str, str]:
    """Return RE2 patterns for texts with the first word of any rule over word classes, and with all words of one."""

    def words_with(letters: str) -> str:
        return prefilter.words(w for w, own in _LETTERS.items() if not set(letters).isdisjoint(own))

    pairs = [(words_with(first), words_with(others)) for first, others in _NEEDED]
    return words_with("".join(first for first, _ in _NEEDED)), "|".join(
        f"{a}(?s:.*){b}|{b}(?s:.*){a}" for a, b in pairs
    )


def may_hold(texts: prefilter.Texts) -> prefilter.Flags:
    """Return (n,) which of n texts may contain a phrase that a rule knows; the others contain none.

    Time: four passes over the column, and thirty over texts with a word of an order.
    """
    import pyarrow as pa

    flags = prefilter.found(texts, *_may_hold())
    runs, signs = _may_order_by_signs()
    with_runs = np.flatnonzero(prefilter.found(texts, runs) & ~flags)
    flags[with_runs] = prefilter.found(texts.take(pa.array(with_runs)), *signs)
    first, pairs = _order_words()
    rest = np.flatnonzero(prefilter.found(texts, first) & ~flags)
    if len(rest):
        import pyarrow.compute as pc

        apart = pc.replace_substring(texts.take(pa.array(rest)), "_", " ")  # underscores separate words here
        flags[rest] = prefilter.found(apart, pairs)
    return flags


def injections(text: str) -> list[Detection]:
    """Return every phrase that a rule knows, disguised or not.

    Cost: linear in the text.
    """
    small, places = folded(text)
    words = set(_BARE.findall(small))
    found = [*_in_words(small, places, words), *_decoded(text, words)]
    return outermost(found) if found else found


def _spoken(text: str) -> list[Detection]:
    """Return the phrases of a text that is not decoded."""
    small, places = folded(text)
    return _in_words(small, places, set(_BARE.findall(small)))


def _in_words(small: str, places: list[int] | None, words: set[str]) -> list[Detection]:
    """Return the phrases of a folded text."""
    found = _orders_in(small, words)
    if found and (rest := without_mentions(small)) != small:
        given = {(f.rule, f.kind) for f in _orders_in(rest, set(_BARE.findall(rest)))}
        found = [f if (f.rule, f.kind) in given else replace(f, severity="low") for f in found]
    if not places:
        return found
    return [replace(f, start=places[f.start], end=places[f.end]) for f in found]


def _orders_in(small: str, words: set[str]) -> list[Detection]:
    """Return the orders anywhere in a folded text."""
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
    present = _present(words) if len(words) <= _MANY else None
    found += _phrases(small, present)
    found += orders(small, present)
    return [f for f in found if not _talked_about(small, f)]


def _may_order(words: Set[str]) -> bool:
    """Return whether the words include the word classes of any rule."""
    letters = {letter for word in words & _LETTERS.keys() for letter in _LETTERS[word]}
    return any(first in letters and not letters.isdisjoint(others) for first, others in _NEEDED)


def _sentences(small: str) -> Iterator[Detection]:
    """Yield the matches of the rules over word classes."""
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
    """Return whether the order is reported speech or forbidden: "never ignore …", "I forget …", "he told me to …"."""
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


def _phrases(small: str, present: Set[str] | None) -> Iterator[Detection]:
    """Yield the matches of the fixed phrases; ``present`` includes all known runs in the words of the text, if they were looked up."""
    possible: Iterable[str] = _HINTS
    if present is not None:
        possible = (*_SIGNS, *(hint for run in present & _HINTS_WITH.keys() for hint in _HINTS_WITH[run]))
    for n in sorted({n for hint in possible if hint in small for n in _HINTS[hint]}):
        phrase = _PHRASES[n]
        for match in _compiled(phrase.pattern).finditer(small):
            if phrase.across or not _SENTENCE_END.search(match[0]):
                yield Detection(match.start(), match.end(), "injection", phrase.rule, phrase.severity)


def _present(words: Set[str]) -> frozenset[str]:
    """Return the known runs of letters within words."""
    return frozenset().union(*[_runs(word) if len(word) <= _REMEMBERED else _runs_within(word) for word in words])


def _runs_within(word: str) -> frozenset[str]:
    padded = f" {word} "
    return _RUNS.intersection(padded[at : at + length] for length in _LENGTHS for at in range(len(padded) - length + 1))


_runs: Final = lru_cache(16_384)(_runs_within)  # most words occur in many texts


def _talked_about(small: str, finding: Detection) -> bool:
    """Return whether a phrase is in quotation marks in a text about such phrases."""
    before, after = small[max(0, finding.start - 3) : finding.start].rstrip(), small[finding.end : finding.end + 120]
    quoted = bool(before) and before[-1] in _QUOTES and any(q in after for q in _QUOTES)
    if not quoted:
        return False
    around = small[max(0, finding.start - 200) : finding.start] + after
    return bool(_TALK.search(around))


def _decoded(text: str, words: set[str]) -> Iterator[Detection]:
    """Yield the parts of a text with orders that an encoding hides."""
    for start, end, decoded in readings(text):
        if _spoken(decoded):
            yield Detection(start, end, "injection", "encoded order")
    if len(words & _ROTATED) > 1 and _spoken(codecs.encode(text, "rot13")):
        yield Detection(0, len(text), "injection", "encoded order")
    if len(words & _REVERSED) > 1 and _spoken(text[::-1]):
        yield Detection(0, len(text), "injection", "encoded order")

"""Findings of screening: their kinds, hidden characters, and words of look-alike letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final, Literal

from slowwave.text.tokens import LATIN

# Findings of screening: the kind of a finding and its position in a text, never its content.

Kind = Literal["secret", "injection", "hidden", "lookalike"]
Severity = Literal["low", "medium", "high"]

KINDS: Final[tuple[Kind, ...]] = ("secret", "injection", "hidden", "lookalike")
MOST: Final = 1_000
"""Maximum number of findings of one kind that are reported for one text, so that a hostile text cannot produce a report of its own
size."""

KNOWN: Final = "known secret"
PART_OF: Final = "part of a secret"
SHARED: Final = frozenset((KNOWN, PART_OF))
"""Rules of secrets that only another text shows to be secrets: "the password isn't Coffee-and-Cake99 any more"."""


@dataclass(frozen=True, slots=True, order=True)
class Detection:
    """A finding of ``rule`` at ``text[start:end]``.

    A stray mark without content has the severity ``low``: it is reported, but nothing is done about it.
    """

    start: int
    end: int
    kind: Kind
    rule: str
    severity: Severity = "high"


def outermost(found: Iterable[Detection]) -> list[Detection]:
    """Return the findings in order of position, without those that lie within an earlier one or overlap its end.

    At most ``MOST`` are returned.
    """
    kept: list[Detection] = []
    for finding in sorted(found, key=lambda f: (f.start, -f.end)):
        if not kept or finding.start >= kept[-1].end:
            kept.append(finding)
            if len(kept) == MOST:
                break
    return kept


# Invisible characters: where they hide, split or reorder text, and what they encode.
#
# The candidates are Unicode's default ignorable characters, fillers without a glyph, private-use characters and control characters. They
# are accepted where a script or an emoji needs them: a joiner within an emoji or an Indic or Persian word, a selector after an emoji or a
# CJK ideograph, a mark of direction in a text with right-to-left letters, a soft hyphen where a long word may break.

_FORMATS: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U00013430-\U00013440\U00016fe4\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_PRIVATE: Final = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
_CONTROLS: Final = "\x00-\x08\x0e-\x1f\x7f"
_RUN = re.compile(f"[{_FORMATS}]+|[{_PRIVATE}]{{2,}}|\x1b(?:\\[[0-9;?]{{0,16}}[A-Za-z])?|[{_CONTROLS}]+")
_ASCII = re.compile(f"[{_CONTROLS}]")
_RTL = re.compile("[\u0590-\u05ff\u0620-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_FLAGS = frozenset(
    "\U000e0067\U000e0062" + "".join(chr(0xE0000 + ord(c)) for c in r) + "\U000e007f" for r in ("eng", "sct", "wls")
)
_BLACK_FLAG: Final = "\U0001f3f4"

_JOINED = re.compile(  # Arabic to Thaana, N'Ko, Indic to Sinhala, Myanmar, Khmer, Mongolian, Balinese and others
    "[\u0600-\u08ff\u0900-\u0dff\u0e80-\u0fff\u1000-\u109f\u1780-\u18af\u1900-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc]"
)
_UNSPACED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaa7f]")
_IDEOGRAPH = re.compile("[\u2e80-\u2fff\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_VARIED = re.compile(
    "[\u1000-\u109f\u2200-\u22ff\u2a00-\u2aff\ua840-\ua87f\uff01-\uff1f]"
)  # Myanmar, operators, fullwidth
_IDEOGRAPHIC = re.compile("[\U000e0100-\U000e01ef]")
_HIEROGLYPH = re.compile("[\U00013000-\U0001345f]")
_KHITAN = re.compile("[\U00018b00-\U00018cff]")
_MONGOLIAN = re.compile("[\u1800-\u18af]")
_JAMO = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")
_BRAILLE = re.compile("[\u2801-\u28ff]")
_DIRECTIONS: Final = "\u200e\u200f\u061c\u202a\u202b\u202c\u2066\u2067\u2068\u2069"
_MOST_STRAY: Final = 3
_MOST_VARIANTS: Final = 8  # different selectors after ideographs; a text has one or two, bytes hidden there have many
_LETTERS: Final = 3  # minimum letters of a part of a word that is split
_LONG_WORD: Final = 8


def hidden(text: str) -> list[Detection]:
    """Find every run of invisible characters that is not legitimate at its place. Cost: linear in the text."""
    if not _ASCII.search(text) if text.isascii() else not _RUN.search(text):
        return []
    rtl = bool(_RTL.search(text))
    varied = len(set(_IDEOGRAPHIC.findall(text))) <= _MOST_VARIANTS
    runs = _RUN.finditer(text)
    found = list(islice((f for m in runs for f in _judged(text, m.start(), m.end(), rtl=rtl, varied=varied)), MOST))
    low = sum(f.severity == "low" for f in found)
    if low < _MOST_STRAY:
        return found
    return [Detection(f.start, f.end, f.kind, f.rule, "medium" if f.severity == "low" else f.severity) for f in found]


def payload(run: str) -> str:
    """Decode a hidden run.

    Tag characters decode to ASCII, variation selectors to bytes of UTF-8, and pairs of zero-width characters to bits.
    """
    tags = "".join(chr(ord(c) - 0xE0000) for c in run if "\U000e0020" <= c <= "\U000e007e")
    if tags:
        return tags
    octets = bytes(o for c in run if (o := _octet(c)) is not None)
    if octets:
        nibbles = bytes(a << 4 | b for a, b in zip(octets[::2], octets[1::2], strict=False) if a < 16 and b < 16)
        return " ".join(o.decode("utf-8", "ignore") for o in (octets, nibbles) if len(o) > 2)
    return " ".join(_bits(run))


def without(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, list[int]]:
    """Remove some spans (sorted, disjoint) from a text.

    Also returns the original position of each remaining character and of the end.
    """
    parts: list[str] = []
    places: list[int] = []
    at = 0
    for start, end in (*spans, (len(text), len(text))):
        parts.append(text[at:start])
        places.extend(range(at, start))
        at = end
    return "".join(parts), [*places, len(text)]


def _judged(text: str, start: int, end: int, *, rtl: bool, varied: bool) -> Iterator[Detection]:
    run, before, after = text[start:end], text[max(start - 1, 0) : start], text[end : end + 1]
    if all(c in _DIRECTIONS for c in run) and len(run) <= _LETTERS:
        if rtl:
            return
    elif _belongs(text, run, start, before, after) and (varied or not _IDEOGRAPHIC.match(run)):
        return
    kept = 1 if run[0] in "\ufe0e\ufe0f" and len(run) > 1 and _pictured(before, run[1]) else 0
    rule, severity = _named(run[kept:], before, after)
    yield Detection(start + kept, end, "hidden", rule, severity)


def _belongs(text: str, run: str, start: int, before: str, after: str) -> bool:
    """Return whether a script, an emoji or the start of a file needs the whole run at this place."""
    if before == _BLACK_FLAG and run in _FLAGS:
        return True
    if _PRIVATE_START.match(run):
        return len(run) < (2 if run[0] > "\uffff" else 3)
    if run in ("\u200d", "\ufe0f\u200d", "\ufe0e\u200d") and _pictured(before, "") and _pictured(after, ""):
        return True
    if len(run) > 1:
        return False
    match run:
        case "\ufeff":
            return start == 0
        case "\ufe0e" | "\ufe0f":
            return _pictured(before, after) or bool(_IDEOGRAPH.match(before) or _MONGOLIAN.match(before))
        case "\u200c" | "\u200d":
            return bool(_JOINED.match(before) and (_JOINED.match(after) or not after.isalnum()))
        case "\u200b":
            return bool(_UNSPACED.match(before) or _UNSPACED.match(after))
        case "\u00ad":
            return _may_break(text, start)
        case "\u034f":
            return bool(before and unicodedata.category(before) == "Mn") or bool(
                after and unicodedata.category(after) == "Mn"
            )
        case "\u2800":
            return bool(_BRAILLE.match(before) or _BRAILLE.match(after))
        case "\u115f" | "\u1160":
            return bool(_JAMO.match(before) or _JAMO.match(after))
        case _:
            pass
    if "\U00013430" <= run <= "\U00013440":
        return bool(_HIEROGLYPH.match(before))
    if run == "\U00016fe4":
        return bool(_KHITAN.match(before))
    if "\ufe00" <= run <= "\ufe0d":
        return bool(_IDEOGRAPH.match(before) or _VARIED.match(before))
    if "\U000e0100" <= run <= "\U000e01ef":
        return bool(_IDEOGRAPH.match(before))
    return ("\u180b" <= run <= "\u180f" or run in "\u17b4\u17b5") and bool(_JOINED.match(before))


_PRIVATE_START = re.compile(f"[{_PRIVATE}]")


def _named(run: str, before: str, after: str) -> tuple[str, Severity]:
    """Return the rule and the severity for the worst characters of a run."""
    split = before.isalnum() and after.isalnum()
    if any("\U000e0000" <= c <= "\U000e00ff" or "\U000e01f0" <= c < "\U000e1000" for c in run):
        return "tag characters", "high"
    if any("\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef" for c in run):
        return "variation selectors", "high" if len(run) > 1 else "medium" if before.isalnum() else "low"
    if any(c in "\u202d\u202e" for c in run):
        return "bidirectional override", "high"
    if _PRIVATE_START.match(run):
        return "private-use characters", "medium"
    if run[0] < " " or run[0] == "\x7f":
        return "control characters", "low" if run[0] == "\x1b" and run.endswith("m") else "medium"
    worst: Severity = "high" if len(run) > 2 else "medium" if split else "low"
    for characters, rule in _RULES:
        if any(c in characters for c in run):
            return rule, worst
    return "invisible characters", worst


_RULES: Final = (
    ("\u200b\u200c\u200d\u2060\ufeff\u180e", "zero-width characters"),
    (_DIRECTIONS, "bidirectional control"),
    ("\u2061\u2062\u2063\u2064", "invisible operators"),
    ("\u00ad", "soft hyphens"),
    ("\u115f\u1160\u3164\uffa0\u2800", "invisible fillers"),
)


@lru_cache(4_096)
def _pictured(before: str, after: str) -> bool:
    """Return whether a selector can turn a character into an emoji or a text sign; digits only in keycaps."""
    if not before:
        return False
    if before in "0123456789#*":
        return after == "\u20e3"
    return before in "\u203c\u2049\u3030\u303d\ufe0f\u20e3\U000e007f" or unicodedata.category(before) in (
        "So",
        "Sk",
        "Sm",
    )


def _may_break(text: str, at: int) -> bool:
    """Return whether a soft hyphen is at a possible break of a long word and not between syllables of two letters."""
    begin = end = at
    while begin > 0 and at - begin < 60 and (text[begin - 1].isalpha() or text[begin - 1] == "\u00ad"):
        begin -= 1
    while end + 1 < len(text) and end - at < 60 and (text[end + 1].isalpha() or text[end + 1] == "\u00ad"):
        end += 1
    parts = text[begin : end + 1].split("\u00ad")
    return sum(map(len, parts)) >= _LONG_WORD and min(map(len, parts)) >= _LETTERS


def _octet(character: str) -> int | None:
    code = ord(character)
    if 0xFE00 <= code <= 0xFE0F:
        return code - 0xFE00
    return code - 0xE0100 + 16 if 0xE0100 <= code <= 0xE01EF else None


def _bits(run: str) -> Iterator[str]:
    """Decode a run of two or more distinct characters as bits, eight per letter, with either character as zero.

    A third character is treated as a pause.
    """
    kinds = [c for c in dict.fromkeys(run) if run.count(c) >= 4][:3]
    for zero in kinds:
        for one in kinds:
            if zero != one:
                bits = "".join("0" if c == zero else "1" for c in run if c in (zero, one))
                octets = bytes(int(bits[k : k + 8], 2) for k in range(0, len(bits) - 7, 8))
                if len(octets) > 3:
                    yield octets.decode("ascii", "ignore")


# Words with look-alike letters: a Cyrillic or Greek letter within a Latin word, or a Latin word in Cyrillic letters.
#
# The method is that of Unicode's security mechanisms (UTS 39): mixed-script and whole-script confusables. Scripts that do not resemble
# Latin are ignored, as are signs of science ("Δt", "TNFα", "kΩ", "µm") and endings of another script ("SMSка").

_FOREIGN = re.compile(  # Greek, Coptic, Cyrillic, Armenian, Cherokee, Lisu
    "[\u0370-\u058f\u1f00-\u1fff\u13a0-\u13ff\u1c80-\u1c8f\u2c80-\u2cff\u2de0-\u2dff\ua4d0-\ua4ff\ua640-\ua69f\uab70-\uabbf]"
)
_WORD = re.compile(r"[^\W\d_]{2,64}")
_SCRIPTS: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")
_DOUBTFUL: Final = frozenset("ανρικτυχγηωεσβ")
"""Greek lower-case letters that scientific terms combine with Latin words. Capitals and omicron are excluded, because they have no such
use."""

_PHONETIC = re.compile("[\u0250-\u02ff]")
_LATIN_LETTER = re.compile("[A-Za-z]")


def lookalikes(text: str) -> list[Detection]:
    """Find words that mix look-alike scripts, or consist only of Cyrillic or Greek look-alikes in a Latin text.

    Cost: linear.
    """
    if text.isascii() or not _FOREIGN.search(text):
        return []
    foreign = sum(1 for _ in _FOREIGN.finditer(text))
    mostly_latin = sum(1 for _ in _LATIN_LETTER.finditer(text)) > 2 * foreign
    found: list[Detection] = []
    for match in _WORD.finditer(text):
        word = match[0]
        if word.isascii() or not _FOREIGN.search(word):
            continue
        severity = _judge_lookalike(word, mostly_latin)
        if severity:
            found.append(Detection(match.start(), match.end(), "lookalike", "mixed-script word", severity))
            if len(found) == MOST:
                break
    return found


def _judge_lookalike(word: str, mostly_latin: bool) -> Severity | None:
    scripts = [_script(c) for c in word]
    latin = scripts.count("LATIN")
    others = {s for s in scripts if s not in ("LATIN", "")}
    if not latin:
        whole = mostly_latin and len(word) > 2 and others <= {"CYRILLIC", "GREEK"} and all(c in LATIN for c in word)
        whole = whole and not all(c in _DOUBTFUL for c in word)
        return "low" if whole else "medium" if len(others & set(_SCRIPTS)) > 1 else None
    strange = [c for c, s in zip(word, scripts, strict=True) if s not in ("LATIN", "")]
    if not others & set(_SCRIPTS) or (others <= {"GREEK", "MODIFIER"} and _PHONETIC.search(word)):
        return None
    switches = sum(a != b for a, b in pairwise(scripts))
    if switches == 1:
        own = [c for c, s in zip(word, scripts, strict=True) if s == "LATIN"]
        if (all(c.isupper() for c in own) and len(own) > 1) or (not all(c in LATIN for c in strange)):
            return None  # an abbreviation with an ending, or adjacent to a word
        if all(c in _DOUBTFUL for c in strange) and (latin < 4 or len(strange) > 1):
            return None
        if latin == 1 and len(strange) > 3:
            return "low"  # a typing mistake
    elif (others == {"GREEK"} and all(c in _DOUBTFUL or c not in LATIN for c in strange) and latin < 4) or not any(
        c in LATIN for c in strange
    ):
        return None
    return "medium" if latin >= len(strange) or switches > 2 else "low"


@lru_cache(4_096)
def _script(character: str) -> str:
    """Return the script in a letter's Unicode name; empty for signs such as the micro sign."""
    return unicodedata.name(character, "").split(" ", 1)[0] if character not in "\u00b5\u00aa\u00ba\u2126" else ""

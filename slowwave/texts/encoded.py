"""What an encoding says: base64, base32, base85, hexadecimal digits, escapes, bits and Morse code within a text, read as text.

What is readable is letters and spaces for the most part; a digest or a key says nothing. What came to light is judged elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from slowwave.texts import prefilter

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

MAY_HOLD: Final = (
    *(prefilter.relaxed(p.pattern) for p in (_HEXADECIMAL, _ESCAPES, _BITS, _PERCENT, _ASCII85, _MORSE)),
    r"[A-Za-z0-9+/_\-]{24}",  # base64
    r"[!-~]{40}",  # base85
)
"""Patterns of RE2 of which every text with an encoding in it matches one."""


def readings(text: str) -> Iterator[tuple[int, int, str]]:
    """Start and end of each part that an encoding makes readable, and what it says. Cost: linear in the text."""
    for pattern, decode in _encodings(text):
        for match in pattern.finditer(text):
            if said := decode(match[0][:_LONGEST_WORD]):
                yield match.start(), match.end(), said


def _encodings(text: str) -> Iterator[tuple[re.Pattern[str], Callable[[str], str]]]:
    """The encodings that the text is long enough for, and has the signs of: their patterns cost more than these looks."""
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
    """Base64 or base32 of readable text, else nothing."""
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
    """The octets as text, if they are one: letters and spaces for the most part."""
    said = octets.decode("utf-8", "ignore")
    if len(said) < 0.9 * len(octets):  # a digest, as most words of that length are
        return ""
    return said if sum(c.isalpha() or c.isspace() for c in said) >= 0.75 * len(said) else ""

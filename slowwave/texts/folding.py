"""One spelling for what looks alike: letters of other scripts, styled letters, accents, case, digits and signs within words.

For recognising a phrase that somebody disguised, never for showing or storing: folding is not undone. Which look-alikes are worth
a finding belongs to ``slowwave.texts.lookalikes``, which characters nobody sees to ``slowwave.texts.hidden``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

CYRILLIC: Final = "аaвbеeѕsіiїiјjкkмmнhоoрpсcтtуyхxԁdԛqԝwһhӏlғfгrпnьb"
"""Cyrillic letters, each followed by the Latin one that it looks like, small letters (Unicode's confusables, those of one letter)."""

CYRILLIC_CAPITALS: Final = "АaВbЕeЅsІiЇiЈjКkМmНhОoРpСcТtУyХxԌgԚqԜwҺhӀlЗ3ЬbЁeҮy"
GREEK: Final = "αaοoνvρpιiκkτtυuχxγyηnωwεeσoβbϲcϳj"
GREEK_CAPITALS: Final = "ΑaΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧxϹcͿj"
OTHERS: Final = (
    "օoոnսuհhցgզqԍgաwցgյjѵv"  # Armenian and rare Cyrillic
    "ᎪaᏴbᏟcᎠdᎬeᏀgᎻhᎥiᎫjᏦkᏞlᎷmᏢpᎡrᏚsᎢtᏙvᎳwᏃz"  # Cherokee
    "ɑaɡgıiʟlɩiꞮiʀrɴnᴀaʙbᴄcᴅdᴇeɢgʜhɪiᴊjᴋkᴍmᴏoᴘpꜱsᴛtᴜuᴠvᴡwʏyᴢz"  # within Latin: phonetic letters and small capitals
    "øołlđdħhŧtſs"
)


def _pairs(letters: str) -> dict[str, str]:
    return dict(zip(letters[::2], letters[1::2], strict=True))


LATIN: Final = {
    **_pairs(CYRILLIC),
    **_pairs(CYRILLIC_CAPITALS),
    **_pairs(GREEK),
    **_pairs(GREEK_CAPITALS),
    **_pairs(OTHERS),
}
"""Letter → the small Latin letter that it looks like."""

_LEET: Final = str.maketrans(
    {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i", "|": "l"}
)
_MIXED = re.compile(r"(?<![\w@$!|])(?=[013457@$!|]{0,23}[a-z])[a-z013457@$!|]{2,23}[a-z013457](?![\w@$|]|\.\w)")
_LEET_SIGN = re.compile("[013457@$!|]")
_DIGITS = re.compile(r"[a-z][013457]|[013457][a-z]|[a-z][@$!|][a-z]|(?<!\S)[@$!|][a-z]")
_SPACED = re.compile(r"(?<!\w)\w(?:([ .\-_*+~])\w(?:\1\w){3,})(?!\w)")
_MARK = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def folded(text: str) -> tuple[str, list[int] | None]:
    """(the text in small Latin letters as far as it looks like them, the place in ``text`` of each character, and of the end).

    None for places stands for equal places. Words of letters and digits are read as leetspeak, letters set apart by one sign as
    one word. Other scripts keep their letters. Cost: linear.
    """
    if text.isascii():
        return _plain(text.lower()), None
    parts = [_letter(c) for c in text]
    joined = "".join(parts)
    if len(joined) == len(text) and all(len(p) == 1 for p in parts):
        return _plain(joined), None
    places = [n for n, part in enumerate(parts) for _ in part]
    return _plain(joined), [*places, len(text)]


def spelled_out(text: str) -> list[tuple[int, int, str]]:
    """Runs of single letters set apart by one sign, five and more: start, end and the word that they spell."""
    return [(m.start(), m.end(), m[0].replace(m[1], "")) for m in _SPACED.finditer(text)]


def _plain(text: str) -> str:
    """Leetspeak within words as letters, character by character."""
    if not _LEET_SIGN.search(text) or not _DIGITS.search(text):
        return text
    return _MIXED.sub(lambda m: m[0].translate(_LEET), text)


@lru_cache(16_384)
def _letter(character: str) -> str:
    found = LATIN.get(character)
    if found:
        return found
    if _CJK.match(character):
        return character
    plain = unicodedata.normalize("NFKD", character)
    kept = "".join(LATIN.get(c, c) for c in plain if not _MARK.match(c) and unicodedata.category(c) != "Cf")
    lowered = kept.lower() if kept.isascii() else kept.casefold()
    return "".join(LATIN.get(c, c) for c in lowered)

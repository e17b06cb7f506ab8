"""Words and names in the form in which they are compared, token counts, and one spelling for letters that look alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


# Words and names in the normalized form in which they are compared, for entity extraction, imports and retrieval.

_WORD: Final = re.compile(r"\w+(?:['’]\w+)?")
_SPACE: Final = re.compile(r"\s+")
_EDGES: Final = " \t\r\n.,;:!?\"'`“”‘’«»()[]{}<>"


def fold(text: str) -> str:
    """Normalise a text for comparison: NFKC, case-folded, with plain apostrophes."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


def tokenise(text: str) -> list[str]:
    """Return the folded words of ``text`` in order; ``don't`` is one word, a possessive ``'s`` is removed."""
    folded = fold(text)
    words: list[str] = _WORD.findall(folded)
    return [word.removesuffix("'s") for word in words] if "'s" in folded else words


def normalise_name(name: str) -> str:
    """Return the key of a name: folded, with single spaces and without punctuation at its ends.

    Equal names have equal keys. A name of punctuation only keeps it, so that different names never share an empty key.
    """
    folded = _SPACE.sub(" ", fold(name)).strip()
    return folded.strip(_EDGES) or folded


# Token counts without a tokenizer: one estimate for input, output and savings.

BYTES_A_TOKEN: Final = 4

RULE: Final = f"{BYTES_A_TOKEN} bytes of UTF-8 a token, rounded up for each text"


def count(text: str) -> int:
    """Return the tokens of one text: a quarter of its UTF-8 bytes, rounded up.

    For plain English this is Plugged.in's count of outputs (1.3: characters / 4). Plugged.in divides inputs by 3, which makes a saving of
    a third out of nothing: 1,500 characters are 375 tokens here, as input and as output.
    """
    return -(-len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN)


def counts(texts: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """Return (n,) tokens of (n,) texts by the rule of ``count``; 0 for a null."""
    import numpy as np
    import pyarrow as pa  # pyarrow takes a while to load, and counting one text does not need it
    import pyarrow.compute as pc

    column = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    binary = pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary()
    lengths = pc.fill_null(pc.binary_length(pc.cast(column, binary)), 0).to_numpy(zero_copy_only=False)
    return -(-lengths.astype(np.int64) // BYTES_A_TOKEN)


# Folding: one spelling for characters that look alike, such as letters of other scripts, styled letters, accents, case, digits and signs
# within words.
#
# For recognising disguised phrases, never for display or storage, because folding cannot be undone. ``slowwave.text.findings`` decides
# which look-alike and invisible characters are reported.

CYRILLIC: Final = "аaвbеeѕsіiїiјjкkмmнhоoрpсcтtуyхxԁdԛqԝwһhӏlғfгrпnьb"
"""Cyrillic letters, each followed by the Latin lower-case letter that it looks like (single letters of Unicode's confusables)."""

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
"""Letter → the Latin lower-case letter that it looks like."""

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
    """Return the text in the Latin letters that it resembles, and the place in ``text`` of each character and the end.

    The letters are lower-case. The places are None if both texts have the same places. Words of letters and digits are parsed as
    leetspeak, letters separated by one sign as one word. Other scripts keep their letters. Cost: linear.
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
    """Return runs of five or more single letters separated by one sign, as start, end and the word that they spell."""
    return [(m.start(), m.end(), m[0].replace(m[1], "")) for m in _SPACED.finditer(text)]


def _plain(text: str) -> str:
    """Replace leetspeak within words by letters, character by character."""
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


# Counts in sentences: one item, two items, 1,200 items.


def counted(number: int, one: str, many: str = "") -> str:
    """Format a number with its noun: ``one`` for 1, otherwise ``many``.

    Without ``many`` the plural is formed from ``one`` (items, memories, days).
    """
    plural = many or (f"{one[:-1]}ies" if one[-1] == "y" and one[-2] not in "aeiou" else f"{one}s")
    return f"{number:,} {one if number == 1 else plural}"


def counted_rows(number: int, table: str) -> str:
    """Format a number of rows with the name of their table, which is a plural: ``1 entity``, ``2 entity vectors``."""
    many = table.replace("_", " ")
    return counted(number, f"{many[:-3]}y" if many.endswith("ies") else many.removesuffix("s"), many)


# Names that a person mistyped.

_NEAR: Final = 0.75
"""Least similarity of a suggested name, as ``difflib`` measures it: one wrong letter of four is just accepted."""


def find_nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that resembles ``name`` most, or an empty string if none does."""
    return next(iter(get_close_matches(name, sorted(known), n=1, cutoff=_NEAR)), "")


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return the question whether the nearest known name was meant, with a space before it; empty if none is near."""
    meant = find_nearest(name, known)
    return f" Did you mean {meant}?" if meant else ""


def suggest_id(beginning: str, ids: Iterable[str]) -> str:
    """Return the question whether the id with the nearest beginning was meant; see ``suggest_name``.

    At least as many characters are shown as were given, and no fewer than eight.
    """
    shown = max(8, len(beginning))
    by_beginning = {id_[: len(beginning)]: id_[:shown] for id_ in ids}
    meant = find_nearest(beginning, by_beginning) if len(beginning) >= 4 else ""
    return f" Did you mean {by_beginning[meant]}?" if meant else ""

"""Letters of other alphabets as Latin ones, for those that stand for sounds: Cyrillic, Greek, and what Latin adds to a to z.

Scripts whose letters share sounds or leave vowels out (Chinese, Arabic, Hebrew, …) are left as they are: two names would become
one. Written by hand after the usual English transcriptions (BGN/PCGN, ELOT 743).
"""

from __future__ import annotations

import unicodedata
from typing import Final

_COMPOSED: Final = "й y  ё yo  ї yi  ў u  ѓ gj  ќ kj"
_CYRILLIC: Final = """
а a  б b  в v  г g  ґ g  ғ g  д d  ђ dj  е e  є ye  ж zh  з z  ѕ dz  и i  і i  ј j  к k  қ k  л l  љ lj  м m  н n  њ nj  ң ng
о o  ө o  п p  р r  с s  т t  ћ c  у u  ү u  ұ u  ф f  х kh  һ h  ц ts  ч ch  џ dz  ш sh  щ shch  ъ -  ы y  ь -  э e  ю yu  я ya
"""
_GREEK: Final = """
α a  β v  γ g  δ d  ε e  ζ z  η i  θ th  ι i  κ k  λ l  μ m  ν n  ξ x  ο o  π p  ρ r  σ s  τ t  υ y  φ f  χ ch  ψ ps  ω o
"""
_LATIN: Final = "ø o  æ ae  œ oe  ł l  đ d  ð d  þ th  ı i  ħ h  ŋ ng  ə e  ŧ t  ’ '"


def _table(letters: str) -> dict[int, str]:
    parts = letters.split()
    return {ord(a): b.strip("-") for a, b in zip(parts[::2], parts[1::2], strict=True)}


_BEFORE: Final = _table(_COMPOSED)
_AFTER: Final = _table(_CYRILLIC + _GREEK + _LATIN)


def latin(text: str) -> str:
    """Case-folded text without accents, in Latin letters where its alphabet has them."""
    text = unicodedata.normalize("NFKC", text).casefold().translate(_BEFORE)  # й is a letter, not an accented и
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return text.replace("ου", "ou").translate(_AFTER)

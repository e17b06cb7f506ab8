"""Words of letters that only look alike: a Cyrillic or Greek letter within a Latin word, or a Latin word in Cyrillic letters.

After Unicode's security mechanisms (UTS 39): mixed-script and whole-script confusables. Scripts that do not resemble Latin are no
business of this module, nor are signs of science ("Δt", "TNFα", "kΩ", "µm") or endings of another script ("SMSка").
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import Final

from slowwave.texts.findings import MOST, Detection, Severity
from slowwave.texts.folding import LATIN

_FOREIGN = re.compile(  # Greek, Coptic, Cyrillic, Armenian, Cherokee, Lisu
    "[\u0370-\u058f\u1f00-\u1fff\u13a0-\u13ff\u1c80-\u1c8f\u2c80-\u2cff\u2de0-\u2dff\ua4d0-\ua4ff\ua640-\ua69f\uab70-\uabbf]"
)
_WORD = re.compile(r"[^\W\d_]{2,64}")
_SCRIPTS: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")
_DOUBTFUL: Final = frozenset("ανρικτυχγηωεσβ")
"""Greek small letters that science ties to Latin words; a capital or an omicron in a Latin word is no sign of anything."""

_PHONETIC = re.compile("[\u0250-\u02ff]")
_LATIN_LETTER = re.compile("[A-Za-z]")


def lookalikes(text: str) -> list[Detection]:
    """Each word that mixes look-alike scripts, or is all of Cyrillic or Greek look-alikes in a Latin text. Cost: linear."""
    if text.isascii() or not _FOREIGN.search(text):
        return []
    foreign = sum(1 for _ in _FOREIGN.finditer(text))
    mostly_latin = sum(1 for _ in _LATIN_LETTER.finditer(text)) > 2 * foreign
    found: list[Detection] = []
    for match in _WORD.finditer(text):
        word = match[0]
        if word.isascii() or not _FOREIGN.search(word):
            continue
        severity = _judged(word, mostly_latin)
        if severity:
            found.append(Detection(match.start(), match.end(), "lookalike", "mixed-script word", severity))
            if len(found) == MOST:
                break
    return found


def _judged(word: str, mostly_latin: bool) -> Severity | None:
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
            return None  # an abbreviation with an ending, or a word beside another
        if all(c in _DOUBTFUL for c in strange) and (latin < 4 or len(strange) > 1):
            return None
        if latin == 1 and len(strange) > 3:
            return "low"  # a slip of the keyboard
    elif (others == {"GREEK"} and all(c in _DOUBTFUL or c not in LATIN for c in strange) and latin < 4) or not any(
        c in LATIN for c in strange
    ):
        return None
    return "medium" if latin >= len(strange) or switches > 2 else "low"


@lru_cache(4_096)
def _script(character: str) -> str:
    """The script by which Unicode names a letter; empty for signs such as the micro sign."""
    return unicodedata.name(character, "").split(" ", 1)[0] if character not in "\u00b5\u00aa\u00ba\u2126" else ""

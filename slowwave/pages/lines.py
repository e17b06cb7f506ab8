"""One line of a page out of untrusted text: flat, harmless as Markdown, without hidden characters, and not too long."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LINE: Final = 149
"""Characters of an entry's line at most, source and all."""

_READ: Final = 2_000  # characters of a memory that a line may come from
_BLANK: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")  # letters and marks that show nothing
_HIDDEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn"))
_MARKUP: Final = re.compile(
    r"[\\`*\[\]<>~$@]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|:(?=//)|(?<=mailto):|(?<=xmpp):|(?<=www)\.|(?<=ftp)\.",
    re.IGNORECASE,
)
_CONTROLS: Final = dict.fromkeys((*range(32), 127), " ")
_OPENING: Final = re.compile(r"^[-+=#|]")
_NUMBERED: Final = re.compile(r"^(\d{1,9})([.)])")


def flat(text: str) -> str:
    """Text as one line: composed, white space single, and nothing that cannot be seen."""
    if text.isascii():
        return " ".join(text[:_READ].translate(_CONTROLS).split())
    shown: list[str] = []
    for c in unicodedata.normalize("NFC", text[:_READ]):
        kind = unicodedata.category(c)
        if c.isspace() or kind in ("Zl", "Zp", "Cc"):
            shown.append(" ")
        elif kind not in _HIDDEN and c not in _BLANK and not _is_selector(c):
            shown.append(c)
    return " ".join("".join(shown).split())


def escape(line: str) -> str:
    """A flat line as Markdown that says just that: no markup, HTML, link, mention, heading or list inside it."""
    escaped = _MARKUP.sub(r"\\\g<0>", line)
    escaped = _NUMBERED.sub(r"\1\\\2", escaped)
    return _OPENING.sub(r"\\\g<0>", escaped)


def hook(text: str, room: int) -> str:
    """Text as an escaped line of at most ``room`` characters, cut at a word where it is too long."""
    line = flat(text)
    if len(escape(line)) <= room:
        return escape(line)
    cut = min(len(line), room - 1)
    while cut > 0 and (over := len(escape(line[:cut].rstrip())) + 1 - room) > 0:
        cut -= over
    kept = line[: max(0, cut)].rstrip()
    at_word = kept.rpartition(" ")[0]
    if line[len(kept) : len(kept) + 1] not in ("", " ") and len(at_word) > len(kept) - 20 and at_word:
        kept = at_word.rstrip()
    return escape(kept) + "…"


def source(memory: str) -> str:
    """The link of a line to the memory that it comes from; ``slowwave pages source`` follows it."""
    return f"[{memory[:8]}](mem:{memory})"


def _is_selector(c: str) -> bool:
    """Variation selectors, which change a letter's look or carry what nobody sees."""
    return "\ufe00" <= c <= "\ufe0f" or "\u180b" <= c <= "\u180f" or "\U000e0100" <= c <= "\U000e01ef"

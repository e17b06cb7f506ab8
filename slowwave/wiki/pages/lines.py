"""Lines of pages made from untrusted text: flat, harmless as Markdown and short; and the page that they become."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.sources.blocks import block

# The result of rendering: one page and its inputs.

DREAMS: Final = "DREAMS.md"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page rendered from a snapshot.

    ``body`` is its block, empty if there is no content. ``sources`` are the memories that it links, ``unsafe`` those whose words were
    left out, and ``omitted`` counts the entries beyond the limits.
    """

    path: str
    title: str
    body: str
    input_hash: str
    entries: int
    sources: tuple[str, ...]
    unsafe: tuple[str, ...] = ()
    omitted: int = 0


def body_of(lines: Sequence[str]) -> str:
    """Wrap lines in the block that a row stores; return an empty string if there are no lines."""
    return block("\n".join(lines)) if lines else ""


def fits(body: str, max_lines: int, max_bytes: int) -> bool:
    """Return whether a body, including its marks, is within both limits."""
    return body.count("\n") + 1 <= max_lines and len(body.encode()) <= max_bytes


def input_hash(template: int, namespace_id: str, *inputs: object) -> str:
    """Return the SHA-256 of the rendered inputs, the namespace, and the version of the fixed text around them.

    The namespace is included because an inserted row has the id of its item, so two namespaces must not create a page by the same item.
    """
    text = json.dumps([template, namespace_id, *inputs], ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


# Lines of a page from untrusted text: flat, harmless as Markdown, without hidden characters, and not too long.

LINE: Final = 149
"""Maximum characters of an entry's line, including the source."""

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
    """Convert a text to one line: composed characters, single spaces, and no invisible characters."""
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
    """Escape a flat line so that Markdown shows it literally, without markup, HTML, links, mentions, headings or lists."""
    escaped = _MARKUP.sub(r"\\\g<0>", line)
    escaped = _NUMBERED.sub(r"\1\\\2", escaped)
    return _OPENING.sub(r"\\\g<0>", escaped)


def hook(text: str, room: int) -> str:
    """Convert a text to an escaped line of at most ``room`` characters, cut at a word if it is too long."""
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
    """Return the link from a line to its source memory, which ``slowwave why`` follows."""
    return f"[{memory[:8]}](mem:{memory})"


def _is_selector(c: str) -> bool:
    """Return whether a character is a variation selector, which changes a letter's look or carries hidden data."""
    return "\ufe00" <= c <= "\ufe0f" or "\u180b" <= c <= "\u180f" or "\U000e0100" <= c <= "\U000e01ef"

"""The part of a file that is Slowwave's: a block between two marks, the first of which holds the SHA-256 of what stands between.

Whatever is outside is a person's and stays. A block that does not hash to what its mark says was edited by a person, and is theirs
as well from then on.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from slowwave.errors import Refused

_BEGIN: Final = re.compile(r"^<!-- slowwave:begin hash=([0-9a-f]{64}) -->[ \t]*\r?$", re.MULTILINE)
_LAST: Final = "<!-- slowwave:end -->"
_END: Final = re.compile(r"^<!-- slowwave:end -->[ \t]*\r?$", re.MULTILINE)
_ANY: Final = re.compile(r"^[ \t]*<!--[ \t]*slowwave:(?:begin|end)\b.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """Where a text holds a block: ``start`` and ``stop`` are offsets, marks included; ``whole`` says that nobody edited it."""

    start: int
    stop: int
    inside: str
    whole: bool


def block(content: str) -> str:
    """Content of one or more lines as a block, without a line end after the last mark."""
    return f"<!-- slowwave:begin hash={content_hash(content)} -->\n{content}\n{_LAST}"


def find(text: str) -> Block | None:
    """The block of a text, None where there is none. One whose marks are damaged or repeated is not ``whole`` either."""
    marks = list(_ANY.finditer(text))
    if not marks:
        return None
    begins, ends = list(_BEGIN.finditer(text)), list(_END.finditer(text))
    if len(marks) != 2 or len(begins) != 1 or len(ends) != 1 or begins[0].end() >= ends[0].start():
        return Block(marks[0].start(), marks[-1].end(), "", whole=False)
    begin, end = begins[0], ends[0]
    inside = text[begin.end() + 1 : end.start()].replace("\r\n", "\n").removesuffix("\n")
    return Block(begin.start(), end.start() + len(_LAST), inside, whole=content_hash(inside) == begin[1])


def is_page(body: str) -> bool:
    """Whether a row's body is as a render leaves it: empty, or one whole block and nothing else."""
    found = find(body)
    return not body or (found is not None and found.whole and (found.start, found.stop) == (0, len(body)))


def placed(text: str, body: str) -> str:
    """A file's text with ``body``, a block or nothing, in the place of the block that it holds, else at its end.

    A block that a person edited is refused, in words that follow the name of a file.
    """
    found = find(text)
    if found is not None and not found.whole:
        raise Refused(
            "holds a block that somebody edited, so it was left alone. Move what is to stay out of the block and delete "
            "the block with both its marks."
        )
    if found is None:
        if not body:
            return text
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{body}\n"
    before, after = text[: found.start], text[found.stop :]
    if body:
        return before + body + after
    after = after.removeprefix("\r").removeprefix("\n")
    if not after and before.endswith("\n\n"):
        before = before[:-1]
    return before + after


def content_hash(content: str) -> str:
    """What a first mark holds of the content that it stands above: its SHA-256."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

"""Paths of pages: which ones name a file inside of a folder, and which ones a new page may have.

A folder of notes that people keep has capitals, spaces and every script in its names, so a page that exists may have any name that is safe.
A new page also has a name that every file system accepts and that no reader takes for another one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LONGEST_PATH: Final = 300
LONGEST_PART: Final = 200
"""Bytes of UTF-8 in one part of a new path. File systems take 255, of which a tombstone and a temporary file need some."""

_JOINERS: Final = "\u200c\u200d"
"""Format characters that words of Persian or Hindi and many emoji are written with."""
_ESCAPE: Final = re.compile("%[0-9A-Fa-f]{2}")
_UNPORTABLE: Final = re.compile(r'[<>:"|?*]')
_RESERVED: Final = ("logs/sessions/", "archive/")


def path_fault(path: str, *, is_new: bool = False) -> str:
    """Return why a page cannot have a path, as the end of a sentence that begins with "a page's path"; empty if it can.

    Args:
        path: The path relative to its folder, with slashes.
        is_new: No page has this path yet, so the stricter rule applies. ``memory.admit_page`` and ``memory.write_page`` repeat both rules.
    """
    if not path.endswith(".md") or len(path) > LONGEST_PATH:
        return f"ends in .md and has at most {LONGEST_PATH} characters"
    if any(not part or part.startswith(".") for part in path.split("/")):
        return "has no empty part, and no part of it begins with a dot"
    if "\\" in path or _ESCAPE.search(path) or not all(_is_plain(c) for c in path):
        return "has no backslashes, no percent escapes, and no control or invisible characters"
    if path.casefold().startswith(_RESERVED):
        return "lies neither under logs/sessions/ (sessions are stored by session-ingest) nor under archive/"
    if not is_new:
        return ""
    if _UNPORTABLE.search(path) or any(c in path for c in _JOINERS):
        return 'has none of < > : " | ? * and no invisible joiners if the page is new'
    if any(part != part.strip(" ") or part.endswith(".") for part in path.split("/")):
        return "has no part that begins or ends with a space or ends with a dot if the page is new"
    if any(len(part.encode()) > LONGEST_PART for part in path.split("/")):
        return f"has at most {LONGEST_PART} bytes in each part if the page is new"
    return ""


def fold_path(path: str) -> str:
    """Return the form in which two paths are equal if a file system that ignores case may take them for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _is_plain(character: str) -> bool:
    """Whether a character is visible in a name; the space is, other white space and format characters are not."""
    return character in (" ", *_JOINERS) or unicodedata.category(character)[0] in "LMNPS"

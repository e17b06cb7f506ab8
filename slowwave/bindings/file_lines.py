"""Where in a TOML file something stands, so that what is wrong with it can be found. Reading it belongs to ``tomllib``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_HEADER: Final = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY: Final = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART: Final = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line (from 1) of what lies under a path of keys, or of the innermost of them that has a line of its own; 1 where none has.

    Numbers in the path, places in lists, are passed over but for lists of tables (``[[known]]``), whose headers are counted.
    """
    wanted = tuple(part for part in path if isinstance(part, str))
    places = [part for part in path if isinstance(part, int)]
    best, depth, counted = 1, 0, 0
    header: tuple[str, ...] = ()
    inside = True
    for number, line in enumerate(text.splitlines(), 1):
        if found := _HEADER.match(line):
            header = _parts(found[1])
            if line.lstrip().startswith("[[") and places and wanted[: len(header)] == header:
                inside, counted = counted == places[0], counted + 1
            reached = header
        elif found := _KEY.match(line):
            reached = (*header, *_parts(found[1]))
        else:
            continue
        if inside and len(reached) > depth and wanted[: len(reached)] == reached:
            best, depth = number, len(reached)
    return best


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))

"""Organization reports: what an outside dreamer writes about its own work under a heading, read by mnemo's grammar (mnemo 2.4).

Which memories hold one, and what is done about it, belongs to ``slowwave.operations.planners.accept_external_edits``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

HEADING: Final = r"(?im)^[ \t]*##[ \t]+organization[ \t]+report\b"
"""A level-2 heading, in any case, anywhere in the text; Arrow's expressions read it as well."""

_HEADING: Final = re.compile(HEADING)
_KEY: Final = re.compile(r"\b(consolidated|removed|re[-_ ]?indexed)\b[ \t]*[:=][ \t]*([0-9]+)", re.IGNORECASE)
_MOST: Final = 2**64 - 1
_MOST_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class OrganizationReport:
    """What the report counts."""

    consolidated: int = 0
    removed: int = 0
    reindexed: int = 0


def parse(text: str) -> OrganizationReport | None:
    """The report of a text, or None where no heading begins one.

    The first heading wins, and everything after it is searched: keys may stand in any order and on any line. Of each key the first
    number counts; one that is missing, or needs more than 64 bits, is 0.
    """
    heading = _HEADING.search(text)
    if heading is None:
        return None
    found: dict[str, int] = {}
    for key, digits in _KEY.findall(text, heading.end()):
        name = "reindexed" if key.lower().startswith("re") and key.lower() != "removed" else key.lower()
        found.setdefault(name, _number(digits))
    return OrganizationReport(**found)


def _number(digits: str) -> int:
    significant = digits.lstrip("0") or "0"
    if len(significant) > _MOST_DIGITS:
        return 0
    value = int(significant)
    return value if value <= _MOST else 0

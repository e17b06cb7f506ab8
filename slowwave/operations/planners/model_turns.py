"""Turns of a session as a model is shown them, and as many at once as it reads; what it says of them belongs to whoever asks.

What the system says, turns that speak to a reader and those with words of a privacy class that may not be told are left out; secrets are
marked, relative dates have their day. Pure; linear in the text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Final, Protocol, TypeVar

from slowwave.matching.judge import visible
from slowwave.operations.planners.session_statements import ReadSession
from slowwave.texts.dates import Write, absolutize
from slowwave.texts.screening import counting, redact, screen
from slowwave.texts.sensitivity import privacy_class

LONGEST_BATCH: Final = 180_000
"""Characters of the turns that a model reads at once (Dory 4.8)."""

_DATES: Final = 400  # characters that written-out dates may add to a turn


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """What somebody said, as it is shown: ``line`` is where it begins on the session's page, ``at`` when it was said."""

    speaker: str
    text: str
    line: int
    at: datetime


class _Worded(Protocol):
    @property
    def text(self) -> str: ...


_Part = TypeVar("_Part", bound=_Worded)


def shown_turns(session: ReadSession, leave: Collection[str], longest: int, write: Write = "beside") -> list[ShownTurn]:
    """The turns of a session, each cut at ``longest`` characters. ``leave`` are the privacy classes that may be told; ``write`` says where
    the day of a relative date stands."""
    found: list[ShownTurn] = []
    for turn in session.turns:
        text = turn.text[:longest]
        if turn.speaker == "system" or any(f.kind == "injection" for f in counting(screen(text))):
            continue
        if (kind := privacy_class(text)) and kind not in leave:
            continue
        at = turn.at or datetime.combine(session.page.day, time(), UTC)
        said = visible(absolutize(redact(text), at, write=write, nearest=False).text, longest + _DATES)
        if said:
            found.append(ShownTurn(turn.speaker, said, turn.lines[0][0], at))
    return found


def batches(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Parts in their order, as many at once as a model reads; one that is longer stands alone."""
    found: list[list[_Part]] = []
    size = LONGEST_BATCH
    for part in parts:
        if not found or size + len(part.text) > LONGEST_BATCH:
            found.append([])
            size = 0
        found[-1].append(part)
        size += len(part.text)
    return found

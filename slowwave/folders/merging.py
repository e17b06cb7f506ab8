"""What a person wrote into a file, brought together with the rows of its blocks: which rows stay, which end, which are new.

A file was last seen as the texts that its rows say it has (``said``). Blocks that stand there still keep their rows, and with them what a
plan changed of them meanwhile; whatever a person rewrote or took out is the person's, and its row ends. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import SequenceMatcher
from typing import Final

from slowwave.folders.segments import Segment

_MOST: Final = 4_000_000
"""Pairs of changed segments up to which it is looked for what moved among them; beyond, all of them are new."""


@dataclass(frozen=True, slots=True)
class BlockRow:
    """A row of ``memory.folder_blocks``, without its vector."""

    id: str
    kind: str
    section: str
    lead: str
    body: str
    tail: str
    said: str
    gone: bool
    day: datetime | None

    @property
    def wanted(self) -> str:
        """What the file is to say of it."""
        return "" if self.gone or self.kind == "left" else self.lead + self.body + self.tail

    @property
    def followed(self) -> BlockRow:
        """The same row once the file says what it wants."""
        return replace(self, said=self.wanted)


@dataclass(frozen=True, slots=True)
class Merged:
    """``parts`` in the order of the file: a row with its segment, a segment that is new, or a row of which the file says nothing. ``ended``
    are those of the latter whose text a person took out or rewrote."""

    parts: tuple[tuple[BlockRow | None, Segment | None], ...]
    ended: tuple[BlockRow, ...] = field(default=())

    @property
    def changes(self) -> int:
        """Blocks that are gone or new."""
        return len(self.ended) + sum(row is None for row, _ in self.parts)


def nearest(rows: Sequence[BlockRow], segments: Sequence[Segment]) -> list[BlockRow]:
    """The rows with what their file said before somebody wrote into it: what it said when it was looked at last or, where a process ended
    before it could note what it had written, what it was to say. It is the one from which fewer blocks differ."""
    said, wanted = list(rows), [row.followed for row in rows]
    return said if said == wanted else min(said, wanted, key=lambda before: merged(before, segments).changes)


def merged(rows: Sequence[BlockRow], segments: Sequence[Segment]) -> Merged:
    """Bring the rows of a file, in their order, together with what it says now."""
    shown = [row for row in rows if row.said]
    behind: dict[str, list[BlockRow]] = {}
    before = ""
    for row in rows:  # rows without a text in the file stay behind the one that they stand behind
        if row.said:
            before = row.id
        else:
            behind.setdefault(before, []).append(row)
    parts: list[tuple[BlockRow | None, Segment | None]] = [(row, None) for row in behind.get("", ())]
    ended: list[BlockRow] = []
    for row_part, segment_part in _opcodes([r.said for r in shown], [s.raw for s in segments]):
        kept = row_part is not None and segment_part is not None
        row = None if row_part is None else shown[row_part]
        if segment_part is not None:
            parts.append((row if kept else None, segments[segment_part]))
        if row is not None:
            if not kept:
                parts.append((row, None))
                ended.append(row)
            parts += [(other, None) for other in behind.get(row.id, ())]
    return Merged(tuple(parts), tuple(ended))


def _opcodes(before: Sequence[str], now: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Places in ``before`` and ``now``: both where they say the same, else what is gone, and then what came."""
    head = 0
    while head < min(len(before), len(now)) and before[head] == now[head]:
        head += 1
    foot = 0
    while foot < min(len(before), len(now)) - head and before[-1 - foot] == now[-1 - foot]:
        foot += 1
    inner_before, inner_now = before[head : len(before) - foot], now[head : len(now) - foot]
    found: list[tuple[int | None, int | None]] = [(n, n) for n in range(head)]
    codes = (
        SequenceMatcher(None, inner_before, inner_now, autojunk=False).get_opcodes()
        if len(inner_before) * len(inner_now) <= _MOST
        else [("replace", 0, len(inner_before), 0, len(inner_now))]
    )
    for tag, i1, i2, j1, j2 in codes:
        if tag == "equal":
            found += [(head + i1 + n, head + j1 + n) for n in range(i2 - i1)]
        else:
            found += [(head + n, None) for n in range(i1, i2)]
            found += [(None, head + n) for n in range(j1, j2)]
    found += [(len(before) - foot + n, len(now) - foot + n) for n in range(foot)]
    return found

"""Ended statements: sentences of longer memories that a later memory says are over, where the rest of the memory still holds.

A memory that says nothing else is a conflict, which it loses (``slowwave.conflicts.endings``, ``slowwave.conflicts.stated``). Here stands
what would take other sentences, or other things of one sentence, along with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import pyarrow as pa

from slowwave.conflicts.columns import StatementRows

_AUDIENCE: Final = ("scope", "visibility", "sensitivity")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class EndedStatement:
    """A ``sentence`` of ``memories`` (ids; copies of each other), and what ended it: ``said`` by the memory ``later``, ``since`` when.

    One that ``holds`` tells what happened before, of something that has ended. ``pattern`` is the name under which the rule that found it
    is measured (``slowwave.config.decides_alone``).
    """

    memories: tuple[str, ...]
    sentence: str
    later: str
    said: str
    since: datetime
    holds: bool = False
    pattern: str = ""

    @classmethod
    def of(
        cls,
        rows: StatementRows,
        earlier: int,
        later: int,
        sentence: str,
        said: str,
        when: int,
        *,
        pattern: str,
        holds: bool = False,
    ) -> EndedStatement | None:
        """That of two statements by their numbers, ``when`` in microseconds; None where they are not of one audience."""
        one, two = rows.table.select(_AUDIENCE).take(pa.array(rows.first[[earlier, later]])).to_pylist()
        if one != two:
            return None
        ids = rows.table["id"]
        return cls(
            tuple(sorted(ids.take(pa.array(np.flatnonzero(rows.of == earlier))).to_pylist())),
            sentence,
            str(ids[int(rows.first[later])]),
            said,
            _EPOCH + timedelta(microseconds=when),
            holds,
            pattern,
        )

"""Memories that are small talk alone: which of those that recall finds tell nothing to anybody.

What small talk is belongs to ``slowwave.texts.small_talk``, what becomes of it to the planner ``archive_small_talk``. Only what was said is
looked at, by its kind: what somebody wrote down as knowledge or as a way to do things, and summaries, are what they are.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.snapshots.last import Last
from slowwave.texts.present_statements import PROGRAMS
from slowwave.texts.small_talk import LONGEST, is_small_talk, without_small_talk

KINDS: Final = ("episodic", "working", "event")
"""Kinds of memories that keep what was said."""

Mask = NDArray[np.bool_]


def small_talk(memories: pa.Table) -> Mask:
    """(n,) which memories (rows of ``active_memories``, or some of them) are small talk alone.

    Time: some 10 µs a memory of these kinds and of at most ``LONGEST`` characters; of the same table it is asked once.
    """
    return _last.of([memories], None, lambda: _found(memories)).copy()


_last: Final[Last[Mask]] = Last()


def _found(memories: pa.Table) -> Mask:
    said = pc.is_in(memories["kind"], value_set=pa.array(KINDS))
    short = pc.less_equal(pc.utf8_length(memories["text"]), LONGEST)
    mask = pc.and_(said, short).to_numpy().astype(np.bool_)
    rows = memories.select(["text", "author"]).filter(pa.array(mask)).to_pylist()
    mask[mask] = [is_small_talk(r["text"], program=is_program(r["author"])) for r in rows]
    return mask


def texts_without_small_talk(memories: pa.Table, column: str) -> pa.Array:
    """(n,) the texts of a ``column`` without their sentences of small talk, ``large_string``; those of other kinds as they are."""
    columns = (memories[name].to_pylist() for name in (column, "kind", "author"))
    return pa.array((text_without_small_talk(*row) for row in zip(*columns, strict=True)), pa.large_string())


def text_without_small_talk(text: str, kind: object, author: object) -> str:
    """What a memory of a kind and an author says, without its sentences of small talk."""
    return without_small_talk(text, program=is_program(author)) if kind in KINDS else text


def is_program(author: object) -> bool:
    """Whether an author's "I" is a program's."""
    return str(author or "").casefold() in PROGRAMS

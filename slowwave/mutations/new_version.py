"""``new_version``: a memory says something in other words from now on; what it said stays on record as an older version.

With its text a memory may change its stage, its state and its attributes, and gets the vector of the new text, when there is one. A version
that only writes beside what the memory tells says so (``cells.TOLD``), and stands beside whatever rests on that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.errors import Refused
from slowwave.mutations.cells import TOLD, VERSION, Cell, Guard, Insert, Value, Write, canonical_json
from slowwave.mutations.mutation import Mutation, Row
from slowwave.mutations.rows import Fields, rows_by_id, rows_where
from slowwave.mutations.vectors import encode
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.beside import own_text

REDACTION: Final = "redact"
"""The reason of a version that leaves out what must not be read; nothing else may lose what a memory says."""

_GUARDED: Final = ("invalidated_at", "state", "stage", "attributes", "pinned")
_BECAUSE: Final = ("invalidated_at", "state", TOLD)


@dataclass(frozen=True, slots=True)
class NewVersion:
    """What ``memory`` is to say, and ``reason``, which the version keeps; None leaves a column as it is.

    ``rests_on`` are columns of the memory that the change rests on, beside what every new version does; ``because`` are other memories that
    it rests on, which must be live and tell what they told.
    """

    memory: str
    content: str
    reason: str
    stage: str | None = None
    attributes: Mapping[str, object] | None = None
    state: str | None = None
    rests_on: tuple[str, ...] = ()
    because: tuple[str, ...] = ()


def new_versions(
    snapshot: Snapshot, changes: Sequence[NewVersion], vectors: NDArray[np.floating] | None = None
) -> list[Mutation]:
    """One mutation a change, in their order; ``vectors`` (n, d) are those of the new texts.

    The memory has to be what the plan saw: its version, state, stage and whether it is pinned. Without ``vectors``, or where these do not
    fit the snapshot's model, a memory keeps its vector. Raises ``Refused`` for a memory that is retired, and for one that is named twice.
    Cost: a pass over memories and versions.
    """
    ids = [c.memory for c in changes]
    if len(set(ids)) != len(ids):
        raise Refused("A memory would get two new versions in one plan. Propose one of them.")
    more = {column for change in changes for column in change.rests_on}
    columns = sorted({"external_id", VERSION, *_GUARDED, *more})
    later = {id_ for change in changes for id_ in change.because}
    rows = rows_by_id(snapshot, "memories", [*ids, *sorted(later.difference(ids))], columns)
    ordinals = _ordinals(snapshot, ids)
    seen_versions = [str(v) for id_ in ids if (v := rows[id_][VERSION])]
    texts = {
        str(v["id"]): str(v["content"])
        for v in rows_where(snapshot, "memory_versions", "id", seen_versions, ("content",))
    }
    own = snapshot.vectors["memory_vectors"]
    fits = vectors is not None and (not len(own) or vectors.shape[1:] == own.matrix.shape[1:])
    places = own.rows_of(pa.array(ids, pa.string())) if fits and own.model else None
    mutations: list[Mutation] = []
    for n, change in enumerate(changes):
        seen = rows[change.memory]
        if seen["invalidated_at"] is not None:
            raise Refused(f"Memory {change.memory} is retired; only a live one gets a new version.")
        version = Insert(
            "memory_versions",
            {
                "memory_id": change.memory,
                "ordinal": ordinals.get(change.memory, 0) + 1,
                "content": change.content,
                "reason": change.reason,
            },
        )
        text = texts.get(str(seen[VERSION]))
        writes, guard = _cells(change, seen, beside=text is not None and own_text(text) == own_text(change.content))
        because = sorted({*change.because} - {change.memory})
        others = [Guard.on("memories", id_, rows[id_] | {TOLD: rows[id_][VERSION]}, _BECAUSE) for id_ in because]
        inserts = [version]
        if places is not None and vectors is not None:
            after = encode(np.asarray(vectors[n], np.float32))
            if places[n] < 0:
                inserts.append(Insert("memory_vectors", {"vector": after}, change.memory, own.model))
            elif (before := encode(own.matrix[places[n]])) != after:
                cell = Cell("memory_vectors", change.memory, "vector", own.model)
                writes.append(Write(cell, "set", before, after))
        external = seen["external_id"]
        mutations.append(
            Mutation(
                "new_version",
                "memories",
                writes=tuple(writes),
                guards=(guard, *others),
                inserts=tuple(inserts),
                rows=(Row(change.memory, None if external is None else str(external)),),
            )
        )
    return mutations


def _cells(change: NewVersion, seen: Fields, *, beside: bool) -> tuple[list[Write], Guard]:
    """The memory's own cells: those that change, and those that must stand; with ``beside`` what it tells is among these."""

    def cell(column: str) -> Cell:
        return Cell("memories", change.memory, column)

    wanted: dict[str, Value] = {"stage": change.stage, "state": change.state}
    if change.attributes is not None:
        wanted["attributes"] = canonical_json(change.attributes)
    changed = {c: v for c, v in wanted.items() if v is not None and v != seen[c]}
    writes = [
        Write(cell(VERSION), "row", seen[VERSION], 0),
        *(Write(cell(c), "set", seen[c], v) for c, v in sorted(changed.items())),
    ]
    rests_on = dict.fromkeys((*_GUARDED, *change.rests_on))
    if change.attributes is None and "attributes" not in change.rests_on:
        del rests_on["attributes"]
    stay = [c for c in rests_on if c not in changed and c != VERSION]
    return writes, Guard.on("memories", change.memory, seen | {TOLD: seen[VERSION]}, [*stay, TOLD] if beside else stay)


def _ordinals(snapshot: Snapshot, ids: Sequence[str]) -> dict[str, int]:
    """Memory → the last ordinal of its versions."""
    versions = snapshot.table("memory_versions")
    mine = versions.filter(pc.is_in(versions["memory_id"], value_set=pa.array(sorted(ids), pa.string())))
    last = mine.group_by("memory_id").aggregate([("ordinal", "max")])
    return dict(zip(last["memory_id"].to_pylist(), last["ordinal_max"].to_pylist(), strict=True))

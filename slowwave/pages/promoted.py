"""What is promoted, best first: live promotions of memories that recall can find, each with the memory's words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.rows.memories import version_texts
from slowwave.snapshots.snapshot import Snapshot

_HOPS: Final = 16  # merges of a promoted memory that are followed
_HITS: Final = ("hits", "recalls", "recall_count")
_DAYS: Final = ("days", "unique_days", "distinct_days")


@dataclass(frozen=True, slots=True)
class Promoted:
    """One promoted memory; of its scores those that are on record."""

    memory: str
    text: str
    subject: str
    kind: str
    score: float | None
    hits: int | None
    days: int | None


def promoted(snapshot: Snapshot) -> list[Promoted]:
    """Promotions live at the snapshot's instant, the best score first, then the newest, then by id; one a memory, the newest.

    A promoted memory that was merged stands for its survivor. Left out is what recall cannot find and what has another ring by now.
    Cost: a pass over memories and versions, and the number of promotions.
    """
    rows = snapshot.live("promotions").select(["memory_id", "to_ring", "scores", "recorded_at"])
    rows = rows.filter(pc.less_equal(rows["recorded_at"], pa.scalar(snapshot.taken_at, pa.timestamp("us", "UTC"))))
    rows = rows.sort_by([("recorded_at", "descending"), ("memory_id", "ascending")])
    if not len(rows):
        return []
    survivors = _survivors(snapshot, rows["memory_id"].unique().to_pylist())
    live = snapshot.live("memories")
    live = live.filter(
        pc.and_(pc.equal(live["state"], "active"), pc.is_in(live["id"], pa.array(survivors.values(), pa.string())))
    )
    texts = version_texts(snapshot, live["current_version_id"]).to_pylist()
    columns = (live[name].to_pylist() for name in ("id", "ring", "subject", "kind"))
    known = {id_: (ring, subject, kind, text) for id_, ring, subject, kind, text in zip(*columns, texts, strict=True)}
    found: dict[str, Promoted] = {}
    for row in rows.to_pylist():
        memory = survivors.get(row["memory_id"], "")
        if memory in found or memory not in known:
            continue
        ring, subject, kind, text = known[memory]
        if text.strip() and (ring == row["to_ring"] or memory != row["memory_id"]):
            found[memory] = Promoted(memory, text, subject, kind, *figures(row["scores"]))
    return sorted(found.values(), key=lambda p: -(p.score or 0.0))  # stable: the newest first among equals


def figures(scores: object) -> tuple[float | None, int | None, int | None]:
    """Score, hits and distinct days of a promotion's ``scores``, JSON; None for what they do not tell."""
    try:
        parts: object = json.loads(str(scores))
    except (ValueError, RecursionError):  # an agent may have written them, in any depth
        parts = None
    known: Mapping[str, object] = parts if isinstance(parts, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    score, hits, days = _number(known, ("score",)), _number(known, _HITS), _number(known, _DAYS)
    return score, None if hits is None else int(hits), None if days is None else int(days)


def in_brackets(score: float | None, hits: int | None, days: int | None) -> str:
    """Figures as a line shows them (nexo 3.3), empty where there are none."""
    parts = [f"score={score:.2f}"] if score is not None else []
    parts += [f"hits={hits}"] if hits is not None else []
    parts += [f"days={days}"] if days is not None else []
    return f" _({', '.join(parts)})_" if parts else ""


def _number(parts: Mapping[str, object], names: tuple[str, ...]) -> float | None:
    for name in names:
        value = parts.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e9:
            return float(value)
    return None


def _survivors(snapshot: Snapshot, ids: list[str]) -> dict[str, str]:
    """Promoted memory → the one that stands for it, itself where nothing absorbed it."""
    memories = snapshot.table("memories").select(["id", "merged_into"])
    merged = memories.filter(pc.is_valid(memories["merged_into"]))
    into = dict(zip(merged["id"].to_pylist(), merged["merged_into"].to_pylist(), strict=True))

    def last(memory: str) -> str:
        for _ in range(_HOPS):
            if memory not in into:
                break
            memory = into[memory]
        return memory

    return {id_: last(id_) for id_ in ids}

"""``archive_stale``: memories that are no longer used leave recall; they stay in the store, with all their content.

The planner archives active memories by the policy of the settings, never before ``min_age_hours``.

``stale`` (mnemo 2.4): never read, and with an effective importance below ``effective_importance``. ``natural_selection`` (Plugged.in 1.4,
where such rows were deleted): with a relevance below ``relevance_floor``, or beyond the ``ring_cap`` best of its ring. In both cases the
memory must have had a chance to be recalled: recalls were logged in the namespace for ``min_age_hours`` after the memory arrived. Exempt
memories (``slowwave.snapshots.rows``), memories recalled or selected in the recall window, promoted ones (the promotion is revoked
first), and those in an unresolved conflict are left alone. Cost: a pass over memories, versions and the model, a sort by relevance, and a
lookup for what is archived.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.changes.cells import Value
from slowwave.changes.rows import set_columns
from slowwave.operations import Inputs, Proposal
from slowwave.operations.options import ArchiveStaleOptions
from slowwave.operations.rejections import open_conflicts, rejected_subjects
from slowwave.operations.scoring import Bools, RelevanceScores, worth
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Finding, Report
from slowwave.snapshots.memories import version_texts
from slowwave.snapshots.rows import RESTS_ON
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.quotation import quote

OPERATION: Final = "archive_stale"
_RESTS_ON: Final = (*RESTS_ON, "importance", "last_accessed_at", "valid_from")
"""Columns that determine a memory's worth, and the text that the approver reads. Counters are not guarded, because each recall changes
them; the time of the last read is: a memory that was read after the plan is not stale."""

_UNOBSERVED: Final = "without a chance to be recalled"
_QUOTED: Final = 200  # characters


def archive_stale(inputs: Inputs) -> Proposal:
    """Propose to archive memories that are no longer used: they leave recall and stay in the store."""
    snapshot, settings = inputs.snapshot, inputs.settings
    chosen = _choose(inputs)
    found = chosen.found
    numbers: dict[str, int | float] = {
        "active memories": len(found.memories),
        "that do not fade": int((~_fading(found)).sum()),
        "worth little": chosen.worthless,
        **chosen.kept,
    }
    items = _items(snapshot, found, chosen.rows, settings)
    numbers["items"] = len(items)
    options = settings.options("archive_stale", ArchiveStaleOptions)
    return Proposal(
        tuple(items),
        Report(
            OPERATION,
            f"{len(items):,} of {len(found.memories):,} active memories would be archived ({options.policy}).",
            numbers=numbers,
            findings=(*_unobserved(chosen.kept[_UNOBSERVED], settings), *_pinned(found, settings)),
        ),
    )


def leaving(inputs: Inputs) -> frozenset[str]:
    """Return the ids of the memories that a night with this operation would archive, without rejected ones."""
    chosen = _choose(inputs)
    # The night leaves rejected items out of the plan, and ``decay_transition`` shortens their memories instead.
    refused = rejected_subjects(inputs.snapshot, OPERATION)
    if not refused:
        return frozenset(chosen.found.memories["id"].take(pa.array(chosen.rows, pa.int64())).to_pylist())
    items = _items(inputs.snapshot, chosen.found, chosen.rows, inputs.settings)
    return frozenset(i.mutation.rows[0].id for i in items if i.subject() not in refused)


class _Chosen(NamedTuple):
    """Active memories, how many of them are worth little, how many of these are kept and why, and the rows of the others."""

    found: RelevanceScores
    worthless: int
    kept: dict[str, int]
    rows: list[int]


def _choose(inputs: Inputs) -> _Chosen:
    snapshot, settings = inputs.snapshot, inputs.settings
    found = worth(snapshot, settings)
    ids = found.memories["id"]
    options = settings.options("archive_stale", ArchiveStaleOptions)
    natural = options.policy == "natural_selection"
    worthless = _least_relevant(found, settings) if natural else _stale(found, settings)
    reasons = {
        "too young": found.age_hours < options.min_age_hours,
        _UNOBSERVED: found.is_unobserved(settings),
        "recalled in the window": _among(ids, inputs.models["recall_signals"]["row_id"]),
        "promoted": _among(ids, snapshot.live("promotions")["memory_id"]),
        "in an open conflict": _among(ids, pa.array(_disputed(snapshot), pa.string())),
    }
    left, kept = worthless.copy(), dict[str, int]()
    for name, kept_back in reasons.items():
        kept[name] = int((left & kept_back).sum())
        left &= ~kept_back
    return _Chosen(found, int(worthless.sum()), kept, np.flatnonzero(left).tolist())


def _stale(found: RelevanceScores, settings: Settings) -> Bools:
    unread = found.memories["access_count"].to_numpy() == 0
    options = settings.options("archive_stale", ArchiveStaleOptions)
    return _fading(found) & unread & (found.importance < options.effective_importance)


def _least_relevant(found: RelevanceScores, settings: Settings) -> Bools:
    """Return the memories below the floor or ranked beyond the cap of their ring; exempt memories neither count nor qualify."""
    fading = _fading(found)
    rings = found.memories["ring"].combine_chunks().dictionary_encode().indices.to_numpy()
    order = np.lexsort((np.arange(len(rings)), -found.relevance, ~fading, rings))  # equals: the smaller id stays
    ring = rings[order]
    first = np.searchsorted(ring, ring)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - first
    options = settings.options("archive_stale", ArchiveStaleOptions)
    return fading & ((found.relevance < options.relevance_floor) | (rank >= options.ring_cap))


def _fading(found: RelevanceScores) -> Bools:
    return pc.equal(found.exempt, "").to_numpy(zero_copy_only=False)


def _among(ids: pa.ChunkedArray, known: pa.ChunkedArray | pa.Array) -> Bools:
    values = known.combine_chunks() if isinstance(known, pa.ChunkedArray) else known
    return pc.is_in(ids, value_set=values).to_numpy()


def _disputed(snapshot: Snapshot) -> list[str]:
    return sorted({id_ for pair in open_conflicts(snapshot, "memories") for id_ in pair})


def _items(snapshot: Snapshot, found: RelevanceScores, rows: list[int], settings: Settings) -> list[Item]:
    """Return one item per memory, which depends on everything that determines its worth except counters."""
    picked = found.memories.take(pa.array(rows, pa.int64()))
    ids = picked["id"].to_pylist()
    values: dict[str, dict[str, Value]] = {id_: {"state": "archived"} for id_ in ids}
    mutations = set_columns(snapshot, "set_state", "memories", values, _RESTS_ON)
    texts = version_texts(snapshot, picked["current_version_id"]).to_pylist()
    absorbed = _absorbed(snapshot)
    items: list[Item] = []
    for row, id_, text, ring, mutation in zip(rows, ids, texts, picked["ring"].to_pylist(), mutations, strict=True):
        stands_for = absorbed.get(id_, 0)
        evidence: dict[str, object] = {
            "names": [quote(text, _QUOTED)],
            "policy": settings.options("archive_stale", ArchiveStaleOptions).policy,
            "ring": ring,
            "age_hours": round(float(found.age_hours[row]), 1),
            "effective_importance": round(float(found.importance[row]), 4),
            "relevance": round(float(found.relevance[row]), 4),
            "stands_for": stands_for,
        }
        item = Item(OPERATION, Decision.ARCHIVE, mutation, evidence, risk="medium" if stands_for else "low")
        items.append(ask_unless_measured(item, "limits of the settings"))
    return items


def _absorbed(snapshot: Snapshot) -> dict[str, int]:
    """Map each memory to the number of others that were merged into it and that it represents in recall."""
    into = snapshot.table("memories")["merged_into"].drop_null()
    counts = pc.value_counts(into)
    return dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))


def _unobserved(kept: int, settings: Settings) -> tuple[Finding, ...]:
    """Report how many memories stay because they could not have been recalled, and what changes that."""
    if not kept:
        return ()
    options = settings.options("archive_stale", ArchiveStaleOptions)
    return (
        Finding(
            f"{kept:,} memories would be stale by their dates and stay: recalls were not logged for "
            f"{options.min_age_hours:g} hours after they arrived, so the missing recall says nothing. Let agents "
            "log their recalls; these memories are considered once that has gone on for so long."
        ),
    )


def _pinned(found: RelevanceScores, settings: Settings) -> tuple[Finding, ...]:
    """Return a finding about pinned memories that would be stale if they were not pinned."""
    pinned = pc.equal(found.exempt, "pinned").to_numpy(zero_copy_only=False)
    unread = found.memories["access_count"].to_numpy() == 0
    options = settings.options("archive_stale", ArchiveStaleOptions)
    old = found.age_hours >= options.min_age_hours
    stale = pinned & unread & old & (found.faded < options.effective_importance)
    if not stale.any():
        return ()
    rows = tuple(found.memories["id"].filter(pa.array(stale)).to_pylist())
    said = f"{len(rows):,} pinned memories were never read and would be stale. They stay while they are pinned."
    return (Finding(said, rows=rows),)

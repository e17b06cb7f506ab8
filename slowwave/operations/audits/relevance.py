"""Relevance: how the worth of memories is distributed over kinds and rings, and what does not fade.

The audit computes effective importance and relevance of every active memory, per kind and ring (``slowwave.operations.scoring``).

Percentiles are NumPy's, interpolated between two memories if necessary. The planner ``archive_stale`` applies its own rules to such
figures. Cost: a pass over memories and versions, and a sort per group.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.operations import Inputs
from slowwave.operations.options import ArchiveStaleOptions
from slowwave.operations.scoring import RelevanceScores, worth
from slowwave.plans.report import Bars, Finding, Report
from slowwave.snapshots.rows import EXEMPT
from slowwave.store.settings import Settings

_BUCKETS: Final = 10
_PERCENTILES: Final = (10, 50, 90)
_SHOWN: Final = 20  # groups in the table; the details hold them all


def relevance(inputs: Inputs) -> Report:
    """Report what memories are worth: effective importance, which fades with age, and relevance, which comes from use."""
    settings = inputs.settings
    found = worth(inputs.snapshot, settings)
    n = len(found.memories)
    limits = settings.options("archive_stale", ArchiveStaleOptions)
    faded = int((found.importance < limits.effective_importance).sum())
    low = int((found.relevance < limits.relevance_floor).sum())
    exempt = {f"exempt as {reason}": pc.sum(pc.equal(found.exempt, reason)).as_py() or 0 for reason in EXEMPT}
    groups = _groups(found)
    unobserved = int((_fading(found) & found.is_unobserved(settings)).sum())
    said = (
        f"{faded:,} of {n:,} active memories are below an effective importance of {limits.effective_importance:g}; "
        f"{sum(exempt.values()):,} do not fade."
    )
    return Report(
        "relevance",
        said,
        numbers={
            "active memories": n,
            **exempt,
            "below the effective importance": faded,
            "below the relevance": low,
            "never read": int((found.memories["access_count"].to_numpy() == 0).sum()),
            "without a chance to be recalled": unobserved,
            "groups": len(groups),
        },
        findings=_unobserved(unobserved, n, settings),
        table=tuple(groups[:_SHOWN]),
        plots=(_plot(found.importance),) if n else (),
        details={"groups": groups},
    )


def _groups(found: RelevanceScores) -> list[dict[str, object]]:
    """Return one row per kind and ring, the one with the most memories first."""
    keys = found.memories.select(["kind", "ring"]).append_column("row", pa.array(np.arange(len(found.memories))))
    rows = keys.group_by(["kind", "ring"], use_threads=False).aggregate([("row", "list")]).to_pylist()
    rows.sort(key=lambda r: (-len(r["row_list"]), r["kind"], r["ring"]))
    fading = _fading(found)
    groups: list[dict[str, object]] = []
    for row in rows:
        at = np.array(row["row_list"], np.int64)
        groups.append(
            {
                "kind": row["kind"],
                "ring": row["ring"],
                "memories": len(at),
                "exempt": int((~fading[at]).sum()),
                **_spread("importance", found.importance[at]),
                **_spread("relevance", found.relevance[at]),
            }
        )
    return groups


def _fading(found: RelevanceScores) -> NDArray[np.bool_]:
    return pc.equal(found.exempt, "").to_numpy(zero_copy_only=False)


def _unobserved(count: int, memories: int, settings: Settings) -> tuple[Finding, ...]:
    if not count:
        return ()
    options = settings.options("archive_stale", ArchiveStaleOptions)
    return (
        Finding(
            f"{count:,} of {memories:,} active memories had no chance to be recalled yet: recalls were not logged for "
            f"{options.min_age_hours:g} hours after they arrived. Their worth is counted from their dates alone, "
            "and `archive_stale` leaves them in recall."
        ),
    )


def _spread(name: str, values: NDArray[np.float64]) -> dict[str, float]:
    at = np.percentile(values, _PERCENTILES)
    return {f"{name} p{p}": round(float(v), 4) for p, v in zip(_PERCENTILES, at, strict=True)}


def _plot(importance: NDArray[np.float64]) -> Bars:
    counts, edges = np.histogram(importance, bins=_BUCKETS, range=(0.0, 1.0))
    labels = [f"{a:.1f} to {b:.1f}" for a, b in pairwise(edges.tolist())]
    return Bars("Memories by effective importance", labels, [float(c) for c in counts], own=True)

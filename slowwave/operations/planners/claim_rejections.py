"""Rejected claims: of a group that was rejected or undone before, its claims, though others have come to the group since.

A rejection remembers what a whole item said. What a group said then are its claims from sources that were there then: those up to some
instant at which a source was recorded. A source that has changed since was recorded anew, and may be claimed from again. Cost: nothing
where nothing was rejected; else a mutation for each instant at which a group grew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from slowwave.claims.planned_claims import planned_claims
from slowwave.config.settings import Settings
from slowwave.errors import Refused
from slowwave.operations.planners.claim_groups import PlannedGroup
from slowwave.operations.planners.rejections import rejected_subjects
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot


def without_rejected(
    snapshot: Snapshot, settings: Settings, operation: str, groups: Sequence[PlannedGroup]
) -> list[PlannedGroup]:
    """The groups without the claims that were rejected as a part of them, those of which nothing is left out."""
    rejected = rejected_subjects(snapshot, operation)
    if not rejected:
        return list(groups)
    documents = snapshot.table("documents")
    recorded: Mapping[str, datetime] = dict(
        zip(documents["id"].to_pylist(), documents["recorded_at"].to_pylist(), strict=True)
    )
    found = [_left(snapshot, settings, operation, group, recorded, rejected) for group in groups]
    return [group for group in found if group is not None]


def _left(
    snapshot: Snapshot,
    settings: Settings,
    operation: str,
    planned: PlannedGroup,
    recorded: Mapping[str, datetime],
    rejected: frozenset[str],
) -> PlannedGroup | None:
    claims = planned.group.claims
    came = [min(recorded[id_] for id_ in claim.documents) for claim in claims]
    parts = [[k for k, instant in enumerate(came) if instant <= until] for until in sorted(set(came))]
    subsets = [replace(planned.group, claims=tuple(claims[k] for k in part)) for part in parts]
    try:
        mutations = planned_claims(snapshot, settings, None, subsets)
    except Refused:  # said where it is planned
        return planned
    gone = {
        k
        for part, mutation in zip(parts, mutations, strict=True)
        if Item(operation, "write", mutation).subject() in rejected
        for k in part
    }
    if not gone:
        return planned
    kept = [k for k in range(len(claims)) if k not in gone]
    if not kept:
        return None
    group = replace(planned.group, claims=tuple(claims[k] for k in kept))
    return PlannedGroup(group, [planned.behind[k] for k in kept], planned.name, planned.confidence)

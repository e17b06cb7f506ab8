"""What the probes say of the items that are to be approved: those of the night where they are all, else their own.

A part of a plan is simulated on the snapshot on which the plan was made. What was approved of it before belongs to the part, so that
several approvals do not slip under a cap that one would exceed; what a person forced does not, as that was decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from slowwave.config.settings import Settings
from slowwave.errors import EmbeddingError, SnapshotError
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.seal import AS_OF
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Connection, Store

_FORCED: Final = """
SELECT unnest(a.item_ids)::text FROM night.approvals a WHERE a.plan_hash = %s AND a.forced AND NOT EXISTS (SELECT 1
  FROM night.revocations r WHERE r.approval_id = a.id)
"""
_SNAPSHOT: Final = "SELECT location FROM night.snapshots WHERE id = %s AND namespace_id = %s"


@dataclass(frozen=True, slots=True)
class Judgement:
    """``needs_force`` has a sentence for each probe that failed; ``record`` is kept with the approval, and quotes no memory."""

    needs_force: tuple[str, ...]
    record: Mapping[str, object] = field(default_factory=dict)


def judge(store: Store, connection: Connection, plan: StoredPlan, chosen: Sequence[StoredItem]) -> Judgement:
    """Judge the ``chosen`` items together with what is approved of the plan already.

    Where that is what the night proved, its verdict holds and nothing is simulated, and so it is of a plan of which nothing was proved.
    A part that cannot be judged, as the snapshot is no longer there or cannot be searched with the model of its night, needs force:
    that the whole passed says nothing of a part. Cost of a part: that of
    ``slowwave.probes.subset.prove_subset``, and the loading of the embedding model; ``connection`` is open meanwhile.
    """
    forced = _forced(connection, plan.plan_hash)
    accepted = [s for s in plan.items if s.status in ("approved", "applied") and s.id not in forced]
    together = {s.id for s in (*accepted, *chosen)}
    proved = {s.id for s in plan.items if s.status != "deferred" and s.decision != "review"}
    if together == proved or not plan.probes:
        return Judgement(_verdict(plan), {"of": "plan", "items": len(proved)})
    try:
        return _part(_snapshot(store, plan), plan, [s.item for s in plan.items if s.id in together])
    except (SnapshotError, EmbeddingError, OSError) as problem:
        why = (
            "These items could not be judged by themselves, and what the whole plan passed says nothing of a part: "
            f"{problem if not isinstance(problem, OSError) else 'the files of its snapshot cannot be read.'}"
        )
        return Judgement((*_verdict(plan), why), {"of": "nothing", "items": len(together), "why": why})


def _part(snapshot: Snapshot, plan: StoredPlan, items: Sequence[Item]) -> Judgement:
    from slowwave.language.embedder import embedder_for  # SciPy and models, which a whole plan's approval does without
    from slowwave.probes.subset import prove_subset

    limits = plan.probes.get("limits")
    settings = Settings.for_namespace({**snapshot.settings, **(limits if isinstance(limits, dict) else {})})
    embedder = embedder_for(settings)
    usable = snapshot.vectors["entity_vectors"].model in ("", embedder.model)
    proof = prove_subset(
        snapshot, items, settings, embedder.embed if usable else None, disclosed=disclosed_losses(plan)
    )
    return Judgement(proof.needs_force(), {"of": "items", "items": len(items), **proof.to_json()})


def _verdict(plan: StoredPlan) -> tuple[str, ...]:
    """Why the whole plan needs force; empty when it passed its probes."""
    failed = plan.summary.get("needs_force")
    return tuple(str(f) for f in failed) if isinstance(failed, list) else ()


def disclosed_losses(plan: StoredPlan) -> frozenset[tuple[str, str]]:
    """(row, term) of every loss that the plan shows whoever approves it."""
    probe = plan.probes.get("specifics")
    found = [loss for name in ("lost", "asked") for loss in probe.get(name) or ()] if isinstance(probe, dict) else []
    return frozenset((str(loss["row"]), str(loss["term"])) for loss in found)


def beyond_ordinary_caps(probes: Mapping[str, object]) -> bool:
    """Whether what the blast radius found touches more rows or tokens of a table or type than a plan may without housekeeping.

    ``probes`` is what a plan or a part of it was proved with, as stored; False where no radius was measured, True where it cannot be read.
    A policy approves nothing of what is beyond: the wider share of housekeeping is for what a person looks at.
    """
    found: Any = probes.get("blast_radius")
    if found is None:
        return False
    try:
        tables, types = found["per_table"].values(), found["per_type"].values()
        radii = (*tables, *(radius for of_table in types for radius in of_table.values()))
        return any(r["retired"] + r["reworded"] > r["allowed"] or r["lost_tokens"] > r["allowed_tokens"] for r in radii)
    except (AttributeError, KeyError, TypeError):
        return True


def _forced(connection: Connection, plan_hash: str) -> frozenset[str]:
    rows = connection.execute(
        _FORCED,
        (plan_hash,),
    )
    return frozenset(str(id_) for (id_,) in rows)


def _snapshot(store: Store, plan: StoredPlan) -> Snapshot:
    """The snapshot on which the plan was made. Raises ``SnapshotError``.

    A plan as of an instant is sealed under that instant, and notes its snapshot's id in the summary.
    """
    from slowwave.snapshots.files import database_base, load_listed_snapshot

    wanted = plan.header.snapshot_id
    if AS_OF in wanted:
        wanted = str(plan.summary.get("snapshot_id", ""))
    with store.connect("reader") as connection:
        row = connection.execute(
            _SNAPSHOT,
            (wanted, plan.header.namespace_id),
        ).fetchone()
    if row is None:
        raise SnapshotError(f"Snapshot {wanted[:64]} is not in the ledger.")
    snapshot = load_listed_snapshot(str(row[0]), plan.header.namespace, wanted, database_base(store))
    if snapshot.namespace_id != plan.header.namespace_id:
        raise SnapshotError(f"The files of snapshot {wanted[:64]} are those of another one.")
    return snapshot

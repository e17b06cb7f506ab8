"""The sensor ``decisions``: what was signed, applied or undone elsewhere (command line, review page, policy) is told to the lineage."""

import json
from datetime import UTC, datetime, timedelta
from typing import Final

import dagster as dg

from memory_assets.applied import APPLIED, applied_metadata
from memory_assets.approval import APPROVAL
from resources.store import STORE_PROBLEMS, error_text
from slowwave.plans.waiting import DecisionOnRecord, decisions_since
from slowwave.store.connect import Store

MOST: Final = 100
"""Events of one tick: the others follow with the next."""

_EVER: Final = "1970-01-01T00:00:00+00:00"

LOOK_BACK: Final = timedelta(minutes=10)
"""How much later than its instant a decision may be committed: those of this time are known by their names."""


@dg.sensor(
    name="decisions",
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Tells `night/approval` and `night/applied` what was signed, applied or undone outside of Dagster.",
)
def decisions(context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]) -> dg.SensorResult | dg.SkipReason:
    """Report each decision once. The sensor starts nothing."""
    cursor = json.loads(context.cursor) if context.cursor else {"at": _EVER, "known": {}}
    newest, known = datetime.fromisoformat(cursor["at"]), dict(cursor["known"])
    since = newest - LOOK_BACK if context.cursor else newest
    try:
        found = decisions_since(store, since, list(known), MOST)
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(error_text(problem))
    if not found:
        return dg.SkipReason("Nothing was decided elsewhere.")
    known |= {one.key: one.at.astimezone(UTC).isoformat() for one in found}
    newest = max(newest, *(one.at.astimezone(UTC) for one in found))
    kept = {key: at for key, at in known.items() if datetime.fromisoformat(at) >= newest - LOOK_BACK}
    return dg.SensorResult(
        asset_events=[_event(one) for one in found], cursor=json.dumps({"at": newest.isoformat(), "known": kept})
    )


def _event(one: DecisionOnRecord) -> dg.AssetMaterialization | dg.AssetObservation:
    counts = {name: n for name, n in one.counts.items() if isinstance(n, int)}
    if one.what == "approval":
        metadata = {
            "approval_id": one.id,
            "plan_hash": one.plan_hash,
            "approver": one.who,
            "channel": one.channel,
            **counts,
        }
        return dg.AssetMaterialization(APPROVAL, metadata=metadata, partition=one.namespace)
    if one.what == "applied":
        metadata = applied_metadata(one.namespace, one.id, one.plan_hash, counts)
        return dg.AssetMaterialization(APPLIED, metadata=metadata, partition=one.namespace)
    return dg.AssetObservation(APPLIED, metadata={"run_id": one.id, **counts}, partition=one.namespace)

"""``night/plan``: the sealed plan, with the page on which a person reads and approves it.

Sealing belongs to ``slowwave.night.night``, the page to ``slowwave.night.plan_page``.
"""

from typing import TYPE_CHECKING, Any, Final

import dagster as dg

from memory_assets.launchpad import approval_link, decisions
from memory_assets.metadata import table_metadata
from memory_assets.operations import models_among, operation_key, operations_of
from memory_assets.partitions import namespaces
from memory_assets.snapshot import PLAN
from resources.redaction import discreet, level_at
from resources.tables import mapped_snapshot
from slowwave.night.snapshot import Result, one_location
from slowwave.operations import AUDITS, PLANNERS, operations
from slowwave.plans.signatures import ApprovalRule, read_rule
from slowwave.snapshots.models import models_folder
from slowwave.store.connect import Store

if TYPE_CHECKING:
    from slowwave.night.plan_page import PlanPage


_LISTED: Final = 1_000
"""Items that the table holds, questions first: Dagster stores all of them with the event."""


def _keys() -> list[dg.AssetKey]:
    """Return the keys of all audits, planners and models. A new one becomes part of the plan by itself."""
    found = [operation_key(made) for made in operations().values()]
    return [*found, *(dg.AssetKey(["model", file.stem]) for file in sorted(models_folder().glob("*.sql")))]


@dg.asset(
    key=PLAN,
    ins={"_".join(key.path): dg.AssetIn(key) for key in _keys()},
    partitions_def=namespaces,
    group_name="gate",
    kinds={"python", "postgres"},
)
def plan(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store], **results: Result) -> dg.MaterializeResult:
    """Seal the night's plan under one hash and prove it before anyone sees it. It changes nothing.

    Conflicting items are deferred to the next night. The probes simulate the plan and check whether recall suffers, whether a statement
    would be lost, how much changes, and whether a second night would find more to do. **Approve N items, leave M questions open** opens
    the Launchpad: type your name and launch. The approved items are applied exactly, or not at all.
    """
    from slowwave.night.night import make_plan, read_inputs
    from slowwave.night.plan_page import page_of
    from slowwave.night.runs import at_work, emit_night, resume

    location, run = one_location(results), context.run
    level = level_at(location)
    with discreet(level):
        given = {name: result.value for name, result in results.items()}
        inputs = read_inputs(store, mapped_snapshot(location), models_among(given))
        run_id = resume(store, context.partition_key, run.run_id, parent_run_id=run.parent_run_id)
        reports = {name: given[f"audit_{name}"] for name in AUDITS}
        proposals = {name: given[f"plan_{name}"] for name in PLANNERS}
        ops = operations_of(context, inputs.settings)
        with at_work(store, run.run_id):
            night = make_plan(store, run_id, inputs, reports, proposals, ops=ops)
        emit_night(store, night, inputs, dagster_run_id=run.run_id)
        page = page_of(night, inputs.settings.plan_expiry_days, level)
        with store.connect("reader") as connection:
            rule = read_rule(connection, context.partition_key)
        return dg.MaterializeResult(metadata=plan_metadata(page, night.run_id, rule))


def plan_metadata(page: "PlanPage", run_id: str, rule: ApprovalRule | None = None) -> dict[str, Any]:
    """Return the metadata of a plan: the verdict with its link, the other decisions, then items, probes and the whole report."""
    from slowwave.night.plan_page import SIDES

    waits = page.state in ("awaiting_approval", "partly_approved")
    link = approval_link(page.namespace, page.plan_hash, force=bool(page.needs_force))
    return {
        "summary": dg.MetadataValue.md(page.summary(link)),
        **(decisions(page.namespace, page.plan_hash, force=bool(page.needs_force), rule=rule) if waits else {}),
        "probes": dg.MetadataValue.md(page.probes()),
        "report": dg.MetadataValue.md(page.markdown()),
        "plan_hash": page.plan_hash,
        "run_id": run_id,
        "new_items": page.new_items,
        "carried_items": page.carried_items,
        "deferred_items": len(page.deferred),
        "decided_items": page.decided_items,
        "questions": page.questions,
        **({"why": dg.MetadataValue.md(page.why())} if page.explained else {}),
        **({"items": table_metadata(page.items, _LISTED, SIDES)} if page.items else {}),
    }

"""The jobs that only read memory: a whole night, the audits again after a change, and the checks alone."""

from __future__ import annotations

import dagster as dg

_READING = dg.AssetSelection.groups("snapshot", "models", "audits")
_APPLIED = dg.AssetKey(["night", "applied"])
_FOLDERS = dg.AssetKey(["corpus", "folders"])
_CHECKS = dg.AssetSelection.checks_for_assets(_APPLIED)

night_job = dg.define_asset_job(
    "night_job",
    selection=_READING | dg.AssetSelection.groups("planners") | dg.AssetSelection.assets(["night", "plan"]),
    description="One night of one namespace: snapshot, models, audits, planners, sealed plan. It ends before the gate.",
)

reaudit_job = dg.define_asset_job(
    "reaudit_job",
    selection=_READING | _CHECKS,
    description="The audits again, on a new snapshot, with the checks of what was applied. Follows every apply and undo.",
)

checks_job = dg.define_asset_job(
    "checks_job",
    selection=_CHECKS | dg.AssetSelection.checks_for_assets(_FOLDERS),
    description="The invariants, the store's contract, and whether folders are synced and indexed, for all namespaces.",
)

freshness_job = dg.define_asset_job(
    "freshness_job",
    selection=dg.AssetSelection.checks(
        *(
            dg.AssetCheckKey(_APPLIED, name)
            for name in ("namespaces_are_audited", "plans_are_decided", "applies_change_something")
        )
    )
    | dg.AssetSelection.checks_for_assets(_FOLDERS),
    description="The freshness alarms, for all namespaces.",
)

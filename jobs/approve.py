"""``approve_plan``: the approval asset as a job, because the UI opens a prefilled Launchpad for jobs only."""

from __future__ import annotations

import dagster as dg

approve_plan = dg.define_asset_job(
    "approve_plan",
    selection=dg.AssetSelection.assets(["night", "approval"]),
    description="Sign a plan. Opened, filled in, by the link in the plan's summary.",
)

"""``night/status``: how all namespaces stand, as the page of a morning. It cannot be materialized; ``status_job`` reports it."""

from __future__ import annotations

from typing import Any, Final

import dagster as dg

from memory_assets.snapshot import PLAN
from slowwave.night.status import NamespaceStatus, words

STATUS: Final = dg.AssetKey(["night", "status"])

status = dg.AssetSpec(
    STATUS,
    deps=[PLAN],
    description="How every namespace stands: what waits for a person first, with its command. `status_job` looks each morning after the "
    "nights, and sends the page to a webhook where one is set. `slowwave status` is the same at any time.",
    group_name="gate",
    kinds={"markdown"},
)


def status_metadata(page: str, statuses: list[NamespaceStatus]) -> dict[str, Any]:
    """Return the status page without its heading, and the number of namespaces in each state.

    The UI shows the time of the page itself, and plots the numbers over time.
    """
    _, _, told = page.partition("\n\n")
    return {
        "status": dg.MetadataValue.md(told),
        "namespaces": len(statuses),
        "to_approve": sum(one.to_approve for one in statuses),
        "questions": sum(one.questions for one in statuses),
        **{word.replace(" ", "_").replace(",", ""): many for word, many in words(statuses).items()},
    }

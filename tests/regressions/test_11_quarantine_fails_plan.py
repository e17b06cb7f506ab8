"""Line 11: one quarantined secret held a whole plan back.

A memory with an access key in it had been recalled often. The night proposed to quarantine it, as it should, and the recall probe
then found that dozens of past queries no longer find it: the plan "may harm recall", and nothing of it could be approved without force.
That the secret is found no longer is the point of it: such rows are no targets, and the report says so.
"""

from __future__ import annotations

import pytest

from slowwave.night.night import run_night
from slowwave.store.connect import Store
from tests.memories import ago, ask, remember
from tests.permitting import approve
from tests.snapshots import uid

KEY = "AKIA" + "Z7QPL4MNT2RWX8VB"


@pytest.mark.parametrize("policy", ["quarantine", "redact"])
def test_a_secret_that_was_recalled_often_does_not_hold_the_plan_back(store: Store, policy: str) -> None:
    """30 of 40 queries selected it; the others still find what they found."""
    names = [f"note {n}" for n in range(10)]
    texts = {
        "secret": f"The deploy key of the shop is {KEY}.",
        **{n: f"The {n} says to water plant {n}." for n in names},
    }
    remember(
        store,
        "shop",
        {"operations": {"redact_or_quarantine": {"policy": policy}}},
        memories=[
            {"id": name, "kind": "semantic", "valid_from": ago(20), "current_version_id": f"{name} v"} for name in texts
        ],
        memory_versions=[{"id": f"{name} v", "memory_id": name, "content": text} for name, text in texts.items()],
        recall_events=[
            *(
                {
                    "id": f"asked {n}",
                    "query": KEY,
                    "selected_ids": ["secret"],
                    "occurred_at": ago(n / 9),
                }
                for n in range(30)
            ),
            *({"id": f"other {n}", "query": n, "selected_ids": [n], "occurred_at": ago(5)} for n in names),
        ],
    )
    night = run_night(store, "shop", ops="redact_or_quarantine")
    assert night.plan is not None
    assert [item.mutation.row_ids() for item in night.plan.items] == [(uid("secret"),)]
    signed = approve(store, "shop", night.plan.plan_hash, approver="mara")
    assert (len(signed.item_ids), signed.forced) == (1, False)
    assert night.probes is not None
    recall = night.probes.results["recall"]
    assert isinstance(recall, dict)
    assert (recall["queries"], recall["delta"], recall["withheld"]) == (10, 0.0, 1)
    assert any("1 recalled row that the plan quarantines, redacts or forgets" in s for s in night.probes.sentences)
    assert ask(store, "SELECT count(*) FROM night.approvals") == [(1,)]

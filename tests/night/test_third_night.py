"""A night after two whose items were all approved proposes nothing, at default settings and with every operation on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.operations import PLANNERS
from slowwave.store.connect import Store
from tests.memories import ago, recalls_of_nothing, remember
from tests.permitting import approve
from tests.toy import memories, toy

pytestmark = pytest.mark.usefixtures("every_rule_decides")
"""Which patterns may decide is tested in ``tests/plans/test_decides_alone.py``."""

SAID = (
    ("Mara Olsen lives in Oslo.", 60),
    ("Mara Olsen rang from Oslo.", 58),
    ("Mara Olsen rang from Oslo.", 55),
    ("Mara Olsen moved from Oslo to Bergen last week.", 50),
    ("The heating was checked. I drive a Fiat Panda.", 45),
    ("I had the Fiat Panda washed.", 44),
    ("I sold the Fiat Panda and bought a Kia Niro yesterday.", 40),
    ("Fabian gave up squash for cycling.", 39),
    ("Fabian won something in squash.", 43),
    ("Fabian does rowing now, no more cycling.", 30),
    ("Thank you so much!", 20),
    ("You're welcome! Have a nice day.", 20),
)
"""What ends, mentions of it told twice, a winner of a conflict that has a date, what ends and is ended in turn, and small talk."""


def rows() -> list[dict[str, Any]]:
    told = [
        {
            **{"id": f"told {n}", "external_id": f"told {n}", "kind": "episodic", "author": "user", "source": "import"},
            **{"session_id": f"told {days}", "valid_from": ago(days), "recorded_at": ago(days)},
            **{"current_version_id": f"told {n} text", "text": text},
        }
        for n, (text, days) in enumerate(SAID)
    ]
    return [*memories(), *told]


def planned(store: Store, day: int) -> set[str]:
    """The operations of a night's items, all of which are approved but the questions, and applied."""
    night = run_night(store, "toy", force=True, now=datetime.now(UTC) + timedelta(days=day))
    assert night.plan is not None
    items = [i for i in night.plan.items if i.decision != "review"]
    if items:
        failed = bool(night.probes and night.probes.needs_force)
        signed = approve(
            store, "toy", night.plan.plan_hash, approver="mara", force=failed, note="Looked at." if failed else ""
        )
        done = apply_approval(store, signed.id).counts
        assert (done["applied"], done["skipped_stale"], done["failed"]) == (len(items), 0, 0)
    return {i.operation for i in items}


@pytest.mark.usefixtures("every_rule_decides")
@pytest.mark.parametrize("every", [False, True])
def test_a_third_night_is_empty(store: Store, every: bool) -> None:
    """What waits for another item of its row is done in the second night; two operations follow the age of a memory, later as well."""
    switches = {name: {"enabled": True} for name in PLANNERS} if every else {}
    toy(store, "toy", rows(), operations=switches)
    remember(store, "toy", recall_events=recalls_of_nothing("toy", 20))
    first, second, *later = (planned(store, day) for day in range(4))
    expected = {"absolutize_dates", "archive_small_talk", "dedupe_memories", "promote_memories", "resolve_conflicts"}
    assert expected | {"consolidate_clusters" if every else "mark_ended_statements"} <= first
    assert {"compile_pages", "archive_stale" if every else "dedupe_memories"} <= second
    ageing = {"archive_stale", "decay_transition", "compile_pages"} if every else set()
    assert set().union(*later) <= ageing

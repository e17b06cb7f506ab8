"""Housekeeping beyond the cap waits: a chatty store is tidied over some nights, none of which takes force."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.plans.gate import revoke
from slowwave.store.connect import Store
from tests.memories import ago, ask, remember
from tests.permitting import accept_operations, approve, decide_by_policies

TALK = 24
FACTS = 26


@pytest.mark.usefixtures("every_rule_decides")  # small talk alone is a question otherwise
def test_a_chatty_store_is_tidied_over_some_nights_without_force_and_by_no_policy(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """24 of 50 memories are small talk: fifteen are archived the first night, the oldest, nine the second, and the third finds nothing.

    Without housekeeping five might be, so both plans wait for a person, and what a policy has signed of them all the same is not applied.
    """
    said = [f"Thank you so much{'!' * n}" for n in range(1, TALK + 1)]
    told = [f"Room {100 + n} has {n + 2} windows." for n in range(FACTS)]
    rows = {f"m{n:02}": (text, ago(300 - n)) for n, text in enumerate((*said, *told))}
    remember(
        store,
        "agent",
        {"blast_radius_share": 0.02, "blast_radius_rows": 5},
        memories=[
            {"id": name, "kind": "episodic", "valid_from": start, "current_version_id": f"{name} v"}
            for name, (_, start) in rows.items()
        ],
        memory_versions=[{"id": f"{name} v", "memory_id": name, "content": text} for name, (text, _) in rows.items()],
    )
    accept_operations(store, "agent", ["archive_small_talk"], accepted_by="mara")
    archived: list[int] = []
    for _ in range(3):
        night = run_night(store, "agent", ops="archive_small_talk", now=datetime.now(UTC))
        assert night.plan is not None
        assert night.probes is not None
        assert not night.probes.needs_force
        if not night.plan.items:
            break
        archived.append(len(night.plan.items))
        if night.plan.deferred_items:
            assert night.probes.sentences[0] == (
                f"{len(night.plan.deferred_items)} items are left for a later night ({len(night.plan.deferred_items)} of "
                "archive_small_talk): the plan is at its limit for memories."
            )
            why = ask(store, "SELECT DISTINCT reason FROM night.plan_items WHERE status = 'deferred'")
            assert why == [
                ("The plan is at its limits: a later night does it, and searches find until then what they find now.",)
            ]
        assert decide_by_policies(store, "agent", night.plan.plan_hash).approvals == ()
        with monkeypatch.context() as unguarded:
            unguarded.setattr("slowwave.plans.gate.beyond_ordinary_caps", lambda _: False)
            unguarded.setattr("slowwave.plans.policies.beyond_ordinary_caps", lambda _: False)
            (signed,) = decide_by_policies(store, "agent", night.plan.plan_hash).approvals
        with pytest.raises(Refused, match="no policy may approve any of it"):
            apply_approval(store, signed.id)
        revoke(store, "agent", signed.id, revoked_by="mara", reason="it is too much")
        apply_approval(store, approve(store, "agent", night.plan.plan_hash, approver="mara").id)
    assert (archived, sum(archived)) == ([15, 9], TALK)


WAITS = "1 item is left for a later night (1 of compile_pages): it only lists what nights did, and is written with the next changes."


def approved(store: Store, **asked: str) -> tuple[list[str], tuple[str, ...]]:
    """Operations of one night's items, all approved and applied, and what it says where there are none."""
    night = run_night(store, "agent", force=True, **asked)
    assert night.plan is not None
    assert night.probes is not None
    assert night.probes.results["convergence"]["passed"]
    if night.plan.items:
        apply_approval(store, approve(store, "agent", night.plan.plan_hash, approver="mara").id)
    return sorted(i.operation for i in night.plan.items), night.why_nothing[-1:]


def test_a_page_of_nights_waits_for_one_that_does_something_else(store: Store) -> None:
    """The first night writes a date, the second does nothing, the third tells of the first beside what it does itself; asked for by name,
    the page is rendered at once.
    """

    def said(name: str, text: str) -> None:
        memory = {"id": name, "kind": "episodic", "valid_from": ago(40), "current_version_id": f"{name} v"}
        version = {"id": f"{name} v", "memory_id": name, "content": text}
        remember(store, "agent", memories=[memory], memory_versions=[version])

    def diary() -> list[str]:
        return [str(body) for (body,) in ask(store, "SELECT body FROM memory.pages WHERE path = 'DREAMS.md'")]

    said("a", "Mara met Jo yesterday.")
    assert approved(store) == (["absolutize_dates"], ())
    assert approved(store) == ([], (WAITS,))
    assert not diary()
    said("b", "Ida flew to Rome last week.")
    assert approved(store) == (["absolutize_dates", "compile_pages"], ())
    assert "1 memory rewritten by absolutize_dates" in diary()[0]
    assert approved(store) == ([], (WAITS,))
    assert approved(store, ops="compile_pages") == (["compile_pages"], ())
    assert "2 memories rewritten by absolutize_dates" in diary()[0]

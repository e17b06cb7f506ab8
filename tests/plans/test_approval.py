"""The conditions on which apply writes: an approval of that plan, a known approver, switches that are on, and intact events."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.plans.approval import event_chain, read_approval, refuse_withdrawn
from slowwave.plans.switches import KILL_SWITCH, read_switch, switch_apply
from slowwave.store.connect import Store
from tests.memories import behind_triggers
from tests.nights import new_world, write_a_plan
from tests.permitting import approve


def test_refuse_withdrawn_approval_of_another_plan_refuses(store: Store) -> None:
    """An approval holds for its own plan, whichever plan a caller asks for."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    signed = approve(store, world.slug, plan.plan_hash, approver="mara")
    with store.connect("applier") as connection:
        approval = read_approval(connection, signed.id)
        refuse_withdrawn(connection, approval)
        with pytest.raises(Refused, match=r"does not name plan f{12}\. Nothing more was applied"):
            refuse_withdrawn(connection, replace(approval, plan_hash="f" * 64))


@pytest.mark.parametrize("in_database", [False, True])
@pytest.mark.parametrize("in_environment", [False, True])
def test_switch_either_is_off_reports_apply_off(
    store: Store, monkeypatch: pytest.MonkeyPatch, in_database: bool, in_environment: bool
) -> None:
    monkeypatch.setenv(KILL_SWITCH, "1" if in_environment else "0")
    shown = switch_apply(store, on=not in_database, by="zoe", note="moving").to_json()
    names = {False: "on", True: "off"}
    assert (shown["database"], shown["environment"]) == (names[in_database], names[in_environment])
    assert shown["apply"] == names[in_database or in_environment]
    assert (shown["set_by"], shown["note"]) == ("zoe", "moving")


@pytest.mark.parametrize("by", ["", "z", "-- zoe"])
def test_switch_apply_invalid_name_changes_nothing(store: Store, by: str) -> None:
    with pytest.raises(Refused, match="must be named"):
        switch_apply(store, on=False, by=by)
    with store.connect("reader") as connection:
        assert not read_switch(connection).disabled


def test_event_chain_changed_event_names_it(store: Store) -> None:
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    applied = apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara").id).counts["applied"]
    with store.connect("reader") as connection:
        whole = event_chain(connection, world.slug)
    assert (whole.holds, whole.looked_at, whole.wrong) == (True, applied, 0)
    behind_triggers(store, "UPDATE night.memory_events SET payload_hash = 'x' WHERE sequence = 2")
    with store.connect("reader") as connection:
        broken = event_chain(connection, world.slug)
    assert (broken.holds, broken.wrong) == (False, 1)
    assert "Event 2 does not follow from the one before it" in broken.sentence

"""A declared identity from the setting to the applied merge: the second night plans nothing, and the merge is undone."""

from __future__ import annotations

import pytest

from slowwave.errors import SettingsError
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.operations.setting_names import change_settings
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.surfaces.api.plan import NightPlan
from tests.memories import ask, remember

LIVE = "SELECT name, attributes ->> 'email' FROM memory.entities WHERE invalidated_at IS NULL ORDER BY 1, 2"
KEY = "operations.dedupe_entities.identity"


@pytest.mark.slow
def test_equal_emails_merge_unasked_and_other_emails_stay_apart(store: Store) -> None:
    """The second night finds nothing to do, and undo restores the state before the first."""
    persons = [
        ("a", "Ann Lee", {"email": "Ann@acme.org"}),
        ("b", "A. L. Smith", {"email": "ann@acme.org "}),
        ("c", "Ann Lee", {"email": "ann.lee@bolt.org"}),
        ("d", "Bob Marsh", {"email": "info@acme.org"}),
    ]
    entities = [{"id": id_, "name": name, "entity_type": "person", "attributes": has} for id_, name, has in persons]
    remember(store, "acme", entities=entities)
    change_settings(store, "acme", {KEY: {"person": ["email"]}})
    before = digest(store, "acme")
    night = run_night(store, "acme", ops="dedupe_entities", force=True)
    assert night.plan is not None
    plan = NightPlan("acme", night.plan.plan_hash, store)
    (item,) = plan.items
    assert item.decision == "merge"
    run = apply_approval(store, plan.approve("mara").id).run_id
    assert len(ask(store, LIVE)) == 3
    again = run_night(store, "acme", ops="dedupe_entities", force=True)
    assert again.new_items == 0
    undo_run(store, run)
    assert digest(store, "acme") == before


def test_a_declaration_that_cannot_be_is_refused_when_it_is_set(store: Store) -> None:
    """An empty list or a bare text would otherwise declare nothing, and the next night would fail."""
    remember(store, "acme")
    for wrong in ({"person": []}, {"person": "email"}, ["email"], {"Person": ["email"], "person": ["phone"]}):
        with pytest.raises(SettingsError, match="identity"):
            change_settings(store, "acme", {KEY: wrong})
    assert change_settings(store, "acme", {KEY: {"person": ["email"]}})["operations"]

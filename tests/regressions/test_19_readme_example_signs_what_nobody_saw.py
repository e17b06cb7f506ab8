"""Line 19: the README's Python example signed a plan that nobody had seen.

It planned a dry-run, whose hash a person could look at, and then called ``dream(mode="apply", approver="me")``, which planned anew and
signed whatever came of it: another hash, which nobody was ever shown.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import slowwave
from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.dreamers import OPS, forgetful
from tests.memories import ask

ROOT = Path(__file__).parents[2]


def test_the_readmes_example_applies_the_plan_that_it_shows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block is run as it stands: the plan of its first line is signed and applied, and taken back exactly."""
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.owner)
    forgetful(store, "demo-harbor", 4)
    before = digest(store, "demo-harbor")
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - our own page
    ((first,),) = ask(store, "SELECT plan_hash FROM night.plans WHERE state <> 'empty' ORDER BY recorded_at LIMIT 1")
    assert ask(store, "SELECT plan_hash, approver FROM night.approvals") == [(first, "me")]
    assert ask(store, "SELECT plan_hash FROM night.applied") == [(first,)]
    assert digest(store, "demo-harbor") == before


def test_a_plan_that_may_not_be_approved_any_more_is_refused(store: Store) -> None:
    """Superseded, applied already, of nobody who signs, unknown, or narrowed: nothing is written."""
    slug = forgetful(store, rows=4)
    old = slowwave.dream(slug, store=store, ops=OPS).plan_hash
    forgetful(store, "other", 2)
    ask(store, "UPDATE memory.entities SET description = 'changed' WHERE name LIKE 'Part 000%%'")
    new = slowwave.dream(slug, store=store, ops=OPS).plan_hash
    ask(store, "UPDATE night.plans SET state = 'superseded' WHERE plan_hash = %s", old)
    before = digest(store, slug)
    for wrong in (
        {"plan_hash": old, "approver": "mara"},
        {"plan_hash": new},
        {"plan_hash": "0" * 12, "approver": "mara"},
        {"plan_hash": new, "approver": "mara", "ops": OPS},
        {"plan_hash": new, "approver": "mara", "mode": "dry-run"},
    ):
        with pytest.raises(Refused):
            slowwave.dream(slug, store=store, **{"mode": "apply", **wrong})  # type: ignore[arg-type]
    with pytest.raises(Refused):
        slowwave.dream("other", "apply", plan_hash=new, approver="mara", store=store)
    assert digest(store, slug) == before
    assert ask(store, "SELECT 1 FROM night.approvals") == []
    done = slowwave.dream(slug, "apply", plan_hash=new[:12], approver="mara", store=store)
    assert (done.state, done.plan_hash, len(done.apply_runs)) == ("completed", new, 1)
    assert len(ask(store, "SELECT 1 FROM night.plans")) == 2, "nothing was planned anew"
    with pytest.raises(Refused):
        slowwave.dream(slug, "apply", plan_hash=new, approver="mara", store=store)

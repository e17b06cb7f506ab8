"""``plan/compile_pages`` in a night: the tables that it declares are all that it needs, and the approved pages become files."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.store.connect import Store
from tests.dagster.project import project
from tests.memories import remember
from tests.permitting import approve
from tests.wiki.pages.notes import notes


def test_pages_from_the_night_to_the_file(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One night by name, approved and applied with a workspace of the environment; the night after has nothing to render."""
    remember(store, "acme", **notes("Tea is at four."))
    monkeypatch.setenv("SLOWWAVE_WORKSPACE_PATH", str(tmp_path / "w"))
    with project(store, "acme") as night:
        result = night.night("acme", operations="compile_pages")
        assert result.success
        assert night.metadata(result, "plan", "compile_pages")["items"].value == 2
        plan_hash = night.metadata(result, "night", "plan")["plan_hash"].value
        approval = approve(store, "acme", plan_hash, approver="mara")
        assert apply_approval(store, approval.id).counts["applied"] == 2
        assert "Tea is at four." in (tmp_path / "w" / "acme" / "MEMORY.md").read_text()
    again = run_night(store, "acme", ops="compile_pages")
    assert again.plan is not None
    assert (again.plan.items, again.plan.deferred) == ((), {})

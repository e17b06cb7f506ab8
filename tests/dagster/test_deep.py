"""The weekly deep pass in Dagster: asked for where it is on and due, and an escape fails its run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from slowwave.store.connect import Store
from slowwave.wiki.deep.loop import Tools
from tests.dagster.project import failure, project
from tests.memories import ask
from tests.wiki.deep.players import script
from tests.wiki.deep.worlds import SLUG, entry, world

SUNDAY = datetime(2026, 3, 1, 5, tzinfo=UTC)
DROP = [("edit", {"file": "memories/ferry.md", "old": entry("pier again"), "new": ""})]


def test_deep_a_schedule_asks_for_what_is_due_and_a_plan_waits(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Off by default; on, it is asked for once a Sunday, and a second one is too soon."""
    world(store, sessions=[f"Talk {n}." for n in range(5)])
    with project(store, SLUG) as weekly, script(DROP) as (_, server):
        monkeypatch.setenv("SLOWWAVE_WRITER_ENDPOINT", server.url)
        off = weekly.tick(SUNDAY, "weekly_deep")
        assert isinstance(off, dg.SkipReason)
        ask(
            store,
            "UPDATE memory.namespaces SET settings = jsonb_set(settings, '{operations,deep_pass,enabled}', 'true')",
        )
        requests = weekly.tick(SUNDAY, "weekly_deep")
        assert isinstance(requests, list)
        assert [(r.run_key, r.partition_key) for r in requests] == [(f"deep:2026-03-01:{SLUG}", SLUG)]
        assert weekly.run("deep_job", SLUG).success
        assert weekly.value("SELECT trigger || ' ' || state FROM night.runs") == "schedule awaiting_approval"
        again = weekly.tick(SUNDAY, "weekly_deep")
        assert isinstance(again, dg.SkipReason)
        assert "undecided" in (again.skip_message or "")
        assert weekly.run("deep_job", SLUG).success, "a closed gate is no failure"


def test_deep_an_escape_fails_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the words of the report."""
    world(store, sessions=[f"Talk {n}." for n in range(5)], enabled=True)

    def faulty(tools: Tools, folder: str = "") -> str:
        Path(tools.scratch.root.parent, "beside.md").write_text(folder)
        return ""

    monkeypatch.setattr(Tools, "_list", faulty)
    with project(store, SLUG) as weekly, script([("list", {})]) as (_, server):
        monkeypatch.setenv("SLOWWAVE_WRITER_ENDPOINT", server.url)
        result = weekly.run("deep_job", SLUG)
    assert not result.success
    assert "beside.md" in failure(result)

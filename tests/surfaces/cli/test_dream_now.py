"""``slowwave dream-now``: one word, and its exit code."""

from __future__ import annotations

import json

from slowwave.store.connect import Store
from tests.dreamers import OPS, dead_run, forgetful
from tests.memories import ask
from tests.surfaces.cli.conftest import Run


def test_every_exit_code(store: Store, run: Run) -> None:
    """0 done, waiting or skipped; 1 went wrong; 2 a rule said no, a lock among them."""
    slug = forgetful(store, rows=3, heartbeat_expiry_seconds=60)
    asked = ("dream-now", slug, "--reason", "because [bold]I say so[/]", "--ops", OPS)
    code, out, _ = run(*asked)
    assert (code, f"{slug}: awaiting_approval." in out) == (0, True)
    assert "reason: because [bold]I say so[/]" in out
    code, out, _ = run(*asked, "--mode", "apply", "--by", "mara", "--json")
    found = json.loads(out)
    assert (code, found["outcome"], found["counts"]) == (0, "completed", {"planned": 3, "applied": 3})
    assert "I say so" in run("runs", "status", found["run_id"])[1]
    assert "I say so" in run("history", slug)[1]
    dead_run(store, slug, "apply", "applying", 1)
    code, out, _ = run(*asked, "--wait", "0.1")
    assert (code, "locked" in out) == (2, True)
    ask(store, "DELETE FROM night.runs WHERE state = 'applying'")
    ask(store, "UPDATE memory.namespaces SET settings = '{\"enabled\": false}'")
    code, out, _ = run(*asked, "--json")
    assert (code, json.loads(out)["gate"]) == (0, "disabled")
    ask(store, 'UPDATE memory.namespaces SET settings = \'{"gate_min_hours": "often"}\'')
    code, out, _ = run(*asked)
    assert (code, "errored" in out) == (1, True)
    assert run("dream-now", "nobody", "--reason", "x")[0] == 2
    assert run("dream-now", slug, "--reason", "x", "--mode", "perhaps")[0] == 2
    assert run("dream-now", slug)[0] == 2, "a reason is asked for"


def test_a_night_as_of_an_instant(store: Store, run: Run) -> None:
    """The same instant on unchanged data is the same plan, whatever was planned in between; an instant is checked."""
    slug = forgetful(store, rows=3)
    shown = [
        json.loads(run("night", slug, "--ops", OPS, "--now", now, "--json")[1])
        for now in ("2027-01-01T03:00:00Z", "2027-01-02", "2027-01-02T01:00:00+01:00")
    ]
    assert shown[0]["plan_hash"] != shown[1]["plan_hash"] == shown[2]["plan_hash"]
    assert all(one["state"] == "awaiting_approval" for one in shown)
    assert run("night", slug, "--now", "someday")[0] == 2

"""``slowwave night``: its options and exit codes."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

import slowwave
from slowwave.store import claims
from slowwave.store.connect import Store
from tests.dreamers import OPS, dead_run, forgetful
from tests.memories import ask
from tests.snapshots import uid
from tests.surfaces.cli.conftest import Run


def planned(run: Run, *arguments: str) -> Any:
    """Return the JSON of a night of ``OPS``."""
    code, out, err = run("night", *arguments, "--ops", OPS, "--json")
    assert code == 0, err
    return json.loads(out)


def test_night_stores_the_reason_with_the_run(store: Store, run: Run) -> None:
    """The reason is shown as plain text; each night of ALL has it."""
    slugs = [forgetful(store, f"acme-{n}", rows=1) for n in range(2)]
    reason = "because [bold]I say so[/]"
    assert run("night", "ALL", "--ops", OPS, "--reason", reason)[0] == 0
    for slug in slugs:
        assert reason in run("runs", "list", slug)[1]
    assert reason in run("runs", "show", planned(run, slugs[0], "--reason", reason)["run_id"])[1]


def test_night_plans_only_rows_in_scope(store: Store, run: Run) -> None:
    """Instants with and without a time zone, entities, documents, and several namespaces."""
    slug = forgetful(store, rows=4)

    def items(*options: str) -> int:
        found = planned(run, slug, *options)
        return int(found["new_items"] + found["carried_items"])

    assert items("--since", "2000-01-01") == 4
    assert items("--until", "2000-01-01T00:00:00Z") == 0
    assert items("--entity", f"{uid(f'{slug} 1')}, {uid(f'{slug} 2')}") == 2
    assert items("--document", uid(f"{slug} letter")) == 4
    forgetful(store, "other", rows=4)
    code, out, _ = run("night", "ALL", "--ops", OPS, "--entity", uid(f"{slug} 1"), "--json")
    assert (code, [one["new_items"] + one["carried_items"] for one in json.loads(out)]) == (0, [1, 0])
    for wrong in ("yesterday", "0001-01-01T00:00:00+02:00"):
        assert run("night", slug, "--since", wrong)[0] == 2


def test_night_scope_runs_although_nothing_changed(store: Store, run: Run) -> None:
    """Without a scope the namespace is skipped."""
    slug = forgetful(store, rows=1)
    for _ in range(2):
        found = json.loads(run("night", slug, "--json")[1])
    assert "unchanged" in found["skipped"]
    assert json.loads(run("night", slug, "--since", "2000-01-01", "--json")[1])["skipped"] == ""


def test_night_as_of_an_instant_gives_the_same_plan(store: Store, run: Run) -> None:
    """The same instant on unchanged data gives the same plan, whatever was planned in between."""
    slug = forgetful(store, rows=3)
    shown = [
        planned(run, slug, "--now", now) for now in ("2027-01-01T03:00:00Z", "2027-01-02", "2027-01-02T01:00:00+01:00")
    ]
    assert shown[0]["plan_hash"] != shown[1]["plan_hash"] == shown[2]["plan_hash"]
    assert all(one["state"] == "awaiting_approval" for one in shown)
    assert run("night", slug, "--now", "someday")[0] == 2


def test_night_exit_code_is_2_when_refused_and_1_when_failed(store: Store, run: Run) -> None:
    """A single namespace that is refused; for ALL the exit code is 1, because other nights ended."""
    slug, other = forgetful(store, rows=2), forgetful(store, "other", rows=2)
    held = dead_run(store, slug, "plan", "planning", 1)
    for options in ((), ("--wait", "0.3")):
        code, _, err = run("night", slug, *options)
        assert (code, err.startswith(f"Refused: Run {held} is planning acme")) == (2, True)
    code, out, err = run("night", slug, "--json")
    assert (code, held in json.loads(out)["error"], held in err) == (2, True, True)
    code, out, err = run("night", "ALL", "--ops", OPS, "--json")
    assert (code, f"{slug}: Run {held} is planning" in err) == (1, True)
    assert [one["namespace"] for one in json.loads(out) if one.get("plan_hash")] == [other]
    assert run("night", "nobody")[0] == 2
    assert run("night", slug, "--ops", "lights")[0] == 2
    ask(store, "DELETE FROM night.runs")
    ask(store, 'UPDATE memory.namespaces SET settings = \'{"heartbeat_expiry_seconds": "often"}\'')
    assert run("night", slug)[0] == 1


def test_night_takes_over_a_run_whose_process_has_ended(store: Store, run: Run) -> None:
    slug = forgetful(store, rows=2, heartbeat_expiry_seconds=60)
    gone = dead_run(store, slug, "plan", "planning", 70)
    assert planned(run, slug)["state"] == "awaiting_approval"
    assert json.loads(run("runs", "show", gone, "--json")[1])["state"] == "crashed"


def test_night_waits_until_the_namespace_is_free(store: Store, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = forgetful(store, rows=2)
    held = dead_run(store, slug, "plan", "planning", 0)
    waits: list[float] = []

    def cancel_holder(seconds: float) -> None:
        waits.append(seconds)
        slowwave.dream_cancel(held, store=store)

    monkeypatch.setattr(claims, "time", SimpleNamespace(monotonic=time.monotonic, sleep=cancel_holder))
    assert planned(run, slug, "--wait", "300")["state"] == "awaiting_approval"
    assert len(waits) == 1

"""Dreams, runs, undo and switches as a person types them, with their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from slowwave.store.connect import Store
from tests.dreamers import OPS, STOPPING, dead_run, forgetful, go_on, process, wait_for
from tests.memories import ask
from tests.snapshots import uid
from tests.surfaces.cli.conftest import Run


def read(run: Run, *arguments: str) -> Any:
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_from_a_dry_run_to_an_undo(store: Store, run: Run) -> None:
    """dream → dream --mode apply → history → undo, in JSON and in words."""
    slug = forgetful(store, rows=4)
    before = run("digest", slug)[1]
    planned = read(run, "dream", slug, "--mode", "dry-run", "--ops", OPS)
    assert (planned["state"], planned["ops"][0]["planned"]) == ("awaiting_approval", 4)
    code, out, _ = run("dream", slug, "--ops", OPS)
    assert code == 0
    assert "plans approve acme" in out
    assert "op_not_requested" in out
    applied = read(run, "dream", slug, "--mode", "apply", "--ops", OPS, "--by", "mara")
    assert (applied["state"], applied["run"]["counts"]["applied"]) == ("completed", 4)
    assert run("digest", slug)[1] != before
    history = read(run, "history", slug)
    assert [r["mode"] for r in history] == ["apply", "plan", "plan", "plan"]
    assert history[0]["run_id"] == applied["run"]["run_id"]
    assert "4 applied" in run("history", slug, "--limit", "1")[1]
    status = read(run, "runs", "status", "last")
    assert (status["run_id"], status["items_done"], status["stuck"]) == (applied["run"]["run_id"], 4, False)
    ((item,),) = ask(store, "SELECT min(item_id::text) FROM night.journal")
    assert read(run, "undo", str(item))["items"] == [item]
    code, out, _ = run("undo", "last", "--operation", OPS)
    assert (code, "took back 3 items" in out) == (0, True)
    code, out, _ = run("undo", applied["run"]["run_id"])
    assert (code, "Nothing of run" in out) == (0, True)
    assert run("digest", slug)[1] == before


def test_every_option_of_the_scope(store: Store, run: Run) -> None:
    """Instants with and without a zone, entities, documents."""
    slug = forgetful(store, rows=4)

    def planned(*options: str) -> int:
        return read(run, "dream", slug, "--ops", OPS, *options)["ops"][0]["planned"]

    assert planned("--since", "2000-01-01") == 4
    assert planned("--until", "2000-01-01T00:00:00Z") == 0
    assert planned("--entity", f"{uid(f'{slug} 1')}, {uid(f'{slug} 2')}") == 2
    assert planned("--document", uid(f"{slug} letter")) == 4
    assert run("dream", slug, "--since", "yesterday")[0] == 2


def test_refusals_and_errors_have_their_exit_codes(store: Store, run: Run) -> None:
    """2: a rule said no. 1: something is wrong, or a person stopped it."""
    slug = forgetful(store, rows=2, heartbeat_expiry_seconds=60)
    held = dead_run(store, slug, "plan", "planning", 1)
    for arguments, sentence in [
        (("dream", slug), f"Run {held} is planning acme"),
        (("dream", slug, "--wait", "0.3"), f"Run {held} is planning acme"),
        (("dream", slug, "--resume-from", held), "is alive"),
        (("dream", slug, "--mode", "perhaps"), "no mode 'perhaps'"),
        (("dream", slug, "--force"), "needs a reason"),
        (("dream", "nobody"), "There is no namespace 'nobody'"),
        (("runs", "pause", "12345678"), "is no run"),
        (("switch", "apply", "off"), "must be named"),
        (("switch", "lights", "off"), "slowwave switch apply off --by NAME"),
        (("namespace", "show", "nobody"), "There is no namespace 'nobody'"),
    ]:
        code, _, err = run(*arguments)
        assert (code, sentence in err) == (2, True), (arguments, err)
    ask(store, "UPDATE night.runs SET heartbeat_at = now() - interval '70 seconds'")
    code, _, err = run("dream", slug, "--ops", OPS)
    assert (code, f"Run {held} (plan) holds acme" in err) == (1, True)
    assert run("dream", slug, "--ops", OPS, "--abandon")[0] == 0
    assert read(run, "runs", "status", held)["state"] == "crashed"


def test_pause_resume_and_cancel_reach_another_process(store: Store, run: Run, tmp_path: Path) -> None:
    """A run that another process does, steered from this one."""
    slug = forgetful(store, rows=30, batch_items=2)
    marker = tmp_path / "run"
    with process(store, STOPPING, slug, str(marker), "2") as running:
        run_id = wait_for(marker, running)
        assert "waits after its batch" in run("runs", "pause", run_id)[1]
        assert read(run, "runs", "status", run_id)["paused"] is True
        assert "goes on" in run("runs", "resume", run_id)[1]
        assert read(run, "runs", "status", run_id)["paused"] is False
        assert "stops after its batch" in run("runs", "cancel", run_id)[1]
        go_on(marker)
        assert running.wait(60) == 0
    assert read(run, "runs", "status", run_id)["state"] == "cancelled"
    assert read(run, "runs", "tail", slug)[0]["state"] == "cancelled"
    code, out, _ = run("dream", slug, "--resume-from", run_id)
    assert (code, "acme: completed" in out) == (0, True)


def test_runs_cancel_dead_frees_a_namespace_whose_run_is_dead(store: Store, run: Run) -> None:
    """The heartbeat is fresh, so a run that writes is otherwise only asked to stop."""
    slug = forgetful(store, rows=2)
    held = dead_run(store, slug, "apply", "applying", 1)
    code, _, err = run("dream", slug, "--ops", OPS)
    assert (code, "add --dead if its process is gone" in err) == (2, True)
    code, _, err = run("runs", "cancel")
    assert (code, "runs cancel --dead --namespace NAMESPACE" in err) == (2, True)
    assert "stops after its batch" in run("runs", "cancel", held)[1]
    code, out, _ = run("runs", "cancel", "--dead", "--namespace", slug)
    assert (code, f"Run {held} is cancelled." in out) == (0, True)
    assert run("dream", slug, "--ops", OPS)[0] == 0
    code, _, err = run("runs", "cancel", "--dead", "--namespace", slug)
    assert (code, f"No run holds {slug}" in err) == (2, True)


def test_the_switch_and_read_only_namespaces(store: Store, run: Run) -> None:
    """Off, shown, on; read-only, shown, writable."""
    slug = forgetful(store, rows=2)
    assert read(run, "switch")["apply"] == "on"
    assert "apply is off" in run("switch", "apply", "off", "--by", "zoe", "--note", "moving house")[1]
    code, _, err = run("dream", slug, "--mode", "apply", "--ops", OPS, "--by", "mara")
    assert (code, "moving house" in err) == (2, True)
    assert "zoe: moving house" in run("switch")[1]
    assert read(run, "switch", "apply", "on", "--by", "zoe")["apply"] == "on"
    assert read(run, "namespace", "set", slug, "--read-only")["read_only"] is True
    code, _, err = run("dream", slug, "--mode", "apply", "--ops", OPS, "--by", "mara")
    assert (code, "read-only" in err) == (2, True)
    assert "read-only: yes" in run("namespace", "show", slug)[1]
    assert read(run, "namespace", "set", slug, "--writable")["read_only"] is False
    assert read(run, "dream", slug, "--mode", "apply", "--ops", OPS, "--by", "mara")["state"] == "completed"

"""``apply``, ``undo``, ``history``, ``runs`` and ``switch`` with their exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from slowwave.store.connect import Store
from tests.dreamers import OPS, STOPPING, dead_run, forgetful, go_on, process, wait_for
from tests.memories import ask
from tests.surfaces.cli.conftest import Run


def read(run: Run, *arguments: str) -> Any:
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def approve_night(run: Run, slug: str) -> str:
    """Plan and approve the items of ``OPS``; return the plan's hash."""
    plan_hash = read(run, "night", slug, "--ops", OPS)["plan_hash"]
    assert run("plans", "approve", slug, plan_hash, "--by", "mara")[0] == 0
    return str(plan_hash)


def test_undo_of_items_operation_and_run_restores_the_digest(store: Store, run: Run) -> None:
    slug = forgetful(store, rows=4)
    before = run("namespace", "digest", slug)[1]
    code, out, _ = run("night", slug, "--ops", OPS)
    assert (code, "plans approve acme" in out) == (0, True)
    approve_night(run, slug)
    (applied,) = read(run, "apply", slug)
    assert (applied["state"], applied["counts"]["applied"]) == ("completed", 4)
    assert run("namespace", "digest", slug)[1] != before
    history = read(run, "runs", "list", slug)
    assert [r["mode"] for r in history] == ["apply", "plan", "plan"]
    assert history[0]["run_id"] == applied["run_id"]
    assert "4 applied" in run("runs", "list", slug, "--limit", "1")[1]
    status = read(run, "runs", "show", "last")
    assert (status["run_id"], status["items_done"], status["stuck"]) == (applied["run_id"], 4, False)
    shown = run("runs", "show", "last")[1]
    assert re.search(r"It changed 4 items of plan [0-9a-f]{12}, approved by \w+:\n", shown)
    assert len(re.findall(r"^  \S.*", shown.partition("It changed")[2].partition("Row by row")[0], re.MULTILINE)) == 4
    assert f"slowwave plans diff {slug} {applied['plan_hash'][:12]}" in shown
    ((item,),) = ask(store, "SELECT min(item_id::text) FROM night.journal")
    assert read(run, "undo", str(item))["items"] == [item]
    assert run("runs", "show", applied["run_id"])[1].count("(undone since)") == 1
    code, out, _ = run("undo", "last", "--operation", OPS)
    assert (code, "undid 3 items" in out) == (0, True)
    code, out, _ = run("undo", applied["run_id"])
    assert (code, "Nothing of run" in out) == (0, True)
    assert run("namespace", "digest", slug)[1] == before


def test_runs_of_all_namespaces_are_one_list_with_their_errors(store: Store, run: Run) -> None:
    """Newest first, with the namespace of each; a limit counts the runs of all."""
    for slug in ("acme", "beta"):
        forgetful(store, slug, rows=1)
        read(run, "night", slug, "--ops", OPS, "--reason", f"for {slug}")
    crashed = dead_run(store, "acme", "apply", "crashed", 0)
    ask(store, "UPDATE night.runs SET error = %s WHERE id = %s", "No space left on device.\n  Try again.", crashed)
    listed = read(run, "runs", "list", "ALL")
    assert [(one["namespace"], one["mode"]) for one in listed] == [
        ("acme", "apply"),
        ("beta", "plan"),
        ("acme", "plan"),
    ]
    assert [one["namespace"] for one in read(run, "runs", "list", "ALL", "--limit", "1", "--offset", "1")] == ["beta"]
    rows = {tuple(line.split()[:2]): line for line in run("runs", "list", "ALL")[1].splitlines() if "-" in line}
    assert "No space left on device.   Try again" in rows["acme", crashed]
    assert "for beta" in rows["beta", listed[1]["run_id"]]
    assert run("runs", "list", "acme")[1].count("beta") == 0
    assert run("runs", "list", "gamma")[0] == 2


def test_apply_all_applies_every_approval_although_one_fails(store: Store, run: Run) -> None:
    """What a person cancelled is left alone; a namespace that may not be written and one whose rows have changed stop no other."""
    assert run("apply", "ALL")[:2] == (0, "No approved item of any namespace is unapplied.\n")
    slugs = [forgetful(store, slug, rows=2) for slug in ("acme", "beta", "gamma", "held")]
    for slug in slugs:
        approve_night(run, slug)
    cancelled = dead_run(store, "held", "apply", "cancelled", 5)
    ask(
        store,
        "UPDATE night.runs r SET (plan_hash, approval_id) = (SELECT a.plan_hash, a.id FROM night.approvals a "
        "WHERE a.namespace_id = r.namespace_id) WHERE r.id = %s",
        cancelled,
    )
    assert run("namespace", "set", "beta", "--read-only")[0] == 0
    code, out, err = run("apply", "ALL")
    held = "held was left out. Another run holds it, or a person cancelled its run."
    assert (code, out.splitlines()[:2]) == (1, ["2 namespaces: 4 applied.", held])
    assert err.startswith("beta: ")
    applies = [(r["namespace"], r["became"]) for r in read(run, "runs", "list", "ALL") if r["mode"] == "apply"]
    assert {("acme", "completed"), ("gamma", "completed")} <= set(applies)
    code, out, _ = run("apply", "ALL", "--json")
    others = {one["namespace"]: set(one) - {"namespace"} for one in json.loads(out)}
    assert (code, others) == (1, {"beta": {"error"}, "held": {"left_out"}})
    (rest,) = read(run, "apply", "held")
    assert (rest["namespace"], rest["run_id"], rest["counts"]["applied"]) == ("held", cancelled, 2)
    assert "No approved item" not in run("apply", "ALL")[1], "one of beta is"


def test_apply_all_names_plans_that_lack_an_approval(store: Store, run: Run) -> None:
    """With the command of the second person; that is no failure."""
    slug = forgetful(store, rows=2)
    assert run("policies", "approvals", "--needed", "2", "--by", "root")[0] == 0
    approve_night(run, slug)
    code, out, _ = run("apply", "ALL")
    assert code == 0
    assert out.startswith(
        "acme was left out. Signed by mara, one more signature needed: `slowwave plans countersign acme"
    )


def test_pause_resume_and_cancel_control_a_run_of_another_process(store: Store, run: Run, tmp_path: Path) -> None:
    """After the cancellation, ``apply`` does the rest under the id of the cancelled run."""
    slug = forgetful(store, rows=30, batch_items=2)
    marker = tmp_path / "run"
    with process(store, STOPPING, slug, str(marker), "2") as running:
        run_id = wait_for(marker, running)
        assert "pauses after its batch" in run("runs", "pause", run_id)[1]
        assert read(run, "runs", "show", run_id)["paused"] is True
        assert "continues" in run("runs", "resume", run_id)[1]
        assert read(run, "runs", "show", run_id)["paused"] is False
        code, out, _ = run("runs", "cancel", run_id)
        assert (code, "stops after its batch" in out, "slowwave apply acme" in out) == (0, True, True)
        go_on(marker)
        assert running.wait(60) == 0
    assert read(run, "runs", "show", run_id)["state"] == "cancelled"
    assert read(run, "runs", "list", slug)[0]["state"] == "cancelled"
    (resumed,) = read(run, "apply", slug)
    assert (resumed["run_id"], resumed["state"], resumed["counts"]["applied"]) == (run_id, "completed", 30)


def test_apply_resumes_a_run_whose_process_has_ended(store: Store, run: Run, tmp_path: Path) -> None:
    """The heartbeat has expired; the batches that the killed process committed are not applied twice."""
    slug = forgetful(store, rows=12, batch_items=2, heartbeat_expiry_seconds=8)
    marker = tmp_path / "run"
    with process(store, STOPPING, slug, str(marker), "4") as running:
        run_id = wait_for(marker, running)
        running.kill()
        running.wait()
    code, _, err = run("apply", slug)
    assert (code, f"Run {run_id} is writing to acme" in err) == (2, True)
    ask(store, "UPDATE night.runs SET heartbeat_at = now() - interval '9 seconds' WHERE id = %s", run_id)
    (resumed,) = read(run, "apply", slug)
    assert (resumed["run_id"], resumed["state"], resumed["counts"]["applied"]) == (run_id, "completed", 12)
    assert ask(store, "SELECT count(*), count(DISTINCT item_id) FROM night.journal") == [(12, 12)]


def test_runs_cancel_names_the_command_for_the_rest(store: Store, run: Run) -> None:
    slug = forgetful(store, rows=2)
    for mode, state, command in (
        ("plan", "planning", "slowwave night acme"),
        ("deep", "planning", "slowwave night acme --deep"),
    ):
        held = dead_run(store, slug, mode, state, 1)
        assert run("runs", "cancel", held)[1].splitlines()[-1].strip() == command


def test_runs_cancel_dead_frees_a_namespace_whose_run_is_dead(store: Store, run: Run) -> None:
    """Without --dead a run that writes and whose heartbeat is fresh is only asked to stop."""
    slug = forgetful(store, rows=2)
    held = dead_run(store, slug, "apply", "applying", 1)
    code, _, err = run("night", slug, "--ops", OPS)
    assert (code, "add --dead if its process is gone" in err) == (2, True)
    code, _, err = run("runs", "cancel")
    assert (code, "runs cancel NAMESPACE --dead" in err) == (2, True)
    assert "stops after its batch" in run("runs", "cancel", held)[1]
    code, out, _ = run("runs", "cancel", slug, "--dead")
    assert (code, f"Run {held} is cancelled." in out) == (0, True)
    assert run("night", slug, "--ops", OPS)[0] == 0
    code, _, err = run("runs", "cancel", slug, "--dead")
    assert (code, f"No run holds {slug}" in err) == (2, True)


def test_runs_and_switches_refuse_unknown_names(store: Store, run: Run) -> None:
    slug = forgetful(store, rows=2)
    for arguments, sentence in [
        (("runs", "pause", "12345678"), "is no run"),
        (("switch", "apply", "off"), "must be named"),
        (("switch", "lights", "off"), "slowwave switch apply off --by NAME"),
        (("namespace", "show", "nobody"), "There is no namespace 'nobody'"),
        (("undo",), "slowwave undo NAMESPACE last"),
        (("undo", slug, "last", "now"), "unexpected extra argument"),
    ]:
        code, _, err = run(*arguments)
        assert (code, sentence in err) == (2, True), (arguments, err)


def test_apply_refuses_when_switched_off_or_read_only(store: Store, run: Run) -> None:
    """After both are reverted, the same approval is applied."""
    slug = forgetful(store, rows=2)
    approve_night(run, slug)
    assert read(run, "switch")["apply"] == "on"
    assert "apply is off" in run("switch", "apply", "off", "--by", "zoe", "--note", "moving house")[1]
    code, _, err = run("apply", slug)
    assert (code, "moving house" in err) == (2, True)
    assert "zoe: moving house" in run("switch")[1]
    assert read(run, "switch", "apply", "on", "--by", "zoe")["apply"] == "on"
    assert read(run, "namespace", "set", slug, "--read-only")["read_only"] is True
    code, _, err = run("apply", slug)
    assert (code, "read-only" in err) == (2, True)
    assert "read-only: yes" in run("namespace", "show", slug)[1]
    assert read(run, "namespace", "set", slug, "--writable")["read_only"] is False
    assert read(run, "apply", slug)[0]["state"] == "completed"

"""``slowwave night``: its options and exit codes."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import slowwave
from slowwave.plans.ledger import read_plan
from slowwave.store import claims
from slowwave.store.connect import Store
from tests.dreamers import OPS, dead_run, forgetful
from tests.memories import ago, ask, remember
from tests.permitting import accept_operations
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


MESSAGES = (
    "The Whitby lift was booked for 14 June by Mara Reyes.",
    "Noted: the Whitby lift is booked for 14 June.",
    "The crane in Rotterdam is rented until September.",
    "The Whitby lift was moved to 21 June.",
    "Mara Reyes lives in Oslo.",
    "Mara Reyes moved to Bergen yesterday.",
    "The gate code is 4417, do not tell anybody.",
    "Harbor Freight delivers the glovebox on Monday.",
    "The gate code is 5520 now.",
)


def test_night_prints_findings_in_ten_lines_and_the_rest_with_verbose(store: Store, run: Run, tmp_path: Path) -> None:
    """F24: a night of nine messages printed 43 lines, most of them "0 of 0 live facts were replaced"."""
    file = tmp_path / "messages.jsonl"
    rows = [
        {"namespace": "diary", "created_at": f"2026-05-0{n}T09:00:00Z", "role": "user", "content": text}
        for n, text in enumerate(MESSAGES, 1)
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    assert "added 1 namespace, 9 documents, 9 chunks, 9 memories" in run("import", "messages", str(file))[1]
    code, out, _ = run("night", "diary")
    lines = out.splitlines()
    assert (code, len(lines) <= 10) == (0, True), out
    assert re.match(r"diary: \d+ operations ran; --verbose shows each. \d+ audits found something.", lines[0])
    assert not re.search(r"\b0 of\b|Did not run|probe: ", out), out
    assert any(line.startswith("  safety_scan: ") for line in lines)
    assert re.search(r"Proposed: .*redact_or_quarantine 2 questions", out)
    plan = json.loads(run("plans", "show", "diary", "--json")[1])["plan_hash"][:12]
    assert f"Plan {plan} is awaiting approval" in out
    for command in (f"plans review diary {plan} --by YOUR-NAME", f"plans approve diary {plan} --by YOUR-NAME"):
        assert f"slowwave {command}" in out
    verbose = run("night", "diary", "--force", "--verbose")[1]
    assert len(verbose.splitlines()) > 40
    assert "diary: audits" in verbose
    assert "probe: " in verbose


def test_night_that_is_interrupted_changed_nothing(store: Store, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """F32: Ctrl-C printed nothing and the status was "night failed"."""
    slug = forgetful(store, rows=2)

    def press_ctrl_c(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("slowwave.night.night.make_plan", press_ctrl_c)
    code, out, err = run("night", slug, "--ops", OPS)
    assert (code, out, err) == (130, "", "Interrupted: nothing was changed.\n")
    (listed,) = json.loads(run("runs", "list", slug, "--json")[1])
    assert (listed["state"], listed["became"]) == ("crashed", "interrupted")
    assert "state: interrupted" in run("runs", "show", listed["run_id"])[1]
    assert json.loads(run("status", slug, "--json")[1])[0]["word"] == "interrupted"
    shown = run("status")[1]
    assert "was interrupted; nothing was changed." in shown
    assert f"slowwave night {slug}" in shown
    monkeypatch.undo()


def test_errors_with_json_are_json_on_standard_output(store: Store, run: Run) -> None:
    """C4: with --json an error printed text on standard error and nothing on standard output."""
    slug = forgetful(store, rows=1)
    for arguments, kind in (
        (("night", "nobody"), "refused"),
        (("plans", "show", slug), "refused"),
        (("apply", slug), "refused"),
        (("undo", slug, "last"), "refused"),
        (("runs", "show", "ffffffff"), "refused"),
    ):
        code, out, err = run(*arguments, "--json")
        found = json.loads(out)
        assert (code, found["kind"], found["exit_code"]) == (2, kind, 2), arguments
        assert found["error"] in " ".join(err.split())
        assert run(*arguments)[1] == ""


def test_night_requested_runs_only_the_namespaces_that_agents_named(store: Store, run: Run) -> None:
    """One namespace or ALL; if there is no request, nothing is done."""
    remember(store, "quiet")
    assert run("night", "ALL", "--requested")[1].strip() == "No agent requested a night."
    assert run("night", "quiet", "--requested", "--json")[1].count("no agent requested a night") == 1
    assert run("night", "nowhere", "--requested")[0] == 2
    for name in ("acme", "rival"):
        remember(store, name)
    ask(
        store,
        "INSERT INTO memory.night_requests (namespace_id) SELECT id FROM memory.namespaces WHERE slug <> 'quiet' RETURNING 1",
    )
    assert run("night", "ALL", "--requested")[0] == 0
    taken = "SELECT count(*) FROM night.runs r JOIN memory.night_requests q ON q.run_id = r.id AND q.namespace_id = r.namespace_id"
    assert (ask(store, taken), ask(store, "SELECT count(*) FROM night.runs")) == ([(2,)], [(2,)])
    assert run("night", "ALL", "--requested", "--json")[1].strip() == "[]"


def test_night_prints_warnings_of_planners_such_as_a_misspelt_identity(store: Store, run: Run) -> None:
    """A declaration that protects nothing must not be noticed in a report alone; without a warning nothing is printed."""
    named = [("a", "Ann Lee", {"email": "ann@acme.org"}), ("b", "Bob Marsh", {"email": "bob@acme.org"})]
    entities = [{"id": id_, "name": name, "entity_type": "person", "attributes": has} for id_, name, has in named]
    remember(store, "acme", entities=entities)
    key = "operations.dedupe_entities.identity"
    for identity, hints in (
        ({"person": ["email"]}, []),
        ({"person": ["emial"], "preson": ["email"]}, ["person", "email"]),
    ):
        assert run("namespace", "set", "acme", f"{key}={json.dumps(identity)}")[0] == 0
        code, out, err = run("night", "acme", "--ops", "dedupe_entities", "--force")
        assert code == 0, err
        assert sorted(re.findall(r"dedupe_entities: .* Did you mean (\w+)\?", out), reverse=True) == hints


def test_night_says_which_approvals_its_plan_supersedes(store: Store, run: Run) -> None:
    """Approved items that were not applied are counted for one namespace, in the totals of several, and as JSON."""
    slugs = [forgetful(store, name, rows=3) for name in ("acme", "beta")]

    def approve_and_add(*names: str) -> None:
        for name in names:
            shown = json.loads(run("plans", "show", name, "--json")[1])
            assert run("plans", "approve", name, shown["plan_hash"], "--by", "mara")[0] == 0
            added = {"id": f"more {shown['plan_hash']}", "entity_type": "tool", "name": shown["plan_hash"]}
            remember(store, name, entities=[{**added, "source_chunk_ids": ["gone"], "recorded_at": ago(1)}])

    first = json.loads(run("night", "ALL", "--json")[1])
    assert [one["lapsed_items"] for one in first] == [0, 0]
    lapsing = [one["decided_items"] for one in first]
    approve_and_add(*slugs)
    alone = " ".join(run("night", "acme")[1].split())
    assert f"{lapsing[0]} items of an earlier plan had been approved and not applied." in alone
    beta = json.loads(run("night", "beta", "--json")[1])
    assert (beta["lapsed_items"], beta["decided_items"] > lapsing[1]) == (lapsing[1], True)
    approve_and_add(*slugs)
    totals = " ".join(run("night", "ALL")[1].split())
    assert f"approved items of earlier plans, acme {beta['decided_items']}, beta {beta['decided_items']}." in totals
    assert "earlier plans" not in run("night", "ALL", "--force")[1], "nothing is approved now"
    accept_operations(store, "acme", [OPS], accepted_by="mara")
    with store.connect("reader") as connection:
        shown = read_plan(connection, json.loads(run("plans", "show", "acme", "--json")[1])["plan_hash"])
    others = [s for s in shown.items if s.item.operation != OPS and not s.item.is_question]
    approve_and_add("acme")
    again = json.loads(run("night", "acme", "--json")[1])
    assert (again["lapsed_items"], len(others) < len(shown.items)) == (len(others), True), (
        "a policy approved the rest again"
    )

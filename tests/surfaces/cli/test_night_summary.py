"""What nights of many namespaces came to, on one page."""

from __future__ import annotations

import json

import pytest

from slowwave.errors import DreamDisabledError
from slowwave.night.runs import Night
from slowwave.plans.report import Finding, Report
from slowwave.store.connect import Store
from slowwave.surfaces.cli import session
from slowwave.surfaces.cli.nights import NightTotals
from tests.bindings.clients import run_as_owner
from tests.bindings.collections import collection
from tests.surfaces.cli.conftest import Run


def test_many_namespaces_are_told_on_one_page(store: Store, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Totals, what audits found and planners propose, where most waits, who failed, and commands; all of it with --verbose or as JSON."""
    names = collection(store)
    run_as_owner(
        store, f"""UPDATE memory.namespaces SET settings = '{{"redact_text": "some"}}' WHERE slug = '{names[-1]}'"""
    )
    monkeypatch.setattr(session, "width_of", lambda _: 80)
    code, out, err = run("night", "ALL")
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "4 namespaces: 3 with a plan, 1 failed."
    assert len(lines) <= 20
    assert all(len(line) <= 80 for line in lines)
    planned = {n["namespace"]: n for n in json.loads(run("night", "ALL", "--force", "--json")[1]) if "items" in n}
    reviews = {name: sum(d.get("review", 0) for d in n["items"].values()) for name, n in planned.items()}
    table = [line.split() for line in lines if line.startswith("mem0-")]
    assert [(row[0], int(row[1])) for row in table] == sorted(reviews.items(), key=lambda p: (-p[1], p[0]))
    assert {row[0]: int(row[1]) + int(row[2]) for row in table} == {
        name: sum(sum(d.values()) for d in n["items"].values()) for name, n in planned.items()
    }
    assert f"slowwave plans show {table[0][0]}" in out
    assert lines[lines.index(f"  slowwave plans show {table[0][0]}") + 1] == "  slowwave review --by YOUR-NAME"
    shown = {row[0]: json.loads(run("plans", "show", row[0], "--json")[1])["plan_hash"] for row in table}
    carried = run("night", "ALL", "--force", "--ops", "resolve_conflicts")[1].splitlines()
    waits = {line.split()[0]: line.split()[3] for line in carried if line.startswith("mem0-")}
    assert waits == {name: hash_[:12] for name, hash_ in shown.items()}, "in the plan before"
    alone = run("night", names[0], "--force", "--ops", "resolve_conflicts")[1]
    assert ("nothing new: " in alone, "nothing new: resolve_conflicts" in alone) == (True, False), "its table says it"
    assert f"plans review {names[0]} {shown[names[0]][:12]}" in alone, "what waits in the plan before"
    assert err.startswith(f"{names[-1]}: The setting redact_text cannot be 'some'")
    verbose = run("night", "ALL", "--force", "--verbose", "--jobs", "2")[1]
    assert all(f"{name}: audits" in verbose for name in planned)
    assert run("night", "ALL")[1].startswith("4 namespaces: 0 with a plan, 3 unchanged, 1 failed.")
    code, _, err = run("namespace", "set", names[0], "enabled=false")
    assert code == 0, err
    assert run("night", "ALL")[1].startswith(
        "4 namespaces: 0 with a plan, 2 unchanged, 1 whose nights are off, 1 failed."
    )
    assert run("namespace", "set", names[0], "--remove", "enabled")[0] == 0
    assert run("connect", "remove", "mem0")[0] == 0
    gone = run("night", "ALL")[1]
    assert " ".join(gone.split()).startswith(
        "3 namespaces: 0 with a plan, 3 of stores that were removed and are not read."
    )
    assert "slowwave connect --help" in gone
    assert "unchanged" not in gone


def test_the_page_does_not_grow_with_the_namespaces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Thousands of users, all of them with findings and held back, are a few lines."""
    monkeypatch.setattr(session, "width_of", lambda _: 80)
    summary = NightTotals()
    for n in range(3_000):
        report = Report("safety_scan", "Two.", findings=(Finding("A secret."), Finding("Another.")))
        summary.add(Night(f"user-{n}", reports={"safety_scan": report}, held_back=(2, "It is connected to be read.")))
    summary.show(lambda _: None)
    said = capsys.readouterr().out
    assert "3,000 namespaces: 0 with a plan, 3,000 whose proposals are not planned." in said
    assert "Found by audits: safety_scan 6,000." in said
    assert "6,000 proposals are not planned. It is connected to be read." in said
    assert len(said.splitlines()) <= 12


def test_those_that_failed_of_the_same_are_named_together(capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, with the names; a name inside of another word is not taken for it."""
    alike = [(f"user-{n}", DreamDisabledError(f"Nights are off in user-{n}: ask.")) for n in range(12)]
    session.show_failures([*alike, ("a", DreamDisabledError("a is away."))])
    said = " ".join(capsys.readouterr().err.split())
    named = ", ".join(f"user-{n}" for n in range(session.LISTED))
    assert said == f"{named} and 2 more; of the first: Nights are off in user-0: ask. a: a is away."

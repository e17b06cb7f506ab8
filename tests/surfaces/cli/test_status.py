"""``slowwave status``: a line a namespace, the same as JSON, and as the morning's page."""

from __future__ import annotations

import json
import re

import pytest

from slowwave.errors import INTERRUPTED
from slowwave.plans.status import read_status
from slowwave.plans.switches import KILL_SWITCH
from slowwave.store.connect import Store
from slowwave.surfaces.cli import session
from tests.memories import ask, remember
from tests.nights import new_world, write_a_plan
from tests.surfaces.cli.conftest import Run
from tests.toy import toy


def test_a_line_a_namespace_at_eighty_columns(store: Store, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits, and the command that shows it."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    remember(store, "quiet", memories=[])
    monkeypatch.setattr(session.out, "_width", 80)
    monkeypatch.setattr(session.out, "_force_terminal", True)
    out = run("status")[1]
    (line,) = [line for line in out.splitlines() if line.startswith(world.slug)]
    assert "needs a person" in line
    assert f"{len(plan.items) - 1} items, 1 question" in line
    assert "no night yet" in next(line for line in out.splitlines() if line.startswith("quiet"))
    assert f"slowwave plans show {world.slug}" in out
    found = json.loads(run("status", "--json")[1])
    assert {one["namespace"]: one["word"] for one in found} == {world.slug: "needs a person", "quiet": "no night yet"}
    page = run("status", "--digest")[1]
    assert page.startswith("# Slowwave, ")
    assert plan.plan_hash[:12] in page
    assert [one["namespace"] for one in json.loads(run("status", "quiet", "--json")[1])] == ["quiet"]
    assert run("status", "nobody")[0] == 2
    monkeypatch.setattr(session.err, "_width", 200)
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__ARCHIVE_STALE__ENABLED", "true")
    assert run("status")[2] == "", "a known variable is no reason for a note"
    monkeypatch.setenv("SLOWWAVE_OPERATONS__ARCHIVE_STALE__ENABLED", "false")
    err = " ".join(run("status")[2].split())
    assert "SLOWWAVE_OPERATONS__ARCHIVE_STALE__ENABLED is not a setting of Slowwave" in err
    assert "Did you mean SLOWWAVE_OPERATIONS__ARCHIVE_STALE__ENABLED?" in err


def test_status_names_the_reason_of_a_failed_night_and_the_missing_scheduler(store: Store, run: Run) -> None:
    """F31: "night failed" was shown without a reason and without a command."""
    assert "There is no namespace yet. `slowwave demo`" in run("status")[1]
    remember(store, "acme", memories=[{"id": f"m{n}", "kind": "episodic"} for n in range(6)])
    night = (
        "INSERT INTO night.runs (id, namespace_id, mode, state, trigger, heartbeat_at, error) "
        "SELECT gen_random_uuid(), id, 'plan', 'crashed', %s, now(), 'SnapshotError: The disk is full.' FROM memory.namespaces"
    )
    ask(store, night, "manual")
    out = run("status")[1]
    assert "no schedule" in out
    assert "No schedule has started a night in the last 8 days" in out
    assert re.search(r"acme: the night of .* UTC failed: SnapshotError: The disk is full.", out)
    assert all(f"  slowwave {command}\n" in out for command in ("night acme", "runs list acme", "dev", "night ALL"))
    ask(store, night, "schedule")
    out = run("status")[1]
    assert ("no schedule" in out, "No schedule has" in out) == (False, False)
    assert re.search(r"acme +night failed .* in \d+ (h|min|s)", out)


def test_interrupted_night_without_anything_new_is_not_shown(store: Store, run: Run) -> None:
    """`slowwave night` does nothing then, so "run it again" would stand there until the next change."""
    toy(store, "harbour")
    run("night", "harbour")
    word = json.loads(run("status", "--json")[1])[0]["word"]
    night = (
        "INSERT INTO night.runs (id, namespace_id, mode, state, trigger, heartbeat_at, error) "
        "SELECT gen_random_uuid(), id, 'plan', 'cancelled', 'manual', now(), %s FROM memory.namespaces"
    )
    ask(store, night.replace("'cancelled'", "'crashed'"), INTERRUPTED)
    assert json.loads(run("status", "--json")[1])[0]["word"] == word
    ask(store, "INSERT INTO memory.changes (namespace_id, table_name) SELECT id, 'memories' FROM memory.namespaces")
    assert json.loads(run("status", "--json")[1])[0]["word"] == "interrupted"


def test_request_that_matches_nothing_is_no_failed_night(store: Store, run: Run) -> None:
    """A mistyped ``forget`` showed the night as failed in its place; plans of requests do not count as the last night either."""
    toy(store, "harbour")
    run("night", "harbour")
    (before,) = json.loads(run("status", "--json")[1])
    code, _, err = run("forget", "harbour", "--match", "Nobody Xyz")
    assert (code, "No stored row matches --match" in err) == (2, True)
    assert run("forget", "harbour", "--match", "Mara Olsen")[0] == 0
    (after,) = json.loads(run("status", "--json")[1])
    for name in ("last_night", "last_failure", "word"):
        assert after[name] == before[name], name
    assert ask(store, "SELECT state FROM night.runs WHERE mode = 'plan' AND state IN ('crashed', 'cancelled')") == [
        ("cancelled",)
    ]


def test_namespace_with_a_request_and_no_night_has_no_age_of_a_night(store: Store, run: Run) -> None:
    """An alert on the age of nights must not be silenced by plans that somebody requested."""
    toy(store, "harbour")
    assert run("forget", "harbour", "--match", "Mara Olsen")[0] == 0
    asked = read_status(store)
    assert (asked.nights, len(asked.unplanned)) == ((), 1)
    run("night", "harbour")
    assert len(read_status(store).nights) == 1


def test_runs_list_shows_the_outcome_of_runs(store: Store, run: Run) -> None:
    """An apply run that was undone is undone, and so is its plan."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    run("plans", "approve", world.slug, plan.plan_hash, "--by", "mara", "--include-review")
    run("apply", world.slug)
    run("undo", "last")
    runs = json.loads(run("runs", "list", world.slug, "--json")[1])
    assert [(r["mode"], r["state"], r["became"]) for r in runs] == [
        ("undo", "completed", "completed"),
        ("apply", "completed", "undone"),
        ("plan", "approved", "undone"),
    ]
    assert run("runs", "list", world.slug)[1].count("undone") >= 2


def test_switch_that_stops_all_writes_is_shown_where_a_person_looks(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forgotten switch leaves approved items unapplied; status, its digest and doctor name it and the command that ends it."""
    toy(store, "harbour")

    def shown() -> list[bool]:
        outputs = (run(*command)[1] for command in (("status",), ("status", "--digest"), ("doctor",)))
        return [
            "Nothing is written" in " ".join(output.split()) or "nothing is written" in output for output in outputs
        ]

    assert shown() == [False] * 3
    assert run("switch", "apply", "off", "--by", "zoe", "--note", "upgrade")[0] == 0
    assert shown() == [True] * 3
    assert "zoe switched apply off on" in run("status")[1]
    run("switch", "apply", "on", "--by", "zoe")
    assert shown() == [False] * 3
    monkeypatch.setenv(KILL_SWITCH, "1")
    assert shown() == [True] * 3

"""``slowwave metrics``: what Prometheus reads, parsed by Prometheus's own parser, from a ledger with a history."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
import uuid
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
import yaml
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from psycopg.types.json import Jsonb

from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.store import connect
from slowwave.store.connect import Store
from slowwave.surfaces.cli.serve import registry_of
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.surfaces.cli.conftest import Run

Labels = tuple[tuple[str, str], ...]


def parsed(text: str) -> dict[str, dict[Labels, float]]:
    found: dict[str, dict[Labels, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def scrape(store: Store) -> dict[str, dict[Labels, float]]:
    return parsed(generate_latest(registry_of(store)).decode())


def one(found: Mapping[str, Mapping[Labels, float]], name: str, **labels: str) -> float:
    return found[f"slowwave_{name}"][tuple(sorted(labels.items()))]


def up_to(found: Mapping[str, Mapping[Labels, float]], name: str, seconds: float) -> float:
    return one(found, f"{name}_bucket", le=str(float(seconds)))


def execute(store: Store, statement: str, *values: object) -> None:
    with store.connect("owner") as connection:
        connection.execute(statement.encode(), values)


def namespace(store: Store, slug: str, *, read_only: bool = False, **settings: object) -> str:
    id_ = str(uuid.uuid4())
    execute(
        store,
        "INSERT INTO memory.namespaces (id, slug, read_only, settings) VALUES (%s, %s, %s, %s)",
        id_,
        slug,
        read_only,
        Jsonb(settings),
    )
    return id_


def ran(store: Store, namespace_id: str, mode: str, state: str, age: timedelta, **counts: int) -> str:
    id_ = str(uuid.uuid4())
    execute(
        store,
        "INSERT INTO night.runs (id, namespace_id, mode, state, started_at, heartbeat_at, counts) "
        "VALUES (%s, %s, %s, %s, now() - %s, now() - %s, %s)",
        *(id_, namespace_id, mode, state, age, age, Jsonb(counts)),
    )
    return id_


def test_a_store_in_which_nothing_happened(run: Run) -> None:
    """The program prints them once; all is well, and nothing is waiting."""
    code, text, _ = run("metrics", "--once")
    assert code == 0
    found = parsed(text)
    assert one(found, "up") == 1
    assert one(found, "namespaces") == one(found, "plans_waiting") == one(found, "night_age_seconds_count") == 0
    assert one(found, "scrape_errors_total") == 0
    assert one(found, "apply_disabled", switch="environment") == 0


def test_a_login_that_may_only_read_is_enough(store: Store, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Monitoring gets no right to write: a member of slowwave_reader serves the same metrics."""
    new_world(store)
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.logins["reader"])
    code, text, _ = run("metrics", "--once")
    assert (code, one(parsed(text), "up"), one(parsed(text), "namespaces")) == (0, 1, 1)


def test_what_a_plan_an_apply_and_an_undo_leave_behind(store: Store) -> None:
    """The life of one plan, seen from outside after each step."""
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    found = scrape(store)
    assert (one(found, "plans_waiting"), one(found, "approvals_waiting")) == (1, 0)
    assert 0 < one(found, "plans_waiting_oldest_age_seconds") < 60
    assert one(found, "runs", mode="plan", state="awaiting_approval") == 1
    assert one(found, "night_age_seconds_count") == 1
    assert one(found, "unplanned_change_age_seconds_count") == 0, "all changes came before the night"
    approval = approve(store, world.slug, plan.plan_hash, approver="me", include_review=True)
    found = scrape(store)
    assert (one(found, "plans_waiting"), one(found, "approvals_waiting")) == (0, 1)
    result = apply_approval(store, approval.id)
    found = scrape(store)
    assert one(found, "approvals_waiting") == 0
    assert one(found, "items_total", outcome="applied") == result.counts["applied"] > 0
    assert up_to(found, "apply_age_seconds", 3600) == 1
    assert one(found, "unplanned_change_age_seconds_count") == 1, "what apply wrote, the next night looks at"
    undo_run(store, result.run_id)
    found = scrape(store)
    assert one(found, "items_total", outcome="undone") == result.counts["applied"]
    assert one(found, "runs", mode="undo", state="completed") == 1


def test_ages_count_namespaces_and_name_none(store: Store) -> None:
    """Nights of an hour, of five days and of never; one that crashed since; one switched off; one that is read-only."""
    fresh, old, off, closed = (
        namespace(store, "secret-client"),
        namespace(store, "old"),
        namespace(store, "off", enabled=False),
        namespace(store, "closed", read_only=True),
    )
    namespace(store, "never")
    ran(store, fresh, "plan", "approved", timedelta(minutes=50))
    ran(store, old, "plan", "completed", timedelta(days=5))
    ran(store, old, "plan", "crashed", timedelta(minutes=5))
    ran(store, off, "plan", "completed", timedelta(days=300))
    ran(store, closed, "plan", "completed", timedelta(hours=30))
    found = scrape(store)
    assert (one(found, "namespaces"), one(found, "namespaces_read_only")) == (5, 1)
    assert [up_to(found, "night_age_seconds", d * 86_400) for d in (1, 2, 3, 7)] == [1, 2, 2, 3]
    assert one(found, "night_age_seconds_count") == 3
    assert one(found, "night_age_seconds_sum") == pytest.approx(50 * 60 + 5 * 86_400 + 30 * 3600, abs=60)
    assert one(found, "runs", mode="plan", state="crashed") == 1
    assert "secret-client" not in str(found)


def test_a_change_that_no_night_has_seen_grows_old(store: Store) -> None:
    """Two days ago an agent wrote, and the last night is three days old: the alarm is about that, not about quiet namespaces."""
    quiet, behind = namespace(store, "quiet"), namespace(store, "behind")
    for each, changed in ((quiet, timedelta(days=9)), (behind, timedelta(days=2))):
        ran(store, each, "plan", "completed", timedelta(days=3))
        execute(
            store,
            "INSERT INTO memory.changes (namespace_id, table_name, recorded_at) VALUES (%s, 'entities', now() - %s)",
            *(each, changed),
        )
    found = scrape(store)
    assert one(found, "unplanned_change_age_seconds_count") == 1
    assert [up_to(found, "unplanned_change_age_seconds", d * 86_400) for d in (1, 3)] == [0, 1]


def test_runs_without_a_heartbeat_are_stuck_by_their_namespaces_own_patience(store: Store) -> None:
    """Ten minutes are too long by default, and not where an hour is allowed; settings that are wrong count as the default."""
    for slug, settings, mode in (
        ("a", {}, "apply"),
        ("b", {"heartbeat_expiry_seconds": 3600}, "apply"),
        ("c", {"heartbeat_expiry_seconds": "soon"}, "plan"),
    ):
        state = "planning" if mode == "plan" else "applying"
        ran(store, namespace(store, slug, **settings), mode, state, timedelta(minutes=10))
    found = scrape(store)
    assert one(found, "runs_stuck", mode="apply") == 1
    assert one(found, "runs_stuck", mode="plan") == 1
    assert one(found, "runs_stuck", mode="undo") == 0


def test_what_items_came_to_models_cost_and_people_left_open(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums over runs; tokens of a day, of sixteen models and all others; conflicts; both kill switches."""
    id_ = namespace(store, "a")
    run_id = ran(store, id_, "apply", "completed", timedelta(days=40), applied=7, skipped_stale=2, failed=1)
    ran(store, id_, "apply", "cancelled", timedelta(days=4), applied=3)
    ran(store, id_, "undo", "completed", timedelta(days=4), undone=5)
    usage = (
        "INSERT INTO night.llm_usage (id, namespace_id, run_id, operation, model, input_tokens, output_tokens, recorded_at) "
        "VALUES (gen_random_uuid(), %s, %s, 'dedupe_entities', %s, %s, %s, now() - %s)"
    )
    for n in range(20):
        execute(store, usage, id_, run_id, f"model-{n:02}", 1000 - n, 1, timedelta(hours=2))
    execute(store, usage, id_, run_id, "model-00", 50_000, 1, timedelta(hours=25))
    execute(
        store,
        "INSERT INTO night.conflicts (id, namespace_id, table_name, row_a_id, row_b_id, reason, resolved_at) "
        "SELECT gen_random_uuid(), %s, 'memory_facts', gen_random_uuid(), gen_random_uuid(), 'x', t "
        "FROM unnest(ARRAY[NULL, NULL, now()]) t",
        id_,
    )
    execute(store, "INSERT INTO night.switches (name, is_on, set_by) VALUES ('apply_disabled', true, 'me')")
    monkeypatch.setenv("SLOWWAVE_DISABLE_APPLY", "1")
    found = scrape(store)
    counted = {o: one(found, "items_total", outcome=o) for o in ("applied", "skipped_stale", "failed", "undone")}
    assert counted == {"applied": 10, "skipped_stale": 2, "failed": 1, "undone": 5}
    assert one(found, "llm_tokens_last_day", model="model-00", direction="input") == 1000
    assert one(found, "llm_tokens_last_day", model="other", direction="input") == sum(1000 - n for n in range(16, 20))
    assert one(found, "llm_tokens_last_day", model="other", direction="output") == 4
    assert len(found["slowwave_llm_tokens_last_day"]) == 34
    assert one(found, "conflicts_open") == 2
    assert one(found, "apply_disabled", switch="environment") == one(found, "apply_disabled", switch="database") == 1


def test_a_scrape_asks_the_same_few_questions_however_much_there_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its queries are counted: as many for thirty namespaces with runs as for none."""

    class Counting(psycopg.Connection[tuple[object, ...]]):
        asked = 0

        def execute(self, *arguments: object, **named: object) -> object:  # type: ignore[override]
            Counting.asked += 1
            return super().execute(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(connect.psycopg, "connect", Counting.connect)
    assert one(scrape(store), "up") == 1
    first, Counting.asked = Counting.asked, 0
    for n in range(30):
        ran(store, namespace(store, f"n{n}"), "apply", "applying", timedelta(minutes=n))
    Counting.asked = 0
    assert one(scrape(store), "runs", mode="apply", state="applying") == 30
    assert Counting.asked == first <= 8


def test_a_database_that_is_gone_is_a_metric_too(caplog: pytest.LogCaptureFixture) -> None:
    """Monitoring must not fall over with what it watches, and its log repeats no address with a password."""
    registry = registry_of(Store("postgresql://slowwave:hunter2@127.0.0.1:1/none"))
    for scrapes in (1, 2):
        found = parsed(generate_latest(registry).decode())
        assert (one(found, "up"), one(found, "scrape_errors_total")) == (0, scrapes)
        assert "slowwave_namespaces" not in found
    assert "hunter2" not in caplog.text


def test_it_serves_until_it_is_told_to_end(store: Store) -> None:
    """A process of its own, on this machine's loopback alone; a port in use is said in a sentence."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = {"SLOWWAVE_DATABASE_URL": store.owner, "PATH": "", "COLUMNS": "200"}
    command = [sys.executable, "-c", "from slowwave.surfaces.cli.main import main; main()", "metrics", "--port", port]
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # else one of a background job
    ) as serving:
        killer = threading.Timer(240, serving.kill)
        killer.start()
        assert serving.stdout is not None
        assert f"http://127.0.0.1:{port}/metrics" in serving.stdout.readline()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=120) as answer:
            assert answer.headers["content-type"].startswith("text/plain")
            assert one(parsed(answer.read().decode()), "up") == 1
        second = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert second.returncode == 1
        assert "cannot be listened on" in second.stderr
        serving.send_signal(signal.SIGINT)
        assert serving.wait(120) == 0
        killer.cancel()


def test_nothing_heavy_is_loaded_for_other_commands() -> None:
    """The client of Prometheus is imported by the command alone."""
    program = "import sys, slowwave.surfaces.cli.main; print([m for m in ('prometheus_client', 'opentelemetry') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.strip()) == []


def test_the_documentation_names_the_metrics_that_there_are(store: Store) -> None:
    """Its table is whole, its alert rules are YAML, and neither speaks of a metric that is not served."""
    ran(store, namespace(store, "a"), "apply", "applying", timedelta(minutes=1))
    execute(
        store,
        "INSERT INTO night.llm_usage (id, namespace_id, run_id, operation, model, input_tokens, output_tokens) "
        "SELECT gen_random_uuid(), namespace_id, id, 'x', 'm', 1, 1 FROM night.runs",
    )
    served = set(scrape(store))
    text = (Path(__file__).parents[3] / "docs" / "telemetry.md").read_text()
    named = set(re.findall(r"slowwave_[a-z_]+", text)) - {"slowwave_reader"}
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in served}
    assert families <= named
    assert {re.sub(r"_(bucket|count|sum)$", "", name) for name in named} <= families
    rules = yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])
    buckets = {labels[0][1] for labels in scrape(store)["slowwave_night_age_seconds_bucket"]}
    for rule in rules["groups"][0]["rules"]:
        assert set(re.findall(r'le="([^"]+)"', rule["expr"])) <= buckets

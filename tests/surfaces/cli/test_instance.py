"""Which instance of Dagster nights of the command line report to, and that none of them can stand in their way."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from slowwave.night.runs import Night
from slowwave.night.status import morning_page
from slowwave.operations import Inputs, Proposal
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.surfaces.cli import nights
from slowwave.surfaces.review_page.guard import entrance_of, noted
from slowwave.wiki.serving.http_app import listener
from tests.nights import new_world
from tests.surfaces.cli.conftest import Run


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Record the calls of the functions that report to Dagster."""
    told: list[dict[str, Any]] = []

    def report_night(night: Night, inputs: Inputs, proposals: Mapping[str, Proposal], **more: Any) -> None:
        told.append(
            {
                "namespace": night.namespace,
                "home": os.environ.get("DAGSTER_HOME"),
                "timeout": os.environ["PGCONNECT_TIMEOUT"],
                **more,
                "review": os.environ.get("SLOWWAVE_REVIEW_URL"),
                "store": isinstance(more["store"], Store),
            }
        )

    def report_status(store: Store) -> None:
        told.append({"status": [one.plan_hash for one in morning_page(store)[1]]})

    monkeypatch.setattr("slowwave.dagster.events.report_night", report_night)
    monkeypatch.setattr("slowwave.dagster.events.report_status", report_status)
    return told


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an instance."""
    folder = tmp_path / "instance"
    folder.mkdir()
    (folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    monkeypatch.setenv("DAGSTER_HOME", str(folder))
    return folder


def test_a_night_is_told_to_the_instance_of_the_environment(
    run: Run, store: Store, home: Path, shell: list[dict[str, Any]]
) -> None:
    """Once, whole, and the environment is as it was."""
    slug = new_world(store).slug
    code, _, err = run("night", slug)
    assert (code, err) == (0, "")
    night, status = shell
    told = {"namespace": slug, "home": str(home), "timeout": "5", "review": None, "whole": True, "store": True}
    assert night == told
    assert status == {"status": [plan["plan_hash"] for plan in json.loads(run("plans", "list", "--json")[1])]}, (
        "as it stands after the night"
    )
    assert "PGCONNECT_TIMEOUT" not in os.environ


def test_a_plan_links_to_the_review_page_that_runs_beside_the_ui(
    run: Run, store: Store, tmp_path: Path, shell: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of the UI's own nights do; where none answers any more it does not."""
    instance_ = tmp_path / "dagster"
    instance_.mkdir()
    (instance_ / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path))
    monkeypatch.setattr("slowwave.surfaces.cli.dev.instance_environment", lambda _: {})
    slug = new_world(store).slug
    with listener("127.0.0.1", 0) as bound:
        entrance = entrance_of("127.0.0.1", int(bound.getsockname()[1]), reviewer="mara")
        with noted(tmp_path, entrance):
            assert run("night", slug)[0] == 0
            note = next(tmp_path.glob("review-*.json"))
            kept = note.read_text()
    note.write_text(kept)  # as one that was killed leaves it
    assert run("night", slug, "--force")[0] == 0
    assert [told["review"] for told in shell if "review" in told] == [entrance.origins[0], None]


def test_an_instance_that_fails_is_one_line_and_the_night_stands(
    run: Run, store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it raises; nothing that its error quotes is shown."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr("slowwave.dagster.events.report_night", fail)
    slug, other = new_world(store).slug, new_world(store, 400).slug
    code, out, err = run("night", "ALL", "--json")
    assert code == 0
    assert slug in out
    assert other in out
    assert err.count("not reported to Dagster") == 1
    assert str(home) in err
    assert "hunter2" not in err


def test_a_real_instance_whose_database_is_not_there_is_no_obstacle(run: Run, store: Store, home: Path) -> None:
    """The shell itself, with storage at a port where nothing listens."""
    (home / "dagster.yaml").write_text(
        "storage: {postgres: {postgres_url: 'postgresql+psycopg2://u:hunter2@127.0.0.1:9/x'}}\n"
    )
    slug = new_world(store).slug
    code, out, err = run("night", slug)
    assert code == 0
    assert "awaiting approval" in out
    assert "not reported to Dagster" in err
    assert "hunter2" not in err


@pytest.mark.parametrize("what", ["no instance", "no folder", "no Dagster"])
def test_without_an_instance_nobody_is_told(
    what: str, store: Store, home: Path, shell: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that holds none, none at all, and a program that was installed without Dagster."""
    if what == "no instance":
        (home / "dagster.yaml").unlink()
    elif what == "no folder":
        monkeypatch.delenv("DAGSTER_HOME")
    else:
        monkeypatch.setattr(nights.importlib.util, "find_spec", lambda name: None if name == "dagster" else object())
    assert nights.reporter(store, 1) is None
    assert shell == []


def test_the_instance_of_slowwave_dev_is_found_by_itself(
    store: Store, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """``make demo`` knows of no DAGSTER_HOME: what ``slowwave dev --prepare`` made is where ``make up`` looks."""
    monkeypatch.delenv("DAGSTER_HOME")
    assert nights._home() is None
    own = server.default_home() / "dagster"
    own.mkdir(parents=True)
    (own / "dagster.yaml").write_text("")
    assert nights._home() == own
    assert nights.reporter(store, 1) is not None

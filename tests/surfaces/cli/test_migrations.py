"""``slowwave migrate FOLDER NAMESPACE``: from a dry run to a plan, by hand; without arguments it is still the schema's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.migrate import INITIAL, LAST_FORMER, pending_migrations
from tests.bindings.clients import run_as_owner
from tests.clusters import at_revision
from tests.surfaces.cli.conftest import Run
from tests.wiki.migration.folders import folder, page


def test_from_a_dry_run_to_an_applied_plan_and_back(store: Store, run: Run, tmp_path: Path) -> None:
    """The report, the refusal of bad files, the plan, its approval, nothing more to migrate, and the way back."""
    root = folder(
        tmp_path / "old brain", {"people/mara.md": page("person", "Mara", "Mara sails."), "bad.csv": 'a\n"x\n'}
    )
    code, out, _ = run("migrate", str(root), "acme", "--dry-run")
    assert code == 0
    assert "A dry run: nothing was written" in out
    assert f"migrate '{root}' acme" in out
    code, _, err = run("migrate", str(root), "acme")
    assert code == 2
    assert "bad.csv, line 2" in err
    report = tmp_path / "reports"
    code, out, _ = run("migrate", str(root), "acme", "--skip-bad", "--report", str(report), "--json")
    told = json.loads(out)
    assert (code, told["items"], told["plan_state"]) == (0, {"claim": 1, "write": 1}, "awaiting_approval")
    assert Path(told["report_path"]).read_text().startswith("# Migration of old brain to acme")
    assert json.loads(Path(told["run_artifact_path"]).read_text())["plan_hash"] == told["plan_hash"]
    assert sorted(path.name for path in report.iterdir()) == [
        f"migration-{told['run_id']}.{end}" for end in ("json", "md")
    ]
    code, out, _ = run("plans", "approve", "acme", told["plan_hash"][:12], "--by", "mara", "--json")
    assert code == 0
    code, out, _ = run("apply", "acme", "--json")
    assert code == 0
    code, out, _ = run("migrate", str(root), "acme", "--skip-bad")
    assert code == 0
    assert "there is nothing to approve" in out
    code, out, _ = run("corpus", "get", "acme", "people/mara.md")
    assert "Mara sails." in out


def test_migrate_prints_what_it_created_or_ran(store: Store, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new database is not "up to date"; the second time it is."""
    run_as_owner(store, "DROP SCHEMA memory CASCADE", "DROP SCHEMA night CASCADE")
    code, out, err = run("migrate")
    assert (code, f"Created the schemas memory and night in {store.address()}" in " ".join(out.split())) == (0, True), (
        err
    )
    code, out, _ = run("migrate")
    assert (code, "is up to date" in out, "Created" in out) == (0, True, False)
    monkeypatch.setattr("slowwave.store.migrate.migrate", lambda _: ["0002_tags", "0003_links"])
    code, out, _ = run("migrate")
    assert (code, "Ran 2 migrations on " in out, "at 0003_links now" in out, "slowwave doctor" in out) == (
        0,
        True,
        True,
        True,
    )


def test_migrate_of_the_last_former_schema_prints_which_migration_replaces_it(
    postgres: server.Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the later migrations ran, and the second time the database is up to date."""
    with at_revision(postgres, INITIAL) as store:
        monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.owner)
        run_as_owner(store, f"UPDATE night.alembic_version SET version_num = '{LAST_FORMER}'")
        later = len(pending_migrations(store)) - 1  # all but the initial one
        code, out, err = run("migrate")
        text = " ".join(out.split())
        assert (
            code,
            f"is that of {INITIAL}, which replaces the migrations until {LAST_FORMER}" in text,
            f"Ran {later} migrations on" in text,
        ) == (0, True, True), err
        code, out, _ = run("migrate")
        assert (code, "is up to date" in out) == (0, True)


def test_one_verb_two_uses(store: Store, run: Run) -> None:
    """A folder without a namespace is refused; a name with markup is text."""
    code, out, _ = run("migrate")
    assert (code, "is up to date" in out) == (0, True)
    code, _, err = run("migrate", "folder")
    assert (code, "Name the folder and the namespace" in err) == (2, True)
    code, _, err = run("migrate", "no/such/[bold]folder[/]", "acme")
    assert (code, "no/such/[bold]folder[/]" in err) == (2, True)

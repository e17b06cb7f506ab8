"""``slowwave namespace retain`` removes what is past its retention, and says what."""

from __future__ import annotations

import json

from slowwave.night.reports import reports_path
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.nights import new_world
from tests.surfaces.cli.conftest import Run


def test_retain_removes_and_counts(store: Store, run: Run) -> None:
    """One namespace or all of them; an unknown one is refused."""
    world = new_world(store)
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.namespaces SET settings = '{\"retention_runs_per_namespace\": 0}'")
        connection.execute(
            "INSERT INTO night.runs (id, namespace_id, mode, state) SELECT %s, id, 'plan', 'empty' FROM memory.namespaces",
            ("00000000-0000-0000-0000-000000000001",),
        )
    folder = reports_path(Settings()) / world.slug / "2020-01-01"
    folder.mkdir(parents=True)
    (folder / "00000000-0000-0000-0000-000000000001.manifest.json").write_text("{}")
    code, out, _ = run("namespace", "retain", world.slug, "--json")
    assert code == 0
    (found,) = json.loads(out)
    assert found["namespace"] == world.slug
    assert found["removed"]["report_runs"] == 1
    assert not folder.exists()
    code, out, _ = run("namespace", "retain", "ALL")
    assert code == 0
    assert world.slug in out
    assert run("namespace", "retain", "nowhere")[0] == 2

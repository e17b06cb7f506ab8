"""The examples run as they are printed."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from slowwave.store.connect import Store
from tests.bindings.clients import DIMENSIONS, MODEL, embedder
from tests.dagster.project import Project
from tests.dagster.quick_events import ephemeral
from tests.memories import remember

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_runs_on_the_demo(
    notebook: Path, demo: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", demo.owner)
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), notebook.name, "exec"), names)  # noqa: S102 - a notebook of this repository
        assert capsys.readouterr().out.strip(), "each cell prints something"


def run_example(store: Store, name: str, **variables: str) -> str:
    """Run a script as a user would, on the store's database, and return what it prints."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "SLOWWAVE_DATABASE_URL": store.owner,
        **variables,
    }
    program = ["sh"] if name.endswith(".sh") else [sys.executable]
    done = subprocess.run(
        [*program, str(EXAMPLES / name)], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(done.stdout.split())


def test_vault_of_markdown_is_changed_by_one_commit_and_restored(store: Store) -> None:
    printed = run_example(store, "markdown_vault.sh")
    assert "It would propose:" in printed
    email, tea = "- Bob prefers email over Slack.", "- Bob likes tea."
    assert (
        f"# Bob {email} {tea} " in printed or f"# Bob {tea} {email} " in printed
    )  # which of two equal lines stays depends on ids
    assert "undid 1 item" in printed
    assert re.search(r"slowwave: undo of 1 change of plan [0-9a-f]{12}", printed)


def test_store_of_langgraph_is_read_in_place(store: Store) -> None:
    printed = run_example(store, "langgraph_memory.py")
    assert "5434" in printed.split("It would propose:")[1]


def test_collection_of_mem0_is_read_in_place(store: Store, tmp_path: Path) -> None:
    with embedder() as server:
        variables = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{server.url}/v1", "EMBEDDING_MODEL": MODEL}
        variables |= {"EMBEDDING_DIMENSIONS": str(DIMENSIONS), "MEM0_TELEMETRY": "False", "MEM0_DIR": str(tmp_path)}
        printed = run_example(store, "mem0_memory.py", **variables)
    assert "5434" in printed.split("It would propose:")[1]


def test_own_dagster_deployment_loads_and_runs_a_night(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.owner)
    defs = runpy.run_path(str(EXAMPLES / "own_dagster" / "definitions.py"))["defs"]
    keys = {key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()}
    assert {"conversations", "memory/snapshot", "memory/night/plan"} <= keys
    remember(store, "acme")
    with ephemeral() as instance:
        instance.add_dynamic_partitions("namespaces", ["acme"])
        project = Project(defs, instance, store)
        assert project.night("acme").success
        assert project.materialize("acme", "memory/audit/census").success

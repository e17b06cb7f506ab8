"""The examples run as they are printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slowwave.store.connect import Store

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

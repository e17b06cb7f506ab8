"""``slowwave pages research`` prints a page, or writes it where nothing is."""

from __future__ import annotations

import json
from pathlib import Path

from slowwave.search.recall_events import logged
from slowwave.store.connect import Store
from tests.memories import remember
from tests.surfaces.cli.conftest import Run
from tests.wiki.recall.test_active_request import put_page


def test_a_page_is_printed_or_written_once(store: Store, run: Run, tmp_path: Path) -> None:
    """Never over a file, and only into a folder that is there."""
    remember(store, "acme")
    put_page(store, "projects/lake/state.md", "thermostat", type="project", status="active")
    asked = ("pages", "research", "acme", "How is the heating of the lake house controlled?")
    code, out, _ = run(*asked)
    assert (code, out.splitlines()[0]) == (0, "## Question")
    assert "controlled by thermostat. [1]" in out
    code, out, _ = run(*asked, "--json")
    told = json.loads(out)["research"]
    assert run(*asked, "--save", str(tmp_path))[0] == 0
    assert (tmp_path / told["target"]).read_text() == told["page"]
    assert run(*asked, "--save", str(tmp_path))[0] == 2
    assert run(*asked, "--save", str(tmp_path / "none"))[0] == 2
    assert run("pages", "research", "acme", "Why?", "--kind", "poem")[0] == 2
    logged()

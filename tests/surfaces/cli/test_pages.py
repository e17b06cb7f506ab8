"""``slowwave pages``: shown, synced, and followed to the memory behind a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slowwave.operations import PLANNERS, Inputs
from slowwave.snapshots.export import export_snapshot
from slowwave.sources.blocks import block
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.memories import remember
from tests.nights import write_a_plan
from tests.snapshots import uid
from tests.surfaces.cli.conftest import Run
from tests.wiki.pages.notes import notes
from tests.worlds import World

compile_pages = PLANNERS["compile_pages"]

BODY = block("# Memory\n\n- [bold]Tea[/] is at four.")


def acme(store: Store) -> None:
    page = {"id": "p", "path": "MEMORY.md", "title": "Memory", "body": BODY, "input_hash": "1"}
    remember(store, "acme", pages=[page], **notes("[bold]Tea[/] is at four.\nAnd \x1b[31mred."))


def test_pages_are_listed_and_printed(store: Store, run: Run) -> None:
    """The list has sizes; a page is printed as it is."""
    acme(store)
    code, out, _ = run("pages", "show", "acme")
    assert code == 0
    assert "MEMORY.md" in out
    assert run("pages", "show", "acme", "MEMORY.md") == (0, f"{BODY}\n", "")
    shown = json.loads(run("pages", "show", "acme", "--json")[1])
    assert [(p["path"], p["body"]) for p in shown] == [("MEMORY.md", BODY)]
    assert json.loads(run("pages", "show", "acme", "MEMORY.md", "--json")[1])["title"] == "Memory"


def test_a_page_or_a_namespace_that_is_not_there_is_refused(store: Store, run: Run) -> None:
    """With the command that lists what is there."""
    acme(store)
    code, _, err = run("pages", "show", "acme", "NOTES.md")
    assert (code, "slowwave pages show acme" in err) == (2, True)
    assert run("pages", "show", "nowhere")[0] == 2
    assert run("pages", "show", "acme", "\udcff")[0] == 2, "bytes that are no UTF-8"
    assert run("pages", "sync", "nowhere")[0] == 2


def test_sync_writes_the_files_and_says_what_it_left(
    store: Store, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a workspace it says how to set one; a problem is exit code 1."""
    acme(store)
    code, _, err = run("pages", "sync", "acme")
    assert (code, "SLOWWAVE_WORKSPACE_PATH" in err) == (2, True)
    monkeypatch.setenv("SLOWWAVE_WORKSPACE_PATH", str(tmp_path / "w"))
    code, out, _ = run("pages", "sync", "ALL", "--json")
    file = tmp_path / "w" / "acme" / "MEMORY.md"
    assert (code, json.loads(out)[0]["written"]) == (0, ["MEMORY.md"])
    assert file.read_text() == f"{BODY}\n"
    file.write_text(f"{BODY}\n".replace("four", "five"))
    code, out, _ = run("pages", "sync", "acme")
    assert (code, "left alone" in out) == (1, True)


def test_a_line_leads_to_its_memory(store: Store, run: Run) -> None:
    """By the id in its link or the first characters of it: words, versions, promotions, and nothing that the terminal obeys."""
    acme(store)
    for name in (f"mem:{uid('m0')}", f"mem:{uid('m0')[:8]}"):
        code, out, _ = run("why", "acme", name)
        assert code == 0
        assert "[bold]Tea[/] is at four.\nAnd  [31mred." in out
        assert "longterm" in out
    found = json.loads(run("why", "acme", f"mem:{uid('m0')}", "--json")[1])
    assert (found["id"], found["versions"][0]["reason"], found["promotions"][0]["to"]) == (
        uid("m0"),
        "import",
        "longterm",
    )


@pytest.mark.parametrize("name", ["zz", "ffffffff", "", "; DROP"])
def test_no_memory_is_refused(store: Store, run: Run, name: str) -> None:
    """A sentence, whatever was typed."""
    acme(store)
    code, _, err = run("why", "acme", f"mem:{name}")
    assert (code, "is no memory of acme" in err) == (2, True)


def test_a_memory_of_another_namespace_is_not_shown(store: Store, run: Run) -> None:
    """A page of one namespace leads nowhere else."""
    acme(store)
    remember(store, "other")
    assert run("why", "other", f"mem:{uid('m0')}")[0] == 2


def test_why_quotes_the_memories_behind_a_page(store: Store, run: Run) -> None:
    """Before a person approves a page they can read what it rests on."""
    remember(store, "acme", **notes("Tea is at four."))
    snapshot = export_snapshot(store, "acme")
    items = compile_pages(Inputs(snapshot, {}, Settings.for_namespace(snapshot.settings))).items
    write_a_plan(store, World("acme", uid("acme"), {}), items=items)
    found = next(i for i in items if i.evidence["path"] == "MEMORY.md")
    code, out, _ = run("why", "acme", found.id)
    assert code == 0
    assert "MEMORY.md would be rendered: 1 entries" in out
    assert "Tea is at four." in out
    assert "no longer stored" not in out

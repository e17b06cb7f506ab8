"""Canonical pages in a folder that a namespace follows: a plan brings the file, a person edits it, and an undo takes it back exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.errors import UndoBlocked
from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import MODEL, ask, remember
from tests.wiki.claims import tell
from tests.wiki.corpus.folders import Folder
from tests.wiki.operations.test_canonical_pages import page, signed

FILE = "projects/rowan/state.md"


@pytest.fixture
def folder(store: Store, tmp_path: Path) -> Folder:
    """A folder of Dory's layout with a page of a person, and three statements about Rowan."""
    remember(store, "acme", {"recall_log_share": 0.0})
    ask(store, "SELECT memory.register_vector_model(%s, 512)", MODEL)
    found = Folder(tmp_path / "notes", store, "dory", "acme")
    found.write("ideas/tides.md", "# Tides\n\nSee [[projects/rowan/state]].\n")
    found.sync()
    for n, text in enumerate(("The review takes 40 days.", "Use tea.", "Paint the crane.")):
        tell(
            store, text, "Rowan", scope="project", kind=("state", "decision", "note")[n], agent="codex", session_id="s1"
        )
    return found


def night(store: Store) -> Night:
    return run_night(store, "acme", ops="canonical_pages")


def files(folder: Folder) -> set[str]:
    return {path.relative_to(folder.root).as_posix() for path in folder.root.rglob("*.md")}


def test_an_approved_page_is_a_file_of_the_folder_and_its_undo_takes_file_and_rows_back(folder: Folder) -> None:
    """The file says what the row says, links lead to it, a second night is empty; undone, folder and digest are the first ones."""
    before, there = digest(folder.store, "acme"), files(folder)
    one = night(folder.store)
    assert files(folder) == there, "nothing is written before a person has approved it"
    done = signed(folder.store, one)
    assert files(folder) == there | {FILE, "wiki/index.md", "wiki/hot.md"}
    assert (folder.root / FILE).read_text() == page(folder.store, FILE) != ""
    assert ("ideas/tides.md", "wikilink", "projects/rowan/state", FILE) in folder.links()
    assert ("wiki/index.md", "markdown", "../projects/rowan/state.md", FILE) in folder.links()
    assert night(folder.store).new_items == 0
    undo_run(folder.store, done.run_id)
    assert (files(folder), digest(folder.store, "acme")) == (there, before)


def test_a_sync_finds_in_the_files_what_the_plan_wrote(folder: Folder) -> None:
    """No page is new or other, every link means what it meant, and the undo takes the files back all the same."""
    there, pages = files(folder), folder.live()
    done = signed(folder.store, night(folder.store))
    links = [link for link in folder.links() if link[1] != "mention"]
    told = folder.sync()
    assert (told.new, told.changed, told.gone, told.links_resolved) == (0, 0, 0, 0)
    assert [link for link in folder.links() if link[1] != "mention"] == links
    undo_run(folder.store, done.run_id)
    assert (files(folder), {path: id_ for path, id_ in folder.live().items() if path in there}) == (
        there,
        {path: id_ for path, id_ in pages.items() if path in there},
    )


def test_what_a_person_writes_into_the_file_wins_at_the_next_sync_and_the_next_night(folder: Folder) -> None:
    """Words beside the blocks stay, word for word, under what is said later; a block that was edited is left alone from then on."""
    signed(folder.store, night(folder.store))
    text = (folder.root / FILE).read_text()
    mine = text.replace("# Rowan\n", "# Rowan\n\nMy own words, [[ideas/tides]].\n", 1)
    edited = mine.replace("Use tea. [", "Use green tea. [", 1)
    assert text != mine != edited
    folder.write(FILE, edited)
    assert folder.sync().changed == 1
    assert page(folder.store, FILE) == edited
    assert night(folder.store).new_items == 0
    tell(folder.store, "The pump is old.", "Rowan", kind="state")
    one = night(folder.store)
    assert one.plan is not None
    done = signed(folder.store, one)
    after = (folder.root / FILE).read_text()
    assert after == page(folder.store, FILE)
    assert "My own words, [[ideas/tides]].\n" in after
    assert "Use green tea. [" in after
    assert "The pump is old." in after
    assert (FILE, "wikilink", "ideas/tides", "ideas/tides.md") in folder.links()
    undo_run(folder.store, done.run_id)
    assert (folder.root / FILE).read_text() == edited


def test_an_undo_never_takes_what_a_person_wrote_since(folder: Folder) -> None:
    """A page that was edited after its plan stays, and the undo says which row stands in its way."""
    done = signed(folder.store, night(folder.store))
    text = (folder.root / FILE).read_text()
    folder.write(FILE, f"{text}\nMine.\n")
    folder.sync()
    with pytest.raises(UndoBlocked, match="documents"):
        undo_run(folder.store, done.run_id)
    assert (folder.root / FILE).read_text() == f"{text}\nMine.\n"

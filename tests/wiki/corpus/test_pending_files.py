"""Files of followed folders follow what agents write: whatever ends in between, whoever edits meanwhile, and never out of the folder."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import AlreadyThere, Refused
from slowwave.sources import write_files
from slowwave.store.connect import Store
from slowwave.surfaces.api.memory import Memory
from slowwave.wiki.corpus import pending_files, sync
from slowwave.wiki.corpus.memory_files import MemoryFiles
from slowwave.wiki.corpus.pending_files import Following, follow_files
from slowwave.wiki.corpus.requests import WriteResponse
from slowwave.wiki.corpus.sync import folder_states, watch_corpora
from tests.memories import ask
from tests.processes import started
from tests.wiki.corpus.folders import Folder
from tests.wiki.corpus.pages import IDEA, drop, put

pytestmark = pytest.mark.slow

PATH = "ideas/tides.md"
PAGE = "---\ntitle: Tides\ntype: idea\n---\n\nThe spring tide is at six.\n"


@pytest.fixture
def folder(tmp_path: Path, store: Store) -> Folder:
    """A folder laid out as Dory's, with one page, synced."""
    found = Folder(tmp_path / "vault", store, "dory", "acme")
    found.write("ideas/moon.md", "---\ntitle: Moon\ntype: idea\n---\n\nPulls the [[tides]].\n")
    assert found.sync().new == 1
    return found


def by_agent(
    folder: Folder, kind: str = "create", content: str = "The spring tide is at six.", **asked: Any
) -> WriteResponse:
    """A write through a server, which has no rights in the folder."""
    return put(folder.store, kind, asked.pop("target", PATH), content, **asked)


def pending(folder: Folder) -> list[str]:
    """Paths whose files have yet to follow."""
    return [str(path) for (path,) in ask(folder.store, "SELECT path FROM memory.pending_files ORDER BY path")]


def texts(folder: Folder, path: str = PATH) -> list[str]:
    """The body of a page and of its versions, the newest first."""
    rows = ask(
        folder.store,
        "SELECT content FROM memory.documents WHERE path = %s ORDER BY invalidated_at DESC NULLS FIRST",
        path,
    )
    return [str(text).split("---\n")[-1].strip() for (text,) in rows]


def test_a_page_written_by_a_server_becomes_a_file_with_the_next_sync(folder: Folder) -> None:
    """In the folder's path space; nothing is new or gone to that sync, and the one after it has nothing to do."""
    done = by_agent(folder)
    assert (done.action, done.file) == ("created", "pending")
    assert pending(folder) == [PATH]
    assert not (folder.root / PATH).exists()
    with folder.store.connect("reader") as connection:
        assert [state.changed for state in folder_states(connection, ["acme"])] == [True]
    synced = folder.sync()
    assert (synced.new, synced.changed, synced.gone, synced.moved) == (0, 0, 0, 0)
    assert (folder.root / PATH).read_text().endswith("The spring tide is at six.\n")
    assert pending(folder) == []
    again = folder.sync()
    assert (again.new, again.changed, again.gone, again.unchanged) == (0, 0, 0, 2)
    assert folder.links()[0] == ("ideas/moon.md", "wikilink", "tides", PATH)


def test_whoever_has_the_folders_rights_writes_the_file_at_once(folder: Folder) -> None:
    """As `slowwave corpus write` does; replaced, forgotten and purged as well, and the mode of a file stays."""
    first = put(folder.store, target=PATH, follow=True)
    assert first.file == "written"
    file = folder.root / PATH
    file.chmod(0o640)
    done = put(folder.store, "replace", PATH, "At nine.", expected_hash=first.hash, follow=True)
    assert file.read_text().endswith("At nine.\n")
    assert (file.stat().st_mode & 0o777, done.file) == (0o640, "written")
    gone = put(folder.store, "forget", PATH, "", reason="A joke.", follow=True)
    assert 'status: "superseded"' in file.read_text()
    assert (folder.root / "ideas/tides.tombstone.md").read_text().endswith("Reason: A joke.\n")
    assert gone.held is not None
    assert gone.held.git == sum((up / ".git").exists() for up in (folder.root, *folder.root.parents))
    synced = folder.sync()
    assert (synced.new, synced.changed, synced.gone, pending(folder)) == (0, 0, 0, [])
    purged = drop(
        folder.store, PATH, expected_hash=gone.hash, reason="Gone.", dry_run=False, allow_canonical=True,
        include_related_tombstone=True, follow=True,
    )  # fmt: skip
    assert purged.paths == (PATH, "ideas/tides.tombstone.md")
    assert sorted(f.name for f in (folder.root / "ideas").iterdir()) == ["moon.md"]
    assert folder.sync().new == 0
    assert list(folder.live()) == ["ideas/moon.md"]


def test_a_page_that_no_file_says_yet_is_not_taken_for_gone(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder cannot be written: its page stays, and the sync names the file that waits."""

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    by_agent(folder)
    with monkeypatch.context() as broken:
        broken.setattr(write_files, "_temporary", full)
        synced = folder.sync()
    assert synced.gone == 0
    assert [(out.path, "No space left" in out.reason) for out in synced.left_out] == [(PATH, True)]
    assert sorted(folder.live()) == ["ideas/moon.md", PATH]
    folder.sync()
    assert (folder.root / PATH).exists()


def test_a_page_that_comes_while_a_sync_begins_is_not_taken_for_gone(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was written after the files had followed and before the sync read what stands."""

    def late(*_: object) -> Following:
        by_agent(folder)
        return Following()

    with monkeypatch.context() as patched:
        patched.setattr(sync, "follow_files", late)
        assert folder.sync().gone == 0
    assert sorted(folder.live()) == ["ideas/moon.md", PATH]
    assert pending(folder) == [PATH]


def test_a_file_that_has_not_followed_yet_does_not_take_back_what_an_agent_wrote(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says the old text, and was touched."""
    folder.write(PATH, PAGE)
    folder.sync()
    by_agent(folder, "append", "The lock closes at dusk.")
    folder.touch(PATH, 10)

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(write_files, "_temporary", full)
        assert folder.sync().changed == 0
    assert "lock closes" in texts(folder)[0]
    assert folder.sync().changed == 0
    assert "lock closes" in (folder.root / PATH).read_text()


def test_append_pending_while_a_person_edits_the_file_is_merged_into_it(folder: Folder) -> None:
    """D1: the next sync leaves a page and a file that hold both texts, and the head that the person changed."""
    folder.write(PATH, PAGE)
    folder.sync()
    by_agent(folder, "append", "The lock closes at dusk.")
    edited = PAGE.replace("title: Tides", "title: Tides and moons") + "\nA person was here.\n"
    folder.write(PATH, edited, age=20)
    synced = folder.sync()
    assert (synced.changed, synced.superseded, pending(folder)) == (1, (), [])
    file = (folder.root / PATH).read_text()
    assert file.index("A person was here.") < file.index("The lock closes at dusk.")
    assert "title: Tides and moons\n" in file
    assert texts(folder)[0] == file.split("---\n")[-1].strip()
    again = folder.sync()
    assert (again.changed, again.unchanged) == (0, 2)


def test_append_to_a_file_that_a_person_edited_writes_both_and_reports_the_merge(folder: Folder) -> None:
    """D1: the answer `written` is true, and a warning names the edit."""
    folder.write(PATH, PAGE)
    folder.sync()
    folder.write(PATH, PAGE.replace("six", "seven"), age=20)
    done = put(folder.store, "append", PATH, "The lock closes at dusk.", follow=True)
    assert (done.file, "merged" in done.warnings[0]) == ("written", True)
    assert (folder.root / PATH).read_text().endswith("at seven.\n\nThe lock closes at dusk.\n")
    put(folder.store, "append", PATH, "A second one.", follow=True)
    folder.sync()
    assert texts(folder)[0] == "The spring tide is at seven.\n\nThe lock closes at dusk.\n\nA second one."


def test_replace_of_a_file_that_a_person_edited_reports_superseded_and_keeps_both_texts(folder: Folder) -> None:
    """The person's text is the page, the agent's a version before it; the write and the sync say so."""
    first = put(folder.store, target=PATH, follow=True)
    folder.sync()
    edited = (folder.root / PATH).read_text() + "\nA person was here.\n"
    folder.write(PATH, edited, age=20)
    done = put(folder.store, "replace", PATH, "At nine.", expected_hash=first.hash, follow=True)
    assert (done.file, pending_files.SUPERSEDED in done.warnings[0]) == ("superseded", True)
    folder.sync()
    now, agents, _ = texts(folder)
    assert ("A person was here." in now, agents) == (True, "At nine.")
    ((hash_,),) = ask(
        folder.store, "SELECT content_hash FROM memory.documents WHERE path = %s AND invalidated_at IS NULL", PATH
    )
    by_agent(folder, "replace", "At ten.", expected_hash=str(hash_))
    folder.write(PATH, edited + "\nAgain.\n", age=10)
    assert folder.sync().superseded == (PATH,)
    assert texts(folder)[0].endswith("Again.")


def test_a_person_who_creates_the_same_page_meanwhile_wins_as_well(folder: Folder) -> None:
    """One page, two texts."""
    by_agent(folder)
    folder.write(PATH, PAGE.replace("six", "nine"), age=20)
    folder.sync()
    now, agents = texts(folder)
    assert "nine" in now
    assert "six" in agents
    assert pending(folder) == []


def test_what_a_person_deleted_while_an_agent_wrote_it_stands_again(folder: Folder) -> None:
    """A deletion says nothing that would be lost; the agent's text is the newest."""
    folder.write(PATH, PAGE)
    folder.sync()
    by_agent(folder, "append", "The lock closes at dusk.")
    (folder.root / PATH).unlink()
    assert folder.sync().gone == 0
    assert "lock closes" in (folder.root / PATH).read_text()


def test_a_file_that_was_edited_after_its_page_was_purged_is_a_page_again(folder: Folder) -> None:
    """The person's text is nobody's to delete."""
    folder.write("inbox/note.md", "---\ntitle: Note\ntype: capture\n---\n\nOne.\n")
    folder.sync()
    ((hash_,),) = ask(folder.store, "SELECT content_hash FROM memory.documents WHERE path = 'inbox/note.md'")
    drop(folder.store, "inbox/note.md", expected_hash=str(hash_), reason="Test.", dry_run=False)
    folder.write("inbox/note.md", "---\ntitle: Note\ntype: capture\n---\n\nTwo.\n", age=20)
    assert folder.sync().new == 1
    assert (folder.root / "inbox/note.md").read_text().endswith("Two.\n")


@pytest.mark.parametrize("edit", ["before", "after"])
def test_an_edit_within_the_very_moment_of_writing_is_put_back(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, edit: str
) -> None:
    """Between the look at the file and its replacement."""
    folder.write(PATH, PAGE)
    folder.sync()
    ((hash_,),) = ask(folder.store, "SELECT content_hash FROM memory.documents WHERE path = %s", PATH)
    by_agent(folder, "replace", "The lock closes at dusk.", expected_hash=str(hash_))
    made = write_files._temporary

    def edited(at: int, name: str, content: bytes, mode: int) -> str:
        if edit == "before":
            (folder.root / PATH).write_text("A person, just now.\n")
        temporary = made(at, name, content, mode)
        if edit == "after":
            (folder.root / PATH).write_text("A person, just now.\n")
        return temporary

    with monkeypatch.context() as patched:
        patched.setattr(write_files, "_temporary", edited)
        with folder.store.connect("owner") as connection:
            done = follow_files(connection, folder.corpus())
    assert (done.edited, done.written, done.left) == ([PATH], [], {})
    assert (folder.root / PATH).read_text() == "A person, just now.\n"
    assert [f.name for f in (folder.root / "ideas").iterdir() if f.name.startswith(".")] == []
    folder.clock += 1e9
    folder.sync()
    assert [len(texts(folder)), texts(folder)[0]] == [3, "A person, just now."]


def write_killed(owner: str, step: str, when: str) -> None:
    """In a process of its own: a page is written, and the process killed before or after a step of its file."""
    owning = pending_files if hasattr(pending_files, step) else write_files
    real = getattr(owning, step)

    def killed(*given: Any) -> None:
        if when == "after":
            real(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owning, step, killed)
    Memory("acme", Store(owner=owner)).write("append", PATH, "The lock closes at dusk.")


@pytest.mark.parametrize(
    ("step", "when"), [("_follow", "before"), ("_temporary", "before"), ("_temporary", "after"), ("_replace", "after")]
)
def test_dory_a_process_killed_between_the_commit_and_the_file_loses_nothing(
    folder: Folder, step: str, when: str
) -> None:
    """kill -9 at each step: the page stands, and the next sync writes the file, once; no half file is left."""
    folder.write(PATH, PAGE)
    folder.sync()
    process = started(write_killed, folder.store.owner, step, when)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert pending(folder) == [PATH]
    assert "lock closes" in texts(folder)[0]
    synced = folder.sync()
    assert (synced.new, synced.changed, synced.gone) == (0, 0, 0)
    assert (folder.root / PATH).read_text().count("lock closes") == 1
    assert sorted(f.name for f in (folder.root / "ideas").iterdir()) == ["moon.md", "tides.md"]
    assert len(texts(folder)) == 2


@pytest.mark.parametrize("where", ["folder", "file", "root"])
def test_dory_a_link_out_of_the_folder_is_not_followed(folder: Folder, tmp_path: Path, where: str) -> None:
    """Neither a folder on the way nor the file: nothing is written outside, and the page waits with the reason."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "tides.md").write_text("Mine.")
    if where == "folder":
        (folder.root / "notes").symlink_to(outside)
    elif where == "file":
        (folder.root / "notes").mkdir()
        (folder.root / "notes/tides.md").symlink_to(outside / "tides.md")
    else:
        folder.root.rename(tmp_path / "moved")
        folder.root.symlink_to(outside)
    done = put(folder.store, target="notes/tides.md", follow=True)
    assert done.file == "pending"
    assert "notes/tides.md: the file has not followed yet" in done.warnings[0]
    assert (outside / "tides.md").read_text() == "Mine."
    assert [f.name for f in outside.iterdir()] == ["tides.md"]
    assert pending(folder) == ["notes/tides.md"]


def test_a_name_that_differs_in_case_alone_is_one_file_on_many_systems(folder: Folder) -> None:
    """A page that is known is meant; if only the file is there, the write is pending with the reason. A folder's spelling is taken."""
    folder.write("ideas/Lock.md", PAGE)
    folder.sync()
    with pytest.raises(AlreadyThere, match=r"ideas/Lock\.md is there"):
        put(folder.store, target="ideas/lock.md")
    folder.write("ideas/Dusk.md", PAGE, age=20)
    done = put(folder.store, target="ideas/dusk.md", follow=True)
    assert (done.file, "case alone" in done.warnings[0]) == ("pending", True)
    folder.write("Notes/a.md", PAGE, age=20)
    done = put(folder.store, target="notes/b.md", follow=True)
    assert (done.path, done.file) == ("Notes/b.md", "written")


def test_pages_that_the_profile_leaves_out_and_folders_that_nobody_named(folder: Folder, tmp_path: Path) -> None:
    """The next sync would take the one for gone; of two folders one is named."""
    with pytest.raises(Refused, match="left out by the profile"):
        put(folder.store, target="inbox/proposed/a.md")
    other = Folder(tmp_path / "other", folder.store, "plain", "acme")
    other.write("a.md", "# A\n")
    other.sync()
    with pytest.raises(Refused, match="other, vault"):
        put(folder.store, target=PATH)
    assert put(folder.store, target=PATH, corpus="other", follow=True).file == "written"
    assert (other.root / PATH).exists()
    assert put(folder.store, "append", PATH, "More.").action == "appended"  # the one that has the page


def test_a_folder_that_is_watched_gets_what_a_server_writes(folder: Folder) -> None:
    """No file changes: the rows are looked at."""
    stop, followed = threading.Event(), threading.Event()
    told: list[object] = []

    def tell(synced: object) -> None:
        told.append(synced)
        if len(told) == 1:
            by_agent(folder)
        elif (folder.root / PATH).exists():
            followed.set()
            stop.set()

    watching = threading.Thread(
        target=watch_corpora,
        args=(folder.store, "acme", [folder.corpus()], folder.embedder, tell, lambda _: None),
        kwargs={"stop": stop, "debounce": 0.05},
        daemon=True,
    )
    watching.start()
    assert followed.wait(30)
    watching.join(30)


def test_pages_written_while_a_sync_is_at_work_are_neither_lost_nor_in_its_way(folder: Folder) -> None:
    """A page that is created, purged or written anew between what the sync read and what it writes."""
    folder.write(PATH, PAGE)
    folder.write("inbox/note.md", "---\ntitle: Note\ntype: capture\n---\n\nOne.\n")
    folder.sync()
    folder.write(PATH, PAGE + "\nA person was here.\n", age=20)
    folder.write("inbox/note.md", "---\ntitle: Note\ntype: capture\n---\n\nTwo.\n", age=20)
    folder.write("ideas/new.md", PAGE.replace("Tides", "New"), age=20)
    (folder.root / "ideas/moon.md").unlink()

    before = folder.embedder.embed
    once: list[int] = []

    def embed(asked: Any) -> Any:
        if not once:
            once.append(1)
            by_agent(folder, "append", "The lock closes at dusk.")
            by_agent(folder, target="ideas/new.md", frontmatter=IDEA)
            by_agent(folder, "append", "By day.", target="ideas/moon.md")
            ((hash_,),) = ask(folder.store, "SELECT content_hash FROM memory.documents WHERE path = 'inbox/note.md'")
            drop(folder.store, "inbox/note.md", expected_hash=str(hash_), reason="Test.", dry_run=False)
        return before(asked)

    folder.embedder.embed = embed  # type: ignore[method-assign]
    synced = folder.sync()
    assert once
    assert synced.new + synced.changed == 3
    assert ["A person was here." in texts(folder)[0], "lock closes" in texts(folder)[1]] == [True, True]
    folder.sync()
    assert sorted(folder.live()) == ["ideas/moon.md", "ideas/new.md", PATH, "inbox/note.md"]
    assert "By day." in (folder.root / "ideas/moon.md").read_text()
    assert (folder.root / "inbox/note.md").read_text().endswith("Two.\n")
    assert pending(folder) == []


def test_a_forgotten_page_is_no_news_to_a_sync_and_says_nothing_again(folder: Folder) -> None:
    """Its names and its words make no mention, also where a sync looks at every page; audits find nothing wrong with its tombstone."""
    fields = {"title": "Zephyrine", "type": "knowledge"}
    put(
        folder.store,
        target="knowledge/zephyrine.md",
        content="Zephyrine sails the Moonraker.",
        frontmatter=fields,
        follow=True,
    )
    put(folder.store, "forget", "knowledge/zephyrine.md", "", reason="Sunk.", follow=True)
    ask(folder.store, "UPDATE memory.corpora SET sync_state = '{}'")
    folder.write("ideas/sea.md", "---\ntitle: Sea\ntype: idea\n---\nWhere Zephyrine was.\n", age=20)
    folder.write("knowledge/raker.md", "---\ntitle: Moonraker\ntype: knowledge\n---\nA sail.\n", age=20)
    assert folder.sync().new == 2
    assert [link for link in folder.links() if link[1] == "mention"] == []
    assert ask(folder.store, "SELECT metadata->'problems' FROM memory.documents WHERE path LIKE '%%.tombstone.md'") == [
        (None,)
    ]


VAULT = {
    "Projects/Lantern.md": "Ship it in May.\n",
    "Reading list.md": "- Tides\n",
    "People/李娜.md": "Works in Oslo.\n",
    "Was nun?.md": "Gute Frage.\n",
}


@pytest.fixture
def notes(tmp_path: Path, store: Store) -> Folder:
    """A vault whose names have capitals, spaces and other scripts, synced, with a folder that has no page yet."""
    found = Folder(tmp_path / "notes", store, "vault", "acme")
    for path, text in VAULT.items():
        found.write(path, text)
    (found.root / "Trips").mkdir()
    assert found.sync().new == len(VAULT)
    return found


@pytest.mark.parametrize("path", VAULT)
def test_page_of_a_vault_is_appended_to_replaced_forgotten_and_purged(notes: Folder, path: str) -> None:
    """D2: under the name that a person gave it, over a server as well."""
    done = put(notes.store, "append", path, "- By an agent.", follow=True)
    assert (done.path, done.file) == (path, "written")
    assert (notes.root / path).read_text().endswith(f"---\n{VAULT[path]}\n- By an agent.\n")
    done = put(notes.store, "replace", path, "Anew.", expected_hash=done.hash, follow=True)
    done = put(notes.store, "forget", path, "", reason="A joke.", follow=True)
    assert done.tombstone == f"{path.removesuffix('.md')}.tombstone.md"
    assert done.tombstone is not None
    assert (notes.root / done.tombstone).exists()
    drop(
        notes.store, path, expected_hash=done.hash, reason="Gone.", dry_run=False, allow_canonical=True,
        include_related_tombstone=True, follow=True,
    )  # fmt: skip
    assert not (notes.root / path).exists()
    assert path not in notes.live()


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("people/kvist.md", "People/kvist.md"),
        ("PROJECTS/New/Plan A.md", "Projects/New/Plan A.md"),
        ("trips/Bergen.md", "Trips/Bergen.md"),
        ("Ideas/日記.md", "Ideas/日記.md"),
        ("reading notes.md", "reading notes.md"),
    ],
)
def test_new_page_of_a_vault_takes_the_case_of_its_folders(notes: Folder, asked: str, path: str) -> None:
    """D2: those with pages, and those that are on the disk alone; its file is written and the next sync has nothing to do."""
    done = put(notes.store, "create", asked, follow=True)
    assert (done.path, done.file) == (path, "written")
    assert (notes.root / path).exists()
    synced = notes.sync()
    assert (synced.new, synced.changed, synced.gone, synced.left_out) == (0, 0, 0, ())


def test_path_of_a_vault_in_another_case_means_the_page(notes: Folder) -> None:
    """It is appended to as it is named, and no second page comes."""
    assert put(notes.store, "append", "projects/lantern.md", "More.", follow=True).path == "Projects/Lantern.md"
    with pytest.raises(AlreadyThere, match="Projects/Lantern"):
        put(notes.store, "create", "projects/LANTERN.md")
    assert sorted(notes.live()) == sorted(VAULT)


@pytest.mark.parametrize("path", ["What?.md", "a:b.md", "x /y.md", "李" * 70 + ".md"])
def test_new_page_with_a_name_that_some_file_system_refuses_is_refused(notes: Folder, path: str) -> None:
    """By the request, and by the store's own function."""
    with pytest.raises(Refused, match="if the page is new"):
        put(notes.store, "create", path)
    assert sorted(notes.live()) == sorted(VAULT)


def test_memory_tool_on_a_vault_writes_into_the_folder_as_it_is_spelled(notes: Folder) -> None:
    """Its files are listed, edited and renamed there."""
    notes.write("Memories/First.md", "One.\n")
    notes.sync()
    files = MemoryFiles(notes.store, "acme")
    files.create("second.md", "Two.")
    files.edit("second.md", lambda text: text + " Three.")
    files.rename("second.md", "third.md")
    assert [file.name for file in files.files()] == ["First.md", "third.md"]
    assert (notes.root / "Memories/third.md").read_text().endswith("Two. Three.")

"""Files follow the rows of pages, and never a path, a link or a person's words."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

import pytest

from slowwave.sources.blocks import block
from slowwave.store.connect import Store, path_part
from slowwave.store.settings import Settings
from slowwave.wiki.pages.workspace import Folder, PageSync, sync_pages
from tests.memories import ask, remember

ONE, TWO = block("# Memory\n\n- one"), block("# Memory\n\n- two")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


def page(store: Store, body: str, path: str = "MEMORY.md", slug: str = "acme") -> None:
    """The row as an apply leaves it."""
    remember(store, slug)
    ask(
        store,
        "DELETE FROM memory.pages WHERE path = %s AND namespace_id = (SELECT id FROM memory.namespaces WHERE slug = %s)",
        path,
        slug,
    )
    remember(store, slug, pages=[{"id": f"{slug} {path}", "path": path, "title": "Memory", "body": body}])


def sync(store: Store, base: Path, slug: str = "acme") -> PageSync:
    return sync_pages(store, slug, Settings(workspace_path=str(base)))


def test_a_page_becomes_a_file_once(store: Store, base: Path) -> None:
    """Any op applied twice = applied once (pages): the second sync touches nothing."""
    page(store, ONE)
    first = sync(store, base)
    file = base / "acme" / "MEMORY.md"
    assert (first.folder, first.written, first.problems) == (str(base / "acme"), ("MEMORY.md",), ())
    assert file.read_text() == f"{ONE}\n"
    before = file.stat()
    assert sync(store, base).unchanged == ("MEMORY.md",)
    assert file.stat() == before
    page(store, TWO)
    assert sync(store, base).written == ("MEMORY.md",)
    assert file.read_text() == f"{TWO}\n"
    assert sorted(p.name for p in file.parent.iterdir()) == ["MEMORY.md"], "no temporary file is left"


def test_new_files_are_their_owners_and_old_ones_keep_their_mode(store: Store, base: Path) -> None:
    """Memory text is private; a file that a person made readable stays so."""
    page(store, ONE)
    sync(store, base)
    file = base / "acme" / "MEMORY.md"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.chmod(0o644)
    page(store, TWO)
    sync(store, base)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_without_a_workspace_pages_stay_in_the_store(store: Store) -> None:
    """The default writes nothing anywhere."""
    page(store, ONE)
    assert sync_pages(store, "acme", Settings()) == PageSync()


def test_a_namespace_without_pages_gets_no_folder(store: Store, base: Path) -> None:
    """Nothing to tell, nothing made."""
    remember(store, "acme")
    assert sync(store, base) == PageSync(str(base / "acme"))
    assert not base.exists()


def test_human_lines_survive_and_the_block_goes_when_its_row_is_gone(store: Store, base: Path) -> None:
    """Undone, the page leaves the file; what a person wrote stands."""
    page(store, ONE)
    file = base / "acme" / "MEMORY.md"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"# Mine\r\n\r\nfirst\n")
    sync(store, base)
    file.write_bytes(file.read_bytes() + b"\nlast, without a line end")
    page(store, TWO)
    sync(store, base)
    assert file.read_bytes() == f"# Mine\r\n\r\nfirst\n\n{TWO}\n\nlast, without a line end".encode()
    ask(store, "DELETE FROM memory.pages")
    assert sync(store, base).written == ("MEMORY.md",)
    assert file.read_bytes() == b"# Mine\r\n\r\nfirst\n\n\nlast, without a line end"
    assert sync(store, base) == PageSync(str(base / "acme"))


@pytest.mark.parametrize("empty", [True, False])
def test_a_file_with_nothing_else_in_it_goes_with_its_block(store: Store, base: Path, *, empty: bool) -> None:
    """Its row is gone, or has nothing to tell any more."""
    page(store, ONE)
    sync(store, base)
    ask(store, "UPDATE memory.pages SET body = ''" if empty else "UPDATE memory.pages SET invalidated_at = now()")
    assert sync(store, base).removed == ("MEMORY.md",)
    assert list((base / "acme").iterdir()) == []


def test_a_block_that_a_person_edited_is_left_alone_and_told(store: Store, base: Path) -> None:
    """Neither replaced nor removed, until the person has dealt with it."""
    page(store, ONE)
    sync(store, base)
    file = base / "acme" / "MEMORY.md"
    edited = file.read_text().replace("- one", "- one, as I see it")
    file.write_text(edited)
    page(store, TWO)
    outcome = sync(store, base)
    assert outcome.written == ()
    assert outcome.problems[0].startswith("MEMORY.md holds a block that somebody edited")
    ask(store, "DELETE FROM memory.pages")
    assert sync(store, base).problems
    assert file.read_text() == edited


def test_one_file_at_fault_holds_up_no_other(store: Store, base: Path) -> None:
    """Binary, a folder, a huge file: told, and the diary is written."""
    page(store, ONE, "DREAMS.md")
    for n, make in enumerate(
        (lambda f: f.write_bytes(b"\xff\xfe"), lambda f: f.mkdir(), lambda f: f.write_bytes(b"x" * 5_000_001))
    ):
        file = base / "acme" / f"P{n}.md"
        page(store, ONE, file.name)
        file.parent.mkdir(parents=True, exist_ok=True)
        make(file)
    outcome = sync(store, base)
    assert outcome.written == ("DREAMS.md",)
    assert [p.split()[0] for p in outcome.problems] == ["P0.md", "P1.md", "P2.md"]


def test_files_that_are_no_pages_are_nobodys_business(store: Store, base: Path) -> None:
    """Notes of a person in the same folder, whatever they are, are neither touched nor told."""
    page(store, ONE)
    folder = base / "acme"
    folder.mkdir(parents=True)
    (folder / "latin.md").write_bytes(b"caf\xe9")
    (folder / "mine.md").write_text("about <!-- slowwave:begin --> and such")
    (folder / "folder.md").mkdir()
    assert sync(store, base) == PageSync(str(folder), written=("MEMORY.md",))
    assert (folder / "latin.md").read_bytes() == b"caf\xe9"


def test_a_page_that_an_agent_wrote_into_the_store_is_no_file(store: Store, base: Path) -> None:
    """Only what was rendered is written."""
    page(store, "# free text")
    assert "left alone" in sync(store, base).problems[0]
    assert not (base / "acme" / "MEMORY.md").exists()


@pytest.mark.parametrize(
    "path", ["../evil.md", "/evil.md", "a/../../evil.md", ".ssh.md", "x\n.md", "MEMORY.md\x1b[31m"]
)
def test_no_path_leaves_the_folder(store: Store, base: Path, path: str) -> None:
    """A row may hold any path; a file may not."""
    page(store, ONE, path)
    outcome = sync(store, base)
    assert "stays in the store" in outcome.problems[0]
    assert sorted(p.name for p in base.parent.rglob("*.md")) == []


@pytest.mark.parametrize("slug", ["../evil", "/etc", "a b/c", "..", "Ünïcode\n"])
def test_no_name_of_a_namespace_leaves_the_workspace(store: Store, base: Path, slug: str) -> None:
    """Its folder is a plain name, of its own."""
    page(store, ONE, slug=slug)
    sync(store, base, slug)
    assert [p.name for p in base.iterdir()] == [path_part(slug)]
    assert (base / path_part(slug) / "MEMORY.md").exists()


def test_no_namespace_is_called_as_the_folder_of_another(store: Store, base: Path) -> None:
    """Else one would write over the pages of the other."""
    page(store, ONE, slug="a b")
    page(store, TWO, slug=path_part("a b"))
    assert sync(store, base, "a b").folder != sync(store, base, path_part("a b")).folder
    assert (base / path_part("a b") / "MEMORY.md").read_text() == f"{ONE}\n"
    page(store, TWO, slug=path_part("a b").replace(".", "-"))
    sync(store, base, path_part("a b").replace(".", "-"))
    assert (base / path_part("a b") / "MEMORY.md").read_text() == f"{ONE}\n"


@pytest.mark.parametrize("where", ["file", "folder"])
def test_no_link_is_followed(store: Store, base: Path, tmp_path: Path, where: str) -> None:
    """Whoever may write the workspace must not make Slowwave write, or read, elsewhere."""
    page(store, ONE)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "MEMORY.md").write_text("precious")
    base.mkdir()
    if where == "folder":
        (base / "acme").symlink_to(outside)
    else:
        (base / "acme").mkdir()
        (base / "acme" / "MEMORY.md").symlink_to(outside / "MEMORY.md")
    outcome = sync(store, base)
    assert "symbolic link" in outcome.problems[0]
    assert (outside / "MEMORY.md").read_text() == "precious"


def test_a_workspace_that_is_no_folder_is_a_sentence(store: Store, base: Path) -> None:
    """Nothing raises; the sentence names the setting."""
    page(store, ONE)
    base.write_text("a file")
    assert "SLOWWAVE_WORKSPACE_PATH" in sync(store, base).problems[0]


def test_a_home_that_nobody_has_is_a_sentence(store: Store) -> None:
    """`~name` of an unknown user is a wrong setting, and no end of an apply."""
    page(store, ONE)
    (problem,) = sync(store, Path("~no-such-user-here/pages")).problems
    assert "SLOWWAVE_WORKSPACE_PATH" in problem


def test_a_folder_that_is_never_let_go_of_is_left_alone(
    store: Store, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever holds the lock for ever does not hold up an apply for ever."""
    page(store, ONE)
    sync(store, base)
    page(store, TWO)
    monkeypatch.setattr("slowwave.wiki.pages.workspace._HELD_SECONDS", 0.3)
    holder = os.open(base / "acme", os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        (problem,) = sync(store, base).problems
    finally:
        os.close(holder)
    assert "held by another program" in problem
    assert (base / "acme" / "MEMORY.md").read_text() == f"{ONE}\n"
    assert sync(store, base).written == ("MEMORY.md",)


def test_a_file_with_the_line_ends_of_another_system_keeps_them(store: Store, base: Path) -> None:
    """The block is known by its words; what a person wrote around it stays to the last character."""
    page(store, ONE)
    sync(store, base)
    file = base / "acme" / "MEMORY.md"
    block_there = ONE.replace("\n", "\r\n")
    file.write_bytes(f"mine\r\n\r\n{block_there}\r\nmine too\r\n".encode())
    page(store, TWO)
    assert sync(store, base).written == ("MEMORY.md",)
    assert file.read_bytes() == f"mine\r\n\r\n{TWO}\r\nmine too\r\n".encode()
    assert sync(store, base).unchanged == ("MEMORY.md",)


def test_somebody_who_writes_at_the_same_moment_loses_nothing(
    store: Store, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is read again when it changed between reading and renaming."""
    page(store, ONE)
    sync(store, base)
    page(store, TWO)
    file, read = base / "acme" / "MEMORY.md", Folder.read
    visits: list[str] = []

    def busy(self: Folder, name: str) -> object:
        seen = read(self, name)
        visits.append(name)
        if len(visits) == 1:
            file.write_text(f"{seen.text if seen else ''}\nsaved in between\n")
        return seen

    monkeypatch.setattr(Folder, "read", busy)
    assert sync(store, base).written == ("MEMORY.md",)
    assert file.read_text() == f"{TWO}\n\nsaved in between\n"


def test_a_crash_between_writing_and_renaming_leaves_the_old_file(
    store: Store, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never half a file; the next sync completes it and no rubbish is left."""
    page(store, ONE)
    sync(store, base)
    page(store, TWO)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        assert "No space left on device" in sync(store, base).problems[0]
    assert [p.name for p in (base / "acme").iterdir()] == ["MEMORY.md"]
    assert (base / "acme" / "MEMORY.md").read_text() == f"{ONE}\n"
    assert sync(store, base).written == ("MEMORY.md",)

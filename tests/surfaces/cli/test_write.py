"""``slowwave corpus write`` and ``purge``: change and delete pages, with dry runs, as text and as JSON."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.surfaces.api.memory import Memory
from tests.memories import ask, remember
from tests.surfaces.cli.conftest import Run
from tests.wiki.corpus.folders import Folder


@pytest.fixture
def vault(tmp_path: Path, store: Store) -> Folder:
    folder = Folder(tmp_path / "vault", store, "dory", "acme")
    folder.write("ideas/moon.md", "---\ntitle: Moon\ntype: idea\n---\n\nPulls [[tides]].\n")
    folder.sync()
    return folder


def test_a_page_is_written_read_forgotten_and_purged(
    vault: Folder, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of a followed folder is written by the command itself; purge says what would go until --yes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("The spring tide: 6 Uhr früh.\n".encode())))
    head = ("--title", "Tides", "--type", "idea", "--tag", "sea", "--field", "pinned=true", "--field", "area=port")
    code, out, err = run("corpus", "write", "acme", "ideas/tides.md", "--kind", "create", *head)
    assert (code, err) == (0, "")
    assert "ideas/tides.md is created. Its file is written." in out
    file = vault.root / "ideas/tides.md"
    assert "früh" in file.read_text()
    assert 'tags: ["sea"]' in file.read_text()
    assert "pinned: true" in file.read_text()
    added = tmp_path / "more.md"
    added.write_text("The lock closes at dusk.")
    done = json.loads(
        run("corpus", "write", "acme", "ideas/tides.md", "--kind", "append", "--file", str(added), "--json")[1]
    )
    assert (done["action"], done["file"]) == ("appended", "written")
    code, out, _ = run("corpus", "write", "acme", "ideas/tides.md", "--kind", "forget", "--reason", "A joke.")
    assert code == 0
    assert "ideas/tides.md is forgotten." in out
    assert "ideas/tides.tombstone.md gives the reason." in out
    assert "Its words stand elsewhere: its versions (2)" in out
    code, out, _ = run("corpus", "purge", "acme", "ideas/tides.md", "--allow-canonical", "--tombstone")
    assert code == 0
    assert "ideas/tides.md, ideas/tides.tombstone.md" in out
    assert "would be deleted" in out
    assert file.exists()
    command = next(line.split() for line in out.splitlines() if "--yes" in line)
    code, out, _ = run(*command[1:])
    assert (code, "are deleted" in out) == (0, True)
    assert sorted(f.name for f in file.parent.iterdir()) == ["moon.md"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ideas/a.md", "--kind", "burn"), "kind:"),
        (("../a.md", "--kind", "create"), "target:"),
        (("ideas/a.md", "--kind", "forget"), "for a reason"),
        (("ideas/a.md", "--kind", "replace"), "by the --expected-hash that `get --json` gives"),
        (("ideas/a.md", "--kind", "create"), "title and type"),
        (("ideas/a.md", "--kind", "create", "--field", "x"), "NAME=VALUE"),
        (("ideas/a.md", "--kind", "create", "--file", "/no/such/file"), "cannot be read"),
        (("ideas/a.md", "--kind", "replace", "--expected-hash", "0" * 64), "no page"),
    ],
)
def test_refusals_are_sentences(
    vault: Folder, run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    """Exit code 2, and nothing stored."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Tea.")))
    code, out, err = run("corpus", "write", "acme", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("Refused: ")
    assert "Value error" not in err
    assert list(vault.live()) == ["ideas/moon.md"]


def test_the_same_in_python(store: Store) -> None:
    """`Memory.write` and `Memory.purge`, with the fields of the requests."""
    remember(store, "acme")
    memory = Memory("acme", store)
    done = memory.write("create", "inbox/a.md", "Tea.", frontmatter={"title": "A", "type": "capture"}, agent="me")
    assert (done.action, done.file) == ("created", "none")
    assert [r.path for r in memory.search("tea", mode="bm25").results] == ["inbox/a.md"]
    assert memory.purge("inbox/a.md").action == "would_purge"
    gone = memory.purge("inbox/a.md", expected_hash=done.hash, reason="Test.", dry_run=False)
    assert (gone.action, gone.paths) == ("purged", ("inbox/a.md",))
    assert ask(store, "SELECT count(*) FROM memory.documents") == [(0,)]
    with pytest.raises(Refused, match="target"):
        memory.write("create", "../a.md", "Tea.")
    with pytest.raises(Refused, match=r"^a page is replaced by the expected_hash"):
        memory.write("replace", "inbox/a.md", "Tea.")

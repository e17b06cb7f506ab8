"""Pages in git: what changed is committed, and nothing but pages."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer

import pytest

from slowwave.sources.blocks import block
from slowwave.sources.git import commit_pages
from tests.wiki.pages.notes import notes, snapshot_of
from tests.wiki.pages.test_index import SECRET, index

RUN = "3f2a1b0c-0000-4000-8000-000000000000"


def git(base: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=mara", "-c", "user.email=mara@example.org", *arguments],
        cwd=base,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "w" / "acme").mkdir(parents=True)
    return tmp_path / "w"


def write(base: Path, text: str, name: str = "MEMORY.md") -> None:
    (base / "acme" / name).write_text(text)


def commit(base: Path, *files: str, run_id: str = RUN, undo: bool = False) -> str:
    made, problem = commit_pages(base, "acme", files or ("MEMORY.md",), run_id=run_id, undo=undo)
    assert problem == ""
    return made


def memory(*texts: str) -> str:
    return index(snapshot_of(notes(*texts))).body + "\n"


def test_a_workspace_becomes_a_repository_with_one_commit_a_change(base: Path) -> None:
    """Subject and bullets as nexo's, with the run; nothing changed is no commit."""
    write(base, memory("Tea is at *four*.", "second"))
    first = commit(base)
    assert (
        git(base, "log", "-1", "--format=%H|%an <%ae>|%s").strip()
        == f"{first}|slowwave <slowwave@localhost>|dream: 2 promotion(s)"
    )
    body = git(base, "log", "-1", "--format=%b")
    assert f"Run: {RUN}" in body
    assert body.split("\n")[2:4] == ["- Tea is at *four*.", "- second"]
    assert commit(base) == ""
    write(base, memory("Tea is at *four*.", "second", "third"))
    write(base, block("# Dream diary\n\n- x"), "DREAMS.md")
    commit(base, "MEMORY.md", "DREAMS.md")
    assert git(base, "log", "-1", "--format=%s").strip() == "dream: 1 promotion(s)"
    assert git(base, "status", "--porcelain") == ""


def test_bullets_are_few_and_short(base: Path) -> None:
    """At most 20 of 80 characters."""
    write(base, memory(*(f"{n} " + "x" * 200 for n in range(30))))
    commit(base)
    bullets = [line for line in git(base, "log", "-1", "--format=%b").split("\n") if line.startswith("- ")]
    assert len(bullets) == 20
    assert max(map(len, bullets)) <= 80


def test_undo_is_a_commit_too(base: Path) -> None:
    """A file that went is committed as gone."""
    write(base, memory("a"))
    commit(base)
    (base / "acme" / "MEMORY.md").unlink()
    commit(base, undo=True)
    assert git(base, "log", "-1", "--format=%s").strip() == "dream: undo by run 3f2a1b0c"
    assert git(base, "ls-files") == ""
    assert commit(base) == "", "a file that never was is nothing"


def test_only_pages_are_committed_in_a_persons_repository(base: Path) -> None:
    """What they staged stays staged, what they did not stays as it is, their hooks do not run, and nothing is initialised inside."""
    git(base.parent, "init", "-q")
    hook = base.parent / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    git(base.parent, "config", "commit.gpgSign", "true")
    (base.parent / "staged").write_text("x")
    (base / "acme" / "notes.md").write_text("mine")
    git(base.parent, "add", "staged")
    write(base, memory("a"))
    commit(base)
    assert git(base.parent, "show", "--name-only", "--format=").split() == ["w/acme/MEMORY.md"]
    assert git(base.parent, "status", "--porcelain").split("\n")[:2] == ["A  staged", "?? w/acme/notes.md"]
    assert not (base / ".git").exists()


def test_a_secret_in_a_file_stops_the_commit(base: Path) -> None:
    """Even one that a person wrote beside the block: the sentence names the file and not the secret."""
    write(base, f"{SECRET}\n\n{memory('a')}")
    made, problem = commit_pages(base, "acme", ("MEMORY.md",), run_id=RUN, undo=False)
    assert made == ""
    assert "acme/MEMORY.md" in problem
    assert "ghp" not in problem
    assert git(base, "status", "--porcelain") == "?? acme/\n"


def test_the_environment_leads_git_nowhere_else(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process inside a hook, or with an odd environment, commits to the workspace all the same."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody")
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    write(base, memory("a"))
    commit(base)
    monkeypatch.undo()
    assert (base / ".git").is_dir()
    assert git(base, "log", "-1", "--format=%an").strip() == "slowwave"


def test_no_git_is_a_sentence(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written all the same; the sentence says what to do."""
    write(base, memory("a"))
    monkeypatch.setenv("PATH", os.devnull)
    made, problem = commit_pages(base, "acme", ("MEMORY.md",), run_id=RUN, undo=False)
    assert made == ""
    assert "SLOWWAVE_PAGES_GIT" in problem


def test_a_lock_that_stands_is_told_and_one_that_goes_is_waited_for(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git's own words name the file; a moment's lock of somebody else costs no commit."""
    git(base, "init", "-q")
    write(base, memory("a"))
    lock = base / ".git" / "index.lock"
    lock.write_text("")
    monkeypatch.setattr("slowwave.sources.git._BUSY_SECONDS", 0.3)
    made, problem = commit_pages(base, "acme", ("MEMORY.md",), run_id=RUN, undo=False)
    assert made == ""
    assert str(lock) in problem
    assert "File exists" in problem
    monkeypatch.setattr("slowwave.sources.git._BUSY_SECONDS", 30)
    soon = Timer(0.5, lock.unlink)
    soon.start()
    assert commit(base)
    soon.join()


def test_what_another_git_leaves_out_of_the_index_is_added_again(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It read the index before the file was added, and wrote it after."""
    git(base, "init", "-q")
    real, once = shutil.which("git"), tmp_path / "once"
    (tmp_path / "bin").mkdir()
    between = tmp_path / "bin" / "git"
    between.write_text(f"""#!/bin/sh
case "$*" in *" commit "*) [ -e {once} ] || {{ touch {once}; {real} rm -q --cached acme/MEMORY.md; }};; esac
exec {real} "$@"
""")
    between.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    write(base, memory("Tea is at *four*."))
    commit, problem = commit_pages(base, "acme", ("MEMORY.md",), run_id=RUN, undo=False)
    assert (len(commit), problem) == (40, "")
    assert once.exists()


def test_two_namespaces_of_one_repository_commit_at_once(base: Path) -> None:
    """Each gets its commit, and neither takes the other's file along."""
    names = ("acme", "zebra")
    git(base, "init", "-q")
    (base / "zebra").mkdir()

    def both(n: int) -> list[tuple[str, str]]:
        def one(name: str) -> tuple[str, str]:
            (base / name / "MEMORY.md").write_text(memory(f"{name} {n}"))
            return commit_pages(base, name, ("MEMORY.md",), run_id=RUN, undo=False)

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(one, names))

    told = [commit for n in range(4) for commit in both(n)]
    assert [problem for _, problem in told] == [""] * 8
    assert all(made for made, _ in told)
    log = git(base, "log", "--name-only", "--format=").split()
    assert sorted(log) == ["acme/MEMORY.md"] * 4 + ["zebra/MEMORY.md"] * 4
    assert git(base, "status", "--porcelain") == ""


def test_a_repository_that_cannot_be_read_gets_no_other_one_inside(base: Path) -> None:
    """Only a workspace outside any repository becomes one: a broken, or somebody else's, is told."""
    git(base.parent, "init", "-q")
    config = base.parent / ".git" / "config"
    config.write_text("[core\n")
    write(base, memory("a"))
    made, problem = commit_pages(base, "acme", ("MEMORY.md",), run_id=RUN, undo=False)
    assert made == ""
    assert "bad config" in problem
    assert not (base / ".git").exists()


def test_the_author_is_slowwave_whatever_somebody_configured(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`author.name` wins over `user.name`, and would sign our commits with a person's name."""
    (tmp_path / ".gitconfig").write_text("[author]\n\tname = Mara\n[committer]\n\temail = mara@example.org\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    write(base, memory("a"))
    commit(base)
    told = git(base, "log", "-1", "--format=%an <%ae> %cn <%ce>").strip()
    assert told == "slowwave <slowwave@localhost> slowwave <slowwave@localhost>"

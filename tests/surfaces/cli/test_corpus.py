"""``slowwave corpus``, ``get``, ``link`` and ``import sessions``, as a person uses them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.surfaces.cli.conftest import Run


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    for path, text in {
        "harbor.md": "# Harbor\n\nSee [[crane]] and [[gone]].\n",
        "crane.md": "# Crane\n\nTwelve tons.\n",
    }.items():
        folder.mkdir(exist_ok=True)
        (folder / path).write_text(text)
        os.utime(folder / path, (1_780_000_000, 1_780_000_000))
    return folder


def said(run: Run, *arguments: str) -> Any:
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_a_folder_from_add_to_export(store: Store, run: Run, notes: Path, tmp_path: Path) -> None:
    """add → sync → status → link → get → export; each says what it did."""
    (added,) = said(run, "corpus", "add", "work", str(notes), "--profile", "vault")
    assert (added["new"], added["chunks_embedded"], added["left_out"]) == (2, 2, [])
    (notes / "bad.md").write_bytes(b"\xff")
    code, out, err = run("corpus", "sync", "work")
    assert code == 0
    assert "unchanged" in out
    assert "bad.md, line 1: it is not UTF-8" in err
    (status,) = said(run, "corpus", "status")
    assert {
        k: status[k]
        for k in ("namespace", "profile", "pages", "chunks", "chunks_without_vector", "links", "broken_links")
    } == {
        **{
            "namespace": "work",
            "profile": "vault",
            "pages": 2,
            "chunks": 2,
            "chunks_without_vector": 0,
            "links": 2,
            "broken_links": 1,
        },
    }
    assert [one["to"] for one in said(run, "corpus", "link", "work", "lint")["broken"]] == ["gone"]
    assert [edge["to"] for edge in said(run, "corpus", "link", "work", "neighbors", "harbor")["edges"]] == ["crane.md"]
    assert said(run, "corpus", "get", "work", "crane.md", "--from", "3")["content"] == "Twelve tons.\n"
    assert run("corpus", "get", "work", "crane.md")[1] == "# Crane\n\nTwelve tons.\n"
    (done,) = said(run, "corpus", "export", "work", str(tmp_path / "out"))
    assert done["pages"] == 2
    assert (tmp_path / "out" / "harbor.md").read_bytes() == (notes / "harbor.md").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("corpus", "sync"), "slowwave corpus add"),
        (("corpus", "add", "work", "absent"), "no folder"),
        (("corpus", "add", "work", ".", "--profile", "roam"), "dory, plain, vault"),
        (("corpus", "add", "No Slug!", "."), "cannot be used"),
        (("corpus", "status", "absent"), "no namespace"),
        (("corpus", "get", "work", "a.md"), "no namespace"),
        (("corpus", "link", "work", "ring"), "neighbors"),
        (("corpus", "link", "work", "neighbors", "a.md", "--depth", "99"), "depth"),
        (("import", "sessions", "absent.jsonl", "-n", "work"), "cannot be read"),
    ],
)
def test_what_may_not_be_is_refused_in_words(store: Store, run: Run, arguments: tuple[str, ...], words: str) -> None:
    if arguments == ("corpus", "sync"):
        with store.connect("owner") as owner:
            owner.execute("INSERT INTO memory.namespaces (id, slug) VALUES (gen_random_uuid(), 'bare')")
    code, _, err = run(*arguments)
    assert code == 2
    assert words in err.replace("\n", " ")


def test_sessions_are_imported_and_a_changed_folder_is_a_change(
    store: Store, run: Run, notes: Path, tmp_path: Path
) -> None:
    """A night that found nothing new is `unchanged`; after a sync that brought something it is not."""
    file = tmp_path / "a.jsonl"
    file.write_text(
        json.dumps({"role": "user", "content": "Who opens the gate?", "timestamp": "2026-05-04T09:00:00Z"}) + "\n"
    )
    assert said(run, "import", "sessions", str(file), "-n", "work")["new"] == 1
    said(run, "corpus", "add", "work", str(notes))
    said(run, "night", "work")
    assert "unchanged" in said(run, "night", "work")["skipped"]
    said(run, "corpus", "sync", "work")
    assert "unchanged" in said(run, "night", "work")["skipped"]
    (notes / "crane.md").write_text("# Crane\n\nFourteen tons.\n")
    assert said(run, "corpus", "sync", "work")[0]["changed"] == 1
    assert said(run, "night", "work")["skipped"] == ""


def test_public_pages_are_listed_and_published(store: Store, run: Run, notes: Path, tmp_path: Path) -> None:
    """What is marked and must not be seen is named with its reason, and is not in what programs are told."""
    (notes / "open.md").write_text("---\nvisibility: public\n---\n# Open\n")
    (notes / "ilse.md").write_text("---\nvisibility: public\nsensitivity: personal\n---\n# Ilse\n")
    said(run, "corpus", "add", "work", str(notes))
    code, out, _ = run("corpus", "publish", "work")
    assert code == 0
    assert "held back: its sensitivity is personal" in out
    assert [one["relative_path"] for one in said(run, "corpus", "publish", "work")["artifacts"]] == ["open.md"]
    code, out, err = run("corpus", "publish", "work", str(tmp_path / "site"))
    assert (code, "1 page (" in out, "held back ilse.md" in err) == (0, True, True)
    assert (tmp_path / "site" / "index.html").is_file()
    assert run("corpus", "publish", "work", str(notes))[0] == 2


def test_a_folder_that_is_missing_keeps_no_other_from_its_sync(
    store: Store, run: Run, notes: Path, tmp_path: Path
) -> None:
    """The one that is there is synced and shown; the other is refused by its name."""
    away = tmp_path / "away"
    away.mkdir()
    (away / "a.md").write_text("# A\n")
    said(run, "corpus", "add", "first", str(away))
    said(run, "corpus", "add", "second", str(notes))
    away.rename(tmp_path / "elsewhere")
    (notes / "new.md").write_text("# New\n")
    code, out, err = run("corpus", "sync", "--json")
    assert code == 2
    assert "away is no folder" in err
    assert [one["new"] for one in json.loads(out)] == [1]


def test_sessions_get_vectors_of_their_namespace_s_model(store: Store, run: Run, tmp_path: Path) -> None:
    """A model that only the namespace names, and that needs an endpoint, is asked for one."""
    with store.connect("owner") as owner:
        owner.execute(
            "INSERT INTO memory.namespaces (id, slug, settings) VALUES (gen_random_uuid(), 'work', '{\"embedding_model\": \"far\"}')"
        )
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps({"role": "user", "content": "Who opens the gate?"}) + "\n")
    code, _, err = run("import", "sessions", str(file), "-n", "work")
    assert code != 0
    assert "'far' needs an endpoint" in err


def test_one_session_in_markdown_is_stored_and_its_next_version(store: Store, run: Run, tmp_path: Path) -> None:
    """Under its agent's folder unless another place is named; what cannot be read or taken is refused."""
    remember(store, "work")
    file = tmp_path / "talk.md"
    file.write_text("**user**\n\nWhen is the spring tide?")
    command = ("import", "sessions", str(file), "-n", "work", "--agent", "Codex CLI", "--session-id", "A 1")
    assert said(run, *command)["result"] == "new"
    file.write_text(file.read_text() + "\n\n**assistant**\n\nAt six.")
    code, out, _ = run(*command, "--updated", "2026-05-04")
    assert (code, out.split(". ")[0]) == (0, "logs/sessions/codex-cli/a-1.md: changed")
    assert ask(store, "SELECT metadata->>'updated' FROM memory.documents WHERE invalidated_at IS NULL") == [
        ("2026-05-04",)
    ]
    assert run(*command, "--path", "core/user.md")[0] == 2
    assert run("import", "sessions", str(tmp_path / "absent.md"), *command[3:])[0] == 2


def test_session_with_agent_in_its_head_needs_no_option(store: Store, run: Run, tmp_path: Path) -> None:
    """An option takes precedence over the head; without either, the refusal names the option (D30)."""
    remember(store, "work")
    file = tmp_path / "talk.md"
    file.write_text("---\nagent: claude\nsession_id: s1\n---\n**user**\n\nWhen is the spring tide?")
    command = ("import", "sessions", str(file), "-n", "work")
    assert said(run, *command)["path"] == "logs/sessions/claude/s1.md"
    assert said(run, *command, "--session-id", "s2")["path"] == "logs/sessions/claude/s2.md"
    file.write_text("**user**\n\nWhen is the spring tide?")
    code, _, err = run(*command, "--session-id", "s3")
    assert (code, "--agent" in err) == (2, True)


@pytest.mark.parametrize(
    ("names", "options", "words"),
    [
        (("a.md", "b.jsonl"), (), "import it alone"),
        (("a.md", "c.markdown"), (), "import it alone"),
        (("b.jsonl",), ("--session-id", "s1"), "whose name ends in .md"),
        (("b.jsonl",), ("--status", "active"), "whose name ends in .md"),
    ],
)
def test_a_markdown_session_is_imported_alone(
    store: Store, run: Run, tmp_path: Path, names: tuple[str, ...], options: tuple[str, ...], words: str
) -> None:
    """Options of one session apply to no JSONL file, and nothing is stored when a call mixes both."""
    remember(store, "work")
    for name in names:
        (tmp_path / name).write_text('{"role": "user", "content": "Who opens the gate?"}\n')
    code, _, err = run("import", "sessions", *(str(tmp_path / name) for name in names), "-n", "work", *options)
    assert (code, words in err.replace("\n", " ")) == (2, True)
    assert ask(store, "SELECT count(*) FROM memory.documents") == [(0,)]

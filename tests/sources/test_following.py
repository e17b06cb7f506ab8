"""A folder that is worked on in place: from its files to a plan, back into the files, and to the same bytes again."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from random import Random

import pytest

from slowwave.bindings.stores import let_write, store_named
from slowwave.errors import Refused, UndoBlocked
from slowwave.night.executor import ApplyResult, apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.plans.seal import Plan
from slowwave.snapshots.export import export_snapshot
from slowwave.sources.folder_sources import diagnose_folders
from slowwave.sources.following import (
    FolderFollower,
    FolderSync,
    connect_folder,
    disconnect,
    follow_folder,
    look_at_stores,
)
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from slowwave.store.settings import Settings
from slowwave.wiki.pages.index import dream_diary
from tests.memories import ask
from tests.permitting import approve

KEY = "sk-live-4f9aQ7rT2mZx8LpKc3VbN6wYdHsE1uJg0oRi5tAe"
MEMORY = """# Memory

## Preferences
- Anna prefers tea over coffee
- Anna prefers tea over coffee.
- Anna lives in Oslo with two cats

## Systems
- The staging database runs on port 5433
- [Deploy](deploy.md): how to deploy
"""
DAY = f"# 2026-03-02\r\n\r\nAnna met Clara yesterday at the harbour office.\r\n\r\n- Bought a kiln\r\n- The billing API key is {KEY}\r\n"


def write(root: Path, path: str, text: str) -> None:
    """As an editor does, a while ago."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    then = time.time() - 60 - len(text) / 1000
    os.utime(file, (then, then))


def files(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*.md"))}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    write(root, "MEMORY.md", MEMORY)
    write(root, "memory/2026-03-02.md", DAY)
    return root


def connected(store: Store, root: Path) -> None:
    connect_folder(store, root, embedder_for(Settings.for_namespace({})))
    let_write(store, "notes")


def planned(store: Store) -> Plan:
    night = run_night(store, "notes", force=True)
    assert night.plan is not None, night.why_nothing
    return night.plan


def applied(store: Store, plan: Plan) -> ApplyResult:
    approval = approve(store, "notes", plan.plan_hash, approver="mara", force=True, note="a test", include_review=True)
    return apply_approval(store, approval.id)


def followed(store: Store) -> FolderSync:
    with store.connect("reader") as connection:
        of = store_named(connection, "notes")
    return follow_folder(store, of)


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=anna", "-c", "user.email=anna@localhost")
    return subprocess.run(["git", *identity, *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


def test_a_plan_is_one_commit_and_its_undo_gives_the_same_bytes(store: Store, folder: Path) -> None:
    """A duplicate goes, a day is told, a key leaves; lines around stay, ends of lines as well, and a second night plans nothing."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "mine")
    write(folder, "draft.md", "- Not committed yet\n- Not committed yet\n")
    write(folder, "broken.md", "---\na: [\n---\n- never read\n")
    before = files(folder)
    connected(store, folder)
    assert "notes" in namespaces(store)
    plan = planned(store)
    assert {"dedupe_memories", "absolutize_dates", "redact_or_quarantine"} <= {i.operation for i in plan.items}
    assert files(folder) == before
    result = applied(store, plan)
    assert result.counts["applied"] == len(plan.items)
    after = files(folder)
    assert (
        after["memory/2026-03-02.md"]
        == DAY.replace("yesterday", "yesterday (2026-03-01)")
        .replace(f"- The billing API key is {KEY}\r\n", "")
        .encode()
    )
    kept = after["MEMORY.md"].decode()
    assert kept.count("prefers tea") == 1
    assert [line for line in MEMORY.splitlines() if "tea" not in line] == [
        line for line in kept.splitlines() if "tea" not in line
    ]
    assert after["draft.md"] == b"- Not committed yet\n"
    changes = f"{len(plan.items)} changes of plan {plan.plan_hash[:12]}"
    assert git(folder, "log", "--format=%an %s").splitlines() == [f"slowwave slowwave: {changes}", "anna mine"]
    body = git(folder, "log", "-1", "--format=%b").splitlines()
    assert {f"{n}: {sum(i.operation == n for i in plan.items)}" for n in {i.operation for i in plan.items}} < set(body)
    assert [line for line in body if line][-3:] == [
        "Approved by mara.",
        f"Plan: {plan.plan_hash[:12]}",
        f"Run: {result.run_id}",
    ]
    assert git(folder, "status", "--porcelain") == "?? broken.md\n?? draft.md\n", (
        "what git does not know is left to whoever wrote it"
    )
    found = {
        str(m).partition(":")[0].split()[0]
        for (m,) in ask(store, "SELECT message FROM night.findings WHERE operation = 'folder'")
    }
    assert found == {"draft.md"}, "a file that cannot be read and has no change pending is left to the nights"
    again = run_night(store, "notes", force=True).plan
    assert again is None or again.items == ()
    undo_run(store, result.run_id)
    assert files(folder) == before
    assert git(folder, "diff", "HEAD~2", "--stat") == ""


def test_diary_of_a_folder_has_the_day_of_the_apply(store: Store, folder: Path) -> None:
    """Not that of the note: a block has no column for the time at which it left, so the overlay holds it, and undo removes it."""
    connected(store, folder)
    result = applied(store, planned(store))
    times = "SELECT (cells ->> 'invalidated_at')::timestamptz::date = now()::date FROM night.overlay WHERE cells ? 'invalidated_at'"
    assert set(ask(store, times)) == {(True,)}
    with store.connect("reader") as connection:
        diary = dream_diary(export_snapshot(store, "notes"), Settings())
        today = connection.execute("SELECT (now() AT TIME ZONE 'UTC')::date::text").fetchone()
    assert re.findall(r"^## (.*)$", diary.body, re.MULTILINE) == [str(today[0] if today else "")]
    assert "1 memory merged into another" in diary.body
    undo_run(store, result.run_id)
    assert ask(store, times) == []
    assert dream_diary(export_snapshot(store, "notes"), Settings()).body == ""


def test_what_a_person_wrote_since_stands(store: Store, folder: Path) -> None:
    """Before the apply it makes items stale; after it, undo of that block is refused with its file named, and the rest is undone."""
    connected(store, folder)
    plan = planned(store)
    write(folder, "memory/2026-03-02.md", DAY.replace("yesterday at", "two days ago at"))
    result = applied(store, plan)
    assert result.counts["skipped_stale"] == 1
    day = files(folder)["memory/2026-03-02.md"].decode()
    assert "two days ago at" in day
    assert KEY not in day
    plan = planned(store)
    (item,) = [i for i in plan.items if i.operation == "absolutize_dates"]
    second = applied(store, plan)
    day = files(folder)["memory/2026-03-02.md"].decode()
    write(folder, "memory/2026-03-02.md", day.replace("at the harbour", "by the harbour") + "- A line of mine\r\n")
    with pytest.raises(UndoBlocked, match=r"memory/2026-03-02\.md, line 3"):
        undo_run(store, second.run_id, items=[item.id])
    undo_run(store, result.run_id)
    day = files(folder)["memory/2026-03-02.md"].decode()
    assert "by the harbour" in day
    assert day.endswith(f"- The billing API key is {KEY}\r\n- A line of mine\r\n")
    assert files(folder)["MEMORY.md"] == MEMORY.encode()
    write(folder, "memory/2026-03-02.md", day.replace("by the harbour", "at the harbour"))
    undo_run(store, second.run_id, items=[item.id])  # the block says again what apply wrote
    ended = day.replace("by the harbour", "at the harbour").replace(" (2026-02-28)", "")
    assert files(folder)["memory/2026-03-02.md"].decode() == ended


def test_a_folder_that_is_gone_and_files_that_are_none(store: Store, folder: Path, tmp_path: Path) -> None:
    """Links lead nowhere, an unreadable head is named, a moved file keeps its rows, without the folder there is no night and no apply."""
    (tmp_path / "secret.md").write_text("- elsewhere\n")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    write(folder, "broken.md", "---\na: [\n---\n- never read\n")
    connected(store, folder)
    rows = "SELECT id::text, path, body FROM memory.folder_blocks WHERE kind = 'block' ORDER BY id"
    held = ask(store, rows)
    assert {path for _, path, _ in held} == {"MEMORY.md", "memory/2026-03-02.md"}
    (folder / "MEMORY.md").rename(folder / "INDEX.md")
    sync = followed(store)
    assert {*sync.left} == {"link.md", "broken.md"}
    assert ask(store, rows) == [(i, path.replace("MEMORY", "INDEX"), b) for i, path, b in held]
    (left,) = [d.finding for d in diagnose_folders(store) if "left out" in d.finding]
    assert "link.md" in left
    assert "broken.md (line 3: " in left, "a file that no night could read is named with its line"
    plan = planned(store)
    (folder / "INDEX.md").unlink()
    (folder / "INDEX.md").symlink_to(tmp_path / "secret.md")
    assert applied(store, plan).counts["applied"] >= 1
    assert (tmp_path / "secret.md").read_text() == "- elsewhere\n"
    keys = "SELECT count(*) FROM memory.folder_blocks WHERE gone AND position(%s IN body) > 0"
    followed(store)
    assert ask(store, keys, KEY) == [(1,)], "as long as it can be undone"
    ask(store, "DELETE FROM night.before_images")
    followed(store)
    assert ask(store, keys, KEY) == [(0,)]
    (folder / "INDEX.md").unlink()
    write(folder, "INDEX.md", f"{MEMORY}- Ben likes tea\n- Ben likes tea\n")
    plan = planned(store)
    moved = folder.rename(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="Mount it"):
        FolderFollower().before_night(store, "notes")
    assert any("is no folder" in problem for problem in look_at_stores(store))
    assert any(d.problem for d in diagnose_folders(store))
    with pytest.raises(Refused, match="Mount it"):
        applied(store, plan)
    moved.rename(folder)
    disconnect(store, "notes")
    assert ask(store, "SELECT count(*) FROM memory.folder_blocks") == [(0,)]


def test_two_folders_are_two_namespaces_and_none_lies_in_another(store: Store, folder: Path, tmp_path: Path) -> None:
    """A plan of one reaches no row of the other; files of one folder are worked on in one place."""
    embedder = embedder_for(Settings.for_namespace({}))
    write(tmp_path / "other", "a.md", "- Ben likes tea\n- Ben likes tea\n")
    connected(store, folder)
    other = connect_folder(store, tmp_path / "other", embedder)
    assert other.connected.rows is not None
    assert other.connected.rows.rows == 2
    assert {"notes", "other"} <= {*namespaces(store)}
    with pytest.raises(Refused, match="lie in each other"):
        connect_folder(store, folder / "memory", embedder)
    with pytest.raises(Refused, match="Another store"):
        connect_folder(store, tmp_path / "other", embedder, name="notes")
    assert run_night(store, "other", force=True).state == "empty", "it was connected to be read"
    counters = "SELECT count(*) FROM memory.changes WHERE table_name = 'notes'"
    before = ask(store, counters)
    write(tmp_path / "other", "a.md", "- Ben likes tea\n")
    look_at_stores(store)
    assert ask(store, counters) == before, "what is written in one is no change of the other"


@pytest.mark.parametrize("seed", range(6))
def test_changes_of_plans_and_of_people_meet_in_any_order(store: Store, tmp_path: Path, seed: int) -> None:
    """Blocks retired and reworded, files edited in between: nothing that a person wrote is lost, nothing retired comes back but by undo."""
    chance = Random(seed)
    root = tmp_path / "notes"
    said = [f"fact number {n} of {seed}" for n in range(12)]
    write(root, "a.md", "# H\n\n" + "".join(f"- {line}\n" for line in said))
    connected(store, root)
    original = files(root)
    for step in range(6):
        ids = [
            str(i)
            for (i,) in ask(
                store, "SELECT id::text FROM memory.folder_blocks WHERE kind = 'block' AND NOT gone ORDER BY body"
            )
        ]
        retired, reworded = (chance.sample(ids, min(2, len(ids))) for _ in range(2))
        with store.connect("applier") as connection:
            connection.execute("UPDATE memory.folder_blocks SET gone = true WHERE id = ANY(%s::uuid[])", (retired,))
            connection.execute(
                "UPDATE memory.folder_blocks SET body = body || ' (seen)' WHERE id = ANY(%s::uuid[])", (reworded,)
            )
        lines = (root / "a.md").read_text().splitlines(keepends=True)
        mine = f"- by hand {step}\n"
        at = chance.randrange(2, len(lines) + 1)
        if chance.random() < 0.5 and at < len(lines):
            lines[at] = mine
        else:
            lines.insert(at, mine)
        write(root, "a.md", "".join(lines))
        followed(store)
        assert followed(store).written == [], "a second look finds nothing to do"
        now = (root / "a.md").read_text()
        assert mine in now
        gone = [str(b) for (b,) in ask(store, "SELECT body FROM memory.folder_blocks WHERE kind = 'block' AND gone")]
        assert not [body for body in gone if f"- {body}\n" in now]
        stand = ask(
            store,
            "SELECT body FROM memory.folder_blocks WHERE kind = 'block' AND NOT gone AND id = ANY(%s::uuid[])",
            reworded,
        )
        assert all(str(body).endswith(" (seen)") for (body,) in stand), "beside what a person wrote"
        shown = ask(
            store,
            "SELECT string_agg(lead || body || tail, '' ORDER BY position) FROM memory.folder_blocks WHERE NOT gone AND kind <> 'left'",
        )
        assert shown == [(now,)], "the rows are the file"
        places = ask(store, "SELECT place, body FROM memory.folder_blocks WHERE kind = 'block' AND NOT gone")
        assert all(now.splitlines()[int(str(p).rpartition(" ")[2]) - 1] == f"- {body}" for p, body in places)
    assert files(root) != original

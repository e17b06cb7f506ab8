"""Pages from the plan to the file and back: rows first, files after them, whatever happens in between."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from slowwave.changes.rows import set_columns
from slowwave.changes.simulate import simulate
from slowwave.errors import UndoBlocked
from slowwave.night.executor import ApplyResult, apply_approval
from slowwave.night.night import run_night
from slowwave.night.proof import convergence_probe
from slowwave.night.runs import Night
from slowwave.night.undo import undo_run
from slowwave.operations import PLANNERS, Inputs
from slowwave.plans.items import Item
from slowwave.plans.probes.radius import unlisted
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from slowwave.wiki import followers as hook
from slowwave.wiki.pages.workspace import PageSync, sync_pages
from tests.memories import ask, remember
from tests.nights import write_a_plan
from tests.permitting import approve
from tests.snapshots import make_inputs, uid
from tests.toy import memories, toy
from tests.wiki.pages.notes import notes
from tests.worlds import World

compile_pages = PLANNERS["compile_pages"]
PROMOTING = ("promote_memories", "compile_pages")

WORLD = World("acme", uid("acme"), {})


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(workspace_path=str(tmp_path / "w"), pages_git=True)


def tell(store: Store, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Promotions as agents and former nights left them."""
    remember(store, "acme", **rows)


def planned(store: Store) -> list[Item]:
    snapshot = export_snapshot(store, "acme")
    return list(compile_pages(Inputs(snapshot, {}, Settings.for_namespace(snapshot.settings))).items)


def approved(store: Store) -> str:
    _, plan = write_a_plan(store, WORLD, items=planned(store))
    return approve(store, "acme", plan.plan_hash, approver="mara").id


def night(store: Store, settings: Settings) -> ApplyResult:
    return apply_approval(store, approved(store), settings=settings)


def files(settings: Settings) -> dict[str, str]:
    return {p.name: p.read_text() for p in sorted(Path(settings.workspace_path).glob("acme/*.md"))}


def bodies(store: Store) -> dict[str, str]:
    return {
        str(p): f"{b}\n"
        for p, b in ask(store, "SELECT path, body FROM memory.pages WHERE invalidated_at IS NULL AND body <> ''")
    }


def commits(settings: Settings) -> list[str]:
    log = subprocess.run(
        ["git", "log", "--format=%s"], cwd=settings.workspace_path, capture_output=True, text=True, check=True
    )
    return log.stdout.splitlines()


def warnings(store: Store) -> list[tuple[object, ...]]:
    return ask(store, "SELECT run_id::text, operation, severity, message FROM night.findings")


def test_pages_are_planned_approved_applied_written_committed_and_undone(store: Store, settings: Settings) -> None:
    """The whole way, with a commit for each step, and back to the first digest and no file."""
    tell(store, notes("Tea is at four.", "Coffee is at ten."))
    before = digest(store, "acme")
    result = night(store, settings)
    assert (result.state, result.counts["applied"]) == ("completed", 2)
    assert files(settings) == bodies(store)
    assert files(settings).keys() == {"MEMORY.md", "DREAMS.md"}
    assert "Tea is at four." in files(settings)["MEMORY.md"]
    assert planned(store) == [], "a second night plans nothing"
    assert warnings(store) == []
    undone = undo_run(store, "last", settings=settings)
    assert digest(store, "acme") == before
    assert files(settings) == {}
    assert commits(settings) == [f"dream: undo by run {undone.run_id[:8]}", "dream: 2 promotion(s)"]
    assert planned(store) != [], "what a rejection keeps away is the night's business"
    undo_run(store, undone.run_id, settings=settings)
    assert files(settings) == bodies(store)


def test_a_later_page_goes_back_to_the_one_before(store: Store, settings: Settings) -> None:
    """Undo restores the body, and the file follows; what a person wrote meanwhile stays."""
    tell(store, notes("first"))
    night(store, settings)
    one = files(settings)["MEMORY.md"]
    tell(store, {name: rows[1:] for name, rows in notes("first", "second").items()})
    night(store, settings)
    assert "second" in files(settings)["MEMORY.md"]
    file = Path(settings.workspace_path) / "acme" / "MEMORY.md"
    file.write_text(f"mine\n{file.read_text()}mine too\n")
    undo_run(store, "last", settings=settings)
    assert file.read_text() == f"mine\n{one}mine too\n"


def test_a_page_that_a_later_run_rendered_again_is_not_taken_back_under_it(store: Store, settings: Settings) -> None:
    """Undo of the earlier run is refused and names the later one; rows and files stay as they are."""
    tell(store, notes("first"))
    earlier = night(store, settings)
    tell(store, {name: rows[1:] for name, rows in notes("first", "second").items()})
    later = night(store, settings)
    held = digest(store, "acme"), files(settings), commits(settings)
    with pytest.raises(UndoBlocked, match=later.run_id):
        undo_run(store, earlier.run_id, settings=settings)
    assert (digest(store, "acme"), files(settings), commits(settings)) == held


def test_a_row_that_somebody_else_writes_meanwhile_is_theirs(store: Store, settings: Settings) -> None:
    """Before apply a page was edited in the store: that item is stale, its file stays, the other page goes on."""
    tell(store, notes("first"))
    night(store, settings)
    before = files(settings)["MEMORY.md"]
    tell(store, {name: rows[1:] for name, rows in notes("first", "second").items()})
    approval = approved(store)
    ask(store, "UPDATE memory.pages SET body = 'an agent wrote this' WHERE path = 'MEMORY.md'")
    result = apply_approval(store, approval, settings=settings)
    assert (result.state, result.counts["applied"], result.counts["skipped_stale"]) == ("completed", 1, 1)
    assert files(settings)["MEMORY.md"] == before
    assert "was edited in the store" in str(warnings(store)[0][3])


def test_applied_twice_is_applied_once(store: Store, settings: Settings) -> None:
    """Any op applied twice = applied once (pages): one row, one block, one commit."""
    tell(store, notes("a"))
    approval = approved(store)
    apply_approval(store, approval, settings=settings)
    held = digest(store, "acme"), files(settings), commits(settings)
    apply_approval(store, approval, settings=settings)
    sync_pages(store, "acme", settings)
    assert (digest(store, "acme"), files(settings), commits(settings)) == held


def test_a_crash_between_rows_and_files_is_made_good_by_resuming(
    store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows stand, files do not; the run is not over, and applying again completes it."""
    tell(store, notes("a"))
    approval = approved(store)

    def killed(*_: object, **__: object) -> PageSync:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(hook, "sync_pages", killed)
        with pytest.raises(KeyboardInterrupt):
            apply_approval(store, approval, settings=settings)
    assert bodies(store)
    assert files(settings) == {}
    result = apply_approval(store, approval, settings=settings)
    assert (result.state, result.counts["applied"]) == ("completed", 2)
    assert files(settings) == bodies(store)


def test_what_hinders_a_file_is_a_warning_and_a_sync_repairs_it(
    store: Store, settings: Settings, tmp_path: Path
) -> None:
    """The apply is complete; the run has the sentence."""
    tell(store, notes("a"))
    (tmp_path / "w").write_text("in the way")
    result = night(store, settings)
    assert (result.state, result.counts["applied"]) == ("completed", 2)
    ((run, operation, severity, message),) = warnings(store)
    assert (run, operation, severity) == (result.run_id, "compile_pages", "warning")
    assert "SLOWWAVE_WORKSPACE_PATH" in str(message)
    (tmp_path / "w").unlink()
    assert sync_pages(store, "acme", settings).written == ("DREAMS.md", "MEMORY.md")
    assert files(settings) == bodies(store)


def test_nothing_about_files_ends_an_apply(store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a fault that nobody thought of: the rows are committed, so the run is completed, with a warning."""
    tell(store, notes("a"))

    def fails(*_: object, **__: object) -> PageSync:
        raise RuntimeError("a fault")

    with monkeypatch.context() as broken:
        broken.setattr(hook, "sync_pages", fails)
        result = night(store, settings)
    assert (result.state, result.counts["applied"]) == ("completed", 2)
    assert "(RuntimeError)" in str(warnings(store)[0][3])
    assert sync_pages(store, "acme", settings).written == ("DREAMS.md", "MEMORY.md")


def test_an_edited_block_is_left_alone_by_apply_and_undo(store: Store, settings: Settings) -> None:
    """The rows go on; the file is the person's, and the run says so."""
    tell(store, notes("a"))
    night(store, settings)
    file = Path(settings.workspace_path) / "acme" / "MEMORY.md"
    edited = file.read_text().replace("- a ", "- a, I think ")
    file.write_text(edited)
    undo_run(store, "last", settings=settings)
    assert file.read_text() == edited
    assert "somebody edited" in str(warnings(store)[0][3])


def test_a_night_without_pages_touches_no_workspace(
    store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither apply nor undo asks for files that nothing of the run concerns."""
    from tests.nights import new_world

    def never(*_: object, **__: object) -> PageSync:
        raise AssertionError("the workspace was asked")

    monkeypatch.setattr(hook, "sync_pages", never)
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")
    apply_approval(store, approval.id, settings=settings)
    undo_run(store, "last", settings=settings)


def test_an_undone_page_is_proposed_again_when_its_inputs_change(store: Store) -> None:
    """A whole night: planned, applied, nothing the second night, undone, not proposed as it was, proposed with something new."""
    tell(store, notes("a"))

    def asked() -> Night:
        return run_night(store, "acme", ops="compile_pages", force=True)

    first = asked()
    assert first.plan is not None
    assert [i.mutation.kind for i in first.plan.items] == ["render_page", "render_page"]
    assert first.probes is not None
    assert first.probes.results["convergence"] == {
        "items": 0,
        "deferred": 0,
        "follows": 0,
        "remaining": [],
        "passed": True,
    }
    approval = approve(store, "acme", first.plan.plan_hash, approver="mara")
    assert apply_approval(store, approval.id).counts["applied"] == 2
    assert asked().new_items == 0
    undo_run(store, "last")
    assert asked().new_items == 0
    tell(store, {name: rows[1:] for name, rows in notes("a", "b").items()})
    assert asked().new_items == 2


def test_pages_that_follow_from_a_plan_are_no_surprise(store: Store) -> None:
    """What is promoted tonight is told tomorrow: the plan says so and converges, the next night holds pages alone, the third nothing."""
    tell(store, notes({"text": "a"}, {"text": "b"}))
    snapshot = export_snapshot(store, "acme")
    archive = [
        Item("archive_stale", "archive", m)
        for m in set_columns(snapshot, "set_state", "memories", {uid("m0"): {"state": "archived"}})
    ]
    after = simulate(snapshot, [*archive, *planned(store)])
    inputs = Inputs(snapshot, {}, Settings.for_namespace(snapshot.settings))
    probe = convergence_probe(inputs, after, lambda i: compile_pages(i).items, lambda _: {})
    assert (probe.items, [r.why for r in probe.remaining], probe.passed) == (0, ["follows", "follows"], True)
    assert "It also writes 2 pages that list the changes." in probe.sentence()
    again = simulate(after, compile_pages(replace(inputs, snapshot=after)).items)
    assert compile_pages(replace(inputs, snapshot=again)).items == ()


def test_memory_index_lists_a_promotion_in_the_plan_that_promotes(store: Store, settings: Settings) -> None:
    """One plan and one approval promote and render; the next night plans nothing, and undo removes both (N12)."""
    toy(store, "acme", [row for row in memories() if row["id"] == "useful"])
    before = digest(store, "acme")
    first = run_night(store, "acme", ops=PROMOTING, force=True)
    assert first.plan is not None
    assert [i.operation for i in first.plan.items] == ["promote_memories", "compile_pages"]
    assert first.probes is not None
    assert first.probes.results["convergence"] == {
        **{"items": 0, "deferred": 0, "follows": 1, "passed": True},
        "remaining": [{"operation": "compile_pages", "decision": "follow", "rows": ANY, "why": "follows"}],
    }
    assert first.probes.results["isolation"] == {"cells": ANY, "foreign": [], "passed": True}
    approval = approve(store, "acme", first.plan.plan_hash, approver="mara")
    assert apply_approval(store, approval.id, settings=settings).counts["applied"] == 2
    assert files(settings)["MEMORY.md"].count("(mem:") == 1
    second = run_night(store, "acme", ops=PROMOTING, force=True)
    assert second.plan is not None
    assert [i.evidence["path"] for i in second.plan.items] == ["DREAMS.md"]
    undo_run(store, "last", settings=settings)
    assert digest(store, "acme") == before
    assert files(settings) == {}


def test_memory_index_is_skipped_when_its_promotion_is_not_approved(store: Store, settings: Settings) -> None:
    """An approval of the page alone writes no line about a memory that is not promoted."""
    toy(store, "acme", [row for row in memories() if row["id"] == "useful"])
    plan = run_night(store, "acme", ops=PROMOTING, force=True).plan
    assert plan is not None
    page = [i.id for i in plan.items if i.operation == "compile_pages"]
    approval = approve(store, "acme", plan.plan_hash, approver="mara", items=page)
    assert apply_approval(store, approval.id, settings=settings).counts["skipped_stale"] == 1
    assert files(settings) == {}


def test_memory_index_leaves_out_a_promotion_that_loses_a_conflict(store: Store) -> None:
    """If a merge of the same night absorbs the memory, its promotion is left out, and the page does not list it."""
    toy(store, "acme", [row for row in memories() if row["id"] == "useful"])
    snapshot = export_snapshot(store, "acme")
    inputs = make_inputs(snapshot)
    promotion = PLANNERS["promote_memories"](inputs).items
    archive = [
        Item("archive_stale", "archive", m)
        for m in set_columns(snapshot, "set_state", "memories", {uid("acme useful"): {"state": "archived"}})
    ]
    (page,) = compile_pages(replace(inputs, planned=promotion)).items
    assert page.evidence["path"] == "MEMORY.md"
    assert (unlisted([*promotion, page]).ids, unlisted([page]).ids) == (frozenset(), {page.id})
    assert compile_pages(replace(inputs, planned=[*archive, *promotion])).items == ()

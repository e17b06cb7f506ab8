"""From a folder to a plan, to pages and claims, and back to the first digest."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.namespaces import namespace_id, namespaces
from slowwave.surfaces.api.memory import Memory
from slowwave.wiki.claims.claim import Claim, to_forget
from slowwave.wiki.corpus.corpora import PAGES_ROOT, corpora_of
from slowwave.wiki.corpus.export import export_corpora
from slowwave.wiki.migration.plan import PlannedMigration, planned_migration
from tests.endpoints import Server, completion
from tests.memories import ask, remember
from tests.permitting import approve
from tests.wiki.migration.folders import folder, page
from tests.wiki.migration.test_model_reading import DIARY, STATEMENT, said

SAMPLE = Path(__file__).parents[4] / "shared" / "data" / "dory_sample"


def plan_hash(done: PlannedMigration) -> str:
    assert done.night is not None
    assert done.night.plan is not None
    return done.night.plan.plan_hash


def applied(store: Store, done: PlannedMigration, namespace: str = "acme", *, force: bool = False) -> str:
    """Approve all that a plan proposes, reviews too, and apply it; returns the run."""
    note = "Whatever it says." if force else ""
    signed = approve(store, namespace, plan_hash(done), approver="mara", include_review=True, force=force, note=note)
    result = apply_approval(store, signed.id)
    assert {what: n for what, n in result.counts.items() if n} == {"applied": len(signed.item_ids)}
    return result.run_id


def pages(store: Store, target: Path, namespace: str = "acme") -> dict[str, str]:
    """The pages of a namespace as they are exported."""
    with store.connect("reader") as connection:
        (own,) = [c for c in corpora_of(connection, namespace_id(connection, namespace)) if c.root == PAGES_ROOT]
        export_corpora(connection, [own], target)
    return {str(file.relative_to(target)): file.read_text() for file in sorted(target.rglob("*.md"))}


def claims(store: Store, ref: str, namespace: str = "acme") -> list[Claim]:
    """What is on record about a subject."""
    with store.connect("reader") as connection:
        scope = namespace_id(connection, namespace)
        rows = connection.execute(
            "SELECT id::text FROM memory.entities WHERE namespace_id = %s AND external_id = %s", (scope, ref)
        ).fetchall()
        return to_forget(connection, scope, [str(id_) for (id_,) in rows], "note")


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="no shared data")
def test_dorys_sample_is_migrated_applied_and_undone(store: Store, tmp_path: Path) -> None:
    """Planned, approved, applied: pages, claims and canonical pages stand; again: nothing; undone: as it was."""
    done = planned_migration(store, SAMPLE, "acme")
    told = done.to_json()
    assert (told["staged"], told["written"], told["canonical_created"], told["quarantined"]) == (19, 19, 2, 0)
    assert (told["claims"], told["audit"]["verdict"], told["items"]) == (22, "pass", {"claim": 10, "write": 19})
    assert done.made
    before = digest(store, "acme")
    run = applied(store, done)
    found = pages(store, tmp_path / "out")
    for place in (
        "core/user.md",
        "people/alex.md",
        "projects/atlas/state.md",
        "people/casey.md",
        "projects/rooster/state.md",
    ):
        assert place in found
    assert found["people/alex.md"] == (SAMPLE / "dory_sample/people/alex.md").read_text()
    assert sorted(c.statement for c in claims(store, "person:casey")) == ["Async-first.", "Jordan Example."]
    assert planned_migration(store, SAMPLE, "acme").found.empty
    undo_run(store, run)
    assert digest(store, "acme") == before


def test_a_changed_file_proposes_its_change_and_a_claim_that_ends_the_one_before(store: Store, tmp_path: Path) -> None:
    """The page is rewritten, the new state replaces the old one, and nothing else is proposed."""
    files = {
        ".obsidian/app.json": "{}",
        "projects/rowan/state.md": page("project", "Rowan", "The yard is open.", updated="2026-01-01"),
        "people/mara.md": page("person", "Mara", "Mara sails boats.", updated="2026-01-01"),
        "notes/plain.md": "Nothing in particular.\r\n",
    }
    root = folder(tmp_path / "vault", files)
    first = planned_migration(store, root, "acme")
    assert first.found.staging.read_as == (".: Obsidian vault",)
    applied(store, first)
    folder(root, {"projects/rowan/state.md": page("project", "Rowan", "The yard is closed.", updated="2026-03-01")})
    second = planned_migration(store, root, "acme")
    assert second.to_json()["items"] == {"claim": 1, "rewrite": 1}
    assert second.found.run_id != first.found.run_id
    applied(store, second)
    told = [(c.kind, c.statement, c.since.month, c.until and c.until.month) for c in claims(store, "project:rowan")]
    assert told == [("state", "The yard is open.", 1, 3), ("state", "The yard is closed.", 3, None)]
    third = planned_migration(store, root, "acme")
    assert third.night is not None
    assert (third.found.empty, third.night.state, third.to_json()["items"]) == (True, "empty", {})


def test_what_ended_before_it_was_migrated_is_told_with_what_ended_it(store: Store, tmp_path: Path) -> None:
    """Of two states of one folder the history of the subject names the one that replaced the other."""
    root = folder(
        tmp_path / "notes",
        {
            "old/projects/rowan.md": page("project", "Rowan", "The yard is open.", updated="2026-01-01"),
            "projects/rowan.md": page("project", "Rowan", "The yard is closed.", updated="2026-03-01"),
        },
    )
    applied(store, planned_migration(store, root, "acme"))
    now, before = Memory("acme", store).history("project:rowan").claims
    assert [(e.event, e.other_id) for e in now.events] == [("added", None)]
    assert [(e.event, e.other_id) for e in before.events] == [("added", None), ("replaced", now.id)]


def test_dory_a_dry_run_writes_nothing_and_bad_files_block_a_plan(store: Store, tmp_path: Path) -> None:
    """Not the namespace, not a run, not a file; a plan is made without bad files only where that is said."""
    root = folder(tmp_path / "old", {"people/mara.md": page("person", "Mara", "Mara sails."), "bad.json": '{"a": \n'})
    before = sorted(tmp_path.rglob("*"))
    dry = planned_migration(store, root, "acme", dry_run=True, model=True)
    assert (dry.night, dry.to_json()["items"]) == (None, {"claim": 1, "write": 1})
    assert dry.to_json()["bad"] == [{"path": "bad.json", "line": 2, "reason": "it is no JSON (Expecting value)"}]
    with pytest.raises(Refused, match=r"bad\.json, line 2: .*Nothing was planned.*--skip-bad"):
        planned_migration(store, root, "acme")
    with pytest.raises(Refused, match="no model"):
        planned_migration(store, root, "acme", skip_bad=True, model=True)
    with pytest.raises(Refused, match="cannot be used"):
        planned_migration(store, root, "Not A Slug!", skip_bad=True)
    assert (namespaces(store), sorted(tmp_path.rglob("*"))) == ([], before)
    assert planned_migration(store, root, "acme", skip_bad=True).to_json()["items"] == {"claim": 1, "write": 1}
    assert namespaces(store) == ["acme"]
    assert dry.found.run_id == planned_migration(store, root, "acme", skip_bad=True).found.run_id


def test_what_the_namespace_knows_is_supported_and_not_said_again(store: Store, tmp_path: Path) -> None:
    """A claim by day gets evidence, once; a subject in doubt is for a person to look at, and of several none is meant."""
    remember(store, "acme")
    from slowwave.surfaces.api.memory import Memory

    memory = Memory("acme", store)
    memory.remember("Mara sails boats.", subject="Mara", scope="person")
    root = folder(
        tmp_path / "old",
        {
            "people/mara.md": page("person", "Mara", "Mara sails boats."),
            "people/rowan.md": page("project", "Rowan", "The yard is open."),
        },
    )
    done = planned_migration(store, root, "acme")
    assert done.to_json()["items"] == {"claim": 1, "review": 1, "write": 2}
    assert [c.supports != "" for s in done.found.audited.subjects for c in s.plan.claims] == [True, False]
    assert all(s.canonical is None for s in done.found.audited.subjects if s.plan.subject.entity)
    applied(store, done)
    assert [c.statement for c in claims(store, "person:mara")] == ["Mara sails boats."]
    assert planned_migration(store, root, "acme").found.empty


def test_a_run_that_was_ended_asks_its_model_nothing_twice(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended after the first answer, it is taken up: the same items, and one call for each page in all."""
    monkeypatch.setenv("SLOWWAVE_CONSOLIDATION_MODEL", "reader")
    root = folder(tmp_path / "old", {f"logs/daily/2026-05-0{n}.md": DIARY + f"\nDay {n}.\n" for n in (1, 2, 3)})

    server = Server(lambda _, n: (200, completion(said(STATEMENT)), {}))
    monkeypatch.setenv("SLOWWAVE_WRITER_ENDPOINT", server.url)
    try:
        calls = 0

        def ended(stage: str, done: int, total: int) -> None:
            nonlocal calls
            calls += stage == "classify"
            if calls == 2:
                raise KeyboardInterrupt

        planned_first = planned_migration(store, root, "other", model=True)
        asked = len(server.requests)
        with pytest.raises(KeyboardInterrupt):
            planned_migration(store, root, "acme", model=True, tell=ended)
        assert len(server.requests) == asked + 2
        done = planned_migration(store, root, "acme", model=True)
        assert len(server.requests) == asked + 3
        assert done.to_json()["stats"]["llm_reused"] == 2
        assert done.to_json()["items"] == planned_first.to_json()["items"] == {"review": 1, "write": 3}
    finally:
        server.close()


NAMES = st.text("abcAB é-_.9", min_size=1, max_size=12).map(lambda name: name.strip(" .") or "x")
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), max_size=60)
BODIES = st.lists(
    st.one_of(TEXTS, st.sampled_from(["- An item of it.", "## Goals", "Mara sails boats.", "[[mara]]"])), max_size=6
)
FOLDERS = st.dictionaries(
    st.tuples(st.sampled_from(["", "people/", "projects/", "notes/Deep/", "logs/daily/"]), NAMES).map("".join),
    BODIES.map("\n".join),
    min_size=1,
    max_size=5,
)


@settings(max_examples=8)
@given(files=FOLDERS)
def test_pages_come_back_as_they_were_and_undo_leaves_nothing(
    files: dict[str, str], store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """For any folder of pages: migrated and applied, an export has each text; again there is nothing; undone, the first digest."""
    base = tmp_path_factory.mktemp("folder")
    name = base.name  # a namespace of its own
    root = folder(base / "vault", {".obsidian/app.json": "{}", **{f"{path}.md": text for path, text in files.items()}})
    dry = planned_migration(store, root, name, dry_run=True)
    if not dry.items:
        return
    done = planned_migration(store, root, name, skip_bad=True)
    if not done.night or not done.night.new_items:
        return
    before = digest(store, name)
    run = applied(store, done, name, force=True)
    found = pages(store, base / "out", name)
    assert {p.place: p.text for p in done.found.staging.pages} == {
        p.place: found[p.place] for p in done.found.staging.pages
    }
    kept = {p.source for p in done.found.staging.pages}
    written = {f"{path}.md": text for path, text in files.items()}
    assert {p.source: p.text for p in done.found.staging.pages} == {source: written[source] for source in kept}
    assert planned_migration(store, root, name).found.empty
    undo_run(store, run)
    assert digest(store, name) == before


def test_two_folders_of_one_name_keep_their_plans_and_places(store: Store, tmp_path: Path) -> None:
    """The second's plan waits beside the first's, and its pages lie beside: none becomes a version of the other's. Again is again."""
    mine, theirs = (
        folder(tmp_path / owner / "notes", {"a.txt": f"{owner} waits at the pier."}) for owner in ("mara", "ilse")
    )
    remember(store, "acme")
    first, second = (planned_migration(store, one, "acme") for one in (mine, theirs))
    states = "SELECT plan_hash FROM night.plans WHERE state = 'awaiting_approval' ORDER BY recorded_at"
    assert [h for (h,) in ask(store, states)] == [plan_hash(first), plan_hash(second)]
    folder(mine, {"b.txt": "And at the lock."})
    again = planned_migration(store, mine, "acme")
    assert [h for (h,) in ask(store, states)] == [plan_hash(second), plan_hash(again)]
    for done in (again, second):
        applied(store, done)
    found = pages(store, tmp_path / "out")
    assert len(found) == 3
    assert len({str(Path(path).parent) for path in found}) == 2
    assert sorted("mara" in text for text in found.values()) == [False, False, True]
    for one in (mine, theirs):
        assert not planned_migration(store, one, "acme").items

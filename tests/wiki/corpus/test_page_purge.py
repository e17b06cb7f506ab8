"""Pages that are deleted for good: shown first, only where nothing is kept for long, and never what an undo would need."""

from __future__ import annotations

from uuid import uuid4

import pytest

from slowwave.errors import Forbidden, NotInCorpus, Refused
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.wiki.corpus.pages import PageChanged
from tests.memories import ask, remember
from tests.permitting import approve
from tests.snapshots import uid
from tests.wiki.corpus.pages import drop, held, put

pytestmark = pytest.mark.slow

PATH = "inbox/note.md"
_OF = "SELECT d::text, c::text FROM memory.documents d JOIN memory.chunks c ON c.document_id = d.id WHERE d.namespace_id = %s ORDER BY 1, 2"
NOTE = {"title": "Note", "type": "capture"}


@pytest.fixture
def acme(store: Store) -> Store:
    remember(store, "acme")
    return store


def test_dory_a_purge_is_a_dry_run_until_it_has_a_reason_and_a_hash(acme: Store) -> None:
    """It says what would go and what else holds the words; live, nothing of it is left but the line that says that it went."""
    empty = held(acme)
    put(acme, target="ideas/log.md", content="See [[note]].", frontmatter={"title": "Log", "type": "idea"})
    before = held(acme)
    put(acme, target=PATH, content="Zqxnote of [[log]].", frontmatter=NOTE)
    done = put(acme, "append", PATH, "More.")
    would = drop(acme, PATH)
    assert (would.action, would.dry_run, would.paths, would.hash, would.indexed) == (
        "would_purge",
        True,
        (PATH,),
        done.hash,
        False,
    )
    assert would.bytes_deleted > done.bytes_written  # its version as well
    assert would.held is not None
    assert set(would.held.model_dump(exclude={"git"}).values()) == {0}
    with pytest.raises(PageChanged):
        drop(acme, PATH, expected_hash="0" * 64, reason="Test.", dry_run=False)
    for asked in ({"reason": "Test."}, {"expected_hash": done.hash}, {"expected_hash": done.hash, "reason": " "}):
        with pytest.raises(ValueError, match="a live purge names"):
            drop(acme, PATH, dry_run=False, **asked)
    gone = drop(acme, PATH, expected_hash=done.hash, reason="Test.", dry_run=False, agent="codex")
    assert (gone.action, gone.bytes_deleted, gone.indexed) == ("purged", would.bytes_deleted, True)
    assert held(acme) == before
    assert ask(acme, "SELECT path, reason, agent, bytes FROM memory.purges") == [
        (PATH, "Test.", "codex", gone.bytes_deleted)
    ]
    with pytest.raises(NotInCorpus):
        drop(acme, PATH)
    assert empty == []


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("core/user.md", {"type": "core"}),
        ("people/mara.md", {"type": "person"}),
        ("projects/port/notes.md", {"type": "project"}),
        ("decisions/tea.md", {"type": "decision"}),
        ("knowledge/tea.md", {"type": "knowledge"}),
        ("inbox/note.md", {"type": "capture", "canonical": True}),
    ],
)
def test_dory_protected_pages_are_purged_only_where_that_is_said(
    acme: Store, path: str, fields: dict[str, object]
) -> None:
    """Core, people, projects, decisions, whatever is kept for long, and what says that it is canonical."""
    done = put(acme, target=path, frontmatter={"title": "Page", **fields})
    for live in ({}, {"dry_run": False, "expected_hash": done.hash, "reason": "Test."}):
        with pytest.raises(Forbidden, match="allow_canonical"):
            drop(acme, path, **live)
    assert (
        drop(acme, path, allow_canonical=True, dry_run=False, expected_hash=done.hash, reason="Test.").action
        == "purged"
    )


@pytest.mark.parametrize("folder", ["inbox", "sources/semantic", "logs/evals", "eval", "tmp"])
def test_dory_pages_that_are_not_kept_for_long_are_purged_without_more(acme: Store, folder: str) -> None:
    """With the tombstone beside them where that is asked for."""
    path = f"{folder}/a.md"
    put(acme, target=path, frontmatter=NOTE)
    done = put(acme, "forget", path, "", reason="Old.")
    beside = f"{folder}/a.tombstone.md"
    assert drop(acme, path).paths == (path,)
    gone = drop(acme, path, include_related_tombstone=True, dry_run=False, expected_hash=done.hash, reason="Test.")
    assert gone.paths == (path, beside)
    assert ask(acme, "SELECT count(*) FROM memory.documents") == [(0,)]


@pytest.mark.parametrize("part", ["page", "version", "passage", "link"])
def test_what_a_journal_can_still_restore_is_not_purged(acme: Store, part: str) -> None:
    """A plan that was applied touched a part of the page: its undo has to find it, so the purge is refused until its images have gone."""
    put(acme, target=PATH, content="See [[tides]].", frontmatter=NOTE)
    done = put(acme, "append", PATH, "More.")
    tables = {
        "page": ("documents", "SELECT id FROM memory.documents WHERE version_of IS NULL"),
        "version": ("documents", "SELECT id FROM memory.documents WHERE version_of IS NOT NULL"),
        "passage": ("chunk_vectors", "SELECT id FROM memory.chunks LIMIT 1"),
        "link": ("links", "SELECT id FROM memory.links"),
    }
    table, query = tables[part]
    ((row,),) = ask(acme, query)
    ((entry,),) = ask(
        acme,
        "INSERT INTO night.journal (namespace_id, run_id, item_id, table_name, row_id, action) VALUES (%s, %s, %s, %s, %s, 'insert') "
        "RETURNING id",
        *(uid("acme"), str(uuid4()), str(uuid4()), table, str(row)),
    )
    ask(
        acme,
        "INSERT INTO night.before_images (journal_id, namespace_id, after) VALUES (%s, %s, '')",
        entry,
        uid("acme"),
    )
    before = held(acme)
    live = {"dry_run": False, "expected_hash": done.hash, "reason": "Test."}
    for asked in ({}, live):
        with pytest.raises(Refused, match="undo would need"):
            drop(acme, PATH, **asked)
    assert held(acme) == before
    assert put(acme, "forget", PATH, "", reason="Test.").action == "forgotten"
    ask(acme, "DELETE FROM night.before_images WHERE journal_id = %s", entry)
    ((hash_,),) = ask(
        acme, "SELECT content_hash FROM memory.documents WHERE path = %s AND invalidated_at IS NULL", PATH
    )
    assert drop(acme, PATH, **(live | {"expected_hash": str(hash_)})).action == "purged"


def test_the_undo_of_an_applied_plan_stays_exact(acme: Store) -> None:
    """A night gave a page its vector: the page is not purged, before the undo or after it, and a page forgotten meanwhile is no bar."""
    done = put(acme, target=PATH, content="Note of the harbour.", frontmatter=NOTE)
    put(acme, target="inbox/other.md", content="Of the lock.", frontmatter=NOTE)
    ask(acme, "DELETE FROM memory.chunk_vectors")  # as a server that may add no model leaves it
    before = digest(acme, "acme")
    night = run_night(acme, "acme", force=True, ops="reembed")
    assert night.plan is not None
    approval = approve(acme, "acme", night.plan.plan_hash, approver="mara", force=True, note="Test.")
    applied = apply_approval(acme, approval.id)
    assert applied.counts["applied"] > 0
    assert ask(acme, "SELECT count(*) FROM memory.chunk_vectors") == [(2,)]
    live = {"dry_run": False, "expected_hash": done.hash, "reason": "Test."}
    with pytest.raises(Refused, match="undo would need"):
        drop(acme, PATH, **live)
    undone = undo_run(acme, applied.run_id)
    assert digest(acme, "acme") == before
    with pytest.raises(Refused, match="undo would need"):  # the undo can be undone as well
        drop(acme, PATH, **live)
    again = undo_run(acme, undone.run_id)
    assert ask(acme, "SELECT count(*) FROM memory.chunk_vectors") == [(2,)]
    assert put(acme, "forget", PATH, "", reason="Test.").action == "forgotten"
    undo_run(acme, again.run_id)
    assert ask(acme, "SELECT count(*) FROM memory.chunk_vectors") == [(0,)]


def test_other_pages_and_namespaces_stay_as_they_are(acme: Store) -> None:
    """A page that moved here from elsewhere goes whole; one that left this path does not."""
    remember(acme, "rival")
    put(acme, namespace="rival", target=PATH, frontmatter=NOTE)
    done = put(acme, target=PATH, frontmatter=NOTE)
    put(acme, target="inbox/other.md", content="Another.", frontmatter=NOTE)
    rivals = ask(acme, _OF, uid("rival"))
    drop(acme, PATH, dry_run=False, expected_hash=done.hash, reason="Test.")
    assert ask(acme, _OF, uid("rival")) == rivals != []
    assert ask(acme, "SELECT path FROM memory.documents WHERE namespace_id = %s", uid("acme")) == [("inbox/other.md",)]

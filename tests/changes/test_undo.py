"""What an undo leaves alone, what it names, and what it brings back where a page went meanwhile."""

from __future__ import annotations

import uuid
from random import Random
from typing import Any

import pytest

from slowwave.changes.apply import apply_items
from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.mutation import Mutation
from slowwave.errors import UndoBlocked
from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from slowwave.wiki.claims.planned_claims import NewSubject, PlannedClaim, SubjectClaims, planned_claims
from slowwave.wiki.corpus.planned_pages import PlannedPage, planned_pages
from tests.changes.test_properties import apply, undo
from tests.changes.test_shared_edge import shared_edge
from tests.memories import ask
from tests.nights import write_a_plan
from tests.permitting import approve
from tests.wiki.corpus.pages import drop, put
from tests.worlds import MODEL, World, load_world, make_world

NOTE = {"title": "Note", "type": "idea"}
_MEANT = (
    "SELECT d.path FROM memory.links l LEFT JOIN memory.documents d ON d.id = l.target_document_id WHERE l.target = %s"
)


@pytest.fixture
def world(store: Store) -> World:
    made = make_world(Random(3), 3)
    load_world(store, made)
    return made


def snapshot_of(store: Store, world: World) -> Snapshot:
    return export_snapshot(store, world.slug, model=MODEL)


def page(snapshot: Snapshot, text: str = "The spring tide is at six.", path: str = "ideas/tides.md") -> Mutation:
    text = f"---\ntitle: Tides\ntype: idea\n---\n\n{text}\n"
    (mutation,) = planned_pages(snapshot, Settings(), None, [PlannedPage(path, text, "pages:")])
    return mutation


def claim_of(
    snapshot: Snapshot, subject: str | NewSubject, document: str, chunk: str = "", supports: str = ""
) -> Mutation:
    chunks = (chunk,) if chunk else ()
    claim = PlannedClaim(
        "fact",
        "The tide is at six.",
        snapshot.taken_at,
        documents=(document,),
        chunks=chunks,
        quote="six.",
        supports=supports,
    )
    (mutation,) = planned_claims(snapshot, Settings(), None, [SubjectClaims(subject, (claim,))])
    return mutation


def applied(store: Store, world: World, mutation: Mutation) -> str:
    run, stale = apply(store, world, [Item("test", "change", mutation)])
    assert stale == {}
    return run


@pytest.mark.parametrize("by", ["document", "chunk", "support", "retired"])
def test_a_page_that_claims_rest_on_since_is_not_taken_back(store: Store, world: World, by: str) -> None:
    """A later plan cites the page, or a passage of it: what it says would rest on nothing. The later plan undone, the page goes as well."""
    before = digest(store, world.slug)
    first = applied(store, world, page(snapshot_of(store, world)))
    ((document, chunk),) = ask(
        store,
        "SELECT d.id::text, c.id::text FROM memory.documents d JOIN memory.chunks c ON c.document_id = d.id WHERE path = 'ideas/tides.md'",
    )
    runs: list[str] = []
    subject: str | NewSubject = NewSubject("project:heron", "Heron")
    supports = ""
    if by == "support":
        put(store, target="ideas/other.md", namespace=world.slug, frontmatter=NOTE)
        ((other,),) = ask(store, "SELECT id::text FROM memory.documents WHERE path = 'ideas/other.md'")
        runs.append(applied(store, world, claim_of(snapshot_of(store, world), subject, str(other))))
        ((subject, supports),) = ask(  # pyright: ignore[reportAssignmentType]
            store,
            "SELECT attributes ->> 'entity_id', id::text FROM memory.memories WHERE kind = 'claim' ORDER BY recorded_at DESC LIMIT 1",
        )
    said = claim_of(
        snapshot_of(store, world), subject, str(document), str(chunk) if by == "chunk" else "", str(supports)
    )
    runs.append(applied(store, world, said))
    if by == "retired":
        ask(
            store,
            "UPDATE memory.memories SET invalidated_at = now() WHERE %s::uuid = ANY (source_document_ids) RETURNING 1",
            document,
        )
    if by == "chunk":  # it names the passage alone
        ask(
            store,
            "UPDATE memory.memories SET source_document_ids = '{}' WHERE %s::uuid = ANY (source_document_ids) RETURNING 1",
            document,
        )
    stood = digest(store, world.slug)
    with pytest.raises(UndoBlocked, match="source_chunk_ids" if by == "chunk" else "source_document_ids"):
        undo(store, world, first)
    assert digest(store, world.slug) == stood
    if by in ("document", "support"):
        for run in reversed(runs):
            undo(store, world, run)
        undo(store, world, first)
        if by == "document":
            assert digest(store, world.slug) == before


def test_a_page_that_an_event_names_as_evidence_is_not_taken_back(store: Store, world: World) -> None:
    """The event outlives its claim's list of sources; it says on what the claim was made."""
    first = applied(store, world, page(snapshot_of(store, world)))
    ((document,),) = ask(store, "SELECT id::text FROM memory.documents WHERE path = 'ideas/tides.md'")
    applied(store, world, claim_of(snapshot_of(store, world), NewSubject("project:heron", "Heron"), str(document)))
    ask(
        store,
        "UPDATE memory.memories SET source_document_ids = '{}', source_chunk_ids = '{}' WHERE kind = 'claim' RETURNING 1",
    )
    with pytest.raises(UndoBlocked, match=r"claim_events\.evidence_id"):
        undo(store, world, first)


def test_a_page_and_what_rests_on_it_go_together(store: Store, world: World) -> None:
    """Claims of the same run, by another item: taken back with the page they are no bar, and without it they are."""
    before = digest(store, world.slug)
    run = str(uuid.uuid4())
    items: list[Item] = []
    for make in (page, lambda s: claim_of(s, NewSubject("project:heron", "Heron"), document_of(store))):
        items.append(Item("test", "change", make(snapshot_of(store, world))))
        with store.connect("applier") as connection, connection.transaction():
            assert apply_items(connection, world.namespace_id, run, items[-1:]) == {}
    with pytest.raises(UndoBlocked):
        undo(store, world, run, [items[0].id])
    undo(store, world, run)
    assert digest(store, world.slug) == before


def document_of(store: Store) -> str:
    return str(ask(store, "SELECT id FROM memory.documents WHERE path = 'ideas/tides.md'")[0][0])


def test_a_link_to_a_page_that_was_purged_since_means_nothing_again(store: Store, world: World) -> None:
    """A plan's page took a link over from one that the day then purges: the undo can be done, as can the undo of it, and again."""
    put(store, target="tmp/tides.md", namespace=world.slug, frontmatter=NOTE)
    put(store, target="ideas/note.md", content="See [[tides]].", namespace=world.slug, frontmatter=NOTE)
    assert ask(store, _MEANT, "tides") == [("tmp/tides.md",)]
    item = Item("digest_sessions", "write", page(snapshot_of(store, world)), risk="high")
    assert [w for w in item.mutation.writes if w.cell.column == "target_document_id"]
    _, plan = write_a_plan(store, world, items=[item])
    run = apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara").id)
    assert ask(store, _MEANT, "tides") == [("ideas/tides.md",)]
    hash_ = str(ask(store, "SELECT content_hash FROM memory.documents WHERE path = 'tmp/tides.md'")[0][0])
    drop(store, "tmp/tides.md", namespace=world.slug, expected_hash=hash_, reason="Old.", dry_run=False)
    undone = undo_run(store, run.run_id)
    assert undone.items == (item.id,)
    assert ask(store, _MEANT, "tides") == [(None,)]
    again = undo_run(store, undone.run_id)
    assert ask(store, _MEANT, "tides") == [("ideas/tides.md",)]
    assert undo_run(store, again.run_id).items == (item.id,)
    assert ask(store, _MEANT, "tides") == [(None,)]


@pytest.mark.parametrize("text", ["See [[people/quern.md]].", "It was Quern who said so."], ids=["a link", "a mention"])
def test_a_page_comes_back_without_what_meant_a_page_purged_meanwhile(store: Store, world: World, text: str) -> None:
    """A plan's page linked a page, or mentioned it; it was undone, the other one purged, and the undo is undone."""
    fields = {"title": "Quern", "type": "person"}
    done = put(store, target="people/quern.md", content="It grinds.", namespace=world.slug, frontmatter=fields)
    run = applied(store, world, page(snapshot_of(store, world), text))
    assert ask(store, "SELECT count(*) FROM memory.links WHERE target_document_id IS NOT NULL") == [(1,)]
    back, _ = undo(store, world, run)
    gone: dict[str, Any] = {"expected_hash": done.hash, "reason": "Old.", "allow_canonical": True}
    drop(store, "people/quern.md", namespace=world.slug, dry_run=False, **gone)
    undo(store, world, back)
    assert ask(
        store, "SELECT DISTINCT target_document_id, kind = 'mention' AND invalidated_at IS NULL FROM memory.links"
    ) == [(None, False)]


def test_what_the_database_refuses_is_a_sentence_without_values(store: Store, world: World) -> None:
    """A subject that a page mentioned is gone: the page cannot come back, and the refusal names the rule and quotes no row."""
    made = applied(store, world, claim_of_nobody(snapshot_of(store, world)))
    run = applied(store, world, page(snapshot_of(store, world), "Heron waits in the tide."))
    ((entity,),) = ask(store, "SELECT DISTINCT entity_id::text FROM memory.links WHERE entity_id IS NOT NULL")
    back, _ = undo(store, world, run)
    undo(store, world, made)
    before = digest(store, world.slug)
    with pytest.raises(UndoBlocked, match="links_entity_id_fkey") as refused:
        undo(store, world, back)
    assert str(entity) not in str(refused.value)
    assert digest(store, world.slug) == before


def claim_of_nobody(snapshot: Snapshot) -> Mutation:
    claim = PlannedClaim("fact", "It is grey.", snapshot.taken_at)
    (mutation,) = planned_claims(
        snapshot, Settings(), None, [SubjectClaims(NewSubject("project:heron", "Heron"), (claim,))]
    )
    return mutation


def test_undo_of_a_page_informs_followers_of_documents(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are kept in step with documents are updated when an undo removes one."""
    world = shared_edge()
    load_world(store, world)
    item = Item("digest_sessions", "write", page(snapshot_of(store, world)), risk="high")
    _, plan = write_a_plan(store, world, items=[item])
    run = apply_approval(store, approve(store, world.slug, plan.plan_hash, approver="mara").id)
    wrote: list[tuple[object, bool]] = []

    class Follower:
        def before_write(self, *_: object) -> None: ...

        def after_write(self, *given: Any, undo: bool = False) -> None:
            wrote.append((sorted(given[-1]), undo))

    monkeypatch.setattr("slowwave.night.undo.followers", lambda: (Follower(),))
    assert undo_run(store, run.run_id).items == (item.id,)
    assert wrote == [(["documents"], True)]


def test_undo_of_undo_alias_that_an_agent_added_since_keeps_the_agents_row(store: Store) -> None:
    """A merge that is applied again needs its alias to exist, whoever inserted it."""
    world = shared_edge()
    load_world(store, world)
    anna, anne, *_ = world.ids("entities")
    (merge,) = merge_rows(export_snapshot(store, world.slug), [Merge(anna, (anne,))])
    (alias,) = (i.values["alias"] for i in merge.inserts if i.table == "entity_aliases")
    run = applied(store, world, merge)
    undone, items = undo(store, world, run)
    theirs = str(uuid.uuid4())
    ask(
        store,
        "INSERT INTO memory.entity_aliases (id, namespace_id, entity_id, alias) VALUES (%s, %s, %s, %s) RETURNING id",
        *(theirs, world.namespace_id, anna, alias),
    )
    assert undo(store, world, undone)[1] == items
    assert ask(store, "SELECT id::text FROM memory.entity_aliases WHERE entity_id = %s", anna) == [(theirs,)]

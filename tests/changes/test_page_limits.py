"""What a forged item cannot write: another corpus, another namespace, sessions, evidence, and what belongs to another page."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from random import Random

import psycopg
import pytest

from slowwave.changes.cells import Cell, Guard, Insert, Write, named_id
from slowwave.changes.mutation import Mutation, check
from slowwave.errors import Refused
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from slowwave.wiki.corpus.planned_pages import PlannedPage, planned_pages
from tests.changes.test_properties import apply, undo
from tests.changes.test_write_page import FOLDER, load
from tests.memories import ask
from tests.worlds import MODEL, World, make_world

PAGE = "---\ntitle: Tides\ntype: idea\n---\n\nThe spring tide is at six. [[moon]]\n"


def planned(snapshot: Snapshot, text: str = PAGE, root: str = "pages:", path: str = "ideas/tides.md") -> Mutation:
    (mutation,) = planned_pages(snapshot, Settings(), None, [PlannedPage(path, text, root)])
    return mutation


@pytest.fixture
def moored(store: Store) -> tuple[Store, World, World]:
    """Two namespaces, each with a folder and with a page of it; the first has sessions and evidence."""
    worlds = [make_world(Random(n), 3) for n in (3, 4)]
    for world in worlds:
        load(store, world)
        snapshot = export_snapshot(store, world.slug, model=MODEL)
        for root in ("pages:", FOLDER):
            mutation = planned(snapshot, root=root, path="ideas/moon.md")
            assert apply(store, world, [Item("test", "write", mutation)])[1] == {}
        with store.connect("owner") as connection:
            for made in ("sessions:", "evidence:"):
                corpus, page = uuid.uuid4(), uuid.uuid4()
                connection.execute(
                    "INSERT INTO memory.corpora (id, namespace_id, root, profile) VALUES (%s, %s, %s, 'dory')",
                    (corpus, world.namespace_id, made),
                )
                connection.execute(
                    "INSERT INTO memory.documents (id, namespace_id, corpus_id, path, content_hash) VALUES (%s, %s, %s, 'a.md', 'x')",
                    (page, world.namespace_id, corpus),
                )
    return store, worlds[0], worlds[1]


def swapped(mutation: Mutation, old: str, new: str) -> Mutation:
    """The mutation with one text of it in the place of another, wherever it stands."""
    return Mutation.as_stored(json.loads(mutation.canonical().replace(old, new)))


def corpus_of(store: Store, world: World, root: str) -> str:
    ((id_,),) = ask(
        store, "SELECT id::text FROM memory.corpora WHERE namespace_id = %s AND root = %s", world.namespace_id, root
    )
    return str(id_)


FORGED: dict[str, Callable[[Mutation], Mutation]] = {
    "may not make a corpus": lambda m: swapped(m, '"pages:"', '"/etc"'),
    "without holding": lambda m: replace(m, inserts=tuple(i for i in m.inserts if i.table != "corpora")),
    "may not make a page": lambda m: swapped(m, "ideas/tides.md", "logs/sessions/x.md"),
    "may keep a version of no page": lambda m: replace(
        m, inserts=(*m.inserts, Insert("documents", {"version_of": str(uuid.uuid4())}, stamped=("invalidated_at",)))
    ),
    "may insert links of no page": lambda m: replace(
        m, inserts=(*m.inserts, Insert("links", {"document_id": str(uuid.uuid4()), "kind": "wikilink"}))
    ),
    "belongs to no page that it writes": lambda m: replace(
        m, writes=(*m.writes, Write(Cell("chunks", str(uuid.uuid4()), "invalidated_at"), "now"))
    ),
    "may not insert a vector": lambda m: replace(
        m, inserts=(*m.inserts, Insert("chunk_vectors", {"vector": "AAAAAA=="}, str(uuid.uuid4()), MODEL))
    ),
    "may not insert into memories": lambda m: replace(m, inserts=(*m.inserts, Insert("memories", {"kind": "claim"}))),
    "may not stamp": lambda m: replace(m, inserts=(*m.inserts, Insert("chunks", {}, stamped=("content",)))),
}


@pytest.mark.parametrize("why", FORGED)
def test_a_forged_item_is_refused_by_its_cells_alone(moored: tuple[Store, World, World], why: str) -> None:
    """It is refused when it is read, and again when it is applied."""
    store, world, _ = moored
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    mutation = planned(replace(snapshot, tables={**snapshot.tables, "corpora": snapshot.tables["corpora"].slice(0, 0)}))
    check(mutation)
    with pytest.raises(Refused, match=why):
        check(FORGED[why](mutation))


@pytest.mark.parametrize("root", ["sessions:", "evidence:"])
def test_a_guard_that_names_the_true_root_is_refused_and_one_that_lies_is_stale(
    moored: tuple[Store, World, World], root: str
) -> None:
    """An item moved into the corpus of sessions or of evidence: its guard says which corpus it is, and apply looks whether it is so."""
    store, world, _ = moored
    snapshot, before = export_snapshot(store, world.slug, model=MODEL), digest(store, world.slug)
    mutation = planned(snapshot, root=FOLDER)
    moved = swapped(mutation, corpus_of(store, world, FOLDER), corpus_of(store, world, root))
    with pytest.raises(Refused, match="may not write document"):
        check(swapped(moved, json.dumps(FOLDER), json.dumps(root)))
    _, stale = apply(store, world, [Item("test", "write", moved)])
    assert "corpora." in stale.popitem()[1]
    assert digest(store, world.slug) == before


@pytest.fixture
def unplanned(store: Store) -> tuple[Store, World]:
    """A namespace of which no plan wrote a page: no corpus ``pages:`` yet, but a folder, sessions and evidence with a page each."""
    world = make_world(Random(3), 3)
    load(store, world)
    with store.connect("owner") as connection:
        for root in ("sessions:", "evidence:"):
            connection.execute(
                "INSERT INTO memory.corpora (id, namespace_id, root, profile) VALUES (%s, %s, %s, 'dory')",
                (uuid.uuid4(), world.namespace_id, root),
            )
        connection.execute(
            "INSERT INTO memory.documents (id, namespace_id, corpus_id, path, content, content_hash) "
            "SELECT gen_random_uuid(), namespace_id, id, 'a.md', 'It was said.', 'x' FROM memory.corpora"
        )
    return store, world


@pytest.mark.parametrize("path", ["a.md", "notes/x.md"])
@pytest.mark.parametrize("root", ["sessions:", "evidence:", FOLDER])
def test_a_corpus_that_is_there_is_not_passed_off_as_a_new_one(
    unplanned: tuple[Store, World], root: str, path: str
) -> None:
    """An item says that it makes ``pages:``, by the id of another corpus: neither a page of that is changed nor one added to it."""
    store, world = unplanned
    snapshot, before = export_snapshot(store, world.slug, model=MODEL), digest(store, world.slug)
    own, other = named_id(world.namespace_id, "corpora", "pages:"), corpus_of(store, world, root)
    corpora = snapshot.tables["corpora"]
    roots = [
        "pages:" if id_ == other else was
        for id_, was in zip(*(corpora[c].to_pylist() for c in ("id", "root")), strict=True)
    ]
    lied = corpora.set_column(corpora.schema.get_field_index("root"), corpora.schema.field("root"), [roots])
    mutation = planned(replace(snapshot, tables={**snapshot.tables, "corpora": lied}), path=path)
    honest = next(i for i in planned(snapshot).inserts if i.table == "corpora")
    assert honest.row == own
    unguarded = tuple(g for g in mutation.guards if g.table != "corpora")
    forged = replace(mutation, guards=unguarded, inserts=(replace(honest, row=other), *mutation.inserts))
    assert bool(forged.writes) == (path == "a.md")
    check(forged)
    with pytest.raises(Refused, match=other):
        apply(store, world, [Item("test", "write", forged)])
    assert digest(store, world.slug) == before


@pytest.mark.parametrize(
    "other", [{"root": "/elsewhere"}, {"profile": "plain"}, {"invalidated_at": "2026-01-01T00:00:00Z"}]
)
def test_a_corpus_that_is_another_one_by_the_same_id_makes_the_item_stale(
    unplanned: tuple[Store, World], other: dict[str, str]
) -> None:
    """The id of ``pages:`` is there with another root, profile or end. With its own it is what several items share: each may bring it."""
    store, world = unplanned
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    item = Item("test", "write", planned(snapshot))
    values = next(i.values for i in item.mutation.inserts if i.table == "corpora")
    own = named_id(world.namespace_id, "corpora", "pages:")
    row = {"id": own, "namespace_id": world.namespace_id, **{c: values[c] for c in ("root", "profile")}}
    columns = {**row, **other}
    with store.connect("owner") as connection:
        connection.execute(
            f"INSERT INTO memory.corpora ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})".encode(),
            [*columns.values()],
        )
    before = digest(store, world.slug)
    assert own in apply(store, world, [item])[1][item.id]
    assert digest(store, world.slug) == before
    ask(
        store,
        "UPDATE memory.corpora SET root = %s, profile = %s, invalidated_at = NULL WHERE id = %s RETURNING 1",
        row["root"],
        row["profile"],
        own,
    )
    run, stale = apply(store, world, [item])
    assert stale == {}
    undo(store, world, run)
    assert ask(store, "SELECT count(*) FROM memory.corpora WHERE id = %s", own) == [(0,)], (
        "it goes with the last item that needs it"
    )


def test_no_page_of_another_namespace_is_reached(moored: tuple[Store, World, World]) -> None:
    """Neither its corpus, nor its page, nor a link to it: a stale item each, and both namespaces stay as they are."""
    store, world, rival = moored
    before = [digest(store, w.slug) for w in (world, rival)]
    ours, theirs = (export_snapshot(store, w.slug, model=MODEL) for w in (world, rival))
    foreign = planned(theirs, root=FOLDER)
    rewritten = planned(theirs, PAGE.replace("six", "nine"), root=FOLDER, path="ideas/moon.md")
    assert rewritten.writes
    linked = planned(ours, root=FOLDER)
    ((moon,),) = ask(
        store, "SELECT id::text FROM memory.documents WHERE corpus_id = %s", corpus_of(store, rival, FOLDER)
    )
    links = tuple(
        replace(i, values={**i.values, "target_document_id": moon}) if i.table == "links" else i for i in linked.inserts
    )
    for mutation in (foreign, rewritten, replace(linked, inserts=links)):
        item = Item("test", "write", mutation)
        assert apply(store, world, [item])[1].keys() == {item.id}
    assert [digest(store, w.slug) for w in (world, rival)] == before


def test_a_page_that_somebody_made_meanwhile_makes_the_item_stale(moored: tuple[Store, World, World]) -> None:
    """One path, one page: by another id it is seen as well, and a corpus that was made meanwhile by another id too."""
    store, world, _ = moored
    snapshot, before = export_snapshot(store, world.slug, model=MODEL), digest(store, world.slug)
    mutation = planned(snapshot, path="ideas/other.md")
    id_ = uuid.uuid4()
    with store.connect("owner") as connection:
        connection.execute(
            "INSERT INTO memory.documents (id, namespace_id, corpus_id, path) VALUES (%s, %s, %s, 'ideas/other.md')",
            (id_, world.namespace_id, corpus_of(store, world, "pages:")),
        )
    _, stale = apply(store, world, [Item("test", "write", mutation)])
    assert str(id_) in stale.popitem()[1]
    ask(store, "DELETE FROM memory.documents WHERE id = %s RETURNING 1", id_)
    assert digest(store, world.slug) == before


def test_the_appliers_login_notes_files_and_changes_no_note(moored: tuple[Store, World, World]) -> None:
    """What a file said before is kept as it was noted: whoever applies can add and settle, and change none; events stay as they are."""
    store, world, _ = moored
    with store.connect("applier") as connection:
        for statement in (
            "UPDATE memory.pending_files SET was_hash = NULL",
            "INSERT INTO memory.purges (namespace_id, path, reason, agent, bytes) SELECT id, '', '', '', 0 FROM memory.namespaces",
            "UPDATE memory.proposals SET verdict = 'approve'",
            "INSERT INTO memory.tokens (id) VALUES ('x')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
        connection.execute(
            "INSERT INTO memory.claim_events (namespace_id, claim_id, event) VALUES (%s, %s, 'added')",
            (world.namespace_id, uuid.uuid4()),
        )
        for statement in ("UPDATE memory.claim_events SET event = 'retired'", "DELETE FROM memory.claim_events"):
            with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
                connection.execute(statement)


def test_a_guard_can_be_left_out_nowhere(moored: tuple[Store, World, World]) -> None:
    """Without any one of its guards on the page or its corpus an item is refused: it would no longer hold where it writes."""
    store, world, _ = moored
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    mutation = planned(snapshot, PAGE.replace("six", "nine"), root=FOLDER, path="ideas/moon.md")
    check(mutation)
    needed: list[Guard] = [g for g in mutation.guards if g.table in ("documents", "corpora", "chunks")]
    assert {g.table for g in needed} == {"documents", "corpora", "chunks"}
    for guard in needed:
        with pytest.raises(Refused):
            check(replace(mutation, guards=tuple(g for g in mutation.guards if g is not guard)))

"""``forget_rows``: a page, or claims of a subject, leave every search as one change, and are found again exactly when it is undone."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.cells import Cell, Guard, Insert, Value, Write
from slowwave.changes.mutation import Mutation, check
from slowwave.changes.simulate import simulate
from slowwave.errors import Refused, UndoBlocked
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from slowwave.wiki.claims.forgetting import forgotten_claims
from slowwave.wiki.claims.request import RememberRequest
from slowwave.wiki.corpus.pages import page_place
from slowwave.wiki.corpus.planned_pages import planned_forgetting
from slowwave.wiki.corpus.requests import WriteRequest
from tests.changes.test_properties import Build, apply, plan, undo
from tests.memories import ask
from tests.wiki.claims import tell
from tests.wiki.corpus.pages import put
from tests.worlds import MODEL, World, assert_same, few, load_world, make_world, worlds

SUBJECTS = ("project:rowan", "person:mara")
PATHS = ("ideas/tides.md", "people/ann.md")
SAID = ("It is planned.", "It costs 40 crowns.", "It is late.")


def indexed(store: Store) -> list[tuple[object, ...]]:
    """What searches can find, with what they find it by."""
    return ask(store, "SELECT id::text, kind, live, words::text FROM memory.search_texts ORDER BY id")


def filled(store: Store, world: World, r: Random) -> None:
    """The world, with claims about two subjects, some of them ended, and pages, one of which was forgotten and begun anew."""
    load_world(store, world)
    for subject in SUBJECTS:
        for said in SAID[: r.randint(1, 3)]:
            kind = r.choice(["fact", "state"])
            tell(store, said, subject, world.slug, kind=kind, role="owner")
    for path in PATHS:
        put(store, target=path, content=f"Of {path} [[tides]].\n\nIt rains.", namespace=world.slug)
        if r.random() < 0.5:
            put(store, "append", path, "And again.", namespace=world.slug)
    put(store, "forget", PATHS[0], reason="Old.", content="", namespace=world.slug)
    put(store, target=PATHS[0], content="The tide is at seven.", namespace=world.slug)


def forgettings(store: Store) -> Build:
    """A planner that forgets both subjects, or a kind or a statement of one, and both pages."""

    def build(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
        made: list[Mutation] = []
        with store.connect("reader") as connection:
            for subject in SUBJECTS:
                said = SAID[0] if r.random() < 0.3 else ""
                request = RememberRequest(subject=subject, action="forget", content=said, reason="Asked for.")
                made.append(forgotten_claims(connection, snapshot, Settings(), request, agent="codex")[0])
            for path in PATHS:
                request_ = WriteRequest(kind="forget", target=path, reason="Out of date.")
                place = page_place(connection, snapshot.namespace_id, path)
                made.append(planned_forgetting(snapshot, Settings(), place, request_, "made"))
        return made

    return build


@few
@given(world=worlds(most=3), r=st.randoms(use_true_random=False))
def test_what_was_simulated_is_what_happens_once_and_undo_takes_it_back(store: Store, world: World, r: Random) -> None:
    """Any of it in any order: simulated = stored, twice = once, undone = never, what searches find too; an undo can be undone."""
    filled(store, world, r)
    before, found = digest(store, world.slug), indexed(store)
    snapshot, items = plan(store, world, forgettings(store), r)
    chosen = [i for i in items if r.random() < 0.8]
    r.shuffle(chosen)
    runs = [apply(store, world, [item]) for item in chosen]
    assert all(stale == {} for _, stale in runs)
    assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, chosen), chosen)
    after, left = digest(store, world.slug), indexed(store)
    gone = {w.cell.row for i in chosen for w in i.mutation.writes if w.cell.table in ("memories", "chunks")}
    assert not gone & {row for row, *_ in left}
    assert apply(store, world, chosen)[1].keys() == {i.id for i in chosen}
    assert digest(store, world.slug) == after, "applied twice = applied once"
    r.shuffle(runs)
    backs = [undo(store, world, run)[0] for run, _ in runs]
    assert (digest(store, world.slug), indexed(store)) == (before, found)
    again = [undo(store, world, back)[0] for back in backs]
    assert (digest(store, world.slug), indexed(store)) == (after, left)
    for run in again:
        undo(store, world, run)
    assert (digest(store, world.slug), indexed(store)) == (before, found)


@pytest.fixture
def world(store: Store) -> World:
    world = make_world(Random(3), 3)
    filled(store, world, Random(3))
    return world


def test_a_plan_and_a_day_forget_the_same(store: Store, world: World) -> None:
    """The same rows are live, searched, superseded and noted, whichever way they went."""
    _, items = plan(store, world, forgettings(store), Random(1))
    live = (
        "SELECT 'm', id::text FROM memory.memories WHERE invalidated_at IS NULL UNION ALL "
        "SELECT 'c', id::text FROM memory.chunks WHERE invalidated_at IS NULL UNION ALL "
        "SELECT 'l', id::text FROM memory.links WHERE invalidated_at IS NULL UNION ALL "
        "SELECT 'e', claim_id::text || event || reason FROM memory.claim_events UNION ALL "
        "SELECT 'd', path || (metadata->>'status') || (metadata->>'forgotten') FROM memory.documents WHERE version_of IS NULL "
        "AND invalidated_at IS NULL AND path NOT LIKE 'sources/%%' ORDER BY 1, 2"
    )
    run, stale = apply(store, world, items)
    assert stale == {}
    by_plan = ask(store, live), indexed(store)
    undo(store, world, run)
    for subject in SUBJECTS:
        tell(store, "", subject, world.slug, action="forget", reason="Asked for.", role="owner")
    for path in PATHS:
        put(store, "forget", path, reason="Out of date.", content="", namespace=world.slug)
    assert (ask(store, live), indexed(store)) == by_plan


def test_what_came_since_stays_and_what_changed_since_is_left_alone(store: Store, world: World) -> None:
    """A page that was written, a claim that was said again: stale. A page begun anew since keeps its forgetting from being undone."""
    _, items = plan(store, world, forgettings(store), Random(1))
    put(store, "append", PATHS[1], "News.", namespace=world.slug)
    tell(store, SAID[0], SUBJECTS[0], world.slug, role="owner")
    run, stale = apply(store, world, items)
    assert stale.keys() == {items[0].id, items[3].id}
    put(store, target=PATHS[0], content="The tide is at eight.", namespace=world.slug)
    with pytest.raises(UndoBlocked, match="documents"):
        undo(store, world, run)


def test_what_is_gone_or_nobody_knows_is_not_planned(store: Store, world: World) -> None:
    """A page that is not there, a subject that nobody knows, a statement that nobody made, a secret in the reason."""
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    with store.connect("reader") as connection:
        for path, reason in (("ideas/none.md", "Old."), ("ideas/tides.tombstone.md", "Old.")):
            place = page_place(connection, snapshot.namespace_id, path)
            with pytest.raises(Refused, match="no page"):
                planned_forgetting(snapshot, Settings(), place, WriteRequest(kind="forget", target=path, reason=reason))
        place = page_place(connection, snapshot.namespace_id, PATHS[0])
        secret = WriteRequest(kind="forget", target=PATHS[0], reason="The key is AKIA" + "Q7RZ4KPLM2XW9TNB.")
        with pytest.raises(Refused, match="screening refuses"):
            planned_forgetting(snapshot, Settings(), place, secret)
        for subject, content, why in (("Nobody", "", "known"), (SUBJECTS[0], "It flies.", "says that")):
            with pytest.raises(Refused, match=why):
                forgotten_claims(
                    connection,
                    snapshot,
                    Settings(),
                    RememberRequest(subject=subject, action="forget", content=content),
                )


def with_values(mutation: Mutation, table: str, **values: Value) -> Mutation:
    """The mutation with other values in the rows that it inserts into a table."""
    inserts = tuple(
        replace(i, values={**i.values, **values}) if i.table == table and not i.stamped else i for i in mutation.inserts
    )
    return replace(mutation, inserts=inserts)


def writing(mutation: Mutation, table: str, column: str, action: str, value: Value, seen: Value = None) -> Mutation:
    """The mutation with a write more, of a row that is not its own."""
    write = Write(Cell(table, str(uuid.uuid4()), column), action, seen, value)  # type: ignore[arg-type]
    return replace(mutation, writes=(*mutation.writes, write))


def writing_its_page(mutation: Mutation, column: str, action: str, value: Value) -> Mutation:
    """The mutation with a write more, of a page that it writes anyway."""
    page = next(w.cell.row for w in mutation.writes if w.cell.table == "documents")
    write = Write(Cell("documents", page, column), action, None, value)  # type: ignore[arg-type]
    return replace(mutation, writes=(*mutation.writes, write))


def bringing_back(mutation: Mutation, table: str) -> Mutation:
    """What the mutation ends of a table would live again instead."""
    ended = [w for w in mutation.writes if (w.cell.table, w.cell.column) == (table, "invalidated_at")]
    assert ended
    return replace(
        mutation, writes=tuple(Write(w.cell, "set", BEFORE, None) if w in ended else w for w in mutation.writes)
    )


def without(mutation: Mutation, table: str) -> Mutation:
    return replace(mutation, inserts=tuple(i for i in mutation.inserts if i.table != table or i.stamped))


def in_other_corpus(mutation: Mutation, root: str) -> Mutation:
    """The guards hold that the corpora have another root."""
    guards = tuple(
        replace_seen(g, "root", root) if g.table == "corpora" and "root" in g.columns else g for g in mutation.guards
    )
    inserts = tuple(
        replace(i, values={**i.values, "root": root}) if i.table == "corpora" else i for i in mutation.inserts
    )
    return replace(mutation, guards=guards, inserts=inserts)


def replace_seen(guard: Guard, column: str, value: Value) -> Guard:
    seen = tuple(value if c == column else s for c, s in zip(guard.columns, guard.seen, strict=True))
    return Guard(guard.table, guard.row, guard.columns, seen, guard.key)


def guarding(mutation: Mutation, table: str, column: str, value: Value) -> Mutation:
    return replace(
        mutation,
        guards=tuple(
            replace_seen(g, column, value) if g.table == table and column in g.columns else g for g in mutation.guards
        ),
    )


OTHER = str(uuid.uuid4())
BEFORE = "2026-01-01T00:00:00+00:00"
FORGED_CLAIMS: dict[str, Callable[[Mutation], Mutation]] = {
    "claim of the subject": lambda m: guarding(m, "memories", "attributes", json.dumps({"entity_id": OTHER})),
    "to be a claim": lambda m: guarding(m, "memories", "kind", "semantic"),
    "claims of one subject": lambda m: replace(
        m, guards=(*m.guards, Guard("entities", OTHER, ("merged_into",), (None,)))
    ),
    "notes of each claim": lambda m: without(m, "claim_events"),
    "and no more": lambda m: with_values(m, "claim_events", event="invalidated"),
    "keeps one page": lambda m: without(m, "documents"),
    "says what was forgotten": lambda m: with_values(m, "documents", path="people/ann.md"),
    "which is no evidence": lambda m: in_other_corpus(m, "/srv/notes"),
    "without holding": lambda m: writing(m, "documents", "invalidated_at", "now", None),
    "may not write memories.state": lambda m: writing(m, "memories", "state", "set", "archived"),
    "may only end": lambda m: writing(m, "memories", "invalidated_at", "set", None, BEFORE),
    "may not write what document": lambda m: writing_its_page(m, "title", "set", "Nothing"),
    "which belongs to no page": lambda m: writing(m, "chunks", "invalidated_at", "now", None),
    "links of row": lambda m: writing(m, "links", "invalidated_at", "now", None),
}
FORGED_PAGES: dict[str, Callable[[Mutation], Mutation]] = {
    "one page an item": lambda m: replace(m, writes=tuple(w for w in m.writes if w.cell.column != "metadata")),
    "both and nothing else": lambda m: without(m, "documents"),
    "the tombstone beside it": lambda m: with_values(m, "documents", path="ideas/other.tombstone.md"),
    "not both in one item": lambda m: writing(m, "memories", "invalidated_at", "now", None),
    "may not write document": lambda m: in_other_corpus(m, "sessions:"),
    "may not retire document": lambda m: writing_its_page(m, "invalidated_at", "now", None),
    "may not make a corpus": lambda m: replace(
        m, inserts=(*m.inserts, Insert("corpora", {"root": "/srv/notes"}, str(uuid.uuid4())))
    ),
    "may not write documents.valid_from": lambda m: writing(m, "documents", "valid_from", "set", None),
    "may only end": lambda m: bringing_back(m, "chunks"),
    "may mark no page": lambda m: replace(m, kind="write_page"),
}


@pytest.mark.parametrize("why", [*FORGED_CLAIMS, *(f"page: {why}" for why in FORGED_PAGES)])
def test_a_forged_item_is_refused_by_its_cells_alone(store: Store, world: World, why: str) -> None:
    """It reaches no other subject, no other page, no other corpus; it forgets nothing without saying so, and brings nothing back."""
    _, items = plan(store, world, forgettings(store), Random(1))
    of_page = why.startswith("page: ")
    mutation = items[3 if of_page else 0].mutation
    check(mutation)
    forge = FORGED_PAGES[why.removeprefix("page: ")] if of_page else FORGED_CLAIMS[why]
    with pytest.raises(Refused) as refused:
        check(forge(mutation))
    words = {
        "links of row": "belongs to no page",
        "says what was forgotten": "keeps one page",
        "to be a claim": "forget memory",
    }
    expected = why.removeprefix("page: ")
    assert words.get(expected, expected) in str(refused.value)


def test_items_of_another_namespace_find_nothing_to_forget(store: Store, world: World) -> None:
    """The very items of one namespace, brought to another one by somebody who can write plans there: stale, all of them."""
    _, items = plan(store, world, forgettings(store), Random(1))
    before = digest(store, world.slug)
    rival = str(uuid.uuid4())
    with store.connect("owner") as connection:
        connection.execute("INSERT INTO memory.namespaces (id, slug) VALUES (%s, 'rival')", (rival,))
    _, stale = apply(
        store, replace(world, namespace_id=rival), [Item.from_json(json.loads(json.dumps(i.to_json()))) for i in items]
    )
    assert stale.keys() == {i.id for i in items}
    assert digest(store, world.slug) == before


def test_only_forgetting_marks_a_page(store: Store, world: World) -> None:
    """Another kind of item that would set the mark, by which a page's words leave every search, is refused."""
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    documents = snapshot.table("documents")
    page = documents.filter(pc.equal(documents["path"], PATHS[1])).to_pylist()[0]
    marked = json.dumps({**json.loads(page["metadata"]), "forgotten": True})
    write = Write(Cell("documents", page["id"], "metadata"), "set", page["metadata"], marked)
    with pytest.raises(Refused, match="may mark no page"):
        check(Mutation("set_attributes", "documents", (write,)))

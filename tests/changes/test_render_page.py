"""``render_page``: a page is one row, written as the plan saw it, once, and taken back exactly."""

from __future__ import annotations

import uuid
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.cells import Cell, Insert, Write
from slowwave.changes.mutation import Mutation, check
from slowwave.changes.pages import Page, render_pages
from slowwave.changes.simulate import simulate
from slowwave.errors import Refused
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.changes.test_properties import apply, plan, undo
from tests.snapshots import make_snapshot, uid
from tests.worlds import MODEL, NAMES, World, assert_same, few, load_world, worlds

PATHS = ["MEMORY.md", "DREAMS.md", "topics.md", "a.b-c_d.md"]


def pages(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Some of the paths get a body; those that are there already get another one, or the same. A hash is of its namespace."""
    bodies = [*NAMES, "# Memory\n\n- line", "<!-- x -->\r\n", "ä\u2028日本"]
    chosen = [p for p in PATHS if r.random() < 0.7]
    made = [Page(p, r.choice(NAMES), r.choice(bodies), f"{world.slug} {r.randrange(3)}") for p in chosen]
    return render_pages(snapshot, made)


@few
@given(world=worlds(most=2), r=st.randoms(use_true_random=False))
def test_what_was_simulated_is_what_happens_once_and_undo_takes_it_back(store: Store, world: World, r: Random) -> None:
    """New pages, then other bodies for them: simulated = stored, twice = once, undone = never, in this order and together."""
    load_world(store, world)
    digests, runs = [digest(store, world.slug)], list[str]()
    for _ in range(2):
        snapshot, items = plan(store, world, pages, r)
        run, stale = apply(store, world, items)
        assert stale == {}
        assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, items), items)
        once = digest(store, world.slug)
        _, stale = apply(store, world, items)
        assert stale.keys() == {i.id for i in items if i.mutation.writes or i.mutation.inserts}
        assert digest(store, world.slug) == once, "applied twice = applied once"
        digests.append(once)
        runs.append(run)
    for run, before in zip(reversed(runs), reversed(digests[:-1]), strict=True):
        undo(store, world, run)
        assert digest(store, world.slug) == before
        assert undo(store, world, run)[1] == (), "a second undo finds nothing to do"


@few
@given(world=worlds(most=2), r=st.randoms(use_true_random=False))
def test_undoing_an_undo_renders_again(store: Store, world: World, r: Random) -> None:
    """An undo is journalled like any change."""
    load_world(store, world)
    _, items = plan(store, world, pages, r)
    run, _ = apply(store, world, items)
    applied = export_snapshot(store, world.slug, model=MODEL)
    back, _ = undo(store, world, run)
    undo(store, world, back)
    assert_same(export_snapshot(store, world.slug, model=MODEL), applied, items)


def test_a_page_that_somebody_made_meanwhile_makes_the_insert_stale(store: Store) -> None:
    """A path has one live row: two plans that would make the page cannot both count as applied."""
    world = _empty(store)
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    first, second = (Item("compile_pages", "render", render_pages(snapshot, [page(b)])[0]) for b in ("one", "two"))
    assert apply(store, world, [first])[1] == {}
    before = digest(store, world.slug)
    _, stale = apply(store, world, [second])
    assert "pages has row" in stale[second.id]
    assert digest(store, world.slug) == before


def test_a_row_of_another_namespace_is_not_taken_for_its_own(store: Store) -> None:
    """An inserted row has the id of its item: of two namespaces with one item the second is told so, and nothing counts as applied."""
    first, second = _empty(store), _empty(store)
    for world, there in ((first, False), (second, True)):
        snapshot = export_snapshot(store, world.slug, model=MODEL)
        item = Item("compile_pages", "render", render_pages(snapshot, [page("one")])[0])
        assert ("pages has row" in apply(store, world, [item])[1].get(item.id, "")) is there


def test_a_body_that_changed_since_makes_the_page_stale(store: Store) -> None:
    """What a person wrote into the row in between stands."""
    world = _empty(store)
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    apply(store, world, [Item("compile_pages", "render", render_pages(snapshot, [page("one")])[0])])
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    item = Item("compile_pages", "render", render_pages(snapshot, [page("two")])[0])
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.pages SET body = 'mine'")
    _, stale = apply(store, world, [item])
    assert "pages.body" in stale[item.id]


def test_a_retired_page_gives_its_path_away(store: Store) -> None:
    """The path is free again, in the plan and in the database."""
    world = _empty(store)
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    apply(store, world, [Item("compile_pages", "render", render_pages(snapshot, [page("one")])[0])])
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.pages SET invalidated_at = now()")
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    (mutation,) = render_pages(snapshot, [page("two")])
    assert mutation.inserts
    assert apply(store, world, [Item("compile_pages", "render", mutation)])[1] == {}


def test_only_what_changes_is_written_and_the_rest_is_guarded() -> None:
    """Title as it was: guarded, not written."""
    row = {"id": uid("p"), "path": "MEMORY.md", "title": "T", "body": "old", "input_hash": "1"}
    (mutation,) = render_pages(make_snapshot(pages=[row]), [Page("MEMORY.md", "T", "new", "2")])
    assert {(w.cell.column, w.seen, w.value) for w in mutation.writes} == {
        ("body", "old", "new"),
        ("input_hash", "1", "2"),
    }
    assert {cell.column: seen for cell, seen in mutation.seen()} == {
        "title": "T",
        "path": "MEMORY.md",
        "invalidated_at": None,
    }
    assert mutation.row_ids() == (uid("p"),)


@pytest.mark.parametrize(
    "path", ["../x.md", "a/b.md", ".md", ".hidden.md", "x", "x.MD", "x\n.md", "", "x" * 120 + ".md", "C:.md"]
)
def test_a_path_is_the_plain_name_of_a_markdown_file(path: str) -> None:
    """It becomes a file's name."""
    with pytest.raises(Refused, match="plain name"):
        render_pages(make_snapshot(), [Page(path, "", "x", "1")])


def test_a_forged_page_reaches_no_other_cell() -> None:
    """The kind writes body, title and hash of pages, and nothing else."""
    for write in (Cell("pages", uid("p"), "path"), Cell("memories", uid("m"), "state")):
        with pytest.raises(Refused, match="may not write"):
            check(Mutation("render_page", "pages", writes=(Write(write, "set", "a", "b"),)))
    with pytest.raises(Refused, match="may not insert"):
        check(Mutation("render_page", "pages", inserts=(Insert("promotions", {}),)))


def test_a_rejected_page_is_another_than_its_neighbour_and_comes_back_with_other_inputs() -> None:
    """A rejection remembers path and inputs: not every new page, and not the words."""
    snapshot = make_snapshot()
    wanted = [page("x", "1"), page("x", "2"), page("y", "1"), Page("DREAMS.md", "", "x", "1")]
    subjects = [Item("compile_pages", "render", render_pages(snapshot, [p])[0]).subject() for p in wanted]
    assert subjects[0] == subjects[2]
    assert len(set(subjects)) == 3


def page(body: str, input_hash: str = "1") -> Page:
    return Page("MEMORY.md", "Memory", body, input_hash)


def _empty(store: Store) -> World:
    world = World(f"w{uuid.uuid4().hex[:8]}", str(uuid.uuid4()), {})
    load_world(store, world)
    return world

"""``write_page``: pages of a corpus come, change and go again exactly, whoever else's page makes the corpus."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.cells import SHARED
from slowwave.changes.mutation import Mutation
from slowwave.changes.simulate import simulate
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from slowwave.wiki.corpus.corpora import Corpus
from slowwave.wiki.corpus.links import resolve_links
from slowwave.wiki.corpus.planned_pages import PlannedPage, planned_pages
from tests.changes.test_properties import apply, plan, undo
from tests.worlds import MODEL, World, assert_same, few, load_world, worlds

FOLDER = "/srv/notes"
PATHS = ["digests/daily/2026-05-04.md", "people/mara.md", "projects/rowan/state.md", "ideas/tides.md"]
PARTS = [
    "See [[people/mara]] and [Rowan](../projects/rowan/state.md).",
    "Mara Reyes keeps Grafana running.",
    "# Tides\n\nThe spring tide is at six. ![[tides]]",
    "Ünïcode, *bold*, `code` and a table.\n\n| a | b |\n| - | - |\n| 1 | 2 |",
    "\n\n".join(f"## Part {n}\n\n" + "It rained on the dam all day. " * 40 for n in range(6)),
]


def embed(texts: Sequence[str]) -> np.ndarray:
    """Unit vectors (n, 4) that go by the text."""
    rows = [np.random.default_rng(len(t) + sum(t.encode())).random(4) for t in texts]
    return np.array([row / np.linalg.norm(row) for row in rows], np.float32)


def pages(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Some of the pages get a text, in the namespace's own corpus and in a folder; those that are there another one, or the same."""
    wanted: list[PlannedPage] = []
    for root in ("pages:", FOLDER):
        for path in PATHS:
            if r.random() < 0.6:
                body = "\n\n".join(r.sample(PARTS, r.randint(1, 4)))
                head = f"---\ntitle: {r.choice(['Mara Reyes', 'Rowan', 'Tides'])}\ntype: note\n---\n\n"
                wanted.append(PlannedPage(path, f"{head}{body}\n", root))
    return planned_pages(snapshot, Settings(), embed if r.random() < 0.8 else None, wanted)


def load(store: Store, world: World) -> None:
    """The world, and a folder that it follows."""
    load_world(store, world)
    with store.connect("owner") as connection:
        connection.execute(
            "INSERT INTO memory.corpora (id, namespace_id, root, profile) VALUES (%s, %s, %s, 'plain')",
            (uuid.uuid4(), world.namespace_id, FOLDER),
        )


@few
@given(world=worlds(most=3), r=st.randoms(use_true_random=False))
def test_what_was_simulated_is_what_happens_once_and_undo_takes_it_back(store: Store, world: World, r: Random) -> None:
    """New pages, then other texts for them: simulated = stored, twice = once, undone = never."""
    load(store, world)
    digests, runs = [digest(store, world.slug)], list[str]()
    for _ in range(2):
        snapshot, items = plan(store, world, pages, r)
        run, stale = apply(store, world, items)
        assert stale == {}
        assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, items), items)
        once = digest(store, world.slug)
        _, stale = apply(store, world, items)
        named = {i.id for i in items for row in i.mutation.inserts if row.row and row.table not in SHARED}
        assert stale.keys() == named | {i.id for i in items if i.mutation.writes}, (
            "new mentions alone are there already"
        )
        assert digest(store, world.slug) == once, "applied twice = applied once"
        digests.append(once)
        runs.append(run)
    for run, before in zip(reversed(runs), reversed(digests[:-1]), strict=True):
        undo(store, world, run)
        assert digest(store, world.slug) == before
        assert undo(store, world, run)[1] == (), "a second undo finds nothing to do"


@few
@given(world=worlds(most=3), r=st.randoms(use_true_random=False))
def test_any_subset_in_any_order_commutes_and_an_undo_can_be_undone(store: Store, world: World, r: Random) -> None:
    """Pages that make their corpus between them, one by one in any order, and back in any order."""
    load(store, world)
    before = digest(store, world.slug)
    snapshot, items = plan(store, world, pages, r)
    chosen = [i for i in items if r.random() < 0.8]
    r.shuffle(chosen)
    runs = [apply(store, world, [i]) for i in chosen]
    assert all(stale == {} for _, stale in runs)
    assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, chosen), chosen)
    applied = digest(store, world.slug)
    r.shuffle(runs)
    backs = [undo(store, world, run)[0] for run, _ in runs]
    assert digest(store, world.slug) == before
    r.shuffle(backs)
    for back in backs:
        undo(store, world, back)
    assert digest(store, world.slug) == applied


def linked(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Pages, none of them there, that link to each other by path, by name and by title."""
    names = r.sample(["mara", "rowan", "tides", "crane", "harbour"], r.randint(2, 5))
    wanted: list[PlannedPage] = []
    for name in names:
        written = [
            r.choice([f"[[{o}]]", f"[[notes/{o}]]", f"[[The {o}]]", f"[it]({o}.md)"]) for o in names if r.random() < 0.7
        ]
        text = f"---\ntitle: The {name}\ntype: note\n---\n\n{' '.join(written)} [[nowhere]]\n"
        wanted.append(PlannedPage(f"notes/{name}.md", text, FOLDER))
    return planned_pages(snapshot, Settings(), None, wanted)


def meant(store: Store) -> int:
    """How many links mean something else than a sync would find; what it finds is not kept."""
    with store.connect("owner") as connection, connection.transaction(force_rollback=True):
        row = connection.execute(
            "SELECT id::text, namespace_id::text FROM memory.corpora WHERE root = %s", (FOLDER,)
        ).fetchone()
        assert row is not None
        return resolve_links(connection, Corpus(str(row[0]), str(row[1]), FOLDER, "plain", 1.0, None))


@few
@given(world=worlds(most=2), r=st.randoms(use_true_random=False))
def test_new_pages_of_one_plan_mean_each_other_as_soon_as_both_are_there(store: Store, world: World, r: Random) -> None:
    """One by one in any order: after each a sync would find no other links, and each undo takes back exactly what its apply did."""
    load(store, world)
    _, items = plan(store, world, linked, r)
    r.shuffle(items)
    digests, runs = [digest(store, world.slug)], list[str]()
    for item in items:
        run, stale = apply(store, world, [item])
        assert stale == {}
        assert meant(store) == 0
        digests.append(digest(store, world.slug))
        runs.append(run)
    for run, before in zip(reversed(runs), reversed(digests[:-1]), strict=True):
        undo(store, world, run)
        assert meant(store) == 0
        assert digest(store, world.slug) == before

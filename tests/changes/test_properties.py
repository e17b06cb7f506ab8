"""Three promises of every mutation, on the real database: what was simulated happens, once, and can be taken back exactly."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.apply import apply_items
from slowwave.changes.merges import Consolidation, Merge, consolidate_memories, merge_rows
from slowwave.changes.mutation import Mutation, is_retired
from slowwave.changes.rows import (
    NOW,
    NewVersion,
    Promotion,
    filter_references,
    invalidate_rows,
    new_versions,
    promote,
    purge_rows,
    rename_type,
    revoke,
    set_columns,
    set_vector,
)
from slowwave.changes.simulate import simulate, simulate_anew
from slowwave.changes.undo import undo_entries
from slowwave.errors import UndoBlocked
from slowwave.plans.items import Item
from slowwave.plans.permitted import Permits
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.files import load_snapshot, save_snapshot
from slowwave.snapshots.memories import version_texts
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import ask
from tests.nights import new_world
from tests.worlds import MODEL, START, World, assert_same, few, load_world, worlds

Build = Callable[[Snapshot, World, Random], list[Mutation]]


def merges(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Live entities in random disjoint clusters, some with a vector, some with another type."""
    live = snapshot.live("entities")["id"].to_pylist()
    r.shuffle(live)
    clusters: list[Merge] = []
    while len(live) >= 2:
        take = [live.pop() for _ in range(min(len(live), r.choice([2, 2, 3])))]
        vector = np.array([r.random() for _ in range(4)], np.float32) if r.random() < 0.5 else None
        if len(take) > 1:
            clusters.append(Merge(take[0], tuple(take[1:]), vector, r.choice(["", "human"])))
    return merge_rows(snapshot, clusters)


def cleanings(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Every row that cites anything."""
    tables = ("entities", "relationships", "memories", "memory_facts")
    return [m for t in tables for m in filter_references(snapshot, t, world.ids(t))]


def invalidations(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Some relationships end in the world, some only in the system; chunks have no world time."""
    ends = [None, NOW, "2026-04-01T00:00:00+00:00"]
    edges = {i: r.choice(ends) for i in world.ids("relationships") if r.random() < 0.5}
    chunks = dict.fromkeys(world.ids("chunks")[:1])
    return [invalidate_rows(snapshot, "relationships", edges), invalidate_rows(snapshot, "chunks", chunks)]


def states(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Memories are archived or stay active."""
    values = {i: {"state": r.choice(["archived", "active"])} for i in world.ids("memories")}
    return set_columns(snapshot, "set_state", "memories", values)


def promotions(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Of the promotions that stand some are revoked; memories without one are promoted, here and there into the ring they are in."""
    standing = snapshot.live("promotions").to_pylist()
    back = {p["memory_id"] for p in standing if r.random() < 0.6}
    found = revoke(snapshot, [p["id"] for p in standing if p["memory_id"] in back])
    live = snapshot.live("memories").to_pylist()
    new = [m["id"] for m in live if m["state"] == "active" and m["id"] not in {p["memory_id"] for p in standing}]
    scores = {"score": 0.5, "recency": r.random()}
    return [*found, *promote(snapshot, [Promotion(i, r.choice(["longterm", "working"]), scores) for i in new])]


def attributes(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Entities get other attributes."""
    values = {
        i: {"attributes": json.dumps({"k": r.randrange(3)}), "pinned": r.random() < 0.5} for i in world.ids("entities")
    }
    return set_columns(snapshot, "set_attributes", "entities", values)


def new_vectors(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Every entity gets a vector, whether it had one or not."""
    return set_vector(
        snapshot,
        "entity_vectors",
        {i: np.array([r.random() for _ in range(4)], np.float32) for i in world.ids("entities")},
    )


def renames(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Entities and relationships change their type, or stay what they are."""
    entities = {i: r.choice(["person", "human"]) for i in world.ids("entities") if r.random() < 0.7}
    edges = {i: r.choice(["KNOWS", "MET"]) for i in world.ids("relationships") if r.random() < 0.7}
    return [*rename_type(snapshot, "entities", entities), *rename_type(snapshot, "relationships", edges)]


def rewordings(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Live memories say something else, some at another stage, some with a new vector; some only have a date beside what they told, and
    some rest on what another one tells."""
    rows = snapshot.live("memories")
    told = dict(
        zip(rows["id"].to_pylist(), version_texts(snapshot, rows["current_version_id"]).to_pylist(), strict=True)
    )
    live = [i for i in told if r.random() < 0.6]
    changes = [
        NewVersion(
            i,
            r.choice([f"Said again, {r.randrange(9)} times.", f"{told[i]} (2026-05-0{r.randrange(1, 9)})"]),
            "test",
            stage=r.choice([None, "summary"]),
            attributes=r.choice([None, {"k": r.randrange(3)}]),
            because=tuple(r.sample(sorted(told), r.randrange(2))),
        )
        for i in live
    ]
    vectors = np.array([[r.random() for _ in range(4)] for _ in live], np.float32) if r.random() < 0.5 else None
    return new_versions(snapshot, changes, vectors)


def consolidations(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Active memories in random disjoint groups get a summary, some with a vector."""
    live = snapshot.live("memories")
    ids = live["id"].filter(pc.equal(live["state"], "active")).to_pylist()
    r.shuffle(ids)
    found: list[Consolidation] = []
    while ids:
        cited = tuple(ids.pop() for _ in range(min(len(ids), r.choice([1, 2, 3]))))
        vector = np.array([r.random() for _ in range(4)], np.float32) if r.random() < 0.5 else None
        found.append(Consolidation(f"Together {r.randrange(9)}.", cited, {"tags": '["a"]', "importance": 0.7}, vector))
    return consolidate_memories(snapshot, found)


def purges(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """Some of the retired rows, those that may name each other in one item; all were retired a year before the snapshot."""
    later = replace(snapshot, taken_at=START + timedelta(days=365))
    found: list[Mutation] = []
    for table in ("memory_facts", "memories", "relationships", "communities"):
        rows = snapshot.table(table).to_pylist()
        ids = [row["id"] for row in rows if is_retired(table, row) and r.random() < 0.8]
        groups = [ids] if table in ("memory_facts", "memories") and ids else [[i] for i in ids]
        found += purge_rows(later, table, groups, retention_days=30)
    return found


KINDS: dict[str, Build] = {
    "merge_rows": merges,
    "filter_references": cleanings,
    "invalidate_rows": invalidations,
    "set_state": states,
    "promotions": promotions,
    "set_attributes": attributes,
    "set_vector": new_vectors,
    "rename_type": renames,
    "new_version": rewordings,
    "insert_summary": consolidations,
    "purge_rows": purges,
}


def apply(store: Store, world: World, items: Sequence[Item]) -> tuple[str, dict[str, str]]:
    run = str(uuid.uuid4())
    with store.connect("applier") as connection, connection.transaction():
        return run, apply_items(connection, world.namespace_id, run, items)


def undo(store: Store, world: World, run: str, items: Sequence[str] | None = None) -> tuple[str, tuple[str, ...]]:
    new = str(uuid.uuid4())
    with store.connect("applier") as connection, connection.transaction():
        return new, undo_entries(connection, world.namespace_id, new, run, items)


def plan(store: Store, world: World, build: Build, r: Random) -> tuple[Snapshot, list[Item]]:
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    items = [Item("test", "change", m) for m in build(snapshot, world, r)]
    return snapshot, [Item.from_json(json.loads(json.dumps(i.to_json()))) for i in items]


INDEX = """
WITH due AS (
  SELECT r.id, r.kind, r.live, s.length, s.words FROM (
    SELECT m.id, 'memories' AS kind, m.invalidated_at IS NULL AND m.state = 'active' AS live,
      concat_ws(E'\\n', m.subject, v.content) AS text
    FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id WHERE m.namespace_id = %(namespace)s
    UNION ALL SELECT c.id, 'chunks', c.invalidated_at IS NULL, concat_ws(E'\\n', d.title, c.content)
    FROM memory.chunks c JOIN memory.documents d ON d.id = c.document_id WHERE c.namespace_id = %(namespace)s
    UNION ALL SELECT e.id, 'entities', e.invalidated_at IS NULL AND e.state = 'active', concat_ws(' ', e.name, e.description,
      (SELECT string_agg(a.alias, ' ' ORDER BY a.id) FROM memory.entity_aliases a WHERE a.entity_id = e.id))
    FROM memory.entities e WHERE e.namespace_id = %(namespace)s) r, memory.search_terms(%(namespace)s::uuid, r.text) s),
there AS (SELECT id, kind, live, length, words FROM memory.search_texts WHERE namespace_id = %(namespace)s)
(SELECT 'missing', * FROM (SELECT * FROM due EXCEPT SELECT * FROM there) d)
UNION ALL (SELECT 'left over', * FROM (SELECT * FROM there EXCEPT SELECT * FROM due) t)
"""


def index_faults(store: Store, world: World) -> list[tuple[object, ...]]:
    """Rows of the search index that are not what the texts of the namespace give now."""
    with store.connect("owner") as connection:
        return connection.execute(INDEX, {"namespace": world.namespace_id}).fetchall()


@pytest.mark.parametrize("kind", KINDS)
@few
@given(world=worlds(), r=st.randoms(use_true_random=False))
def test_what_was_simulated_is_what_happens_once_and_undo_takes_it_back(
    store: Store, kind: str, world: World, r: Random
) -> None:
    """export(apply(db)) = simulate(export(db)); apply twice = apply once; digest(undo(apply(db))) = digest(db)."""
    load_world(store, world)
    before = digest(store, world.slug)
    snapshot, items = plan(store, world, KINDS[kind], r)
    run, stale = apply(store, world, items)
    assert stale == {}
    assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, items), items)
    once = digest(store, world.slug)
    changing = {
        i.id
        for i in items
        if any(w.action != "add" for w in i.mutation.writes) or i.mutation.inserts or i.mutation.deletes
    }
    _, stale = apply(store, world, items)
    assert stale.keys() == changing, "what was applied is stale for a second apply"
    assert digest(store, world.slug) == once
    assert index_faults(store, world) == []
    undo(store, world, run)
    assert digest(store, world.slug) == before
    assert index_faults(store, world) == []
    assert undo(store, world, run)[1] == (), "a second undo finds nothing to do"
    assert digest(store, world.slug) == before


@pytest.mark.parametrize("kind", ["merge_rows", "new_version", "insert_summary", "purge_rows"])
@few
@given(world=worlds(), r=st.randoms(use_true_random=False))
def test_undoing_an_undo_applies_again(store: Store, kind: str, world: World, r: Random) -> None:
    """An undo is journalled like any change: what it put back is deleted again."""
    load_world(store, world)
    before = digest(store, world.slug)
    _, items = plan(store, world, KINDS[kind], r)
    run, _ = apply(store, world, items)
    applied = export_snapshot(store, world.slug, model=MODEL)
    back, _ = undo(store, world, run)
    assert digest(store, world.slug) == before
    undo(store, world, back)
    assert_same(export_snapshot(store, world.slug, model=MODEL), applied, items)
    assert index_faults(store, world) == []


@few
@given(world=worlds(most=9), r=st.randoms(use_true_random=False))
def test_any_subset_in_any_order_commutes(store: Store, world: World, r: Random) -> None:
    """Two merges may share an edge: every subset applies one by one in any order, and comes back in any order."""
    load_world(store, world)
    before = digest(store, world.slug)
    snapshot, items = plan(store, world, merges, r)
    chosen = [i for i in items if r.random() < 0.7]
    r.shuffle(chosen)
    runs = [apply(store, world, [i]) for i in chosen]
    assert all(stale == {} for _, stale in runs)
    assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, chosen), chosen)
    r.shuffle(runs)
    for run, _ in runs:
        undo(store, world, run)
    assert digest(store, world.slug) == before


@few
@given(world=worlds(most=9), r=st.randoms(use_true_random=False))
def test_random_plans_of_every_kind_commute_once_sealed(store: Store, world: World, r: Random) -> None:
    """A plan that mixes all kinds: whatever the sealer lets in applies as simulated, in parts, and comes back in any order."""
    load_world(store, world)
    before = digest(store, world.slug)
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    kinds = list(KINDS)
    mutations = [(kind, m) for kind in kinds for m in KINDS[kind](snapshot, world, r)]
    for item in (Item(kind, "change", m) for kind, m in mutations):
        assert item.rows() == {(cell.table, cell.row) for cell in item.writes() | item.guards()}
    proposed = [  # no two of one probability, or their random ids would say which of them waits
        Item(kind, "change", m, probability=(r.random() + n / len(mutations)) / 2)
        for n, (kind, m) in enumerate(mutations)
    ]
    any_order = Permits(dict.fromkeys(r.sample(kinds, len(kinds)), ()))
    sealed = seal(Header(world.namespace_id, world.slug, snapshot.snapshot_id, "f"), proposed, any_order)
    chosen = [i for i in sealed.items if r.random() < 0.8]
    r.shuffle(chosen)
    parts = [chosen[n::3] for n in range(3)]
    runs = [apply(store, world, part) for part in parts]
    assert all(stale == {} for _, stale in runs)
    assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, chosen), chosen)
    r.shuffle(runs)
    for run, _ in runs:
        undo(store, world, run)
        assert index_faults(store, world) == []
    assert digest(store, world.slug) == before


@few
@given(world=worlds(most=9), r=st.randoms(use_true_random=False))
def test_a_future_made_of_another_future_is_the_one_made_of_the_snapshot(store: Store, world: World, r: Random) -> None:
    """Items that come and go touch their own tables alone; all others are those of the first future, not copies of them."""
    load_world(store, world)
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    proposed = [Item(kind, "change", m) for kind in KINDS for m in KINDS[kind](snapshot, world, r)]
    header = Header(world.namespace_id, world.slug, snapshot.snapshot_id, "f")
    items = seal(header, proposed, Permits(dict.fromkeys(KINDS, ()))).items
    one, other = ([i for i in items if r.random() < share] for share in (0.7, 0.9))
    first = simulate(snapshot, one)
    anew, expected = simulate_anew(snapshot, other, first, one), simulate(snapshot, other)
    differing = [i for i in items if (i in one) != (i in other)]
    touched = {c.table for i in differing for c in (*(w.cell for w in i.mutation.writes), *i.mutation.inserts)}
    touched |= {delete.table for i in differing for delete in i.mutation.deletes}
    for name, table in expected.tables.items():
        assert anew.tables[name].equals(table), name
        assert name in touched or anew.tables[name] is first.tables[name]
    for name, vectors in expected.vectors.items():
        assert anew.vectors[name].ids.equals(vectors.ids)
        assert anew.vectors[name].matrix.tobytes() == vectors.matrix.tobytes()
        assert name in touched or anew.vectors[name] is first.vectors[name]


@few
@given(world=worlds(most=9), r=st.randoms(use_true_random=False))
def test_some_items_of_a_run_come_back_alone(store: Store, world: World, r: Random) -> None:
    """Undoing half the items of a run leaves exactly the other half."""
    load_world(store, world)
    snapshot, items = plan(store, world, merges, r)
    run, _ = apply(store, world, items)
    gone = [i for i in items if r.random() < 0.5]
    undo(store, world, run, [i.id for i in gone])
    kept = [i for i in items if i not in gone]
    assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, kept), items)


def test_undo_memory_without_a_version_leaves_no_search_text(store: Store) -> None:
    """T18: a memory that had no text when a plan gave it one has no row in the search index once that is undone."""
    world = new_world(store)
    memory = world.ids("memories")[0]
    ask(store, "UPDATE memory.memories SET current_version_id = NULL WHERE id = %s", memory)
    assert index_faults(store, world) == []
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    items = [
        Item("test", "change", m) for m in new_versions(snapshot, [NewVersion(memory, "The plan's words.", "test")])
    ]
    run, _ = apply(store, world, items)
    assert ask(store, "SELECT count(*) FROM memory.search_texts WHERE id = %s", memory) == [(1,)]
    undo(store, world, run)
    assert ask(store, "SELECT count(*) FROM memory.search_texts WHERE id = %s", memory) == [(0,)]
    assert index_faults(store, world) == []


def test_search_text_of_a_version_that_is_deleted_goes_with_it(store: Store) -> None:
    """Whether the pointer to the version goes before or not at all."""
    world = new_world(store)
    memory = world.ids("memories")[0]
    with store.connect("owner") as connection, connection.transaction():
        connection.execute("SET LOCAL slowwave.purge = 'on'")
        connection.execute("DELETE FROM memory.memory_versions WHERE memory_id = %s", (memory,))
    assert index_faults(store, world) == []


def test_vectors_of_a_mapped_file_are_written_beside_it(store: Store, tmp_path: Path) -> None:
    """The future holds the pages that it writes, the file stays as it is; without the file the matrix is copied."""
    world = new_world(store)
    known = [row["id"] for row in world.rows["entity_vectors"]][:2]
    turned = {id_: np.array([0, 0, 0, 1], np.float32) for id_ in known}
    snapshot, items = plan(store, world, lambda s, w, r: set_vector(s, "entity_vectors", turned), Random(1))
    loaded = load_snapshot(save_snapshot(snapshot, str(tmp_path)).location)
    (file,) = tmp_path.glob("*/*/entity_vectors.npy")
    before = file.read_bytes()
    expected = simulate(snapshot, items).vectors["entity_vectors"].matrix
    after = simulate(loaded, items).vectors["entity_vectors"].matrix
    assert isinstance(after, np.memmap)
    assert after.tobytes() == expected.tobytes() != loaded.vectors["entity_vectors"].matrix.tobytes()
    assert file.read_bytes() == before
    file.unlink()
    copied = simulate(loaded, items).vectors["entity_vectors"].matrix
    assert not isinstance(copied, np.memmap)
    assert copied.tobytes() == expected.tobytes()


def test_an_edge_inserted_after_planning_makes_the_merge_stale(store: Store) -> None:
    """The relationships of an absorbed row are guarded as a set: nothing dangles on a retired entity."""
    world = _two_entities(store)
    _, items = plan(store, world, merges, Random(1))
    absorbed = items[0].mutation.absorb[0].id
    other = next(i for i in world.ids("entities") if i != absorbed)
    _write(
        store,
        "INSERT INTO memory.relationships (id, namespace_id, source_entity_id, target_entity_id, relationship_type) "
        "VALUES (gen_random_uuid(), %s, %s, %s, 'KNOWS')",
        (world.namespace_id, other, absorbed),
    )
    before = digest(store, world.slug)
    _, stale = apply(store, world, items)
    assert "relationships of entity" in stale[items[0].id]
    assert digest(store, world.slug) == before


def test_recall_between_plan_and_apply_is_kept(store: Store) -> None:
    """Counters are deltas: mentions that arrive in between survive apply and undo, and stale nothing."""
    world = _two_entities(store)
    _, items = plan(store, world, merges, Random(1))
    merge = items[0].mutation
    assert merge.keep is not None
    keep, absorbed = merge.keep.id, merge.absorb[0].id
    counts = {e["id"]: e["mention_count"] for e in world.rows["entities"]}
    _write(
        store, "UPDATE memory.entities SET mention_count = mention_count + 5 WHERE id = ANY(%s)", ([keep, absorbed],)
    )
    run, stale = apply(store, world, items)
    assert stale == {}
    now = {
        e["id"]: e["mention_count"]
        for e in export_snapshot(store, world.slug, model=MODEL).table("entities").to_pylist()
    }
    assert now == {keep: counts[keep] + counts[absorbed] + 5, absorbed: 5}
    undo(store, world, run)
    now = {
        e["id"]: e["mention_count"]
        for e in export_snapshot(store, world.slug, model=MODEL).table("entities").to_pylist()
    }
    assert now == {keep: counts[keep] + 5, absorbed: counts[absorbed] + 5}


def test_undo_refuses_with_the_rows_that_later_changes_stand_on(store: Store) -> None:
    """A person renames the survivor's provenance after the merge: undo names the cell and changes nothing."""
    world = _two_entities(store)
    _, items = plan(store, world, merges, Random(1))
    run, _ = apply(store, world, items)
    absorbed = items[0].mutation.absorb[0].id
    _write(store, "UPDATE memory.entities SET merged_into = NULL WHERE id = %s", (absorbed,))
    before = digest(store, world.slug)
    with pytest.raises(UndoBlocked, match=rf"entities\.merged_into of row {absorbed}"):
        undo(store, world, run)
    assert digest(store, world.slug) == before


def test_a_namespace_cannot_write_into_another(store: Store) -> None:
    """An item that names another namespace's row is stale there: the row does not exist in its scope."""
    world, other = _two_entities(store), _two_entities(store)
    _, items = plan(store, world, cleanings, Random(1))
    _, merged = plan(store, world, merges, Random(1))
    untouched = digest(store, world.slug)
    run = str(uuid.uuid4())
    with store.connect("applier") as connection, connection.transaction():
        stale = apply_items(connection, other.namespace_id, run, [*items, *merged])
    assert stale.keys() == {i.id for i in (*items, *merged)}
    assert digest(store, world.slug) == untouched


def _two_entities(store: Store) -> World:
    from tests.worlds import make_world

    for seed in range(1000):
        world = make_world(Random(seed), most=2)
        live = [e for e in world.rows["entities"] if e["invalidated_at"] is None]
        if len(live) == 2 and len(world.rows["relationships"]) > 1 and all(e["mention_count"] for e in live):
            load_world(store, world)
            return world
    raise AssertionError("no such world")


def _write(store: Store, query: str, parameters: tuple[object, ...]) -> None:
    with store.connect("owner") as connection:
        connection.execute(query.encode(), parameters)

"""Three promises of mutations, kept in stores that are not ours: what was sealed happens, once, and comes back exactly, and nobody's
rows but those that it names are touched.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.apply import apply_items
from slowwave.changes.cells import OVERLAY, ROW, Cell, Change, Delete, Guard, Insert, Value, Write, encode
from slowwave.changes.lowering import (
    NativeRow,
    Unlowered,
    find_unexplained,
    lower,
    native_rows,
    rewritten,
    text_in,
    version_of,
)
from slowwave.changes.mutation import Mutation, Row
from slowwave.changes.relations import OWN, change_fault, key_json, name_of
from slowwave.changes.undo import undo_entries
from slowwave.errors import Refused, UndoBlocked
from slowwave.operations import permits
from slowwave.plans.items import Item
from slowwave.plans.lowering import find_unexplained_items
from slowwave.plans.seal import Header, seal
from slowwave.store.connect import Store
from tests.peers import ANNA, BEN, Peer, client_writes, make_peer
from tests.worlds import few

SHAPES = ("mem0", "langgraph", "langchain", "hindsight", "khora", "letta", "notes", "notes, deleted")


def peer_of(store: Store, shape: str, r: Random) -> Peer:
    name, _, deleted = shape.partition(", ")
    peer = make_peer(store, name, r)
    return peer.deleting() if deleted else peer


def rows_of(store: Store, peer: Peer, user: str = ANNA) -> dict[str, NativeRow]:
    with store.connect("reader") as connection:
        ids = peer.ids(connection, user)
        return native_rows(
            connection, peer.binding, peer.bound, peer.catalogue(connection, user), peer.namespace_id, ids, ids
        )


def standing(store: Store, peer: Peer) -> set[str]:
    """The rows that its client shows: those that are there, and that Mem0's expiration does not hide."""
    return {id_ for id_, row in rows_of(store, peer).items() if "1970-01-01" not in str(row.cells)}


def guard(peer: Peer, row: NativeRow, **more: Value) -> Guard:
    """That a row says what it said, and lives."""
    seen: dict[str, Value] = {"current_version_id": version(peer, row), "invalidated_at": None, "scope": "s", **more}
    return Guard.on("memories", row.id, seen, seen)


def version(peer: Peer, row: NativeRow) -> str:
    return str(version_of(row.id, text_in(peer.bound, row)))


def merge(peer: Peer, keep: NativeRow, absorb: NativeRow) -> Mutation:
    """One row takes another in, and is of more importance from now on."""
    writes = (
        Write(Cell("memories", keep.id, "importance"), "set", 0.5, 0.75),
        Write(Cell("memories", keep.id, "tags"), "set", "[]", '["a", {"b": 1}]'),
        Write(Cell("memories", absorb.id, "invalidated_at"), "now"),
        Write(Cell("memories", absorb.id, "invalidated_by"), "item"),
        Write(Cell("memories", absorb.id, "merged_into"), "set", None, keep.id),
        Write(Cell("memories", absorb.id, "state"), "set", "active", "merged"),
    )
    guards = (guard(peer, keep, state="active"), guard(peer, absorb, importance=0.5))
    return Mutation("merge_rows", "memories", writes, guards, keep=Row(keep.id), absorb=(Row(absorb.id),))


def reword(peer: Peer, row: NativeRow, text: str, vector: Sequence[float] | None = (0.5, 0.25, 0, 1)) -> Mutation:
    """A row says something else, with the vector of that."""
    inserts = [Insert("memory_versions", {"memory_id": row.id, "ordinal": 2, "content": text, "reason": "test"})]
    if vector is not None:
        inserts.append(Insert("memory_vectors", {"vector": encode(np.array(vector, np.float32))}, row.id, "m"))
    writes = (
        Write(Cell("memories", row.id, "current_version_id"), "row", version(peer, row), 0),
        Write(Cell("memories", row.id, "stage"), "set", "raw", "summary"),
    )
    seen: dict[str, Value] = {"invalidated_at": None}
    return Mutation(
        "new_version", "memories", writes, (Guard.on("memories", row.id, seen, seen),), tuple(inserts), (Row(row.id),)
    )


def lose(peer: Peer, winner: NativeRow, loser: NativeRow) -> Mutation:
    """A row says what is no longer so."""
    writes = (
        Write(Cell("memories", loser.id, "invalidated_at"), "now"),
        Write(Cell("memories", loser.id, "invalidated_by"), "item"),
        Write(Cell("memories", loser.id, "valid_to"), "now"),
    )
    return Mutation(
        "invalidate_rows", "memories", writes, (guard(peer, winner), guard(peer, loser)), rows=(Row(loser.id),)
    )


def lowered(peer: Peer, rows: dict[str, NativeRow], mutation: Mutation, operation: str = "test") -> Item:
    """The item as a plan stores it and apply reads it."""
    change = lower(peer.binding, peer.bound, mutation, rows)
    physical = {"physical": json.loads(change.canonical())}
    item = Item(operation, "change", Mutation.from_json({**mutation.to_json(), **physical}))
    assert change_fault(peer.binding, item.mutation) == ""
    assert item.mutation.physical == change
    assert find_unexplained(peer.binding, "m", item.mutation, {}) is None
    return Item.from_json(json.loads(json.dumps(item.to_json())))


def plan(store: Store, peer: Peer, r: Random) -> list[Item]:
    """Merges, new texts and losses of random rows of Anna's, sealed: no two of them touch one cell."""
    rows = rows_of(store, peer)
    found: list[Mutation] = []
    some = sorted(rows.values(), key=lambda row: row.id)
    for _ in range(6):
        if len(some) > 1:
            one, other = r.sample(some, 2)
            kind = r.choice([merge, lose, reword])
            found.append(reword(peer, one, f'New {r.randrange(9)} "x"') if kind is reword else kind(peer, one, other))
    items = [lowered(peer, rows, m) for m in found]
    return list(seal(Header(peer.namespace_id, peer.slug, "s", "f"), items, permits()).items)


def apply(store: Store, peer: Peer, items: Sequence[Item]) -> tuple[str, dict[str, str]]:
    run = str(uuid.uuid4())
    with store.connect("applier") as connection, connection.transaction():
        return run, apply_items(connection, peer.namespace_id, run, items, peer.catalogue(connection))


def undo(store: Store, peer: Peer, run: str, items: Sequence[str] | None = None) -> tuple[str, ...]:
    with store.connect("applier") as connection, connection.transaction():
        catalogue = peer.catalogue(connection)
        return undo_entries(connection, peer.namespace_id, str(uuid.uuid4()), run, items, catalogue=catalogue)


def digest(store: Store, peer: Peer) -> dict[str, str]:
    """Every row of every table of theirs, and what of ours is beside them."""
    with store.connect("owner") as connection:
        beside = connection.execute(
            "SELECT coalesce(string_agg(o::text, '|' ORDER BY o::text), '') FROM night.overlay o WHERE namespace_id = %s",
            (peer.namespace_id,),
        ).fetchone()
        return peer.digest(connection) | {OVERLAY: str(beside)}


@pytest.mark.parametrize("shape", SHAPES)
@few
@given(seed=st.integers(0, 2**32 - 1))
def test_any_subset_applies_once_in_any_order_and_comes_back_exactly(store: Store, shape: str, seed: int) -> None:
    """Applied in parts, in any order, stale the second time, undone in any order: each row of each table is as it was."""
    r = Random(seed)  # not drawn one by one: how many items are sealed hangs on ids, which are new in each store
    peer = peer_of(store, shape, r)
    before = digest(store, peer)
    items = plan(store, peer, r)
    chosen = [i for i in items if r.random() < 0.8]
    r.shuffle(chosen)
    runs = [apply(store, peer, part) for part in (chosen[::2], chosen[1::2])]
    assert [stale for _, stale in runs] == [{}, {}]
    once = digest(store, peer)
    assert (once == before) == (not chosen)
    first, _ = runs[0]
    _, stale = apply(store, peer, chosen)
    assert stale.keys() == {i.id for i in chosen}, "what was applied is stale for a second apply"
    assert digest(store, peer) == once
    r.shuffle(runs)
    while (
        runs
    ):  # a link between two rows that went in two runs comes back with the one that went first, so it is undone last
        run, _ = runs.pop(0)
        try:
            undo(store, peer, run)
        except UndoBlocked:
            assert peer.bound.takes
            assert runs
            runs.append((run, {}))
    assert digest(store, peer) == before
    assert undo(store, peer, first) == ()


@pytest.mark.parametrize("shape", SHAPES)
@few
@given(seed=st.integers(0, 2**32 - 1))
def test_what_a_client_wrote_in_between_is_never_overwritten(store: Store, shape: str, seed: int) -> None:
    """Items on rows that a client wrote to are stale, and their undo is refused with the row named; the other user's rows stay."""
    r = Random(seed)  # not drawn one by one: how many items are sealed hangs on ids, which are new in each store
    peer = peer_of(store, shape, r)
    items = plan(store, peer, r)
    others = {i: row.cells for i, row in rows_of(store, peer, BEN).items()}
    planned = {i: text_in(peer.bound, row) for i, row in rows_of(store, peer).items()}
    with store.connect("owner") as connection, connection.transaction():
        for _ in range(r.randrange(3)):
            client_writes(connection, peer, ANNA, r)
    found = rows_of(store, peer)
    seen = {i: (row.cells, row.hash) for i, row in found.items()}
    moved = {i for i, text in planned.items() if i not in found or text_in(peer.bound, found[i]) != text}
    run, stale = apply(store, peer, items)
    rests_on = {i.id: {*i.mutation.row_ids(), *(g.row for g in i.mutation.guards)} for i in items}
    assert {i for i, rows in rests_on.items() if rows & moved} <= stale.keys()
    applied = [i for i in items if i.id not in stale]
    touched = {d.row for i in applied for d in (i.mutation.physical or Change()).deletes}
    touched |= {w.cell.row for i in applied for w in (i.mutation.physical or Change()).writes}
    after = {i: (row.cells, row.hash) for i, row in rows_of(store, peer).items()}
    assert {i: c for i, c in after.items() if i not in touched} == {i: c for i, c in seen.items() if i not in touched}
    with store.connect("owner") as connection, connection.transaction():
        for _ in range(r.randrange(4)):
            client_writes(connection, peer, ANNA, r)
    now = digest(store, peer)
    for item in r.sample(applied, len(applied)):
        blocked = ""
        try:
            undo(store, peer, run, [item.id])
        except UndoBlocked as problem:
            blocked = str(problem)
        if blocked:
            assert any(row in blocked for row in (*item.mutation.row_ids(), *touched, *seen))
            assert digest(store, peer) == now, "an undo that is refused changes nothing"
        now = digest(store, peer)
    assert {i: row.cells for i, row in rows_of(store, peer, BEN).items()} == others


def test_a_change_of_mem0_is_what_its_client_would_have_written(store: Store) -> None:
    """Text, hash, lemmas, vector and stamp change together; a merged row expires, and one that lost is forgotten by its hash as well."""
    peer = make_peer(store, "mem0", Random(3))
    rows = rows_of(store, peer)
    a, b, c, d = sorted(rows)[:4]
    items = [
        lowered(peer, rows, reword(peer, rows[a], "Zoë lives in Oslo.")),
        lowered(peer, rows, merge(peer, rows[d], rows[b])),
        lowered(peer, rows, lose(peer, rows[d], rows[c])),
    ]
    assert apply(store, peer, items)[1] == {}
    with store.connect("owner") as connection:
        found = {
            str(i): (payload, vector)
            for i, payload, vector in connection.execute(
                f"SELECT id, payload, vector::text FROM {peer.schema}.mem0".encode()
            )
        }
        beside = dict(
            connection.execute(
                "SELECT row_id::text, cells FROM night.overlay WHERE namespace_id = %s", (peer.namespace_id,)
            ).fetchall()
        )
    said = found[a][0]
    assert said["data"] == said["text_lemmatized"] == "Zoë lives in Oslo."
    assert said["hash"] == hashlib.md5("Zoë lives in Oslo.".encode(), usedforsecurity=False).hexdigest()
    assert found[a][1] == "[0.5,0.25,0,1]"
    assert said["updated_at"] > "2026-11-22T01:09:19.374076+00:00"
    assert found[b][0]["expiration_date"] == found[c][0]["expiration_date"] == "1970-01-01"
    assert "hash" in found[b][0]
    assert "hash" not in found[c][0]
    assert beside[b] == {"merged_into": d, "state": "merged"}
    assert beside[d] == {"importance": 0.75, "tags": ["a", {"b": 1}]}
    assert beside[c].keys() == {"valid_to"}


def test_deleting_takes_what_the_plan_did_not_see_along_for_nobody(store: Store) -> None:
    """A vector that the client added since makes the delete stale: a cascade would take it, and the journal would not have it."""
    peer = make_peer(store, "langgraph", Random(5))
    rows = rows_of(store, peer)
    a, b = [i for i, row in rows.items() if row.children][:2]
    item = lowered(peer, rows, merge(peer, rows[b], rows[a]))
    native = json.loads(rows[a].key)
    with store.connect("owner") as connection:
        connection.execute(
            f"INSERT INTO {peer.schema}.store_vectors VALUES (%s, %s, 'other', '[1,1,1,1]')".encode(), native
        )
    before = digest(store, peer)
    _, stale = apply(store, peer, [item])
    assert "other" in stale[item.id]
    assert digest(store, peer) == before


@pytest.mark.parametrize("shape", ["mem0", "langgraph", "hindsight"])
def test_what_is_quarantined_leaves_the_store(store: Store, shape: str) -> None:
    """Its own client would go on finding it, were the state noted beside it alone; and undo brings every row back."""
    peer = peer_of(store, shape, Random(4))
    before, rows = digest(store, peer), rows_of(store, peer)
    held, other, *_ = sorted(rows)
    write = Write(Cell("memories", held, "state"), "set", "active", "quarantined")
    mutation = Mutation("set_state", "memories", (write,), (guard(peer, rows[held]),), rows=(Row(held),))
    run, stale = apply(store, peer, [lowered(peer, rows, mutation)])
    assert stale == {}
    left = standing(store, peer)
    assert held not in left
    assert other in left
    undo(store, peer, run)
    assert digest(store, peer) == before
    assert held in standing(store, peer)


def test_what_clients_move_by_reading_makes_nothing_stale(store: Store) -> None:
    """Reads of LangGraph's store move the ends of its rows: items apply all the same, and come back with the ends as they were."""
    peer = make_peer(store, "langgraph", Random(9))
    rows = rows_of(store, peer)
    a, b, c, d = sorted(rows)[:4]
    items = [lowered(peer, rows, merge(peer, rows[b], rows[a])), lowered(peer, rows, lose(peer, rows[c], rows[d]))]
    with store.connect("owner") as connection:
        connection.execute(
            f"UPDATE {peer.schema}.store SET expires_at = now() + interval '9 days', ttl_minutes = 7".encode()
        )
    read = digest(store, peer)
    run, stale = apply(store, peer, items)
    assert stale == {}
    assert rows_of(store, peer).keys() == rows.keys() - {a, d}
    undo(store, peer, run)
    assert digest(store, peer) == read


def test_what_a_store_cannot_hold_is_left_out_with_the_reason(store: Store) -> None:
    """No vector for a new text, a row that was added, a counter, a text that changed, a row that is gone: each says why."""
    peer = make_peer(store, "mem0", Random(4))
    rows = rows_of(store, peer)
    a, b = sorted(rows)[:2]
    summary = Insert("memories", {"kind": "summary"})
    counts = Mutation(
        "merge_rows", "memories", (Write(Cell("memories", a, "access_count"), "add", None, 2),), rows=(Row(a),)
    )
    other = Mutation("set_state", "memories", inserts=(summary,), rows=(Row(a),))
    for mutation, why, changed in [
        (reword(peer, rows[a], "x", None), "no vector", False),
        (other, "add a row", False),
        (counts, "counts", False),
        (
            merge(peer, rows[a], NativeRow(b, rows[b].key, {**rows[b].cells, "content": '"x"'}, "")),
            "something else",
            True,
        ),
        (merge(peer, rows[a], NativeRow(str(uuid.uuid4()), "[]", rows[b].cells, "")), "gone", True),
    ]:
        with pytest.raises(Unlowered, match=why) as refused:
            lower(peer.binding, peer.bound, mutation, rows)
        assert refused.value.changed is changed
    assert rewritten(reword(peer, rows[a], "x")) == {a}


def test_a_forged_change_reaches_no_other_row_or_table(store: Store) -> None:
    """A row that the mutation does not name, a key of another row, a delete where rows are not deleted, a table of nobody's."""
    peer = make_peer(store, "mem0", Random(6))
    rows, others = rows_of(store, peer), rows_of(store, peer, BEN)
    a, b = sorted(rows)[:2]
    theirs = next(iter(others.values()))
    good = lower(peer.binding, peer.bound, reword(peer, rows[a], "x"), rows)
    table = f"{peer.schema}.mem0"

    def forged(cell: Cell) -> Change:
        return Change((*good.writes, Write(cell, "set", None, '"y"')), good.guards)

    for change in [
        forged(Cell(table, b, "content", rows[b].key)),
        forged(Cell(table, a, "content", theirs.key)),
        forged(Cell("memory.entities", a, "name", rows[a].key)),
        forged(Cell(OVERLAY, b, "state", "memories")),
        Change(deletes=(Delete(table, a, rows[a].key, {ROW: rows[a].hash}),)),
    ]:
        mutation = Mutation("new_version", "memories", rows=(Row(a),), physical=change)
        assert change_fault(peer.binding, mutation)
        with pytest.raises(Refused):
            apply(store, peer, [Item("test", "change", mutation)])
    ours = [Item("test", "change", Mutation("new_version", "memories", rows=(Row(a),), physical=good))]
    with store.connect("applier") as connection, pytest.raises(Refused):
        apply_items(connection, peer.namespace_id, str(uuid.uuid4()), ours, OWN)


def test_a_row_comes_into_an_archive_by_leaving_its_table_and_with_its_own_columns(store: Store) -> None:
    """What a plan may say of a row in the archive is when, why and with which entities it came there, and no more."""
    peer = make_peer(store, "hindsight", Random(6))
    rows, others = rows_of(store, peer), rows_of(store, peer, BEN)
    a, b = sorted(rows)[:2]
    theirs = next(iter(others.values()))
    mutation = merge(peer, rows[b], rows[a])
    good = lower(peer.binding, peer.bound, mutation, rows)
    (insert,) = good.inserts
    table, archive = f"{peer.schema}.memory_units", f"{peer.schema}.invalidated_memory_units"
    assert (insert.table, insert.key, insert.stamped) == (archive, rows[a].key, ("invalidated_at",))
    assert insert.values.keys() == {"invalidation_reason", "entity_ids"}
    for inserts, deletes, why in [
        ((replace(insert, table=table),), good.deletes, "nothing is added"),
        ((replace(insert, values={**insert.values, "bank_id": BEN}),), good.deletes, "copied"),
        ((replace(insert, stamped=("created_at",)),), good.deletes, "copied"),
        ((replace(insert, row=theirs.id, key=theirs.key),), good.deletes, "no such row leaves"),
        ((insert,), (), "no such row leaves"),
    ]:
        forged = replace(mutation, physical=replace(good, inserts=inserts, deletes=deletes))
        assert why in change_fault(peer.binding, forged)
        with pytest.raises(Refused):
            apply(store, peer, [Item("test", "change", forged)])
    assert change_fault(peer.binding, replace(mutation, physical=good)) == ""


def test_a_row_of_another_user_is_stale_whatever_an_item_says(store: Store) -> None:
    """The scope holds where a key would reach: Ben's row is none of Anna's namespace."""
    peer = make_peer(store, "notes", Random(8))
    others = rows_of(store, peer, BEN)
    row = next(iter(others.values()))
    item = lowered(peer, others, reword(peer, row, "taken"))
    before = digest(store, peer)
    _, stale = apply(store, peer, [item])
    assert row.id in stale[item.id]
    assert digest(store, peer) == before
    assert key_json(tuple(json.loads(row.key))) == row.key


def altered(peer: Peer, mutation: Mutation, r: Random) -> tuple[Change, str]:
    """The change of a sealed mutation with one part of it altered at random, and that part.

    A child row that is left out of the deletes is not among them: its parent cannot go without it, which apply finds to be stale.
    """
    good = mutation.physical or Change()
    ways = ["write", "guard"] if good.guards else ["write"]
    way: str = r.choice([*ways, *(["value", "drop"] if good.writes else []), *(["delete"] if good.deletes else [])])
    if way == "write":  # a bound column of a row that the mutation names, under a guard or not
        row, key = r.choice([(w.cell.row, w.cell.key) for w in good.writes if w.cell.table != OVERLAY] or [("", "")])
        row, key = (row, key) if row else (good.deletes[0].row, good.deletes[0].key)
        seen = {c.column: s for g in good.guards if g.row == row for c, s in g.cells()}
        free = [
            c
            for c in ("content", "source")
            if Cell(name_of(peer.bound), row, c, key) not in {w.cell for w in good.writes}
        ]
        if not free or "content" not in peer.bound.columns:
            return replace(
                good, writes=good.writes[1:] or (Write(Cell(OVERLAY, row, "state", "memories"), "set"),)
            ), "drop"
        cell = Cell(name_of(peer.bound), row, free[0], key)
        guards = tuple(
            Guard.on(g.table, g.row, left, left)._replace(key=g.key) if g.row == row and g.table == cell.table else g
            for g in good.guards
            for left in [{c.column: s for c, s in g.cells() if c.column != free[0]}]
        )
        return replace(
            good, writes=(*good.writes, Write(cell, "set", seen.get(free[0]), '"forged"')), guards=guards
        ), way
    if way == "value":
        n = r.randrange(len(good.writes))
        w = good.writes[n]
        forged = w._replace(action="set", value="forged" if w.value != "forged" else "x")
        return replace(good, writes=(*good.writes[:n], forged, *good.writes[n + 1 :])), way
    if way == "drop":
        n = r.randrange(len(good.writes))
        return replace(good, writes=good.writes[:n] + good.writes[n + 1 :]), way
    if way == "delete":
        n = next(n for n, d in enumerate(good.deletes) if d.table == name_of(peer.bound))
        return replace(good, deletes=good.deletes[:n] + good.deletes[n + 1 :]), way
    n = r.randrange(len(good.guards))
    return replace(good, guards=good.guards[:n] + good.guards[n + 1 :]), way


@pytest.mark.parametrize("shape", SHAPES)
@few
@given(seed=st.integers(0, 2**32 - 1))
def test_find_unexplained_any_altered_part_is_named(store: Store, shape: str, seed: int) -> None:
    """T1: a physical part with a write, a value, a guard or a delete more or less does not follow from its logical part."""
    r = Random(seed)
    peer = peer_of(store, shape, r)
    for item in plan(store, peer, r):
        mutation = item.mutation
        change, way = altered(peer, mutation, r)
        found = find_unexplained(peer.binding, "m", replace(mutation, physical=change), {})
        assert found is not None, (way, change, mutation.physical)
        assert way != "write" or change.writes[-1] in found.cells.writes
        assert re.search(r"row [0-9a-f]{8}-", found.reason, re.IGNORECASE), found.reason


def test_find_unexplained_vector_of_another_model_or_without_its_text_is_named(store: Store) -> None:
    """The numbers of a vector cannot be checked without the embedder; its model and the text that it comes with can."""
    peer = make_peer(store, "mem0", Random(3))
    rows = rows_of(store, peer)
    a = sorted(rows)[0]
    item = lowered(peer, rows, reword(peer, rows[a], "x"))
    found = find_unexplained(peer.binding, "other", item.mutation, {})
    assert found is not None
    assert "model 'm'" in found.reason
    bare = replace(item.mutation, inserts=item.mutation.inserts[1:], writes=item.mutation.writes[1:])
    found = find_unexplained(peer.binding, "m", bare, {})
    assert found is not None
    assert "no text" in found.reason


def test_find_unexplained_items_child_row_of_another_row_is_named(store: Store) -> None:
    """A tag of Letta's does not name its passage in its key, so the store is asked whose it is: the deleted row's, or another's."""
    peer = make_peer(store, "letta", Random(5))
    rows = rows_of(store, peer)
    a, b = [i for i, row in rows.items() if row.children.get("tags")][:2]
    other = next(i for i in rows if i not in (a, b))
    item = lowered(peer, rows, merge(peer, rows[other], rows[a]))
    table = name_of(peer.binding.tables["tags"])
    stolen = rows[b].children["tags"][0]
    change = item.mutation.physical or Change()
    more = tuple(
        sorted(
            [*change.deletes, Delete(table, stolen.id, stolen.key, {ROW: stolen.hash})], key=lambda d: (d.table, d.key)
        )
    )
    forged = Item("test", "change", replace(item.mutation, physical=replace(change, deletes=more)))
    with store.connect("reader") as connection:
        found = find_unexplained_items(connection, peer.binding, "m", peer.catalogue(connection), [item, forged])
    assert found.keys() == {forged.id}
    assert stolen.id in found[forged.id].reason
    assert [d.row for d in found[forged.id].cells.deletes] == [stolen.id]


@pytest.mark.parametrize("shape", ["langgraph", "hindsight", "letta"])
def test_find_unexplained_items_row_that_goes_with_another_text_is_named(store: Store, shape: str) -> None:
    """Of a row that is deleted the sealed part holds a hash alone; where that is the row's, its text has to be the one that was shown."""
    peer = make_peer(store, shape, Random(5))
    rows = rows_of(store, peer)
    a, b = sorted(rows)[:2]
    item = lowered(peer, rows, merge(peer, rows[a], rows[b]))
    shown = str(uuid.uuid4())
    guards = tuple(
        g._replace(
            seen=tuple(shown if c == "current_version_id" else s for c, s in zip(g.columns, g.seen, strict=True))
        )
        if g.row == b
        else g
        for g in item.mutation.guards
    )
    forged = Item("test", "change", replace(item.mutation, guards=guards))
    gone = Item("test", "change", item.mutation)
    with store.connect("reader") as connection:
        found = find_unexplained_items(connection, peer.binding, "m", peer.catalogue(connection), [item, forged])
    assert found.keys() == {forged.id}
    with store.connect("owner") as connection:
        connection.execute(f"DELETE FROM {name_of(peer.bound)}".encode())
    with store.connect("reader") as connection:
        catalogue = peer.catalogue(connection)
        assert find_unexplained_items(connection, peer.binding, "m", catalogue, [gone]) == {}, (
            "it is stale, which apply finds"
        )

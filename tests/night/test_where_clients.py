"""Plans on stores that their own clients filled, from the night to the undo, with what the client sees before, between and after."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from slowwave.bindings.checks import diagnose_stores
from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import let_write
from slowwave.night.executor import ApplyResult, apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.plans.items import Item
from slowwave.plans.ledger import read_plan
from slowwave.plans.review.card import card
from slowwave.plans.seal import Plan
from slowwave.plans.show import called, named_rows, read_names
from slowwave.store.connect import Store
from tests.bindings.clients import KEY, embedder, fill_langgraph, fill_mem0, langgraph_client, mem0_client
from tests.permitting import approve

TEA = "Anna prefers tea over coffee"

Cells = Mapping[str, Any]


def planned(store: Store, slug: str) -> Plan:
    night = run_night(store, slug, force=True)
    assert night.plan is not None
    return night.plan


def applied(store: Store, slug: str, plan: Plan) -> ApplyResult:
    approval = approve(store, slug, plan.plan_hash, approver="mara", force=True, note="a test", include_review=True)
    return apply_approval(store, approval.id)


def rows_of(store: Store, table: str, *key: str) -> dict[tuple[str, ...], Cells]:
    """Every row of a table of theirs by its key, each column as PostgreSQL writes it as text."""
    with store.connect("owner") as connection:
        found = connection.execute(
            f"SELECT (SELECT jsonb_object_agg(key, value) FROM jsonb_each_text(to_jsonb(t))) FROM {table} t".encode()
        ).fetchall()
    return {tuple(row[name] for name in key): row for (row,) in found}


def differing(before: Mapping[tuple[str, ...], Cells], after: Mapping[tuple[str, ...], Cells]) -> set[str]:
    """The columns in which rows of the same keys differ."""
    assert before.keys() == after.keys()
    return {column for key, row in before.items() for column in row if row[column] != after[key][column]}


def starting(texts: Collection[str], start: str = TEA) -> list[str]:
    return sorted(text for text in texts if text.startswith(start))


def shown_as(store: Store, plan: Plan) -> dict[str, list[str]]:
    """What items are called on the command line, and as titles of their cards, by operation."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    with store.connect("reader") as connection:
        stored = read_plan(connection, plan.plan_hash)
        names = read_names(connection, named_rows(s.item for s in stored.items), stored.header.namespace_id)
    for s in stored.items:
        found[s.operation] += [called(s.item, names), card(store, stored, s).title]
    return found


def mem0_finds(client: Any) -> list[str]:
    found = client.search(TEA, filters={"user_id": "anna"}, top_k=10)["results"]
    return starting([m["memory"] for m in found])


def mem0_lists(client: Any) -> set[str]:
    return {m["id"] for m in client.get_all(filters={"user_id": "anna"}, top_k=200)["results"]}


def test_mem0s_own_client_finds_what_should_be_there_before_between_and_after(store: Store, tmp_path: Path) -> None:
    """The duplicate is found once, and by its id still; what the client adds, changes and deletes stays so; undo gives every row back."""
    with embedder() as server:
        client = mem0_client(store, server, tmp_path)
        fill_mem0(client)
        before = rows_of(store, "public.memories", "id")
        listed = mem0_lists(client)
        connect_store(store, "mem0", parameters={"collection": "memories"}, grant=True)
        let_write(store, "mem0", grant=True)
        plan = planned(store, "mem0-anna")
        (merged,) = [row.id for i in plan.items if i.operation == "dedupe_memories" for row in i.mutation.absorb]
        writes = [w for i in plan.items for w in i.mutation.writes]
        ended = {w.cell.row for w in writes if w.cell.column == "invalidated_at"}
        quarantined = {w.cell.row for w in writes if (w.cell.column, w.value) == ("state", "quarantined")}
        retired = ended | quarantined
        assert {merged} < ended < listed, "the losers of contradictions go as well"
        assert quarantined, "and what holds a secret goes"
        assert mem0_finds(client) == [TEA, f"{TEA}."]
        titles = shown_as(store, plan)
        assert {op for op in titles if op in ("absolutize_dates", "redact_or_quarantine")}, (
            "which name no row in their evidence"
        )
        said = " ".join(title for of in titles.values() for title in of)
        assert "The billing API key is" in said
        assert "memories " not in said, "no row is told by its id"
        assert KEY not in said
        result = applied(store, "mem0-anna", plan)
        assert result.counts["applied"] == len(plan.items)
        assert len(mem0_finds(client)) == 1
        assert client.get(merged)["memory"].startswith(TEA)
        assert mem0_lists(client) == listed - retired
        (added,) = client.add("Anna keeps bees", user_id="anna", infer=False)["results"]
        client.update(added["id"], "Anna keeps two hives of bees")
        assert client.get(added["id"])["memory"] == "Anna keeps two hives of bees"
        assert mem0_lists(client) == listed - retired | {added["id"]}
        assert differing(
            before, {k: row for k, row in rows_of(store, "public.memories", "id").items() if k in before}
        ) == {"payload"}
        client.delete(added["id"])
        assert client.get(added["id"]) is None
        undo_run(store, result.run_id)
        assert rows_of(store, "public.memories", "id") == before
        assert mem0_finds(client) == [TEA, f"{TEA}."]
        assert mem0_lists(client) == listed


def deleted(items: Iterable[Item]) -> set[tuple[str, ...]]:
    """The keys of the rows of LangGraph's store that items delete."""
    changes = [i.mutation.physical for i in items if i.mutation.physical]
    return {tuple(json.loads(d.key)) for change in changes for d in change.deletes if d.table == "public.store"}


def langgraph_finds(client: Any) -> list[str]:
    found = client.search(("memories", "anna"), query=TEA, limit=10)
    return starting([str(item.value.get("content")) for item in found])


def test_store_of_langgraph_without_an_index_is_maintained_until_it_gets_one(store: Store) -> None:
    """Its default setup has no table of vectors: rows go and come back the same. An index that is added later stops writes
    until the store is connected again."""
    items = ("public.store", "prefix", "key")
    with langgraph_client(store, indexed=False) as client:
        fill_langgraph(client)
        found = connect_store(
            store, "langgraph", parameters={"schema": "public", "text": "content", "field": "content"}, grant=True
        )
        assert (found.version, found.store.kind) == ("langgraph-checkpoint-postgres 3", "langgraph_plain")
        let_write(store, "langgraph", grant=True)
        slug = "langgraph-memories.anna"
        plan = planned(store, slug)
        gone = deleted(plan.items)
        assert gone
        before = rows_of(store, *items)
        result = applied(store, slug, plan)
        assert rows_of(store, *items).keys() == before.keys() - gone
        undo_run(store, result.run_id)
        assert rows_of(store, *items) == before
    with langgraph_client(store):
        (later,) = diagnose_stores(store)
        assert later.finding.startswith("Rows of public.store_vectors go or change with those of public.store")
        connected = connect_store(store, "langgraph", parameters={}, grant=True)
        assert (connected.store.kind, connected.new_namespaces) == ("langgraph", 0)


def test_langgraphs_own_store_finds_what_should_be_there_before_between_and_after(store: Store) -> None:
    """The duplicate is gone from search, listing and get, with its vectors; putting and deleting work; undo gives every row back, and
    only the ends of rows that the client itself read stay where reading moved them."""
    items, vectors = ("public.store", "prefix", "key"), ("public.store_vectors", "prefix", "key", "field_name")
    with langgraph_client(store) as client:
        fill_langgraph(client)
        connect_store(store, "langgraph", parameters={}, grant=True)
        let_write(store, "langgraph", grant=True)
        slug, place = "langgraph-memories.anna", ("memories", "anna")
        plan = planned(store, slug)
        gone = deleted(plan.items)
        (merged,) = deleted([i for i in plan.items if i.operation == "dedupe_memories"])
        assert {merged} < gone, "the losers of contradictions go as well"
        assert {prefix for prefix, _ in gone} == {"memories.anna"}
        assert langgraph_finds(client) == [TEA, f"{TEA}."]
        before, vectors_before = rows_of(store, *items), rows_of(store, *vectors)
        result = applied(store, slug, plan)
        assert result.counts["applied"] == len(plan.items)
        assert rows_of(store, *items).keys() == before.keys() - gone
        assert rows_of(store, *vectors).keys() == {key for key in vectors_before if key[:2] not in gone}
        assert len(langgraph_finds(client)) == 1
        assert client.get(place, merged[1]) is None
        assert {item.key for item in client.search(place, limit=200)}.isdisjoint(key for _, key in gone)
        client.put(place, "extra", {"content": "Anna keeps bees"})
        client.put(place, "extra", {"content": "Anna keeps two hives of bees"})
        assert client.get(place, "extra").value == {"content": "Anna keeps two hives of bees"}
        client.delete(place, "extra")
        assert client.get(place, "extra") is None
        undo_run(store, result.run_id)
        after = rows_of(store, *items)
        assert differing(before, after) == {"expires_at"}, "reading moved it, and nothing else differs"
        assert {key: after[key] for key in gone} == {key: before[key] for key in gone}, (
            "nobody could read what was gone"
        )
        assert rows_of(store, *vectors) == vectors_before
        assert all(after[key] == row for key, row in before.items() if key[0] != "memories.anna")
        assert langgraph_finds(client) == [TEA, f"{TEA}."]
        assert client.get(place, merged[1]).value == json.loads(before[merged]["value"])

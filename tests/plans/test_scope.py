"""The scope of a dream: every field leaves out what it says, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from slowwave.changes.cells import Insert
from slowwave.changes.merges import Merge, merge_rows
from slowwave.changes.mutation import Mutation, Row
from slowwave.changes.rows import set_columns
from slowwave.errors import Refused
from slowwave.plans.items import Item
from slowwave.plans.seal import DreamScope, within
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import make_snapshot, uid

OLD, YESTERDAY, TODAY = (datetime(2026, 3, day, 9, tzinfo=UTC) for day in (1, 9, 10))


def world() -> Snapshot:
    """Three entities, an edge from the first to the second, a fact of the first document's chunk, a memory of the second document."""
    return make_snapshot(
        documents=[{"id": uid("letter")}, {"id": uid("ledger")}],
        chunks=[{"id": uid("page"), "document_id": uid("letter")}],
        entities=[
            {"id": uid("anna"), "recorded_at": OLD, "name": "Anna"},
            {"id": uid("anne"), "recorded_at": TODAY, "name": "Anne", "source_document_ids": [uid("ledger")]},
            {"id": uid("bert"), "recorded_at": YESTERDAY, "name": "Bert"},
        ],
        relationships=[
            {
                "id": uid("edge"),
                "source_entity_id": uid("anna"),
                "target_entity_id": uid("anne"),
                "recorded_at": OLD,
                "source_chunk_ids": [],
            }
        ],
        memory_facts=[{"id": uid("fact"), "recorded_at": OLD, "source_chunk_ids": [uid("gone"), uid("page")]}],
        memories=[
            {"id": uid("note"), "recorded_at": YESTERDAY, "source_document_ids": [uid("ledger")]},
            {"id": uid("bare"), "recorded_at": TODAY},
        ],
    )


def items(snapshot: Snapshot) -> dict[str, Item]:
    """One item about each row, and a merge of the old entity with today's."""
    (merge,) = merge_rows(snapshot, [Merge(uid("anna"), (uid("anne"),))])
    notes = set_columns(snapshot, "set_state", "memories", {uid(n): {"state": "archived"} for n in ("note", "bare")})
    (bert,) = set_columns(snapshot, "set_state", "entities", {uid("bert"): {"state": "archived"}})
    (edge,) = set_columns(snapshot, "set_attributes", "relationships", {uid("edge"): {"properties": '{"a": 1}'}})
    clean = Mutation("filter_references", "memory_facts")
    named = {next(iter(m.row_ids())): m for m in notes}
    return {
        "merge": Item("dedupe_entities", "merge", merge),
        "bert": Item("archive", "archive", bert),
        "edge": Item("prune_edges", "clean", edge),
        "note": Item("archive", "archive", named[uid("note")]),
        "bare": Item("archive", "archive", named[uid("bare")]),
        "nothing": Item("gc_references", "clean", clean),
    }


def names(scope: DreamScope) -> set[str]:
    snapshot = world()
    known = items(snapshot)
    found = within(scope, snapshot, list(known.values()))
    return {name for name, item in known.items() if item in found}


def test_a_scope_of_nothing_restricts_nothing() -> None:
    """Items keep their order, and operations alone leave out no rows."""
    snapshot = world()
    known = list(items(snapshot).values())
    assert within(DreamScope(), snapshot, known) == known
    assert within(DreamScope(op_kinds=frozenset({"orphans"})), snapshot, known) == known
    assert not DreamScope(op_kinds=frozenset({"orphans"})).narrows


def test_since_and_until_bound_when_a_row_was_recorded() -> None:
    """From an instant on, and before one; a merge of an old row with a new one counts as new."""
    assert names(DreamScope(since=TODAY)) == {"merge", "bare"}
    assert names(DreamScope(since=TODAY + timedelta(microseconds=1))) == set()
    assert names(DreamScope(until=YESTERDAY)) == {"merge", "edge"}
    assert names(DreamScope(since=YESTERDAY, until=TODAY)) == {"bert", "note"}
    elsewhere = TODAY.astimezone(timezone(timedelta(hours=9)))
    assert names(DreamScope(since=elsewhere)) == {"merge", "bare"}


def test_entities_take_their_edges_with_them() -> None:
    """At either end, and no other table's rows."""
    assert names(DreamScope(entity_ids=frozenset({uid("anne")}))) == {"merge", "edge"}
    assert names(DreamScope(entity_ids=frozenset({uid("bert")}))) == {"bert"}
    assert names(DreamScope(entity_ids=frozenset({uid("nobody")}))) == set()
    assert names(DreamScope(entity_ids=frozenset())) == set()


def test_documents_take_what_cites_them_or_their_chunks() -> None:
    """By source_document_ids, and by the chunks that the document was cut into."""
    assert names(DreamScope(document_ids=frozenset({uid("ledger")}))) == {"merge", "note"}
    snapshot = world()
    item = Item("gc_references", "clean", Mutation("filter_references", "memory_facts", rows=(Row(uid("fact")),)))
    assert within(DreamScope(document_ids=frozenset({uid("letter")})), snapshot, [item]) == [item]
    assert within(DreamScope(document_ids=frozenset({uid("ledger")})), snapshot, [item]) == []


def test_scope_of_snapshot_without_a_table_finds_the_rows_of_others() -> None:
    """A connected store has no communities, for example."""
    snapshot = world()
    fewer = replace(snapshot, tables={n: t for n, t in snapshot.tables.items() if n != "communities"})
    bert = items(snapshot)["bert"]
    assert within(DreamScope(entity_ids=frozenset({uid("bert")})), fewer, [bert]) == [bert]


def test_bounds_hold_together() -> None:
    """Recorded today and about Anne: the merge, not the edge of long ago."""
    assert names(DreamScope(since=TODAY, entity_ids=frozenset({uid("anne")}))) == {"merge"}


def test_a_new_row_is_about_its_members() -> None:
    """A community's summary has no row yet: it is within when a member is."""
    snapshot = world()
    summary = Mutation(
        "insert_summary",
        "communities",
        inserts=(Insert("communities", {"member_ids": (uid("anna"), uid("bert")), "payload": "{}"}),),
    )
    item = Item("community_summaries", "insert", summary)
    assert within(DreamScope(entity_ids=frozenset({uid("bert")})), snapshot, [item]) == [item]
    assert within(DreamScope(entity_ids=frozenset({uid("anne")})), snapshot, [item]) == []


def test_an_instant_without_a_zone_is_refused() -> None:
    """It could mean several, and a night would take one of them in silence."""
    with pytest.raises(Refused, match="since has no time zone"):
        DreamScope(since=datetime(2026, 3, 1))  # noqa: DTZ001 - the mistake itself
    with pytest.raises(Refused, match="until has no time zone"):
        DreamScope(until=datetime(2026, 3, 1))  # noqa: DTZ001 - the mistake itself


def test_runs_keep_a_scope_and_give_it_back() -> None:
    """Through JSON and back; what restricts nothing is left out."""
    whole = DreamScope(frozenset({"orphans"}), OLD, TODAY, frozenset({uid("anna")}), frozenset({uid("letter")}))
    assert DreamScope.from_json(whole.to_json()) == whole
    assert DreamScope().to_json() == {}
    assert DreamScope.from_json({}) == DreamScope()

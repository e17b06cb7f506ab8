"""Plans on a store of khora's shape: events and facts are retired as khora does it, what hangs on entities is read, and all comes back."""

from __future__ import annotations

from random import Random

import pytest

from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import let_write
from slowwave.errors import Refused
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from tests.bindings import khora
from tests.bindings.clients import DIMENSIONS, digest_of, embedding, run_as_owner, texts
from tests.permitting import approve

TABLES = ("chronicle_events", "memory_facts", "entities", "relationships", "chunks")
TEA = "Anna prefers tea over coffee"


def make(store: Store) -> str:
    """Two namespaces, of which Anna's holds a fact and an event twice; the name of hers here."""
    run_as_owner(store, *filter(str.strip, khora.DDL.format(schema="public", dimensions=DIMENSIONS).split(";")))
    r = Random(7)
    with store.connect("owner") as connection, connection.transaction():
        for namespace, said in ((khora.ANNA, [TEA, *texts(30, "Anna")]), (khora.BEN, texts(30, "Ben")[6:])):
            for text in said:
                khora.add(connection, "public", namespace, text, embedding(text), r)
    connect_store(store, "khora", parameters={"read_only": ""}, grant=True)
    (slug,) = [name for name in namespaces(store) if khora.ANNA in name]
    return slug


def test_events_and_facts_are_retired_as_khora_does_it_and_come_back(store: Store) -> None:
    """The second of two facts is inactive and names the first; entities and what relates them stay, and so do the rows of others."""
    slug = make(store)
    assert connect_store(store, "khora", parameters={"read_only": ""}).version == "khora 0.26"
    before = digest_of(store, *TABLES)
    beside = digest_of(store, *TABLES[2:])
    assert let_write(store, "khora", grant=True) == []
    snapshot = export_snapshot(store, slug)
    assert (snapshot.live("entities").num_rows, snapshot.live("relationships").num_rows) == (2, 1)
    night = run_night(store, slug, force=True)
    assert night.plan is not None
    operations = {i.operation for i in night.plan.items}
    assert {"dedupe_memories", "dedupe_facts"} <= operations
    changes = [i.mutation.physical for i in night.plan.items if i.mutation.physical]
    written = {w.cell.table for c in changes for w in c.writes}
    assert written <= {"public.chronicle_events", "public.memory_facts", "night.overlay"}
    approval = approve(store, slug, night.plan.plan_hash, approver="mara", force=True, note="t", include_review=True)
    result = apply_approval(store, approval.id)
    assert result.counts["applied"] == len(night.plan.items)
    with store.connect("owner") as connection:
        facts = connection.execute(
            "SELECT id, is_active, superseded_by, invalidated_at IS NULL FROM memory_facts WHERE fact_text = %s", (TEA,)
        ).fetchall()
        events = connection.execute(
            "SELECT id, merged_into_event_id, invalidated_at IS NULL FROM chronicle_events WHERE rtrim(source_text, '.') = %s",
            (TEA,),
        ).fetchall()
        others = connection.execute(
            "SELECT count(*) FROM chronicle_events e JOIN memory_facts f USING (namespace_id) WHERE namespace_id = %s "
            "AND (e.invalidated_at IS NOT NULL OR f.invalidated_at IS NOT NULL)",
            (khora.BEN,),
        ).fetchone()
    (kept,) = [id_ for id_, active, _, _ in facts if active]
    assert sorted(rest for id_, *rest in facts if id_ != kept) == [[False, kept, False]]
    (standing,) = [id_ for id_, _, stands in events if stands]
    assert [merged for id_, merged, _ in events if id_ != standing] == [standing] * 2, "the one with a full stop stays"
    assert others == (0,)
    assert digest_of(store, *TABLES[2:]) == beside
    undo_run(store, result.run_id)
    assert digest_of(store, *TABLES) == before


def test_nothing_is_written_while_a_graph_may_stand_beside_it(store: Store) -> None:
    """Audits run; what lets plans be applied says which word is missing."""
    slug = make(store)
    connect_store(store, "khora", grant=True)
    with pytest.raises(Refused, match="--no-graph"):
        let_write(store, "khora", grant=True)
    night = run_night(store, slug, force=True)
    assert night.reports["census"].numbers
    assert night.plan is None or night.plan.items == ()


def test_a_column_more_is_refused_by_its_name(store: Store) -> None:
    """In tables that are read as in those that are written."""
    make(store)
    for table in TABLES[:4]:
        run_as_owner(store, f"ALTER TABLE {table} ADD COLUMN mood text")
        with pytest.raises(Refused, match=f"{table} has mood text, which is new"):
            let_write(store, "khora", grant=True)
        run_as_owner(store, f"ALTER TABLE {table} DROP COLUMN mood")
    assert let_write(store, "khora", grant=True) == []

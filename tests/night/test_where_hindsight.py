"""Plans on a store of Hindsight's shape: what is retired moves into its archive with all that belongs to it there, and comes back whole."""

from __future__ import annotations

import json
from random import Random

import pytest

from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import let_write
from slowwave.errors import Refused, UndoBlocked
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from tests.bindings import hindsight
from tests.bindings.clients import DIMENSIONS, KEY, digest_of, embedding, run_as_owner, texts
from tests.memories import ask
from tests.permitting import approve
from tests.regressions.test_06_forged_journal import forge, vouch_anew

TABLES = ("memory_units", "invalidated_memory_units", "unit_entities", "memory_links", "entities", "documents")
TEA = "Anna prefers tea over coffee"
FOUND = """
SELECT text FROM memory_units WHERE bank_id = %s AND fact_type IN ('world', 'experience') ORDER BY embedding <=> %s::vector LIMIT %s
"""


def make(store: Store) -> None:
    """Two banks: Anna's with what is wrong, and an observation that Hindsight made; Ben's without."""
    run_as_owner(store, *filter(str.strip, hindsight.DDL.format(schema="public", dimensions=DIMENSIONS).split(";")))
    r = Random(7)
    with store.connect("owner") as connection, connection.transaction():
        for bank, said in (("anna", texts(40, "Anna")), ("ben", texts(40, "Ben")[6:])):
            for n, text in enumerate(said):
                hindsight.add(connection, "public", bank, text, embedding(text), 5 * n, r)
        id_ = hindsight.add(connection, "public", "anna", TEA, embedding(TEA), 1, r)
        connection.execute("UPDATE memory_units SET fact_type = 'observation' WHERE id = %s", (id_,))


def finds(store: Store, text: str, bank: str = "anna", count: int = 10) -> list[str]:
    with store.connect("owner") as connection:
        return [str(t) for (t,) in connection.execute(FOUND, (bank, str(embedding(text)), count))]


def test_what_is_retired_is_in_the_archive_as_its_client_would_have_put_it(store: Store) -> None:
    """The duplicate and the secret are found no more, the archive has them with their entities, their links are gone; undo is exact."""
    make(store)
    found = connect_store(store, "hindsight", grant=True)
    assert found.version == "hindsight-api 1.1"
    assert found.rows is not None
    assert (found.rows.rows, found.rows.without_text, found.namespaces) == (74, 0, 2)
    assert ["search_vector" in d.finding for d in found.found][:1] == [True]
    before = digest_of(store, *TABLES)
    let_write(store, "hindsight", grant=True)
    night = run_night(store, "hindsight-anna")
    assert night.plan is not None
    changes = [i.mutation.physical for i in night.plan.items if i.mutation.physical]
    assert changes
    assert {w.cell.table for c in changes for w in c.writes} == {"night.overlay"}, "no text is rewritten"
    with store.connect("owner") as connection:
        units = {str(i): row for i, row in connection.execute("SELECT id, to_jsonb(u) FROM memory_units u")}
        entities = {
            str(i): sorted(map(str, e))
            for i, e in connection.execute("SELECT unit_id, array_agg(entity_id) FROM unit_entities GROUP BY 1")
        }
    others = finds(store, TEA, "ben", 100)
    approval = approve(
        store, "hindsight-anna", night.plan.plan_hash, approver="mara", force=True, note="t", include_review=True
    )
    result = apply_approval(store, approval.id)
    assert result.counts["applied"] == len(night.plan.items)
    assert len([t for t in finds(store, TEA) if t.startswith(TEA)]) == 1
    assert not any(KEY in text for text in finds(store, "The billing API key", count=100))
    with store.connect("owner") as connection:
        archived = {
            str(i): row for i, row in connection.execute("SELECT id, to_jsonb(a) FROM invalidated_memory_units a")
        }
        left = {str(i) for (i,) in connection.execute("SELECT id FROM memory_units")}
        dangling = connection.execute(
            "SELECT count(*) FROM memory_links WHERE from_unit_id::text = ANY(%(a)s) OR to_unit_id::text = ANY(%(a)s)",
            {"a": list(archived)},
        ).fetchone()
    assert len(archived) > 2, "the duplicate, the secret, and the losers of contradictions"
    assert left == units.keys() - archived.keys()
    assert dangling == (0,)
    for id_, row in archived.items():
        assert row.items() >= {c: v for c, v in units[id_].items() if c not in ("embedding", "search_vector")}.items()
        assert (sorted(row["entity_ids"]), row["invalidation_reason"]) == (
            entities[id_],
            "retired by a plan of slowwave",
        )
        assert row["invalidated_at"]
        assert row["bank_id"] == "anna"
    assert finds(store, TEA, "ben", 100) == others
    undo_run(store, result.run_id)
    assert digest_of(store, *TABLES) == before


def test_what_its_client_did_with_the_archive_is_never_overwritten(store: Store) -> None:
    """A fact that the client took back from the archive, or changed there, keeps the undo of its item away, which names it."""
    make(store)
    connect_store(store, "hindsight", grant=True)
    let_write(store, "hindsight", grant=True)
    night = run_night(store, "hindsight-anna")
    assert night.plan is not None
    approval = approve(
        store, "hindsight-anna", night.plan.plan_hash, approver="mara", force=True, note="t", include_review=True
    )
    result = apply_approval(store, approval.id)
    with store.connect("owner") as connection:
        row = connection.execute(
            "UPDATE invalidated_memory_units SET invalidation_reason = 'by hand' WHERE id = (SELECT min(id::text)::uuid "
            "FROM invalidated_memory_units) RETURNING id::text"
        ).fetchone()
    assert row is not None
    after = digest_of(store, *TABLES)
    with pytest.raises(UndoBlocked, match=str(row[0])):
        undo_run(store, result.run_id)
    assert digest_of(store, *TABLES) == after


def test_links_and_archive_of_another_structure_are_refused_by_name(store: Store) -> None:
    """Whatever a row takes along or moves into has to be what is known, or nothing is written."""
    make(store)
    connect_store(store, "hindsight", grant=True)
    for table in ("memory_units", "invalidated_memory_units", "unit_entities", "memory_links"):
        run_as_owner(store, f"ALTER TABLE {table} ADD COLUMN mood text")
        with pytest.raises(Refused, match=f"{table} has mood text, which is new"):
            let_write(store, "hindsight", grant=True)
        run_as_owner(store, f"ALTER TABLE {table} DROP COLUMN mood")
    run_as_owner(store, "CREATE TABLE pins (unit uuid REFERENCES memory_units ON DELETE CASCADE)")
    with pytest.raises(Refused, match="pins"):
        let_write(store, "hindsight", grant=True)
    run_as_owner(store, "DROP TABLE pins")
    assert let_write(store, "hindsight", grant=True) == []


def test_a_link_into_another_bank_keeps_its_fact(store: Store) -> None:
    """A delete would take what is another bank's along, so the item is stale, and says which row it was."""
    make(store)
    connect_store(store, "hindsight", grant=True)
    let_write(store, "hindsight", grant=True)
    night = run_night(store, "hindsight-anna")
    assert night.plan is not None
    link = (
        "INSERT INTO memory_links (from_unit_id, to_unit_id, link_type, bank_id) SELECT a.id, b.id, 'causes', 'ben' "
        "FROM memory_units a, (SELECT id FROM memory_units WHERE bank_id = 'ben' LIMIT 1) b WHERE a.bank_id = 'anna'"
    )
    run_as_owner(store, link)
    before = digest_of(store, *TABLES)
    approval = approve(
        store, "hindsight-anna", night.plan.plan_hash, approver="mara", force=True, note="t", include_review=True
    )
    result = apply_approval(store, approval.id)
    assert result.counts["skipped_stale"] == len(night.plan.items)
    assert digest_of(store, *TABLES) == before


@pytest.mark.parametrize("end", ["another bank's fact", "a fact that nobody retired", "a weight of its own"])
def test_a_forged_image_of_a_link_that_went_along_reaches_no_other_fact(store: Store, end: str) -> None:
    """No plan names it, so no seal says what it held. With image, hash, event and chain forged, a link between other facts is refused, as
    it belongs to none that the sealed item takes away; of one between the same facts only the chain knows what it held."""
    make(store)
    connect_store(store, "hindsight", grant=True)
    let_write(store, "hindsight", grant=True)
    night = run_night(store, "hindsight-anna")
    assert night.plan is not None
    approval = approve(
        store, "hindsight-anna", night.plan.plan_hash, approver="mara", force=True, note="t", include_review=True
    )
    run = apply_approval(store, approval.id).run_id
    ((entry, item, image),) = ask(
        store,
        "SELECT j.id, j.item_id::text, b.before FROM night.journal j JOIN night.before_images b ON b.journal_id = j.id "
        "WHERE j.run_id = %s AND j.table_name = 'public.memory_links' AND j.action = 'delete' ORDER BY j.id LIMIT 1",
        run,
    )
    held = json.loads(str(image))
    ((ben,), (anna,)) = (
        ask(store, "SELECT id::text FROM memory_units WHERE bank_id = %s ORDER BY 1 LIMIT 1", bank)[0]
        for bank in ("ben", "anna")
    )
    forged = {
        "another bank's fact": {"from_unit_id": ben, "to_unit_id": ben, "bank_id": "ben"},
        "a fact that nobody retired": {"from_unit_id": anna, "to_unit_id": anna},
        "a weight of its own": {"weight": "0.125"},
    }[end]
    forge(store, entry, json.dumps(held | forged))
    after = digest_of(store, *TABLES)
    with pytest.raises(Refused, match="are not those that its event vouches for"):
        undo_run(store, run)
    vouch_anew(store, run, item)
    if "weight" in forged:
        undo_run(store, run)
        assert ask(store, "SELECT count(*) FROM memory_links WHERE weight = 0.125") == [(1,)]
        return
    with pytest.raises(Refused, match="it belongs to no row that the sealed item takes away"):
        undo_run(store, run)
    assert digest_of(store, *TABLES) == after

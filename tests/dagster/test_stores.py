"""The lineage of a connected store begins at its tables, with its users as partitions."""

from __future__ import annotations

import dagster as dg

from slowwave.bindings.connect import connect_store
from slowwave.dagster.events import report_night
from slowwave.night.night import run_night
from slowwave.store.connect import Store
from tests.bindings.clients import run_as_owner
from tests.bindings.test_connected import MADE, NOTES
from tests.dagster.project import project

TABLES = dg.AssetKey(["store", "tables"])


def test_a_snapshot_of_a_store_says_of_which_tables_it_is(store: Store) -> None:
    """Of one user; a namespace of our own has no such tables, and nothing is said of them. A night of the command line says it as well."""
    run_as_owner(
        store,
        MADE,
        "INSERT INTO notes (owner, body) VALUES ('anna', 'likes tea'), ('anna', 'is here'), ('ben', 'is not')",
    )
    connect_store(store, "table", own_text=NOTES, grant=True)
    with store.connect("owner") as connection:
        connection.execute("INSERT INTO memory.namespaces (id, slug) VALUES (gen_random_uuid(), 'own')")
    with project(store, "notes-anna", "own") as night:
        graph = night.defs.resolve_asset_graph()
        assert TABLES in graph.get(dg.AssetKey(["snapshot"])).parent_keys
        for name in ("notes-anna", "own"):
            result = night.materialize(name, "snapshot")
            assert result.success
            found = [
                e.asset_observation_data.asset_observation
                for e in result.all_events
                if e.event_type == dg.DagsterEventType.ASSET_OBSERVATION
            ]
            if name == "own":
                assert found == []
                continue
            (seen,) = found
            assert (seen.asset_key, seen.partition) == (TABLES, "notes-anna")
            assert seen.metadata["tables"].value == {"memories": "public.notes"}
            assert seen.metadata["dagster/row_count"].value == 2
            assert "anna" not in str({**seen.metadata}), "what a user is called is the partition's alone"
            run_night(
                store,
                name,
                ops=["census"],
                done=lambda *given: report_night(*given, night.instance, store=store) and None,
            )
            records = night.instance.fetch_observations(TABLES, limit=5).records
            assert len(records) == 2
            assert [dict(r.asset_observation.metadata) for r in records if r.asset_observation] == [seen.metadata] * 2

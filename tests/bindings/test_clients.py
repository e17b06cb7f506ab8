"""Stores that their own clients filled: connected to be read, audited for a night, and left as they were, to the last byte."""

from __future__ import annotations

import json
from pathlib import Path

from slowwave.bindings.connect import connect_store
from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from tests.bindings.clients import (
    KEY,
    SAID,
    digest_of,
    embedder,
    fill_langgraph,
    fill_mem0,
    langgraph_client,
    mem0_client,
)


def found_by(night: Night, operation: str) -> str:
    """All that an operation says, its findings and what it would have proposed."""
    report = night.reports.get(operation) or night.proposals[operation]
    assert not report.skipped, (operation, report.skipped, report.headline)
    return json.dumps(
        [report.headline, dict(report.numbers), [f.message for f in report.findings], list(report.table)], default=str
    )


def assert_found(night: Night, snapshot: Snapshot) -> None:
    """What is wrong with Anna's memories, each by the operation that looks for it; nothing is planned, and a secret is nowhere repeated."""
    versions = snapshot.table("memory_versions")
    ids = dict(zip(versions["content"].to_pylist(), versions["memory_id"].to_pylist(), strict=True))
    ports = {ids[text] for text in SAID if "staging database" in text}
    assert any(ports <= set(finding.rows) for finding in night.reports["contradictions"].findings)
    assert night.reports["relative_dates"].numbers["relative dates"] == 1
    assert night.reports["safety_scan"].findings
    held = night.proposals["dedupe_memories"]
    assert "not planned" in " ".join(night.why_nothing)
    assert not held.skipped
    assert (night.state, night.new_items) == ("empty", 0)
    said = {**night.reports, **{name: one for name, one in night.proposals.items() if not one.skipped}}
    everything = "".join(found_by(night, name) for name, report in said.items() if not report.skipped)
    assert KEY not in everything


def test_a_collection_of_mem0_is_audited_where_it_lies(store: Store, tmp_path: Path) -> None:
    """Two users, a duplicate, a contradiction, "yesterday" and a key; another night has nothing to do until the client writes again."""
    with embedder() as server:
        client = mem0_client(store, server, tmp_path)
        fill_mem0(client)
        before = digest_of(store, "memories")
        found = connect_store(store, "mem0", parameters={"collection": "memories"}, grant=True)
        assert found.version == "mem0ai 2.0 to 2.2"
        assert found.rows is not None
        assert (found.rows.rows, found.rows.retired, found.namespaces) == (115, 1, 2)
        anna, ben = sorted(namespaces(store))
        assert anna == "mem0-anna"
        snapshot = export_snapshot(store, anna)
        assert set(SAID) <= set(snapshot.table("memory_versions")["content"].to_pylist())
        assert snapshot.live("memories").num_rows == 60
        assert snapshot.vectors["memory_vectors"].matrix.shape == (61, 64)
        night = run_night(store, anna)
        assert_found(night, snapshot)
        assert run_night(store, anna).skipped
        assert not run_night(store, ben).reports["safety_scan"].findings
        assert digest_of(store, "memories") == before
        client.add("Anna moved to Lisbon", user_id="anna", infer=False)
        assert not run_night(store, anna).skipped
        assert run_night(store, ben).skipped
        assert len(client.get_all(filters={"user_id": "anna"}, top_k=200)["results"]) == 61


def test_a_store_of_langgraph_is_audited_where_it_lies(store: Store) -> None:
    """LangMem's tool wrote what is wrong; reading by the client moves times to live, and that is no change."""
    tables = ("store", "store_vectors")
    with langgraph_client(store) as client:
        fill_langgraph(client)
        before = digest_of(store, *tables)
        found = connect_store(store, "langgraph", grant=True)
        assert found.version == "langgraph-checkpoint-postgres 3"
        assert found.rows is not None
        assert (found.rows.rows, found.rows.without_text, found.namespaces) == (114, 1, 2)
        anna = "langgraph-memories.anna"
        assert anna in namespaces(store)
        snapshot = export_snapshot(store, anna)
        assert set(SAID) <= set(snapshot.table("memory_versions")["content"].to_pylist())
        assert snapshot.vectors["memory_vectors"].matrix.shape == (60, 64)
        assert all(
            json.loads(key)[0] == "memories.anna" for key in snapshot.table("memories")["external_id"].to_pylist()
        )
        assert_found(run_night(store, anna), snapshot)
        assert digest_of(store, *tables) == before
        assert client.search(("memories", "anna"), query="does Anna like tea", limit=3)
        assert digest_of(store, *tables) != before
        assert run_night(store, anna).skipped
        client.put(("memories", "anna"), "note-1", {"content": "Anna moved to Lisbon"})
        assert not run_night(store, anna).skipped

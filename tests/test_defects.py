"""The sixteen defects of khora.dream, each by its name: a story that went wrong there and goes right here.

``pytest -k defect`` lists them. Stories run on a real Postgres and end to end where they can: night, approval, apply, undo.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

import slowwave
from slowwave.changes.rows import filter_references
from slowwave.matching.review import PairQuestion, judge
from slowwave.models.endpoint import EndpointChat
from slowwave.night.executor import ApplyResult, apply_approval
from slowwave.night.night import run_night
from slowwave.night.retention import retain
from slowwave.night.runs import Night
from slowwave.night.undo import undo_run
from slowwave.plans.items import Item
from slowwave.sources.tables import import_entities
from slowwave.store.configured_models import embedder_for, writer_for
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from tests.endpoints import Server, completion
from tests.memories import ago, ask, remember, unit
from tests.nights import write_a_plan
from tests.permitting import approve
from tests.snapshots import uid
from tests.worlds import World


def night(store: Store, slug: str, ops: str | None = None) -> Night:
    found = run_night(store, slug, force=True, ops=ops)
    assert found.plan is not None
    return found


def applied(store: Store, one: Night, *, review: bool = False) -> ApplyResult:
    assert one.plan is not None
    signed = approve(
        store, one.namespace, one.plan.plan_hash, approver="mara", include_review=review, force=True, note="test"
    )
    return apply_approval(store, signed.id)


def items(one: Night, operation: str) -> list[Item]:
    assert one.plan is not None
    return [i for i in one.plan.items if i.operation == operation]


def twins(n: int = 2, **more: object) -> list[dict[str, object]]:
    """Rows of one tool under one name and address."""
    return [
        {
            "id": f"twin {i}",
            "external_id": f"t{i}",
            "entity_type": "tool",
            "name": "Harbour Ledger Service",
            "attributes": {"url": "https://ledger.example/harbour", "owner": "Quayside Accounts", "port": "7443"},
            "mention_count": 2 + i,
            "recorded_at": ago(30 - i),
            **more,
        }
        for i in range(n)
    ]


def others(n: int = 40) -> list[dict[str, object]]:
    """Entities that are nobody's twins, so that there is something to learn from."""
    words = ["Amber", "Birch", "Cedar", "Dune", "Elm", "Fjord", "Grove", "Heath", "Isle", "Jade"]
    return [
        {
            "id": f"other {i}",
            "external_id": f"o{i}",
            "entity_type": "tool",
            "name": f"{words[i % 10]} {words[(i // 10 + 3) % 10]} {('Queue', 'Index', 'Mirror', 'Press')[i % 4]}",
            "attributes": {
                "url": f"https://{words[i % 10].lower()}{i}.example",
                "owner": f"Team {i}",
                "port": str(9000 + i),
            },
            "mention_count": 1,
            "recorded_at": ago(20),
        }
        for i in range(n)
    ]


def edges(n: int) -> list[dict[str, object]]:
    """Relationships between others, each with a dead source."""
    return [
        {
            "id": f"edge {i}",
            "source_entity_id": f"other {i}",
            "target_entity_id": f"other {i + 1}",
            "relationship_type": "FEEDS",
            "source_chunk_ids": ["gone"],
        }
        for i in range(n)
    ]


def test_defect_c1_planning_with_vectors_from_postgres_crashes(store: Store) -> None:
    """Vectors come as arrays, and both planners that read them plan: a merge with its vector, a vector for a row without one."""
    rows = [*twins(), *others()]
    vectors = [{"id": "twin 0", "vector": unit(1, 0.1)}, {"id": "twin 1", "vector": unit(1, 0.11)}] + [
        {"id": f"other {i}", "vector": unit(0, 1, i)} for i in range(39)
    ]
    remember(store, "c1", entities=rows, entity_vectors=vectors)
    one = night(store, "c1")
    (merge,) = items(one, "dedupe_entities")
    assert merge.decision == "merge"
    assert any(w.cell.table == "entity_vectors" for w in merge.mutation.writes)
    assert [i.mutation.row_ids() for i in items(one, "recompute_centroids")] == [(uid("other 39"),)]
    assert applied(store, one).counts["failed"] == 0


def test_defect_c2_references_are_looked_up_where_chunks_are_not(store: Store) -> None:
    """One table holds chunks: what a living chunk supports is neither cleaned nor pruned, and what none supports is."""
    edges = [
        {
            "id": name,
            "source_entity_id": "twin 0",
            "target_entity_id": "other 0",
            "relationship_type": "ASSOCIATED_WITH",
            "confidence": 0.2,
            "source_chunk_ids": [chunk],
        }
        for name, chunk in (("supported", "here"), ("unsupported", "gone"))
    ]
    remember(
        store,
        "c2",
        documents=[{"id": "doc", "content": "d"}],
        chunks=[{"id": "here", "document_id": "doc", "content": "The ledger and the queue."}],
        entities=[*twins(1, source_chunk_ids=["here", "gone"]), *others(3)],
        relationships=edges,
    )
    one = night(store, "c2")
    cleaned = {i.mutation.row_ids() for i in items(one, "gc_references")}
    assert cleaned <= {(uid("twin 0"),), (uid("unsupported"),)}
    assert [i.mutation.row_ids() for i in items(one, "prune_edges")] == [(uid("unsupported"),)]
    applied(store, one)
    assert ask(store, "SELECT source_chunk_ids::text[] FROM memory.entities WHERE id = %s", uid("twin 0")) == [
        ([uid("here")],)
    ]
    assert ask(store, "SELECT id::text FROM memory.relationships WHERE invalidated_at IS NULL") == [(uid("supported"),)]


def test_defect_c3_resume_drops_unfinished_work(store: Store) -> None:
    """A run that died after two of five items goes on with the three that are left, and one undo takes all five back."""
    remember(store, "c3", {"batch_items": 1}, entities=others(8), relationships=edges(5))
    before = digest(store, "c3")
    done: list[int] = []

    def die(progress: slowwave.DreamProgress) -> None:
        done.append(progress.done)
        if progress.phase == "apply" and progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        slowwave.dream("c3", "apply", ops="gc_references", approver="mara", store=store, on_progress=die)
    ((run, state),) = ask(store, "SELECT id::text, state FROM night.runs WHERE mode = 'apply'")
    assert state == "crashed"
    left = slowwave.dream_status(str(run), store=store)
    assert (left.items_done, left.items_left) == (2, 3)
    result = slowwave.dream("c3", "apply", resume_from=str(run), store=store)
    assert result.state == "completed"
    assert [(o.planned, o.applied) for o in result.ops if o.op_type == "gc_references"] == [(5, 5)]
    assert ask(store, "SELECT count(*) FROM memory.relationships WHERE source_chunk_ids <> '{}'") == [(0,)]
    assert len(slowwave.dream_undo(str(run), store=store).items) == 5
    assert digest(store, "c3") == before


def test_defect_c4_a_merge_forgets_what_the_absorbed_row_knew(store: Store, tmp_path: Path) -> None:
    """The survivor has all mentions, sources, attributes, one edge and a vector of both; importing the other again revives nothing."""
    first, second = twins()
    first |= {"attributes": {**first["attributes"], "tier": "gold"}, "source_chunk_ids": ["one"]}  # type: ignore[dict-item]
    second |= {"name": "Harbour Ledger Services", "source_chunk_ids": ["two"]}
    chunks = [{"id": name, "document_id": "doc", "content": name} for name in ("one", "two")]
    parallel = [
        {
            "id": f"edge {n}",
            "source_entity_id": f"twin {n}",
            "target_entity_id": "other 0",
            "relationship_type": "FEEDS",
            "source_chunk_ids": [chunk],
        }
        for n, chunk in enumerate(("one", "two"))
    ]
    vectors = [{"id": f"twin {n}", "vector": unit(1, tilt)} for n, tilt in enumerate((0.1, 0.2))]
    remember(
        store,
        "c4",
        documents=[{"id": "doc", "content": "d"}],
        chunks=chunks,
        entities=[first, second, *others()],
        relationships=parallel,
        entity_vectors=vectors,
    )
    vector = "SELECT vector::text FROM memory.entity_vectors WHERE id = %s"
    one = night(store, "c4", "dedupe_entities")
    (merge,) = items(one, "dedupe_entities")
    assert merge.mutation.keep is not None
    keep, (gone,) = merge.mutation.keep.id, merge.mutation.absorb
    before = ask(store, vector, keep)
    assert applied(store, one, review=True).counts["applied"] == 1
    (row,) = ask(
        store,
        "SELECT name, mention_count, attributes ->> 'tier', cardinality(source_chunk_ids), (SELECT array_agg(a.alias) FROM "
        "memory.entity_aliases a WHERE a.entity_id = e.id) FROM memory.entities e WHERE id = %s",
        keep,
    )
    names = {"Harbour Ledger Service", "Harbour Ledger Services"}
    assert row[0] in names
    assert row[1:] == (5, "gold", 2, list(names - {str(row[0])}))
    edge = "SELECT source_entity_id::text, cardinality(source_chunk_ids) FROM memory.relationships WHERE invalidated_at IS NULL"
    assert ask(store, edge) == [(keep, 2)]
    assert ask(store, vector, keep) not in (before, [])
    imported = tmp_path / "c4.csv"
    imported.write_text(f"id,source,entity_type,name,attrs\n{gone.external_id},,tool,{min(names - {str(row[0])})},\n")
    with store.connect("owner") as connection:
        summary = import_entities(connection, imported, embedder=embedder_for(Settings()), namespace="c4")
    assert (summary.seen, summary.known, summary.added.get("entities", 0)) == (1, 1, 0)
    live = "SELECT id::text FROM memory.entities WHERE invalidated_at IS NULL AND name LIKE 'Harbour Ledger%%'"
    assert ask(store, live) == [(keep,)]
    assert items(night(store, "c4", "dedupe_entities"), "dedupe_entities") == []


def test_defect_c5_apply_looks_at_nothing_before_it_writes(store: Store) -> None:
    """A survivor retired since, a reference added since, a fact that became active again: each item is stale, and nothing is lost."""
    remember(
        store,
        "c5",
        documents=[{"id": "doc", "content": "d"}],
        chunks=[{"id": "later", "document_id": "doc", "content": "later"}],
        entities=[*twins(), *others()],
        relationships=[
            {
                "id": "edge",
                "source_entity_id": "other 1",
                "target_entity_id": "other 2",
                "relationship_type": "FEEDS",
                "source_chunk_ids": ["gone"],
            }
        ],
        memory_facts=[
            {
                "id": "old",
                "subject": "ledger",
                "predicate": "port",
                "object": "1",
                "is_active": False,
                "invalidated_at": ago(500),
                "recorded_at": ago(600),
            }
        ],
    )
    one = night(store, "c5", "dedupe_entities,gc_references,purge_expired")
    (merge,), (clean,), (purge,) = (items(one, n) for n in ("dedupe_entities", "gc_references", "purge_expired"))
    assert merge.mutation.keep is not None
    ask(store, "UPDATE memory.entities SET invalidated_at = now() WHERE id = %s", merge.mutation.keep.id)
    ask(store, "UPDATE memory.relationships SET source_chunk_ids = source_chunk_ids || %s::uuid", uid("later"))
    ask(store, "UPDATE memory.memory_facts SET is_active = true, invalidated_at = NULL")
    before = digest(store, "c5")
    result = applied(store, one)
    assert result.counts["skipped_stale"] >= 3
    assert digest(store, "c5") == before
    stale = ask(store, "SELECT item_id::text FROM night.plan_items WHERE status = 'skipped_stale'")
    assert {(i.id,) for i in (merge, clean, purge)} <= set(stale)


def test_defect_c6_only_merges_can_be_undone_and_only_with_a_file(store: Store) -> None:
    """No report file is written, and every kind of item comes back exactly; a second undo finds nothing; what others retired stays."""
    world = _trouble(store, "c6")
    before = digest(store, "c6")
    one = night(store, "c6", "all")
    assert one.plan is not None
    assert len({i.mutation.kind for i in one.plan.items}) >= 5
    run = applied(store, one, review=True)
    assert run.counts["failed"] == 0
    assert digest(store, "c6") != before
    assert undo_run(store, run.run_id).items
    assert digest(store, "c6") == before
    assert undo_run(store, run.run_id).items == ()
    ask(store, "UPDATE memory.entities SET invalidated_at = now() WHERE id = %s", uid("other 7"))
    undo_run(store, run.run_id)
    assert ask(store, "SELECT invalidated_at IS NULL FROM memory.entities WHERE id = %s", uid("other 7")) == [(False,)]
    assert world == uid("c6")


def test_defect_c7_a_stuck_run_is_never_noticed_and_a_loser_harms_the_winner(store: Store) -> None:
    """Who comes second is told at once and changes nothing; a run whose heart stopped is named, with its age."""
    remember(store, "c7", {"operations": {"recompute_centroids": {"enabled": False}}}, entities=others(4))
    run = str(uuid.uuid4())
    ask(
        store,
        "INSERT INTO night.runs (id, namespace_id, mode, state) VALUES (%s, %s, 'apply', 'applying')",
        run,
        uid("c7"),
    )
    for resume_from in (None, run):
        with pytest.raises(slowwave.DreamLockUnavailable, match=run[:8]):
            slowwave.dream("c7", "apply", resume_from=resume_from, store=store)
        assert ask(store, "SELECT id::text, state FROM night.runs") == [(run, "applying")]
    ask(store, "UPDATE night.runs SET heartbeat_at = now() - interval '1 hour'")
    assert slowwave.dream_status(run, store=store).stuck
    with pytest.raises(slowwave.DreamRunStuckError) as stuck:
        slowwave.dream("c7", store=store)
    assert stuck.value.run_id == run
    assert 3590 < stuck.value.heartbeat_age_seconds < 3700
    assert slowwave.dream("c7", abandon=True, store=store).state in ("empty", "completed")


def test_defect_c8_cancelled_counts_as_completed(store: Store) -> None:
    """A run that a person cancels is cancelled; what it did not reach is pending, and its times and numbers are its own."""
    remember(store, "c8", {"batch_items": 1}, entities=others(8), relationships=edges(5))

    def stop(progress: slowwave.DreamProgress) -> None:
        if progress.phase == "apply" and progress.done == 2:
            slowwave.dream_cancel(progress.run_id, store=store)

    result = slowwave.dream("c8", "apply", ops="gc_references", approver="mara", store=store, on_progress=stop)
    assert result.state == "cancelled"
    assert result.run.state == "cancelled"
    (ops,) = [o for o in result.ops if o.planned]
    assert (ops.planned, ops.applied, ops.failed) == (5, 2, 0)
    assert ops.pending == 3
    assert result.run.finished_at is not None
    assert result.run.finished_at > result.run.started_at
    assert result.run.duration_ms > 0


def test_defect_c9_one_failing_operation_ends_the_run(store: Store) -> None:
    """An item that the database refuses fails alone: the others of its batch are applied, and the run completes."""
    remember(
        store,
        "c9",
        entities=others(8),
        relationships=edges(4),
    )
    refuse = f"CHECK (id <> '{uid('edge 1')}' OR source_chunk_ids <> '{{}}')"
    ask(store, f"ALTER TABLE memory.relationships ADD CONSTRAINT one_keeps_its_sources {refuse}")
    world = World("c9", uid("c9"), {})
    snapshot_items = [
        Item("gc_references", "clean", m)
        for m in filter_references(_snapshot(store, "c9"), "relationships", [uid(f"edge {i}") for i in range(4)])
    ]
    _, plan = write_a_plan(store, world, items=snapshot_items)
    result = apply_approval(store, approve(store, "c9", plan.plan_hash, approver="mara").id)
    assert result.state == "completed"
    assert result.counts | {"applied": 3, "failed": 1, "skipped_stale": 0} == result.counts
    ((reason,),) = ask(store, "SELECT reason FROM night.plan_items WHERE status = 'failed'")
    assert "one_keeps_its_sources" in str(reason)


def test_defect_c10_redaction_leaks_what_stands_in_lists(store: Store, tmp_path: Path) -> None:
    """Names in lists, attributes' keys, before-images: with `all`, no file of any run holds a word of memory."""
    secret = "Zanzibarquay"
    rows = [
        {**row, "name": f"{secret} Ledger", "attributes": {**row["attributes"], f"{secret}_key": secret}}  # type: ignore[dict-item]
        for row in twins()
    ]
    settings = {"redact_text": "all", "report_file_sink_enabled": True}
    remember(store, "c10", settings, entities=[*rows, *others()])
    base = tmp_path / "home" / "reports"
    result = slowwave.dream("c10", "apply", approver="mara", store=store)
    assert result.diff.entities_merged == 1
    slowwave.dream_undo(result.apply_runs[0], store=store)
    files = [f for f in base.rglob("*") if f.is_file()]
    assert {f.name.split(".", 1)[1] for f in files} == {"summary.md", "events.jsonl", "manifest.json", "undo.json"}
    assert not [f.name for f in files if secret.lower() in f.read_text().lower()]
    assert sum("dedupe_entities" in f.read_text() for f in files) > 2


def test_defect_c11_chains_merge_opposites(store: Store) -> None:
    """Each neighbour of a chain is near the next, its ends are far apart: no merge joins rows that are not near each other."""
    turns = [(1.0, 0.0), (0.92, 0.39), (0.7, 0.71), (0.39, 0.92), (0.0, 1.0), (-0.39, 0.92)]
    chain = [
        {"id": f"link {i}", "external_id": f"l{i}", "entity_type": "tool", "name": f"Relay Station {'ABCDEF'[i]}"}
        for i in range(len(turns))
    ]
    vectors = [{"id": f"link {i}", "vector": unit(*turn)} for i, turn in enumerate(turns)]
    remember(store, "c11", entities=[*chain, *others()], entity_vectors=vectors)
    places = {uid(f"link {i}"): i for i in range(len(turns))}
    for item in items(night(store, "c11"), "dedupe_entities"):
        members = [places[row] for row in item.mutation.row_ids() if row in places]
        assert max(members, default=0) - min(members, default=0) <= 1


@pytest.mark.parametrize(
    "names",
    [
        ("NHB", "Northern Harbour Board"),
        ("Vladimir Petrov", "Владимир Петров"),
        ("Harbour Board North", "North Harbour Board"),
    ],
    ids=["acronym", "transliteration", "reordered"],
)
@pytest.mark.parametrize("shared", ["vectors", "attributes"])
def test_defect_c12_names_that_share_no_beginning_are_never_compared(
    store: Store, names: tuple[str, str], shared: str
) -> None:
    """With equal vectors alone, or one address alone, they are compared: one item about the pair, and it names how likely it is."""
    address = {"website": "https://nhb.example", "phone": "+44 20 7946 0101"} if shared == "attributes" else {}
    pair = [
        {"id": name, "external_id": name, "entity_type": "organization", "name": name, "attributes": address}
        for name in names
    ]
    first, second = ["Alder", "Beacon", "Cobalt", "Delta", "Ember"], ["Works", "Trust", "Guild"]
    rest = [
        {
            "id": f"org {i}",
            "external_id": f"g{i}",
            "entity_type": "organization",
            "name": f"{first[i % 5]} {second[i % 3]} {i}",
            "attributes": {"website": f"https://org{i}.example", "phone": f"+44 20 7946 {2000 + i}"},
        }
        for i in range(40)
    ]
    vectors = [{"id": r["id"], "vector": unit(1, 0.2)} for r in pair if shared == "vectors"]
    remember(store, "c12", entities=[*pair, *rest], entity_vectors=vectors)
    (item,) = items(night(store, "c12", "dedupe_entities"), "dedupe_entities")
    assert set(item.mutation.row_ids()) == {uid(n) for n in names}
    assert item.decision in ("merge", "review")
    assert 0 < item.probability <= 1


def test_defect_c13_errors_are_masked_and_switches_come_too_late(store: Store) -> None:
    """The kill switch and a read-only namespace refuse before anything is planned; an error says what it was."""
    remember(store, "c13", entities=[*twins(), *others()])
    from slowwave.plans.switches import set_read_only, switch_apply

    switch_apply(store, on=False, by="mara", note="maintenance")
    with pytest.raises(slowwave.DreamApplyDisabled, match="maintenance"):
        slowwave.dream("c13", "apply", approver="mara", store=store)
    switch_apply(store, on=True, by="mara", note="")
    set_read_only(store, "c13", read_only=True)
    with pytest.raises(slowwave.DreamApplyDisabled, match="read-only"):
        slowwave.dream("c13", "apply", approver="mara", store=store)
    assert ask(store, "SELECT count(*) FROM night.runs") == [(0,)]
    set_read_only(store, "c13", read_only=False)

    def fail(step: str) -> None:
        if step == "orphans":
            raise RuntimeError("the planner's own words")

    with pytest.raises(RuntimeError, match="the planner's own words"):
        run_night(store, "c13", progress=fail)
    ((error,),) = ask(store, "SELECT error FROM night.runs WHERE state = 'crashed'")
    assert "RuntimeError" in str(error)


def test_defect_c14_audits_read_the_wrong_rows_or_none(store: Store) -> None:
    """Tombstones are those of the namespace, by name or id; the second night has a baseline; recalls are the samples."""
    facts = [
        {
            "id": f"fact {i}",
            "subject": "s",
            "predicate": f"p{i}",
            "object": "o",
            "is_active": i > 2,
            "recorded_at": ago(50),
        }
        for i in range(6)
    ]
    recalls = [
        {"id": f"recall {i}", "occurred_at": ago(1), "query": "q", "hit_ids": ["other 0"], "scores": [0.9]}
        for i in range(20)
    ]
    settings = {"operations": {"abstention_drift": {"min_samples": 10, "min_top_score": 0.5}}}
    remember(store, "c14", settings, entities=others(), memory_facts=facts, recall_events=recalls)
    one = night(store, "c14")
    assert one.reports["tombstones"].numbers["inactive_count"] == 3
    assert one.reports["abstention_drift"].details["status"] == "recommend"
    assert one.reports["abstention_drift"].numbers["sample_count"] == 20
    remember(
        store, "c14", entities=[{"id": f"new {i}", "entity_type": "vessel", "name": f"Vessel {i}"} for i in range(9)]
    )
    drift = night(store, "c14").reports["schema_drift"]
    assert "vessel" in json.dumps(dict(drift.details["entity_frequency_delta"]))  # type: ignore[call-overload]


def test_defect_c15_communities_pile_up_and_verdicts_are_overwritten(store: Store) -> None:
    """A changed community replaces its summary, an unchanged one is left alone; what a person ruled on is not asked again."""
    ring = [
        {
            "id": f"tie {i} {j}",
            "source_entity_id": f"other {i}",
            "target_entity_id": f"other {j}",
            "relationship_type": "FEEDS",
        }
        for i in range(6)
        for j in range(i)
    ]
    clash = [
        {
            "id": name,
            "subject": "Harbour Ledger",
            "predicate": "port",
            "object": port,
            "fact_text": f"Harbour Ledger listens on port {port}.",
            "recorded_at": ago(9),
        }
        for name, port in (("port a", "7443"), ("port b", "7500"))
    ]
    settled = [
        {"id": f"p{i}", "subject": f"Service {i}", "predicate": "port", "object": str(9000 + i), "recorded_at": ago(20)}
        for i in range(30)
    ]
    remember(store, "c15", entities=others(10), relationships=ring, memory_facts=[*clash, *settled])
    live = "SELECT count(*) FROM memory.communities WHERE valid_to IS NULL AND invalidated_at IS NULL"
    applied(store, night(store, "c15", "community_summaries"))
    assert ask(store, live) == [(1,)]
    assert items(night(store, "c15", "community_summaries"), "community_summaries") == []
    remember(
        store,
        "c15",
        relationships=[
            {
                "id": f"join {i}",
                "source_entity_id": "other 6",
                "target_entity_id": f"other {i}",
                "relationship_type": "FEEDS",
            }
            for i in range(5)
        ],
    )
    applied(store, night(store, "c15", "community_summaries"))
    assert ask(store, live) == [(1,)]
    assert ask(store, "SELECT count(*) FROM memory.communities") == [(2,)]

    from slowwave.plans.conflicts import list_conflicts, resolve_conflict

    night(store, "c15", "contradictions")
    found = list_conflicts(store, "c15")
    (conflict,) = [c for c in found if {c.row_a_id, c.row_b_id} == {uid("port a"), uid("port b")}]
    resolve_conflict(store, "c15", conflict.id, verdict="both", by="mara", note="two listeners")
    again = night(store, "c15", "contradictions,resolve_conflicts")
    assert not [
        i for i in items(again, "resolve_conflicts") if {uid("port a"), uid("port b")} & set(i.mutation.row_ids())
    ]
    assert ask(store, "SELECT resolution, resolved_by FROM night.conflicts WHERE id = %s", conflict.id) == [
        ("kept", "mara")
    ]


def test_defect_c16_settings_and_scopes_that_do_nothing(store: Store) -> None:
    """Each of them changes what a dream does: the mode, the switches, retention, judges' confidence, the writer, every scope field."""
    remember(
        store,
        "c16",
        {
            "default_mode": "apply",
            "operations": {name: {"enabled": False} for name in ("gc_references", "recompute_centroids", "reembed")},
        },
        documents=[{"id": "doc", "content": "d"}],
        chunks=[{"id": "chunk", "document_id": "doc", "content": "c"}],
        entities=[
            {"id": "old", "entity_type": "tool", "name": "Old", "source_chunk_ids": ["gone"], "recorded_at": ago(40)},
            {
                "id": "new",
                "entity_type": "tool",
                "name": "New",
                "source_chunk_ids": ["gone", "chunk"],
                "recorded_at": ago(1),
            },
        ],
    )
    assert slowwave.dream("c16", approver="mara", store=store).plan_hash
    assert slowwave.dream_history("c16", store=store)[0].mode == "plan", (
        "nothing was switched on that had something to do"
    )

    def planned(**scope: object) -> set[str]:
        given = slowwave.DreamScope(op_kinds=frozenset({"gc_references"}), **scope)  # type: ignore[arg-type]
        result = slowwave.dream("c16", "dry-run", scope=given, store=store)
        rows = ask(
            store,
            "SELECT mutation -> 'rows' -> 0 ->> 'id' FROM night.plan_items WHERE plan_hash = %s",
            result.plan_hash,
        )
        return {str(row) for (row,) in rows}

    old, new = uid("old"), uid("new")
    assert planned() == {old, new}
    assert planned(since=ago(10)) == {new}
    assert planned(until=ago(10)) == {old}
    assert planned(entity_ids=frozenset({old})) == {old}
    assert planned(document_ids=frozenset({uid("doc")})) == {new}
    done = slowwave.dream(
        "c16", scope=slowwave.DreamScope(op_kinds=frozenset({"gc_references"})), approver="m.r", store=store
    )
    assert done.state == "completed", "default_mode is apply"

    ask(
        store,
        "INSERT INTO night.findings (id, namespace_id, operation, severity, message, recorded_at) "
        "VALUES (gen_random_uuid(), %s, 'orphans', 'warning', 'old', now() - interval '90 days')",
        uid("c16"),
    )
    assert retain(store, "c16", Settings(retention_days=100))["findings"] == 0
    assert retain(store, "c16", Settings(retention_days=30))["findings"] == 1


def test_defect_c16_the_models_that_are_named_are_asked_and_must_be_sure(store: Store) -> None:
    """The judges' least confidence decides, and the writer is the model of the setting: a server of the protocol sees both."""
    asked: list[str] = []

    def answer(body: dict[str, Any], _: int) -> tuple[int, Any, dict[str, str]]:
        asked.append(body["model"])
        opinion = {"verdict": "same", "confidence": 0.7, "cited": ["a"], "reason": "As it is."}
        return 200, completion(json.dumps(opinion)), {}

    server = Server(answer)
    try:
        chats = [EndpointChat(server.url, name) for name in ("first", "second")]
        question = PairQuestion("a", "b", ({"id": "a"}, {"id": "b"}), probability=0.8)
        for least, decision in ((0.6, "merge"), (0.8, "review")):
            judged = judge([question], chats, budget=10**6, confidence=least)
            assert judged.verdicts["a", "b"].decision == decision
        writer = writer_for(Settings(writer_endpoint=server.url), "small")
        assert writer is not None
        writer.ask("system", "user", {"type": "object"}, 10)
    finally:
        server.close()
    assert set(asked) == {"first", "second", "small"}


def _snapshot(store: Store, slug: str):
    from slowwave.snapshots.export import export_snapshot

    return export_snapshot(store, slug)


def _trouble(store: Store, slug: str) -> str:
    """A namespace with something to do for every planner that needs no model."""
    feeds = [
        {
            "id": f"feeds {i}",
            "source_entity_id": f"other {i}",
            "target_entity_id": f"other {i + 1}",
            "relationship_type": "FEEDS",
            "source_chunk_ids": ["gone"] if i == 0 else [],
        }
        for i in range(12)
    ]
    weak = {
        "id": "weak",
        "source_entity_id": "other 20",
        "target_entity_id": "other 30",
        "relationship_type": "ASSOCIATED_WITH",
        "confidence": 0.1,
        "source_chunk_ids": ["gone"],
    }
    fact = {"subject": "Harbour Ledger", "predicate": "speaks", "is_active": True, "invalidated_at": None}
    return remember(
        store,
        slug,
        {"operations": {"normalize_schema": {"entity_types": {"Tool ": "tool"}}}},
        entities=[*twins(), *others(), {"id": "drifted", "entity_type": "Tool ", "name": "Quay Printer"}],
        relationships=[*feeds, weak],
        memory_facts=[
            {**fact, "id": "f1", "object": "TCP", "recorded_at": ago(9)},
            {**fact, "id": "f2", "object": "tcp", "recorded_at": ago(8)},
            {
                **fact,
                "id": "f3",
                "object": "UDP",
                "recorded_at": ago(600),
                "is_active": False,
                "invalidated_at": ago(500),
            },
        ],
    )

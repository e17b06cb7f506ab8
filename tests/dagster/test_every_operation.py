"""The shipped schedule, from its tick to the store: every operation runs, acts where there is something to do, and is quiet afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.operations import AUDITS, PLANNERS
from slowwave.store.connect import Store
from tests.dagster.project import Project, project
from tests.memories import ago, ask, recalls_of_nothing, remember, unit
from tests.permitting import approve

SUNDAY = datetime(2026, 3, 1, 3, tzinfo=UTC)
SLUG = "toy"

ACTING = frozenset(
    (
        *("redact_or_quarantine", "accept_external_edits", "dedupe_facts", "dedupe_memories", "dedupe_entities"),
        *("recompute_centroids", "normalize_schema", "prune_edges", "gc_references", "absolutize_dates"),
        *("archive_stale", "reembed", "purge_expired", "community_summaries", "consolidate_clusters"),
        *("decay_transition", "promote_memories", "backfill_tags"),
    )
)
"""Operations that the toy store gives something to do."""

PEOPLE = ("Mara Reyes", "Tom Okafor", "Ines Duarte", "Bo Lindqvist", "Yuki Tanaka", "Lena Vogel")
NOTES = tuple(
    f"Harbor Freight looks after the crane in Rotterdam. {more} The crane in Rotterdam belongs to the port."
    for more in ("It got a new hoist.", "It got a new brake.", "It got a new cabin.")
)


def toy(store: Store) -> None:
    """Rows for every operation, a few of each."""
    person = {"entity_type": "person", "attributes": {"email": "mara@harbor.example", "phone": "+31 10 555 0199"}}
    long_ago = {"recorded_at": ago(600), "invalidated_at": ago(500)}
    note = {"kind": "episodic", "source": "messages"}
    texts: dict[str, tuple[str, dict[str, Any]]] = {
        **{f"crane {n}": (text, {"valid_from": ago(20 - n)}) for n, text in enumerate(NOTES)},
        "twice a": ("Tom Okafor likes green tea.", {"valid_from": ago(9)}),
        "twice b": ("Tom Okafor likes green tea.", {"valid_from": ago(8)}),
        "relative": ("I met Ines Duarte yesterday.", {"valid_from": ago(5)}),
        "secret": ("The key is AKIAIOSFODNN7EXAMPLQ, keep it.", {"valid_from": ago(4)}),
        "dreamed": ("Lena Vogel moved the meeting.", {"valid_from": ago(4), "attributes": {"dreamed_at": "2026-02-01"}}),
        "unseen": ("Bo Lindqvist repairs boats.", {"valid_from": ago(3)}),
        "worn": (
            "The mill at the quay keeps old charts.",
            {"valid_from": ago(400), "recorded_at": ago(400), "importance": 0.9, "access_count": 3},
        ),
        "stale": ("The printer was out of paper.", {"valid_from": ago(400), "recorded_at": ago(400), "importance": 0.1}),
    }  # fmt: skip
    places = {"crane 0": (1.0, 0.0), "crane 1": (0.9, 0.436), "crane 2": (0.9, 0.3, 0.316)}
    remember(
        store,
        SLUG,
        {
            "operations": {
                **{name: {"enabled": True} for name in (*AUDITS, *PLANNERS)},
                "normalize_schema": {"enabled": True, "mapping": {"Tool ": "tool"}},
                "backfill_tags": {"enabled": True, "scope": "all"},
            },
            "gate_min_hours": 0,
        },
        documents=[{"id": "letter", "content": "A letter."}],
        chunks=[{"id": "page", "document_id": "letter", "content": "A page about cranes."}],
        entities=[
            *({"id": f"twin {n}", "name": "Mara Reyes", "mention_count": 4, **person} for n in (1, 2)),
            *({"id": name, "name": name, "entity_type": "person", "mention_count": 3} for name in PEOPLE[1:]),
            {"id": "crane", "name": "Kranich", "entity_type": "Tool ", "source_chunk_ids": ["page", "gone"]},
            {"id": "hoist", "name": "Flaschenzug", "entity_type": "tool"},
        ],
        relationships=[
            *(
                {"id": f"{a} {b}", "source_entity_id": a, "target_entity_id": b, "relationship_type": "KNOWS"}
                for n, a in enumerate(("twin 1", *PEOPLE[1:]))
                for b in PEOPLE[n + 1 :]
            ),
            {
                **{"id": "weak", "source_entity_id": "crane", "target_entity_id": "hoist", "confidence": 0.1},
                **{"relationship_type": "ASSOCIATED_WITH", "source_chunk_ids": ["gone"]},
            },
        ],
        memory_facts=[
            *(
                {"id": f"fact {n}", "subject": "Mara Reyes", "predicate": "lives in", "object": "Lisbon"}
                | {"fact_text": "Mara Reyes lives in Lisbon.", "recorded_at": ago(9 - n)}
                for n in (1, 2)
            ),
            {"id": "old fact", "subject": "s", "predicate": "p", "object": "o", **long_ago},
        ],
        memories=[
            {"id": name, "current_version_id": f"v {name}", "session_id": f"s {n % 6}", **note, **columns}
            for n, (name, (_, columns)) in enumerate(texts.items())
        ],
        memory_versions=[
            {"id": f"v {name}", "memory_id": name, "content": text} for name, (text, _) in texts.items()
        ],
        memory_vectors=[
            {"id": name, "vector": unit(*places.get(name, (*[0.0] * (3 + n - n * name.startswith("twice")), 1.0)))}
            for n, name in enumerate(texts)
            if name != "unseen"
        ],
        recall_events=[
            {"id": f"r{n}", "occurred_at": ago(n), "query": f"Who repairs boats, and what in {place}?"}
            | {"hit_ids": ["unseen"], "selected_ids": ["unseen"], "scores": [1.0]}
            for n, place in enumerate(("Porto", "Lisbon", "Faro", "Porto"), 1)
        ]
        + recalls_of_nothing("logged", 130),  # so that old memories had a chance to be recalled
        entity_vectors=[{"id": "twin 1", "vector": unit(0.0, 1.0)}, {"id": "twin 2", "vector": unit(0.0, 1.0)}],
    )  # fmt: skip


def sunday(night: Project) -> dict[str, str]:
    """The tags of the one run that the schedule asks for."""
    requests = night.tick(SUNDAY)
    assert isinstance(requests, list), requests
    (request,) = requests
    return dict(request.tags)


def items(night: Project, plan_hash: object) -> Mapping[str, int]:
    """Operation → its items in a plan, the deferred ones among them."""
    found = ask(
        night.store, "SELECT operation, count(*) FROM night.plan_items WHERE plan_hash = %s GROUP BY 1", plan_hash
    )
    return {str(name): int(str(n)) for name, n in found}


def test_shipped_schedules_run_every_op_end_to_end_on_a_toy_store(store: Store) -> None:
    """Three of the four systems we learned from ship a pass that nothing invokes or that cannot act."""
    toy(store)
    with project(store, SLUG) as night:
        tags = sunday(night)
        result = night.night(SLUG, tags=tags)
        assert result.success
        made = {e.asset_key.path[-1] for e in result.get_asset_materialization_events() if e.asset_key}
        assert made >= {*AUDITS, *PLANNERS}
        summary = night.value("SELECT summary FROM night.plans ORDER BY recorded_at DESC LIMIT 1")
        assert summary["skipped"] == {}
        plan_hash = night.metadata(result, "night", "plan")["plan_hash"].value
        found = items(night, plan_hash)
        assert found.keys() >= ACTING, (sorted(ACTING - found.keys()), found)
        approval = approve(store, SLUG, plan_hash, approver="mara", include_review=True, force=True, note="a toy")
        assert night.apply(approval.id).success
        states = dict(ask(store, "SELECT status, count(*) FROM night.plan_items GROUP BY 1"))
        assert states.keys() <= {"applied", "deferred", "noop"}, states
        nights = [_another_night(store) for _ in range(4)]
        assert nights[-1] == {}, nights


def _another_night(store: Store) -> Mapping[str, object]:
    """What one more night proposes, and does at once: what the former deferred, and what follows from what it did."""
    night = run_night(store, SLUG, ops="all")
    if night.new_items and night.plan:
        approval = approve(
            store, SLUG, night.plan.plan_hash, approver="mara", include_review=True, force=True, note="a toy"
        )
        apply_approval(store, approval.id)
    found = night.to_json()["items"]
    return found if isinstance(found, dict) else {}

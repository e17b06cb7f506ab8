"""Line 15: agents write memories by SQL, and where nothing was imported no vector model was registered. `reembed` then planned nothing,
night after night, and two memories that say the same were never compared.
"""

from __future__ import annotations

from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.doctor import diagnose, digest
from slowwave.store.migrate import migrate
from tests.memories import ago, ask
from tests.permitting import approve

SLUG = "agents"
SAID = ("The deploy key of the billing service isn't shared.", "The deploy key of the billing service is not shared.")
INDEXES = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE '%%\\_hnsw\\_%%'"


def written_by_sql(store: Store) -> None:
    """A namespace with two memories, a chunk and an entity, and nothing else."""
    with store.connect("owner") as connection:
        connection.execute(
            "INSERT INTO memory.namespaces (id, slug, settings) VALUES (gen_random_uuid(), %s, "
            '\'{"blast_radius_share": 1.0, "operations": {"dedupe_memories": {"enabled": true}}}\')',
            (SLUG,),
        )
        for n, text in enumerate(SAID):
            connection.execute(
                "WITH n AS (SELECT id FROM memory.namespaces WHERE slug = %(slug)s), m AS (INSERT INTO memory.memories "
                "(id, namespace_id, kind, current_version_id, valid_from, recorded_at) "
                "SELECT gen_random_uuid(), id, 'semantic', gen_random_uuid(), %(at)s, %(at)s FROM n RETURNING *) "
                "INSERT INTO memory.memory_versions (id, namespace_id, memory_id, content, recorded_at) "
                "SELECT current_version_id, namespace_id, id, %(text)s, %(at)s FROM m",
                {"slug": SLUG, "text": text, "at": ago(30 + n)},
            )
        connection.execute(
            "WITH n AS (SELECT id FROM memory.namespaces WHERE slug = %(slug)s), d AS (INSERT INTO memory.documents (id, namespace_id) "
            "SELECT gen_random_uuid(), id FROM n RETURNING *), e AS (INSERT INTO memory.entities (id, namespace_id, entity_type, name) "
            "SELECT gen_random_uuid(), id, 'system', 'billing service' FROM n) "
            "INSERT INTO memory.chunks (id, namespace_id, document_id, content) "
            "SELECT gen_random_uuid(), namespace_id, id, 'A page.' FROM d",
            {"slug": SLUG},
        )


def applied(store: Store, night: Night) -> str:
    """Approve and apply the whole plan of a night; returns the run."""
    assert night.plan is not None
    approval = approve(store, SLUG, night.plan.plan_hash, approver="me", include_review=True, force=True, note="a test")
    result = apply_approval(store, approval.id)
    assert result.counts["applied"] == len(night.plan.items)
    return result.run_id


def test_reembed_registers_the_model_and_the_night_after_finds_the_copy(store: Store) -> None:
    """Nobody but nights has touched this database: the first makes vectors, the second sees by them, undo takes both back."""
    written_by_sql(store)
    before = digest(store, SLUG)
    assert ask(store, "SELECT * FROM memory.vector_models") == []
    first = run_night(store, SLUG)
    assert first.proposals["reembed"].numbers["items"] == 3
    assert first.proposals["recompute_centroids"].numbers["items"] == 1
    run = applied(store, first)
    assert ask(store, "SELECT model, dimensions FROM memory.vector_models") == [("fast-use-v3", 512)]
    counts = [ask(store, f"SELECT count(*) FROM memory.{t}_vectors")[0][0] for t in ("memory", "chunk", "entity")]
    assert counts == [2, 1, 1]
    second = run_night(store, SLUG, force=True)
    assert second.proposals["reembed"].numbers["items"] == 0
    assert second.proposals["dedupe_memories"].numbers["memories that would be absorbed"] == 1
    undo_run(store, run)
    assert digest(store, SLUG) == before


def test_only_the_owner_builds_the_index_and_is_told_to(store: Store) -> None:
    """Apply may enter a model and has no right to more: doctor says what is missing, and migrate builds it."""
    written_by_sql(store)
    applied(store, run_night(store, SLUG))
    assert ask(store, INDEXES) == [(0,)]
    told = [d for d in diagnose(store) if "fast-use-v3" in d.finding]
    assert [(d.problem, "slowwave migrate" in d.remedy) for d in told] == [(False, True)]
    migrate(store)
    assert ask(store, INDEXES) == [(3,)]
    assert not [d for d in diagnose(store) if "fast-use-v3" in d.finding]


def test_a_model_that_got_another_length_meanwhile_stops_its_items_alone(store: Store) -> None:
    """An import registers the name with other vectors between approval and apply: nothing of two lengths stands side by side."""
    written_by_sql(store)
    night = run_night(store, SLUG, ops="reembed")
    assert night.plan is not None
    approval = approve(store, SLUG, night.plan.plan_hash, approver="me", force=True, note="a test")
    with store.connect("owner") as connection:
        connection.execute("SELECT memory.register_vector_model('fast-use-v3', 8)")
    assert apply_approval(store, approval.id).counts["skipped_stale"] == 3
    assert ask(store, "SELECT count(*) FROM memory.memory_vectors") == [(0,)]

"""A value that only another memory shows to be a secret was printed on cards, and an entity of it was found by searches."""

from __future__ import annotations

from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.plans.ledger import read_plan
from slowwave.plans.review.card import card
from slowwave.plans.show import called, named_rows, read_names, row_changes
from slowwave.search.request import SearchRequest
from slowwave.search.search import search
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import ago, remember
from tests.permitting import approve


def test_a_repeated_secret_is_in_no_card_and_no_search(store: Store) -> None:
    """The later statement and the entity show no secret by themselves; its pair with the first one is not printed either."""
    value = f"Marmalade-Tiger-{88}"
    said = {"first": f"My wifi password is {value}.", "later": f"The wifi password isn't {value} any more."}
    remember(
        store,
        "acme",
        documents=[{"id": f"d {n}", "valid_from": ago(9 - k)} for k, n in enumerate(said)],
        chunks=[{"id": f"c {n}", "document_id": f"d {n}", "content": text} for n, text in said.items()],
        entities=[{"id": "e", "name": value, "entity_type": "unknown", "source_chunk_ids": ["c later"]}],
        memories=[
            {
                "id": n,
                "kind": "episodic",
                "current_version_id": f"v {n}",
                "source_chunk_ids": [f"c {n}"],
                "valid_from": ago(9 - k),
            }
            for k, n in enumerate(said)
        ],
        memory_versions=[{"id": f"v {n}", "memory_id": n, "content": text} for n, text in said.items()],
    )
    before = digest(store, "acme")
    plan = run_night(store, "acme", ops="redact_or_quarantine,resolve_conflicts,recompute_centroids", force=True).plan
    assert plan is not None
    with store.connect("reader") as connection:
        stored = read_plan(connection, plan.plan_hash)
        names = read_names(connection, named_rows(s.item for s in stored.items), stored.header.namespace_id)
    shown = [
        (s.item.to_json()["evidence"], called(s.item, names), row_changes(s.item, names).lines) for s in stored.items
    ]
    cards = [card(store, stored, one) for one in stored.items if one.status == "pending"]
    assert value not in str(shown) + str(cards)
    chosen = [i.id for i in plan.items if i.operation == "redact_or_quarantine"]
    assert len(chosen) == 3
    approval = approve(store, "acme", plan.plan_hash, items=chosen, approver="mara")
    run = apply_approval(store, approval.id).run_id
    for mode in ("bm25", "exact"):
        assert search(store, "acme", SearchRequest(query=value, mode=mode)).results == ()
    undo_run(store, run, namespace="acme")
    assert digest(store, "acme") == before
    assert len(search(store, "acme", SearchRequest(query=value, mode="exact")).results) == 3

"""``slowwave runs list``: what consolidations came to stands with the run that wrote them."""

from __future__ import annotations

import json

import pytest

from slowwave import token_savings
from slowwave.store.connect import Store
from slowwave.wiki.serving.nights import NightsRequest, list_nights
from tests.memories import ago, remember, unit
from tests.operations.planners.test_consolidate_clusters import TALES
from tests.surfaces.cli.conftest import Run


@pytest.mark.usefixtures("every_rule_decides")  # a summary is a question otherwise, which --by does not answer
def test_the_figures_of_consolidations_are_those_of_what_stands(store: Store, run: Run) -> None:
    """Sources, similarity and savings (Plugged.in's ``dream_consolidations``), in words and in JSON; gone once they are undone."""
    slug = "figures"
    remember(
        store,
        slug,
        memories=[
            {"id": n, "kind": "semantic", "valid_from": ago(3 - k), "current_version_id": f"v{n}"}
            for k, n in enumerate(TALES)
        ],
        memory_versions=[{"id": f"v{n}", "memory_id": n, "content": text} for n, text in TALES.items()],
        memory_vectors=[{"id": n, "vector": unit(1.0, 0.1 * k)} for k, n in enumerate(TALES)],
    )
    plan_hash = json.loads(run("night", slug, "--ops", "consolidate_clusters", "--json")[1])["plan_hash"]
    assert run("plans", "approve", slug, plan_hash, "--by", "mara")[0] == 0
    assert run("apply", slug)[0] == 0
    applied, planned = json.loads(run("runs", "list", slug, "--json")[1])
    found = applied["consolidations"]
    assert planned["consolidations"] == {}
    assert (found["summaries"], found["sources"]) == (1, 3)
    assert 0.9 < found["similarity"] <= 1
    assert found["token_savings"] > 0
    assert [r["run_id"] for r in json.loads(run("runs", "list", slug, "--offset", "1", "--json")[1])] == [
        planned["run_id"]
    ]
    with store.connect("server") as connection:
        assert list_nights(connection, slug, NightsRequest()).runs[0].consolidations == found, "as agents read them"
    assert f"1 summary for 3 memories, mean similarity {found['similarity']:.2f}" in run("runs", "list", slug)[1]
    saved = found["token_savings"]
    assert f"Summaries have saved {saved} tokens in all." in run("runs", "list", slug)[1]
    assert (token_savings(store=store), token_savings(slug, store=store)) == ({slug: saved}, {slug: saved})
    assert run("undo", applied["run_id"])[0] == 0
    assert (token_savings(store=store), token_savings(slug, store=store)) == ({}, {slug: 0})
    assert "in all" not in run("runs", "list", slug)[1]
    assert not any(r["consolidations"] for r in json.loads(run("runs", "list", slug, "--json")[1]))

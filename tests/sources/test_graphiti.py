"""A temporal graph of Graphiti: entities, facts with both times, episodes; in the shape that graphiti-core 0.31 gave from its own store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import ImportRefused
from slowwave.models.embedder import OfflineEmbedder
from slowwave.night.night import run_night
from slowwave.sources.graphiti import import_graphiti
from slowwave.sources.pipeline import ImportSummary
from slowwave.store.connect import Store
from tests.memories import ask

ANNA, OSLO, LISBON, CHAT = (f"{n}06e01c-c043-4737-96bb-a054aea2a445" for n in ("aa", "bb", "cc", "dd"))
SPRING, SUMMER = "2026-03-01T00:00:00", "2026-06-01T00:00:00Z"


def node(id_: str, name: str, *labels: str, **more: object) -> dict[str, Any]:
    return {
        **{"uuid": id_, "name": name, "group_id": "Team A", "labels": [*labels, "Entity"], "created_at": SPRING},
        **{"summary": "", "attributes": {}, **more},
    }


def edge(id_: str, target: str, fact: str, **more: object) -> dict[str, Any]:
    ends = {"source_node_uuid": ANNA, "target_node_uuid": target, "name": "LIVES_IN", "fact": fact}
    times = {"created_at": SPRING, "valid_at": None, "invalid_at": None, "expired_at": None}
    return {"uuid": id_, "group_id": "Team A", **ends, **times, "episodes": [CHAT], "attributes": {}, **more}


def graph() -> dict[str, list[dict[str, Any]]]:
    episode = {
        **{"uuid": CHAT, "name": "chat 1", "group_id": "Team A", "source": "message", "created_at": SPRING},
        **{"content": "anna: I live in Oslo, near the Opera House", "valid_at": SPRING, "entity_edges": []},
    }
    return {
        "nodes": [
            node(ANNA, "Anna", "Person", summary="Anna likes tea."),
            node(OSLO, "Oslo", "City"),
            node(LISBON, "Lisbon", "City", attributes={"country": "Portugal", "name_embedding": [0.1]}),
        ],
        "edges": [
            edge("e1", OSLO, "Anna lives in Oslo", valid_at=SPRING, invalid_at=SUMMER, expired_at=SUMMER),
            edge("e2", LISBON, "Anna lives in Lisbon", valid_at=SUMMER, episodes=["later", "gone"]),
        ],
        "episodes": [episode, {**episode, "uuid": "later", "content": "anna: Lisbon is warm"}],
    }


@pytest.fixture
def load(store: Store, tmp_path: Path) -> Callable[..., ImportSummary]:
    def loaded(content: object, **options: Any) -> ImportSummary:
        path = tmp_path / "graph.json"
        path.write_text(json.dumps(content))
        with store.connect("owner") as connection:
            return import_graphiti(connection, path, embedder=OfflineEmbedder(), **options)

    return loaded


def test_a_graph_keeps_both_times_and_is_audited(store: Store, load: Callable[..., ImportSummary]) -> None:
    """A fact that Graphiti ended is on record and retired; names in episodes become no entities; the same file adds nothing."""
    done = load(graph())
    assert done.namespaces == ("team-a",)
    assert {table: done.added[table] for table in ("entities", "memory_facts", "relationships", "memories")} == {
        **{"entities": 3, "memory_facts": 2, "relationships": 2, "memories": 2}
    }
    assert ask(store, "SELECT name, entity_type, attributes, mention_count FROM memory.entities ORDER BY name") == [
        ("Anna", "PERSON", {"summary": "Anna likes tea."}, 2),
        ("Lisbon", "CITY", {"country": "Portugal"}, 1),
        ("Oslo", "CITY", {}, 1),
    ]
    times = "valid_from::date::text, valid_to::date::text, invalidated_at::date::text, recorded_at::date::text"
    assert ask(store, f"SELECT subject, predicate, object, is_active, {times} FROM memory.memory_facts ORDER BY 3") == [
        ("Anna", "LIVES_IN", "Lisbon", True, "2026-06-01", None, None, "2026-03-01"),
        ("Anna", "LIVES_IN", "Oslo", False, "2026-03-01", "2026-06-01", "2026-06-01", "2026-03-01"),
    ]
    tied = """SELECT s.name, t.name, r.description, c.content FROM memory.relationships r
      JOIN memory.entities s ON s.id = r.source_entity_id JOIN memory.entities t ON t.id = r.target_entity_id
      JOIN memory.chunks c ON c.id = ANY(r.source_chunk_ids) ORDER BY 2"""
    said = "anna: I live in Oslo, near the Opera House"
    assert ask(store, tied) == [
        ("Anna", "Lisbon", "Anna lives in Lisbon", "anna: Lisbon is warm"),
        ("Anna", "Oslo", "Anna lives in Oslo", said),
    ]
    again = load(graph())
    assert (dict(again.added), again.known, again.left) == ({}, 7, ())
    changed = graph()
    changed["edges"][1]["fact"] = "Anna lives in Lisbon since June"
    changed["nodes"].append(node("new", "Porto", "City"))
    assert (load(changed).left, load(changed).added) == (("e2",), {})
    night = run_night(store, "team-a")
    assert night.reports["orphans"].numbers["isolated"] == 2, "Porto, and Oslo since its only fact ended"
    assert not night.reports["dead_references"].findings


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda g: g["nodes"].pop(1), r"edges\[0\].*none of its group"),
        (lambda g: g["nodes"].append(g["nodes"][0]), r"nodes\[3\].*used before"),
        (lambda g: g["edges"][0].update(valid_at="in spring"), r"edges\[0\].*ISO 8601"),
        (lambda g: g["edges"][0].update(invalid_at="2020-01-01"), r"edges\[0\]: invalid_at lies before valid_at"),
        (lambda g: g["edges"].append([]), r"edges\[2\].*not a JSON object"),
        (lambda g: g["episodes"][0].update(content=3), r"episodes\[0\].*not text"),
        (lambda g: g["nodes"][0].update(labels="Person"), r"nodes\[0\].*labels"),
        (lambda g: g.clear(), "nothing to import"),
        (lambda g: g.update(nodes={}, edges=3), "edges is no list"),
    ],
)
def test_what_is_no_graph_is_refused_by_its_place(
    store: Store, load: Callable[..., ImportSummary], spoil: Callable[[Any], object], said: str
) -> None:
    spoiled = graph()
    spoil(spoiled)
    with pytest.raises(ImportRefused, match=said):
        load(spoiled)
    assert ask(store, "SELECT count(*) FROM memory.namespaces") == [(0,)]


def test_what_cannot_be_taken_is_left_out_when_asked(
    store: Store, load: Callable[..., ImportSummary], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups are namespaces, or all go to one; a secret in an episode is set aside as anywhere, and its passage is nobody's source."""
    content = graph()
    content["nodes"][1]["group_id"] = "team-b"
    done = load(content, on_error="skip")
    assert done.namespaces == ("team-a", "team-b")
    assert [out.path for out in done.skipped] == ["edges[0]"]
    content = graph()
    monkeypatch.setenv("SLOWWAVE_SCREENING_ON_IMPORT", "quarantine")
    content["episodes"][0]["content"] = "anna: the key is sk-live-4f9aQ7rT2mZx8LpKc3VbN6wYdHsE1uJg0oRi5tAe"
    done = load(content, namespace="all")
    assert (done.namespaces, done.quarantined) == (("all",), 1)
    sources = """SELECT DISTINCT source_chunk_ids::text FROM memory.relationships r
      JOIN memory.namespaces n ON n.id = r.namespace_id WHERE n.slug = 'all' AND r.external_id = 'e1'"""
    assert ask(store, sources) == [("{}",)]

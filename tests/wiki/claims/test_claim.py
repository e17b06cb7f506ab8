"""Claims are read by their subject, through an index, however many there are of others."""

from __future__ import annotations

from slowwave.store.connect import Store
from slowwave.wiki.claims import claim as module
from slowwave.wiki.claims.claim import COMPARED, nearest
from slowwave.wiki.claims.subjects import resolve
from tests.memories import ask, remember
from tests.snapshots import uid
from tests.wiki.claims import tell


def test_the_nearest_claims_of_a_subject_share_most_words_with_a_statement(acme: Store) -> None:
    """Some of many; of its own subject alone; those that state the same relation first, whatever their words are."""
    for number in range(12):
        tell(acme, f"The crane of dock {number} is red.", "Rowan", scope="project")
    tell(acme, "Rowan moved to Bergen.", "Rowan")
    tell(acme, "The crane of dock 7 is red and tall.", "Quay", scope="project")
    with acme.connect("server") as connection:
        subject = resolve(connection, uid("acme"), "Rowan", None).subject
        assert subject is not None
        found = nearest(
            connection, uid("acme"), subject.ids, "The crane of dock 7 is red and tall.", "Rowan", ["lives in"]
        )
    assert len(found) == COMPARED
    assert [c.statement for c in found[:2]] == ["Rowan moved to Bergen.", "The crane of dock 7 is red."]


def test_they_are_found_by_an_index_whatever_else_the_namespace_remembers(acme: Store) -> None:
    """Other subjects' claims are not looked at."""
    tell(acme, "The crane is red.", "Rowan", scope="project")
    memories = [
        {
            "id": f"m{n}",
            "kind": "claim",
            "current_version_id": f"v{n}",
            "attributes": {"entity_id": uid(f"e{n % 50}"), "claim_kind": "fact"},
        }
        for n in range(2_000)
    ]
    versions = [{"id": f"v{n}", "memory_id": f"m{n}", "content": f"The crane is red {n}."} for n in range(2_000)]
    remember(acme, "acme", memories=memories, memory_versions=versions)
    ask(acme, "ANALYZE memory.memories")
    values = {
        "namespace": uid("acme"),
        "subjects": [uid("e")],
        "query": "'crane'",
        "relations": [],
        "limit": 8,
        "kind": "note",
        "states": True,
    }
    with acme.connect("owner") as connection:
        for query in (module._NEAREST, module._PERIODS, module._TO_FORGET):
            plan = connection.execute(f"EXPLAIN {query}".encode(), values).fetchall()
            assert "memories_claims" in str(plan)

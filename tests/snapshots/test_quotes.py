"""What rows say: one line a row, of whatever table, with secrets marked."""

from __future__ import annotations

from slowwave.snapshots.rows import LONGEST_QUOTES, quotes
from tests.snapshots import make_snapshot, uid

KEY = "AKIA" + "Q3EGRZ7XJ5KLM2NP"


def test_each_table_in_its_own_words() -> None:
    """A memory its current version, else its subject; a fact its text or its parts, a relationship who, what and whom."""
    snapshot = make_snapshot(
        entities=[{"id": uid(n), "name": n.capitalize(), "entity_type": "PERSON"} for n in ("mara", "tom")],
        relationships=[
            {
                **{"id": uid("edge"), "source_entity_id": uid("mara"), "target_entity_id": uid("tom")},
                **{"relationship_type": "SUPPLIES", "description": "Since May."},
            }
        ],
        memory_facts=[
            {"id": uid("told"), "subject": "s", "predicate": "p", "object": "o", "fact_text": "As it was said."},
            {"id": uid("parts"), "subject": "Mara", "predicate": "lives in", "object": "Oslo", "fact_text": ""},
        ],
        memories=[
            {"id": uid("memory"), "kind": "episodic", "current_version_id": uid("new")},
            {"id": uid("bare"), "kind": "episodic", "subject": "Her boat"},
        ],
        memory_versions=[
            {"id": uid("old"), "memory_id": uid("memory"), "ordinal": 1, "content": "Before."},
            {"id": uid("new"), "memory_id": uid("memory"), "ordinal": 2, "content": f"{'x ' * 190}{KEY} {'y' * 900}"},
        ],
    )
    wanted = {
        "entities": ["mara"],
        "relationships": ["edge", "gone"],
        "memory_facts": ["told", "parts"],
        "memories": ["memory", "bare"],
        "chunks": ["page"],
    }
    found = quotes(snapshot, {table: [uid(name) for name in names] for table, names in wanted.items()})
    assert (found[uid("mara")], found[uid("bare")], len(found)) == ("Mara", "Her boat", 6)
    assert found[uid("edge")] == "Mara SUPPLIES Tom: Since May."
    assert found[uid("told")] == "As it was said."
    assert found[uid("parts")] == "Mara lives in Oslo"
    assert uid("gone") not in found
    memory = found[uid("memory")]
    assert len(memory) <= LONGEST_QUOTES
    assert "AKIA" not in memory, "a secret is not cut in two before it is looked for"

"""Where merged rows went, table by table."""

from slowwave.plans.probes.isolation import chain, merged_into
from tests.snapshots import TAKEN_AT, make_snapshot, uid


def test_merges_of_entities_memories_and_facts_are_followed():
    """A fact that a later one replaced has ended, and was not merged; one that names a successor and stands was not either."""
    said = {"subject": "s", "predicate": "p", "object": "o"}
    snapshot = make_snapshot(
        entities=[{"id": uid("e"), "name": "e", "merged_into": uid("f")}, {"id": uid("f"), "name": "f"}],
        memories=[{"id": uid("m"), "kind": "event", "merged_into": uid("n")}],
        memory_facts=[
            {"id": uid("a"), "superseded_by": uid("b"), "invalidated_at": TAKEN_AT, "is_active": False, **said},
            {"id": uid("b"), "superseded_by": uid("c"), "invalidated_at": TAKEN_AT, "is_active": False, **said},
            {"id": uid("c"), "superseded_by": uid("d"), "valid_to": TAKEN_AT, "is_active": False, **said},
            {"id": uid("d"), "superseded_by": uid("a"), **said},
        ],
    )
    into = merged_into(snapshot)
    assert into == {uid("e"): uid("f"), uid("m"): uid("n"), uid("a"): uid("b"), uid("b"): uid("c")}
    assert chain(uid("a"), into) == [uid("a"), uid("b"), uid("c")]
    assert merged_into(snapshot, ("memories",)) == {uid("m"): uid("n")}

"""Which facts hold, and which follow which."""

from __future__ import annotations

from datetime import timedelta

from slowwave.snapshots.rows import current_facts, live_facts, recorded_facts, successions
from tests.snapshots import TAKEN_AT, make_snapshot, uid


def fact(name: str, day: int | None, object_: str = "", **more: object) -> dict[str, object]:
    start = None if day is None else TAKEN_AT - timedelta(days=100 - day)
    return {
        **{"id": uid(name), "external_id": name, "subject": "Ann", "predicate": "lives in"},
        **{"object": object_ or name.rstrip("0123456789"), "valid_from": start, **more},
    }


def follow(*facts: dict[str, object]) -> tuple[dict[str, str], set[str]]:
    """Earlier → later by name, and those of which nobody can tell."""
    table = current_facts(make_snapshot(memory_facts=facts))
    names = table["external_id"].to_pylist()
    found = successions(table, TAKEN_AT)
    pairs = zip(found.earlier.tolist(), found.later.tolist(), strict=True)
    return {names[a]: names[b] for a, b in pairs}, {names[k] for k in found.contested}


def test_in_a_chain_each_fact_is_followed_by_the_next() -> None:
    """Oslo, Bergen, Rome; the order of rows is no matter."""
    assert follow(fact("rome", 9), fact("oslo", 1), fact("bergen", 5)) == ({"oslo": "bergen", "bergen": "rome"}, set())


def test_what_was_told_again_is_followed_by_what_comes_after_it() -> None:
    """Told twice, Oslo ends twice at Bergen, and the surer of two Bergens of one day is named."""
    found, _ = follow(
        fact("oslo1", 1), fact("oslo2", 3), fact("bergen1", 5, confidence=0.5), fact("bergen2", 5, confidence=0.9)
    )
    assert found == {"oslo1": "bergen2", "oslo2": "bergen2"}


def test_who_goes_back_ends_in_between() -> None:
    """Oslo, Bergen, and Oslo again."""
    assert follow(fact("oslo1", 1), fact("bergen", 5), fact("oslo2", 9))[0] == {"oslo1": "bergen", "bergen": "oslo2"}


def test_two_objects_at_one_instant_cannot_be_told_apart() -> None:
    """Nothing ends at them; each of them ends at what comes after, and one that goes on ends where it ends."""
    assert follow(fact("oslo", 1), fact("bergen", 5), fact("rome", 5)) == ({}, {"oslo"})
    found, contested = follow(fact("oslo1", 5), fact("rome", 5), fact("oslo2", 7), fact("bergen", 9))
    assert found == {"oslo1": "bergen", "rome": "oslo2", "oslo2": "bergen"}
    assert contested == set()


def test_what_has_no_start_or_begins_later_neither_follows_nor_is_followed() -> None:
    """A lease that begins next month ends nothing tonight."""
    assert follow(fact("oslo", 1), fact("bergen", 101), fact("rome", None)) == ({}, set())


def test_other_subjects_and_predicates_have_a_course_of_their_own() -> None:
    """Spelling does not make another subject."""
    facts = [fact("oslo", 1), fact("bergen", 5, subject="Bob"), fact("rome", 9, predicate="was in")]
    assert follow(*facts) == ({}, set())
    assert follow(fact("oslo", 1), fact("bergen", 5, subject="ANN ", predicate="Lives_in"))[0] == {"oslo": "bergen"}


def test_live_told_and_standing_facts() -> None:
    """Retracted ones count nowhere, merged ones were told, replaced ones stand in the course of things."""
    end = TAKEN_AT - timedelta(days=1)
    snapshot = make_snapshot(
        memory_facts=[
            fact("live", 1),
            fact("off", 1, is_active=False),
            fact("retracted", 1, invalidated_at=end),
            fact("merged", 1, is_active=False, invalidated_at=end, superseded_by=uid("live")),
            fact("replaced", 1, is_active=False, valid_to=end, superseded_by=uid("live")),
            fact("both", 1, is_active=False, valid_to=end, invalidated_at=end, superseded_by=uid("live")),
        ]
    )
    names = [set(of(snapshot)["external_id"].to_pylist()) for of in (live_facts, recorded_facts, current_facts)]
    assert names == [{"live"}, {"live", "merged"}, {"live", "replaced"}]

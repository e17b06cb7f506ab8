"""``supersede_facts``: what a later fact replaced ends when that began, where the predicate takes one object."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from slowwave.changes.simulate import simulate
from slowwave.operations import PLANNERS, Proposal, permits
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

dedupe_facts = PLANNERS["dedupe_facts"]
supersede_facts = PLANNERS["supersede_facts"]

pytestmark = pytest.mark.usefixtures("every_rule_decides")
"""Which patterns may decide is tested in ``tests/plans/test_decides_alone.py``."""

Fact = dict[str, object]


def fact(name: str, day: int | None, object_: str, **more: object) -> Fact:
    start = None if day is None else TAKEN_AT - timedelta(days=100 - day)
    said = {"subject": "Ann", "predicate": "lives in", "object": object_}
    return {"id": uid(name), "external_id": name, "valid_from": start, **said, **more}


LIVES = [fact(f"other {n}", 1, f"town {n}", subject=f"person {n}") for n in range(30)]
"""Thirty people live in one town each: that is how it is known that one lives in one place."""


def propose(*facts: Fact, learnt: Sequence[Fact] = LIVES, **tables: list[Fact]) -> tuple[Snapshot, Proposal]:
    snapshot = make_snapshot(memory_facts=[*facts, *learnt], **tables)
    return snapshot, supersede_facts(make_inputs(snapshot))


def ended(proposal: Proposal) -> dict[str | None, str]:
    return {i.mutation.rows[0].external_id: i.decision for i in proposal.items}


def test_a_later_fact_ends_the_earlier_one() -> None:
    """In the world, when the later one began; the evidence says why the predicate takes one object, and a second night is silent."""
    snapshot, found = propose(fact("oslo", 1, "Oslo"), fact("bergen", 50, "Bergen"))
    (item,) = found.items
    assert {w.cell.column: w.value for w in item.mutation.writes} == {
        "is_active": False,
        "superseded_by": uid("bergen"),
        "valid_to": "2026-01-10T03:00:00.000000+00:00",
    }
    assert (item.decision, item.risk, Item.from_json(item.to_json())) == ("supersede", "medium", item)
    assert (item.evidence["earlier"], item.evidence["later"]) == ("Ann lives in Oslo", "Ann lives in Bergen")
    learnt = item.evidence["predicate"]
    assert isinstance(learnt, dict)
    assert (learnt["verdict"], learnt["subjects"]) == ("single", 31)
    assert found.report.numbers["predicates that take one object"] == 1
    assert supersede_facts(make_inputs(simulate(snapshot, found.items))).items == ()


def test_a_chain_closes_each_fact_by_its_successor_in_one_night() -> None:
    """Oslo, Bergen, Rome: two items that can be sealed together."""
    snapshot, found = propose(fact("oslo", 1, "Oslo"), fact("rome", 90, "Rome"), fact("bergen", 50, "Bergen"))
    ends = {i.mutation.rows[0].external_id: i.evidence["later"] for i in found.items}
    assert ends == {"oslo": "Ann lives in Bergen", "bergen": "Ann lives in Rome"}
    sealed = seal(Header("n", "n", "s", "f"), found.items, permits())
    assert len(sealed.items) == 2
    assert supersede_facts(make_inputs(simulate(snapshot, sealed.items))).items == ()


def test_what_takes_many_objects_is_left_alone() -> None:
    """Ann likes tea and, later, coffee."""
    likes = [fact(f"l {n} {k}", k, f"thing {k}", subject=f"p{n}", predicate="likes") for n in range(9) for k in (1, 2)]
    _, found = propose(
        fact("tea", 1, "tea", predicate="likes"), fact("coffee", 50, "coffee", predicate="likes"), learnt=likes
    )
    assert found.items == ()
    assert found.report.numbers["of predicates that take many"] == 10


def test_too_little_evidence_asks_a_person_where_the_facts_lean_to_it() -> None:
    """Four people are no proof, and one fact alone is no hint."""
    _, found = propose(fact("oslo", 1, "Oslo"), fact("bergen", 50, "Bergen"), learnt=LIVES[:3])
    assert ended(found) == {"oslo": "review"}
    assert (found.items[0].risk, found.items[0].evidence["reason"]) == (
        "high",
        "The data do not show whether there can be only one of these at a time, or several.",
    )
    _, alone = propose(fact("oslo", 1, "Oslo"), fact("bergen", 50, "Bergen"), learnt=())
    assert alone.items == ()
    assert alone.report.numbers["of predicates of which too little is known to ask"] == 1


def test_facts_of_one_instant_without_a_start_or_of_the_future_end_nothing() -> None:
    """Strictly later, and not after now."""
    for other in (1, None, 101):
        assert propose(fact("oslo", 1, "Oslo"), fact("bergen", other, "Bergen"))[1].items == ()
    _, contested = propose(fact("oslo", 1, "Oslo"), fact("bergen", 50, "Bergen"), fact("rome", 50, "Rome"))
    assert contested.items == ()
    assert contested.report.numbers["with several objects at one instant after them"] == 1


def test_a_contested_instant_stays_contested_on_the_second_night() -> None:
    """Bergen or Rome, then Nice: both end at Nice, and Oslo does not end there the night after."""
    snapshot, found = propose(
        fact("oslo", 1, "Oslo"), fact("bergen", 50, "Bergen"), fact("rome", 50, "Rome"), fact("nice", 90, "Nice")
    )
    assert ended(found) == {"bergen": "supersede", "rome": "supersede"}
    assert supersede_facts(make_inputs(simulate(snapshot, found.items))).items == ()


def test_an_old_fact_that_is_told_late_ends_at_what_followed_it_then() -> None:
    """Bergen is history, and it is what ended Oslo; Rome is not."""
    history = fact("bergen", 50, "Bergen", is_active=False, valid_to=TAKEN_AT, superseded_by=uid("rome"))
    _, found = propose(fact("oslo", 1, "Oslo"), history, fact("rome", 90, "Rome"))
    assert [(i.mutation.rows[0].external_id, i.evidence["later"]) for i in found.items] == [
        ("oslo", "Ann lives in Bergen")
    ]


def test_the_same_place_told_again_is_no_successor() -> None:
    """That is for ``dedupe_facts``; what comes after ends both. The planner that comes second waits for the next night."""
    snapshot, found = propose(fact("oslo", 1, "Oslo"), fact("again", 20, "OSLO."), fact("bergen", 50, "Bergen"))
    assert ended(found) == {"oslo": "supersede", "again": "supersede"}
    merge = dedupe_facts(make_inputs(snapshot)).items
    sealed = seal(Header("n", "n", "s", "f"), [*merge, *found.items], permits())
    assert [i.operation for i in sealed.items] == ["dedupe_facts"]
    after = simulate(snapshot, sealed.items)
    second = supersede_facts(make_inputs(after))
    assert set(ended(second).values()) == {"supersede"}
    assert dedupe_facts(make_inputs(simulate(after, second.items))).items == ()


def test_what_was_learnt_from_duplicates_is_known_after_they_are_merged() -> None:
    """Twelve were told twice. A merged fact was told all the same."""
    told = [
        fact(f"{n} {k}", 10 * k, f"town {n}", subject=f"person {n}", predicate="lives in")
        for n in range(12)
        for k in (1, 2)
    ]
    others = [fact(f"o{n}", 1, "x", subject=f"o{n}", predicate="is") for n in range(400)]
    snapshot, first = propose(fact("oslo", 1, "Oslo"), fact("bergen", 50, "Bergen"), learnt=[*told, *others])
    assert ended(first) == {"oslo": "supersede"}
    after = simulate(snapshot, dedupe_facts(make_inputs(snapshot)).items)
    assert ended(supersede_facts(make_inputs(after))) == {"oslo": "supersede"}


def test_a_ruling_is_final_and_an_open_conflict_is_not_asked_about_twice() -> None:
    """Kept: a person said that both hold. Open: the question stands elsewhere."""

    def conflict(**more: object) -> list[Fact]:
        pair = sorted([uid("oslo"), uid("bergen")])
        row = {"id": uid("c"), "table_name": "memory_facts", "reason": "object"}
        return [{**row, "row_a_id": pair[0], "row_b_id": pair[1], **more}]

    pair = fact("oslo", 1, "Oslo"), fact("bergen", 50, "Bergen")
    _, kept = propose(*pair, conflicts=conflict(resolution="kept", resolved_at=TAKEN_AT))
    assert (kept.items, kept.report.numbers["ruled to be no conflict"]) == ((), 1)
    assert ended(propose(*pair, conflicts=conflict())[1]) == {"oslo": "supersede"}
    _, open_ = propose(*pair, learnt=LIVES[:3], conflicts=conflict())
    assert (open_.items, open_.report.numbers["asked about in an open conflict"]) == ((), 1)


def test_an_empty_namespace_has_a_report() -> None:
    """With its zeros."""
    _, found = propose(learnt=())
    assert (found.items, found.report.numbers["live facts"]) == ((), 0)

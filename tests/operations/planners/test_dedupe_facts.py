"""``dedupe_facts``: what says the same becomes one, and nothing else does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from slowwave.changes.simulate import simulate
from slowwave.operations import PLANNERS, Proposal
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

dedupe_facts = PLANNERS["dedupe_facts"]

MAY = datetime(2025, 5, 1, tzinfo=UTC)


def fact(
    name: str, object_: str, *, subject: str = "Ann", predicate: str = "uses", **more: object
) -> dict[str, object]:
    return {"id": uid(name), "subject": subject, "predicate": predicate, "object": object_, **more}


def propose(*facts: dict[str, object], **tables: list[dict[str, object]]) -> tuple[Snapshot, Proposal]:
    snapshot = make_snapshot(memory_facts=facts, **tables)
    return snapshot, dedupe_facts(make_inputs(snapshot))


def merged(proposal: Proposal) -> dict[str, set[str]]:
    """Survivor → absorbed, by id."""
    return {i.mutation.keep.id: {r.id for r in i.mutation.absorb} for i in proposal.items if i.mutation.keep}


def test_facts_that_differ_in_spelling_become_one() -> None:
    """Case, spaces, punctuation and accents; three tellings are one item, and a second night plans nothing."""
    snapshot, found = propose(
        fact("a", "the Café, upstairs", confidence=0.9),
        fact("b", "The cafe  upstairs.", subject="ANN", confidence=0.4),
        fact("c", "the cafe upstairs", predicate="Uses", confidence=0.5),
        fact("d", "the office"),
    )
    assert merged(found) == {uid("a"): {uid("b"), uid("c")}}
    (item,) = found.items
    assert (item.decision, item.risk, Item.from_json(item.to_json())) == ("merge", "low", item)
    assert item.evidence["names"] == [
        "Ann uses the Café, upstairs",
        "Ann Uses the cafe upstairs",
        "ANN uses The cafe  upstairs.",
    ]
    assert found.report.numbers["live facts"] == 4
    assert found.report.numbers["facts that would be absorbed"] == 2
    assert dedupe_facts(make_inputs(simulate(snapshot, found.items))).items == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("15 boxes", "16 boxes"),
        ("version 1.2", "version 12"),
        ("is welcome", "is not welcome"),
        ("-5 degrees", "5 degrees"),
        ("C++", "C"),
        ("2024-05-06", "2024-05-07"),
        ("a cat", "a kitten"),
        ("code aB12", "code Ab12"),
    ],
)
def test_numbers_dates_negations_and_words_must_be_equal(one: str, other: str) -> None:
    """No vector and no model says that two objects mean the same."""
    assert propose(fact("a", one), fact("b", other))[1].items == ()


@pytest.mark.parametrize(("one", "other"), [(0.9, 0.5), (0.5, 0.9)])
def test_sentences_of_one_object_that_contradict_each_other_stay_apart(one: float, other: float) -> None:
    """Whichever of the two is the surer; one that says more is no contradiction."""

    def told(*texts: str) -> Proposal:
        rows = zip("ab", texts, (one, other), strict=True)
        return propose(*(fact(name, "vim", fact_text=text, confidence=c) for name, text, c in rows))[1]

    found = told("Ann uses vim with 5 plugins.", "Ann uses vim with 6 plugins.")
    assert (found.items, found.report.numbers["differing in specifics"]) == ((), 1)
    assert len(told("Ann uses vim.", "Ann uses vim with 6 plugins.").items) == 1


@pytest.mark.parametrize("other", [{"subject": "Bob"}, {"predicate": "hates"}])
def test_another_subject_or_predicate_is_another_fact(other: dict[str, str]) -> None:
    """The object alone says nothing."""
    assert propose(fact("a", "vim"), fact("b", "vim", **other))[1].items == ()


def test_the_survivor_is_the_surest_then_the_earliest_then_the_smallest_id() -> None:
    """Three rules, each decided by the one before."""
    surest = propose(
        fact("a", "vim", confidence=0.8, valid_from=MAY), fact("b", "vim", confidence=0.9, valid_from=TAKEN_AT)
    )
    earliest = propose(fact("a", "vim", valid_from=TAKEN_AT), fact("b", "vim", valid_from=MAY))
    ever = propose(fact("a", "vim", valid_from=MAY), fact("b", "vim"))
    smallest = propose(fact("a", "vim"), fact("b", "vim"))
    keeps = [set(merged(p)) for _, p in (surest, earliest, ever, smallest)]
    assert keeps == [{uid("b")}, {uid("b")}, {uid("b")}, {min(uid("a"), uid("b"))}]


@pytest.mark.parametrize(
    "gone",
    [{"is_active": False}, {"invalidated_at": MAY}, {"valid_to": MAY}, {"valid_to": TAKEN_AT + timedelta(days=9)}],
)
def test_facts_that_hold_and_end_together_are_merged_only(gone: dict[str, object]) -> None:
    """A retired fact is no duplicate, nor is one that will end."""
    assert propose(fact("a", "vim"), fact("b", "vim", **gone))[1].items == ()


def test_who_goes_back_to_what_was_has_no_duplicate() -> None:
    """Oslo, Bergen, Oslo: made one, the return to Oslo would be lost. Of what many things are said the order says nothing."""
    lived = [
        fact("a", "Oslo", predicate="lives in", valid_from=MAY),
        fact("b", "Bergen", predicate="lives in", valid_from=MAY + timedelta(days=9)),
        fact("c", "Oslo", predicate="lives in", valid_from=MAY + timedelta(days=20)),
    ]
    snapshot, found = propose(*lived)
    assert found.items == ()
    assert found.report.numbers["subjects that went back to an object"] == 1
    ended = [lived[0], lived[1] | {"is_active": False, "valid_to": TAKEN_AT, "superseded_by": uid("c")}, lived[2]]
    assert propose(*ended)[1].items == (), "nor when the time between is history"
    many = [fact(f"{n} {k}", f"thing {k}", subject=f"p{n}", predicate="lives in") for n in range(6) for k in range(2)]
    assert merged(propose(*lived, *many)[1]) == {uid("a"): {uid("c")}}
    assert snapshot.table("memory_facts").num_rows == 3


def test_a_pair_in_conflict_or_rejected_does_not_come_back_inside_a_group() -> None:
    """What a person refused of two holds of three; the third goes with the first it may."""
    facts = [fact(name, "vim", confidence=c) for name, c in (("a", 0.9), ("b", 0.8), ("c", 0.7))]
    conflict = {
        **{"id": uid("conflict"), "table_name": "memory_facts", "reason": "number", "row_a_id": uid("a")},
        "row_b_id": uid("b"),
    }
    _, found = propose(*facts, conflicts=[conflict])
    assert merged(found) == {uid("a"): {uid("c")}}
    assert found.report.numbers["forbidden by a rejection or conflict"] == 1
    _, whole = propose(*facts[:2])
    (item,) = whole.items
    rejection = {
        **{"id": uid("no"), "operation": "dedupe_facts", "subject": item.subject()},
        "row_ids": list(item.mutation.row_ids()),
    }
    _, alone = propose(*facts[:2], rejections=[rejection])
    assert (alone.items, alone.report.numbers["items"]) == ((), 0)
    _, three = propose(*facts, rejections=[rejection])
    assert merged(three) == {uid("a"): {uid("c")}}
    _, other = propose(facts[0], facts[1] | {"object": "Vim"}, rejections=[rejection])
    assert merged(other) == {uid("a"): {uid("b")}}, "what one of them says has changed: it is another question"


def test_sources_that_stand_are_quoted() -> None:
    """The chunks from which people can check it."""
    _, found = propose(
        fact("a", "vim", source_chunk_ids=[uid("c1"), uid("gone")], confidence=0.9),
        fact("b", "vim", source_chunk_ids=[uid("c2")], confidence=0.8),
        chunks=[{"id": uid("c1"), "content": "x"}, {"id": uid("c2"), "content": "y"}],
    )
    assert found.items[0].sources == (uid("c1"), uid("c2"))


def test_a_namespace_without_facts_says_so() -> None:
    """Nothing to look at is not the same as nothing found."""
    _, found = propose()
    assert (found.items, found.report.numbers["live facts"]) == ((), 0)

"""``dedupe_memories``: events that were noted twice become one, within a window, and never against what they say."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.simulate import simulate
from slowwave.models.endpoint import Answer
from slowwave.operations import PLANNERS, Proposal, permits
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.snapshot import Snapshot, Vectors
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

dedupe_memories = PLANNERS["dedupe_memories"]

Row = dict[str, object]
HERE = (1.0, 0.0)

REWORDED = "The crane has stopped."
"""The usual text in other words: what is told in the same words on many days is no copy."""


def at(degrees: float) -> tuple[float, float]:
    """A direction; cos 18° is 0.951 and cos 19° 0.945."""
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


def event(name: str, day: float | None = 1, text: str = "The crane stopped.", **more: object) -> Row:
    start = None if day is None else TAKEN_AT - timedelta(days=100 - day)
    row = {"id": uid(name), "external_id": name, "kind": "event", "subject": "Crane", "valid_from": start, **more}
    return row | {"current_version_id": uid(f"text of {name}"), "text": text}


def propose(
    *events: Row,
    vectors: Mapping[str, tuple[float, float]] | None = None,
    settings: Mapping[str, object] | None = None,
    **tables: list[Row],
) -> tuple[Snapshot, Proposal]:
    """What is proposed of them."""
    snapshot = told(*events, vectors=vectors, settings=settings, **tables)
    return snapshot, dedupe_memories(make_inputs(snapshot))


def told(
    *events: Row,
    vectors: Mapping[str, tuple[float, float]] | None = None,
    settings: Mapping[str, object] | None = None,
    **tables: list[Row],
) -> Snapshot:
    """Every event points ``HERE`` unless told otherwise."""
    rows = [{k: v for k, v in e.items() if k != "text"} for e in events]
    versions = [
        {"id": e["current_version_id"], "memory_id": e["id"], "content": e["text"]} for e in events if "text" in e
    ]
    given_ = {str(e["id"]): (vectors or {}).get(str(e["external_id"]), HERE) for e in events}
    return make_snapshot(
        settings=settings,
        memories=rows,
        memory_versions=versions,
        vectors={"memory_vectors": given_},
        **tables,
    )


def merged(proposal: Proposal) -> dict[str | None, set[str | None]]:
    """Survivor → absorbed, by name."""
    return {
        i.mutation.keep.external_id: {r.external_id for r in i.mutation.absorb}
        for i in proposal.items
        if i.mutation.keep
    }


@pytest.mark.usefixtures("every_rule_decides")
def test_an_event_that_was_noted_twice_becomes_one() -> None:
    """Near in meaning and in time, about one subject by one author; a second night plans nothing."""
    snapshot, found = propose(
        event("a", 1, confidence=0.9), event("b", 4, "The crane had stopped.", confidence=0.5), vectors={"b": at(10)}
    )
    assert merged(found) == {"a": {"b"}}
    (item,) = found.items
    assert (item.decision, item.risk, Item.from_json(item.to_json())) == ("merge", "medium", item)
    assert item.evidence["names"] == ["The crane stopped.", "The crane had stopped."]
    assert item.evidence["cosine"] == [round(math.cos(math.radians(10)), 4)]
    assert item.probability == round(math.cos(math.radians(10)), 4)
    assert found.report.numbers["event memories without a start"] == 0
    expected = {"live event memories": 2, "blocks": 1, "pairs within the window": 1, "near pairs": 1, "items": 1}
    assert {k: found.report.numbers[k] for k in expected} == expected
    assert dedupe_memories(make_inputs(simulate(snapshot, found.items))).items == ()


def test_an_item_cites_what_its_memories_come_from() -> None:
    """Chunks that stand, of all members."""
    chunks = [{"id": uid(name), "document_id": uid("letter"), "content": name} for name in ("one", "two")]
    rows = [event("a", 1, source_chunk_ids=[uid("one"), uid("gone")]), event("b", 4, source_chunk_ids=[uid("two")])]
    (item,) = propose(*rows, chunks=chunks, documents=[{"id": uid("letter")}])[1].items
    assert {uid("one"), uid("two")} <= set(item.sources)
    assert uid("gone") not in item.sources


@pytest.mark.parametrize(
    ("day", "degrees", "joined"), [(8, 18, True), (8.001, 18, False), (8, 19, False), (1, 0, True), (31, 0, False)]
)
def test_both_the_cosine_and_the_window_are_needed(day: float, degrees: float, *, joined: bool) -> None:
    """khora: 0.95 and seven days."""
    _, found = propose(event("a", 1), event("b", day), vectors={"b": at(degrees)})
    assert bool(found.items) is joined


@pytest.mark.parametrize(
    "more",
    [
        {"subject": "Other crane"},
        {"author": "bob"},
        {"scope": "team"},
        {"visibility": "public"},
        {"sensitivity": "secret"},
        {"kind": "semantic"},
        {"state": "archived"},
        {"invalidated_at": TAKEN_AT},
        {"valid_to": TAKEN_AT},
        {"valid_from": None},
    ],
)
def test_only_live_events_of_one_subject_author_scope_and_audience_are_compared(more: Row) -> None:
    """What differs in one of these is another memory, or none."""
    assert propose(event("a"), event("b", **more))[1].items == ()


def test_a_memory_without_a_vector_or_a_text_is_counted_and_left_alone() -> None:
    """So a night that finds nothing says why; where there is no text nobody can say that nothing differs."""
    snapshot = make_snapshot(memories=[{"id": uid(n), "kind": "event", "valid_from": TAKEN_AT} for n in "ab"])
    found = dedupe_memories(make_inputs(snapshot))
    assert found.items == ()
    assert found.report.numbers["event memories without a vector"] == 2
    _, silent = propose(event("a", text=""), event("b", text=""))
    assert (silent.items, silent.report.numbers["event memories without a text"]) == ((), 2)


def test_equal_texts_merge_without_vectors_and_similar_ones_do_not() -> None:
    """Beside rows with vectors as well; a copy without a vector is no partner of what is near its text."""
    rows = [
        event(name, None, text, kind="semantic")
        for name, text in (
            ("a", "Ana has a cat."),
            ("b", "Ana has a cat"),
            ("c", "Ana has one cat."),
            ("d", "Ben has a dog."),
        )
    ]
    snapshot = told(*rows)
    bare = replace(snapshot, vectors={**snapshot.vectors, "memory_vectors": Vectors.empty("")})
    (pair,) = merged(dedupe_memories(make_inputs(bare))).items()
    assert {pair[0], *pair[1]} == {"a", "b"}
    some = told(*rows[2:], *rows[:2])
    held = {uid("c"): HERE, uid("d"): at(80)}
    mixed = make_snapshot(
        memories=some.table("memories").to_pylist(),
        memory_versions=some.table("memory_versions").to_pylist(),
        vectors={"memory_vectors": held},
    )
    assert merged(dedupe_memories(make_inputs(mixed))) == {pair[0]: pair[1]}


def test_a_leader_without_a_vector_is_compared_by_that_of_a_copy() -> None:
    """The copy that stays has the most importance and no vector; what differs in a contraction alone still joins it."""
    rows = [
        event(name, None, text, kind="semantic", importance=weight)
        for name, text, weight in (
            ("a", "The deploy key is not shared.", 0.9),
            ("b", "The deploy key is not shared", 0.2),
            ("c", "The deploy key isn't shared.", 0.1),
        )
    ]
    snapshot = told(*rows)
    bare = make_snapshot(
        memories=snapshot.table("memories").to_pylist(),
        memory_versions=snapshot.table("memory_versions").to_pylist(),
        vectors={"memory_vectors": {uid("b"): HERE, uid("c"): HERE}},
    )
    assert merged(dedupe_memories(make_inputs(bare))) == {"a": {"b", "c"}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The gate passed 412 lorries.", "The gate passed 421 lorries."),
        ("The audit is on 2026-02-11.", "The audit is on 2026-02-12."),
        ("The pump works again.", "The pump does not work again."),
        ("The valve was open at noon.", "The valve was closed at noon."),
    ],
)
def test_what_differs_in_a_specific_is_never_merged(one: str, other: str) -> None:
    """However near the vectors are: law 9."""
    _, found = propose(event("a", text=one), event("b", text=other))
    assert found.items == ()
    assert found.report.numbers["pairs differing in specifics"] == 1


def test_no_two_members_of_a_cluster_may_differ() -> None:
    """One names no number; it does not bring together those that name different ones, tonight or tomorrow."""
    snapshot, found = propose(
        event("a", text="The gate passed many lorries.", confidence=0.9),
        event("b", text="The gate passed 412 lorries.", confidence=0.8),
        event("c", text="The gate passed 421 lorries.", confidence=0.7),
        vectors={"b": at(3), "c": at(5)},
    )
    assert merged(found) == {"a": {"b"}}
    assert dedupe_memories(make_inputs(simulate(snapshot, found.items))).items == ()


def test_the_whole_cluster_lies_within_the_window() -> None:
    """khora's chains exceed it. The survivor in the middle takes one side, and the next night does not go on."""
    snapshot, found = propose(
        event("middle", 10),
        event("late", 15, confidence=0.9),
        event("early", 5, REWORDED, confidence=0.9),
        vectors={"late": at(5), "early": at(9)},
    )
    assert merged(found) == {"middle": {"late"}}
    assert found.report.numbers["pairs beyond the window as a cluster"] == 1
    after = simulate(snapshot, found.items)
    assert dedupe_memories(make_inputs(after)).items == ()


def test_a_survivor_that_took_over_an_earlier_start_remembers_how_far_its_cluster_reaches() -> None:
    """It began on day 10 and now says day 5: what began on day 1 is within a week of that, and not of the cluster."""
    far = event("far", 1, REWORDED, confidence=0.9)
    snapshot, found = propose(event("keep", 10), event("gone", 5, confidence=0.9), far)
    assert merged(found) == {"keep": {"gone"}}
    assert dedupe_memories(make_inputs(simulate(snapshot, found.items))).items == ()


def test_every_member_is_near_the_survivor() -> None:
    """A chain of near pairs does not carry: the far end stays what it is."""
    _, found = propose(
        event("a", confidence=0.9),
        event("b", confidence=0.8),
        event("c", confidence=0.7),
        vectors={"b": at(15), "c": at(30)},
    )
    assert merged(found) == {"a": {"b"}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"pinned": True, "confidence": 0.1}, {"confidence": 0.9, "source": "human"}),
        ({"source": "human", "confidence": 0.1}, {"source": "model", "confidence": 0.9}),
        ({"source": "import", "confidence": 0.1}, {"source": "who knows", "confidence": 0.9}),
        ({"confidence": 0.9, "importance": 0.1}, {"confidence": 0.8, "importance": 0.9}),
        ({"importance": 0.9}, {"importance": 0.1, "day": 5}),
        ({"day": 5}, {"day": 4}),
    ],
)
def test_the_survivor_is_chosen_by_the_rule_of_merges(one: Row, other: Row) -> None:
    """Pinned, source, confidence, importance, newest start; khora's are the last of these."""
    rows = [event("keep", **{"day": 3, **one}), event("gone", **{"day": 3, **other})]  # pyright: ignore[reportArgumentType]
    assert merged(propose(*rows)[1]) == {"keep": {"gone"}}


@pytest.mark.parametrize("kind", ["event", "semantic"])
@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        (
            ("Never deploy on Fridays.", "Never deploy on Fridays.", "never deploy on fridays"),
            "Never deploy on Fridays.",
        ),
        (("Never deploy on Fridays.", "Never deploy on Fridays"), "Never deploy on Fridays."),
        (("Acme supplies paper.", "ACME supplies paper."), "Acme supplies paper."),
        (("Use the API.", "Use the API.", "Use the Api."), "Use the API."),
        (("Acme supplies paper.", "ACME SUPPLIES PAPER.", "ACME SUPPLIES PAPER."), "Acme supplies paper."),
    ],
)
def test_survivor_of_equal_words_is_the_best_written(kind: str, texts: tuple[str, ...], kept: str) -> None:
    rows = [event(f"m{n}", n + 1, text, kind=kind) for n, text in enumerate(texts)]
    (item,) = propose(*rows)[1].items
    assert item.evidence["names"][0] == kept  # pyright: ignore[reportIndexIssue]
    rows[-1]["importance"] = 1.0
    (item,) = propose(*rows)[1].items
    assert item.evidence["names"][0] == texts[-1]  # pyright: ignore[reportIndexIssue]


def test_oldest_of_memories_with_the_same_words_survives() -> None:
    """So it stays on record when they were stated again, as the survivor takes over the earliest start; of events the newest survives."""
    days = {"first": 3, "again": 9}
    for kind, kept in (("semantic", "first"), ("event", "again")):
        rows = [event(name, day, "Never deploy on Fridays.", kind=kind) for name, day in days.items()]
        assert list(merged(propose(*rows)[1])) == [kept]


def test_of_equals_the_smallest_id_survives() -> None:
    """Whatever the order of the rows."""
    first, last = sorted(("a", "b"), key=uid)
    assert merged(propose(event(last), event(first))[1]) == {first: {last}}


def test_a_rejected_or_conflicting_pair_does_not_come_back_inside_a_cluster() -> None:
    """Remembered by what the memories say; a survivor stands for what was merged into it."""
    rows = [event(name, confidence=c) for name, c in (("a", 0.9), ("b", 0.8), ("c", 0.7))]
    (item,) = propose(*rows[:2])[1].items
    rejection = {"operation": "dedupe_memories", "subject": item.subject(), "row_ids": list(item.mutation.row_ids())}
    no = [{"id": uid("no"), **rejection}]
    assert propose(*rows[:2], rejections=no)[1].items == ()
    snapshot, found = propose(*rows, rejections=no)
    assert merged(found) == {"a": {"c"}}
    assert dedupe_memories(make_inputs(simulate(snapshot, found.items))).items == ()
    reworded = rows[1] | {"current_version_id": uid("another text")}
    assert merged(propose(rows[0], reworded, rejections=no)[1]) == {"a": {"b"}}
    conflict = {"table_name": "memories", "reason": "number", "row_a_id": uid("a"), "row_b_id": uid("b")}
    assert propose(*rows[:2], conflicts=[{"id": uid("c"), **conflict}])[1].items == ()


@pytest.mark.parametrize(
    ("ended", "joined"),
    [
        ({"text": "The hatch is shut."}, False),
        ({"text": "The hatch is shut.", "subject": "Other"}, True),
        ({"text": "Lunch was good."}, True),
        ({"text": "The hatch is shut.", "valid_to": TAKEN_AT - timedelta(days=94)}, False),
        ({"text": "The hatch is oak.", "valid_to": TAKEN_AT - timedelta(days=94)}, True),
        ({"text": "The hatch is shut.", "valid_from": TAKEN_AT - timedelta(days=99, hours=12)}, True),
    ],
)
def test_value_that_holds_again_is_not_merged_with_its_first_period(ended: Row, *, joined: bool) -> None:
    """A merge would say that it held without a break. The memory between contradicts it, or ended when the later copy began."""
    text = "The hatch is open."
    row = event("between", 3, **{"kind": "semantic", "valid_to": TAKEN_AT - timedelta(days=95), **ended})
    row["invalidated_at"] = TAKEN_AT - timedelta(days=1)
    _, found = propose(event("a", 1, text, kind="semantic"), row, event("b", 5, text, kind="semantic"))
    assert bool(found.items) is joined


def test_settings_move_the_threshold_and_the_window() -> None:
    """A namespace's own."""
    rows, vectors = (event("a", 1), event("b", 20)), {"b": at(30)}
    wide = {"operations": {"dedupe_memories": {"events_cosine_threshold": 0.8, "events_window_days": 30}}}
    assert merged(propose(*rows, vectors=vectors, settings=wide)[1])
    none = {"operations": {"dedupe_memories": {"events_cosine_threshold": 0.0, "events_window_days": 0}}}
    assert merged(propose(event("a", 1), event("b", 1), vectors={"b": at(80)}, settings=none)[1])
    assert propose(event("a", 1), event("b", 1.01), vectors={"b": at(80)}, settings=none)[1].items == ()


def test_crowded_blocks_are_searched_as_well_as_small_ones() -> None:
    """Large blocks are searched as a whole, small ones pair by pair: which is a matter of time only. Counted here one by one."""
    r = Random(5)
    names = [f"e{n}" for n in range(140)]
    subjects = {n: "crowd" if k < 110 else f"s{k % 6}" for k, n in enumerate(names)}
    texts = {n: f"The tug {n} left." for n in names}  # what is told in the same words on many days is not compared
    rows = [event(n, r.uniform(0, 20), texts[n], subject=subjects[n], confidence=r.random()) for n in names]
    vectors = {n: at(r.uniform(0, 120)) for n in names}
    _, found = propose(*rows, vectors=vectors, settings={"operations": {"dedupe_memories": {"events_window_days": 15}}})
    day = {n: e["valid_from"] for n, e in zip(names, rows, strict=True)}
    inside = [
        (a, b)
        for a, b in combinations(names, 2)
        if subjects[a] == subjects[b] and abs(day[a] - day[b]) <= timedelta(days=15)  # type: ignore[operator]
    ]
    near = sum(float(np.dot(vectors[a], vectors[b])) >= 0.95 for a, b in inside)
    assert sum(subjects[a] == "crowd" for a, _ in inside) > 4096
    assert (found.report.numbers["pairs within the window"], found.report.numbers["near pairs"]) == (len(inside), near)


@pytest.mark.slow
def test_a_log_of_years_takes_no_memory_for_pairs_out_of_the_window() -> None:
    """Six thousand events of one subject that all point one way, ten a day: of 18 million near pairs few lie within a day."""
    rows = [event(f"e{n}", n / 10, f"Batch {n} left.", source_chunk_ids=[]) for n in range(6_000)]
    inputs = make_inputs(told(*rows, settings={"operations": {"dedupe_memories": {"events_window_days": 1}}}))
    tracemalloc.start()
    found = dedupe_memories(inputs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    pairs = sum(min(10, 5_999 - n) for n in range(6_000))
    assert found.report.numbers["pairs within the window"] == found.report.numbers["near pairs"] == pairs
    assert peak < 300e6


@pytest.mark.slow
@given(r=st.randoms(use_true_random=False))
def test_what_a_night_leaves_the_next_one_leaves(r: Random) -> None:
    """Random events: clusters within the window, near their survivor, without a differing number; and convergence."""
    texts = ["The gate passed lorries.", "The gate passed 412 lorries.", "The gate passed 421 lorries.", "It did not."]
    names = [f"e{n}" for n in range(r.randrange(2, 14))]
    rows = [event(n, r.uniform(0, 25), r.choice(texts), confidence=r.choice([0.5, 0.9])) for n in names]
    vectors = {n: at(r.uniform(0, 40)) for n in names}
    snapshot, found = propose(*rows, vectors=vectors)
    day = {n: e["valid_from"] for n, e in zip(names, rows, strict=True)}
    for keep, absorbed in merged(found).items():
        members = [str(m) for m in (keep, *absorbed)]
        starts = [day[m] for m in members]
        assert max(starts) - min(starts) <= timedelta(days=7)  # type: ignore[operator, type-var]
        assert all(np.dot(vectors[str(keep)], vectors[m]) >= 0.95 - 1e-6 for m in members)
        said = {t for n, e in zip(names, rows, strict=True) if n in members for t in [str(e["text"])]}
        assert not {texts[1], texts[2]} <= said
        assert len(said) == 1 or texts[3] not in said
    sealed = seal(Header("n", "n", "s", "f"), found.items, permits())
    assert len(sealed.items) == len(found.items)
    assert dedupe_memories(make_inputs(simulate(snapshot, sealed.items))).items == ()


def note(name: str, text: str, **more: object) -> Row:
    return event(name, text=text, kind="semantic", **more)


def test_memories_of_other_kinds_merge_at_any_time_when_they_tell_the_same() -> None:
    """Months apart, in other words of grammar, or with a phrase moved; without a start as well."""
    snapshot, found = propose(
        note("a", "The user prefers dark mode in the editor.", confidence=0.9),
        note("b", "User prefers dark mode in editor", day=90, confidence=0.8),
        note("c", "In the editor the user prefers dark mode.", day=None, confidence=0.7),
        vectors={"b": at(20), "c": at(10)},
    )
    assert merged(found) == {"a": {"b", "c"}}
    assert found.items[0].evidence["window_days"] is None
    assert dedupe_memories(make_inputs(simulate(snapshot, found.items))).items == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Marcus is allergic to penicillin.", "Marcus is not allergic to penicillin."),
        ("The build takes 12 minutes.", "The build takes 21 minutes."),
        ("Anna moved to Rome in May 2021.", "Anna moved to Rome in May 2022."),
        ("Anna lives in Oslo with her dog.", "Erik lives in Oslo with his dog."),
        ("The deploy starts at noon.", "The deploy ends at noon."),
        ("The flight goes from Boston to Denver.", "The flight goes from Denver to Boston."),
        ("Anna moved to Rome.", "Anna plans to move to Rome."),
        ("Anna likes tea.", "Does Anna like tea?"),
        ("It starts around 50, in inherited cases around 60.", "It starts around 60, in inherited cases around 50."),
    ],
)
def test_a_negated_near_duplicate_pair_is_never_merged(one: str, other: str) -> None:
    """Nor one with another number, date, name, term, direction, certainty; a cosine of 1 says nothing against it."""
    for kind in ("semantic", "event"):
        _, found = propose(event("a", text=one, kind=kind), event("b", text=other, kind=kind))
        assert found.items == ()


@pytest.mark.parametrize("kind", ["event", "episodic"])
def test_the_same_words_of_other_days_tell_other_things(kind: str) -> None:
    """What happened "today" on two days happened twice; on one day, or asked, or where nothing says when, it is told twice."""

    def joined(text: str, *days: float) -> set[frozenset[str | None]]:
        snapshot, found = propose(*(event(f"{n}", day, text, kind=kind) for n, day in enumerate(days)))
        assert not dedupe_memories(make_inputs(simulate(snapshot, found.items))).items
        return {frozenset({keep, *gone}) for keep, gone in merged(found).items()}

    one = {frozenset({"0", "1"})}
    assert joined("I ran today.", 1, 2) == set()
    assert joined("I ran today.", 1, 1.01) == one
    assert joined("I ran today.", 1, 2, 2.01, 1.01) == {frozenset({"0", "3"}), frozenset({"1", "2"})}
    assert joined("Which museums are open today?", 1, 2) == one
    assert joined("I ran.", 1, 2) == one


def test_near_memories_of_other_days_stay_apart_as_well() -> None:
    texts = ("The crane stopped today.", "The crane had stopped today!")
    _, found = propose(*(event(t, d, t) for t, d in zip(texts, (1, 2), strict=True)))
    assert merged(found) == {}
    _, found = propose(*(event(t, d, t) for t, d in zip(texts, (1, 1.01), strict=True)))
    assert len(merged(found)) == 1


def test_one_word_more_may_be_another_thing() -> None:
    """Of events, told within a week, one may say more; of lasting memories it may be about something else."""
    texts = "The server crashed at noon.", "The backup server crashed at noon."
    assert propose(note("a", texts[0]), note("b", texts[1]))[1].items == ()
    assert len(propose(event("a", text=texts[0]), event("b", text=texts[1]))[1].items) == 1


def test_dedup_twice_is_once() -> None:
    """mnemo counted a victim's reads again every night: here the second pass finds nothing, and reads are summed once."""
    rows = [note(str(k), "The user prefers dark mode.", access_count=2) for k in range(4)]
    snapshot, found = propose(*rows)
    after = simulate(snapshot, found.items)
    again = dedupe_memories(make_inputs(after))
    assert again.items == ()
    assert sorted(after.live("memories")["access_count"].to_pylist()) == [8]
    assert sorted(simulate(after, again.items).table("memories")["access_count"].to_pylist()) == [0, 0, 0, 8]


def test_copies_of_a_text_stand_behind_one_and_go_where_it_goes() -> None:
    """Five copies each of two texts that tell the same: one survivor, and no pair of copies was multiplied."""
    texts = ("The user prefers dark mode.", "User prefers the dark mode")
    rows = [note(f"{t}{k}", text) for t, text in enumerate(texts) for k in range(5)]
    snapshot, found = propose(*rows, vectors={f"1{k}": at(5) for k in range(5)})
    assert [len(m) for m in merged(found).values()] == [9]
    assert (found.report.numbers["copies"], found.report.numbers["pairs compared"]) == (8, 1)
    assert dedupe_memories(make_inputs(simulate(snapshot, found.items))).items == ()


def test_a_pinned_memory_is_never_absorbed() -> None:
    """It survives, and of two neither takes the other."""
    _, found = propose(
        note("a", "The user prefers tea.", confidence=1.0), note("b", "The user prefers tea.", pinned=True)
    )
    assert merged(found) == {"b": {"a"}}
    _, both = propose(note("a", "The user prefers tea.", pinned=True), note("b", "The user prefers tea.", pinned=True))
    assert (both.items, both.report.numbers["pairs with a pinned memory to lose"]) == ((), 1)


def test_events_can_be_left_out() -> None:
    """``events_enabled`` switches their rule off, and no other rule merges them."""
    _, found = propose(event("a"), event("b"), settings={"operations": {"dedupe_memories": {"events_enabled": False}}})
    assert found.items == ()


def test_a_crowded_block_is_compared_and_bounded() -> None:
    """Two hundred texts of one template, each said twice: only what tells the same merges, in bounded memory."""
    rows = [note(f"{k}-{n}", f"Customer number {k} asked for an invoice{'.' * n}") for k in range(200) for n in (0, 1)]
    tracemalloc.start()
    _, found = propose(*rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.items) == 200
    assert peak < 40_000_000


@pytest.mark.parametrize("kind", ["event", "semantic"])
def test_composed_and_decomposed_subjects_are_one_and_the_evidence_shows_both(kind: str) -> None:
    """Equal texts about "Zoë" merge however her name is encoded (J6); nobody sees the difference, so its code points are shown."""
    text = "Zo\u00eb keeps the boiler keys."
    one = event("a", 1, text, kind=kind, subject="Zo\u00eb")
    other = event("b", 2, text.replace("\u00eb", "e\u0308"), kind=kind, subject="Zoe\u0308")
    (item,) = propose(one, other)[1].items
    assert item.decision == "merge"
    assert sorted(item.evidence["subject_forms"]) == ["Zo\\xeb", "Zoe\\u0308"]  # type: ignore[arg-type]
    assert len(item.evidence["text_forms"]) == 2  # type: ignore[arg-type]
    assert Item.from_json(item.to_json()) == item


def test_subjects_that_differ_in_a_letter_never_merge_and_equal_ones_show_no_forms() -> None:
    """Only the encoding is normalised: "Zoë" and "Zoe" stay two subjects."""
    text = "She keeps the boiler keys."
    assert propose(event("a", 1, text, subject="Zo\u00eb"), event("b", 2, text, subject="Zoe"))[1].items == ()
    (item,) = propose(event("a", 1, text, subject="Zo\u00eb"), event("b", 2, text, subject="Zo\u00eb"))[1].items
    assert "subject_forms" not in item.evidence


PORTO, TURNED = "Anna's office is in Porto.", "The office of Anna is in Porto."
TEA, BOTH = "Anna likes tea.", "Anna likes tea and coffee."
APART = {"a": at(0), "b": at(80), "c": at(160)}


def statement(name: str, text: str, day: float | None = 1, **more: object) -> Row:
    return event(name, day, text, **{"kind": "semantic", "subject": "anna", **more})


@pytest.mark.parametrize(("one", "two", "pattern"), [(PORTO, TURNED, "other wording"), (TEA, BOTH, "part of another")])
def test_restated_memories_are_asked_about_whatever_their_vectors(one: str, two: str, pattern: str) -> None:
    _, found = propose(statement("a", one), statement("b", two, 40), vectors=APART)
    (item,) = found.items
    assert (item.is_question, item.evidence["pattern"]) == (True, pattern)
    assert merged(found) == {"b": {"a"}}


def test_the_longer_memory_stays_and_keeps_its_start() -> None:
    """Its other statement did not hold before, and nothing of it is lost, however trusted the shorter one is."""
    snapshot, found = propose(
        statement("a", TEA, 1, confidence=0.9, importance=0.9), statement("b", BOTH, 40, confidence=0.5), vectors=APART
    )
    (item,) = found.items
    assert merged(found) == {"b": {"a"}}
    assert "valid_from" not in {w.cell.column for w in item.mutation.writes if w.cell.row == uid("b")}
    after = dedupe_memories(make_inputs(simulate(snapshot, [item])))
    assert not after.items


def test_the_same_slots_take_over_the_earliest_start() -> None:
    _, found = propose(
        statement("a", PORTO, 1, confidence=0.5), statement("b", TURNED, 40, confidence=0.9), vectors=APART
    )
    (item,) = found.items
    assert merged(found) == {"b": {"a"}}
    assert "valid_from" in {w.cell.column for w in item.mutation.writes if w.cell.row == uid("b")}


@pytest.mark.parametrize(
    "more",
    [
        {"subject": "otto"},
        {"author": "mara"},
        {"scope": "work"},
        {"visibility": "shared"},
        {"kind": "event"},
        {"kind": "summary"},
        {"pinned": True},
    ],
)
def test_restated_memories_of_another_matter_audience_or_author_stay(more: Row) -> None:
    """A pinned memory is never absorbed."""
    _, found = propose(statement("a", TEA, **more), statement("b", BOTH, 40), vectors=APART)
    assert not found.items


def test_a_longer_memory_absorbs_all_its_parts_in_one_question() -> None:
    _, found = propose(
        statement("a", TEA),
        statement("b", "Anna likes coffee.", 9),
        statement("c", BOTH, 40),
        statement("d", "Anna likes opera."),
        vectors=APART,
    )
    assert merged(found) == {"c": {"a", "b"}}


def test_turns_of_a_program_are_no_restatements() -> None:
    """An assistant repeats its courtesies next to other sentences."""
    rest = ("Rest counts as well.", "Harder days exist. Rest counts as well.")
    for author, asked in (("assistant", 0), ("user", 1)):
        rows = [statement(name, text, kind="episodic", author=author) for name, text in zip("ab", rest, strict=True)]
        assert len(propose(*rows, vectors=APART)[1].items) == asked


def test_a_relative_date_of_another_day_is_no_restatement() -> None:
    _, found = propose(
        statement("a", "Anna's talk is tomorrow.", 1), statement("b", "The talk of Anna is tomorrow.", 9), vectors=APART
    )
    assert not found.items


def test_a_restatement_that_a_person_rejected_is_not_asked_about_again() -> None:
    rows = (statement("a", TEA), statement("b", BOTH, 40))
    (item,) = propose(*rows, vectors=APART)[1].items
    rejection = {"operation": "dedupe_memories", "subject": item.subject(), "row_ids": list(item.mutation.row_ids())}
    assert not propose(*rows, vectors=APART, rejections=[{"id": uid("no"), **rejection}])[1].items


class Drafts:
    """A model that words the memories by ``word``, which gets their texts, and cites all of them."""

    model = "scribe"

    def __init__(self, word: Callable[[list[str]], str]) -> None:
        self.word = word
        self.asked: list[list[str]] = []

    def ask(self, system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> Answer:
        shown = json.loads(user.split("\n")[1])["memories"]
        self.asked.append([memory["text"] for memory in shown])
        return Answer(json.dumps({"text": self.word(self.asked[-1]), "cited": [m["number"] for m in shown]}), 40)


JOB = "Anna moved to Oslo in spring for a job at Aker."
FLAT = "Anna moved to Oslo in spring and rents a flat in Frogner."
ONE = "Anna moved to Oslo in spring for a job at Aker and rents a flat in Frogner."


def test_a_wording_with_all_specifics_of_near_memories_is_asked_about() -> None:
    """Neither text states the other, so nothing is merged without a model; with one, a person sees the text and both memories."""
    rows = [statement("a", JOB), statement("b", FLAT, 3)]
    assert propose(*rows)[1].items == ()
    snapshot, scribe = told(*rows), Drafts(lambda _: ONE)
    found = dedupe_memories(replace(make_inputs(snapshot), consolidator=scribe))
    (item,) = found.items
    assert (item.decision, item.risk, item.tokens, item.mutation.kind) == ("review", "high", 40, "insert_summary")
    assert (item.evidence["text"], item.evidence["writer"]) == (ONE, "scribe")
    assert {q["text"] for q in item.evidence["quotes"]} == {JOB, FLAT}  # type: ignore[union-attr,call-overload,index]
    assert {r.external_id for r in item.mutation.rows} == {"a", "b"}
    assert found.report.numbers["merged wordings"] == 1
    assert len(seal(Header(uid("ns"), "demo", "s", "t"), found.items, permits()).items) == 1
    again = replace(make_inputs(simulate(snapshot, [item])), consolidator=scribe)
    assert dedupe_memories(again).items == ()
    assert len(scribe.asked) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Anna moved to Oslo in spring for a job at Aker.",
        "Anna moved to Oslo in spring for a job at Frogner and rents a flat in Aker.",
        "Anna moved to Oslo in spring for a job at Aker and does not rent a flat in Frogner.",
        "Anna moved to Oslo for a job at Aker and rents a flat in Frogner.",
        "Anna moved to Oslo in 2024 for a job at Aker and rents a flat in Frogner.",
        "Anna and Per moved to Oslo in spring for a job at Aker and rents a flat in Frogner.",
        f"{JOB} {FLAT} {FLAT}",
    ],
)
def test_a_wording_that_leaves_out_or_changes_something_is_not_proposed(text: str) -> None:
    """The report counts it, and the memories stay."""
    rows = [statement("a", JOB), statement("b", FLAT, 3)]
    found = dedupe_memories(replace(make_inputs(told(*rows)), consolidator=Drafts(lambda _: text)))
    assert found.items == ()
    numbers = found.report.numbers
    assert numbers["model texts rejected"] + numbers["wordings that leave out a word"] == 1
    assert not any("Anna" in finding.message for finding in found.report.findings)


def test_a_merge_that_would_lose_a_specific_takes_the_wording() -> None:
    """The shorter event survives as it is trusted more, and lacks the name; without a good draft the merge is proposed as before."""
    rows = [
        event("a", 1, "The crane stopped.", confidence=0.9),
        event("b", 1, "The crane stopped at Port Vale.", confidence=0.5),
    ]
    (merge,) = propose(*rows)[1].items
    assert (merge.mutation.kind, merged(propose(*rows)[1])) == ("merge_rows", {"a": {"b"}})
    scribe = Drafts(lambda texts: max(texts, key=len))
    (item,) = dedupe_memories(replace(make_inputs(told(*rows)), consolidator=scribe)).items
    assert (item.mutation.kind, item.evidence["text"]) == ("insert_summary", rows[1]["text"])
    scribe = Drafts(lambda _: "The crane stopped at Port Said.")
    (item,) = dedupe_memories(replace(make_inputs(told(*rows)), consolidator=scribe)).items
    assert item.mutation == merge.mutation


def test_a_wording_is_not_asked_for_again_after_a_person_rejected_it() -> None:
    """Nor for memories in an open conflict, nor for a pinned one."""
    rows = [statement("a", JOB), statement("b", FLAT, 3)]
    scribe = Drafts(lambda _: ONE)
    (item,) = dedupe_memories(replace(make_inputs(told(*rows)), consolidator=scribe)).items
    refusal: Row = {"operation": "dedupe_memories", "subject": item.subject(), "row_ids": [uid("a"), uid("b")]}
    inputs = replace(make_inputs(told(*rows, rejections=[refusal])), consolidator=scribe)
    assert dedupe_memories(inputs).items == ()
    pinned = replace(make_inputs(told(statement("a", JOB, pinned=True), rows[1])), consolidator=scribe)
    assert dedupe_memories(pinned).items == ()
    assert len(scribe.asked) == 1

"""``topic_memories``: what is stated of one subject and matter stands in one memory, dated and cited, and nothing of it is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.cells import inserted_id
from slowwave.changes.simulate import simulate
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.operations import PLANNERS, Proposal, permits
from slowwave.operations.planners.topic_memories import TopicLine, render_topic
from slowwave.plans.items import Item
from slowwave.plans.probes.texts import specifics_probe, statements_probe
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.text.dates import absolutize
from slowwave.text.tokens import count
from tests.memories import ago, ask, remember, unit
from tests.operations.planners.test_consolidate_clusters import Row, memory, world
from tests.permitting import approve
from tests.snapshots import TAKEN_AT, make_inputs, uid

consolidate_clusters = PLANNERS["consolidate_clusters"]
topic_memories = PLANNERS["topic_memories"]

pytestmark = pytest.mark.usefixtures("every_rule_decides")
"""Which patterns may decide is tested in ``tests/plans/test_decides_alone.py``."""

HENS = ("Mara keeps hens in Lund.", "Mara's hens laid an egg.", "Mara sold two hens at the fair.")
MOVES = ("Mara lives in Lund.", "Mara saw a heron in Lund.", "Mara moved from Lund to Bergen.")


def rows(*texts: str, **more: object) -> list[Row]:
    """Told on 1 December 2025 and the days after it."""
    return [memory(chr(97 + k), t, day=10 + k, **more) for k, t in enumerate(texts)]


def plan(snapshot: Snapshot) -> Proposal:
    return topic_memories(make_inputs(snapshot))


def told(item: Item) -> list[str]:
    return str(item.evidence["text"]).split("\n")


def marks(item: Item) -> Mapping[str, Any]:
    return json.loads(str(next(i.values for i in item.mutation.inserts if i.table == "memories")["attributes"]))


def members(item: Item) -> set[str | None]:
    return {r.external_id for r in item.mutation.rows}


def test_three_statements_of_one_matter_become_one_memory_of_dated_lines() -> None:
    """Under a heading of subject and matter, in their own words, each cited; the sources leave recall for it; a second night is empty."""
    snapshot = world(*rows(*HENS), *(memory(f"z{k}", t, k) for k, t in enumerate(("Otto mends nets.", "Elin paints."))))
    found = plan(snapshot)
    (item,) = found.items
    assert (item.decision, members(item)) == ("summarise", {"a", "b", "c"})
    assert told(item) == ["About Mara: hens.", *(f"2025-12-0{k + 1}: {t}" for k, t in enumerate(HENS))]
    assert marks(item)["statements"] == [[uid(n)] for n in "abc"]
    assert marks(item)["topic"] == {"subject": "mara", "stems": ["hen"]}
    later = simulate(snapshot, found.items)
    states = {r["id"]: (r["state"], r["merged_into"]) for r in later.table("memories").to_pylist()}
    assert {states[uid(n)] for n in "abc"} == {("merged", inserted_id(item.id, 0))}
    assert specifics_probe(snapshot, later, found.items).passed
    assert statements_probe(snapshot, later, found.items).lost == ()
    assert plan(later).items == ()
    assert len(seal(Header("id", "tests", "snapshot", "settings"), found.items, permits()).items) == 1


def test_what_was_replaced_is_history_until_the_day_on_which_it_was() -> None:
    """The present state first, as the audit of contradictions orders them."""
    (item,) = plan(world(*rows(*MOVES))).items
    assert told(item) == [
        "About Mara: home, Lund.",
        f"2025-12-03: {MOVES[2]}",
        f"2025-12-01: {MOVES[0]} (until 2025-12-03)",
        f"2025-12-02: {MOVES[1]}",
    ]


def test_what_has_ended_in_the_world_is_history() -> None:
    """Of the same subject and matter, by the day on which it ended; it is out of recall and stays so."""
    over = memory("old", "Mara kept geese beside the hens.", 5, valid_to=TAKEN_AT - timedelta(days=93))
    (item,) = plan(world(over, *rows(*HENS))).items
    assert told(item)[-1] == "2025-11-26: Mara kept geese beside the hens. (until 2025-11-28)"
    assert (members(item), marks(item)["statements"][-1]) == ({"a", "b", "c"}, [uid("old")])
    for more in ({"text": "Otto kept hens."}, {"text": "Mara kept geese."}, {"author": "bob"}, {"state": "archived"}):
        (item,) = plan(world({**over, **more}, *rows(*HENS))).items
        assert "until" not in str(item.evidence["text"])


def test_a_memory_that_lost_to_a_member_is_told_as_history_and_stays_retired() -> None:
    """As the conflicts on record have it; one that is hidden for another reason is not told, nor one of another audience."""
    lost = memory("old", MOVES[0], 1, valid_to=TAKEN_AT - timedelta(days=90), invalidated_at=TAKEN_AT)
    new = rows("Mara lives in Bergen now.", "Mara has a garden in Bergen.", "Mara sells flowers in Bergen.")
    conflict = {
        **{"table_name": "memories", "row_a_id": uid("a"), "row_b_id": uid("old"), "resolution": "invalidated"},
        **{"winner_id": uid("a"), "loser_id": uid("old")},
    }
    (item,) = plan(world(lost, *new, conflicts=[conflict])).items
    assert told(item)[-1] == f"2025-11-22: {MOVES[0]} (until 2025-12-01)"
    assert marks(item)["statements"][-1] == [uid("old")]
    assert members(item) == {"a", "b", "c"}
    assert (uid("old"), "invalidated_at") in {(c.row, c.column) for c, _ in item.mutation.seen()}
    for more in ({"state": "quarantined"}, {"visibility": "public"}, {"invalidated_at": None}):
        found = plan(world({**lost, **more}, *new, conflicts=[conflict])).items
        assert all(MOVES[0] not in str(i.evidence["text"]) for i in found)


def test_members_that_contradict_each_other_without_an_order_are_never_joined() -> None:
    """Two hens or three; what does not contradict goes together, with one of them at most."""
    texts = ("Mara keeps 2 hens in Lund.", "Mara keeps 3 hens in Lund.", *HENS[1:])
    found = plan(world(*rows(*texts))).items
    for item in found:
        assert not {"a", "b"} <= members(item)
    far = {"a": (1.0, 0.0), "b": (0.6, 0.8), "c": (0.9, 0.4), "d": (0.9, 0.4)}  # the audit compares what is nearer
    (item,) = plan(world(*rows("Mara's hens are white.", "Mara's hens are brown.", *HENS[1:]), vectors=far)).items
    assert not {"a", "b"} <= members(item)
    record = {"table_name": "memories", "row_a_id": uid("a"), "row_b_id": uid("b")}
    assert plan(world(*rows(*HENS), conflicts=[record])).items == ()


def test_a_conflict_of_which_both_sides_were_kept_is_no_order() -> None:
    """Though a rule says that the later one replaces the other: a person said that both stand."""
    kept = {"table_name": "memories", "row_a_id": uid("a"), "row_b_id": uid("c"), "resolution": "kept"}
    assert plan(world(*rows(*MOVES), conflicts=[kept])).items == ()


@pytest.mark.parametrize(
    "other",
    [
        *(
            "Does Mara keep hens in Lund?",
            "Thanks for the hens, Mara.",
            "Elin keeps hens in Lund.",
            "I keep hens in Lund.",
        ),
        *("Mara reads a book.", "Mara and Otto keep hens in Lund.", "Mara fed the hens yesterday."),
    ],
)
def test_what_is_no_statement_of_the_subject_and_matter_is_left_alone(other: str) -> None:
    """Nor what still has a date to be written out: "yesterday" would be another day in the topic."""
    assert plan(world(*rows(*HENS[:2], other))).items == ()


@pytest.mark.parametrize(
    "more",
    [
        *({"author": "bob"}, {"scope": "team"}, {"visibility": "public"}, {"kind": "semantic2"}, {"pinned": True}),
        *({"sensitivity": "secret"}, {"state": "archived"}, {"invalidated_at": TAKEN_AT}, {"subject": "x"}),
    ],
)
def test_what_is_of_another_audience_or_exempt_is_never_mixed_in(more: Row) -> None:
    """Two of three are left, which is too few."""
    a, b, c = rows(*HENS)
    assert plan(world(a, b, {**c, **more})).items == ()


def test_who_speaks_is_a_subject_unless_it_is_a_program() -> None:
    """An assistant's "I" tells nothing of whom it serves."""
    mine = ("I keep hens in Lund.", "My hens laid an egg.", "I sold two hens at the fair.")
    (item,) = plan(world(*rows(*mine, author="rita"))).items
    assert told(item)[0] == "About rita: hens."
    assert plan(world(*rows(*mine, author="assistant"))).items == ()


def test_a_name_that_opens_a_statement_is_its_subject_where_others_speak_of_it() -> None:
    """ "Thandiwe asked me along" is of Thandiwe, who rows; what only who speaks has to do with is of who speaks."""
    texts = (
        "Thandiwe does rowing.",
        "Thandiwe asked me along to rowing.",
        "Thandiwe won a medal in rowing, or so I hear.",
    )
    (item,) = plan(world(*rows(*texts))).items
    assert told(item)[0] == "About Thandiwe: rowing."
    bank = ("Barclays blocked my card.", "The Barclays card of mine is lost.", "I have a card of Barclays.")
    (item,) = plan(world(*rows(*bank, author="rita"))).items
    assert told(item)[0] == "About rita: Barclays, card."


def test_a_heading_names_a_relation_once() -> None:
    """Not again by its words."""
    texts = (
        "My favourite dish is ramen.",
        "These days my favourite dish is ramen.",
        "Ramen is still my favourite dish.",
    )
    (item,) = plan(world(*rows(*texts, author="rita"))).items
    assert told(item)[0] == "About rita: favorite dish, ramen."


def test_one_day_makes_no_topic() -> None:
    """It is what was told over time."""
    assert plan(world(*(memory(n, t, day=10) for n, t in zip("abc", HENS, strict=True)))).items == ()


def test_statements_that_lie_too_far_from_each_other_make_no_topic() -> None:
    """From the setting's deviations above unrelated texts on, whatever words they share."""
    vectors = {"a": (1.0, 0.0, 0.0), "b": (0.0, 1.0, 0.0), "c": (0.0, 0.0, 1.0)}
    found = plan(world(*rows(*HENS), vectors=vectors))
    assert (found.items, found.report.numbers["topics found"]) == ((), 0)


def test_a_topic_takes_up_what_is_told_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its cooldown, with the lines that it has, their sources and their ends."""
    first = world(*rows(*MOVES))
    (item,) = plan(first).items
    old = memory("t", str(item.evidence["text"]), 10, kind="summary", attributes={**marks(item)})
    new = memory("d", "Mara bought a house in Bergen, far from Lund.", 40)
    assert plan(world({**old, "recorded_at": TAKEN_AT - timedelta(days=6)}, new)).items == ()
    monkeypatch.setattr("slowwave.operations.planners.topic_memories._MIN_STATEMENTS", 2)
    snapshot = world(old, new)
    (again,) = plan(snapshot).items
    assert members(again) == {"t", "d"}
    assert told(again)[1:] == [
        told(item)[1],
        "2025-12-31: Mara bought a house in Bergen, far from Lund.",
        *told(item)[2:],
    ]
    assert marks(again)["statements"] == [[uid("c")], [uid("d")], [uid("a")], [uid("b")]]
    assert consolidate_clusters(make_inputs(world(old, *rows(*HENS)))).report.numbers["topic memories"] == 1


def test_history_is_told_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds now comes before what held before, also there."""
    over = [
        memory(f"old{k}", f"Mara kept {n} hens beside the {place}.", 5 + k, valid_to=TAKEN_AT - timedelta(days=92))
        for k, (n, place) in enumerate((("grey", "old mill"), ("brown", "new pier"), ("white", "red barn")))
    ]
    monkeypatch.setattr("slowwave.operations.planners.topic_memories._MAX_TOKENS", 58)
    found = plan(world(*over, *rows(*HENS)))
    (item,) = found.items
    assert [line.endswith("(until 2025-11-29)") for line in told(item)[1:]] == [False, False, False, True]
    assert (found.report.numbers["former states told"], count(str(item.evidence["text"])) <= 58) == (1, True)


def test_topics_leave_room_in_what_a_plan_may_retire(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with most statements first; one is always proposed, and the rest another night."""
    more = [memory(f"n{k}", t.replace("Mara", "Elin").replace("hens", "goats"), 10 + k) for k, t in enumerate(HENS)]
    many = [*rows(*HENS, "Mara's hens are white."), *more]
    assert [len(members(i)) for i in plan(world(*many)).items] == [4, 3]
    found = plan(world(*many, settings={"blast_radius_rows": 1}))
    assert [len(members(i)) for i in found.items] == [4]
    assert found.report.numbers["topics left for another night"] == 1
    monkeypatch.setattr("slowwave.operations.planners.topic_memories._MAX_TOPICS", 1)
    assert [len(members(i)) for i in plan(world(*many)).items] == [4]


def test_only_topics_of_the_focus_are_proposed() -> None:
    """Where a night was asked about some memories."""
    snapshot = world(*rows(*HENS))
    for name, items in (("a", 1), ("z", 0)):
        assert len(topic_memories(replace(make_inputs(snapshot), focus=frozenset({uid(name)}))).items) == items


def test_a_text_that_leaves_out_a_specific_is_not_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happened to it on the way."""
    short = render_topic("Mara", ["hens"], [TopicLine("2025-12-01", "Mara has them.", (uid("a"),))])
    monkeypatch.setattr("slowwave.operations.planners.topic_memories.render_topic", lambda *_: short)
    found = plan(world(*rows(*HENS)))
    assert (found.items, found.report.numbers["topics that would lose a specific"]) == ((), 1)


def test_a_rejected_topic_does_not_come_back() -> None:
    """Nor as a part of a larger one."""
    (item,) = plan(world(*rows(*HENS))).items
    rejection = {
        **{"operation": "topic_memories", "subject": item.subject(), "row_ids": [uid(n) for n in "abc"]},
        **{"reason": "no", "rejected_by": "rita"},
    }
    assert plan(world(*rows(*HENS), rejections=[rejection])).items == ()


_TOLD = st.sampled_from(
    (
        *HENS,
        *MOVES,
        "Mara keeps hens in Lund, and they like it.",
        "Mara's hens are white. They sleep in Lund.",
        "Mara lives in Bergen.",
        "Mara no longer keeps hens.",
        "I keep hens in Lund.",
        "I lost my hens to a fox on Sunday.",
        "Does Mara keep hens?",
    )
)


@given(st.lists(st.tuples(_TOLD, st.integers(0, 40)), max_size=9))
def test_every_statement_of_a_member_is_told_and_a_second_night_is_empty(said: list[tuple[str, int]]) -> None:
    """With its day and its source, nothing beside; no date is read anew, and the order in which rows come changes nothing."""
    memories = [memory(f"m{k}", text, day) for k, (text, day) in enumerate(said)]
    snapshot = world(*memories)
    found = plan(snapshot)
    later = simulate(snapshot, found.items)
    assert statements_probe(snapshot, later, found.items).lost == ()
    assert specifics_probe(snapshot, later, found.items).passed
    assert plan(later).items == ()
    assert [told(i) for i in plan(world(*memories[::-1])).items] == [told(i) for i in found.items]
    for item in found.items:
        lines, cited = told(item)[1:], marks(item)["statements"]
        assert len(lines) == len(cited)
        assert {id_ for ids in cited for id_ in ids} == {r.id for r in item.mutation.rows}
        assert not absolutize(str(item.evidence["text"]), TAKEN_AT).rewrites
        for row in (m for m in memories if m["id"] in {r.id for r in item.mutation.rows}):
            day = row["valid_from"].date().isoformat()  # pyright: ignore[reportAttributeAccessIssue]
            assert any(day in line and row["id"] in ids for line, ids in zip(lines, cited, strict=True))


def test_a_night_makes_topics_and_is_taken_back(store: Store) -> None:
    """On a real store: plan, approve, apply, and undo to the first digest."""
    slug, names = "topics", "abc"
    remember(
        store,
        slug,
        memories=[
            {"id": n, "kind": "semantic", "valid_from": ago(9 - k), "current_version_id": f"v{n}", "access_count": 2}
            for k, n in enumerate(names)
        ],
        memory_versions=[{"id": f"v{n}", "memory_id": n, "content": t} for n, t in zip(names, HENS, strict=True)],
        memory_vectors=[{"id": n, "vector": unit(1.0, 0.1 * k)} for k, n in enumerate(names)],
    )
    before = digest(store, slug)
    night = run_night(store, slug, ops="topic_memories")
    assert night.plan is not None
    approval = approve(store, slug, night.plan.plan_hash, approver="rita", channel="test")
    run = apply_approval(store, approval.id)
    assert run.counts["applied"] == 1
    states = ask(store, "SELECT state, count(*) FROM memory.memories GROUP BY state ORDER BY state")
    assert states == [("active", 1), ("merged", 3)]
    assert run_night(store, slug, ops="topic_memories").new_items == 0
    undo_run(store, run.run_id)
    assert digest(store, slug) == before

"""``consolidate_clusters``: what goes together is told once, nobody is lost, and what differs never meets."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from slowwave.changes.cells import inserted_id
from slowwave.changes.simulate import simulate
from slowwave.models.endpoint import Answer
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.operations import PLANNERS, Inputs, Proposal
from slowwave.operations.options import ConsolidateClustersOptions
from slowwave.plans.items import Item
from slowwave.plans.probes.texts import specifics_probe
from slowwave.plans.questions import Conflict
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.surfaces.api.dreams import dream_history
from slowwave.text.tokens import count
from tests.memories import ago, ask, remember, unit
from tests.permitting import approve
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

consolidate_clusters = PLANNERS["consolidate_clusters"]

pytestmark = pytest.mark.usefixtures("every_rule_decides")
"""Which patterns may decide is tested in ``tests/plans/test_decides_alone.py``."""

Row = dict[str, object]
SAME = "Rita Falk keeps 12 hens in Port Vale."
TALES = {
    "a": f"{SAME} The hens sleep in an old barn.",
    "b": f"{SAME} In winter the hens sleep in an old barn.",
    "c": f"{SAME} The old barn needs a roof.",
}


def at(degrees: float) -> tuple[float, float]:
    """A direction; cos 36° is 0.809 and cos 37° 0.799."""
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


def memory(name: str, text: str = SAME, day: float = 1, **more: object) -> Row:
    row = {"id": uid(name), "external_id": name, "kind": "semantic", "valid_from": TAKEN_AT - timedelta(days=100 - day)}
    recorded = TAKEN_AT - timedelta(days=50)
    return {**row, "recorded_at": recorded, "current_version_id": uid(f"text of {name}"), "text": text, **more}


def world(
    *memories: Row,
    vectors: Mapping[str, tuple[float, ...]] | None = None,
    settings: Mapping[str, object] | None = None,
    **tables: list[Row],
) -> Snapshot:
    """Every memory points one way unless told otherwise."""
    return make_snapshot(
        settings=settings,
        memories=[{k: v for k, v in m.items() if k != "text"} for m in memories],
        memory_versions=[
            {"id": m["current_version_id"], "memory_id": m["id"], "content": m["text"]} for m in memories if m["text"]
        ],
        vectors={
            "memory_vectors": {str(m["id"]): (vectors or {}).get(str(m["external_id"]), (1.0, 0.0)) for m in memories}
        },
        **tables,
    )


def tales(**more: object) -> list[Row]:
    return [memory(n, t, day=k, **more) for k, (n, t) in enumerate(TALES.items(), 1)]


def plan(snapshot: Snapshot, **more: Any) -> Proposal:
    return consolidate_clusters(replace(make_inputs(snapshot), **more))


def sources(item: Item) -> set[str | None]:
    return {r.external_id for r in item.mutation.rows}


def test_three_memories_of_one_thing_become_one() -> None:
    """Said once, in the order of time, with all of their numbers and names; sources are merged and linked; a second night is empty."""
    snapshot = world(*tales())
    found = plan(snapshot)
    (item,) = found.items
    assert (item.decision, item.risk, sources(item)) == ("summarise", "low", {"a", "b", "c"})
    told = (
        f"2025-11-22: {SAME}",
        "2025-11-23: In winter the hens sleep in an old barn.",
        "2025-11-24: The old barn needs a roof.",
    )
    assert item.evidence["text"] == "\n".join(told)
    before, after = sum(map(count, TALES.values())), count(str(item.evidence["text"]))
    assert (item.evidence["tokens_before"], item.evidence["tokens_after"]) == (before, after)
    assert (item.evidence["token_savings"], found.report.numbers["tokens saved"]) == (before - after, before - after)
    assert Item.from_json(item.to_json()) == item
    later = simulate(snapshot, found.items)
    rows = {r["id"]: r for r in later.table("memories").to_pylist()}
    new = inserted_id(item.id, 0)
    assert {(rows[uid(n)]["state"], rows[uid(n)]["merged_into"]) for n in "abc"} == {("merged", new)}
    assert specifics_probe(snapshot, later, found.items).passed
    assert plan(later).items == ()
    assert plan(later).report.numbers["summaries cooling down"] == 1


def test_the_summary_takes_over_what_its_sources_are() -> None:
    """Dominant ring, greatest importance and confidence, all tags and none besides, sums of counters, earliest start."""
    snapshot = world(
        memory("a", TALES["a"], 3, ring="longterm", importance=0.9, tags=["hens"], access_count=2, author="rita"),
        memory(
            "b", TALES["b"], 1, ring="working", confidence=0.8, tags=["barn", "hens"], access_count=3, author="rita"
        ),
        memory("c", TALES["c"], 2, ring="longterm", reinforcement_count=4, author="rita", source_chunk_ids=[uid("k")]),
        chunks=[{"id": uid("k"), "content": ""}],
    )
    (item,) = plan(snapshot).items
    row = next(r for r in simulate(snapshot, [item]).table("memories").to_pylist() if r["kind"] == "summary")
    expected = {
        **{"ring": "longterm", "importance": 0.9, "confidence": 1.0, "author": "rita", "source": "consolidation"},
        **{"access_count": 5, "reinforcement_count": 4, "state": "active", "stage": "full", "pinned": False},
        **{"valid_from": TAKEN_AT - timedelta(days=99), "source_chunk_ids": [uid("k")]},
    }
    assert {k: row[k] for k in expected} == expected
    assert sorted(json.loads(row["tags"])) == ["barn", "hens"]
    assert json.loads(row["attributes"]) == {
        **{"kind": "semantic", "similarity": 1.0, "summary_of": 3, "token_savings": item.evidence["token_savings"]},
        "statements": [[uid("b"), uid("c"), uid("a")], [uid("c")]],
    }


def test_what_is_told_on_several_days_is_told_by_day_and_every_day_names_its_sources() -> None:
    """So that "today" stays the day that was meant. What was told on one day has no days; an older summary brings its own."""
    news = ("Today Otto Beck mended the roof.", "Today the vet came from Lund.", "Today it rained without an end.")
    rows = [memory(n, f"{SAME} {t}", day=k) for (k, t), n in zip(enumerate(news, 2), "abc", strict=True)]
    (item,) = plan(world(*rows)).items
    assert str(item.evidence["text"]).split("\n") == [
        *(f"2025-11-23: {SAME} {news[0]}", f"2025-11-24: {news[1]}", f"2025-11-25: {news[2]}")
    ]
    row = next(i.values for i in item.mutation.inserts if i.table == "memories")
    assert json.loads(str(row["attributes"]))["statements"] == [[uid("a"), uid("b"), uid("c")], [uid("b")], [uid("c")]]
    (one,) = plan(world(*(memory(n, t, day=1) for n, t in TALES.items()))).items
    assert "2025" not in str(one.evidence["text"])
    old = memory("s", str(item.evidence["text"]), kind="summary", attributes={"kind": "semantic"})
    later = (("d", 8, "Today a fox took the cock."), ("e", 9, "Today Elin Ray sold eggs."))
    more = [memory(n, f"{SAME} {t}", day=k) for n, k, t in later]
    (item,) = plan(world(old, *more)).items
    assert [line.split(": ")[0] for line in str(item.evidence["text"]).split("\n")] == [
        *("2025-11-23", "2025-11-24", "2025-11-25", "2025-11-29", "2025-11-30")
    ]


def test_the_similarity_is_measured() -> None:
    """Plugged.in writes its threshold; here it is the mean of the members' cosines."""
    (item,) = plan(world(*tales(), vectors={"b": at(10), "c": at(20)})).items
    mean = (2 * math.cos(math.radians(10)) + math.cos(math.radians(20))) / 3
    assert item.evidence["cluster_similarity"] == pytest.approx(mean, abs=1e-4)
    assert item.probability == pytest.approx(math.cos(math.radians(20)), abs=1e-4)


def test_consolidate_members_with_a_success_keeps_their_mean_and_loses_nothing() -> None:
    """P-R1: a score weighs a memory and is no value that a summary could lose."""
    weighed = [0.2, 0.6, "high"]
    rows = tales()
    for row, success in zip(rows, weighed, strict=True):
        row["attributes"] = {"success": success, "decay_rate": 0.05}
    snapshot = world(*rows)
    found = plan(snapshot)
    (item,) = found.items
    later = simulate(snapshot, found.items)
    assert specifics_probe(snapshot, later, found.items).passed
    (summary,) = (r for r in later.table("memories").to_pylist() if r["id"] == inserted_id(item.id, 0))
    told = json.loads(summary["attributes"])
    assert (told["success"], told["decay_rate"]) == (0.4, 0.05)


@pytest.mark.parametrize(("degrees", "joined"), [(36, True), (37, False)])
def test_every_two_members_are_near(degrees: float, *, joined: bool) -> None:
    """Cohesion, no chains: the ends of a chain are as near as its links, or there is no cluster."""
    settings = {"operations": {"consolidate_clusters": {"cohesion": 0.8}}}
    found = plan(world(*tales(), vectors={"b": at(degrees / 2), "c": at(degrees)}, settings=settings))
    assert bool(found.items) is joined
    assert found.report.numbers["clusters"] == int(joined)


@pytest.mark.parametrize(
    "more",
    [
        *({"subject": "other"}, {"author": "bob"}, {"scope": "team"}, {"visibility": "public"}, {"kind": "episodic"}),
        *({"sensitivity": "secret"}, {"state": "archived"}, {"invalidated_at": TAKEN_AT}, {"pinned": True}),
        *({"ring": "shocks"}, {"attributes": {"shock": True}}, {"stage": "essence"}, {"stage": "forgotten"}),
        {"text": ""},
    ],
)
def test_what_is_of_another_audience_or_exempt_is_never_mixed_in(more: Row) -> None:
    """Two of a cluster's three are left, which is too few."""
    a, b, c = tales()
    found = plan(world(a, b, {**c, **more}))
    assert found.items == ()


def test_procedures_are_left_alone() -> None:
    """However alike they are: the order of their steps is what they say."""
    found = plan(world(*tales(kind="procedural")))
    assert (found.items, found.report.numbers["procedural"]) == ((), 3)


def test_three_full_budget_memories_consolidate_and_uncited_members_stay_unmarked() -> None:
    """Story 8. Three texts of 500 tokens each fill the input exactly; Plugged.in counts them as 667, has room for two, and does nothing.
    Of a fourth that says something else not a word is used, and it is not touched.
    """
    line = "Every single evening Rita Falk counts all of her hens in the old barn of Port Vale before she goes home to eat. "
    texts = [(line * 20 + f"Hen number {n} is white. ").ljust(2000, ".")[:2000] for n in (7, 7, 7)]
    assert {count(t) for t in texts} == {500}
    other = "Her brother Otto Beck mends nets near the pier."
    rows = [memory(str(n), t, n) for n, t in enumerate(texts)]
    (item,) = plan(world(*rows)).items
    assert item.evidence["tokens_before"] == 1500
    assert sources(item) == {"0", "1", "2"}

    class Scribe:
        model = "scribe"

        def ask(self, system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> Answer:
            shown = json.loads(user.split("\n")[1])["memories"]
            cited = [m["number"] for m in shown if "Otto" not in m["text"]]
            return Answer(json.dumps({"text": TALES["a"], "cited": cited}), 50)

    told = world(*(memory(n, TALES["a"], k) for k, n in enumerate("abc")), memory("d", other, 9))
    (item,) = plan(told, consolidator=Scribe()).items
    assert (item.evidence["writer"], sources(item), item.evidence["uncited"]) == ("scribe", {"a", "b", "c"}, [uid("d")])
    assert uid("d") not in {w.cell.row for w in item.mutation.writes}
    assert (item.risk, item.tokens) == ("medium", 50)


def test_an_oversized_cluster_is_split_and_starves_nobody() -> None:
    """Each part fits the input; none is cut, and no text is longer than it."""
    rows = [memory(str(n), f"{SAME} " + "The hens sleep in an old barn. " * 40, n) for n in range(8)]
    found = plan(world(*rows, memory("long", "word " * 2_000, 1)))
    assert [len(sources(i)) for i in found.items] == [4, 4]
    assert all(int(str(i.evidence["tokens_before"])) <= 1500 for i in found.items)
    assert found.report.numbers["longer than the input of a summary"] == 1


def test_contradicting_members_are_never_in_one_summary() -> None:
    """Law 9: 12 hens or 13, kept or not kept; what does not contradict still goes together."""
    found = plan(world(*tales(), memory("d", "Rita Falk keeps 13 hens in Port Vale.", 9)))
    (item,) = found.items
    assert sources(item) == {"a", "b", "c"}
    assert found.report.numbers["pairs that a rejection or conflict forbids"] >= 1


def test_members_that_state_another_object_are_never_in_one_summary() -> None:
    """However else they are worded: who leads a team, and who took it over."""
    led = {
        "a": f"{SAME} Jonas leads the egg stall.",
        "b": f"{SAME} Jonas leads the egg stall now.",
        "c": f"{SAME} Petra took over the egg stall.",
    }
    assert plan(world(*(memory(n, t, day=k) for k, (n, t) in enumerate(led.items(), 1)))).items == ()
    same = led | {"c": f"{SAME} Everybody knows that Jonas leads the egg stall."}
    (item,) = plan(world(*(memory(n, t, day=k) for k, (n, t) in enumerate(same.items(), 1)))).items
    assert sources(item) == {"a", "b", "c"}


def test_the_audit_s_conflicts_by_every_rule_keep_members_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it finds of memories is asked of it in one place, and nothing is left out."""
    first, second = sorted((uid("a"), uid("b")))
    pair = Conflict("memories", first, second, "number", "")
    monkeypatch.setattr("slowwave.operations.conflicts.find.figure_conflicts", lambda *_: [pair])
    found = plan(world(*tales()))
    assert (found.items, found.report.numbers["pairs that a rejection or conflict forbids"]) == ((), 1)


def test_an_open_conflict_keeps_members_apart() -> None:
    """Whoever found it."""
    conflict = {"table_name": "memories", "row_a_id": uid("a"), "row_b_id": uid("b")}
    found = plan(world(*tales(), conflicts=[conflict]))
    assert (found.items, found.report.numbers["pairs that a rejection or conflict forbids"]) == ((), 1)


def test_a_rejected_summary_does_not_come_back_until_its_sources_change() -> None:
    """Story 13, also not as a part of a larger one."""
    (item,) = plan(world(*tales())).items
    rejection = {
        **{"operation": "consolidate_clusters", "subject": item.subject(), "row_ids": [uid(n) for n in "abc"]},
        **{"reason": "no", "rejected_by": "rita"},
    }
    assert plan(world(*tales(), rejections=[rejection])).items == ()
    assert plan(world(*tales(), memory("d", TALES["a"], 9), rejections=[rejection])).items == ()
    a, b, c = tales()
    changed = {**a, "current_version_id": uid("new"), "text": TALES["a"]}
    assert len(plan(world(changed, b, c, rejections=[rejection])).items) == 1


def test_a_summary_that_would_lose_a_specific_is_not_proposed() -> None:
    """Where three texts have more to say than fits they stay three; nothing is dropped in silence."""
    more = (
        "Otto Beck built that roof, and Elin Ray gave money and some nails.",
        "Oats and corn arrive every Tuesday, which Anna Lund pays.",
        "Whenever a bird falls ill Alma Reyes comes along, or else Jo Park.",
    )
    rows = [memory(n, f"{SAME} The hens sleep in an old barn. {text}") for n, text in zip("abc", more, strict=True)]
    (item,) = plan(world(*rows)).items
    assert all(text in str(item.evidence["text"]) for text in more)
    found = plan(world(*rows, settings={"operations": {"consolidate_clusters": {"max_output_tokens": 50}}}))
    assert (found.items, found.report.numbers["clusters that would lose a specific"]) == ((), 1)


def test_a_cluster_without_a_saving_is_left_out() -> None:
    """Texts that share nothing save nothing."""
    rows = [memory("a", "Hens sleep."), memory("b", "Nets dry quickly."), memory("c", "Boats need paint.")]
    found = plan(world(*rows))
    assert (found.items, found.report.numbers["clusters without a saving"]) == ((), 1)


def test_what_tells_something_comes_before_more_small_talk() -> None:
    """Longer texts of pleasantries save more tokens and are worth less; those that tell nothing at all are left as they are."""
    nice = "Walking and reading are always lovely ways of spending a calm and quiet weekend with dear old friends. "
    polite = "Thanks a lot for having told me all of this. Would you like to hear more of these stories? "
    kinds = {"tale": [*TALES.values()], "nice": [nice] * 3, "polite": [3 * polite] * 3}
    rows = [memory(f"{name}{k}", text, subject=name) for name, texts in kinds.items() for k, text in enumerate(texts)]
    found = plan(world(*rows))
    assert [item.evidence["quotes"][0]["text"][:4] for item in found.items] == [SAME[:4], nice[:4]]  # type: ignore[index]
    assert found.items[0].evidence["token_savings"] < found.items[1].evidence["token_savings"]  # type: ignore[operator]
    assert found.report.numbers["clusters of small talk"] == 1


def test_small_talk_beside_what_is_told_is_in_no_summary() -> None:
    """The memories that say it are summed up whole all the same."""
    talk = ("Good morning! ", "Thanks, that helps a lot. ", "")
    rows = [{**r, "kind": "episodic", "text": f"{said}{r['text']}"} for r, said in zip(tales(), talk, strict=True)]
    (item,) = plan(world(*rows)).items
    (plain,) = plan(world(*tales(kind="episodic"))).items
    assert (item.evidence["text"], sources(item)) == (plain.evidence["text"], {"a", "b", "c"})


def test_those_that_save_most_come_first_and_the_rest_another_night() -> None:
    """At most so many a night; those after them are counted, and come next."""
    rows = [
        memory(f"{n}{k}", f"{SAME} " + f"The {n} hens sleep in an old barn. " * size, subject=n)
        for n, size in (("red", 1), ("white", 3), ("black", 2))
        for k in range(3)
    ]
    snapshot = world(*rows, settings={"operations": {"consolidate_clusters": {"max_clusters_per_run": 2}}})
    found = plan(snapshot)
    assert [str(i.evidence["text"]).split(" hens sleep")[0].split()[-1] for i in found.items] == ["white", "black"]
    assert found.report.numbers["clusters left for another night"] == 1
    (last,) = plan(simulate(snapshot, found.items)).items
    assert "red" in str(last.evidence["text"])


def test_summaries_leave_room_in_what_a_plan_may_retire() -> None:
    """Eight tenths of the cap at most, so that a night's plan needs no force; what is left over comes another night."""
    rows = [
        memory(f"{n} {k}", f"{SAME} " + f"The {n} hens sleep in an old barn. " * 2, subject=n)
        for n in ("red", "white", "black", "grey", "brown", "gold", "blue", "pale")
        for k in range(4)
    ]
    found = plan(world(*rows))
    assert sum(len(sources(i)) for i in found.items) == 20
    assert found.report.numbers["clusters left for another night"] == 3
    settings = {"blast_radius_rows": 100}
    assert len(plan(world(*rows, settings=settings)).items) == 8
    tight = plan(world(*rows, settings={"blast_radius_rows": 1}))
    assert len(tight.items) == 1


def test_what_is_told_of_one_matter_is_not_torn_apart_by_what_is_like_it() -> None:
    """Two incidents that contradict each other and lie near: each is told by its own summary, whatever the order of time."""
    texts = [
        f"Hen {n} fell ill in March. {more}"
        for n in (7, 8)
        for more in ("It ate nothing.", "It ate nothing at all.", "Nothing was eaten.")
    ]
    near = {str(k): (1.0, 0.1 * k, 0.0) if k < 3 else (1.0, 0.0, 0.1 * k) for k in range(6)}
    rows = [memory(str(k), texts[k], day) for day, k in enumerate((0, 3, 4, 1, 5, 2))]
    found = plan(world(*rows, vectors=near))
    assert {frozenset(sources(i)) for i in found.items} == {frozenset("012"), frozenset("345")}


def test_a_summary_joins_another_one_only_with_as_many_new_memories_and_after_its_cooldown() -> None:
    """No summary of summaries every week (Plugged.in drifts)."""
    old = TAKEN_AT - timedelta(days=8)
    one = memory("s", TALES["a"], kind="summary", attributes={"kind": "semantic"}, recorded_at=old)
    two = memory("t", TALES["a"], kind="summary", attributes={"kind": "semantic"}, recorded_at=old)
    new = [memory(n, TALES["b"], k) for k, n in enumerate("ab", 2)]
    (item,) = plan(world(one, *new)).items
    assert sources(item) == {"s", "a", "b"}
    assert plan(world({**one, "recorded_at": TAKEN_AT - timedelta(days=6)}, *new)).items == ()
    few = plan(world(one, two, new[0]))
    assert (few.items, few.report.numbers["summaries with too few new memories"]) == ((), 2)
    (item,) = plan(world(one, two, *new)).items
    row = next(i.values for i in item.mutation.inserts if i.table == "memories")
    assert json.loads(str(row["attributes"]))["kind"] == "semantic"


def test_a_summary_rests_on_what_its_members_say_and_on_none_being_exempt() -> None:
    """Pinned, a shock, of another audience or reworded since the plan, a memory is not told by it; counters guard nothing."""
    (item,) = plan(world(*tales(access_count=3))).items
    guarded = {(c.row, c.column) for c, _ in item.mutation.seen()}
    columns = ("attributes", "current_version_id", "kind", "pinned", "ring", "sensitivity", "stage", "visibility")
    assert {(uid(n), c) for n in "abc" for c in columns} <= guarded
    assert not {c for _, c in guarded} & {"access_count", "reinforcement_count", "last_accessed_at"}


def test_a_model_that_cites_more_summaries_than_new_memories_is_not_followed() -> None:
    """The part was half new, what is cited of it is not: the summaries are left out, and too few memories are left."""

    class Scribe:
        model = "scribe"

        def ask(self, system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> Answer:
            shown = [m["number"] for m in json.loads(user.split("\n")[1])["memories"]]
            return Answer(json.dumps({"text": TALES["a"], "cited": shown[:-1]}), 50)  # all but the newest, "b"

    old = {"kind": "summary", "attributes": {"kind": "semantic"}, "recorded_at": TAKEN_AT - timedelta(days=8)}
    rows = [memory(n, TALES["a"], k, **(old if n in "st" else {})) for k, n in enumerate("stab")]
    found = plan(world(*rows), consolidator=Scribe())
    assert (found.items, found.report.numbers["summaries with too few new memories"]) == ((), 2)
    (item,) = plan(world(*rows)).items
    assert sources(item) == {"s", "t", "a", "b"}


def test_without_the_model_that_the_settings_name_nothing_is_written() -> None:
    """As when a plan is looked at again."""
    found = plan(world(*tales(), settings={"consolidation_model": "scribe", "writer_endpoint": "http://localhost:1"}))
    assert (found.items, found.report.numbers["no writer at hand"]) == ((), 1)


def test_a_crowded_block_is_searched_by_nearest_neighbours() -> None:
    """Beyond 512 rows not all pairs are looked at, and the planted ones are found all the same."""
    rng = np.random.default_rng(5)
    far = rng.normal(size=(600, 64))
    rows = [memory(f"far {n}", f"Boat {n} lies at pier {n}.") for n in range(600)]
    vectors = {f"far {n}": tuple(v) for n, v in enumerate(far)} | {n: tuple(np.eye(64)[0]) for n in "abc"}
    (item,) = plan(world(*rows, *tales(), vectors=vectors)).items
    assert sources(item) == {"a", "b", "c"}


def test_a_night_consolidates_shows_its_figures_and_is_taken_back(store: Store) -> None:
    """On a real store: plan, approve, apply, history, a second night, and undo to the first digest."""
    slug, names = "hens", "abc"
    remember(
        store,
        slug,
        memories=[
            {"id": n, "kind": "semantic", "valid_from": ago(3 - k), "current_version_id": f"v{n}", "access_count": 2}
            for k, n in enumerate(names)
        ],
        memory_versions=[{"id": f"v{n}", "memory_id": n, "content": TALES[n]} for n in names],
        memory_vectors=[{"id": n, "vector": unit(1.0, 0.1 * k)} for k, n in enumerate(names)],
    )
    before = digest(store, slug)
    night = run_night(store, slug, ops="consolidate_clusters")
    assert night.plan is not None
    assert night.probes is not None
    assert night.probes.results["convergence"]["items"] == 0  # pyright: ignore[reportIndexIssue,reportCallIssue,reportArgumentType]
    approval = approve(store, slug, night.plan.plan_hash, approver="rita", channel="test")
    run = apply_approval(store, approval.id)
    assert run.counts["applied"] == 1
    states = ask(store, "SELECT state, count(*) FROM memory.memories GROUP BY state ORDER BY state")
    assert states == [("active", 1), ("merged", 3)]
    assert ask(store, "SELECT access_count FROM memory.memories WHERE kind = 'summary'") == [(6,)]
    (figures,) = [r.consolidations for r in dream_history(slug, store=store) if r.mode == "apply"]
    saved = night.plan.items[0].evidence["token_savings"]
    assert (figures["summaries"], figures["sources"], figures["token_savings"]) == (1, 3, saved)
    assert 0.9 < figures["similarity"] <= 1
    again = run_night(store, slug, ops="consolidate_clusters")
    assert again.new_items == 0
    undo_run(store, run.run_id)
    assert digest(store, slug) == before


def test_settings_are_plugged_ins() -> None:
    """Defaults of systems.md 1.2, but that the cap of what a plan may retire says how many summaries a night proposes."""
    options = ConsolidateClustersOptions()
    assert (options.min_cluster_size, options.max_clusters_per_run) == (3, 100)
    assert (options.max_input_tokens, options.max_output_tokens) == (1500, 300)
    assert options.cooldown_days == 7
    assert isinstance(make_inputs(world()), Inputs)

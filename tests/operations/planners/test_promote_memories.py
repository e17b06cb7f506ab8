"""``promote_memories``: gates, the night's number, secrets, revocations, and a second night that has nothing to do."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from slowwave.changes.apply import apply_items
from slowwave.changes.rows import set_columns
from slowwave.changes.simulate import simulate
from slowwave.changes.undo import undo_entries
from slowwave.errors import SettingsError
from slowwave.operations import PLANNERS, Proposal
from slowwave.operations.options import SIGNAL_WEIGHTS
from slowwave.operations.setting_names import check_settings
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from tests.memories import MODEL, ago, remember
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

promote_memories = PLANNERS["promote_memories"]

Row = dict[str, object]
KEY = "AKIA" + "Q3EGRIXT7VZM2LWN"  # the form of a cloud key, of no account


def memory(name: str, text: str = "", **more: object) -> Row:
    """A memory with its text, ``name`` where none is given."""
    row = {"id": uid(name), "external_id": name, "kind": "episodic", "current_version_id": uid(f"text of {name}")}
    return row | {"text": text or f"What {name} is about.", **more}


def recalls(
    name: str, times: int = 3, days: int = 2, queries: int = 2, until: float = 0.0, **more: object
) -> list[Row]:
    """Recalls of one memory at the first rank, the last ``until`` days ago, on so many days and by so many questions."""
    return [
        {
            "id": uid(("recall", name, n)),
            "query": f"{name} {n % queries}",
            "occurred_at": TAKEN_AT - timedelta(days=until + n % days),
            "hit_ids": [uid(name)],
            **more,
        }
        for n in range(times)
    ]


def world(
    memories: Sequence[Row],
    events: Sequence[Sequence[Row]],
    settings: Mapping[str, object] | None = None,
    **tables: Sequence[Row],
) -> Snapshot:
    """A snapshot of memories and what recall did with them."""
    rows = [{k: v for k, v in m.items() if k != "text"} for m in memories]
    versions = [{"id": m["current_version_id"], "memory_id": m["id"], "content": m["text"]} for m in memories]
    flat = [e for some in events for e in some]
    return make_snapshot(settings=settings, memories=rows, memory_versions=versions, recall_events=flat, **tables)


def decided(snapshot: Snapshot) -> tuple[dict[str | None, str], Proposal]:
    """Memory → decision, by name."""
    found = promote_memories(make_inputs(snapshot))
    return {i.mutation.rows[0].external_id: i.decision for i in found.items}, found


def test_a_memory_that_recall_has_proven_goes_to_the_long_term_ring() -> None:
    """Three recalls on two days by two questions; the item says why, the promotion keeps the figures, the next night rests."""
    snapshot = world([memory("m"), memory("never")], [recalls("m")])
    decisions, found = decided(snapshot)
    assert decisions == {"m": "promote"}
    (item,) = found.items
    assert Item.from_json(item.to_json()) == item
    assert item.evidence["names"] == ["What m is about."]
    scores = item.evidence["scores"]
    assert isinstance(scores, dict)
    assert f"(scores {scores['score']:.2f} to {scores['score']:.2f})" in found.report.headline
    assert (scores["recalls"], scores["days"], scores["queries"], scores["consolidation"]) == (3, 2, 2, 0.4)
    shown = f"(scores {scores['score']:.2f} to {scores['score']:.2f})"
    assert found.report.headline == f"1 of 1 recalled memories would be promoted {shown}."
    after = simulate(snapshot, found.items)
    (promotion,) = after.table("promotions").to_pylist()
    assert json.loads(promotion["scores"]) == scores
    assert (promotion["memory_id"], promotion["from_ring"], promotion["to_ring"]) == (uid("m"), "working", "longterm")
    assert {m["external_id"]: m["ring"] for m in after.table("memories").to_pylist()} == {
        "m": "longterm",
        "never": "working",
    }
    again = promote_memories(make_inputs(after))
    assert (again.items, again.report.numbers["promoted already"]) == ((), 1)


@pytest.mark.parametrize(
    ("events", "gate"),
    [
        (recalls("m", times=2), "too few recalls"),
        (recalls("m", days=1), "too few days"),
        (recalls("m", queries=1), "too few questions"),
        (recalls("m", scores=[0.0], until=85), "too low a score"),
    ],
)
def test_each_gate_leaves_out_and_counts(events: list[Row], gate: str) -> None:
    """A real gate on days, and one on questions as they were asked."""
    decisions, found = decided(
        world([memory("m")], [events], {"operations": {"promote_memories": {"min_score": 0.36}}})
    )
    assert decisions == {}
    assert found.report.numbers[gate] == 1
    assert found.report.headline == "0 of 1 recalled memories would be promoted."


def test_one_question_in_other_letters_is_one_question() -> None:
    """A chatty loop that repeats itself proves nothing."""
    events = recalls("m", times=6, days=4)
    for n, event in enumerate(events):
        event["query"] = ("Where is it?", " where  IS it", "where is it?!")[n % 3]
    assert decided(world([memory("m")], [events]))[0] == {}


def test_in_compat_two_days_stand_in_for_two_questions() -> None:
    """nexo's gates as they are: one repeated question on two days passes, years later as well."""
    events = [recalls("m", queries=1), recalls("old", days=1, until=100)]
    snapshot = world([memory("m"), memory("old")], events, {"signals_compat": True})
    assert decided(snapshot)[0] == {"m": "promote", "old": "promote"}
    assert decided(world([memory("m"), memory("old")], events))[0] == {}


def test_ten_promoted_leaders_do_not_starve_the_eleventh() -> None:
    """Leaders that are promoted, or that a person has rejected, are left out before the night's number is counted."""
    names = [f"leader {n}" for n in range(10)]
    rows = [memory(n, ring="longterm") for n in names] + [memory("rejected"), memory("eleventh")]
    events = [*(recalls(n, times=30, days=9, queries=9) for n in (*names, "rejected")), recalls("eleventh")]
    promotions = [
        {"id": uid(("p", n)), "memory_id": uid(n), "from_ring": "working", "to_ring": "longterm", "scores": {}}
        for n in names
    ]
    most = {"operations": {"promote_memories": {"max_per_night": 1}}}
    snapshot = world(rows, events, most, promotions=promotions)
    (leader,) = promote_memories(make_inputs(snapshot)).items
    assert leader.mutation.rows[0].external_id == "rejected"
    refused = {
        "operation": "promote_memories",
        "subject": leader.subject(),
        "row_ids": [uid("rejected")],
        "reason": "no",
        "rejected_by": "x",
    }
    decisions, found = decided(world(rows, events, most, promotions=promotions, rejections=[refused]))
    assert decisions == {"eleventh": "promote"}
    assert (found.report.numbers["promoted already"], found.report.numbers["rejected before"]) == (10, 1)


def test_the_best_go_first_and_the_others_wait() -> None:
    """At most so many a night, however often it is planned. Night after night all of them get their turn."""
    names = [f"m{n}" for n in range(5)]
    snapshot = world(
        [memory(n) for n in names],
        [recalls(n, times=3 + 3 * k) for k, n in enumerate(names)],
        {"operations": {"promote_memories": {"max_per_night": 2}}},
    )
    turns: list[set[str | None]] = []
    for _ in range(4):
        decisions, found = decided(snapshot)
        turns.append({*decisions})
        assert found.report.numbers["waiting for a later night"] == max(0, 3 - 2 * (len(turns) - 1))
        snapshot = simulate(snapshot, found.items)
        again = promote_memories(make_inputs(snapshot))
        assert (again.items, again.report.numbers["promoted this night already"]) == ((), len(decisions))
        snapshot = replace(snapshot, taken_at=snapshot.taken_at + timedelta(days=1))
    assert turns == [{"m4", "m3"}, {"m2", "m1"}, {"m0"}, set()]


def test_a_secret_in_one_candidate_blocks_one_item_and_is_never_marked_done() -> None:
    """The others are promoted; the finding names the memory and the rule, never the secret; the next night says it again."""
    rows = [memory("clean"), memory("secret", f"The deploy key is {KEY}."), memory("other")]
    snapshot = world(
        rows,
        [recalls("secret", times=20), recalls("clean"), recalls("other")],
        {"operations": {"promote_memories": {"max_per_night": 2}}},
    )
    decisions, found = decided(snapshot)
    assert decisions == {"clean": "promote", "other": "promote"}
    (finding,) = found.report.findings
    assert (finding.rows, finding.severity) == ((uid("secret"),), "warning")
    assert KEY not in repr(found)
    after = replace(simulate(snapshot, found.items), taken_at=TAKEN_AT + timedelta(days=1))
    assert uid("secret") not in after.table("promotions")["memory_id"].to_pylist()
    again = promote_memories(make_inputs(after))
    assert (again.items, again.report.numbers["blocked by screening"]) == ((), 1)


@pytest.mark.parametrize("ring", ["practice", "procedures", "shocks", "longterm"])
def test_memories_of_other_rings_are_promoted_where_they_are(ring: str) -> None:
    """The promotion is on record and the ring stays."""
    snapshot = world([memory("m", ring=ring)], [recalls("m")])
    (item,) = promote_memories(make_inputs(snapshot)).items
    after = simulate(snapshot, [item])
    assert after.table("memories")["ring"].to_pylist() == [ring]
    assert after.table("promotions")["to_ring"].to_pylist() == [ring]
    assert promote_memories(make_inputs(after)).items == ()


@pytest.mark.parametrize("more", [{"state": "archived"}, {"invalidated_at": TAKEN_AT}, {"valid_to": TAKEN_AT}])
def test_what_recall_does_not_find_is_not_promoted(more: Row) -> None:
    """However often it was recalled before."""
    assert decided(world([memory("m", **more)], [recalls("m")]))[0] == {}


def promoted(name: str, **more: object) -> Row:
    """A promotion that stands."""
    return {
        "id": uid(("promotion", name)),
        "memory_id": uid(name),
        "from_ring": "working",
        "to_ring": "longterm",
        "scores": {},
        **more,
    }


def test_promotions_are_revoked_when_nothing_speaks_for_them() -> None:
    """Archived, retired, or no longer recalled; what is recalled, pinned or survives in another memory stays."""
    rows = [
        memory("recalled", ring="longterm"),
        memory("forgotten", ring="longterm"),
        memory("pinned", ring="longterm", pinned=True),
        memory("archived", ring="longterm", state="archived"),
        memory("retired", ring="longterm", invalidated_at=TAKEN_AT),
        memory("merged", ring="longterm", state="merged", invalidated_at=TAKEN_AT, merged_into=uid("recalled")),
    ]
    snapshot = world(rows, [recalls("recalled")], promotions=[promoted(str(r["external_id"])) for r in rows])
    decisions, found = decided(snapshot)
    assert decisions == dict.fromkeys(("forgotten", "archived", "retired"), "revoke")
    reasons = {i.mutation.rows[0].external_id: i.evidence["because"] for i in found.items}
    assert reasons == {"forgotten": "score", "archived": "retired", "retired": "retired"}
    after = simulate(snapshot, found.items)
    assert {m["external_id"]: m["ring"] for m in after.table("memories").to_pylist()}["forgotten"] == "working"
    assert promote_memories(make_inputs(after)).items == ()


def test_a_survivor_keeps_the_promotion_by_the_recalls_of_what_it_absorbed() -> None:
    """A merge moves no recall: the night after a promoted memory was merged revokes nothing, and later ones do when both are forgotten."""
    gone: Row = {"state": "merged", "invalidated_at": TAKEN_AT, "merged_into": uid("survivor")}
    rows = [memory("m", ring="longterm", **gone), memory("survivor"), memory("other")]
    kept = world(rows, [recalls("m")], promotions=[promoted("m")])
    assert decided(kept)[0] == {}
    assert decided(world(rows, [recalls("other", times=1)], promotions=[promoted("m")]))[0] == {"m": "revoke"}


def test_a_namespace_that_logs_no_recall_keeps_its_promotions() -> None:
    """Where nothing at all was recalled in the window no score tells anything."""
    assert decided(world([memory("m", ring="longterm")], [], promotions=[promoted("m")]))[0] == {}


def test_a_revoked_memory_is_promoted_again_when_recall_proves_it_again() -> None:
    """A promotion is of its time; what was revoked is no bar."""
    revoked = promoted("m", invalidated_at=TAKEN_AT - timedelta(days=9))
    assert decided(world([memory("m")], [recalls("m")], promotions=[revoked]))[0] == {"m": "promote"}


def test_a_floor_above_the_gate_does_not_go_to_and_fro(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the settings, what one night promotes the next does not revoke."""
    monkeypatch.setattr("slowwave.operations.planners.promote_memories._REVOKE_SCORE", 0.9)
    snapshot = world([memory("m")], [recalls("m")], {"operations": {"promote_memories": {"min_score": 0.3}}})
    _, found = decided(snapshot)
    assert promote_memories(make_inputs(simulate(snapshot, found.items))).items == ()


def _recall(at: datetime, n: int) -> Row:
    return {"id": f"e{n}", "query": f"question {n % 2}", "occurred_at": at, "hit_ids": ["m"], "selected_ids": ["m"]}


def test_on_a_real_store_what_was_planned_happens_and_comes_back(store: Store) -> None:
    """Promoted, revoked after it was archived, both undone: the very same store."""
    slug = "proven"
    namespace = remember(
        store,
        slug,
        memories=[{"id": "m", "kind": "episodic", "current_version_id": "v"}],
        memory_versions=[{"id": "v", "memory_id": "m", "content": "The crane stands in Basel."}],
        recall_events=[_recall(ago(n), n) for n in (1, 2, 3)],
    )
    before = digest(store, slug)
    runs: list[str] = []
    for change in ("", "UPDATE memory.memories SET state = 'archived'"):
        if change:
            with store.connect("owner") as connection:
                connection.execute(change.encode())
        proposal = promote_memories(make_inputs(export_snapshot(store, slug, model=MODEL)))
        assert [i.decision for i in proposal.items] == (["revoke"] if change else ["promote"])
        runs.append(str(uuid.uuid4()))
        with store.connect("applier") as connection, connection.transaction():
            assert apply_items(connection, namespace, runs[-1], proposal.items) == {}
    for run in reversed(runs):
        with store.connect("applier") as connection, connection.transaction():
            undo_entries(connection, namespace, str(uuid.uuid4()), run, None)
    with store.connect("owner") as connection:
        connection.execute(b"UPDATE memory.memories SET state = 'active'")
    assert digest(store, slug) == before


def test_a_place_that_another_operation_frees_is_not_given_away_the_same_night() -> None:
    """One of two was merged instead of promoted: planned again, the night has nothing new; the next one takes the third."""
    names = ["first", "second", "third"]
    snapshot = world(
        [memory(n) for n in names],
        [recalls(n, times=12 - 3 * k) for k, n in enumerate(names)],
        {"operations": {"promote_memories": {"max_per_night": 2}}},
    )
    _, found = decided(snapshot)
    applied = [i for i in found.items if i.mutation.rows[0].external_id == "first"]
    merged = set_columns(snapshot, "set_state", "memories", {uid("second"): {"state": "merged"}})
    after = simulate(snapshot, [*applied, *(Item("dedupe_memories", "merge", m) for m in merged)])
    assert promote_memories(make_inputs(after)).items == ()
    assert decided(replace(after, taken_at=TAKEN_AT + timedelta(days=1)))[0] == {"third": "promote"}


def test_weights_of_a_namespace_decide_which_memory_scores_higher() -> None:
    """Recalled often by few questions, or seldom by many: each leads under weights of its own; an unnamed signal keeps its weight (N2)."""

    def best(weights: Mapping[str, float]) -> tuple[str | None, float]:
        settings = {"operations": {"promote_memories": {"weights": weights, "max_per_night": 1, "min_score": 0.0}}}
        events = [recalls("often", 20, 2, 2), recalls("asked", 5, 2, 5)]
        (item,) = promote_memories(make_inputs(world([memory("often"), memory("asked")], events, settings))).items
        scores: Any = item.evidence["scores"]
        return item.mutation.rows[0].external_id, scores["score"]

    none = dict.fromkeys(SIGNAL_WEIGHTS, 0.0)
    assert best(none | {"frequency": 1.0}) == ("often", 1.0)
    assert best(none | {"diversity": 0.5}) == ("asked", 0.5)
    assert best({}) == best(SIGNAL_WEIGHTS)
    assert (best({"frequency": 0.0})[0], best({"diversity": 0.0})[0]) == ("asked", "often")


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ({"frequency": -0.1}, "weights"),
        ({"frequency": float("nan")}, "weights"),
        ({"frequency": float("inf")}, "weights"),
        ({"novelty": 1.0}, "there is no signal 'novelty'"),
        (dict.fromkeys(SIGNAL_WEIGHTS, 0.0), "all weights are 0"),
    ],
)
def test_weights_that_make_no_score_are_refused(weights: Mapping[str, float], problem: str) -> None:
    """A negative, infinite or unknown weight, and weights that are all zero, are named before a night runs."""
    with pytest.raises(SettingsError, match=problem):
        check_settings({"operations": {"promote_memories": {"weights": weights}}})

"""Which questions memories have answered, by the log of recalls."""

from __future__ import annotations

from datetime import timedelta

from slowwave.snapshots.rows import questions_of
from tests.snapshots import TAKEN_AT, make_snapshot, uid

Row = dict[str, object]


def event(n: int, query: str, hits: list[str], selected: list[str] | None = None) -> Row:
    ids = {"hit_ids": [uid(h) for h in hits], "selected_ids": [uid(s) for s in selected or ()]}
    return {"id": uid(f"event {n}"), "query": query, "occurred_at": TAKEN_AT - timedelta(days=n), **ids}


def asked(name: str, *events: Row) -> tuple[str, ...]:
    return questions_of(make_snapshot(recall_events=list(events)), {uid(name)}).get(uid(name), ())


def test_what_was_asked_most_often_comes_first_then_the_newest() -> None:
    events = [
        event(1, "which bus", ["m"]),
        event(2, "where is the mill", ["m"]),
        event(3, "how  old", ["m"]),
        event(4, "how old", ["m"]),
    ]
    assert asked("m", *events) == ("how old", "which bus", "where is the mill")


def test_a_hit_that_somebody_passed_over_was_not_asked_for() -> None:
    """What was selected counts; where nothing was, the first three hits."""
    assert asked("m", event(1, "which bus", ["m", "n"], selected=["n"])) == ()
    assert asked("n", event(1, "which bus", ["m", "n"], selected=["n"])) == ("which bus",)
    assert asked("m", event(1, "which bus", ["a", "b", "c", "m"])) == ()
    assert asked("m", event(1, "which bus", ["a", "b", "m"])) == ("which bus",)


def test_a_page_that_is_read_asks_nothing() -> None:
    assert asked("m", event(1, " ", ["m"])) == ()
    assert asked("m") == ()


def test_others_and_more_than_twenty_are_left_out() -> None:
    events = [event(n, f"question {n}", ["m", "other"]) for n in range(30)]
    found = questions_of(make_snapshot(recall_events=events), {uid("m"), uid("nobody")})
    assert list(found) == [uid("m")]
    assert found[uid("m")] == tuple(f"question {n}" for n in range(20))
